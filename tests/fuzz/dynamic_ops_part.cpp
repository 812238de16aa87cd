#include <ATen/ATen.h>

#include <algorithm>

#include "fuzz/dynamic_op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

DynamicOp part(const char* name, OfOne apply) { return of_one(name, 1, std::move(apply)).that_moves(); }

/// Returns a slice bound that user code might compute from a size.
int64_t bound(int64_t n, int64_t kind) {
  switch (kind) {
    case 0:
      return n - 1;
    case 1:
      return n / 2;
    case 2:
      return std::min<int64_t>(n, 4);
    case 3:
      return (n + 1) / 2;
    case 4:
      return std::max<int64_t>(n - 3, 1);
    default:
      return n - n / 4;
  }
}

Tensor padded(const Tensor& x, int64_t dim, int64_t before, int64_t after) {
  Ints pads(static_cast<size_t>(2 * (x.dim() - dim)), 0);
  pads[pads.size() - 2] = before;
  pads[pads.size() - 1] = after;
  return at::constant_pad_nd(x, pads, 0.5);
}

DynamicTheme slices() {
  return {
      part("select_last", [](const Tensor& x, const Ints& i) { return x.select(i[0], -1); }),
      part("select(n-1)", [](const Tensor& x, const Ints& i) { return x.select(i[0], x.size(i[0]) - 1); }),
      part("select(n/2)", [](const Tensor& x, const Ints& i) { return x.select(i[0], x.size(i[0]) / 2); }),
      part("select(0)", [](const Tensor& x, const Ints& i) { return x.select(i[0], 0); }),
      part("narrow(0,bound)",
           [](const Tensor& x, const Ints& i) { return x.narrow(i[0], 0, bound(x.size(i[0]), i[2])); }),
      part("narrow(1,n-1)",
           [](const Tensor& x, const Ints& i) { return x.narrow(i[0], 1, x.size(i[0]) - 1); }),
      part("slice(bound:)",
           [](const Tensor& x, const Ints& i) { return x.slice(i[0], bound(x.size(i[0]), i[2])); }),
      part("slice(:bound)",
           [](const Tensor& x, const Ints& i) { return x.slice(i[0], 0, bound(x.size(i[0]), i[2])); }),
      part("slice(:8)", [](const Tensor& x, const Ints& i) { return x.slice(i[0], 0, 8); }),
      part("slice(-3:)", [](const Tensor& x, const Ints& i) { return x.slice(i[0], -3); }),
      part("slice(::k)",
           [](const Tensor& x, const Ints& i) { return x.slice(i[0], 0, std::nullopt, 2 + i[2] % 2); }),
      part("slice(1::2)", [](const Tensor& x, const Ints& i) { return x.slice(i[0], 1, std::nullopt, 2); }),
      part("chunk",
           [](const Tensor& x, const Ints& i) { return x.chunk(2, i[0]).at(i[2] % 2 == 0 ? 0 : 1); }),
      part("chunk(3)", [](const Tensor& x, const Ints& i) { return x.chunk(3, i[0]).at(2); }),
      part("split(n/2)",
           [](const Tensor& x, const Ints& i) {
             return x.split(std::max<int64_t>(x.size(i[0]) / 2, 1), i[0]).at(0);
           }),
      part("split_last", [](const Tensor& x, const Ints& i) { return x.split(4, i[0]).back(); }),
      part("split_sizes",
           [](const Tensor& x, const Ints& i) {
             return x.split_with_sizes({1, x.size(i[0]) - 1}, i[0]).at(1);
           }),
      part("tensor_split", [](const Tensor& x, const Ints& i) { return x.tensor_split(3, i[0]).at(1); }),
      part("unbind", [](const Tensor& x, const Ints& i) { return x.slice(i[0], 0, 3).unbind(i[0]).at(0); }),
  };
}

