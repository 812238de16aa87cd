#include "codegen/cuda/kernel_plan.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "antegrad/error.h"
#include "codegen/text/names.h"

namespace antegrad::codegen::cuda {
namespace {

using ir::DType;
using schedule::Buffer;
using schedule::Combine;
using schedule::Kernel;
using schedule::Op;
using schedule::OpCode;

constexpr int64_t kMostTrips = 16;         ///< vectors of a thread that are unrolled
constexpr int64_t kMostUnrolled = 64;      ///< elements of a thread that are unrolled
constexpr int64_t kMostAccumulators = 64;  ///< registers of a thread for accumulators
constexpr int64_t kSharedAccumulators = 16 << 10;
constexpr int64_t kMostPrefetched = 32;  ///< bytes of a thread
constexpr int64_t kLongSum = 256;        ///< elements that a thread adds before it adds in double

int64_t aligned16(int64_t bytes) { return (bytes + 15) / 16 * 16; }

/// The bytes of a variable that a reduction combines into, which for a bool is an i32 (reduction_type()).
int64_t accumulator_bytes(DType type) { return type == DType::Bool ? 4 : ir::size_in_bytes(type); }

class KernelPlanner {
 public:
  KernelPlanner(const Kernel& kernel, const Mapping& mapping)
      : kernel_(kernel), mapping_(mapping), types_(scalar_types(kernel)) {
    out_.sections = plan_sections(kernel, mapping.form, mapping.vector);
    out_.scratch.assign(kernel.buffers.size(), -1);
  }

  KernelPlan run() {
    for (size_t i = 0; i < out_.sections.size(); ++i) plan_accumulators(i);
    if (mapping_.keep) {
      find_keeps();
      find_prefetches();
    }
    for (auto& section : out_.sections) {
      const bool keeps = std::any_of(section.plans.begin(), section.plans.end(),
                                     [](const OpPlan& plan) { return plan.keep >= 0; });
      const bool unrolled = keeps || has_registers(section) || !section.prefetches.empty();
      section.trips = unrolled ? trips_of(section) : 0;
      for (size_t i = 0; i < section.ops.size(); ++i)
        section.plans[i].wide |= is_long_sum(section, section.ops[i]);
    }
    place_scratch();
    place_shared_accumulators();
    out_.slots = out_.shared_bytes;
    out_.shared_bytes += slot_bytes();
    return std::move(out_);
  }

 private:
  bool has_rows() const {
    return mapping_.form == Mapping::Form::Rows || mapping_.form == Mapping::Form::Columns;
  }

  /// Returns how many vectors of a section each thread runs; 0 if they are not unrolled.
  int32_t trips_of(const SectionPlan& section) const {
    if (mapping_.tile > 0)
      return section.has_loops() ? mapping_.tile / (mapping_.threads_per_row * section.vector) : 0;
    const auto count = iterations(kernel_, section.spread);
    if (mapping_.form != Mapping::Form::Rows || !section.serial.empty() || section.spread.empty() ||
        !count.is_constant() || count.constant() <= 0)
      return 0;
    const auto step = int64_t{mapping_.threads_per_row} * section.vector;
    const auto trips = (count.constant() + step - 1) / step;
    return trips > kMostTrips || trips * section.vector > kMostUnrolled ? 0 : static_cast<int32_t>(trips);
  }

  /// Whether a thread adds so many floats that rounding would show.
  bool is_long_sum(const SectionPlan& section, const Op& op) const {
    if (op.code != OpCode::Reduce || op.combine != Combine::Sum || reduced_type(op) != DType::F32)
      return false;
    const auto count = iterations(kernel_, section.inner);
    return !count.is_constant() || count.constant() > kLongSum * mapping_.threads_per_row;
  }

  // --- accumulators

  void plan_accumulators(size_t index) {
    auto& section = out_.sections[index];
    for (size_t i = 0; i < section.ops.size(); ++i) {
      const auto& op = section.ops[i];
      if (op.code != OpCode::Accumulate) continue;
      Accumulator one;
      one.section = index;
      one.op = i;
      const auto memory = schedule::compute_type(kernel_.buffers[op.buffer].dtype);
      const auto argument = types_[op.args[0]];
      one.type = ir::is_floating(memory) && ir::is_floating(argument) ? argument : memory;
      if (op.address.terms.empty()) {
        section.plans[i].wide = one.type == DType::F32 && op.combine == Combine::Sum;
        if (section.plans[i].wide) one.type = DType::F64;
      } else {
        one.type = memory;
        one.count = schedule::accumulators(kernel_, op);
        one.place = place_of(section, op, one);
      }
      out_.accumulators.push_back(std::move(one));
    }
  }

