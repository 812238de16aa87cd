#include "runtime/cuda/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "antegrad/error.h"
#include "codegen/cuda/kernel_source.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/error_words.h"
#include "runtime/instructions.h"
#include "runtime/plan/overwrite.h"
#include "runtime/plan/placement.h"

namespace antegrad::runtime::cuda {
namespace {

namespace driver = toolchain::cuda;

constexpr size_t kMostWords = 512;      // of all parameters: what every driver accepts
constexpr size_t kHostWords = 2;        // of a value in host memory, passed by value
constexpr uintptr_t kVectorBytes = 16;  // what vector loads and stores must be aligned to

/// Where a parameter's value comes from at each launch.
struct Parameter {
  Operand operand;
  size_t word = 0;       ///< its place in the image
  bool host = false;     ///< the contents are passed, not the address
  bool aligned = false;  ///< the kernel reads or writes whole vectors
};

/// Memory to be set to zero before a launch.
struct Clear {
  size_t word = 0;  ///< of the pointer in the image
  size_t bytes = 0;
};

struct Shape {
  unsigned blocks = 0, threads = 0, shared_bytes = 0;
};

class Launch final : public Instruction {
 public:
  Launch(const schedule::Kernel& kernel, const KernelCode& code, c10::Device device,
         std::vector<Operand> operands, const SymbolValues& symbols)
      : name_(kernel.name), module_(code.cuda->module) {
    const auto value = [&](const ir::Dim& dim) {
      return dim.evaluate([&](int32_t s) { return (*symbols)[s]; });
    };
    const auto& mapping = code.cuda->mapping;
    shape_ = {static_cast<unsigned>(checked_blocks(value(mapping.blocks))),
              static_cast<unsigned>(mapping.threads), static_cast<unsigned>(value(mapping.shared_bytes))};
    const auto passed = passed_buffers(kernel);
    std::vector<size_t> word_of(kernel.buffers.size());
    for (size_t b = 0; b < passed.size(); ++b) {
      const auto& buffer = kernel.buffers[passed[b]];
      const auto& aligned = mapping.aligned;
      word_of[passed[b]] = image_.size();
      parameters_.push_back({operands[b], add_words(buffer.host ? kHostWords : 1), buffer.host,
                             std::find(aligned.begin(), aligned.end(), passed[b]) != aligned.end()});
    }
    for (int32_t s = 0; s < kernel.symbols; ++s) image_[add_words(1)] = static_cast<uint64_t>((*symbols)[s]);
    if (may_fail(kernel)) {
      error_.emplace(device.index(),
                     codegen::cuda::index_texts(kernel, [&](int32_t s) { return (*symbols)[s]; }));
      image_[add_words(1)] = error_->device();
    } else {
      image_[add_words(1)] = 0;
    }
    if (image_.size() > kMostWords)
      throw Error(
          ErrorCode::Internal, "cuda",
          fmt::format("kernel {} has parameters of {} bytes", name_, image_.size() * sizeof(uint64_t)),
          "Use Backend::Eager, and report it");
    for (const auto& [buffer, elements] : kernel.clear) {
      const auto& memory = kernel.buffers[buffer];
      clears_.push_back(
          {word_of[buffer], static_cast<size_t>(value(memory.elements) * ir::size_in_bytes(memory.dtype))});
    }
  }

  unsigned shared_bytes() const { return shape_.shared_bytes; }

  void run(Registers& registers) const override {
    if (shape_.blocks == 0 && clears_.empty()) return;
    uint64_t image[kMostWords];
    std::copy(image_.begin(), image_.end(), image);
    c10::SmallVector<at::Tensor, 1>
        copies;  // freed on return, and reused by this stream only after the kernel
    for (const auto& parameter : parameters_) fill(parameter, registers, image, copies);
    for (const auto& clear : clears_)
      if (clear.bytes > 0)
        driver::check(driver::driver().memset_async(image[clear.word], 0, clear.bytes, registers.stream),
                      "clearing memory");
    if (shape_.blocks == 0) return;
    void* pointers[kMostWords];
    for (size_t p = 0; p < starts_.size(); ++p) pointers[p] = &image[starts_[p]];
    const auto result = driver::driver().launch_kernel(
        reinterpret_cast<driver::FunctionHandle>(module_->kernel()), shape_.blocks, 1, 1, shape_.threads, 1,
        1, shape_.shared_bytes, registers.stream, pointers, nullptr);
    if (result != 0) [[unlikely]]
      driver::check(result, doing("launching"));
    if (synchronizes()) [[unlikely]] {
      synchronize(registers.stream, doing("running"));
      throw_found_errors();
    }
  }

 private:
  static int64_t checked_blocks(int64_t blocks) {
    if (blocks <= std::numeric_limits<int32_t>::max()) return blocks;
    throw Error(ErrorCode::Internal, "cuda", fmt::format("a kernel needs {} blocks", blocks),
                "Use Backend::Eager, and report it");
  }

  std::string doing(const char* what) const {
    return fmt::format("{} kernel {} ({} blocks of {} threads, {} bytes of shared memory)", what, name_,
                       shape_.blocks, shape_.threads, shape_.shared_bytes);
  }

  /// Adds a parameter of so many words to the image, and returns its place.
  size_t add_words(size_t count) {
    starts_.push_back(image_.size());
    image_.resize(image_.size() + count);
    return starts_.back();
  }

  static void fill(const Parameter& parameter, const Registers& registers, uint64_t* image,
                   c10::SmallVectorImpl<at::Tensor>& copies) {
    if (parameter.operand.slot < 0) {
      image[parameter.word] = reinterpret_cast<uint64_t>(registers.arena + parameter.operand.offset);
      return;
    }
    const auto& tensor = registers[parameter.operand.slot];
    if (parameter.host) {
      std::memcpy(image + parameter.word, tensor.const_data_ptr(), tensor.nbytes());
      return;
    }
    auto address = reinterpret_cast<uint64_t>(tensor.const_data_ptr());
    if (parameter.aligned && address % kVectorBytes != 0) [[unlikely]] {
      // A view that begins in the middle of a vector. Only inputs can be such: the rest is memory of the run.
      copies.push_back(clone_with_strides(tensor));
      address = reinterpret_cast<uint64_t>(copies.back().const_data_ptr());
    }
    image[parameter.word] = address;
  }

  std::string name_;
  std::shared_ptr<const driver::Module> module_;
  Shape shape_;
  std::vector<uint64_t> image_;  ///< all parameters, one after the other
  std::vector<size_t> starts_;   ///< where each parameter begins
  std::vector<Parameter> parameters_;
  std::vector<Clear> clears_;
  std::optional<ErrorWord> error_;
};

}  // namespace

std::unique_ptr<Instruction> make_launch(const schedule::Kernel& kernel, const KernelCode& code,
                                         c10::Device device, std::vector<Operand> operands,
                                         const SymbolValues& symbols) {
  auto launch = std::make_unique<Launch>(kernel, code, device, std::move(operands), symbols);
  code.cuda->module->prepare(device.index(), launch->shared_bytes());
  return launch;
}

}  // namespace antegrad::runtime::cuda
