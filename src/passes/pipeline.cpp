#include "passes/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>

#include "antegrad/error.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/decompositions/decompose.h"
#include "passes/decompositions/small_matmul.h"
#include "passes/evaluate/constant_folding.h"
#include "passes/freeze/fold_batch_norm.h"
#include "passes/products/row_major_weights.h"
#include "passes/products/sum_products.h"
#include "passes/random/functional_rng.h"
#include "passes/simplify/common_subexpressions.h"
#include "passes/simplify/dead_code.h"
#include "passes/simplify/gather_early.h"
#include "passes/simplify/keep_errors.h"
#include "passes/simplify/late_waits.h"
#include "passes/simplify/merge_pads.h"
#include "passes/simplify/remove_noop.h"
#include "passes/simplify/unread_statistics.h"
#include "trace/trace.h"

namespace antegrad::passes {
namespace {

std::string joined_names(const std::vector<Pass>& passes) {
  std::string names;
  for (const auto& pass : passes) names += fmt::format("{}{}", names.empty() ? "" : ", ", pass.name);
  return names;
}

bool contains(const std::vector<Pass>& passes, std::string_view name) {
  return std::ranges::find(passes, name, &Pass::name) != passes.end();
}

/// Error adds the full stop itself.
std::string without_full_stop(std::string_view text) {
  while (!text.empty() && (text.back() == '.' || text.back() == '\n')) text.remove_suffix(1);
  return std::string(text);
}

bool run_named(ir::Graph& graph, const Pass& pass) {
  const auto where = fmt::format("pass:{}", pass.name);
  try {
    return pass.run(graph);
  } catch (const Error& error) {
    throw Error(error.code(), where, without_full_stop(error.what()));
  } catch (const std::exception& error) {
    throw Error(ErrorCode::Internal, where, without_full_stop(error.what()));
  } catch (...) {
    throw Error(ErrorCode::Internal, where, "threw an exception that is not a std::exception");
  }
}

/// Ops of ordered nodes, by the resource that they act on. Those that act on anything are listed for all.
using OrderedOps = std::map<std::string, std::vector<std::string>>;

OrderedOps ordered_ops(const ir::Graph& graph) {
  OrderedOps ops;
  for (const auto& node : graph.nodes)
    if (node.effects.ordered) ops[std::string(ir::acts_on(node.effects))];
  for (const auto& node : graph.nodes) {
    if (!node.effects.ordered) continue;
    const auto resource = ir::acts_on(node.effects);
    for (auto& [of, list] : ops)
      if (of == resource || (resource.empty() && of != ir::kWaits)) list.push_back(node.op);
  }
  if (const auto waits = ops.find(std::string(ir::kWaits)); waits != ops.end())
    std::ranges::sort(waits->second);  // they may move, but not vanish
  return ops;
}

/// A pass may add ordered nodes, but must not remove, merge or move existing ones.
void verify_order(const OrderedOps& before, const ir::Graph& graph, const Pass& pass) {
  auto after = ordered_ops(graph);
  for (const auto& [resource, ops] : before) {
    auto next = ops.begin();
    for (const auto& op : after[resource])
      if (next != ops.end() && *next == op) ++next;
    if (next == ops.end()) continue;
    throw Error(
        ErrorCode::Verify, fmt::format("pass:{}", pass.name),
        fmt::format("removed or moved a call of {}, which has effects", *next),
        fmt::format("This is a defect of antegrad; disable the pass {} meanwhile (Options::disabled_passes)",
                    pass.name));
  }
}

void verify_after(const ir::Graph& graph, const Pass& pass) {
  try {
    ir::verify(graph);
  } catch (const Error& error) {
    throw Error(
        error.code(), fmt::format("pass:{}", pass.name),
        fmt::format("left a broken graph: {}", without_full_stop(error.what())),
        fmt::format("This is a defect of antegrad; disable the pass {} meanwhile (Options::disabled_passes)",
                    pass.name));
  }
}

}  // namespace

const std::vector<Pass>& all_passes() {
  static const auto& passes = *new const std::vector<Pass>{
      {"unread_statistics", unread_statistics,
       "do not pass running statistics to backward ops that ignore them"},
      {"remove_noop", remove_noop, "remove views and copies that change nothing"},
      {"constant_folding", constant_folding, "evaluate small constant tensors at compile time"},
      {"common_subexpressions", common_subexpressions, "merge nodes that compute the same values"},
      {"dead_code", dead_code, "remove nodes whose outputs are unused"},
      {"keep_errors", keep_errors, "keep unused nodes that may throw because of their data"},
      {"functional_rng", functional_rng,
       "turn random ops into functions of a seed that is an input of the graph"},
      {"decompose", decompose, "replace composite ops by pointwise ops, sums and views"},
      {"sum_products", sum_products, "replace sums of matrix products by one product"},
      {"row_major_weights", row_major_weights,
       "copy transposed matrices by which few rows are multiplied again and again"},
      {"small_matmul", small_matmul, "rewrite small matrix products as pointwise products and sums"},
      {"merge_pads", merge_pads, "replace sums of adjacent padded tensors by one concatenation"},
      {"gather_early", gather_early, "read the few elements that are used before computing on all of them"},
      {"late_waits", late_waits, "wait for what was started just before its result is needed"},
      {"fold_batch_norm", fold_batch_norm,
       "make batch norms part of the weights before them, where captured tensors are constants"},
  };
  return passes;
}

const Pass& find_pass(std::string_view name) {
  const auto found = std::ranges::find(all_passes(), name, &Pass::name);
  if (found == all_passes().end())
    throw Error(ErrorCode::UnknownPass, "passes", fmt::format("there is no pass named \"{}\"", name),
                fmt::format("The passes are {}", joined_names(all_passes())));
  return *found;
}

std::vector<PassRecord> run_pipeline(ir::Graph& graph, const std::vector<Pass>& passes,
                                     const PipelineOptions& options) {
  for (const auto& name : options.disabled)
    if (!contains(passes, name)) find_pass(name);
  if (options.verify) ir::verify(graph);

  std::vector<PassRecord> records;
  for (const auto& pass : passes) {
    if (std::ranges::find(options.disabled, pass.name) != options.disabled.end()) continue;
    const trace::Span span("pass", pass.name);
    const auto ordered = options.verify ? ordered_ops(graph) : OrderedOps();
    const auto start = std::chrono::steady_clock::now();
    PassRecord record{pass.name, 0, run_named(graph, pass), {}};
    record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (record.changed && options.verify) verify_after(graph, pass);
    if (options.verify && !pass.releases_effects) verify_order(ordered, graph, pass);
    if (record.changed && options.keep_texts) record.text_after = ir::print(graph);
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace antegrad::passes
