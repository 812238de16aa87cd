#include "cache/redis/redis_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace antegrad::cache {
namespace {

constexpr size_t kSearchedAtOnce = 8;
/// Bytes of a reply besides those of the entry.
constexpr uint64_t kFrameBytes = 512;

std::string key_name(const Address& address) { return "antegrad:1:" + address.to_text(); }
std::string index_name(const Digest& key) { return "antegrad:1:" + key.hex(); }

}  // namespace

RedisStore::RedisStore(RedisPlace place, const RedisSettings& settings, std::shared_ptr<const Secret> secret)
    : place_(std::move(place)),
      settings_([&] {
        auto own = settings;
        own.limit_bytes = std::min(own.limit_bytes, kMaxEntryBytes);
        return own;
      }()),
      secret_(std::move(secret)),
      live_([this] { return std::make_unique<Live>(place_, settings_); }) {}

RedisFailure RedisStore::ask_server(Live& live, std::span<const RedisCommand> commands, uint64_t most_bytes,
                                    std::vector<RedisReply>& replies) {
  for (;;) {
    const bool old = live.connection.is_open();
    auto failure = old ? RedisFailure{} : live.connection.open();
    if (!failure) failure = live.connection.run(commands, most_bytes, replies);
    if (!failure) return {};
    live.connection.close();
    // An idle connection may have been closed by the server, or by its restart.
    if (!old || failure.kind != RedisFailure::Closed) return failure;
  }
}

/// Performs one round trip. Returns the reason when there are no replies.
std::string RedisStore::ask(std::span<const RedisCommand> commands, uint64_t most_bytes,
                            std::vector<RedisReply>& replies) {
  auto& live = live_.get();
  auto pass = live.breaker.enter();
  if (!pass.reason.empty()) return std::move(pass.reason);
  const std::lock_guard lock(live.mutex);
  if (auto reason = live.breaker.failed_since(pass); !reason.empty()) return reason;
  const auto failure = ask_server(live, commands, most_bytes, replies);
  if (!failure) {
    live.breaker.worked();
    return {};
  }
  auto reason = fmt::format("the cache at {} is not asked for a while: {}", place(), failure.reason);
  live.breaker.failed(reason);
  return reason;
}

Loaded RedisStore::load(const Address& address, const RedisReply& reply) const {
  const auto problem = [&](Outcome outcome, std::string_view reason) -> Loaded {
    return {outcome, {}, fmt::format("entry {}: {}", address.to_text(), reason), {}};
  };
  if (reply.kind == RedisReply::Problem) return problem(Outcome::Miss, reply.text);
  if (reply.kind != RedisReply::Text) return problem(Outcome::Miss, "the answer is no text");
  if (reply.text.empty()) return {};
  if (reply.text.size() > settings_.limit_bytes) {
    return problem(Outcome::Miss, fmt::format("more than {} bytes", settings_.limit_bytes));
  }
  auto read = read_entry(reply.text, address, secret_.get());
  if (read.outcome != Outcome::Hit) return problem(read.outcome, read.reason);
  return {Outcome::Hit, std::move(read.entry), {}, name()};
}

void RedisStore::get_batch(std::span<const Address> addresses, std::vector<Loaded>& out) {
  // GETRANGE limits what is sent, whatever the size of the value.
  const auto last = std::to_string(settings_.limit_bytes);
  std::vector<std::string> names;
  std::transform(addresses.begin(), addresses.end(), std::back_inserter(names), key_name);
  std::vector<RedisCommand> commands;
  for (const auto& name : names) commands.push_back({"GETRANGE", name, "0", last});
  std::vector<RedisReply> replies;
  const auto reason = ask(commands, addresses.size() * (settings_.limit_bytes + kFrameBytes), replies);
  for (size_t i = 0; i < addresses.size(); ++i) {
    out.push_back(reason.empty() ? load(addresses[i], replies[i]) : Loaded{Outcome::Miss, {}, reason, {}});
  }
}

Loaded RedisStore::get(const Address& address) {
  std::vector<Loaded> out;
  get_batch({&address, 1}, out);
  return std::move(out.front());
}

