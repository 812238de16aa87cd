#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>

#include <cstring>

#include "antegrad/error.h"
#include "aten/below_recording.h"
#include "aten/convert.h"
#include "runtime/instructions.h"
#include "runtime/onednn.h"
#include "runtime/regions.h"

namespace antegrad::runtime {
namespace {

std::vector<int64_t> integers(const ir::Arg& arg) {
  std::vector<int64_t> out;
  for (const auto& element : *arg.as<ir::Arg::List>()) out.push_back(element.as<ir::Dim>()->constant());
  return out;
}

class Constant final : public Instruction {
 public:
  /// `leaves_graph`: the caller gets its memory and may write to it, so each run needs a copy of its own.
  Constant(at::Tensor value, int32_t output, bool leaves_graph)
      : value_(std::move(value)), output_(output), leaves_graph_(leaves_graph) {}
  void run(Registers& registers) const override {
    registers[output_] = leaves_graph_ ? value_.clone() : value_;
  }

 private:
  at::Tensor value_;
  int32_t output_;
  bool leaves_graph_;
};

bool leaves_graph(const ir::Graph& graph, ir::ValueId value) {
  return std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](const ir::Output& output) {
    return output.value.valid() && graph.storage_of(output.value) == value;
  });
}

/// The ops that take sizes and strides; a function says which.
class Layout final : public Instruction {
 public:
  struct Call {
    std::vector<int32_t> inputs;
    int32_t output = 0;
    std::vector<int64_t> sizes, strides;
    int64_t offset = 0;
  };
  using Run = at::Tensor (*)(const Call&, Registers&);
  Layout(Call call, Run run) : call_(std::move(call)), run_(run) {}
  void run(Registers& registers) const override { registers[call_.output] = run_(call_, registers); }

 private:
  Call call_;
  Run run_;
};

at::Tensor run_strided(const Layout::Call& call, Registers& registers) {
  const auto& x = registers[call.inputs[0]];
  return x.as_strided(call.sizes, call.strides, x.storage_offset() + call.offset);
}

at::Tensor run_strided_scatter(const Layout::Call& call, Registers& registers) {
  auto copy = clone_with_strides(registers[call.inputs[0]]);
  copy_memory(copy.as_strided(call.sizes, call.strides, copy.storage_offset() + call.offset),
              registers[call.inputs[1]]);
  return copy;
}

at::Tensor run_restride(const Layout::Call& call, Registers& registers) {
  const auto& x = registers[call.inputs[0]];
  auto result = at::empty_strided(x.sizes(), call.strides, x.options());
  copy_memory(result, x);
  return result;
}

at::Tensor run_resize(const Layout::Call& call, Registers& registers) {
  const auto& x = registers[call.inputs[0]];
  auto result = at::empty(call.sizes, x.options());
  const auto kept = std::min(x.numel(), result.numel());
  // resize_ keeps the memory, so elements are kept in memory order.
  if (kept > 0) {
    auto flat = x.as_strided({kept}, {1});
    result.view({-1}).slice(0, 0, kept).copy_(flat);
  }
  return result;
}

at::Tensor run_pack(const Layout::Call& call, Registers& registers) {
  return onednn::pack(registers[call.inputs[0]]);
}

at::Tensor run_packed_mm(const Layout::Call& call, Registers& registers) {
  const auto& inputs = call.inputs;
  return onednn::multiply_packed(registers[inputs[0]], registers[inputs[1]],
                                 inputs.size() > 2 ? registers[inputs[2]] : at::Tensor());
}

MakeRegionCall make_region_call = nullptr;

}  // namespace

