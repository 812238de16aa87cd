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

/// An ir::Real that can be compared.
struct SizeReal {
  ir::Real::Form form = ir::Real::Form::Times;
  double scale = 1;
  ir::Dim dim;
  bool operator==(const SizeReal&) const = default;
};
/// A number of the graph. Dims and SizeReals are those that depend on sizes: they are not constant.
using Literal = std::variant<int64_t, double, ir::Dim, SizeReal>;

/// offset + sum of coefficient * loop variable. Loops ascending, no coefficient is the constant 0.
struct Affine {
  ir::Dim offset;
  std::vector<std::pair<int32_t, ir::Dim>> terms;
  ir::Dim coefficient(int32_t loop) const;  ///< 0 where it does not depend on the loop
  bool operator==(const Affine&) const = default;
};

/// A part of an address that is read from a tensor of indices: `index` * stride, where -size <= index < size
/// when negative indices count from the end (`wraps`), else 0 <= index < size. The kernel reports others.
struct Indirect {
  int32_t index = -1;  ///< a scalar of type i64
  ir::Dim stride;
  ir::Dim size;
  bool wraps = true;
  bool operator==(const Indirect&) const = default;
};

enum class OpCode : uint8_t {
  Load,        ///< result = buffer[address + indirect]
  Store,       ///< buffer[address] = args[0]
  Constant,    ///< result = number
  Index,       ///< result (i64) = address
  Compute,     ///< result = the expression `text` over a, b, c … = args
  Cast,        ///< result = args[0] as dtype; f16 and bf16 round, the result is an f32 that they can hold
  Reduce,      ///< over the loops of its section; the result is known after the section
  Accumulate,  ///< buffer[address] of this chunk is combined with args[0], over all that the chunk runs
  Random,      ///< result = what util/philox.h makes of element `address` of the stream in buffer
  Scatter,     ///< buffer[address + indirect] is combined with args[0]; see Kernel::owner
};

enum class Combine : uint8_t { Sum, Product, Max, Min, Any, All, Set };
std::string_view name(Combine combine);

enum class RandomKind : uint8_t { Bits32, Bits64, Normal32, Normal64 };

/// One step of a kernel. A scalar has the type that computations in its dtype use: f32 for f16 and bf16.
struct Op {
  OpCode code = OpCode::Compute;
  ir::DType dtype = ir::DType::F32;    ///< of the result; of the memory for Load (see above), Store
  ir::DType operand = ir::DType::F32;  ///< Compute: the type that the functions of the expression work on
  int32_t result = -1;                 ///< the scalar it defines, unique in the kernel; -1: none
  std::vector<int32_t> args;           ///< scalars
  std::string text;                    ///< Compute: the expression, as in ops.def
  Literal number = int64_t{0};         ///< Constant; Random: the offset of the node, an integer
  Combine combine = Combine::Sum;
  RandomKind random = RandomKind::Bits32;
  int32_t buffer = -1;
  Affine address;
  std::vector<Indirect> indirect;
  std::string comment;  ///< the op of the graph that this belongs to, for readers of the code
  bool operator==(const Op&) const = default;
};

/// Straight-line ops inside loops. Without loops it runs once per iteration of the outer loops, and what it
/// defines is visible in later sections, as is what Reduce defines. What else is defined inside loops is
/// visible in its section only.
struct Section {
  std::vector<int32_t> loops;  ///< outermost first
  std::vector<Op> ops;
  bool operator==(const Section&) const = default;
};

struct Buffer {
  enum class Kind : uint8_t {
    Input,
    Output,
    Scratch  ///< memory of one iteration of the outer loops, `elements` long; not passed in
  };
  Kind kind = Kind::Input;
  ir::DType dtype = ir::DType::F32;
  ir::Dim elements;
  /// Scratch: the buffer that has a row for each unit, for where there are more than kMostScratch elements;
  /// -1: there never are.
  int32_t spill = -1;
  bool operator==(const Buffer&) const = default;
};

/// Loops over fused ops: a function
///   int64_t name(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end)
/// that runs the units of work from begin to end, and returns 0, or another number when an index is out of
/// range (nothing outside of the buffers is touched then; what is in the outputs means nothing). `buffers`
/// are those that are not scratch, in order; `dims` the values of the symbols s0, s1, … Input buffers may be
/// output buffers too where each element is read by the very iteration that writes it, before the write, or
/// by earlier sections of the same iteration of the outer loops.
///
/// The units are
///   iterations of the outer loops, the last being the fastest;
///   with lane >= 0, which is the last of the outer loops: strips of kStrip iterations of it;
///   without outer loops: iterations of the first loop of the only section that has loops;
///   with chunks > 0: chunk c of them is the units above from units * c / chunks to units * (c + 1) / chunks,
///     and Accumulate combines into element address + c * accumulators(op) of its buffer, which the chunk
///     sets to the neutral element first. Accumulate depends on no outer loop;
///   with owner: positions of the first indirect part of its Scatter ops: each call runs all iterations of
///     all loops, but scatters only what goes to positions from begin to end, in order. `clear` buffers are
///     set to zero there first.
struct Kernel {
  std::string name;
  std::string text;  ///< the fused part of the graph, for readers of the code
  std::vector<Buffer> buffers;
  std::vector<ir::Dim> loops;  ///< extents
  std::vector<int32_t> outer;
  int32_t lane = -1;
  ir::Dim chunks;
  bool owner = false;
  std::vector<std::pair<int32_t, ir::Dim>> clear;  ///< buffer, elements per position
  std::vector<Section> sections;
  int32_t symbols = 0;  ///< how many dims it is given
  bool operator==(const Kernel&) const = default;
};

constexpr int64_t kStrip = 64;
constexpr int64_t kMostScratch = 16384;  ///< elements of a scratch buffer that fit on the stack

/// The type that computations in a dtype use.
ir::DType compute_type(ir::DType dtype);
/// How many elements of its buffer one chunk of an Accumulate combines into.
ir::Dim accumulators(const Kernel& kernel, const Op& op);
/// How many units of work there are in all; `owner` kernels: positions.
ir::Dim units(const Kernel& kernel);
/// What the chunks of a kernel divide among them; without chunks as units().
ir::Dim units_of_all_chunks(const Kernel& kernel);
/// Without outer loops: the section whose first loop the units run over. -1: the kernel is one unit of work,
/// since no section has loops, or several have, or it has a Reduce.
int32_t divided_section(const Kernel& kernel);
/// Texts for people and tests.
std::string to_string(const Kernel& kernel);
std::string to_string(const Literal& number);

}  // namespace antegrad::schedule
