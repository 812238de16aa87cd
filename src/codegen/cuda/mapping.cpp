#include "codegen/cuda/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "antegrad/error.h"
#include "codegen/cuda/kernel_plan.h"
#include "codegen/cuda/one_block.h"
#include "util/ids.h"

namespace antegrad::codegen::cuda {
namespace {

using schedule::Buffer;
using schedule::DeviceFacts;
using schedule::Kernel;
using schedule::Op;
using schedule::OpCode;
using Form = Mapping::Form;

/// Positions below this fit 32 bits, also those that a loop of the grid goes to after the last.
constexpr int64_t kNarrow = (int64_t{1} << 31) - (int64_t{1} << 27);
constexpr int64_t kInFlight = 32;   ///< bytes that a thread should be loading at a time
constexpr int64_t kKeptBytes = 64;  ///< of a thread, if more threads can share a row
constexpr int64_t kMostKeptBytes = 256;
constexpr int32_t kMostThreads = 1024, kBlock = 256;

ir::Dim divided_up(const ir::Dim& dim, int64_t by) { return floor_div(dim + (by - 1), by); }

bool has(const Kernel& kernel, OpCode code) {
  for (const auto& section : kernel.sections)
    for (const auto& op : section.ops)
      if (op.code == code) return true;
  return false;
}

bool uses_any(const Op& op, const std::map<int32_t, schedule::Combine>& scalars) {
  return std::any_of(op.args.begin(), op.args.end(), [&](int32_t arg) { return scalars.contains(arg); });
}

bool accumulates_columns(const Kernel& kernel) {
  for (const auto& section : kernel.sections)
    for (const auto& op : section.ops)
      if (op.code == OpCode::Accumulate && !op.address.terms.empty()) return true;
  return false;
}

/// Whether sections without loops only pass on what threads have reduced to accumulators that combine it in
/// the same way, so that each thread may do that with its own part.
bool combines_only(const Kernel& kernel) {
  std::map<int32_t, schedule::Combine> reduced;
  for (const auto& section : kernel.sections)
    for (const auto& op : section.ops) {
      if (op.code == OpCode::Reduce) {
        reduced[op.result] = op.combine;
        continue;
      }
      if (!section.loops.empty()) continue;
      const auto from = op.args.empty() ? reduced.end() : reduced.find(op.args[0]);
      if (op.code == OpCode::Accumulate && (from == reduced.end() || from->second != op.combine))
        return false;
      if (op.code == OpCode::Cast && from != reduced.end())
        reduced[op.result] = from->second;
      else if (op.code == OpCode::Store || op.code == OpCode::Scatter ||
               (op.code == OpCode::Compute && uses_any(op, reduced)))
        return false;
    }
  return true;
}

Form form_of(const Kernel& kernel) {
  int looped = 0;
  bool effects_once = false, may_be_empty = false;
  for (const auto& section : kernel.sections) {
    looped += section.loops.empty() ? 0 : 1;
    const auto count = iterations(kernel, section.loops);
    may_be_empty = may_be_empty || !count.is_constant() || count.constant() <= 0;
    effects_once = effects_once ||
                   (section.loops.empty() && std::any_of(section.ops.begin(), section.ops.end(), has_effect));
  }
  const bool scratch = std::any_of(kernel.buffers.begin(), kernel.buffers.end(),
                                   [](const Buffer& buffer) { return buffer.kind == Buffer::Kind::Scratch; });
  const bool independent = looped <= 1 && !has(kernel, OpCode::Reduce) && !scratch;
  if (!kernel.chunks.is(0)) {
    if (kernel.outer.empty() && looped == 1 && !scratch && combines_only(kernel)) return Form::All;
  } else if (independent && !(effects_once && may_be_empty)) {
    return Form::Flat;
  }
  return kernel.lane >= 0 && !accumulates_columns(kernel) ? Form::Columns : Form::Rows;
}

/// Whether the columns of a row need not be run by one block: nothing is done once per row, and all
/// accumulators are those of one column.
bool has_free_columns(const Kernel& kernel) {
  if (kernel.chunks.is(0) || has(kernel, OpCode::Reduce)) return false;
  const auto sections = plan_sections(kernel, Form::Rows, 1);
  int looped = 0;
  for (const auto& section : sections) {
    looped += section.has_loops() ? 1 : 0;
    if (section.has_loops() ? !section.serial.empty()
                            : std::any_of(section.ops.begin(), section.ops.end(), has_effect))
      return false;
    for (const auto& op : section.ops)
      if (op.code == OpCode::Accumulate && op.address.terms.size() != section.spread.size()) return false;
  }
  return looped == 1 && std::none_of(kernel.buffers.begin(), kernel.buffers.end(), [](const Buffer& buffer) {
           return buffer.kind == Buffer::Kind::Scratch;
         });
}

class Mapper {
 public:
  Mapper(const Kernel& kernel, const DeviceFacts& facts, bool vectorise)
      : kernel_(kernel), facts_(facts), vectorise_(vectorise) {}

