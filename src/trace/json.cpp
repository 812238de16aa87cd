#include "trace/json.h"

#include <fmt/format.h>

#include <cmath>

namespace antegrad::trace {
namespace {

/// The length in bytes of the character that begins at `at`; 0 if it is not valid UTF-8.
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const auto first = byte(at), second = byte(at + 1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(at + 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool shorter = first == 0xE0 && second < 0xA0, surrogate = first == 0xED && second >= 0xA0;
    return !shorter && !surrogate && follows(at + 1) && follows(at + 2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool shorter = first == 0xF0 && second < 0x90, beyond = first == 0xF4 && second >= 0x90;
    return !shorter && !beyond && follows(at + 1) && follows(at + 2) && follows(at + 3) ? 4 : 0;
  }
  return 0;
}

void append_character(std::string& out, std::string_view text, size_t at, size_t length) {
  const char c = text[at];
  if (length > 1)
    out.append(text.substr(at, length));
  else if (c == '"' || c == '\\')
    (out += '\\') += c;
  else if (c == '\n')
    out += "\\n";
  else if (c == '\t')
    out += "\\t";
  else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
  else
    out += c;
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  const bool cut = text.size() > kMostText;
  if (cut) text = text.substr(0, kMostText);
  out.reserve(out.size() + text.size() + 16);
  out += '"';
  for (size_t at = 0; at < text.size();) {
    const auto length = utf8_length(text, at);
    if (length == 0)
      out += "\xEF\xBF\xBD";
    else
      append_character(out, text, at, length);
    at += length == 0 ? 1 : length;
  }
  if (cut) out += " … (cut)";
  out += '"';
}

void append_value(std::string& out, std::string_view text) { append_string(out, text); }
void append_value(std::string& out, const JsonObject& object) { out += object.text(); }
void append_value(std::string& out, double number) {
  out += std::isfinite(number) ? fmt::format("{}", number) : "null";
}
void append_integer(std::string& out, int64_t number) { out += fmt::format("{}", number); }
void append_boolean(std::string& out, bool flag) { out += flag ? "true" : "false"; }

}  // namespace antegrad::trace
