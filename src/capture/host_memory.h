#pragma once
#include <c10/core/Storage.h>

#include <optional>
#include <unordered_map>

#include "ir/graph.h"

namespace antegrad::capture {

/// Real memory for small tensors that user code makes with empty() and then fills through a pointer, as
/// torch::tensor(std::vector) does. The memory starts with a pattern. If the pattern is gone at the first use
/// of the tensor, the host has written it, and the tensor becomes a constant.
class HostMemory {
 public:
  static constexpr size_t kMaxBytes = size_t{16} << 20;

  /// Returns a storage with memory for the empty() that is node number `node`.
  c10::Storage allocate(size_t bytes, c10::Device device, size_t node);

  /// To be called before a recorded op reads tensors on `storage`. Throws when the host has changed the
  /// memory after an earlier use.
  void on_read(const c10::Storage& storage);
  /// To be called before a recorded op writes to `storage`. Its memory is out of date from here on, so
  /// accessing it throws.
  void on_write(const c10::Storage& storage);

  /// Returns the memory when the host wrote it and ops have only read it, else null.
  const void* data_of(const c10::Storage& storage);
  bool empty() const { return buffers_.empty(); }
  bool holds(const c10::StorageImpl* storage) const { return buffers_.count(storage) > 0; }

  /// Turns the empty() nodes from number `first` on whose memory the host wrote into constants.
  void make_constants(ir::Graph& graph, size_t first = 0);
  /// Forgets the memory of these nodes, which are taken out of the graph.
  void forget(size_t first) {
    std::erase_if(buffers_, [&](const auto& entry) { return entry.second.node >= first; });
  }

 private:
  struct Buffer {
    c10::Storage storage;  ///< keeps the memory alive, and with it the address that is the key
    uint8_t* memory = nullptr;
    size_t bytes = 0;
    size_t node = 0;
    bool open = true;    ///< no recorded op has written to it
    ir::Bytes snapshot;  ///< what the host wrote before the first use; null when it wrote nothing
    bool used = false;
    /// Contents when an op first wrote to it: the host may still write through a pointer that it took before.
    std::vector<uint8_t> at_close;
  };
  Buffer* find(const c10::Storage& storage);
  void check_closed();  ///< throws when the host wrote to memory after an op had used it

  std::unordered_map<const c10::StorageImpl*, Buffer> buffers_;
};

}  // namespace antegrad::capture
