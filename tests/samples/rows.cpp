#include "samples/rows.h"

#include <ATen/core/jit_type.h>

#include <stdexcept>

#include "samples/tensor_text.h"

namespace antegrad::samples {
namespace {

using c10::IValue;
using c10::TypeKind;

/// Reads the arguments of one call; the types come from the schema.
class CallReader {
 public:
  CallReader(const c10::FunctionSchema& schema, char dtype, uint64_t seed)
      : schema_(schema), dtype_(dtype), random_(seed) {}

  std::vector<IValue> read(std::string_view text) {
    const auto& arguments = schema_.arguments();
    args_.assign(arguments.size(), IValue());
    std::vector<bool> given(arguments.size(), false);
    size_t position = 0;
    for (auto token : split(text, ' ')) {
      const size_t index = find_named(token).value_or(position);
      if (index >= arguments.size()) throw std::invalid_argument("too many arguments");
      if (index == position) ++position;
      const int64_t length = arguments[index].N().value_or(-1);
      args_[index] = value(token, *arguments[index].real_type(), length);
      given[index] = true;
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (given[i]) continue;
      if (arguments[i].default_value())
        args_[i] = *arguments[i].default_value();
      else if (arguments[i].type()->kind() != TypeKind::OptionalType)
        throw std::invalid_argument("no value for '" + arguments[i].name() + "'");
    }
    return std::move(args_);
  }

 private:
  /// Returns the index of the argument that "name=value" sets, and removes "name=" from the token.
  std::optional<size_t> find_named(std::string_view& token) const {
    const size_t equal = token.find('=');
    const std::string_view name = token.substr(0, equal);
    if (equal == std::string_view::npos || name.find_first_of("[({$") != std::string_view::npos)
      return std::nullopt;
    const auto index = schema_.argumentIndexWithName(name);
    if (!index) throw std::invalid_argument("no argument named '" + std::string(name) + "'");
    token.remove_prefix(equal + 1);
    return static_cast<size_t>(*index);
  }

  IValue value(std::string_view text, const c10::Type& type, int64_t length) {
    switch (type.kind()) {
      case TypeKind::OptionalType:
        if (text == "_") return IValue();
        return value(text, *type.castRaw<c10::OptionalType>()->getElementType(), length);
      case TypeKind::TensorType:
        return tensor(text);
      case TypeKind::ListType:
        return list(text, type.castRaw<c10::ListType>()->getElementType(), length);
      case TypeKind::NumberType:
        return text.find_first_of(".nfje") == std::string_view::npos || text == "true" ? integer(text)
                                                                                       : real(text);
      case TypeKind::FloatType:
        return parse_real(text);
      case TypeKind::BoolType:
        return boolean(text);
      case TypeKind::StringType:
        return std::string(text);
      case TypeKind::DeviceObjType:
        return c10::Device(std::string(text));
      case TypeKind::ScalarTypeType:
        return static_cast<int64_t>(dtype_of_letter(text == "T" ? dtype_ : text[0]));
      case TypeKind::MemoryFormatType:
        return memory_format(text);
      case TypeKind::IntType:
      case TypeKind::SymIntType:
        return integer(text);
      default:
        throw std::invalid_argument("no text form for the type " + type.str());
    }
  }

  static IValue integer(std::string_view text) {
    if (text == "true" || text == "false") return text == "true";
    return parse_integer(text);
  }

  static IValue real(std::string_view text) {
    if (text == "false") return false;
    if (text.ends_with('j')) return c10::complex<double>(0, parse_real(text.substr(0, text.size() - 1)));
    return parse_real(text);
  }

  static IValue boolean(std::string_view text) {
    if (text != "true" && text != "false") throw std::invalid_argument("not a bool: " + std::string(text));
    return text == "true";
  }

  static IValue memory_format(std::string_view text) {
    using enum at::MemoryFormat;
    const auto format = text == "channels_last" ? ChannelsLast : text == "preserve" ? Preserve : Contiguous;
    return static_cast<int64_t>(format);
  }

  at::Tensor tensor(std::string_view text) {
    if (text[0] == '$') {
      const at::Tensor& other = args_.at(static_cast<size_t>(text[1] - '0')).toTensor();
      return text.ends_with('\'') ? other.transpose(-1, -2) : other;
    }
    std::string concrete(text);
    if (concrete[0] == 'T') concrete[0] = dtype_;
    return make_tensor(concrete, random_);
  }

  IValue list(std::string_view text, const c10::TypePtr& element, int64_t length) {
    const bool bracketed = text.front() == '(' || text.front() == '{';
    std::vector<std::string_view> items;
    if (bracketed)
      items = split(text.substr(1, text.size() - 2), text.front() == '(' ? ',' : ';');
    else if (length > 0)
      items.assign(static_cast<size_t>(length), text);
    else
      throw std::invalid_argument("not a list: " + std::string(text));
    c10::impl::GenericList values(element->kind() == TypeKind::SymIntType ? c10::IntType::get() : element);
    for (auto item : items) values.push_back(value(item, *element, -1));
    return values;
  }

  const c10::FunctionSchema& schema_;
  char dtype_;
  Random random_;
  std::vector<IValue> args_;
};

uint64_t hash(std::string_view text, uint64_t state) {
  for (char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return state;
}

std::string_view strip(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Sample read_call(std::string_view name, std::string_view arguments, char dtype, uint64_t seed) {
  const std::string op = "aten::" + std::string(name);
  const uint64_t own_seed =
      hash(arguments, hash(name, seed ^ 0xcbf29ce484222325ULL)) + static_cast<uint64_t>(dtype);
  try {
    return {op, CallReader(find_overload(op).schema(), dtype, own_seed).read(arguments)};
  } catch (const std::exception& error) {
    throw std::invalid_argument("[samples:" + std::string(name) + "] " + error.what() + " in '" + dtype +
                                ": " + std::string(arguments) + "'");
  }
}

void read_row(std::string_view row, uint64_t seed, std::vector<Sample>& samples) {
  auto fields = split(row, '|');
  std::string_view head = strip(fields.at(0));
  std::string_view dtypes = "f";
  if (const size_t colon = head.find(':'); colon != std::string_view::npos) {
    dtypes = strip(head.substr(0, colon));
    head = strip(head.substr(colon + 1));
  }
  if (fields.size() == 1) fields.push_back("");
  for (auto name : split(head, ',')) {
    for (size_t i = 1; i < fields.size(); ++i)
      samples.push_back(read_call(strip(name), strip(fields[i]), dtypes[0], seed));
    for (char dtype : dtypes.substr(1))
      samples.push_back(read_call(strip(name), strip(fields[1]), dtype, seed));
  }
}

}  // namespace

c10::OperatorHandle find_overload(const std::string& op) {
  const size_t dot = op.find('.');
  const auto handle = c10::Dispatcher::singleton().findSchema(
      {op.substr(0, dot), dot == std::string::npos ? "" : op.substr(dot + 1)});
  if (!handle) throw std::invalid_argument("[samples:" + op + "] LibTorch has no such overload");
  return *handle;
}

void read_table(std::string_view table, uint64_t seed, std::vector<Sample>& samples) {
  std::string row;
  for (auto line : split(table, '\n')) {
    const bool continues = line.starts_with("  ");
    line = strip(line);
    if (line.empty() || line.front() == '#') continue;
    if (!continues && !row.empty()) {
      read_row(row, seed, samples);
      row.clear();
    }
    row += ' ';
    row += line;
  }
  if (!row.empty()) read_row(row, seed, samples);
}

}  // namespace antegrad::samples
