#pragma once
#include <ATen/core/Tensor.h>

#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "program/value_json.h"
#include "program/write_sizes.h"

namespace antegrad::program {

/// A tensor that is in the graph itself, and an input of the graph in the file.
struct WrittenConstant {
  std::string name;  ///< of the value
  at::Tensor tensor;
};

/// "a.b-c" -> "a_b_c"
std::string identifier(const std::string& text);

/// The graph of a file while it is written: names of values, their types, and nodes in order.
class GraphBuilder {
 public:
  explicit GraphBuilder(const std::vector<ir::Symbol>& symbols);  ///< which must outlive the builder

  struct NewNode {
    std::string target;  ///< "torch.ops.aten.relu.default"
    Json inputs = Json::array();
    Json outputs = Json::array();
    std::string name;
  };
  /// An argument of a node: {"name": "self", "arg": …}
  static Json input(const std::string& name, Json argument, bool keyword = false);
  static Json named(const std::string& name);  ///< {"as_tensor": {"name": …}}

  std::string unique(const std::string& name);  ///< the name, or another one if it is taken
  /// Defines a value of this name, or another one if it is taken. Returns the name.
  std::string define(const std::string& name, const ir::TensorType& type);
  void push(NewNode node, const std::string& scope = {});
  std::string add_number(SizeWriter::NumberNode node);
  /// Appends a call of an op of ATen with one result.
  std::string add_tensor(const char* op, const ir::TensorType& type, Json inputs, const std::string& scope,
                         const char* overload = "default");
  std::string add_constant(const at::Tensor& contents, const ir::TensorType& type);

  Json& json() { return json_; }
  std::vector<WrittenConstant>& constants() { return constants_; }

 private:
  const std::vector<ir::Symbol>& symbols_;
  Json json_;
  std::set<std::string> taken_;
  std::vector<WrittenConstant> constants_;
};

}  // namespace antegrad::program
