// Servers on the loopback interface, with and without TLS.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fault/redis_server.h"

namespace antegrad::cache {
namespace {

using std::chrono::milliseconds;
using testing::address_of;
using testing::free_port;
using testing::open_redis;
using testing::redis_settings;
using testing::RedisServer;
using testing::sample_entry;
using testing::seconds_of;
using testing::TestFolder;

TEST(RedisNetworkTest, LoopbackIsFast) {
  if (!RedisServer::installed()) GTEST_SKIP() << "missing: redis-server";
  const auto port = free_port();
  RedisServer server({"--port", port, "--bind", "127.0.0.1"});
  const auto store = open_redis(redis_settings("redis://127.0.0.1:" + port));
  const double first = seconds_of([&] { EXPECT_EQ(store->get(address_of(1)).reason, ""); });
  const double later = seconds_of([&] {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(store->get(address_of(i)).reason, "");
  });
  fmt::print("a miss over loopback: {:.3f} ms, the first with its connection {:.3f} ms\n", later * 10,
             first * 1e3);
  EXPECT_LT(first, 10.0);
  const auto by_name = open_redis(redis_settings("redis://localhost:" + port));
  EXPECT_TRUE(by_name->put(address_of(1), sample_entry(1, 1 << 20)));
  EXPECT_EQ(store->get(address_of(1)).entry, sample_entry(1, 1 << 20));
}

TEST(RedisNetworkTest, NobodyListens) {
  const auto store = open_redis(redis_settings("redis://127.0.0.1:" + free_port()));
  EXPECT_NE(store->get(address_of(1)).reason.find("Connection refused"), std::string::npos);
}

TEST(RedisNetworkTest, ANameThatIsNone) {
  auto settings = redis_settings("redis://nowhere.invalid:1");
  settings.connect_timeout = milliseconds(100);
  const auto store = open_redis(settings);
  std::string reason;
  // However slow the resolver is.
  EXPECT_LT(seconds_of([&] { reason = store->get(address_of(1)).reason; }), 10.0);
  EXPECT_NE(reason.find("nowhere.invalid"), std::string::npos) << reason;
}

class RedisTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::installed() || !testing::on_path("openssl")) {
      GTEST_SKIP() << "missing: redis-server or openssl";
    }
    const auto make = fmt::format(
        "cd '{}' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "
        "/CN=test "
        "-addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' -keyout key.pem -out certificate.pem "
        "2>/dev/null",
        folder.parent().string());
    ASSERT_EQ(std::system(make.c_str()), 0);
    server = std::make_unique<RedisServer>(std::vector<std::string>{
        "--tls-port", port, "--bind", "127.0.0.1", "--tls-cert-file", certificate, "--tls-key-file",
        folder.parent() / "key.pem", "--tls-ca-cert-file", certificate, "--tls-auth-clients", "no"});
  }
  RedisSettings settings(const std::string& host, const std::string& ca_file) {
    auto out = redis_settings("rediss://" + host + ":" + port);
    out.ca_file = ca_file;
    return out;
  }

  TestFolder folder;
  std::string certificate = folder.parent() / "certificate.pem";
  std::string port = free_port();
  std::unique_ptr<RedisServer> server;
};

TEST_F(RedisTlsTest, PutsAndGets) {
  for (const std::string host : {"127.0.0.1", "localhost"}) {
    const auto store = open_redis(settings(host, certificate));
    const auto saved = store->put(address_of(1), sample_entry(1, 5 << 20));
    ASSERT_TRUE(saved) << saved.reason;
    EXPECT_EQ(store->get(address_of(1)).entry, sample_entry(1, 5 << 20));
    EXPECT_EQ(store->get(address_of(2)).reason, "");
    EXPECT_EQ(testing::in_child([&] { EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Hit); }), 0);
    EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Hit);
  }
}

TEST_F(RedisTlsTest, TheCertificateIsChecked) {
  const auto reason = [&](const RedisSettings& with) {
    const auto loaded = open_redis(with)->get(address_of(1));
    EXPECT_EQ(loaded.outcome, Outcome::Miss);
    return loaded.reason;
  };
  const auto unknown = reason(settings("127.0.0.1", ""));
  EXPECT_NE(unknown.find("self-signed certificate"), std::string::npos) << unknown;
  const auto none = reason(settings("127.0.0.1", folder.parent() / "nothing.pem"));
  EXPECT_NE(none.find("no certificates in"), std::string::npos) << none;
  // The right server under an address that its certificate does not list.
  const auto name = reason(settings("[::ffff:127.0.0.1]", certificate));
  EXPECT_NE(name.find("IP address mismatch"), std::string::npos) << name;
}

TEST_F(RedisTlsTest, AServerWithoutTls) {
  const auto plain = free_port();
  RedisServer other({"--port", plain, "--bind", "127.0.0.1"});
  auto with = settings("127.0.0.1", certificate);
  with.url = "rediss://127.0.0.1:" + plain;
  with.connect_timeout = milliseconds(300);
  const auto loaded = open_redis(with)->get(address_of(1));
  EXPECT_EQ(loaded.outcome, Outcome::Miss);
  EXPECT_NE(loaded.reason, "");
}

}  // namespace
}  // namespace antegrad::cache
