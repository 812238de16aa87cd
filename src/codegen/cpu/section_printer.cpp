#include "codegen/cpu/section_printer.h"

#include <algorithm>

#include "codegen/cpu/random_text.h"
#include "codegen/cpu/target_text.h"
#include "codegen/text/c_text.h"
#include "codegen/text/op_text.h"

namespace antegrad::codegen::cpu {
namespace {

using ir::DType;
using schedule::Op;
using schedule::OpCode;

class SectionPrinter {
 public:
  SectionPrinter(Writer& writer, LaneNames& names, const SectionPlan& plan, const Bounds& bounds)
      : writer_(writer), names_(names), plan_(plan), bounds_(bounds), ops_(plan.section->ops) {}

  /// Prints the body of the loop at depth - 1, including inner loops.
  void print_body(int depth) {
    int guards = 0;
    if (depth == 0) declare_lanes();
    for (size_t i = 0; i < plan_.positions.size(); ++i)
      if (plan_.positions[i].depth == depth && !is_defined_here(plan_.positions[i].part.index))
        guards += print_position(i);
    for (const auto& target : plan_.targets)
      if (target.depth == depth) begin_target(writer_, names_, plan_, target);
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (plan_.depth[i] != depth) continue;
      print_comment(ops_[i]);
      print_op(i);
      for (size_t p = 0; p < plan_.positions.size(); ++p)
        if (ops_[i].result >= 0 && plan_.positions[p].part.index == ops_[i].result)
          guards += print_position(p);
    }
    if (depth < plan_.depth_of_loops()) print_loop(depth);
    for (const auto& target : plan_.targets)
      if (target.depth == depth) end_target(writer_, names_, plan_, target);
    for (; guards > 0; --guards) writer_.close();
  }

 private:
  /// Declares arrays for what this section computes per lane and later sections use.
  void declare_lanes() {
    for (const auto& op : ops_)
      if (op.result >= 0 && op.code != OpCode::Reduce && names_.plan().per_lane[op.result])
        writer_.line("{} v{}[{}];", scalar_type(names_.type(op.result)), op.result, lanes(names_.kernel()));
  }

  bool is_defined_here(int32_t scalar) const {
    return std::any_of(ops_.begin(), ops_.end(), [&](const Op& op) { return op.result == scalar; });
  }

  bool uses_loop(int32_t loop) const {
    return std::any_of(ops_.begin(), ops_.end(), [&](const Op& op) {
      const auto& terms = op.address.terms;
      return std::any_of(terms.begin(), terms.end(), [&](const auto& term) { return term.first == loop; });
    });
  }

  void print_comment(const Op& op) {
    if (op.code == OpCode::Constant) return;
    if (!op.comment.empty() && op.comment != comment_) writer_.comment(op.comment);
    if (!op.comment.empty()) comment_ = op.comment;
  }

  /// Returns 1 when it has opened a block that only the owner of the position enters, else 0.
  int print_position(size_t index) {
    const auto& position = plan_.positions[index];
    const auto arguments = fmt::format("{}, {}, {}", names_.scalar(position.part.index),
                                       names_.dim(position.part.size), position.part.wraps ? 1 : 0);
    writer_.line("bad |= ag_outside({});", arguments);
    writer_.line("const int64_t {} = ag_position({});", position.name, arguments);
    if (static_cast<int>(index) != plan_.owner_position) return 0;
    writer_.open("if (begin <= {0} && {0} < end) {{", position.name);
    return 1;
  }

  std::pair<std::string, std::string> bounds(int32_t loop) {
    if (loop == names_.kernel().lane) return {"0", "n"};
    const auto found = bounds_.find(loop);
    return found == bounds_.end() ? std::pair<std::string, std::string>("0", names_.extent(loop))
                                  : found->second;
  }

  void print_loop(int level) {
    const auto loop = plan_.nest[level];
    const bool is_lane = loop == names_.kernel().lane;
    const bool is_innermost = level + 1 == plan_.depth_of_loops();
    const bool blocked = level == plan_.block.level;
    auto [first, last] = bounds(loop);
    if (blocked) {
      writer_.open("for (int64_t t{0} = {1}; t{0} < {2}; t{0} += {3}) {{", loop, first, last,
                   plan_.block.step);
      writer_.line("const int64_t e{0} = AG_MIN(t{0} + {1}, {2});", loop, plan_.block.step, last);
      first = fmt::format("t{}", loop);
      last = fmt::format("e{}", loop);
      for (const auto& target : plan_.targets) begin_block(writer_, names_, plan_, target);
    }
    if (is_innermost) print_tiles(loop, first, last);
    if (is_innermost && plan_.simd) writer_.pragma("omp simd" + reductions());
    const auto variable = is_lane ? std::string("l") : fmt::format("i{}", loop);
    writer_.open("for (int64_t {0} = {1}; {0} < {2}; ++{0}) {{", variable, first, last);
    if (is_lane && uses_loop(loop)) writer_.line("const int64_t i{} = first + l;", loop);
    print_body(level + 1);
    writer_.close();
    if (!blocked) return;
    for (const auto& target : plan_.targets) end_block(writer_, names_, plan_, target);
    writer_.close();
  }

