#include <ATen/ThreadLocalState.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/anomaly_mode.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <typeindex>
#include <utility>

#include "antegrad/error.h"
#include "antegrad/function.h"
#include "antegrad/grad.h"
#include "aten/autograd_members.h"
#include "engine/backward_pass.h"
#include "engine/entry.h"
#include "engine/hooks.h"
#include "engine/node_functions.h"
#include "engine/phases.h"
#include "trace/trace.h"
#include "util/fork_mutex.h"
#include "util/reasons.h"

namespace antegrad {
namespace {

using compiled_autograd::Stance;
using compiled_autograd::Stats;
using engine::BackwardPass;
using engine::Phase;
using engine::PhaseClock;
using torch::autograd::Engine;
using torch::autograd::GraphTask;
using torch::autograd::Node;
using torch::autograd::variable_list;

thread_local bool enabled_here = false;
thread_local bool inside = false;  ///< this thread runs a segment, which may be captured

constexpr int kMostSizes = 64;  ///< versions of one structure

/// The compiled segments of this process, by structure.
class Passes {
 public:
  /// Returns null when capturing it has failed before.
  std::shared_ptr<detail::Function> find(std::string_view structure) {
    const std::scoped_lock lock(mutex_);
    if (const auto known = functions_.find(structure); known != functions_.end()) return known->second;
    if (failed_.find(structure) != failed_.end()) return nullptr;
    Options options;
    options.name = "backward";
    options.unsupported = Unsupported::Eager;
    options.max_versions = kMostSizes;
    return functions_[std::string(structure)] = std::make_shared<detail::Function>(options);
  }

  void reset() {
    const std::scoped_lock lock(mutex_);
    functions_.clear();
    failed_.clear();
    newest_.reset();
    versions_.clear();
    cuts_.clear();
    stats_ = {};
    engine::forget_hooks();
  }

  void count_eager(const std::string& reason) {
    const std::scoped_lock lock(mutex_);
    ++stats_.passes;
    ++stats_.eager;
    note(reason);
  }
  void set_failed(std::string_view structure, const std::string& reason) {
    const std::scoped_lock lock(mutex_);
    if (const auto found = functions_.find(structure); found != functions_.end()) {
      versions_.erase(found->second.get());
      functions_.erase(found);
    }
    failed_.emplace(structure);
    note(reason);
  }
  void count_eager_segment(const std::string& reason) {
    const std::scoped_lock lock(mutex_);
    note(reason);
  }
  void count_pass(const BackwardPass& pass) {
    const std::scoped_lock lock(mutex_);
    ++stats_.passes;
    for (const auto& [node, why] : pass.cuts())
      if (cuts_.emplace(typeid(*node), why).second)
        append_unique(stats_.cut_reasons, fmt::format("{}: {}", node->name(), why));
  }
  /// Counts a capture of `function`: a new version, or one that serves other sizes, too.
  void count_capture(const std::shared_ptr<detail::Function>& function, const std::string& first_reason) {
    const auto report = function->report();
    const std::scoped_lock lock(mutex_);
    auto& versions = versions_[function.get()];
    if (report.captures <= versions) return;
    versions = report.captures;
    newest_ = function;
    const auto& reasons = report.recapture_reasons;
    const auto reason = reasons.empty() ? first_reason : reasons.back();
    ++stats_.captures;
    keep_newest(stats_.capture_reasons, reason);
  }
  Stats stats() {
    const std::scoped_lock lock(mutex_);
    return stats_;
  }

  std::string graph() {
    const std::scoped_lock lock(mutex_);
    return newest_ != nullptr ? newest_->graph_text() : "";
  }

  std::atomic<Stance> stance = Stance::Normal;

  static Passes& instance() {
    static auto* passes = new Passes();  // threads may outlive statics
    return *passes;
  }

 private:
  void note(const std::string& reason) {
    if (append_unique(stats_.eager_reasons, reason)) trace::warn("compiled_autograd", reason);
  }

  BriefMutex mutex_;
  std::map<std::string, std::shared_ptr<detail::Function>, std::less<>> functions_;
  std::set<std::string, std::less<>> failed_;
  std::map<const detail::Function*, uint64_t> versions_;    ///< captures that are in the stats
  std::set<std::pair<std::type_index, const char*>> cuts_;  ///< cuts that are in the stats
  std::shared_ptr<const detail::Function> newest_;
  Stats stats_;
};

/// Does what Engine::execute() does without compiled autograd.
variable_list run_by_engine(const std::shared_ptr<Node>& root, const GraphTask& task) {
  const auto shared = std::const_pointer_cast<GraphTask>(task.shared_from_this());
  Engine::get_default_engine().execute_with_graph_task(shared, root,
                                                       torch::autograd::InputBuffer(variable_list()));
  shared->future_result_->wait();
  for (const auto& warning : std::exchange(aten::warnings_of(shared->warning_handler_), {}))
    c10::warn(warning);
  return shared->future_result_->value().toTensorVector();
}

/// A whole pass as one node. As the engine runs it, it is inside the pass for everyone who asks the engine
/// (which gradients are wanted, callbacks for the end of the pass, nested backward passes).
class PassNode final : public Node {
 public:
  PassNode(BackwardPass pass, GraphTask& task) : pass_(std::move(pass)), task_(task) {}
  variable_list apply(variable_list&&) override;
  std::string name() const override { return "AntegradBackwardPass"; }

