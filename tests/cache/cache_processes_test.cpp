// Many processes with one cache directory: killed at any moment, all cold at once, of two builds, without a
// home directory.
#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "cache/format/label.h"
#include "cache_child_job.h"
#include "cache_children.h"
#include "fault/cache_faults.h"
#include "fuzz/driver.h"

namespace antegrad::test {
namespace {

namespace fs = std::filesystem;

constexpr int kAtOnce = 8;
/// `make nightly` uses 200.
const int kKilled = static_cast<int>(fuzz::from_environment("ANTEGRAD_TEST_KILLS", 80));
const int kRounds = kKilled / kAtOnce;

std::shared_ptr<cache::DirectoryStore> open_store(const fs::path& directory,
                                                  std::shared_ptr<cache::FileSystem> files = nullptr) {
  cache::LocalSettings settings;
  settings.directory = directory.string();
  settings.writes_per_collection = 0;
  return cache::testing::open_local(settings, nullptr, std::move(files));
}

class CacheProcesses : public CacheTest {
 protected:
  ChildEnvironment environment(const ChildSets& sets) const {
    return {{"ANTEGRAD_CACHE_DIR", directory().string()}, {kChildSets, sets.to_text()}};
  }
  /// Returns children that are all about to make their first call.
  std::vector<Child> start(int count, int set, const fs::path& directory) const {
    const auto go = folder() / "go";
    fs::remove(go);
    std::vector<Child> children;
    for (int i = 0; i < count; ++i) {
      auto variables = environment({set, set, i % kChildFunctions});
      variables["ANTEGRAD_CACHE_DIR"] = directory.string();
      variables[kChildGo] = go.string();
      children.emplace_back(variables);
    }
    for (auto& child : children) EXPECT_TRUE(child.wait_until_ready());
    cache::testing::write_file(go, "");
    return children;
  }
  /// How long one of that many children takes for a set that none has compiled.
  double seconds_of_a_round() const {
    auto children = start(kAtOnce, 0, folder() / "trial");
    std::vector<double> seconds;
    for (auto& child : children) seconds.push_back(child.wait().seconds);
    std::sort(seconds.begin(), seconds.end());
    return seconds[kAtOnce / 2];
  }
  void expect_nothing_damaged() const {
    const auto report = open_store(directory())->verify();
    for (const auto& bad : report.bad) ADD_FAILURE() << bad.address.to_text() << ": " << bad.reason;
    EXPECT_TRUE(report.problems.empty());
    EXPECT_EQ(report.other_versions, 0u);
  }
};

/// Leftovers are collected when they are old. Kills one process while it writes, so that there is at least
/// one.
void expect_leftovers_collected(const fs::path& directory) {
  const auto dying = std::make_shared<cache::testing::FaultyFiles>();
  cache::testing::in_child([&] {
    dying->before = [&](int) {
      for (const auto& file : fs::recursive_directory_iterator(directory))
        if (file.path().filename().string().starts_with(".new-")) ::kill(::getpid(), SIGKILL);
    };
    open_store(directory, dying)->put(cache::testing::address_of(1), cache::testing::sample_entry(1));
  });
  EXPECT_GT(open_store(directory)->stats().leftovers, 0u);
  const auto later = std::make_shared<cache::testing::FaultyFiles>();
  later->clock_shift = 2 * 3600;
  const auto store = open_store(directory, later);
  EXPECT_GT(store->collect().leftovers, 0u);
  EXPECT_EQ(store->stats().leftovers, 0u);
}

TEST_F(CacheProcesses, KilledAtRandomMomentsOfFirstCalls) {
  std::mt19937_64 rng(17);
  double longest = seconds_of_a_round();
  int killed = 0, with_results = 0;
  for (int round = 0; round < kRounds; ++round) {
    auto children = start(kAtOnce, round, directory());
    std::vector<std::thread> killers;
    for (auto& child : children) {
      const std::chrono::duration<double> moment(longest * static_cast<double>(rng() % 1000) / 1000);
      killers.emplace_back([&child, moment] {
        std::this_thread::sleep_for(moment);
        child.kill();
      });
    }
    for (auto& killer : killers) killer.join();
    int ended = 0;
    for (auto& child : children) {
      const auto& report = child.wait();
      EXPECT_TRUE(report.status == 0 || report.status == -SIGKILL) << report.status << report.output;
      ended += report.status == 0;
      with_results += !report.results.empty();
    }
    killed += kAtOnce - ended;
    // The remaining children get faster with each one that is killed, and the machine has other work: adjusts
    // so that about two of them finish.
    longest *= ended > 2 ? 0.8 : ended < 2 ? 1.25 : 1;
    expect_nothing_damaged();
  }
  EXPECT_GT(killed, kKilled / 4);
  EXPECT_GT(with_results, kKilled / 8);
  EXPECT_GT(open_store(directory())->list().size(), 0u);
  RecordProperty("killed", killed);

  const auto before = open_store(directory())->stats().entries;
  const auto healed = run_child(environment({0, kRounds - 1}));
  expect_nothing_damaged();
  const auto again = run_child(environment({0, kRounds - 1}));
  EXPECT_EQ(healed.results.size(), static_cast<size_t>(kRounds * kChildFunctions));
  EXPECT_EQ(healed.results, again.results);
  EXPECT_GT(healed.count("hits"), 0u) << before << " entries were of no use";
  EXPECT_EQ(healed.count("corrupt") + healed.count("kernel_corrupt"), 0u) << healed.output;
  EXPECT_EQ(again.count("hits"), 2u * kRounds * kChildFunctions) << again.output;
  EXPECT_EQ(again.count("compiled"), 0u);
  expect_leftovers_collected(directory());
  expect_nothing_damaged();
}

/// Nothing is locked during compilation, so several processes may compile the same kernel; none compiles it
/// twice.
TEST_F(CacheProcesses, SixteenColdOnesAgree) {
  constexpr int kProcesses = 16;
  const auto alone =
      run_child({{"ANTEGRAD_CACHE_DIR", (folder() / "alone").string()}, {kChildSets, ChildSets{}.to_text()}});
  ASSERT_GT(alone.count("compiled"), 0u);
  EXPECT_EQ(alone.count("misses"), 2u * kChildFunctions);

  auto children = start(kProcesses, 0, directory());
  uint64_t compiled = 0;
  for (auto& child : children) {
    const auto& report = child.wait();
    EXPECT_EQ(report.status, 0) << report.output;
    EXPECT_EQ(report.results, alone.results);
    EXPECT_LE(report.count("compiled"), alone.count("compiled"));
    EXPECT_EQ(report.count("corrupt") + report.count("refused") + report.count("bypasses"), 0u);
    EXPECT_EQ(report.count("hits") + report.count("misses"), 2u * kChildFunctions);
    compiled += report.count("compiled");
  }
  EXPECT_GE(compiled, alone.count("compiled"));
  RecordProperty("compiled", static_cast<int>(compiled));

  const auto last = run_child(environment({}));
  EXPECT_EQ(last.results, alone.results);
  EXPECT_EQ(last.count("hits"), 2u * kChildFunctions);
  EXPECT_EQ(last.count("misses"), 0u);
  EXPECT_EQ(last.count("compiled"), 0u);
  expect_nothing_damaged();
  EXPECT_EQ(open_store(directory())->stats().entries, open_store(folder() / "alone")->stats().entries);
}

// AOC-11, AOC-24: the keys of two processes are equal, because their directories hold the same addresses.
TEST_F(CacheProcesses, TwoProcessesHaveTheSameKeys) {
  std::vector<std::vector<cache::Address>> addresses;
  for (const char* name : {"one", "two"}) {
    const auto child = run_child({{"ANTEGRAD_CACHE_DIR", (folder() / name).string()},
                                  {kChildSets, ChildSets{}.to_text()},
                                  {kChildNested, "1"}});
    EXPECT_EQ(child.count("nested_misses"), 1u);
    auto& list = addresses.emplace_back();
    for (const auto& info : open_store(folder() / name)->list()) list.push_back(info.address);
    std::sort(list.begin(), list.end());
  }
  EXPECT_FALSE(addresses[0].empty());
  EXPECT_EQ(addresses[0], addresses[1]);
}

/// A test has only one build of antegrad. Another build would leave entries whose key differs in the field
/// "antegrad", or entries of another format under the same key; both are made by hand here.
TEST_F(CacheProcesses, TwoBuildsShareADirectory) {
  const auto first = run_child(environment({}));
  const auto store = open_store(directory());
  const auto own = store->list();
  for (const auto& info : own) {
    auto entry = store->get(info.address).entry;
    const auto label = cache::label_of(entry);
    ASSERT_TRUE(label);
    cache::Key key;
    for (const auto& field : label->key.fields())
      if (field.name == "antegrad")
        key.add_text("antegrad", "another build");
      else
        key.add_hash(field.name, field.hash, field.length);
    auto theirs = cache::labelled({label->kind, label->name, key, {}});
    theirs.sections.push_back({"code", "what only they understand"});
    ASSERT_TRUE(store->put({key.digest(), info.address.variant}, theirs));
  }
  const auto beside = run_child(environment({}));
  EXPECT_EQ(beside.results, first.results);
  EXPECT_EQ(beside.count("hits"), 2u * kChildFunctions);
  EXPECT_EQ(store->list().size(), 2 * own.size());
  expect_nothing_damaged();
}

TEST_F(CacheProcesses, EntriesOfAnotherFormatAreMisses) {
  const auto first = run_child(environment({}));
  const auto store = open_store(directory());
  for (const auto& info : store->list()) {
    const auto file = cache::testing::path_of(directory(), info.address);
    auto bytes = cache::testing::read_file(file);
    bytes.at(8) = static_cast<char>(cache::kEntryVersion + 1);
    cache::testing::write_file(file, bytes);
  }
  EXPECT_EQ(store->verify().other_versions, store->list().size());
  const auto later = run_child(environment({}));
  EXPECT_EQ(later.results, first.results);
  EXPECT_EQ(later.count("misses"), 2u * kChildFunctions);
  EXPECT_EQ(later.count("corrupt") + later.count("refused"), 0u);
  EXPECT_EQ(later.count("compiled"), first.count("compiled"));
  EXPECT_EQ(run_child(environment({})).count("hits"), 2u * kChildFunctions);
  expect_nothing_damaged();
}

/// Functions work, kernels are compiled, nothing is stored, and the reason is reported once.
void expect_without_directory(const ChildReport& report, const std::string& reason) {
  EXPECT_EQ(report.results.size(), static_cast<size_t>(kChildFunctions));
  EXPECT_EQ(report.directory, "");
  EXPECT_EQ(report.count("bypasses"), static_cast<uint64_t>(kChildFunctions));
  EXPECT_GT(report.count("compiled"), 0u);
  ASSERT_EQ(report.reasons.size(), 1u) << report.output;
  EXPECT_NE(report.reasons[0].find(reason), std::string::npos) << report.reasons[0];
}

/// Returns the id of a user that is not in the password database, or 0 if this process may not change its
/// user.
uid_t unknown_user() { return ::geteuid() == 0 ? 54321 : 0; }

TEST_F(CacheProcesses, WithoutAHome) {
  if (unknown_user() == 0) GTEST_SKIP() << "only root can become a user who is not in the password database";
  const auto report = run_child({{kChildSets, ChildSets{}.to_text()}}, unknown_user());
  expect_without_directory(report, "no directory for it is known");
}

TEST_F(CacheProcesses, WithAHomeThatCannotBeWritten) {
  const auto home = folder() / "home";
  fs::create_directory(home);
  ASSERT_EQ(::chmod(folder().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(home.c_str(), 0555), 0);
  const auto report =
      run_child({{"HOME", home.string()}, {kChildSets, ChildSets{}.to_text()}}, unknown_user());
  expect_without_directory(report, "home/.cache/antegrad");
  EXPECT_TRUE(fs::is_empty(home));
}

}  // namespace
}  // namespace antegrad::test
