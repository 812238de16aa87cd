#pragma once
// Interprets kernels step by step with double and int64_t numbers: the oracle for generated code.
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "kernels/evaluate.h"
#include "kernels/values.h"
#include "schedule/kernel.h"
#include "util/philox.h"

namespace antegrad::schedule {

using FloatFunction = std::function<double(const std::vector<Number>&)>;
using IntFunction = std::function<int64_t(const std::vector<Number>&)>;
/// The functions that the expressions of the tests stand for; results of bool and integer dtypes come from
/// `ints`. An Evaluator computes all other expressions.
struct Meanings {
  std::map<std::string, FloatFunction> floats;
  std::map<std::string, IntFunction> ints;
};

class Interpreter {
 public:
  /// `memory` has one entry per buffer; the interpreter writes the outputs there.
  Interpreter(const Kernel& kernel, const Meanings& meanings, std::vector<Memory>& memory,
              std::vector<int64_t> dims)
      : kernel_(kernel), meanings_(meanings), memory_(memory), dims_(std::move(dims)) {
    loops_.assign(kernel.loops.size(), 0);
    for (const auto& section : kernel.sections)
      for (const auto& op : section.ops) scalars_.resize(std::max<size_t>(scalars_.size(), op.result + 1));
  }

  int64_t value(const ir::Dim& dim) const {
    return dim.evaluate([&](int32_t symbol) { return dims_[static_cast<size_t>(symbol)]; });
  }

  static Number combined(Combine combine, const Number& a, const Number& b) {
    const auto wrap = [](uint64_t x) { return static_cast<int64_t>(x); };
    const auto x = static_cast<uint64_t>(a.i), y = static_cast<uint64_t>(b.i);
    switch (combine) {
      case Combine::Sum:
        return {a.f + b.f, wrap(x + y)};
      case Combine::Product:
        return {a.f * b.f, wrap(x * y)};
      case Combine::Max:
        return {std::isnan(a.f) || std::isnan(b.f) ? NAN : std::max(a.f, b.f), std::max(a.i, b.i)};
      case Combine::Min:
        return {std::isnan(a.f) || std::isnan(b.f) ? NAN : std::min(a.f, b.f), std::min(a.i, b.i)};
      case Combine::Any:
        return {0, a.i != 0 || b.i != 0};
      case Combine::All:
        return {0, a.i != 0 && b.i != 0};
      case Combine::Set:
        return b;
    }
    return {};
  }

  /// Returns whether all indices were in range.
  bool run() {
    for (const auto& [buffer, elements] : kernel_.clear)
      for (auto& number : memory_[static_cast<size_t>(buffer)]) number = {};
    if (kernel_.owner) {
      run_outer(0);
    } else if (kernel_.chunks.is(0)) {
      run_all(0, value(units(kernel_)));
    } else {
      const auto all = value(units_of_all_chunks(kernel_)), chunks = value(kernel_.chunks);
      for (chunk_ = 0; chunk_ < chunks; ++chunk_) {
        begin_chunk();
        run_all(all * chunk_ / chunks, all * (chunk_ + 1) / chunks);
      }
    }
    return good_;
  }

 private:
  int64_t extent(int32_t loop) const { return value(kernel_.loops[static_cast<size_t>(loop)]); }

  int64_t at(const Affine& address) const {
    int64_t sum = value(address.offset);
    for (const auto& [loop, coefficient] : address.terms)
      sum += value(coefficient) * loops_[static_cast<size_t>(loop)];
    return sum;
  }

  /// Returns -1 if an index is out of range.
  int64_t at(const Op& op) {
    int64_t sum = at(op.address);
    for (const auto& part : op.indirect) {
      auto index = scalars_[static_cast<size_t>(part.index)].i;
      const auto size = value(part.size);
      if (part.wraps && index < 0) index += size;
      if (index < 0 || index >= size) {
        good_ = false;
        return -1;
      }
      sum += index * value(part.stride);
    }
    return sum;
  }

  void run_outer(size_t depth) {
    if (depth == kernel_.outer.size()) return run_sections();
    auto& variable = loops_[static_cast<size_t>(kernel_.outer[depth])];
    for (variable = 0; variable < extent(kernel_.outer[depth]); ++variable) run_outer(depth + 1);
  }

