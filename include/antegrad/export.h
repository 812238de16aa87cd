#pragma once
// Exported graphs, to be stored, inspected and run elsewhere: docs/export.md.
#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "antegrad/compile.h"

namespace antegrad {

/// The inputs and outputs of an exported graph, in graph order. Names are unique among the inputs and among
/// the outputs.
struct GraphSignature {
  /// User: an argument. Parameter, Buffer: a tensor that the function reached without receiving it. Tangent:
  /// an incoming gradient.
  enum class InputKind { User, Parameter, Buffer, Tangent };
  /// User: a result. Mutation: the new value of an input. Gradient: the gradient of an input.
  enum class OutputKind { User, Mutation, Gradient };
  /// One input of the graph.
  struct Input {
    std::string name;                               ///< unique among the inputs
    InputKind kind = InputKind::User;               ///< what the input is for
    std::string of;                                 ///< Tangent: the output whose gradient it is
    bool operator==(const Input&) const = default;  ///< compares all fields
  };
  /// One output of the graph.
  struct Output {
    std::string name;                    ///< unique among the outputs
    OutputKind kind = OutputKind::User;  ///< what the output is for
    std::string of;  ///< the input whose new value (Mutation) or gradient (Gradient) it is
    bool operator==(const Output&) const = default;  ///< compares all fields
  };
  std::vector<Input> inputs;    ///< in graph order
  std::vector<Output> outputs;  ///< in graph order

  std::vector<std::string> names(InputKind kind) const;   ///< names of the inputs of one kind
  std::vector<std::string> names(OutputKind kind) const;  ///< names of the outputs of one kind
  /// Returns the position of the input of that name. Throws Error(InvalidArgument) when there is none.
  size_t input(std::string_view name) const;
  size_t output(std::string_view name) const;              ///< like input(), for outputs
  std::string print() const;                               ///< human-readable, one line per input and output
  bool operator==(const GraphSignature&) const = default;  ///< compares all fields
};

/// A function as a functional graph: it only reads its inputs and returns every result, new input value and
/// gradient as an output. Copies share everything; run() is thread-safe.
class Exported {
 public:
  /// The inverse of graph(). Throws Error(Parse), or Error(Verify) when the text is not an exported graph.
  static Exported parse(std::string_view graph);

  /// The graph text (docs/graph-text.md), including names and roles.
  const std::string& graph() const;
  const GraphSignature& signature() const;  ///< the roles of its inputs and outputs
  /// The lifted parameters and buffers, in graph order. Empty for a graph that was parsed.
  const std::vector<std::pair<std::string, at::Tensor>>& lifted() const;

  /// Takes all inputs of the graph: the tensors of the arguments, then parameters and buffers, then tangents.
  /// Undefined tangents count as zeros. Returns all outputs of the graph. They have no autograd history and
  /// share no memory with the inputs or with each other; the gradient of an input that no result depends on
  /// is undefined.
  std::vector<at::Tensor> run(std::vector<at::Tensor> inputs) const;

  struct Impl;
  /// For internal use.
  explicit Exported(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<const Impl> impl_;
};

namespace detail {

enum class ExportKind { Joint, Inference };
using RunForExport = c10::function_ref<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;
Exported export_graph(const Options& options, ExportKind kind, const Leaves& leaves, const RunForExport& run);

/// Calls `use` with the function as one of the tensors in its arguments.
template <class F, class Use, class... Args>
auto with_run_for_export(F& function, const Use& use, const Args&... args) {
  return use([&](const std::vector<at::Tensor>& tensors) {
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

template <class F, class... Args>
Exported export_callable(const Options& options, ExportKind kind, F& function, const Args&... args) {
  Leaves leaves;
  (flatten(args, leaves), ...);
  return with_run_for_export(
      function, [&](const RunForExport& run) { return export_graph(options, kind, leaves, run); }, args...);
}

/// Like compile(), calls a module through forward() and watches it.
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

/// Exports the function and its backward pass as one graph, specialised for arguments like these. The
/// tangents of its differentiable results are inputs; the gradients of all inputs that require one are
/// outputs.
template <detail::NotOptions F, class... Args>
Exported export_joint(F function, const Args&... args) {
  return detail::export_any({}, detail::ExportKind::Joint, std::move(function), args...);
}
/// As above, with options.
template <class F, class... Args>
Exported export_joint(Options options, F function, const Args&... args) {
  return detail::export_any(std::move(options), detail::ExportKind::Joint, std::move(function), args...);
}

/// Exports the function as it runs under torch::NoGradGuard, specialised for arguments like these.
template <detail::NotOptions F, class... Args>
Exported export_inference(F function, const Args&... args) {
  return detail::export_any({}, detail::ExportKind::Inference, std::move(function), args...);
}
/// As above, with options.
template <class F, class... Args>
Exported export_inference(Options options, F function, const Args&... args) {
  return detail::export_any(std::move(options), detail::ExportKind::Inference, std::move(function), args...);
}

}  // namespace antegrad
