#include "schedule/binary_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace antegrad::schedule {
namespace {

// The minimum encoded sizes in bytes.
constexpr size_t kMinBuffer = 5, kMinClear = 2, kMinSection = 2, kMinTerm = 2, kMinIndirect = 4;
constexpr size_t kMinOp = 15, kMinPart = 14;
constexpr size_t kAnyScalar = std::numeric_limits<int32_t>::max();  // the bound is checked by check_scalars()

void write_literal(ir::Encoder& to, const Literal& number) {
  to.out.u8(static_cast<uint8_t>(number.index()));
  if (const auto* integer = std::get_if<int64_t>(&number)) to.out.signed_varint(*integer);
  if (const auto* real = std::get_if<double>(&number)) to.number(*real);
  if (const auto* dim = std::get_if<ir::Dim>(&number)) to.dim(*dim);
  if (const auto* real = std::get_if<SizeReal>(&number)) to.real({real->form, real->scale, real->dim});
}

Literal read_literal(ir::Decoder& from) {
  switch (from.in.u8()) {  // the index of the alternative
    case 0:
      return from.in.signed_varint();
    case 1:
      return from.number();
    case 2:
      return from.dim();
    case 3: {
      const auto real = from.real();
      return SizeReal{real.form, real.scale, real.dim};
    }
    default:
      from.fail("a number of a kernel is of no known kind");
  }
}

void write_affine(ir::Encoder& to, const Affine& address) {
  to.dim(address.offset);
  to.list(address.terms, [&](const auto& term) {
    to.index(term.first);
    to.dim(term.second);
  });
}

void write_op(ir::Encoder& to, const Op& op) {
  to.enumerator(op.code);
  to.enumerator(op.dtype);
  to.enumerator(op.operand);
  to.index(op.result);
  to.indices(op.args);
  to.string(op.text);
  write_literal(to, op.number);
  to.enumerator(op.combine);
  to.enumerator(op.random);
  to.index(op.buffer);
  write_affine(to, op.address);
  to.list(op.indirect, [&](const Indirect& part) {
    to.index(part.index);
    to.dim(part.stride);
    to.dim(part.size);
    to.out.flag(part.wraps);
  });
  to.string(op.comment);
}

class KernelReader {
 public:
  explicit KernelReader(ir::Decoder& from, bool is_part = false) : from_(from), is_part_(is_part) {}

  Kernel kernel() {
    out_.symbols = from_.int32();
    if (out_.symbols < 0) from_.fail(fmt::format("a kernel over {} symbols", out_.symbols));
    from_.symbols = out_.symbols;
    out_.name = from_.string();
    out_.device = from_.enumerator(ir::Device::Kind::Meta);
    out_.text = from_.string();
    read_buffers();
    out_.loops = from_.dims();
    out_.outer = from_.indices(out_.loops.size());
    out_.lane = from_.index(out_.loops.size(), -1);
    out_.chunks = from_.dim();
    out_.owner = from_.in.flag();
    out_.clear = from_.list(kMinClear, [&] {
      const int32_t buffer = from_.index(out_.buffers.size());
      return std::pair(buffer, from_.dim());
    });
    out_.sections = from_.list(kMinSection, [&] {
      Section section;
      section.loops = from_.indices(out_.loops.size());
      section.ops = from_.list(kMinOp, [&] { return op(); });
      return section;
    });
    check_scalars();
    if (out_.sections.empty()) out_.parts = from_.list(kMinPart, [&] { return part(); });
    return std::move(out_);
  }

 private:
  void read_buffers() {
    out_.buffers = from_.list(kMinBuffer, [&] {
      Buffer buffer;
      buffer.kind = from_.enumerator(Buffer::Kind::Scratch);
      buffer.dtype = from_.enumerator(ir::DType::F8E5M2);
      buffer.elements = from_.dim();
      buffer.spill = from_.int32();
      buffer.host = from_.in.flag();
      return buffer;
    });
    const auto count = static_cast<int64_t>(out_.buffers.size());
    for (const auto& buffer : out_.buffers)
      if (buffer.spill < -1 || buffer.spill >= count)
        from_.fail(fmt::format("a buffer spills to {} of {}", buffer.spill, count));
  }

