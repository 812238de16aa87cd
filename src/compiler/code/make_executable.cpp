#include "compiler/code/make_executable.h"

#include "ir/substitute.h"

namespace antegrad::compiler {

std::shared_ptr<const runtime::Executable> make_executable(const Lowered& code,
                                                           const std::vector<int64_t>& symbols,
                                                           const runtime::InputWrites& writes) {
  if (code.is_eager())
    return std::make_shared<const runtime::Executable>(ir::substitute(code.program().graph, symbols));
  std::vector<runtime::KernelCode> kernels;
  for (const auto& kernel : code.kernels()) kernels.push_back(kernel.code);
  std::shared_ptr<const runtime::Executable> executable;
  code.at(symbols, [&](const schedule::Program& program) {
    executable = std::make_shared<const runtime::Executable>(program, kernels, symbols, code.compares(),
                                                             code.checks(), writes);
  });
  return executable;
}

}  // namespace antegrad::compiler
