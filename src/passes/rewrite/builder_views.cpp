// Views: the types of their results follow from the type of the viewed tensor.
#include <algorithm>
#include <utility>

#include "passes/rewrite/builder.h"

namespace antegrad::passes {

using ir::Dim;

Value Builder::view(std::string op, Value x, std::vector<ir::Arg> args, Sizes sizes, Sizes strides,
                    Dim offset) {
  ir::TensorType result{type(x).dtype, type(x).device, std::move(sizes), std::move(strides),
                        std::move(offset)};
  const auto id = graph_.add_value(std::move(result), graph_.storage_of(x));
  args.insert(args.begin(), x);
  emit_as(id, std::move(op), std::move(args));
  return id;
}

Value Builder::reshape_view(Value x, Sizes sizes, Sizes strides) {
  return view("aten.view", x, {list_of(sizes)}, sizes, std::move(strides), type(x).offset);
}

Value Builder::unsqueeze(Value x, int64_t dim) {
  auto sizes = type(x).sizes, strides = type(x).strides;
  const Dim stride = dim < std::ssize(sizes) ? sizes[dim] * strides[dim] : Dim(1);
  sizes.insert(sizes.begin() + dim, 1);
  strides.insert(strides.begin() + dim, stride);
  return view("aten.unsqueeze", x, {dim}, std::move(sizes), std::move(strides), type(x).offset);
}

Value Builder::unsqueeze(Value x, const Dims& dims) {
  for (auto dim : dims) x = unsqueeze(x, dim);
  return x;
}

Value Builder::squeeze(Value x, const Dims& dims) {
  if (dims.empty()) return x;
  Sizes sizes, strides;
  for (size_t i = 0; i < rank(x); ++i) {
    const bool goes = std::ranges::find(dims, static_cast<int64_t>(i)) != dims.end();
    if (goes && !(this->sizes(x)[i] == Dim(1))) throw NotHandled();
    if (goes) continue;
    sizes.push_back(this->sizes(x)[i]);
    strides.push_back(type(x).strides[i]);
  }
  return view("aten.squeeze.dims", x, {list_of(dims)}, std::move(sizes), std::move(strides), type(x).offset);
}

Value Builder::expand(Value x, const Sizes& sizes) {
  if (this->sizes(x) == sizes) return x;
  const size_t added = sizes.size() - rank(x);
  Sizes strides(sizes.size());
  for (size_t i = added; i < sizes.size(); ++i) {
    const bool repeated = this->sizes(x)[i - added] == Dim(1) && !(sizes[i] == Dim(1));
    strides[i] = repeated ? Dim(0) : type(x).strides[i - added];
  }
  return view("aten.expand", x, {list_of(sizes)}, sizes, std::move(strides), type(x).offset);
}

Value Builder::permute(Value x, const Dims& order) {
  Sizes sizes, strides;
  for (auto dim : order) {
    sizes.push_back(type(x).sizes[dim]);
    strides.push_back(type(x).strides[dim]);
  }
  return view("aten.permute", x, {list_of(order)}, std::move(sizes), std::move(strides), type(x).offset);
}

Value Builder::slice(Value x, int64_t dim, const Dim& start, const Dim& end) {
  auto sizes = type(x).sizes;
  sizes[dim] = end - start;
  return view("aten.slice.Tensor", x, {dim, start, end}, std::move(sizes), type(x).strides,
              type(x).offset + start * type(x).strides[dim]);
}

Value Builder::split_dim(Value x, int64_t dim, const Dim& outer, const Dim& inner) {
  auto sizes = type(x).sizes, strides = type(x).strides;
  const size_t at = dim;
  if (!(outer * inner == sizes[at])) throw NotHandled();
  sizes[at] = inner;
  sizes.insert(sizes.begin() + dim, outer);
  strides.insert(strides.begin() + dim, strides[at] * inner);
  return reshape_view(x, std::move(sizes), std::move(strides));
}

Value Builder::merge_dims(Value x, int64_t dim) {
  auto sizes = type(x).sizes, strides = type(x).strides;
  const size_t at = dim;
  const bool one = sizes[at] == Dim(1) || sizes[at + 1] == Dim(1);
  if (!one && !(strides[at] == strides[at + 1] * sizes[at + 1])) throw NotHandled();
  strides.erase(strides.begin() + dim + (sizes[at + 1] == Dim(1) ? 1 : 0));
  sizes[at] = sizes[at] * sizes[at + 1];
  sizes.erase(sizes.begin() + dim + 1);
  return reshape_view(x, std::move(sizes), std::move(strides));
}

/// Views the first value on the storage, whose memory certainly contains all of the result.
Value Builder::strided(Value x, const Sizes& sizes, const Sizes& strides) {
  const auto whole = graph_.storage_of(x);
  return view("antegrad.strided", whole,
              {list_of(sizes), list_of(strides), type(x).offset - type(whole).offset}, sizes, strides,
              type(x).offset);
}

Value Builder::along(Value vector, int64_t dim, size_t rank) {
  const size_t trailing = rank - dim - 1;  // leading ones come by broadcasting
  if (trailing == 0) return vector;
  Sizes sizes(trailing + 1, 1), strides(trailing + 1, 1);
  sizes[0] = type(vector).sizes.at(0);
  strides[0] = type(vector).strides.at(0);
  return reshape_view(vector, std::move(sizes), std::move(strides));
}

}  // namespace antegrad::passes
