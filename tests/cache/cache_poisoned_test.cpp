// Another party writes to the cache of compiled functions. Each case runs in a process that has no code in
// memory. That stores refuse such entries is tested in tests/fault/cache_poison_test.cpp; these tests hold
// that functions give right results nevertheless, and that refusals are counted.
#include "cache/format/label.h"
#include "cache_child_job.h"
#include "cache_children.h"
#include "fault/cache_faults.h"

namespace antegrad::test {
namespace {

namespace fs = std::filesystem;
using cache::Address;
using cache::Entry;
using cache::testing::path_of;
using cache::testing::read_file;

constexpr uint64_t kLookups = 2;  ///< of one function: forward and backward pass

class CachePoisoned : public CacheTest {
 protected:
  void SetUp() override {
    CacheTest::SetUp();
    key_file_ = folder() / "key";
    cache::testing::write_file(key_file_, std::string(32, 'k'));
    other_key_file_ = folder() / "other key";
    cache::testing::write_file(other_key_file_, std::string(32, 'o'));
  }
  ChildEnvironment environment(const fs::path& key_file) const {
    ChildSets sets;
    sets.only_function = 4;
    ChildEnvironment out{{"ANTEGRAD_CACHE_DIR", directory().string()}, {kChildSets, sets.to_text()}};
    if (!key_file.empty()) out["ANTEGRAD_CACHE_KEY_FILE"] = key_file.string();
    return out;
  }
  /// Fills the directory and records the function's results.
  void fill(const fs::path& key_file) {
    genuine_ = run_child(environment(key_file));
    ASSERT_EQ(genuine_.count("misses"), kLookups);
    for (const auto& info : store(key_file)->list()) {
      const auto entry = store(key_file)->get(info.address).entry;
      const auto label = cache::label_of(entry);
      ASSERT_TRUE(label);
      (label->kind == "kernel" ? kernels_ : functions_).push_back({info.address, entry});
    }
    ASSERT_EQ(functions_.size(), kLookups);
    for (const auto& function : functions_)
      ASSERT_GE(std::stoi(*cache::label_of(function.entry)->fact("kernels")), 2) << "nothing to swap";
  }
  std::shared_ptr<cache::DirectoryStore> store(const fs::path& key_file) const {
    std::shared_ptr<const cache::Secret> secret;
    cache::FileSystem files;
    if (!key_file.empty()) secret = cache::read_key_file(files, key_file.string()).secret;
    cache::LocalSettings settings;
    settings.directory = directory().string();
    return cache::testing::open_local(settings, std::move(secret));
  }
  fs::path file(const Address& address) const { return path_of(directory().string(), address); }

  struct Stored {
    Address address;
    Entry entry;
  };
  /// Returns a kernel's entry with the object of another kernel.
  Entry with_object_of(const Stored& kernel, const Stored& other) const {
    auto entry = kernel.entry;
    for (auto& section : entry.sections)
      if (section.name == "object") section.bytes = *other.entry.find("object");
    return entry;
  }
  void replace(const Stored& stored, const Entry& entry, const cache::Secret* secret) const {
    cache::testing::write_file(file(stored.address), cache::write_entry(entry, stored.address, secret));
  }

  /// Expects right results, a count of the damage, and that this process replaced the bad entry.
  void expect_found_out(const fs::path& key_file, bool refused, const std::string& reason) const {
    const auto report = run_child(environment(key_file));
    EXPECT_EQ(report.results, genuine_.results);
    const auto refusals = report.count("refused"), corrupt = report.count("corrupt");
    EXPECT_GT(refused ? refusals : corrupt, 0u) << report.output;
    EXPECT_EQ(refused ? corrupt : refusals, 0u) << report.output;
    EXPECT_EQ(report.count("hits") + refusals + corrupt, kLookups);
    EXPECT_TRUE(std::any_of(report.whys.begin(), report.whys.end(), [&](const std::string& why) {
      return why.find(reason) != std::string::npos;
    })) << report.output;
    const auto again = run_child(environment(key_file));
    EXPECT_EQ(again.results, genuine_.results);
    EXPECT_EQ(again.count("hits"), kLookups) << again.output;
    EXPECT_EQ(again.count("compiled"), 0u);
    EXPECT_TRUE(store(key_file)->verify().bad.empty());
  }

