#include "codegen/cuda/mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "antegrad/error.h"
#include "codegen/cuda/kernel_plan.h"
#include "codegen/cuda/mapping_form.h"
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
constexpr int64_t kMostRegisterBytes = 192;  ///< kept, or of accumulators
constexpr int32_t kMostThreads = 1024, kBlock = 256;
/// The blocks of a kernel with chunks that a multiprocessor runs at a time, and the threads that they have
/// together. Less would not hide how long loads take.
constexpr int32_t kChunkBlocks = 2, kChunkThreads = 1024;
constexpr int32_t kMostNamedBarriers = 15;

ir::Dim divided_up(const ir::Dim& dim, int64_t by) { return floor_div(dim + (by - 1), by); }

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
      if (section.plans[i].early && section.plans[i].level == Level::Element && section.plans[i].keep < 0)
        bytes += section.vector * ir::size_in_bytes(kernel_.buffers[section.ops[i].buffer].dtype);
    return bytes;
  }

  void map_flat() {
    const bool all = out_.form == Form::All;
    if (all) out_.threads = kChunkThreads / kChunkBlocks;
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
      const auto tiles = (vectors + kBlock * trips - 1) / (kBlock * trips);
      // As few threads as run all vectors of a tile: tiles of one size, and whole warps.
      const auto each = (vectors + tiles - 1) / tiles;
      threads = (each + trips - 1) / trips;
      threads = threads <= kWarp ? std::max<int64_t>(8, std::bit_ceil(static_cast<uint64_t>(threads)))
                                 : (threads + kWarp - 1) / kWarp * kWarp;
      trips = std::min(trips, (each + threads - 1) / threads);
    } else {
      trips = std::min<int64_t>(trips, 4);
    }
    out_.unroll = static_cast<int32_t>(std::min<int64_t>(trips, 4));
    out_.tile = static_cast<int32_t>(threads * section.vector * trips);
    set_rows(threads, threads);
    share_multiprocessors();
    out_.blocks = kernel_.chunks * divided_up(count, out_.tile);
  }

  /// Returns about how many registers a thread needs.
  int64_t registers() const {
    constexpr int64_t kBase = 24;
    const auto plan = plan_kernel(kernel_, out_);
    int64_t moved = 0;
    for (const auto& section : plan.sections)
      moved = std::max(moved, std::max(loaded_bytes(section), kMostLoaded / 2) + stored_bytes(section));
    return kBase + (register_bytes(plan) + moved) / 4;
  }
  /// Returns the bytes that one vector of a section stores.
  int64_t stored_bytes(const SectionPlan& section) const {
    int64_t bytes = 0;
    for (size_t i = 0; i < section.ops.size(); ++i)
      if (section.ops[i].code == OpCode::Store && section.plans[i].keep < 0 &&
          section.plans[i].level == Level::Element)
        bytes += section.vector * ir::size_in_bytes(kernel_.buffers[section.ops[i].buffer].dtype);
    return bytes;
  }
  /// Returns the bytes of registers that a thread keeps over its whole run or from section to section.
  static int64_t register_bytes(const KernelPlan& plan) {
    int64_t bytes = 0;
    for (const auto& keep : plan.keeps) bytes += keep.bytes();
    for (const auto& one : plan.accumulators) {
      const auto& section = plan.sections[one.section];
      if (one.place == Accumulator::Place::Registers)
        bytes += ir::size_in_bytes(one.type) * section.trips * section.vector;
    }
    return bytes;
  }

  /// Divides the threads that run at a time among kChunkBlocks blocks, with as many rows as fit: all chunks
  /// then run at once, and none of them waits for others to end.
  void share_multiprocessors() {
    constexpr int64_t kRegisters = 1 << 16;
    const auto per_row = out_.threads_per_row;
    const auto needed = registers();
    int64_t most = kChunkThreads / kChunkBlocks;
    while (most > 2 * kWarp && kRegisters / (kChunkBlocks * most) < needed) most -= 2 * kWarp;
    auto rows = std::max<int64_t>(1, most / per_row);
    if (per_row > kWarp) rows = std::min<int64_t>(rows, kMostNamedBarriers);
    const auto units = this->units();
    if (units.is_constant() && kernel_.chunks.is_constant())
      rows = std::clamp<int64_t>(units.constant() / std::max<int64_t>(1, kernel_.chunks.constant()), 1, rows);
    if (per_row < kWarp) rows = std::max<int64_t>(kWarp / per_row, rows * per_row / kWarp * kWarp / per_row);
    set_rows(per_row, rows * per_row);
    if (kRegisters / (kChunkBlocks * out_.threads) >= needed) out_.resident = kChunkBlocks;
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
    for (const auto& keep : plan.keeps) bytes += keep.prefetched ? 0 : keep.bytes();
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
    int64_t threads = count > 0 ? threads_for(count) : kBlock;
    set_rows(threads, block_for(threads));
    if (count > 0) spread_long_rows(count);
    // More threads for a row until what they keep fits their registers.
    while (count > 0 && out_.threads_per_row < kMostThreads &&
           int64_t{out_.threads_per_row} * out_.vector < count &&
           (kept_bytes() > most_kept(out_.threads_per_row) || unrolled_instructions() > kMostInstructions))
      add_threads();
    const auto kept = kept_bytes();
    out_.keep = kept > 0 && kept <= kMostKeptBytes;
    out_.unroll = 4;
    if (has_chunks()) share_multiprocessors();
    fit_blocks();
    set_blocks();
  }

  /// One warp needs no barriers, so that it may keep more than a part of a row that several share.
  static int64_t most_kept(int64_t threads) { return threads <= kWarp ? 3 * kKeptBytes : kKeptBytes; }

  /// Returns how many threads run a row of constant length: as few as can keep what they must, without many
  /// of them being idle in the last trip.
  int64_t threads_for(int64_t count) {
    constexpr int64_t kMostEach = 8;  ///< vectors of a thread
    const auto vectors = std::max<int64_t>((count + out_.vector - 1) / out_.vector, 1);
    int64_t threads = 1;
    while (threads < kWarp && threads < vectors) threads *= 2;
    if (threads < kWarp) return threads;
    const auto rows = units();
    const auto few = int64_t{facts_.multiprocessors} * 512;
    int64_t first = 0;
    for (; threads <= kBlock; threads += threads < 4 * kWarp ? kWarp : 2 * kWarp) {
      const bool more = rows.is_constant() && rows.constant() * threads < few && vectors >= 2 * threads;
      const auto trips = (vectors + threads - 1) / threads;
      if (threads < kBlock && (more || trips > kMostEach)) continue;
      set_rows(threads, threads);
      auto mapping = out_;
      mapping.keep = true;
      if (threads < kBlock &&
          (kept_bytes() > most_kept(threads) || unrolled_instructions() > kMostInstructions ||
           register_bytes(plan_kernel(kernel_, mapping)) > kMostRegisterBytes))
        continue;
      if (first == 0) first = threads;
      if (10 * vectors >= 9 * trips * threads) return threads;
    }
    threads = first > 0 ? first : kBlock;
    while (threads < kMostThreads && vectors >= 2 * threads && rows.is_constant() &&
           rows.constant() * threads < few)
      threads *= 2;
    return threads;
  }

  /// Takes as many threads for a long row as can keep it in registers, if that is possible: otherwise later
  /// sections load it again.
  void spread_long_rows(int64_t count) {
    const auto before = out_.threads_per_row;
    while (kept_bytes() == 0 && out_.threads_per_row < kMostThreads &&
           int64_t{out_.threads_per_row} * out_.vector < count)
      add_threads();
    if (const auto kept = kept_bytes();
        kept == 0 || kept > kMostKeptBytes || unrolled_instructions() > kMostInstructions)
      set_rows(before, block_for(before));
  }

  void add_threads() {
    const auto threads = std::min(2 * out_.threads_per_row, kMostThreads);
    set_rows(threads, block_for(threads));
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
        set_rows(out_.threads_per_row, std::max(kWarp, out_.threads / 2 / kWarp * kWarp));
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

}  // namespace antegrad::codegen::cuda
