#include "partition/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "antegrad/error.h"
#include "partition/cost.h"
#include "partition/extract.h"
#include "partition/min_cut.h"
#include "partition/plan.h"

namespace antegrad::partition {
namespace {

constexpr size_t kMaxSteps = 24;  // plans per order; each costs a min cut

/// A plan and its costs.
struct Choice {
  Limits limits;
  double recomputed = 0;  ///< operations that run in both passes
  int64_t saved_bytes = 0;
  int64_t peak = 0;
};

/// The number of operations that run in both graphs.
double recomputed_flops(const ir::Graph& joint, const Classes& classes, const Plan& plan) {
  double count = 0;
  for (const auto i : joint.node_ids())
    if (plan.in_backward[i] && classes.nodes[i].forward_needed) count += flops(joint, joint.node(i));
  return count;
}

Choice measure(const ir::Graph& joint, const Classes& classes, Limits limits) {
  const auto plan = min_cut(joint, classes, weigh(joint, classes, limits));
  const auto graphs = extract(joint, classes, plan);
  return {std::move(limits), recomputed_flops(joint, classes, plan), graphs.saved_bytes,
          estimate_peak(graphs.forward, graphs.backward, graphs.saved).peak()};
}

/// Bit reversal of the position: 0, 4, 2, 6, 1, 5, 3, 7 for eight. The positions whose result is below any
/// given bound are evenly spaced.
size_t spread(size_t position, size_t count) {
  const int bits = std::bit_width(count - 1);
  size_t out = 0;
  for (int bit = 0; bit < bits; ++bit)
    if (position & (size_t{1} << bit)) out |= size_t{1} << (bits - 1 - bit);
  return out;
}

/// Expensive nodes of the forward pass that can be recomputed.
std::vector<ir::NodeId> expensive_nodes(const ir::Graph& joint, const Classes& classes) {
  std::vector<ir::NodeId> out;
  for (const auto i : joint.node_ids()) {
    const auto& cls = classes.nodes[i];
    const auto recompute = op_info(joint.node(i)).recompute;
    if (cls.forward_needed && can_recompute(joint.node(i), cls) && recompute == ir::Recompute::Expensive)
      out.push_back(i);
  }
  return out;
}

/// The order in which results stop being saved: by ascending key. Among equal keys, those still saved at any
/// time are evenly spaced, so that each segment between them is recomputed on its own.
std::vector<ir::NodeId> order_by(const std::vector<ir::NodeId>& nodes, const std::vector<double>& key) {
  struct Entry {
    double key;
    ir::NodeId node;
    size_t spread;
  };
  std::vector<Entry> entries;
  for (size_t i = 0; i < nodes.size(); ++i) entries.push_back({key[i], nodes[i], 0});
  std::ranges::stable_sort(entries, {}, &Entry::key);
  for (auto first = entries.begin(); first != entries.end();) {
    const auto last = std::find_if(first, entries.end(), [&](const Entry& e) { return e.key != first->key; });
    const size_t count = last - first;
    for (size_t i = 0; i < count; ++i) first[static_cast<ptrdiff_t>(i)].spread = spread(i, count);
    std::sort(first, last, [](const Entry& a, const Entry& b) { return a.spread > b.spread; });
    first = last;
  }
  std::vector<ir::NodeId> out;
  for (const auto& entry : entries) out.push_back(entry.node);
  return out;
}

/// Several orders in which to stop saving results; the best one depends on the graph and the budget.
std::vector<std::vector<ir::NodeId>> orders(const ir::Graph& joint, const Classes& classes) {
  const auto nodes = expensive_nodes(joint, classes);
  std::vector<double> per_byte, in_all;
  for (const auto index : nodes) {
    const auto bytes = std::max<int64_t>(1, bytes_made(joint, joint.node(index)));
    in_all.push_back(flops(joint, joint.node(index)));
    per_byte.push_back(in_all.back() / static_cast<double>(bytes));
  }
  return {order_by(nodes, per_byte), order_by(nodes, in_all),
          order_by(nodes, std::vector<double>(nodes.size()))};
}

/// Plans from the one that saves most to the one that saves least, independent of the budget.
std::vector<Choice> all_choices(const ir::Graph& joint, const Classes& classes,
                                const ir::PerValue<Keep>& keep) {
  std::vector<Choice> out;
  out.push_back(measure(joint, classes, {Level::Views, {}, keep}));
  out.push_back(measure(joint, classes, {Level::Cheap, {}, keep}));
  for (const auto& order : orders(joint, classes)) {
    const size_t stride = (order.size() + kMaxSteps - 1) / kMaxSteps;
    ir::PerNode<bool> allowed(joint.nodes.size());
    for (size_t i = 0; i < order.size(); ++i) {
      allowed[order[i]] = true;
      if ((i + 1) % stride == 0 || i + 1 == order.size())
        out.push_back(measure(joint, classes, {Level::Cheap, allowed, keep}));
    }
  }
  out.push_back(measure(joint, classes, {Level::All, {}, keep}));
  return out;
}

/// The plan within the bound that recomputes least; of several such plans the smallest.
template <class Size>
const Choice* best_within(const std::vector<Choice>& choices, double bound, Size size) {
  const Choice* best = nullptr;
  for (const auto& choice : choices) {
    if (static_cast<double>(size(choice)) > bound) continue;
    const bool better = best == nullptr || choice.recomputed < best->recomputed ||
                        (choice.recomputed == best->recomputed && size(choice) < size(*best));
    if (better) best = &choice;
  }
  return best;
}

const Choice& choose_by_peak(const std::vector<Choice>& choices, int64_t bytes) {
  const auto peak = [](const Choice& choice) { return choice.peak; };
  if (const auto* best = best_within(choices, static_cast<double>(bytes), peak)) return *best;
  const auto least = peak(*std::ranges::min_element(choices, {}, peak));
  throw Error(
      ErrorCode::InvalidArgument, "partition",
      fmt::format("no plan stays within {} bytes; the smallest possible budget is {} bytes", bytes, least),
      fmt::format("Use MemoryBudget::bytes({}) or more", least));
}

const Choice& choose_by_share(const std::vector<Choice>& choices, double share) {
  const auto saved = [](const Choice& choice) { return choice.saved_bytes; };
  const auto& least = *std::ranges::min_element(choices, {}, saved);
  const auto all = static_cast<double>(saved(choices.front()));  // what SaveAll saves
  constexpr double kRounding = 1 + 1e-9;                         // for 0.3 of 10 bytes to be 3
  const double bound = share == 0 ? static_cast<double>(saved(least)) : share * all * kRounding;
  if (const auto* best = best_within(choices, bound, saved)) return *best;
  const double smallest = static_cast<double>(saved(least)) / all;
  throw Error(ErrorCode::InvalidArgument, "partition",
              fmt::format("no plan saves at most {} of the {} bytes that SaveAll saves; the smallest "
                          "possible share is {:.4f}",
                          share, saved(choices.front()), smallest),
              "Use a larger share, or 0 for as few bytes as possible");
}

}  // namespace

Partition fit_budget(const ir::Graph& joint, const Classes& classes, const ir::PerValue<Keep>& keep,
                     const MemoryBudget& budget) {
  if (budget.peak_bytes < 0 && !(budget.saved_share >= 0 && budget.saved_share <= 1))
    throw Error(ErrorCode::InvalidArgument, "partition",
                fmt::format("a budget of {} times what SaveAll saves", budget.saved_share),
                "Use a share between 0 and 1");
  const auto choices = all_choices(joint, classes, keep);
  const auto& choice = budget.peak_bytes >= 0 ? choose_by_peak(choices, budget.peak_bytes)
                                              : choose_by_share(choices, budget.saved_share);
  return apply_plan(joint, classes, choice.limits);
}

}  // namespace antegrad::partition
