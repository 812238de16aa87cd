// The ops that the pass functional_rng substitutes for LibTorch's random ops.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>

#include <optional>

#include "antegrad/error.h"
#include "aten/convert.h"
#include "runtime/instructions.h"
#include "runtime/random_fill.h"

namespace antegrad::runtime {
namespace {

enum class Family { Uniform, Normal, Bernoulli, Int, Exponential, Geometric, Cauchy, LogNormal };

struct Row {
  std::string_view op;
  Family family;
  size_t parameters;
  bool integers;  ///< results may be integers or booleans
};
constexpr Row kRows[] = {
    {"antegrad.random_uniform", Family::Uniform, 2, false},
    {"antegrad.random_normal", Family::Normal, 2, false},
    {"antegrad.random_bernoulli", Family::Bernoulli, 1, true},
    {"antegrad.random_int", Family::Int, 2, true},
    {"antegrad.random_exponential", Family::Exponential, 1, false},
    {"antegrad.random_geometric", Family::Geometric, 1, true},
    {"antegrad.random_cauchy", Family::Cauchy, 2, false},
    {"antegrad.random_log_normal", Family::LogNormal, 2, false},
};

/// A number, or the register of a tensor.
struct Operand {
  double number = 0;
  int32_t slot = -1;
};

struct Draw {
  std::string op;
  Family family = Family::Uniform;
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;
  std::vector<int64_t> sizes, strides;
  bool contiguous = true;
  int32_t state = 0, output = 0;
  int64_t offset = 0;
  std::vector<Operand> operands;
  int64_t low = 0;  ///< of random_int
  uint64_t range = 0;
};

[[noreturn]] void refuse(const std::string& op, const std::string& fact) {
  throw Error(ErrorCode::InvalidArgument, "run:" + op, fact,
              "Graphs from the pass functional_rng have the right arguments; see docs/passes.md");
}

/// The numbers of one operand during a run; a tensor is brought to the sizes and the element order of the
/// result.
class Numbers {
 public:
  Numbers(const Operand& operand, const Draw& draw, const Registers& registers) : number_(operand.number) {
    if (operand.slot < 0) return;
    const auto& given = registers[operand.slot];
    tensor_ = given.to(at::kDouble).expand(draw.sizes).contiguous();
  }
  /// Checks the elements of a tensor as LibTorch's kernels do.
  void check(double least, double most, const char* message) const {
    if (tensor_.defined())
      TORCH_CHECK(tensor_.ge(least).logical_and_(tensor_.le(most)).all().item<bool>(), message);
  }
  RandomParameter elements() const {
    return tensor_.defined() ? RandomParameter{tensor_.const_data_ptr<double>(), 1}
                             : RandomParameter{&number_, 0};
  }

 private:
  double number_;
  at::Tensor tensor_;
};

RandomStream stream_of(const at::Tensor& state, const Draw& draw) {
  if (!state.defined() || state.scalar_type() != at::kLong || state.numel() != 2 || !state.is_cpu() ||
      !state.is_contiguous())
    refuse(draw.op, "the random state is no contiguous i64[2] on the CPU");
  const auto* words = state.const_data_ptr<int64_t>();
  return {static_cast<uint64_t>(words[0]),
          static_cast<uint64_t>(words[1]) + static_cast<uint64_t>(draw.offset)};
}

template <class T>
void fill_floating(T* out, int64_t count, RandomStream stream, const Draw& draw) {
  const auto first = draw.operands[0].number;
  const auto second = draw.operands.size() > 1 ? draw.operands[1].number : 0;
  if (draw.family == Family::Uniform) return fill_uniform(out, count, stream, first, second);
  if (draw.family == Family::Exponential) return fill_exponential(out, count, stream, first);
  if (draw.family == Family::Cauchy) return fill_cauchy(out, count, stream, first, second);
  fill_log_normal(out, count, stream, first, second);
}

void fill_normal_from(const at::Tensor& out, RandomStream stream, const Draw& draw,
                      const Registers& registers) {
  const Numbers mean(draw.operands[0], draw, registers), std(draw.operands[1], draw, registers);
  std.check(0, std::numeric_limits<double>::infinity(), "normal expects all elements of std >= 0.0");
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, draw.dtype, "random_normal", [&] {
    fill_normal(out.mutable_data_ptr<scalar_t>(), out.numel(), stream, mean.elements(), std.elements());
  });
}

void fill_bernoulli_from(const at::Tensor& out, RandomStream stream, const Draw& draw,
                         const Registers& registers) {
  const Numbers p(draw.operands[0], draw, registers);
  p.check(0, 1, "Expected p_in >= 0 && p_in <= 1 to be true, but got false.");
  AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, draw.dtype, "random_bernoulli", [&] {
    fill_bernoulli(out.mutable_data_ptr<scalar_t>(), out.numel(), stream, p.elements());
  });
}

