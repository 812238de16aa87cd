#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/code/captured.h"
#include "compiler/code/watch.h"
#include "compiler/function/call.h"
#include "runtime/guards.h"
#include "symbolic/shape_guard.h"

namespace antegrad::compiler {

using Inputs = c10::SmallVector<at::Tensor, 16>;
using Symbols = c10::SmallVector<int64_t, 4>;

/// What must hold of a call for a version to serve it. Captured tensors are held weakly.
struct VersionGuards {
  struct Lifted {
    c10::weak_intrusive_ptr<c10::TensorImpl> tensor;
    runtime::TensorGuard guard;
  };
  struct Base {
    SharedBase shared;
    runtime::TensorGuard guard;
  };

  c10::SmallVector<int64_t, 8> key;
  runtime::Ambient ambient;
  std::vector<runtime::TensorGuard> arguments;
  std::optional<symbolic::ShapeGuard> shapes;  ///< nothing: the sizes are in `arguments`
  std::vector<Lifted> lifted;
  std::vector<Base> bases;
  std::unique_ptr<ModuleState> modules;  ///< null: none are watched

  /// Each of these gives the values of the symbols where the guards hold, and nothing where they do not.
  std::optional<Symbols> shapes_hold(const Leaves& leaves) const;
  std::optional<Symbols> arguments_hold(const Call& call) const;  ///< those of shapes included
  std::optional<Symbols> contents_hold(const Call& call) const;   ///< and those of what modules contain
  std::optional<Symbols> hold(const Call& call) const;            ///< and those of who owns them

  bool same_key(const Leaves& leaves) const;
  bool lifts_same(const capture::Trace& trace) const;
  /// Append the tensors that a call needs besides its arguments; false: they are no longer what they were.
  bool add_bases(Inputs& inputs, const std::vector<int64_t>& offsets) const;
  bool add_lifted(Inputs& inputs) const;
  bool dead() const;  ///< they can never hold again

  /// Why they do not hold, for people; "": they do, as far as these can tell.
  std::string mismatch(const Call& call) const;
  std::string shapes_mismatch(const Leaves& leaves) const;
  std::string lifted_mismatch() const;
};

/// For calls like this one, of which nothing was captured.
VersionGuards guards_of_call(const Options& options, const Call& call);
/// The same where capturing threw; `met`: captured tensors that the function had used by then.
VersionGuards guards_of_attempt(const Options& options, const Call& call, const std::vector<at::Tensor>& met);
/// For what was captured, at all sizes that `shapes` allow.
VersionGuards guards_of_capture(const Options& options, const Call& call, const Captured& captured,
                                const symbolic::Shapes& shapes);

/// The shapes of a call.
symbolic::CallShapes shapes_of(c10::ArrayRef<at::Tensor> tensors);

}  // namespace antegrad::compiler
