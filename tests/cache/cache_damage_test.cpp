// Cache files that are not what was written: every byte of every entry of a compiled function, every length,
// and a directory that disappears. Full disks, I/O errors and clock jumps are in
// tests/fault/cache_io_test.cpp and cache_scale_test.cpp, damage to entries as such in
// tests/fault/cache_bytes_test.cpp.
#include <atomic>
#include <thread>

#include "cache/format/label.h"
#include "cache_fixture.h"
#include "fault/cache_faults.h"

namespace antegrad::test {
namespace {

namespace fs = std::filesystem;
using at::Tensor;
using cache::Outcome;
using Tensors = std::vector<Tensor>;

Tensor function(const Tensors& x) { return ((x[0] * 1.5).tanh() * x[1]).sum(); }

struct File {
  std::string kind;  ///< "function", "code", "kernel"
  cache::Address address;
  fs::path path;
  std::string bytes;
};

class CacheDamage : public CacheTest {
 protected:
  void SetUp() override {
    CacheTest::SetUp();
    inputs_ = {torch::randn({3, 4}), torch::randn({3, 4})};
    expected_ = train(function, inputs_);
    train(compile(function), inputs_);
    ASSERT_TRUE(flush_cache());
    cache::LocalSettings settings;
    settings.directory = directory().string();
    settings.writes_per_collection = 0;
    store_ = cache::testing::open_local(settings);
    for (const auto& info : store_->list()) {
      const auto label = cache::label_of(store_->get(info.address).entry);
      ASSERT_TRUE(label);
      const auto path = cache::testing::path_of(directory().string(), info.address);
      files_.push_back({label->kind, info.address, path, cache::testing::read_file(path)});
    }
    ASSERT_GE(files_.size(), 4u) << "two passes with a kernel each";
  }

  static std::string flipped(const File& file, size_t position) {
    auto bytes = file.bytes;
    bytes[position] = static_cast<char>(bytes[position] ^ (1 << position % 8));
    return bytes;
  }
  /// Compiles as a new process would. Kernels stay in memory, but are used only when their entry is found.
  CacheCounts compile_anew() const {
    use(directory());
    const auto compiled = compile(function);
    expect_same(expected_, train(compiled, inputs_));
    EXPECT_TRUE(flush_cache());
    return compiled.report().cache;
  }
  /// Expects right results, a count of the damage, and a whole entry afterwards.
  void expect_healed(const File& file, std::string_view damaged, const std::string& what) const {
    cache::testing::write_file(file.path, damaged);
    const auto counts = compile_anew();
    EXPECT_EQ(counts.corrupt + counts.misses, 1u) << file.kind << ", " << what;
    EXPECT_EQ(counts.hits, 1u) << file.kind << ", " << what << ": the other pass";
    EXPECT_EQ(store_->get(file.address).outcome, Outcome::Hit) << file.kind << ", " << what;
  }

