#include "cache/redis/redis_connection.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <algorithm>

namespace antegrad::cache {
namespace {

constexpr size_t kPiece = 64 << 10;
constexpr size_t kLongestProblem = 200;
/// Longer than any list that is requested. hiredis allocates as many elements as a server announces.
constexpr size_t kMostElements = 1024;

template <class Count>
using MakeArray = void* (*)(const redisReadTask*, Count);

template <class Count>
Count count_of(MakeArray<Count>);
// Differs between versions of hiredis.
using Count = decltype(count_of(redisReplyObjectFunctions{}.createArray));

MakeArray<Count> make_any_array = nullptr;  // hiredis's own function, always the same

/// Rejects nested and long lists: hiredis treats null as out of memory and stops.
void* make_short_array(const redisReadTask* task, Count count) {
  if (task->parent || static_cast<size_t>(count) > kMostElements) return nullptr;
  return make_any_array(task, count);
}

struct FreeReply {
  void operator()(redisReply* reply) const { ::freeReplyObject(reply); }
};

std::string text_of(const redisReply& reply) {
  return reply.str ? std::string(reply.str, reply.len) : std::string();
}

RedisReply converted(const redisReply& reply) {
  switch (reply.type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      return {RedisReply::Text, text_of(reply), {}};
    case REDIS_REPLY_ERROR:
      return {RedisReply::Problem, printable(text_of(reply)), {}};
    case REDIS_REPLY_INTEGER:
      return {RedisReply::Number, {}, {}};
    case REDIS_REPLY_ARRAY: {
      RedisReply out{RedisReply::List, {}, {}};
      for (size_t i = 0; i < reply.elements; ++i) {
        const auto& element = *reply.element[i];
        if (element.type == REDIS_REPLY_STRING) out.list.push_back(text_of(element));
      }
      return out;
    }
    default:
      return {};
  }
}

RedisFailure append(const RedisCommand& command, std::string& out) {
  std::vector<const char*> words;
  std::vector<size_t> lengths;
  for (const auto word : command) {
    words.push_back(word.data());
    lengths.push_back(word.size());
  }
  char* text = nullptr;
  const auto size =
      ::redisFormatCommandArgv(&text, static_cast<int>(words.size()), words.data(), lengths.data());
  if (size < 0) return {RedisFailure::Other, "no memory for a command"};
  out.append(text, size);
  ::redisFreeCommand(text);
  return {};
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out(text.substr(0, kLongestProblem));
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return out;
}

void RedisConnection::FreeReader::operator()(redisReader* reader) const { ::redisReaderFree(reader); }

RedisConnection::RedisConnection(RedisPlace place, const RedisSettings& settings)
    : place_(std::move(place)), settings_(settings), database_(std::to_string(place_.database)) {}

RedisConnection::~RedisConnection() = default;

RedisFailure RedisConnection::make_reader() {
  reader_.reset(::redisReaderCreate());
  if (!reader_) return {RedisFailure::Other, "no memory for a reader"};
  static const bool known = [](redisReader* reader) {
    make_any_array = reader->fn->createArray;
    return true;
  }(reader_.get());
  static_cast<void>(known);
  functions_ = std::make_unique<redisReplyObjectFunctions>(*reader_->fn);
  functions_->createArray = make_short_array;
  reader_->fn = functions_.get();
  return {};
}

RedisFailure RedisConnection::open() {
  close();
  RedisPatience patience(settings_.connect_timeout);
  auto failure = socket_.connect(place_, patience);
  if (!failure && place_.tls) failure = tls_.emplace(socket_).open(place_, settings_.ca_file, patience);
  if (!failure) failure = make_reader();
  if (failure) close();
  return failure;
}

void RedisConnection::close() {
  tls_.reset();
  socket_.close();
  reader_.reset();
  greeted_ = false;
}

RedisFailure RedisConnection::send(std::string_view bytes, RedisPatience& patience) {
  return tls_ ? tls_->send(bytes, patience) : socket_.send(bytes, patience);
}

RedisFailure RedisConnection::receive(size_t& got, RedisPatience& patience) {
  buffer_.resize(kPiece);
  return tls_ ? tls_->receive(buffer_.data(), buffer_.size(), got, patience)
              : socket_.receive(buffer_.data(), buffer_.size(), got, patience);
}

std::vector<RedisCommand> RedisConnection::greeting() const {
  std::vector<RedisCommand> out;
  if (!place_.user.empty()) {
    out.push_back({"AUTH", place_.user, place_.password});
  } else if (!place_.password.empty()) {
    out.push_back({"AUTH", place_.password});
  }
  if (place_.database != 0) out.push_back({"SELECT", database_});
  return out;
}

RedisFailure RedisConnection::next_reply(uint64_t& bytes_left, RedisPatience& patience, RedisReply& out) {
  for (;;) {
    void* reply = nullptr;
    if (::redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
      return {RedisFailure::Other, "this is not what Redis answers: " + printable(reader_->errstr)};
    }
    if (reply) {
      const std::unique_ptr<redisReply, FreeReply> owned(static_cast<redisReply*>(reply));
      out = converted(*owned);
      return {};
    }
    size_t got = 0;
    if (auto failure = receive(got, patience)) return failure;
    if (got > bytes_left) return {RedisFailure::Other, "the answer is longer than was asked for"};
    bytes_left -= got;
    if (::redisReaderFeed(reader_.get(), buffer_.data(), got) != REDIS_OK) {
      return {RedisFailure::Other, "no memory for the answer"};
    }
  }
}

RedisFailure RedisConnection::run(std::span<const RedisCommand> commands, uint64_t most_bytes,
                                  std::vector<RedisReply>& replies) {
  std::vector<RedisCommand> first;
  if (!greeted_) first = greeting();
  std::string bytes;
  for (const auto& command : first) {
    if (auto failure = append(command, bytes)) return failure;
  }
  for (const auto& command : commands) {
    if (auto failure = append(command, bytes)) return failure;
  }
  RedisPatience patience(settings_.command_timeout);
  if (auto failure = send(bytes, patience)) return failure;
  uint64_t bytes_left = std::min(most_bytes, kMaxAnswerBytes) + 4096;
  for (size_t i = 0; i < first.size(); ++i) {
    RedisReply reply;
    if (auto failure = next_reply(bytes_left, patience, reply)) return failure;
    if (reply.kind == RedisReply::Problem)
      return {RedisFailure::Other, "it refuses the connection: " + reply.text};
  }
  greeted_ = true;
  replies.assign(commands.size(), {});
  for (auto& reply : replies) {
    if (auto failure = next_reply(bytes_left, patience, reply)) return failure;
  }
  return {};
}

}  // namespace antegrad::cache
