#include "ir/lexer.h"

#include <fmt/format.h>

#include "antegrad/error.h"
#include "ir/printer.h"

namespace antegrad::ir {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_word_start(c) || is_digit(c); }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string describe(const Token& token) {
  constexpr size_t kShown = 40;
  if (token.kind == Token::Kind::End) return "the end of the text";
  std::string out;
  print_string(out, token.text.substr(0, kShown));
  return token.text.size() > kShown ? out + "..." : out;
}

}  // namespace

void throw_parse_error(const Token& at, std::string_view fact) {
  throw Error(ErrorCode::Parse, "parse", fmt::format("line {}, column {}: {}", at.line, at.column, fact),
              "See docs/graph-text.md for the grammar");
}

void throw_expected(std::string_view expected, const Token& found) {
  throw_parse_error(found, fmt::format("expected {}, found {}", expected, describe(found)));
}

Lexer::Lexer(std::string_view text) : text_(text) {
  current_ = scan();
  next_ = scan();
}

Token Lexer::take() {
  const Token taken = current_;
  current_ = next_;
  next_ = scan();
  return taken;
}

void Lexer::skip_blanks() {
  for (; position_ < text_.size(); ++position_) {
    const char c = text_[position_];
    if (c == '#') {
      const size_t end = text_.find('\n', position_);
      position_ = end == std::string_view::npos ? text_.size() - 1 : end - 1;
    } else if (c == '\n') {
      ++line_;
      line_start_ = position_ + 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

size_t Lexer::scan_number(size_t at, Token::Kind& kind) const {
  kind = Token::Kind::Int;
  while (is_digit(char_at(at))) ++at;
  if (char_at(at) == '.' && char_at(at + 1) != '.') {
    kind = Token::Kind::Float;
    do ++at;
    while (is_digit(char_at(at)));
  }
  if (char_at(at) == 'e') {
    size_t digits = at + 1;
    if (char_at(digits) == '+' || char_at(digits) == '-') ++digits;
    if (is_digit(char_at(digits))) {
      kind = Token::Kind::Float;
      for (at = digits; is_digit(char_at(at));) ++at;
    }
  }
  return at;
}

size_t Lexer::scan_quoted(size_t at, const Token& start) const {
  for (++at; at < text_.size() && text_[at] != '\n'; ++at) {
    if (text_[at] == '"') return at + 1;
    if (text_[at] == '\\') ++at;
  }
  throw_parse_error(start, "expected a closing quote, found the end of the line");
}

size_t Lexer::scan_word(size_t at) const {
  while (is_word(char_at(at)) || (char_at(at) == '.' && is_word(char_at(at + 1)))) ++at;
  return at;
}

Token Lexer::scan() {
  skip_blanks();
  Token token;
  token.line = line_;
  token.column = static_cast<int64_t>(position_ - line_start_) + 1;
  if (position_ >= text_.size()) return token;
  const char c = text_[position_];
  size_t end = position_ + 1;
  token.kind = Token::Kind::Symbol;
  if (c == '"') {
    token.kind = Token::Kind::String;
    end = scan_quoted(position_, token);
  } else if (c == 'x' && char_at(end) == '"') {
    token.kind = Token::Kind::Bytes;
    end = scan_quoted(end, token);
  } else if (is_word_start(c)) {
    token.kind = Token::Kind::Word;
    end = scan_word(position_);
  } else if (is_digit(c)) {
    end = scan_number(position_, token.kind);
  } else if (c == '%' && is_digit(char_at(end))) {
    token.kind = Token::Kind::Value;
    while (is_digit(char_at(end))) ++end;
  } else if (c == '.' && char_at(end) == '.') {
    token.kind = Token::Kind::DotDot;
    ++end;
  }
  token.text = text_.substr(position_, end - position_);
  position_ = end;
  return token;
}

std::string unescape(const Token& token) {
  const std::string_view text = token.text.substr(1, token.text.size() - 2);
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c == 'n') {
      out += '\n';
    } else if (c == 't') {
      out += '\t';
    } else if (c == '"' || c == '\\') {
      out += c;
    } else {
      const int high = c == 'x' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
      if (low < 0)
        throw_parse_error(token, "a string holds an escape other than \\n, \\t, \\\", \\\\ and \\xhh");
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

}  // namespace antegrad::ir
