#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

namespace antegrad::samples {

/// A small random generator, so that values depend on the seed only.
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

/// Parses the whole text as a number; throws std::invalid_argument if it is none.
int64_t parse_integer(std::string_view text);
double parse_real(std::string_view text);

/// Splits `text` at separators outside all brackets, and drops empty pieces.
std::vector<std::string_view> split(std::string_view text, char separator);

/// Makes the tensor that a text such as "f[3,4]'+" describes; the grammar is in table.h.
at::Tensor make_tensor(std::string_view text, Random& random);

}  // namespace antegrad::samples
