#include <fmt/format.h>

#include <array>
#include <charconv>

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/text.h"

namespace antegrad::ir {
namespace {

constexpr int kMaxNesting = 64;

/// Returns the enumerator whose name() the token spells.
template <class Enum>
Enum enumerator(const Token& token, Enum last, std::string_view what) {
  for (int i = 0; i <= static_cast<int>(last); ++i)
    if (token.is(name(static_cast<Enum>(i)))) return static_cast<Enum>(i);
  throw_expected(what, token);
}

}  // namespace

Parser::Nesting::Nesting(Parser& parser) : parser_(parser) {
  if (parser.depth_ >= kMaxNesting)
    throw_parse_error(parser.current(), fmt::format("nested more than {} levels deep", kMaxNesting));
  ++parser.depth_;
}

bool Parser::accept(std::string_view spelling) {
  if (!current().is(spelling)) return false;
  lexer_.take();
  return true;
}

void Parser::expect(std::string_view spelling) {
  if (!accept(spelling)) throw_expected(fmt::format("\"{}\"", spelling), current());
}

Token Parser::expect(Token::Kind kind, std::string_view what) {
  if (current().kind != kind) throw_expected(what, current());
  return lexer_.take();
}

std::string Parser::optional_string() {
  return current().kind == Token::Kind::String ? unescape(lexer_.take()) : std::string();
}

int64_t Parser::integer_of(const Token& token, std::string_view digits, bool negative) const {
  uint64_t magnitude = 0;
  const auto [rest, status] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
  const uint64_t limit = static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) + (negative ? 1 : 0);
  if (status != std::errc() || rest != digits.data() + digits.size() || magnitude > limit)
    throw_parse_error(token, "an integer does not fit 64 bits");
  return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

int64_t Parser::integer(std::string_view what) {
  const bool negative = accept("-");
  const Token token = expect(Token::Kind::Int, what);
  return integer_of(token, token.text, negative);
}

int32_t Parser::small_integer(std::string_view what) {
  const Token start = current();
  const int64_t value = integer(what);
  if (value < 0 || value > std::numeric_limits<int32_t>::max()) throw_expected(what, start);
  return static_cast<int32_t>(value);
}

ValueId Parser::use(Scope& scope, bool as_base) {
  const Token token = expect(Token::Kind::Value, "a value");
  const auto found = scope.ids.find(integer_of(token, token.text.substr(1), false));
  if (found == scope.ids.end() || (!as_base && found->second.index >= scope.readable))
    throw_parse_error(token, fmt::format("{} is not defined before its use", token.text));
  return found->second;
}

ValueId Parser::definition(Scope& scope) {
  const Token token = expect(Token::Kind::Value, "a value");
  expect(":");
  Type type = this->type();
  const ValueId base = accept("&") ? use(scope, true) : ValueId{};
  const ValueId id = scope.graph.add_value(std::move(type), base);
  if (!scope.ids.emplace(integer_of(token, token.text.substr(1), false), id).second)
    throw_parse_error(token, fmt::format("{} is defined twice", token.text));
  return id;
}

void Parser::symbols(Scope& scope) {
  if (!accept("[")) return;
  do {
    expect("s" + std::to_string(scope.graph.symbols.size()));
    expect(":");
    Symbol symbol;
    auto& range = symbol.range;
    if (!current().is("..")) range.lower = integer("a lower bound");
    expect("..");
    if (current().kind == Token::Kind::Int || current().is("-")) range.upper = integer("an upper bound");
    if (accept("~")) symbol.hint = integer("a likely value");
    scope.graph.symbols.push_back(symbol);
  } while (accept(","));
  expect("]");
}

void Parser::input(Scope& scope) {
  const ValueId id = definition(scope);
  scope.readable = static_cast<int32_t>(scope.graph.values.size());
  const auto role = enumerator(lexer_.take(), InputRole::Token, "the role of an input");
  scope.graph.inputs.push_back({id, role, optional_string()});
}

void Parser::output(Scope& scope) {
  Output out;
  if (!accept("none")) out.value = use(scope, false);
  out.role = enumerator(lexer_.take(), OutputRole::Token, "the role of an output");
  if (current().kind == Token::Kind::Int) out.target = small_integer("the index of an input");
  out.name = optional_string();
  scope.graph.outputs.push_back(std::move(out));
}

void Parser::node_outputs(Scope& scope, Node& node) {
  bool any_list = false;
  do {
    int32_t count = -1;
    if (accept("[")) {
      any_list = true;
      count = 0;
      while (!current().is("]")) {
        if (count++ > 0) expect(",");
        node.outputs.push_back(definition(scope));
      }
      expect("]");
    } else {
      node.outputs.push_back(definition(scope));
    }
    node.returns.push_back(count);
  } while (accept(","));
  if (!any_list) node.returns.clear();
  expect("=");
}

/// In the text, the copies that a functional node writes to follow its own outputs; `returns` does not
/// include them.
void Parser::strip_copies(Node& node, const Token& at) {
  if (!node.functional || node.returns.empty()) return;
  for (size_t i = 0; i < node.effects.writes.size(); ++i) {
    if (node.returns.empty() || node.returns.back() != -1)
      throw_parse_error(at, "a functional node has no plain output for each value it writes");
    node.returns.pop_back();
  }
  for (const int32_t count : node.returns)
    if (count >= 0) return;
  node.returns.clear();
}

void Parser::node_arguments(Scope& scope, Node& node) {
  expect("(");
  if (accept(")")) return;
  do {
    const bool named = lexer_.next().is("=");
    if (!named) {
      if (!node.attrs.empty()) throw_expected("a keyword argument", current());
      node.args.push_back(arg(scope));
      continue;
    }
    NamedArg attr;
    if (current().kind == Token::Kind::String) {
      attr.name = unescape(lexer_.take());
    } else {
      const Token word = expect(Token::Kind::Word, "the name of an argument");
      if (!is_identifier(word.text)) throw_expected("the name of an argument", word);
      attr.name = word.text;
    }
    expect("=");
    attr.value = arg(scope);
    node.attrs.push_back(std::move(attr));
  } while (accept(","));
  expect(")");
}

void Parser::node_suffixes(Scope& scope, Node& node) {
  if (accept("writes")) {
    expect("(");
    do node.effects.writes.push_back(use(scope, false));
    while (accept(","));
    expect(")");
  }
  node.effects.random = accept("random");
  node.effects.ordered = accept("ordered");
  if (node.effects.ordered && accept("(")) {
    node.effects.resource = unescape(expect(Token::Kind::String, "a resource"));
    expect(")");
  }
  if (accept("at")) node.provenance.scope = unescape(expect(Token::Kind::String, "a scope"));
  if (accept("seq")) node.provenance.sequence = integer("a sequence number");
  node.provenance.backward = accept("backward");
  if (accept("for")) node.provenance.roots = static_cast<uint64_t>(integer("the tangents, as bits"));
}

void Parser::node(Scope& scope) {
  const Token start = current();
  Node node;
  if (current().kind == Token::Kind::Value || current().is("[")) node_outputs(scope, node);
  node.functional = accept("functional");
  if (accept("op")) {
    node.op = unescape(expect(Token::Kind::String, "the name of an op"));
  } else {
    const Token op = expect(Token::Kind::Word, "the name of an op");
    if (!is_op_name(op.text)) throw_expected("the name of an op", op);
    node.op = op.text;
  }
  node_arguments(scope, node);
  node_suffixes(scope, node);
  strip_copies(node, start);
  scope.readable = static_cast<int32_t>(scope.graph.values.size());
  scope.graph.nodes.push_back(std::move(node));
}

Graph Parser::graph() {
  const Nesting nesting(*this);
  Scope scope;
  expect("graph");
  expect("@");
  scope.graph.name = current().kind == Token::Kind::String
                         ? unescape(lexer_.take())
                         : std::string(expect(Token::Kind::Word, "a name").text);
  scope.graph.stage = enumerator(lexer_.take(), Stage::Lowered, "a stage");
  symbols(scope);
  expect("{");
  while (accept("in")) input(scope);
  while (!current().is("out") && !current().is("}")) node(scope);
  while (accept("out")) output(scope);
  expect("}");
  return std::move(scope.graph);
}

void Parser::end() {
  if (current().kind != Token::Kind::End) throw_expected("the end of the text", current());
}

Graph parse(std::string_view text) {
  Parser parser(text);
  Graph out = parser.graph();
  parser.end();
  return out;
}

}  // namespace antegrad::ir
