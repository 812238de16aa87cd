#pragma once
#include <c10/core/Storage.h>

#include <optional>
#include <unordered_map>

#include "ir/graph.h"

namespace antegrad::capture {

/// Real memory behind small tensors that user code makes with empty() and then fills through a pointer, as
/// torch::tensor(std::vector) does. The memory starts with a pattern; when the pattern is gone at the first
/// use of the tensor, the host has written it and the tensor is a constant by value.
class HostMemory {
 public:
  static constexpr size_t kMaxBytes = size_t{16} << 20;

  /// Storage with memory for the empty() that node `node` records.
  c10::Storage allocate(size_t bytes, c10::Device device, size_t node);

  /// Called before a recorded op reads tensors over `storage`. Throws when the host changed it after an
  /// earlier use.
  void on_read(const c10::Storage& storage);
  /// Called before a recorded op writes to it: from here on its memory is out of date, so touching it throws.
  void on_write(const c10::Storage& storage);

  /// The memory, when ops have only read it and the host wrote it. Null otherwise.
  const void* data_of(const c10::Storage& storage);
  bool empty() const { return buffers_.empty(); }
  bool holds(const c10::StorageImpl* storage) const { return buffers_.count(storage) > 0; }

  /// Turns the empty() nodes whose memory the host wrote into constants.
  void make_constants(ir::Graph& graph);

 private:
  struct Buffer {
    c10::Storage storage;  ///< keeps the memory, and with it the address that is the key
    uint8_t* memory = nullptr;
    size_t bytes = 0;
    size_t node = 0;
    bool open = true;    ///< no recorded op has written to it
    ir::Bytes snapshot;  ///< what the host wrote before the first use
    bool used = false;
    std::vector<uint8_t>
        at_close;  ///< when an op first wrote to it: a pointer taken before may still be used
  };
  Buffer* find(const c10::Storage& storage);
  void check_closed();  ///< throws when the host wrote to memory after an op had used it

  std::unordered_map<const c10::StorageImpl*, Buffer> buffers_;
};

}  // namespace antegrad::capture
