// antegrad::associative_scan: ordinary ops on slices, so that there is nothing that autograd and captures
// have to know.
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "antegrad/control.h"
#include "antegrad/error.h"

namespace antegrad::detail {
namespace {

[[noreturn]] void refuse(const std::string& fact, const std::string& way_out) {
  throw Error(ErrorCode::InvalidArgument, "associative_scan", fact, way_out);
}

/// The number of elements of the lists.
int64_t length_of(const RegionTensors& lists) {
  int64_t length = -1;
  for (const auto& list : lists) {
    if (!list.defined()) refuse("an argument is undefined", "Pass tensors");
    if (list.dim() == 0 || (length >= 0 && list.size(0) != length))
      refuse("the tensors to take apart have different first dims, or none", "Pass tensors of one length");
    length = list.size(0);
  }
  return length;
}

std::string text_of(const at::Tensor& tensor) {
  return fmt::format("{}[{}]", c10::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "));
}

RegionTensors every(const RegionTensors& lists, int64_t first, int64_t end, int64_t step) {
  RegionTensors out;
  for (const auto& list : lists) out.push_back(list.slice(0, first, end, step));
  return out;
}

RegionTensors combined(const RegionCombine& combine, const RegionTensors& a, const RegionTensors& b) {
  auto results = combine(a, b);
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].scalar_type() != b[i].scalar_type() || results[i].sizes() != b[i].sizes())
      refuse(fmt::format("it combines two of {} to {}", text_of(b[i]), text_of(results[i])),
             "Return the shape and dtype of the arguments, whose first dim counts the pairs to combine");
  return results;
}

/// Combines neighbours, scans these, and thereby has every second result. Each of the others is one of these
/// combined with one element.
RegionTensors scan_pairs(const RegionCombine& combine, const RegionTensors& lists, int64_t length) {
  if (length < 2) return lists;
  const auto pairs = length / 2, others = (length - 1) / 2;
  const auto odd = scan_pairs(
      combine, combined(combine, every(lists, 0, 2 * pairs, 2), every(lists, 1, 2 * pairs, 2)), pairs);
  RegionTensors even;
  if (others > 0) even = combined(combine, every(odd, 0, others, 1), every(lists, 2, length, 2));
  RegionTensors out;
  for (size_t i = 0; i < lists.size(); ++i) {
    std::vector<at::Tensor> parts{lists[i].slice(0, 0, 1)};
    if (others > 0) parts.push_back(at::stack({odd[i].slice(0, 0, others), even[i]}, 1).flatten(0, 1));
    if (pairs > others) parts.push_back(odd[i].slice(0, others, pairs));
    out.push_back(at::cat(parts));
  }
  return out;
}

}  // namespace

RegionTensors scan_associatively(const RegionCombine& combine, const RegionTensors& lists) {
  const auto length = length_of(lists);
  auto results = scan_pairs(combine, lists, length);
  if (length < 2)
    for (auto& result : results) result = result.clone();
  return results;
}

}  // namespace antegrad::detail
