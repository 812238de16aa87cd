#pragma once
// For tests of binary formats: graphs to serialise, and slightly corrupted bytes.
#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/golden.h"
#include "ir/graph.h"
#include "ir/text.h"
#include "util/byte_stream.h"

namespace antegrad {

template <class T>
std::string bytes_of(const T& data) {
  ByteWriter out;
  write(out, data);
  return out.take();
}

/// A graph with nearly every feature that a graph can have.
constexpr const char* kRichGraph = R"(graph @rich joint [s0: 1..64 ~ 7, s1: 1..] {
  in %0: f32[s0,4] param "w"
  in %1: f32[s0*s1,4] user
  %2: f32[s0,4] = aten.add.Tensor(%0, 2.5, alpha=3) at "net.layer" seq 5
  %3: f32[4,s0]{1,4} &%2 = aten.t(%2) backward for 2
  %4: f32[2] = antegrad.constant(x"0000803f00000040", f32, [2, s1])
  out %3 user "y"
  out %4 grad 0
}
)";

/// Returns entries of a corpus with a few random changes.
class ByteMutator {
 public:
  ByteMutator(uint64_t seed, std::vector<std::string> corpus) : rng_(seed), corpus_(std::move(corpus)) {}

  std::string next() {
    std::string bytes = any();
    for (size_t edits = 1 + below(3); edits > 0; --edits) edit(bytes);
    return bytes;
  }

 private:
  size_t below(size_t limit) { return limit == 0 ? 0 : rng_() % limit; }
  const std::string& any() { return corpus_[below(corpus_.size())]; }

  void edit(std::string& bytes) {
    const size_t at = below(bytes.size());
    if (bytes.empty()) return bytes.push_back(static_cast<char>(rng_()));
    switch (below(7)) {
      case 0:
        bytes[at] = static_cast<char>(rng_());
        return;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] + (below(2) == 0 ? 1 : -1));
        return;
      case 2:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        return;
      case 3:
        bytes.erase(at, 1 + below(4));
        return;
      case 4:  // a number that is far too large
        bytes.replace(at, 1, std::string(1 + below(9), '\xff') + '\x01');
        return;
      case 5: {  // a piece of another entry
        const auto& other = any();
        const size_t from = below(other.size());
        bytes.insert(at, other.substr(from, 1 + below(12)));
        return;
      }
      default:
        if (below(4) == 0) bytes.resize(at);
    }
  }

  std::mt19937_64 rng_;
  std::vector<std::string> corpus_;
};

/// Parses the graphs in a text, each from a line "graph @…" to a line "}".
inline std::vector<ir::Graph> graphs_in(const std::string& text) {
  std::vector<ir::Graph> out;
  for (size_t at = 0; (at = text.find("graph @", at)) != std::string::npos;) {
    const size_t end = std::min(text.find("\n}\n", at), text.size() - 3) + 3;
    if (at == 0 || text[at - 1] == '\n') out.push_back(ir::parse(text.substr(at, end - at)));
    at = end;
  }
  return out;
}

/// Parses all graphs in files below a folder of the repository.
inline std::vector<ir::Graph> graphs_under(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(ANTEGRAD_SOURCE_DIR) / folder)) {
    const auto ending = file.path().extension();
    if (ending == ".graph" || ending == ".graphs" || ending == ".txt") paths.push_back(file.path());
  }
  std::ranges::sort(paths);
  std::vector<ir::Graph> out;
  for (const auto& path : paths)
    for (auto& graph : graphs_in(read_text(path))) out.push_back(std::move(graph));
  return out;
}

}  // namespace antegrad
