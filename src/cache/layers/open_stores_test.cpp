// Opening stores from settings; the shared directory, alone and behind the local one.
#include "cache/layers/open_stores.h"

#include <gtest/gtest.h>

#include "cache/directory/shared_directory_store.h"
#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

namespace fs = std::filesystem;
using testing::address_of;
using testing::path_of;
using testing::sample_entry;
using testing::secret_of;
using testing::TestFolder;

class OpenStoresTest : public ::testing::Test {
 protected:
  OpenStoresTest() {
    fs::create_directory(shared_path);
    ::chmod(shared_path.c_str(), 01777);
    testing::write_file(key_file, std::string(32, 'k'));
    settings.local.directory = folder.path();
  }
  OpenedStores open() { return open_stores(settings, files); }
  std::shared_ptr<DirectoryStore> shared(bool write, std::shared_ptr<const Secret> secret = secret_of("a")) {
    return open_shared_directory_store({shared_path, write}, std::move(secret), files).store;
  }

  TestFolder folder;
  std::string shared_path = folder.parent() / "shared", key_file = folder.parent() / "key";
  Settings settings;
  std::shared_ptr<testing::FaultyFiles> files = std::make_shared<testing::FaultyFiles>();
};

TEST_F(OpenStoresTest, LocalOnly) {
  const auto opened = open();
  ASSERT_TRUE(opened.store);
  EXPECT_EQ(opened.store, opened.local);
  EXPECT_EQ(opened.store->name(), "local");
  EXPECT_TRUE(opened.reasons.empty());
}

TEST_F(OpenStoresTest, NothingAtAll) {
  settings.local.enabled = false;
  const auto opened = open();
  EXPECT_FALSE(opened.store);
  EXPECT_TRUE(opened.reasons.empty());
}

TEST_F(OpenStoresTest, AReasonForWhatIsNotUsed) {
  settings.local.directory.clear();
  settings.shared.directory = shared_path;
  const auto opened = open();
  EXPECT_FALSE(opened.store);
  EXPECT_EQ(opened.reasons,
            (std::vector<std::string>{"there is no local cache: no directory for it is known",
                                      "the shared cache " + shared_path +
                                          " is not used: its entries need a key, and no key file is set"}));
}

TEST_F(OpenStoresTest, ABadKeyFileSwitchesAllOff) {
  settings.key_file = key_file;
  ::chmod(key_file.c_str(), 0666);
  const auto opened = open();
  EXPECT_FALSE(opened.store);
  EXPECT_FALSE(fs::exists(folder.path()));
  EXPECT_EQ(opened.reasons,
            (std::vector<std::string>{"nothing is cached: the key file " + key_file +
                                      " has permissions 666: others may read it, or write to it"}));
}

TEST_F(OpenStoresTest, LocalBeforeShared) {
  settings.key_file = key_file;
  settings.shared = {shared_path, true};
  const auto writer = open();
  ASSERT_TRUE(writer.store->put(address_of(1), sample_entry(1)));
  EXPECT_EQ(writer.store->name(), "local, shared");
  EXPECT_EQ(writer.shared->get(address_of(1)).outcome, Outcome::Hit);
  // Another machine.
  settings.local.directory = folder.parent() / "elsewhere";
  settings.shared.write = false;
  const auto reader = open();
  EXPECT_EQ(reader.store->get(address_of(1)).store, "shared");
  EXPECT_EQ(reader.store->get(address_of(1)).store, "local");
  ASSERT_TRUE(reader.store->put(address_of(2), sample_entry(2)));
  EXPECT_EQ(reader.local->get(address_of(2)).outcome, Outcome::Hit);
  EXPECT_EQ(reader.shared->get(address_of(2)).outcome, Outcome::Miss);
}

TEST_F(OpenStoresTest, ASharedDirectoryIsNeverMade) {
  fs::remove(shared_path);
  const auto opened = open_shared_directory_store({shared_path, true}, secret_of("a"), files);
  EXPECT_FALSE(opened.store);
  EXPECT_EQ(opened.reason, "the shared cache " + shared_path + " is not used: cannot open " + shared_path +
                               ": No such file or directory");
  EXPECT_FALSE(fs::exists(shared_path));
}

TEST_F(OpenStoresTest, SharedIsReadOnlyUnlessAskedFor) {
  EXPECT_TRUE(SharedSettings{}.write == false);
  const auto reader = shared(false);
  EXPECT_TRUE(reader->read_only());
  EXPECT_FALSE(reader->put(address_of(1), sample_entry(1)));
  EXPECT_TRUE(fs::is_empty(shared_path));
  EXPECT_FALSE(shared(true)->read_only());
}

TEST_F(OpenStoresTest, SharedFilesAreBelievedByTheirMacOnly) {
  const mode_t mask = ::umask(0);
  ASSERT_TRUE(shared(true)->put(address_of(1), sample_entry(1)));
  ::umask(mask);
  const auto file = path_of(shared_path, address_of(1));
  EXPECT_EQ(testing::mode_of(file), 0666u);
  EXPECT_EQ(shared(false)->get(address_of(1)).outcome, Outcome::Hit);
  EXPECT_EQ(shared(false, secret_of("b"))->get(address_of(1)).outcome, Outcome::Refused);
  testing::write_file(file, write_entry(sample_entry(2), address_of(1), nullptr));
  EXPECT_EQ(shared(false)->get(address_of(1)).outcome, Outcome::Refused);
  EXPECT_TRUE(fs::exists(file));
}

TEST_F(OpenStoresTest, SharedLinksAndPipesAreRefused) {
  ASSERT_TRUE(shared(true)->put(address_of(1), sample_entry(1)));
  const auto file = path_of(shared_path, address_of(1));
  fs::rename(file, folder.parent() / "moved");
  fs::create_symlink(folder.parent() / "moved", file);
  EXPECT_EQ(shared(false)->get(address_of(1)).outcome, Outcome::Refused);
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0666), 0);
  EXPECT_EQ(shared(false)->get(address_of(1)).outcome, Outcome::Refused);
}

TEST_F(OpenStoresTest, ASharedDirectoryThatGoesAwayIsAMiss) {
  const auto store = shared(true);
  fs::remove_all(shared_path);
  EXPECT_EQ(store->get(address_of(1)).outcome, Outcome::Miss);
  const auto saved = store->put(address_of(1), sample_entry(1));
  EXPECT_FALSE(saved);
  EXPECT_NE(saved.reason.find("No such file or directory"), std::string::npos);
}

}  // namespace
}  // namespace antegrad::cache
