#pragma once
#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/real.h"
#include "ir/types.h"
#include "util/ids.h"

namespace antegrad::ir {

using ValueId = Id<struct ValueTag>;  ///< index into Graph::values
using NodeId = Id<struct NodeTag>;    ///< index into Graph::nodes, valid until the list is edited

/// Result of an analysis, per value or per node.
template <class T>
using PerValue = IdMap<ValueId, T>;
template <class T>
using PerNode = IdMap<NodeId, T>;

struct Graph;
struct None {
  bool operator==(const None&) const = default;
};
/// The contents of a constant tensor, row-major. Shared and immutable.
using Bytes = std::shared_ptr<const std::vector<uint8_t>>;
using GraphPtr = std::shared_ptr<const Graph>;

/// One argument of an op: a value of the graph, a literal, or a list of arguments.
struct Arg {
  using List = std::vector<Arg>;
  std::variant<None, ValueId, bool, Dim, double, Real, std::complex<double>, std::string, DType, Device,
               Layout, MemoryFormat, Bytes, GraphPtr, List>
      v;

  Arg() = default;
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Arg> && std::is_constructible_v<decltype(v), T&&>)
      Arg(T&& value)
      : v(std::forward<T>(value)) {}
  Arg(int value) : v(Dim(value)) {}
  Arg(int64_t value) : v(Dim(value)) {}
  Arg(const char* value) : v(std::string(value)) {}

  template <class T>
  const T* as() const {
    return std::get_if<T>(&v);
  }
  /// Bytes and graphs compare by contents, doubles by bits (0.0 != -0.0), except that all NaNs are equal.
  bool operator==(const Arg& other) const;
};

struct NamedArg {
  std::string name;
  Arg value;
  bool operator==(const NamedArg&) const = default;
};

/// What a node does besides computing its outputs. This, and not a list of op names, decides what may be
/// removed.
struct Effects {
  bool random = false;          ///< draws random numbers from a generator
  bool ordered = false;         ///< must be kept, in order with other ordered nodes: see acts_on()
  std::string resource;         ///< of an ordered node: what it acts on, "" if that may be anything
  std::vector<ValueId> writes;  ///< tensors whose memory it writes; see Node::functional
  bool none() const { return !random && !ordered && writes.empty(); }
  bool operator==(const Effects&) const = default;
};
/// The resource of ordered nodes that wait for something that an earlier node has started. They must be kept,
/// but only the values that they read and return determine their place.
constexpr std::string_view kWaits = "waits";
/// Returns the resource that a node with effects acts on: "", which is ordered with all resources but kWaits,
/// if it writes, draws random numbers, or is ordered without a resource.
std::string_view acts_on(const Effects& effects);

struct Provenance {
  std::string scope;      ///< where in the user's program, such as a module path
  int64_t sequence = -1;  ///< autograd sequence number; -1 when there is none
  bool backward = false;  ///< recorded while gradients were computed
  uint64_t roots = 0;     ///< bit set of the tangents it is computed for; those from 63 on share the last bit
  bool operator==(const Provenance&) const = default;
};

/// One call of an op. An output that is an argument itself (the result of add_) is not listed: later nodes
/// refer to the argument.
struct Node {
  std::string op;                ///< "aten.add.Tensor" (namespace.name[.overload]) or "antegrad.constant"
  std::vector<Arg> args;         ///< positional, without trailing defaults
  std::vector<NamedArg> attrs;   ///< keyword arguments that differ from their defaults, in schema order
  std::vector<ValueId> outputs;  ///< flattened
  /// One entry per return: -1 for a single output, n >= 0 for a list of n. Empty if all are single outputs.
  std::vector<int32_t> returns;
  Effects effects;
  /// The op writes to copies of effects.writes; the new contents of the copies follow the op's own outputs in
  /// `outputs`.
  bool functional = false;
  Provenance provenance;
  bool operator==(const Node&) const = default;
};

enum class InputRole : uint8_t {
  Param,
  Buffer,
  UserInput,
  Constant,
  Tangent,
  SavedTensor,
  SavedDim,
  RngState,
  Token
};
enum class OutputRole : uint8_t {
  UserOutput,
  MutatedInput,
  IntermediateBase,
  Grad,
  SavedTensor,
  SavedDim,
  Token
};
std::string_view name(InputRole role);  ///< as in graph text: "param", "user", …
std::string_view name(OutputRole role);

struct Input {
  ValueId value;
  InputRole role = InputRole::UserInput;
  std::string name;
  bool operator==(const Input&) const = default;
};

struct Output {
  ValueId value;  ///< invalid for an undefined tensor
  OutputRole role = OutputRole::UserOutput;
  std::string name;
  int32_t target = -1;  ///< MutatedInput, Grad: index of the corresponding graph input
  bool operator==(const Output&) const = default;
};

struct Value {
  Type type;
  ValueId base;  ///< the first value on the same storage; invalid if this is the first
  bool operator==(const Value&) const = default;
};

enum class Stage : uint8_t { Traced, Functional, Joint, Forward, Backward, Lowered };
std::string_view name(Stage stage);

/// What is known about a symbol of dims.
struct Symbol {
  Range range;
  int64_t hint = 0;  ///< an observed value; 0 when none is known
  bool operator==(const Symbol&) const = default;
};

/// A straight-line program. Plain data that may be copied and edited. Edits may leave unused values;
/// compact() removes them and numbers the rest in order of definition, which printing and comparing rely on.
struct Graph {
  std::string name = "graph";
  Stage stage = Stage::Traced;
  std::vector<Symbol> symbols;
  PerValue<Value> values;
  std::vector<Input> inputs;
  std::vector<Node> nodes;  ///< in order of execution
  std::vector<Output> outputs;

  ValueId add_value(Type type, ValueId base = {});
  ValueId add_input(Type type, InputRole role, std::string input_name = {});
  Node& add_node(Node node);
  const Type& type_of(ValueId id) const { return values[id].type; }
  const Node& node(NodeId id) const { return nodes[id.position()]; }
  Node& node(NodeId id) { return nodes[id.position()]; }
  IdRange<NodeId> node_ids() const { return IdRange<NodeId>(nodes.size()); }
  const TensorType& tensor_type(ValueId id) const;  ///< throws Error(Internal) unless it is a tensor
  ValueId storage_of(ValueId id) const;             ///< its base, or the value itself
  int64_t hint_of(const Dim& dim) const;            ///< a likely value, for estimates only

  void compact();
};

/// Compares as programs: compacts copies of both, then compares member by member (nested graphs by contents).
bool operator==(const Graph& a, const Graph& b);

/// Calls fn(ValueId&) for each value that an argument or a node reads: args and attrs including nested lists,
/// but neither effects.writes nor nested graphs, which cannot refer to outer values.
template <class A, class Fn>
void for_each_value(A& arg, Fn&& fn) {
  if (auto* id = std::get_if<ValueId>(&arg.v)) fn(*id);
  if (auto* list = std::get_if<Arg::List>(&arg.v))
    for (auto& element : *list) for_each_value(element, fn);
}
template <class N, class Fn>
void for_each_input(N& node, Fn&& fn) {
  for (auto& arg : node.args) for_each_value(arg, fn);
  for (auto& attr : node.attrs) for_each_value(attr.value, fn);
}

/// Replaces every read of a value (in args, attrs, writes and outputs of the graph) by map[value] where that
/// is valid. map[value] must be defined earlier and not be replaced itself. Views of the one become views of
/// the other.
void replace_uses(Graph& graph, const PerValue<ValueId>& map);

}  // namespace antegrad::ir
