#include "runtime/prepared_view.h"

#include "antegrad/error.h"
#include "aten/convert.h"

namespace antegrad::runtime {

PreparedView prepare(const aot::MakeView& step) {
  PreparedView view;
  view.output = step.result;
  if (step.node.op == "antegrad.strided") {
    for (const auto& a : *step.node.args[1].as<ir::Arg::List>())
      view.sizes.push_back(a.as<ir::Dim>()->constant());
    for (const auto& a : *step.node.args[2].as<ir::Arg::List>())
      view.strides.push_back(a.as<ir::Dim>()->constant());
    view.offset = step.node.args[3].as<ir::Dim>()->constant();
    return view;
  }
  view.is_alias = step.node.op == "antegrad.alias";
  if (view.is_alias) return view;
  view.schema = aten::find_schema(step.node.op);
  if (view.schema == nullptr)
    throw Error(ErrorCode::Internal, "run:" + step.node.op, "the view op of an output does not exist");
  view.stack = aten::boxed_arguments(step.node, *view.schema, [](ir::ValueId) { return at::Tensor(); });
  return view;
}

at::Tensor as_fresh_tensor(const at::Tensor& tensor) {
  const auto* impl = tensor.unsafeGetTensorImpl();
  return at::Tensor(impl->shallow_copy_and_detach(impl->version_counter(), true));
}

at::Tensor apply(const PreparedView& view, const at::Tensor& tensor) {
  if (view.is_alias) return as_fresh_tensor(tensor);
  if (view.schema == nullptr)
    return tensor.as_strided(view.sizes, view.strides, tensor.storage_offset() + view.offset);
  auto stack = view.stack;
  stack[0] = tensor;
  view.schema->handle.callBoxed(stack);
  return stack[0].isTensor() ? stack[0].toTensor() : stack[0].toTensorVector()[view.output];
}

}  // namespace antegrad::runtime
