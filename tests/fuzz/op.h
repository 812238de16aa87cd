#pragma once
#include <ATen/ATen.h>

#include "fuzz/program.h"
#include "fuzz/rng.h"

/// The table of statements that programs consist of; ops_*.cpp define them by theme.
namespace antegrad::fuzz {

enum class OpGroup { Pure, View, InPlace, Out, Metadata };

struct Var {
  int id;
  at::Tensor tensor;
  bool captured = false;
};

/// The variables that a new statement may use, with their current values.
class Scope {
 public:
  using Accept = std::function<bool(const at::Tensor&)>;
  void add(int id, at::Tensor tensor, bool captured = false) {
    vars_.push_back({id, std::move(tensor), captured});
  }
  const std::vector<Var>& vars() const { return vars_; }
  /// Returns an accepted variable, preferring recent ones; null when there is none.
  const Var* pick(Rng& rng, const Accept& accept) const;
  const Var* pick(Rng& rng) const;
  /// Returns a size that occurs in the program, so that shapes of new tensors match those of others.
  int64_t extent(Rng& rng) const;

 private:
  std::vector<Var> vars_;
};

struct Op {
  std::string name;
  OpGroup group = OpGroup::Pure;
  /// Fills args, ints and numbers; returns false when the scope has nothing suitable.
  std::function<bool(Rng&, const Scope&, Statement&)> propose = nullptr;
  /// Must only call ATen: it also runs during captures.
  std::function<Tensors(const Tensors& args, const Statement& statement)> apply = nullptr;
  int writes = 0;            ///< this many leading arguments are written in place
  bool elementwise = false;  ///< a written argument may also be read, at the same positions
  bool GeneratorConfig::*enabled = nullptr;
  bool smooth = false;  ///< has an informative derivative; other ops round or select
};

const std::vector<Op>& all_ops();
void add_pointwise_ops(std::vector<Op>& table);
void add_reduction_ops(std::vector<Op>& table);
void add_index_ops(std::vector<Op>& table);
void add_view_ops(std::vector<Op>& table);
void add_inplace_ops(std::vector<Op>& table);
void add_metadata_ops(std::vector<Op>& table);
void add_awkward_ops(std::vector<Op>& table);
/// For programs with gradients, whose values are not compared bit for bit.
void add_smooth_ops(std::vector<Op>& table);
void add_smooth_writes(std::vector<Op>& table);
void add_autograd_ops(std::vector<Op>& table);

bool is_float(const at::Tensor& tensor);    ///< real floating point
bool is_real(const at::Tensor& tensor);     ///< anything but complex
bool is_integer(const at::Tensor& tensor);  ///< integral, not bool
bool broadcasts_to(const at::Tensor& from, const at::Tensor& to);
Scope::Accept has_dim(int64_t at_least, const Scope::Accept& also = {});

/// Returns a number as a Scalar that keeps integer tensors integer.
at::Scalar scalar(double number);
double small_number(Rng& rng);

// Results are compared bit for bit, while eager's own rounding depends on strides. So ops that are not
// correctly rounded, or undefined for some values, only get values for which neither matters.
at::Tensor whole(const at::Tensor& tensor);  ///< rounds floats to integers in [-8, 8]
at::Tensor castable(const at::Tensor& tensor,
                    at::ScalarType target);  ///< clamps floats to the range of an integer type
at::Tensor index_below(const at::Tensor& tensor, int64_t end);  ///< turns any numbers into valid indices
at::Tensor divisor(const at::Tensor& tensor);                   ///< makes a divisor other than zero

}  // namespace antegrad::fuzz
