#include "cache/redis/redis_resolve.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

#include "cache/layers/quiet_thread.h"

namespace antegrad::cache {
namespace {

int look_up(const std::string& host, const std::string& port, int flags, AddressList& out) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found);
  out.reset(found);
  return error;
}

/// Shared with a thread that may outlive the caller.
struct Lookup {
  std::mutex mutex;
  std::condition_variable ready;
  bool done = false;
  int error = 0;
  AddressList found;
};

}  // namespace

RedisFailure resolve(const std::string& host, const std::string& port, RedisPatience& patience,
                     AddressList& out) {
  if (look_up(host, port, AI_NUMERICHOST, out) == 0) return {};
  const auto lookup = std::make_shared<Lookup>();
  try {
    quiet_thread([lookup, host, port] {
      AddressList found;
      const int error = look_up(host, port, 0, found);
      const std::lock_guard lock(lookup->mutex);
      lookup->error = error;
      lookup->found = std::move(found);
      lookup->done = true;
      lookup->ready.notify_all();
    }).detach();
  } catch (const std::system_error& error) {
    return {RedisFailure::Other, fmt::format("no thread to look up {}: {}", host, error.what())};
  }
  std::unique_lock lock(lookup->mutex);
  const auto time = std::chrono::milliseconds(patience.milliseconds_left());
  if (!lookup->ready.wait_for(lock, time, [&] { return lookup->done; })) {
    return patience.timed_out("looking up " + host);
  }
  if (lookup->error != 0) {
    return {RedisFailure::Other, fmt::format("cannot look up {}: {}", host, ::gai_strerror(lookup->error))};
  }
  out = std::move(lookup->found);
  return {};
}

}  // namespace antegrad::cache
