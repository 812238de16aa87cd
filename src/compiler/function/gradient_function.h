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

 private:
  struct Recipe;
  std::shared_ptr<const Recipe> recipe_;  ///< shared with higher-order derivatives, which may outlive this
  std::shared_ptr<detail::Function> function_;
};

}  // namespace antegrad::compiler
