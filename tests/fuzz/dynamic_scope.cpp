#include <ATen/ATen.h>

#include <algorithm>

#include "fuzz/dynamic_op.h"

namespace antegrad::fuzz {
namespace {

using at::Tensor;

constexpr int64_t kMostNumbers = 8000;
constexpr int64_t kMostRank = 5;
constexpr double kLargest = 1e4;

bool numbers(const Tensor& tensor) { return at::isFloatingType(tensor.scalar_type()); }

}  // namespace

DynamicScope::DynamicScope(uint64_t seed) : rng_(seed) {
  program_.seed = seed;
  program_.dtype = rng_.percent(25) ? at::kFloat : at::kDouble;
  choose_symbols();
}

/// Chooses probes whose sizes equal neither each other nor usual constants, so that no step relies on a
/// coincidence.
void DynamicScope::choose_symbols() {
  static const std::vector<Ints> kProbes{{6, 9, 13}, {11, 7, 8}, {9, 14, 6}, {14, 6, 17}};
  const auto count = rng_.percent(50) ? 1 : rng_.percent(70) ? 2 : 3;
  for (int s = 0; s < count; ++s) multiples_.push_back(rng_.percent(75) ? 1 : rng_.percent(50) ? 2 : 4);
  for (const auto& row : kProbes) {
    auto& probe = probes_.emplace_back();
    for (size_t s = 0; s < multiples_.size(); ++s) probe.push_back(row[s] * multiples_[s]);
  }
  values_.resize(probes_.size());
}

bool DynamicScope::same(int a, int64_t dim, int b, int64_t other) const {
  for (size_t p = 0; p < probes_.size(); ++p)
    if (at(a, p).size(dim) != at(b, p).size(other)) return false;
  return true;
}

std::optional<int64_t> DynamicScope::fixed(int variable, int64_t dim) const {
  const auto size = at(variable).size(dim);
  for (size_t p = 0; p < probes_.size(); ++p)
    if (at(variable, p).size(dim) != size) return std::nullopt;
  return size;
}

std::optional<SizeForm> DynamicScope::form(int variable, int64_t dim) const {
  if (const auto size = fixed(variable, dim)) return SizeForm{-1, 1, *size};
  for (int s = 0; s < static_cast<int>(symbols()); ++s)
    for (const int64_t factor : {1, 2, 3, 4}) {
      const auto value = [&](size_t p) { return factor * probes_[p][static_cast<size_t>(s)]; };
      const auto offset = at(variable, 0).size(dim) - value(0);
      bool fits = offset >= 0;  // the size must exist when the symbol is 0
      for (size_t p = 1; p < probes_.size(); ++p) fits &= at(variable, p).size(dim) == value(p) + offset;
      if (fits) return SizeForm{s, factor, offset};
    }
  return std::nullopt;
}

bool DynamicScope::broadcasts(int a, int b) const {
  for (int64_t d = 1; d <= std::min(rank(a), rank(b)); ++d)
    if (!same(a, -d, b, -d) && fixed(a, -d) != 1 && fixed(b, -d) != 1) return false;
  return true;
}

int DynamicScope::pick(const Accept& accept) {
  std::vector<int> fits;
  for (int v = 0; v < variables(); ++v)
    if (numbers(at(v)) && accept(v)) fits.push_back(v);
  if (fits.empty()) return -1;
  const auto count = static_cast<int64_t>(fits.size());
  return fits[static_cast<size_t>(std::max(rng_.below(count), rng_.below(count)))];
}

int DynamicScope::pick(int64_t least_rank, int64_t most_rank, bool only_exact) {
  return pick(
      [&](int v) { return rank(v) >= least_rank && rank(v) <= most_rank && (exact(v) || !only_exact); });
}

SizeForm DynamicScope::random_size() {
  static const Ints kFixed{1, 2, 3, 4, 4, 5, 8};
  if (rng_.percent(45)) return {-1, 1, rng_.pick(kFixed)};
  return random_symbol();
}

SizeForm DynamicScope::random_symbol() {
  SizeForm form{static_cast<int>(rng_.below(static_cast<int64_t>(symbols())))};
  if (rng_.percent(8)) form.factor = 2;
  if (rng_.percent(8)) form.offset = rng_.range(1, 2);
  return form;
}

int DynamicScope::add(DynamicInput input) {
  static const std::vector<DynamicLayout> kLayouts{DynamicLayout::Transposed, DynamicLayout::Narrowed,
                                                   DynamicLayout::Strided, DynamicLayout::Expanded,
                                                   DynamicLayout::ChannelsLast};
  const auto rank = static_cast<int64_t>(input.sizes.size());
  if (rank > 0 && rng_.percent(35)) {
    input.layout = rng_.pick(kLayouts);
    input.dim = rng_.below(rank);
  }
  input.gradient = input.bound == 0 && rng_.percent(80);
  input.leaf = rng_.percent(85);
  for (size_t p = 0; p < probes_.size(); ++p) {
    auto tensor = make_input(input, program_.dtype, probes_[p], program_.seed * 77 + values_[p].size());
    if (input.gradient) tensor.set_requires_grad(true);
    values_[p].push_back(input.leaf ? tensor : tensor.clone());
  }
  program_.steps.push_back({std::move(input), nullptr, {}, {}});
  exact_.push_back(true);
  return variables() - 1;
}

int DynamicScope::add_input(std::vector<SizeForm> sizes) {
  DynamicInput input;
  input.sizes = std::move(sizes);
  return add(std::move(input));
}

int DynamicScope::add_indices(std::vector<SizeForm> sizes, int64_t bound) {
  DynamicInput input;
  input.sizes = std::move(sizes);
  input.bound = bound;
  return add(std::move(input));
}

int DynamicScope::add_input() {
  std::vector<SizeForm> sizes;
  if (rng_.percent(20)) {  // a batch of images or signals with channels
    sizes = {
        rng_.percent(50) ? random_size() : SizeForm{-1, 1, 2}, {-1, 1, rng_.range(1, 4)}, random_symbol()};
    if (rng_.percent(60)) sizes.push_back(rng_.percent(50) ? random_symbol() : SizeForm{-1, 1, 6});
    return add_input(std::move(sizes));
  }
  for (auto rank = rng_.percent(15) ? 1 : rng_.range(2, 4); rank > 0; --rank) sizes.push_back(random_size());
  if (variables() == 0) sizes[static_cast<size_t>(rng_.below(static_cast<int64_t>(sizes.size())))] = {0};
  return add_input(std::move(sizes));
}

bool DynamicScope::usable(const Tensors& results) const {
  for (const auto& result : results) {
    if (result.dim() != results[0].dim() || result.dim() > kMostRank || result.numel() > kMostNumbers)
      return false;
    if (result.numel() == 0 || !numbers(result) || result.scalar_type() != program_.dtype) return false;
    const auto largest = result.abs().max().item<double>();
    if (!(largest < kLargest)) return false;
  }
  return true;
}

/// Undoes the writes of a rejected step.
void DynamicScope::compute_anew() {
  for (size_t p = 0; p < probes_.size(); ++p)
    values_[p] = run_all(program_, make_inputs(program_, probes_[p], p).inputs);
}

bool DynamicScope::try_add(DynamicStep step) {
  const auto& op = *step.op;
  bool moved = op.moves;
  for (const int arg : step.args) {
    moved &= exact(arg);
    if (op.kinks && !exact(arg)) return false;
  }
  Tensors results;
  try {
    for (auto& values : values_) {
      Tensors args;
      for (const int arg : step.args) args.push_back(values[static_cast<size_t>(arg)]);
      results.push_back(op.apply(args, step.ints));
    }
  } catch (const std::exception&) {
    if (op.writes) compute_anew();
    return false;
  }
  if (!usable(results)) {
    if (op.writes) compute_anew();
    return false;
  }
  for (size_t p = 0; p < probes_.size(); ++p) values_[p].push_back(results[p]);
  exact_.push_back(moved);
  if (op.writes) exact_.assign(exact_.size(), false);
  program_.steps.push_back(std::move(step));
  return true;
}

void DynamicScope::shrink_to(size_t variables) {
  program_.steps.resize(variables);
  exact_.resize(variables);
  for (auto& values : values_) values.resize(variables);
}

}  // namespace antegrad::fuzz
