#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "util/byte_stream.h"

namespace antegrad::ir {

/// The parts of a graph to write.
struct GraphParts {
  bool names = true;   ///< names of the graph, its inputs and outputs; autograd's sequence numbers
  bool scopes = true;  ///< Provenance::scope
  static const GraphParts All;
  static const GraphParts Key;  ///< only what affects generated code: neither of them
};
inline constexpr GraphParts GraphParts::All{true, true};
inline constexpr GraphParts GraphParts::Key{false, false};

/// Writes the binary form of a graph. Graphs that are equal member by member have equal bytes. Values keep
/// their ids, so call compact() first to get equal bytes for programs that are equal. All NaNs are written as
/// the same NaN.
void write(ByteWriter& out, const Graph& graph, GraphParts parts = GraphParts::All);
/// The inverse of write(); parts that were not written have their default values. The bytes may be arbitrary:
/// invalid ones throw Error(Io). The indices of the result are in range, but it may still violate rules that
/// verify() checks. Afterwards `in` is positioned behind the graph.
Graph read_graph(ByteReader& in);

void write(ByteWriter& out, const Dim& dim);
void write(ByteWriter& out, const Type& type);
void write(ByteWriter& out, const Real& real);
/// Dims may refer only to the first `symbols` symbols.
Dim read_dim(ByteReader& in, size_t symbols);
Type read_type(ByteReader& in, size_t symbols);
Real read_real(ByteReader& in, size_t symbols);

constexpr int kMaxBinaryNesting = 64;

/// Writes data that contains graphs and dims, with one shared table of strings and one of dims: a repeated
/// entry is written as its index. Strings must outlive the encoder.
class Encoder {
 public:
  explicit Encoder(ByteWriter& to) : out(to) {}
  ByteWriter& out;

  int nesting = 0;  ///< current nesting depth of graphs, lists and types

  void string(std::string_view text);
  void number(double value);
  void dim(const Dim& dim);
  void dims(const std::vector<Dim>& dims);
  void real(const Real& real);
  void symbol(const Symbol& symbol);
  void type(const Type& type);
  void graph(const Graph& graph, GraphParts parts);
  /// Writes an index that is at least -1.
  void index(int32_t index) { out.varint(static_cast<uint32_t>(index) + uint32_t{1}); }
  void indices(const std::vector<int32_t>& indices);
  template <class Enum>
  void enumerator(Enum value) {
    out.u8(static_cast<uint8_t>(value));
  }
  template <class T, class Fn>
  void list(const std::vector<T>& items, Fn&& write_one) {
    out.count(items.size());
    for (const auto& item : items) write_one(item);
  }

 private:
  struct HashDim {
    size_t operator()(const Dim& dim) const { return dim.hash(); }
  };
  std::unordered_map<std::string_view, uint32_t> strings_;
  std::unordered_map<Dim, uint32_t, HashDim> dims_;
};

/// Reads what an Encoder wrote. Throws Error(Io) for invalid data.
class Decoder {
 public:
  explicit Decoder(ByteReader& from, size_t symbols_of_dims = 0) : in(from), symbols(symbols_of_dims) {}
  ByteReader& in;
  size_t symbols;   ///< number of symbols that dims may refer to
  int nesting = 0;  ///< as in Encoder

  std::string string();
  double number() { return in.f64(); }
  int32_t int32();
  Dim dim();
  std::vector<Dim> dims();
  Real real();
  Symbol symbol();
  Type type();
  Graph graph();
  /// Reads an index in [lowest, limit).
  int32_t index(size_t limit, int32_t lowest = 0);
  std::vector<int32_t> indices(size_t limit);
  template <class Enum>
  Enum enumerator(Enum last) {
    const uint8_t value = in.u8();
    if (value > static_cast<uint8_t>(last)) fail_enumerator(value, static_cast<uint8_t>(last));
    return static_cast<Enum>(value);
  }
  /// Reads a list whose elements take at least `min_bytes_each` bytes each. Memory use is bounded by a
  /// multiple of the number of bytes left.
  template <class Fn>
  auto list(size_t min_bytes_each, Fn&& read_one) {
    std::vector<std::decay_t<decltype(read_one())>> out;
    const size_t count = in.count(min_bytes_each);
    out.reserve(count);
    for (size_t i = 0; i < count && !in.failed(); ++i) out.push_back(read_one());
    check();
    return out;
  }
  void check() const;  ///< throws if the reader has failed
  [[noreturn]] void fail(const std::string& fact) const;

 private:
  struct KnownDim {
    Dim dim;
    size_t symbols = 0;  ///< the highest symbol index in it, plus one
  };
  [[noreturn]] void fail_enumerator(int value, int last) const;
  Dim new_dim();
  std::vector<std::string_view> strings_;
  std::vector<KnownDim> dims_;
};

}  // namespace antegrad::ir
