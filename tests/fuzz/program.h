#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

/// Random programs over LibTorch tensors: plain data that can be generated, interpreted, printed and shrunk.
namespace antegrad::fuzz {

struct Op;  // op.h
using Tensors = std::vector<at::Tensor>;
using Sizes = std::vector<int64_t>;

/// Denotes an undefined tensor in Program::outputs.
inline constexpr int kUndefined = -1;

/// How a tensor is created relative to TensorSpec::base.
enum class Link {
  Fresh,   ///< owns a storage
  View,    ///< as_strided of the base: shares storage and version counter, and is a view
  Detach,  ///< the same through detach(): shares storage and version counter, and is no view
  Data,    ///< the same through variable_data(): shares the storage only
  Same,    ///< the very same tensor
};

/// An input, or a tensor that the function captures.
struct TensorSpec {
  int var = 0;
  bool captured = false;  ///< captured tensors precede the inputs, so that an input may be a view of one
  Link link = Link::Fresh;
  int base = kUndefined;
  at::ScalarType dtype = at::kFloat;
  Sizes sizes;
  Sizes strides;
  int64_t offset = 0;
  int64_t storage_numel = 0;  ///< for Fresh only; a tensor that does not cover its storage is a view of it
                              ///< unless it requires grad
  bool requires_grad = false;
  bool non_leaf = false;  ///< for Fresh only: computed from a leaf that requires grad
  bool whole_numbers = true;
  bool awkward = false;  ///< some elements are from awkward_numbers()
  uint64_t value_seed = 0;
};

/// The grad mode in which a statement runs.
enum class GradMode {
  Outer,        ///< that of the caller
  Off,          ///< in a NoGradGuard
  OnWithinOff,  ///< switched on again in a NoGradGuard
  On,
};

/// results = op(args, ints, numbers). The op defines the meaning of ints and numbers. In-place ops have no
/// results.
struct Statement {
  const Op* op = nullptr;
  std::vector<int> args;
  Sizes ints;
  std::vector<double> numbers;
  std::vector<int> results;
  GradMode grad_mode = GradMode::Outer;
  bool kept = false;  ///< runs in the first call only; later calls use its results
};

/// The results of kept statements in the first call, by statement: what a module caches on first use.
using Kept = std::map<size_t, Tensors>;

/// One use of the gradients after a call. The seed decides for each root, tangent and leaf separately whether
/// it takes part, so that a smaller program keeps the choices of the larger one.
struct Derivative {
  enum class Kind {
    Backward,  ///< accumulates into .grad
    Retain,    ///< the same with retain_graph
    Subset,    ///< torch::autograd::grad with respect to some leaves and inputs
    Second,    ///< create_graph, and the gradients of a weighted sum of the gradients
    Disturb,   ///< no derivative: modifies in place some tensors that later ones may need
  };
  Kind kind = Kind::Backward;
  uint64_t seed = 0;
};

/// Variables keep their numbers: a removed statement leaves a gap.
struct Program {
  uint64_t seed = 0;
  std::vector<TensorSpec> tensors;
  std::vector<Statement> statements;
  std::vector<int> outputs;
  bool called_without_grad = false;
  std::vector<Derivative> derivatives;  ///< requested after each call
};

/// Enables statements one kind at a time. All others are always generated.
struct GeneratorConfig {
  bool transpose_inplace = false;  ///< t_, transpose_
  bool squeeze_inplace = false;    ///< squeeze_
  bool unsqueeze_inplace = false;  ///< unsqueeze_
  bool resize_inplace = false;     ///< resize_
  bool set_inplace = false;        ///< set_ to another variable
  bool view_dtype = true;          ///< view(dtype), view_as_real
  bool separate_versions = true;   ///< Link::Data
  bool requires_grad = true;  ///< inputs and captured tensors that require grad (calls run without grad mode)
  bool gradients = false;     ///< programs for check_gradients(): calls run in grad mode, on doubles mostly
  bool awkward_numbers = false;  ///< NaN, 0.1, 65520 and the like, as scalars and in tensors; half precision
  bool keeps_results = false;    ///< the function keeps some results of its first call, see Statement::kept
  bool writes_kept = true;       ///< writes in place to results that are kept
  bool keeps_operands = true;    ///< keeps results that are their op's operand, or share memory with it
  int min_statements = 3;
  int max_statements = 25;
};

/// Generates a program that runs in eager without errors and without order-dependent writes. Depends only on
/// its arguments.
Program generate(uint64_t seed, const GeneratorConfig& config = {});

/// The tensors that a program runs on. Worlds of one program are equal and share nothing.
struct World {
  Tensors inputs;
  Tensors captured;
  Tensors leaves;  ///< from which inputs and captured tensors were computed
};
World make_world(const Program& program);
/// Makes inputs as in make_world(), with other values, for the captured tensors in their current state.
/// Appends the leaves that the inputs are computed from to `leaves`.
Tensors make_inputs(const Program& program, const Tensors& captured, uint64_t salt,
                    Tensors* leaves = nullptr);

/// Returns the program with inputs that share no storage with each other or with captured tensors.
Program with_separate_inputs(const Program& program);
/// Returns the number of elements from the start of the storage up to the last one that the geometry reaches.
int64_t extent_of(const TensorSpec& spec);

enum class RunMode {
  Plain,    ///< calls ATen only and never reads data, so it can be captured
  Checked,  ///< throws Hazard before a statement whose result depends on the order of memory accesses
};
/// While it lives, programs that this thread runs read some of their tensors on the host, after some of their
/// statements: graph breaks.
class ReadsBetween {
 public:
  ReadsBetween();
  ~ReadsBetween();
  ReadsBetween(const ReadsBetween&) = delete;
  ReadsBetween& operator=(const ReadsBetween&) = delete;
};
struct Hazard : std::runtime_error {
  using std::runtime_error::runtime_error;
};
Tensors apply(const Statement& statement, const Tensors& args, RunMode mode);
/// Throws std::out_of_range for a variable that no remaining statement defines.
Tensors run(const Program& program, const Tensors& inputs, const Tensors& captured,
            RunMode mode = RunMode::Plain, Kept* kept = nullptr);

/// Signed zeros, numbers that half types cannot hold, NaN and infinities.
const std::vector<double>& awkward_numbers();

/// Whether some element has two indices.
bool overlaps_itself(const at::Tensor& tensor);

/// "[2, 3]"
std::string to_string(const Sizes& sizes);

/// Prints pseudo C++ for readers, with the seed to reproduce the program.
std::string to_string(const Program& program);

}  // namespace antegrad::fuzz
