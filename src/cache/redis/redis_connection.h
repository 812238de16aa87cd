#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/redis/redis_tls.h"
#include "cache/settings.h"

struct redisReader;
struct redisReplyObjectFunctions;

namespace antegrad::cache {

/// A command and its arguments.
using RedisCommand = std::vector<std::string_view>;

struct RedisReply {
  enum Kind { Nothing, Text, List, Number, Problem };
  Kind kind = Nothing;
  std::string text;               ///< of Text and, made printable and truncated, of Problem
  std::vector<std::string> list;  ///< the texts in a List
};

/// One connection to a server, for one thread at a time.
class RedisConnection {
 public:
  /// The limit for the replies to one run().
  static constexpr uint64_t kMaxAnswerBytes = uint64_t{1} << 30;

  RedisConnection(RedisPlace place, const RedisSettings& settings);
  ~RedisConnection();

  bool is_open() const { return socket_.is_open(); }
  RedisFailure open();
  void close();
  /// In a child process: closes its copy of the connection, which remains the parent's.
  void abandon() { socket_.close(); }

  /// Performs one round trip: sends all commands, then reads as many replies, at most `most_bytes` in total.
  /// After a failure the connection must be closed, because replies may still be in transit.
  RedisFailure run(std::span<const RedisCommand> commands, uint64_t most_bytes,
                   std::vector<RedisReply>& replies);

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const;
  };

  RedisFailure make_reader();
  RedisFailure send(std::string_view bytes, RedisPatience& patience);
  RedisFailure receive(size_t& got, RedisPatience& patience);
  /// Returns the commands that must succeed before any others (login and choice of the database).
  std::vector<RedisCommand> greeting() const;
  RedisFailure next_reply(uint64_t& bytes_left, RedisPatience& patience, RedisReply& out);

  const RedisPlace place_;
  const RedisSettings settings_;
  const std::string database_;
  RedisSocket socket_;
  std::optional<RedisTls> tls_;
  std::unique_ptr<redisReplyObjectFunctions> functions_;
  std::unique_ptr<redisReader, FreeReader> reader_;
  std::vector<char> buffer_;
  bool greeted_ = false;
};

/// Returns the text without characters that could upset a terminal, truncated.
std::string printable(std::string_view text);

}  // namespace antegrad::cache
