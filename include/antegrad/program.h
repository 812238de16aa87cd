#pragma once
// Programs that Python has exported: torch.export.save(program, "model.pt2"). docs/programs.md.
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "antegrad/compile.h"
#include "antegrad/export.h"
#include "antegrad/jit.h"
#include "antegrad/options.h"
#include "antegrad/tree.h"

namespace antegrad {

namespace program {
struct ProgramState;
}
namespace detail {
struct ProgramForward;
}

/// Options of load_program().
struct ProgramOptions {
  std::string model;  ///< which of several programs in the file; empty for the only one
};

/// An argument of a program, without the tuples, lists and dictionaries it may be in.
struct ProgramInput {
  std::string name;  ///< as Python has it: "x", "lst[0]", "batch['ids']"
  std::string type;  ///< "f32[s0, 3]", "int", or the constant that it was at export
};

/// A program of torch.export with its parameters, buffers and constants, which are ordinary tensors. Copies
/// share everything. A call runs it op by op, with autograd; compile() makes it fast. Calls may run in
/// several threads; share_state() and load_state() must not run at the same time as others.
class Program {
 public:
  /// Calls the program with arguments and keywords as Python takes them, or with all tensors and numbers in
  /// them one by one. Throws Error(InvalidArgument) for arguments that the program was not exported for.
  c10::IValue operator()(const std::vector<c10::IValue>& arguments,
                         const std::map<std::string, c10::IValue>& keywords = {}) const;

  std::vector<at::Tensor> parameters() const;  ///< each once, for optimizers
  NamedTensors named_parameters() const;       ///< tied ones under each of their names
  NamedTensors named_buffers() const;          ///< those that Python does not save, too
  NamedTensors named_constants() const;        ///< tensors that the program only reads

  std::vector<ProgramInput> inputs() const;        ///< what a call takes, in order
  std::vector<DynamicSize> dynamic_sizes() const;  ///< sizes that may change, with their ranges
  /// Arguments of the sizes that the program was exported for: tensors of zeros, and numbers as they were.
  std::vector<c10::IValue> example() const;
  std::vector<std::string> warnings() const;  ///< what is odd about the program
  std::string text() const;                   ///< the program in readable form

  /// Uses the tensors of another program under the same names instead of its own, so that a program for
  /// training and one for evaluation have one state. Names that the other does not have keep their tensors.
  /// Throws Error(InvalidArgument) if a tensor is of another type, or no name is the same.
  void share_state(const Program& other);

  /// Writes the program as it was loaded, with the present parameters and buffers, so that Python's
  /// torch.export.load() reads it. Throws Error(Io).
  void save(const std::string& path) const;
  /// Copies parameters and persistent buffers from a safetensors file (".safetensors") or a state_dict that
  /// torch.save() has written. All of them must be there, of the same types. Throws Error(Io), Error(Parse),
  /// Error(InvalidArgument).
  void load_state(const std::string& path) const;
  /// Writes parameters and persistent buffers to such a file. Throws Error(Io).
  void save_state(const std::string& path) const;

 private:
  friend Program load_program(const std::string& path, const ProgramOptions& options);
  friend struct Tree<Program>;
  friend class CompiledProgram;
  friend struct detail::ProgramForward;
  explicit Program(std::shared_ptr<program::ProgramState> state) : state_(std::move(state)) {}
  std::vector<c10::IValue> leaves_of(const std::vector<c10::IValue>& arguments,
                                     const std::map<std::string, c10::IValue>& keywords) const;
  Options with_sizes(Options options) const;

  std::shared_ptr<program::ProgramState> state_;
};

/// Reads a program that torch.export.save() has written. The file is not trusted: nothing in it is executed
/// while it is read. Throws Error(Io), Error(Parse), Error(UnsupportedOp) with the node and its line of
/// Python, Error(UnsupportedTensor), Error(UnsupportedArgument).
Program load_program(const std::string& path, const ProgramOptions& options = {});

/// Programs are compared by their identity and that of their tensors.
template <>
struct Tree<Program> {
  static void flatten(const Program& program, Leaves& leaves);
  static Program rebuild(const Program& like, LeafReader&) { return like; }
};

namespace detail {
struct ProgramForward {
  c10::IValue operator()(const Program& program, const std::vector<c10::IValue>& leaves) const;
  /// The program, called with other tensors for some of its parameters.
  static c10::IValue with_parameters(const Program& program, const std::vector<c10::IValue>& arguments,
                                     const std::map<std::string, at::Tensor>& parameters);
};
}  // namespace detail

/// A program that runs captured graphs.
class CompiledProgram {
 public:
  /// Equivalent to compile(program, options).
  CompiledProgram(Program program, Options options)
      : program_(std::move(program)),
        forward_(detail::ProgramForward{}, program_.with_sizes(std::move(options))) {}

  /// Calls the program with these arguments; each may be anything that converts to c10::IValue.
  template <class... Args>
  c10::IValue operator()(const Args&... args) const {
    return call({c10::IValue(args)...});
  }
  /// Calls the program with arguments and keywords: see Program::operator().
  c10::IValue call(const std::vector<c10::IValue>& arguments,
                   const std::map<std::string, c10::IValue>& keywords = {}) const {
    return forward_(program_, program_.leaves_of(arguments, keywords));
  }
  /// Explains what such a call runs: see Compiled::explain.
  Explanation explain(const std::vector<c10::IValue>& arguments,
                      const std::map<std::string, c10::IValue>& keywords = {}) const {
    return forward_.explain(program_, program_.leaves_of(arguments, keywords));
  }

  const Program& program() const { return program_; }             ///< what was compiled
  Report report() const { return forward_.report(); }             ///< see Compiled::report
  std::string graph() const { return forward_.graph(); }          ///< see Compiled::graph
  std::string signature() const { return forward_.signature(); }  ///< see Compiled::signature
  /// See Compiled::core.
  const std::shared_ptr<detail::Function>& core() const { return forward_.core(); }

 private:
  Program program_;
  Compiled<detail::ProgramForward> forward_;
};

/// Compiles a program. Its dynamic sizes are symbols from the first call on.
inline CompiledProgram compile(Program program, Options options = {}) {
  return {std::move(program), std::move(options)};
}

namespace detail {
void save_function(const Options& options, const Leaves& example, const RunForExport& run, bool single,
                   const std::string& path);
}  // namespace detail

/// Writes a function as a program of torch.export, which Python's torch.export.load() and load_program()
/// read. Arguments and results are its tensors, one by one; everything else about the example is a constant
/// of the program. Options::dynamic_sizes become symbols with their ranges, other sizes are those of the
/// example. Tensors of watched modules are parameters and buffers under their names, other captured tensors
/// are `lifted0` and so on. The program is run and compared with the function, with its gradients. Under
/// torch::NoGradGuard there are none: no parameter of the program needs one. Throws Error(Io), what captures
/// and exports throw, Error(UnsupportedOp) for what the file cannot express.
template <class F, class... Args>
void save_program(const Compiled<F>& compiled, const std::string& path, const Args&... example) {
  Leaves leaves;
  (flatten(example, leaves), ...);
  using Result = std::remove_cvref_t<std::invoke_result_t<F&, Args&...>>;
  detail::with_run_for_export(
      compiled.function(),
      [&](const detail::RunForExport& run) {
        detail::save_function(compiled.options(), leaves, run, std::is_same_v<Result, at::Tensor>, path);
      },
      example...);
}

}  // namespace antegrad