  Affine affine() {
    Affine out;
    out.offset = from_.dim();
    out.terms = from_.list(kMinTerm, [&] {
      const int32_t loop = from_.index(out_.loops.size());
      return std::pair(loop, from_.dim());
    });
    return out;
  }

  Op op() {
    Op out;
    out.code = from_.enumerator(OpCode::Scatter);
    out.dtype = from_.enumerator(ir::DType::F8E5M2);
    out.operand = from_.enumerator(ir::DType::F8E5M2);
    out.result = from_.index(kAnyScalar, -1);
    out.args = from_.indices(kAnyScalar);
    out.text = from_.string();
    out.number = read_literal(from_);
    out.combine = from_.enumerator(Combine::Set);
    out.random = from_.enumerator(RandomKind::Normal64);
    out.buffer = from_.index(out_.buffers.size(), -1);
    out.address = affine();
    out.indirect = from_.list(kMinIndirect, [&] {
      Indirect part;
      part.index = from_.index(kAnyScalar);
      part.stride = from_.dim();
      part.size = from_.dim();
      part.wraps = from_.in.flag();
      return part;
    });
    out.comment = from_.string();
    return out;
  }

  KernelPart part() {
    if (is_part_) from_.fail("a part of a kernel has parts");
    KernelPart out;
    out.kernel = KernelReader(from_, true).kernel();
    from_.symbols = out_.symbols;
    out.buffers = from_.indices(out_.buffers.size());
    const auto passed = std::ranges::count_if(
        out.kernel.buffers, [](const Buffer& buffer) { return buffer.kind != Buffer::Kind::Scratch; });
    if (std::ssize(out.buffers) != passed)
      from_.fail(fmt::format("a part of a kernel has {} buffers of {}", out.buffers.size(), passed));
    return out;
  }

  /// Checks that each scalar is defined once and before it is read, and that there are not more scalars than
  /// ops.
  void check_scalars() const {
    size_t ops = 0;
    for (const auto& section : out_.sections) ops += section.ops.size();
    std::vector<bool> defined(ops, false);
    const auto check_use = [&](int32_t id) {
      if (std::cmp_greater_equal(id, ops) || !defined[id])
        from_.fail(fmt::format("scalar {} of a kernel is read before it is defined", id));
    };
    for (const auto& section : out_.sections)
      for (const auto& op : section.ops) {
        for (const auto id : op.args) check_use(id);
        for (const auto& part : op.indirect) check_use(part.index);
        if (op.result < 0) continue;
        if (std::cmp_greater_equal(op.result, ops) || defined[op.result])
          from_.fail(
              fmt::format("scalar {} of a kernel of {} ops is defined twice or too high", op.result, ops));
        defined[op.result] = true;
      }
  }

  ir::Decoder& from_;
  const bool is_part_;
  Kernel out_;
};

}  // namespace

void write_kernel(ir::Encoder& to, const Kernel& kernel) {
  to.out.signed_varint(kernel.symbols);
  to.string(kernel.name);
  to.enumerator(kernel.device);
  to.string(kernel.text);
  to.list(kernel.buffers, [&](const Buffer& buffer) {
    to.enumerator(buffer.kind);
    to.enumerator(buffer.dtype);
    to.dim(buffer.elements);
    to.out.signed_varint(buffer.spill);
    to.out.flag(buffer.host);
  });
  to.dims(kernel.loops);
  to.indices(kernel.outer);
  to.index(kernel.lane);
  to.dim(kernel.chunks);
  to.out.flag(kernel.owner);
  to.list(kernel.clear, [&](const auto& clear) {
    to.index(clear.first);
    to.dim(clear.second);
  });
  to.list(kernel.sections, [&](const Section& section) {
    to.indices(section.loops);
    to.list(section.ops, [&](const Op& op) { write_op(to, op); });
  });
  if (!kernel.sections.empty()) return;
  to.list(kernel.parts, [&](const KernelPart& part) {
    write_kernel(to, part.kernel);
    to.indices(part.buffers);
  });
}

Kernel read_kernel(ir::Decoder& from) {
  const size_t outer = from.symbols;
  auto kernel = KernelReader(from).kernel();
  from.symbols = outer;
  return kernel;
}

}  // namespace antegrad::schedule
