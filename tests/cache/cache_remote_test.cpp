// Compiled functions from a Redis server and from a shared directory: a machine that has compiled nothing
// hits, a dead or slow server costs one timeout, and entries of others are refused.
#include <cmath>
#include <functional>

#include "cache_child_job.h"
#include "cache_children.h"
#include "fault/redis_server.h"

namespace antegrad::test {
namespace {

namespace fs = std::filesystem;
using cache::testing::FakeRedis;
using cache::testing::RedisServer;

constexpr uint64_t kLookups = 2 * kChildFunctions;  ///< forward and backward

class CacheRemote : public CacheTest {
 protected:
  void SetUp() override {
    CacheTest::SetUp();
    for (const char* name : {"key", "other key"})
      cache::testing::write_file(folder() / name, std::string(31, 'k') + name[0]);
  }
  /// The environment of a machine with a local directory of its own.
  ChildEnvironment machine(const std::string& name, const std::string& key = "key") const {
    return {{"ANTEGRAD_CACHE_DIR", (folder() / name).string()},
            {"ANTEGRAD_CACHE_KEY_FILE", (folder() / key).string()},
            {kChildSets, ChildSets{}.to_text()}};
  }
  static ChildEnvironment with_redis(ChildEnvironment environment, const std::string& url, bool write) {
    environment["ANTEGRAD_CACHE_REDIS"] = url;
    if (write) environment["ANTEGRAD_CACHE_REDIS_WRITE"] = "1";
    return environment;
  }
  ChildEnvironment with_shared(ChildEnvironment environment, bool write) const {
    environment["ANTEGRAD_CACHE_SHARED_DIR"] = (folder() / "shared").string();
    if (write) environment["ANTEGRAD_CACHE_SHARED_WRITE"] = "1";
    return environment;
  }
  /// Runs children until the server was fast enough for what is wanted: on a busy machine any single process
  /// may give up on the server after its timeout. Results are right in every run.
  ChildReport until(const std::function<bool(const ChildReport&)>& wanted, const ChildEnvironment& machine,
                    const std::string& url, const ChildReport& genuine) const {
    ChildReport report;
    for (int attempt = 0; attempt < 5; ++attempt) {
      fs::remove_all(machine.at("ANTEGRAD_CACHE_DIR"));
      report = run_child(with_redis(machine, url, false));
      EXPECT_EQ(report.results, genuine.results);
      if (wanted(report)) break;
    }
    return report;
  }
  static bool hits(const ChildReport& report) { return report.count("misses") == 0; }
  static bool disbelieves(const ChildReport& report) {
    return report.count("misses") == 0 && report.count("kernel_misses") == 0;
  }
  /// Fills the server from a machine with an empty cache.
  ChildReport fill(RedisServer& server) const {
    ChildReport report;
    for (int attempt = 0; attempt < 5; ++attempt) {
      fs::remove_all(folder() / "A");
      server.command({"FLUSHALL"});
      report = run_child(with_redis(machine("A"), server.url(), true));
      if (keys(server).size() == entries("A")) break;
    }
    EXPECT_EQ(report.count("misses"), kLookups);
    EXPECT_EQ(keys(server).size(), entries("A"));
    return report;
  }
  uint64_t entries(const std::string& name) const {
    uint64_t count = 0;
    for (const auto& file : fs::recursive_directory_iterator(folder() / name))
      count += file.is_regular_file();
    return count;
  }
  /// Returns the keys of entries on the server; the lists of variants have keys of another form.
  static std::vector<std::string> keys(RedisServer& server) {
    auto keys = server.command({"KEYS", "*"}).list;
    std::erase_if(keys, [](const auto& key) { return key.find('-') == std::string::npos; });
    return keys;
  }
};

void expect_all_hits(const ChildReport& report) {
  EXPECT_EQ(report.count("hits"), kLookups) << report.output;
  EXPECT_EQ(report.count("misses"), 0u);
  EXPECT_EQ(report.count("compiled"), 0u);
}

/// Nothing from the server was trusted; the functions were compiled.
void expect_compiled(const ChildReport& report, const ChildReport& genuine) {
  EXPECT_EQ(report.results, genuine.results);
  EXPECT_EQ(report.count("hits"), 0u) << report.output;
  EXPECT_EQ(report.count("compiled"), genuine.count("compiled"));
}

class CacheRedis : public CacheRemote {
 protected:
  void SetUp() override {
    CacheRemote::SetUp();
    if (!RedisServer::installed()) GTEST_SKIP() << "missing: redis-server";
  }
};

// GCC-05
TEST_F(CacheRedis, AFreshMachineOnlyHits) {
  RedisServer server;
  const auto genuine = fill(server);
  EXPECT_GT(genuine.count("compiled"), 0u);
  for (const auto& key : keys(server)) EXPECT_TRUE(key.starts_with("antegrad:1:")) << key;
  expect_all_hits(until(hits, machine("B"), server.url(), genuine));
  // What came from the server is now in the local directory.
  server.kill();
  expect_all_hits(run_child(machine("B")));
}

TEST_F(CacheRedis, NothingIsWrittenUnlessThatIsWanted) {
  RedisServer server;
  const auto report = run_child(with_redis(machine("A"), server.url(), false));
  EXPECT_EQ(report.count("misses"), kLookups);
  EXPECT_TRUE(keys(server).empty());
  EXPECT_GT(entries("A"), 0u);
}

TEST_F(CacheRedis, EntriesOfAnotherKeyAreRefused) {
  RedisServer server;
  const auto genuine = fill(server);
  const auto report = until(disbelieves, machine("B", "other key"), server.url(), genuine);
  expect_compiled(report, genuine);
  EXPECT_GT(report.count("refused"), 0u) << report.output;
  EXPECT_GT(report.count("kernel_refused"), 0u);
}

TEST_F(CacheRedis, ChangedEntriesAreFoundOut) {
  RedisServer server;
  const auto genuine = fill(server);
  for (const auto& key : keys(server)) server.command({"SETRANGE", key, "300", "changed"});
  const auto report = until(disbelieves, machine("B"), server.url(), genuine);
  expect_compiled(report, genuine);
  EXPECT_GT(report.count("refused") + report.count("corrupt"), 0u) << report.output;
  expect_all_hits(run_child(with_redis(machine("B"), server.url(), false)));
}

TEST_F(CacheRedis, WithoutAKeyTheServerIsNotUsed) {
  RedisServer server;
  auto environment = with_redis(machine("A"), server.url(), true);
  environment.erase("ANTEGRAD_CACHE_KEY_FILE");
  const auto report = run_child(environment);
  EXPECT_TRUE(keys(server).empty());
  ASSERT_EQ(report.reasons.size(), 1u) << report.output;
  EXPECT_NE(report.reasons[0].find("no key file is set"), std::string::npos) << report.reasons[0];
  expect_all_hits(run_child(environment));
}

TEST_F(CacheRedis, ADeadServerIsNoError) {
  RedisServer server;
  const auto genuine = fill(server);
  server.kill();
  const auto report = run_child(with_redis(machine("B"), server.url(), true));
  expect_compiled(report, genuine);
  EXPECT_EQ(report.count("misses"), kLookups);
  const bool said = std::any_of(report.reasons.begin(), report.reasons.end(), [](const auto& reason) {
    return reason.find("is not asked for a while") != std::string::npos;
  });
  EXPECT_TRUE(said) << report.output;
  expect_all_hits(run_child(with_redis(machine("B"), server.url(), true)));
}

/// The server accepts connections and never answers. It is asked again after one second, then after two more,
/// and so on.
TEST_F(CacheRemote, AServerThatDoesNotAnswerCostsOneTimeout) {
  FakeRedis server([](const std::string&) { return std::string(); });
  ChildReport report;
  const auto seconds =
      cache::testing::seconds_of([&] { report = run_child(with_redis(machine("A"), server.url(), true)); });
  EXPECT_EQ(report.results.size(), static_cast<size_t>(kChildFunctions));
  EXPECT_EQ(report.count("misses"), kLookups);
  EXPECT_GE(server.connections, 1);
  EXPECT_LE(server.connections, 1 + std::log2(1 + seconds));
  expect_all_hits(run_child(machine("A")));
}

// GCC-05
TEST_F(CacheRemote, ASharedDirectoryServesAFreshMachine) {
  fs::create_directory(folder() / "shared");
  const auto genuine = run_child(with_shared(machine("A"), true));
  EXPECT_EQ(genuine.count("misses"), kLookups);
  EXPECT_EQ(entries("shared"), entries("A"));
  const auto report = run_child(with_shared(machine("B"), false));
  EXPECT_EQ(report.results, genuine.results);
  expect_all_hits(report);
  EXPECT_EQ(entries("B"), entries("A"));
  fs::remove_all(folder() / "shared");
  expect_all_hits(run_child(machine("B")));
}

/// New functions whose kernels this machine had stored before it could write to the shared directory.
TEST_F(CacheRemote, KernelsThatWereOnlyLocalGoWithTheirFunctions) {
  fs::create_directory(folder() / "shared");
  run_child(machine("A"));
  auto writer = with_shared(machine("A"), true), reader = with_shared(machine("B"), false);
  writer[kChildTag] = reader[kChildTag] = "another";
  const auto report = run_child(writer);
  EXPECT_EQ(report.count("misses"), kLookups);
  EXPECT_EQ(report.count("compiled"), 0u);
  expect_all_hits(run_child(reader));
}

TEST_F(CacheRemote, ASharedDirectoryOfOthersIsRefused) {
  fs::create_directory(folder() / "shared");
  const auto genuine = run_child(with_shared(machine("A"), true));
  const auto report = run_child(with_shared(machine("B", "other key"), false));
  expect_compiled(report, genuine);
  EXPECT_GT(report.count("refused"), 0u) << report.output;
  expect_all_hits(run_child(with_shared(machine("C"), false)));
}

TEST_F(CacheRemote, ASharedDirectoryThatIsNotThereIsSaidOnce) {
  for (const bool known : {false, true}) {
    const auto report = run_child(with_shared(machine("A"), true));
    EXPECT_EQ(report.count("hits"), known ? kLookups : 0u);
    ASSERT_EQ(report.reasons.size(), 1u) << report.output;
    EXPECT_NE(report.reasons[0].find("shared is not used"), std::string::npos) << report.reasons[0];
  }
  EXPECT_FALSE(fs::exists(folder() / "shared"));
}

}  // namespace
}  // namespace antegrad::test
