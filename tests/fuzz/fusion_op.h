#pragma once
#include <optional>

#include "fuzz/fusion_program.h"

namespace antegrad::fuzz {

/// Variables so far, and new inputs for ops that need one of a certain kind.
class FusionScope {
 public:
  using Accept = std::function<bool(const at::Tensor&)>;

  explicit FusionScope(uint64_t seed);

  Rng& rng() { return rng_; }
  /// A variable that is accepted, recent ones more often; -1: there is none.
  int pick(const Accept& accept);
  int pick();
  const at::Tensor& tensor(int variable) const { return values_[static_cast<size_t>(variable)].eager; }
  int64_t rank(int variable) const { return tensor(variable).dim(); }

  /// Of a random kind.
  int add_input();
  int add_input(at::Tensor tensor);
  /// Indices below `bound`; negative ones too where `wraps`.
  int add_indices(const std::vector<int64_t>& sizes, int64_t bound, bool wraps);
  /// Numbers of some dtype in a random layout.
  at::Tensor random_tensor(at::ScalarType dtype, const std::vector<int64_t>& sizes);
  int64_t extent();
  std::vector<int64_t> sizes();

  /// Whether the step has a result that can be compared; then it is a variable.
  bool try_add(FusionStep step);
  /// Forgets inputs that were added for a step that was refused.
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
  bool specials_ = false;  ///< inputs hold NaN and infinities
};

struct FusionOp {
  std::string name;
  /// Fills args, ints and numbers; false when there is nothing that fits.
  std::function<bool(FusionScope&, FusionStep&)> propose;
  /// Must call ATen only. Floating dtypes that it asks for are doubles where its operands are.
  std::function<at::Tensor(const Tensors& args, const FusionStep& step)> apply;
  bool jumps = false;   ///< a small error of an operand makes a large one
  bool rounds = false;  ///< a result without an error is luck
};

/// A theme is picked first, then one of its ops.
using FusionTheme = std::vector<FusionOp>;
const std::vector<const FusionTheme*>& fusion_themes();

const FusionTheme& fusion_unary_ops();
const FusionTheme& fusion_binary_ops();
const FusionTheme& fusion_other_pointwise_ops();
const FusionTheme& fusion_views();
const FusionTheme& fusion_reductions();
const FusionTheme& fusion_norms();
const FusionTheme& fusion_indexing();
const FusionTheme& fusion_hard_ops();  ///< where digits are lost: only in programs that ask for it

bool is_floating(const at::Tensor& tensor);

}  // namespace antegrad::fuzz
