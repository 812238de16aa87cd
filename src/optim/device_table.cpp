#include "optim/device_table.h"

#include <ATen/ops/empty.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "runtime/cuda/device.h"

namespace antegrad::optim {
namespace {

using codegen::cuda::NormKind;
using codegen::cuda::TableControl;
using codegen::cuda::TableRow;

constexpr uintptr_t kVectorBytes = 16;
constexpr int64_t kControlFloats = sizeof(TableControl) / sizeof(float);

bool is_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % kVectorBytes == 0; }

/// Numbers in the type in which a kernel computes.
std::array<uint64_t, kNumbers> converted(const Numbers& numbers, ir::DType type) {
  std::array<uint64_t, kNumbers> words{};
  if (type == ir::DType::F64) {
    std::memcpy(words.data(), numbers.data(), sizeof numbers);
    return words;
  }
  std::array<float, kNumbers> narrow{};
  std::ranges::transform(numbers, narrow.begin(), [](double number) { return static_cast<float>(number); });
  std::memcpy(words.data(), narrow.data(), sizeof narrow);
  return words;
}

NormKind kind_of(double type) {
  if (type == std::numeric_limits<double>::infinity() || type == 0) return NormKind::Max;
  if (type == 1) return NormKind::Sum;
  return type == 2 ? NormKind::Squares : NormKind::Powers;
}

}  // namespace

DeviceTable::DeviceTable(const std::vector<Update>& updates, DeviceKernels& kernels, at::Tensor control)
    : updates_(updates), kernels_(kernels), control_(std::move(control)) {
  numbers_.reserve(updates.size());  // rows point to them
  rows_.reserve(updates.size());
  for (const auto& update : updates) {
    numbers_.push_back(converted(update.numbers, computed_type(update.formula)));
    TableRow row;
    row.elements = update.parameter.numel();
    row.numbers = numbers_.back().data();
    size_t next = 0;
    row.tensors[next++] = update.parameter.mutable_data_ptr();
    row.tensors[next++] = update.gradient.defined() ? update.gradient.const_data_ptr() : nullptr;
    for (const auto& state : update.state) row.tensors[next++] = state.mutable_data_ptr();
    rows_.push_back(row);
  }
  in_turn_ = shares_memory(updates);
  if (updates.empty()) return;
  const runtime::cuda::DeviceScope scope(updates.front().parameter.device());
  choices_.resize(rows_.size());
  for (size_t i = 0; i < rows_.size(); ++i) choose_kernel(i);
}

void DeviceTable::choose_kernel(size_t row) {
  const auto& update = updates_[row];
  auto& choice = choices_[row];
  choice.vectors = std::ranges::all_of(rows_[row].tensors, is_aligned);
  // Neighbours nearly always have the same formula.
  if (row > 0 && choices_[row - 1].vectors == choice.vectors && updates_[row - 1].formula == update.formula) {
    choice.kernel = choices_[row - 1].kernel;
    return;
  }
  const bool scale_on_device = update.formula.scales && control_.defined();
  choice.kernel =
      &kernels_.update(update.formula, scale_on_device, choice.vectors, update.parameter.device());
}

void DeviceTable::set_gradient(size_t row, const void* gradient) {
  rows_[row].tensors[1] = gradient;
  if (choices_[row].vectors && !is_aligned(gradient)) choose_kernel(row);
}

void DeviceTable::run() const {
  std::vector<int32_t> all(rows_.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i);
  if (!in_turn_) return launch(all);
  for (const auto row : all) launch(row);  // in LibTorch's order
}

void DeviceTable::run(c10::ArrayRef<int32_t> rows) { launch(rows); }

void DeviceTable::launch(c10::ArrayRef<int32_t> rows) const {
  if (rows.empty()) return;
  const auto device = updates_.front().parameter.device();
  const runtime::cuda::DeviceScope scope(device);
  std::vector<std::pair<const DeviceKernels::Kernel*, std::vector<TableRow>>> launches;
  for (const auto row : rows) {
    const auto* kernel = choices_[row].kernel;
    auto found = std::ranges::find(launches, kernel, [](const auto& launch) { return launch.first; });
    if (found == launches.end()) found = launches.insert(launches.end(), {kernel, {}});
    found->second.push_back(rows_[row]);
  }
  const auto* control =
      control_.defined() ? static_cast<const TableControl*>(control_.const_data_ptr()) : nullptr;
  const auto facts = toolchain::cuda::device_facts(device.index());
  for (const auto& [kernel, chosen] : launches)
    runtime::cuda::run_table(*kernel,
                             codegen::cuda::table_images(kernel->shape, chosen, facts.multiprocessors),
                             control, scope.stream());
}

at::Tensor device_control(const std::vector<Update>& updates, const DeviceNorm& norm,
                          DeviceKernels& kernels) {
  const auto device = updates.front().parameter.device();
  const runtime::cuda::DeviceScope scope(device);
  auto end = norm.end;
  const auto kind = kind_of(norm.type);
  end.kind = static_cast<int32_t>(kind);
  end.power = norm.type;
  if (norm.type == 0) end.known = static_cast<double>(updates.size());
  std::map<std::pair<ir::DType, bool>, std::vector<TableRow>> rows;
  for (const auto& update : updates) {
    TableRow row;
    row.tensors[0] = update.gradient.const_data_ptr();
    row.elements = update.gradient.numel();
    rows[{update.formula.dtype, is_aligned(row.tensors[0])}].push_back(row);
  }
  struct Stage {
    const DeviceKernels::Kernel* kernel;
    std::vector<codegen::cuda::TableImage> images;
  };
  std::vector<Stage> stages;
  int64_t blocks = 0;
  const auto facts = toolchain::cuda::device_facts(device.index());
  for (const auto& [key, chosen] : rows) {
    const auto& kernel = kernels.norm(kind, key.first, key.second, device);
    stages.push_back({&kernel, codegen::cuda::table_images(kernel.shape, chosen, facts.multiprocessors)});
    for (const auto& image : stages.back().images) blocks += image.blocks;
  }
  const auto& last = kernels.norm_end(device);
  const auto options = updates.front().parameter.options().requires_grad(false);
  auto control = at::empty({kControlFloats}, options.dtype(at::kFloat));
  auto partials = at::empty({2 * blocks}, options.dtype(at::kDouble));
  auto* next = partials.mutable_data_ptr<double>();
  for (const auto& stage : stages) {
    runtime::cuda::run_norm(*stage.kernel, stage.images, next, norm.type, scope.stream());
    for (const auto& image : stage.images) next += 2 * image.blocks;
  }
  runtime::cuda::end_norm(last, partials.const_data_ptr<double>(), blocks, end,
                          static_cast<TableControl*>(control.mutable_data_ptr()), scope.stream());
  return control;
}

TableControl read_control(const at::Tensor& control, c10::Stream stream) {
  const c10::StreamGuard guard(stream);
  const auto here = control.cpu();
  TableControl out;
  std::memcpy(static_cast<void*>(&out), here.const_data_ptr(), sizeof out);
  return out;
}

at::Tensor skip_of(const at::Tensor& control) { return control.select(0, kControlFloats - 1); }

c10::Stream current_stream(c10::Device device) {
  return c10::impl::VirtualGuardImpl(device.type()).getStream(device);
}

}  // namespace antegrad::optim
