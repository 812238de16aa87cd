#include "cache/layers/bundle.h"

#include <gtest/gtest.h>

#include "cache/format/label.h"
#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

using testing::local_settings;
using testing::open_local;
using testing::secret_of;
using testing::TestFolder;

Key key_of(int number, const std::string& isa = "avx2") {
  Key key;
  key.add_text("graph", "graph " + std::to_string(number))
      .add_text("isa", isa)
      .add_text("libtorch", "2.11.0");
  return key;
}

Entry entry_of(int number, const std::string& isa = "avx2") {
  auto entry = labelled({"function", "step", key_of(number, isa), {{"compile_s", "1.5"}}});
  entry.sections.push_back({"object", "object " + std::to_string(number)});
  return entry;
}

Address put(Store& store, int number, const std::string& isa = "avx2") {
  const Address address{key_of(number, isa).digest(), static_cast<uint64_t>(number)};
  EXPECT_TRUE(store.put(address, entry_of(number, isa)));
  return address;
}

/// Recomputes the trailing digest, as a forger would.
std::string resealed(std::string bytes) {
  bytes.resize(bytes.size() - 32);
  return bytes.append(sha256(bytes).view());
}

class BundleTest : public ::testing::Test {
 protected:
  TestFolder from_folder, into_folder;
  std::shared_ptr<DirectoryStore> from = open_local(local_settings(from_folder));
  std::shared_ptr<DirectoryStore> into = open_local(local_settings(into_folder));
  const System here = {{"isa", "avx2"}, {"libtorch", "2.11.0"}};
};

TEST_F(BundleTest, CarriesEntriesToAnotherStore) {
  const std::vector<Address> addresses = {put(*from, 1), put(*from, 2), put(*from, 3)};
  ExportReport exported;
  size_t last = 0;
  const auto bytes = write_bundle(*from, addresses, nullptr, &exported, [&](size_t done, size_t all) {
    EXPECT_EQ(all, 3u);
    last = done;
  });
  EXPECT_EQ(last, 3u);
  EXPECT_EQ(exported.entries, 3u);
  EXPECT_EQ(exported.gone, 0u);
  const auto report = import_bundle(bytes, *into, nullptr, here);
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(report.entries, 3u);
  EXPECT_EQ(report.imported, 3u);
  EXPECT_TRUE(report.elsewhere.empty());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(into->get(addresses[i]).entry, entry_of(i + 1));
  EXPECT_EQ(write_bundle(*into, addresses, nullptr), bytes);
  const auto again = import_bundle(bytes, *into, nullptr, here);
  EXPECT_EQ(again.imported, 0u);
  EXPECT_EQ(again.present, 3u);
  EXPECT_TRUE(again.complete());
}

TEST_F(BundleTest, NothingIsAnEmptyString) {
  EXPECT_EQ(write_bundle(*from, {}, nullptr), "");
  ExportReport exported;
  const std::vector<Address> gone = {testing::address_of(1)};
  EXPECT_EQ(write_bundle(*from, gone, nullptr, &exported), "");
  EXPECT_EQ(exported.gone, 1u);
  EXPECT_EQ(import_bundle("", *into, nullptr, here).problem, "it is empty");
}

TEST_F(BundleTest, LeavesOutWhatIsGoneAndWhatIsThereTwice) {
  const auto first = put(*from, 1);
  const std::vector<Address> addresses = {first, testing::address_of(7), first};
  ExportReport exported;
  const auto bytes = write_bundle(*from, addresses, nullptr, &exported);
  EXPECT_EQ(exported.entries, 1u);
  EXPECT_EQ(exported.gone, 1u);
  EXPECT_EQ(import_bundle(bytes, *into, nullptr, here).entries, 1u);
}

TEST_F(BundleTest, EntriesThatGrewStayAsTheyAre) {
  const std::vector<Address> addresses = {put(*from, 1)};
  const auto bytes = write_bundle(*from, addresses, nullptr);
  auto grown = entry_of(1);
  grown.sections.push_back({"backward", "added later"});
  ASSERT_TRUE(into->put(addresses[0], grown));
  EXPECT_EQ(import_bundle(bytes, *into, nullptr, here).present, 1u);
  EXPECT_EQ(into->get(addresses[0]).entry, grown);
  const auto newer = write_bundle(*into, addresses, nullptr);
  EXPECT_EQ(import_bundle(newer, *from, nullptr, here).imported, 1u);
  EXPECT_EQ(from->get(addresses[0]).entry, grown);
}

TEST_F(BundleTest, SaysWhyEntriesAreNotFoundHere) {
  const std::vector<Address> addresses = {put(*from, 1), put(*from, 2, "avx512"), put(*from, 3, "avx512")};
  const auto bytes = write_bundle(*from, addresses, nullptr);
  auto report = import_bundle(bytes, *into, nullptr, {{"isa", "avx2"}});
  EXPECT_EQ(report.imported, 3u);
  EXPECT_TRUE(report.complete());
  using Reasons = std::map<std::string, uint64_t>;
  EXPECT_EQ(report.elsewhere, (Reasons{{"made for isa avx512, here it is avx2", 2}}));
  EXPECT_EQ(into->get(addresses[1]).outcome, Outcome::Hit);
  report = import_bundle(bytes, *into, nullptr, {{"isa", "avx2"}, {"libtorch", "2.12.0"}, {"other", "x"}});
  EXPECT_EQ(report.elsewhere,
            (Reasons{{"made for isa avx512 and libtorch 2.11.0, here it is avx2 and 2.12.0", 2},
                     {"made for libtorch 2.11.0, here it is 2.12.0", 1}}));
  EXPECT_EQ(
      to_text(report),
      "0 of 3 entries imported\n3 were there already\n"
      "2 not used on this machine: made for isa avx512 and libtorch 2.11.0, here it is avx2 and 2.12.0\n"
      "1 not used on this machine: made for libtorch 2.11.0, here it is 2.12.0\n");
}

