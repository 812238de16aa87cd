#include "runtime/placement.h"

#include <algorithm>
#include <optional>

#include "runtime/memory_plan.h"
#include "runtime/memory_pool.h"
#include "runtime/overwrite.h"

namespace antegrad::runtime {
namespace {

using schedule::Buffer;
using schedule::Program;
using schedule::RunKernel;
using schedule::RunNode;

class Placer {
 public:
  Placer(const Program& program, const PlacementOptions& options)
      : program_(program),
        graph_(program.graph),
        options_(options),
        steps_(static_cast<int32_t>(program.steps.size())) {
    const auto values = graph_.values.size();
    out_.register_of.assign(values, -1);
    out_.arena_offset.assign(values, -1);
    out_.last_use.assign(values, -1);
    out_.births.resize(program.steps.size());
    out_.dying.resize(program.steps.size() + 1);
    out_.writes_out.resize(program.steps.size());
    out_.arena_begin.resize(program.steps.size());
    out_.arena_end.resize(program.steps.size());
    storage_end_.assign(values, -1);
    leaves_.resize(values);
    tensor_needed_.resize(values);
    donated_.resize(values);
    checked_.resize(values);
    block_of_.assign(values, -1);
  }

  Placement run() {
    find_uses();
    keep_inputs_for_errors();
    assign_registers();
    for (int32_t s = 0; s < steps_; ++s) give_memory(s);
    plan_arena();
    find_dying();
    return std::move(out_);
  }

 private:
  static size_t at(ir::ValueId v) { return static_cast<size_t>(v.index); }
  const RunKernel* kernel_step(int32_t s) const {
    return std::get_if<RunKernel>(&program_.steps[static_cast<size_t>(s)]);
  }
  const ir::Node& node_of(int32_t s) const {
    const auto node = std::get<RunNode>(program_.steps[static_cast<size_t>(s)]).node;
    return graph_.nodes[static_cast<size_t>(node)];
  }

  void use(ir::ValueId v, int32_t step) {
    out_.last_use[at(v)] = std::max(out_.last_use[at(v)], step);
    auto& end = storage_end_[at(graph_.storage_of(v))];
    end = std::max(end, step);
  }
  void need_tensor(ir::ValueId v) { tensor_needed_[at(v)] = true; }

  void find_uses() {
    for (int32_t s = 0; s < steps_; ++s) {
      if (const auto* call = kernel_step(s)) {
        for (auto v : call->buffers) use(v, s);
        continue;
      }
      const auto& node = node_of(s);
      auto take = [&](ir::ValueId v) {
        use(v, s);
        need_tensor(v);
      };
      ir::for_each_input(node, take);
      for (auto v : node.effects.writes) take(v);
      for (auto v : node.outputs) take(v);
      // LibTorch copies the whole storage of what it scatters into: not the arena.
      if (node.op.find("_scatter") != std::string::npos && !node.args.empty())
        if (const auto* into = node.args[0].as<ir::ValueId>()) leaves_[at(graph_.storage_of(*into))] = true;
    }
    for (const auto& output : graph_.outputs) {
      if (!output.value.valid()) continue;
      use(output.value, steps_);
      need_tensor(output.value);
      leaves_[at(graph_.storage_of(output.value))] = true;
    }
  }

  /// A kernel that finds a bad index has LibTorch raise the error, which needs what indices are made from.
  void keep_inputs_for_errors() {
    out_.checks = index_checks(program_);
    if (!out_.checks) return;
    int32_t last = -1;
    for (int32_t s = 0; s < steps_; ++s)
      if (const auto* call = kernel_step(s))
        if (may_fail(program_.kernels[static_cast<size_t>(call->kernel)])) last = s;
    for (auto i : out_.checks->inputs) {
      if (i < 0) continue;
      const auto value = graph_.inputs[static_cast<size_t>(i)].value;
      use(value, last);
      checked_[at(value)] = true;
    }
  }

  void assign_register(ir::ValueId v) {
    auto& slot = out_.register_of[at(v)];
    if (slot < 0) slot = out_.registers++;
  }

  void assign_registers() {
    for (const auto& input : graph_.inputs)
      if (out_.last_use[at(input.value)] >= 0) assign_register(input.value);
    for (int32_t s = 0; s < steps_; ++s)
      if (kernel_step(s) == nullptr)
        for (auto v : node_of(s).outputs) assign_register(v);
  }

  void give_memory(int32_t s) {
    if (const auto* call = kernel_step(s)) {
      const auto& kernel = program_.kernels[static_cast<size_t>(call->kernel)];
      const auto passed = passed_buffers(kernel);
      for (size_t b = 0; b < passed.size(); ++b)
        if (kernel.buffers[static_cast<size_t>(passed[b])].kind == Buffer::Kind::Output)
          give_memory_to_output(s, *call, passed, b);
      return;
    }
    const auto& node = node_of(s);
    if (!has_out_call(node, graph_)) return;
    const auto value = node.outputs[0];
    out_.writes_out[static_cast<size_t>(s)] = true;
    const bool own = has_own_memory(value);
    if (!own) add_block(value, s);
    out_.births[static_cast<size_t>(s)].push_back({out_.register_of[at(value)], value, own ? -1 : 0, -1});
  }

  /// What is large is worth a tensor: its memory is there while it is needed, and can become an output's.
  bool has_own_memory(ir::ValueId v) const {
    return leaves_[at(v)] || bytes_of(graph_.tensor_type(v)) >= static_cast<int64_t>(memory_pool::kSmallest);
  }

