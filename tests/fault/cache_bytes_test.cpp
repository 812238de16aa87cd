// Hostile and damaged entries: whatever the bytes are, reading returns what was written or says why not.
// Seeds are fixed, so failures repeat.
#include <gtest/gtest.h>

#include <random>

#include "cache/format/entry.h"
#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

using testing::address_of;
using testing::sample_entry;
using testing::secret_of;

constexpr size_t kDigest = 32;
const auto kSecret = secret_of("a");

/// Makes the checksum hold again, so that the checks after it are reached.
void reseal(std::string& bytes) {
  if (bytes.size() < kDigest) return;
  const auto digest = sha256(std::string_view(bytes).substr(0, bytes.size() - kDigest));
  bytes.replace(bytes.size() - kDigest, kDigest, digest.view());
}

/// As reseal(), and also corrects the length in the header.
void reseal_with_length(std::string& bytes) {
  if (bytes.size() < 20) return;
  for (size_t i = 0; i < 8; ++i) bytes[12 + i] = static_cast<char>(uint64_t{bytes.size()} >> (8 * i));
  reseal(bytes);
}

/// Only the original bytes are a hit.
void expect_no_hit(const std::string& bytes, const Address& address, const Secret* secret,
                   const std::string& what) {
  const auto read = read_entry(bytes, address, secret);
  EXPECT_NE(read.outcome, Outcome::Hit) << what;
  EXPECT_FALSE(read.reason.empty()) << what;
  EXPECT_TRUE(read.entry.sections.empty()) << what;
}

TEST(CacheBytes, EveryBitOfEveryByte) {
  for (const Secret* secret : {static_cast<const Secret*>(nullptr), kSecret.get()}) {
    const auto bytes = write_entry(sample_entry(1), address_of(1), secret);
    for (size_t at = 0; at < bytes.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        auto damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
        expect_no_hit(damaged, address_of(1), secret, "byte " + std::to_string(at));
      }
    }
  }
}

/// The same with a checksum that was made to hold: only a MAC keeps such entries out, but nothing crashes
/// without one.
TEST(CacheBytes, EveryByteForged) {
  const auto bytes = write_entry(sample_entry(1), address_of(1), kSecret.get());
  for (size_t at = 0; at + kDigest < bytes.size(); ++at) {
    for (const uint8_t mask : {0x01, 0x80, 0xff, 0x5a}) {
      auto forged = bytes;
      forged[at] = static_cast<char>(forged[at] ^ mask);
      reseal(forged);
      expect_no_hit(forged, address_of(1), kSecret.get(), "byte " + std::to_string(at));
      const auto read = read_entry(forged, address_of(1), nullptr);
      if (read.outcome != Outcome::Hit) continue;
      // Without a key, the names of sections and the MAC itself can be anything.
      EXPECT_EQ(read.entry.sections.size(), sample_entry(1).sections.size()) << at;
      for (size_t i = 0; i < read.entry.sections.size(); ++i) {
        EXPECT_EQ(read.entry.sections[i].bytes, sample_entry(1).sections[i].bytes) << at;
      }
    }
  }
}

TEST(CacheBytes, SeveralBytesAtOnce) {
  const auto bytes = write_entry(sample_entry(1), address_of(1), nullptr);
  std::mt19937_64 rng(1);
  for (int i = 0; i < 20000; ++i) {
    auto damaged = bytes;
    for (auto flips = 2 + rng() % 6; flips > 0; --flips) {
      const auto at = rng() % bytes.size();
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << rng() % 8));
    }
    if (damaged != bytes) expect_no_hit(damaged, address_of(1), nullptr, "round " + std::to_string(i));
  }
}

TEST(CacheBytes, EveryTruncation) {
  for (const Secret* secret : {static_cast<const Secret*>(nullptr), kSecret.get()}) {
    const auto bytes = write_entry(sample_entry(1), address_of(1), secret);
    for (size_t size = 0; size < bytes.size(); ++size) {
      auto cut = bytes.substr(0, size);
      expect_no_hit(cut, address_of(1), secret, "size " + std::to_string(size));
      reseal_with_length(cut);
      expect_no_hit(cut, address_of(1), secret, "resealed size " + std::to_string(size));
      expect_no_hit(bytes.substr(size + 1), address_of(1), secret, "without a beginning");
    }
    expect_no_hit(bytes + std::string(1, '\0'), address_of(1), secret, "one more");
    expect_no_hit(bytes + bytes, address_of(1), secret, "twice");
  }
}

