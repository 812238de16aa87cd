#include "engine/hooks.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/cpp_hook.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <typeindex>

#include "antegrad/error.h"
#include "aten/autograd_types.h"
#include "util/fork_mutex.h"

namespace antegrad {
namespace {

using detail::Gradients;
using detail::HookIdentity;
using torch::autograd::FunctionPostHook;
using torch::autograd::FunctionPreHook;

/// Set while a hook is asked for its identity, which it then stores there instead of doing its work: LibTorch
/// wraps tensor hooks in a type without a name.
thread_local HookIdentity* asks_identity = nullptr;

struct MarkedPreHook final : FunctionPreHook {
  MarkedPreHook(HookIdentity who, std::function<Gradients(const Gradients&)> what)
      : identity(who), call(std::move(what)) {}
  Gradients operator()(const Gradients& gradients) override { return call(gradients); }

  const HookIdentity identity;
  const std::function<Gradients(const Gradients&)> call;
};

struct MarkedPostHook final : FunctionPostHook {
  MarkedPostHook(HookIdentity who, std::function<Gradients(const Gradients&, const Gradients&)> what)
      : identity(who), call(std::move(what)) {}
  Gradients operator()(const Gradients& gradients, const Gradients& incoming) override {
    return call(gradients, incoming);
  }

  const HookIdentity identity;
  const std::function<Gradients(const Gradients&, const Gradients&)> call;
};

}  // namespace

namespace detail {

struct TraceableHook::Code {
  HookIdentity identity;
  Call call;
};

uint64_t next_hook() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

TraceableHook::TraceableHook(HookIdentity identity, Call call)
    : code_(std::make_shared<const Code>(Code{identity, std::move(call)})) {}

at::Tensor TraceableHook::operator()(const at::Tensor& gradient) const {
  if (asks_identity == nullptr) return code_->call(gradient);
  *asks_identity = code_->identity;
  return {};
}

std::unique_ptr<FunctionPreHook> pre_hook(HookIdentity identity,
                                          std::function<Gradients(const Gradients&)> call) {
  return std::make_unique<MarkedPreHook>(identity, std::move(call));
}

std::unique_ptr<FunctionPostHook> post_hook(
    HookIdentity identity, std::function<Gradients(const Gradients&, const Gradients&)> call) {
  return std::make_unique<MarkedPostHook>(identity, std::move(call));
}

}  // namespace detail

namespace engine {
namespace {

using TensorHook = torch::autograd::hooks_list::value_type;

constexpr size_t kMostStates = 16;  ///< graphs that had to be made because a hook had a new state
constexpr auto kOpaque = "it has a hook that is not marked traceable";
constexpr auto kFailed = "it has a hook that could not be traced";

/// The types in which Tensor::register_hook() wraps a TraceableHook: one for each way of passing it.
const std::vector<std::type_index>& wrappers() {
  static const auto& known = *new const auto([] {
    const auto tensor = at::empty({0}).set_requires_grad(true);
    detail::TraceableHook hook({}, nullptr);
    tensor.register_hook(std::as_const(hook));
    tensor.register_hook(hook);
    tensor.register_hook(std::move(hook));
    std::vector<std::type_index> types;
    for (const auto& wrapped : *aten::as_tensor_hooks(*torch::autograd::impl::hooks(tensor).at(0))->hooks_)
      types.emplace_back(wrapped.target_type());
    return types;
  }());
  return known;
}

/// Returns the identity of a hook, without a type when it is not marked.
HookIdentity identity_of(const TensorHook& hook) {
  HookIdentity identity;
  const auto& known = wrappers();
  if (std::find(known.begin(), known.end(), std::type_index(hook.target_type())) == known.end())
    return identity;
  asks_identity = &identity;
  hook(at::TensorBase());
  asks_identity = nullptr;
  return identity;
}

/// What is known about types of hooks.
class Known {
 public:
  bool is_untraceable(const void* type) {
    const std::scoped_lock lock(mutex_);
    return untraceable_.count(type) != 0;
  }
  void set_untraceable(const void* type) {
    const std::scoped_lock lock(mutex_);
    untraceable_.insert(type);
  }
  /// Returns whether too many graphs were made for hooks of one of these types, which is untraceable from now
  /// on.
  bool changes(const std::vector<HookIdentity>& hooks) {
    const std::scoped_lock lock(mutex_);
    std::set<const void*> changed;
    for (const auto& hook : hooks)
      if (hook.object != 0 && states_[hook.type].objects.insert(hook.object).second)
        changed.insert(hook.type);
    bool often = false;
    for (const auto* type : changed)
      if (++states_[type].graphs > kMostStates) often = untraceable_.insert(type).second;
    return often;
  }
  void clear() {
    const std::scoped_lock lock(mutex_);
    untraceable_.clear();
    states_.clear();
  }

