#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"
#include "util/fork_mutex.h"

namespace antegrad::capture {

class Recorder;
class FakeTensor;

/// The fakes of one capture that are alive.
class FakeRegistry {
 public:
  void add(FakeTensor* fake);
  void remove(FakeTensor* fake);
  int64_t size() const;
  std::vector<at::Tensor> all() const;

 private:
  mutable BriefMutex mutex_;  ///< a fake that leaked may die on any thread
  std::unordered_set<FakeTensor*> fakes_;
};

/// A tensor that has a device, a dtype and a shape but no data. User code sees an ordinary tensor of the real
/// device; touching its data throws. It belongs to one Recorder, which may be gone when the tensor leaks out
/// of its capture: then it is given memory (kept.h), and is an ordinary tensor from there on.
class FakeTensor final : public c10::TensorImpl {
 public:
  /// `meta` is the twin on the meta device that shape rules run on; its metadata are this tensor's.
  FakeTensor(c10::Storage storage, at::Tensor meta, c10::Device device, uint64_t capture_id,
             ir::ValueId value, std::shared_ptr<FakeRegistry> registry);
  ~FakeTensor() override { registry_->remove(this); }

  const at::Tensor& meta() const { return meta_; }
  ir::ValueId value() const { return value_; }
  uint64_t capture_id() const { return capture_id_; }
  const std::shared_ptr<FakeRegistry>& registry() const { return registry_; }

  /// From here on it is an ordinary view of that memory.
  void move_to(c10::Storage storage) { storage_ = std::move(storage); }

  /// After an in-place change of metadata (t_, resize_, set_): the twin has changed, and this is another
  /// value now.
  void rebind(ir::ValueId value, c10::Storage storage);
  bool is_rebound() const { return rebound_; }

  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(const c10::VariableVersion& version_counter,
                                                         bool allow_tensor_metadata_change) const override;
  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(c10::VariableVersion&& version_counter,
                                                         bool allow_tensor_metadata_change) const override;
  void shallow_copy_from(const c10::intrusive_ptr<TensorImpl>& source) override;

 private:
  void take_metadata_of_twin();

  at::Tensor meta_;
  uint64_t capture_id_;
  ir::ValueId value_;
  bool rebound_ = false;
  std::shared_ptr<FakeRegistry> registry_;
};

FakeTensor* as_fake(const at::Tensor& tensor);  ///< null when it is not a fake
bool is_fake_storage(const c10::Storage& storage);

/// What an error says. LibTorch's own what() looks up the names in a backtrace first, which takes
/// milliseconds.
const char* text_of(const std::exception& error);
/// Whether an access to a fake's data threw this: it is found out deep inside LibTorch, which can only throw
/// its own type.
bool is_data_access(const std::exception& error);

/// Makes every further access to the storage's pointer throw.
void forbid_data_access(const c10::Storage& storage);

/// Storage of a size without memory; reading its pointer throws.
c10::Storage make_fake_storage(size_t bytes, c10::Device device);

}  // namespace antegrad::capture
