#pragma once
// Runs the CUDA text of kernels on the CPU and compares the results with the interpreter's.
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "codegen/cuda/kernel_source.h"
#include "kernels/run_kernels.h"

namespace antegrad::schedule {

/// A case for a GPU: the kernel, how it is mapped, and whether its pointers are multiples of 16 bytes.
struct CudaCase {
  Case test;
  codegen::cuda::Mapping mapping;
  bool aligned = true;
};

/// Whether AddressSanitizer checks the memory accesses of kernels. Builds with it do so; others with
/// ANTEGRAD_EMULATE_SANITIZED=1 if its library is preloaded.
inline bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__)
  return true;
#else
  return std::getenv("ANTEGRAD_EMULATE_SANITIZED") != nullptr;
#endif
}

/// Memory of a kernel, aligned or just not. The sanitizer sees where it ends; without it there are margins
/// that nothing may write to.
class DeviceBytes {
 public:
  DeviceBytes(ir::DType dtype, const Memory& memory, bool aligned)
      : dtype_(dtype),
        size_(static_cast<size_t>(ir::size_in_bytes(dtype))),
        first_((is_sanitized() ? 0 : kMargin) + (aligned ? 0 : size_)),
        count_(memory.size()),
        bytes_(first_ + count_ * size_ + (is_sanitized() ? 0 : kMargin)),
        memory_(static_cast<uint8_t*>(std::malloc(bytes_ + (bytes_ == 0 ? 1 : 0)))) {  // a multiple of 16
    std::fill_n(memory_.get(), bytes_, kUntouched);
    for (size_t i = 0; i < memory.size(); ++i) put(dtype, data() + i * size_, memory[i]);
  }
  uint8_t* data() { return memory_.get() + first_; }
  Memory numbers() {
    Memory out;
    for (size_t i = 0; i < count_; ++i) out.push_back(get(dtype_, data() + i * size_));
    return out;
  }
  bool margins_are_whole() const {
    for (size_t i = 0; i < bytes_; ++i)
      if ((i < first_ || i >= first_ + count_ * size_) && memory_[i] != kUntouched) return false;
    return true;
  }

 private:
  struct Free {
    void operator()(uint8_t* memory) const { std::free(memory); }
  };
  static constexpr size_t kMargin = 64;
  static constexpr uint8_t kUntouched = 0xa5;
  ir::DType dtype_;
  size_t size_, first_, count_, bytes_;
  std::unique_ptr<uint8_t[], Free> memory_;
};

/// Runs a kernel; returns what is wrong with it, or null.
using CudaFunction = const char* (*)(void* const*, const long long*, unsigned long long*, long long,
                                     unsigned);

/// Prints a function that launches the kernel.
inline std::string launcher(const Kernel& kernel, const codegen::cuda::Mapping& mapping) {
  std::string arguments;
  int passed = 0;
  for (const auto& buffer : kernel.buffers) {
    if (buffer.kind == Buffer::Kind::Scratch) continue;
    arguments += buffer.host ? fmt::format("*(const AgHost*)buffers[{}], ", passed)
                             : fmt::format("({}*)buffers[{}], ", codegen::memory_type(buffer.dtype), passed);
    ++passed;
  }
  for (int32_t i = 0; i < kernel.symbols; ++i) arguments += fmt::format("dims[{}], ", i);
  const auto text = codegen::cuda::kernel_source(kernel, mapping);
  const bool switches =
      text.find("AG_SYNC") != std::string::npos || text.find("AG_SHFL") != std::string::npos;
  return fmt::format(
      "extern \"C\" const char* run_{0}(void* const* buffers, const long long* dims, unsigned long long* "
      "error, "
      "long long blocks,\n"
      "                          unsigned seed) {{\n"
      "  (void)buffers, (void)dims;\n"
      "  return ag_shim_launch(blocks, {1}, {2}, seed, {3}, [&] {{ {0}({4}error); }});\n}}\n",
      kernel.name, mapping.threads, mapping.shared_bytes.constant(), switches ? "true" : "false", arguments);
}

