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
  std::string reason;  ///< empty when Hit, and when there is simply nothing
  std::string store;   ///< the name of the store that it came from, when Hit
};

struct Saved {
  bool done = false;
  std::string reason;  ///< why not. Says the same every time for the same cause, so that it can be said once

  explicit operator bool() const { return done; }
};

/// Where entries are. Many threads may use one store. What goes wrong on the way is a miss with a reason,
/// never an exception.
class Store {
 public:
  /// Gets an entry, or why there is none. True ends the search.
  using Visit = std::function<bool(const Address& address, Loaded loaded)>;

  virtual ~Store() = default;

  virtual Loaded get(const Address& address) = 0;

  /// One for each address, in their order. A store that is far away is asked once for all of them.
  virtual std::vector<Loaded> get_many(std::span<const Address> addresses) {
    std::vector<Loaded> out;
    out.reserve(addresses.size());
    for (const auto& address : addresses) out.push_back(get(address));
    return out;
  }

  /// Shows the entries of a key until one is taken; gives whether one was. Where the store itself is refused
  /// or cannot be read, that is shown once, with variant 0.
  virtual bool search(const Digest& key, const Visit& visit) = 0;

  /// Replaces what is there.
  virtual Saved put(const Address& address, const Entry& entry) = 0;

  /// For logs: "local", "shared", "redis".
  virtual std::string name() const = 0;
  /// put() never works.
  virtual bool read_only() const = 0;
};

}  // namespace antegrad::cache
