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

/// Compiled forms of one program that differ in literals. Beyond that, further ones run op by op.
constexpr size_t kMostAlike = 8;

}  // namespace

bool Stretches::Known::serves(const capture::Stretch& now, const Literals& literals) const {
  if (!any_reals && !same_bits(reals, literals.reals)) return false;
  size_t next = 0;
  for (const auto& part : parts) {
    InputSizes sizes;
    if (!part.rules.empty()) sizes = sizes_of(now.graph, part.piece.stretch.input_values);
    for (size_t i = 0; i < part.seen.integers.size(); ++i) {
      const auto is = literals.integers[next++];
      const auto& rule = i < part.rules.size() ? part.rules[i] : std::nullopt;
      if (rule ? !rule->holds(sizes, is) : part.seen.integers[i] != is) return false;
    }
  }
  return true;
}

std::shared_ptr<Stretches::Known> Stretches::find(const capture::Stretch& stretch, const Key& key,
                                                  std::vector<std::shared_ptr<Known>>* alike) const {
  const auto [first, last] = known_.equal_range(key.hash);
  for (auto it = first; it != last; ++it) {
    const auto& known = it->second;
    if (known->why.empty() != key.ends || !same_but_literals(known->stretch, stretch)) continue;
    if (known->serves(stretch, key.literals)) return known;
    if (alike != nullptr) alike->push_back(known);
  }
  return nullptr;
}

std::shared_ptr<Stretches::Known> Stretches::make(const capture::Stretch& stretch, const Key& key,
                                                  const Known* like, std::string why) const {
  auto known = std::make_shared<Known>();
  known->stretch = stretch;
  known->stretch.inputs.clear();
  known->reals = key.literals.reals;
  known->why = std::move(why);
  // What differs from a program like it becomes an input, or follows a size.
  known->any_reals = like != nullptr && (like->any_reals || !same_bits(like->reals, known->reals));
  if (stretch.graph.nodes.empty()) return known;
  for (auto& piece : cut(stretch)) {
    auto& part = known->parts.emplace_back();
    auto literals = literals_of(piece.stretch);
    part.reals = literals.reals.size();
    part.seen = {std::move(literals.integers), sizes_of(stretch.graph, piece.stretch.input_values)};
    if (like != nullptr)
      if (auto rules = find_rules(like->parts[known->parts.size() - 1].seen, part.seen))
        part.rules = *std::move(rules);
    part.replay = std::make_shared<const Replay>(piece, known->any_reals, part.rules);
    part.piece = std::move(piece);
    auto options = options_;
    options.name = fmt::format("{}.{}", options_.name, next_number_.fetch_add(1));
    options.unsupported = Unsupported::Eager;
    options.watch.clear();
    options.dynamic_sizes.clear();
    options.check_recapture = false;
    options.writable_inputs = true;  // the function may go on to write what this part has read
    part.function = std::make_shared<detail::Function>(std::move(options));
  }
  return known;
}

Stretches::Found Stretches::find_or_make(const capture::Stretch& stretch, const capture::DescribeBreak& why) {
  const Key key{hash_of(stretch), !why, literals_of(stretch)};
  std::vector<std::shared_ptr<Known>> alike;
  std::shared_lock reading(mutex_);
  auto known = find(stretch, key, &alike);
  reading.unlock();
  if (known) return {known, true};
  if (alike.size() >= kMostAlike) return {alike.front(), false};
  const auto* like = alike.empty() ? nullptr : alike.front().get();
  const auto made = make(stretch, key, like, why ? why(stretch.graph) : "");
  const std::unique_lock writing(mutex_);
  known = find(stretch, key, nullptr);
  if (known) return {known, true};  // another thread was faster
  known_.emplace(key.hash, made);
  in_order_.push_back(made);
  return {made, true};
}

