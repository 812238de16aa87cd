#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace torch::autograd {
struct Node;
}

namespace antegrad::capture {

/// A real tensor that the captured function reached without receiving it as an argument.
struct Outsider {
  at::Tensor tensor;  ///< strong, until the capture ends
  at::Tensor meta;    ///< twin on the meta device
  ir::ValueId value;
  c10::Storage fake_storage;  ///< for views of it
  ir::Bytes snapshot;         ///< contents when first met, where the memory may be gone later (from_blob)
  bool wrapped_number = false;
  bool written = false;
  bool late = false;                 ///< first met in the backward pass, which reads it as it is then
  uint32_t version_bumps = 0;        ///< by the captured function; known after restore()
  bool gained_grad_fn = false;       ///< likewise
  bool ends_requiring_grad = false;  ///< likewise

  // State when first met.
  c10::intrusive_ptr<c10::TensorImpl> saved;  ///< dtype, dispatch keys, sizes … of the tensor
  std::vector<int64_t> sizes;
  uint32_t version = 0;
  bool requires_grad = false;
  bool is_set_to_require_grad = false;  ///< by requires_grad_(), as opposed to having a history
  at::Tensor grad;
  std::shared_ptr<torch::autograd::Node> grad_fn;
  uint32_t output_nr = 0;
  at::Tensor base;  ///< of a view: an in-place op on the view gives the base a new history
  std::shared_ptr<torch::autograd::Node> base_grad_fn;
  uint32_t base_output_nr = 0;
  uint32_t attr_version = 0;
};

/// All real tensors met during a capture. Restores each to exactly the state in which it was met.
class OutsideWorld {
 public:
  OutsideWorld() = default;
  OutsideWorld(const OutsideWorld&) = delete;
  OutsideWorld& operator=(const OutsideWorld&) = delete;
  ~OutsideWorld();  ///< restores whatever restore() has not

  Outsider* find(const at::Tensor& real);
  Outsider* find(ir::ValueId value);  ///< by its value in the graph
  /// Registers a real tensor. Throws Error(UnsupportedTensor) if it cannot be captured.
  Outsider& add(const at::Tensor& real, ir::Graph& graph);

  /// Throws when the host has changed borrowed memory since its snapshot was taken.
  void check_unchanged(const Outsider& outsider) const;

  bool has_borrowed() const { return has_borrowed_; }  ///< some tensor is over host memory (from_blob)
  std::vector<std::unique_ptr<Outsider>>& all() { return all_; }
  const std::vector<std::unique_ptr<Outsider>>& all() const { return all_; }

  /// Restores version counters, autograd state, .grad and data of all of them. Returns the outsiders whose
  /// data (set_data) or .grad the captured function replaced: such a function cannot be captured.
  std::vector<const Outsider*> restore();

  /// To be called before the first tensor is added, for a function whose effects on them are meant (tape.h):
  /// hooks stay on the tensors. `is_hosts` tells whose memory the host may change at any time.
  void expect_effects(std::function<bool(const at::Tensor&)> is_hosts) {
    leaves_hooks_ = true;
    is_hosts_ = std::move(is_hosts);
  }
  /// Returns whether nothing but recorded ops has changed them since they were met, and restore() and a run
  /// of the ops would have the same effect.
  bool changed_by_ops_only() const;
  /// Leaves them as they are: the changes are meant.
  void accept() { restored_ = true; }

 private:
  std::vector<std::unique_ptr<Outsider>> all_;
  std::unordered_map<const c10::TensorImpl*, Outsider*> index_;
  std::unordered_map<int32_t, Outsider*> by_value_;
  bool restored_ = false;
  bool leaves_hooks_ = false;
  std::function<bool(const at::Tensor&)> is_hosts_;
  bool has_borrowed_ = false;
};

/// Returns the elements of a real tensor in row-major order.
ir::Bytes contents_of(const at::Tensor& tensor);
/// Returns whether the memory is someone else's (from_blob), so that it may be gone when the captured
/// function returns.
bool is_borrowed(const at::Tensor& tensor);

/// Returns whether the tensor currently has a tangent of forward-mode differentiation.
bool has_tangent(const c10::TensorImpl& impl);

/// Throws Error(UnsupportedTensor) for a tensor with named dims or a forward-mode tangent: ops would have to
/// propagate these, and graphs cannot represent them.
void check_undecorated(const at::Tensor& tensor, const char* where);
/// Throws Error(UnsupportedTensor) unless the tensor is dense, strided, unquantized and undecorated.
void check_capturable(const at::Tensor& tensor, const char* where);

}  // namespace antegrad::capture
