#include "aten/generators.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "aten/below_recording.h"
#include "util/fork_mutex.h"

namespace antegrad::aten {
namespace {

struct StandIn {
  c10::weak_intrusive_ptr<c10::GeneratorImpl> generator;
  at::Tensor tensor;
};

struct StandIns {
  BriefMutex mutex;
  std::vector<StandIn> all;
};

StandIns& stand_ins() {
  static auto& table = *new StandIns;
  return table;
}

}  // namespace

at::Generator& default_generator() {
  static auto& generator = *new at::Generator(at::detail::getDefaultCPUGenerator());
  return generator;
}

SeedMark seed_mark(const at::Generator& generator) {
  const auto engine = generator.get<at::CPUGeneratorImpl>()->engine();
  const auto data = engine.data();
  return {engine.seed(), data.left_ == 1 && data.next_ == 0};
}

bool is_seeded_since(const SeedMark& before, const SeedMark& now) {
  return now.seed != before.seed || (now.is_fresh && !before.is_fresh);
}

bool is_default(const at::Generator& generator) {
  return generator.defined() &&
         at::globalContext().defaultGenerator(generator.device()).unsafeGetGeneratorImpl() ==
             generator.unsafeGetGeneratorImpl();
}

bool has_known_state(const at::Generator& generator) {
  return dynamic_cast<at::CPUGeneratorImpl*>(generator.unsafeGetGeneratorImpl()) != nullptr;
}

at::Tensor state_of(at::Generator generator) {
  const std::scoped_lock lock(generator.mutex());
  return state_of_locked(generator);
}

at::Tensor state_of_locked(const at::Generator& generator) {
  const BelowRecording below;
  return generator.get_state();
}

void set_state_of_locked(at::Generator generator, const at::Tensor& state) {
  const BelowRecording below;
  generator.set_state(state);
}

void set_state_of(at::Generator generator, const at::Tensor& state) {
  const std::scoped_lock lock(generator.mutex());
  set_state_of_locked(generator, state);
}

at::Generator generator_in(const at::Tensor& state) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>();
  set_state_of_locked(generator, state);
  return generator;
}

at::Tensor stand_in_of(const at::Generator& generator) {
  forget_dead_generators();
  auto state = state_of(generator);
  auto& table = stand_ins();
  const std::scoped_lock lock(table.mutex);
  const auto* impl = generator.unsafeGetGeneratorImpl();
  const auto found = std::ranges::find_if(
      table.all, [&](const StandIn& one) { return one.generator._unsafe_get_target() == impl; });
  if (found != table.all.end()) {
    std::memcpy(found->tensor.mutable_data_ptr(), state.const_data_ptr(), state.nbytes());
    return found->tensor;
  }
  table.all.push_back(
      {c10::weak_intrusive_ptr<c10::GeneratorImpl>(generator.getIntrusivePtr()), std::move(state)});
  return table.all.back().tensor;
}

at::Generator generator_of(const at::Tensor& stand_in) {
  auto& table = stand_ins();
  const std::scoped_lock lock(table.mutex);
  for (const auto& one : table.all)
    if (one.tensor.is_same(stand_in))
      if (auto generator = one.generator.lock()) return at::Generator(std::move(generator));
  return {};
}

void forget_dead_generators() {
  std::vector<StandIn> dead;  // destroyed without the lock
  auto& table = stand_ins();
  const std::scoped_lock lock(table.mutex);
  const auto first_dead = std::stable_partition(table.all.begin(), table.all.end(),
                                                [](const StandIn& one) { return !one.generator.expired(); });
  dead.assign(std::make_move_iterator(first_dead), std::make_move_iterator(table.all.end()));
  table.all.erase(first_dead, table.all.end());
}

}  // namespace antegrad::aten
