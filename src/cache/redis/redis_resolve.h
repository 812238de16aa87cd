#pragma once
#include <netdb.h>

#include <memory>
#include <string>

#include "cache/redis/redis_socket.h"

namespace antegrad::cache {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, FreeAddresses>;

/// Resolves a host name within a time limit, which the system's resolver does not have.
RedisFailure resolve(const std::string& host, const std::string& port, RedisPatience& patience,
                     AddressList& out);

}  // namespace antegrad::cache
