#include "schedule/kernel_writer.h"

#include <algorithm>
#include <cmath>

#include "schedule/sizes.h"

namespace antegrad::schedule {
namespace {

/// Whether the numbers are 0 and -0, which compare equal.
bool is_other_zero(const Number& a, const Number& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  return x != nullptr && y != nullptr && std::signbit(*x) != std::signbit(*y);
}

}  // namespace

Section& KernelWriter::section(Where where) {
  auto& section = sections_[where];
  if (where.space >= 0) section.loops = plan_.spaces[where.space];
  return section;
}

int32_t KernelWriter::new_scalar(ir::DType type) {
  types_.push_back(type);
  return static_cast<int32_t>(types_.size()) - 1;
}

void KernelWriter::add(Where where, Op op) {
  op.comment = comment;
  section(where).ops.push_back(std::move(op));
}

int32_t KernelWriter::define(Where where, Op op, ir::DType type) {
  const bool pure = op.code == OpCode::Load || op.code == OpCode::Constant || op.code == OpCode::Cast ||
                    op.code == OpCode::Index;
  op.comment = comment;
  for (const auto& known : section(where).ops) {
    if (!pure || known.code != op.code || is_other_zero(known.number, op.number)) continue;
    op.result = known.result;
    auto same = known;
    same.comment = op.comment;
    if (same == op) return known.result;
  }
  op.result = new_scalar(type);
  if (op.code == OpCode::Load || op.code == OpCode::Cast) held_[op.result] = op.dtype;
  section(where).ops.push_back(std::move(op));
  return static_cast<int32_t>(types_.size()) - 1;
}

int32_t KernelWriter::cast(int32_t id, ir::DType to, Where where) {
  return type_of(id) == to ? id : round(id, to, where);
}

int32_t KernelWriter::round(int32_t id, ir::DType to, Where where) {
  if (const auto held = held_.find(id); held != held_.end() && held->second == to) return id;
  Op op;
  op.code = OpCode::Cast;
  op.dtype = to;
  op.args = {id};
  return define(where, std::move(op), compute_type(to));
}

int32_t KernelWriter::number(const Number& number, ir::DType type, Where where) {
  Op op;
  op.code = OpCode::Constant;
  op.dtype = type;
  op.number = number;
  return define(where, std::move(op), type);
}

bool KernelWriter::is_row_address(const Affine& address, Where where) const {
  if (where.space < 0) return true;
  const auto& loops = plan_.spaces[where.space];
  return std::ranges::none_of(
      address.terms, [&](const auto& term) { return std::ranges::find(loops, term.first) != loops.end(); });
}

int32_t KernelWriter::load(ir::ValueId value, const Affine& address, Where where) {
  // Loads that do not change within a row are done once per row; without rows, the C compiler hoists them.
  if (!plan_.outer.empty() && is_row_address(address, where)) where.space = -1;
  return load(buffer(value, Buffer::Kind::Input), address, where);
}

int32_t KernelWriter::load(int32_t buffer, const Affine& address, Where where) {
  Op op;
  op.code = OpCode::Load;
  op.dtype = buffers_[buffer].dtype;
  op.buffer = buffer;
  op.address = address;
  const auto type = compute_type(op.dtype);
  return define(where, std::move(op), type);
}

void KernelWriter::store(int32_t id, int32_t buffer, const Affine& address, Where where) {
  Op op;
  op.code = OpCode::Store;
  op.dtype = buffers_[buffer].dtype;
  op.buffer = buffer;
  op.address = address;
  op.args = {cast(id, compute_type(op.dtype), where)};
  add(where, std::move(op));
}

int32_t KernelWriter::buffer(ir::ValueId value, Buffer::Kind kind) {
  const auto owner = fusion_.places().owner(value);
  const auto found = std::ranges::find(owners_, owner);
  if (found != owners_.end()) {
    const auto index = buffer_of_owner_[found - owners_.begin()];
    if (kind == Buffer::Kind::Output) buffers_[index].kind = kind;
    return index;
  }
  const auto& type = fusion_.graph().tensor_type(owner);
  ir::Dim elements = 1;
  for (size_t d = 0; d < type.sizes.size(); ++d) elements = elements + (type.sizes[d] - 1) * type.strides[d];
  owners_.push_back(owner);
  buffer_of_owner_.push_back(static_cast<int32_t>(buffers_.size()));
  const bool is_host = type.device.kind == ir::Device::Kind::Cpu && device_.kind == ir::Device::Kind::Cuda;
  buffers_.push_back({kind, type.dtype, elements, -1, is_host});
  return buffer_of_owner_.back();
}

int32_t KernelWriter::scratch(ir::DType dtype, const ir::Dim& elements, const ir::Dim& rows) {
  buffers_.push_back({Buffer::Kind::Scratch, dtype, elements});
  const auto index = static_cast<int32_t>(buffers_.size()) - 1;
  if (range_of(fusion_.graph(), elements).upper <= kMostScratch) return index;
  buffers_.back().spill = index + 1;
  const auto is_too_long = min(floor_div(elements, kMostScratch + 1), 1);
  buffers_.push_back({Buffer::Kind::Output, dtype, is_too_long * rows * elements});
  owners_.emplace_back();
  buffer_of_owner_.push_back(index + 1);
  return index;
}

Kernel KernelWriter::finish() {
  Kernel kernel;
  kernel.buffers = std::move(buffers_);
  for (auto& [where, section] : sections_)
    if (!section.ops.empty()) kernel.sections.push_back(std::move(section));
  return kernel;
}

}  // namespace antegrad::schedule