 private:
  struct States {
    std::set<uint64_t> objects;
    size_t graphs = 0;
  };
  BriefMutex mutex_;
  std::set<const void*> untraceable_;
  std::map<const void*, States> states_;
};

Known& known() {
  static auto* known = new Known();  // threads may outlive statics
  return *known;
}

/// A hook, in the order of calls. Its identity has no type when it is not marked.
struct Found {
  char kind;  ///< t: tensor hook, p: pre-hook of the node, q: post-hook
  size_t input;
  HookIdentity identity;
};

void find_tensor_hooks(Node& node, std::vector<Found>& out) {
  for (const auto& hooks : node.tensor_pre_hooks()) {
    const auto* list = aten::as_tensor_hooks(*hooks);
    if (list == nullptr) {
      out.push_back({'t', 0, {}});
      continue;
    }
    for (const auto& hook : *list->hooks_)
      if (hook) out.push_back({'t', list->value_idx_, identity_of(hook)});  // else: it was removed
  }
}

std::vector<Found> find_hooks(Node& node) {
  std::vector<Found> out;
  find_tensor_hooks(node, out);
  for (const auto& hook : node.pre_hooks()) {
    const auto* marked = dynamic_cast<const MarkedPreHook*>(hook.get());
    out.push_back({'p', 0, marked != nullptr ? marked->identity : HookIdentity()});
  }
  for (const auto& hook : node.post_hooks()) {
    const auto* marked = dynamic_cast<const MarkedPostHook*>(hook.get());
    out.push_back({'q', 0, marked != nullptr ? marked->identity : HookIdentity()});
  }
  return out;
}

bool has_calls(Node& node) {
  return !node.tensor_pre_hooks().empty() || !node.pre_hooks().empty() || !node.post_hooks().empty();
}

const char* why_they_cut(const std::vector<Found>& hooks) {
  for (const auto& hook : hooks) {
    if (hook.identity.type == nullptr) return kOpaque;
    if (known().is_untraceable(hook.identity.type)) return kFailed;
  }
  return nullptr;
}

/// Calls a tensor hook as LibTorch does.
void call_tensor_hook(const TensorHook& hook, at::Tensor& gradient) {
  const auto result = hook(gradient);
  if (!result.defined()) return;
  if (!gradient.defined())
    throw Error(ErrorCode::UnsupportedOp, "compiled autograd",
                "a hook replaces a gradient that is undefined");
  torch::autograd::check_variable_result(gradient, result, "");
  gradient = at::Tensor(result);
}

}  // namespace

void install_hooks() { wrappers(); }

const char* why_hooks_cut(Node& node) {
  if (node.tensor_post_acc_grad_hooks() != nullptr) return kOpaque;
  for (const auto& [input, hook] : node.retains_grad_hooks())
    if (!aten::retains_gradient(*hook)) return kOpaque;
  return has_calls(node) ? why_they_cut(find_hooks(node)) : nullptr;
}

bool has_traceable_tensor_hooks(Node& node) {
  if (node.tensor_pre_hooks().empty() || !node.retains_grad_hooks().empty()) return false;
  std::vector<Found> hooks;
  find_tensor_hooks(node, hooks);
  return !hooks.empty() && why_they_cut(hooks) == nullptr;
}

void append_hooks(Node& node, std::string& structure) {
  if (!has_calls(node)) return;
  for (const auto& hook : find_hooks(node)) {
    const uint64_t words[] = {hook.input, reinterpret_cast<uint64_t>(hook.identity.type),
                              hook.identity.object};
    structure += hook.kind;
    structure.append(reinterpret_cast<const char*>(words), sizeof words);
  }
}

void set_untraceable(const FailedHook& hook) {
  if (hook.type != nullptr) known().set_untraceable(hook.type);
}

std::string note_new_graph(const std::vector<Node*>& nodes) {
  std::vector<HookIdentity> hooks;
  for (auto* node : nodes)
    if (has_calls(*node))
      for (const auto& hook : find_hooks(*node)) hooks.push_back(hook.identity);
  if (!known().changes(hooks)) return "";
  return fmt::format(
      "a traceable hook that captures something is made anew repeatedly: more than {} graphs were captured "
      "for it. Make it once and register copies; from now on it is called between graphs",
      kMostStates);
}

void forget_hooks() { known().clear(); }

void HookTracer::call(const HookIdentity& identity, const std::function<void()>& hook) {
  const auto name = fmt::format("hook_{}_of_{}", number_++, name_);
  const Scope scope(name);
  const auto fail = [&](const char* what) {
    failed_ = {identity.type, fmt::format("{} cannot be traced: {}", name, what)};
  };
  try {
    hook();
  } catch (const Error& error) {
    fail(error.what());
    throw;
  } catch (const std::exception& error) {  // what it throws is for callers with real gradients
    fail(error.what());
    throw Error(ErrorCode::UnsupportedOp, "compiled autograd", failed_.reason);
  }
}

void HookTracer::tensor_hooks(variable_list& gradients) {
  for (const auto& hooks : node_.tensor_pre_hooks()) {
    const auto* list = aten::as_tensor_hooks(*hooks);
    for (const auto& hook : *list->hooks_)
      if (hook) call(identity_of(hook), [&] { call_tensor_hook(hook, gradients[list->value_idx_]); });
  }
}

void HookTracer::pre_hooks(variable_list& gradients) {
  for (const auto& hook : node_.pre_hooks())
    call(static_cast<const MarkedPreHook&>(*hook).identity, [&] { gradients = (*hook)(gradients); });
}

void HookTracer::post_hooks(variable_list& gradients, const variable_list& incoming) {
  for (const auto& hook : node_.post_hooks())
    call(static_cast<const MarkedPostHook&>(*hook).identity,
         [&] { gradients = (*hook)(gradients, incoming); });
}

}  // namespace engine
}  // namespace antegrad
