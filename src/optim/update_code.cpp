#include "optim/update_code.h"

#include <ATen/Context.h>

#include "ir/text.h"
#include "ir/verify.h"

namespace antegrad::optim {

std::shared_ptr<const compiler::Lowered> CompiledUpdateCode::flat(const std::string& graph_text) {
  if (const auto known = flat_.find(graph_text); known != flat_.end()) return known->second;
  auto graph = ir::parse(graph_text);
  ir::verify(graph);
  lowering_.prepare(graph);
  auto program = lowering_.program(graph, at::globalContext().deterministicAlgorithms());
  auto kernels = lowering_.kernels(program);
  auto code = std::make_shared<const compiler::Lowered>(std::move(program), std::move(kernels));
  return flat_.emplace(graph_text, std::move(code)).first->second;
}

}  // namespace antegrad::optim
