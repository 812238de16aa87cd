#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "program/expression.h"

// A program of torch.export as plain data.
namespace antegrad::program {

struct Graph;

constexpr int kNoValue = -1;

/// One element of a list: a value of the graph, or a constant.
struct Element {
  int value = kNoValue;
  c10::IValue constant;
};

/// An argument of a node, or a result of a graph.
struct Argument {
  enum class Kind {
    Constant,
    Value,          ///< a tensor or a number that the graph computes
    Tensors,        ///< a list of tensors
    MaybeTensors,   ///< a list in which tensors may be missing
    Numbers,        ///< a list of whole numbers, real numbers or truth values, some of them computed
    NestedTensors,  ///< `lists`
    Graph,
  };
  Kind kind = Kind::Constant;
  Element one;                    ///< Constant, Value
  std::vector<Element> elements;  ///< Tensors, MaybeTensors, Numbers
  std::vector<std::vector<Element>> lists;
  std::shared_ptr<const Graph> graph;
};

struct NamedArgument {
  std::string name;
  bool keyword = false;
  Argument argument;
};

/// Where a result of a node goes: to one value, or to one per element of a list.
struct Binding {
  bool list = false;
  std::vector<int> values;  ///< empty for a result that is None
};

struct Node {
  std::string target;  ///< "torch.ops.aten.linear.default"
  std::string name;
  std::string stack_trace;  ///< lines of Python, innermost last; may be empty
  std::string scope;        ///< the module that it belongs to, "b.0.ln1"; may be empty
  std::vector<NamedArgument> inputs;
  std::vector<Binding> outputs;
  std::vector<int> last_uses;  ///< values that no later node and no result of the graph uses

  enum class Kind { Op, Number, HigherOrder };
  Kind kind = Kind::Op;
  std::string function;                   ///< Number, HigherOrder: "add", "cond"
  bool dynamic_length = false;            ///< of a scan or map: its number of turns is a symbol
  std::optional<c10::OperatorHandle> op;  ///< Op
  std::vector<int> op_arguments;          ///< Op: per argument of its schema, which input; -1 for the default
};

struct Graph {
  std::vector<std::string> values;  ///< names
  std::vector<int> inputs;          ///< one value per input; kNoValue for one that is a constant
  std::vector<Argument> outputs;
  std::vector<Node> nodes;
};

/// What a graph takes and returns.
struct InputSpec {
  enum class Kind { Parameter, Buffer, Constant, User, Number };
  Kind kind = Kind::User;
  std::string name;      ///< of the parameter, buffer or constant; else of the value
  c10::IValue constant;  ///< Number: baked into the program
  bool persistent = true;
};
struct OutputSpec {
  enum class Kind { User, BufferWrite, ParameterWrite, InputWrite };
  Kind kind = Kind::User;
  std::string name;  ///< of what is written
};

struct Range {
  int64_t min = 0, max = INT64_MAX;
};

/// A tensor that the program takes.
struct TensorInput {
  at::ScalarType dtype = at::kFloat;
  struct Size {
    std::optional<Expression> expression;  ///< nothing: any size
    std::string text;
    int64_t hint = 1;  ///< the size at export
  };
  std::vector<Size> sizes;
  c10::Device device = at::kCPU;
};

}  // namespace antegrad::program