  void run_all(int64_t first, int64_t last) {
    if (kernel_.outer.empty()) {
      if (first >= last) return;
      range_ = divided_section(kernel_) >= 0 ? std::pair(first, last) : std::pair<int64_t, int64_t>(-1, -1);
      return run_sections();
    }
    for (int64_t unit = first; unit < last; ++unit) {
      int64_t rest = unit;
      for (size_t i = kernel_.outer.size(); i-- > 0;) {
        const auto loop = kernel_.outer[i];
        const auto count = loop == kernel_.lane ? (extent(loop) + kStrip - 1) / kStrip : extent(loop);
        loops_[static_cast<size_t>(loop)] = rest % count;
        rest /= count;
      }
      if (kernel_.lane < 0) {
        run_sections();
        continue;
      }
      auto& lane = loops_[static_cast<size_t>(kernel_.lane)];
      const auto begin = lane * kStrip, end = std::min(begin + kStrip, extent(kernel_.lane));
      for (lane = begin; lane < end; ++lane) run_sections();
    }
  }

  void run_sections() {
    for (const auto& section : kernel_.sections) {
      reduced_.clear();
      for (const auto& op : section.ops)
        if (op.code == OpCode::Reduce) {
          reduced_[op.result] = neutral(op.combine, op.dtype);
          floats_[op.result] = ir::is_floating(op.dtype);
        }
      run_section(section, 0);
      for (const auto& [result, number] : reduced_) scalars_[static_cast<size_t>(result)] = number;
    }
  }

  void run_section(const Section& section, size_t depth) {
    if (depth == section.loops.size()) {
      for (const auto& op : section.ops) run_op(op);
      return;
    }
    const auto loop = section.loops[depth];
    const bool divided = depth == 0 && kernel_.outer.empty() && range_.first >= 0 && !kernel_.owner;
    const auto first = divided ? range_.first : 0, last = divided ? range_.second : extent(loop);
    auto& variable = loops_[static_cast<size_t>(loop)];
    for (variable = first; variable < last; ++variable) run_section(section, depth + 1);
  }

  static Number neutral(Combine combine, ir::DType dtype) {
    constexpr auto kInfinity = std::numeric_limits<double>::infinity();
    switch (combine) {
      case Combine::Product:
      case Combine::All:
        return {1, 1};
      case Combine::Max:
        return {-kInfinity, dtype == ir::DType::U8 || dtype == ir::DType::Bool ? 0 : smallest(dtype)};
      case Combine::Min:
        return {kInfinity, dtype == ir::DType::Bool ? 1 : dtype == ir::DType::U8 ? 255 : ~smallest(dtype)};
      default:
        return {0, 0};
    }
  }
  static int64_t smallest(ir::DType dtype) {
    return std::numeric_limits<int64_t>::min() >> (64 - 8 * std::min<int64_t>(ir::size_in_bytes(dtype), 8));
  }

  ir::DType memory_type(const Op& op) const { return kernel_.buffers[static_cast<size_t>(op.buffer)].dtype; }

  void begin_chunk() {
    for (const auto& section : kernel_.sections)
      for (const auto& op : section.ops) {
        if (op.code != OpCode::Accumulate) continue;
        const auto count = value(accumulators(kernel_, op));
        for (int64_t i = 0; i < count; ++i)
          memory_[static_cast<size_t>(op.buffer)]
                 [static_cast<size_t>(chunk_ * count + value(op.address.offset) + i)] =
                     neutral(op.combine, memory_type(op));
      }
  }

  Number argument(const Op& op) const { return scalars_[static_cast<size_t>(op.args[0])]; }

  static Number converted(const Number& number, bool from_float, ir::DType to) {
    if (to == ir::DType::Bool) return {0, from_float ? number.f != 0 : number.i != 0};
    if (ir::is_floating(to)) return kept_as(to, {from_float ? number.f : static_cast<double>(number.i), 0});
    return kept_as(to, {0, from_float ? static_cast<int64_t>(number.f) : number.i});
  }

  void define(const Op& op, const Number& number) {
    scalars_[static_cast<size_t>(op.result)] = number;
    floats_[op.result] = ir::is_floating(op.dtype);
  }