at::Tensor constant_tensor(const ir::Node& node, const ir::TensorType& type) {
  aten::BelowRecording below;
  auto tensor = at::empty(aten::constants(type.sizes), at::TensorOptions(aten::to_torch(type.dtype)));
  for (const auto& attr : node.attrs) {
    if (attr.name == "data") {
      const auto& bytes = **attr.value.as<ir::Bytes>();
      if (bytes.size() != tensor.nbytes())
        throw Error(ErrorCode::InvalidArgument, "run:antegrad.constant",
                    fmt::format("{} bytes of data for a tensor of {}", bytes.size(), tensor.nbytes()));
      if (!bytes.empty()) std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
    }
  }
  tensor = tensor.to(aten::to_torch(type.device));
  for (const auto& attr : node.attrs)
    if (attr.name == "wrapped") tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

bool set_region_calls(MakeRegionCall make) {
  make_region_call = make;
  return true;
}

void copy_memory(at::Tensor to, at::Tensor from) {
  if (to.numel() == 0) return;
  for (int64_t d = to.dim() - 1; d >= 0; --d) {
    if (to.size(d) == 1 || to.stride(d) != 0) continue;
    to = to.select(d, 0);  // all the same memory, and the same contents in `from`
    from = from.select(d, 0);
  }
  to.copy_(from);
}

at::Tensor empty_with_offset(at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset,
                             const at::TensorOptions& options) {
  if (offset == 0) return at::empty_strided(sizes, strides, options);
  int64_t elements = offset + 1;
  for (size_t d = 0; d < sizes.size(); ++d) elements += sizes[d] > 0 ? (sizes[d] - 1) * strides[d] : 0;
  return at::empty({elements}, options).as_strided(sizes, strides, offset);
}

at::Tensor clone_with_strides(const at::Tensor& tensor) {
  if (tensor.is_non_overlapping_and_dense()) return tensor.clone(at::MemoryFormat::Preserve);
  int64_t elements = tensor.numel() == 0 ? 0 : 1;
  for (int64_t d = 0; d < tensor.dim() && elements > 0; ++d)
    elements += (tensor.size(d) - 1) * tensor.stride(d);
  auto memory = tensor.as_strided({elements}, {1}).clone();
  return memory.as_strided(tensor.sizes(), tensor.strides());
}

std::unique_ptr<Instruction> make_own_call(const ir::Node& node, const ir::Graph& graph,
                                           const RegisterMap& register_of) {
  if (node.op.rfind("antegrad.", 0) != 0) return nullptr;
  if (node.op.starts_with("antegrad.region.")) return make_region_call(node, graph, register_of);
  auto slot = [&](ir::ValueId value) { return register_of[value]; };
  const auto output = slot(node.outputs.at(0));
  if (node.op == "antegrad.constant")
    return std::make_unique<Constant>(constant_tensor(node, graph.tensor_type(node.outputs[0])), output,
                                      leaves_graph(graph, node.outputs[0]));
  Layout::Call call;
  call.output = output;
  size_t next = 0;
  while (next < node.args.size() && node.args[next].as<ir::ValueId>())
    call.inputs.push_back(slot(*node.args[next++].as<ir::ValueId>()));
  if (node.op == "antegrad.pack") return std::make_unique<Layout>(std::move(call), run_pack);
  if (node.op == "antegrad.packed_mm") return std::make_unique<Layout>(std::move(call), run_packed_mm);
  if (node.op == "antegrad.restride") {
    call.strides = integers(node.args.at(next));
    return std::make_unique<Layout>(std::move(call), run_restride);
  }
  call.sizes = integers(node.args.at(next++));
  if (node.op == "antegrad.resize") return std::make_unique<Layout>(std::move(call), run_resize);
  call.strides = integers(node.args.at(next++));
  call.offset = node.args.at(next).as<ir::Dim>()->constant();
  if (node.op == "antegrad.strided") return std::make_unique<Layout>(std::move(call), run_strided);
  if (node.op == "antegrad.strided_scatter")
    return std::make_unique<Layout>(std::move(call), run_strided_scatter);
  throw Error(ErrorCode::UnsupportedOp, "run:" + node.op, "antegrad has no such op",
              "Check the spelling in the graph text");
}

}  // namespace antegrad::runtime