  Mapping run() {
    out_.form = form_of(kernel_);
    out_.wide = is_wide();
    out_.vector = vectorise_ ? widest_vector() : 1;
    out_.vector = used_vector();
    if (out_.form == Form::Flat || out_.form == Form::All)
      map_flat();
    else if (out_.form == Form::Columns)
      map_columns();
    else if (has_free_columns(kernel_))
      map_tiles();
    else
      map_rows();
    const auto plan = plan_kernel(kernel_, out_);
    out_.shared_bytes = plan.shared_bytes;
    if (plan.shared_bytes > facts_.shared_per_block)
      throw Error(ErrorCode::Internal, "codegen:" + kernel_.name,
                  fmt::format("a block needs {} bytes of shared memory of {}", plan.shared_bytes,
                              facts_.shared_per_block));
    find_aligned(plan);
    return std::move(out_);
  }

 private:
  ir::Dim units() const { return iterations(kernel_, kernel_.outer); }
  bool has_chunks() const { return !kernel_.chunks.is(0); }

  bool is_wide() const {
    const auto fits = [](const ir::Dim& dim) { return dim.is_constant() && dim.constant() < kNarrow; };
    for (const auto& buffer : kernel_.buffers)
      if (!fits(buffer.elements)) return true;
    for (const auto& section : kernel_.sections)
      if (!fits(units() * iterations(kernel_, section.loops))) return true;
    return !fits(units());
  }

  /// Returns how many elements of the widest type that may be loaded as vectors are 16 bytes.
  int32_t widest_vector() const {
    int64_t widest = 0;
    for (const auto& section : plan_sections(kernel_, out_.form, 1))
      for (const auto& op : section.ops)
        if ((op.code == OpCode::Load || op.code == OpCode::Store) && !section.spread.empty() &&
            op.address.coefficient(section.spread.back()) == ir::Dim(1))
          widest = std::max(widest, ir::size_in_bytes(kernel_.buffers[op.buffer].dtype));
    return widest == 0 ? 1 : static_cast<int32_t>(std::clamp<int64_t>(16 / widest, 1, 8));
  }

  int32_t used_vector() const {
    int32_t used = 1;
    for (const auto& section : plan_sections(kernel_, out_.form, out_.vector))
      used = std::max(used, section.vector);
    return used;
  }

  /// Returns the bytes that one vector of a section loads.
  int64_t loaded_bytes(const SectionPlan& section) const {
    int64_t bytes = 0;
    for (size_t i = 0; i < section.ops.size(); ++i)
      if (section.plans[i].early && section.plans[i].level == Level::Element)
        bytes += section.vector * ir::size_in_bytes(kernel_.buffers[section.ops[i].buffer].dtype);
    return bytes;
  }

  void map_flat() {
    const bool all = out_.form == Form::All;
    const int64_t threads = int64_t{kBlock} * facts_.multiprocessors;
    auto section = looped_section();
    const auto total = iterations(kernel_, section.spread);
    // With few elements, more threads are better than vectors.
    if (total.is_constant() && total.constant() <= threads && !all) {
      out_.vector = 1;
      section = looped_section();
    }
    const auto bytes = std::max<int64_t>(1, loaded_bytes(section)), wanted = all ? 2 * kInFlight : kInFlight;
    while (out_.unroll < 4 && out_.unroll * bytes < wanted && section.serial.empty() &&
           2 * out_.unroll * out_.vector * instructions(section) <= kMostInstructions &&
           (!total.is_constant() || total.constant() >= 8 * threads * out_.vector * out_.unroll))
      out_.unroll *= 2;
    out_.blocks = all ? kernel_.chunks : divided_up(total, int64_t{kBlock} * out_.vector * out_.unroll);
  }

  /// Returns the section with loops; one without if there is none.
  SectionPlan looped_section() const {
    auto sections = plan_sections(kernel_, out_.form, out_.vector);
    for (auto& section : sections)
      if (section.has_loops()) return std::move(section);
    return {};
  }

  /// Returns the iterations of the longest section; 0 if it is not a constant.
  int64_t longest() const {
    int64_t most = 1;
    for (const auto& section : plan_sections(kernel_, out_.form, out_.vector)) {
      const auto count = iterations(kernel_, section.spread);
      if (!count.is_constant()) return 0;
      most = std::max(most, count.constant());
    }
    return most;
  }

