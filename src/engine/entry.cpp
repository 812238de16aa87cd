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

using Entry = std::unique_lock<BriefMutex>;
thread_local Entry* entry = nullptr;  ///< of the pass that this thread begins

/// LibTorch's engine, whose passes begin one at a time. What it does until then, counting the nodes of the
/// graph, calls no user code.
class OrderlyEngine final : public Engine {
 public:
  variable_list execute(const edge_list& roots, const variable_list& inputs, bool keep_graph,
                        bool create_graph, bool accumulate_grad, const edge_list& outputs) override {
    static auto& mutex = *new BriefMutex;
    Entry lock(mutex);
    entry = &lock;
    try {
      return Engine::execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
    } catch (...) {
      if (lock.owns_lock()) entry = nullptr;  // it did not come to the call
      throw;
    }
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

void leave_entry() {
  if (entry == nullptr) return;
  entry->unlock();
  entry = nullptr;
}

}  // namespace antegrad::engine
