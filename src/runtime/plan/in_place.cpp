#include "runtime/plan/in_place.h"

#include <algorithm>
#include <optional>

#include "runtime/plan/overwrite.h"
#include "runtime/plan/placement.h"

namespace antegrad::runtime {
namespace {

using schedule::Buffer;
using schedule::Kernel;
using schedule::OpCode;
using schedule::Program;
using schedule::RunKernel;

/// Returns whether all the kernel does is copy the buffer `input` to the buffer `output`, each element to its
/// own place.
bool is_identity(const Kernel& kernel, int32_t input, int32_t output) {
  for (const auto& section : kernel.sections) {
    const auto& ops = section.ops;
    if (ops.size() != 2 || ops[0].code != OpCode::Load || ops[1].code != OpCode::Store) return false;
    if (ops[0].buffer != input || ops[1].buffer != output || !ops[0].indirect.empty()) return false;
    if (ops[1].args != std::vector<int32_t>{ops[0].result} || ops[0].dtype != ops[1].dtype) return false;
    if (ops[0].address != ops[1].address) return false;
  }
  return kernel.chunks == ir::Dim(0) && kernel.clear.empty() && kernel.parts.empty();
}

/// Returns whether the elements of the type fill its memory, each once.
bool is_dense(const ir::TensorType& type) {
  int64_t elements = 1;
  for (const auto& size : type.sizes) elements *= size.constant();
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t d = 0; d < type.sizes.size(); ++d)
    if (type.sizes[d].constant() > 1) dims.emplace_back(type.strides[d].constant(), type.sizes[d].constant());
  std::sort(dims.begin(), dims.end());
  int64_t expected = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != expected) return false;
    expected *= size;
  }
  return elements > 0;
}

class Planner {
 public:
  Planner(const InputWrites& writes, const std::vector<int64_t>& symbols, Program& program)
      : program_(program), graph_(program.graph), symbols_(symbols), strict_(writes.deferred) {
    for (const auto& write : writes.list) targets_.push_back({write, {}, {}, {}, write.refused});
  }

  InPlacePlan run() {
    read_steps();
    for (auto& target : targets_)
      if (target.refused.empty()) examine(target);
    while (refuse_one()) {
    }
    return finish();
  }

 private:
  struct Target {
    InputWrite write;
    ir::ValueId to, from;          ///< the input, and its new contents
    std::vector<int32_t> writers;  ///< steps, in order
    std::string refused;
  };
  /// What a step does to memory, by the values that own it.
  struct StepUse {
    std::vector<ir::ValueId> reads, writes;
    bool may_fail = true;
  };

  void read_steps() {
    for (const auto& step : program_.steps) {
      StepUse use;
      if (const auto* call = std::get_if<RunKernel>(&step)) {
        const auto& kernel = program_.kernel_of(*call);
        const auto passed = passed_buffers(kernel);
        for (size_t b = 0; b < passed.size(); ++b)
          (kernel.buffers[passed[b]].kind == Buffer::Kind::Output ? use.writes : use.reads)
              .push_back(graph_.storage_of(call->buffers[b]));
        use.may_fail = kernel.device != ir::Device::Kind::Cpu || may_fail(kernel);
      } else {
        const auto& node = program_.node_of(std::get<schedule::RunNode>(step));
        ir::for_each_input(node, [&](ir::ValueId v) { use.reads.push_back(graph_.storage_of(v)); });
        for (auto v : node.effects.writes) use.writes.push_back(graph_.storage_of(v));
        bool is_view = node.effects.none() && !node.outputs.empty();
        for (auto v : node.outputs) {
          use.writes.push_back(graph_.storage_of(v));
          is_view = is_view && graph_.storage_of(v) != v;
        }
        use.may_fail = !is_view;
      }
      if (use.may_fail) last_failure_ = static_cast<int32_t>(uses_.size());
      uses_.push_back(std::move(use));
    }
  }

  static bool has(const std::vector<ir::ValueId>& list, ir::ValueId v) {
    return std::find(list.begin(), list.end(), v) != list.end();
  }

  void examine(Target& target) {
    target.to = graph_.inputs[target.write.input].value;
    target.from = graph_.outputs[target.write.output].value;
    target.refused = why_not(target);
  }

