#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace antegrad::ir {

struct Token {
  enum class Kind : uint8_t {
    End,
    Word,    ///< an identifier, or several joined by dots: graph, s0, aten.add.Tensor
    Int,     ///< digits
    Float,   ///< digits with a decimal point or an exponent
    String,  ///< "…", including quotes and escapes
    Bytes,   ///< x"…"
    Value,   ///< %12
    DotDot,  ///< ..
    Symbol,  ///< any other single character
  };
  Kind kind = Kind::End;
  std::string_view text;
  int64_t line = 1, column = 1;

  bool is(std::string_view spelling) const {
    return (kind == Kind::Word || kind == Kind::Symbol || kind == Kind::DotDot) && text == spelling;
  }
};

/// Splits graph text into tokens, with one token of lookahead. Comments go from # to the end of the line.
/// Throws Error(Parse).
class Lexer {
 public:
  explicit Lexer(std::string_view text);

  const Token& current() const { return current_; }
  const Token& next() const { return next_; }  ///< the token after the current one
  Token take();                                ///< returns the current token and advances

 private:
  Token scan();
  void skip_blanks();
  size_t scan_number(size_t at, Token::Kind& kind) const;
  size_t scan_quoted(size_t at, const Token& start) const;
  size_t scan_word(size_t at) const;
  char char_at(size_t at) const { return at < text_.size() ? text_[at] : '\0'; }

  std::string_view text_;
  size_t position_ = 0;
  int64_t line_ = 1;
  size_t line_start_ = 0;
  Token current_, next_;
};

[[noreturn]] void throw_parse_error(const Token& at, std::string_view fact);
[[noreturn]] void throw_expected(std::string_view expected, const Token& found);

/// Returns the contents of a String token.
std::string unescape(const Token& token);

}  // namespace antegrad::ir
