#include "effects/callbacks.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <typeindex>

#include "antegrad/error.h"

namespace antegrad {
namespace effects {
namespace {

/// Graphs refer to callbacks by name. Names are numbers of this process: a graph that was captured here,
/// whether its code is compiled or comes from the cache, means callbacks of this process.
class Callbacks {
 public:
  std::string name(std::type_index type, const std::string* contents, detail::Callback callback) {
    const std::scoped_lock lock(mutex_);
    auto next = fmt::format("callback {}", callbacks_.size());
    if (contents != nullptr) {
      const auto [known, is_new] = names_.try_emplace({type, *contents}, next);
      if (!is_new) return known->second;
    }
    callbacks_.emplace(next, std::move(callback));
    return next;
  }
  const detail::Callback& find(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    const auto found = callbacks_.find(name);
    if (found == callbacks_.end())
      throw Error(
          ErrorCode::InvalidArgument, "callback",
          fmt::format("\"{}\" is not a callback of this process", name),
          "Graphs with callbacks run in the process that captured them; use print(), check(), or an op "
          "of your own");
    return found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, detail::Callback> callbacks_;  // never removed: references stay valid
  std::map<std::pair<std::type_index, std::string>, std::string> names_;
};

Callbacks& callbacks() {
  static auto& all = *new Callbacks;
  return all;
}

}  // namespace

const detail::Callback& find_callback(const std::string& name) { return callbacks().find(name); }

}  // namespace effects

namespace detail {

std::string name_callback(const std::type_info& type, const std::string* contents, Callback callback) {
  return effects::callbacks().name(type, contents, std::move(callback));
}

}  // namespace detail
}  // namespace antegrad
