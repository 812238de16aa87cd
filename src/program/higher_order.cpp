// Ops whose arguments are graphs. Loops and branches run as Python would run them, or become regions of the
// graph that is being captured (regions.h).
#include <ATen/Functions.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "antegrad/error.h"
#include "antegrad/options.h"
#include "program/operands.h"
#include "program/regions.h"

namespace antegrad::program {
namespace {

constexpr int64_t kMostTurns = 1'000'000;

bool depends_on_data(const Slot& condition) {
  return condition.value.isTensor() && !condition.known.defined();
}

/// Reads a condition. During a capture this succeeds if it depends on constants only; else the capture says
/// that data is read.
bool holds(const Slot& condition) {
  if (condition.value.isTensor()) return read_number(condition).toBool();
  return condition.value.toScalar().toBool();
}

std::vector<Slot> run_cond(const Operands& operands) {
  const auto condition = operands.one(0);
  if (depends_on_data(condition) && makes_regions()) return cond_region(operands);
  return operands.run(holds(condition) ? 1 : 2, operands.list(3));
}

std::vector<Slot> run_while_loop(const Operands& operands) {
  auto carried = operands.list(2);
  const auto others = operands.list(3);
  const bool may_be_region = makes_regions() && are_tensors(carried);
  for (int64_t turn = 0;; ++turn) {
    if (may_be_region && turn == kMostWrittenOut) return while_region(operands, carried);
    const auto condition = operands.run(0, joined(carried, others));
    if (condition.size() != 1)
      refuse_higher_order(operands.node(), "the condition of a loop should be one value");
    if (may_be_region && depends_on_data(condition[0])) return while_region(operands, carried);
    if (!holds(condition[0])) {
      note_written_out(operands, turn);
      return carried;
    }
    if (turn == kMostTurns)
      refuse_higher_order(operands.node(), fmt::format("a loop takes more than {} turns", kMostTurns));
    auto next = operands.run(1, joined(carried, others));
    if (next.size() != carried.size())
      refuse_higher_order(operands.node(), "a turn of a loop does not return what it takes");
    carried = std::move(next);
  }
}

int64_t length_of(const Operands& operands, const std::vector<Slot>& lists) {
  int64_t length = -1;
  for (const auto& list : lists) {
    const auto& tensor = list.value.toTensor();
    if (tensor.dim() == 0 || (length >= 0 && tensor.size(0) != length))
      refuse_higher_order(operands.node(), "the tensors of a loop are not of one length");
    length = tensor.size(0);
  }
  if (length < 1) refuse_higher_order(operands.node(), "a loop over nothing has no results");
  return length;
}

bool should_be_region(const Operands& operands, int64_t length) {
  return makes_regions() && (length > kMostWrittenOut || operands.node().dynamic_length) &&
         !has_writes(operands.graph(0));
}

std::vector<Slot> turn_of(const std::vector<Slot>& lists, int64_t turn) {
  std::vector<Slot> out;
  for (const auto& list : lists) out.push_back({list.value.toTensor().select(0, turn), {}});
  return out;
}

/// Tensors of all turns, to be stacked.
class Stacks {
 public:
  void add(std::vector<Slot>::const_iterator begin, std::vector<Slot>::const_iterator end) {
    stacks_.resize(end - begin);
    for (auto& stack : stacks_) stack.push_back((begin++)->value.toTensor());
  }
  void append_to(std::vector<Slot>& out) const {
    for (const auto& stack : stacks_) out.push_back({at::stack(stack), {}});
  }

