// Servers that die, hang, lie or come back.
#include <gtest/gtest.h>

#include <thread>

#include "fault/redis_server.h"

namespace antegrad::cache {
namespace {

using std::chrono::milliseconds;
using testing::address_of;
using testing::FakeRedis;
using testing::open_redis;
using testing::redis_settings;
using testing::RedisServer;
using testing::sample_entry;
using testing::seconds_of;

/// Settings with the default timeouts.
RedisSettings brisk(const std::string& url) {
  RedisSettings settings;
  settings.url = url;
  return settings;
}

size_t count(const std::string& text, const std::string& word) {
  size_t found = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

/// Returns the result of a lookup when the server sends this reply.
Loaded answered(const std::string& reply) {
  FakeRedis fake([&](const std::string&) { return reply; });
  auto settings = redis_settings(fake.url());
  settings.limit_bytes = 100'000;
  auto loaded = open_redis(settings)->get(address_of(1));
  EXPECT_NE(loaded.outcome, Outcome::Hit);
  return loaded;
}

TEST(RedisFaultsTest, AServerThatIsKilledAndComesBack) {
  if (!RedisServer::installed()) GTEST_SKIP() << "missing: redis-server";
  RedisServer server;
  auto settings = redis_settings(server.url());
  settings.first_pause = milliseconds(100);
  const auto store = open_redis(settings);
  ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
  server.kill();
  const auto loaded = store->get(address_of(1));
  EXPECT_EQ(loaded.outcome, Outcome::Miss);
  EXPECT_EQ(loaded.reason,
            "the cache at " + server.url() + " is not asked for a while: cannot connect: Connection refused");
  EXPECT_EQ(store->put(address_of(1), sample_entry(1)).reason, loaded.reason);
  int shown = 0;
  EXPECT_FALSE(store->search(address_of(1).key, [&](const Address& address, const Loaded& one) {
    EXPECT_EQ(address.variant, 0u);
    EXPECT_EQ(one.reason, loaded.reason);
    return ++shown == 2;
  }));
  EXPECT_EQ(shown, 1);
  server.start();
  std::this_thread::sleep_for(milliseconds(450));
  EXPECT_TRUE(store->put(address_of(1), sample_entry(1)));
  EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Hit);
}

TEST(RedisFaultsTest, ARestartBetweenCallsIsNotNoticed) {
  if (!RedisServer::installed()) GTEST_SKIP() << "missing: redis-server";
  RedisServer server;
  const auto store = open_redis(redis_settings(server.url()));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(store->put(address_of(1), sample_entry(1)));
    server.kill();
    server.start();
    EXPECT_EQ(store->get(address_of(1)).reason, "");
  }
}

TEST(RedisFaultsTest, AWrongPasswordIsSaid) {
  if (!RedisServer::installed()) GTEST_SKIP() << "missing: redis-server";
  RedisServer server({"--requirepass", "right"});
  const auto at = [&](const std::string& login) { return redis_settings("unix://" + login + server.path()); };
  const auto store = open_redis(at(":right@"));
  EXPECT_TRUE(store->put(address_of(1), sample_entry(1)));
  EXPECT_EQ(open_redis(at("default:right@"))->get(address_of(1)).outcome, Outcome::Hit);
  const auto wrong = open_redis(at(":wrong@"))->get(address_of(1));
  EXPECT_EQ(wrong.outcome, Outcome::Miss);
  EXPECT_NE(wrong.reason.find("it refuses the connection: WRONGPASS"), std::string::npos) << wrong.reason;
  EXPECT_EQ(wrong.reason.find("wrong@"), std::string::npos) << wrong.reason;
  const auto none = open_redis(at(""))->get(address_of(1));
  EXPECT_NE(none.reason.find("NOAUTH"), std::string::npos) << none.reason;
}

TEST(RedisFaultsTest, AServerThatNeverAnswersCostsOneTimeout) {
  FakeRedis fake([](const std::string&) { return ""; });
  const auto store = open_redis(brisk(fake.url()));
  std::string reason;
  const double seconds = seconds_of([&] {
    for (int i = 0; i < 100; ++i) reason = store->get(address_of(i)).reason;
  });
  EXPECT_GE(seconds, 0.24);
  EXPECT_LT(seconds, 10.0);  // one after another they would take 25 s
  EXPECT_NE(reason.find(" took more than "), std::string::npos) << reason;
  EXPECT_LE(fake.connections, 3);
}

TEST(RedisFaultsTest, EightThreadsShareTheTimeout) {
  FakeRedis fake([](const std::string&) { return ""; });
  const auto store = open_redis(brisk(fake.url()));
  const double seconds = seconds_of([&] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([&] { store->get(address_of(1)); });
    for (auto& thread : threads) thread.join();
  });
  EXPECT_LT(seconds, 10.0);
  EXPECT_LE(fake.connections, 2);
}

TEST(RedisFaultsTest, AFewBytesNowAndThenBuyNoTime) {
  FakeRedis fake([](const std::string&) { return "$1000\r\n" + std::string(1000, 'x') + "\r\n"; });
  fake.drip = true;
  const auto store = open_redis(brisk(fake.url()));
  EXPECT_LT(seconds_of([&] { EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Miss); }), 10.0);
}

