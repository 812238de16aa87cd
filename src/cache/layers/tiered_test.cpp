#include "cache/layers/tiered.h"

#include <gtest/gtest.h>

#include <map>

#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

using testing::address_of;
using testing::sample_entry;

/// A store in memory that counts queries.
class FakeStore : public Store {
 public:
  explicit FakeStore(std::string name) : name_(std::move(name)) {}

  Loaded get(const Address& address) override {
    ++asked;
    const auto found = entries.find(address);
    return found == entries.end() ? instead : Loaded{Outcome::Hit, found->second, {}, name_};
  }
  std::vector<Loaded> get_many(std::span<const Address> addresses) override {
    batches.emplace_back(addresses.begin(), addresses.end());
    return Store::get_many(addresses);
  }
  bool search(const Digest& key, const Visit& visit) override {
    ++asked;
    for (const auto& [address, entry] : std::map(entries)) {
      if (address.key == key && visit(address, {Outcome::Hit, entry, {}, name_})) return true;
    }
    return false;
  }
  Saved put(const Address& address, const Entry& entry) override {
    if (!problem.empty()) return {false, problem};
    entries[address] = entry;
    return {true, {}};
  }
  std::string name() const override { return name_; }
  bool read_only() const override { return fixed; }

  std::map<Address, Entry> entries;
  Loaded instead;  ///< the result for missing entries
  std::string problem;
  bool fixed = false;
  int asked = 0;
  std::vector<std::vector<Address>> batches;  ///< arguments of get_many()

 private:
  std::string name_;
};

class TieredTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeStore> near = std::make_shared<FakeStore>("near");
  std::shared_ptr<FakeStore> far = std::make_shared<FakeStore>("far");
  TieredStore store{near, far};
};

TEST_F(TieredTest, NearHitsDoNotAskFar) {
  near->put(address_of(1), sample_entry(1));
  EXPECT_EQ(store.get(address_of(1)).store, "near");
  EXPECT_TRUE(store.search(address_of(1).key, [](const auto&, const auto&) { return true; }));
  EXPECT_EQ(far->asked, 0);
}

TEST_F(TieredTest, FarHitsComeNear) {
  far->put(address_of(1), sample_entry(1));
  const auto found = store.get(address_of(1));
  EXPECT_EQ(found.entry, sample_entry(1));
  EXPECT_EQ(found.store, "far");
  EXPECT_EQ(store.get(address_of(1)).store, "near");
  EXPECT_EQ(far->asked, 1);
}

TEST_F(TieredTest, ManyAskTheFarStoreOnceForWhatIsMissing) {
  for (const int i : {0, 2}) near->put(address_of(i), sample_entry(i));
  for (const int i : {1, 2, 3}) far->put(address_of(i), sample_entry(i));
  const std::vector<Address> addresses{address_of(0), address_of(1), address_of(2), address_of(3),
                                       address_of(4)};
  const auto loaded = store.get_many(addresses);
  std::vector<std::string> stores;
  for (const auto& one : loaded) stores.push_back(one.store);
  EXPECT_EQ(stores, (std::vector<std::string>{"near", "far", "near", "far", ""}));
  EXPECT_EQ(loaded[3].entry, sample_entry(3));
  EXPECT_EQ(loaded[4].outcome, Outcome::Miss);
  EXPECT_EQ(far->batches, (std::vector<std::vector<Address>>{{address_of(1), address_of(3), address_of(4)}}));
  EXPECT_TRUE(near->entries.contains(address_of(1)));
  store.get_many(std::span(addresses).first(4));
  EXPECT_EQ(far->batches.size(), 1u);
}

TEST_F(TieredTest, ANearStoreThatCannotBeWrittenDoesNotMatter) {
  far->put(address_of(1), sample_entry(1));
  near->problem = "no room";
  EXPECT_EQ(store.get(address_of(1)).outcome, Outcome::Hit);
  near->problem.clear();
  near->fixed = true;
  EXPECT_EQ(store.get(address_of(1)).outcome, Outcome::Hit);
  EXPECT_TRUE(near->entries.empty());
}

TEST_F(TieredTest, SearchGoesOnInTheFarStore) {
  near->put(address_of(1, 1), sample_entry(1));
  for (uint64_t variant : {1, 2, 3})
    far->put(address_of(1, variant), sample_entry(static_cast<int>(variant)));
  std::vector<std::pair<std::string, uint64_t>> shown;
  const bool taken = store.search(address_of(1).key, [&](const Address& address, const Loaded& loaded) {
    shown.emplace_back(loaded.store, address.variant);
    return address.variant == 3;
  });
  EXPECT_TRUE(taken);
  EXPECT_EQ(shown, (std::vector<std::pair<std::string, uint64_t>>{{"near", 1}, {"far", 2}, {"far", 3}}));
  EXPECT_TRUE(near->entries.contains(address_of(1, 3)));
  EXPECT_FALSE(near->entries.contains(address_of(1, 2)));
}

TEST_F(TieredTest, WhatIsWrongIsNotLost) {
  near->instead = {Outcome::Corrupt, {}, "damaged", {}};
  auto found = store.get(address_of(1));
  EXPECT_EQ(found.outcome, Outcome::Corrupt);
  EXPECT_EQ(found.reason, "damaged");
  far->instead = {Outcome::Refused, {}, "forged", {}};
  found = store.get(address_of(1));
  EXPECT_EQ(found.outcome, Outcome::Refused);
  EXPECT_EQ(found.reason, "damaged; forged");
}

TEST_F(TieredTest, PutsWhereItMay) {
  ASSERT_TRUE(store.put(address_of(1), sample_entry(1)));
  EXPECT_EQ(near->entries.size() + far->entries.size(), 2u);
  far->fixed = true;
  ASSERT_TRUE(store.put(address_of(2), sample_entry(2)));
  EXPECT_EQ(far->entries.size(), 1u);
  near->problem = "no room";
  const auto saved = store.put(address_of(3), sample_entry(3));
  EXPECT_FALSE(saved);
  EXPECT_EQ(saved.reason, "no room");
  EXPECT_FALSE(store.read_only());
  near->fixed = true;
  EXPECT_TRUE(store.read_only());
  EXPECT_EQ(store.put(address_of(3), sample_entry(3)).reason, "near, far are read only");
}

}  // namespace
}  // namespace antegrad::cache
