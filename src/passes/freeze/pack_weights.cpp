#include "passes/freeze/pack_weights.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "passes/freeze/constants.h"
#include "passes/rewrite/call.h"
#include "passes/rewrite/rewrite.h"

namespace antegrad::passes {
namespace {

/// Smaller matrices do not win back what a call of the library takes.
constexpr int64_t kShortestSide = 32, kSmallestMatrix = 16 * 1024;

/// A product of an argument and a constant matrix, and perhaps a bias.
struct Product {
  ir::Arg bias;  ///< None if there is none
  ir::ValueId left, matrix;
};

bool is_packable(const ir::TensorType& matrix) {
  if (matrix.dtype != ir::DType::F32 || matrix.sizes.size() != 2) return false;
  const auto rows = matrix.sizes[0].constant(), columns = matrix.sizes[1].constant();
  return std::min(rows, columns) >= kShortestSide && rows * columns >= kSmallestMatrix;
}

/// Sizes that change would have the library make code for each.
bool is_fixed(const ir::TensorType& type) {
  return std::ranges::all_of(type.sizes,
                             [](const ir::Dim& size) { return size.is_constant() && !size.is(0); });
}

class Packer {
 public:
  explicit Packer(ir::Graph& graph) : graph_(graph), constant_(constant_values(graph)) {}

  bool run() {
    for (auto& node : std::exchange(graph_.nodes, {})) {
      const auto product = product_of(node);
      if (product) use_packed(*product, node);
      graph_.nodes.push_back(std::move(node));
    }
    return !packed_.empty();
  }

 private:
  std::optional<Product> product_of(const ir::Node& node) const {
    const bool adds = node.op == "aten.addmm";
    if ((!adds && node.op != "aten.mm") || !node.effects.none() || node.functional) return std::nullopt;
    const Call call(graph_, node);
    Product product;
    if (adds) {
      if (call.keyword_number("beta", 1) != 1 || call.keyword_number("alpha", 1) != 1) return std::nullopt;
      if (graph_.tensor_type(call.tensor(0)).sizes.size() != 1) return std::nullopt;
      product.bias = call.tensor(0);
    }
    product.left = call.tensor(adds ? 1 : 0);
    product.matrix = call.tensor(adds ? 2 : 1);
    if (!constant_[product.matrix] || constant_[product.left]) return std::nullopt;
    const auto &left = graph_.tensor_type(product.left), &out = graph_.tensor_type(node.outputs[0]);
    const bool fits = is_packable(graph_.tensor_type(product.matrix)) && is_fixed(left) && is_fixed(out) &&
                      out.is_contiguous() && left.device.kind == ir::Device::Kind::Cpu;
    return fits ? std::optional(product) : std::nullopt;
  }

  /// Makes the node a product with the packed matrix, which is packed before it if it is not yet.
  void use_packed(const Product& product, ir::Node& node) {
    auto& packed = packed_[product.matrix.index];
    if (!packed.valid()) {
      const auto matrix = graph_.tensor_type(product.matrix);
      packed = graph_.add_value(
          {ir::contiguous_tensor(matrix.dtype, {matrix.sizes[1], matrix.sizes[0]}, matrix.device)});
      ir::Node pack;
      pack.op = "antegrad.pack";
      pack.args = {product.matrix};
      pack.outputs = {packed};
      pack.provenance = node.provenance;
      graph_.nodes.push_back(std::move(pack));
    }
    node.op = "antegrad.packed_mm";
    node.args = {product.left, packed, product.bias};
    node.attrs.clear();
  }

  ir::Graph& graph_;
  const ir::PerValue<bool> constant_;
  std::map<int32_t, ir::ValueId> packed_;  ///< by the matrix
};

}  // namespace

bool pack_weights(ir::Graph& graph) { return is_functional(graph) && Packer(graph).run(); }

}  // namespace antegrad::passes