void fill_by_family(const at::Tensor& out, RandomStream stream, const Draw& draw,
                    const Registers& registers) {
  switch (draw.family) {
    case Family::Normal:
      return fill_normal_from(out, stream, draw, registers);
    case Family::Bernoulli:
      return fill_bernoulli_from(out, stream, draw, registers);
    case Family::Int:
      AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, draw.dtype, "random_int", [&] {
        fill_int(out.mutable_data_ptr<scalar_t>(), out.numel(), stream, draw.low, draw.range);
      });
      return;
    case Family::Geometric:
      AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBFloat16, at::kBool, draw.dtype, "random_geometric", [&] {
        fill_geometric(out.mutable_data_ptr<scalar_t>(), out.numel(), stream, draw.operands[0].number);
      });
      return;
    default:
      AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, draw.dtype, "random", [&] {
        fill_floating(out.mutable_data_ptr<scalar_t>(), out.numel(), stream, draw);
      });
  }
}

class RandomCall final : public Instruction {
 public:
  explicit RandomCall(Draw draw) : draw_(std::move(draw)) {}
  void run(Registers& registers) const override {
    const auto stream = stream_of(registers[draw_.state], draw_);
    auto result = at::empty(draw_.sizes, at::TensorOptions(draw_.dtype));
    fill_by_family(result, stream, draw_, registers);
    if (!draw_.contiguous) {
      const auto in_order = result;
      result = at::empty_strided(draw_.sizes, draw_.strides, in_order.options());
      result.copy_(in_order);
    }
    // On a CUDA device kernels draw, except where a node could not be fused.
    registers[draw_.output] = draw_.device.is_cpu() ? std::move(result) : result.to(draw_.device);
  }

 private:
  Draw draw_;
};

Operand operand(const ir::Node& node, const ir::Arg& arg, bool may_be_tensor,
                const RegisterMap& register_of) {
  if (const auto* number = arg.as<double>()) return {*number};
  if (const auto* integer = arg.as<ir::Dim>()) return {static_cast<double>(integer->constant())};
  const auto* tensor = arg.as<ir::ValueId>();
  if (tensor == nullptr || !may_be_tensor) refuse(node.op, "a parameter of the distribution is no number");
  return {0, register_of[*tensor]};
}

/// For random_int: an upper end of `none` stands for all integers from `low` up.
void set_bounds(Draw& draw, const ir::Node& node) {
  const auto* low = node.args[2].as<ir::Dim>();
  const auto* high = node.args[3].as<ir::Dim>();
  if (low == nullptr || (high == nullptr && node.args[3].as<ir::None>() == nullptr))
    refuse(node.op, "a bound is no integer");
  draw.low = low->constant();
  if (high != nullptr && high->constant() <= draw.low)
    refuse(node.op, fmt::format("there is no integer from {} to below {}", draw.low, high->constant()));
  draw.range = philox::range(draw.low, high != nullptr ? std::optional(high->constant()) : std::nullopt);
}

void set_result(Draw& draw, const ir::Node& node, const ir::TensorType& type, bool integers) {
  draw.dtype = aten::to_torch(type.dtype);
  const bool known = at::isFloatingType(draw.dtype) ? !c10::isFloat8Type(draw.dtype)
                                                    : integers && at::isIntegralType(draw.dtype, true) &&
                                                          !c10::isBarebonesUnsignedType(draw.dtype);
  if (!known || type.device.kind == ir::Device::Kind::Meta)
    refuse(node.op, fmt::format("there are no such numbers of type {} on {}", ir::name(type.dtype),
                                ir::to_string(type.device)));
  draw.device = aten::to_torch(type.device);
  draw.sizes = aten::constants(type.sizes);
  draw.strides = aten::constants(type.strides);
  draw.contiguous = type.is_contiguous();
}

}  // namespace

std::unique_ptr<Instruction> make_random_call(const ir::Node& node, const ir::Graph& graph,
                                              const RegisterMap& register_of) {
  const auto* row = std::ranges::find(kRows, std::string_view(node.op), &Row::op);
  if (row == std::end(kRows)) return nullptr;
  if (node.args.size() != 2 + row->parameters || !node.args[0].as<ir::ValueId>() ||
      !node.args[1].as<ir::Dim>() || node.outputs.size() != 1)
    refuse(node.op, fmt::format("it takes a random state, an offset and {} parameters", row->parameters));
  Draw draw;
  draw.op = node.op;
  draw.family = row->family;
  draw.state = register_of[*node.args[0].as<ir::ValueId>()];
  draw.offset = node.args[1].as<ir::Dim>()->constant();
  draw.output = register_of[node.outputs[0]];
  set_result(draw, node, graph.tensor_type(node.outputs[0]), row->integers);
  if (row->family == Family::Int) {
    set_bounds(draw, node);
  } else {
    const bool tensors = row->family == Family::Normal || row->family == Family::Bernoulli;
    for (size_t i = 2; i < node.args.size(); ++i)
      draw.operands.push_back(operand(node, node.args[i], tensors, register_of));
  }
  return std::make_unique<RandomCall>(std::move(draw));
}

}  // namespace antegrad::runtime
