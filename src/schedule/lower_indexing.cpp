#include "schedule/item.h"

namespace antegrad::schedule {
namespace {

using ir::DType;

bool is_index(const ir::Graph& graph, ir::ValueId id) {
  const auto* type = graph.type_of(id).tensor();
  return type != nullptr && type->device.kind != ir::Device::Kind::Meta &&
         (type->dtype == DType::I64 || type->dtype == DType::I32);
}

class IndexLowering {
 public:
  IndexLowering(const ir::Graph& graph, ir::NodeId index) : graph_(graph), node_(graph.node(index)) {
    item_.node = index;
    item_.output = node_.outputs[0];
    item_.form = Form::Gather;
    const auto& type = graph.tensor_type(item_.output);
    item_.sizes = type.sizes;
    item_.result = item_.computes = compute_type(type.dtype);
    item_.expensive = true;
  }

  std::vector<Item> run() {
    const auto rule = find_rule(node_.op);
    return rule != nullptr && (this->*rule)() ? std::vector<Item>{item_} : std::vector<Item>{};
  }

  using Rule = bool (IndexLowering::*)();
  static Rule find_rule(std::string_view op) {
    if (op == "aten.index.Tensor" || op == "aten._unsafe_index.Tensor") return &IndexLowering::index;
    if (op == "aten.embedding") return &IndexLowering::embedding;
    if (op == "aten.gather") return &IndexLowering::gather;
    if (op == "aten.index_select") return &IndexLowering::index_select;
    if (op == "aten.index_put" || op == "aten._unsafe_index_put") return &IndexLowering::index_put;
    if (op == "aten.embedding_dense_backward") return &IndexLowering::embedding_backward;
    if (op == "aten.scatter_add") return &IndexLowering::scatter_add;
    if (op == "aten.index_add") return &IndexLowering::index_add;
    return nullptr;
  }

 private:
  const ir::ValueId* value(size_t position) const {
    return position < node_.args.size() ? node_.args[position].as<ir::ValueId>() : nullptr;
  }
  std::optional<int64_t> integer(size_t position) const {
    return position < node_.args.size() ? as_int(&node_.args[position]) : std::nullopt;
  }
  bool take_source(const ir::ValueId* source) {
    if (source == nullptr || !is_lowered_type(graph_.type_of(*source))) return false;
    item_.source = *source;
    return !(graph_.tensor_type(*source).numel() == ir::Dim(0));
  }
  int32_t add_index(ir::ValueId id) {
    item_.operands.push_back({id, {}, DType::I64});
    return static_cast<int32_t>(item_.operands.size()) - 1;
  }

  /// Fills `gather` for index tensors at some dims of a tensor of this rank. The iteration dims are the dims
  /// that are not indexed and, as one block, the dims of the indices: in place of the first indexed dim, or
  /// in front when the indexed dims are not adjacent.
  bool index_dims(const ir::Arg::List& indices, size_t rank) {
    std::vector<int32_t> at(rank, -1);
    size_t block = 0;  // dims of the indices, broadcast
    int32_t first = -1, last = -1;
    for (size_t d = 0; d < indices.size(); ++d) {
      if (indices[d].as<ir::None>()) continue;
      const auto* id = indices[d].as<ir::ValueId>();
      if (id == nullptr || !is_index(graph_, *id) || d >= rank) return false;
      at[d] = add_index(*id);
      block = std::max(block, graph_.tensor_type(*id).sizes.size());
      if (first < 0) first = static_cast<int32_t>(d);
      last = static_cast<int32_t>(d);
    }
    if (first < 0) return false;
    bool adjacent = true;
    for (auto d = first; d <= last; ++d) adjacent = adjacent && at[d] >= 0;
    const size_t begin = adjacent ? first : 0;
    block_begin_ = begin;
    block_size_ = block;
    size_t iteration = 0;
    item_.gather.resize(rank);
    if (begin == 0) iteration = block;
    for (size_t d = 0; d < rank; ++d) {
      if (at[d] >= 0) {
        item_.gather[d].operand = at[d];
        continue;
      }
      item_.gather[d].iteration = static_cast<int32_t>(iteration++);
      if (iteration == begin && begin > 0) iteration += block;
    }
    return true;
  }

