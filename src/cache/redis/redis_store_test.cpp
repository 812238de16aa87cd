// The store with a real server.
#include "cache/redis/redis_store.h"

#include <gtest/gtest.h>

#include <thread>

#include "cache/layers/open_stores.h"
#include "fault/redis_server.h"

namespace antegrad::cache {
namespace {

using testing::address_of;
using testing::in_child;
using testing::open_redis;
using testing::redis_settings;
using testing::RedisServer;
using testing::sample_entry;
using testing::secret_of;

std::string name_of(const Address& address) { return "antegrad:1:" + address.to_text(); }

class RedisStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::installed()) GTEST_SKIP() << "missing: redis-server";
    server = std::make_unique<RedisServer>();
    store = open_redis(redis_settings(server->url()));
  }
  std::string value(const Address& address) { return server->command({"GET", name_of(address)}).text; }
  void set_value(const Address& address, const std::string& bytes) {
    EXPECT_EQ(server->command({"SET", name_of(address), bytes}).text, "OK");
  }
  Outcome outcome(const Address& address) { return store->get(address).outcome; }

  std::unique_ptr<RedisServer> server;
  std::shared_ptr<RedisStore> store;
};

TEST(RedisStoreOpenTest, NeedsASecretAndAUrl) {
  const auto open = open_redis_store(redis_settings("redis://:hidden@host:1"), nullptr);
  EXPECT_FALSE(open.store);
  EXPECT_EQ(open.reason,
            "the cache at redis://host:1 is not used: its entries need a key, and no key file is set");
  const auto bad = open_redis_store(redis_settings("host:1"), secret_of("a"));
  EXPECT_FALSE(bad.store);
  EXPECT_EQ(bad.reason,
            "the Redis cache is not used: its URL does not begin with redis://, rediss:// or unix://");
}

TEST_F(RedisStoreTest, PutsAndGets) {
  const auto nothing = store->get(address_of(1));
  EXPECT_EQ(nothing.outcome, Outcome::Miss);
  EXPECT_EQ(nothing.reason, "");
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1, 3 << 20)));
  const auto found = store->get(address_of(1));
  EXPECT_EQ(found.outcome, Outcome::Hit) << found.reason;
  EXPECT_EQ(found.entry, sample_entry(1, 3 << 20));
  EXPECT_EQ(found.store, "redis");
  ASSERT_TRUE(store->put(address_of(1), sample_entry(2)));
  EXPECT_EQ(store->get(address_of(1)).entry, sample_entry(2));
  EXPECT_EQ(value(address_of(1)), write_entry(sample_entry(2), address_of(1), secret_of("a").get()));
}

TEST_F(RedisStoreTest, IsReadOnlyUnlessAskedFor) {
  EXPECT_FALSE(RedisSettings{}.write);
  const auto reader = open_redis(redis_settings(server->url(), false));
  EXPECT_TRUE(reader->read_only());
  EXPECT_EQ(reader->put(address_of(1), sample_entry(1)).reason, server->url() + " is read only");
  EXPECT_EQ(value(address_of(1)), "");
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  EXPECT_EQ(reader->get(address_of(1)).outcome, Outcome::Hit);
}

TEST_F(RedisStoreTest, SearchShowsTheVariantsOfAKey) {
  const auto never = [](const Address&, const Loaded&) { return ADD_FAILURE(), false; };
  EXPECT_FALSE(store->search(address_of(1).key, never));
  for (uint64_t i = 0; i < 20; ++i)
    ASSERT_TRUE(store->put(address_of(1, i), sample_entry(static_cast<int>(i))));
  ASSERT_TRUE(store->put(address_of(2, 99), sample_entry(99)));
  server->command({"DEL", name_of(address_of(1, 5))});
  server->command({"ZADD", "antegrad:1:" + address_of(1).key.hex(), "1", "rubbish"});
  std::set<uint64_t> shown;
  EXPECT_FALSE(store->search(address_of(1).key, [&](const Address& address, const Loaded& loaded) {
    EXPECT_EQ(loaded.entry, sample_entry(static_cast<int>(address.variant)));
    return !shown.insert(address.variant).second;
  }));
  EXPECT_EQ(shown.size(), 19u);
  EXPECT_FALSE(shown.contains(5));
  int asked = 0;
  EXPECT_TRUE(store->search(address_of(1).key, [&](const Address&, const Loaded&) { return ++asked == 3; }));
  EXPECT_EQ(asked, 3);
}

