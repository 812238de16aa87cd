#include <ATen/ScalarOps.h>

#include "aten/below_recording.h"
#include "aten/convert.h"
#include "runtime/instructions.h"

namespace antegrad::runtime {
namespace {

using aten::OpSchema;

/// Computes x + 2 as LibTorch does, with a 0-dim tensor for the number, which is made only once here.
class WithNumber final : public Instruction {
 public:
  using Plain = at::Tensor(const at::Tensor&, const at::Tensor&);
  using WithAlpha = at::Tensor(const at::Tensor&, const at::Tensor&, const at::Scalar&);
  using PlainInPlace = at::Tensor&(at::Tensor&, const at::Tensor&);
  using WithAlphaInPlace = at::Tensor&(at::Tensor&, const at::Tensor&, const at::Scalar&);

  WithNumber(const OpSchema& tensor_op, at::Tensor number, at::Scalar alpha, int32_t input, int32_t output)
      : number_(std::move(number)), alpha_(std::move(alpha)), input_(input), output_(output) {
    if (tensor_op.args.size() == 3)
      with_alpha_ = tensor_op.handle.typed<WithAlpha>();
    else
      plain_ = tensor_op.handle.typed<Plain>();
  }

  void reuse_input(const OpSchema& in_place) {
    if (plain_)
      plain_in_place_ = in_place.handle.typed<PlainInPlace>();
    else
      with_alpha_in_place_ = in_place.handle.typed<WithAlphaInPlace>();
  }

  void run(Registers& registers) const override {
    auto& x = registers[input_];
    if ((plain_in_place_ || with_alpha_in_place_) && is_owned(x)) {
      if (plain_)
        plain_in_place_->call(x, number_);
      else
        with_alpha_in_place_->call(x, number_, alpha_);
      registers[output_] = std::move(x);
      return;
    }
    registers[output_] = plain_ ? plain_->call(x, number_) : with_alpha_->call(x, number_, alpha_);
  }

 private:
  std::optional<c10::TypedOperatorHandle<Plain>> plain_;
  std::optional<c10::TypedOperatorHandle<WithAlpha>> with_alpha_;
  std::optional<c10::TypedOperatorHandle<PlainInPlace>> plain_in_place_;
  std::optional<c10::TypedOperatorHandle<WithAlphaInPlace>> with_alpha_in_place_;
  at::Tensor number_;
  at::Scalar alpha_;
  int32_t input_;
  int32_t output_;
};

}  // namespace

std::unique_ptr<Instruction> make_number_call(const ir::Node& node, const OpSchema& schema,
                                              const RegisterMap& register_of, bool reuse) {
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
  aten::BelowRecording below;
  const auto boxed = aten::boxed_arguments(node, schema, [](ir::ValueId) { return at::Tensor(); });
  const auto slot = [&](ir::ValueId value) { return register_of[value]; };
  auto call = std::make_unique<WithNumber>(*aten::find_schema(tensor_op),
                                           at::native::wrapped_scalar_tensor(boxed[1].toScalar()),
                                           boxed.size() > 2 ? boxed[2].toScalar() : at::Scalar(1),
                                           slot(*node.args[0].as<ir::ValueId>()), slot(node.outputs[0]));
  if (reuse) call->reuse_input(*in_place_of(tensor_op));
  return call;
}

}  // namespace antegrad::runtime
