#pragma once
// Packages: compiled functions with their gradients and weights in one file. docs/packages.md. This header
// includes no header of LibTorch's C++ frontend (torch/torch.h): a program that only runs packages compiles
// fast.
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "antegrad/function.h"
#include "antegrad/options.h"
#include "antegrad/value.h"

namespace torch::optim {
class Optimizer;
}

namespace antegrad {

struct GradScaler;
struct StepResult;
struct WeightAverage;
namespace detail {
class TrainingCore;
}
namespace packaging {
struct State;
class Function;
class Step;
}  // namespace packaging

/// A compiled function to put in a package: its versions that are compiled by now, so call it first, or
/// explain() it, which runs nothing.
struct FunctionToPackage {
  /// `compiled` is what compile() or training_step() returns. `derivatives` = 1: a call and backward(); 2:
  /// also backward(create_graph) and what follows from it, and so on.
  template <class C>
  FunctionToPackage(std::string function_name, const C& compiled, int orders = 1)
      : name(std::move(function_name)), function(compiled.core()), derivatives(orders) {
    if constexpr (requires { compiled.training(); }) {
      training = compiled.training();
      return;
    }
    if constexpr (requires { compiled.program().named_parameters(); }) {  // a program of torch.export
      const auto add = [&](const NamedTensors& named) {
        names.insert(names.end(), named.begin(), named.end());
      };
      add(compiled.program().named_parameters());
      add(compiled.program().named_buffers());
      add(compiled.program().named_constants());
    }
    // Programs and TorchScript modules.
    list_of_arguments = !requires { compiled.partition(); };
  }

  std::string name;                            ///< letters, digits, '_', '-', '.'
  std::shared_ptr<detail::Function> function;  ///< as Compiled::core() returns it
  int derivatives = 1;                         ///< orders of derivatives, at least 1
  NamedTensors names;                          ///< names of captured tensors, for those that are among them
  bool list_of_arguments = false;              ///< the function takes its arguments as a list of values
  std::shared_ptr<detail::TrainingCore> training;  ///< null for functions that are no training steps
};

/// Where the weights of a package are.
enum class PackagedWeights {
  Embedded,  ///< in the file
  External,  ///< elsewhere: whoever loads the package gives them
};

/// Options of package().
struct PackageOptions {
  /// Names of captured tensors. Others have the names of watched modules (Options::watch) or are numbered.
  NamedTensors names;
  PackagedWeights weights = PackagedWeights::Embedded;  ///< where the weights are
  /// Instruction sets that kernels are compiled for, besides that of the functions.
  std::vector<Isa> isas;
  std::map<std::string, std::string> metadata;  ///< the user's texts
  std::string key_file;                         ///< signs the package with the key in this file

  /// Names captured tensors as the module names its parameters and buffers.
  template <class Module>
  PackageOptions& name_weights(const Module& module, const std::string& prefix = {}) {
    for (const auto& item : module.named_parameters()) names.emplace_back(prefix + item.key(), item.value());
    for (const auto& item : module.named_buffers()) names.emplace_back(prefix + item.key(), item.value());
    return *this;
  }
};

/// Writes compiled functions to a file that Package::load() reads. Captured tensors are the weights of the
/// package, shared by its functions. Throws Error(InvalidArgument) for functions that are not compiled yet or
/// cannot be packaged, Error(Compile), Error(Io).
void package(const std::string& path, const std::vector<FunctionToPackage>& functions,
             const PackageOptions& options = {});

/// Options of Package::load().
struct PackageLoad {
  bool strict = false;         ///< throws Error(CacheMiss) instead of compiling what the file has no code for
  bool ir_only = false;        ///< uses no machine code of the file: everything is compiled from its graphs
  std::string key_file;        ///< only a package that was signed with this key is loaded
  bool check_weights = false;  ///< also checks the checksums of embedded weights, which reads all of them
  /// A library built of what Package::write_sources() has written: its kernels are used where it has all that
  /// a pass needs.
  std::string kernel_library;
  Options options;  ///< how code is compiled where that is needed
};

/// A function of a package. Copies share everything. Thread-safe.
class PackagedFunction {
 public:
  /// Calls the function with these arguments: see value_of(). Throws Error(InvalidArgument) with the guards
  /// that do not hold when the package has no version for them.
  template <class... Args>
  c10::IValue operator()(const Args&... args) const {
    return call({argument(value_of(args))...});
  }
  c10::IValue call(const std::vector<c10::IValue>& arguments) const;  ///< the same
  /// Calls the function with all tensors of the arguments one by one. Returns all tensors of the result.
  std::vector<at::Tensor> call_tensors(const std::vector<at::Tensor>& tensors) const;

  /// Returns zeros of the types that the newest version takes, for call_tensors().
  std::vector<at::Tensor> example() const;

  std::string arguments() const;  ///< what it takes, as text
  std::string result() const;     ///< what it returns, as text

