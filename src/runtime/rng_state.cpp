#include "runtime/rng_state.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "aten/below_recording.h"
#include "aten/generators.h"
#include "util/thread_object.h"

namespace antegrad::runtime {
namespace {

uint64_t draw_seed() {
  auto generator = aten::default_generator();
  const std::scoped_lock lock(generator.mutex());
  return generator.get<at::CPUGeneratorImpl>()->random64();
}

at::Tensor& replayed_state() { return thread_object<at::Tensor, struct ReplayedState>(); }

}  // namespace

at::Tensor generator_state() {
  const aten::BelowRecording below;
  auto generator = aten::default_generator();
  const std::scoped_lock lock(generator.mutex());
  return generator.get_state();
}

void set_generator_state(const at::Tensor& state) {
  const aten::BelowRecording below;
  auto generator = aten::default_generator();
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

namespace {

GeneratorStates& replayed_generators() { return thread_object<GeneratorStates, struct ReplayedGenerators>(); }

}  // namespace

TakenGenerators::TakenGenerators(const std::vector<at::Tensor>& stand_ins) {
  std::vector<std::mutex*> mutexes;
  for (const auto& stand_in : stand_ins) {
    const auto& replayed = replayed_generators();
    const auto found =
        std::ranges::find_if(replayed, [&](const auto& one) { return one.first.is_same(stand_in); });
    states_.emplace_back(stand_in, found == replayed.end() ? at::Tensor() : found->second);
    generators_.push_back(found == replayed.end() ? aten::generator_of(stand_in) : at::Generator());
    if (generators_.back().defined()) mutexes.push_back(&generators_.back().mutex());
  }
  std::ranges::sort(mutexes);  // two calls that take the same generators take them in the same order
  for (auto* mutex : mutexes) locks_.emplace_back(*mutex);
  for (size_t i = 0; i < states_.size(); ++i) {
    auto& [stand_in, state] = states_[i];
    if (state.defined()) continue;
    // Where the function has dropped its generator, the tensor still has the state in which it was met.
    state = generators_[i].defined() ? aten::state_of_locked(generators_[i]) : stand_in;
  }
}

void TakenGenerators::set(const at::Tensor& before, const at::Tensor& state) const {
  for (size_t i = 0; i < states_.size(); ++i)
    if (states_[i].second.is_same(before) && generators_[i].defined())
      aten::set_state_of_locked(generators_[i], state);
}

GeneratorReplay::GeneratorReplay(GeneratorStates states)
    : outer_(std::exchange(replayed_generators(), std::move(states))) {}

GeneratorReplay::~GeneratorReplay() { replayed_generators() = std::move(outer_); }

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
