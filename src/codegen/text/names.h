#pragma once
// The names of a kernel's scalars, buffers and sizes in generated text, and a record of which of them the
// text uses.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "schedule/kernel.h"

namespace antegrad::codegen {

class Names {
 public:
  explicit Names(const schedule::Kernel& kernel);
  virtual ~Names() = default;

  virtual std::string scalar(int32_t id) const;  ///< "v3"
  std::string dim(const ir::Dim& dim);           ///< a literal, "s0", or "d0" for an expression over symbols
  /// A literal, or an expression over sizes, of the type of variables of the dtype.
  std::string number(ir::DType dtype, const schedule::Literal& number);
  std::string extent(int32_t loop);

  /// Prints offset + sum of coefficient * loop variable. `replaced` maps loops to texts to print instead of
  /// their variables.
  using Replaced = std::map<int32_t, std::string>;
  std::string affine(const schedule::Affine& address, const Replaced& replaced = {});
  /// Prints an element of a buffer. `positions` are the texts of the checked indices, one per indirect part.
  std::string element(const schedule::Op& op, const std::vector<std::string>& positions = {});
  /// Prints this text instead of the variable of a loop from now on; the variable again if it is empty.
  void rename_loop(int32_t loop, std::string text);
  std::string buffer(int32_t index);
  std::string function(std::string name);  ///< records a prelude function and returns its name

  std::set<std::string>& functions() { return functions_; }
  const std::set<int32_t>& used_buffers() const { return buffers_; }
  const std::set<int32_t>& used_symbols() const { return symbols_; }
  const std::vector<ir::Dim>& used_dims() const { return dims_; }  ///< in order: d0, d1, …
  const schedule::Kernel& kernel() const { return kernel_; }
  ir::DType type(int32_t scalar) const { return types_[scalar]; }
  ir::DType memory(int32_t buffer) const { return kernel_.buffers[buffer].dtype; }

 protected:
  /// Returns the text between the brackets of an element; `address` is empty if `indirect` is all of it.
  virtual std::string subscript(int32_t buffer, const std::string& indirect, const std::string& address);

 private:
  const schedule::Kernel& kernel_;
  std::vector<ir::DType> types_;
  Replaced renamed_;
  std::set<std::string> functions_;
  std::set<int32_t> buffers_, symbols_;
  std::vector<ir::Dim> dims_;
};

/// Returns the type of each scalar of a kernel.
std::vector<ir::DType> scalar_types(const schedule::Kernel& kernel);

}  // namespace antegrad::codegen