std::vector<Loaded> RedisStore::get_many(std::span<const Address> addresses) {
  std::vector<Loaded> out;
  out.reserve(addresses.size());
  while (!addresses.empty()) {
    const auto batch = addresses.first(std::min(addresses.size(), kMostAtOnce));
    get_batch(batch, out);
    addresses = addresses.subspan(batch.size());
  }
  return out;
}

/// Lists the newest first. Returns the reason when they are not known.
std::string RedisStore::variants(const Digest& key, std::vector<Address>& out) {
  const auto index = index_name(key), last = std::to_string(kMostVariants - 1);
  const RedisCommand command{"ZREVRANGE", index, "0", last};
  std::vector<RedisReply> replies;
  if (auto reason = ask({&command, 1}, kMostVariants * kFrameBytes, replies); !reason.empty()) return reason;
  if (replies[0].kind == RedisReply::Problem) return fmt::format("key {}: {}", key.hex(), replies[0].text);
  for (const auto& variant : replies[0].list) {
    if (const auto address = Address::parse(key.hex() + "-" + variant)) out.push_back(*address);
  }
  return {};
}

bool RedisStore::search(const Digest& key, const Visit& visit) {
  std::vector<Address> found;
  if (auto reason = variants(key, found); !reason.empty()) {
    return visit({key, 0}, {Outcome::Miss, {}, std::move(reason), {}});
  }
  std::span<const Address> left(found);
  while (!left.empty()) {
    const auto batch = left.first(std::min(left.size(), kSearchedAtOnce));
    auto loaded = get_many(batch);
    for (size_t i = 0; i < batch.size(); ++i) {
      const bool gone = loaded[i].outcome == Outcome::Miss && loaded[i].reason.empty();
      if (!gone && visit(batch[i], std::move(loaded[i]))) return true;
    }
    left = left.subspan(batch.size());
  }
  return false;
}

Saved RedisStore::put(const Address& address, const Entry& entry) {
  if (!settings_.write) return {false, fmt::format("{} is read only", place())};
  if (auto problem = entry_problem(entry); !problem.empty()) return {false, std::move(problem)};
  const auto bytes = write_entry(entry, address, secret_.get());
  if (bytes.size() > settings_.limit_bytes) {
    return {false, fmt::format("{} bytes are more than the {} that one entry may have in {}", bytes.size(),
                               settings_.limit_bytes, place())};
  }
  return write(address, bytes);
}

Saved RedisStore::write(const Address& address, const std::string& bytes) {
  const auto name = key_name(address), index = index_name(address.key);
  const auto variant = address.to_text().substr(64 + 1);
  const auto seconds = std::to_string(settings_.expiry.count());
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  const auto now = std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  const auto surplus = std::to_string(-static_cast<int64_t>(kMostVariants) - 1);
  const bool expires = settings_.expiry.count() > 0;
  RedisCommand set{"SET", name, bytes};
  if (expires) set.insert(set.end(), {"EX", seconds});
  const RedisCommand commands[] = {
      set,
      {"ZADD", index, now, variant},
      {"ZREMRANGEBYRANK", index, "0", surplus},
      expires ? RedisCommand{"EXPIRE", index, seconds} : RedisCommand{"PERSIST", index},
  };
  std::vector<RedisReply> replies;
  if (auto reason = ask(commands, std::size(commands) * kFrameBytes, replies); !reason.empty()) {
    return {false, std::move(reason)};
  }
  for (const auto& reply : replies) {
    if (reply.kind != RedisReply::Problem) continue;
    return {false, fmt::format("nothing is stored in {}: {}", place(), reply.text)};
  }
  return {true, {}};
}

OpenedRedis open_redis_store(const RedisSettings& settings, std::shared_ptr<const Secret> secret) {
  auto parsed = parse_redis_url(settings.url);
  if (!parsed.place) return {nullptr, fmt::format("the Redis cache is not used: {}", parsed.problem)};
  if (!secret) {
    return {nullptr,
            fmt::format("the cache at {} is not used: its entries need a key, and no key file is set",
                        parsed.place->to_text())};
  }
  return {std::make_shared<RedisStore>(std::move(*parsed.place), settings, std::move(secret)), {}};
}

}  // namespace antegrad::cache
