#include "samples/tensor_text.h"

#include <ATen/ATen.h>

#include <charconv>
#include <stdexcept>
#include <string>

namespace antegrad::samples {
namespace {

enum class Values { kAny, kPositive, kUnit, kBelow, kPositiveDefinite, kGiven };
enum class Form { kDense, kTransposed, kSliced, kChannelsLast, kExpanded };

struct Spec {
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> sizes;
  Values values = Values::kAny;
  Form form = Form::kDense;
  bool sorted = false;
  int64_t below = 0;
  std::vector<double> given;
};

[[noreturn]] void fail(std::string_view text, const char* fact) {
  throw std::invalid_argument("[samples:text] '" + std::string(text) + "': " + fact);
}

template <typename Number>
Number parse_number(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (stop != end || error != std::errc()) fail(text, "not a number");
  return number;
}

Spec parse(std::string_view text) {
  const size_t close = text.find(']');
  if (text.size() < 3 || text[1] != '[' || close == std::string_view::npos) fail(text, "not dtype[sizes]");
  Spec spec;
  spec.dtype = dtype_of_letter(text[0]);
  for (auto size : split(text.substr(2, close - 2), ',')) spec.sizes.push_back(parse_integer(size));
  for (size_t at = close + 1; at < text.size(); ++at) {
    switch (text[at]) {
      case '\'':
        spec.form = Form::kTransposed;
        break;
      case '/':
        spec.form = Form::kSliced;
        break;
      case '@':
        spec.form = Form::kChannelsLast;
        break;
      case '*':
        spec.form = Form::kExpanded;
        break;
      case '+':
        spec.values = Values::kPositive;
        break;
      case '%':
        spec.values = Values::kUnit;
        break;
      case '&':
        spec.values = Values::kPositiveDefinite;
        break;
      case '~':
        spec.sorted = true;
        break;
      case '<': {
        spec.values = Values::kBelow;
        size_t used = 0;
        spec.below = std::stoll(std::string(text.substr(at + 1)), &used);
        at += used;
        break;
      }
      case '=': {
        spec.values = Values::kGiven;
        const size_t end = text.find(')', at);
        if (end == std::string_view::npos || text[at + 1] != '(') fail(text, "= needs (values)");
        for (auto value : split(text.substr(at + 2, end - at - 2), ','))
          spec.given.push_back(parse_real(value));
        at = end;
        break;
      }
      default:
        fail(text, "unknown modifier");
    }
  }
  return spec;
}

double draw(const Spec& spec, Random& random) {
  const bool integral = at::isIntegralType(spec.dtype, false);
  if (spec.dtype == at::kBool) return static_cast<double>(random.integer(0, 2));
  switch (spec.values) {
    case Values::kPositive:
      return integral ? static_cast<double>(random.integer(1, 5)) : random.uniform(0.5, 1.5);
    case Values::kUnit:
      return random.uniform(0.05, 0.95);
    case Values::kBelow:
      return static_cast<double>(random.integer(0, spec.below));
    default:
      break;
  }
  if (!integral) return random.uniform(-2, 2);
  return static_cast<double>(random.integer(spec.dtype == at::kByte ? 0 : -4, 5));
}

at::Tensor dense(const Spec& spec, std::string_view text, Random& random) {
  const bool complex = at::isComplexType(spec.dtype);
  std::vector<int64_t> sizes = spec.sizes;
  if (complex) sizes.push_back(2);
  int64_t count = 1;
  for (auto size : sizes) count *= size;
  std::vector<double> values = spec.given;
  if (spec.values != Values::kGiven) {
    for (int64_t i = 0; i < count; ++i) values.push_back(draw(spec, random));
  }
  if (static_cast<int64_t>(values.size()) != count) fail(text, "values and sizes differ");
  at::Tensor result = at::tensor(values, at::kDouble).reshape(sizes);
  if (complex) result = at::view_as_complex(result);
  if (spec.sorted) result = std::get<0>(result.sort(-1));
  if (spec.values == Values::kPositiveDefinite) {
    result = result.matmul(result.mH()) + spec.sizes.back() * at::eye(spec.sizes.back(), result.options());
  }
  return result.to(spec.dtype);
}

at::Tensor lay_out(const at::Tensor& values, Form form) {
  switch (form) {
    case Form::kDense:
      return values.contiguous();
    case Form::kTransposed:
      return values.transpose(-1, -2).contiguous().transpose(-1, -2);
    case Form::kChannelsLast:
      return values.contiguous(values.dim() == 5 ? at::MemoryFormat::ChannelsLast3d
                                                 : at::MemoryFormat::ChannelsLast);
    case Form::kExpanded:
      return values.narrow(0, 0, 1).contiguous().expand(values.sizes());
    case Form::kSliced:
      break;
  }
  if (values.dim() == 0) {
    at::Tensor storage = at::zeros({3}, values.options());
    at::Tensor view = storage.select(0, 1);
    return view.copy_(values);
  }
  auto sizes = values.sizes().vec();
  sizes.back() = 2 * sizes.back() + 1;
  at::Tensor view = at::zeros(sizes, values.options()).slice(-1, 1, std::nullopt, 2);
  return view.copy_(values);
}

}  // namespace

uint64_t Random::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

double Random::uniform(double low, double high) {
  return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1.0p-53);
}

int64_t Random::integer(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low));
}

at::ScalarType dtype_of_letter(char letter) {
  switch (letter) {
    case 'f':
      return at::kFloat;
    case 'd':
      return at::kDouble;
    case 'h':
      return at::kHalf;
    case 'b':
      return at::kBFloat16;
    case 'i':
      return at::kLong;
    case 'j':
      return at::kInt;
    case 's':
      return at::kShort;
    case 'u':
      return at::kByte;
    case 'o':
      return at::kBool;
    case 'c':
      return at::kComplexFloat;
    case 'z':
      return at::kComplexDouble;
    default:
      throw std::invalid_argument(std::string("[samples:dtype] unknown letter '") + letter + "'");
  }
}

int64_t parse_integer(std::string_view text) { return parse_number<int64_t>(text); }

double parse_real(std::string_view text) { return parse_number<double>(text); }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : separator;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c != separator || (depth > 0 && at < text.size())) continue;
    if (at > begin) pieces.push_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  return pieces;
}

at::Tensor make_tensor(std::string_view text, Random& random) {
  const Spec spec = parse(text);
  return lay_out(dense(spec, text, random), spec.form);
}

}  // namespace antegrad::samples
