#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cache/directory/secret.h"
#include "cache/layers/per_process.h"
#include "cache/redis/redis_breaker.h"
#include "cache/redis/redis_connection.h"
#include "cache/store.h"

namespace antegrad::cache {

/// Entries in a Redis server:
///
///     antegrad:1:<address>   string: the bytes of write_entry()
///     antegrad:1:<key>       sorted set: the variants of a key (16 digits) by the time they were written
///
/// The index is a hint: a variant without an entry is skipped, and an entry that is not in the index is still
/// found by get(). The store connects when first used. When the server does not answer in time, or not like
/// Redis, it is left alone for a while, and all lookups are misses with that reason.
class RedisStore : public Store {
 public:
  static constexpr size_t kMostVariants = 256;  ///< per key; the oldest are removed from the index
  static constexpr size_t kMostAtOnce = 1024;   ///< addresses per round trip in get_many()

  /// `secret` must not be null: only entries with its MAC are trusted.
  RedisStore(RedisPlace place, const RedisSettings& settings, std::shared_ptr<const Secret> secret);

  Loaded get(const Address& address) override;
  std::vector<Loaded> get_many(std::span<const Address> addresses) override;
  bool search(const Digest& key, const Visit& visit) override;
  Saved put(const Address& address, const Entry& entry) override;
  std::string name() const override { return "redis"; }
  bool read_only() const override { return !settings_.write; }

  /// Returns the address of the server without passwords.
  std::string place() const { return place_.to_text(); }

 private:
  /// State that a forked process does not share with its parent.
  struct Live {
    Live(const RedisPlace& place, const RedisSettings& settings)
        : connection(place, settings), breaker(settings.first_pause, settings.longest_pause) {}
    void abandon() { connection.abandon(); }

    std::mutex mutex;  ///< guards the connection
    RedisConnection connection;
    RedisBreaker breaker;
  };

  std::string ask(std::span<const RedisCommand> commands, uint64_t most_bytes,
                  std::vector<RedisReply>& replies);
  RedisFailure ask_server(Live& live, std::span<const RedisCommand> commands, uint64_t most_bytes,
                          std::vector<RedisReply>& replies);
  void get_batch(std::span<const Address> addresses, std::vector<Loaded>& out);
  Loaded load(const Address& address, const RedisReply& reply) const;
  std::string variants(const Digest& key, std::vector<Address>& out);
  Saved write(const Address& address, const std::string& bytes);

  const RedisPlace place_;
  const RedisSettings settings_;
  const std::shared_ptr<const Secret> secret_;
  PerProcess<Live> live_;
};

struct OpenedRedis {
  std::shared_ptr<RedisStore> store;  ///< null on failure
  std::string reason;
};

/// Does not connect yet.
OpenedRedis open_redis_store(const RedisSettings& settings, std::shared_ptr<const Secret> secret);

}  // namespace antegrad::cache
