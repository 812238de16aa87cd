#include "engine/entry.h"

#include <torch/csrc/autograd/engine.h>

#include <mutex>
#include <typeinfo>

#include "util/fork_mutex.h"

namespace antegrad::engine {
namespace {

using torch::autograd::edge_list;
using torch::autograd::Engine;
using torch::autograd::variable_list;

/// The turn of a pass that this thread begins. It ends with leave_entry(), or with a pass that does not come
/// to that.
class Entry {
 public:
  explicit Entry(BriefMutex& mutex) : lock_(mutex) { current_ = this; }
  ~Entry() { leave(); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  static void leave_current() {
    if (current_ != nullptr) current_->leave();
  }

 private:
  void leave() {
    if (!lock_.owns_lock()) return;
    current_ = nullptr;
    lock_.unlock();
  }
  static thread_local Entry* current_;
  std::unique_lock<BriefMutex> lock_;
};
thread_local Entry* Entry::current_ = nullptr;

/// LibTorch's engine, whose passes begin one at a time. What it does until then, counting the nodes of the
/// graph, calls no user code.
class OrderlyEngine final : public Engine {
 public:
  variable_list execute(const edge_list& roots, const variable_list& inputs, bool keep_graph,
                        bool create_graph, bool accumulate_grad, const edge_list& outputs) override {
    static auto& mutex = *new BriefMutex;
    const Entry turn(mutex);
    return Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
  }
};

Engine& orderly_engine() {
  static auto& engine = *new OrderlyEngine;
  return engine;
}

}  // namespace

void install_entry() {
  if (typeid(Engine::get_default_engine()) == typeid(Engine))
    torch::autograd::set_default_engine_stub(orderly_engine);
}

void leave_entry() { Entry::leave_current(); }

}  // namespace antegrad::engine
