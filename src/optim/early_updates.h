#pragma once
#include <memory>
#include <string>
#include <vector>

#include "optim/memory_span.h"
#include "optim/stepper.h"
#include "runtime/calling.h"

namespace antegrad::optim {

/// Updates parameters while the graph that computes their gradients still runs: each when its gradient is
/// final and nothing later reads the parameter or its state, several small ones together. Gradients are freed
/// then, so that they take no more memory than the largest one.
class EarlyUpdates final : public runtime::EarlyResults {
 public:
  explicit EarlyUpdates(Stepper& stepper) : stepper_(stepper) {}

  /// The first results of calls are the gradients of these parameters, in the order of the groups.
  void set_parameters(std::vector<at::Tensor> parameters);
  /// Forgets what an earlier call has left. `repeats`: the groups have a parameter twice.
  void reset(bool repeats);

  bool begin(const runtime::Caller& caller, c10::ArrayRef<at::Tensor> inputs) override;
  const std::vector<runtime::EarlyStop>& stops() const override { return stops_; }
  void take(size_t stop, c10::ArrayRef<at::Tensor> tensors) override;

  /// Ends a call that has returned. Returns false when the step has yet to be made.
  bool finish();
  /// Ends a call that has thrown this. Throws Error(Internal) when some parameters were updated before.
  void fail(const std::string& what);

 private:
  /// A gradient that a run computes.
  struct Gradient {
    int32_t output = -1;     ///< of the graph
    size_t parameter = 0;    ///< which one
    int32_t born = 0;        ///< the first step of the run that writes it
    int32_t final_from = 0;  ///< the step from which on its parameter may be updated
    int64_t bytes = 0;
  };
  /// Memory that an input is in, or that the step writes.
  struct Memory : MemorySpan {
    size_t of = 0;  ///< which input, or which row of the step
    bool operator==(const Memory&) const = default;
  };
  static void add_memory(const at::Tensor& tensor, size_t of, std::vector<Memory>& list);

  /// Finds the gradients among the outputs. Returns false when they cannot be taken early.
  bool read(const runtime::Caller& caller);
  /// Finds out where in the run parameters may be updated. Returns false where the function writes to them.
  bool plan(const runtime::Caller& caller, c10::ArrayRef<at::Tensor> inputs);
  bool find_times(const runtime::Caller& caller);
  /// Returns the last step that reads each of the memories that are written; -1 where none does.
  std::vector<int32_t> last_reads_of_written(const runtime::Caller& caller) const;
  void plan_stops();
  void add_stop(int32_t step, std::vector<int32_t>& rows);

  Stepper& stepper_;
  std::vector<at::Tensor> parameters_;
  std::shared_ptr<const runtime::Executable> executable_;  ///< that the rest was planned for
  bool possible_ = false;                                  ///< gradients can be taken
  bool repeats_ = false;
  std::vector<Gradient> gradients_;  ///< in the order of the parts of the step
  bool planned_ = false;             ///< stops_ are for these memories
  std::vector<Memory> inputs_, written_;
  std::vector<runtime::EarlyStop> stops_;
  std::vector<std::vector<int32_t>> rows_;  ///< per stop
  size_t updated_ = 0;
  bool active_ = false;
};

}  // namespace antegrad::optim
