#include "compiler/cache/kernel_cache.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <mutex>

#include "antegrad/error.h"
#include "cache/format/label.h"
#include "codegen/cpu/kernel_source.h"
#include "codegen/cuda/kernel_source.h"
#include "compiler/cache/system_key.h"
#include "toolchain/cuda/cubin.h"
#include "toolchain/module.h"
#include "trace/trace.h"
#include "util/fork_mutex.h"

namespace antegrad::compiler {
namespace {

/// When there are this many kernels in memory, those that no function uses are dropped.
constexpr size_t kMaxKernels = 4096;

bool is_cuda(const schedule::Kernel& kernel) { return kernel.device == ir::Device::Kind::Cuda; }

const KernelCompiler& compiler_of(const schedule::Kernel& kernel, const KernelTarget& target) {
  return is_cuda(kernel) ? target.cuda : target.cpu;
}

/// Equal for kernels that differ only in names and comments.
cache::Key key_of(schedule::Kernel kernel, const KernelTarget& target) {
  kernel.name = kKernelFunction;
  schedule::remove_texts(kernel, /*all=*/true);
  const auto& compiler = compiler_of(kernel, target);
  cache::Key key;
  add_system(key, compiler.toolchain, toolchain::target_name(compiler.target));
  if (is_cuda(kernel)) {
    const auto mapping = codegen::cuda::map_kernel(kernel, *target.facts);
    key.add_text("mapping", codegen::cuda::to_string(mapping));
    key.add_text("source", codegen::cuda::unit_source(kernel, mapping));
  } else {
    key.add_text("source", codegen::cpu::kernel_source(kernel));
  }
  return key;
}

std::string source_of(schedule::Kernel kernel, const KernelTarget& target) {
  kernel.name = kKernelFunction;
  if (is_cuda(kernel))
    return codegen::cuda::unit_source(kernel, codegen::cuda::map_kernel(kernel, *target.facts));
  return kernel_text(std::move(kernel));
}

/// The kernels loaded in this process.
class Memory {
 public:
  std::optional<LoadedKernel> find(const cache::Digest& key) {
    std::scoped_lock lock(mutex_);
    const auto found = kernels_.find(key);
    if (found == kernels_.end()) return std::nullopt;
    ++counts_.found;
    return found->second;
  }

  void add(const LoadedKernel& kernel, bool compiled) {
    std::scoped_lock lock(mutex_);
    ++(compiled ? counts_.compiled : counts_.found);
    if (kernels_.size() >= kMaxKernels)
      std::erase_if(kernels_, [](const auto& entry) {
        const auto& code = entry.second.code;
        return code.cuda == nullptr && code.keep.use_count() == 1;  // the driver never drops those for CUDA
      });
    kernels_.insert_or_assign(kernel.reference.key, kernel);
  }

  KernelCounts counts() {
    std::scoped_lock lock(mutex_);
    return counts_;
  }

  static Memory& instance() {
    static auto& memory = *new Memory;  // never destroyed: static destructors may call compiled functions
    return memory;
  }

