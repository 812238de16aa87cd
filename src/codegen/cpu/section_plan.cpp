#include "codegen/cpu/section_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/text/names.h"

namespace antegrad::codegen::cpu {
namespace {

using ir::DType;
using schedule::Combine;
using schedule::Kernel;
using schedule::Op;
using schedule::OpCode;
using schedule::Section;

/// The number of floats that one vector lane adds up before the sum continues in double, and of doubles
/// before it continues in two doubles. Vectors have at least four lanes.
constexpr int64_t kFloatSum = 1024;
/// Of doubles in a kernel with lanes, whose sums have a lane each.
constexpr int64_t kDoubleLaneSum = 128;
constexpr int64_t kFewestLanes = 4;
/// The number of random numbers generated at once.
constexpr int64_t kRandomTile = 1024;
/// Shorter loops are not worth vectorising.
constexpr int64_t kShortLoop = 4;

bool has_effect(const Op& op) {
  return op.code == OpCode::Store || op.code == OpCode::Reduce || op.code == OpCode::Accumulate ||
         op.code == OpCode::Scatter;
}

class SectionPlanner {
 public:
  SectionPlanner(const Kernel& kernel, KernelPlan& plan, size_t index)
      : kernel_(kernel), plan_(plan), section_(kernel.sections[index]), scalar_depth_(plan.types.size(), 0) {
    out_.section = &section_;
    out_.nest = section_.loops;
    if (kernel.lane >= 0) out_.nest.push_back(kernel.lane);
    for (size_t id = 0; id < plan.types.size(); ++id)
      if (plan.per_lane[id]) scalar_depth_[id] = innermost();
  }

  SectionPlan run() {
    for (const auto& op : section_.ops)
      if (op.code == OpCode::Store || op.code == OpCode::Scatter) written_.insert(op.buffer);
    for (size_t i = 0; i < section_.ops.size(); ++i) place(i);
    find_tiles();
    choose_block();
    for (auto& target : out_.targets) choose_form(target);
    find_owner();
    out_.simd = vectorises();
    return std::move(out_);
  }

 private:
  int innermost() const { return out_.depth_of_loops(); }

  int depth_of(const schedule::Affine& address) const {
    int depth = 0;
    for (const auto& [loop, coefficient] : address.terms) {
      const auto found = std::find(out_.nest.begin(), out_.nest.end(), loop);
      if (found != out_.nest.end()) depth = std::max(depth, static_cast<int>(found - out_.nest.begin()) + 1);
    }
    return depth;
  }
  int depth_of(int32_t scalar) const { return scalar_depth_[scalar]; }

  /// Whether the op addresses scratch memory, which has elements for each lane.
  bool is_per_lane(const Op& op) const {
    return kernel_.lane >= 0 && kernel_.buffers[op.buffer].kind == schedule::Buffer::Kind::Scratch;
  }

  void place(size_t index) {
    const auto& op = section_.ops[index];
    int depth = op.code == OpCode::Constant ? 0 : depth_of(op.address);
    for (const auto arg : op.args) depth = std::max(depth, depth_of(arg));
    for (const auto& part : op.indirect) depth = std::max(depth, add_position(part));
    const bool reads_what_changes =
        op.code == OpCode::Load && (written_.contains(op.buffer) || is_per_lane(op));
    if (has_effect(op) || reads_what_changes) depth = innermost();
    out_.depth.push_back(depth);
    if (op.result >= 0 && op.code != OpCode::Reduce) scalar_depth_[op.result] = depth;
    if (op.code == OpCode::Reduce || op.code == OpCode::Accumulate)
      out_.targets.push_back(make_target(index));
  }

  int add_position(const schedule::Indirect& part) {
    const auto known = out_.find_position(part);
    if (known < out_.positions.size()) return out_.positions[known].depth;
    const auto depth = depth_of(part.index);
    out_.positions.push_back({part, depth, fmt::format("p{}_{}", part.index, out_.positions.size())});
    return depth;
  }