/// What a page that was never written looks like after a power cut.
TEST(CacheBytes, BlocksOfZeros) {
  const auto bytes = write_entry(sample_entry(1, 5000), address_of(1), nullptr);
  for (size_t begin = 0; begin < bytes.size(); begin += 64) {
    auto damaged = bytes;
    for (size_t i = begin; i < std::min(begin + 512, bytes.size()); ++i) damaged[i] = '\0';
    if (damaged != bytes) expect_no_hit(damaged, address_of(1), nullptr, "block " + std::to_string(begin));
  }
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : rng_(seed) {
    for (int i = 0; i < 20; ++i) {
      corpus_.push_back(write_entry(random_entry(), address_of(1), i % 2 ? kSecret.get() : nullptr));
    }
  }

  std::string next() {
    auto bytes = corpus_[below(corpus_.size())];
    for (auto edits = 1 + below(4); edits > 0; --edits) edit(bytes);
    switch (below(3)) {
      case 0:
        break;
      case 1:
        reseal(bytes);
        break;
      default:
        reseal_with_length(bytes);
    }
    return bytes;
  }

 private:
  size_t below(size_t limit) { return limit == 0 ? 0 : rng_() % limit; }

  Entry random_entry() {
    Entry entry;
    for (size_t count = below(6); count > 0; --count) {
      entry.sections.push_back(
          {"s" + std::to_string(count), std::string(below(100), static_cast<char>(rng_()))});
    }
    return entry;
  }

  /// Edits mostly the first bytes, which hold most of the structure, and often inserts extreme numbers.
  void edit(std::string& bytes) {
    const auto at = below(below(2) ? bytes.size() : std::min<size_t>(bytes.size(), 160));
    switch (below(6)) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        return;
      case 1:
        if (!bytes.empty()) bytes[at] = static_cast<char>(rng_());
        return;
      case 2:
        bytes.erase(at, 1 + below(20));
        return;
      case 3:
        bytes.insert(at, corpus_[below(corpus_.size())].substr(below(120), below(60)));
        return;
      case 4: {
        const uint64_t numbers[] = {0, 1, 0xffff, 0xffffffff, ~uint64_t{0}, uint64_t{1} << 63, 65537, rng_()};
        const auto number = numbers[below(std::size(numbers))];
        for (size_t i = 0; i < 8 && at + i < bytes.size(); ++i)
          bytes[at + i] = static_cast<char>(number >> (8 * i));
        return;
      }
      default:
        if (bytes.size() > 60) bytes[60] = static_cast<char>(below(10));  // the number of sections
    }
  }

  std::mt19937_64 rng_;
  std::vector<std::string> corpus_;
};

TEST(CacheBytes, MutatedEntries) {
  constexpr int kInputs = 300000;
  Mutator mutator(1);
  int hits = 0, corrupt = 0, misses = 0;
  for (int i = 0; i < kInputs && !::testing::Test::HasFailure(); ++i) {
    const auto bytes = mutator.next();
    const auto read = read_entry(bytes, address_of(1), nullptr);
    corrupt += read.outcome == Outcome::Corrupt;
    misses += read.outcome == Outcome::Miss;
    if (read.outcome == Outcome::Hit) {
      ++hits;
      // Only the MAC is free: all other bytes are what writing gives.
      auto again = write_entry(read.entry, address_of(1), nullptr);
      again.replace(again.size() - 2 * kDigest, kDigest, bytes, bytes.size() - 2 * kDigest, kDigest);
      reseal(again);
      EXPECT_EQ(to_hex(again), to_hex(bytes));
    }
  }
  // All outcomes of the parser are reached.
  EXPECT_GT(hits, kInputs / 500);
  EXPECT_GT(misses, kInputs / 500);
  EXPECT_GT(corrupt, kInputs / 2);
}

/// With a secret, whatever reads as a hit is one of the entries that were written with it.
TEST(CacheBytes, MutatedEntriesWithASecret) {
  constexpr int kInputs = 100000;
  Mutator mutator(2);
  int refused = 0;
  for (int i = 0; i < kInputs && !::testing::Test::HasFailure(); ++i) {
    const auto bytes = mutator.next();
    const auto read = read_entry(bytes, address_of(1), kSecret.get());
    refused += read.outcome == Outcome::Refused;
    if (read.outcome == Outcome::Hit) {
      EXPECT_EQ(to_hex(write_entry(read.entry, address_of(1), kSecret.get())), to_hex(bytes));
    }
  }
  EXPECT_GT(refused, kInputs / 50);
}

TEST(CacheBytes, RandomBytes) {
  std::mt19937_64 rng(5);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(rng() % 400, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(rng());
    if (i % 2) bytes.insert(0, std::string_view("AGENTRY\n\1\0\0\0", 12));
    if (i % 4 == 1) reseal_with_length(bytes);
    expect_no_hit(bytes, address_of(1), nullptr, "round " + std::to_string(i));
  }
}

/// The same through files: the store reports the damage, removes the file, and accepts a new entry.
TEST(CacheBytes, EveryByteOfAFile) {
  testing::TestFolder folder;
  const auto store = testing::open_local(testing::local_settings(folder));
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  const auto file = testing::path_of(folder.path(), address_of(1));
  const auto bytes = testing::read_file(file);
  for (size_t at = 0; at < bytes.size(); ++at) {
    auto damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    testing::write_file(file, damaged);
    const auto read = store->get(address_of(1));
    const bool version = at >= 8 && at < 12;
    EXPECT_EQ(read.outcome, version ? Outcome::Miss : Outcome::Corrupt) << at;
    EXPECT_EQ(std::filesystem::exists(file), version) << at;
    ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
    ASSERT_EQ(store->get(address_of(1)).entry, sample_entry(1));
  }
}

}  // namespace
}  // namespace antegrad::cache
