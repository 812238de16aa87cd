// What include/antegrad/control.h calls.
#include "antegrad/control.h"

#include <ATen/MemoryOverlap.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "aten/convert.h"
#include "capture/mode.h"
#include "capture/regions/body.h"
#include "compiler/regions/emit.h"
#include "ir/text.h"

namespace antegrad {
namespace compiler {
namespace {

constexpr const char* kRegionNames[] = {"cond", "while_loop", "scan", "map", "region", "checkpoint"};

[[noreturn]] void refuse(const char* region, const std::string& fact, const std::string& way_out) {
  throw Error(ErrorCode::InvalidArgument, region, fact, way_out);
}

void check_operands(const detail::RegionCall& call, const char* name) {
  for (const auto& operand : call.operands)
    if (!operand.defined()) refuse(name, "an argument is undefined", "Pass tensors");
  if (call.form == detail::RegionForm::Cond && call.operands[0].numel() != 1)
    refuse(name, fmt::format("the condition has {} elements", call.operands[0].numel()),
           "Make it a tensor of one element, with any() or all()");
  int64_t length = -1;
  for (size_t i = call.carried; i < call.carried + call.sliced; ++i) {
    const auto& list = call.operands[i];
    if (list.dim() == 0 || (length >= 0 && list.size(0) != length))
      refuse(name, "the tensors to take apart have different first dims, or none",
             "Pass tensors of one length");
    length = list.size(0);
  }
  if (length == 0)
    refuse(name, "there are no elements to take", "Pass at least one: shapes are unknown without");
}

/// Returns whether tensors share memory.
bool share_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && b.defined() && a.has_storage() && b.has_storage() &&
         a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl();
}

/// Copies what shares memory with arguments or overlaps itself: compiled, results of regions have memory of
/// their own.
Tensors as_own(Tensors results, const Tensors& arguments) {
  for (size_t k = 0; k < results.size(); ++k) {
    const auto shares = [&](const at::Tensor& other) { return share_memory(results[k], other); };
    if (std::any_of(arguments.begin(), arguments.end(), shares) ||
        (results[k].defined() && at::has_internal_overlap(results[k]) == at::MemOverlap::Yes) ||
        std::any_of(results.begin(), results.begin() + static_cast<ptrdiff_t>(k), shares))
      results[k] = results[k].clone();
  }
  return results;
}

Tensors run_plain(const detail::RegionCall& call) {
  Region region;
  region.kind = static_cast<RegionKind>(call.form);
  region.carried = static_cast<int64_t>(call.carried);
  region.sliced = static_cast<int64_t>(call.sliced);
  const bool whole = call.form == detail::RegionForm::Call || call.form == detail::RegionForm::Checkpoint;
  auto arguments = call.arguments;
  arguments.insert(arguments.end(), call.operands.begin(), call.operands.end());
  return as_own(run_region(region, call.bodies, whole ? call.arguments : call.operands), arguments);
}

// --- captured

std::string text_of(const std::vector<ir::TensorType>& types) {
  std::string text;
  for (const auto& type : types) text += (text.empty() ? "" : ", ") + ir::print(ir::Type(type));
  return text;
}

bool same_shapes(const std::vector<ir::TensorType>& a, const std::vector<ir::TensorType>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.dtype == y.dtype && x.device == y.device && x.sizes == y.sizes;
  });
}

class RegionCapture {
 public:
  RegionCapture(capture::Recorder& recorder, const detail::RegionCall& call)
      : recorder_(recorder), call_(call), name_(kRegionNames[ordinal(call.form)]) {}

  Tensors run() {
    for (const auto& function : call_.bodies) bodies_.push_back(record(function));
    check_results();
    join_reads();
    auto region = std::make_shared<Region>();
    region->kind = static_cast<RegionKind>(call_.form);
    region->name = call_.name;
    region->carried = static_cast<int64_t>(call_.carried);
    region->sliced = static_cast<int64_t>(call_.sliced);
    for (const auto& body : bodies_) {
      auto graph = capture::graph_of(body, reads_, recorder_.graph());
      region->bodies.push_back(std::move(graph.graph));
      region->plain.push_back(std::move(graph.plain));
      region->random |= body.random;
      region->ordered |= body.ordered;
    }
    region->reached = reached();
    region->settings = settings_of(*CapturesRegions::options());
    region->cache_tag = CapturesRegions::options()->cache_tag;
    CapturesRegions::note(
        fmt::format("{}{}{}{}: a region", name_, call_.name.empty() ? "" : " ", call_.name, call_.place));
    return emit_region(recorder_, region, operands_);
  }

 private:
  capture::Body record(const detail::RegionFunction& function) const {
    const bool whole = call_.form == detail::RegionForm::Call || call_.form == detail::RegionForm::Checkpoint;
    capture::BodyCall body{name_, {}, call_.arguments, function};
    if (whole) body.function = [&](const Tensors&) { return function(call_.arguments); };
    for (size_t i = 0; i < call_.carried; ++i) body.like.push_back(call_.operands[i]);
    for (size_t i = call_.carried; i < call_.carried + call_.sliced; ++i)
      body.like.push_back(call_.operands[i].select(0, 0));
    return capture::record_body(recorder_, body);
  }

