#include "compiler/code/make_executable.h"

#include "ir/substitute.h"
#include "schedule/substitute.h"

namespace antegrad::compiler {

std::shared_ptr<const runtime::Executable> make_executable(const Lowered& code,
                                                           const std::vector<int64_t>& symbols,
                                                           const runtime::InputWrites& writes) {
  const auto& program = code.program();
  if (code.is_eager())
    return std::make_shared<const runtime::Executable>(ir::substitute(program.graph, symbols));
  std::vector<runtime::KernelCode> kernels;
  for (const auto& kernel : code.kernels()) kernels.push_back(kernel.code);
  if (symbols.empty())
    return std::make_shared<const runtime::Executable>(program, kernels, symbols, code.compares(),
                                                       code.checks(), writes);
  return std::make_shared<const runtime::Executable>(schedule::substitute(program, symbols), kernels, symbols,
                                                     code.compares(), code.checks(), writes);
}

}  // namespace antegrad::compiler
