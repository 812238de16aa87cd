#include "program/check_function.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <set>

#include "antegrad/error.h"
#include "aten/convert.h"
#include "capture/fake.h"
#include "compiler/api/runnable_graph.h"
#include "ir/substitute.h"
#include "program/interpreter.h"
#include "program/read_graph.h"

namespace antegrad::program {
namespace {

[[noreturn]] void refuse_function(const std::string& fact, const char* way_out) {
  throw Error(ErrorCode::UnsupportedOp, "program:save", fact, way_out);
}
constexpr const char* kWithoutGradients =
    "Save the program under torch::NoGradGuard: its parameters then need no gradient";

/// The generators of the devices of a graph, which start again at each begin().
class RandomState {
 public:
  explicit RandomState(const ir::Graph& graph) {
    std::set<std::pair<c10::DeviceType, c10::DeviceIndex>> devices;
    for (const auto& value : graph.values)
      if (const auto* type = value.type.tensor();
          type != nullptr && type->device.kind != ir::Device::Kind::Meta) {
        const auto device = aten::to_torch(type->device);
        devices.emplace(device.type(), device.index());
      }
    for (const auto& [type, index] : devices) {
      auto generator = at::globalContext().defaultGenerator(c10::Device(type, index));
      const std::scoped_lock lock(generator.mutex());
      states_.emplace_back(generator, generator.get_state());
    }
  }
  ~RandomState() { begin(); }
  RandomState(const RandomState&) = delete;
  RandomState& operator=(const RandomState&) = delete;

  void begin() {
    for (auto& [generator, state] : states_) {
      const std::scoped_lock lock(generator.mutex());
      generator.set_state(state);
    }
  }

 private:
  std::vector<std::pair<at::Generator, at::Tensor>> states_;
};

double tolerance(at::ScalarType dtype) {
  return dtype == at::kHalf || dtype == at::kBFloat16 || dtype == at::kComplexHalf ? 5e-2 : 1e-4;
}

/// Whether two tensors are equal up to the rounding of their dtype, relative to the larger one. Undefined
/// ones are zeros.
bool same_values(at::Tensor a, at::Tensor b) {
  if (!a.defined() && !b.defined()) return true;
  if (!a.defined()) a = at::zeros_like(b);
  if (!b.defined()) b = at::zeros_like(a);
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type() || a.device() != b.device()) return false;
  if (!a.is_floating_point() && !a.is_complex()) return at::equal(a, b);
  const auto wide = a.is_complex() ? at::kComplexDouble : at::kDouble;
  const auto x = a.to(wide), y = b.to(wide);
  const auto same = at::eq(x, y).logical_or(at::isnan(x).logical_and(at::isnan(y)));
  const auto difference = at::where(same, at::zeros_like(x), x - y).norm().item<double>();
  const auto finite = [](const at::Tensor& t) { return at::where(at::isfinite(t), t, at::zeros_like(t)); };
  const auto size = std::max(finite(x).norm().item<double>(), finite(y).norm().item<double>());
  return difference <= tolerance(a.scalar_type()) * size;
}

/// A gradient for a result, with different elements.
at::Tensor tangent_for(const ir::TensorType& type) {
  const auto sizes = aten::constants(type.sizes);
  return at::linspace(0.5, 1.5, c10::multiply_integers(sizes), at::kDouble)
      .reshape(sizes)
      .to(aten::options_of(type));
}

class FunctionCheck {
 public:
  FunctionCheck(const compiler::FunctionGraph& function, const WrittenGraph& written,
                const std::vector<at::Tensor>& example)
      : graph_(at_example(function.graph)), function_(function), written_(written) {
    for (const auto& tensor : example)
      inputs_.push_back(tensor.defined() ? tensor.resolve_conj().resolve_neg() : tensor);
    for (const auto& [name, tensor] : function.lifted) inputs_.push_back(tensor);
  }

  void run() {
    RandomState random(graph_);
    const auto expected = run_function();
    random.begin();
    std::vector<at::Tensor> leaves;
    std::map<std::string, at::Tensor> results;
    try {
      results = run_written(leaves);
    } catch (const std::exception& error) {
      refuse_function(fmt::format("the program would fail in Python: {}", capture::text_of(error)),
                      "Write this part of the function with other ops");
    }
    compare_results(expected, results);
    if (function_.gradients) compare_gradients(expected, results, leaves);
  }

