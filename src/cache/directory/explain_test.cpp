#include "cache/directory/explain.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

using testing::local_settings;
using testing::open_local;
using testing::path_of;
using testing::TestFolder;

Key key_of(const std::string& graph, const std::string& options, const std::string& isa = "avx2") {
  Key key;
  key.add_text("graph", graph).add_text("options", options).add_text("isa", isa);
  return key;
}

class NearestKeyTest : public ::testing::Test {
 protected:
  void put(const Key& key, int64_t age, const std::string& name = "step",
           const std::string& kind = "function") {
    const Address address{key.digest(), 0};
    ASSERT_TRUE(store->put(address, labelled({kind, name, key, {}})));
    const auto path = path_of(folder.path(), address);
    const Handle file(files, files.open_file(AT_FDCWD, path));
    ASSERT_EQ(files.set_modified(file.number(), files.now() - age), 0);
  }
  std::shared_ptr<DirectoryStore> reader() {
    auto settings = local_settings(folder);
    settings.read_only = true;
    return open_local(settings);
  }

  TestFolder folder;
  FileSystem files;
  std::shared_ptr<DirectoryStore> store = open_local(local_settings(folder));
};

TEST_F(NearestKeyTest, MostFieldsInCommon) {
  put(key_of("a", "fast", "avx512"), 10);
  put(key_of("a", "slow", "avx2"), 5000);
  put(key_of("b", "slow", "baseline"), 5);
  const auto found = nearest_key(*reader(), key_of("a", "fast"), "function", "step");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->equal, 2u);
  EXPECT_EQ(found->label.key, key_of("a", "fast", "avx512")) << "of two as near, the one used last";
  EXPECT_EQ(found->info.address.key, found->label.key.digest());
}

TEST_F(NearestKeyTest, OnlyOfTheSameKindAndName) {
  put(key_of("a", "fast", "avx512"), 10, "other");
  put(key_of("a", "slow"), 10, "step", "code");
  EXPECT_FALSE(nearest_key(*reader(), key_of("a", "fast"), "function", "step"));
  put(key_of("z", "z", "z"), 10);
  const auto found = nearest_key(*reader(), key_of("a", "fast"), "function", "step");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->equal, 0u);
}

TEST_F(NearestKeyTest, NotTheKeyItselfAndNotLaterOnes) {
  put(key_of("a", "fast"), 100);
  EXPECT_FALSE(nearest_key(*reader(), key_of("a", "fast"), "function", "step"));
  put(key_of("a", "slow"), 10);
  put(key_of("b", "slow"), 1000);
  const auto until = files.now() - 100;
  EXPECT_EQ(nearest_key(*reader(), key_of("a", "fast"), "function", "step", until)->label.key,
            key_of("b", "slow"));
  EXPECT_EQ(nearest_key(*reader(), key_of("a", "fast"), "function", "step")->label.key, key_of("a", "slow"));
}

TEST_F(NearestKeyTest, PassesOverWhatCannotBeReadAndChangesNoTimes) {
  put(key_of("a", "slow"), 100000);
  ASSERT_TRUE(store->put(testing::address_of(1), testing::sample_entry(1)));
  put(key_of("a", "none"), 10);
  testing::write_file(path_of(folder.path(), {key_of("a", "none").digest(), 0}), "damaged");
  const auto before = store->list();
  const auto found = nearest_key(*reader(), key_of("a", "fast"), "function", "step");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->label.key, key_of("a", "slow"));
  const auto after = store->list();
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i].used, before[i].used);
}

TEST(Explain, NamesTheFieldsThatDiffer) {
  EXPECT_EQ(explain(key_of("a", "fast"), key_of("a", "fast")), "the keys are equal\n");
  EXPECT_EQ(explain(key_of("a", "fast"), key_of("a", "slow")),
            "2 of 3 fields are equal; what differs:\n" +
                to_text(difference(key_of("a", "fast"), key_of("a", "slow"))));
  const auto text = explain(key_of("a", "fast"), key_of("a", "slow"));
  EXPECT_NE(text.find("options:\n"), std::string::npos);
  EXPECT_NE(text.find("- fast"), std::string::npos);
  EXPECT_NE(text.find("+ slow"), std::string::npos);
  EXPECT_EQ(text.find("isa"), std::string::npos);
}

}  // namespace
}  // namespace antegrad::cache
