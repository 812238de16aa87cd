#pragma once
#include <memory>
#include <string>
#include <vector>

#include "antegrad/function.h"
#include "capture/capture.h"
#include "compiler/lowering.h"
#include "compiler/watch.h"
#include "ir/graph.h"
#include "partition/partition.h"
#include "runtime/calling.h"
#include "runtime/guards.h"

namespace antegrad::compiler {

using Inputs = c10::SmallVector<at::Tensor, 16>;

/// How a function is to be captured.
struct CaptureSettings {
  const Options& options;
  bool effects = true;  ///< false: what it does to its inputs is left out
  std::shared_ptr<const Lowering> lowering;
};

/// One captured form of a function: what must hold for it to be used, and how to run it.
class Version {
 public:
  /// Captures, functionalizes, runs the passes. Throws what capture throws. `alive` gets the lifted tensors,
  /// which the version itself holds weakly: another thread may let go of them before the first run.
  static std::shared_ptr<const Version> capture(const CaptureSettings& settings, const Leaves& leaves,
                                                const detail::RunOnTensors& run, const detail::KeepRun& keep,
                                                std::vector<at::Tensor>& alive);
  /// Stands for calls that run eagerly because capturing them threw.
  static std::shared_ptr<const Version> eager(const Options& options, const Leaves& leaves);

  /// Whether it may serve this call. When it may, `inputs` are the tensors to call it with.
  bool matches(const Leaves& leaves, const runtime::Ambient& ambient, Inputs& inputs) const;
  /// Why it may not, for people.
  std::string mismatch(const Leaves& leaves, const runtime::Ambient& ambient) const;
  bool dead() const;  ///< a lifted tensor is gone: it can never match again

  bool is_eager() const { return caller_ == nullptr; }
  const runtime::Caller& caller() const { return *caller_; }
  const std::shared_ptr<const void>& pattern() const { return pattern_; }
  const ir::Graph& graph() const { return graph_; }  ///< functional, or joint; as it was captured
  /// What a call runs, after the passes of the backend.
  const ir::Graph& forward() const { return partition_ ? partition_->forward : forward_; }
  bool has_kernels() const { return has_kernels_; }  ///< else every op is run by LibTorch
  const partition::Partition* partition() const { return partition_.get(); }  ///< null: no backward pass
  const std::string& traced_text() const { return traced_text_; }
  const std::map<std::string, uint64_t>& shape_fallbacks() const { return shape_fallbacks_; }

 private:
  Version(const Options& options, const Leaves& leaves);
  void make_caller(const CaptureSettings& settings, aot::Signature signature, const capture::Trace& traced,
                   std::shared_ptr<runtime::HigherOrder> higher_order);
  void ignore_unread_grads(const Leaves& leaves, const capture::Trace& traced);
  /// Inputs that are views of one tensor for autograd, one of them written. The tensor is an input of its
  /// own, after the user's, unless the user passes it too.
  struct SharedBase {
    std::vector<int32_t> views;
    int32_t base = 0;
    runtime::TensorGuard guard;
  };
  std::vector<at::Tensor> share_bases(const std::vector<std::vector<int32_t>>& groups,
                                      const std::vector<at::Tensor>& inputs,
                                      std::vector<capture::ViewInput>& views);
  bool add_bases(Inputs& inputs) const;  ///< false: they are not what was captured

  struct Lifted {
    c10::weak_intrusive_ptr<c10::TensorImpl> tensor;
    runtime::TensorGuard guard;
  };

  c10::SmallVector<int64_t, 8> key_;
  runtime::Ambient ambient_;
  std::vector<runtime::TensorGuard> guards_;
  std::vector<Lifted> lifted_;
  std::vector<SharedBase> bases_;
  std::vector<int64_t> offsets_;  ///< storage offsets of all inputs when captured
  std::unique_ptr<ModuleState> modules_;
  bool check_aliasing_ = false;
  std::unique_ptr<runtime::Caller> caller_;
  std::shared_ptr<const void> pattern_;
  ir::Graph graph_;
  ir::Graph forward_;  ///< without a backward pass
  bool has_kernels_ = false;
  std::unique_ptr<partition::Partition> partition_;
  std::string traced_text_;  ///< only with Options::check_recapture
  std::map<std::string, uint64_t> shape_fallbacks_;
};

/// Whether some tensor of the trace may be conjugated or negated when it is read. Types do not say which, so
/// a copy that resolves it looks like a no-op.
bool has_lazy_bits(const capture::Trace& trace);

/// The passes that a captured graph goes through. `rng`: as in Options, which exports override.
void run_passes(const Options& options, const capture::Trace& trace, Rng rng, ir::Graph& graph);

/// The text of the graph that capturing the function now gives.
std::string traced_text_now(const Options& options, const Leaves& leaves, const detail::RunOnTensors& run);

}  // namespace antegrad::compiler
