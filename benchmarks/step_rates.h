#pragma once
#include <functional>
#include <vector>

#include "workloads.h"

namespace antegrad::benchmarks {

/// Samples how fast this process multiplies matrices and copies memory, between the steps that it times.
class Limits {
 public:
  /// `in_bf16`: the type of the products; otherwise f32.
  explicit Limits(bool in_bf16, Scale scale);
  void sample();

  struct Rates {
    double product_gflops = 0;  ///< of the best size and library, by medians
    double copy_gbs = 0;        ///< bytes read and written by a copy of a large tensor
  };
  Rates rates() const;

 private:
  struct Way {
    std::function<void()> run;
    double work = 0;  ///< FLOP or bytes
    std::vector<double> ns;
    double rate() const;  ///< in units of work per ns
  };
  void add_products(int64_t size, bool in_bf16);
  std::vector<Way> products_;
  Way copy_;
};

}  // namespace antegrad::benchmarks
