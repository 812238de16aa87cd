#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "cache/hash.h"

namespace antegrad::cache {

/// Numbers are little-endian and of fixed width, bytes are raw.
class ByteWriter {
 public:
  template <class Number>
  void number(Number value) {
    for (size_t i = 0; i < sizeof(Number); ++i) {
      bytes_ += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
    }
  }
  void u16(uint16_t value) { number(value); }
  void u32(uint32_t value) { number(value); }
  void u64(uint64_t value) { number(value); }
  void raw(std::string_view bytes) { bytes_ += bytes; }
  void digest(const Digest& digest) { raw(digest.view()); }

  void reserve(size_t size) { bytes_.reserve(size); }
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what ByteWriter wrote, from bytes that may be anything. Reading past the end gives zeros and empty
/// pieces from then on, and failed() says so; nothing is ever allocated.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  uint16_t u16() { return number<uint16_t>(); }
  uint32_t u32() { return number<uint32_t>(); }
  uint64_t u64() { return number<uint64_t>(); }
  Digest digest() {
    Digest digest;
    const auto bytes = raw(digest.bytes.size());
    if (!failed_) std::memcpy(digest.bytes.data(), bytes.data(), bytes.size());
    return digest;
  }
  std::string_view raw(uint64_t count) {
    if (failed_ || count > left_.size()) {
      failed_ = true;
      return {};
    }
    const auto piece = left_.substr(0, count);
    left_.remove_prefix(count);
    return piece;
  }

  bool failed() const { return failed_; }
  uint64_t left() const { return left_.size(); }
  /// All was read, and nothing more than all.
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

}  // namespace antegrad::cache
