#pragma once
// Runs the CUDA text of kernels on the CPU and compares the results with the interpreter's.
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "codegen/cuda/kernel_source.h"
#include "kernels/run_kernels.h"

namespace antegrad::schedule {

/// A case for a GPU: the kernel, how it is mapped, and whether its pointers are multiples of 16 bytes.
struct CudaCase {
  Case test;
  codegen::cuda::Mapping mapping;
  bool aligned = true;
};

/// Bytes between margins that nothing may write to, aligned or just not.
class DeviceBytes {
 public:
  DeviceBytes(ir::DType dtype, const Memory& memory, bool aligned)
      : dtype_(dtype), size_(static_cast<size_t>(ir::size_in_bytes(dtype))), shift_(aligned ? 0 : size_) {
    const auto bytes = memory.size() * size_;
    bytes_.assign(bytes + 192, 0xa5);
    const auto address = reinterpret_cast<uintptr_t>(bytes_.data());
    first_ = 64 + (64 - address % 64) % 64 + shift_;
    count_ = memory.size();
    for (size_t i = 0; i < memory.size(); ++i) put(dtype, data() + i * size_, memory[i]);
  }
  uint8_t* data() { return bytes_.data() + first_; }
  Memory numbers() {
    Memory out;
    for (size_t i = 0; i < count_; ++i) out.push_back(get(dtype_, data() + i * size_));
    return out;
  }
  bool margins_are_whole() const {
    for (size_t i = 0; i < bytes_.size(); ++i)
      if ((i < first_ || i >= first_ + count_ * size_) && bytes_[i] != 0xa5) return false;
    return true;
  }

 private:
  ir::DType dtype_;
  size_t size_, shift_, first_ = 0, count_ = 0;
  std::vector<uint8_t> bytes_;
};

using CudaFunction = void (*)(void* const*, const long long*, unsigned*, long long, unsigned);

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
      "extern \"C\" void run_{0}(void* const* buffers, const long long* dims, unsigned* error, long long "
      "blocks,\n"
      "                          unsigned seed) {{\n"
      "  (void)buffers, (void)dims;\n"
      "  ag_shim_launch(blocks, {1}, {2}, seed, {3}, [&] {{ {0}({4}error); }});\n}}\n",
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
        "c++ -std=c++17 -O1 -shared -fPIC -w -fwrapv -ffp-contract=off -fno-strict-aliasing -I{}/tests {} -o "
        "{} > {} 2>&1",
        ANTEGRAD_SOURCE_DIR, (folder / "kernels.cpp").string(), library, log);
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

inline void check_emulated(const CudaCase& one, CudaFunction function, const Meanings& meanings,
                           unsigned seed) {
  const auto& test = one.test;
  const auto& kernel = test.kernel;
  auto expected = test.memory;
  for (const auto& [input, output] : test.in_place)
    expected[static_cast<size_t>(output)] = expected[static_cast<size_t>(input)];
  for (const auto& [buffer, elements] : kernel.clear)
    for (auto& number : expected[static_cast<size_t>(buffer)]) number = {};
  const auto initial = expected;
  Interpreter interpreter(kernel, meanings, expected, test.dims);
  const bool good = interpreter.run();

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
  unsigned error = 0;
  function(passed.data(), dims.data(), &error, interpreter.value(one.mapping.blocks), seed);

  const auto describe = [&] { return to_string(kernel) + codegen::cuda::kernel_source(kernel, one.mapping); };
  EXPECT_EQ(error == 0, good) << describe();
  std::vector<Memory> actual;
  for (auto& buffer : bytes) actual.push_back(buffer.numbers());
  for (size_t i = 0; i < bytes.size(); ++i)
    EXPECT_TRUE(bytes[i].margins_are_whole()) << "b" << i << "\n" << describe();
  if (!good) return;
  combine_chunks(kernel, interpreter, expected);
  combine_chunks(kernel, interpreter, actual);
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (kernel.buffers[i].kind != Buffer::Kind::Output) continue;
    compare(test, i, actual[i], expected[i], describe);
    if (::testing::Test::HasFailure()) return;
  }
}

/// Compiles all kernels as one unit and checks each. Makes their names unique.
inline void check_emulated(std::deque<CudaCase> cases, const Meanings& meanings) {
  std::vector<codegen::cuda::MappedKernel> kernels;
  std::string launchers;
  for (size_t i = 0; i < cases.size(); ++i) {
    auto& kernel = cases[i].test.kernel;
    kernel.name += fmt::format("_{}", i);
    kernels.push_back({&kernel, &cases[i].mapping});
    launchers += launcher(kernel, cases[i].mapping);
  }
  const EmulatedModule module("#include \"kernels/cuda_shim.h\"\n" + codegen::cuda::portable_source(kernels) +
                              launchers);
  ASSERT_EQ(module.error(), "");
  for (const auto& one : cases) {
    const auto function = module.find(one.test.kernel.name);
    ASSERT_NE(function, nullptr) << one.test.kernel.name;
    check_emulated(one, function, meanings, 7);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace antegrad::schedule
