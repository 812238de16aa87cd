#pragma once
#include <optional>

#include "fuzz/fusion_program.h"

namespace antegrad::fuzz {

/// The variables of a program under construction, and new inputs for ops that need a certain kind.
class FusionScope {
 public:
  using Accept = std::function<bool(const at::Tensor&)>;

  explicit FusionScope(uint64_t seed);

  Rng& rng() { return rng_; }
  /// Returns a variable that `accept` accepts, preferring recent ones, or -1 if there is none.
  int pick(const Accept& accept);
  int pick();
  const at::Tensor& tensor(int variable) const { return values_[static_cast<size_t>(variable)].eager; }
  int64_t rank(int variable) const { return tensor(variable).dim(); }

  /// Adds an input of a random kind.
  int add_input();
  int add_input(at::Tensor tensor);
  /// Adds indices below `bound`, including negative ones if `wraps`.
  int add_indices(const std::vector<int64_t>& sizes, int64_t bound, bool wraps);
  /// Returns random numbers in a random layout.
  at::Tensor random_tensor(at::ScalarType dtype, const std::vector<int64_t>& sizes);
  int64_t extent();
  std::vector<int64_t> sizes();

  /// Adds the step if its result can be compared.
  bool try_add(FusionStep step);
  /// Drops inputs that were added for a rejected step.
  void shrink_to(size_t variables);

  FusionProgram& program() { return program_; }
  const std::vector<Computed>& values() const { return values_; }

 private:
  at::Tensor with_specials(const at::Tensor& tensor);
  bool comparable(const Computed& value) const;
  at::Tensor laid_out(const at::Tensor& tensor);

  Rng rng_, shaker_;
  FusionProgram program_;
  std::vector<Computed> values_;
  std::vector<int64_t> extents_;
  int64_t most_elements_ = 0;
  bool specials_ = false;  ///< inputs contain NaN and infinities
};

struct FusionOp {
  std::string name;
  /// Fills args, ints and numbers; returns false if nothing fits.
  std::function<bool(FusionScope&, FusionStep&)> propose;
  /// Must call ATen only. Where the operands are doubles, floating dtypes that it asks for become double too.
  std::function<at::Tensor(const Tensors& args, const FusionStep& step)> apply;
  bool jumps = false;   ///< amplifies small errors of an operand
  bool rounds = false;  ///< counts as rounded even where the result happens to be exact
};

/// The generator picks a theme first, then one of its ops.
using FusionTheme = std::vector<FusionOp>;
const std::vector<const FusionTheme*>& fusion_themes();

const FusionTheme& fusion_unary_ops();
const FusionTheme& fusion_binary_ops();
const FusionTheme& fusion_other_pointwise_ops();
const FusionTheme& fusion_views();
const FusionTheme& fusion_reductions();
const FusionTheme& fusion_norms();
const FusionTheme& fusion_indexing();
const FusionTheme& fusion_hard_ops();  ///< ops that lose digits, only for `hard` programs

bool is_floating(const at::Tensor& tensor);

}  // namespace antegrad::fuzz
