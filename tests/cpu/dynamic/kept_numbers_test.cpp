// Ops whose derivatives contain their numbers unchanged (ir/ops_derivative.def): the backward pass that
// LibTorch gives for one number, with another in its place, is the one that it gives for that.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <functional>
#include <set>

#include "capture/capture.h"
#include "ir/ops.h"
#include "ir/text.h"
#include "support/seeds.h"

namespace antegrad::test {
namespace {

using at::Scalar;
using at::Tensor;

struct Operands {
  Tensor x, y, matrix, batch, vector;  ///< [3, 3], [3, 3], [3, 3], [2, 3, 3], [3]
  Tensor index, mask;
};
using Use = std::function<Tensor(const Operands&, const Scalar&)>;
struct Row {
  std::string op;
  Use use;
  bool positive = false;  ///< takes no other number
};

Tensor three() { return torch::tensor({0, 2, 1}); }

std::vector<Row> rows() {
  return {
      {"aten.add.Tensor", [](auto& o, auto& p) { return at::add(o.x, o.y, p); }},
      {"aten.add.Scalar", [](auto& o, auto& p) { return at::add(o.x, p, 2); }},
      {"aten.add.Scalar", [](auto& o, auto& p) { return at::add(o.x, 2, p); }},
      {"aten.sub.Tensor", [](auto& o, auto& p) { return at::sub(o.x, o.y, p); }},
      {"aten.sub.Scalar", [](auto& o, auto& p) { return at::sub(o.x, p, 2); }},
      {"aten.rsub.Tensor", [](auto& o, auto& p) { return at::rsub(o.x, o.y, p); }},
      {"aten.rsub.Scalar", [](auto& o, auto& p) { return at::rsub(o.x, p, 2); }},
      {"aten.rsub.Scalar", [](auto& o, auto& p) { return at::rsub(o.x, 2, p); }},
      {"aten.mul.Scalar", [](auto& o, auto& p) { return at::mul(o.x, p); }},
      {"aten.div.Scalar", [](auto& o, auto& p) { return at::div(o.x, p); }},
      {"aten.remainder.Scalar", [](auto& o, auto& p) { return at::remainder(o.x, p); }},
      {"aten.fmod.Scalar", [](auto& o, auto& p) { return at::fmod(o.x, p); }},
      {"aten.eq.Scalar", [](auto& o, auto& p) { return o.x * o.x.eq(p); }},
      {"aten.ne.Scalar", [](auto& o, auto& p) { return o.x * o.x.ne(p); }},
      {"aten.lt.Scalar", [](auto& o, auto& p) { return o.x * o.x.lt(p); }},
      {"aten.le.Scalar", [](auto& o, auto& p) { return o.x * o.x.le(p); }},
      {"aten.gt.Scalar", [](auto& o, auto& p) { return o.x * o.x.gt(p); }},
      {"aten.ge.Scalar", [](auto& o, auto& p) { return o.x * o.x.ge(p); }},
      {"aten.leaky_relu", [](auto& o, auto& p) { return at::leaky_relu(o.x, p); }},
      {"aten.elu", [](auto& o, auto& p) { return at::elu(o.x, p); }},
      {"aten.elu", [](auto& o, auto& p) { return at::elu(o.x, 1, p); }},
      {"aten.elu", [](auto& o, auto& p) { return at::elu(o.x, 1, 1, p); }},
      {"aten.hardtanh", [](auto& o, auto& p) { return at::hardtanh(o.x, -7, p); }},
      {"aten.hardtanh", [](auto& o, auto& p) { return at::hardtanh(o.x, p, 7); }},
      {"aten.hardshrink", [](auto& o, auto& p) { return at::hardshrink(o.x, p); }},
      {"aten.softshrink", [](auto& o, auto& p) { return at::softshrink(o.x, p); }, true},
      {"aten.softplus", [](auto& o, auto& p) { return at::softplus(o.x, p); }},
      {"aten.softplus", [](auto& o, auto& p) { return at::softplus(o.x, 1, p); }},
      {"aten.threshold", [](auto& o, auto& p) { return at::threshold(o.x, p, 7); }},
      {"aten.threshold", [](auto& o, auto& p) { return at::threshold(o.x, 7, p); }},
      {"aten.masked_fill.Scalar", [](auto& o, auto& p) { return o.x.masked_fill(o.mask, p); }},
      {"aten.clamp", [](auto& o, auto& p) { return at::clamp(o.x, p, 7); }},
      {"aten.clamp", [](auto& o, auto& p) { return at::clamp(o.x, -7, p); }},
      {"aten.clamp_min", [](auto& o, auto& p) { return at::clamp_min(o.x, p); }},
      {"aten.clamp_max", [](auto& o, auto& p) { return at::clamp_max(o.x, p); }},
      {"aten.addcmul", [](auto& o, auto& p) { return at::addcmul(o.x, o.y, o.matrix, p); }},
      {"aten.addcdiv", [](auto& o, auto& p) { return at::addcdiv(o.x, o.y, o.matrix, p); }},
      {"aten.fill.Scalar", [](auto& o, auto& p) { return at::fill(o.x, p) * o.y; }},
      {"aten.scatter.value",
       [](auto& o, auto& p) {
         return o.x.scatter(0, o.index.view({1, 3}), p);
       }},
      {"aten.index_add", [](auto& o, auto& p) { return o.x.index_add(0, o.index, o.y, p); }},
      {"aten.index_fill.int_Scalar", [](auto& o, auto& p) { return o.x.index_fill(0, o.index, p); }},
      {"aten.constant_pad_nd",
       [](auto& o, auto& p) {
         return at::constant_pad_nd(o.x, {1, 2}, p);
       }},
      {"aten.huber_loss", [](auto& o, auto& p) { return at::huber_loss(o.x, o.y, 1, p.toDouble()); }, true},
      {"aten.smooth_l1_loss", [](auto& o, auto& p) { return at::smooth_l1_loss(o.x, o.y, 1, p.toDouble()); },
       true},
      {"aten.native_layer_norm",
       [](auto& o, auto& p) { return at::layer_norm(o.x, {3}, o.vector, o.vector, p.toDouble()); }, true},
      {"aten.native_group_norm",
       [](auto& o, auto& p) { return at::group_norm(o.batch, 3, o.vector, o.vector, p.toDouble()); }, true},
      {"aten.addmm", [](auto& o, auto& p) { return at::addmm(o.x, o.y, o.matrix, p, 2); }},
      {"aten.addmm", [](auto& o, auto& p) { return at::addmm(o.x, o.y, o.matrix, 2, p); }},
      {"aten.baddbmm", [](auto& o, auto& p) { return at::baddbmm(o.batch, o.batch, o.batch, p, 2); }},
      {"aten.baddbmm", [](auto& o, auto& p) { return at::baddbmm(o.batch, o.batch, o.batch, 2, p); }},
      {"aten.addbmm", [](auto& o, auto& p) { return at::addbmm(o.x, o.batch, o.batch, p, 2); }},
      {"aten.addbmm", [](auto& o, auto& p) { return at::addbmm(o.x, o.batch, o.batch, 2, p); }},
      {"aten.addmv", [](auto& o, auto& p) { return at::addmv(o.vector, o.x, o.vector, p, 2); }},
      {"aten.addmv", [](auto& o, auto& p) { return at::addmv(o.vector, o.x, o.vector, 2, p); }},
      {"aten.addr", [](auto& o, auto& p) { return at::addr(o.x, o.vector, o.vector, p, 2); }},
      {"aten.addr", [](auto& o, auto& p) { return at::addr(o.x, o.vector, o.vector, 2, p); }},
      {"aten.full_like", [](auto& o, auto& p) { return at::full_like(o.x, p) * o.x; }},
      {"aten.full", [](auto& o, auto& p) { return at::full({3}, p, o.x.options()) * o.x; }},
      {"aten.new_full", [](auto& o, auto& p) { return o.x.new_full({3}, p) * o.x; }},
      {"aten.scalar_tensor", [](auto& o, auto& p) { return at::scalar_tensor(p, o.x.options()) * o.x; }},
  };
}

Operands make_operands() {
  manual_seed(5);
  const auto tensor = [](at::IntArrayRef sizes) { return torch::randn(sizes, at::kDouble).requires_grad_(); };
  Operands operands{
      tensor({3, 3}), tensor({3, 3}), tensor({3, 3}), tensor({2, 3, 3}), tensor({3}), three(), {}};
  operands.mask = operands.y.detach() > 0;
  return operands;
}

ir::Graph joint_graph(const Row& row, const Operands& operands, const Scalar& number) {
  capture::CaptureOptions options;
  options.gradients = true;
  return capture::capture(
             [&](const std::vector<Tensor>& fakes) {
               const Operands own{fakes[0], fakes[1], fakes[2], fakes[3], fakes[4], fakes[5], fakes[6]};
               return std::vector<Tensor>{row.use(own, number)};
             },
             {operands.x, operands.y, operands.matrix, operands.batch, operands.vector, operands.index,
              operands.mask},
             options)
      .graph;
}

void replace(ir::Arg& arg, const ir::Arg& from, const ir::Arg& to) {
  if (auto* list = std::get_if<ir::Arg::List>(&arg.v))
    for (auto& element : *list) replace(element, from, to);
  else if (arg == from)
    arg = to;
}

ir::Arg literal(const Scalar& number) {
  return number.isFloatingPoint() ? ir::Arg(number.toDouble()) : ir::Arg(number.toLong());
}

void expect_kept(const Row& row, const Scalar& from, const Scalar& to) {
  const auto operands = make_operands();
  auto before = joint_graph(row, operands, from);
  const auto after = joint_graph(row, operands, to);
  const auto is_op = [&](const ir::Node& node) { return node.op == row.op; };
  ASSERT_TRUE(std::ranges::any_of(before.nodes, is_op)) << row.op << "\n" << ir::print(before);
  for (auto& node : before.nodes) {
    for (auto& arg : node.args) replace(arg, literal(from), literal(to));
    for (auto& attr : node.attrs) replace(attr.value, literal(from), literal(to));
  }
  EXPECT_EQ(ir::print(before), ir::print(after)) << row.op;
}

TEST(KeptNumbers, OccurInDerivativesAsTheyAre) {
  const std::pair<Scalar, Scalar> pairs[] = {{0.37, 0.61},   {1.37, 2.61},   {13.25, 977.5}, {-0.37, -0.61},
                                             {-1.37, -2.61}, {1e-20, 3e-15}, {1e20, 3e15}};
  for (const auto& row : rows())
    for (const auto& [from, to] : pairs)
      if (!row.positive || from.toDouble() > 0) expect_kept(row, from, to);
}

TEST(KeptNumbers, MayBeIntegers) {
  for (const auto& row : rows()) {
    // Those that are converted to double before the op gets them.
    static const std::set<std::string> kReal = {"aten.huber_loss", "aten.smooth_l1_loss",
                                                "aten.native_layer_norm", "aten.native_group_norm"};
    if (kReal.contains(row.op)) continue;
    expect_kept(row, 11, 13);
    if (!row.positive) expect_kept(row, -11, -13);
  }
}

TEST(KeptNumbers, AreTriedForAllRows) {
  std::set<std::string> tried;
  for (const auto& row : rows()) {
    tried.insert(row.op);
    EXPECT_EQ(ir::derivative(row.op), ir::Derivative::KeepsNumbers) << row.op;
  }
#define DERIVATIVE(name, course)                              \
  if (ir::Derivative::course == ir::Derivative::KeepsNumbers) \
    EXPECT_TRUE(tried.contains(name)) << name << " is not tried";
#include "ir/ops_derivative.def"
#undef DERIVATIVE
}

}  // namespace
}  // namespace antegrad::test
