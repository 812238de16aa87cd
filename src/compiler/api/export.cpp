#include "antegrad/export.h"

#include <fmt/format.h>

#include "antegrad/error.h"
#include "compiler/api/function_graph.h"
#include "compiler/api/runnable_graph.h"
#include "ir/text.h"

namespace antegrad {

struct Exported::Impl {
  explicit Impl(ir::Graph exported) : runnable(std::move(exported)), text(ir::print(runnable.graph())) {}

  compiler::RunnableGraph runnable;
  std::string text;
  std::vector<std::pair<std::string, at::Tensor>> lifted;
};

Exported Exported::parse(std::string_view graph) {
  return Exported(std::make_shared<const Impl>(compiler::RunnableGraph::parse(graph)));
}

const std::string& Exported::graph() const { return impl_->text; }
const GraphSignature& Exported::signature() const { return impl_->runnable.signature(); }
const std::vector<std::pair<std::string, at::Tensor>>& Exported::lifted() const { return impl_->lifted; }

std::vector<at::Tensor> Exported::run(std::vector<at::Tensor> inputs) const {
  const auto& graph = impl_->runnable.graph();
  if (detail::capturing())
    throw Error(ErrorCode::UnsupportedOp, "export:run", "an exported graph runs inside a captured function",
                "Call the function that was exported instead");
  if (inputs.size() != graph.inputs.size())
    throw Error(ErrorCode::InvalidArgument, "export:run",
                fmt::format("{} tensors were given where the graph has {} inputs", inputs.size(),
                            graph.inputs.size()),
                "GraphSignature::print() lists them");
  return impl_->runnable.run(std::move(inputs), "export:run");
}

Exported detail::export_graph(const Options& options, ExportKind kind, const Leaves& leaves,
                              const RunForExport& run) {
  compiler::ExportWanted wanted;
  if (kind == ExportKind::Joint) wanted.gradients = compiler::ExportWanted::Gradients::Required;
  auto exported = compiler::graph_of_function(options, wanted, leaves, run);
  auto impl = std::make_shared<Exported::Impl>(std::move(exported.graph));
  impl->lifted = std::move(exported.lifted);
  return Exported(std::move(impl));
}

}  // namespace antegrad