  bool index() {
    const auto* list = node_.args.size() > 1 ? node_.args[1].as<ir::Arg::List>() : nullptr;
    if (list == nullptr || !take_source(value(0))) return false;
    return index_dims(*list, graph_.tensor_type(item_.source).sizes.size()) && align_indices();
  }

  /// Records which iteration dims the index operands have.
  bool align_indices() {
    item_.index_begin = static_cast<int32_t>(block_begin_);
    item_.index_rank = static_cast<int32_t>(block_size_);
    return true;
  }

  bool embedding() {
    if (!take_source(value(0)) || value(1) == nullptr || !is_index(graph_, *value(1))) return false;
    if (graph_.tensor_type(item_.source).sizes.size() != 2) return false;
    const auto rank = graph_.tensor_type(*value(1)).sizes.size();
    item_.gather = {{-1, add_index(*value(1))}, {static_cast<int32_t>(rank), -1}};
    item_.index_begin = 0;
    item_.index_rank = static_cast<int32_t>(rank);
    item_.wraps = false;
    return true;
  }

  /// For gather and scatter_add, whose indices have all iteration dims: dims other than `dim` are addressed
  /// by their own iteration dim.
  bool along(ir::ValueId index, int64_t dim, size_t rank) {
    if (!is_index(graph_, index) || graph_.tensor_type(index).sizes.size() != rank || rank == 0) return false;
    if (dim < 0) dim += static_cast<int64_t>(rank);
    for (size_t d = 0; d < rank; ++d) item_.gather.push_back({static_cast<int32_t>(d), -1});
    item_.gather[dim] = {-1, add_index(index)};
    item_.index_begin = 0;
    item_.index_rank = static_cast<int32_t>(rank);
    item_.wraps = false;
    return true;
  }
  bool gather() {
    const auto dim = integer(1);
    if (!dim || value(2) == nullptr || !take_source(value(0))) return false;
    return along(*value(2), *dim, graph_.tensor_type(item_.source).sizes.size());
  }
  bool index_select() {
    const auto dim = integer(1);
    if (!dim || value(2) == nullptr || !is_index(graph_, *value(2)) || !take_source(value(0))) return false;
    const auto rank = graph_.tensor_type(item_.source).sizes.size();
    if (graph_.tensor_type(*value(2)).sizes.size() != 1) return false;
    return one_dim(*value(2), *dim, rank);
  }
  /// For a vector of indices at one dim, without wrap-around of negative indices.
  bool one_dim(ir::ValueId index, int64_t dim, size_t rank) {
    if (rank == 0) return false;
    if (dim < 0) dim += static_cast<int64_t>(rank);
    for (size_t d = 0; d < rank; ++d) item_.gather.push_back({static_cast<int32_t>(d), -1});
    item_.gather[dim] = {-1, add_index(index)};
    item_.index_begin = static_cast<int32_t>(dim);
    item_.index_rank = 1;
    item_.wraps = false;
    return true;
  }

  // --- scatters: operands are the indices, then the update

