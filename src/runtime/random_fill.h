#pragma once
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <limits>

#include "util/philox.h"

namespace antegrad::runtime {

/// The random stream of one op; see util/philox.h.
struct RandomStream {
  uint64_t seed = 0;
  uint64_t first = 0;  ///< first counter
};

/// A parameter of a distribution: one number for all elements, or one for each.
struct RandomParameter {
  const double* data = nullptr;
  int64_t step = 0;
  double operator[](int64_t i) const { return data[i * step]; }
};

/// The type in which values of an element type are computed.
template <class T>
using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Sets element i to value(variate, i), where `variates` maps the words of a counter to the variates of its
/// lanes.
template <class T, class Variates, class Value>
void fill_random(T* out, int64_t count, RandomStream stream, const Variates& variates, const Value& value) {
  constexpr auto kLanes = static_cast<int64_t>(std::tuple_size_v<decltype(variates(philox::Words{}))>);
  constexpr int64_t kGrain = 2048;  // counters that are worth a thread
  const auto fill = [&](int64_t counter, int64_t lanes) {
    const auto drawn = variates(philox::words(stream.seed, stream.first + static_cast<uint64_t>(counter)));
    const auto first = counter * kLanes;
    for (int64_t k = 0; k < lanes; ++k) out[first + k] = value(drawn[k], first + k);
  };
  const auto full = count / kLanes;
  at::parallel_for(0, full, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t counter = begin; counter < end; ++counter) fill(counter, kLanes);
  });
  fill(full, count % kLanes);
}

/// Unlike a pointer to the function, a function object can be inlined.
template <class R>
constexpr auto normals = [](const philox::Words& words) { return philox::normals<R>(words); };

/// The same, where each variate is made from the bits of its own lane.
template <class Lane, class T, class Value>
void fill_from_bits(T* out, int64_t count, RandomStream stream, const Value& value) {
  fill_random(
      out, count, stream, [](const philox::Words& words) { return philox::lanes<Lane>(words); }, value);
}

template <class T>
void fill_uniform(T* out, int64_t count, RandomStream stream, double from, double to) {
  using R = Real<T>;
  const auto low = static_cast<R>(from), high = static_cast<R>(to);
  fill_from_bits<R>(out, count, stream, [=](auto bits, int64_t) {
    const auto x = static_cast<T>(philox::unit(bits, std::numeric_limits<T>::digits) * (high - low) + low);
    return static_cast<R>(x) < high ? x : static_cast<T>(low);  // rounding must not reach the open end
  });
}

template <class T>
void fill_normal(T* out, int64_t count, RandomStream stream, RandomParameter mean, RandomParameter std) {
  using R = Real<T>;
  fill_random(out, count, stream, normals<R>, [=](R normal, int64_t i) {
    return static_cast<T>(normal * static_cast<R>(std[i]) + static_cast<R>(mean[i]));
  });
}

template <class T>
void fill_log_normal(T* out, int64_t count, RandomStream stream, double mean, double std) {
  using R = Real<T>;
  fill_random(out, count, stream, normals<R>, [=](R normal, int64_t) {
    return static_cast<T>(std::exp(normal * static_cast<R>(std) + static_cast<R>(mean)));
  });
}

template <class T>
void fill_bernoulli(T* out, int64_t count, RandomStream stream, RandomParameter p) {
  fill_from_bits<Real<T>>(out, count, stream,
                          [=](auto bits, int64_t i) { return static_cast<T>(philox::chance(bits, p[i])); });
}

template <class T>
void fill_exponential(T* out, int64_t count, RandomStream stream, double lambda) {
  using R = Real<T>;
  fill_from_bits<R>(out, count, stream, [=](auto bits, int64_t) {
    return static_cast<T>(philox::exponential(philox::open_unit(bits), static_cast<R>(lambda)));
  });
}

template <class T>
void fill_cauchy(T* out, int64_t count, RandomStream stream, double median, double sigma) {
  using R = Real<T>;
  fill_from_bits<R>(out, count, stream, [=](auto bits, int64_t) {
    return static_cast<T>(
        philox::cauchy(philox::open_unit(bits), static_cast<R>(median), static_cast<R>(sigma)));
  });
}

/// Also for integers: limited to 2^62, then wrapped around where the type is narrower.
template <class T>
void fill_geometric(T* out, int64_t count, RandomStream stream, double p) {
  using R = Real<T>;
  fill_from_bits<R>(out, count, stream, [=](auto bits, int64_t) {
    const auto tries = philox::geometric(philox::open_unit(bits), static_cast<R>(p));
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<int64_t>(std::min(tries, R(0x1p62))));
    else
      return static_cast<T>(tries);
  });
}

/// Draws from low, …, low + range - 1; a range of 0 stands for 2^64.
template <class T>
void fill_int(T* out, int64_t count, RandomStream stream, int64_t low, uint64_t range) {
  const auto value = [=](auto bits, int64_t) {
    return static_cast<T>(static_cast<int64_t>(static_cast<uint64_t>(low) + philox::below(bits, range)));
  };
  const bool one_word = philox::is_one_word_range(range) && !std::is_same_v<T, double>;
  if (one_word)
    fill_from_bits<float>(out, count, stream, value);
  else
    fill_from_bits<double>(out, count, stream, value);
}

}  // namespace antegrad::runtime