DynamicTheme others() {
  return {
      part("repeat",
           [](const Tensor& x, const Ints& i) {
             Ints times(static_cast<size_t>(x.dim()), 1);
             times[static_cast<size_t>(i[0])] = 2;
             return x.repeat(times);
           }),
      part("repeat(n)",
           [](const Tensor& x, const Ints& i) { return x.select(i[0], 0).repeat({x.size(i[0])}); }),
      part("repeat_interleave", [](const Tensor& x, const Ints& i) { return x.repeat_interleave(2, i[0]); }),
      part("flip", [](const Tensor& x, const Ints& i) { return x.flip({i[0]}); }),
      part("roll", [](const Tensor& x, const Ints& i) { return x.roll({i[2] - 2}, {i[0]}); }),
      part("roll(n/2)", [](const Tensor& x, const Ints& i) { return x.roll({x.size(i[0]) / 2}, {i[0]}); }),
      part("pad", [](const Tensor& x, const Ints& i) { return padded(x, i[0], i[2] % 3, i[3] % 3); }),
      part("pad_to_even",
           [](const Tensor& x, const Ints& i) { return padded(x, i[0], 0, x.size(i[0]) % 2); }),
      part("pad(-1)", [](const Tensor& x, const Ints& i) { return padded(x, i[0], -1, i[2] % 2); }),
      part("pad(n)", [](const Tensor& x, const Ints& i) { return padded(x, i[0], 0, x.size(i[1])); }),
      of_one("tril", 2, [](const Tensor& x, const Ints& i) { return x.tril(i[2] - 2); }).that_moves(),
      of_one("triu", 2, [](const Tensor& x, const Ints& i) { return x.triu(i[2] - 2); }).that_moves(),
      part("cat_itself",
           [](const Tensor& x, const Ints& i) {
             return at::cat({x, x.flip({i[0]})}, i[0]);
           }),
      part("cat_ends",
           [](const Tensor& x, const Ints& i) {
             return at::cat({x.slice(i[0], 1), x.slice(i[0], 0, 1)}, i[0]);
           }),
      part("cat_ones",
           [](const Tensor& x, const Ints& i) {
             auto sizes = x.sizes().vec();
             sizes[static_cast<size_t>(i[0])] = 1 + i[2];
             return at::cat({at::ones(sizes, x.options()), x}, i[0]);
           }),
      part("diff", [](const Tensor& x,
                      const Ints& i) { return x.slice(i[0], 1) - x.slice(i[0], 0, x.size(i[0]) - 1); }),
  };
}

/// Whether the tensors agree in all dims but one.
bool joins(const DynamicScope& scope, int a, int b, int64_t except) {
  if (scope.rank(a) != scope.rank(b)) return false;
  for (int64_t d = 0; d < scope.rank(a); ++d)
    if (d != except && !scope.same(a, d, b, d)) return false;
  return true;
}

DynamicOp cat() {
  const auto propose = [](DynamicScope& scope, DynamicStep& step) {
    step.args = {scope.pick(1, 5, false)};
    if (step.args[0] < 0) return false;
    step.ints = dynamic_ints(scope, step);
    for (auto more = scope.rng().range(1, 2); more > 0; --more)
      step.args.push_back(scope.pick([&](int v) { return joins(scope, step.args[0], v, step.ints[0]); }));
    return true;
  };
  return {"cat", propose, [](const Tensors& t, const Ints& i) { return at::cat(t, i[0]); }};
}

DynamicOp stack() {
  const auto propose = [](DynamicScope& scope, DynamicStep& step) {
    step.args = {scope.pick(0, 4, false)};
    if (step.args[0] < 0) return false;
    step.ints = dynamic_ints(scope, step);
    step.args.push_back(scope.pick([&](int v) { return joins(scope, step.args[0], v, -1); }));
    return true;
  };
  return {"stack", propose, [](const Tensors& t, const Ints& i) { return at::stack(t, i[0]); }};
}

}  // namespace

const DynamicTheme& dynamic_parts() {
  static const DynamicTheme ops = [] {
    DynamicTheme all = slices();
    for (auto& op : others()) all.push_back(std::move(op));
    for (int times = 0; times < 3; ++times) all.push_back(cat().that_moves());
    all.push_back(stack().that_moves());
    return all;
  }();
  return ops;
}

}  // namespace antegrad::fuzz
