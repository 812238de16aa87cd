#pragma once
#include <torch/csrc/autograd/function.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "antegrad/grad.h"

namespace antegrad::engine {

using torch::autograd::Node;
using torch::autograd::variable_list;

/// To be called once per process, before hooks are inspected.
void install_hooks();

/// Returns why a node with its hooks cannot be part of a graph: a hook is not marked traceable, or is marked
/// and could not be traced before. Null when it can. Hooks that retain gradients do not prevent it: they are
/// called afterwards.
const char* why_hooks_cut(Node& node);
/// Returns whether the node has tensor hooks, and these can be part of the graph that computes its gradients.
bool has_traceable_tensor_hooks(Node& node);

/// Appends what distinguishes the hooks of a node from others.
void append_hooks(Node& node, std::string& structure);

/// A marked hook that could not be traced.
struct FailedHook {
  const void* type = nullptr;  ///< null when there is none
  std::string reason;
};
/// Has hooks of this type called between graphs from now on, until forget_hooks().
void set_untraceable(const FailedHook& hook);
/// Notes that hooks of these nodes are part of a new graph. Returns a reason when hooks of a type come with a
/// new state again and again, else "". Such hooks are called between graphs from now on.
std::string note_new_graph(const std::vector<Node*>& nodes);
void forget_hooks();

/// Runs the hooks of one node over stand-ins. Each hook has a scope of its own: hook_0_of_SinBackward0_3.
class HookTracer {
 public:
  /// `name`: the node's. `failed` is set when a hook throws.
  HookTracer(Node& node, const std::string& name, FailedHook& failed)
      : node_(node), name_(name), failed_(failed) {}

  void tensor_hooks(variable_list& gradients);
  void pre_hooks(variable_list& gradients);
  void post_hooks(variable_list& gradients, const variable_list& incoming);

 private:
  void call(const detail::HookIdentity& identity, const std::function<void()>& hook);

  Node& node_;
  const std::string& name_;
  FailedHook& failed_;
  size_t number_ = 0;
};

}  // namespace antegrad::engine
