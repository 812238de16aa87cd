#pragma once
#include <ATen/core/Tensor.h>

#include <atomic>
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

/// Told when someone wants the data of a fake, or of a tensor that was one, before the data is looked at.
class DataAccess {
 public:
  virtual void on_access(FakeTensor& tensor) = 0;

 protected:
  ~DataAccess() = default;
};

/// The live fakes of one capture.
class FakeRegistry {
 public:
  void add(FakeTensor* fake);
  void remove(FakeTensor* fake);
  int64_t size() const;
  std::vector<at::Tensor> all() const;

  std::atomic<DataAccess*> access{nullptr};  ///< null: accessing a fake's data throws

 private:
  mutable BriefMutex mutex_;  ///< a leaked fake may be destroyed on any thread
  std::unordered_set<FakeTensor*> fakes_;
};

/// A tensor that has a device, a dtype and a shape but no data. User code sees an ordinary tensor of the real
/// device; accessing its data throws. It belongs to one Recorder and outlives it when the function stores it:
/// then it is given memory (kept.h) and is an ordinary tensor from there on.
class FakeTensor final : public c10::TensorImpl {
 public:
  /// `meta` is the twin on the meta device that shape rules run on; this tensor has its metadata.
  FakeTensor(c10::Storage storage, at::Tensor meta, c10::Device device, uint64_t capture_id,
             ir::ValueId value, std::shared_ptr<FakeRegistry> registry);
  /// One without a twin, which is made when it is needed.
  FakeTensor(c10::Storage storage, const ir::TensorType& type, uint64_t capture_id, ir::ValueId value,
             std::shared_ptr<FakeRegistry> registry);
  ~FakeTensor() override { registry_->remove(this); }

  const at::Tensor& meta() const { return meta_; }  ///< undefined where no twin has been made
  void set_meta(at::Tensor meta) { meta_ = std::move(meta); }
  ir::ValueId value() const { return value_; }
  uint64_t capture_id() const { return capture_id_; }
  const std::shared_ptr<FakeRegistry>& registry() const { return registry_; }

  /// Makes it an ordinary tensor on that memory.
  void move_to(c10::Storage storage) { storage_ = std::move(storage); }
  /// Makes it an ordinary tensor with the memory, sizes and strides of `real`.
  void become(const at::Tensor& real);

  /// LibTorch asks this before each access to the data of a tensor.
  bool has_storage() const override;

  /// To be called after an in-place change of metadata (t_, resize_, set_): the twin has changed already, and
  /// the tensor is another value now. `is_new`: as if it had been made as that value.
  void rebind(ir::ValueId value, c10::Storage storage, bool is_new);
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

/// Returns the message of an error. LibTorch's own what() symbolises a backtrace first, which takes
/// milliseconds.
const char* text_of(const std::exception& error);
std::string first_line(const std::exception& error);  ///< of its message
/// Returns whether an access to a fake's data threw this error. The access is detected deep inside LibTorch,
/// which can only throw its own type.
bool is_data_access(const std::exception& error);

/// Makes every further access to the storage's pointer throw.
void forbid_data_access(const c10::Storage& storage);

/// Returns a storage of that size without memory; reading its pointer throws.
c10::Storage make_fake_storage(size_t bytes, c10::Device device);

}  // namespace antegrad::capture
