#include "passes/products/row_major_weights.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "passes/decompositions/small_matmul.h"
#include "passes/rewrite/builder.h"
#include "passes/rewrite/rewrite.h"

namespace antegrad::passes {
namespace {

constexpr int64_t kFewestRows = 9, kMostRows = 48;  ///< of products that a row-major matrix makes faster
constexpr size_t kFewestReaders = 4;                ///< that win back the copy

class Copier {
 public:
  explicit Copier(ir::Graph& graph) : graph_(graph) {}

  bool run() {
    find_readers();
    std::erase_if(readers_, [](const auto& entry) { return entry.second.size() < kFewestReaders; });
    if (readers_.empty()) return false;
    std::map<ir::NodeId, Key> first;
    for (const auto& [key, nodes] : readers_) first.emplace(nodes.front(), key);
    std::vector<ir::Node> nodes;
    for (const auto n : graph_.node_ids()) {
      auto node = graph_.node(n);
      if (const auto found = first.find(n); found != first.end()) {
        auto made = copy(found->second, node);
        std::ranges::move(made, std::back_inserter(nodes));
      }
      if (const auto matrix = matrix_of(node); matrix.valid())
        if (const auto copied = copies_.find({matrix, node.provenance.backward}); copied != copies_.end())
          node.args[node.args.size() - 1] = copied->second;
      nodes.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes);
    graph_.compact();
    return true;
  }

 private:
  /// A matrix, and whether its readers were recorded in the backward pass: the halves have copies of their
  /// own.
  using Key = std::pair<Value, bool>;

  /// Returns the transposed matrix by which the node multiplies few rows; invalid for other nodes.
  Value matrix_of(const ir::Node& node) const {
    const bool adds = node.op == "aten.addmm";
    if ((!adds && node.op != "aten.mm") || node.args.size() != (adds ? 3U : 2U) || !node.effects.none())
      return {};
    const auto* left = node.args[adds ? 1 : 0].as<Value>();
    const auto* right = node.args[adds ? 2 : 1].as<Value>();
    if (left == nullptr || right == nullptr) return {};
    const auto& type = graph_.tensor_type(*right);
    const auto rows = graph_.hint_of(graph_.tensor_type(*left).sizes[0]);
    const auto multiplications = rows * graph_.hint_of(type.numel());
    const bool is_transposed = type.strides[0].is(1) && !type.strides[1].is(1) && !type.is_contiguous();
    const bool is_known = type.dtype == ir::DType::F32 || type.dtype == ir::DType::F64;
    if (!is_transposed || !is_known || type.device.kind != ir::Device::Kind::Cpu ||
        multiplications <= kSmallMatmul || rows < kFewestRows || rows > kMostRows)
      return {};
    return *right;
  }

  void find_readers() {
    for (const auto n : graph_.node_ids()) {
      const auto& node = graph_.node(n);
      if (const auto matrix = matrix_of(node); matrix.valid())
        readers_[{matrix, node.provenance.backward}].push_back(n);
    }
  }

  std::vector<ir::Node> copy(const Key& key, const ir::Node& reader) {
    Builder b(graph_, reader);
    const auto type = b.type(key.first);
    const auto result =
        b.emit("aten.clone", {key.first}, ir::contiguous_tensor(type.dtype, type.sizes, type.device),
               {{"memory_format", ir::MemoryFormat::Contiguous}});
    copies_.emplace(key, result);
    ir::Node made;
    made.outputs = {result};
    return b.take(made);
  }

  ir::Graph& graph_;
  std::map<Key, std::vector<ir::NodeId>> readers_;
  std::map<Key, Value> copies_;
};

}  // namespace

bool row_major_weights(ir::Graph& graph) { return is_functional(graph) && Copier(graph).run(); }

}  // namespace antegrad::passes
