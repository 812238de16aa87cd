#include "compiler/regions/code.h"

#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <mutex>

#include "antegrad/function.h"
#include "aten/convert.h"
#include "compiler/code/number_places.h"
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

/// The numbers of a body, which are arguments of its code.
struct Numbers {
  std::vector<NumberPlace> places;
  std::vector<Literal> values;

  explicit Numbers(const ir::Graph& body) {
    for (auto& place : number_places(body)) {
      const auto value = literal_at(body, place);
      if (!value) continue;
      places.push_back(std::move(place));
      values.push_back(*value);
    }
  }
  /// The body with other numbers there.
  ir::Graph with(ir::Graph body, const std::vector<Literal>& others) const {
    for (size_t i = 0; i < places.size(); ++i)
      if (others[i] != values[i]) put_literal(body, places[i], others[i]);
    return body;
  }
};

Options options_for(Options options, const Numbers& numbers) {
  // A body has fixed sizes, so that only numbers become symbols.
  if (!numbers.places.empty()) options.dynamic = Dynamic::Auto;
  return options;
}

/// A body as a compiled function of tensors and of its numbers. Thread-safe.
class BodyCode {
 public:
  BodyCode(const ir::Graph& graph, Numbers numbers, const std::vector<int64_t>& plain, const Options& options)
      : graph_(graph),
        numbers_(std::move(numbers)),
        plain_(plain),
        replay_(replay_of(graph, plain)),
        function_(options_for(options, numbers_)) {
    for (const auto& input : graph.inputs) types_.push_back(graph.tensor_type(input.value));
  }

  Tensors call(Tensors inputs, const std::vector<Literal>& numbers) const {
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = fit(inputs[i], types_[i]);
    Leaves leaves;
    leaves.tensors.append(inputs.begin(), inputs.end());
    for (const auto& number : numbers) leaves.add_number(number.value, number.real);
    const auto once = [&](const Tensors& given) {
      return detail::Outcome{(*replay_with(numbers))(given, {}), nullptr, false};
    };
    const auto keep = [&]() -> detail::OwnedRun {
      return [replay = replay_with(numbers)](const Tensors& given) {
        return detail::Outcome{(*replay)(given, {}), nullptr, false};
      };
    };
    auto outcome = function_.call(leaves, once, keep);
    return outcome.eager ? (*replay_with(numbers))(inputs, {}) : std::move(outcome.tensors);
  }

 private:
  /// The ops were recorded for these strides.
  static at::Tensor fit(const at::Tensor& tensor, const ir::TensorType& type) {
    const auto strides = aten::constants(type.strides);
    if (tensor.strides() == at::IntArrayRef(strides)) return tensor;
    return at::empty_strided(tensor.sizes(), strides, tensor.options()).copy_(tensor);
  }

  std::shared_ptr<const Replay> replay_with(const std::vector<Literal>& numbers) const {
    if (numbers == numbers_.values) return replay_;
    return replay_of(numbers_.with(graph_, numbers), plain_);
  }

  const ir::Graph graph_;
  const Numbers numbers_;  ///< those of the graph
  const std::vector<int64_t> plain_;
  std::shared_ptr<const Replay> replay_;
  std::vector<ir::TensorType> types_;
  mutable detail::Function function_;
};

/// The bodies in use, by contents without numbers.
class Bodies {
 public:
  std::shared_ptr<const BodyCode> get(const Region& region, size_t body, const Numbers& numbers) {
    const auto& graph = *region.bodies[body];
    ByteWriter key;
    ir::write(key, numbers.with(graph, zeros_like(numbers.values)));
    key.string(fmt::format("{}", fmt::join(region.plain[body], " ")));
    key.string(fmt::format("{}", fmt::join(region.settings, " ")));
    key.string(region.cache_tag);
    key.string(region.name);
    const std::scoped_lock lock(mutex_);
    auto& known = bodies_[key.take()];
    auto code = known.lock();
    if (!code) {
      code = std::make_shared<const BodyCode>(graph, numbers, region.plain[body], options_of(region));
      known = code;
    }
    return code;
  }
  static Bodies& instance() {
    static auto& bodies = *new Bodies;
    return bodies;
  }

 private:
  static std::vector<Literal> zeros_like(std::vector<Literal> numbers) {
    for (auto& number : numbers) number.value = 0;
    return numbers;
  }

  BriefMutex mutex_;
  std::map<std::string, std::weak_ptr<const BodyCode>> bodies_;
};

}  // namespace

std::shared_ptr<const Replay> replay_of(const ir::Graph& body, const std::vector<int64_t>& plain) {
  return std::make_shared<const Replay>(piece_of(body, plain), false, SizeRules());
}

std::vector<RegionBody> code_of(const Region& region) {
  std::vector<RegionBody> out;
  for (size_t body = 0; body < region.bodies.size(); ++body) {
    Numbers numbers(*region.bodies[body]);
    auto code = Bodies::instance().get(region, body, numbers);
    out.emplace_back([code = std::move(code), values = std::move(numbers.values)](const Tensors& inputs) {
      return code->call(inputs, values);
    });
  }
  return out;
}

}  // namespace antegrad::compiler