  Target make_target(size_t index) const {
    const auto& op = section_.ops[index];
    Target target;
    target.op = index;
    const auto argument = plan_.types[op.args[0]];
    if (op.code == OpCode::Reduce) {
      target.type = schedule::compute_type(op.dtype);
      target.per_lane = kernel_.lane >= 0;
      return target;
    }
    target.depth = depth_of(op.address);
    const auto memory = schedule::compute_type(kernel_.buffers[op.buffer].dtype);
    target.type = is_floating(memory) && is_floating(argument) ? argument : memory;
    if (target.depth == innermost()) target.form = Target::Form::Direct;
    return target;
  }

  /// Whether a sum needs more digits than its type has. Doubles that were floats leave enough of theirs.
  bool needs_blocks(const Target& target) const {
    const auto& op = section_.ops[target.op];
    return op.combine == Combine::Sum && is_floating(target.type) && target.form != Target::Form::Direct &&
           !(target.type == DType::F64 && was_float(op.args[0]));
  }

  bool was_float(int32_t scalar) const {
    const auto definition = std::ranges::find(section_.ops, scalar, &Op::result);
    return definition != section_.ops.end() && definition->code == OpCode::Cast &&
           plan_.types[definition->args[0]] == DType::F32;
  }

  void find_tiles() {
    if (out_.nest.empty()) return;
    for (size_t i = 0; i < section_.ops.size(); ++i) {
      const auto& op = section_.ops[i];
      if (op.code == OpCode::Random && op.address.coefficient(out_.nest.back()) == ir::Dim(1))
        out_.tiled.push_back(i);
    }
  }

  void choose_block() {
    const auto loops = static_cast<int>(section_.loops.size());
    if (kernel_.lane < 0 && !out_.tiled.empty()) {
      const auto& extent = kernel_.loops[out_.nest.back()];
      const bool fits = extent.is_constant() && extent.constant() <= kRandomTile;
      out_.tile = fits ? std::max<int64_t>(extent.constant(), 1) : kRandomTile;
      if (!fits) out_.block = {loops - 1, kRandomTile};
      if (!fits) return;
    }
    int64_t most = 0;
    bool sums_lanes = false;
    for (const auto& target : out_.targets) {
      if (!needs_blocks(target)) continue;
      const auto own = target.type == DType::F64 && kernel_.lane >= 0 ? kDoubleLaneSum : kFloatSum;
      most = most == 0 ? own : std::min(most, own);
      sums_lanes = sums_lanes || !target.per_lane;
    }
    if (most == 0) return;
    int64_t limit = kernel_.lane < 0 ? most * kFewestLanes : most;
    if (kernel_.lane >= 0 && sums_lanes) limit = most * kFewestLanes / schedule::kStrip;
    for (int level = loops - 1; level >= 0; --level) {
      const auto& extent = kernel_.loops[section_.loops[level]];
      if (!extent.is_constant() || extent.constant() > limit) {
        out_.block = {level, limit};
        return;
      }
      limit /= std::max<int64_t>(extent.constant(), 1);
      if (limit <= 1 && level > 0) {
        out_.block = {level, extent.constant()};
        return;
      }
    }
  }

  void choose_form(Target& target) const {
    const auto& op = section_.ops[target.op];
    const auto id = op.code == OpCode::Reduce ? fmt::format("{}", op.result) : fmt::format("_{}", target.op);
    target.name = op.code == OpCode::Reduce ? fmt::format("v{}", op.result) : fmt::format("part{}", id);
    if (target.form == Target::Form::Direct) return;
    const bool extremum = op.combine == Combine::Max || op.combine == Combine::Min;
    if (needs_blocks(target) && out_.block.level >= target.depth) {
      target.form = Target::Form::Blocked;
      target.name = fmt::format("part{}", id);
      target.total = fmt::format("total{}", id);
      if (target.type == DType::F64) target.rest = fmt::format("rest{}", id);
    } else if (extremum && is_floating(target.type) && !target.per_lane) {
      target.form = Target::Form::Ordered;
      target.name = fmt::format("order{}", id);
    }
  }

