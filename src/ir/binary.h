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

/// Which parts of a graph are written.
struct GraphParts {
  bool names = true;   ///< of the graph, its inputs and outputs; autograd's sequence numbers
  bool scopes = true;  ///< Provenance::scope
  static const GraphParts All;
  static const GraphParts Key;  ///< what has influence on code: neither
};
inline constexpr GraphParts GraphParts::All{true, true};
inline constexpr GraphParts GraphParts::Key{false, false};

/// The binary form of a graph. Graphs that are equal member by member have the same bytes; values keep their
/// numbers, so compact() first where graphs are to be equal as programs. Every NaN is written as the same.
void write(ByteWriter& out, const Graph& graph, GraphParts parts = GraphParts::All);
/// Inverse of write; parts that were not written are as in a new graph. The bytes may be anything: what is no
/// graph throws Error(Io). A graph that was read has its indices in range, but may still break the rules that
/// verify() knows. `in` stands after the graph.
Graph read_graph(ByteReader& in);

void write(ByteWriter& out, const Dim& dim);
void write(ByteWriter& out, const Type& type);
void write(ByteWriter& out, const Real& real);
/// Dims that are read may name `symbols` symbols.
Dim read_dim(ByteReader& in, size_t symbols);
Type read_type(ByteReader& in, size_t symbols);
Real read_real(ByteReader& in, size_t symbols);

constexpr int kMaxBinaryNesting = 64;

/// Writes pieces that share one table of strings and one of dims: what occurs again is a number. For the
/// binary forms of data that has graphs and dims in it. Strings must live as long as the encoder.
class Encoder {
 public:
  explicit Encoder(ByteWriter& to) : out(to) {}
  ByteWriter& out;

  int nesting = 0;  ///< of graphs, lists and types in each other

  void string(std::string_view text);
  void number(double value);
  void dim(const Dim& dim);
  void dims(const std::vector<Dim>& dims);
  void real(const Real& real);
  void symbol(const Symbol& symbol);
  void type(const Type& type);
  void graph(const Graph& graph, GraphParts parts);
  /// -1 and above.
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

/// Reads what an Encoder wrote. Throws Error(Io) for all that is not valid.
class Decoder {
 public:
  explicit Decoder(ByteReader& from, size_t symbols_of_dims = 0) : in(from), symbols(symbols_of_dims) {}
  ByteReader& in;
  size_t symbols;   ///< how many of them dims may name
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
  /// From `lowest` to limit - 1.
  int32_t index(size_t limit, int32_t lowest = 0);
  std::vector<int32_t> indices(size_t limit);
  template <class Enum>
  Enum enumerator(Enum last) {
    const uint8_t value = in.u8();
    if (value > static_cast<uint8_t>(last)) fail_enumerator(value, static_cast<uint8_t>(last));
    return static_cast<Enum>(value);
  }
  /// As many as are there, each of at least so many bytes; never more memory than a multiple of the bytes.
  template <class Fn>
  auto list(size_t min_bytes_each, Fn&& read_one) {
    std::vector<std::decay_t<decltype(read_one())>> out;
    const size_t count = in.count(min_bytes_each);
    out.reserve(count);
    for (size_t i = 0; i < count && !in.failed(); ++i) out.push_back(read_one());
    check();
    return out;
  }
  void check() const;  ///< throws when the reader has failed
  [[noreturn]] void fail(const std::string& fact) const;

 private:
  struct KnownDim {
    Dim dim;
    size_t symbols = 0;  ///< the highest that it names, plus one
  };
  [[noreturn]] void fail_enumerator(int value, int last) const;
  Dim new_dim();
  std::vector<std::string_view> strings_;
  std::vector<KnownDim> dims_;
};

}  // namespace antegrad::ir
