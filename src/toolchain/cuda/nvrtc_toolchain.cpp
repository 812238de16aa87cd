#include <fmt/format.h>

#include "antegrad/error.h"
#include "codegen/cuda/kernel_source.h"
#include "toolchain/compile_error.h"
#include "toolchain/cuda/cubin.h"
#include "toolchain/cuda/nvrtc.h"
#include "util/process_end.h"

namespace antegrad::toolchain::cuda {
namespace {

/// A program of NVRTC, destroyed by the destructor.
class Program {
 public:
  Program(const Nvrtc& api, const std::string& source) : api_(api) {
    check(api.create(&program_, source.c_str(), kSourceName, 0, nullptr, nullptr), "creating a program");
  }
  ~Program() { api_.destroy(&program_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  bool compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const auto& option : options) pointers.push_back(option.c_str());
    return api_.compile(program_, static_cast<int>(pointers.size()), pointers.data()) == 0;
  }
  std::string log() const {
    size_t size = 0;
    check(api_.log_size(program_, &size), "asking for the log");
    std::string text(size, '\0');
    check(api_.log(program_, text.data()), "asking for the log");
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }
  std::vector<uint8_t> cubin() const {
    size_t size = 0;
    check(api_.cubin_size(program_, &size), "asking for the cubin");
    std::vector<uint8_t> bytes(size);
    check(api_.cubin(program_, reinterpret_cast<char*>(bytes.data())), "asking for the cubin");
    return bytes;
  }

 private:
  void check(int result, const char* doing) const {
    if (result == 0) return;
    throw Error(ErrorCode::Compile, "toolchain",
                fmt::format("NVRTC: {} fails with {}", doing, api_.error_string(result)), "Report it");
  }
  const Nvrtc& api_;
  Nvrtc::Program program_ = nullptr;
};

/// Options that an older NVRTC refuses are left out: without them it compiles a little slower.
std::vector<std::string> options_for(const Nvrtc& api, int32_t capability, bool quickly) {
  const auto at_least = [&](int major, int minor) {
    return std::pair(api.major, api.minor) >= std::pair(major, minor);
  };
  std::vector<std::string> options = {
      fmt::format("-arch=sm_{}", capability),
      "-std=c++17",
      "-default-device",
      "-fmad=false",                  // only explicit fused multiply-adds
      "--modify-stack-limit=false",   // else it changes the limit of the whole process
      "-diag-suppress=177,550,128"};  // unused names, unreachable loops: generated code has them
  if (at_least(12, 4)) options.emplace_back("-minimal");
  if (at_least(12, 9)) options.emplace_back("--no-cache");  // antegrad has a cache of its own
  if (at_least(12, 8)) options.emplace_back("-frandom-seed=0");
  if (quickly && at_least(13, 0)) options.emplace_back("--Ofast-compile=mid");
  return options;
}

class NvrtcToolchain final : public Toolchain {
 public:
  std::string name() const override { return nvrtc_name(); }

  Object compile(const std::string& source, const CodeTarget& target) const override {
    const auto& api = nvrtc();
    if (!api.problem.empty())
      throw Error(ErrorCode::Compile, "toolchain", "NVRTC cannot be opened: " + api.problem,
                  "Name the file in ANTEGRAD_NVRTC, or set Options::backend to Eager");
    const process_end::Section section(process_end::Work::InLlvm);
    const auto options = options_for(api, std::get<CudaArch>(target).capability,
                                     source.starts_with(codegen::cuda::kCompileQuickly));
    Program program(api, source);
    if (!program.compile(options)) throw compile_error(name(), options, program.log(), source);
    Object object = {program.cubin(), {}};
    object.symbols = functions_of_cubin(object.bytes);
    return object;
  }
};

}  // namespace

ToolchainPtr nvrtc_toolchain() { return std::make_shared<NvrtcToolchain>(); }

}  // namespace antegrad::toolchain::cuda