  void run_op(const Op& op) {
    auto* memory = op.buffer >= 0 ? &memory_[static_cast<size_t>(op.buffer)] : nullptr;
    switch (op.code) {
      case OpCode::Load: {
        const auto place = at(op);
        return define(op, place < 0 ? Number{} : memory->at(static_cast<size_t>(place)));
      }
      case OpCode::Store:
        memory->at(static_cast<size_t>(at(op.address))) = kept_as(memory_type(op), argument(op));
        return;
      case OpCode::Constant:
        return define(op, constant(op.number));
      case OpCode::Index:
        return define(op, {0, at(op.address)});
      case OpCode::Compute:
        return define(op, computed(op));
      case OpCode::Cast:
        return define(op, converted(argument(op), floats_[op.args[0]], op.dtype));
      case OpCode::Reduce:
        reduced_[op.result] = combined(op.combine, reduced_[op.result], argument(op));
        return;
      case OpCode::Accumulate: {
        auto& into =
            memory->at(static_cast<size_t>(at(op.address) + chunk_ * value(accumulators(kernel_, op))));
        into = combined(op.combine, into, argument(op));
        return;
      }
      case OpCode::Random:
        return define(op, random(op));
      case OpCode::Scatter: {
        const auto place = at(op);
        if (place < 0) return;
        auto& into = memory->at(static_cast<size_t>(place));
        into = kept_as(memory_type(op), combined(op.combine, into, argument(op)));
        return;
      }
    }
  }

  Number constant(const Literal& literal) const {
    const auto both = [](auto x) { return Number{static_cast<double>(x), static_cast<int64_t>(x)}; };
    if (const auto* integer = std::get_if<int64_t>(&literal)) return both(*integer);
    if (const auto* dim = std::get_if<ir::Dim>(&literal)) return both(value(*dim));
    if (const auto* real = std::get_if<double>(&literal)) return both(*real);
    const auto& real = std::get<SizeReal>(literal);
    const auto value_of = [&](int32_t symbol) { return dims_[static_cast<size_t>(symbol)]; };
    return both(ir::Real{real.form, real.scale, real.dim}.evaluate(value_of));
  }

  Number computed(const Op& op) const {
    std::vector<Number> numbers;
    for (const auto arg : op.args) numbers.push_back(scalars_[static_cast<size_t>(arg)]);
    const bool floating = ir::is_floating(op.dtype);
    if (!(floating ? meanings_.floats.contains(op.text) : meanings_.ints.contains(op.text)))
      return evaluated(op, numbers);
    if (floating) return {meanings_.floats.at(op.text)(numbers), 0};
    return kept_as(op.dtype, {0, meanings_.ints.at(op.text)(numbers)});
  }

  Number evaluated(const Op& op, const std::vector<Number>& numbers) const {
    std::vector<double> arguments;
    for (size_t i = 0; i < numbers.size(); ++i)
      arguments.push_back(floats_.at(op.args[i]) ? numbers[i].f : static_cast<double>(numbers[i].i));
    const auto result = Evaluator(op.text, arguments).run();
    return kept_as(op.dtype, {result, ir::is_floating(op.dtype) ? 0 : static_cast<int64_t>(result)});
  }

  Number random(const Op& op) const {
    const auto& stream = memory_[static_cast<size_t>(op.buffer)];
    const auto seed = static_cast<uint64_t>(stream[0].i);
    const auto first = static_cast<uint64_t>(stream[1].i) + static_cast<uint64_t>(constant(op.number).i);
    const auto element = static_cast<uint64_t>(at(op.address));
    const bool wide = op.random == RandomKind::Bits64 || op.random == RandomKind::Normal64;
    const auto words = philox::words(seed, first + element / (wide ? 2 : 4));
    switch (op.random) {
      case RandomKind::Bits32:
        return {0, words[element % 4]};
      case RandomKind::Bits64:
        return {0, static_cast<int64_t>(philox::lanes<double>(words)[element % 2])};
      case RandomKind::Normal32:
        return {philox::normals<float>(words)[element % 4], 0};
      case RandomKind::Normal64:
        return {philox::normals<double>(words)[element % 2], 0};
    }
    return {};
  }

  const Kernel& kernel_;
  const Meanings meanings_;
  std::vector<Memory>& memory_;
  std::vector<int64_t> dims_;
  std::vector<int64_t> loops_;
  std::vector<Number> scalars_;
  std::map<int32_t, bool> floats_;
  std::map<int32_t, Number> reduced_;
  std::pair<int64_t, int64_t> range_{-1, -1};
  int64_t chunk_ = 0;
  bool good_ = true;
};

}  // namespace antegrad::schedule
