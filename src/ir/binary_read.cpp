// Reads what binary.cpp writes. The bytes may be arbitrary.
#include <fmt/format.h>

#include <limits>

#include "antegrad/error.h"
#include "ir/binary.h"
#include "ir/binary_format.h"

namespace antegrad::ir {
namespace {

// The minimum encoded size of each, in bytes.
constexpr size_t kMinSymbol = 3, kMinValue = 3, kMinInput = 2, kMinNode = 4, kMinOutput = 3, kMinAttr = 2;

class NestedRead {
 public:
  explicit NestedRead(Decoder& from) : from_(from) {
    if (from.nesting >= kMaxBinaryNesting)
      from.fail(fmt::format("graphs, lists or types are nested deeper than {}", kMaxBinaryNesting));
    ++from_.nesting;
  }
  ~NestedRead() { --from_.nesting; }
  NestedRead(const NestedRead&) = delete;
  NestedRead& operator=(const NestedRead&) = delete;

 private:
  Decoder& from_;
};

Device read_device(Decoder& from) {
  Device device;
  device.kind = from.enumerator(Device::Kind::Meta);
  device.index = from.int32();
  return device;
}

TensorType read_tensor(Decoder& from) {
  const uint8_t bits = from.in.u8();
  if (bits > (kPacked | kPlainDevice | kAtStart)) from.fail(fmt::format("bits {} of a tensor type", bits));
  TensorType type;
  type.dtype = from.enumerator(DType::F8E5M2);
  if (!(bits & kPlainDevice)) type.device = read_device(from);
  type.sizes = from.dims();
  if (bits & kPacked) {
    type.strides.resize(type.sizes.size());
    const auto set = [&](size_t dim, int64_t stride) {
      type.strides[dim] = stride;
      return true;
    };
    if (!for_packed_strides(type.sizes, set)) from.fail("the strides of a tensor type do not follow");
  } else {
    type.strides = from.dims();
  }
  if (!(bits & kAtStart)) type.offset = from.dim();
  return type;
}

std::shared_ptr<const Type> read_element(Decoder& from) {
  return from.in.flag() ? std::make_shared<const Type>(from.type()) : nullptr;
}

class GraphReader {
 public:
  explicit GraphReader(Decoder& from) : from_(from) {}

  Graph graph() {
    const uint8_t parts = from_.in.u8();
    if (parts > (kNames | kScopes)) from_.fail(fmt::format("parts {} of a graph", parts));
    parts_ = {(parts & kNames) != 0, (parts & kScopes) != 0};
    Graph out;
    name(out.name);
    out.stage = from_.enumerator(Stage::Lowered);
    out.symbols = from_.list(kMinSymbol, [&] { return from_.symbol(); });
    from_.symbols = out.symbols.size();
    read_values(out);
    out.inputs = from_.list(kMinInput, [&] { return input(); });
    out.nodes = from_.list(kMinNode, [&] { return node(); });
    out.outputs = from_.list(kMinOutput, [&] { return output(); });
    return out;
  }

 private:
  void read_values(Graph& graph) {
    const size_t count = from_.in.count(kMinValue);
    from_.check();
    values_ = count;
    graph.values.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      Type type = from_.type();
      graph.values.push_back({std::move(type), id(-1)});
    }
  }

  Input input() {
    Input out;
    out.value = id();
    out.role = from_.enumerator(InputRole::Token);
    name(out.name);
    return out;
  }

  Output output() {
    Output out;
    out.value = id(-1);
    out.role = from_.enumerator(OutputRole::Token);
    name(out.name);
    out.target = from_.int32();
    return out;
  }

  Node node() {
    const uint8_t bits = from_.in.u8();
    Node out;
    out.op = from_.string();
    out.args = args();
    if (bits & kAttrs)
      out.attrs = from_.list(kMinAttr, [&] {
        std::string name = from_.string();
        return NamedArg{std::move(name), arg()};
      });
    if (!out.attrs.empty() && out.attrs.back().name == kResourceAttr) {
      const auto* resource = out.attrs.back().value.as<std::string>();
      if (resource == nullptr || resource->empty() || !(bits & kOrdered))
        from_.fail("a resource that nothing acts on");
      out.effects.resource = *resource;
      out.attrs.pop_back();
    }
    out.outputs = ids();
    if (bits & kReturns) out.returns = from_.list(1, [&] { return from_.int32(); });
    out.effects.random = bits & kRandom;
    out.effects.ordered = bits & kOrdered;
    if (bits & kWrites) out.effects.writes = ids();
    out.functional = bits & kFunctional;
    if (parts_.scopes) out.provenance.scope = from_.string();
    if (parts_.names) out.provenance.sequence = from_.in.signed_varint();
    out.provenance.backward = bits & kBackward;
    if (bits & kRoots) out.provenance.roots = from_.in.varint();
    return out;
  }

