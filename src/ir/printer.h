#pragma once
// The parts of the printer that print() and the verifier share.
#include <string>

#include "ir/numbering.h"

namespace antegrad::ir {

/// Writes graph text. With a numbering, values are printed with their dense numbers; without one, with their
/// ids.
class Printer {
 public:
  Printer(const Graph& graph, const Numbering* numbering, bool one_line)
      : graph_(graph), numbering_(numbering), one_line_(one_line) {}

  void graph(std::string& out, int indent) const;
  void header(std::string& out) const;
  void input(std::string& out, const Input& input) const;
  void node(std::string& out, const Node& node, int indent) const;
  void output(std::string& out, const Output& output) const;

 private:
  void value(std::string& out, ValueId id) const;
  void definition(std::string& out, ValueId id) const;
  void definitions(std::string& out, const Node& node) const;
  void arg(std::string& out, const Arg& arg, int indent) const;
  void suffixes(std::string& out, const Node& node) const;
  void line(std::string& out, int indent) const;  ///< starts a new line

  const Graph& graph_;
  const Numbering* numbering_;
  bool one_line_;
};

void print_type(std::string& out, const Type& type);
void print_string(std::string& out, std::string_view text);
void print_double(std::string& out, double value);

bool is_identifier(std::string_view text);  ///< [A-Za-z_][A-Za-z0-9_]*
bool is_op_name(
    std::string_view text);  ///< an identifier and one or more parts [A-Za-z0-9_]+, separated by dots

}  // namespace antegrad::ir
