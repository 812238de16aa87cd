#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/plan/lowering.h"
#include "optim/update_function.h"

namespace antegrad::optim {

/// Where the code of an optimizer's steps comes from.
class UpdateCode {
 public:
  virtual ~UpdateCode() = default;
  /// Returns the code of a graph over flat tensors, as flat_kernel() takes it. Throws Error(Compile).
  virtual std::shared_ptr<const compiler::Lowered> flat(const std::string& graph_text) = 0;
  /// Makes updates of a method that is not elementwise. When it throws, nothing has changed.
  virtual void run(const std::vector<Update>& updates) = 0;
  /// Makes the code of such updates, which stay as they are.
  virtual void prepare(const std::vector<Update>& updates) = 0;
  virtual uint64_t captures() const = 0;  ///< of functions that run() has compiled
};

/// Code that is compiled when it is first needed.
class CompiledUpdateCode final : public UpdateCode {
 public:
  explicit CompiledUpdateCode(const Options& options) : lowering_(options), functions_(options) {}
  std::shared_ptr<const compiler::Lowered> flat(const std::string& graph_text) override;
  void run(const std::vector<Update>& updates) override { functions_.run(updates); }
  void prepare(const std::vector<Update>& updates) override { functions_.prepare(updates); }
  uint64_t captures() const override { return functions_.captures(); }

  // What has been compiled by now, for packages.
  const std::map<std::string, std::shared_ptr<const compiler::Lowered>>& flat_code() const { return flat_; }
  const CompiledUpdates& functions() const { return functions_; }
  const compiler::Lowering& lowering() const { return lowering_; }

 private:
  const compiler::Lowering lowering_;
  CompiledUpdates functions_;
  std::map<std::string, std::shared_ptr<const compiler::Lowered>> flat_;  ///< by the text of the graph
};

}  // namespace antegrad::optim
