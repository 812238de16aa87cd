#include "codegen/text/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/text/c_text.h"
#include "util/ids.h"

namespace antegrad::codegen {
namespace {

ir::DType result_type(const schedule::Op& op) {
  using ir::DType;
  static constexpr DType kRandom[] = {DType::U32, DType::U64, DType::F32, DType::F64};
  if (op.code == schedule::OpCode::Random) return kRandom[ordinal(op.random)];
  if (op.code == schedule::OpCode::Index) return DType::I64;
  return schedule::compute_type(op.dtype);
}

}  // namespace

std::vector<ir::DType> scalar_types(const schedule::Kernel& kernel) {
  std::vector<ir::DType> types;
  for (const auto& section : kernel.sections)
    for (const auto& op : section.ops) {
      if (op.result < 0) continue;
      if (std::ssize(types) <= op.result) types.resize(op.result + 1, ir::DType::F32);
      types[op.result] = result_type(op);
    }
  return types;
}

Names::Names(const schedule::Kernel& kernel) : kernel_(kernel), types_(scalar_types(kernel)) {}

std::string Names::scalar(int32_t id) const { return fmt::format("v{}", id); }

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
  const auto symbol = this->dim(real->dim);
  auto size = real->form == Form::Number ? function("ag_from_bits_f64") + "((uint64_t)" + symbol + ")"
                                         : "(double)" + symbol;
  if (root) size = "__builtin_sqrt(" + size + ")";
  const auto scale = literal(ir::DType::F64, real->scale);
  return literal(dtype, fmt::format("({} {} {})", scale, over ? '/' : '*', size), true);
}

std::string Names::extent(int32_t loop) { return dim(kernel_.loops[loop]); }

std::string Names::buffer(int32_t index) {
  buffers_.insert(index);
  return fmt::format("b{}", index);
}

void Names::rename_loop(int32_t loop, std::string text) {
  if (text.empty())
    renamed_.erase(loop);
  else
    renamed_[loop] = std::move(text);
}

std::string Names::function(std::string name) {
  functions_.insert(name);
  return name;
}

std::string Names::affine(const schedule::Affine& address, const Replaced& replaced) {
  std::string out;
  for (const auto& [loop, coefficient] : address.terms) {
    out += out.empty() ? "" : " + ";
    if (const auto found = replaced.find(loop); found != replaced.end())
      out += found->second;
    else if (const auto renamed = renamed_.find(loop); renamed != renamed_.end())
      out += renamed->second;
    else
      out += fmt::format("i{}", loop);
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
  return fmt::format("{}[{}]", base, subscript(op.buffer, indirect, address));
}

std::string Names::subscript(int32_t /*buffer*/, const std::string& indirect, const std::string& address) {
  return indirect + address;
}

}  // namespace antegrad::codegen