TEST_F(RedisStoreTest, TheIndexOfAKeyIsBounded) {
  for (uint64_t i = 0; i < RedisStore::kMostVariants + 10; ++i) {
    ASSERT_TRUE(store->put(address_of(1, i), sample_entry(1)));
  }
  const auto index = "antegrad:1:" + address_of(1).key.hex();
  EXPECT_EQ(server->command({"ZRANGE", index, "0", "-1"}).list.size(), RedisStore::kMostVariants);
}

TEST_F(RedisStoreTest, ManyAtOnce) {
  std::vector<Address> addresses;
  for (int i = 0; i < 1500; ++i) {
    addresses.push_back(address_of(i));
    if (i % 3 == 0) {
      ASSERT_TRUE(store->put(address_of(i), sample_entry(i)));
    }
  }
  const auto loaded = store->get_many(addresses);
  ASSERT_EQ(loaded.size(), addresses.size());
  for (int i = 0; i < 1500; ++i) {
    const auto& one = loaded[i];
    EXPECT_EQ(one.entry, i % 3 == 0 ? sample_entry(i) : Entry{});
  }
  EXPECT_TRUE(store->get_many({}).empty());
}

TEST_F(RedisStoreTest, OnlyTheMacIsBelieved) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  ASSERT_TRUE(store->put(address_of(2), sample_entry(2)));
  const auto one = value(address_of(1)), two = value(address_of(2));
  // Swapped, and replayed under another variant and another key.
  set_value(address_of(1), two);
  set_value(address_of(2), one);
  set_value(address_of(1, 7), one);
  set_value(address_of(3), one);
  for (const auto& address : {address_of(1), address_of(2), address_of(1, 7), address_of(3)}) {
    const auto loaded = store->get(address);
    EXPECT_EQ(loaded.outcome, Outcome::Refused) << loaded.reason;
    EXPECT_TRUE(loaded.entry.sections.empty());
    EXPECT_NE(loaded.reason.find(address.to_text()), std::string::npos);
  }
  set_value(address_of(4), write_entry(sample_entry(4), address_of(4), nullptr));
  EXPECT_EQ(outcome(address_of(4)), Outcome::Refused);
  set_value(address_of(4), write_entry(sample_entry(4), address_of(4), secret_of("b").get()));
  EXPECT_EQ(outcome(address_of(4)), Outcome::Refused);
  set_value(address_of(1), one);
  EXPECT_EQ(outcome(address_of(1)), Outcome::Hit);
}

TEST_F(RedisStoreTest, DamagedValuesAreNeverHits) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1, 40)));
  const auto good = value(address_of(1));
  for (size_t i = 0; i < good.size(); i += 7) {
    auto bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    set_value(address_of(1), bad);
    EXPECT_NE(outcome(address_of(1)), Outcome::Hit) << i;
    set_value(address_of(1), good.substr(0, i));
    EXPECT_NE(outcome(address_of(1)), Outcome::Hit) << i;
  }
  server->command({"DEL", name_of(address_of(1))});
  server->command({"ZADD", name_of(address_of(1)), "1", "x"});
  const auto other = store->get(address_of(1));
  EXPECT_EQ(other.outcome, Outcome::Miss);
  EXPECT_NE(other.reason.find("WRONGTYPE"), std::string::npos) << other.reason;
}

