#include "optim/norms.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "runtime/parallel.h"

namespace antegrad::optim {
namespace {

constexpr int64_t kRow = 1024;        ///< elements that one row of a kernel reduces
constexpr int64_t kRowsPerTask = 32;  ///< the fewest rows for which another thread is worth it

/// One number per row.
std::string row_graph(std::string_view element, std::string_view reduction, ir::DType dtype) {
  const auto given = fmt::format("{}[s0,s1]", ir::name(dtype));
  const auto* wide = dtype == ir::DType::F64 ? "f64" : "f32";
  std::string text = fmt::format(
      "graph @gradient_norm functional [s0: 1.. ~ 4096, s1: 1.. ~ 1024] {{\n  in %0: {} user\n"
      "  in %1: {}[] user\n",
      given, wide);
  const bool narrow = dtype == ir::DType::F16 || dtype == ir::DType::BF16;
  if (narrow) text += "  %2: f32[s0,s1] = aten._to_copy(%0, dtype=f32)\n";
  text += fmt::format("  %3: {}[s0,s1] = aten.abs({})\n", wide, narrow ? "%2" : "%0");
  if (!element.empty()) text += fmt::format("  %4: {}[s0,s1] = {}\n", wide, element);
  text += fmt::format("  %5: {}[s0] = {}\n  out %5 user\n}}\n", wide, reduction);
  return text;
}

/// A piece of a gradient of which a kernel makes numbers.
struct Rows {
  const FlatKernel* kernel;
  void* memory;
  std::array<int64_t, 2> sizes;  ///< rows, elements of a row
  size_t result;                 ///< position of the first number
  bool wide;                     ///< the numbers are doubles
};

double number_at(const std::byte* numbers, int64_t position, bool wide) {
  float narrow = 0;
  double number = 0;
  if (wide)
    std::memcpy(&number, numbers + position * sizeof(double), sizeof number);
  else
    std::memcpy(&narrow, numbers + position * sizeof(float), sizeof narrow);
  return wide ? number : static_cast<double>(narrow);
}

}  // namespace

const FlatKernel& Norms::kernel(Kind kind, ir::DType dtype) {
  const auto found = kernels_.find({kind, dtype});
  if (found != kernels_.end()) return found->second;
  constexpr const char* kSum = "aten.sum.dim_IntList(%4, [1])";
  std::string text;
  switch (kind) {
    case Kind::Max:
      text = row_graph("", "aten.amax(%3, [1])", dtype);
      break;
    case Kind::Sum:
      text = row_graph("", "aten.sum.dim_IntList(%3, [1])", dtype);
      break;
    case Kind::Squares:
      text = row_graph("aten.mul.Tensor(%3, %3)", kSum, dtype);
      break;
    case Kind::Powers:
      text = row_graph("aten.pow.Tensor_Tensor(%3, %1)", kSum, dtype);
      break;
  }
  return kernels_.emplace(std::pair(kind, dtype), flat_kernel(*code_.flat(text))).first->second;
}

double Norms::accumulate(const std::vector<Update>& updates, Kind kind, double type) {
  std::vector<Rows> pieces;
  size_t results = 0;
  for (const auto& update : updates) {
    const auto elements = update.gradient.numel();
    const auto dtype = update.formula.dtype;
    auto* memory = static_cast<char*>(const_cast<void*>(update.gradient.const_data_ptr()));
    const auto add = [&](int64_t rows, int64_t row, int64_t offset) {
      if (rows == 0 || row == 0) return;
      pieces.push_back({&kernel(kind, dtype),
                        memory + offset * ir::size_in_bytes(dtype),
                        {rows, row},
                        results,
                        dtype == ir::DType::F64});
      results += rows;
    };
    add(elements / kRow, kRow, 0);
    add(1, elements % kRow, elements / kRow * kRow);
  }
  double wide_number = type;
  auto number = static_cast<float>(type);
  std::vector<std::byte> numbers(results * sizeof(double));  // floats take half of it
  const auto run = [&](const Rows& piece, int64_t begin, int64_t end) {
    void* const pointers[] = {piece.memory, piece.wide ? static_cast<void*>(&wide_number) : &number,
                              numbers.data() + piece.result * sizeof(double)};
    piece.kernel->run(pointers, piece.sizes.data(), begin, end);
  };
  runtime::parallel_for(static_cast<int64_t>(results), kRowsPerTask, [&](int64_t begin, int64_t end) {
    for (const auto& piece : pieces) {
      const auto first = static_cast<int64_t>(piece.result);
      const auto from = std::max(begin, first), to = std::min(end, first + piece.sizes[0]);
      if (from < to) run(piece, from - first, to - first);
    }
  });
  double total = 0;
  for (const auto& piece : pieces)
    for (int64_t row = 0; row < piece.sizes[0]; ++row) {
      const auto value = number_at(numbers.data() + piece.result * sizeof(double), row, piece.wide);
      if (kind != Kind::Max)
        total += value;
      else if (std::isnan(value) || value > total)
        total = value;  // a NaN stays, since nothing is greater
    }
  return total;
}

double Norms::total(const std::vector<Update>& updates, double type) {
  if (type == std::numeric_limits<double>::infinity()) return accumulate(updates, Kind::Max, 1);
  if (type == 0) return static_cast<double>(updates.size());
  if (type == 1) return accumulate(updates, Kind::Sum, 1);
  if (type == 2) return std::sqrt(accumulate(updates, Kind::Squares, 2));
  return std::pow(accumulate(updates, Kind::Powers, type), 1 / type);
}

bool Norms::all_finite(const std::vector<Update>& updates) {
  return std::isfinite(accumulate(updates, Kind::Max, 1));
}

}  // namespace antegrad::optim
