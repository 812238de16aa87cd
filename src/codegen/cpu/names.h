#pragma once
// The C names of a kernel's scalars, buffers and sizes, and a record of which of them the text uses.
#include <map>
#include <set>
#include <string>

#include "codegen/cpu/section_plan.h"

namespace antegrad::codegen::cpu {

class Names {
 public:
  Names(const schedule::Kernel& kernel, const KernelPlan& plan) : kernel_(kernel), plan_(plan) {}

  std::string scalar(int32_t id) const;  ///< "v3", or "v3[l]" when there is one per lane
  std::string dim(const ir::Dim& dim);   ///< a literal, "s0", or "d0" for an expression over symbols
  /// A literal, or an expression over sizes, of the type of variables of the dtype.
  std::string number(ir::DType dtype, const schedule::Literal& number);
  std::string extent(int32_t loop);

  /// Prints offset + sum of coefficient * loop variable. `replaced` maps loops to texts to print instead of
  /// their variables.
  using Replaced = std::map<int32_t, std::string>;
  std::string affine(const schedule::Affine& address, const Replaced& replaced = {});
  /// Prints an element of a buffer. `positions` are the texts of the checked indices, one per indirect part.
  std::string element(const schedule::Op& op, const std::vector<std::string>& positions = {});
  std::string buffer(int32_t index);
  std::string function(std::string name);  ///< records a prelude function and returns its name

  std::set<std::string>& functions() { return functions_; }
  const std::set<int32_t>& used_buffers() const { return buffers_; }
  const std::set<int32_t>& used_symbols() const { return symbols_; }
  const std::vector<ir::Dim>& used_dims() const { return dims_; }  ///< in order: d0, d1, …
  const schedule::Kernel& kernel() const { return kernel_; }
  const KernelPlan& plan() const { return plan_; }
  ir::DType type(int32_t scalar) const { return plan_.types[scalar]; }
  ir::DType memory(int32_t buffer) const { return kernel_.buffers[buffer].dtype; }

 private:
  const schedule::Kernel& kernel_;
  const KernelPlan& plan_;
  std::set<std::string> functions_;
  std::set<int32_t> buffers_, symbols_;
  std::vector<ir::Dim> dims_;
};

/// Returns the length of a kernel's per-lane arrays.
int64_t lanes(const schedule::Kernel& kernel);

}  // namespace antegrad::codegen::cpu
