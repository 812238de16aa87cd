#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "antegrad/package.h"
#include "compiler/function/version.h"
#include "package/archive.h"
#include "package/record.h"
#include "package/step_record.h"
#include "package/weights.h"

namespace antegrad::packaging {

using Versions = std::vector<std::shared_ptr<const compiler::Version>>;

// All throw Error(InvalidArgument). `what` names the function in messages.
[[noreturn]] void refuse_function(const std::string& what, const std::string& fact,
                                  const std::string& way_out);
void check_name(const std::string& name);
/// Returns the versions that can be packaged, at least one.
Versions current_versions(const detail::Function& function, const std::string& what);

/// The kernels of a package, by the digest of their C text.
class KernelTable {
 public:
  /// Returns the digests of the kernels of a pass.
  std::vector<cache::Digest> add(const compiler::Lowered& code, const std::string& isa);
  /// Compiles what is missing for these instruction sets. Throws Error(Compile).
  void complete(const std::set<std::string>& isas);
  void add_to(std::map<std::string, RecordToWrite>& records) const;
  const std::set<std::string>& isas() const { return isas_; }

 private:
  struct Entry {
    std::string text;
    std::map<std::string, std::shared_ptr<const std::string>> objects;  ///< by instruction set
  };
  std::map<cache::Digest, Entry> kernels_;
  std::set<std::string> isas_;
};

/// Turns compiled functions into records.
class Collector {
 public:
  explicit Collector(const PackageOptions& options) : weights_(options.names) {}

  /// Throws Error(InvalidArgument) for a function that cannot be packaged.
  FunctionInfo add(const FunctionToPackage& function);
  /// The same for a training step.
  StepInfo add_step(const FunctionToPackage& step);
  std::map<std::string, RecordToWrite> take_records() { return std::move(records_); }
  const NamedTensors& weights() const { return weights_.weights(); }
  KernelTable& kernels() { return kernels_; }
  const std::string& toolchain() const { return toolchain_; }

 private:
  /// Adds one version as one or more: those with free numbers have one for each combination of these. `what`
  /// names the function in messages; `origin` is null for gradients.
  struct Added {
    std::vector<std::vector<std::string>> guards;  ///< per version
    Structure structure;                           ///< of the first
  };
  /// `single` are results whose gradients are likely to be asked for alone.
  Added add_versions(const Versions& versions, const std::string& folder, const std::string& what,
                     int derivatives, const FunctionToPackage* origin, const FunctionToPackage& root,
                     const std::vector<int32_t>& single = {});
  void add_version(const compiler::Version& version, const std::vector<compiler::InstancePtr>& instances,
                   VersionRecord record, const std::string& folder, const std::string& what, int derivatives,
                   const FunctionToPackage& root, const std::vector<int32_t>& single);
  void add_gradients(const compiler::Version& version, const std::vector<compiler::InstancePtr>& instances,
                     VersionRecord& record, const std::string& folder, const std::string& what,
                     int derivatives, const FunctionToPackage& root);
  void add_code(const compiler::Lowered& code, const compiler::Lowering& from, const std::string& record);
  /// Adds the code of the optimizer's step. Returns StepRecord::functions.
  std::map<std::string, size_t> add_update_code(const detail::TrainingCore::Impl& core,
                                                const FunctionToPackage& step);

  WeightTable weights_;
  KernelTable kernels_;
  std::map<std::string, RecordToWrite> records_;
  std::vector<const torch::optim::Optimizer*> optimizers_;  ///< of the steps so far
  std::string toolchain_;
};

}  // namespace antegrad::packaging
