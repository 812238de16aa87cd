#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "aten/generators.h"
#include "capture/recorder.h"
#include "ir/graph.h"

namespace antegrad::capture {

/// What a function did between two breaks: a program over real tensors.
struct Stretch {
  ir::Graph graph;  ///< without inputs and outputs, which follow
  std::vector<ir::ValueId> input_values;
  std::vector<at::Tensor> inputs;  ///< real tensors
  std::vector<ir::ValueId> outputs;
  std::vector<bool> requires_grad;  ///< per output: it has a history of its own
  bool histories = true;            ///< outputs get histories; else only their contents are wanted
  bool inference = false;           ///< in inference mode
};

/// Says why and where a function was broken, after the ops of this graph. Expensive: to be called once per
/// kind of break, and before the function goes on.
using DescribeBreak = std::function<std::string(const ir::Graph& graph)>;

/// Runs a stretch and returns its outputs. `why` is empty for the last stretch of a call.
using RunStretch = std::function<std::vector<at::Tensor>(const Stretch& stretch, const DescribeBreak& why)>;

/// Runs a function that cannot be captured as a whole (docs/graph-breaks.md). Ops on real tensors are
/// recorded instead of run, and give fakes. At a *break*, when the function needs data or calls an op that
/// cannot be recorded, what was recorded so far runs as one program, every fake that is still held becomes
/// real in place, and recording begins anew. Belongs to one thread.
class Tape final : public DataAccess {
 public:
  /// `arguments`: the tensors that the function is called with.
  Tape(RunStretch run, c10::ArrayRef<at::Tensor> arguments);
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Runs `function` under the tape. All tensors that it returns or stores are real afterwards, also when it
  /// throws.
  void run(const std::function<void()>& function);

  /// For mode.cpp: handles one op, and the making of an alias.
  void dispatch(const c10::OperatorHandle& op, torch::jit::Stack* stack);
  c10::intrusive_ptr<c10::TensorImpl> alias(const at::Tensor& tensor);
  void on_access(FakeTensor& tensor) override;
  /// The same for a tensor from outside.
  void on_access(const c10::TensorImpl& tensor);

 private:
  friend class TapeOff;
  class Pause;
  class Busy;
  /// Ends the stretch and makes the tensors real that are still held.
  void close(const DescribeBreak& why);
  void renew();
  bool runs_users_code() const;
  bool must_run_now(const aten::OpSchema& schema, const torch::jit::Stack& stack);
  void note_pending_writes(const aten::OpSchema& schema, const std::vector<c10::IValue>& arguments);
  void note_state();
  void note_random();
  bool was_reseeded() const;
  void allow_access();
  bool is_argument(const at::Tensor& tensor) const;
  bool is_hosts(const at::Tensor& tensor) const;
  bool fill_unused_empty(FakeTensor& tensor);

  RunStretch run_stretch_;
  std::vector<const c10::TensorImpl*> arguments_;
  c10::impl::LocalDispatchKeySet keys_;  ///< of the thread, outside the function
  std::optional<Recorder> recorder_;     ///< of the current stretch; stays at one address
  std::vector<std::shared_ptr<FakeRegistry>> registries_;
  uint64_t first_sequence_ = 0;  ///< autograd's sequence number at the beginning of the stretch
  /// State of the default generator while recorded ops have yet to draw from it; undefined without such ops.
  /// The generator has drawn a number since, so that seeding it again shows.
  at::Tensor undrawn_, drawn_;
  aten::SeedMark seed_;
  bool keep_histories_ = false;        ///< autograd's own histories of the fakes must stay
  bool inference_ = false;             ///< the inference mode of the stretch
  bool paused_ = false;                ///< accesses to tensors are our own
  std::vector<c10::Storage> guarded_;  ///< real memory with writes pending, which must not be accessed
  std::unordered_set<const c10::StorageImpl*> pending_;  ///< the same for tensors that tell before access
  /// Memory of tensors made inside to which the host has got a pointer. Ops see what the host has written by
  /// then, and the host sees what they write.
  std::unordered_map<const c10::StorageImpl*, c10::Storage> shown_;
};

/// While it lives, nothing is recorded by this thread's tape, and what it had recorded has run: all tensors
/// are real. For code that computes with their memory, below LibTorch's dispatcher. Does nothing without a
/// tape.
class TapeOff {
 public:
  explicit TapeOff(const char* reason);
  ~TapeOff();
  TapeOff(const TapeOff&) = delete;
  TapeOff& operator=(const TapeOff&) = delete;

 private:
  std::unique_ptr<Tape::Pause> pause_;
  std::optional<c10::AutoGradMode> grad_mode_;
};

}  // namespace antegrad::capture
