#include "codegen/cpu/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/text/c_text.h"

namespace antegrad::codegen::cpu {

int64_t lanes(const schedule::Kernel& kernel) {
  const auto& extent = kernel.loops[kernel.lane];
  if (!extent.is_constant() || extent.constant() > schedule::kStrip) return schedule::kStrip;
  return std::max<int64_t>(extent.constant(), 1);
}

std::string Names::scalar(int32_t id) const {
  return fmt::format("v{}{}", id, plan_.per_lane[id] ? "[l]" : "");
}

std::string Names::dim(const ir::Dim& dim) {
  std::vector<int32_t> symbols;
  dim.collect_symbols(symbols);
  symbols_.insert(symbols.begin(), symbols.end());
  if (dim.is_constant() || dim.as_symbol()) return dim_text(dim, functions_);
  const auto found = std::ranges::find(dims_, dim);
  const auto index = found - dims_.begin();
  if (found == dims_.end()) dims_.push_back(dim);
  return fmt::format("d{}", index);
}

std::string Names::number(ir::DType dtype, const schedule::Literal& number) {
  if (const auto* dim = std::get_if<ir::Dim>(&number)) return literal(dtype, this->dim(*dim), false);
  const auto* real = std::get_if<schedule::SizeReal>(&number);
  if (real == nullptr) return literal(dtype, number);
  using Form = ir::Real::Form;
  const bool root = real->form == Form::TimesSqrt || real->form == Form::OverSqrt;
  const bool over = real->form == Form::Over || real->form == Form::OverSqrt;
  auto size = "(double)" + this->dim(real->dim);
  if (root) size = "__builtin_sqrt(" + size + ")";
  const auto scale = literal(ir::DType::F64, real->scale);
  return literal(dtype, fmt::format("({} {} {})", scale, over ? '/' : '*', size), true);
}

std::string Names::extent(int32_t loop) { return dim(kernel_.loops[loop]); }

std::string Names::buffer(int32_t index) {
  buffers_.insert(index);
  return fmt::format("b{}", index);
}

std::string Names::function(std::string name) {
  functions_.insert(name);
  return name;
}

std::string Names::affine(const schedule::Affine& address, const Replaced& replaced) {
  std::string out;
  for (const auto& [loop, coefficient] : address.terms) {
    const auto found = replaced.find(loop);
    out += out.empty() ? "" : " + ";
    out += found == replaced.end() ? fmt::format("i{}", loop) : found->second;
    if (coefficient != ir::Dim(1)) out += " * " + dim(coefficient);
  }
  if (out.empty()) return dim(address.offset);
  if (address.offset == ir::Dim(0)) return out;
  if (address.offset.is_constant() && address.offset.constant() < 0)
    return fmt::format("{} - {}", out, dim(0 - address.offset));
  return fmt::format("{} + {}", out, dim(address.offset));
}

std::string Names::element(const schedule::Op& op, const std::vector<std::string>& positions) {
  std::string indirect;
  for (size_t i = 0; i < positions.size(); ++i) {
    indirect += positions[i];
    if (op.indirect[i].stride != ir::Dim(1)) indirect += " * " + dim(op.indirect[i].stride);
    indirect += " + ";
  }
  auto address = affine(op.address);
  if (!indirect.empty() && address == "0") {
    address.clear();
    indirect.resize(indirect.size() - 3);
  }
  const auto base = buffer(op.buffer);
  const auto& memory = kernel_.buffers[op.buffer];
  if (memory.kind == schedule::Buffer::Kind::Scratch && kernel_.lane >= 0)
    return address == "0" && indirect.empty()
               ? fmt::format("{}[l]", base)
               : fmt::format("{}[({}{}) * {} + l]", base, indirect, address, lanes(kernel_));
  return fmt::format("{}[{}{}]", base, indirect, address);
}

}  // namespace antegrad::codegen::cpu
