#pragma once
#include <cstring>

#include "cache/format/hash.h"
#include "util/byte_stream.h"

namespace antegrad::cache {

class ByteWriter : public antegrad::ByteWriter {
 public:
  void digest(const Digest& digest) { raw(digest.view()); }
};

class ByteReader : public antegrad::ByteReader {
 public:
  using antegrad::ByteReader::ByteReader;
  Digest digest() {
    Digest digest;
    const auto bytes = raw(digest.bytes.size());
    if (!failed()) std::memcpy(digest.bytes.data(), bytes.data(), bytes.size());
    return digest;
  }
};

}  // namespace antegrad::cache
