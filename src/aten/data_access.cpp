#include "aten/data_access.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>

#include "util/call_site.h"
#include "util/fork_mutex.h"

namespace antegrad::aten {
namespace {

using HasStorage = bool (*)(const c10::TensorImpl*);

constinit thread_local AccessListener* listener = nullptr;
std::atomic<HasStorage> original = nullptr;

/// Who has called a function.
enum class Caller : uint8_t {
  User,
  Accessor,  ///< a function of LibTorch's that returns a pointer to memory
  Other,     ///< LibTorch, antegrad
};

Caller look_up(void* address) {
  if (is_user_code(address)) return Caller::User;
  Dl_info info{};
  if (dladdr(static_cast<char*>(address) - 1, &info) == 0 || info.dli_sname == nullptr) return Caller::Other;
  const std::string_view name = info.dli_sname;  // mangled
  const bool is_accessor = name.find("10TensorBase") != name.npos && name.find("data_ptr") != name.npos;
  return is_accessor ? Caller::Accessor : Caller::Other;
}

/// Looks an address up once per process: the dynamic linker takes a millisecond for it.
Caller caller_at(void* address) {
  struct Known {
    BriefMutex mutex;
    std::unordered_map<void*, Caller> callers;
  };
  static auto& known = *new Known;
  {
    const std::scoped_lock lock(known.mutex);
    if (const auto found = known.callers.find(address); found != known.callers.end()) return found->second;
  }
  const auto caller = look_up(address);
  const std::scoped_lock lock(known.mutex);
  return known.callers.try_emplace(address, caller).first->second;
}

/// LibTorch asks for the storage of its own accord as well, and reads tensors of its own (numbers): only
/// what the user's code does itself counts.
bool is_users(void* address) {
  auto caller = caller_at(address);
  if (caller != Caller::Accessor) return caller == Caller::User;
  const auto stack = call_stack();
  auto frame = std::find(stack.begin(), stack.end(), address);
  while (frame != stack.end() && caller == Caller::Accessor)
    if (++frame != stack.end()) caller = caller_at(*frame);
  return caller == Caller::User;
}

bool has_storage(const c10::TensorImpl* tensor) {
  tell_of_access(*tensor, __builtin_return_address(0));
  return original.load(std::memory_order_relaxed)(tensor);
}

/// Returns the entry for has_storage() in the table of TensorImpl's virtual functions. A pointer to a virtual
/// function is 1 plus the offset of its entry (Itanium C++ ABI, which the platform's compilers follow).
HasStorage* entry_of_has_storage() {
  const auto function = &c10::TensorImpl::has_storage;
  struct {
    uintptr_t pointer;
    ptrdiff_t adjustment;
  } parts{};
  static_assert(sizeof(parts) == sizeof(function));
  std::memcpy(&parts, &function, sizeof(parts));
  if ((parts.pointer & 1) == 0) return nullptr;
  const c10::TensorImpl tensor(c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<float>(),
                               c10::kCPU);
  char* table = nullptr;
  std::memcpy(&table, static_cast<const void*>(&tensor), sizeof(table));
  return reinterpret_cast<HasStorage*>(table + parts.pointer - 1);
}

/// Returns how the memory at an address is protected; nothing if that is not known.
std::optional<int> protection_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  uintptr_t from = 0, to = 0;
  char dash = 0;
  std::string access;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream text(line);
    if (!(text >> std::hex >> from >> dash >> to >> access)) return {};
    const auto at = reinterpret_cast<uintptr_t>(address);
    if (at < from || at >= to) continue;
    return (access[0] == 'r' ? PROT_READ : 0) | (access[1] == 'w' ? PROT_WRITE : 0) |
           (access[2] == 'x' ? PROT_EXEC : 0);
  }
  return {};
}

/// Has LibTorch call has_storage() above for ordinary tensors, of all threads. It stays so: this library is
/// never unloaded, and without a listener nothing changes.
bool install() {
  auto* entry = entry_of_has_storage();
  const auto protection = protection_of(entry);
  if (entry == nullptr || !protection) return false;
  original = *entry;
  const auto page_size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(entry) & ~(page_size - 1));
  if (mprotect(page, page_size, *protection | PROT_WRITE) != 0) return false;
  std::atomic_ref(*entry).store(has_storage, std::memory_order_release);
  mprotect(page, page_size, *protection);
  return true;
}

}  // namespace

Listening::Listening(AccessListener* to) : outer_(std::exchange(listener, to)) {
  [[maybe_unused]] static const bool installed = install();
}
Listening::~Listening() { listener = outer_; }

void tell_of_access(const c10::TensorImpl& tensor, void* caller) {
  if (listener == nullptr || !is_users(caller)) return;
  auto* to = listener;
  const Listening to_nobody(nullptr);
  to->on_access(tensor);
}

}  // namespace antegrad::aten