  void map_columns() {
    out_.vector = 1;
    out_.unroll = 4;
    const auto count = longest(),
               wanted = int64_t{facts_.multiprocessors} * facts_.threads_per_multiprocessor / 2;
    const auto units = this->units();
    int64_t per_row = 1;
    while (per_row < 32 && (count == 0 ? per_row < 8 : per_row * 8 <= count) &&
           (!units.is_constant() ? per_row < 8 : units.constant() * per_row < wanted))
      per_row *= 2;
    out_.threads_per_row = static_cast<int32_t>(per_row);
    out_.rows_per_block = std::max(kWarp, kBlock / out_.threads_per_row);
    set_blocks();
    // Each reduction of a section takes some shared memory.
    while (out_.threads_per_row > 1 &&
           plan_kernel(kernel_, out_).shared_bytes > facts_.shared_per_block / 4) {
      out_.threads_per_row /= 2;
      set_blocks();
    }
  }

  /// Each block runs a tile of the columns, so that accumulators fit registers.
  void map_tiles() {
    constexpr int32_t kElements = 16;  ///< registers for the accumulators of one op
    const auto section = looped_section();
    const auto count = iterations(kernel_, section.spread);
    const auto ops = std::count_if(section.ops.begin(), section.ops.end(),
                                   [](const Op& op) { return op.code == OpCode::Accumulate; });
    // So many that a thread loads enough at a time, and its accumulators fit registers.
    const auto most = std::max<int64_t>(1, kElements / section.vector / std::max<int64_t>(1, ops - 1));
    auto trips = std::clamp<int64_t>(2 * kInFlight / std::max<int64_t>(1, loaded_bytes(section)), 1, most);
    trips = std::clamp<int64_t>(kMostInstructions / (section.vector * instructions(section)), 1, trips);
    int64_t threads = kBlock;
    if (count.is_constant()) {
      const auto vectors = std::max<int64_t>(1, (count.constant() + section.vector - 1) / section.vector);
      threads = 8;
      while (threads < kBlock && threads * trips < vectors) threads *= 2;
      trips = std::min(trips, (vectors + threads - 1) / threads);
    } else {
      trips = std::min<int64_t>(trips, 4);
    }
    set_rows(threads, kBlock);
    out_.unroll = static_cast<int32_t>(std::min<int64_t>(trips, 4));
    out_.tile = static_cast<int32_t>(threads * section.vector * trips);
    out_.blocks = kernel_.chunks * divided_up(count, out_.tile);
  }

  void set_blocks() {
    out_.threads = out_.threads_per_row * out_.rows_per_block;
    out_.blocks = has_chunks() ? kernel_.chunks : divided_up(units(), out_.rows_per_block);
  }

  int64_t kept_bytes() const {
    auto mapping = out_;
    mapping.keep = true;
    int64_t bytes = 0;
    const auto plan = plan_kernel(kernel_, mapping);
    for (const auto& keep : plan.keeps) bytes += ir::size_in_bytes(keep.dtype) * keep.trips * keep.vector;
    return bytes;
  }

  int64_t unrolled_instructions() const {
    auto mapping = out_;
    mapping.keep = true;
    int64_t most = 0;
    const auto plan = plan_kernel(kernel_, mapping);
    for (const auto& section : plan.sections)
      most = std::max(most, section.trips * section.vector * instructions(section));
    return most;
  }

  void map_rows() {
    const auto count = longest();
    const auto rows = units();
    int64_t threads = kBlock;
    if (count > 0) {
      const auto vectors = std::max<int64_t>((count + out_.vector - 1) / out_.vector, 1);
      threads = 1;
      while (threads < kWarp && threads < vectors) threads *= 2;
      while (threads < kBlock && vectors > 8 * threads) threads *= 2;
      const auto few = int64_t{facts_.multiprocessors} * 512;
      while (threads < kMostThreads && vectors >= 2 * threads && rows.is_constant() &&
             rows.constant() * threads < few)
        threads *= 2;
    }
    set_rows(threads, block_for(threads));
    if (count > 0) spread_long_rows(count);
    // More threads for a row until what they keep fits their registers.
    while (count > 0 && out_.threads_per_row < kMostThreads &&
           int64_t{out_.threads_per_row} * out_.vector < count &&
           (kept_bytes() > kKeptBytes || unrolled_instructions() > kMostInstructions))
      set_rows(int64_t{2} * out_.threads_per_row, block_for(int64_t{2} * out_.threads_per_row));
    const auto kept = kept_bytes();
    out_.keep = kept > 0 && kept <= kMostKeptBytes;
    out_.unroll = 4;
    fit_blocks();
    set_blocks();
  }

