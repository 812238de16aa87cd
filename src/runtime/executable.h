#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "runtime/plan/in_place.h"
#include "runtime/plan/kernel_code.h"
#include "runtime/plan/result_times.h"
#include "schedule/program.h"
#include "toolchain/cuda/driver.h"

namespace antegrad::runtime {

/// The state of a run: tensors by register, and the memory of values that do not leave the run.
struct Registers : c10::SmallVector<at::Tensor, 24> {
  using SmallVector::SmallVector;
  std::byte* arena = nullptr;
  c10::Storage arena_storage;  ///< owns the arena where LibTorch reads or writes some of it
  at::DataPtr arena_memory;    ///< owns the arena where LibTorch does not, and it is not on the stack
  toolchain::cuda::Stream stream = nullptr;  ///< of a run on a CUDA device
  std::vector<float> times;                  ///< of the steps so far, where they are measured
  void end_arena() {
    arena_memory.clear();
    arena_storage = {};
  }
};

/// One call, ready to be made: its arguments are registers or prepared values.
class Instruction {
 public:
  virtual ~Instruction() = default;
  virtual void run(Registers& registers) const = 0;
};

struct IndexChecks;
struct Placement;

/// Places in a run at which outputs are handed over.
struct EarlyStop {
  int32_t step = 0;              ///< before this step, or at the end of the run
  std::vector<int32_t> outputs;  ///< of the graph
};
/// Takes outputs while a run goes on. What it takes is undefined in the outputs of the run.
class EarlyTaker {
 public:
  virtual ~EarlyTaker() = default;
  virtual const std::vector<EarlyStop>& stops() const = 0;  ///< in the order of their steps
  /// Must not throw.
  virtual void take(size_t stop, c10::ArrayRef<at::Tensor> tensors) = 0;
};

class StepTimer;

/// A functional graph as a flat list of calls of kernels and of LibTorch. Immutable; any number of threads
/// may run it.
class Executable {
 public:
  /// Calls LibTorch's kernels only.
  explicit Executable(const ir::Graph& graph);
  /// `kernels`: as in the program, whose sizes are constants. `symbols`: the values of the symbols that
  /// kernels were compiled with. `compare`: compares the results of each kernel with LibTorch's, and memory
  /// with what was written there, and throws Error(Internal) with the first difference; slow. `checks`:
  /// index_checks() of the program at any sizes, where it is known. `writes`: inputs that kernels may write
  /// to, which they do not when results are compared.
  Executable(const schedule::Program& program, const std::vector<KernelCode>& kernels,
             std::vector<int64_t> symbols = {}, bool compare = false,
             std::shared_ptr<const IndexChecks> checks = nullptr, const InputWrites& writes = {});
  ~Executable();

  /// `inputs`: in the order of the graph's. `outputs` receives one tensor per output of the graph. Runs below
  /// autograd and autocast, whose work the graph already contains.
  /// `early` may take outputs before: see times().
  void run(c10::ArrayRef<at::Tensor> inputs, std::vector<at::Tensor>& outputs,
           EarlyTaker* early = nullptr) const;
  /// Takes ownership of the inputs: each is released after its last use.
  void run(std::vector<at::Tensor>&& inputs, std::vector<at::Tensor>& outputs,
           EarlyTaker* early = nullptr) const;

  /// As run(), but leaves out the steps that write to inputs where writes are deferred (InputWrites):
  /// finish() runs them, and does not fail.
  Registers start(c10::ArrayRef<at::Tensor> inputs, std::vector<at::Tensor>& outputs) const;
  void finish(Registers& registers) const;
  bool is_deferred() const { return is_deferred_; }

  /// What becomes of the results that are written to inputs. One that is written in place is the input's own
  /// tensor.
  const std::vector<InPlacePlan::Write>& writes() const { return writes_; }

  int64_t arena_bytes() const { return arena_bytes_; }

  /// What is known about the times of outputs; null where they cannot be taken early.
  const ResultTimes* times() const { return times_ ? &*times_ : nullptr; }
  int32_t steps() const;

 private:
  struct Entry;
  struct Fallback;
  void assemble(const schedule::Program& given, const std::vector<KernelCode>& kernels, bool compare,
                std::shared_ptr<const IndexChecks> checks, const InputWrites& writes);
  std::unique_ptr<Instruction> make_step(const schedule::Program& program, size_t step,
                                         const std::vector<KernelCode>& kernels,
                                         const Placement& placement) const;
  void run(Registers& registers, size_t end, std::vector<at::Tensor>& outputs,
           EarlyTaker* early = nullptr) const;
  void run_early(Registers& registers, EarlyTaker& early) const;
  bool has_small_arena() const;
  void begin_arena(int64_t bytes, Registers& registers) const;
  void run_entries(Registers& registers, size_t begin, size_t end) const;
  void run_entry(const Entry& entry, Registers& registers) const;
  void run_timed(Registers& registers, size_t begin, size_t end) const;
  [[noreturn]] void fail_as_eager(const Registers& registers) const;

  std::shared_ptr<const std::vector<int64_t>> symbols_;
  size_t register_count_ = 0;
  std::vector<Entry> entries_;
  std::vector<int32_t> inputs_;   ///< register per graph input; -1 when it is not used
  std::vector<int32_t> outputs_;  ///< register per graph output; -1 when it is undefined
  std::vector<InPlacePlan::Write> writes_;
  std::optional<ResultTimes> times_;
  std::vector<std::pair<int32_t, int32_t>> adoptions_;  ///< as in Placement
  size_t deferred_from_ = 0;                            ///< the first entry that finish() runs
  bool is_deferred_ = false;
  int64_t arena_bytes_ = 0;
  bool runs_kernels_ = false;
  bool arena_tensors_ = false;          ///< LibTorch reads or writes some of the arena
  c10::Device device_ = c10::kCPU;      ///< where the arena is, and the device of kernels for CUDA
  std::unique_ptr<Fallback> fallback_;  ///< set where some kernel may fail
  std::unique_ptr<StepTimer> timer_;    ///< set while a trace is written
};

}  // namespace antegrad::runtime