  std::string why_not(Target& target) {
    if (graph_.storage_of(target.from) != target.from || graph_.storage_of(target.to) != target.to)
      return "its new contents are a view";
    int returned = 0;
    for (const auto& output : graph_.outputs) {
      if (!output.value.valid()) continue;
      if (graph_.storage_of(output.value) == target.to) return "its old contents are returned or saved";
      if (graph_.storage_of(output.value) == target.from) ++returned;
    }
    if (returned != 1) return "its new contents are returned or saved too";
    const auto &to = graph_.tensor_type(target.to), &from = graph_.tensor_type(target.from);
    if (to.device.kind != ir::Device::Kind::Cpu || from.device.kind != ir::Device::Kind::Cpu)
      return "it is not in memory of the CPU";
    if (to.dtype != from.dtype || to.sizes != from.sizes || !is_dense(to) || !is_dense(from) ||
        !same_order(to, from))
      return "its memory is not dense, or has another layout than its new contents";
    for (size_t s = 0; s < uses_.size(); ++s)
      if (has(uses_[s].writes, target.from)) target.writers.push_back(static_cast<int32_t>(s));
    if (target.writers.empty()) return "its new contents are another input";
    return why_not_by(target);
  }

  static bool same_order(const ir::TensorType& a, const ir::TensorType& b) {
    for (size_t d = 0; d < a.sizes.size(); ++d)
      if (a.sizes[d].constant() > 1 && a.strides[d].constant() != b.strides[d].constant()) return false;
    return true;
  }

  /// Looks at the steps that compute the new contents. Drops those that would copy the input to itself.
  std::string why_not_by(Target& target) {
    std::vector<int32_t> copies;
    bool is_first = true;
    for (auto s : target.writers) {
      const auto* call = std::get_if<RunKernel>(&program_.steps[s]);
      if (call == nullptr) return "LibTorch computes its new contents";
      if (uses_[s].may_fail) return "the kernel that writes it checks indices on the way";
      const auto& kernel = program_.kernel_of(*call);
      const auto passed = passed_buffers(kernel);
      const auto in = std::count(call->buffers.begin(), call->buffers.end(), target.to);
      const auto out = std::count(call->buffers.begin(), call->buffers.end(), target.from);
      if (in > 1 || out != 1) return "a kernel uses it twice";
      const auto place = [&](ir::ValueId v) {
        return passed[std::find(call->buffers.begin(), call->buffers.end(), v) - call->buffers.begin()];
      };
      if (in == 1 && uses_[s].writes.size() == 1 &&
          is_identity(kernel, place(target.to), place(target.from))) {
        copies.push_back(s);
        continue;
      }
      if (in == 1 && (!is_first || !may_overwrite(kernel, place(target.to), place(target.from), symbols_)))
        return "the kernel that writes it reads other elements of the old contents";
      is_first = false;
    }
    if (copies.size() == target.writers.size()) copies.clear();  // someone has to write
    for (auto s : copies) target.writers.erase(std::find(target.writers.begin(), target.writers.end(), s));
    dropped_.insert(dropped_.end(), copies.begin(), copies.end());
    return {};
  }

  bool is_dropped(int32_t s) const {
    if (std::find(dropped_.begin(), dropped_.end(), s) == dropped_.end()) return false;
    return std::any_of(targets_.begin(), targets_.end(), [&](const Target& target) {
      return target.refused.empty() && has(uses_[s].writes, target.from);
    });
  }
  bool is_written_in_place(ir::ValueId v) const {
    return std::any_of(targets_.begin(), targets_.end(),
                       [&](const Target& target) { return target.refused.empty() && target.from == v; });
  }
  bool is_writer(const Target& target, int32_t s) const {
    return std::find(target.writers.begin(), target.writers.end(), s) != target.writers.end();
  }
  bool reads(int32_t s, ir::ValueId v) const { return !is_dropped(s) && has(uses_[s].reads, v); }

  /// Returns why the steps that compute the new contents cannot be moved to the end, or nothing.
  std::string why_not_last(const Target& target) const {
    int64_t kept = 0;
    for (auto s : target.writers) {
      for (auto v : uses_[s].writes)
        if (!is_written_in_place(v)) return "its kernel also computes other values";
      for (auto v : uses_[s].reads)
        if (!is_input(v) && !is_written_in_place(v) && last_read(v) < static_cast<int32_t>(uses_.size()))
          kept += bytes_of(graph_.tensor_type(v));
    }
    for (int32_t s = 0; s < static_cast<int32_t>(uses_.size()); ++s)
      if (reads(s, target.from) && !is_writer(target, s)) return "a later step reads its new contents";
    constexpr int64_t kLittle = 4096;
    if (kept > bytes_of(graph_.tensor_type(target.from)) + kLittle)
      return "more would have to be kept until the end than is written";
    return {};
  }
  bool is_input(ir::ValueId v) const {
    return std::any_of(graph_.inputs.begin(), graph_.inputs.end(),
                       [&](const ir::Input& input) { return input.value == v; });
  }
  int32_t last_read(ir::ValueId v) const {
    for (const auto& output : graph_.outputs)
      if (output.value.valid() && graph_.storage_of(output.value) == v)
        return static_cast<int32_t>(uses_.size());
    for (auto s = static_cast<int32_t>(uses_.size()) - 1; s >= 0; --s)
      if (has(uses_[s].reads, v)) return s;
    return -1;
  }

