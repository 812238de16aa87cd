#include <ATen/ScalarOps.h>

#include "capture/convert.h"
#include "capture/guards.h"
#include "runtime/instructions.h"

namespace antegrad::runtime {
namespace {

using capture::OpSchema;

/// x + 2 as LibTorch computes it, on a 0-dim tensor that stands for the number; here the tensor is made once.
class WithNumber final : public Instruction {
 public:
  using Plain = at::Tensor(const at::Tensor&, const at::Tensor&);
  using WithAlpha = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Scalar&);

  WithNumber(const OpSchema& tensor_op, at::Tensor number, at::Scalar alpha, int32_t input, int32_t output)
      : number_(std::move(number)), alpha_(std::move(alpha)), input_(input), output_(output) {
    if (tensor_op.args.size() == 3)
      with_alpha_ = tensor_op.handle.typed<WithAlpha>();
    else
      plain_ = tensor_op.handle.typed<Plain>();
  }

  void run(Registers& registers) const override {
    const auto& x = registers[static_cast<size_t>(input_)];
    registers[static_cast<size_t>(output_)] =
        plain_ ? plain_->call(x, number_) : with_alpha_->call(x, number_, alpha_);
  }

 private:
  std::optional<c10::TypedOperatorHandle<Plain>> plain_;
  std::optional<c10::TypedOperatorHandle<WithAlpha>> with_alpha_;
  at::Tensor number_;
  at::Scalar alpha_;
  int32_t input_;
  int32_t output_;
};

}  // namespace

std::unique_ptr<Instruction> make_number_call(const ir::Node& node, const OpSchema& schema,
                                              const RegisterMap& register_of) {
  const char* tensor_op = nullptr;
  if (node.op == "aten.add.Scalar")
    tensor_op = "aten.add.Tensor";
  else if (node.op == "aten.sub.Scalar")
    tensor_op = "aten.sub.Tensor";
  else if (node.op == "aten.mul.Scalar")
    tensor_op = "aten.mul.Tensor";
  else if (node.op == "aten.div.Scalar")
    tensor_op = "aten.div.Tensor";
  if (tensor_op == nullptr) return nullptr;
  capture::BelowRecording below;
  const auto boxed = capture::boxed_arguments(node, schema, [](ir::ValueId) { return at::Tensor(); });
  const auto slot = [&](ir::ValueId value) { return register_of[static_cast<size_t>(value.index)]; };
  return std::make_unique<WithNumber>(*capture::find_schema(tensor_op),
                                      at::native::wrapped_scalar_tensor(boxed[1].toScalar()),
                                      boxed.size() > 2 ? boxed[2].toScalar() : at::Scalar(1),
                                      slot(*node.args[0].as<ir::ValueId>()), slot(node.outputs[0]));
}

}  // namespace antegrad::runtime