 private:
  BriefMutex mutex_;
  std::map<cache::Digest, LoadedKernel> kernels_;
  KernelCounts counts_;
};

/// The object itself says which device it is for.
LoadedKernel load(const cache::Digest& key, std::string object) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(object.data());
  if (toolchain::cuda::is_cubin({bytes, object.size()})) {
    auto module = toolchain::cuda::Module::load({{object.begin(), object.end()}, {}}, kKernelFunction);
    runtime::KernelCode code;
    code.cuda = std::make_shared<const runtime::CudaKernelCode>(runtime::CudaKernelCode{module, {}});
    code.keep = std::move(module);
    return {{key, cache::sha256(object)},
            std::move(code),
            std::make_shared<const std::string>(std::move(object))};
  }
  auto module = toolchain::Module::load({{object.begin(), object.end()}, {}});
  void* function = module->find(kKernelFunction);
  if (function == nullptr)
    throw Error(ErrorCode::Compile, "compile",
                fmt::format("an object has no function '{}'", kKernelFunction));
  return {{key, cache::sha256(object)},
          {reinterpret_cast<runtime::KernelFunction>(function), std::move(module), nullptr},
          std::make_shared<const std::string>(std::move(object))};
}

/// A kernel from the cache. `expected` is the hash of its object, if known.
struct FromCache {
  std::optional<LoadedKernel> kernel;
  cache::Outcome outcome = cache::Outcome::Miss;
  std::string reason;
  std::string store = {};  ///< the name of the store it came from
  bool wrong = false;      ///< a valid entry, but with another object than expected
};
FromCache from_cache(const cache::Digest& key, const cache::Digest* expected, cache::Loaded loaded) {
  if (loaded.outcome != cache::Outcome::Hit) return {{}, loaded.outcome, std::move(loaded.reason)};
  const auto* bytes = loaded.entry.find("object");
  if (bytes == nullptr) return {{}, cache::Outcome::Corrupt, "an entry of a kernel has no object"};
  if (expected != nullptr && cache::sha256(*bytes) != *expected)
    return {{},
            cache::Outcome::Corrupt,
            fmt::format("kernel {} is not the one that the function was stored with", key.hex()),
            {},
            true};
  try {
    return {load(key, *bytes), cache::Outcome::Hit, {}, std::move(loaded.store)};
  } catch (const Error& error) {
    return {{}, cache::Outcome::Corrupt, error.what()};
  }
}

/// Stores a kernel unless the store has it.
void store(const cache::Key& key, const LoadedKernel& kernel, const KernelTarget& target) {
  if (!target.caches || target.caches->has_kernel(kernel.reference.key)) return;
  auto entry = cache::labelled({"kernel", "", key, {}});
  entry.sections.push_back({"object", *kernel.object});
  if (const auto saved = target.caches->store()->put({kernel.reference.key, 0}, entry))
    target.caches->set_has_kernel(kernel.reference.key);
  else
    target.caches->note(saved.reason);
}

/// `from` is "process", "cache" or "compiled".
void trace_kernel(const schedule::Kernel& kernel, const LoadedKernel& loaded, const char* from,
                  const std::string& toolchain, double seconds) {
  if (!trace::on()) return;
  trace::Event event("kernel");
  event.with("name", kernel.name).with("key", loaded.reference.key.hex()).with("from", from);
  if (loaded.object) event.with("object_bytes", loaded.object->size());
  if (!toolchain.empty()) event.with("toolchain", toolchain).with("us", std::round(seconds * 1e6));
  event.send();
}

/// Looks in this process, then in the cache; `from` says where it was found.
std::optional<LoadedKernel> find(const cache::Key& key, const cache::Digest& digest,
                                 const KernelTarget& target, const char*& from) {
  if (target.caches && target.caches->is_wrong_kernel(digest)) return std::nullopt;
  from = "process";
  if (auto known = Memory::instance().find(digest)) {
    store(key, *known, target);
    return known;
  }
  from = "cache";
  if (!target.caches) return std::nullopt;
  auto cached = from_cache(digest, nullptr, target.caches->store()->get({digest, 0}));
  target.caches->kernels.add(cached.outcome);
  if (!cached.reason.empty()) target.caches->note(cached.reason);
  if (cached.kernel) {
    Memory::instance().add(*cached.kernel, false);
    // A function is stored in all stores that are written to, so its kernels must be there too.
    if (target.caches->may_lack(cached.store))
      store(key, *cached.kernel, target);
    else
      target.caches->set_has_kernel(digest);
  }
  return cached.kernel;
}

/// A kernel to be compiled once, with all the places that use it.
struct Missing {
  cache::Key key;
  std::string source;
  std::vector<size_t> users;
};

using MissingKernels = std::map<cache::Digest, Missing>;

void compile(const std::vector<schedule::Kernel>& kernels, const MissingKernels& missing,
             const KernelCompiler& compiler, const KernelTarget& target, std::vector<LoadedKernel>& out) {
  if (missing.empty()) return;
  const trace::Span span("compile kernels");
  std::vector<std::string> sources;
  for (const auto& [digest, kernel] : missing) sources.push_back(kernel.source);
  const auto objects = toolchain::compile_all(compiler.open(), sources, compiler.target, target.progress);
  // When clang could not be opened, the system's compiler made the objects and they do not match their keys.
  const auto toolchain = compiler.open().name();
  const bool as_named = toolchain == compiler.toolchain;
  size_t next = 0;
  for (const auto& [digest, kernel] : missing) {
    const auto& object = objects[next++];
    const auto loaded = load(digest, std::string(cache::as_bytes(object.bytes)));
    Memory::instance().add(loaded, true);
    if (as_named) store(kernel.key, loaded, target);
    for (auto k : kernel.users) {
      out[k] = loaded;
      trace_kernel(kernels[k], loaded, "compiled", toolchain, object.seconds);
    }
  }
}

}  // namespace

