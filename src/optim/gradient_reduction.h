#pragma once
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "optim/processes.h"
#include "runtime/calling.h"

namespace antegrad::optim {

/// Adds up the gradients of training steps over the processes of a group. A bucket is communicated as soon as
/// its gradients are final, while the graph that computes the others still runs; buckets are started in the
/// same order in all processes.
class GradientReduction final : public runtime::EarlyResults {
 public:
  /// `shares`: null unless each process needs the gradients of its share of the parameters only.
  GradientReduction(const StepOptions& options, const Shares* shares);

  /// The first results of calls are the gradients of these parameters. `groups`: all of the optimizer's.
  void set_parameters(std::vector<at::Tensor> parameters, const std::vector<at::Tensor>& all);
  /// Before a call. `sums`: per parameter, what earlier calls have accumulated, or empty; null when this call
  /// does not communicate. Throws Error(Io) when an earlier call has left the processes at different steps.
  void start(const std::vector<at::Tensor>* sums);

  bool begin(const runtime::Caller& caller, c10::ArrayRef<at::Tensor> inputs) override;
  const std::vector<runtime::EarlyStop>& stops() const override { return stops_; }
  void take(size_t stop, c10::ArrayRef<at::Tensor> tensors) override;

  /// Ends a call that has returned these gradients, of which those that were taken are undefined. Returns the
  /// gradients of all processes together, of the own share.
  std::vector<at::Tensor> finish(const std::vector<at::Tensor>& gradients);
  /// After the update of the own share: gives all processes the parameters of all shares. `updated`: whether
  /// there was one, in all processes.
  void share_parameters(bool updated);
  /// Ends a call that has thrown.
  void abandon();

 private:
  using GradientAt = c10::function_ref<at::Tensor(size_t parameter)>;
  struct Running {
    at::Tensor memory;
    std::function<void()> wait;
  };

  bool has_sum(size_t parameter) const;
  /// Finds the buckets for the parameters that have gradients. `order`: as for agree_on_buckets().
  void find_buckets(std::vector<int64_t> order);
  void read(const runtime::Caller& caller);
  void plan_stops();
  void start_bucket(GradientAt gradient);
  std::vector<at::Tensor> wait_for_all();
  void exchange_parameters();

  bool has(const Bucket& bucket) const;  ///< whether this process gets its gradients
  void for_each_part(const Bucket& bucket, const at::Tensor& memory,
                     c10::function_ref<void(size_t parameter, at::Tensor part)> f) const;

  const StepOptions& options_;
  const Shares* shares_;
  const at::Tensor processes_;  ///< their number
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> synchronised_;               ///< were made those of process 0
  std::map<std::vector<int64_t>, Buckets> agreed_on_;  ///< by the parameters that have gradients
  // Of a call:
  const std::vector<at::Tensor>* sums_ = nullptr;
  const Buckets* buckets_ = nullptr;
  std::vector<Running> running_;  ///< the first of the buckets
  std::exception_ptr error_;      ///< of take()
  bool broken_ = false;
  // Where gradients are taken:
  const runtime::Caller* caller_ = nullptr;                ///< of this call
  std::shared_ptr<const runtime::Executable> executable_;  ///< that the rest was planned for
  std::vector<runtime::OutputOrigin> origins_;             ///< per parameter: of its gradient
  std::vector<int32_t> ready_;  ///< per parameter: the step before which its gradient is final
  bool possible_ = false;       ///< gradients can be taken
  const Buckets* planned_ = nullptr;
  std::vector<runtime::EarlyStop> stops_;
  std::vector<size_t> started_;  ///< per stop: how many buckets are started then
};

}  // namespace antegrad::optim
