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
  std::string text;               ///< of Text and, made printable and short, of Problem
  std::vector<std::string> list;  ///< the texts in a List
};

/// One connection to a server. One thread at a time.
class RedisConnection {
 public:
  /// Of the answers to one run().
  static constexpr uint64_t kMaxAnswerBytes = uint64_t{1} << 30;

  RedisConnection(RedisPlace place, const RedisSettings& settings);
  ~RedisConnection();

  bool is_open() const { return socket_.is_open(); }
  RedisFailure open();
  void close();
  /// In a child process: gives up its copy of the connection, which stays the parent's.
  void abandon() { socket_.close(); }

  /// One round trip: sends all commands, then reads as many replies. Answers of more than `most_bytes` are
  /// not read. After a failure the connection must be closed: replies may still be under way.
  RedisFailure run(std::span<const RedisCommand> commands, uint64_t most_bytes,
                   std::vector<RedisReply>& replies);

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const;
  };

  RedisFailure make_reader();
  RedisFailure send(std::string_view bytes, RedisPatience& patience);
  RedisFailure receive(size_t& got, RedisPatience& patience);
  /// What must be answered well before anything else is believed.
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

/// Without what could upset a terminal, and not long.
std::string printable(std::string_view text);

}  // namespace antegrad::cache
