#include "runtime/rng_state.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>

#include <mutex>
#include <utility>

#include "aten/below_recording.h"
#include "util/thread_object.h"

namespace antegrad::runtime {
namespace {

uint64_t draw_seed() {
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::scoped_lock lock(generator.mutex());
  return generator.get<at::CPUGeneratorImpl>()->random64();
}

at::Tensor& replayed_state() { return thread_object<at::Tensor, struct ReplayedState>(); }

}  // namespace

at::Tensor generator_state() {
  const aten::BelowRecording below;
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::scoped_lock lock(generator.mutex());
  return generator.get_state();
}

void set_generator_state(const at::Tensor& state) {
  const aten::BelowRecording below;
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::scoped_lock lock(generator.mutex());
  generator.set_state(state);
}

RngReplay::RngReplay(at::Tensor state, const at::Tensor& generator)
    : outer_state_(std::exchange(replayed_state(), std::move(state))) {
  if (!generator.defined()) return;
  generator_before_ = generator_state();
  set_generator_state(generator);
}

RngReplay::~RngReplay() {
  replayed_state() = std::move(outer_state_);
  if (generator_before_.defined()) set_generator_state(generator_before_);
}

at::Tensor take_rng_state() {
  if (replayed_state().defined()) return replayed_state();
  const aten::BelowRecording below;
  auto state = at::empty({2}, at::TensorOptions(at::kLong));
  auto* words = state.mutable_data_ptr<int64_t>();
  words[0] = static_cast<int64_t>(draw_seed());
  words[1] = 0;
  return state;
}

}  // namespace antegrad::runtime