std::vector<LoadedKernel> make_kernels(const std::vector<schedule::Kernel>& kernels,
                                       const KernelTarget& target) {
  const trace::Span span("kernels");
  std::vector<LoadedKernel> out(kernels.size());
  MissingKernels missing_on_cpu, missing_on_cuda;
  for (size_t k = 0; k < kernels.size(); ++k) {
    auto& missing = is_cuda(kernels[k]) ? missing_on_cuda : missing_on_cpu;
    auto key = key_of(kernels[k], target);
    const auto digest = key.digest();
    if (const auto known = missing.find(digest); known != missing.end()) {
      known->second.users.push_back(k);
      continue;
    }
    const char* from = "";
    const auto found = find(key, digest, target, from);
    if (found) {
      out[k] = *found;
      trace_kernel(kernels[k], out[k], from, "", 0);
    } else
      missing.emplace(digest, Missing{std::move(key), source_of(kernels[k], target), {k}});
  }
  compile(kernels, missing_on_cpu, target.cpu, target, out);
  compile(kernels, missing_on_cuda, target.cuda, target, out);
  if (target.facts) map_kernels(kernels, *target.facts, out);
  return out;
}

LoadedKernel make_cuda_kernel(const std::string& name, const std::string& text, const KernelTarget& target) {
  cache::Key key;
  add_system(key, target.cuda.toolchain, toolchain::target_name(target.cuda.target));
  key.add_text("source", text);
  const auto digest = key.digest();
  schedule::Kernel named;
  named.name = name;
  const char* from = "";
  if (auto found = find(key, digest, target, from)) {
    trace_kernel(named, *found, from, "", 0);
    return *std::move(found);
  }
  std::vector<LoadedKernel> out(1);
  MissingKernels missing;
  missing.emplace(digest, Missing{std::move(key), text, {0}});
  compile({named}, missing, target.cuda, target, out);
  return out[0];
}

FoundKernels find_kernels(const std::vector<KernelReference>& references, Caches& caches) {
  std::vector<LoadedKernel> out(references.size());
  std::vector<size_t> places;
  std::vector<cache::Address> addresses;
  for (size_t k = 0; k < references.size(); ++k) {
    const auto known = Memory::instance().find(references[k].key);
    if (known && known->reference == references[k] && caches.has_kernel(references[k].key)) {
      out[k] = *known;
      continue;
    }
    places.push_back(k);
    addresses.push_back({references[k].key, 0});
  }
  auto loaded = caches.store()->get_many(addresses);
  std::optional<FoundKernels> failed;
  for (size_t i = 0; i < places.size(); ++i) {
    const auto& reference = references[places[i]];
    auto cached = from_cache(reference.key, &reference.object, std::move(loaded[i]));
    // All are checked, so that no wrong kernel is taken from the cache when the function is compiled next.
    if (cached.wrong) caches.set_wrong_kernel(reference.key);
    if (!cached.kernel) {
      if (cached.reason.empty()) cached.reason = fmt::format("kernel {} is gone", reference.key.hex());
      if (!failed) failed = {{}, cached.outcome, std::move(cached.reason)};
      continue;
    }
    Memory::instance().add(*cached.kernel, false);
    if (!caches.may_lack(cached.store)) caches.set_has_kernel(reference.key);
    out[places[i]] = std::move(*cached.kernel);
  }
  if (failed) return std::move(*failed);
  return {std::move(out), cache::Outcome::Hit, {}};
}

LoadedKernel load_kernel(const cache::Digest& key, std::string object) {
  return load(key, std::move(object));
}

std::string kernel_text(schedule::Kernel kernel) {
  kernel.name = kKernelFunction;
  return codegen::cpu::unit_source({&kernel});
}

void map_kernels(const std::vector<schedule::Kernel>& kernels, const schedule::DeviceFacts& facts,
                 std::vector<LoadedKernel>& loaded) {
  for (size_t k = 0; k < kernels.size(); ++k)
    if (auto& cuda = loaded[k].code.cuda)
      cuda = std::make_shared<const runtime::CudaKernelCode>(
          runtime::CudaKernelCode{cuda->module, codegen::cuda::map_kernel(kernels[k], facts)});
}

KernelCounts kernel_counts() { return Memory::instance().counts(); }

}  // namespace antegrad::compiler