  void check_results() const {
    if (call_.form == detail::RegionForm::Cond && !same_shapes(bodies_[0].types, bodies_[1].types))
      refuse(name_,
             fmt::format("one branch returns {}, the other {}", text_of(bodies_[0].types),
                         text_of(bodies_[1].types)),
             "Return the same shapes and dtypes from both");
    if (call_.form == detail::RegionForm::WhileLoop &&
        (bodies_[0].types.size() != 1 || !(bodies_[0].types[0].numel() == ir::Dim(1))))
      refuse(name_, fmt::format("the condition is {}", text_of(bodies_[0].types)),
             "Make it a tensor of one element, with any() or all()");
    if (call_.carried == 0) return;
    std::vector<ir::TensorType> before, after = bodies_.back().types;
    for (size_t i = 0; i < call_.carried; ++i)
      before.push_back(aten::type_of(call_.operands[i], call_.operands[i].device()));
    after.resize(std::min(after.size(), call_.carried));
    if (!same_shapes(before, after))
      refuse(name_, fmt::format("it carries {}, and a turn returns {}", text_of(before), text_of(after)),
             "Return what is carried in the same shapes and dtypes");
  }

  /// Operands are those of the call, then the tensors that bodies use.
  void join_reads() {
    operands_ = call_.operands;
    for (const auto& body : bodies_)
      for (size_t i = 0; i < body.reads.size(); ++i) {
        if (std::find(reads_.begin(), reads_.end(), body.reads[i]) != reads_.end()) continue;
        reads_.push_back(body.reads[i]);
        operands_.push_back(body.tensors[i]);
      }
  }

  /// Per result of the body: the operands that it has a gradient for when it is called once.
  std::vector<std::vector<bool>> reached_by(const capture::Body& body) const {
    const auto placeholders = body.placeholders.size();
    const auto others = operands_.size() - reads_.size();
    std::vector<std::vector<bool>> out;
    for (const auto& row : body.reached) {
      std::vector<bool> by(operands_.size());
      for (size_t i = 0; i < placeholders; ++i) by[i] = row[i];
      for (size_t i = 0; i < body.reads.size(); ++i) {
        const auto at = std::find(reads_.begin(), reads_.end(), body.reads[i]) - reads_.begin();
        by[others + at] = row[placeholders + i];
      }
      out.push_back(std::move(by));
    }
    return out;
  }

  std::vector<std::vector<int64_t>> reached() const {
    auto rows = reached_by(bodies_.back());
    if (call_.form == detail::RegionForm::Cond) {
      const auto other = reached_by(bodies_[0]);
      for (size_t k = 0; k < rows.size(); ++k)
        for (size_t i = 0; i < rows[k].size(); ++i) rows[k][i] = rows[k][i] || other[k][i];
    }
    close_over_turns(rows);
    std::vector<std::vector<int64_t>> lists(rows.size());
    for (size_t k = 0; k < rows.size(); ++k)
      for (size_t i = 0; i < rows[k].size(); ++i)
        if (rows[k][i]) lists[k].push_back(static_cast<int64_t>(i));
    return lists;
  }

  /// What a carried tensor reaches in one turn, it reaches through others in the next. A loop without turns
  /// returns its operands.
  void close_over_turns(std::vector<std::vector<bool>>& rows) const {
    if (call_.form == detail::RegionForm::WhileLoop)
      for (size_t i = 0; i < call_.carried; ++i) rows[i][i] = is_differentiable(call_.operands[i]);
    for (bool changed = call_.carried > 0; changed;) {
      changed = false;
      for (auto& row : rows)
        for (size_t i = 0; i < call_.carried; ++i)
          for (size_t k = 0; row[i] && k < row.size(); ++k)
            if (rows[i][k] && !row[k]) changed = row[k] = true;
    }
  }

  capture::Recorder& recorder_;
  const detail::RegionCall& call_;
  const char* name_;
  std::vector<capture::Body> bodies_;
  std::vector<ir::ValueId> reads_;
  Tensors operands_;
};

}  // namespace
}  // namespace compiler

namespace detail {

RegionTensors run_region(const RegionCall& call) {
  compiler::check_operands(call, compiler::kRegionNames[ordinal(call.form)]);
  return compiler::captures_regions() ? compiler::RegionCapture(*capture::active_recorder(), call).run()
                                      : compiler::run_plain(call);
}

void refuse_structure(const char* region, bool numbers) {
  if (numbers)
    throw Error(ErrorCode::InvalidArgument, region, "an argument or a result has plain numbers in it",
                "Pass tensors, and let the body capture numbers");
  throw Error(ErrorCode::InvalidArgument, region, "bodies, or turns, return different structures",
              "Return the same number of tensors in the same structure");
}

}  // namespace detail
}  // namespace antegrad
