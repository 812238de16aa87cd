#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph.h"
#include "schedule/kernel.h"
#include "schedule/program.h"

namespace antegrad::schedule {

using Number = Literal;
using ItemId = Id<struct ItemTag>;
using GroupId = Id<struct GroupTag>;

/// What an item reads at each iteration: an element of a value, or a number.
struct Operand {
  ir::ValueId value;  ///< not valid when the operand is `number`
  Number number = int64_t{0};
  ir::DType type = ir::DType::F32;  ///< the type in which the expression takes it, see compute_type
  /// A half type to round to first; the value's own type when the op needs the stored value rather than the
  /// unrounded f32 that kernels hold.
  std::optional<ir::DType> rounds = {};
};

/// How a gather addresses one dim of its source: by an iteration dim or by an index operand.
struct GatherDim {
  int32_t iteration = -1;
  int32_t operand = -1;
};

enum class Form : uint8_t { Pointwise, Reduction, Constant, Iota, Random, Gather, Scatter };

/// What one node, or a part of it, computes at each iteration. The iteration dims are those of the output;
/// for a reduction, those of the operand; for a scatter, those of the update.
struct Item {
  ir::NodeId node;
  GroupId group;  ///< set by Fusion: the group that computes it; not valid for a free item, which every
                  ///< reader computes
  Form form = Form::Pointwise;
  ir::ValueId output;
  std::vector<ir::Dim> sizes;  ///< of the iteration dims
  std::vector<Operand> operands;

  std::string expression;               ///< over the operands
  ir::DType computes = ir::DType::F32;  ///< the type on which its functions work
  ir::DType result = ir::DType::F32;    ///< the type of the expression, converted to that of the output

  Combine combine = Combine::Sum;  ///< Reduction, Scatter
  std::vector<bool> reduced;       ///< Reduction: per iteration dim
  /// Constant: its value; Iota: its start; Random: the node's offset in the stream.
  Number number = int64_t{0};
  Number step = int64_t{1};  ///< Iota; start and step are integers
  RandomKind random = RandomKind::Bits32;
  ir::ValueId source;  ///< Gather: the tensor that is read; Random: the generator state; Scatter: the initial
                       ///< contents
  std::vector<GatherDim> gather;  ///< Gather: per dim of the source; Scatter: per dim of the output
  int32_t index_begin = 0;        ///< Gather, Scatter: the first iteration dim that index operands have
  /// Gather, Scatter: the number of these dims; operands of lower rank are aligned with the last.
  int32_t index_rank = 0;
  bool wraps = true;       ///< Gather, Scatter: negative indices count from the end
  bool expensive = false;  ///< expensive: better computed only once
  bool part = false;       ///< computes only a part of its output, which is therefore complete only in memory
  bool finishes = false;   ///< Reduction: combines the results that a sink computed per chunk

  /// Whether it costs nothing to compute, so that every reader computes it itself.
  bool is_free() const { return form == Form::Constant || form == Form::Iota; }
};

/// Returns the items that a node becomes; none when LibTorch has to run it, for the reason given in `why`.
/// May add values to the graph for parts of the node's output.
std::vector<Item> lower(ir::Graph& graph, ir::NodeId node, const Settings& settings, std::string& why);

std::vector<Item> lower_pointwise(const ir::Graph& graph, ir::NodeId node, const Settings& settings,
                                  std::string& why);
/// Lowers indexing, gathers and scatters.
std::vector<Item> lower_indexing(const ir::Graph& graph, ir::NodeId node, std::string& why);
/// Whether lower_indexing handles the op.
bool takes_indices(std::string_view op);

/// Lowers ops whose result consists of parts that are written separately: concatenation, padding,
/// slice_scatter, select_scatter.
std::vector<Item> lower_parts(ir::Graph& graph, ir::NodeId node, std::string& why);

/// Returns the position of the operand's first dim among the iteration dims of the item.
size_t first_dim(const ir::Graph& graph, const Item& item, size_t operand);

/// Returns an item over the node's only output.
Item item_of(const ir::Graph& graph, ir::NodeId node, Form form);

// --- arguments of nodes

const ir::Arg* find_arg(const ir::Node& node, size_t position, std::string_view name = {});
std::optional<Number> as_number(const ir::Arg& arg);
Number as_number(const ir::Dim& dim);
std::optional<int64_t> as_int(const ir::Arg* arg);  ///< nothing unless it is a constant integer
std::optional<std::vector<int64_t>> as_ints(const ir::Arg& arg);
std::optional<ir::Dim> as_dim(const Number& number);  ///< nothing unless it is an integer
size_t counted_from_front(int64_t dim, size_t rank);  ///< resolves negative dims
bool equals(const Number& number, double value);  ///< for all sizes; false for numbers that depend on sizes
bool is_made_of_sizes(const Number& number);
bool is_lowered_type(const ir::Type& type);  ///< a tensor of a type that generated code handles

}  // namespace antegrad::schedule
