#pragma once
// Builds kernels by hand.
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "schedule/kernel.h"

namespace antegrad::schedule {

inline Affine affine(std::vector<std::pair<int32_t, ir::Dim>> terms, ir::Dim offset = 0) {
  return {std::move(offset), std::move(terms)};
}

/// Adds to `kernel`; ops go into the section that was added last. Functions return the index of what they
/// add.
struct KernelBuilder {
  Kernel kernel;

  explicit KernelBuilder(std::string name) { kernel.name = std::move(name); }

  int32_t buffer(Buffer::Kind kind, ir::DType dtype, ir::Dim elements) {
    kernel.buffers.push_back({kind, dtype, std::move(elements)});
    return static_cast<int32_t>(kernel.buffers.size()) - 1;
  }
  int32_t input(ir::DType dtype, ir::Dim elements) { return buffer(Buffer::Kind::Input, dtype, elements); }
  int32_t output(ir::DType dtype, ir::Dim elements) { return buffer(Buffer::Kind::Output, dtype, elements); }
  int32_t scratch(ir::DType dtype, ir::Dim elements) {
    return buffer(Buffer::Kind::Scratch, dtype, elements);
  }

  int32_t loop(ir::Dim extent) {
    kernel.loops.push_back(std::move(extent));
    return static_cast<int32_t>(kernel.loops.size()) - 1;
  }
  int32_t outer(ir::Dim extent) {
    const auto index = loop(std::move(extent));
    kernel.outer.push_back(index);
    return index;
  }
  void section(std::vector<int32_t> loops = {}) { kernel.sections.push_back({std::move(loops), {}}); }

  Op& add(OpCode code, ir::DType dtype, bool has_result) {
    kernel.sections.back().ops.push_back({});
    auto& op = kernel.sections.back().ops.back();
    op.code = code;
    op.dtype = dtype;
    op.result = has_result ? scalars++ : -1;
    op.comment = comment;
    return op;
  }

  int32_t load(int32_t buffer, Affine address, std::vector<Indirect> indirect = {}) {
    auto& op = add(OpCode::Load, kernel.buffers[static_cast<size_t>(buffer)].dtype, true);
    op.buffer = buffer;
    op.address = std::move(address);
    op.indirect = std::move(indirect);
    return op.result;
  }
  void store(int32_t buffer, Affine address, int32_t value) {
    auto& op = add(OpCode::Store, kernel.buffers[static_cast<size_t>(buffer)].dtype, false);
    op.buffer = buffer;
    op.address = std::move(address);
    op.args = {value};
  }
  int32_t constant(ir::DType dtype, Literal number) {
    auto& op = add(OpCode::Constant, dtype, true);
    op.number = number;
    return op.result;
  }
  int32_t index(Affine address) {
    auto& op = add(OpCode::Index, ir::DType::I64, true);
    op.address = std::move(address);
    return op.result;
  }
  int32_t compute(std::string text, std::vector<int32_t> args, ir::DType operand = ir::DType::F32) {
    return compute(std::move(text), std::move(args), operand, operand);
  }
  int32_t compute(std::string text, std::vector<int32_t> args, ir::DType operand, ir::DType dtype) {
    auto& op = add(OpCode::Compute, dtype, true);
    op.text = std::move(text);
    op.args = std::move(args);
    op.operand = operand;
    return op.result;
  }
  int32_t cast(ir::DType dtype, int32_t value) {
    auto& op = add(OpCode::Cast, dtype, true);
    op.args = {value};
    return op.result;
  }
  int32_t reduce(Combine combine, int32_t value, ir::DType dtype = ir::DType::F32) {
    auto& op = add(OpCode::Reduce, dtype, true);
    op.combine = combine;
    op.args = {value};
    return op.result;
  }
  void accumulate(Combine combine, int32_t buffer, Affine address, int32_t value) {
    auto& op = add(OpCode::Accumulate, kernel.buffers[static_cast<size_t>(buffer)].dtype, false);
    op.combine = combine;
    op.buffer = buffer;
    op.address = std::move(address);
    op.args = {value};
  }
  void scatter(Combine combine, int32_t buffer, Affine address, std::vector<Indirect> indirect,
               int32_t value) {
    auto& op = add(OpCode::Scatter, kernel.buffers[static_cast<size_t>(buffer)].dtype, false);
    op.combine = combine;
    op.buffer = buffer;
    op.address = std::move(address);
    op.indirect = std::move(indirect);
    op.args = {value};
  }
  int32_t random(RandomKind kind, int32_t stream, Affine element, int64_t offset) {
    static constexpr ir::DType kTypes[] = {ir::DType::U32, ir::DType::U64, ir::DType::F32, ir::DType::F64};
    auto& op = add(OpCode::Random, kTypes[static_cast<size_t>(kind)], true);
    op.random = kind;
    op.buffer = stream;
    op.address = std::move(element);
    op.number = offset;
    return op.result;
  }

  std::string comment;  ///< of the ops that are added next
  int32_t scalars = 0;
};

}  // namespace antegrad::schedule
