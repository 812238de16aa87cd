#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "antegrad/package.h"
#include "compiler/function/version.h"
#include "compiler/plan/lowering.h"
#include "package/archive.h"
#include "package/record.h"
#include "package/sources.h"
#include "util/fork_mutex.h"

namespace antegrad::packaging {

/// The architecture of this machine, as packages name it.
std::string machine_here();

/// The code of a package: kernels of the file that fit this machine, or code compiled anew. Thread-safe.
class CodeLoader {
 public:
  CodeLoader(std::shared_ptr<const Archive> archive, const PackageLoad& load);

  /// Returns the code of a pass; null when it has to be compiled, with a note. `what` names the pass in notes
  /// and errors. Throws Error(CacheMiss) where compiling is not allowed, and Error(Io).
  std::shared_ptr<const compiler::Lowered> load(const std::string& record, const std::string& what);
  /// As load(), and compiles the graph where there is no code.
  std::shared_ptr<const compiler::Lowered> load_or_compile(const std::string& record, const std::string& what,
                                                           const ir::Graph& graph, bool has_kernels);
  /// Notes that a pass is compiled, or throws Error(CacheMiss) where that is not allowed.
  void allow_compiling(const std::string& what, const std::string& why);

  const Archive& archive() const { return *archive_; }
  const std::shared_ptr<const compiler::Lowering>& lowering() const { return lowering_; }
  const PackageLoad& options() const { return load_; }
  std::vector<std::string> notes() const;

 private:
  /// Returns the largest instruction set for which the file has all of these kernels; "" if there is none.
  std::string isa_for(const std::vector<cache::Digest>& kernels) const;
  compiler::LoadedKernel kernel(const std::string& isa, const cache::Digest& digest);
  void note(std::string text);

  const std::shared_ptr<const Archive> archive_;
  const PackageLoad load_;
  std::optional<KernelLibrary> library_;
  std::shared_ptr<const compiler::Lowering> lowering_;
  mutable BriefMutex mutex_;
  std::map<std::string, compiler::LoadedKernel> kernels_;  ///< by record
  std::vector<std::string> notes_;
};

class VersionSet;

/// The weights of a package, and the versions that use them.
struct Weights {
  mutable BriefSharedMutex mutex;  ///< also guards the lists of instances of all versions
  std::vector<WeightInfo> info;
  std::vector<at::Tensor> tensors;
  std::vector<VersionSet*> users;  ///< loaded ones
  uint64_t generation = 0;         ///< how often some were replaced
};

/// Versions of a function, or of its gradients, in one folder of the archive: loaded when first needed.
/// Results of calls may outlive the package: whatever their backward passes need is shared. Thread-safe.
class VersionSet {
 public:
  /// `what` names the function in messages. `is_function` is false for gradients, whose arguments are tensors
  /// without structure.
  VersionSet(std::shared_ptr<CodeLoader> code, std::shared_ptr<Weights> weights, std::string folder,
             size_t count, std::string what, bool is_function);
  ~VersionSet();
  VersionSet(const VersionSet&) = delete;
  VersionSet& operator=(const VersionSet&) = delete;

  struct Result {
    std::vector<at::Tensor> tensors;
    std::shared_ptr<const Structure> structure;
  };
  /// Calls the version whose guards hold. Throws Error(InvalidArgument) if there is none. `early` may take
  /// results before the call ends.
  Result call(const Leaves& leaves, runtime::EarlyResults* early = nullptr);
  /// Reads and checks all versions, with the code of their forward passes. Throws Error(Io).
  void load();
  void load_everything();  ///< also gradients and cases of backward passes
  /// Makes weight number `weight` that tensor. The weights' mutex must be held.
  void set_weight(int32_t weight, const at::Tensor& tensor);
  const std::vector<c10::IValue>& arguments();  ///< of the newest version
  std::vector<at::Tensor> example();            ///< zeros of the types that it takes

 private:
  struct Loaded;
  std::optional<compiler::Match> find(const compiler::Call& call) const;
  std::optional<compiler::Match> find_at_new_sizes(const compiler::Call& call);
  [[noreturn]] void refuse(const compiler::Call& call) const;
  std::string missing_weight(const Loaded& loaded) const;
  std::unique_ptr<Loaded> load_version(size_t number) const;
  compiler::InstancePtr make_instance(const Loaded& loaded, const InstanceRecord& record,
                                      const std::vector<int64_t>& sizes) const;

  const std::shared_ptr<CodeLoader> code_;
  const std::shared_ptr<Weights> weights_;
  const std::string folder_, what_;
  const size_t count_;
  const bool is_function_;
  LongMutex load_mutex_{"loading it"};
  std::atomic<bool> is_loaded_{false};
  std::vector<std::unique_ptr<Loaded>> all_;
  std::vector<std::shared_ptr<compiler::Version>> versions_;  ///< of `all_`
};

/// A function of a package.
class Function {
 public:
  Function(FunctionInfo function_info, const std::shared_ptr<CodeLoader>& code,
           const std::shared_ptr<Weights>& weights);
  const FunctionInfo info;
  VersionSet versions;
};

class Step;  // package/step.h

/// What copies of a Package share.
struct State {
  State();
  ~State();
  std::shared_ptr<const Archive> archive;
  std::shared_ptr<CodeLoader> code;
  std::shared_ptr<Weights> weights;
  std::vector<std::unique_ptr<Function>> functions;
  std::vector<std::unique_ptr<Step>> steps;
};

}  // namespace antegrad::packaging
