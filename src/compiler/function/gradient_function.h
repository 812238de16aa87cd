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

/// The gradients of a captured function as a compiled function of its own, of the inputs and the tangents:
/// what backward() with create_graph needs. Captured when first needed, by running the function again over
/// fakes. As it is compiled like any other function, its own derivatives are there too.
class GradientFunction final : public runtime::HigherOrder {
 public:
  /// What compiles the gradients of a function: one for all its sizes.
  static std::shared_ptr<detail::Function> make_function(const Options& options);

  /// `function`: of make_function(). `trace`: of this call.
  GradientFunction(std::shared_ptr<detail::Function> function, const std::string& name, const Call& call,
                   const capture::Trace& trace);

  std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& primals,
                                    const std::vector<at::Tensor>& tangents) override;

 private:
  struct Recipe;
  std::shared_ptr<const Recipe> recipe_;  ///< shared with derivatives of higher order, which may outlive this
  std::shared_ptr<detail::Function> function_;
};

}  // namespace antegrad::compiler