 private:
  std::vector<std::vector<at::Tensor>> stacks_;
};

std::vector<Slot> run_map(const Operands& operands) {
  const auto lists = operands.list(1), others = operands.list(2);
  Stacks stacks;
  const auto length = length_of(operands, lists);
  if (should_be_region(operands, length)) return map_region(operands);
  note_written_out(operands, length);
  for (int64_t turn = 0; turn < length; ++turn) {
    const auto results = operands.run(0, joined(turn_of(lists, turn), others));
    stacks.add(results.begin(), results.end());
  }
  std::vector<Slot> out;
  stacks.append_to(out);
  return out;
}

std::vector<Slot> run_scan(const Operands& operands) {
  auto carried = operands.list(1);
  const auto lists = operands.list(2), others = operands.list(3);
  const auto count = static_cast<int64_t>(carried.size());
  Stacks stacks;
  const auto length = length_of(operands, lists);
  if (are_tensors(carried) && should_be_region(operands, length)) return scan_region(operands);
  note_written_out(operands, length);
  for (int64_t turn = 0; turn < length; ++turn) {
    const auto results = operands.run(0, joined(joined(carried, turn_of(lists, turn)), others));
    if (static_cast<int64_t>(results.size()) < count)
      refuse_higher_order(operands.node(), "a turn of a scan returns too little");
    carried.assign(results.begin(), results.begin() + count);
    stacks.add(results.begin() + count, results.end());
  }
  stacks.append_to(carried);
  return carried;
}

class AutocastRegion {
 public:
  AutocastRegion(c10::DeviceType device, std::optional<at::ScalarType> dtype, bool enabled,
                 std::optional<bool> cache)
      : device_(device),
        was_enabled_(at::autocast::is_autocast_enabled(device)),
        old_dtype_(at::autocast::get_autocast_dtype(device)),
        old_cache_(at::autocast::is_autocast_cache_enabled()) {
    at::autocast::increment_nesting();
    at::autocast::set_autocast_enabled(device, enabled);
    if (dtype) at::autocast::set_autocast_dtype(device, *dtype);
    if (cache) at::autocast::set_autocast_cache_enabled(*cache);
  }
  ~AutocastRegion() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, was_enabled_);
    at::autocast::set_autocast_dtype(device_, old_dtype_);
    at::autocast::set_autocast_cache_enabled(old_cache_);
  }
  AutocastRegion(const AutocastRegion&) = delete;
  AutocastRegion& operator=(const AutocastRegion&) = delete;

 private:
  c10::DeviceType device_;
  bool was_enabled_;
  at::ScalarType old_dtype_;
  bool old_cache_;
};

std::vector<Slot> run_autocast(const Operands& operands) {
  const auto device = operands.one(0).value, dtype = operands.one(1).value, cache = operands.one(3).value;
  if (dtype.isInt() &&
      (dtype.toInt() < 0 || dtype.toInt() >= static_cast<int64_t>(at::ScalarType::NumOptions)))
    refuse_higher_order(operands.node(), "the dtype of an autocast region is unknown");
  const AutocastRegion region(
      c10::Device(device.toStringRef()).type(),
      dtype.isInt() ? std::optional(static_cast<at::ScalarType>(dtype.toInt())) : std::nullopt,
      operands.one(2).value.toBool(), cache.isBool() ? std::optional(cache.toBool()) : std::nullopt);
  return operands.run(4, operands.rest(5));
}

}  // namespace

std::vector<Slot> run_higher_order(const Node& node, const Values& values) {
  const Operands operands(node, values);
  const auto& f = node.function;
  if (f == "cond") return run_cond(operands);
  if (f == "while_loop") return run_while_loop(operands);
  if (f == "map_impl") return run_map(operands);
  if (f == "scan") return run_scan(operands);
  if (f == "wrap_with_set_grad_enabled") {
    const at::AutoGradMode mode(operands.one(0).value.toBool());
    return operands.run(1, operands.rest(2));
  }
  if (f == "wrap_with_autocast") return run_autocast(operands);
  if (f == "invoke_subgraph") return operands.run(0, operands.rest(2));
  if (f == "strict_mode") return operands.run(0, operands.list(1));
  // A region to recompute: Options::scope_rules has a rule for this scope.
  const Scope scope(kCheckpointScope);
  return operands.run(0, operands.rest(1));
}

}  // namespace antegrad::program