  Tensors inputs_;
  Results expected_;
  std::shared_ptr<cache::DirectoryStore> store_;
  std::vector<File> files_;
};

TEST_F(CacheDamage, EveryFlippedByteIsFoundOut) {
  size_t positions = 0;
  for (const auto& file : files_)
    for (size_t i = 0; i < file.bytes.size(); ++i, ++positions) {
      cache::testing::write_file(file.path, flipped(file, i));
      const auto loaded = store_->get(file.address);
      const bool version = i >= 8 && i < 12;
      ASSERT_EQ(loaded.outcome, version ? Outcome::Miss : Outcome::Corrupt) << file.kind << ", byte " << i;
      ASSERT_TRUE(loaded.entry.sections.empty());
      ASSERT_NE(loaded.reason, "");
    }
  EXPECT_GT(positions, 4000u);
}

TEST_F(CacheDamage, EveryTruncationIsFoundOut) {
  for (const auto& file : files_)
    for (size_t size = 0; size < file.bytes.size(); ++size) {
      cache::testing::write_file(file.path, std::string_view(file.bytes).substr(0, size));
      ASSERT_EQ(store_->get(file.address).outcome, Outcome::Corrupt) << file.kind << ", " << size << " bytes";
    }
}

TEST_F(CacheDamage, FunctionsAreRightAndEntriesHealAfterFlippedBytes) {
  size_t tried = 0;
  for (const auto& file : files_) {
    const auto step = std::max<size_t>(1, file.bytes.size() / 60);
    for (size_t i = 0; i < file.bytes.size() && !HasFailure(); i += i < 24 ? 1 : step, ++tried)
      expect_healed(file, flipped(file, i), "byte " + std::to_string(i));
  }
  EXPECT_GE(tried, 200u);
  EXPECT_EQ(compile_anew(), counts(2, 0));
}

TEST_F(CacheDamage, FunctionsAreRightAndEntriesHealAfterTruncations) {
  size_t tried = 0;
  for (const auto& file : files_) {
    const auto step = std::max<size_t>(1, file.bytes.size() / 50);
    for (size_t size = 0; size < file.bytes.size() && !HasFailure(); size += step, ++tried)
      expect_healed(file, std::string_view(file.bytes).substr(0, size), std::to_string(size) + " bytes");
    expect_healed(file, file.bytes + '\0', "a byte more");
  }
  EXPECT_GE(tried, 200u);
  EXPECT_EQ(compile_anew(), counts(2, 0));
}

/// Entries whose checksums hold, but whose sections are not what a function needs.
TEST_F(CacheDamage, WholeEntriesWithWrongContents) {
  for (const auto& file : files_) {
    const auto entry = store_->get(file.address).entry;
    for (size_t i = 0; i < entry.sections.size(); ++i) {
      const auto& name = entry.sections[i].name;
      if (name != "code" && name != "plan" && name != "object") continue;
      for (const auto& bytes : {std::string(), entry.sections[i].bytes + "x",
                                entry.sections[i].bytes.substr(0, entry.sections[i].bytes.size() / 2)}) {
        auto changed = entry;
        changed.sections[i].bytes = bytes;
        expect_healed(file, cache::write_entry(changed, file.address, nullptr), name);
      }
      auto without = entry;
      without.sections.erase(without.sections.begin() + static_cast<std::ptrdiff_t>(i));
      expect_healed(file, cache::write_entry(without, file.address, nullptr), "no " + name);
    }
  }
}

TEST_F(CacheDamage, AFileThatIsGoneIsMadeAgain) {
  for (const auto& file : files_) {
    fs::remove(file.path);
    const auto counts = compile_anew();
    EXPECT_EQ(counts, test::counts(1, 1)) << file.kind;
    EXPECT_EQ(store_->get(file.address).outcome, Outcome::Hit) << file.kind;
  }
}

/// In place of an entry there is a folder, a link to another file, or a file that others may write.
TEST_F(CacheDamage, ThingsThatAreNoEntries) {
  for (const auto& file : files_) {
    fs::remove(file.path);
    fs::create_symlink(folder() / "nowhere", file.path);
    EXPECT_EQ(compile_anew().refused, 1u) << file.kind;
    EXPECT_FALSE(fs::exists(folder() / "nowhere"));
    fs::remove(file.path);
    fs::create_directory(file.path);
    EXPECT_EQ(compile_anew().hits, 1u) << file.kind;
    fs::remove_all(file.path);
    cache::testing::write_file(file.path, file.bytes);
    ASSERT_EQ(::chmod(file.path.c_str(), 0666), 0);
    const auto counts = compile_anew();
    EXPECT_EQ(counts.refused, 1u) << file.kind;
    EXPECT_EQ(store_->get(file.address).outcome, Outcome::Hit) << file.kind << ": replaced";
  }
}

// GCC-03
TEST_F(CacheDamage, TheDirectoryIsDeletedWhileRunning) {
  const auto running = compile(function);
  fs::remove_all(directory());
  expect_same(expected_, train(running, inputs_));  // looks its entries up now
  const auto other = [](const Tensors& x) { return function(x) * 3; };
  const auto second = compile(other);
  expect_same(train(other, inputs_), train(second, inputs_));
  ASSERT_TRUE(flush_cache());
  EXPECT_FALSE(store_->list().empty());
  EXPECT_TRUE(store_->verify().bad.empty());
  // The process has stored its kernels once and does not know that they are gone; whoever misses them stores
  // them again.
  compile_anew();
  EXPECT_EQ(compile_anew(), counts(2, 0));
}

TEST_F(CacheDamage, TheDirectoryIsDeletedOverAndOver) {
  std::atomic<bool> done{false};
  std::thread cleaner([&] {
    std::error_code ignored;
    while (!done) {
      fs::remove_all(directory(), ignored);
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  CacheCounts all;
  for (int round = 0; round < 40; ++round) {
    const auto counts = compile_anew();
    all.hits += counts.hits;
    all.misses += counts.misses + counts.guard_misses;  // the list of sizes may outlive the code
    all.corrupt += counts.corrupt + counts.refused;
  }
  done = true;
  cleaner.join();
  EXPECT_EQ(all.corrupt, 0u);
  EXPECT_GT(all.misses, 0u);
  EXPECT_LE(all.hits + all.misses, 80u);  // none where the directory went away while it was being opened
  compile_anew();
  compile_anew();
  EXPECT_EQ(compile_anew(), counts(2, 0));
}

}  // namespace
}  // namespace antegrad::test