 private:
  BackwardPass pass_;
  GraphTask& task_;
};

/// Runs a pass as one node. The engine runs only nodes of exec_info_, unless that is empty, so the node is
/// added to it.
variable_list run_inside_engine(BackwardPass pass, const GraphTask& const_task) {
  auto& task = const_cast<GraphTask&>(const_task);
  const std::shared_ptr<Node> node(new PassNode(std::move(pass), task), torch::autograd::deleteNode);
  if (!task.exec_info_.empty()) task.exec_info_[node.get()].needed_ = true;
  return run_by_engine(node, task);
}

struct Inside {
  Inside() { inside = true; }
  ~Inside() { inside = false; }
};

/// Returns nothing when the segment is to run node by node.
std::optional<variable_list> run_segment(engine::Segment& segment, variable_list&& gradients,
                                         const std::function<void()>& let_go) {
  auto& passes = Passes::instance();
  const auto nodes = segment.plan().nodes.size();
  PhaseClock::mark(Phase::Give);
  const auto function = passes.find(segment.structure());
  if (function == nullptr) return std::nullopt;
  PhaseClock::mark(Phase::Find);
  bool captured = false;
  bool running = false;
  const auto run = [&](const std::vector<at::Tensor>& tensors) {
    captured = true;
    if (passes.stance == Stance::FailOnRecompile)
      throw Error(ErrorCode::CacheMiss, "compiled autograd",
                  fmt::format("a segment of {} nodes would have to be captured", nodes),
                  "Run it once with Stance::Normal");
    return detail::Outcome{segment.trace(tensors), nullptr, false};
  };
  const auto keep = []() -> detail::OwnedRun { return nullptr; };
  const Inside guard;
  detail::Outcome outcome;
  try {
    auto leaves = segment.leaves(std::move(gradients));
    PhaseClock::mark(Phase::Lift);
    outcome = function->consume(std::move(leaves), run, keep, [&] {
      running = true;
      PhaseClock::mark(Phase::Find);
      let_go();
      PhaseClock::mark(Phase::Release);
    });
    PhaseClock::mark(Phase::Run);
  } catch (const c10::Error& error) {  // a sparse gradient, or what eager throws too
    if (!captured || running) throw;
    passes.set_failed(segment.structure(), error.what_without_backtrace());
    return std::nullopt;
  }
  if (outcome.eager) {
    const auto reasons = function->report().eager_reasons;
    const auto& hook = segment.failed_hook();  // the next pass is cut there
    engine::set_untraceable(hook);
    passes.count_eager_segment(hook.type != nullptr ? hook.reason
                               : reasons.empty()    ? "it cannot be captured"
                                                    : reasons.back());
    return std::nullopt;
  }
  if (captured) {
    passes.count_capture(function, fmt::format("a new structure of {} nodes", nodes));
    if (const auto reason = engine::note_new_graph(segment.hooked()); !reason.empty())
      passes.count_eager_segment(reason);
  }
  return std::move(outcome.tensors);
}

variable_list PassNode::apply(variable_list&&) {
  PhaseClock::mark(Phase::Engine);
  const auto note = [](const std::string& reason) { Passes::instance().count_eager_segment(reason); };
  task_.captured_vars_ = pass_.run(run_segment, note);
  return {};
}

/// Returns nothing when the engine is to run the pass.
std::optional<BackwardPass> make_pass(const std::shared_ptr<Node>& root, const GraphTask& task,
                                      size_t outputs, std::string& reason) {
  try {
    return std::make_optional<BackwardPass>(root, task, outputs);
  } catch (const c10::Error& error) {  // among them errors that eager throws when it gets there
    reason = error.what_without_backtrace();
  } catch (const Error& error) {
    reason = error.what();
  }
  return std::nullopt;
}

variable_list backward(const std::shared_ptr<Node>& root, const GraphTask& task, bool,
                       const torch::autograd::edge_list& outputs) {
  engine::leave_entry();
  if (!enabled_here || inside || detail::capturing()) return run_by_engine(root, task);
  PhaseClock::mark(Phase::Engine);
  auto& passes = Passes::instance();
  std::string reason = "Stance::ForceEager";
  if (passes.stance != Stance::ForceEager) {
    const at::ThreadLocalStateGuard as_the_caller(task.thread_locals_);
    const bool anomalies = torch::autograd::AnomalyMode::is_enabled();
    reason = anomalies ? "anomaly mode" : "create_graph: the gradients have a history of their own";
    if (!anomalies && !c10::GradMode::is_enabled())
      if (auto pass = make_pass(root, task, outputs.size(), reason)) {
        passes.count_pass(*pass);
        return run_inside_engine(std::move(*pass), task);
      }
  }
  passes.count_eager(reason);
  return run_by_engine(root, task);
}

/// Installs compiled autograd for the life of the process: the engine does not support switching while any
/// thread is in a backward pass. Passes of threads that have not enabled it are handed back.
void install() {
  static std::once_flag once;
  std::call_once(once, [] {
    engine::install_node_functions();
    engine::install_hooks();
    engine::install_entry();
    Engine::set_compiled_autograd(backward);
  });
}

void set_enabled(bool wanted) {
  if (wanted) install();
  enabled_here = wanted;
}

}  // namespace

CompiledAutograd::CompiledAutograd(bool enabled) : before_(enabled_here) { set_enabled(enabled); }

CompiledAutograd::~CompiledAutograd() { enabled_here = before_; }

namespace compiled_autograd {

void enable() { set_enabled(true); }
void disable() { set_enabled(false); }
void reset() { Passes::instance().reset(); }
Stats stats() { return Passes::instance().stats(); }
std::string graph() { return Passes::instance().graph(); }
void set_stance(Stance stance) { Passes::instance().stance = stance; }

}  // namespace compiled_autograd
}  // namespace antegrad
