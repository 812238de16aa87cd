#include <fmt/format.h>

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "antegrad/error.h"
#include "distributed/groups.h"

namespace antegrad::distributed {
namespace {

using ProcessGroupPtr = c10::intrusive_ptr<c10d::ProcessGroup>;

std::string first_line(const std::exception& error) {
  const std::string text = error.what();
  auto line = text.substr(0, text.find('\n'));
  while (!line.empty() && line.back() == '.') line.pop_back();
  return line;
}

ProcessGroupPtr find(const std::string& name) {
  try {
    return c10d::resolve_process_group(name);
  } catch (const std::exception&) {
    throw Error(
        ErrorCode::InvalidArgument, "distributed",
        fmt::format("this process is in no group named \"{}\"", name),
        "Make it with antegrad::distributed::gloo(), or register it with c10d::register_process_group()");
  }
}

/// What this process has compared with the others of a group.
struct Agreement {
  std::unique_ptr<c10::weak_intrusive_ptr<c10d::ProcessGroup>> group;
  std::set<std::string> texts;
  size_t comparisons = 0;  // also those that failed
};
auto& groups_mutex = *new std::mutex;
auto& own_groups =
    *new std::map<std::string, ProcessGroupPtr>;           // made here; c10d's registry does not own them
auto& agreements = *new std::map<std::string, Agreement>;  // by the group's name

std::string key_of(size_t number, int64_t rank) { return fmt::format("antegrad/agree/{}/{}", number, rank); }

/// Puts the text into the group's store and compares it with those of the other processes.
void compare(c10d::ProcessGroup& group, const std::string& name, size_t number, const std::string& text) {
  const auto store = group.getStore();
  if (!store) return;  // a group without one: its collectives find out
  store->set(key_of(number, group.getRank()), text);
  for (int64_t rank = 0; rank < group.getSize(); ++rank) {
    std::string other;
    try {
      store->wait({key_of(number, rank)}, store->getTimeout());
      other = store->get_to_str(key_of(number, rank));
    } catch (const std::exception& error) {
      throw Error(ErrorCode::Io, "distributed",
                  fmt::format("process {} of group \"{}\" did not come to communicate within {} ms: {}", rank,
                              name, store->getTimeout().count(), first_line(error)),
                  "Look for an error in that process; processes have to call the same compiled functions");
    }
    if (other == text) continue;
    throw Error(
        ErrorCode::GraphChanged, "distributed",
        fmt::format("process {} of group \"{}\" is about to communicate\n{}and process {}, this one,\n{}",
                    rank, name, other, group.getRank(), text),
        "Call the same functions in all processes, with arguments for which they communicate the same");
  }
}

[[noreturn]] void fail(const std::string& group, const std::exception& error) {
  throw Error(ErrorCode::Io, "distributed",
              fmt::format("communication with the other processes of group \"{}\" has failed: {}", group,
                          first_line(error)),
              "Look for an error in the other processes; those that are left can join another group");
}

/// Starts to communicate a tensor.
template <class Start>
Wait started(const std::string& group, Start start) {
  try {
    return [work = start(*find(group)), group] {
      try {
        work->wait();
      } catch (const std::exception& error) {
        fail(group, error);
      }
    };
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    fail(group, error);
  }
}

}  // namespace

bool available() { return true; }

Wait start_sum(const at::Tensor& tensor, const std::string& group, std::optional<int64_t> receiver) {
  return started(group, [&](c10d::ProcessGroup& processes) {
    std::vector<at::Tensor> tensors = {tensor};
    if (!receiver) return processes.allreduce(tensors);
    c10d::ReduceOptions options;
    options.rootRank = *receiver;
    return processes.reduce(tensors, options);
  });
}

Wait start_broadcast(const at::Tensor& tensor, int64_t source, const std::string& group) {
  return started(group, [&](c10d::ProcessGroup& processes) {
    std::vector<at::Tensor> tensors = {tensor};
    c10d::BroadcastOptions options;
    options.rootRank = source;
    return processes.broadcast(tensors, options);
  });
}

Place place_in(const std::string& group) {
  const auto found = find(group);
  return {found->getRank(), found->getSize()};
}

void agree(const std::string& text, const std::string& group) {
  const auto found = find(group);
  const std::scoped_lock lock(groups_mutex);
  auto& known = agreements[group];
  if (known.group == nullptr || known.group->_unsafe_get_target() != found.get())
    known = {std::make_unique<c10::weak_intrusive_ptr<c10d::ProcessGroup>>(found), {}, 0};
  if (known.texts.contains(text)) return;
  compare(*found, group, known.comparisons++, text);
  known.texts.insert(text);
}

Group gloo(const std::string& file, int64_t rank, int64_t size, const GlooOptions& options) {
  if (size < 1 || rank < 0 || rank >= size)
    throw Error(ErrorCode::InvalidArgument, "distributed",
                fmt::format("there is no process {} of {}", rank, size), "Number the processes from 0");
  const auto store = c10::make_intrusive<c10d::FileStore>(file, static_cast<int>(size));
  store->setTimeout(options.timeout);
  auto gloo_options = c10d::ProcessGroupGloo::Options::create(options.timeout);
  gloo_options->devices.push_back(options.host.empty()
                                      ? c10d::ProcessGroupGloo::createDefaultDevice()
                                      : c10d::ProcessGroupGloo::createDeviceForHostname(options.host));
  c10::intrusive_ptr<c10d::ProcessGroupGloo> backend;
  try {
    backend = c10::make_intrusive<c10d::ProcessGroupGloo>(store, static_cast<int>(rank),
                                                          static_cast<int>(size), std::move(gloo_options));
  } catch (const std::exception& error) {
    throw Error(ErrorCode::Io, "distributed",
                fmt::format("process {} of {} did not find the others within {} ms: {}", rank, size,
                            options.timeout.count(), first_line(error)),
                "Start all processes with the same new file, which they can all reach");
  }
  const auto group =
      c10::make_intrusive<c10d::ProcessGroup>(store, static_cast<int>(rank), static_cast<int>(size));
  group->setBackend(c10::DeviceType::CPU, c10d::ProcessGroup::BackendType::GLOO, backend);
  group->setDefaultBackend(c10d::ProcessGroup::BackendType::GLOO);
  group->setGroupName(options.name);
  c10d::register_process_group(options.name, group);
  const std::scoped_lock lock(groups_mutex);
  own_groups[options.name] = group;
  return Group(options.name);
}

void leave(const Group& group) {
  c10d::unregister_process_group(group.name());
  ProcessGroupPtr last;  // destroyed after the lock is gone: it waits for its threads
  const std::scoped_lock lock(groups_mutex);
  if (auto node = own_groups.extract(group.name())) last = std::move(node.mapped());
}

}  // namespace antegrad::distributed
