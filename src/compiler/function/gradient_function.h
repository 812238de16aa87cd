#pragma once
#include <memory>
#include <string>
#include <vector>

#include "antegrad/function.h"
#include "capture/capture.h"
#include "compiler/function/call.h"
#include "runtime/backward.h"
#include "runtime/guards.h"

namespace antegrad::compiler {

/// The type of an argument of a function, to stand in for one that no gradient depends on: its contents do
/// not matter.
struct Placeholder {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  at::TensorOptions options;
  bool defined = false;
  bool requires_grad = false;
  bool is_leaf = true;
  int32_t same_as = -1;  ///< an earlier argument that is the same tensor, or -1
  int64_t reach = 0;  ///< bytes from the first element on that views of it need; 0 if they have its elements

  at::Tensor make() const;
};
/// Returns the arguments of a gradient function: those of the function itself, as far as they are known, then
/// the tangents.
void add_gradient_arguments(const std::vector<Placeholder>& arguments, const std::vector<at::Tensor>& primals,
                            const std::vector<at::Tensor>& tangents, Leaves& leaves);

/// The gradients of a captured function as a compiled function of its own, of the inputs and the tangents, as
/// backward() with create_graph needs it. Captured when first needed, by running the function again over
/// fakes. Since it is compiled like any other function, it is differentiable too.
class GradientFunction final : public runtime::HigherOrder {
 public:
  /// Returns the function that compiles the gradients, shared by all sizes.
  static std::shared_ptr<detail::Function> make_function(const Options& options);

  /// `function` is from make_function(), `trace` is the capture of this call. `targets`: per gradient, the
  /// input that it belongs to.
  GradientFunction(std::shared_ptr<detail::Function> function, const std::string& name, const Call& call,
                   const capture::Trace& trace, std::vector<int32_t> targets);

  std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& primals,
                                    const std::vector<at::Tensor>& tangents) override;

  /// Makes what gradients() runs for tangents of these types. Runs nothing.
  void prepare(const std::vector<runtime::TangentType>& tangents, bool with_histories) const;
  const std::vector<Placeholder>& arguments() const;
  const Leaves& numbers() const;            ///< what the call had besides tensors
  const runtime::Ambient& ambient() const;  ///< of the call whose gradients these are

 private:
  struct Recipe;
  Leaves leaves_of(const std::vector<at::Tensor>& primals, const std::vector<at::Tensor>& tangents) const;
  std::shared_ptr<const Recipe> recipe_;  ///< shared with higher-order derivatives, which may outlive this
  std::shared_ptr<detail::Function> function_;
};

}  // namespace antegrad::compiler
