#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace antegrad::samples {

/// A small generator of our own, so that values depend on nothing but the seed.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  double uniform(double low, double high);
  int64_t integer(int64_t low, int64_t high);  ///< low <= result < high

 private:
  uint64_t state_;
};

at::ScalarType dtype_of_letter(char letter);

/// The number that the whole text is; throws std::invalid_argument otherwise.
int64_t parse_integer(std::string_view text);
double parse_real(std::string_view text);

/// The pieces of `text` between separators that are outside all brackets, without empty pieces.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The tensor that a text such as "f[3,4]'+" describes; the grammar is in table.h.
at::Tensor make_tensor(std::string_view text, Random& random);

}  // namespace antegrad::samples
