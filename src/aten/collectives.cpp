#include "aten/collectives.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace antegrad::aten {
namespace {

using enum Collective::Result;
constexpr std::array kCollectives = {
    Collective{"_c10d_functional.all_reduce", LikeInput, true},
    Collective{"_c10d_functional.all_reduce_coalesced", LikeInput, true},
    Collective{"_c10d_functional.broadcast", LikeInput, true},
    Collective{"_c10d_functional.all_gather_into_tensor", Gathered},
    Collective{"_c10d_functional.all_gather_into_tensor_coalesced", Gathered},
    Collective{"_c10d_functional.reduce_scatter_tensor", Scattered},
    Collective{"_c10d_functional.reduce_scatter_tensor_coalesced", Scattered},
    Collective{"_c10d_functional.all_to_all_single", Exchanged},
    Collective{"_c10d_functional.wait_tensor", Waited},
};

int64_t sum_of(const c10::IValue& sizes) {
  int64_t sum = 0;
  if (sizes.isIntList())
    for (const int64_t size : sizes.toIntVector()) sum += size;
  else
    for (const auto& size : sizes.toSymIntVector()) sum += size.expect_int();
  return sum;
}

at::Tensor result_of(const Collective& collective, const at::Tensor& input,
                     const std::vector<c10::IValue>& arguments) {
  auto sizes = input.sizes().vec();
  if (collective.result != LikeInput && collective.result != Waited)
    TORCH_CHECK(!sizes.empty(), collective.op, ": a tensor without dimensions has no parts to exchange");
  if (collective.result == Gathered) sizes[0] *= arguments[1].toInt();
  if (collective.result == Scattered) {
    const auto parts = arguments[2].toInt();
    TORCH_CHECK(sizes[0] % parts == 0, collective.op, ": ", sizes[0], " rows cannot be scattered over ",
                parts, " processes in equal parts");
    sizes[0] /= parts;
  }
  if (collective.result == Exchanged) sizes[0] = sum_of(arguments[1]);
  return at::empty(sizes, input.options());
}

}  // namespace

const Collective* find_collective(std::string_view op) {
  const auto found = std::ranges::find(kCollectives, op, &Collective::op);
  return found == kCollectives.end() ? nullptr : &*found;
}

std::vector<c10::IValue> collective_results(const Collective& collective,
                                            const std::vector<c10::IValue>& arguments) {
  if (arguments[0].isTensor()) return {result_of(collective, arguments[0].toTensor(), arguments)};
  c10::List<at::Tensor> results;
  for (const at::Tensor& input : arguments[0].toTensorVector())
    results.push_back(result_of(collective, input, arguments));
  return {std::move(results)};
}

}  // namespace antegrad::aten
