#include "passes/communication/reduce_gradients.h"

#include <algorithm>
#include <unordered_map>

namespace antegrad::passes {
namespace {

using ir::ValueId;

/// Appends nodes to a list.
class Nodes {
 public:
  explicit Nodes(ir::Graph& graph) : graph_(graph) {}
  ir::Node& add(std::string op, std::vector<ir::Arg> args) {
    auto& node = list.emplace_back();
    node.op = std::move(op);
    node.args = std::move(args);
    node.provenance.backward = true;
    return node;
  }
  ValueId call(std::string op, std::vector<ir::Arg> args, ir::TensorType type, ValueId base = {}) {
    const auto value = graph_.add_value(std::move(type), base);
    add(std::move(op), std::move(args)).outputs = {value};
    return value;
  }
  std::vector<ir::Node> list;

 private:
  ir::Graph& graph_;
};

ir::Arg list_of(const std::vector<ir::Dim>& sizes) { return ir::Arg::List(sizes.begin(), sizes.end()); }

/// A gradient, and where it is final: after how many nodes.
struct Gradient {
  ValueId value;
  size_t position = 0;
};

struct Bucket {
  std::vector<ValueId> gradients;
  size_t position = 0;
  int64_t bytes = 0;
};

class Reduction {
 public:
  Reduction(ir::Graph& backward, const std::vector<bool>& reduced, const GradientReduction& how)
      : graph_(backward), reduced_(reduced), how_(how) {}

  void run() {
    const auto buckets = fill(find_gradients());
    if (buckets.empty()) return;
    Nodes end(graph_);
    std::vector<std::pair<size_t, Nodes>> starts;
    for (const auto& bucket : buckets) {
      auto& [position, nodes] = starts.emplace_back(bucket.position, Nodes(graph_));
      finish(bucket, start(bucket, nodes), end);
    }
    insert(starts, end);
    for (size_t k = 0; k < graph_.outputs.size(); ++k)
      if (reduced_[k] && graph_.outputs[k].value.valid())
        graph_.outputs[k].value = sum_of_.at(graph_.outputs[k].value);
  }

 private:
  /// Returns the gradients in the order in which they become final, each once.
  std::vector<Gradient> find_gradients() const {
    ir::PerValue<size_t> final_after(graph_.values.size());
    for (const auto i : graph_.node_ids())
      for (const auto id : graph_.node(i).outputs) final_after[id] = i.position() + 1;
    std::vector<Gradient> found;
    for (size_t k = 0; k < graph_.outputs.size(); ++k) {
      const auto value = graph_.outputs[k].value;
      if (!reduced_[k] || !value.valid() || graph_.type_of(value).tensor() == nullptr) continue;
      if (std::ranges::find(found, value, &Gradient::value) == found.end())
        found.push_back({value, final_after[value]});
    }
    std::ranges::stable_sort(found, {}, &Gradient::position);
    return found;
  }

  std::vector<Bucket> fill(const std::vector<Gradient>& gradients) const {
    std::vector<Bucket> buckets;
    for (const auto& gradient : gradients) {
      const auto& type = graph_.tensor_type(gradient.value);
      const auto bytes = graph_.hint_of(type.numel()) * ir::size_in_bytes(type.dtype);
      const auto fits = [&](const Bucket& bucket) {
        const auto& first = graph_.tensor_type(bucket.gradients[0]);
        return first.dtype == type.dtype && first.device == type.device &&
               bucket.bytes + bytes <= how_.bucket_bytes;
      };
      if (buckets.empty() || !fits(buckets.back())) buckets.emplace_back();
      buckets.back().gradients.push_back(gradient.value);
      buckets.back().position = gradient.position;
      buckets.back().bytes += bytes;
    }
    return buckets;
  }

  /// Adds what starts to communicate a bucket. Returns the value to wait for.
  ValueId start(const Bucket& bucket, Nodes& nodes) {
    ir::Arg::List parts;
    ir::Dim length = 0;
    for (auto gradient : bucket.gradients) {
      const auto type = graph_.tensor_type(gradient);
      const auto packed = ir::contiguous_tensor(type.dtype, type.sizes, type.device);
      if (!type.is_contiguous()) {
        gradient = nodes.call("aten.clone", {gradient}, packed);
        nodes.list.back().attrs.push_back({"memory_format", ir::MemoryFormat::Contiguous});
      }
      if (how_.average) gradient = nodes.call("aten.div.Scalar", {gradient, how_.group_size}, packed);
      const auto count = type.numel();
      auto flat = ir::contiguous_tensor(type.dtype, {count}, type.device);
      flat.offset = graph_.tensor_type(gradient).offset;
      parts.emplace_back(nodes.call("aten.view", {gradient, list_of({count})}, std::move(flat),
                                    graph_.storage_of(gradient)));
      length = length + count;
    }
    const auto& first = graph_.tensor_type(bucket.gradients[0]);
    const auto type = ir::contiguous_tensor(first.dtype, {length}, first.device);
    const auto whole = nodes.call("aten.cat", {ir::Arg(std::move(parts))}, type);
    const auto started = nodes.call("_c10d_functional.all_reduce", {whole, "sum", how_.group}, type);
    nodes.list.back().effects.ordered = true;
    nodes.list.back().effects.resource = "group:" + how_.group;
    return started;
  }

  void finish(const Bucket& bucket, ValueId started, Nodes& nodes) {
    const auto whole = graph_.tensor_type(started);
    const auto sum = nodes.call("_c10d_functional.wait_tensor", {started}, whole, started);
    nodes.list.back().effects.ordered = true;
    nodes.list.back().effects.resource = ir::kWaits;
    ir::Dim from = 0;
    for (const auto gradient : bucket.gradients) {
      const auto sizes = graph_.tensor_type(gradient).sizes;
      const auto to = from + graph_.tensor_type(gradient).numel();
      auto part = ir::contiguous_tensor(whole.dtype, {to - from}, whole.device);
      auto shaped = ir::contiguous_tensor(whole.dtype, sizes, whole.device);
      part.offset = shaped.offset = from;
      const auto piece = nodes.call("aten.slice.Tensor", {sum, 0, from, to}, std::move(part), started);
      sum_of_[gradient] = nodes.call("aten.view", {piece, list_of(sizes)}, std::move(shaped), started);
      from = to;
    }
  }

  void insert(std::vector<std::pair<size_t, Nodes>>& starts, Nodes& end) {
    std::vector<ir::Node> all;
    auto next = starts.begin();
    for (size_t i = 0; i <= graph_.nodes.size(); ++i) {
      for (; next != starts.end() && next->first == i; ++next)
        std::ranges::move(next->second.list, std::back_inserter(all));
      if (i < graph_.nodes.size()) all.push_back(std::move(graph_.nodes[i]));
    }
    std::ranges::move(end.list, std::back_inserter(all));
    graph_.nodes = std::move(all);
  }

  ir::Graph& graph_;
  const std::vector<bool>& reduced_;
  const GradientReduction& how_;
  std::unordered_map<ValueId, ValueId> sum_of_;
};

}  // namespace

void reduce_gradients(ir::Graph& backward, const std::vector<bool>& reduced, const GradientReduction& how) {
  Reduction(backward, reduced, how).run();
}

}  // namespace antegrad::passes
