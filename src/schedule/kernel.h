#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/real.h"
#include "ir/types.h"

namespace antegrad::schedule {

/// An ir::Real that can be compared for equality.
struct SizeReal {
  ir::Real::Form form = ir::Real::Form::Times;
  double scale = 1;
  ir::Dim dim;
  bool operator==(const SizeReal&) const = default;
};
/// A number of the graph. A Dim or SizeReal depends on symbolic sizes and is not a constant.
using Literal = std::variant<int64_t, double, ir::Dim, SizeReal>;

/// offset + sum of coefficient * loop variable. Terms are sorted by loop and none has the constant
/// coefficient 0.
struct Affine {
  ir::Dim offset;
  std::vector<std::pair<int32_t, ir::Dim>> terms;
  ir::Dim coefficient(int32_t loop) const;  ///< 0 when the address does not depend on the loop
  bool operator==(const Affine&) const = default;
};

/// A part of an address that is read from a tensor of indices: `index` * stride, where -size <= index < size
/// when negative indices count from the end (`wraps`), else 0 <= index < size. The kernel reports an index
/// outside this range.
struct Indirect {
  int32_t index = -1;  ///< a scalar of type i64
  ir::Dim stride;
  ir::Dim size;
  bool wraps = true;
  bool operator==(const Indirect&) const = default;
};

enum class OpCode : uint8_t {
  Load,      ///< result = buffer[address + indirect]
  Store,     ///< buffer[address] = args[0]
  Constant,  ///< result = number
  Index,     ///< result (i64) = address
  Compute,   ///< result = the expression `text` over a, b, c … = args
  Cast,  ///< result = args[0] as dtype; f16 and bf16 round, and the result is an f32 that they can represent
  Reduce,      ///< combines args[0] over the loops of its section; the result is defined after the section
  Accumulate,  ///< combines args[0] into buffer[address] of this chunk, over all iterations of the chunk
  Random,      ///< result = the random number for element `address` of the stream whose state is in buffer
               ///< (util/philox.h)
  Scatter,     ///< combines args[0] into buffer[address + indirect]; see Kernel::owner
};

enum class Combine : uint8_t { Sum, Product, Max, Min, Any, All, Set };
std::string_view name(Combine combine);

enum class RandomKind : uint8_t { Bits32, Bits64, Normal32, Normal64 };

/// One instruction of a kernel. A scalar has the compute type of its dtype: f32 for f16 and bf16.
struct Op {
  OpCode code = OpCode::Compute;
  ir::DType dtype = ir::DType::F32;    ///< of the result; Load, Store: of the memory
  ir::DType operand = ir::DType::F32;  ///< Compute: the type that the functions of the expression work on
  int32_t result = -1;                 ///< the scalar it defines, unique in the kernel; -1 if none
  std::vector<int32_t> args;           ///< scalars
  std::string text;                    ///< Compute: the expression, as in ops.def
  Literal number = int64_t{0};  ///< Constant: its value; Random: the node's offset in the stream, an integer
  Combine combine = Combine::Sum;
  RandomKind random = RandomKind::Bits32;
  int32_t buffer = -1;
  Affine address;
  std::vector<Indirect> indirect;
  std::string comment;  ///< the graph op that it belongs to, for readers of the generated code
  bool operator==(const Op&) const = default;
};

/// Straight-line ops inside loops. A section without loops runs once per iteration of the outer loops; later
/// sections see the scalars it defines and the results of Reduce. Other scalars defined inside loops are
/// visible in their section only.
struct Section {
  std::vector<int32_t> loops;  ///< outermost first
  std::vector<Op> ops;
  bool operator==(const Section&) const = default;
};

struct Buffer {
  enum class Kind : uint8_t {
    Input,
    Output,
    Scratch  ///< memory for one iteration of the outer loops, `elements` long; not passed in
  };
  Kind kind = Kind::Input;
  ir::DType dtype = ir::DType::F32;
  ir::Dim elements;
  /// Scratch: the buffer with a row per unit that is used instead when there are more than kMostScratch
  /// elements; -1 when there never are.
  int32_t spill = -1;
  /// Input of a kernel for a CUDA device: it is at most 16 bytes in host memory, which are passed by value.
  bool host = false;
  bool operator==(const Buffer&) const = default;
};

/// Loops over fused ops: a function
///   int64_t name(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end)
/// that runs the units of work in [begin, end). It returns 0, or another number when an index is out of
/// range; it then touches nothing outside of the buffers and leaves the outputs unspecified. `buffers` are
/// the buffers that are not scratch, in order; `dims` are the values of the symbols s0, s1, … An input buffer
/// may also be an output buffer when each element is read before it is written and only by the iteration that
/// writes it, or by earlier sections of the same iteration of the outer loops.
///
/// The units are
///   iterations of the outer loops, the last being the fastest;
///   with lane >= 0, which is the last of the outer loops: strips of kStrip iterations of it;
///   without outer loops: iterations of the first loop of the only section that has loops;
///   with chunks > 0: chunks. Chunk c covers the units above from units * c / chunks to
///     units * (c + 1) / chunks. Accumulate combines into element address + c * accumulators(op) of its
///     buffer, which the chunk first sets to the neutral element; its address depends on no outer loop;
///   with owner: positions of the first indirect part of its Scatter ops. Each call runs all iterations of
///     all loops, but scatters only to positions in [begin, end), in order, after setting these positions
///     of the `clear` buffers to zero.
///
/// A kernel for a CUDA device runs all units in one launch (codegen/cuda/mapping.h). Its Scatter ops use
/// atomics instead of owners, and whoever launches it sets the `clear` buffers to zero before. It may consist
/// of `parts` instead (join_small_kernels()): other kernels, which one block runs one after the other, each
/// seeing what those before it have stored. It then has buffers and nothing else of its own.
struct Kernel {
  std::string name;
  ir::Device::Kind device = ir::Device::Kind::Cpu;
  std::string text;  ///< the fused part of the graph, for readers of the generated code
  std::vector<Buffer> buffers;
  std::vector<ir::Dim> loops;  ///< extents
  std::vector<int32_t> outer;
  int32_t lane = -1;
  ir::Dim chunks;
  bool owner = false;
  std::vector<std::pair<int32_t, ir::Dim>> clear;  ///< buffer, elements per position
  std::vector<Section> sections;
  int32_t symbols = 0;  ///< how many dims are passed to it
  std::vector<struct KernelPart> parts;
  bool operator==(const Kernel&) const = default;
};

struct KernelPart {
  Kernel kernel;                 ///< without parts
  std::vector<int32_t> buffers;  ///< per buffer of `kernel` that is not scratch: the buffer of the whole
  bool operator==(const KernelPart&) const = default;
};

// Part of what a kernel means, on every target.
constexpr int64_t kStrip = 64;           ///< iterations of the lane loop in one unit
constexpr int64_t kMostScratch = 16384;  ///< the most elements of a scratch buffer on the stack

/// Returns the type in which values of a dtype are computed.
ir::DType compute_type(ir::DType dtype);
/// Returns how many elements of its buffer each chunk of an Accumulate combines into.
ir::Dim accumulators(const Kernel& kernel, const Op& op);
/// Returns the number of units of work; for `owner` kernels, the number of positions.
ir::Dim units(const Kernel& kernel);
/// Returns the number of units that the chunks of a kernel divide among them; units() for a kernel without
/// chunks.
ir::Dim units_of_all_chunks(const Kernel& kernel);
/// For kernels without outer loops: returns the section whose first loop the units run over. -1 when the
/// kernel is a single unit of work: no section has loops, several have, or there is a Reduce and no chunks.
/// The Reduce of a chunk combines its units only; an Accumulate combines the results of chunks.
int32_t divided_section(const Kernel& kernel);
/// Removes what is for people only: texts and, where `all`, also the comments of ops that name what an error
/// of an index is about.
void remove_texts(Kernel& kernel, bool all);
/// Text for people and tests.
std::string to_string(const Kernel& kernel);
std::string to_string(const Literal& number);

}  // namespace antegrad::schedule
