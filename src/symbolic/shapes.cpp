#include "symbolic/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace antegrad::symbolic {
namespace {

using ir::Dim;

/// The values of one size or stride in all calls.
using Values = std::vector<int64_t>;

bool same_everywhere(const Values& values) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == values[0]; });
}

std::vector<int64_t> row_major(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0; stride *= std::max<int64_t>(sizes[d], 1)) strides[d] = stride;
  return strides;
}

class Generalizer {
 public:
  Generalizer(const std::vector<CallShapes>& calls, const std::vector<Mark>& marks, bool all)
      : calls_(calls), marks_(marks), all_(all) {}

  Shapes run() {
    const auto& newest = calls_.back();
    for (size_t t = 0; t < newest.size(); ++t) {
      auto& tensor = out_.tensors.emplace_back();
      tensor.defined = newest[t].defined;
      for (size_t d = 0; d < newest[t].sizes.size(); ++d) tensor.sizes.push_back(size(t, d));
    }
    for (size_t t = 0; t < newest.size(); ++t)
      if (newest[t].defined) strides(t);
    return std::move(out_);
  }

 private:
  template <class F>
  Values collect(const F& f) const {
    Values values;
    for (const auto& call : calls_) values.push_back(f(call));
    return values;
  }

  const Mark* mark_of(size_t t, size_t d) const {
    for (const auto& mark : marks_)
      if (std::cmp_equal(mark.tensor, t) && std::cmp_equal(mark.dim, d)) return &mark;
    return nullptr;
  }

  Dim size(size_t t, size_t d) {
    const auto values = collect([&](const CallShapes& call) { return call[t].sizes[d]; });
    const auto now = values.back();
    const auto* mark = mark_of(t, d);
    if (now == 0) return now;
    if (mark != nullptr && now % mark->multiple == 0) return marked(*mark, values);
    if (same_everywhere(values) && !(all_ && now > 1)) return now;
    return symbol({"", values}, {});
  }

  Dim marked(const Mark& mark, Values values) {
    const auto range = mark.range;
    if (values.back() < range.lower || values.back() > range.upper) return values.back();
    for (auto& value : values) value /= mark.multiple;
    const auto divided = [&](int64_t bound) {
      return bound == std::numeric_limits<int64_t>::max() ? bound : bound / mark.multiple;
    };
    const ir::Range own{std::max<int64_t>(1, (range.lower + mark.multiple - 1) / mark.multiple),
                        divided(range.upper)};
    return symbol({mark.name, mark.name.empty() ? values : Values()}, own, values.back()) *
           Dim(mark.multiple);
  }

  /// Returns one symbol for all sizes with the same name, or with equal values in all calls.
  Dim symbol(std::pair<std::string, Values> key, ir::Range range, int64_t hint = 0) {
    if (hint == 0) hint = key.second.back();
    range.lower = std::max<int64_t>(range.lower, 1);
    const auto [found, added] =
        symbols_.try_emplace(std::move(key), static_cast<int32_t>(out_.symbols.size()));
    if (added) {
      out_.symbols.push_back({range, hint});
    } else {
      auto& known = out_.symbols[found->second].range;
      known = {std::max(known.lower, range.lower), std::min(known.upper, range.upper)};
    }
    return Dim::symbol(found->second);
  }

  void strides(size_t t) {
    auto& tensor = out_.tensors[t];
    const auto fits = [&](const auto& strides_of) {
      return std::all_of(calls_.begin(), calls_.end(),
                         [&](const CallShapes& call) { return call[t].strides == strides_of(call[t]); });
    };
    if (fits([](const Shape& shape) { return row_major(shape.sizes); })) {
      tensor.strides = ir::contiguous_strides(tensor.sizes);
      return;
    }
    const auto& newest = calls_.back()[t];
    std::vector<size_t> order(newest.sizes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return newest.strides[a] > newest.strides[b]; });
    const auto permuted = [&](const auto& sizes) {
      auto strides = sizes;
      std::remove_cvref_t<decltype(sizes[0])> stride = 1;
      for (size_t k = order.size(); k-- > 0;) {
        strides[order[k]] = stride;
        stride = stride * sizes[order[k]];
      }
      return strides;
    };
    if (fits([&](const Shape& shape) { return permuted(shape.sizes); })) {
      tensor.strides = permuted(tensor.sizes);
      return;
    }
    for (size_t d = 0; d < newest.strides.size(); ++d) {
      const auto values = collect([&](const CallShapes& call) { return call[t].strides[d]; });
      tensor.strides.push_back(same_everywhere(values) || values.back() == 0
                                   ? Dim(values.back())
                                   : symbol({"stride", values}, {}));
    }
  }

  const std::vector<CallShapes>& calls_;
  const std::vector<Mark>& marks_;
  const bool all_;
  std::map<std::pair<std::string, Values>, int32_t> symbols_;
  Shapes out_;
};