TEST_F(RedisStoreTest, EntriesHaveALimit) {
  auto settings = redis_settings(server->url());
  settings.limit_bytes = 10'000;
  const auto small = open_redis(settings);
  EXPECT_NE(small->put(address_of(1), sample_entry(1, 10'000)).reason.find("more than the 10000"),
            std::string::npos);
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1, 10'000)));
  const auto loaded = small->get(address_of(1));
  EXPECT_EQ(loaded.outcome, Outcome::Miss);
  EXPECT_NE(loaded.reason.find("more than 10000 bytes"), std::string::npos) << loaded.reason;
  ASSERT_TRUE(small->put(address_of(1), sample_entry(1, 9'000)));
  EXPECT_EQ(small->get(address_of(1)).outcome, Outcome::Hit);
}

TEST_F(RedisStoreTest, EntriesMayExpire) {
  auto settings = redis_settings(server->url());
  settings.expiry = std::chrono::seconds(2);
  ASSERT_TRUE(open_redis(settings)->put(address_of(1), sample_entry(1)));
  EXPECT_EQ(outcome(address_of(1)), Outcome::Hit);
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_EQ(outcome(address_of(1)), Outcome::Miss);
  EXPECT_TRUE(server->command({"ZRANGE", "antegrad:1:" + address_of(1).key.hex(), "0", "-1"}).list.empty());
}

TEST_F(RedisStoreTest, DatabasesAreApart) {
  const auto other = open_redis(redis_settings(server->url() + "?db=3"));
  ASSERT_TRUE(other->put(address_of(1), sample_entry(1)));
  EXPECT_EQ(other->get(address_of(1)).outcome, Outcome::Hit);
  EXPECT_EQ(outcome(address_of(1)), Outcome::Miss);
}

TEST_F(RedisStoreTest, ProcessesShareAServerButNoConnection) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  // Children use the parent's store object while the parent uses it too.
  std::vector<pid_t> children;
  for (int child = 0; child < 4; ++child) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    bool good = true;
    for (int i = 0; i < 100; ++i) {
      const int number = 1000 * child + i + 2;
      good = good && store->put(address_of(number), sample_entry(number)) &&
             store->get(address_of(number)).entry == sample_entry(number) &&
             store->get(address_of(1)).entry == sample_entry(1);
    }
    ::_exit(good ? 0 : 1);
  }
  for (int i = 0; i < 200; ++i) EXPECT_EQ(store->get(address_of(1)).entry, sample_entry(1));
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(store->get(address_of(3050)).entry, sample_entry(3050));
}

TEST_F(RedisStoreTest, AForkWhileAnotherThreadAsks) {
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) store->get(address_of(1));
  });
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(in_child([&] { EXPECT_EQ(store->get(address_of(1)).entry, sample_entry(1)); }), 0);
  }
  stop = true;
  busy.join();
}

TEST_F(RedisStoreTest, EightThreads) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 100; ++i) {
        const int number = 1000 * (thread / 2) + i;
        if (!store->put(address_of(number), sample_entry(number))) ++wrong;
        if (store->get(address_of(number)).entry != sample_entry(number)) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(RedisStoreTest, BehindTheLocalDirectory) {
  testing::TestFolder folder;
  Settings settings;
  settings.local.directory = folder.path();
  settings.redis = redis_settings(server->url());
  auto opened = open_stores(settings, std::make_shared<FileSystem>());
  EXPECT_FALSE(opened.redis);
  EXPECT_EQ(opened.store, opened.local);
  ASSERT_EQ(opened.reasons.size(), 1u);
  settings.key_file = folder.parent() / "key";
  testing::write_file(settings.key_file, std::string(32, 'k'));
  opened = open_stores(settings, std::make_shared<FileSystem>());
  EXPECT_EQ(opened.store->name(), "local, redis");
  ASSERT_TRUE(opened.store->put(address_of(1), sample_entry(1)));
  EXPECT_EQ(opened.redis->get(address_of(1)).outcome, Outcome::Hit);
  opened.local->clear();
  const std::vector<Address> addresses{address_of(1), address_of(2)};
  EXPECT_EQ(opened.store->get_many(addresses)[0].store, "redis");
  EXPECT_EQ(opened.store->get_many(addresses)[0].store, "local");
  settings.shared.directory = folder.parent();
  opened = open_stores(settings, std::make_shared<FileSystem>());
  EXPECT_EQ(opened.store->name(), "local, shared, redis");
}

}  // namespace
}  // namespace antegrad::cache
