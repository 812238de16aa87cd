#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/util/FunctionRef.h>

#include <set>
#include <unordered_map>
#include <vector>

#include "antegrad/error.h"
#include "capture/determinant.h"
#include "capture/expected.h"
#include "capture/fake.h"
#include "capture/host_memory.h"
#include "capture/infer.h"
#include "capture/met_generators.h"
#include "capture/outside.h"
#include "ir/graph.h"

namespace antegrad::capture {

class Reached;
class Tape;

/// Returns whether the op answers with a number, a bool or a text, for which it reads data.
bool answers_host(const aten::OpSchema& schema);
/// Calls `visit` with each defined tensor whose memory the op writes.
void for_each_written(const aten::OpSchema& schema, c10::ArrayRef<c10::IValue> arguments,
                      c10::function_ref<void(const at::Tensor&)> visit);

/// Records the ops of one capture. It is reached through LibTorch's dispatch mode (mode.h), so it follows the
/// thread-local state into threads of the autograd engine, which record one op at a time (recording_lock.h).
/// All else is for one thread, while no backward pass runs.
class Recorder {
 public:
  Recorder();

  /// Adds the next user input of the graph and returns a fake with the metadata of `real`.
  at::Tensor add_input(const at::Tensor& real, std::string name);

  /// Returns a fake of the size and type of `like` on memory of its own. It is not a graph input yet.
  at::Tensor add_tangent(const at::Tensor& like);

  /// Handles one op: infers its results, appends its node, replaces the arguments on the stack by the
  /// results.
  void record(const c10::OperatorHandle& op, torch::jit::Stack* stack);

  /// Returns the value of a tensor in the graph. A real tensor is lifted to an input or becomes a constant.
  ir::ValueId value_of(const at::Tensor& tensor);

  /// Appends the nodes of an existing graph, its views included. `inputs` are in the order of the graph's
  /// own, undefined where it has none. Returns its outputs.
  std::vector<at::Tensor> paste(const ir::Graph& graph, const std::vector<at::Tensor>& inputs);

  /// Appends a node that is no call of LibTorch, and returns tensors for its results, each on memory of its
  /// own.
  std::vector<at::Tensor> add_own(ir::Node node, const std::vector<ir::TensorType>& results);
  /// From here on, using a fake of these values is an error: the nodes that compute them are gone
  /// (regions/body.h).
  void cut(int32_t first, int32_t last) { cut_.emplace_back(first, last); }

  /// Returns a new tensor object on the memory of `tensor`, as detach() does.
  c10::intrusive_ptr<FakeTensor> add_alias(const at::Tensor& tensor);
  /// For FakeTensor: returns an alias in the running capture, or an unrecorded copy when the fake's capture
  /// is over. `is_result`: it stands for the op's result from here on, which a tape notes as kResultAlias.
  static constexpr const char* kResultAlias = "result";
  static c10::intrusive_ptr<FakeTensor> alias_of(const FakeTensor& fake, bool is_result);

  /// A storage made by this capture.
  struct Memory {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    ir::ValueId root;  ///< the first value on it
  };
  const std::unordered_map<const c10::StorageImpl*, Memory>& memory() const { return memory_; }
  /// Returns whether the shape of a view on this value's memory has been changed in place.
  bool has_reshaped_view(ir::ValueId value) const { return reshaped_.count(graph_.storage_of(value)) > 0; }

  /// From here on, leaves out of the graph what is as expected.
  void follow(std::shared_ptr<Follower> follower) { follower_ = std::move(follower); }
  /// Null when it follows nothing, or no longer, because something was not as expected.
  const std::shared_ptr<Follower>& follower() const { return follower_; }
  /// Puts what was left out into the graph, and follows no longer.
  void unfollow();

  uint64_t id() const { return id_; }
  c10::ScalarType default_dtype() const { return default_dtype_; }
  const FakeRegistry& fakes() const { return *fakes_; }
  const std::shared_ptr<FakeRegistry>& registry() const { return fakes_; }
  const OutsideWorld& outside() const { return outside_; }
  ir::Graph& graph() { return graph_; }
  OutsideWorld& outside() { return outside_; }
  HostMemory& host_memory() { return host_memory_; }
  InferenceCounts& counts() { return counts_; }
  MetGenerators& generators() { return generators_; }

  /// The last error thrown into the captured function: an interpreter in between may turn it into another
  /// type.
  std::exception_ptr last_error;
  bool threw(const std::exception& error) const;  ///< whether its text contains that of `last_error`
  const Reached* backward = nullptr;              ///< non-null while gradients are recorded
  Tape* tape = nullptr;                           ///< the tape that it records for; null in a capture
  bool has_assumptions = false;  ///< the graph checks answers that were assumed of data (assumption.h)
  int bodies = 0;                ///< how many bodies of regions are being recorded, one in the other

 private:
  struct Call;

  /// Handles an op without recording it if it is as expected; else returns false.
  bool follow(const aten::OpSchema& schema, torch::jit::Stack& stack);
  c10::intrusive_ptr<FakeTensor> follow_alias(const at::Tensor& tensor);  ///< likewise; null
  bool is_in_place(const ir::Node& expected) const;
  c10::intrusive_ptr<FakeTensor> make_expected(ir::ValueId expected, c10::Storage storage);
  at::Tensor make_twin(const FakeTensor& fake);
  at::Tensor twin_of(const at::Tensor& tensor);
  void check_uncut(const FakeTensor& fake) const;
  c10::IValue with_twins(const c10::IValue& value, Call& call);
  void note_argument(const at::Tensor& tensor, const at::Tensor& twin, Call& call);
  at::Tensor take_generator(const aten::OpSchema& schema, Call& call);
  void infer(const aten::OpSchema& schema, Call& call);
  void take_results(const aten::OpSchema& schema, Call& call, ir::Node& node);
  at::Tensor take_result(const at::Tensor& meta, Call& call, ir::Node& node);
  bool is_rearranged_alone(const FakeTensor& tensor, const at::Tensor& meta) const;
  at::Tensor take_changed_argument(const at::Tensor& argument, const at::Tensor& meta, Call& call,
                                   ir::Node& node);
  c10::Storage storage_for(const at::Tensor& tensor);
  c10::intrusive_ptr<FakeTensor> make_fake(at::Tensor meta, c10::Device device, ir::ValueId value,
                                           c10::Storage storage);
  void note_writes(const aten::OpSchema& schema, const Call& call, ir::Node& node);
  bool read_host_data(const aten::OpSchema& schema, torch::jit::Stack* stack);
  static void bump_versions(const aten::OpSchema& schema, const Call& call);
  void note_backward(ir::Node& node) const;
  void note_memory(const c10::Storage& storage, ir::ValueId value);

  uint64_t id_;
  int64_t first_sequence_;
  const c10::ScalarType default_dtype_;  ///< in which the graph runs
  ir::Graph graph_;
  OutsideWorld outside_;
  HostMemory host_memory_;
  Determinants determinants_;
  MetGenerators generators_;
  InferenceCounts counts_;
  std::shared_ptr<FakeRegistry> fakes_ = std::make_shared<FakeRegistry>();
  std::unordered_map<const c10::StorageImpl*, Memory> memory_;
  std::shared_ptr<Follower> follower_;
  /// Per storage of fakes: that of their twins, while there are fakes without one.
  std::unordered_map<const c10::StorageImpl*, c10::Storage> twin_storages_;
  std::set<ir::ValueId> reshaped_;  ///< roots of views whose shape was changed in place
  std::vector<std::pair<int32_t, int32_t>> cut_;
};

}  // namespace antegrad::capture