  fs::path key_file_, other_key_file_;
  ChildReport genuine_;
  std::vector<Stored> functions_, kernels_;
};

/// The forger has made every checksum right and kept the MAC of the genuine entry.
TEST_F(CachePoisoned, AWrongObjectUnderARightKey) {
  fill(key_file_);
  const auto& kernel = kernels_[0];
  const auto before = read_file(file(kernel.address));
  auto forged = cache::write_entry(with_object_of(kernel, kernels_[1]), kernel.address, nullptr);
  const auto body = forged.size() - 64;
  forged.replace(body, 32, before, before.size() - 64, 32);
  forged.replace(body + 32, 32, cache::sha256(std::string_view(forged).substr(0, body + 32)).view());
  ASSERT_EQ(cache::read_entry(forged, kernel.address, nullptr).outcome, cache::Outcome::Hit);
  cache::testing::write_file(file(kernel.address), forged);
  expect_found_out(key_file_, true, "was not made with this key");
}

TEST_F(CachePoisoned, SwappedFilesOfTwoKernels) {
  fill(key_file_);
  const auto one = file(kernels_[0].address), two = file(kernels_[1].address);
  const auto bytes = read_file(one);
  cache::testing::write_file(one, read_file(two));
  cache::testing::write_file(two, bytes);
  expect_found_out(key_file_, true, "it was written for");
}

/// The entry of the forward pass in place of that of the backward pass, and the other way round.
TEST_F(CachePoisoned, AnEntryAtAnotherAddress) {
  fill(key_file_);
  for (const int from : {0, 1}) {
    const auto& target = functions_[static_cast<size_t>(1 - from)];
    cache::testing::write_file(file(target.address),
                               read_file(file(functions_[static_cast<size_t>(from)].address)));
    expect_found_out(key_file_, true, "it was written for");
  }
}

TEST_F(CachePoisoned, EntriesWithoutAMac) {
  fill(key_file_);
  for (const auto* list : {&functions_, &kernels_})
    for (const auto& stored : *list) replace(stored, stored.entry, nullptr);
  expect_found_out(key_file_, true, "the entry has no MAC, and a key is set");
}

TEST_F(CachePoisoned, EntriesWithTheMacOfAnotherKey) {
  fill(key_file_);
  cache::FileSystem files;
  const auto other = cache::read_key_file(files, other_key_file_.string()).secret;
  for (const auto* list : {&functions_, &kernels_})
    for (const auto& stored : *list) replace(stored, stored.entry, other.get());
  expect_found_out(key_file_, true, "was not made with this key");
}

/// Only a kernel is forged: the function's own entries are trusted and lead to it.
TEST_F(CachePoisoned, OneKernelWithoutAMac) {
  fill(key_file_);
  replace(kernels_[0], kernels_[0].entry, nullptr);
  const auto report = run_child(environment(key_file_));
  EXPECT_EQ(report.results, genuine_.results);
  EXPECT_EQ(report.count("refused"), 1u) << report.output;
  EXPECT_EQ(report.count("kernel_refused"), 1u) << report.output;
  EXPECT_EQ(report.count("compiled"), 1u);
}

/// A key file that is set later: the existing entries were written without one.
TEST_F(CachePoisoned, AKeyThatIsSetLater) {
  fill("");
  expect_found_out(key_file_, true, "the entry has no MAC, and a key is set");
  EXPECT_EQ(run_child(environment("")).count("hits"), kLookups) << "MACs are not looked at without a key";
}

/// Without a key nothing is refused, but what a function's entry states about its kernels must hold.
TEST_F(CachePoisoned, SwappedObjectsWithoutAKey) {
  fill("");
  for (size_t i = 0; i < kernels_.size(); ++i)
    replace(kernels_[i], with_object_of(kernels_[i], kernels_[(i + 1) % kernels_.size()]), nullptr);
  expect_found_out("", false, "is not the one that the function was stored with");
}

TEST_F(CachePoisoned, SwappedFilesWithoutAKey) {
  fill("");
  const auto one = file(kernels_[0].address), two = file(kernels_[1].address);
  const auto bytes = read_file(one);
  cache::testing::write_file(one, read_file(two));
  cache::testing::write_file(two, bytes);
  expect_found_out("", false, "it was written for");
}

TEST_F(CachePoisoned, AKeyFileThatOthersMayReadIsNotUsed) {
  fill(key_file_);
  ASSERT_EQ(::chmod(key_file_.c_str(), 0644), 0);
  const auto report = run_child(environment(key_file_));
  EXPECT_EQ(report.results, genuine_.results);
  EXPECT_EQ(report.count("bypasses"), 1u);
  EXPECT_EQ(report.directory, "");
  ASSERT_EQ(report.reasons.size(), 1u) << report.output;
  EXPECT_NE(report.reasons[0].find("others may read it"), std::string::npos) << report.reasons[0];
}

}  // namespace
}  // namespace antegrad::test