  void print_tiles(int32_t loop, const std::string& first, const std::string& last) {
    const bool is_lane = loop == names_.kernel().lane;
    tile_first_ = first;
    Tile tile{loop, first, first == "0" ? last : fmt::format("{} - {}", last, first), plan_.tile};
    if (is_lane) tile = {loop, "first", "n", lanes(names_.kernel())};
    for (const auto index : plan_.tiled) {
      print_comment(ops_[index]);
      print_random_tile(writer_, names_, ops_[index], tile);
    }
  }

  std::string reductions() {
    std::string out;
    for (const auto& target : plan_.targets)
      if (!target.per_lane && target.form != Target::Form::Direct)
        out += fmt::format(" reduction({}:{})", clause(ops_[target.op].combine, target.type), target.name);
    const auto innermost = plan_.depth_of_loops();
    const bool checks = std::any_of(plan_.positions.begin(), plan_.positions.end(),
                                    [&](const Position& position) { return position.depth == innermost; });
    return checks ? out + " reduction(|:bad)" : out;
  }

  std::vector<std::string> positions(const Op& op) const {
    std::vector<std::string> out;
    for (const auto& part : op.indirect) out.push_back(plan_.positions[plan_.find_position(part)].name);
    return out;
  }

  void define(const Op& op, const std::string& value) {
    if (names_.plan().per_lane[op.result])
      writer_.line("{} = {};", names_.scalar(op.result), value);
    else
      writer_.line("const {} v{} = {};", scalar_type(names_.type(op.result)), op.result, value);
  }

  void print_op(size_t index) {
    const auto& op = ops_[index];
    switch (op.code) {
      case OpCode::Load:
        return define(op, from_memory(names_, names_.memory(op.buffer), names_.element(op, positions(op))));
      case OpCode::Store:
        return writer_.line("{} = {};", names_.element(op), stored(op));
      case OpCode::Reduce:
      case OpCode::Accumulate:
        for (const auto& target : plan_.targets)
          if (target.op == index) combine_target(writer_, names_, plan_, target);
        return;
      case OpCode::Random:
        return define(op, random_value(index));
      case OpCode::Scatter:
        return print_scatter(op);
      default:
        return define(op, value_text(names_, op));
    }
  }

  std::string stored(const Op& op) {
    return to_memory(names_, names_.memory(op.buffer), names_.scalar(op.args[0]), names_.type(op.args[0]));
  }

  std::string random_value(size_t index) {
    const auto& op = ops_[index];
    if (std::find(plan_.tiled.begin(), plan_.tiled.end(), index) == plan_.tiled.end())
      return random_element(writer_, names_, op);
    const auto loop = plan_.nest.back();
    const auto variable = loop == names_.kernel().lane ? "l" : fmt::format("i{}", loop);
    return random_from_tile(names_, op, tile_first_ == "0" ? variable : variable + " - " + tile_first_);
  }

  void print_scatter(const Op& op) {
    const auto at = positions(op);
    const bool guarded = plan_.owner_position >= 0;
    if (!guarded && names_.kernel().owner) writer_.open("if (begin <= {0} && {0} < end) {{", at[0]);
    const auto memory = names_.memory(op.buffer);
    const auto element = names_.element(op, at);
    const auto type = schedule::compute_type(memory);
    const auto value = names_.scalar(op.args[0]);
    if (type == memory) {
      writer_.line("{}", combine_text(element, to_memory(names_, memory, value, names_.type(op.args[0])),
                                      type, op.combine));
    } else {
      writer_.line("float into = {};", from_memory(names_, memory, element));
      writer_.line("{}", combine_text("into", value, type, op.combine));
      writer_.line("{} = {};", element, to_memory(names_, memory, "into", type));
    }
    if (!guarded && names_.kernel().owner) writer_.close();
  }

  Writer& writer_;
  LaneNames& names_;
  const SectionPlan& plan_;
  const Bounds& bounds_;
  const std::vector<Op>& ops_;
  std::string comment_;
  std::string tile_first_;  ///< the first iteration for which random numbers were generated
};

}  // namespace

void print_section(Writer& writer, LaneNames& names, const SectionPlan& plan, const Bounds& bounds) {
  SectionPrinter(writer, names, plan, bounds).print_body(0);
}

bool checks_indices(const KernelPlan& plan) {
  return std::any_of(plan.sections.begin(), plan.sections.end(),
                     [](const SectionPlan& section) { return !section.positions.empty(); });
}

}  // namespace antegrad::codegen::cpu