  Accumulator::Place place_of(const SectionPlan& section, const Op& op, const Accumulator& one) {
    const auto trips = trips_of(section);
    const auto registers = trips * section.vector * (ir::size_in_bytes(one.type) > 4 ? 2 : 1);
    if (trips > 0 && op.address.terms.size() == section.spread.size() &&
        (registers_ + registers <= kMostAccumulators || mapping_.tile > 0)) {
      registers_ += registers;
      return Accumulator::Place::Registers;
    }
    if (!one.count.is_constant()) return Accumulator::Place::Global;
    const auto bytes = one.count.constant() * accumulator_bytes(one.type) * mapping_.rows_per_block;
    if (shared_ + bytes > kSharedAccumulators) return Accumulator::Place::Global;
    shared_ += bytes;
    return Accumulator::Place::Shared;
  }

  bool has_registers(const SectionPlan& section) const {
    return std::any_of(out_.accumulators.begin(), out_.accumulators.end(), [&](const Accumulator& one) {
      return &out_.sections[one.section] == &section && one.place == Accumulator::Place::Registers;
    });
  }

  // --- what is kept in registers

  /// What a thread accesses, independent of the names of the section's loops.
  struct Access {
    int32_t buffer;
    std::vector<std::string> address;
    auto operator<=>(const Access&) const = default;
  };
  Access access_of(const SectionPlan& section, const Op& op) const {
    Access out{op.buffer, {op.address.offset.to_string()}};
    for (const auto loop : kernel_.outer) out.address.push_back(op.address.coefficient(loop).to_string());
    out.address.push_back(std::to_string(section.vector));
    for (const auto loop : section.spread) {
      out.address.push_back(kernel_.loops[loop].to_string());
      out.address.push_back(op.address.coefficient(loop).to_string());
    }
    return out;
  }

  struct Use {
    size_t section, op;
  };

  void find_keeps() {
    std::map<Access, std::vector<Use>> uses;
    std::map<int32_t, bool> may_keep;  ///< scratch buffers whose accesses are all alike
    std::map<int32_t, Access> of_scratch;
    for (size_t s = 0; s < out_.sections.size(); ++s)
      for (size_t i = 0; i < out_.sections[s].ops.size(); ++i) {
        const auto& section = out_.sections[s];
        const auto& op = section.ops[i];
        if (op.code != OpCode::Load && op.code != OpCode::Store) continue;
        const auto& buffer = kernel_.buffers[op.buffer];
        const bool eligible = trips_of(section) > 0 && op.indirect.empty() && !buffer.host &&
                              section.plans[i].level == Level::Element;
        const auto access = access_of(section, op);
        if (buffer.kind == Buffer::Kind::Scratch) {
          const auto [known, added] = of_scratch.emplace(op.buffer, access);
          auto& good = may_keep.emplace(op.buffer, true).first->second;
          good = good && eligible && known->second == access;
        } else if (!eligible || op.code != OpCode::Load || !section.plans[i].early || is_written(op.buffer)) {
          continue;
        } else if (is_same_in_all_rows(op)) {
          continue;  // other rows load it as well, so that it is in a cache
        }
        uses[access].push_back({s, i});
      }
    for (const auto& [access, all] : uses) {
      const bool scratch = kernel_.buffers[access.buffer].kind == Buffer::Kind::Scratch;
      if (scratch ? !may_keep[access.buffer] : all.front().section == all.back().section) continue;
      const auto& section = out_.sections[all.front().section];
      const auto id = static_cast<int32_t>(out_.keeps.size());
      out_.keeps.push_back({kernel_.buffers[access.buffer].dtype, trips_of(section), section.vector});
      for (const auto& use : all) out_.sections[use.section].plans[use.op].keep = id;
      if (!scratch) out_.sections[all.front().section].plans[all.front().op].fills = true;
      if (scratch)
        for (const auto& use : all) out_.sections[use.section].plans[use.op].early = false;
    }
  }

