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

/// Stands for an undefined tensor in Program::outputs.
inline constexpr int kUndefined = -1;

/// How a tensor comes into the world relative to TensorSpec::base.
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
  bool captured = false;  ///< captured tensors stand before the inputs, so that an input may be a view of one
  Link link = Link::Fresh;
  int base = kUndefined;
  at::ScalarType dtype = at::kFloat;
  Sizes sizes;
  Sizes strides;
  int64_t offset = 0;
  int64_t storage_numel =
      0;  ///< Fresh only; a tensor that does not cover its storage is a view of it unless it requires grad
  bool requires_grad = false;
  bool non_leaf = false;  ///< Fresh only: computed from a leaf that requires grad
  bool whole_numbers = true;
  bool awkward = false;  ///< some numbers are, see awkward_numbers()
  uint64_t value_seed = 0;
};

/// The grad mode in which a statement runs.
enum class GradMode {
  Outer,        ///< that of the caller
  Off,          ///< in a NoGradGuard
  OnWithinOff,  ///< switched on again in a NoGradGuard
  On,
};

/// results = op(args, ints, numbers). What ints and numbers mean is the op's business. In-place ops have no
/// results.
struct Statement {
  const Op* op = nullptr;
  std::vector<int> args;
  Sizes ints;
  std::vector<double> numbers;
  std::vector<int> results;
  GradMode grad_mode = GradMode::Outer;
  bool kept = false;  ///< runs in the first call only; later ones use what it gave
};

/// What statements that are kept gave in the first call, by statement: what a module caches on first use.
using Kept = std::map<size_t, Tensors>;

/// One use of the gradients after a call. Which roots, tangents and leaves take part follows from the seed,
/// for each of them alone, so that a smaller program keeps the choices of the larger one.
struct Derivative {
  enum class Kind {
    Backward,  ///< into .grad
    Retain,    ///< the same with retain_graph
    Subset,    ///< torch::autograd::grad of some leaves and inputs
    Second,    ///< create_graph, and the gradients of the weighted sum of the gradients
    Disturb,   ///< no derivative: some of the tensors that it might need are changed in place
  };
  Kind kind = Kind::Backward;
  uint64_t seed = 0;
};

/// Variables are numbered once; a removed statement leaves a gap.
struct Program {
  uint64_t seed = 0;
  std::vector<TensorSpec> tensors;
  std::vector<Statement> statements;
  std::vector<int> outputs;
  bool called_without_grad = false;
  std::vector<Derivative> derivatives;  ///< what is asked for after each call
};

/// Switches for statements that a compiler learns one by one. All others are always generated.
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
  bool awkward_numbers = false;  ///< NaN, 0.1, 65520 and the like, as numbers and in tensors; half precision
  bool keeps_results = false;    ///< the function keeps some results of its first call, see Statement::kept
  bool writes_kept = true;       ///< writes to results that are kept, in place
  int min_statements = 3;
  int max_statements = 25;
};

/// A program that runs in eager without an error and without order-dependent writes. A function of its
/// arguments.
Program generate(uint64_t seed, const GeneratorConfig& config = {});

/// The tensors a program runs on. Worlds of one program are equal and share nothing.
struct World {
  Tensors inputs;
  Tensors captured;
  Tensors leaves;  ///< that inputs and captured tensors were computed from
};
World make_world(const Program& program);
/// Inputs as in make_world, with other values, beside the captured tensors as they are now. Leaves that they
/// are computed from are appended to `leaves`.
Tensors make_inputs(const Program& program, const Tensors& captured, uint64_t salt,
                    Tensors* leaves = nullptr);

/// The same program with inputs that share no storage, neither with each other nor with captured tensors.
Program with_separate_inputs(const Program& program);
/// Elements from the start of the storage to behind the last one that the geometry reaches.
int64_t extent_of(const TensorSpec& spec);

enum class RunMode {
  Plain,    ///< calls ATen and nothing else; never looks at data, so it can be captured
  Checked,  ///< throws Hazard before a statement whose result depends on the order of memory accesses
};
struct Hazard : std::runtime_error {
  using std::runtime_error::runtime_error;
};
Tensors apply(const Statement& statement, const Tensors& args, RunMode mode);
/// Throws std::out_of_range for a variable that no remaining statement defines.
Tensors run(const Program& program, const Tensors& inputs, const Tensors& captured,
            RunMode mode = RunMode::Plain, Kept* kept = nullptr);

/// Zero with a sign, numbers that short types cannot hold, and numbers that are none.
const std::vector<double>& awkward_numbers();

/// Whether some element is reached by two indices.
bool overlaps_itself(const at::Tensor& tensor);

/// "[2, 3]"
std::string to_string(const Sizes& sizes);

/// Pseudo C++ to read, with the seed to reproduce.
std::string to_string(const Program& program);

}  // namespace antegrad::fuzz
