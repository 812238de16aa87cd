#pragma once
#include <map>
#include <string>
#include <vector>

#include "program/graph.h"
#include "program/state.h"
#include "program/tree_spec.h"

namespace antegrad::program {

/// A condition on sizes of arguments.
struct Guard {
  std::string text;
  Expression expression;
};

/// An argument without structure: a tensor, a number, or a constant that is baked into the program.
struct Leaf {
  std::string name;  ///< as Python has it: "x", "lst[0]"
  size_t input = 0;  ///< position among the graph's inputs
  bool tensor = false;
  bool baked = false;
};

/// Everything that a file says about one program.
struct ProgramData {
  std::string file, model, torch_version;
  Graph graph;
  std::vector<InputSpec> inputs;           ///< one per input of the graph
  std::vector<OutputSpec> outputs;         ///< one per output of the graph
  std::map<size_t, TensorInput> tensors;   ///< the user's, by position among the graph's inputs
  std::map<size_t, Expression> numbers;    ///< likewise: whole numbers that are symbols
  std::map<size_t, int64_t> number_hints;  ///< what they were at export
  TreeSpec positional, keywords, result;
  std::vector<std::string> argument_names;  ///< of positional arguments, then of keywords
  std::vector<Leaf> leaves;                 ///< of positional arguments, then of keywords
  std::map<std::string, Range> symbols;
  std::vector<Guard> guards;
  State state;
  std::map<std::string, std::string> records;  ///< of the file, without tensors: what save() writes again
  std::vector<std::string> warnings;
};

/// Reads the program `model` of an archive; an empty name means the only one. Throws Error(Io), Error(Parse),
/// Error(UnsupportedOp), Error(UnsupportedTensor), Error(UnsupportedArgument).
ProgramData read_program(const ZipFile& file, const std::string& model);
/// The argument that a path of a condition leads to: "['x'][0]"; null if there is none.
const Leaf* leaf_of_path(const ProgramData& data, const std::string& path);
/// Names of the programs in an archive.
std::vector<std::string> models_in(const ZipFile& file);

}  // namespace antegrad::program