TEST_F(BundleTest, TextsThatWouldSpoilALineAreNotShown) {
  const std::vector<Address> addresses = {put(*from, 1, "avx\n\033[2J")};
  const auto bytes = write_bundle(*from, addresses, nullptr);
  const auto report = import_bundle(bytes, *into, nullptr, here);
  ASSERT_EQ(report.elsewhere.size(), 1u);
  EXPECT_EQ(report.elsewhere.begin()->first,
            "made for isa " + sha256("avx\n\033[2J").hex().substr(0, 12) + ", here it is avx2");
}

TEST_F(BundleTest, WithASecretOnlyItsMacIsBelieved) {
  const auto ours = secret_of("ours"), theirs = secret_of("theirs");
  const std::vector<Address> addresses = {put(*from, 1), put(*from, 2)};
  for (const Secret* writer : {static_cast<const Secret*>(nullptr), theirs.get()}) {
    const auto report = import_bundle(write_bundle(*from, addresses, writer), *into, ours.get(), here);
    EXPECT_EQ(report.problem, "");
    EXPECT_FALSE(report.complete());
    EXPECT_EQ(report.imported, 0u);
    ASSERT_EQ(report.left_out.size(), 1u);
    EXPECT_TRUE(report.left_out.begin()->first.starts_with("refused: ")) << report.left_out.begin()->first;
    EXPECT_EQ(report.left_out.begin()->second, 2u);
    EXPECT_EQ(into->list().size(), 0u);
  }
  EXPECT_EQ(import_bundle(write_bundle(*from, addresses, ours.get()), *into, ours.get(), here).imported, 2u);
}

TEST_F(BundleTest, ADamagedBundleImportsNothing) {
  const std::vector<Address> addresses = {put(*from, 1), put(*from, 2)};
  const auto bytes = write_bundle(*from, addresses, nullptr);
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    ASSERT_NE(import_bundle(flipped, *into, nullptr, here).problem, "") << i;
    ASSERT_NE(import_bundle(std::string_view(bytes).substr(0, i), *into, nullptr, here).problem, "") << i;
  }
  EXPECT_NE(import_bundle(bytes + "x", *into, nullptr, here).problem, "");
  auto newer = bytes;
  newer[8] = 2;
  EXPECT_EQ(import_bundle(newer, *into, nullptr, here).problem, "format version 2, and only 1 is read");
  EXPECT_EQ(into->list().size(), 0u);
}

TEST_F(BundleTest, AForgedBundleImportsNothingWrong) {
  const std::vector<Address> addresses = {put(*from, 1), put(*from, 2)};
  const auto secret = secret_of("ours");
  const auto bytes = write_bundle(*from, addresses, secret.get());
  for (size_t i = 0; i + 32 < bytes.size(); ++i) {
    auto flipped = bytes;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x01);
    const auto report = import_bundle(resealed(flipped), *into, secret.get(), here);
    ASSERT_FALSE(report.complete()) << i;
    ASSERT_LE(report.imported + report.present, 1u) << i;
  }
  for (const auto& info : into->list()) {
    const auto number = info.address == addresses[0] ? 1 : 2;
    EXPECT_EQ(info.address, addresses[number - 1]);
    EXPECT_EQ(into->get(info.address).entry, entry_of(number));
  }
}

TEST_F(BundleTest, CountsThatDoNotFitAreFoundOut) {
  const std::vector<Address> addresses = {put(*from, 1)};
  const auto bytes = write_bundle(*from, addresses, nullptr);
  for (const char count : {'\x00', '\x02', '\xff'}) {
    auto wrong = bytes;
    wrong[12] = count;
    wrong[15] = count == '\xff' ? count : '\0';
    EXPECT_NE(import_bundle(resealed(wrong), *into, nullptr, here).problem, "") << static_cast<int>(count);
  }
  EXPECT_EQ(into->list().size(), 0u);
}

TEST_F(BundleTest, AStoreThatTakesNothingIsSaid) {
  const std::vector<Address> addresses = {put(*from, 1), put(*from, 2)};
  const auto bytes = write_bundle(*from, addresses, nullptr);
  auto settings = local_settings(into_folder);
  settings.read_only = true;
  const auto report = import_bundle(bytes, *open_local(settings), nullptr, here);
  EXPECT_EQ(report.imported, 0u);
  ASSERT_EQ(report.left_out.size(), 1u);
  EXPECT_EQ(report.left_out.begin()->first, into->directory() + " is read only");
  EXPECT_EQ(report.left_out.begin()->second, 2u);
}

}  // namespace
}  // namespace antegrad::cache