  /// Takes as many threads for a long row as can keep it in registers, if that is possible: otherwise later
  /// sections load it again.
  void spread_long_rows(int64_t count) {
    const auto before = out_.threads_per_row;
    while (kept_bytes() == 0 && out_.threads_per_row < kMostThreads &&
           int64_t{out_.threads_per_row} * out_.vector < count)
      set_rows(int64_t{2} * out_.threads_per_row, block_for(int64_t{2} * out_.threads_per_row));
    if (const auto kept = kept_bytes();
        kept == 0 || kept > kMostKeptBytes || unrolled_instructions() > kMostInstructions)
      set_rows(before, block_for(before));
  }

  /// Rows that need barriers wait for each other in a block, so there are fewer of them.
  static int64_t block_for(int64_t threads_per_row) { return threads_per_row > kWarp ? kBlock / 2 : kBlock; }

  void set_rows(int64_t threads_per_row, int64_t block) {
    out_.threads_per_row = static_cast<int32_t>(threads_per_row);
    out_.rows_per_block = static_cast<int32_t>(std::max<int64_t>(1, block / threads_per_row));
    out_.threads = out_.threads_per_row * out_.rows_per_block;
  }

  /// Takes fewer rows per block where there are few rows, or shared memory is short, or accumulators are in
  /// memory that the rows of a block would share.
  void fit_blocks() {
    const auto rows = units();
    const auto too_few = [&] {
      return !has_chunks() && rows.is_constant() && out_.threads > 2 * kWarp &&
             rows.constant() < int64_t{2} * facts_.multiprocessors * out_.rows_per_block;
    };
    const auto too_large = [&] {
      const auto plan = plan_kernel(kernel_, out_);
      return plan.shared_bytes > facts_.shared_per_block ||
             std::any_of(plan.accumulators.begin(), plan.accumulators.end(),
                         [](const Accumulator& one) { return one.place == Accumulator::Place::Global; });
    };
    while (out_.rows_per_block > 1 && (too_few() || too_large())) {
      if (out_.threads > kWarp)
        set_rows(out_.threads_per_row, out_.threads / 2);
      else
        set_rows(2 * out_.threads_per_row, kWarp);
    }
  }

  void find_aligned(const KernelPlan& plan) {
    std::set<int32_t> aligned;
    for (const auto& section : plan.sections)
      for (size_t i = 0; i < section.ops.size(); ++i)
        if (section.plans[i].vector && kernel_.buffers[section.ops[i].buffer].kind != Buffer::Kind::Scratch)
          aligned.insert(section.ops[i].buffer);
    out_.aligned.assign(aligned.begin(), aligned.end());
  }

  const Kernel& kernel_;
  const DeviceFacts& facts_;
  bool vectorise_;
  Mapping out_;
};

}  // namespace

Mapping map_kernel(const Kernel& kernel, const DeviceFacts& facts, bool vectorise) {
  if (!kernel.parts.empty()) return map_one_block(kernel, facts);
  return Mapper(kernel, facts, vectorise).run();
}

std::string to_string(const Mapping& mapping) {
  if (!mapping.parts.empty()) {
    auto out = fmt::format("one block of {} threads, {} bytes shared", mapping.threads,
                           mapping.shared_bytes.to_string());
    for (const auto& part : mapping.parts) out += "; " + to_string(part);
    return out;
  }
  static constexpr std::string_view kForms[] = {"flat", "rows", "columns", "all"};
  auto out = fmt::format("{}: {} blocks of {} threads", kForms[ordinal(mapping.form)],
                         mapping.blocks.to_string(), mapping.threads);
  if (mapping.form == Form::Rows || mapping.form == Form::Columns)
    out += fmt::format(", {} per row", mapping.threads_per_row);
  if (mapping.vector > 1) out += fmt::format(", vectors of {}", mapping.vector);
  if (mapping.unroll > 1) out += fmt::format(", {} at a time", mapping.unroll);
  if (mapping.tile > 0) out += fmt::format(", tiles of {}", mapping.tile);
  if (mapping.keep) out += ", kept in registers";
  if (mapping.wide) out += ", 64-bit positions";
  if (!mapping.shared_bytes.is(0)) out += fmt::format(", {} bytes shared", mapping.shared_bytes.to_string());
  for (size_t i = 0; i < mapping.aligned.size(); ++i)
    out += fmt::format("{}b{}", i == 0 ? ", aligned " : " ", mapping.aligned[i]);
  return out;
}

}  // namespace antegrad::codegen::cuda
