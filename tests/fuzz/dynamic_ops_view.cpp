#include <ATen/ATen.h>

#include <algorithm>

#include "fuzz/dynamic_op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

DynamicOp view(const char* name, int64_t least_rank, OfOne apply) {
  return of_one(name, least_rank, std::move(apply)).that_moves();
}

/// Returns the sizes of x with `with` in place of dims [first, first + count).
Ints replaced(const Tensor& x, int64_t first, int64_t count, const Ints& with) {
  auto sizes = x.sizes().vec();
  const auto begin = sizes.begin() + first;
  sizes.erase(begin, begin + count);
  sizes.insert(sizes.begin() + first, with.begin(), with.end());
  return sizes;
}

/// Returns a dim that is not the last.
int64_t pair_at(const Tensor& x, const Ints& i) { return std::min(i[0], x.dim() - 2); }

int64_t part_of(const Ints& i) { return i[2] < 4 ? 2 : 4; }

Tensor expand_new(const Tensor& x, const Ints& i) {
  auto sizes = x.sizes().vec();
  sizes.insert(sizes.begin() + i[0], i[2] < 3 ? x.size(i[1]) : i[2] - 1);
  return x.unsqueeze(i[0]).expand(sizes);
}

Tensor permuted(const Tensor& x, const Ints& i) {
  Ints order;
  for (int64_t d = 0; d < x.dim(); ++d) order.push_back((d + i[0]) % x.dim());
  return x.permute(order);
}

/// Splits the last dim into heads and moves them before the rest of it.
Tensor heads(const Tensor& x, const Ints& i) {
  const auto last = x.dim() - 1, k = part_of(i);
  return x.view(replaced(x, last, 1, {k, x.size(last) / k})).transpose(last - 1, last);
}

DynamicTheme reshapes() {
  return {
      view("flatten", 2,
           [](const Tensor& x, const Ints& i) { return x.flatten(pair_at(x, i), pair_at(x, i) + 1); }),
      view("flatten_all", 1, [](const Tensor& x, const Ints&) { return x.flatten(); }),
      view("reshape(-1)", 1, [](const Tensor& x, const Ints&) { return x.reshape({-1}); }),
      view("reshape(-1,last)", 2,
           [](const Tensor& x, const Ints&) {
             return x.reshape({-1, x.size(-1)});
           }),
      view("reshape(first,-1)", 2,
           [](const Tensor& x, const Ints&) {
             return x.reshape({x.size(0), -1});
           }),
      view("view(n*m)", 2,
           [](const Tensor& x, const Ints& i) {
             const auto d = pair_at(x, i);
             return x.view(replaced(x, d, 2, {x.size(d) * x.size(d + 1)}));
           }),
      view("reshape(m,n)", 2,
           [](const Tensor& x, const Ints& i) {
             const auto d = pair_at(x, i);
             return x.reshape(replaced(x, d, 2, {x.size(d + 1), x.size(d)}));
           }),
      view("reshape(numel/last,last)", 2,
           [](const Tensor& x, const Ints&) {
             return x.reshape({x.numel() / std::max<int64_t>(x.size(-1), 1), x.size(-1)});
           }),
      view("unflatten(-1,k)", 1,
           [](const Tensor& x, const Ints& i) {
             return x.unflatten(i[0], {-1, part_of(i)});
           }),
      view("unflatten(k,-1)", 1,
           [](const Tensor& x, const Ints& i) {
             return x.unflatten(i[0], {part_of(i), -1});
           }),
      view("reshape(n/k,k)", 1,
           [](const Tensor& x, const Ints& i) {
             return x.reshape(replaced(x, i[0], 1, {x.size(i[0]) / part_of(i), part_of(i)}));
           }),
      view("view(k,n/k)", 1,
           [](const Tensor& x, const Ints& i) {
             return x.view(replaced(x, i[0], 1, {part_of(i), x.size(i[0]) / part_of(i)}));
           }),
      view("view(n/k,-1)", 2,
           [](const Tensor& x, const Ints& i) {
             return x.view({x.size(0) / part_of(i), -1});
           }),
      view("heads", 1, heads),
      view("view_as_cut", 2,
           [](const Tensor& x, const Ints&) {
             const auto cut = x.slice(0, 0, x.size(0) / 2 * 2);
             return cut.reshape(replaced(cut, 0, 1, {x.size(0) / 2, 2}));
           }),
  };
}

DynamicTheme other_views() {
  return {
      view("transpose", 2, [](const Tensor& x, const Ints& i) { return x.transpose(i[0], i[1]); }),
      view("transpose_last", 2, [](const Tensor& x, const Ints&) { return x.transpose(-1, -2); }),
      view("permute", 2, permuted),
      view("movedim", 2, [](const Tensor& x, const Ints& i) { return x.movedim(i[0], i[1]); }),
      view("unsqueeze", 0, [](const Tensor& x, const Ints& i) { return x.unsqueeze(i[0]); }),
      view("squeeze_dim", 1, [](const Tensor& x, const Ints& i) { return x.squeeze(i[0]); }),
      view("unsqueeze_squeeze", 1,
           [](const Tensor& x, const Ints& i) { return x.unsqueeze(i[0]).contiguous().squeeze(i[0]); }),
      view("expand_new", 1, expand_new),
      view("mean_expand_as", 1,
           [](const Tensor& x, const Ints& i) { return x.narrow(i[0], 0, 1).expand_as(x); }),
      view("diagonal", 2, [](const Tensor& x, const Ints&) { return x.diagonal(0, -2, -1); }),
      view("diagonal(1)", 2, [](const Tensor& x, const Ints&) { return x.diagonal(1, 0, 1); }),
      view("diag_embed", 1, [](const Tensor& x, const Ints&) { return at::diag_embed(x); }),
      view("unfold", 1, [](const Tensor& x, const Ints& i) { return x.unfold(i[0], 2, 1 + i[2] % 2); }),
      view("unfold(n/2)", 1,
           [](const Tensor& x, const Ints& i) {
             return x.unfold(i[0], std::max<int64_t>(x.size(i[0]) / 2, 1), 1);
           }),
      view("view_as_itself", 1, [](const Tensor& x, const Ints&) { return x.view_as(x); }),
  };
}

DynamicTheme of_both(DynamicTheme a, DynamicTheme b) {
  for (auto& op : b) a.push_back(std::move(op));
  return a;
}

}  // namespace

const DynamicTheme& dynamic_views() {
  static const DynamicTheme ops = of_both(reshapes(), other_views());
  return ops;
}

}  // namespace antegrad::fuzz
