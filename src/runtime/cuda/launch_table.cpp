#include "runtime/cuda/launch_table.h"

#include <fmt/format.h>

#include "runtime/cuda/device.h"

namespace antegrad::runtime::cuda {
namespace {

using codegen::cuda::TableImage;
using toolchain::cuda::Stream;

void launch_kernel(const TableKernel& kernel, int64_t blocks, int64_t shared_bytes, void** parameters,
                   Stream stream) {
  const auto& api = toolchain::cuda::driver();
  const auto doing = [&](const char* what) {
    return fmt::format("{} kernel {} ({} blocks)", what, kernel.name, blocks);
  };
  const auto result =
      api.launch_kernel(reinterpret_cast<toolchain::cuda::FunctionHandle>(kernel.module->kernel()),
                        static_cast<unsigned>(blocks), 1, 1, codegen::cuda::kTableThreads, 1, 1,
                        static_cast<unsigned>(shared_bytes), stream, parameters, nullptr);
  if (result != 0) [[unlikely]]
    toolchain::cuda::check(result, doing("launching"));
  if (synchronizes()) [[unlikely]]
    synchronize(stream, doing("running"));
}

}  // namespace

void run_table(const TableKernel& kernel, const std::vector<TableImage>& images,
               const codegen::cuda::TableControl* control, Stream stream) {
  for (const auto& image : images) {
    void* parameters[] = {const_cast<uint64_t*>(image.words.data()), const_cast<int32_t*>(&image.rows),
                          const_cast<int32_t*>(&image.tiles), &control};
    launch_kernel(kernel, image.blocks, 0, parameters, stream);
  }
}

void run_norm(const TableKernel& kernel, const std::vector<TableImage>& images, double* partials,
              double power, Stream stream) {
  for (const auto& image : images) {
    void* parameters[] = {const_cast<uint64_t*>(image.words.data()), const_cast<int32_t*>(&image.rows),
                          const_cast<int32_t*>(&image.tiles), &partials, &power};
    launch_kernel(kernel, image.blocks, kNormSharedBytes, parameters, stream);
    partials += 2 * image.blocks;
  }
}

void end_norm(const TableKernel& kernel, const double* partials, int64_t blocks,
              const codegen::cuda::NormEnd& how, codegen::cuda::TableControl* control, Stream stream) {
  auto end = how;
  long long count = blocks;
  void* parameters[] = {&partials, &count, &end, &control};
  launch_kernel(kernel, 1, kNormSharedBytes, parameters, stream);
}

}  // namespace antegrad::runtime::cuda