TEST(RedisFaultsTest, AServerWithoutRoomForConnections) {
  // Nobody accepts connections, so the queue of the socket fills up.
  testing::TestFolder folder;
  const std::string path = folder.parent() / "socket";
  const int number = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, path.c_str(), sizeof name.sun_path - 1);
  ASSERT_EQ(::bind(number, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  ASSERT_EQ(::listen(number, 0), 0);
  RedisSocket first;
  RedisPatience patience{milliseconds(1000)};
  ASSERT_FALSE(first.connect(*parse_redis_url("unix://" + path).place, patience));
  const auto store = open_redis(brisk("unix://" + path));
  std::string reason;
  EXPECT_LT(seconds_of([&] { reason = store->get(address_of(1)).reason; }), 10.0);
  EXPECT_NE(reason.find("connecting took more than 100 ms"), std::string::npos) << reason;
  ::close(number);
}

TEST(RedisFaultsTest, ManyAreOneRoundTrip) {
  // Replies only when all requests have arrived, so a second round trip would wait forever.
  std::string all;
  FakeRedis fake([&](const std::string& request) {
    all += request;
    std::string reply;
    if (count(all, "GETRANGE") == 100 && all.ends_with("\r\n")) {
      for (int i = 0; i < 100; ++i) reply += "$0\r\n\r\n";
    }
    return reply;
  });
  std::vector<Address> addresses;
  for (int i = 0; i < 100; ++i) addresses.push_back(address_of(i));
  const auto loaded = open_redis(redis_settings(fake.url()))->get_many(addresses);
  ASSERT_EQ(loaded.size(), 100u);
  for (const auto& one : loaded) EXPECT_EQ(one.reason, "");
}

TEST(RedisFaultsTest, WhatRedisNeverAnswers) {
  for (const std::string reply :
       {"HTTP/1.1 400 Bad Request\r\n\r\n", "$-7\r\n", "$99999999999999999999\r\n", "*2147483647\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "*1\r\n*1000\r\n", ":x\r\n"}) {
    const auto loaded = answered(reply);
    EXPECT_EQ(loaded.outcome, Outcome::Miss) << reply;
    EXPECT_NE(loaded.reason.find("not what Redis answers"), std::string::npos) << reply << loaded.reason;
  }
  for (const std::string reply : {"*0\r\n", "*-1\r\n", ":1\r\n", "$-1\r\n", "*2\r\n$1\r\na\r\n:1\r\n"}) {
    EXPECT_NE(answered(reply).reason.find("the answer is no text"), std::string::npos) << reply;
  }
  EXPECT_EQ(answered("$3\r\nabc\r\n").outcome, Outcome::Corrupt);
  EXPECT_NE(answered("-NO \x1b[31mway\r\n").reason.find("NO ?[31mway"), std::string::npos);
  EXPECT_NE(answered("$300000\r\n" + std::string(300'000, 'x')).reason.find("longer than was asked for"),
            std::string::npos);
  EXPECT_NE(answered("+" + std::string(300'000, 'x')).reason.find("longer than was asked for"),
            std::string::npos);
}

TEST(RedisFaultsTest, AServerThatHangsUpRaisesNoSignal) {
  ASSERT_NE(std::signal(SIGPIPE, SIG_DFL), SIG_ERR);
  FakeRedis fake([](const std::string& request) {
    return request.find("GETRANGE") != std::string::npos ? "$0\r\n\r\n" : "";
  });
  fake.hang_up = true;
  const auto store = open_redis(redis_settings(fake.url()));
  EXPECT_EQ(store->get(address_of(1)).reason, "");
  std::this_thread::sleep_for(milliseconds(50));
  // The connection is dead by now, and the next one breaks during the write.
  const auto saved = store->put(address_of(1), sample_entry(1, 20 << 20));
  EXPECT_FALSE(saved);
  EXPECT_TRUE(saved.reason.find("Broken pipe") != std::string::npos ||
              saved.reason.find("reset by peer") != std::string::npos)
      << saved.reason;
  EXPECT_EQ(fake.connections, 2);
}

TEST(RedisFaultsTest, PausesDouble) {
  RedisBreaker breaker(milliseconds(1000), milliseconds(5000));
  auto now = RedisBreaker::Clock::now();
  EXPECT_EQ(breaker.enter(now).reason, "");
  for (const int pause : {1000, 2000, 4000, 5000, 5000}) {
    breaker.failed("why", now);
    EXPECT_EQ(breaker.enter(now + milliseconds(pause - 1)).reason, "why");
    now += milliseconds(pause);
    EXPECT_EQ(breaker.enter(now).reason, "") << pause;
    EXPECT_EQ(breaker.enter(now).reason, "why") << "one at a time";
  }
  breaker.worked();
  EXPECT_EQ(breaker.enter(now).reason, "");
  EXPECT_EQ(breaker.enter(now).reason, "");
  const auto pass = breaker.enter(now);
  breaker.failed("again", now);
  EXPECT_EQ(breaker.failed_since(pass), "again");
  EXPECT_EQ(breaker.enter(now + milliseconds(1000)).reason, "") << "begins anew";
}

}  // namespace
}  // namespace antegrad::cache
