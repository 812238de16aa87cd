#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/code/captured.h"
#include "compiler/code/watch.h"
#include "compiler/function/call.h"
#include "compiler/function/frozen_contents.h"
#include "runtime/guards.h"
#include "symbolic/shape_guard.h"

namespace antegrad::compiler {

using Inputs = c10::SmallVector<at::Tensor, 16>;
using Symbols = c10::SmallVector<int64_t, 4>;

/// The conditions under which a version may serve a call. Captured tensors are held weakly.
struct VersionGuards {
  struct Lifted {
    c10::weak_intrusive_ptr<c10::TensorImpl> tensor;
    runtime::TensorGuard guard;
    std::optional<FrozenContents> contents = {};  ///< set if they are constants (Options::freeze)
    bool holds(const at::Tensor& now) const { return guard.holds(now) && (!contents || contents->hold(now)); }
  };
  struct Base {
    SharedBase shared;
    runtime::TensorGuard guard;
  };

  c10::SmallVector<int64_t, 8> key;
  c10::SmallVector<uint32_t, 4> free;  ///< numbers of the key that may differ (code/numbers.h), in order
  runtime::Ambient ambient;
  std::vector<runtime::TensorGuard> arguments;
  std::optional<symbolic::ShapeGuard> shapes;  ///< nothing when `arguments` fix the sizes
  std::vector<Lifted> lifted;
  std::vector<Base> bases;
  std::unique_ptr<ModuleState> modules;  ///< null when no modules are watched

  /// Each of these returns what tells instances apart when its guards hold, nothing otherwise: the sizes that
  /// are symbols, then the free numbers.
  std::optional<Symbols> shapes_hold(const Leaves& leaves) const;
  /// Checks the key, the ambient state and the arguments, including shapes.
  std::optional<Symbols> arguments_hold(const Call& call) const;
  /// Like arguments_hold(), and checks the contents of modules.
  std::optional<Symbols> hold_ignoring_owners(const Call& call) const;
  /// Like hold_ignoring_owners(), and checks the use counts of modules.
  std::optional<Symbols> hold(const Call& call) const;

  size_t size_symbols() const { return shapes ? shapes->symbols() : 0; }
  bool same_key(const Leaves& leaves) const;
  /// Whether the keys differ in nothing but numbers; `free` gets those that differ, and those that are free.
  bool same_but_numbers(const Leaves& leaves, c10::SmallVector<uint32_t, 4>* free = nullptr) const;
  bool lifts_same(const capture::Trace& trace) const;
  /// Append the tensors that a call needs besides its arguments. Return false when these have changed.
  bool add_bases(Inputs& inputs, const std::vector<int64_t>& offsets) const;
  bool add_lifted(Inputs& inputs) const;
  bool dead() const;      ///< whether they can never hold again
  size_t frozen() const;  ///< how many captured tensors are constants

  /// Returns every check of key, ambient state, arguments (without shapes over symbols) and modules that
  /// fails, with the value that it expects and the one it found, for people.
  std::vector<std::string> mismatches(const Call& call) const;
  /// Return why they do not hold, for people; "" when these checks find nothing.
  std::string shapes_mismatch(const Leaves& leaves) const;
  std::string lifted_mismatch() const;
};

/// Guards for calls like this one, without a capture.
VersionGuards guards_of_call(const Options& options, const Call& call);
/// The same for a capture that threw. `met` are the captured tensors that the function had used by then.
VersionGuards guards_of_attempt(const Options& options, const Call& call, const std::vector<at::Tensor>& met);
/// Guards for a captured program, at all sizes that `shapes` allows.
VersionGuards guards_of_capture(const Options& options, const Call& call, const Captured& captured,
                                const symbolic::Shapes& shapes);

/// Returns the shapes of a call's tensors.
symbolic::CallShapes shapes_of(c10::ArrayRef<at::Tensor> tensors);

}  // namespace antegrad::compiler