  /// Lets the first section that combines a row load what later sections load, as far as registers allow: by
  /// the time that the threads have combined their results it has arrived.
  void find_prefetches() {
    auto& sections = out_.sections;
    const auto first = std::find_if(sections.begin(), sections.end(), [&](const SectionPlan& section) {
      return trips_of(section) > 0 && std::any_of(section.ops.begin(), section.ops.end(),
                                                  [](const Op& op) { return op.code == OpCode::Reduce; });
    });
    if (first == sections.end()) return;
    int64_t bytes = 0;
    for (auto later = first + 1; later != sections.end(); ++later) {
      if (!is_spread_alike(*first, *later)) continue;
      for (size_t i = 0; i < later->ops.size(); ++i) {
        const auto& op = later->ops[i];
        auto& plan = later->plans[i];
        const Keep keep{kernel_.buffers[op.buffer < 0 ? 0 : op.buffer].dtype, trips_of(*later), later->vector,
                        true};
        const bool eligible = op.code == OpCode::Load && plan.early && plan.keep < 0 &&
                              plan.level == Level::Element && op.indirect.empty() && !is_written(op.buffer) &&
                              !is_same_in_all_rows(op);
        if (!eligible || bytes + keep.bytes() > kMostPrefetched) continue;
        bytes += keep.bytes();
        plan.keep = static_cast<int32_t>(out_.keeps.size());
        first->prefetches.push_back({plan.keep, op, plan.vector, later->spread});
        out_.keeps.push_back(keep);
      }
    }
  }
  bool is_spread_alike(const SectionPlan& a, const SectionPlan& b) const {
    return trips_of(b) > 0 && a.vector == b.vector && a.tail == b.tail &&
           std::equal(a.spread.begin(), a.spread.end(), b.spread.begin(), b.spread.end(),
                      [&](int32_t one, int32_t other) { return kernel_.loops[one] == kernel_.loops[other]; });
  }

  bool is_same_in_all_rows(const Op& op) const {
    return !iterations(kernel_, kernel_.outer).is(1) &&
           std::all_of(kernel_.outer.begin(), kernel_.outer.end(),
                       [&](int32_t loop) { return op.address.coefficient(loop) == ir::Dim(0); });
  }
  bool is_written(int32_t buffer) const { return kernel_.buffers[buffer].kind != Buffer::Kind::Input; }

  // --- shared memory

  void place_scratch() {
    for (size_t b = 0; b < kernel_.buffers.size(); ++b) {
      const auto& buffer = kernel_.buffers[b];
      if (buffer.kind != Buffer::Kind::Scratch || is_kept(static_cast<int32_t>(b))) continue;
      if (!buffer.elements.is_constant())
        throw Error(ErrorCode::Internal, "codegen:" + kernel_.name,
                    "scratch memory on a GPU has a variable length");
      out_.scratch[b] = out_.shared_bytes;
      out_.shared_bytes +=
          mapping_.rows_per_block * aligned16(buffer.elements.constant() * ir::size_in_bytes(buffer.dtype));
    }
  }
  bool is_kept(int32_t buffer) const {
    for (const auto& section : out_.sections)
      for (size_t i = 0; i < section.ops.size(); ++i)
        if (section.ops[i].buffer == buffer && section.plans[i].keep >= 0) return true;
    return false;
  }

  void place_shared_accumulators() {
    for (auto& one : out_.accumulators) {
      if (one.place != Accumulator::Place::Shared) continue;
      one.offset = out_.shared_bytes;
      out_.shared_bytes +=
          aligned16(mapping_.rows_per_block * one.count.constant() * accumulator_bytes(one.type));
    }
  }

  /// Threads exchange eight bytes for each reduction of a section, and at the end the accumulators of a
  /// block.
  int64_t slot_bytes() {
    const int64_t warps = mapping_.threads / 32;
    const bool strided = mapping_.form == Mapping::Form::Columns;
    const auto slots = strided ? (mapping_.threads_per_row > 1 ? int64_t{mapping_.threads} : 0)
                               : (mapping_.threads_per_row > 32 ? warps : 0);
    int64_t most = 0;
    for (const auto& section : out_.sections) {
      const auto reductions = std::count_if(section.ops.begin(), section.ops.end(),
                                            [](const Op& op) { return op.code == OpCode::Reduce; });
      out_.slots_of.push_back(strided ? 0 : most);
      const auto bytes = 8 * slots * reductions;
      most = strided ? std::max(most, bytes) : most + bytes;
      out_.combinations += reductions > 0 ? 1 : 0;
    }
    for (const auto& one : out_.accumulators) {
      if (one.place == Accumulator::Place::Variable) most = std::max(most, 8 * warps);
      if (one.place == Accumulator::Place::Registers && mapping_.rows_per_block > 1)
        most = std::max(most, mapping_.rows_per_block * accumulator_bytes(one.type) *
                                  (mapping_.tile > 0 ? mapping_.tile : one.count.constant()));
    }
    return aligned16(most);
  }

  const Kernel& kernel_;
  const Mapping& mapping_;
  std::vector<DType> types_;
  KernelPlan out_;
  int64_t registers_ = 0, shared_ = 0;
};

}  // namespace

DType reduced_type(const Op& op) {
  const auto type = schedule::compute_type(op.dtype);
  return op.combine == Combine::Any || op.combine == Combine::All ? DType::Bool : type;
}

KernelPlan plan_kernel(const Kernel& kernel, const Mapping& mapping) {
  return KernelPlanner(kernel, mapping).run();
}

}  // namespace antegrad::codegen::cuda
