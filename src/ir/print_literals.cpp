#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/printer.h"
#include "ir/text.h"

namespace antegrad::ir {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word_character(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

void print_dims(std::string& out, const std::vector<Dim>& dims, char open, char close) {
  out += open;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i) out += ',';
    out += dims[i].to_string();
  }
  out += close;
}

void print_tensor(std::string& out, const TensorType& type) {
  out += name(type.dtype);
  print_dims(out, type.sizes, '[', ']');
  if (!type.is_contiguous()) print_dims(out, type.strides, '{', '}');
  if (type.offset != Dim(0)) out += '+' + type.offset.to_string();
  if (type.device != Device{}) out += '@' + to_string(type.device);
}

void print_nested(std::string& out, std::string_view kind, const Type* element) {
  out += kind;
  out += '<';
  print_type(out, element ? *element : Type());
  out += '>';
}

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text[0]) && std::all_of(text.begin(), text.end(), is_word_character);
}

bool is_op_name(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos || !is_identifier(text.substr(0, dot))) return false;
  for (size_t i = dot; i < text.size(); ++i) {
    if (text[i] == '.' ? i + 1 == text.size() || text[i + 1] == '.' : !is_word_character(text[i]))
      return false;
  }
  return true;
}

void print_type(std::string& out, const Type& type) {
  static constexpr std::string_view kScalars[] = {"none", "int", "float", "bool", "complex", "str", "token"};
  if (const auto* tensor = type.tensor()) print_tensor(out, *tensor);
  if (const auto* kind = std::get_if<ScalarKind>(&type.v)) out += kScalars[ordinal(*kind)];
  if (const auto* list = std::get_if<ListType>(&type.v)) print_nested(out, "list", list->element.get());
  if (const auto* optional = std::get_if<OptionalType>(&type.v))
    print_nested(out, "optional", optional->element.get());
}

void print_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < ' ' || static_cast<unsigned char>(c) >= 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void print_double(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  const std::string digits = fmt::format("{}", value);
  out += digits;
  if (digits.find_first_of(".ein") == std::string::npos) out += ".0";
}

std::string print(const Type& type) {
  std::string out;
  print_type(out, type);
  return out;
}

}  // namespace antegrad::ir
