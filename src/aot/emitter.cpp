#include "aot/emitter.h"

#include <fmt/format.h>

#include "antegrad/error.h"
#include "aten/convert.h"
#include "aten/op_schema.h"
#include "capture/rules/rules.h"
#include "ir/restride.h"

namespace antegrad::aot {
namespace {

ir::Arg dims_arg(const std::vector<ir::Dim>& dims) {
  ir::Arg::List list;
  for (const auto& dim : dims) list.emplace_back(dim);
  return ir::Arg(std::move(list));
}

}  // namespace

bool same_layout(const ir::TensorType& a, const ir::TensorType& b) {
  return a.dtype == b.dtype && a.device == b.device && a.sizes == b.sizes && a.strides == b.strides;
}

at::Tensor Emitter::meta_of(ir::ValueId value) {
  if (!metas_.contains(value)) metas_.resize(graph_.values.size());
  if (!metas_[value].defined() && graph_.type_of(value).tensor())
    metas_[value] = aten::make_meta(type(value));
  return metas_[value];
}

std::vector<ir::ValueId> Emitter::known(ir::Node node, const std::vector<ir::Value>& results) {
  for (const auto& result : results) node.outputs.push_back(graph_.add_value(result.type, result.base));
  if (node.provenance == ir::Provenance{}) node.provenance = provenance;
  return graph_.add_node(std::move(node)).outputs;
}

std::vector<ir::ValueId> Emitter::infer(ir::Node node) {
  const auto* schema = aten::find_schema(node.op);
  if (schema == nullptr)
    throw Error(ErrorCode::Internal, "functionalize:" + node.op, "LibTorch has no such op");
  auto stack = aten::boxed_arguments(node, *schema, [this](ir::ValueId v) { return meta_of(v); });
  ir::Device device;
  std::vector<std::pair<const c10::StorageImpl*, ir::ValueId>> storages;
  ir::for_each_input(node, [&](ir::ValueId v) {
    if (graph_.type_of(v).tensor() == nullptr) return;
    if (storages.empty() || !type(v).sizes.empty()) device = type(v).device;
    storages.emplace_back(meta_of(v).storage().unsafeGetStorageImpl(), graph_.storage_of(v));
  });
  if (schema->device_arg >= 0) {
    auto& argument = stack[schema->device_arg];
    if (argument.isDevice()) device = aten::to_ir(argument.toDevice());
    if (argument.isDevice() || storages.empty()) argument = c10::Device(c10::kMeta);
  }
  if (device.kind != ir::Device::Kind::Cuda ||
      !capture::infer_by_cuda_rule(schema->handle.operator_name(), stack))
    capture::infer_results(*schema, stack, counts_);
  std::vector<ir::Value> results;
  std::vector<at::Tensor> metas;
  auto add = [&](const at::Tensor& meta) {
    ir::Value value;
    if (meta.defined()) {
      value.type = aten::type_of(meta, aten::to_torch(device));
      for (const auto& [storage, base] : storages)
        if (storage == meta.storage().unsafeGetStorageImpl()) value.base = base;
    }
    results.push_back(std::move(value));
    metas.push_back(meta);
  };
  bool has_list = false;
  std::vector<int32_t> returns;
  for (const auto& result : stack) {
    const bool is_list = result.isTensorList();
    has_list |= is_list;
    returns.push_back(is_list ? static_cast<int32_t>(result.toTensorVector().size()) : -1);
    if (result.isTensor()) add(result.toTensor());
    if (is_list)
      for (const at::Tensor& meta : result.toTensorVector()) add(meta);
  }
  if (has_list) node.returns = std::move(returns);
  auto outputs = known(std::move(node), results);
  metas_.resize(graph_.values.size());
  for (size_t i = 0; i < outputs.size(); ++i) metas_[outputs[i]] = metas[i];
  return outputs;
}

ir::ValueId Emitter::op(std::string name, std::vector<ir::Arg> args, std::vector<ir::NamedArg> attrs) {
  ir::Node node;
  node.op = std::move(name);
  node.args = std::move(args);
  node.attrs = std::move(attrs);
  return infer(std::move(node)).at(0);
}

ir::ValueId Emitter::strided(ir::ValueId value, const ir::TensorType& shape, int64_t offset) {
  ir::Node node;
  node.op = "antegrad.strided";
  node.args = {value, dims_arg(shape.sizes), dims_arg(shape.strides), offset};
  auto result = shape;
  result.offset = type(value).offset + ir::Dim(offset);
  return known(std::move(node), {{result, graph_.storage_of(value)}})[0];
}

ir::ValueId Emitter::strided_scatter(ir::ValueId value, ir::ValueId source, const ir::TensorType& shape,
                                     int64_t offset) {
  ir::Node node;
  node.op = "antegrad.strided_scatter";
  node.args = {value, source, dims_arg(shape.sizes), dims_arg(shape.strides), offset};
  auto result = type(value);
  result.offset = 0;
  return known(std::move(node), {{result, {}}})[0];
}

ir::ValueId Emitter::fit(ir::ValueId value, const ir::TensorType& wanted) {
  if (same_layout(type(value), wanted)) return value;
  if (type(value).dtype != wanted.dtype) value = op("aten._to_copy", {value}, {{"dtype", wanted.dtype}});
  if (type(value).strides == wanted.strides) return value;
  auto result = wanted;
  result.offset = 0;
  return known(ir::restride_node(value, wanted), {{result, {}}})[0];
}

}  // namespace antegrad::aot
