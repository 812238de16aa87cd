#pragma once
#include <fmt/format.h>

#include <string>

namespace antegrad::codegen {

/// Writes lines of C, indented by nesting.
class Writer {
 public:
  explicit Writer(int depth = 0) : depth_(depth) {}

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_.append(2 * depth_, ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }
  /// Writes a line that ends with an opening brace and indents what follows.
  template <class... Args>
  void open(fmt::format_string<Args...> format, Args&&... args) {
    line(format, std::forward<Args>(args)...);
    ++depth_;
  }
  void close() { close_with(""); }
  void close_with(std::string_view after) {
    --depth_;
    line("}}{}", after);
  }
  void pragma(std::string_view text) { text_ += fmt::format("#pragma {}\n", text); }
  void append(std::string_view text) { text_ += text; }
  /// Writes a comment of one or more lines.
  void comment(std::string_view text);

  const std::string& text() const { return text_; }

 private:
  int depth_;
  std::string text_;
};

}  // namespace antegrad::codegen
