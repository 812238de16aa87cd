#include "compiler/function/stretches.h"

#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <shared_mutex>

#include "antegrad/error.h"
#include "trace/trace.h"

namespace antegrad::compiler {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29); }

bool is_power_of_ten(uint64_t n) {
  while (n >= 10 && n % 10 == 0) n /= 10;
  return n == 1;
}

uint64_t hash_of(const capture::Stretch& stretch) {
  uint64_t hash = stretch.histories ? 1 : 2;
  for (const auto& node : stretch.graph.nodes) {
    hash = mix(hash, std::hash<std::string_view>()(node.op));
    if (!node.outputs.empty()) hash = mix(hash, static_cast<uint64_t>(node.outputs[0].index));
  }
  for (auto value : stretch.outputs) hash = mix(hash, static_cast<uint64_t>(value.index));
  return hash;
}

/// Whether the arguments are equal, or both real numbers.
bool alike(const ir::Arg& a, const ir::Arg& b) {
  return a == b || (a.as<double>() != nullptr && b.as<double>() != nullptr);
}

bool alike(const ir::NamedArg& a, const ir::NamedArg& b) {
  return a.name == b.name && alike(a.value, b.value);
}

template <class Args>
bool all_alike(const Args& a, const Args& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return alike(x, y); });
}

bool same_call(const ir::Node& a, const ir::Node& b) {
  return a.op == b.op && a.outputs == b.outputs && all_alike(a.args, b.args) && all_alike(a.attrs, b.attrs) &&
         a.returns == b.returns && (a.provenance.sequence < 0) == (b.provenance.sequence < 0) &&
         a.provenance.scope == b.provenance.scope;
}

/// Whether the same ops were called on inputs in the same places, up to real numbers. What inputs are like is
/// left to the guards of the compiled function.
bool same_program(const capture::Stretch& a, const capture::Stretch& b) {
  return a.histories == b.histories && a.inference == b.inference && a.input_values == b.input_values &&
         a.outputs == b.outputs && a.requires_grad == b.requires_grad &&
         std::equal(a.graph.nodes.begin(), a.graph.nodes.end(), b.graph.nodes.begin(), b.graph.nodes.end(),
                    same_call);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<int64_t>(x) == std::bit_cast<int64_t>(y);
  });
}

}  // namespace

Stretches::Found Stretches::find(const capture::Stretch& stretch, const Key& key) const {
  Found found;
  const auto [first, last] = known_.equal_range(key.hash);
  for (auto it = first; it != last; ++it) {
    const auto& known = it->second;
    if (known->why.empty() != key.ends || !same_program(known->stretch, stretch)) continue;
    found.others = true;
    if (known->general || same_bits(known->numbers, key.numbers)) {
      found.known = known;
      break;
    }
  }
  return found;
}

std::shared_ptr<Stretches::Known> Stretches::make(const capture::Stretch& stretch, const Key& key,
                                                  bool general, std::string why) const {
  auto known = std::make_shared<Known>();
  known->stretch = stretch;
  known->stretch.inputs.clear();
  known->numbers = key.numbers;
  known->general = general;
  known->why = std::move(why);
  if (stretch.graph.nodes.empty()) return known;
  known->replay = std::make_shared<const Replay>(stretch, general);
  auto options = options_;
  options.name = fmt::format("{}.{}", options_.name, next_number_.fetch_add(1));
  options.unsupported = Unsupported::Eager;
  options.watch.clear();
  options.dynamic_sizes.clear();
  options.check_recapture = false;
  known->function = std::make_shared<detail::Function>(std::move(options));
  return known;
}

std::shared_ptr<Stretches::Known> Stretches::find_or_make(const capture::Stretch& stretch,
                                                          const capture::DescribeBreak& why) {
  const Key key{hash_of(stretch), !why, numbers_of(stretch)};
  std::shared_lock reading(mutex_);
  auto found = find(stretch, key);
  reading.unlock();
  if (found.known) return found.known;
  // A number that differs becomes an input when it is seen for the second time.
  const auto made = make(stretch, key, found.others, why ? why(stretch.graph) : "");
  const std::unique_lock writing(mutex_);
  found = find(stretch, key);
  if (found.known) return found.known;  // another thread was faster
  known_.emplace(key.hash, made);
  in_order_.push_back(made);
  return made;
}

std::vector<at::Tensor> Stretches::run(const capture::Stretch& stretch, const capture::DescribeBreak& why) {
  const auto known = find_or_make(stretch, why);
  const auto count = known->breaks.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!known->why.empty() && is_power_of_ten(count))
    trace::warn("break", fmt::format("'{}' ({} times so far): {}", options_.name, count, known->why),
                "docs/graph-breaks.md says what costs what");
  if (known->replay == nullptr) return {};
  const auto& replay = *known->replay;
  const c10::AutoGradMode grad_mode(stretch.histories);
  const auto inputs = replay.inputs_of(stretch);
  Leaves leaves;
  leaves.tensors.append(inputs.tensors.begin(), inputs.tensors.end());
  for (const double number : inputs.numbers) leaves.add_number(std::bit_cast<int64_t>(number), true);
  const auto run = [&](const std::vector<at::Tensor>& tensors) {
    return detail::Outcome{replay(tensors, inputs.numbers), nullptr, false};
  };
  const auto keep = [&]() -> detail::OwnedRun {
    return [replay = known->replay, numbers = inputs.numbers](const std::vector<at::Tensor>& tensors) {
      return detail::Outcome{(*replay)(tensors, numbers), nullptr, false};
    };
  };
  try {
    auto outcome = known->function->call(leaves, run, keep);
    if (!outcome.eager) return std::move(outcome.tensors);
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    // Nothing has happened yet. Op by op, it happens up to the one that throws, as in eager.
  }
  return replay(inputs.tensors, inputs.numbers);
}

void Stretches::fill(Report& report) const {
  std::shared_lock lock(mutex_);
  for (const auto& known : in_order_) {
    if (known->function != nullptr) ++report.stretches;
    if (!known->why.empty()) report.breaks[known->why] += known->breaks.load(std::memory_order_relaxed);
  }
}

std::string Stretches::describe() const {
  std::shared_lock lock(mutex_);
  std::string text;
  for (const auto& known : in_order_) {
    if (known->function != nullptr) text += known->function->graph_text();
    if (!known->why.empty())
      text +=
          fmt::format("break ({} times): {}\n", known->breaks.load(std::memory_order_relaxed), known->why);
  }
  return text;
}

}  // namespace antegrad::compiler
