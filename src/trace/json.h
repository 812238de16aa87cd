#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace antegrad::trace {

class JsonObject;

/// Appends a JSON string: quoted, escaped, on one line. Invalid UTF-8 is replaced, and text longer than
/// kMostText is truncated.
void append_string(std::string& out, std::string_view text);
constexpr size_t kMostText = 4u << 20;

void append_value(std::string& out, std::string_view text);
void append_value(std::string& out, const JsonObject& object);
void append_value(std::string& out, double number);  ///< null for NaN and infinities
void append_integer(std::string& out, int64_t number);
void append_boolean(std::string& out, bool flag);
template <std::same_as<bool> T>
void append_value(std::string& out, T flag) {
  append_boolean(out, flag);
}
template <std::integral T>
requires(!std::same_as<T, bool>) void append_value(std::string& out, T number) {
  append_integer(out, static_cast<int64_t>(number));
}
template <class T>
void append_value(std::string& out, const std::vector<T>& list) {
  out += '[';
  for (size_t i = 0; i < list.size(); ++i) {
    if (i != 0) out += ',';
    append_value(out, list[i]);
  }
  out += ']';
}

/// A JSON object, built field by field.
class JsonObject {
 public:
  template <class T>
  JsonObject& add(std::string_view name, const T& value) {
    text_ += text_.empty() ? '{' : ',';
    append_string(text_, name);
    text_ += ':';
    append_value(text_, value);
    return *this;
  }
  std::string text() const { return text_.empty() ? "{}" : text_ + '}'; }

 private:
  std::string text_;  ///< without the closing brace
};

}  // namespace antegrad::trace
