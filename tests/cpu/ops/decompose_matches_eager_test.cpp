// Every sample of every op that has a decomposition computes the same before and after it.
#include <map>
#include <set>

#include "cpu/ops/decomposed.h"
#include "cpu/ops/gradient_case.h"
#include "samples/samples.h"

namespace antegrad::test {
namespace {

/// Ops that decompositions may emit besides those with an expression.
const std::set<std::string_view> kCoreOps = {"aten.sum.dim_IntList",
                                             "aten.amax",
                                             "aten.amin",
                                             "aten.any.dims",
                                             "aten.all.dims",
                                             "aten.view",
                                             "aten.expand",
                                             "aten.permute",
                                             "aten.unsqueeze",
                                             "aten.squeeze.dims",
                                             "aten.slice.Tensor",
                                             "aten.full",
                                             "aten.arange",
                                             "aten.gather",
                                             "aten.index.Tensor",
                                             "aten.cat",
                                             "aten.constant_pad_nd",
                                             "aten._assert_async.msg"};

bool is_core(std::string_view op) {
  const auto* info = ir::find_op(op);
  return kCoreOps.contains(op) || (info != nullptr && !info->expression.empty());
}

/// Returns an op of the result that is neither a core op nor was there before; "" if there is none.
std::string foreign_op(const ir::Graph& before, const ir::Graph& after) {
  std::set<std::string> known;
  for (const auto& node : before.nodes) known.insert(node.op);
  for (const auto& node : after.nodes)
    if (!is_core(node.op) && !known.contains(node.op)) return node.op;
  return "";
}

/// All samples, swept once.
struct Sweep {
  std::map<std::string, std::string> wrong;
  std::set<std::string> decomposed;  ///< ops of nodes that were replaced

  explicit Sweep(uint64_t seed) {
    at::NoGradGuard no_grad;
    for (const auto& sample : samples::make(seed)) add(sample);
  }

  void add(const samples::Sample& sample) {
    const auto call = case_of(sample);
    try {
      const Captured captured(call.function, call.inputs());
      const auto has_rule = [](const ir::Node& node) { return passes::is_decomposed(node.op); };
      if (!captured.usable || std::ranges::none_of(captured.graph.nodes, has_rule)) return;
      const auto [changed, what, graph] = check(captured);
      if (!what.empty()) wrong.emplace(sample.op, what);
      if (const auto foreign = foreign_op(captured.graph, graph); !foreign.empty())
        wrong.emplace(sample.op, "is made of " + foreign);
      if (changed)
        for (const auto& node : captured.graph.nodes) decomposed.insert(node.op);
    } catch (const std::exception& error) {
      wrong.emplace(sample.op, std::string("threw ") + error.what());
    }
  }
};

const Sweep& sweep() {
  static const Sweep result(7);
  return result;
}

TEST(Decompose, EverySampleComputesTheSame) {
  for (const auto& [op, what] : sweep().wrong) ADD_FAILURE() << op << ": " << what;
  RecordProperty("ops", static_cast<int>(sweep().decomposed.size()));
}

/// Ops that the samples do not reach in a form with a decomposition; decompose_cases_test.cpp covers them.
const std::set<std::string_view> kElsewhere = {"aten._adaptive_avg_pool2d_backward", "aten.avg_pool2d",
                                               "aten.avg_pool2d_backward",
                                               "aten.upsample_nearest2d_backward"};

TEST(Decompose, SamplesReachEveryRule) {
  for (auto op : passes::decomposed_ops())
    EXPECT_NE(sweep().decomposed.contains(std::string(op)), kElsewhere.contains(op)) << op;
  size_t lists = 0;
  for (const auto& op : sweep().decomposed) lists += op.starts_with("aten._foreach_") ? 1 : 0;
  EXPECT_GE(lists, 70u);
}

TEST(Decompose, OtherDataComputesTheSame) {
  const Sweep other(8);
  for (const auto& [op, what] : other.wrong) ADD_FAILURE() << op << ": " << what;
}

}  // namespace
}  // namespace antegrad::test