  void give_memory_to_output(int32_t s, const RunKernel& call, const std::vector<int32_t>& passed, size_t b) {
    const auto value = call.buffers[b];
    if (block_of_[at(value)] >= 0 || out_.register_of[at(value)] >= 0) return;  // an earlier step made it
    auto& births = out_.births[static_cast<size_t>(s)];
    if (has_own_memory(value)) {
      assign_register(value);
      const auto donor = find_donor(s, call, passed, b, false);
      births.push_back({out_.register_of[at(value)], value, -1, donor ? out_.register_of[at(*donor)] : -1});
      return;
    }
    if (const auto donor = find_donor(s, call, passed, b, true)) {
      auto& block = blocks_[static_cast<size_t>(block_of_[at(*donor)])];
      block.end = std::max(block.end, storage_end_[at(value)]);
      block_of_[at(value)] = block_of_[at(*donor)];
    } else {
      add_block(value, s);
    }
    if (needs_tensor(value)) {
      assign_register(value);
      births.push_back({out_.register_of[at(value)], value, 0, -1});
    }
  }

  bool needs_tensor(ir::ValueId v) const { return tensor_needed_[at(v)]; }

  /// An input of the kernel that nobody reads afterwards, whose memory the output may take.
  std::optional<ir::ValueId> find_donor(int32_t s, const RunKernel& call, const std::vector<int32_t>& passed,
                                        size_t output, bool in_arena) {
    const auto& kernel = program_.kernels[static_cast<size_t>(call.kernel)];
    for (size_t b = 0; b < passed.size(); ++b) {
      const auto value = call.buffers[b];
      if (kernel.buffers[static_cast<size_t>(passed[b])].kind != Buffer::Kind::Input) continue;
      if (storage_end_[at(value)] != s || graph_.storage_of(value) != value || donated_[at(value)]) continue;
      if (checked_[at(value)]) continue;  // as it was, should the kernel fail
      if ((block_of_[at(value)] >= 0) != in_arena) continue;
      if (std::count(call.buffers.begin(), call.buffers.end(), value) != 1) continue;
      if (bytes_of(graph_.tensor_type(value)) != bytes_of(graph_.tensor_type(call.buffers[output]))) continue;
      if (!may_overwrite(kernel, passed[b], passed[output], options_.symbols)) continue;
      donated_[at(value)] = true;
      return value;
    }
    return std::nullopt;
  }

  void add_block(ir::ValueId v, int32_t s) {
    block_of_[at(v)] = static_cast<int32_t>(blocks_.size());
    blocks_.push_back({bytes_of(graph_.tensor_type(v)), s, std::max(s, storage_end_[at(v)])});
  }

  /// Blocks are in the order of their first steps. Where none is needed the arena ends.
  void plan_arena() {
    std::vector<int64_t> offsets;
    for (size_t first = 0; first < blocks_.size();) {
      auto end = blocks_[first].end;
      auto next = first + 1;
      for (; next < blocks_.size() && blocks_[next].begin <= end; ++next)
        end = std::max(end, blocks_[next].end);
      const auto plan = plan_memory(
          {blocks_.begin() + static_cast<int64_t>(first), blocks_.begin() + static_cast<int64_t>(next)});
      offsets.insert(offsets.end(), plan.offsets.begin(), plan.offsets.end());
      out_.arena_bytes = std::max(out_.arena_bytes, plan.bytes);
      out_.arena_begin[static_cast<size_t>(blocks_[first].begin)] = std::max(plan.bytes, kAlignment);
      out_.arena_end[static_cast<size_t>(end)] = true;
      first = next;
    }
    for (size_t v = 0; v < block_of_.size(); ++v)
      if (block_of_[v] >= 0) out_.arena_offset[v] = offsets[static_cast<size_t>(block_of_[v])];
    for (auto& births : out_.births)
      for (auto& birth : births)
        if (birth.arena_offset >= 0) birth.arena_offset = out_.arena_offset[at(birth.value)];
  }

  void find_dying() {
    for (size_t v = 0; v < out_.last_use.size(); ++v)
      if (out_.last_use[v] >= 0 && out_.register_of[v] >= 0)
        out_.dying[static_cast<size_t>(out_.last_use[v])].push_back(out_.register_of[v]);
  }

  const Program& program_;
  const ir::Graph& graph_;
  const PlacementOptions options_;
  const int32_t steps_;
  Placement out_;
  std::vector<int32_t> storage_end_;  ///< by value that owns its memory: the last step that reads it
  std::vector<bool> leaves_;          ///< by value that owns its memory: an output of the graph is on it
  std::vector<bool> tensor_needed_;
  std::vector<int32_t> block_of_;  ///< by value; -1: not in the arena
  std::vector<Block> blocks_;
  std::vector<bool> donated_;
  std::vector<bool> checked_;  ///< inputs that indices are made from
};

}  // namespace

Placement place(const Program& program, const PlacementOptions& options) {
  return Placer(program, options).run();
}

std::vector<int32_t> passed_buffers(const schedule::Kernel& kernel) {
  std::vector<int32_t> passed;
  for (size_t b = 0; b < kernel.buffers.size(); ++b)
    if (kernel.buffers[b].kind != Buffer::Kind::Scratch) passed.push_back(static_cast<int32_t>(b));
  return passed;
}

int64_t bytes_of(const ir::TensorType& type) {
  int64_t elements = 1;
  for (size_t d = 0; d < type.sizes.size(); ++d) {
    if (type.sizes[d].constant() == 0) return 0;
    elements += (type.sizes[d].constant() - 1) * type.strides[d].constant();
  }
  return elements * ir::size_in_bytes(type.dtype);
}

}  // namespace antegrad::runtime