std::vector<at::Tensor> Stretches::run(const capture::Stretch& stretch, const capture::DescribeBreak& why) {
  const auto [known, serves] = find_or_make(stretch, why);
  const auto count = known->breaks.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!known->why.empty() && is_power_of_ten(count))
    trace::warn("break", fmt::format("'{}' ({} times so far): {}", options_.name, count, known->why),
                "docs/graph-breaks.md says what costs what");
  if (known->parts.empty()) return {};
  if (!serves) return replay(stretch);
  const c10::AutoGradMode grad_mode(stretch.histories);
  ir::PerValue<at::Tensor> values(stretch.graph.values.size());
  for (size_t i = 0; i < stretch.inputs.size(); ++i) values[stretch.input_values[i]] = stretch.inputs[i];
  const auto reals = known->any_reals ? literals_of(stretch).reals : std::vector<double>();
  size_t next_real = 0;
  for (const auto& part : known->parts) {
    std::vector<at::Tensor> tensors;
    for (auto value : part.piece.stretch.input_values) tensors.push_back(values[value]);
    const auto count = known->any_reals ? part.reals : 0;
    const auto results = run(part, std::move(tensors), std::span(reals).subspan(next_real, count));
    next_real += count;
    for (size_t i = 0; i < results.size(); ++i) values[part.piece.stretch.outputs[i]] = results[i];
  }
  std::vector<at::Tensor> outputs;
  for (auto value : stretch.outputs) outputs.push_back(values[value]);
  return outputs;
}

std::vector<at::Tensor> Stretches::run(const Part& part, std::vector<at::Tensor> tensors,
                                       std::span<const double> reals) {
  const auto inputs = part.replay->inputs_of(std::move(tensors), reals);
  Leaves leaves;
  leaves.tensors.append(inputs.tensors.begin(), inputs.tensors.end());
  for (const double number : inputs.numbers) leaves.add_number(std::bit_cast<int64_t>(number), true);
  const auto once = [&](const std::vector<at::Tensor>& given) {
    return detail::Outcome{(*part.replay)(given, inputs.numbers), nullptr, false};
  };
  const auto keep = [&]() -> detail::OwnedRun {
    return [replay = part.replay, numbers = inputs.numbers](const std::vector<at::Tensor>& given) {
      return detail::Outcome{(*replay)(given, numbers), nullptr, false};
    };
  };
  try {
    auto outcome = part.function->call(leaves, once, keep);
    if (!outcome.eager) return std::move(outcome.tensors);
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    // Nothing has happened yet. Op by op, it happens up to the one that throws, as in eager.
  }
  return (*part.replay)(inputs.tensors, inputs.numbers);
}

std::vector<at::Tensor> Stretches::replay(const capture::Stretch& stretch) {
  if (stretch.graph.nodes.empty()) return {};
  const c10::AutoGradMode grad_mode(stretch.histories);
  return Replay({stretch, stretch.outputs.size()}, false, {})(stretch.inputs, {});
}

std::string Stretches::first_break() const {
  std::shared_lock lock(mutex_);
  for (const auto& known : in_order_)
    if (!known->why.empty()) return known->why;
  return "";
}

void Stretches::fill(Report& report) const {
  std::shared_lock lock(mutex_);
  for (const auto& known : in_order_) {
    report.stretches += known->parts.size();
    if (!known->why.empty()) report.breaks[known->why] += known->breaks.load(std::memory_order_relaxed);
  }
}

Explanation Stretches::explain() const {
  std::shared_lock lock(mutex_);
  Explanation out;
  for (const auto& known : in_order_) {
    for (const auto& part : known->parts) {
      out.graph += part.function->graph_text();
      out.forward += part.function->forward_text();
      out.backward += part.function->backward_text();
    }
    if (!known->why.empty())
      out.reasons +=
          fmt::format("break, {} times: {}\n", known->breaks.load(std::memory_order_relaxed), known->why);
  }
  if (in_order_.empty())
    out.reasons = fmt::format("'{}' is compiled in parts; what they are is known after the first call\n",
                              options_.name);
  return out;
}

}  // namespace antegrad::compiler
