#pragma once
#include <functional>
#include <optional>

#include "fuzz/dynamic_program.h"
#include "fuzz/rng.h"

namespace antegrad::fuzz {

/// The variables of a program under construction, computed at a few probes (assignments of the symbols).
/// Choices depend only on properties that are the same at all probes.
class DynamicScope {
 public:
  using Accept = std::function<bool(int variable)>;

  explicit DynamicScope(uint64_t seed);

  Rng& rng() { return rng_; }
  DynamicProgram& program() { return program_; }
  size_t symbols() const { return multiples_.size(); }
  int64_t multiple(size_t symbol) const { return multiples_[symbol]; }
  int variables() const { return static_cast<int>(program_.steps.size()); }

  int64_t rank(int variable) const { return at(variable).dim(); }
  bool exact(int variable) const { return exact_[static_cast<size_t>(variable)]; }
  bool same(int a, int64_t dim, int b, int64_t other) const;  ///< equal sizes at all probes
  std::optional<int64_t> fixed(int variable, int64_t dim) const;
  std::optional<SizeForm> form(int variable, int64_t dim) const;  ///< empty if it is no such form
  bool broadcasts(int a, int b) const;

  /// Returns a floating-point variable that `accept` accepts, preferring recent ones, or -1 if there is none.
  int pick(const Accept& accept);
  int pick(int64_t least_rank, int64_t most_rank, bool only_exact);

  /// Adds an input of random sizes.
  int add_input();
  int add_input(std::vector<SizeForm> sizes);
  int add_indices(std::vector<SizeForm> sizes, int64_t bound);

  /// Adds the step if it runs at all probes with results of one rank and at most a few thousand elements.
  bool try_add(DynamicStep step);
  /// Drops inputs that were added for a rejected step.
  void shrink_to(size_t variables);

 private:
  const at::Tensor& at(int variable, size_t probe = 0) const {
    return values_[probe][static_cast<size_t>(variable)];
  }
  bool usable(const Tensors& results) const;
  void choose_symbols();
  SizeForm random_size();
  SizeForm random_symbol();
  int add(DynamicInput input);
  void compute_anew();

  Rng rng_;
  DynamicProgram program_;
  Ints multiples_;  ///< each symbol is a multiple of this
  std::vector<Assignment> probes_;
  std::vector<Tensors> values_;  ///< one entry per probe
  std::vector<bool> exact_;
};

struct DynamicOp {
  std::string name;
  /// Fills args and ints; returns false if nothing fits.
  std::function<bool(DynamicScope&, DynamicStep&)> propose;
  std::function<at::Tensor(const Tensors& args, const Ints& ints)> apply;
  bool kinks = false;   ///< amplifies small errors, so operands must not have been rounded
  bool moves = false;   ///< results are elements of the operands, or whole numbers
  bool writes = false;  ///< writes to an operand
  bool counts = false;  ///< reads only the sizes of its operands

  DynamicOp& with_kinks() {
    kinks = true;
    return *this;
  }
  DynamicOp& that_moves() {
    moves = true;
    return *this;
  }
  DynamicOp& that_counts() {
    counts = true;
    return *this;
  }
  DynamicOp& that_writes() {
    writes = true;
    return *this;
  }
};

/// The generator picks a theme first, then one of its ops.
using DynamicTheme = std::vector<DynamicOp>;

const DynamicTheme& dynamic_unary_ops();
const DynamicTheme& dynamic_binary_ops();
const DynamicTheme& dynamic_scalar_ops();  ///< numbers computed from sizes
const DynamicTheme& dynamic_branches();    ///< branches on sizes
const DynamicTheme& dynamic_views();
const DynamicTheme& dynamic_parts();  ///< slices, concatenations, paddings
const DynamicTheme& dynamic_reductions();
const DynamicTheme& dynamic_products();  ///< matrix products, convolutions, pooling
const DynamicTheme& dynamic_factories();
const DynamicTheme& dynamic_indexing();
const DynamicTheme& dynamic_writes();        ///< writes to tensors that the op made
const DynamicTheme& dynamic_outer_writes();  ///< writes to variables

using OfOne = std::function<at::Tensor(const at::Tensor& x, const Ints& ints)>;
using OfTwo = std::function<at::Tensor(const at::Tensor& x, const at::Tensor& y, const Ints& ints)>;

/// `ints` holds two dims of x that may be the same (0 if x has none), and three numbers below 6.
DynamicOp of_one(const char* name, int64_t least_rank, OfOne apply);
/// The same with a second operand that broadcasts with the first.
DynamicOp of_two(const char* name, OfTwo apply);
/// Returns such ints for x = args[0].
Ints dynamic_ints(DynamicScope& scope, const DynamicStep& step);
/// The sum of the means of all operands.
const DynamicOp& dynamic_loss();

}  // namespace antegrad::fuzz
