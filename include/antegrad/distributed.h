#pragma once
// Collectives that can be differentiated and compiled, and data parallel training: docs/many-processes.md.
#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace torch::nn {
class Module;
}

namespace antegrad::distributed {

/// Whether LibTorch was built with c10d and Gloo. Without them, functions that need them throw
/// Error(UnsupportedOp).
bool available();

/// A process group that is registered with c10d.
class Group {
 public:
  /// Throws Error(InvalidArgument) if this process is in no group of that name.
  explicit Group(std::string name);
  const std::string& name() const { return name_; }  ///< under which it is registered
  int64_t rank() const { return rank_; }             ///< number of this process in the group
  int64_t size() const { return size_; }             ///< number of processes

 private:
  std::string name_;
  int64_t rank_ = 0, size_ = 1;
};

/// How processes find and hear each other.
struct GlooOptions {
  std::string name = "world";                                   ///< of the group, once per process
  std::chrono::milliseconds timeout{std::chrono::minutes(30)};  ///< for a process that does not answer
  std::string host;  ///< own address; empty for that of the host name
};
/// Joins the processes 0 to size - 1 over TCP, and registers the group. They meet through a file that does
/// not exist before and that all of them can reach. Throws Error(Io) when one does not come in time.
Group gloo(const std::string& file, int64_t rank, int64_t size, const GlooOptions& options = {});
/// Takes a group out of c10d's registry, to make another one of that name.
void leave(const Group& group);

/// How the values of the processes are combined.
enum class Reduce { Sum, Average, Min, Max, Product };

// In all processes of the group, with tensors of equal sizes unless said otherwise. The results are new
// tensors. Gradients are those of the sum of all processes' losses, of any order (Sum and Average; others
// have none, and are refused for tensors that require gradients).

/// The tensors of all processes combined, in all processes.
at::Tensor all_reduce(const at::Tensor& tensor, const Group& group, Reduce how = Reduce::Sum);
/// The rows of all processes' tensors, in all processes.
at::Tensor all_gather(const at::Tensor& tensor, const Group& group);
/// The tensors combined, of which process r gets the r-th of equal parts of the rows. Sum or Average.
at::Tensor reduce_scatter(const at::Tensor& tensor, const Group& group, Reduce how = Reduce::Sum);
/// Sends input_rows[r] rows to process r and receives output_rows[r] rows from it; empty lists for equal
/// parts.
at::Tensor all_to_all(const at::Tensor& tensor, const Group& group, std::vector<int64_t> output_rows = {},
                      std::vector<int64_t> input_rows = {});
/// The tensor of process `source`, in all processes.
at::Tensor broadcast(const at::Tensor& tensor, int64_t source, const Group& group);

/// Overwrites parameters and buffers with those of process `source`.
void broadcast_parameters(torch::nn::Module& module, const Group& group, int64_t source = 0);

}  // namespace antegrad::distributed
