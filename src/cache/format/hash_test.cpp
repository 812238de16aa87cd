// Known answers of FIPS 180-2 and RFC 4231, and the small helpers around them.
#include "cache/format/hash.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace antegrad::cache {
namespace {

TEST(Hash, KnownAnswers) {
  EXPECT_EQ(sha256("").hex(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1000000, 'a')).hex(),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hash, HmacKnownAnswers) {
  EXPECT_EQ(hmac_sha256(std::string(20, '\x0b'), "Hi There").hex(),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256("Jefe", "what do ya want for nothing?").hex(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First").hex(),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hash, PiecesGiveTheHashOfTheWhole) {
  const std::string text = "one two three, and enough more to fill a block of sixty-four bytes twice over";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 hash;
    EXPECT_EQ(hash.update(text.substr(0, cut)).digest(), sha256(text.substr(0, cut)));
    EXPECT_EQ(hash.update(text.substr(cut)).digest(), sha256(text));
    EXPECT_EQ(hash.digest(), sha256(text));
  }
}

TEST(Hash, Hex) {
  EXPECT_EQ(to_hex(std::string_view("\x00\x0f\xff", 3)), "000fff");
  const auto digest = sha256("abc");
  EXPECT_EQ(Digest::from_hex(digest.hex()), digest);
  auto upper = digest.hex();
  for (auto& c : upper) c = static_cast<char>(toupper(c));
  EXPECT_EQ(Digest::from_hex(upper), digest);
  EXPECT_FALSE(Digest::from_hex(digest.hex().substr(1)));
  EXPECT_FALSE(Digest::from_hex(digest.hex() + "0"));
  EXPECT_FALSE(Digest::from_hex(digest.hex().replace(10, 1, "g")));
  EXPECT_FALSE(Digest::from_hex(digest.hex().replace(63, 1, " ")));
}

TEST(Hash, EqualInConstantTime) {
  const auto digest = sha256("abc");
  EXPECT_TRUE(equal_in_constant_time(digest, digest));
  for (size_t i = 0; i < digest.bytes.size(); ++i) {
    auto other = digest;
    other.bytes[i] ^= 0x80;
    EXPECT_FALSE(equal_in_constant_time(digest, other)) << i;
  }
  EXPECT_TRUE(Digest{}.is_zero());
  EXPECT_FALSE(digest.is_zero());
}

TEST(Hash, ThreadsHashAtOnce) {
  std::vector<std::thread> threads;
  std::vector<Digest> digests(8);
  for (auto& digest : digests) {
    threads.emplace_back([&digest] {
      for (int i = 0; i < 200; ++i) digest = hmac_sha256("key", sha256(std::to_string(i)).view());
    });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& digest : digests) EXPECT_EQ(digest, hmac_sha256("key", sha256("199").view()));
}

}  // namespace
}  // namespace antegrad::cache
