#include "runtime/comparison.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstring>

#include "antegrad/error.h"
#include "aten/convert.h"
#include "ir/storages.h"
#include "ir/text.h"
#include "runtime/instructions.h"
#include "runtime/plan/comparison_slices.h"

namespace antegrad::runtime {
namespace {

std::string value_at(const at::Tensor& tensor, int64_t index) {
  const auto element = tensor.reshape({-1})[index];
  if (element.is_complex()) return fmt::format("{}", at::view_as_real(element)[0].item<double>());
  return at::isFloatingType(element.scalar_type()) ? fmt::format("{}", element.item<double>())
                                                   : fmt::format("{}", element.item<int64_t>());
}

/// Returns the flat index of an element whose bits differ, or -1.
int64_t first_changed(const at::Tensor& was, const at::Tensor& is) {
  const auto a = was.contiguous().cpu(), b = is.contiguous().cpu();
  const size_t size = a.element_size();
  const auto* x = static_cast<const std::byte*>(a.const_data_ptr());
  const auto* y = static_cast<const std::byte*>(b.const_data_ptr());
  if (a.nbytes() == 0 || std::memcmp(x, y, a.nbytes()) == 0) return -1;
  for (int64_t i = 0; i < a.numel(); ++i)
    if (std::memcmp(x + i * size, y + i * size, size) != 0) return i;
  return -1;
}

/// Returns whether the memory of the tensor holds its contents, so that they can be copied and inspected.
bool is_plain(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && !tensor.is_meta() && !tensor.is_quantized() && !tensor.is_neg() &&
         !tensor.is_conj() && !tensor._is_zerotensor();
}

/// Returns a copy of the tensor on a copy of its whole storage.
at::Tensor clone_with_storage(const at::Tensor& tensor) {
  const auto elements = static_cast<int64_t>(tensor.storage().nbytes()) / tensor.element_size();
  const auto memory = tensor.as_strided({elements}, {1}, 0).clone();
  return memory.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

}  // namespace

/// Where a value is during a run.
struct Comparison::Place {
  int32_t slot = -1;
  int64_t arena_offset = -1;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;
  bool is_tensor = false;
  ir::ValueId source;  ///< what it is a view of; invalid when it is none

  /// Returns a tensor for an input that the program does not read, of which only the sizes matter.
  at::Tensor stand_in() const {
    return is_tensor ? at::empty_strided(sizes, strides, at::TensorOptions(dtype).device(device)).zero_()
                     : at::Tensor();
  }

