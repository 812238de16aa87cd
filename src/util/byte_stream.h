#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace antegrad {

/// Maps 0, -1, 1, -2, … to 0, 1, 2, 3, …, so that numbers of small magnitude stay small.
inline uint64_t zigzag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t unzigzag(uint64_t value) { return static_cast<int64_t>((value >> 1) ^ (0 - (value & 1))); }

/// Writes bytes that are the same on every machine. Fixed-width numbers are little-endian.
class ByteWriter {
 public:
  template <class Number>
  void number(Number value) {
    for (size_t i = 0; i < sizeof(Number); ++i) {
      bytes_ += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
    }
  }
  void u8(uint8_t value) { number(value); }
  void u16(uint16_t value) { number(value); }
  void u32(uint32_t value) { number(value); }
  void u64(uint64_t value) { number(value); }
  void f64(double value) { number(std::bit_cast<uint64_t>(value)); }  ///< bit pattern
  /// LEB128: 7 bits per byte, least significant first; one byte below 128, ten for the largest value.
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void signed_varint(int64_t value) { varint(zigzag(value)); }
  void flag(bool value) { u8(value ? 1 : 0); }
  void count(size_t value) { varint(value); }
  void raw(std::string_view bytes) { bytes_ += bytes; }
  void string(std::string_view bytes) {  ///< the length, then the bytes
    count(bytes.size());
    raw(bytes);
  }

  void reserve(size_t size) { bytes_.reserve(size); }
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what ByteWriter wrote. The bytes may be arbitrary: after missing or invalid input, every read
/// returns zero or an empty piece and failed() is true. Never allocates.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  uint8_t u8() { return number<uint8_t>(); }
  uint16_t u16() { return number<uint16_t>(); }
  uint32_t u32() { return number<uint32_t>(); }
  uint64_t u64() { return number<uint64_t>(); }
  double f64() { return std::bit_cast<double>(u64()); }
  /// Also fails for encodings that ByteWriter never writes: more than 64 bits, or a trailing zero byte.
  uint64_t varint() {
    if (!left_.empty() && static_cast<uint8_t>(left_[0]) < 0x80) return u8();
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const uint8_t byte = u8();
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte >= 0x80) continue;
      if (byte == 0 || (shift == 63 && byte > 1)) break;
      return value;
    }
    fail();
    return 0;
  }
  int64_t signed_varint() { return unzigzag(varint()); }
  bool flag() {
    const uint8_t value = u8();
    if (value > 1) fail();
    return value == 1;
  }
  /// Reads the number of elements that take at least `min_bytes_each` bytes each. Fails when the remaining
  /// bytes cannot hold them.
  size_t count(size_t min_bytes_each) {
    const uint64_t value = varint();
    if (min_bytes_each == 0 || value <= left_.size() / min_bytes_each) return value;
    fail();
    return 0;
  }
  std::string_view raw(uint64_t count) {
    if (count > left_.size()) {
      fail();
      return {};
    }
    const auto piece = left_.substr(0, count);
    left_.remove_prefix(count);
    return piece;
  }
  std::string_view string() { return raw(count(1)); }

  void fail() {
    failed_ = true;
    left_ = {};
  }
  bool failed() const { return failed_; }
  uint64_t left() const { return left_.size(); }
  /// Whether everything was read and no read failed.
  bool at_end() const { return !failed_ && left_.empty(); }

 private:
  template <class Number>
  Number number() {
    const auto bytes = raw(sizeof(Number));
    uint64_t value = 0;
    for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    return static_cast<Number>(value);
  }

  std::string_view left_;
  bool failed_ = false;
};

}  // namespace antegrad
