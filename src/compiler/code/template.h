#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "compiler/cache/function_cache.h"
#include "compiler/code/captured.h"
#include "compiler/code/numbers.h"
#include "compiler/plan/plan.h"
#include "runtime/calling.h"
#include "trace/trace.h"
#include "util/fork_mutex.h"

namespace antegrad::compiler {

/// The result of compiling a captured function, the same for all its sizes.
struct TemplateParts {
  ir::Graph captured;  ///< functional or joint, before any pass
  NumberSymbols numbers;
  CaptureFacts facts;
  Plan plan;
  std::shared_ptr<const Lowered> forward;  ///< code of plan.forward_graph()
  FunctionCache cache;
  std::shared_ptr<const Lowering> lowering;
  bool deterministic = false;  ///< the flag of the call; also holds for the backward pass, made later
  trace::Context traced;       ///< the trace context of events of this version
  std::vector<at::Tensor> constants = {};  ///< the results of Plan::frozen
  /// Returns code that was compiled elsewhere for a case of the backward pass, and may compute gradients that
  /// are not wanted; null when there is none and it may be compiled. Unset when there is no such code at all.
  std::function<std::shared_ptr<const Lowered>(const std::vector<bool>& which)> ready_backward = {};
};

/// What is compiled once for all sizes of a captured function: the graph over symbols, its forward and
/// backward halves and their kernels. A function of fixed sizes has a template without symbols. Thread-safe.
class Template : public std::enable_shared_from_this<Template> {
 public:
  /// `backward_ahead` as in Options.
  Template(TemplateParts parts, bool backward_ahead)
      : parts_(std::move(parts)), backward_ahead_(backward_ahead) {}

  /// Returns the values of the symbols, of which the first stand for sizes and are given, in a capture. Fails
  /// when the capture differs from the graph.
  Result<std::vector<int64_t>> symbols_in(std::vector<int64_t> sizes, const Captured& captured) const;
  /// Returns the function at these sizes.
  std::unique_ptr<runtime::Caller> instantiate(std::vector<int64_t> symbols, const Captured& captured,
                                               std::shared_ptr<runtime::HigherOrder> higher_order) const;
  /// The same with a calling convention that is known: that of an instance.
  std::unique_ptr<runtime::Caller> instantiate(std::vector<int64_t> symbols, aot::Signature signature,
                                               runtime::BackwardFacts facts) const;
  /// Returns the code of a case of the backward pass, compiled when it is first asked for.
  std::shared_ptr<const Lowered> backward(const runtime::BackwardCase& which) const;
  /// The cases of the backward pass that are compiled by now.
  std::map<std::vector<bool>, std::shared_ptr<const Lowered>> backward_code() const;

  const TemplateParts& parts() const { return parts_; }
  const Plan& plan() const { return parts_.plan; }
  const ir::Graph& captured() const { return parts_.captured; }
  /// The first symbol that stands for a number.
  int32_t first_number() const {
    return static_cast<int32_t>(parts_.captured.symbols.size() - parts_.numbers.places.size());
  }

 private:
  runtime::BackwardFacts backward_facts(const aot::Signature& signature, const capture::Trace& trace) const;

  const TemplateParts parts_;
  const bool backward_ahead_;
  mutable std::atomic<bool> memory_traced_{false};
  mutable LongMutex mutex_{"compiling its backward pass"};  ///< backward passes are compiled one at a time
  mutable std::map<std::vector<bool>, std::shared_ptr<const Lowered>> backward_code_;
};

}  // namespace antegrad::compiler
