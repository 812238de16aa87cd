#include "cache/format/key.h"

#include <gtest/gtest.h>

#include <random>

#include "antegrad/error.h"

namespace antegrad::cache {
namespace {

Key sample() {
  Key key;
  key.add_text("graph", "graph @f {\n  %0 = aten.relu(%1)\n}\n");
  key.add_text("isa", "avx2");
  key.add_bytes("constant.0", std::string(5000, '\x01'));
  return key;
}

TEST(Key, SameFieldsSameDigest) { EXPECT_EQ(sample().digest(), sample().digest()); }

/// Must never change: another digest for the same fields would invalidate every stored entry.
TEST(Key, DigestIsFixed) {
  Key key;
  key.add_text("isa", "avx2").add_bytes("build", "7");
  EXPECT_EQ(key.digest().hex(), "551356e489606ecc3a15eeff792daa4edbaa48362ea13af96214d06b09f586a9");
}

TEST(Key, EveryPartOfAFieldMatters) {
  const auto digest_of = [](const auto&... add) {
    Key key;
    (add(key), ...);
    return key.digest();
  };
  const auto field = [](const char* name, const char* text) {
    return [=](Key& key) { key.add_text(name, text); };
  };
  const auto plain = digest_of(field("a", "x"), field("b", "y"));
  EXPECT_NE(plain, digest_of(field("a", "x"), field("b", "z")));
  EXPECT_NE(plain, digest_of(field("a", "x"), field("c", "y")));
  EXPECT_NE(plain, digest_of(field("b", "y"), field("a", "x")));
  EXPECT_NE(plain, digest_of(field("a", "x")));
  EXPECT_NE(plain, digest_of(field("a", "x"), field("b", "y"), field("c", "")));
  // Bytes cannot move from the end of one field to the beginning of the next.
  EXPECT_NE(digest_of(field("a", "xb"), field("c", "")), digest_of(field("a", "x"), field("bc", "")));
}

TEST(Key, TextBytesAndHashesAreOneThing) {
  Key text, bytes, hash;
  text.add_text("a", "value");
  bytes.add_bytes("a", "value");
  hash.add_hash("a", sha256("value"), 5);
  EXPECT_EQ(text.digest(), bytes.digest());
  EXPECT_EQ(text.digest(), hash.digest());
  EXPECT_TRUE(difference(text, hash).empty());
}

TEST(Key, ToText) {
  Key key;
  key.add_text("isa", "avx2").add_bytes("constant.0", "");
  EXPECT_EQ(key.to_text(),
            "isa         " + sha256("avx2").hex() + "  4\nconstant.0  " + sha256("").hex() + "  0\n");
}

void expect_misuse(const std::function<void()>& call, const std::string& text) {
  try {
    call();
    FAIL() << "no error: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(error.what(), text);
  }
}

TEST(Key, Misuse) {
  Key key = sample();
  expect_misuse([&] { key.add_text("isa", ""); },
                "[cache] the key already has a field \"isa\". Give each field a name of its own.");
  expect_misuse([&] { key.add_bytes("a b", ""); },
                "[cache] \"a b\" cannot be the name of a field of a key. Use 1 to 255 printable characters "
                "without spaces.");
  EXPECT_THROW(key.add_text("", ""), Error);
  EXPECT_THROW(key.add_text(std::string(256, 'a'), ""), Error);
  EXPECT_EQ(key, sample());
}

TEST(Key, StoredAndLoaded) {
  Key key = sample();
  key.add_text("long", std::string(Key::kMaxStoredText + 1, 'x'));
  key.add_text("full", std::string(Key::kMaxStoredText, 'x'));
  const auto loaded = Key::load(key.store());
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->digest(), key.digest());
  EXPECT_EQ(loaded->find("isa")->text, "avx2");
  EXPECT_EQ(loaded->find("full")->text, key.find("full")->text);
  EXPECT_FALSE(loaded->find("long")->text);
  EXPECT_EQ(loaded->find("long")->length, Key::kMaxStoredText + 1);
  EXPECT_EQ(loaded->store(), key.store());
  EXPECT_EQ(Key::load(Key().store()), Key());
}

/// Whatever loads is what store() writes, and texts match the hashes of their fields.
TEST(Key, AnyBytesAreSafeToLoad) {
  const auto stored = sample().store();
  for (size_t size = 0; size < stored.size(); ++size) EXPECT_FALSE(Key::load(stored.substr(0, size))) << size;
  EXPECT_FALSE(Key::load(stored + "x"));
  std::mt19937_64 rng(3);
  int loads = 0;
  for (int i = 0; i < 50000; ++i) {
    auto bytes = stored;
    for (auto edits = 1 + rng() % 3; edits > 0; --edits)
      bytes[rng() % bytes.size()] ^= static_cast<char>(1 << rng() % 8);
    const auto key = Key::load(bytes);
    if (!key) continue;
    ++loads;
    ASSERT_EQ(key->store(), bytes);
  }
  // The hash of a field without text may be anything.
  EXPECT_GT(loads, 0);
}

TEST(Key, TextsThatAreNotTheirFieldsAreNotLoaded) {
  auto stored = sample().store();
  const auto at = stored.find("avx2");
  ASSERT_NE(at, std::string::npos);
  EXPECT_FALSE(Key::load(stored.replace(at, 4, "avx9")));
}

TEST(Key, HugeCountsAllocateNothing) {
  std::string bytes("AGKEY1\n\0\xff\xff\xff\xff", 12);
  EXPECT_FALSE(Key::load(bytes));
  bytes = std::string("AGKEY1\n\0\x00\x10\x00\x00", 12);
  EXPECT_FALSE(Key::load(bytes));
}

TEST(Key, DifferenceNamesFields) {
  Key before = sample(), after;
  after.add_text("graph", "graph @f {\n  %0 = aten.tanh(%1)\n}\n");
  after.add_bytes("constant.0", std::string(5000, '\x02'));
  after.add_text("autocast", "off");
  const auto found = difference(before, after);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0],
            (FieldDifference{"graph", "@ line 2\n-   %0 = aten.relu(%1)\n+   %0 = aten.tanh(%1)\n"}));
  EXPECT_EQ(found[1], (FieldDifference{"isa", "- " + sha256("avx2").hex() + " (4 bytes)\n"}));
  EXPECT_EQ(found[2], (FieldDifference{"constant.0",
                                       "- " + sha256(std::string(5000, '\x01')).hex() + " (5000 bytes)\n+ " +
                                           sha256(std::string(5000, '\x02')).hex() + " (5000 bytes)\n"}));
  EXPECT_EQ(found[3], (FieldDifference{"autocast", "+ " + sha256("off").hex() + " (3 bytes)\n"}));
  EXPECT_EQ(to_text({found[0]}), "graph:\n  @ line 2\n  -   %0 = aten.relu(%1)\n  +   %0 = aten.tanh(%1)\n");
}

TEST(Key, DifferenceOfStoredKeys) {
  const auto with = [](const char* isa) {
    Key key;
    key.add_text("graph", std::string(10000, 'x') + isa).add_text("isa", isa);
    return *Key::load(key.store());
  };
  const auto found = difference(with("avx2"), with("avx512"));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].text.ends_with(" (10006 bytes)\n")) << found[0].text;
  EXPECT_EQ(found[1], (FieldDifference{"isa", "@ line 1\n- avx2\n+ avx512\n"}));
}

TEST(Key, DifferenceOfOrder) {
  Key before, after;
  before.add_text("a", "").add_text("b", "");
  after.add_text("b", "").add_text("a", "");
  EXPECT_EQ(difference(before, after), (std::vector<FieldDifference>{{"(order)", "- a b\n+ b a\n"}}));
}

TEST(Key, EqualFieldsFindsTheNearest) {
  Key near = sample(), far;
  near.add_text("extra", "");
  far.add_text("isa", "avx2").add_text("graph", "another");
  EXPECT_EQ(equal_fields(sample(), near), 3u);
  EXPECT_EQ(equal_fields(sample(), far), 1u);
}

}  // namespace
}  // namespace antegrad::cache