/// A shared library that was compiled from CUDA text.
class EmulatedModule {
 public:
  explicit EmulatedModule(const std::string& source) {
    auto pattern = (std::filesystem::temp_directory_path() / "antegrad-cuda-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) return;
    const std::filesystem::path folder(pattern);
    std::ofstream(folder / "kernels.cpp") << source;
    const auto library = (folder / "kernels.so").string(), log = (folder / "log").string();
    const auto command = fmt::format(
        "c++ -std=c++17 -O1 -shared -fPIC -w -fwrapv -ffp-contract=off -fno-strict-aliasing {} -I{}/tests {} "
        "-o {} > {} 2>&1",
        is_sanitized() ? "-fsanitize=address" : "", ANTEGRAD_SOURCE_DIR, (folder / "kernels.cpp").string(),
        library, log);
    if (std::system(command.c_str()) != 0) {
      std::ifstream in(log);
      error_.assign(std::istreambuf_iterator<char>(in), {});
      error_ = "the compiler says:\n" + error_.substr(0, 4000);
    } else {
      handle_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (handle_ == nullptr) error_ = dlerror();
    }
    std::filesystem::remove_all(folder);
  }
  EmulatedModule(const EmulatedModule&) = delete;
  ~EmulatedModule() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  CudaFunction find(const std::string& kernel) const {
    return handle_ == nullptr ? nullptr
                              : reinterpret_cast<CudaFunction>(dlsym(handle_, ("run_" + kernel).c_str()));
  }
  const std::string& error() const { return error_; }

 private:
  void* handle_ = nullptr;
  std::string error_;
};

/// Combines the results of all chunks in those of the first: a mapping divides the work among chunks as it
/// likes.
inline void combine_chunks(const Kernel& kernel, const Interpreter& values, std::vector<Memory>& memory) {
  if (kernel.chunks.is(0)) return;
  const auto chunks = values.value(kernel.chunks);
  for (const auto& section : kernel.sections)
    for (const auto& op : section.ops) {
      if (op.code != OpCode::Accumulate) continue;
      const auto count = values.value(accumulators(kernel, op)), offset = values.value(op.address.offset);
      auto& numbers = memory[static_cast<size_t>(op.buffer)];
      for (int64_t chunk = 1; chunk < chunks; ++chunk)
        for (int64_t i = 0; i < count; ++i) {
          auto& from = numbers[static_cast<size_t>(chunk * count + offset + i)];
          auto& into = numbers[static_cast<size_t>(offset + i)];
          into = Interpreter::combined(op.combine, into, from);
          from = {};
        }
    }
}

/// The contents of the buffers before a kernel runs.
inline std::vector<Memory> initial_memory(const Case& test) {
  auto memory = test.memory;
  for (const auto& [input, output] : test.in_place)
    memory[static_cast<size_t>(output)] = memory[static_cast<size_t>(input)];
  for (const auto& [buffer, elements] : test.kernel.clear)
    for (auto& number : memory[static_cast<size_t>(buffer)]) number = {};
  return memory;
}

inline std::string describe(const CudaCase& one) {
  return to_string(one.test.kernel) + codegen::cuda::kernel_source(one.test.kernel, one.mapping);
}

/// What a run of a kernel leaves.
struct Emulated {
  unsigned long long error = 0;
  std::vector<Memory> memory;  ///< per buffer
};
inline Emulated emulate(const CudaCase& one, CudaFunction function, unsigned seed) {
  const auto& test = one.test;
  const auto& kernel = test.kernel;
  const auto initial = initial_memory(test);
  std::deque<DeviceBytes> bytes;
  for (size_t i = 0; i < initial.size(); ++i)
    bytes.emplace_back(kernel.buffers[i].dtype, initial[i], one.aligned || kernel.buffers[i].host);
  std::vector<uint8_t*> places;
  for (auto& buffer : bytes) places.push_back(buffer.data());
  for (const auto& [input, output] : test.in_place)
    places[static_cast<size_t>(input)] = places[static_cast<size_t>(output)];
  std::vector<void*> passed;
  for (size_t i = 0; i < places.size(); ++i)
    if (kernel.buffers[i].kind != Buffer::Kind::Scratch) passed.push_back(places[i]);
  const std::vector<long long> dims(test.dims.begin(), test.dims.end());
  const auto blocks =
      one.mapping.blocks.evaluate([&](int32_t s) { return test.dims[static_cast<size_t>(s)]; });
  Emulated out;
  EXPECT_STREQ(function(passed.data(), dims.data(), &out.error, blocks, seed), nullptr) << describe(one);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_TRUE(bytes[i].margins_are_whole()) << "b" << i << "\n" << describe(one);
    out.memory.push_back(bytes[i].numbers());
  }
  return out;
}

inline void check_emulated(const CudaCase& one, CudaFunction function, const Meanings& meanings,
                           unsigned seed) {
  const auto& test = one.test;
  const auto& kernel = test.kernel;
  auto expected = initial_memory(test);
  Interpreter interpreter(kernel, meanings, expected, test.dims);
  const bool good = interpreter.run();
  auto actual = emulate(one, function, seed);
  EXPECT_EQ(actual.error == 0, good) << describe(one);
  if (!good) return;
  combine_chunks(kernel, interpreter, expected);
  combine_chunks(kernel, interpreter, actual.memory);
  for (size_t i = 0; i < expected.size(); ++i) {
    if (kernel.buffers[i].kind != Buffer::Kind::Output) continue;
    compare(test, i, actual.memory[i], expected[i], [&] { return describe(one); });
    if (::testing::Test::HasFailure()) return;
  }
}

/// Compiles the kernels as one unit. Makes their names unique.
inline std::unique_ptr<EmulatedModule> compile_emulated(std::deque<CudaCase>& cases) {
  std::vector<codegen::cuda::MappedKernel> kernels;
  std::string launchers;
  for (size_t i = 0; i < cases.size(); ++i) {
    auto& kernel = cases[i].test.kernel;
    kernel.name += fmt::format("_{}", i);
    kernels.push_back({&kernel, &cases[i].mapping});
    launchers += launcher(kernel, cases[i].mapping);
  }
  return std::make_unique<EmulatedModule>("#include \"kernels/cuda_shim.h\"\n" +
                                          codegen::cuda::portable_source(kernels) + launchers);
}

/// Compiles all kernels as one unit and checks each. Makes their names unique.
inline void check_emulated(std::deque<CudaCase> cases, const Meanings& meanings) {
  const auto module = compile_emulated(cases);
  ASSERT_EQ(module->error(), "");
  for (const auto& one : cases) {
    const auto function = module->find(one.test.kernel.name);
    ASSERT_NE(function, nullptr) << one.test.kernel.name;
    check_emulated(one, function, meanings, 7);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace antegrad::schedule