  std::vector<Arg> args() {
    return from_.list(1, [&] { return arg(); });
  }

  Arg arg() {
    switch (from_.in.u8()) {  // the index of the alternative in Arg::v
      case 0:
        return None{};
      case 1:
        return id();
      case 2:
        return from_.in.flag();
      case 3:
        return from_.dim();
      case 4:
        return from_.number();
      case 5:
        return from_.real();
      case 6: {
        const double real = from_.number();
        return std::complex<double>(real, from_.number());
      }
      case 7:
        return from_.string();
      case 8:
        return from_.enumerator(DType::F8E5M2);
      case 9:
        return read_device(from_);
      case 10:
        return from_.enumerator(Layout::Sparse);
      case 11:
        return from_.enumerator(MemoryFormat::ChannelsLast3d);
      case 12:
        return bytes();
      case 13:
        return GraphPtr(from_.in.flag() ? std::make_shared<const Graph>(from_.graph()) : nullptr);
      case 14: {
        const NestedRead nested(from_);
        return args();
      }
      default:
        from_.fail("an argument is of no known kind");
    }
  }

  Bytes bytes() {
    if (!from_.in.flag()) return nullptr;
    const auto contents = from_.in.string();
    return std::make_shared<const std::vector<uint8_t>>(contents.begin(), contents.end());
  }

  ValueId id(int32_t lowest = 0) { return {from_.index(values_, lowest)}; }
  std::vector<ValueId> ids() {
    return from_.list(1, [&] { return id(); });
  }
  void name(std::string& text) {
    if (parts_.names) text = from_.string();
  }

  Decoder& from_;
  GraphParts parts_;
  size_t values_ = 0;
};

}  // namespace

void Decoder::fail(const std::string& fact) const {
  throw Error(ErrorCode::Io, "binary", "stored data cannot be read: " + fact, "Delete the file it came from");
}

void Decoder::check() const {
  if (in.failed()) fail("it ends early or has numbers that are none");
}

void Decoder::fail_enumerator(int value, int last) const {
  fail(fmt::format("kind {} of something that has the kinds 0 to {}", value, last));
}

std::string Decoder::string() {
  const uint64_t place = in.varint();
  if (place > strings_.size()) fail(fmt::format("string {} of {}", place, strings_.size()));
  if (place < strings_.size()) return std::string(strings_[place]);
  const auto text = in.string();
  if (text.size() <= kMaxKnownString) strings_.push_back(text);
  return std::string(text);
}

int32_t Decoder::int32() {
  const int64_t value = in.signed_varint();
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max())
    fail(fmt::format("{} is no number of 32 bits", value));
  return static_cast<int32_t>(value);
}

int32_t Decoder::index(size_t limit, int32_t lowest) {
  const uint64_t above = in.varint();  // the index plus one
  check();
  constexpr uint64_t kMost = std::numeric_limits<int32_t>::max();
  if (above > limit || above > kMost || (above == 0 && lowest >= 0))
    fail(fmt::format("index {} is not from {} to {}", static_cast<int64_t>(above) - 1, lowest,
                     static_cast<int64_t>(limit) - 1));
  return static_cast<int32_t>(above) - 1;
}

std::vector<int32_t> Decoder::indices(size_t limit) {
  return list(1, [&] { return index(limit); });
}

Real Decoder::real() {
  Real out;
  out.form = enumerator(Real::Form::Number);
  out.scale = number();
  out.dim = dim();
  return out;
}

Symbol Decoder::symbol() {
  Symbol out;
  out.range.lower = in.signed_varint();
  out.range.upper = in.signed_varint();
  out.hint = in.signed_varint();
  return out;
}

Type Decoder::type() {
  const NestedRead nested(*this);
  Type out;
  switch (in.u8()) {  // the index of the alternative in Type::v
    case 0:
      return read_tensor(*this);
    case 1:
      return enumerator(ScalarKind::Token);
    case 2:
      out.v = ListType{read_element(*this)};
      return out;
    case 3:
      out.v = OptionalType{read_element(*this)};
      return out;
    default:
      fail("a type is of no known kind");
  }
}

Graph Decoder::graph() {
  const NestedRead nested(*this);
  const size_t outer = symbols;
  Graph out = GraphReader(*this).graph();
  symbols = outer;
  return out;
}

Graph read_graph(ByteReader& in) { return Decoder(in).graph(); }

Dim read_dim(ByteReader& in, size_t symbols) {
  Decoder from(in, symbols);
  Dim out = from.dim();
  from.check();
  return out;
}

Type read_type(ByteReader& in, size_t symbols) {
  Decoder from(in, symbols);
  Type out = from.type();
  from.check();
  return out;
}

Real read_real(ByteReader& in, size_t symbols) {
  Decoder from(in, symbols);
  Real out = from.real();
  from.check();
  return out;
}

}  // namespace antegrad::ir
