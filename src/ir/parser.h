#pragma once
// The recursive-descent parser behind parse() and parse_dim(), in three files: graphs, arguments and types,
// dims.
#include <map>

#include "ir/graph.h"
#include "ir/lexer.h"

namespace antegrad::ir {

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  Graph graph();
  Dim dim();
  void end();

 private:
  /// Limits nesting, so that hostile text causes an error and not a stack overflow.
  class Nesting {
   public:
    explicit Nesting(Parser& parser);
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  /// The graph being read, and the ids of its values by their number in the text.
  struct Scope {
    Graph graph;
    std::map<int64_t, ValueId> ids;
    int32_t readable = 0;  ///< values from here on are outputs of the node being read
  };

  // graphs
  void symbols(Scope& scope);
  void input(Scope& scope);
  void node(Scope& scope);
  void output(Scope& scope);
  void node_outputs(Scope& scope, Node& node);
  void node_arguments(Scope& scope, Node& node);
  void node_suffixes(Scope& scope, Node& node);
  void strip_copies(Node& node, const Token& at);
  ValueId definition(Scope& scope);
  ValueId use(Scope& scope, bool as_base);

  // arguments and types
  Arg arg(Scope& scope);
  Arg word_arg();
  Arg::List list(Scope& scope);
  std::complex<double> complex();
  Real real(Real::Form form);
  double number();
  Bytes bytes();
  Device device();
  Type type();
  TensorType tensor(DType dtype);
  std::vector<Dim> dims(std::string_view close);

  // dims
  bool at_dim() const;
  Dim sum();
  Dim product(bool negative);
  Dim power();
  Dim atom();
  std::vector<Dim> operands();

  // tokens
  const Token& current() const { return lexer_.current(); }
  bool accept(std::string_view spelling);
  void expect(std::string_view spelling);
  Token expect(Token::Kind kind, std::string_view what);
  std::string optional_string();
  int64_t integer(std::string_view what);  ///< with an optional sign
  int64_t integer_of(const Token& token, std::string_view digits, bool negative) const;
  int32_t small_integer(std::string_view what);

  Lexer lexer_;
  int depth_ = 0;
};

}  // namespace antegrad::ir
