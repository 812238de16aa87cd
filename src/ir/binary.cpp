// Writing. binary_read.cpp reads in the same order.
#include "ir/binary.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "antegrad/error.h"
#include "ir/binary_format.h"

namespace antegrad::ir {
namespace {

constexpr bool kCompleteArgs = std::variant_size_v<decltype(Arg::v)> == 15;
static_assert(kCompleteArgs, "write and read the new kind of argument");

class Nested {
 public:
  explicit Nested(Encoder& to) : to_(to) {
    if (to.nesting >= kMaxBinaryNesting)
      throw Error(ErrorCode::InvalidArgument, "binary",
                  fmt::format("graphs, lists or types are nested deeper than {}", kMaxBinaryNesting),
                  "Write a flatter graph");
    ++to_.nesting;
  }
  ~Nested() { --to_.nesting; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  Encoder& to_;
};

bool is_packed(const TensorType& type) {
  return type.strides.size() == type.sizes.size() &&
         for_packed_strides(type.sizes,
                            [&](size_t dim, int64_t stride) { return type.strides[dim].is(stride); });
}

void write_device(Encoder& to, const Device& device) {
  to.enumerator(device.kind);
  to.out.signed_varint(device.index);
}

void write_tensor(Encoder& to, const TensorType& type) {
  const bool packed = is_packed(type), plain = type.device == Device{}, at_start = type.offset.is(0);
  to.out.u8(
      static_cast<uint8_t>((packed ? kPacked : 0) | (plain ? kPlainDevice : 0) | (at_start ? kAtStart : 0)));
  to.enumerator(type.dtype);
  if (!plain) write_device(to, type.device);
  to.dims(type.sizes);
  if (!packed) to.dims(type.strides);
  if (!at_start) to.dim(type.offset);
}

void write_element(Encoder& to, const std::shared_ptr<const Type>& element) {
  to.out.flag(element != nullptr);
  if (element) to.type(*element);
}

class GraphWriter {
 public:
  GraphWriter(Encoder& to, GraphParts parts) : to_(to), parts_(parts) {}

  void graph(const Graph& graph) {
    to_.out.u8(static_cast<uint8_t>((parts_.names ? kNames : 0) | (parts_.scopes ? kScopes : 0)));
    name(graph.name);
    to_.enumerator(graph.stage);
    to_.list(graph.symbols, [&](const Symbol& symbol) { to_.symbol(symbol); });
    to_.list(graph.values.list(), [&](const Value& value) {
      to_.type(value.type);
      id(value.base);
    });
    to_.list(graph.inputs, [&](const Input& input) {
      id(input.value);
      to_.enumerator(input.role);
      name(input.name);
    });
    to_.list(graph.nodes, [&](const Node& one) { node(one); });
    to_.list(graph.outputs, [&](const Output& output) {
      id(output.value);
      to_.enumerator(output.role);
      name(output.name);
      to_.out.signed_varint(output.target);
    });
  }

