#include "codegen/cuda/section_plan.h"

#include <algorithm>
#include <set>

#include "codegen/text/names.h"
#include "schedule/sizes.h"

namespace antegrad::codegen::cuda {
namespace {

using schedule::Kernel;
using schedule::Op;
using schedule::OpCode;
using schedule::Section;

bool contains(const std::vector<int32_t>& loops, int32_t loop) {
  return std::find(loops.begin(), loops.end(), loop) != loops.end();
}

class SectionPlanner {
 public:
  SectionPlanner(const Kernel& kernel, SectionPlan& out) : kernel_(kernel), out_(out) {
    levels_.assign(scalar_types(kernel).size(), Level::Section);
  }

  /// Plans for vectors of this many elements. Returns false if they are not worth while or not possible.
  bool run(int32_t vector, bool may_have_tail) {
    out_.vector = vector;
    out_.plans.resize(out_.ops.size());
    if (vector > 1 && !fits(may_have_tail)) return false;
    for (size_t i = 0; i < out_.ops.size(); ++i) place(out_.ops[i], out_.plans[i]);
    return vector == 1 || pays();
  }

 private:
  int32_t last() const { return out_.spread.empty() ? -1 : out_.spread.back(); }

  bool fits(bool may_have_tail) {
    if (out_.spread.empty()) return false;
    const bool whole = is_multiple(kernel_.loops[last()], out_.vector);
    out_.tail = !whole;
    if (!whole && (!may_have_tail || out_.spread.size() > 1 || !out_.serial.empty())) return false;
    // What a section stores and then loads again has to be in memory by then.
    std::set<int32_t> stored;
    for (const auto& op : out_.ops) {
      if (op.code == OpCode::Store || op.code == OpCode::Scatter) stored.insert(op.buffer);
      if (op.code == OpCode::Load && stored.contains(op.buffer)) return false;
    }
    return true;
  }

  Level level_of(const schedule::Affine& address) const {
    Level level = Level::Section;
    for (const auto& [loop, coefficient] : address.terms) {
      if (loop == last()) return Level::Element;
      if (contains(out_.spread, loop) || contains(out_.serial, loop)) level = Level::Vector;
    }
    return level;
  }

  void place(const Op& op, OpPlan& plan) {
    auto level = op.code == OpCode::Constant ? Level::Section : level_of(op.address);
    Level indirect = Level::Section;
    for (const auto& part : op.indirect) indirect = std::max(indirect, levels_[part.index]);
    for (const auto arg : op.args) level = std::max(level, levels_[arg]);
    level = std::max(level, indirect);
    // Without an iteration there may be no element to load.
    const bool must_wait = op.code == OpCode::Load && out_.has_loops() &&
                           (is_written(op.buffer) || !op.indirect.empty() || may_be_empty());
    if (must_wait) level = std::max(level, stored_before(op) ? Level::Element : Level::Vector);
    if (has_effect(op)) level = plan.once ? std::max(level, Level::Vector) : Level::Element;
    plan.level = level;
    const bool plain = op.code == OpCode::Load || (op.code == OpCode::Store && !plan.once);
    plan.vector = out_.vector > 1 && plain && indirect < Level::Element && is_vector(op);
    plan.early = op.code == OpCode::Load && op.indirect.empty() && level > Level::Section &&
                 out_.serial.empty() && !stored_before(op) && !kernel_.buffers[op.buffer].host;
    if (op.result >= 0 && op.code != OpCode::Reduce) levels_[op.result] = level;
  }

  bool may_be_empty() const {
    const auto all = iterations(kernel_, out_.spread) * iterations(kernel_, out_.serial);
    return !all.is_constant() || all.constant() <= 0;
  }
  bool is_written(int32_t buffer) const {
    return std::any_of(out_.ops.begin(), out_.ops.end(), [&](const Op& op) {
      return (op.code == OpCode::Store || op.code == OpCode::Scatter) && op.buffer == buffer;
    });
  }
  bool stored_before(const Op& load) const {
    for (const auto& op : out_.ops) {
      if (&op == &load) return false;
      if (op.code == OpCode::Store && op.buffer == load.buffer) return true;
    }
    return false;
  }

  /// Whether the elements of a vector are neighbours in memory and the first is at a multiple of its length.
  bool is_vector(const Op& op) const {
    const auto& buffer = kernel_.buffers[op.buffer];
    if (buffer.host || op.address.coefficient(last()) != ir::Dim(1)) return false;
    const auto multiple = [&](const ir::Dim& dim) { return is_multiple(dim, out_.vector); };
    return multiple(op.address.offset) &&
           std::all_of(op.address.terms.begin(), op.address.terms.end(),
                       [&](const auto& term) { return term.first == last() || multiple(term.second); }) &&
           std::all_of(op.indirect.begin(), op.indirect.end(),
                       [&](const schedule::Indirect& part) { return multiple(part.stride); });
  }

