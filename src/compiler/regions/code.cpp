#include "compiler/regions/code.h"

#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <mutex>

#include "antegrad/function.h"
#include "aten/convert.h"
#include "ir/binary.h"
#include "util/byte_stream.h"
#include "util/fork_mutex.h"

namespace antegrad::compiler {
namespace {

Piece piece_of(const ir::Graph& graph, const std::vector<int64_t>& plain) {
  Piece piece;
  piece.stretch.graph = graph;
  for (auto& node : piece.stretch.graph.nodes) node.provenance.sequence = 0;
  for (auto index : plain) piece.stretch.graph.nodes[index].provenance.sequence = -1;
  for (const auto& input : graph.inputs) piece.stretch.input_values.push_back(input.value);
  for (const auto& output : graph.outputs) piece.stretch.outputs.push_back(output.value);
  piece.stretch.graph.inputs.clear();
  piece.stretch.graph.outputs.clear();
  return piece;
}

/// A body as a compiled function. Thread-safe.
class BodyCode {
 public:
  BodyCode(const ir::Graph& graph, const std::vector<int64_t>& plain, const Options& options)
      : replay_(replay_of(graph, plain)), function_(options) {
    for (const auto& input : graph.inputs) types_.push_back(graph.tensor_type(input.value));
  }

  Tensors call(Tensors inputs) const {
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = fit(inputs[i], types_[i]);
    Leaves leaves;
    leaves.tensors.append(inputs.begin(), inputs.end());
    const auto once = [&](const Tensors& given) {
      return detail::Outcome{(*replay_)(given, {}), nullptr, false};
    };
    const auto keep = [&]() -> detail::OwnedRun {
      return [replay = replay_](const Tensors& given) {
        return detail::Outcome{(*replay)(given, {}), nullptr, false};
      };
    };
    auto outcome = function_.call(leaves, once, keep);
    return outcome.eager ? (*replay_)(inputs, {}) : std::move(outcome.tensors);
  }

 private:
  /// The ops were recorded for these strides.
  static at::Tensor fit(const at::Tensor& tensor, const ir::TensorType& type) {
    const auto strides = aten::constants(type.strides);
    if (tensor.strides() == at::IntArrayRef(strides)) return tensor;
    return at::empty_strided(tensor.sizes(), strides, tensor.options()).copy_(tensor);
  }

  std::shared_ptr<const Replay> replay_;
  std::vector<ir::TensorType> types_;
  mutable detail::Function function_;
};

/// The bodies in use, by contents.
class Bodies {
 public:
  std::shared_ptr<const BodyCode> get(const Region& region, size_t body) {
    ByteWriter key;
    ir::write(key, *region.bodies[body]);
    key.string(fmt::format("{}", fmt::join(region.plain[body], " ")));
    key.string(fmt::format("{}", fmt::join(region.settings, " ")));
    key.string(region.cache_tag);
    key.string(region.name);
    const std::scoped_lock lock(mutex_);
    auto& known = bodies_[key.take()];
    auto code = known.lock();
    if (!code) {
      code = std::make_shared<const BodyCode>(*region.bodies[body], region.plain[body], options_of(region));
      known = code;
    }
    return code;
  }
  static Bodies& instance() {
    static auto& bodies = *new Bodies;
    return bodies;
  }

 private:
  BriefMutex mutex_;
  std::map<std::string, std::weak_ptr<const BodyCode>> bodies_;
};

}  // namespace

std::shared_ptr<const Replay> replay_of(const ir::Graph& body, const std::vector<int64_t>& plain) {
  return std::make_shared<const Replay>(piece_of(body, plain), false, SizeRules());
}

std::vector<RegionBody> code_of(const Region& region) {
  std::vector<RegionBody> out;
  for (size_t body = 0; body < region.bodies.size(); ++body)
    out.emplace_back(
        [code = Bodies::instance().get(region, body)](const Tensors& inputs) { return code->call(inputs); });
  return out;
}

}  // namespace antegrad::compiler
