#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/baddbmm_cpu_dispatch.h>
#include <ATen/ops/bmm_cpu_dispatch.h>
#include <ATen/ops/cat_cpu_dispatch.h>
#include <ATen/ops/mm_cpu_dispatch.h>

#include <array>

#include "aten/convert.h"
#include "runtime/instructions.h"
#include "runtime/onednn.h"

namespace antegrad::runtime {
namespace {

/// A matrix product that is written into existing memory.
class OutCall final : public Instruction {
 public:
  struct Call {
    int32_t self = -1, left = -1, right = -1;  ///< registers; self is the summand, or -1
    int32_t output = 0;
    at::Scalar beta = 1, alpha = 1;
    bool by_onednn = false;
  };
  using Run = void (*)(const Call&, Registers&);
  OutCall(Call call, Run run) : call_(std::move(call)), run_(run) {}
  void run(Registers& registers) const override { run_(call_, registers); }

 private:
  Call call_;
  Run run_;
};

at::Tensor& at_slot(Registers& registers, int32_t slot) { return registers[slot]; }

/// Returns false when LibTorch is to do it.
bool run_onednn(const OutCall::Call& c, Registers& r) {
  if (!c.by_onednn || !onednn::in_use_now()) return false;
  if (c.self >= 0) at_slot(r, c.output).copy_(at_slot(r, c.self));
  onednn::multiply(at_slot(r, c.left), at_slot(r, c.right), at_slot(r, c.output), c.self >= 0);
  return true;
}

void run_mm(const OutCall::Call& c, Registers& r) {
  if (!run_onednn(c, r)) at::cpu::mm_out(at_slot(r, c.output), at_slot(r, c.left), at_slot(r, c.right));
}
void run_bmm(const OutCall::Call& c, Registers& r) {
  if (!run_onednn(c, r)) at::cpu::bmm_out(at_slot(r, c.output), at_slot(r, c.left), at_slot(r, c.right));
}
void run_addmm(const OutCall::Call& c, Registers& r) {
  if (!run_onednn(c, r))
    at::cpu::addmm_out(at_slot(r, c.output), at_slot(r, c.self), at_slot(r, c.left), at_slot(r, c.right),
                       c.beta, c.alpha);
}
void run_baddbmm(const OutCall::Call& c, Registers& r) {
  if (!run_onednn(c, r))
    at::cpu::baddbmm_out(at_slot(r, c.output), at_slot(r, c.self), at_slot(r, c.left), at_slot(r, c.right),
                         c.beta, c.alpha);
}

/// By OutOp.
constexpr std::array<OutCall::Run, 4> kRuns = {run_mm, run_bmm, run_addmm, run_baddbmm};

/// A concatenation that is written into existing memory.
class CatCall final : public Instruction {
 public:
  CatCall(std::vector<int32_t> parts, int64_t dim, int32_t output)
      : parts_(std::move(parts)), dim_(dim), output_(output) {}
  void run(Registers& registers) const override {
    c10::SmallVector<at::Tensor, 8> parts;
    for (auto slot : parts_) parts.push_back(registers[slot]);
    at::cpu::cat_out(at_slot(registers, output_), at::TensorList(parts), dim_);
  }

 private:
  std::vector<int32_t> parts_;
  int64_t dim_;
  int32_t output_;
};

std::unique_ptr<Instruction> make_cat_call(const ir::Node& node, int64_t dim,
                                           const RegisterMap& register_of) {
  std::vector<int32_t> parts;
  for (const auto& part : *node.args[0].as<ir::Arg::List>())
    parts.push_back(register_of[*part.as<ir::ValueId>()]);
  return std::make_unique<CatCall>(std::move(parts), dim, register_of[node.outputs[0]]);
}

}  // namespace

std::unique_ptr<Instruction> make_out_call(const ir::Node& node, const ir::Graph& graph,
                                           const RegisterMap& register_of, bool as_eager) {
  const auto op = *out_op(node, graph);
  const auto& schema = *aten::find_schema(node.op);
  const auto boxed = aten::boxed_arguments(node, schema, [](ir::ValueId) { return at::Tensor(); });
  if (op == OutOp::Cat) return make_cat_call(node, boxed[1].toInt(), register_of);
  auto slot = [&](const ir::Arg& arg) { return register_of[*arg.as<ir::ValueId>()]; };
  const bool adds = boxed.size() > 3;
  OutCall::Call call;
  if (adds) {
    call.self = slot(node.args[0]);
    call.beta = boxed[3].toScalar();
    call.alpha = boxed[4].toScalar();
  }
  call.left = slot(node.args[adds ? 1 : 0]);
  call.right = slot(node.args[adds ? 2 : 1]);
  call.output = register_of[node.outputs[0]];
  const auto left = *node.args[adds ? 1 : 0].as<ir::ValueId>();
  call.by_onednn = !as_eager && call.beta.equal(1) && call.alpha.equal(1) &&
                   onednn::wins(graph.tensor_type(left), graph.tensor_type(node.outputs[0]));
  return std::make_unique<OutCall>(std::move(call), kRuns[ordinal(op)]);
}

}  // namespace antegrad::runtime