  // One overload per kind of argument.
  void operator()(None) {}
  void operator()(ValueId value) { id(value); }
  void operator()(bool value) { to_.out.flag(value); }
  void operator()(const Dim& dim) { to_.dim(dim); }
  void operator()(double value) { to_.number(value); }
  void operator()(const Real& real) { to_.real(real); }
  void operator()(const std::complex<double>& value) {
    to_.number(value.real());
    to_.number(value.imag());
  }
  void operator()(const std::string& text) { to_.string(text); }
  void operator()(DType dtype) { to_.enumerator(dtype); }
  void operator()(const Device& device) { write_device(to_, device); }
  void operator()(Layout layout) { to_.enumerator(layout); }
  void operator()(MemoryFormat format) { to_.enumerator(format); }
  void operator()(const Bytes& bytes) {
    to_.out.flag(bytes != nullptr);
    if (bytes) to_.out.string({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  }
  void operator()(const GraphPtr& graph) {
    to_.out.flag(graph != nullptr);
    if (graph) to_.graph(*graph, parts_);
  }
  void operator()(const Arg::List& list) {
    const Nested nested(to_);
    args(list);
  }

 private:
  void id(ValueId value) { to_.index(value.index); }
  void ids(const std::vector<ValueId>& values) {
    to_.list(values, [&](ValueId value) { id(value); });
  }
  void name(const std::string& text) {
    if (parts_.names) to_.string(text);
  }
  void arg(const Arg& arg) {
    to_.out.u8(static_cast<uint8_t>(arg.v.index()));
    std::visit(*this, arg.v);
  }
  void args(const std::vector<Arg>& args) {
    to_.list(args, [&](const Arg& one) { arg(one); });
  }

  /// Strings are known by their address from here on: none may be a copy.
  void attrs(const std::vector<NamedArg>& attrs, const std::string& resource) {
    to_.out.count(attrs.size() + (resource.empty() ? 0 : 1));
    for (const auto& attr : attrs) {
      to_.string(attr.name);
      arg(attr.value);
    }
    if (resource.empty()) return;
    static const auto& kind = *new const Arg("");
    to_.string(kResourceAttr);
    to_.out.u8(static_cast<uint8_t>(kind.v.index()));
    (*this)(resource);
  }

  void node(const Node& node) {
    const auto bit = [](bool is, NodeBit bit) { return is ? static_cast<int>(bit) : 0; };
    const auto& [random, ordered, resource, writes] = node.effects;
    const auto& from = node.provenance;
    to_.out.u8(static_cast<uint8_t>(
        bit(node.functional, kFunctional) | bit(random, kRandom) | bit(ordered, kOrdered) |
        bit(from.backward, kBackward) | bit(!node.attrs.empty() || !resource.empty(), kAttrs) |
        bit(!node.returns.empty(), kReturns) | bit(!writes.empty(), kWrites) | bit(from.roots != 0, kRoots)));
    to_.string(node.op);
    args(node.args);
    if (!node.attrs.empty() || !resource.empty()) attrs(node.attrs, resource);
    ids(node.outputs);
    if (!node.returns.empty()) to_.list(node.returns, [&](int32_t count) { to_.out.signed_varint(count); });
    if (!writes.empty()) ids(writes);
    if (parts_.scopes) to_.string(from.scope);
    if (parts_.names) to_.out.signed_varint(from.sequence);
    if (from.roots != 0) to_.out.varint(from.roots);
  }

  Encoder& to_;
  GraphParts parts_;
};

}  // namespace

void Encoder::string(std::string_view text) {
  const auto [at, is_new] = strings_.try_emplace(text, static_cast<uint32_t>(strings_.size()));
  const bool is_long = text.size() > kMaxKnownString;
  out.varint(at->second);
  if (is_new) out.string(text);
  if (is_new && is_long) strings_.erase(at);
}

void Encoder::number(double value) {
  out.f64(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
}

void Encoder::real(const Real& real) {
  enumerator(real.form);
  number(real.scale);
  dim(real.dim);
}

void Encoder::symbol(const Symbol& symbol) {
  out.signed_varint(symbol.range.lower);
  out.signed_varint(symbol.range.upper);
  out.signed_varint(symbol.hint);
}

void Encoder::type(const Type& type) {
  const Nested nested(*this);
  out.u8(static_cast<uint8_t>(type.v.index()));
  if (const auto* tensor = type.tensor()) write_tensor(*this, *tensor);
  if (const auto* kind = std::get_if<ScalarKind>(&type.v)) enumerator(*kind);
  if (const auto* list = std::get_if<ListType>(&type.v)) write_element(*this, list->element);
  if (const auto* optional = std::get_if<OptionalType>(&type.v)) write_element(*this, optional->element);
}

void Encoder::indices(const std::vector<int32_t>& indices) {
  list(indices, [&](int32_t one) { index(one); });
}

void Encoder::graph(const Graph& graph, GraphParts parts) {
  const Nested nested(*this);
  GraphWriter(*this, parts).graph(graph);
}

void write(ByteWriter& out, const Graph& graph, GraphParts parts) { Encoder(out).graph(graph, parts); }
void write(ByteWriter& out, const Dim& dim) { Encoder(out).dim(dim); }
void write(ByteWriter& out, const Type& type) { Encoder(out).type(type); }
void write(ByteWriter& out, const Real& real) { Encoder(out).real(real); }

}  // namespace antegrad::ir
