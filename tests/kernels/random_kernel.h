#pragma once
// Random kernels that keep the rules of schedule/kernel.h.
#include <random>

#include "kernels/kernel_builder.h"
#include "kernels/run_kernels.h"

namespace antegrad::schedule {

class RandomKernel {
 public:
  explicit RandomKernel(uint64_t seed) : random_(seed), b_("random") {}

  Case make() {
    shape_ = static_cast<Shape>(below(4));
    const bool strips = shape_ == Shape::Strips;
    const auto outer = shape_ == Shape::Flat ? 0 : 1 + below(strips ? 2 : 3);
    for (int64_t i = 0; i < outer; ++i) {
      const bool lane = strips && i + 1 == outer;
      const auto loop = b_.outer(extent(lane ? 150 : 6));
      if (lane) b_.kernel.lane = loop;
    }
    if (shape_ == Shape::Chunks || (shape_ != Shape::Rows && below(3) == 0)) b_.kernel.chunks = 1 + below(4);
    const auto sections = shape_ == Shape::Flat ? 1 : 1 + below(3);
    for (int64_t i = 0; i < sections; ++i) add_section();
    finish();
    auto out = make_case(b_.kernel, random_, dims_);
    for (const auto& [buffer, size] : indices_)
      for (auto& number : out.memory[static_cast<size_t>(buffer)])
        number.i = below(2 * size + (below(200) == 0 ? 1 : 0)) - size;
    out.tolerance = 1e-4;
    return out;
  }

 private:
  enum class Shape { Flat, Rows, Strips, Chunks };

  int64_t below(int64_t limit) {
    return limit <= 0 ? 0 : static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }
  template <class T>
  const T& one_of(const std::vector<T>& all) {
    return all[static_cast<size_t>(below(static_cast<int64_t>(all.size())))];
  }

  /// Returns mostly constants, sometimes a symbol; sometimes 0 or 1.
  ir::Dim extent(int64_t limit) {
    const auto value = below(12) == 0 ? below(2) : 1 + below(limit);
    return below(4) != 0 ? ir::Dim(value) : symbol(value);
  }
  ir::Dim symbol(int64_t value) {
    dims_.push_back(value);
    b_.kernel.symbols = static_cast<int32_t>(dims_.size());
    return ir::Dim::symbol(static_cast<int32_t>(dims_.size()) - 1);
  }
  Literal number() {
    if (below(2) == 0) return 0.5 + static_cast<double>(below(5));
    const auto size = symbol(1 + below(9)) * 2 + 1;
    if (below(2) == 0) return size;
    return SizeReal{static_cast<ir::Real::Form>(below(4)), 0.3, size};
  }

