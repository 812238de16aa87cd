#include "partition/binary.h"

#include <gtest/gtest.h>

#include "antegrad/error.h"
#include "graph/random_joint.h"
#include "graph/stored_bytes.h"
#include "ir/verify.h"

namespace antegrad::partition {
namespace {

Partition read(const std::string& bytes) {
  ByteReader in(bytes);
  auto out = read_partition(in);
  EXPECT_TRUE(in.at_end());
  return out;
}

Partition example(uint32_t seed) {
  return partition(seed % 2 == 0 ? random_joint(seed, 12) : random_symbolic_joint(seed, 12));
}

void expect_round_trip(const Partition& parts) {
  const auto bytes = bytes_of(parts);
  const auto back = read(bytes);
  EXPECT_TRUE(back.forward == parts.forward);
  EXPECT_TRUE(back.backward == parts.backward);
  EXPECT_EQ(back.saved, parts.saved);
  EXPECT_EQ(back.saved_bytes, parts.saved_bytes);
  EXPECT_EQ(back.peak.forward, parts.peak.forward);
  EXPECT_EQ(back.peak.backward, parts.peak.backward);
  ASSERT_EQ(back.decisions.size(), parts.decisions.size());
  for (size_t i = 0; i < parts.decisions.size(); ++i)
    EXPECT_EQ(back.decisions[i].value, parts.decisions[i].value);
  EXPECT_EQ(print(back.decisions), print(parts.decisions));
  EXPECT_EQ(bytes_of(back), bytes);
}

TEST(PartitionBinary, PartitionsOfRandomGraphsComeBack) {
  for (uint32_t seed = 0; seed < 200; ++seed) expect_round_trip(example(seed));
}

TEST(PartitionBinary, PartitionsOfStoredGraphsComeBack) {
  size_t count = 0;
  for (const auto* folder : {"tests/data/joint", "src/partition/testdata"})
    for (const auto& graph : graphs_under(folder)) {
      if (graph.stage != ir::Stage::Joint) continue;
      expect_round_trip(partition(graph));
      ++count;
    }
  EXPECT_GT(count, 10U);
}

TEST(PartitionBinary, SavedValuesMustExist) {
  const auto good = example(2);
  ASSERT_FALSE(good.saved.empty());
  const auto refused = [&](const Saved& saved) {
    auto parts = good;
    parts.saved[0] = saved;
    EXPECT_THROW(read(bytes_of(parts)), Error) << saved.input << " " << saved.output;
  };
  refused({.input = -1, .output = static_cast<int32_t>(good.forward.outputs.size())});
  refused({.input = 1000, .output = -1});
  refused({.input = -1, .output = -1});
  refused({.input = 0, .output = 0});
  auto parts = good;
  parts.saved.resize(parts.backward.inputs.size() + 1, {.input = 0, .output = -1});
  EXPECT_THROW(read(bytes_of(parts)), Error);
}

TEST(PartitionBinary, AnyBytesAreAPartitionOrAnError) {
  std::vector<std::string> corpus;
  for (uint32_t seed = 0; seed < 20; ++seed) corpus.push_back(bytes_of(example(seed)));
  ByteMutator mutator(6, std::move(corpus));
  for (int i = 0; i < 10000; ++i) {
    const auto bytes = mutator.next();
    ByteReader in(bytes);
    try {
      const auto again = bytes_of(read_partition(in));
      EXPECT_EQ(bytes_of(read(again)), again);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::Io) << error.what();
    }
  }
}

}  // namespace
}  // namespace antegrad::partition
