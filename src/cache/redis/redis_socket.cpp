#include "cache/redis/redis_socket.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "cache/redis/redis_resolve.h"

namespace antegrad::cache {
namespace {

RedisFailure failed(std::string_view what, int error) {
  const bool closed = error == EPIPE || error == ECONNRESET;
  return {closed ? RedisFailure::Closed : RedisFailure::Other,
          fmt::format("{}: {}", what, std::generic_category().message(error))};
}

}  // namespace

int RedisPatience::milliseconds_left() const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

RedisFailure RedisPatience::timed_out(std::string_view what) const {
  return {RedisFailure::TimedOut, fmt::format("{} took more than {} ms", what, time_.count())};
}

void RedisSocket::close() {
  // Reset before it is closed: a child forked in between must not close a reused descriptor.
  if (const int number = number_.exchange(-1); number >= 0) ::close(number);
}

RedisFailure RedisSocket::wait(short events, std::string_view what, RedisPatience& patience) {
  for (;;) {
    const int left = patience.milliseconds_left();
    if (left == 0) return patience.timed_out(what);
    pollfd file{number_, events, 0};
    const int ready = ::poll(&file, 1, left);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return failed(what, errno);
  }
}

RedisFailure RedisSocket::connect_to(const addrinfo& address, RedisPatience& patience) {
  close();
  number_ = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (number_ < 0) return failed("no socket", errno);
  while (::connect(number_, address.ai_addr, address.ai_addrlen) != 0) {
    if (errno == EINPROGRESS || errno == EALREADY || errno == EINTR) {
      if (auto failure = wait(POLLOUT, "connecting", patience)) return failure;
      int error = 0;
      socklen_t size = sizeof error;
      ::getsockopt(number_, SOL_SOCKET, SO_ERROR, &error, &size);
      if (error != 0) return failed("cannot connect", error);
      return {};
    }
    if (errno != EAGAIN) return failed("cannot connect", errno);
    // A unix socket whose queue is full cannot be polled.
    if (patience.milliseconds_left() == 0) return patience.timed_out("connecting");
    ::poll(nullptr, 0, 1);
  }
  return {};
}

RedisFailure RedisSocket::connect_unix(const RedisPlace& place, RedisPatience& patience) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, place.path.data(), std::min(place.path.size(), sizeof name.sun_path - 1));
  addrinfo address{};
  address.ai_family = AF_UNIX;
  address.ai_addr = reinterpret_cast<sockaddr*>(&name);
  address.ai_addrlen = sizeof name;
  return connect_to(address, patience);
}

RedisFailure RedisSocket::connect_network(const RedisPlace& place, RedisPatience& patience) {
  AddressList found;
  if (auto failure = resolve(place.host, place.port, patience, found)) return failure;
  RedisFailure failure{RedisFailure::Other, "the host has no address"};
  int addresses = 0;
  for (const auto* address = found.get(); address; address = address->ai_next) ++addresses;
  for (const auto* address = found.get(); address; address = address->ai_next, --addresses) {
    // An address that does not answer must leave time for the others.
    RedisPatience part(std::chrono::milliseconds(patience.milliseconds_left() / addresses));
    failure = connect_to(*address, part);
    if (failure) continue;
    const int on = 1;
    ::setsockopt(number_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return {};
  }
  return failure;
}

RedisFailure RedisSocket::connect(const RedisPlace& place, RedisPatience& patience) {
  auto failure = place.path.empty() ? connect_network(place, patience) : connect_unix(place, patience);
  if (failure) close();
  return failure;
}

RedisFailure RedisSocket::send(std::string_view bytes, RedisPatience& patience) {
  while (!bytes.empty()) {
    const auto sent = ::send(number_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(sent);
      patience.moved(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (auto failure = wait(POLLOUT, "sending", patience)) return failure;
    } else if (errno != EINTR) {
      return failed("cannot send", errno);
    }
  }
  return {};
}

RedisFailure RedisSocket::receive(char* bytes, size_t room, size_t& got, RedisPatience& patience) {
  for (;;) {
    const auto received = ::recv(number_, bytes, room, 0);
    if (received > 0) {
      got = received;
      patience.moved(got);
      return {};
    }
    if (received == 0) return {RedisFailure::Closed, "the server closed the connection"};
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (auto failure = wait(POLLIN, "the answer", patience)) return failure;
    } else if (errno != EINTR) {
      return failed("cannot receive", errno);
    }
  }
}

}  // namespace antegrad::cache
