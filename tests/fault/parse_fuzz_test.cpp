// Hostile graph texts: whatever the bytes are, parse() returns a graph or throws Error. Seeds are fixed, so
// failures repeat.
#include <gtest/gtest.h>

#include <random>

#include "antegrad/error.h"
#include "graph/random_graph.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace antegrad::ir {
namespace {

constexpr const char* kTokens[] = {
    "graph",      "@",        "traced",
    "{",          "}",        "in",
    "out",        "%0",       "%99999999999999999999",
    ":",          "f32",      "[",
    "]",          ",",        "=",
    "aten.t",     "(",        ")",
    "writes",     "random",   "at",
    "seq",        "none",     "true",
    "s0",         "s1",       "floor_div(",
    "min(",       "max(",     "mod(",
    "^",          "^999",     "*",
    "+",          "-",        "..",
    "&",          "<",        ">",
    "list<",      "0",        "1",
    "1e999",      "x\"00\"",  "\"a\"",
    "\"",         "\\",       "#",
    "\n",         "complex(", "nan",
    "-inf",       "cuda:",    "user",
    "functional", "op",       "9223372036854775808",
    "optional<",  "\xff",     "s2147483648",
};

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : rng_(seed) {
    for (uint64_t i = 0; i < 200; ++i) corpus_.push_back(print(testing::RandomGraph(seed + i).make()));
  }

  std::string next() {
    if (below(10) == 0) return random_tokens();
    std::string text = any_text();
    for (size_t edits = 1 + below(4); edits > 0; --edits) edit(text);
    return text;
  }

 private:
  size_t below(size_t limit) { return limit == 0 ? 0 : rng_() % limit; }
  const std::string& any_text() { return corpus_[below(corpus_.size())]; }
  std::string token() { return kTokens[below(std::size(kTokens))]; }

  std::string random_tokens() {
    std::string out = below(2) ? "graph @g traced {" : "graph @g traced { aten.t(";
    for (size_t count = below(40); count > 0; --count) out += (below(2) ? " " : "") + token();
    return out;
  }

  void edit(std::string& text) {
    const size_t at = below(text.size());
    switch (below(7)) {
      case 0:
        if (!text.empty()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        return;
      case 1:
        if (!text.empty()) text[at] = static_cast<char>(rng_());
        return;
      case 2:
        text.erase(at, 1 + below(12));
        return;
      case 3:
        text.resize(at);
        return;
      case 4:
        text.insert(at, token());
        return;
      case 5: {
        const std::string& other = any_text();
        text.insert(at, other, below(other.size()), below(60));
        return;
      }
      default: {
        const std::string piece = text.substr(at, below(30));
        for (size_t count = below(20); count > 0; --count) text.insert(at, piece);
        return;
      }
    }
  }

  std::mt19937_64 rng_;
  std::vector<std::string> corpus_;
};

/// Checks what must hold for every text. Returns whether it was a graph.
bool survives(const std::string& text) {
  Graph graph;
  try {
    graph = parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Parse) << text;
    EXPECT_NE(std::string_view(error.what()).find("line "), std::string_view::npos) << error.what();
    return false;
  }
  const std::string printed = print(graph);
  EXPECT_EQ(print(parse(printed)), printed) << text;
  try {
    verify(graph);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Verify) << text;
  }
  return true;
}

TEST(ParseFuzz, MutatedTexts) {
  int graphs = 0;
  constexpr int kInputs = 120000;
  Mutator mutator(1);
  for (int i = 0; i < kInputs && !::testing::Test::HasFailure(); ++i) graphs += survives(mutator.next());
  // Both outcomes are reached: many mutations leave a graph, most do not.
  EXPECT_GT(graphs, kInputs / 50);
  EXPECT_LT(graphs, kInputs / 2);
}

TEST(ParseFuzz, EveryPrefix) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::string text = print(testing::RandomGraph(seed).make());
    for (size_t size = 0; size + 1 < text.size(); ++size)
      EXPECT_FALSE(survives(text.substr(0, size))) << size;
  }
}

TEST(ParseFuzz, MutatedDims) {
  std::mt19937_64 rng(7);
  const std::string letters = "s0123456789+-*^(), floor_divmodminmax";
  for (int i = 0; i < 50000; ++i) {
    std::string text;
    for (size_t count = rng() % 20; count > 0; --count) {
      static constexpr const char* kPieces[] = {"s0", "s1", "floor_div(", "mod(", "min(", "max(",
                                                ",",  ")",  "2",          "-",    "+",    "*",
                                                "^2", "7",  "-3",         "(",    "s2"};
      text += rng() % 12 == 0 ? std::string(1, letters[rng() % letters.size()])
                              : kPieces[rng() % std::size(kPieces)];
    }
    try {
      const Dim dim = parse_dim(text);
      ASSERT_EQ(parse_dim(dim.to_string()), dim) << text;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::Parse) << text;
    }
  }
}

std::string repeat(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

/// Long texts of one shape: a parser with quadratic or exponential parts would not finish.
TEST(ParseFuzz, LongTexts) {
  constexpr size_t kMany = 200000;
  const std::string head = "graph @g traced { a.b(";
  for (const std::string& text :
       {head + repeat("s0+", kMany), head + repeat("s0*", kMany), head + repeat("2*", kMany),
        head + repeat("-", kMany), head + repeat("min(1,", 30) + repeat("2,", kMany),
        head + "min(" + repeat("s0,", kMany) + "s1)", head + repeat("[],", kMany),
        head + repeat("\"\",", kMany), head + repeat("(s0+s1)^9*", kMany),
        head + repeat("floor_div(s0*s1+s2,7)+", kMany), head + "x\"" + repeat("00", kMany) + "\")}",
        "graph @g traced [" + repeat("s0: ..,", kMany), "graph @g traced {" + repeat("%0: int,", kMany),
        "graph @g traced {" + repeat("a.b()", kMany) + "}", repeat("#\n", kMany), repeat("\"", kMany),
        "graph @g traced { in %0: f32[" + repeat("s0,", kMany) + "1] user }"})
    survives(text);
}

}  // namespace
}  // namespace antegrad::ir
