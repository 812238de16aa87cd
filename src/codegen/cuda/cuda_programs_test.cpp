// Random graphs with symbols on a CUDA device: the text of all their kernels runs on the CPU
// (tests/kernels/cuda_shim.h) at several sizes and is compared with the interpreter of kernels on the graph
// with constant sizes. ANTEGRAD_FUZZ_SEED and ANTEGRAD_FUZZ_GRAPHS choose other graphs.
#include <cstdlib>

#include "codegen/text/c_text.h"
#include "kernels/compiled_program.h"
#include "kernels/emulate.h"
#include "kernels/random_symbolic.h"

namespace antegrad::schedule {
namespace {

int64_t environment(const char* name, int64_t otherwise) {
  const auto* text = std::getenv(name);
  return text != nullptr ? std::strtoll(text, nullptr, 10) : otherwise;
}

ir::Graph on_cuda(ir::Graph graph) {
  for (auto& value : graph.values)
    if (auto* type = value.type.tensor()) type->device = {ir::Device::Kind::Cuda, 0};
  return graph;
}

/// A program for a CUDA device and how its kernels are mapped.
class EmulatedProgram {
 public:
  EmulatedProgram(const ir::Graph& graph, const Settings& settings, const std::string& suffix)
      : program_(schedule(on_cuda(graph), settings)) {
    for (auto& kernel : program_.kernels) {
      kernel.name += suffix;
      mappings_.push_back(codegen::cuda::map_kernel(kernel, settings.cuda->facts, suffix.size() % 2 == 0));
    }
  }
  void add_to(std::vector<codegen::cuda::MappedKernel>& kernels, std::string& launchers) const {
    for (size_t i = 0; i < mappings_.size(); ++i) {
      kernels.push_back({&program_.kernels[i], &mappings_[i]});
      launchers += launcher(program_.kernels[i], mappings_[i]);
    }
  }
  void set_module(const EmulatedModule& module) { module_ = &module; }
  const Program& program() const { return program_; }

  std::vector<Memory> run(const std::vector<int64_t>& values, const std::vector<Memory>& inputs) const {
    const auto instance = substitute(program_, values);
    return ProgramRun(instance, [&](size_t index, const std::vector<Memory*>& memory,
                                    int64_t) { run_kernel(index, memory, values); })
        .run(inputs);
  }

 private:
  void run_kernel(size_t index, const std::vector<Memory*>& memory,
                  const std::vector<int64_t>& values) const {
    const auto& kernel = program_.kernels[index];
    std::deque<DeviceBytes> bytes;
    std::vector<void*> passed;
    std::vector<int32_t> numbers;
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      if (kernel.buffers[b].kind == Buffer::Kind::Scratch) continue;
      auto& contents = *memory[bytes.size()];
      for (const auto& [cleared, elements] : kernel.clear)
        if (cleared == static_cast<int32_t>(b)) contents.assign(contents.size(), Number{});
      bytes.emplace_back(kernel.buffers[b].dtype, contents, true);
    }
    for (auto& one : bytes) passed.push_back(one.data());
    const std::vector<long long> dims(values.begin(), values.end());
    const auto blocks = mappings_[index].blocks.evaluate([&](int32_t symbol) { return values[symbol]; });
    unsigned long long error = 0;
    EXPECT_STREQ(module_->find(kernel.name)(passed.data(), dims.data(), &error, blocks, 3), nullptr)
        << to_string(kernel);
    EXPECT_EQ(error, 0ULL) << to_string(kernel);
    for (size_t b = 0; b < bytes.size(); ++b) {
      EXPECT_TRUE(bytes[b].margins_are_whole()) << to_string(kernel);
      *memory[b] = bytes[b].numbers();
    }
  }

  Program program_;
  std::vector<codegen::cuda::Mapping> mappings_;
  const EmulatedModule* module_ = nullptr;
};

TEST(CudaPrograms, RandomGraphsComputeTheSameAsWithConstants) {
  const auto first = environment("ANTEGRAD_FUZZ_SEED", 1), count = environment("ANTEGRAD_FUZZ_GRAPHS", 40);
  std::deque<EmulatedProgram> programs;
  std::vector<ir::Graph> graphs;
  std::vector<codegen::cuda::MappedKernel> kernels;
  std::string launchers;
  for (auto seed = first; seed < first + count; ++seed) {
    graphs.push_back(RandomSymbolic(static_cast<uint64_t>(seed)).make());
    auto settings = all_settings();
    settings.fuse = seed % 5 != 0;
    settings.cuda = cuda_target({});
    programs.emplace_back(graphs.back(), settings, fmt::format("_g{}", seed));
    programs.back().add_to(kernels, launchers);
    for (const auto& kernel : programs.back().program().kernels)
      EXPECT_EQ(kernel.device, ir::Device::Kind::Cuda) << to_string(kernel);
  }
  const EmulatedModule module("#include \"kernels/cuda_shim.h\"\n" + codegen::cuda::portable_source(kernels) +
                              launchers);
  ASSERT_EQ(module.error(), "");
  for (size_t i = 0; i < programs.size(); ++i) {
    SCOPED_TRACE(fmt::format("seed {}", first + static_cast<int64_t>(i)));
    programs[i].set_module(module);
    for (const auto& values : std::vector<std::vector<int64_t>>{{1, 1}, {2, 1}, {1, 5}, {7, 3}, {33, 12}}) {
      check_at(programs[i], graphs[i], values, 1e-3);
      if (!::testing::Test::HasFailure()) continue;
      for (const auto& kernel : programs[i].program().kernels)
        ADD_FAILURE() << to_string(kernel)
                      << codegen::cuda::kernel_source(kernel, codegen::cuda::map_kernel(kernel, {}));
      return;
    }
  }
}

/// With constant sizes, small kernels become one.
TEST(CudaPrograms, KernelsOfOneBlockComputeTheSame) {
  const auto first = environment("ANTEGRAD_FUZZ_SEED", 1), count = environment("ANTEGRAD_FUZZ_GRAPHS", 40);
  const std::vector<std::vector<int64_t>> sizes = {{7, 3},   {1, 5},   {33, 12}, {2, 1},
                                                   {64, 40}, {17, 16}, {41, 23}};
  std::deque<EmulatedProgram> programs;
  std::vector<ir::Graph> graphs;
  std::vector<codegen::cuda::MappedKernel> kernels;
  std::string launchers;
  int64_t joined = 0;
  const auto sizes_of = [&](int64_t seed) { return sizes[static_cast<size_t>(seed) % sizes.size()]; };
  for (auto seed = first; seed < first + count; ++seed) {
    graphs.push_back(RandomSymbolic(static_cast<uint64_t>(seed)).make());
    auto settings = all_settings();
    settings.cuda = cuda_target({});
    programs.emplace_back(ir::substitute(graphs.back(), sizes_of(seed)), settings, fmt::format("_c{}", seed));
    programs.back().add_to(kernels, launchers);
    for (const auto& kernel : programs.back().program().kernels) joined += std::ssize(kernel.parts);
  }
  EXPECT_GT(joined, count) << "most programs have several kernels";
  const EmulatedModule module("#include \"kernels/cuda_shim.h\"\n" + codegen::cuda::portable_source(kernels) +
                              launchers);
  ASSERT_EQ(module.error(), "");
  for (size_t i = 0; i < programs.size(); ++i) {
    const auto seed = first + static_cast<int64_t>(i);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    programs[i].set_module(module);
    check_at(programs[i], graphs[i], sizes_of(seed), 1e-3);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace antegrad::schedule
