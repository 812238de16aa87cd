#pragma once
#include <functional>
#include <optional>

#include "fuzz/dynamic_program.h"
#include "fuzz/rng.h"

namespace antegrad::fuzz {

/// The variables of a program in the making, at a few probes: assignments of the symbols. What is chosen
/// depends only on what is the same at all of them.
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
  bool same(int a, int64_t dim, int b, int64_t other) const;  ///< sizes are equal everywhere
  std::optional<int64_t> fixed(int variable, int64_t dim) const;
  std::optional<SizeForm> form(int variable, int64_t dim) const;  ///< nothing: it is none of a symbol
  bool broadcasts(int a, int b) const;

  /// A variable of numbers that is accepted, recent ones more often; -1: there is none.
  int pick(const Accept& accept);
  int pick(int64_t least_rank, int64_t most_rank, bool only_exact);

  /// Of a random kind.
  int add_input();
  int add_input(std::vector<SizeForm> sizes);
  int add_indices(std::vector<SizeForm> sizes, int64_t bound);

  /// Whether the step runs at all probes with results of one rank, of no more than a few thousand numbers.
  bool try_add(DynamicStep step);
  /// Forgets inputs that were added for a step that was refused.
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
  Ints multiples_;  ///< of what each symbol is a multiple
  std::vector<Assignment> probes_;
  std::vector<Tensors> values_;  ///< per probe
  std::vector<bool> exact_;
};

struct DynamicOp {
  std::string name;
  /// Fills args and ints; false when there is nothing that fits.
  std::function<bool(DynamicScope&, DynamicStep&)> propose;
  std::function<at::Tensor(const Tensors& args, const Ints& ints)> apply;
  bool kinks = false;   ///< takes only operands that were not rounded: a small error makes a large one
  bool moves = false;   ///< results are numbers of the operands, or whole
  bool writes = false;  ///< to an operand
  bool counts = false;  ///< reads nothing but sizes

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

/// A theme is picked first, then one of its ops.
using DynamicTheme = std::vector<DynamicOp>;

const DynamicTheme& dynamic_unary_ops();
const DynamicTheme& dynamic_binary_ops();
const DynamicTheme& dynamic_scalar_ops();  ///< numbers made of sizes
const DynamicTheme& dynamic_branches();    ///< on sizes
const DynamicTheme& dynamic_views();
const DynamicTheme& dynamic_parts();  ///< slices, joins, paddings
const DynamicTheme& dynamic_reductions();
const DynamicTheme& dynamic_products();  ///< of matrices, convolutions, pools
const DynamicTheme& dynamic_factories();
const DynamicTheme& dynamic_indexing();
const DynamicTheme& dynamic_writes();        ///< to tensors that the op made
const DynamicTheme& dynamic_outer_writes();  ///< to variables

using OfOne = std::function<at::Tensor(const at::Tensor& x, const Ints& ints)>;
using OfTwo = std::function<at::Tensor(const at::Tensor& x, const at::Tensor& y, const Ints& ints)>;

/// ints: two dims of x that may be the same (0 where it has none), and three numbers below 6.
DynamicOp of_one(const char* name, int64_t least_rank, OfOne apply);
/// The same with a second operand that broadcasts with the first.
DynamicOp of_two(const char* name, OfTwo apply);
/// Those ints, for x = args[0].
Ints dynamic_ints(DynamicScope& scope, const DynamicStep& step);
/// The sum of the means of all operands.
const DynamicOp& dynamic_loss();

}  // namespace antegrad::fuzz
