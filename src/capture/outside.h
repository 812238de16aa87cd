#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace torch::autograd {
struct Node;
}

namespace antegrad::capture {

/// A real tensor that the captured function reached without receiving it.
struct Outsider {
  at::Tensor tensor;  ///< strong, until the capture ends
  at::Tensor meta;    ///< twin on the meta device
  ir::ValueId value;
  c10::Storage fake_storage;  ///< for views of it
  ir::Bytes snapshot;  ///< contents at the first meeting, where the memory may be gone later (from_blob)
  bool wrapped_number = false;
  bool written = false;
  bool late = false;                 ///< first met in the backward pass, which reads it as it is then
  uint32_t version_bumps = 0;        ///< by the captured function; known after restore()
  bool gained_grad_fn = false;       ///< likewise
  bool ends_requiring_grad = false;  ///< likewise

  // as it was when first met
  c10::intrusive_ptr<c10::TensorImpl> saved;  ///< dtype, keys, sizes … of the tensor
  std::vector<int64_t> sizes;
  uint32_t version = 0;
  bool requires_grad = false;
  at::Tensor grad;
  std::shared_ptr<torch::autograd::Node> grad_fn;
  uint32_t output_nr = 0;
  at::Tensor base;  ///< of a view: an in-place op on the view gives the base a new history
  std::shared_ptr<torch::autograd::Node> base_grad_fn;
  uint32_t base_output_nr = 0;
  uint32_t attr_version = 0;
};

/// Every real tensor met during a capture, and the promise to leave each exactly as it was.
class OutsideWorld {
 public:
  OutsideWorld() = default;
  OutsideWorld(const OutsideWorld&) = delete;
  OutsideWorld& operator=(const OutsideWorld&) = delete;
  ~OutsideWorld();  ///< restores whatever restore() has not

  Outsider* find(const at::Tensor& real);
  Outsider* find(ir::ValueId value);  ///< by its value in the graph
  /// Notes a real tensor. Throws Error(UnsupportedTensor) for what cannot be captured.
  Outsider& add(const at::Tensor& real, ir::Graph& graph);

  /// Throws when the host has changed borrowed memory since its contents were taken.
  void check_unchanged(const Outsider& outsider) const;

  bool has_borrowed() const { return has_borrowed_; }  ///< some memory of the host is under from_blob()
  std::vector<std::unique_ptr<Outsider>>& all() { return all_; }
  const std::vector<std::unique_ptr<Outsider>>& all() const { return all_; }

  /// Puts back version counters, autograd state, .grad and data of all of them. Returns the outsiders whose
  /// data (set_data) or .grad the captured function replaced by a fake: such a function cannot be captured.
  std::vector<const Outsider*> restore();

 private:
  std::vector<std::unique_ptr<Outsider>> all_;
  std::unordered_map<const c10::TensorImpl*, Outsider*> index_;
  std::unordered_map<int32_t, Outsider*> by_value_;
  bool restored_ = false;
  bool has_borrowed_ = false;
};

/// The elements of a real tensor, row-major.
ir::Bytes contents_of(const at::Tensor& tensor);
/// from_blob memory belongs to someone else and may be gone when the captured function returns.
bool is_borrowed(const at::Tensor& tensor);

/// Whether it has a gradient of forward-mode differentiation now.
bool has_tangent(const c10::TensorImpl& impl);

/// Throws Error(UnsupportedTensor) for a tensor with names or a forward gradient: ops would have to pass
/// these on, and graphs have no place for them.
void check_undecorated(const at::Tensor& tensor, const char* where);
/// Throws Error(UnsupportedTensor) unless the tensor is a dense, strided, unquantized, undecorated one.
void check_capturable(const at::Tensor& tensor, const char* where);

}  // namespace antegrad::capture
