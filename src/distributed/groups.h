#pragma once
#include <functional>
#include <optional>
#include <string>

#include "antegrad/distributed.h"

/// What is needed of c10d. One of c10d_groups.cpp and no_groups.cpp is compiled.
namespace antegrad::distributed {

struct Place {
  int64_t rank = 0;
  int64_t size = 1;
};
/// Returns where this process is in a group. Throws Error(InvalidArgument) for an unknown name,
/// Error(UnsupportedOp) when LibTorch was built without c10d.
Place place_in(const std::string& group);

/// Compares a text with those of the other processes when this process first has it. Throws
/// Error(GraphChanged) if they differ, and Error(Io) when a process does not come within the group's timeout.
void agree(const std::string& text, const std::string& group);

/// Waits for a communication. Throws Error(Io) when it has failed.
using Wait = std::function<void()>;
// Each starts to write to a dense tensor, which nobody may use before the wait is over. They run on their own
// threads, in the same order in all processes.

/// Over all processes, in all of them, or only in the receiver: then the others get undefined contents.
Wait start_sum(const at::Tensor& tensor, const std::string& group, std::optional<int64_t> receiver = {});
Wait start_broadcast(const at::Tensor& tensor, int64_t source, const std::string& group);

}  // namespace antegrad::distributed