  /// Returns the same view of a copy of its source. Undefined when it reaches beyond the copy.
  at::Tensor view_of(const at::Tensor& copy, int64_t distance) const {
    if (!copy.defined() || copy.scalar_type() != dtype || copy.layout() != at::kStrided) return {};
    const auto begin = copy.storage_offset() + distance;
    auto end = begin + 1;
    for (size_t d = 0; d < sizes.size(); ++d) end += sizes[d] > 0 ? (sizes[d] - 1) * strides[d] : 0;
    const auto there = static_cast<int64_t>(copy.storage().nbytes()) / copy.element_size();
    return begin < 0 || end > there ? at::Tensor() : copy.as_strided(sizes, strides, begin);
  }
};

struct Comparison::Step {
  std::string name;
  std::vector<ir::ValueId> reads, finished;
  std::vector<ir::ValueId> inputs;         ///< of `expected`, whose outputs are the finished values
  std::unique_ptr<BoundedGraph> expected;  ///< set for kernels
  std::string text;
  bool writes_out = false;  ///< LibTorch writes into planned memory
};

Comparison::Comparison(const schedule::Program& program, const Placement& placement) : graph_(program.graph) {
  for (const auto v : graph_.values.ids()) places_.push_back(place_of(v, placement));
  const ir::Storages storages(graph_);
  for (const auto& node : graph_.nodes)
    for (auto v : node.outputs) places_[v].source = storages.source(node, v);
  ComparisonSlices slices(program);
  for (size_t s = 0; s < program.steps.size(); ++s) {
    Step step;
    step.reads = slices.reads(s);
    step.finished = slices.finished(s);
    if (const auto* call = std::get_if<schedule::RunKernel>(&program.steps[s])) {
      step.name = program.kernel_of(*call).name;
      const auto part = slices.slice(step.finished);
      if (!step.finished.empty()) step.expected = std::make_unique<BoundedGraph>(part);
      step.text = ir::print(part);
      for (const auto& input : part.inputs) step.inputs.push_back(input.value);
    } else {
      step.name = program.node_of(std::get<schedule::RunNode>(program.steps[s])).op;
    }
    step.writes_out = placement.steps[s].writes_out;
    slices.finish(step.finished);
    steps_.push_back(std::move(step));
  }
  // Such views may reach beyond the tensor on which they are taken.
  copies_storages_ = std::any_of(graph_.nodes.begin(), graph_.nodes.end(),
                                 [](const ir::Node& node) { return node.op == "aten.as_strided"; });
}

Comparison::~Comparison() = default;

Comparison::Place Comparison::place_of(ir::ValueId value, const Placement& placement) const {
  Place place;
  place.slot = placement.register_of[value];
  place.arena_offset = placement.values[value].arena_offset;
  const auto* type = graph_.type_of(value).tensor();
  if (type == nullptr) return place;
  place.is_tensor = true;
  place.sizes = aten::constants(type->sizes);
  place.strides = aten::constants(type->strides);
  place.offset = type->offset.is_constant() ? type->offset.constant() : 0;
  place.dtype = aten::to_torch(type->dtype);
  place.device = aten::to_torch(type->device);
  return place;
}

/// Returns the value as kernels see it. Undefined when it has no memory now.
at::Tensor Comparison::tensor_of(ir::ValueId value, const Registers& registers) const {
  const auto& place = places_[value];
  if (place.slot >= 0) return registers[place.slot];
  if (place.arena_offset < 0 || registers.arena == nullptr) return {};
  return at::from_blob(registers.arena + place.arena_offset, place.sizes, place.strides,
                       at::TensorOptions(place.dtype).device(place.device));
}

at::Tensor Comparison::copy_of(ir::ValueId value, const at::Tensor& tensor, const Copies& copies) const {
  if (!tensor.defined() || !is_plain(tensor)) return tensor;
  const auto& place = places_[value];
  if (place.source.valid()) {
    const auto distance = place.offset - places_[place.source].offset;
    if (auto view = place.view_of(copies[place.source], distance); view.defined()) return view;
  }
  auto copy = copies_storages_ ? clone_with_storage(tensor) : clone_with_strides(tensor);
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) copy.unsafeGetTensorImpl()->set_wrapped_number(true);
  return copy;
}

Comparison::Copies Comparison::begin(const Registers& registers) const {
  Copies copies(graph_.values.size());
  for (const auto& input : graph_.inputs)
    copies[input.value] = copy_of(input.value, tensor_of(input.value, registers), copies);
  return copies;
}

void Comparison::check_memory(ir::ValueId value, const std::string& reader, const Registers& registers,
                              const Copies& copies) const {
  const auto& was = copies[value];
  const auto is = tensor_of(value, registers);
  if (!was.defined() || !is.defined() || was.is_same(is) || !is_plain(is)) return;
  const auto index = was.sizes() == is.sizes() && was.scalar_type() == is.scalar_type()
                         ? first_changed(was, is)
                         : int64_t{0};
  if (index < 0) return;
  throw Error(
      ErrorCode::Internal, "compare:memory",
      fmt::format("value %{}, element {}: it was {}, and is {} when it is read by {}; its memory was reused "
                  "too early, in\n{}",
                  value.index, index, value_at(was, index), value_at(is, index), reader, ir::print(graph_)),
      "Use Backend::Eager, and report it");
}

void Comparison::before(size_t step, const Registers& registers, const Copies& copies) const {
  for (auto value : steps_[step].reads) check_memory(value, steps_[step].name, registers, copies);
}

void Comparison::after(size_t step, const Registers& registers, Copies& copies) const {
  const auto& [name, reads, finished, inputs, expected, text, writes_out] = steps_[step];
  if (writes_out) before(step, registers, copies);  // it must not have overwritten what it reads
  std::vector<Bounded> results;
  if (expected) {
    std::vector<at::Tensor> given;
    for (auto value : inputs) {
      given.push_back(copies[value].defined() ? copies[value] : places_[value].stand_in());
    }
    results = expected->run(given);
  }
  for (size_t i = 0; i < finished.size(); ++i) {
    const auto actual = tensor_of(finished[i], registers);
    copies[finished[i]] = copy_of(finished[i], actual, copies);
    if (!expected) continue;
    const auto index = first_out_of_bound(results[i], actual);
    if (index < 0) continue;
    throw Error(
        ErrorCode::Internal, "compare:" + name,
        fmt::format("output {}, element {}: the kernel gives {}, LibTorch gives {}; the kernel computes\n{}",
                    i, index, value_at(actual, index), value_at(results[i].value, index), text),
        "Use Backend::NoFuse or Backend::Eager, and report it");
  }
}

void Comparison::end(const Registers& registers, const Copies& copies) const {
  for (const auto& output : graph_.outputs)
    if (output.value.valid()) check_memory(output.value, "the caller", registers, copies);
}

}  // namespace antegrad::runtime
