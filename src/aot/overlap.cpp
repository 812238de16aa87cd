#include "aot/overlap.h"

#include <c10/util/Exception.h>

#include <algorithm>

#include "aot/aliasing.h"
#include "aot/inplace.h"
#include "ir/layout.h"
#include "ir/ops.h"

namespace antegrad::aot {
namespace {

/// Returns whether at::get_overlap_status() would report a partial overlap.
bool overlap_partly(const ir::TensorType& a, const ir::TensorType& b) {
  if (!ir::is_dense(a) || !ir::is_dense(b)) return false;
  const auto x = extent_of(a), y = extent_of(b);
  const auto p = ir::size_in_bytes(a.dtype), q = ir::size_in_bytes(b.dtype);
  if (x.first == x.last || y.first == y.last || x.first * p >= y.last * q || y.first * q >= x.last * p)
    return false;
  return !(x.first * p == y.first * q && x.last * p == y.last * q && a.strides == b.strides);
}

/// Returns whether the op uses TensorIterator, which checks for overlap. Of out= overloads, those with a
/// kernel of their own do; others compute their result first and copy it.
bool is_checked(const ir::Node& node, const aten::OpSchema& schema) {
  if (node.op == "aten.copy_") return true;
  if (schema.return_is_arg.empty()) return false;
  if (schema.return_is_arg[0] != 0 && !schema.handle.hasKernelForDispatchKey(c10::DispatchKey::CPU))
    return false;
  const auto* variant = functional_variant(schema);
  const auto* row = variant != nullptr ? ir::find_op(variant->name) : nullptr;
  return row != nullptr && row->kind == ir::OpKind::Pointwise;
}

/// Returns whether the op reads a tensor of one element as a number, before it writes.
bool reads_a_number(const ir::Node& node) {
  return node.op == "aten.fill_.Tensor" || node.op == "aten.masked_fill_.Tensor";
}

}  // namespace

OverlapCheck::OverlapCheck(const capture::Trace& trace) : trace_(trace) {
  for (size_t i = 0; i < trace.inputs.size(); ++i)
    if (const auto storage = trace.inputs[i].memory.storage;
        storage >= 0 && capture::shares_storage(trace, i))
      shared_[trace.graph.inputs[i].value.index] = storage;
}

int32_t OverlapCheck::storage_of(ir::ValueId value) const {
  const auto own = trace_.graph.storage_of(value).index;
  const auto found = shared_.find(own);
  return found == shared_.end() ? -1 - own : found->second;
}

void OverlapCheck::check(const ir::Node& node, const aten::OpSchema& schema) const {
  if (node.effects.writes.size() != 1 || !is_checked(node, schema)) return;
  const auto written = node.effects.writes[0];
  const auto storage = storage_of(written);
  ir::for_each_input(node, [&](ir::ValueId read) {
    if (read == written || storage_of(read) != storage) return;
    const auto& type = trace_.graph.tensor_type(read);
    if (type.sizes.empty() && reads_a_number(node)) return;
    TORCH_CHECK(
        !overlap_partly(trace_.graph.tensor_type(written), type),
        "unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
        "single memory location. Please clone() the tensor before performing the operation.");
  });
}

}  // namespace antegrad::aot
