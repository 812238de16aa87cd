#pragma once
// Graphs to keep, look at and run elsewhere: docs/export.md.
#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "antegrad/compile.h"

namespace antegrad {

/// What the inputs and outputs of an exported graph are, in the graph's order. Names are unique among the
/// inputs, and among the outputs.
struct GraphSignature {
  /// Arguments, what was found in a module or captured, and gradients that come in.
  enum class InputKind { User, Parameter, Buffer, Tangent };
  /// Results, new values of inputs, and gradients that go out.
  enum class OutputKind { User, Mutation, Gradient };
  /// One input of the graph.
  struct Input {
    std::string name;                               ///< unique among the inputs
    InputKind kind = InputKind::User;               ///< where it comes from
    std::string of;                                 ///< Tangent: the output that it is the gradient of
    bool operator==(const Input&) const = default;  ///< all fields
  };
  /// One output of the graph.
  struct Output {
    std::string name;                    ///< unique among the outputs
    OutputKind kind = OutputKind::User;  ///< what it is for
    std::string of;  ///< the input whose new value (Mutation) or gradient (Gradient) it is
    bool operator==(const Output&) const = default;  ///< all fields
  };
  std::vector<Input> inputs;    ///< in the graph's order
  std::vector<Output> outputs;  ///< in the graph's order

  std::vector<std::string> names(InputKind kind) const;   ///< of the inputs of one kind
  std::vector<std::string> names(OutputKind kind) const;  ///< of the outputs of one kind
  /// The place of an input or output of that name; throws Error(InvalidArgument) when there is none.
  size_t input(std::string_view name) const;
  size_t output(std::string_view name) const;              ///< as input()
  std::string print() const;                               ///< one line each, for people
  bool operator==(const GraphSignature&) const = default;  ///< all fields
};

/// A function as a graph of values: it reads its inputs, writes nothing, and returns everything. Copies share
/// everything; any number of threads may run it.
class Exported {
 public:
  /// Inverse of graph(). Throws Error(Parse), or Error(Verify) for a graph that is no exported one.
  static Exported parse(std::string_view graph);

  /// Graph text (docs/graph-text.md), names and roles included.
  const std::string& graph() const;
  const GraphSignature& signature() const;  ///< what its inputs and outputs are
  /// The parameters and buffers that were found, in the graph's order. None in a graph that was parsed.
  const std::vector<std::pair<std::string, at::Tensor>>& lifted() const;

  /// Takes all inputs of the graph: the arguments' tensors, then parameters and buffers, then tangents, of
  /// which undefined ones count as zeros. Returns all its outputs. They have no history and share no memory
  /// with the inputs or each other; gradients of inputs that nothing depends on are undefined.
  std::vector<at::Tensor> run(std::vector<at::Tensor> inputs) const;

  struct Impl;
  /// For the library.
  explicit Exported(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

namespace detail {

enum class ExportKind { Joint, Inference };
using RunForExport = c10::function_ref<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;
Exported export_graph(const Options& options, ExportKind kind, const Leaves& leaves, const RunForExport& run);

template <class F, class... Args>
Exported export_callable(const Options& options, ExportKind kind, F& function, const Args&... args) {
  Leaves leaves;
  (flatten(args, leaves), ...);
  return export_graph(options, kind, leaves, [&](const std::vector<at::Tensor>& tensors) {
    LeafReader reader(tensors);
    std::tuple<Args...> arguments{rebuild(args, reader)...};
    Leaves results;
    if constexpr (std::is_void_v<std::invoke_result_t<F&, Args&...>>)
      std::apply(function, arguments);
    else
      flatten<std::remove_cvref_t<std::invoke_result_t<F&, Args&...>>>(std::apply(function, arguments),
                                                                       results);
    return std::vector<at::Tensor>(results.tensors.begin(), results.tensors.end());
  });
}

/// As compile(): a module is called through forward(), and watched.
template <class F, class... Args>
Exported export_any(Options options, ExportKind kind, F function, const Args&... args) {
  if constexpr (ModuleHolder<F> || ModulePointer<F>) {
    if constexpr (ModuleHolder<F>)
      options.watch.push_back(function.ptr());
    else
      options.watch.push_back(function);
    auto forward = [&](auto&... arguments) { return function->forward(arguments...); };
    return export_callable(options, kind, forward, args...);
  } else {
    return export_callable(options, kind, function, args...);
  }
}

template <class T>
concept NotOptions = !std::is_same_v<std::remove_cvref_t<T>, Options>;

}  // namespace detail

/// The function and its backward pass as one graph, for arguments like these. Tangents, the gradients of its
/// differentiable results, are inputs; the gradients of whatever requires one are outputs.
template <detail::NotOptions F, class... Args>
Exported export_joint(F function, const Args&... args) {
  return detail::export_any({}, detail::ExportKind::Joint, std::move(function), args...);
}
/// With options.
template <class F, class... Args>
Exported export_joint(Options options, F function, const Args&... args) {
  return detail::export_any(std::move(options), detail::ExportKind::Joint, std::move(function), args...);
}

/// The function as it runs under torch::NoGradGuard, for arguments like these.
template <detail::NotOptions F, class... Args>
Exported export_inference(F function, const Args&... args) {
  return detail::export_any({}, detail::ExportKind::Inference, std::move(function), args...);
}
/// With options.
template <class F, class... Args>
Exported export_inference(Options options, F function, const Args&... args) {
  return detail::export_any(std::move(options), detail::ExportKind::Inference, std::move(function), args...);
}

}  // namespace antegrad
