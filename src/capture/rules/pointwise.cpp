// Ops whose kernels are TensorIterator loops, and activations.
#include <ATen/ATen.h>
#include <ATen/NativeFunctions.h>

#include "capture/rules/shapes.h"

namespace antegrad::capture::rules {
namespace {

Tensor unary(const Tensor& x) { return pointwise({x}, x.scalar_type()); }
Tensor promoted(const Tensor& a, const Tensor& b) { return pointwise({a, b}, at::result_type(a, b)); }

void add_logic(RuleTable& table) {
  table.add({"logical_and", "logical_or", "logical_xor"}, [](const Tensor& a, const Tensor& b) {
    return pointwise({a, b}, kBool);
  });
  table.add({"logical_not", "isnan"}, [](const Tensor& x) { return pointwise({x}, kBool); });
  table.add({"__lshift__.Tensor", "__rshift__.Tensor"},
            [](const Tensor& a, const Tensor& b) { return promoted(a, b); });
  table.add({"__lshift__.Scalar", "__rshift__.Scalar"},
            [](const Tensor& a, const at::Scalar& b) { return pointwise({a}, at::result_type(a, b)); });
  table.add("where.self", [](const Tensor& condition, const Tensor& a, const Tensor& b) {
    auto dtype = at::result_type(a, b);
    auto as = [&](const Tensor& x) { return x.scalar_type() == dtype ? x : like(x, dtype); };
    return pointwise({condition, as(a), as(b)}, dtype);
  });
}

void add_arithmetic(RuleTable& table) {
  table.add({"floor_divide", "_add_relu.Tensor"},
            [](const Tensor& a, const Tensor& b) { return promoted(a, b); });
  table.add({"floor_divide.Scalar", "_add_relu.Scalar"},
            [](const Tensor& a, const at::Scalar& b) { return pointwise({a}, at::result_type(a, b)); });
  table.add("remainder.Scalar_Tensor",
            [](const at::Scalar& a, const Tensor& b) { return pointwise({b}, at::result_type(a, b)); });
  table.add("rsub.Tensor", [](const Tensor& a, const Tensor& b) { return promoted(b, a); });
  table.add("rsub.Scalar",
            [](const Tensor& a, const at::Scalar& b) { return pointwise({a}, at::result_type(a, b)); });
  table.add({"_conj_physical", "nan_to_num"}, [](const Tensor& x) { return unary(x); });
  table.add("conj_physical_", [](const Tensor& x) { return x; });
  table.add_out("conj_physical.out", [](const Tensor& x) { return unary(x); });
  table.add("abs", [](const Tensor& x) { return pointwise({x}, at::toRealValueType(x.scalar_type())); });
  // Complex numbers pass through a buffer, which loses the strides.
  table.add_out("abs.out", [](const Tensor& x) {
    return x.is_complex() ? contiguous_like(x, at::toRealValueType(x.scalar_type())) : unary(x);
  });
  table.add("angle", [](const Tensor& x) {
    if (x.is_complex()) return contiguous_like(x, at::toRealValueType(x.scalar_type()));
    return pointwise({x}, float_type(x.scalar_type()));
  });
  table.add({"complex", "polar"}, [](const Tensor& a, const Tensor& b) {
    TORCH_CHECK(a.scalar_type() == b.scalar_type(), "Expected object of scalar type ", a.scalar_type(),
                " but got ", b.scalar_type());
    return pointwise({a, b}, at::toComplexType(a.scalar_type()));
  });
  table.add("frexp.Tensor", [](const Tensor& x) {
    TORCH_CHECK(at::isFloatingType(x.scalar_type()), "frexp() only supports floating-point dtypes");
    return std::tuple(like(x), like(x, at::ScalarType::Int));
  });
  table.add("logit", [](const Tensor& x) { return pointwise({x}, float_type(x.scalar_type())); });
  table.add("mvlgamma", [](const Tensor& x) { return contiguous_like(x, float_type(x.scalar_type())); });
}

void add_activations(RuleTable& table) {
  table.add({"relu", "hardswish"}, [](const Tensor& x) { return unary(x); });
  table.add("hardtanh", [](const Tensor& x) { return unary(x); });
  table.add({"hardswish_backward", "hardtanh_backward"},
            [](const Tensor& grad, const Tensor& x) { return promoted(grad, x); });
  table.add("log_sigmoid_forward",
            [](const Tensor& x) { return std::tuple(contiguous_like(x), contiguous_like(x)); });
  table.add("log_sigmoid_backward", [](const Tensor& grad) { return like(grad); });
  table.add_out("log_sigmoid_backward.grad_input",
                [](const Tensor& grad, const Tensor& x, const Tensor& buffer) {
                  return pointwise({x, buffer, grad}, grad.scalar_type());
                });
  table.add("glu_backward", [](Skip, const Tensor& x) { return contiguous_like(x); });
  table.add("glu_jvp", [](const Tensor& x) { return like(x); });
  table.add("glu_backward_jvp", [](const Tensor& x) { return contiguous_like(x); });
  table.add("_prelu_kernel", [](const Tensor& x) { return like(x); });
  table.add("_prelu_kernel_backward", [](const Tensor& grad, const Tensor& x, const Tensor& weight) {
    Tensor result = pointwise({x, weight, grad}, x.scalar_type());
    return std::tuple(result, like(result));
  });
  table.add("rrelu_with_noise", [](const Tensor& x) { return contiguous_like(x); });
  table.add_out("rrelu_with_noise.out", [](const Tensor& x, Skip, Skip, Skip, bool training) {
    return training ? contiguous_like(x) : unary(x);
  });
  table.add("_masked_softmax", [](const Tensor& x) { return like(x); });
  table.add("_masked_softmax_backward", [](const Tensor& grad) { return contiguous_like(grad); });
}

}  // namespace

void add_pointwise_rules(RuleTable& table) {
  add_logic(table);
  add_arithmetic(table);
  add_activations(table);
}

}  // namespace antegrad::capture::rules
