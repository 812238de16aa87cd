#include "compiler/code/kept.h"

#include <c10/core/GradMode.h>

#include <fmt/format.h>

#include "antegrad/error.h"
#include "aot/functionalize.h"
#include "aten/below_recording.h"
#include "capture/fake.h"
#include "passes/pipelines.h"
#include "runtime/calling.h"
#include "runtime/executable.h"
#include "runtime/instructions.h"
#include "runtime/rng_state.h"

namespace antegrad::compiler {

void fill_kept(const capture::Kept& kept, const std::vector<at::Tensor>& inputs) {
  const aten::BelowRecording below;
  const c10::AutoGradMode no_grad(false);
  const runtime::RngReplay keep_generator({}, runtime::generator_state());
  auto functional = aot::functionalize(kept.trace);
  passes::run_pipeline(functional.graph, passes::passes_of("kept_tensors"), {});
  std::vector<at::Tensor> real;
  for (const auto& input : inputs) {
    const bool stands_in = input.defined() && capture::is_fake_storage(input.storage());
    real.push_back(!stands_in ? input
                              : runtime::empty_with_offset(input.sizes(), input.strides(),
                                                           input.storage_offset(), input.options())
                                    .zero_());  // no kept tensor that is wanted depends on its contents
  }
  for (const auto& lifted : kept.trace.lifted) real.push_back(lifted.tensor);
  const runtime::Caller caller(functional.signature,
                               std::make_shared<const runtime::Executable>(functional.graph));
  const auto contents = caller.call(real);
  for (size_t k = 0; k < contents.size(); ++k) capture::fill(kept, k, contents[k]);
}

void throw_keeps_tensors(const std::string& function) {
  throw Error(ErrorCode::UnsupportedOp, "capture",
              fmt::format("'{}' keeps some of its tensors beyond each call, in a member, a cache or a static "
                          "variable",
                          function),
              "Return them, keep a clone() outside the function, or set Options::unsupported to Eager");
}

}  // namespace antegrad::compiler