bool is_prime(int64_t n) {
  if (n < 2) return false;
  for (int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0) return false;
  return true;
}

/// The sizes of real programs are small enough for trial division; beyond this limit any odd number will do.
constexpr int64_t kLargestTried = int64_t{1} << 40;

int64_t prime_from(int64_t n) {
  if (n > kLargestTried) return n | 1;
  while (!is_prime(n)) ++n;
  return n;
}

bool is_size(const Shapes& shapes, int32_t symbol) {
  for (const auto& tensor : shapes.tensors)
    for (const auto& size : tensor.sizes) {
      std::vector<int32_t> named;
      size.collect_symbols(named);
      if (std::find(named.begin(), named.end(), symbol) != named.end()) return true;
    }
  return false;
}

/// The value of a symbol in a call, from the first size or stride that is an affine expression of it.
std::optional<int64_t> value_in(const Shapes& shapes, const CallShapes& call, int32_t symbol) {
  const auto from = [&](const std::vector<Dim>& dims, const std::vector<int64_t>& numbers) {
    std::optional<int64_t> value;
    for (size_t d = 0; d < dims.size() && !value; ++d)
      if (const auto affine = as_affine(dims[d]); affine && affine->symbol == symbol)
        value = (numbers[d] - affine->offset) / affine->factor;
    return value;
  };
  for (size_t t = 0; t < call.size(); ++t) {
    if (const auto value = from(shapes.tensors[t].sizes, call[t].sizes)) return value;
    if (const auto value = from(shapes.tensors[t].strides, call[t].strides)) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Affine> as_affine(const Dim& dim) {
  std::vector<int32_t> named;
  dim.collect_symbols(named);
  if (named.size() != 1) return std::nullopt;
  const auto at = [&](int64_t value) { return dim.evaluate([value](int32_t) { return value; }); };
  const Affine affine{named[0], at(2) - at(1), 2 * at(1) - at(2)};
  if (affine.factor == 0 || dim != Dim::symbol(named[0]) * Dim(affine.factor) + Dim(affine.offset))
    return std::nullopt;
  return affine;
}

CallShapes Shapes::at(const std::vector<int64_t>& values) const {
  const auto evaluate = [&](const std::vector<Dim>& dims) {
    std::vector<int64_t> out;
    for (const auto& dim : dims) out.push_back(dim.evaluate([&](int32_t s) { return values[s]; }));
    return out;
  };
  CallShapes call;
  for (const auto& tensor : tensors)
    call.push_back({tensor.defined, evaluate(tensor.sizes), evaluate(tensor.strides)});
  return call;
}

std::vector<int64_t> Shapes::hints() const {
  std::vector<int64_t> hints;
  for (const auto& symbol : symbols) hints.push_back(symbol.hint);
  return hints;
}

Shapes Shapes::with(const std::vector<Dim>& replacements) const {
  auto out = *this;
  std::vector<int32_t> used;
  const auto for_each_dim = [&](const auto& f) {
    for (auto& tensor : out.tensors) {
      for (auto& size : tensor.sizes) f(size);
      for (auto& stride : tensor.strides) f(stride);
    }
  };
  for_each_dim([&](Dim& dim) {
    dim = dim.substitute([&](int32_t s) { return replacements[s]; });
    dim.collect_symbols(used);
  });
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  out.symbols.clear();
  for (auto s : used) out.symbols.push_back(symbols[s]);
  for_each_dim([&](Dim& dim) {
    dim = dim.substitute([&](int32_t s) {
      return Dim::symbol(static_cast<int32_t>(std::lower_bound(used.begin(), used.end(), s) - used.begin()));
    });
  });
  return out;
}

std::string Shapes::name_of(int32_t symbol) const {
  const auto find = [&](const std::vector<Dim>& dims) {
    for (size_t d = 0; d < dims.size(); ++d)
      if (const auto affine = as_affine(dims[d]); affine && affine->symbol == symbol)
        return static_cast<int>(d);
    return -1;
  };
  for (size_t t = 0; t < tensors.size(); ++t) {
    if (const auto d = find(tensors[t].sizes); d >= 0) return fmt::format("tensor {} size {}", t, d);
    if (const auto d = find(tensors[t].strides); d >= 0) return fmt::format("tensor {} stride {}", t, d);
  }
  return fmt::format("s{}", symbol);
}

Shapes generalize(const std::vector<CallShapes>& calls, const std::vector<Mark>& marks, bool all) {
  return Generalizer(calls, marks, all).run();
}

std::vector<std::vector<int64_t>> assignments(const Shapes& shapes, size_t count) {
  std::vector<std::vector<int64_t>> out{shapes.hints()};
  std::vector<int64_t> taken = out[0];
  for (size_t k = 1; k < count; ++k) {
    auto& values = out.emplace_back();
    for (size_t s = 0; s < shapes.symbols.size(); ++s) {
      const auto& [range, hint] = shapes.symbols[s];
      // The last assignment is even, to reveal rounding, and smaller where the range permits.
      const bool last = k + 1 == count;
      auto target = hint + hint / 3 * static_cast<int64_t>(k) + 3;
      if (last) target = hint >= 32 ? hint / 3 : hint / 2 + 5;
      if (!is_size(shapes, static_cast<int32_t>(s))) target = hint * 4 + 64;
      auto value = prime_from(std::max<int64_t>(target, 3)) * (last ? 2 : 1);
      while (std::find(taken.begin(), taken.end(), value) != taken.end())
        value = last ? value + 2 : prime_from(value + 1);
      if (value < range.lower || value > range.upper) {
        value = std::clamp(value, range.lower, range.upper);
        for (int64_t n = 0; n < 64 && std::find(taken.begin(), taken.end(), value) != taken.end(); ++n)
          value = value > range.lower ? value - 1 : range.upper - n;
        value = std::clamp(value, range.lower, range.upper);
      }
      taken.push_back(value);
      values.push_back(value);
    }
  }
  return out;
}

std::vector<Relation> relations(const Shapes& shapes, const std::vector<CallShapes>& calls) {
  std::vector<Relation> out;
  std::vector<Values> values(shapes.symbols.size());
  for (size_t s = 0; s < values.size(); ++s)
    for (const auto& call : calls)
      values[s].push_back(value_in(shapes, call, static_cast<int32_t>(s)).value_or(0));
  for (size_t t = 1; t < values.size(); ++t)
    for (size_t s = 0; s < t; ++s) {
      const auto run = values[s].back() - values[s].front();
      const auto rise = values[t].back() - values[t].front();
      if (run == 0 || rise % run != 0 || rise / run == 0) continue;
      const auto factor = rise / run;
      const auto offset = values[t].back() - factor * values[s].back();
      bool holds = true;
      for (size_t c = 0; c < calls.size(); ++c) holds &= values[t][c] == factor * values[s][c] + offset;
      if (!holds) continue;
      out.push_back(
          {static_cast<int32_t>(t), Dim(factor) * Dim::symbol(static_cast<int32_t>(s)) + Dim(offset)});
      break;
    }
  return out;
}

int64_t common_divisor(const Shapes& shapes, const std::vector<CallShapes>& calls, int32_t symbol) {
  int64_t divisor = 0;
  for (const auto& call : calls) divisor = std::gcd(divisor, value_in(shapes, call, symbol).value_or(1));
  return divisor;
}

}  // namespace antegrad::symbolic
