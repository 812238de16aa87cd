#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cache/directory/outcome.h"
#include "cache/format/address.h"
#include "cache/format/entry.h"

namespace antegrad::cache {

struct Loaded {
  Outcome outcome = Outcome::Miss;
  Entry entry;         ///< empty unless Hit
  std::string reason;  ///< empty for a hit and for a plain miss
  std::string store;   ///< for a hit: the name of the store it came from
};

struct Saved {
  bool done = false;
  /// Why it failed. The same cause always gives the same text, so that it can be reported once.
  std::string reason;

  explicit operator bool() const { return done; }
};

/// A place for entries. Thread-safe. Errors are reported as a miss with a reason, never as an exception.
class Store {
 public:
  /// Receives an entry, or why it could not be loaded. Returns true to end the search.
  using Visit = std::function<bool(const Address& address, Loaded loaded)>;

  virtual ~Store() = default;

  virtual Loaded get(const Address& address) = 0;

  /// Returns one result per address, in order. A remote store is queried once for all of them.
  virtual std::vector<Loaded> get_many(std::span<const Address> addresses) {
    std::vector<Loaded> out;
    out.reserve(addresses.size());
    for (const auto& address : addresses) out.push_back(get(address));
    return out;
  }

  /// Visits the entries of a key until `visit` returns true; returns whether it did. When the store as a
  /// whole is refused or cannot be read, that is visited once, with variant 0.
  virtual bool search(const Digest& key, const Visit& visit) = 0;

  /// Replaces an existing entry.
  virtual Saved put(const Address& address, const Entry& entry) = 0;

  /// The name for logs: "local", "shared", "redis".
  virtual std::string name() const = 0;
  /// Whether put() always fails.
  virtual bool read_only() const = 0;
};

}  // namespace antegrad::cache
