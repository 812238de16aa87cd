#include "capture/host_memory.h"

#include <cstdlib>
#include <cstring>

#include "antegrad/error.h"
#include "capture/fake.h"

namespace antegrad::capture {
namespace {

// Eight bytes that programs are unlikely to write: as a float or double they are a NaN with an odd payload. A
// tensor of one to three bytes may hold a prefix of them by chance, so it always counts as written.
constexpr uint8_t kPattern[8] = {0xa7, 0x5e, 0xc3, 0x7f, 0xa7, 0x5e, 0xf3, 0x7f};

bool has_pattern(const uint8_t* memory, size_t bytes) {
  if (bytes > 0 && bytes < 4) return false;
  for (size_t i = 0; i < bytes; i += 8)
    if (std::memcmp(memory + i, kPattern, std::min<size_t>(8, bytes - i)) != 0) return false;
  return true;
}

[[noreturn]] void throw_written_late() {
  throw Error(ErrorCode::UnsupportedOp, "capture:data_ptr",
              "the host writes to the memory of a tensor that an op has already used",
              "Fill the tensor before its first use, or make a new one");
}

}  // namespace

c10::Storage HostMemory::allocate(size_t bytes, c10::Device device, size_t node) {
  auto* memory = static_cast<uint8_t*>(std::malloc(bytes + 64));
  if (memory == nullptr) return make_fake_storage(bytes, device);
  for (size_t i = 0; i < bytes; i += 8) std::memcpy(memory + i, kPattern, 8);
  auto model = make_fake_storage(0, device);  // for its allocator, which marks fakes
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes,
                       c10::DataPtr(memory, memory, &std::free, device), model.allocator(), false);
  buffers_[storage.unsafeGetStorageImpl()] = {storage, memory, bytes, node, true, nullptr, false, {}};
  return storage;
}

HostMemory::Buffer* HostMemory::find(const c10::Storage& storage) {
  if (buffers_.empty()) return nullptr;
  auto found = buffers_.find(storage.unsafeGetStorageImpl());
  return found == buffers_.end() ? nullptr : &found->second;
}

void HostMemory::on_read(const c10::Storage& storage) {
  auto* buffer = find(storage);
  if (buffer == nullptr || !buffer->open) return;
  const auto* memory = buffer->memory;
  if (!buffer->used) {
    buffer->used = true;
    if (!has_pattern(memory, buffer->bytes))
      buffer->snapshot = std::make_shared<std::vector<uint8_t>>(memory, memory + buffer->bytes);
    return;
  }
  const bool same = buffer->snapshot ? std::memcmp(memory, buffer->snapshot->data(), buffer->bytes) == 0
                                     : has_pattern(memory, buffer->bytes);
  if (!same) throw_written_late();
}

void HostMemory::on_write(const c10::Storage& storage) {
  auto* buffer = find(storage);
  if (buffer == nullptr || !buffer->open) return;
  on_read(storage);
  buffer->open = false;
  buffer->at_close = std::vector<uint8_t>(buffer->memory, buffer->memory + buffer->bytes);
  forbid_data_access(buffer->storage);
}

const void* HostMemory::data_of(const c10::Storage& storage) {
  auto* buffer = find(storage);
  if (buffer == nullptr || !buffer->open) return nullptr;
  on_read(storage);
  return buffer->snapshot ? buffer->memory : nullptr;
}

void HostMemory::check_closed() {
  for (auto& [impl, buffer] : buffers_) {
    if (buffer.open && buffer.used) on_read(buffer.storage);
    const bool has_been_closed = !buffer.open && buffer.bytes > 0;
    if (has_been_closed && std::memcmp(buffer.memory, buffer.at_close.data(), buffer.bytes) != 0)
      throw_written_late();
  }
}

void HostMemory::make_constants(ir::Graph& graph, size_t first) {
  check_closed();
  for (const auto& [impl, buffer] : buffers_) {
    if (!buffer.snapshot || buffer.node < first) continue;
    auto& node = graph.nodes[buffer.node];
    const auto& type = graph.tensor_type(node.outputs[0]);
    const size_t bytes = type.numel().constant() * ir::size_in_bytes(type.dtype);
    auto data =
        std::make_shared<std::vector<uint8_t>>(buffer.snapshot->begin(), buffer.snapshot->begin() + bytes);
    node.op = "antegrad.constant";
    node.args.clear();
    node.attrs = {{"data", ir::Bytes(std::move(data))}};
  }
}

}  // namespace antegrad::capture