  /// Whether the target's kernels may stay where they are.
  bool may_stay(const Target& target) const {
    if (strict_ || target.writers.front() <= last_failure_) return false;
    for (auto s = target.writers.front(); s < static_cast<int32_t>(uses_.size()); ++s)
      if (reads(s, target.to) && s != target.writers.front()) return false;
    return true;
  }

  /// The steps in their new order.
  std::vector<int32_t> order() const {
    std::vector<bool> is_last(uses_.size());
    for (const auto& target : targets_)
      if (target.refused.empty() && !may_stay(target))
        for (auto s : target.writers) is_last[s] = true;
    std::vector<int32_t> order;
    for (const bool last : {false, true})
      for (int32_t s = 0; s < static_cast<int32_t>(uses_.size()); ++s)
        if (is_last[s] == last && !is_dropped(s)) order.push_back(s);
    return order;
  }

  /// Finds a target that cannot be written in place beside the others. Returns false when there is none.
  bool refuse_one() {
    for (auto& target : targets_) {
      if (!target.refused.empty() || may_stay(target)) continue;
      target.refused = why_not_last(target);
      if (!target.refused.empty()) return true;
    }
    const auto steps = order();
    for (auto& target : targets_) {
      if (!target.refused.empty()) continue;
      bool written = false, failed_later = false;
      for (auto s : steps) {
        const bool writes = is_writer(target, s);
        if (reads(s, target.to) && written) {
          target.refused = "its old contents are read later";
          return true;
        }
        written = written || writes;
        failed_later = failed_later || (written && uses_[s].may_fail);
      }
      if (failed_later) {
        target.refused = "a later step may fail";
        return true;
      }
    }
    return false;
  }

  InPlacePlan finish() {
    InPlacePlan plan;
    for (const auto& target : targets_)
      plan.writes.push_back({target.write.output, target.write.input, target.refused});
    const auto steps = order();
    plan.first = static_cast<int32_t>(steps.size());
    for (size_t i = steps.size(); i-- > 0;)
      for (const auto& target : targets_)
        if (target.refused.empty() && is_writer(target, steps[i])) plan.first = static_cast<int32_t>(i);
    plan.deferred = strict_ && plan.any();
    std::vector<schedule::Step> moved;
    for (auto s : steps) moved.push_back(program_.steps[s]);
    program_.steps = std::move(moved);
    return plan;
  }

  Program& program_;
  const ir::Graph& graph_;
  const std::vector<int64_t>& symbols_;
  const bool strict_;
  std::vector<Target> targets_;
  std::vector<StepUse> uses_;
  std::vector<int32_t> dropped_;  ///< steps that copy an input to itself when it is written in place
  int32_t last_failure_ = -1;
};

}  // namespace

InputWrites input_writes(const aot::Signature& signature) {
  InputWrites writes;
  for (const auto& step : signature.steps) {
    writes.deferred = writes.deferred || std::holds_alternative<aot::Attach>(step) ||
                      std::holds_alternative<aot::SaveForBackward>(step) ||
                      std::holds_alternative<aot::ResizeInput>(step);
    const auto* write = std::get_if<aot::WriteBack>(&step);
    if (write == nullptr) continue;
    const auto& slots = signature.graph_inputs;
    const auto place = std::find(slots.begin(), slots.end(), write->slot);
    if (place == slots.end()) continue;
    std::string refused;
    if (write->with_history) refused = "autograd records the write";
    if (write->slot >= signature.inputs || !write->members.empty())
      refused = "it shares memory with other inputs";
    for (const auto& other : signature.steps)
      if (const auto* resize = std::get_if<aot::ResizeInput>(&other);
          resize != nullptr && resize->input == write->slot)
        refused = "it is resized";
    writes.list.push_back({write->result, static_cast<int32_t>(place - slots.begin()), std::move(refused)});
  }
  return writes;
}

bool InPlacePlan::any() const {
  return std::any_of(writes.begin(), writes.end(), [](const Write& write) { return write.direct(); });
}

InPlacePlan plan_in_place(const InputWrites& writes, const std::vector<int64_t>& symbols, Program& program) {
  return Planner(writes, symbols, program).run();
}

}  // namespace antegrad::runtime
