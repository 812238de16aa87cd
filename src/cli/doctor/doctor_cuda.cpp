#include <fmt/format.h>

#include "cli/doctor/doctor.h"
#include "toolchain/cuda/driver.h"
#include "toolchain/cuda/nvrtc.h"

namespace antegrad::cli {
namespace {

namespace cuda = toolchain::cuda;

void check_device(Findings& out, int device) {
  const auto facts = cuda::device_facts(device);
  out.ok(fmt::format("device {}", device),
         fmt::format("{}, compute capability {}.{}, {} multiprocessors", cuda::device_name(device),
                     facts.capability / 10, facts.capability % 10, facts.multiprocessors),
         {{"name", cuda::device_name(device)},
          {"capability", facts.capability},
          {"multiprocessors", facts.multiprocessors}});
}

void check_nvrtc(Findings& out) {
  const auto& compiler = cuda::nvrtc();
  const auto path = cuda::nvrtc_path();
  if (!compiler.problem.empty()) {
    out.warn("NVRTC", fmt::format("cannot be opened: {}", compiler.problem),
             "Name the file in ANTEGRAD_NVRTC; without it LibTorch's kernels run on CUDA devices",
             {{"path", path}, {"works", false}});
    return;
  }
  out.ok(
      "NVRTC", fmt::format("{}.{} in {}", compiler.major, compiler.minor, path),
      {{"path", path}, {"works", true}, {"version", fmt::format("{}.{}", compiler.major, compiler.minor)}});
}

}  // namespace

void check_cuda(Findings& out) {
  const auto& driver = cuda::driver();
  if (!driver.problem.empty()) {
    out.ok("driver", "none: functions run on the CPU only", {{"problem", driver.problem}});
    return;
  }
  out.ok("driver", fmt::format("for CUDA {}.{}", driver.version / 1000, driver.version % 1000 / 10),
         {{"version", driver.version}});
  for (int device = 0; device < cuda::device_count(); ++device) check_device(out, device);
  check_nvrtc(out);
}

}  // namespace antegrad::cli