 private:
  static ir::Graph at_example(const ir::Graph& graph) {
    std::vector<int64_t> values;
    for (const auto& symbol : graph.symbols) values.push_back(symbol.hint);
    return ir::substitute(graph, values);
  }

  /// Results and gradients, by name of the output.
  std::map<std::string, at::Tensor> run_function() {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> inputs;
    for (const auto& tensor : inputs_) inputs.push_back(tensor.defined() ? tensor.detach() : tensor);
    for (size_t i = inputs_.size(); i < graph_.inputs.size(); ++i)
      inputs.push_back(tangent_for(graph_.tensor_type(graph_.inputs[i].value)));
    const auto outputs = compiler::RunnableGraph(graph_).run(std::move(inputs), "program:save");
    std::map<std::string, at::Tensor> out;
    for (size_t i = 0; i < outputs.size(); ++i) out[graph_.outputs[i].name] = outputs[i];
    return out;
  }

  std::map<std::string, at::Tensor> run_written(std::vector<at::Tensor>& leaves) {
    const auto graph = read_graph(written_.graph);
    const c10::AutoGradMode mode(function_.gradients);
    for (const auto& tensor : inputs_)
      leaves.push_back(tensor.defined() ? tensor.detach().set_requires_grad(tensor.requires_grad()) : tensor);
    std::vector<Slot> slots;
    for (const auto& [constant, index] : written_.order) {
      if (constant)
        slots.push_back({written_.constants[index].tensor, {}});
      else
        slots.push_back({leaves[index].defined() ? c10::IValue(leaves[index]) : c10::IValue(), {}});
    }
    const auto outputs = run_graph(graph, std::move(slots));
    std::map<std::string, at::Tensor> out;
    size_t next = 0;
    for (const bool mutations : {true, false})
      for (const auto& output : graph_.outputs)
        if (output.role != ir::OutputRole::Grad &&
            (output.role == ir::OutputRole::MutatedInput) == mutations) {
          const auto& value = outputs.at(next++).value;
          out[output.name] = value.isTensor() ? value.toTensor() : at::Tensor();
        }
    return out;
  }

  static void compare_results(const std::map<std::string, at::Tensor>& expected,
                              const std::map<std::string, at::Tensor>& results) {
    const at::NoGradGuard no_grad;
    for (const auto& [name, result] : results)
      if (!same_values(expected.at(name), result))
        refuse_function(fmt::format("the program would give another value for {}", name),
                        "Please report the function; antegrad::export_inference() gives its graph");
  }

  void compare_gradients(const std::map<std::string, at::Tensor>& expected,
                         const std::map<std::string, at::Tensor>& results,
                         const std::vector<at::Tensor>& leaves) const {
    const auto signature = compiler::RunnableGraph(graph_).signature();
    std::vector<at::Tensor> roots, tangents, wanted;
    std::vector<std::string> names;
    for (size_t i = inputs_.size(); i < graph_.inputs.size(); ++i) {
      const auto& root = results.at(signature.inputs[i].of);
      if (!root.requires_grad()) continue;
      roots.push_back(root);
      tangents.push_back(tangent_for(graph_.tensor_type(graph_.inputs[i].value)));
    }
    for (const auto& output : graph_.outputs)
      if (output.role == ir::OutputRole::Grad) {
        names.push_back(output.name);
        wanted.push_back(leaves[output.target]);
      }
    std::vector<at::Tensor> gradients(wanted.size());
    try {
      if (!roots.empty())
        gradients = torch::autograd::grad(roots, wanted, tangents, {}, false, /*allow_unused=*/true);
    } catch (const std::exception& error) {
      refuse_function(
          fmt::format("the backward pass of the program would fail in Python: {}", capture::text_of(error)),
          kWithoutGradients);
    }
    const at::NoGradGuard no_grad;
    for (size_t i = 0; i < names.size(); ++i)
      if (!same_values(expected.at(names[i]), gradients[i]))
        refuse_function(
            fmt::format(
                "in Python {} would be another one than here: the function has parts without gradient "
                "(NoGradGuard, detach()) or with one of their own, which the file cannot express",
                names[i]),
            kWithoutGradients);
  }

  const ir::Graph graph_;
  const compiler::FunctionGraph& function_;
  const WrittenGraph& written_;
  std::vector<at::Tensor> inputs_;  ///< arguments, then parameters and buffers
};

}  // namespace

void check_function(const compiler::FunctionGraph& function, const WrittenGraph& written,
                    const std::vector<at::Tensor>& example) {
  FunctionCheck(function, written, example).run();
}

}  // namespace antegrad::program