  bool start_scatter(const ir::ValueId* updates) {
    const auto dtype = graph_.tensor_type(item_.output).dtype;
    if (updates == nullptr || !is_lowered_type(graph_.type_of(*updates))) return false;
    if (dtype != DType::F32 && dtype != DType::F64) return false;
    const auto& type = graph_.tensor_type(*updates);
    if (type.dtype != dtype || type.numel() == ir::Dim(0)) return false;
    item_.form = Form::Scatter;
    item_.combine = Combine::Sum;
    item_.sizes = type.sizes;
    return true;
  }
  bool finish_scatter(ir::ValueId updates) {
    // Tasks own ranges of the first dim of the result, so it must be addressed by an index.
    if (item_.gather.empty() || item_.gather[0].operand < 0) return false;
    if (!graph_.tensor_type(item_.output).is_contiguous()) return false;
    item_.operands.push_back({updates, {}, item_.result});
    return true;
  }
  bool index_put() {
    const auto* list = node_.args.size() > 1 ? node_.args[1].as<ir::Arg::List>() : nullptr;
    const auto* accumulate = node_.args.size() > 3 ? node_.args[3].as<bool>() : nullptr;
    if (list == nullptr || accumulate == nullptr || !*accumulate || value(0) == nullptr) return false;
    if (!start_scatter(value(2))) return false;
    item_.source = *value(0);
    const auto rank = graph_.tensor_type(item_.output).sizes.size();
    if (!index_dims(*list, rank) || !align_indices()) return false;
    // LibTorch runs index_put with broadcast updates.
    if (item_.sizes.size() != rank - item_.operands.size() + block_size_) return false;
    for (size_t d = 0; d < rank; ++d)
      if (const auto i = item_.gather[d].iteration;
          i >= 0 && !(item_.sizes[i] == graph_.tensor_type(item_.output).sizes[d]))
        return false;
    for (size_t d = 0; d < block_size_; ++d) {
      bool found = false;
      for (const auto& operand : item_.operands) {
        const auto& sizes = graph_.tensor_type(operand.value).sizes;
        if (sizes.size() + d >= block_size_)
          found = found || sizes[sizes.size() + d - block_size_] == item_.sizes[block_begin_ + d];
      }
      if (!found) return false;
    }
    return finish_scatter(*value(2));
  }
  bool embedding_backward() {
    const auto padding = integer(3);
    const auto* by_count = node_.args.size() > 4 ? node_.args[4].as<bool>() : nullptr;
    if (!padding || *padding >= 0 || (by_count != nullptr && *by_count) || value(1) == nullptr) return false;
    if (!is_index(graph_, *value(1)) || !start_scatter(value(0))) return false;
    const auto rank = graph_.tensor_type(*value(1)).sizes.size();
    item_.gather = {{-1, add_index(*value(1))}, {static_cast<int32_t>(rank), -1}};
    item_.index_begin = 0;
    item_.index_rank = static_cast<int32_t>(rank);
    item_.wraps = false;
    return finish_scatter(*value(0));
  }
  bool scatter_add() {
    const auto dim = integer(1);
    if (!dim || value(0) == nullptr || value(2) == nullptr || !start_scatter(value(3))) return false;
    if (graph_.tensor_type(*value(2)).sizes != item_.sizes) return false;
    item_.source = *value(0);
    return along(*value(2), *dim, item_.sizes.size()) && finish_scatter(*value(3));
  }
  bool index_add() {
    const auto dim = integer(1);
    if (!dim || value(0) == nullptr || value(2) == nullptr || !node_.attrs.empty() ||
        node_.args.size() != 4 || !is_index(graph_, *value(2)) || !start_scatter(value(3)))
      return false;
    item_.source = *value(0);
    if (item_.sizes.empty() || graph_.tensor_type(*value(2)).sizes.size() != 1) return false;
    return one_dim(*value(2), *dim, item_.sizes.size()) && finish_scatter(*value(3));
  }

  const ir::Graph& graph_;
  const ir::Node& node_;
  Item item_;
  size_t block_begin_ = 0, block_size_ = 0;
};

}  // namespace

bool takes_indices(std::string_view op) { return IndexLowering::find_rule(op) != nullptr; }

std::vector<Item> lower_indexing(const ir::Graph& graph, ir::NodeId node, std::string& why) {
  auto items = IndexLowering(graph, node).run();
  if (items.empty() && graph.node(node).op.find("index") != std::string::npos)
    why = "its indices are of a kind that generated code does not handle";
  return items;
}

}  // namespace antegrad::schedule
