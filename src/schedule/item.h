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

/// What an item reads at each of its iterations: an element of a value, or a number.
struct Operand {
  ir::ValueId value;  ///< not valid: the number
  Number number = int64_t{0};
  ir::DType type = ir::DType::F32;       ///< that the expression takes it in, see compute_type
  std::optional<ir::DType> rounds = {};  ///< a half type that it is converted to before;
                                         ///< its own where the exact value, which kernels have, will not do
};

/// Which element of its source a gather reads: per dim of the source an iteration dim, or an index operand.
struct GatherDim {
  int32_t iteration = -1;
  int32_t operand = -1;
};

enum class Form : uint8_t { Pointwise, Reduction, Constant, Iota, Random, Gather, Scatter };

/// What one node, or a part of it, computes at each iteration.
/// Iteration dims are those of the output; of the operand for a reduction; of the update for a scatter.
struct Item {
  ir::NodeId node;
  GroupId group;  ///< set by Fusion: the group that computes it; not valid: whoever reads it does
  Form form = Form::Pointwise;
  ir::ValueId output;
  std::vector<ir::Dim> sizes;  ///< of the iteration dims
  std::vector<Operand> operands;

  std::string expression;               ///< over the operands
  ir::DType computes = ir::DType::F32;  ///< what its functions work on
  ir::DType result = ir::DType::F32;    ///< what the expression gives; becomes the type of the output

  Combine combine = Combine::Sum;  ///< Reduction, Scatter
  std::vector<bool> reduced;       ///< Reduction: per iteration dim
  Number number = int64_t{0};      ///< Constant; Iota: what it begins with; Random: the node's offset
  Number step = int64_t{1};        ///< Iota; both are integers
  RandomKind random = RandomKind::Bits32;
  ir::ValueId source;             ///< Gather: what is read; Random: the state; Scatter: what it begins with
  std::vector<GatherDim> gather;  ///< Gather, Scatter: per dim of the source, or of the output
  int32_t index_begin = 0;        ///< Gather, Scatter: the iteration dims that index operands have
  int32_t index_rank = 0;         ///< … and how many; operands with fewer are aligned with the last
  bool wraps = true;              ///< Gather, Scatter: negative indices count from the end
  bool dear = false;              ///< better computed once
  bool part = false;              ///< others write to its output too: it is complete in memory only
  bool finishes = false;          ///< Reduction: of what a sink gave per chunk

  /// Costs nothing wherever it is needed, so that everyone computes it for itself.
  bool is_free() const { return form == Form::Constant || form == Form::Iota; }
};

/// The items that a node becomes; none: LibTorch runs it. `why` then says why.
/// May add values to the graph: parts of the node's output.
std::vector<Item> lower(ir::Graph& graph, ir::NodeId node, const Settings& settings, std::string& why);

std::vector<Item> lower_pointwise(const ir::Graph& graph, ir::NodeId node, const Settings& settings,
                                  std::string& why);
/// Indices, gathers and scatters.
std::vector<Item> lower_indexing(const ir::Graph& graph, ir::NodeId node, std::string& why);
/// Whether an op is one of those that lower_indexing knows.
bool takes_indices(std::string_view op);

/// Results that are made of parts, each written on its own: concatenations, padding.
std::vector<Item> lower_parts(ir::Graph& graph, ir::NodeId node, std::string& why);

/// Where the dims of an operand are among the iteration dims of its item.
size_t first_dim(const ir::Graph& graph, const Item& item, size_t operand);

/// An item over the node's only output.
Item item_of(const ir::Graph& graph, ir::NodeId node, Form form);

// --- arguments of nodes

const ir::Arg* find_arg(const ir::Node& node, size_t position, std::string_view name = {});
std::optional<Number> as_number(const ir::Arg& arg);
Number as_number(const ir::Dim& dim);
std::optional<int64_t> as_int(const ir::Arg* arg);  ///< a constant
std::optional<std::vector<int64_t>> as_ints(const ir::Arg& arg);
std::optional<ir::Dim> as_dim(const Number& number);  ///< of an integer
size_t counted_from_front(int64_t dim, size_t rank);  ///< negative dims count from the end
bool equals(const Number& number, double value);      ///< whatever sizes are
bool is_made_of_sizes(const Number& number);
bool is_lowered_type(const ir::Type& type);  ///< a tensor on the CPU of a type that generated code handles

}  // namespace antegrad::schedule
