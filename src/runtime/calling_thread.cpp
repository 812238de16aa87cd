#include "runtime/calling_thread.h"

#include <c10/core/AutogradState.h>
#include <torch/csrc/autograd/engine.h>

#include <mutex>
#include <optional>
#include <typeinfo>

#include "runtime/node.h"

namespace antegrad::runtime {
namespace {

using torch::autograd::Engine;
using torch::autograd::GraphTask;
using torch::autograd::Node;

/// While it lives, passes that this thread begins stay on it.
class OnThisThread {
 public:
  OnThisThread() { c10::AutogradState::get_tls_state().set_multithreading_enabled(false); }
  ~OnThisThread() { c10::AutogradState::get_tls_state().set_multithreading_enabled(before_); }
  OnThisThread(const OnThisThread&) = delete;
  OnThisThread& operator=(const OnThisThread&) = delete;

 private:
  const bool before_ = c10::AutogradState::get_tls_state().get_multithreading_enabled();
};

/// LibTorch's engine but for the thread of some passes: hands everything over to the engine there was.
class CallingThreadEngine final : public Engine {
 public:
  explicit CallingThreadEngine(Engine& engine) : engine_(engine) {
    // The threads must be those of the other engine, and whoever asks this one for a queue gets theirs.
    engine_.initialize_device_threads_pool();
    device_ready_queues_ = engine_.*(&CallingThreadEngine::device_ready_queues_);
  }

  torch::autograd::variable_list execute(const torch::autograd::edge_list& roots,
                                         const torch::autograd::variable_list& inputs, bool keep_graph,
                                         bool create_graph, bool accumulate_grad,
                                         const torch::autograd::edge_list& outputs) override {
    std::optional<OnThisThread> on_this_thread;
    if (roots.size() == 1 && roots[0].is_valid()) {
      const Node& root = *roots[0].function;
      if (typeid(root) == typeid(CompiledBackward)) on_this_thread.emplace();
    }
    return engine_.execute(roots, inputs, keep_graph, create_graph, accumulate_grad, outputs);
  }
  c10::intrusive_ptr<at::ivalue::Future> execute_with_graph_task(
      const std::shared_ptr<GraphTask>& task, std::shared_ptr<Node> root,
      torch::autograd::InputBuffer&& inputs) override {
    return engine_.execute_with_graph_task(task, std::move(root), std::move(inputs));
  }
  std::unique_ptr<torch::autograd::AnomalyMetadata> make_anomaly_metadata() override {
    return engine_.make_anomaly_metadata();
  }
  std::unique_ptr<torch::autograd::SavedVariableHooks> get_default_saved_variable_hooks() override {
    return engine_.get_default_saved_variable_hooks();
  }
  void thread_on_exception(const std::shared_ptr<GraphTask>& task, const std::shared_ptr<Node>& node,
                           std::exception& error) override {
    engine_.thread_on_exception(task, node, error);
  }
  void thread_init(int device, const std::shared_ptr<torch::autograd::ReadyQueue>& queue,
                   bool counted) override {
    engine_.thread_init(device, queue, counted);
  }

 private:
  Engine& engine_;
};

Engine* installed = nullptr;

}  // namespace

void run_passes_on_calling_thread() {
  static std::once_flag once;
  std::call_once(once, [] {
    installed = new CallingThreadEngine(Engine::get_default_engine());  // lives as long as the process
    torch::autograd::set_default_engine_stub([]() -> Engine& { return *installed; });
  });
}

}  // namespace antegrad::runtime