  void find_owner() {
    if (!kernel_.owner) return;
    int found = -1;
    for (const auto& op : section_.ops) {
      if (!has_effect(op)) continue;
      if (op.code != OpCode::Scatter || op.indirect.empty()) return;
      const auto at = static_cast<int>(out_.find_position(op.indirect.front()));
      if (found >= 0 && at != found) return;
      found = at;
    }
    out_.owner_position = found;
  }

  bool vectorises() const {
    if (out_.nest.empty()) return false;
    const auto loop = out_.nest.back();
    const auto& extent = kernel_.loops[loop];
    if (extent.is_constant() && extent.constant() < kShortLoop) return false;
    return std::all_of(section_.ops.begin(), section_.ops.end(),
                       [&](const Op& op) { return is_independent(op, loop); });
  }

  /// Whether this op allows neighbouring iterations of the loop to run at the same time.
  bool is_independent(const Op& op, int32_t loop) const {
    if (op.code == OpCode::Store) return is_per_lane(op) || op.address.coefficient(loop) != ir::Dim(0);
    if (op.code == OpCode::Scatter)
      return out_.owner_position >= 0 && op.address.coefficient(loop) != ir::Dim(0) &&
             std::all_of(op.indirect.begin(), op.indirect.end(), [&](const schedule::Indirect& part) {
               return out_.positions[out_.find_position(part)].depth < innermost();
             });
    if (op.code != OpCode::Load || !written_.contains(op.buffer)) return true;
    return std::all_of(section_.ops.begin(), section_.ops.end(), [&](const Op& other) {
      return other.code != OpCode::Store || other.buffer != op.buffer || other.address == op.address;
    });
  }

  const Kernel& kernel_;
  const KernelPlan& plan_;
  const Section& section_;
  SectionPlan out_;
  std::vector<int> scalar_depth_;
  std::set<int32_t> written_;
};

/// Marks the scalars that a section without loops, or a Reduce, defines for later sections as per-lane
/// arrays.
void mark_lanes(const Kernel& kernel, KernelPlan& plan, size_t index) {
  const auto& section = kernel.sections[index];
  for (size_t i = 0; i < section.ops.size(); ++i) {
    const auto& op = section.ops[i];
    if (op.result < 0) continue;
    const bool varies = op.code == OpCode::Reduce || plan.sections[index].depth[i] > 0;
    bool used_later = false;
    for (size_t later = index + 1; later < kernel.sections.size(); ++later)
      for (const auto& user : kernel.sections[later].ops) {
        used_later = used_later || std::count(user.args.begin(), user.args.end(), op.result) > 0;
        for (const auto& part : user.indirect) used_later = used_later || part.index == op.result;
      }
    if (op.code == OpCode::Reduce || (section.loops.empty() && varies && used_later))
      plan.per_lane[op.result] = true;
  }
}

}  // namespace

size_t SectionPlan::find_position(const schedule::Indirect& part) const {
  const auto found = std::find_if(positions.begin(), positions.end(), [&](const Position& position) {
    const auto& known = position.part;
    return known.index == part.index && known.size == part.size && known.wraps == part.wraps;
  });
  return found - positions.begin();
}

KernelPlan plan_kernel(const Kernel& kernel) {
  KernelPlan plan;
  plan.types = scalar_types(kernel);
  plan.per_lane.assign(plan.types.size(), false);
  int accumulates = 0;
  std::set<std::string> taken;
  for (size_t i = 0; i < kernel.sections.size(); ++i) {
    plan.sections.push_back(SectionPlanner(kernel, plan, i).run());
    if (kernel.lane >= 0) mark_lanes(kernel, plan, i);
    for (auto& target : plan.sections.back().targets) {
      if (!taken.insert(target.name).second) {
        target.name += fmt::format("_{}", i);
        target.total += fmt::format("_{}", i);
        if (!target.rest.empty()) target.rest += fmt::format("_{}", i);
      }
      if (kernel.sections[i].ops[target.op].code == OpCode::Accumulate)
        target.accumulator = fmt::format("acc{}", accumulates++);
    }
  }
  return plan;
}

}  // namespace antegrad::codegen::cpu
