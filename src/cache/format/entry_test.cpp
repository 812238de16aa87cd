#include "cache/format/entry.h"

#include <gtest/gtest.h>

#include "antegrad/error.h"
#include "fault/cache_faults.h"

namespace antegrad::cache {
namespace {

using testing::address_of;
using testing::sample_entry;
using testing::secret_of;

constexpr size_t kVersionAt = 8, kTotalAt = 12, kKeyAt = 20, kCountAt = 60, kTrailer = 64;

/// Recomputes the checksum for the changed bytes, as a forger without the secret could.
std::string resealed(std::string bytes) {
  const auto digest = sha256(std::string_view(bytes).substr(0, bytes.size() - 32));
  return bytes.replace(bytes.size() - 32, 32, digest.view());
}

void expect(const ReadEntry& read, Outcome outcome, const std::string& reason) {
  EXPECT_EQ(outcome_name(read.outcome), outcome_name(outcome)) << read.reason;
  EXPECT_NE(read.reason.find(reason), std::string::npos) << read.reason;
  EXPECT_TRUE(read.entry.sections.empty());
}

TEST(Entry, RoundTrips) {
  const auto secret = secret_of("a");
  Entry many;
  for (uint64_t i = 0; i < kMaxSections; ++i) many.sections.push_back({"s" + std::to_string(i), ""});
  for (const auto& entry : {Entry{}, sample_entry(1), sample_entry(2, 1 << 20), many}) {
    for (const Secret* with : {static_cast<const Secret*>(nullptr), secret.get()}) {
      const auto bytes = write_entry(entry, address_of(1), with);
      const auto read = read_entry(bytes, address_of(1), with);
      EXPECT_EQ(read.outcome, Outcome::Hit) << read.reason;
      EXPECT_EQ(read.entry, entry);
      EXPECT_TRUE(read.reason.empty());
      EXPECT_EQ(write_entry(entry, address_of(1), with), bytes);
    }
  }
}

/// The format of a version must never change.
TEST(Entry, BytesAreFixed) {
  const Entry entry{{{"a", "hello"}, {"b", ""}}};
  EXPECT_EQ(sha256(write_entry(entry, address_of(1, 2), nullptr)).hex(),
            "9c7bace2439b7a50a582fcc1cd53a4ce6594b92da89c60df3e752de8e571bc09");
  EXPECT_EQ(sha256(write_entry(entry, address_of(1, 2), secret_of("a").get())).hex(),
            "dfbaceb9f2e09078629442a254affdce21dc7be648d7efe6d4b612baed4508df");
}

TEST(Entry, FindsSections) {
  const auto entry = sample_entry(1);
  ASSERT_TRUE(entry.find("signature"));
  EXPECT_EQ(*entry.find("signature"), "function 1");
  EXPECT_EQ(*entry.find("empty"), "");
  EXPECT_FALSE(entry.find("other"));
}

TEST(Entry, OtherVersionsAreMisses) {
  auto bytes = write_entry(sample_entry(1), address_of(1), nullptr);
  bytes[kVersionAt] = 9;
  const auto reason = "format version 9, and only 1 is read";
  expect(read_entry(bytes, address_of(1), nullptr), Outcome::Miss, reason);
  // Whatever another version has after the version number.
  expect(read_entry(bytes.substr(0, kTotalAt), address_of(1), nullptr), Outcome::Miss, reason);
  expect(read_entry(bytes, address_of(1), secret_of("a").get()), Outcome::Miss, reason);
}

TEST(Entry, DamageIsCorrupt) {
  const auto bytes = write_entry(sample_entry(1), address_of(1), nullptr);
  const auto read = [](const std::string& from) { return read_entry(from, address_of(1), nullptr); };
  expect(read(""), Outcome::Corrupt, "it does not begin like an entry");
  expect(read(bytes.substr(0, 9)), Outcome::Corrupt, "it ends before its version");
  expect(read(bytes.substr(0, 40)), Outcome::Corrupt, "40 bytes are not its length");
  expect(read(bytes + "x"), Outcome::Corrupt, "bytes are not its length");
  expect(read(std::string(bytes).replace(200, 1, "!")), Outcome::Corrupt,
         "the checksum of the entry is wrong");
}

TEST(Entry, ForgedTablesAreCorrupt) {
  const auto bytes = write_entry(sample_entry(1), address_of(1), nullptr);
  const auto forged = [&](size_t at, std::string_view with) {
    return read_entry(resealed(std::string(bytes).replace(at, with.size(), with)), address_of(1), nullptr);
  };
  const size_t first_row = kCountAt + 4;
  const size_t first_length = first_row + 2 + std::string("signature").size();
  expect(forged(kTotalAt, "\xff\xff\xff\xff\xff\xff\xff\xff"), Outcome::Corrupt, "are not its length");
  expect(forged(kCountAt, "\xff\xff\xff\xff"), Outcome::Corrupt, "4294967295 sections, more than 65536");
  expect(forged(kCountAt, std::string_view("\x00\x01\x00\x00", 4)), Outcome::Corrupt,
         "256 sections do not fit");
  expect(forged(kCountAt, "\x04"), Outcome::Corrupt, "section 3");
  expect(forged(kCountAt, "\x02"), Outcome::Corrupt, "the checksum of section");
  expect(forged(first_row, std::string_view("\0\0", 2)), Outcome::Corrupt,
         "the name of section 0 has 0 bytes");
  expect(forged(first_row, "\xff\xff"), Outcome::Corrupt, "the table ends in section 0");
  expect(forged(first_length, "\xff\xff\xff\xff\xff\xff\xff\xff"), Outcome::Corrupt,
         "section \"signature\" does not fit");
  expect(forged(first_length, "\x0b"), Outcome::Corrupt, "the checksum of section \"signature\" is wrong");
  expect(forged(bytes.size() - kTrailer - 1, "!"), Outcome::Corrupt,
         "the checksum of section \"object\" is wrong");
}

TEST(Entry, ForgedRestAndDoubleNames) {
  auto bytes = write_entry(Entry{{{"a", "x"}, {"b", "y"}}}, address_of(1), nullptr);
  const auto second_name = kCountAt + 4 + 43 + 2;
  ASSERT_EQ(bytes[second_name], 'b');
  expect(read_entry(resealed(std::string(bytes).replace(second_name, 1, "a")), address_of(1), nullptr),
         Outcome::Corrupt, "section 1 has the name of an earlier one");
  bytes.insert(bytes.size() - kTrailer, "z");
  bytes[kTotalAt] = static_cast<char>(bytes.size());
  expect(read_entry(resealed(bytes), address_of(1), nullptr), Outcome::Corrupt,
         "bytes follow the last section");
}

TEST(Entry, OtherAddresses) {
  const auto bytes = write_entry(sample_entry(1), address_of(1), nullptr);
  expect(read_entry(bytes, address_of(2), nullptr), Outcome::Corrupt,
         "it was written for " + address_of(1).to_text());
  expect(read_entry(bytes, address_of(1, 5), nullptr), Outcome::Corrupt, "it was written for");
  // Rewritten for the address it is found under, but with the MAC for the old one.
  const auto secret = secret_of("a");
  const auto signed_bytes = write_entry(sample_entry(1), address_of(1), secret.get());
  expect(read_entry(signed_bytes, address_of(2), secret.get()), Outcome::Refused, "it was written for");
  const auto moved = resealed(std::string(signed_bytes).replace(kKeyAt, 32, address_of(2).key.view()));
  expect(read_entry(moved, address_of(2), secret.get()), Outcome::Refused, "not made with this key");
  EXPECT_EQ(read_entry(moved, address_of(2), nullptr).outcome, Outcome::Hit);
}

TEST(Entry, Macs) {
  const auto ours = secret_of("a"), theirs = secret_of("b");
  const auto bytes = write_entry(sample_entry(1), address_of(1), ours.get());
  EXPECT_EQ(read_entry(bytes, address_of(1), nullptr).outcome, Outcome::Hit);
  expect(read_entry(bytes, address_of(1), theirs.get()), Outcome::Refused,
         "the MAC of the entry was not made with this key");
  expect(read_entry(write_entry(sample_entry(1), address_of(1), nullptr), address_of(1), ours.get()),
         Outcome::Refused, "the entry has no MAC, and a key is set");
  auto forged = bytes;
  forged[forged.size() - kTrailer] ^= 1;
  expect(read_entry(forged, address_of(1), ours.get()), Outcome::Corrupt, "checksum");
  expect(read_entry(resealed(forged), address_of(1), ours.get()), Outcome::Refused, "not made with this key");
}

TEST(Entry, WhatCannotBeWritten) {
  EXPECT_EQ(entry_problem(sample_entry(1)), "");
  EXPECT_EQ(entry_problem({{{"", "x"}}}), "a section with a name of 0 bytes, not 1 to 255");
  EXPECT_EQ(entry_problem({{{std::string(256, 'n'), "x"}}}),
            "a section with a name of 256 bytes, not 1 to 255");
  EXPECT_EQ(entry_problem({{{"a", "x"}, {"a", "y"}}}), "two sections \"a\"");
  Entry large{{{"a", std::string(kMaxEntryBytes, 'x')}}};
  EXPECT_EQ(entry_problem(large), "an entry of 268435627 bytes, more than 268435456");
  Entry many;
  for (uint64_t i = 0; i <= kMaxSections; ++i) many.sections.push_back({std::to_string(i), ""});
  EXPECT_EQ(entry_problem(many), "an entry of 65537 sections, more than 65536");
  try {
    write_entry({{{"a", "x"}, {"a", "y"}}}, address_of(1), nullptr);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_STREQ(error.what(), "[cache] two sections \"a\". Ask entry_problem() first.");
  }
}

TEST(Address, TextAndBack) {
  const auto address = address_of(7, 0xabcdef);
  EXPECT_EQ(address.to_text(), address.key.hex() + "-0000000000abcdef");
  EXPECT_EQ(Address::parse(address.to_text()), address);
  for (const std::string& text :
       {std::string(), address.key.hex(), address.to_text() + "0", address.key.hex() + "_0000000000abcdef",
        address.key.hex() + "-0000000000ABCDEF", address.key.hex() + "--000000000abcdef",
        address.key.hex() + "-0x00000000abcdef"}) {
    EXPECT_FALSE(Address::parse(text)) << text;
  }
  EXPECT_NE(variant_of(sha256("a")), variant_of(sha256("b")));
}

TEST(Outcome, CountedApart) {
  OutcomeCounter counter;
  counter.add(Outcome::Hit);
  counter.add(Outcome::Hit);
  counter.add(Outcome::GuardMiss);
  counter.add(Outcome::Refused);
  EXPECT_EQ(counter.counters(), (Counters{.hits = 2, .guard_misses = 1, .refused = 1}));
  EXPECT_EQ(outcome_name(Outcome::GuardMiss), "guard miss");
}

}  // namespace
}  // namespace antegrad::cache