  /// A row-major address over some of the loops, in a random order. With all loops every iteration has its
  /// own element.
  struct Place {
    Affine address;
    ir::Dim elements;
  };
  Place place(std::vector<int32_t> loops, bool all) {
    if (below(2) == 0) std::shuffle(loops.begin(), loops.end(), random_);
    ir::Dim stride = 1;
    std::vector<std::pair<int32_t, ir::Dim>> terms;
    for (size_t i = loops.size(); i-- > 0;) {
      if (!all && below(4) == 0) continue;
      if (stride != ir::Dim(0)) terms.emplace_back(loops[i], stride);
      stride = stride * b_.kernel.loops[static_cast<size_t>(loops[i])];
    }
    std::sort(terms.begin(), terms.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    return {affine(terms), stride};
  }

  std::vector<int32_t> loops_here() const {
    auto loops = b_.kernel.outer;
    const auto& inner = b_.kernel.sections.back().loops;
    loops.insert(loops.end(), inner.begin(), inner.end());
    return loops;
  }

  struct Scalar {
    int32_t id;
    ir::DType type;
  };

  void add_section() {
    const auto count = shape_ == Shape::Flat ? 1 + below(2) : below(3);
    std::vector<int32_t> loops;
    for (int64_t i = 0; i < count; ++i) loops.push_back(b_.loop(extent(i == 0 ? 90 : 9)));
    b_.section(loops);
    auto kept = visible_;
    for (int64_t i = 1 + below(3); i > 0; --i) add_load();
    for (int64_t i = 1 + below(6); i > 0; --i) add_compute();
    if (below(3) == 0) add_random();
    add_effects();
    if (count > 0) {
      visible_ = kept;
      visible_.insert(visible_.end(), reduced_.begin(), reduced_.end());
    }
    reduced_.clear();
  }

  void add_load() {
    static const std::vector<ir::DType> kTypes{ir::DType::F32,  ir::DType::F32, ir::DType::F32,
                                               ir::DType::BF16, ir::DType::F16, ir::DType::F64,
                                               ir::DType::Bool, ir::DType::I32};
    const auto dtype = one_of(kTypes);
    const auto where = place(loops_here(), false);
    std::vector<Indirect> indirect;
    ir::Dim elements = where.elements;
    if (below(5) == 0) {
      const auto size = 1 + below(9);
      const auto at = place(loops_here(), false);
      const auto tensor = b_.input(ir::DType::I64, at.elements);
      indices_.emplace_back(tensor, size);
      indirect.push_back({b_.load(tensor, at.address), elements, size, true});
      elements = elements * size;
    }
    const auto buffer = b_.input(dtype, elements + below(3));
    auto value = b_.load(buffer, where.address, indirect);
    if (dtype == ir::DType::I32) {
      value = b_.compute("a * b", {value, value}, dtype);
      value = b_.cast(ir::DType::F32, value);
      value = b_.compute("a / (1 + b * b)", {value, value});
      visible_.push_back({value, ir::DType::F32});
      return;
    }
    visible_.push_back({value, compute_type(dtype)});
  }

  int32_t as(ir::DType type, const Scalar& scalar) {
    return scalar.type == type ? scalar.id : b_.cast(type, scalar.id);
  }

  void add_compute() {
    static const std::vector<std::string> kUnary{"tanh(a)", "sqrt(abs(a) + 0.5)", "a * 0.5 - 0.25",
                                                 "1 / (1 + exp(-a))", "a < 0 ? 0 : a"};
    static const std::vector<std::string> kBinary{"a + b", "a - b", "a / (1 + b * b)", "nan_max(a, b)"};
    const auto type = below(5) == 0 ? ir::DType::F64 : ir::DType::F32;
    if (below(6) == 0) visible_.push_back({b_.constant(type, number()), type});
    const auto x = as(type, one_of(visible_)), y = as(type, one_of(visible_));
    if (below(2) == 0) {
      visible_.push_back({b_.compute(one_of(kUnary), {x}, type), type});
    } else if (below(6) == 0) {
      const auto half = b_.constant(type, 0.3);
      visible_.push_back({b_.compute("a / (1 + b * b)", {x, half}, type), type});
    } else {
      visible_.push_back({b_.compute(one_of(kBinary), {x, y}, type), type});
    }
  }

  void add_random() {
    if (stream_ < 0) stream_ = b_.input(ir::DType::I64, 2);
    const auto bits = b_.random(RandomKind::Bits32, stream_, place(loops_here(), true).address, below(100));
    visible_.push_back({b_.compute("unit(a, 24)", {bits}), ir::DType::F32});
  }

  void add_effects() {
    const bool has_loops = !b_.kernel.sections.back().loops.empty();
    const bool reduces = has_loops && shape_ != Shape::Flat && below(2) == 0;
    if (reduces) {
      static const std::vector<Combine> kCombines{Combine::Sum, Combine::Sum, Combine::Max, Combine::Min};
      const auto& scalar = one_of(visible_);
      const auto type = scalar.type == ir::DType::F64 ? ir::DType::F64 : ir::DType::F32;
      const auto value = as(type, scalar);
      reduced_.push_back({b_.reduce(one_of(kCombines), value, type), type});
    }
    if (!b_.kernel.chunks.is(0)) add_accumulate();
    if (!reduces || below(2) == 0) add_store();
  }

  void add_accumulate() {
    const auto where = place(b_.kernel.sections.back().loops, below(2) == 0);
    const auto dtype = below(3) == 0 ? ir::DType::F64 : ir::DType::F32;
    const auto value = as(ir::DType::F32, one_of(visible_));
    Op probe;
    probe.address = where.address;
    const auto count = accumulators(b_.kernel, probe);
    const auto buffer = b_.output(dtype, count * b_.kernel.chunks);
    b_.accumulate(below(4) == 0 ? Combine::Max : Combine::Sum, buffer, where.address, value);
  }

  void add_store() {
    static const std::vector<ir::DType> kTypes{ir::DType::F32, ir::DType::F32, ir::DType::BF16,
                                               ir::DType::F64};
    const auto where = place(loops_here(), true);
    const auto dtype = one_of(kTypes);
    const auto value = as(compute_type(dtype), one_of(visible_));
    b_.store(b_.output(dtype, where.elements), where.address, value);
  }

  /// Stores some results, so that errors of reductions can be observed.
  void finish() {
    if (shape_ == Shape::Flat) return;
    b_.section();
    std::vector<Scalar> last(visible_);
    for (const auto& scalar : last)
      if (below(2) == 0) {
        const auto where = place(loops_here(), true);
        b_.store(b_.output(ir::DType::F32, where.elements), where.address, as(ir::DType::F32, scalar));
      }
  }

  std::mt19937_64 random_;
  KernelBuilder b_;
  Shape shape_ = Shape::Flat;
  std::vector<int64_t> dims_;
  std::vector<Scalar> visible_, reduced_;
  std::vector<std::pair<int32_t, int64_t>> indices_;
  int32_t stream_ = -1;
};

}  // namespace antegrad::schedule
