#include "util/byte_stream.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace antegrad {
namespace {

using namespace std::literals;

TEST(ByteStream, NumbersHaveTheSameBytesEverywhere) {
  ByteWriter out;
  out.u8(0x12);
  out.u16(0x1234);
  out.u32(0x12345678);
  out.u64(0x0123456789abcdef);
  out.f64(1.0);
  out.varint(300);
  out.signed_varint(-2);
  out.flag(true);
  out.string("ab");
  EXPECT_EQ(out.bytes(),
            "\x12\x34\x12\x78\x56\x34\x12\xef\xcd\xab\x89\x67\x45\x23\x01"
            "\0\0\0\0\0\0\xf0\x3f\xac\x02\x03\x01\x02"
            "ab"s);
}

TEST(ByteStream, NumbersComeBack) {
  std::mt19937_64 rng(1);
  std::vector<uint64_t> values = {0, 1, 127, 128, 16383, 16384, std::numeric_limits<uint64_t>::max()};
  for (int i = 0; i < 2000; ++i) values.push_back(rng() >> (rng() % 64));
  ByteWriter out;
  for (const auto value : values) {
    out.varint(value);
    out.signed_varint(static_cast<int64_t>(value));
    out.f64(std::bit_cast<double>(value));
  }
  ByteReader in(out.bytes());
  for (const auto value : values) {
    EXPECT_EQ(in.varint(), value);
    EXPECT_EQ(in.signed_varint(), static_cast<int64_t>(value));
    EXPECT_EQ(std::bit_cast<uint64_t>(in.f64()), value);
  }
  EXPECT_TRUE(in.at_end());
}

TEST(ByteStream, PastTheEndAreZerosAndEmptyPieces) {
  ByteReader in("\x01\x02\x03");
  EXPECT_EQ(in.u32(), 0U);
  EXPECT_TRUE(in.failed());
  EXPECT_FALSE(in.at_end());
  EXPECT_EQ(in.left(), 0U);
  EXPECT_EQ(in.u8(), 0U);
  EXPECT_EQ(in.varint(), 0U);
  EXPECT_EQ(in.f64(), 0.0);
  EXPECT_EQ(in.string(), "");
  EXPECT_EQ(in.count(1), 0U);
}

TEST(ByteStream, VarintsHaveOneForm) {
  for (const auto& bytes : {"\x80\x00"s, "\x81\x80\x00"s, "\xff"s, std::string(9, '\xff') + "\x02",
                            std::string(10, '\xff') + "\x01", std::string(100, '\x80')}) {
    ByteReader in(bytes);
    EXPECT_EQ(in.varint(), 0U);
    EXPECT_TRUE(in.failed());
  }
}

TEST(ByteStream, CountsAreNotMoreThanTheBytesHold) {
  ByteWriter out;
  out.count(3);
  out.raw("123456");
  for (const size_t each : {0, 1, 2}) EXPECT_EQ(ByteReader(out.bytes()).count(each), 3U);
  ByteReader in(out.bytes());
  EXPECT_EQ(in.count(3), 0U);
  EXPECT_TRUE(in.failed());
  ByteWriter huge;
  huge.count(std::numeric_limits<size_t>::max());
  huge.raw("12345678");
  ByteReader far(huge.bytes());
  EXPECT_EQ(far.count(8), 0U);
  EXPECT_TRUE(far.failed());
}

TEST(ByteStream, FlagsAreZeroOrOne) {
  ByteReader in("\x01\x00\x02"sv);
  EXPECT_TRUE(in.flag());
  EXPECT_FALSE(in.flag());
  EXPECT_FALSE(in.failed());
  in.flag();
  EXPECT_TRUE(in.failed());
}

}  // namespace
}  // namespace antegrad