  /// Whether vectors help: everything is stored as vectors, and most of it loaded.
  bool pays() const {
    int vectors = 0, others = 0;
    for (size_t i = 0; i < out_.ops.size(); ++i) {
      const auto& op = out_.ops[i];
      const bool accesses = op.code == OpCode::Load || op.code == OpCode::Store;
      if (!accesses || out_.plans[i].once || kernel_.buffers[op.buffer].host) continue;
      if (out_.plans[i].vector)
        ++vectors;
      else if (op.code == OpCode::Store)
        return false;
      else if (out_.plans[i].level == Level::Element)
        ++others;
    }
    return vectors > 0 && vectors >= others;
  }

  const Kernel& kernel_;
  SectionPlan& out_;
  std::vector<Level> levels_;
};

/// Chooses the loops that are divided among threads: all of them, unless an Accumulate has an accumulator per
/// iteration of only some loops, which must then stay on one thread.
void spread_loops(const Section& section, SectionPlan& out) {
  out.spread = section.loops;
  for (const auto& op : section.ops)
    if (op.code == OpCode::Accumulate && !op.address.terms.empty())
      std::erase_if(out.spread, [&](int32_t loop) { return op.address.coefficient(loop) == ir::Dim(0); });
  for (const auto loop : section.loops)
    if (!contains(out.spread, loop)) out.serial.push_back(loop);
}

SectionPlan planned(const Kernel& kernel, const SectionPlan& start, int32_t vector, bool may_have_tail) {
  auto out = start;
  if (vector > 1 && SectionPlanner(kernel, out).run(vector, may_have_tail)) return out;
  out = start;
  SectionPlanner(kernel, out).run(1, false);
  return out;
}

}  // namespace

ir::Dim iterations(const Kernel& kernel, const std::vector<int32_t>& loops) {
  ir::Dim count = 1;
  for (const auto loop : loops) count = count * kernel.loops[loop];
  return count;
}

bool is_multiple(const ir::Dim& dim, int64_t of) {
  return dim.is_constant() ? dim.constant() % of == 0 : schedule::divided(dim, of).has_value();
}

bool has_effect(const Op& op) {
  return op.code == OpCode::Store || op.code == OpCode::Reduce || op.code == OpCode::Accumulate ||
         op.code == OpCode::Scatter;
}

int64_t instructions(const SectionPlan& section) {
  constexpr int64_t kCall = 25, kDivision = 8, kRandom = 20;
  int64_t sum = 1;
  for (size_t i = 0; i < section.ops.size(); ++i) {
    const auto& op = section.ops[i];
    if (section.plans[i].level != Level::Element) continue;
    sum += 2 + kCall * std::count(op.text.begin(), op.text.end(), '(') +
           kDivision * std::count(op.text.begin(), op.text.end(), '/') +
           (op.code == OpCode::Random ? kRandom : 0);
  }
  return sum;
}

std::vector<SectionPlan> plan_sections(const Kernel& kernel, Mapping::Form form, int32_t vector) {
  std::vector<SectionPlan> out;
  if (form == Mapping::Form::Flat) {
    SectionPlan all;
    all.spread = kernel.outer;
    for (const auto& section : kernel.sections) {
      all.inner.insert(all.inner.end(), section.loops.begin(), section.loops.end());
      for (const auto& op : section.ops) {
        all.ops.push_back(op);
        all.plans.emplace_back().once = section.loops.empty() && has_effect(op);
      }
    }
    all.spread.insert(all.spread.end(), all.inner.begin(), all.inner.end());
    if (kernel.lane >= 0) {  // the loop whose elements are neighbours in memory
      std::erase(all.spread, kernel.lane);
      all.spread.push_back(kernel.lane);
    }
    // Without loops everything is done once anyway.
    if (all.inner.empty())
      for (auto& plan : all.plans) plan.once = false;
    return {planned(kernel, all, vector, true)};
  }
  for (const auto& section : kernel.sections) {
    SectionPlan plan;
    plan.ops = section.ops;
    plan.plans.resize(section.ops.size());
    plan.inner = section.loops;
    spread_loops(section, plan);
    out.push_back(
        planned(kernel, plan, form == Mapping::Form::Columns ? 1 : vector, form == Mapping::Form::All));
  }
  return out;
}

}  // namespace antegrad::codegen::cuda