 private:
  friend class Package;
  friend class PackagedStep;
  PackagedFunction(std::shared_ptr<packaging::State> state, packaging::Function* function)
      : state_(std::move(state)), function_(function) {}
  static c10::IValue argument(std::optional<c10::IValue> value);

  std::shared_ptr<packaging::State> state_;
  packaging::Function* function_;
};

/// A training step of a package. It owns an optimizer over the weights of the package, which continues where
/// that of the packaged step was. Copies share everything. Not thread-safe, like an optimizer.
class PackagedStep {
 public:
  /// Calls the function, computes gradients, clips, updates the weights. Returns what the function returns,
  /// without history. Throws what PackagedFunction and TrainingStep throw; weights and the optimizer's state
  /// are then as they were.
  template <class... Args>
  c10::IValue operator()(const Args&... args) const {
    return call({PackagedFunction::argument(value_of(args))...});
  }
  c10::IValue call(const std::vector<c10::IValue>& arguments) const;  ///< the same
  // As those of PackagedFunction.
  std::vector<at::Tensor> call_tensors(const std::vector<at::Tensor>& tensors) const;
  std::vector<at::Tensor> example() const;

  /// Sets a hyperparameter of all groups, such as "lr". Throws Error(InvalidArgument) if there is none of
  /// that name.
  void set(const std::string& name, double value) const;
  /// The optimizer, of the class that the step was packaged with: hyperparameters are read from it at each
  /// call. Its groups must keep their parameters.
  torch::optim::Optimizer& optimizer() const;
  std::shared_ptr<GradScaler> scaler() const;      ///< null without one
  std::shared_ptr<WeightAverage> average() const;  ///< null without one
  StepResult last() const;                         ///< what happened in the last call: <antegrad/optim.h>

  std::string arguments() const;  ///< what it takes, as text
  std::string result() const;     ///< what it returns, as text

 private:
  friend class Package;
  PackagedStep(std::shared_ptr<packaging::State> state, packaging::Step* step)
      : state_(std::move(state)), step_(step) {}

  std::shared_ptr<packaging::State> state_;
  packaging::Step* step_;
};

/// Facts about a package.
struct PackageInfo {
  int64_t format = 0;                           ///< version of the format
  std::string antegrad, build;                  ///< version and build of the antegrad that has written it
  std::string libtorch;                         ///< version of the LibTorch that it needs
  std::string machine;                          ///< architecture of its kernels
  std::vector<std::string> isas;                ///< instruction sets of its kernels
  bool is_signed = false;                       ///< it has a MAC
  std::map<std::string, std::string> metadata;  ///< the user's texts
};

/// A package in memory. Copies share everything. Thread-safe.
class Package {
 public:
  /// Maps the file; its weights are read when they are used, and copied when they are written to. Throws
  /// Error(Io) for a file that is no package, is damaged, was not signed with the key, or needs another
  /// LibTorch.
  static Package load(const std::string& path, const PackageLoad& options = {});

  PackageInfo info() const;                    ///< facts about the package
  std::vector<std::string> functions() const;  ///< the names of its functions, in order
  std::vector<std::string> steps() const;      ///< the names of its training steps, in order
  /// These throw Error(InvalidArgument) if there is none of that name.
  PackagedFunction function(const std::string& name) const;
  PackagedStep step(const std::string& name) const;

  NamedTensors weights() const;                      ///< the tensors that its functions have captured
  at::Tensor weight(const std::string& name) const;  ///< throws Error(InvalidArgument) for an unknown name
  std::vector<at::Tensor> parameters() const;  ///< weights that require a gradient, each once, for optimizers
  /// From now on, functions use these tensors, not copies of them, as the weights of these names: all at
  /// once. Throws Error(InvalidArgument), and replaces none, for an unknown name or another type of tensor.
  void replace(const NamedTensors& tensors) const;
  /// Uses the parameters and buffers of a module, a holder's or a pointer's, under the same names.
  template <class Module>
  void share(const Module& module) const {
    NamedTensors tensors;
    for (const auto& item : module.named_parameters()) tensors.emplace_back(item.key(), item.value());
    for (const auto& item : module.named_buffers()) tensors.emplace_back(item.key(), item.value());
    replace_known(tensors);
  }
  /// Writes the package with its present weights, and its training steps as they are now. Throws Error(Io),
  /// Error(InvalidArgument).
  void save(const std::string& path, const std::string& key_file = {}) const;

  /// Writes the kernels as C, with a CMakeLists.txt that builds a library of them for
  /// PackageLoad::kernel_library. Throws Error(Io), Error(InvalidArgument).
  void write_sources(const std::string& folder) const;

  /// Checks everything in the file, also what no call has needed yet. Throws Error(Io).
  void verify() const;
  std::vector<std::string> notes() const;  ///< where code came from: the file, or compiled anew and why
  std::string text() const;                ///< all about the package, for people

 private:
  explicit Package(std::shared_ptr<packaging::State> state) : state_(std::move(state)) {}
  /// Replaces those weights that the package has.
  void replace_known(const NamedTensors& tensors) const;

  std::shared_ptr<packaging::State> state_;
};

}  // namespace antegrad
