#include "runtime/plan/placement.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "runtime/plan/memory_plan.h"
#include "runtime/plan/overwrite.h"
#include "schedule/liveness.h"

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
        steps_(static_cast<int32_t>(program.steps.size())),
        live_(schedule::liveness(program)),
        state_(graph_.values.size()) {
    out_.register_of.assign(graph_.values.size(), -1);
    out_.values.resize(graph_.values.size());
    out_.steps.resize(program.steps.size());
    first_write_ = options.in_place.any() ? options.in_place.first : steps_;
  }

  Placement run() {
    find_device();
    find_tensors();
    keep_inputs_for_errors();
    assign_registers();
    adopt();
    for (int32_t s = 0; s < steps_; ++s) give_memory(s);
    plan_arena();
    find_dying();
    allocate_before_writes();
    return std::move(out_);
  }

 private:
  struct State {
    bool leaves = false;        ///< it owns its memory, and an output of the graph is on it
    bool needs_tensor = false;  ///< LibTorch or the caller reads it
    bool is_donated = false;    ///< an output of a kernel takes over its memory
    bool is_checked = false;    ///< an input from which indices are computed
    int32_t block = -1;         ///< index in blocks_; -1 when it is not in the arena
  };

  const RunKernel* kernel_step(int32_t s) const { return std::get_if<RunKernel>(&program_.steps[s]); }
  const ir::Node& node_of(int32_t s) const { return program_.node_of(std::get<RunNode>(program_.steps[s])); }

  void need_tensor(ir::ValueId v) { state_[v].needs_tensor = true; }
  State& storage(ir::ValueId v) { return state_[graph_.storage_of(v)]; }
  int32_t storage_end(ir::ValueId v) const { return live_.storage(v).last; }

  void find_device() {
    for (int32_t s = 0; s < steps_; ++s) {
      const auto* call = kernel_step(s);
      if (call == nullptr || program_.kernel_of(*call).device == ir::Device::Kind::Cpu) continue;
      const auto& kernel = program_.kernel_of(*call);
      const auto passed = passed_buffers(kernel);
      for (size_t b = 0; b < passed.size(); ++b)
        if (kernel.buffers[passed[b]].kind == Buffer::Kind::Output)
          out_.device = graph_.tensor_type(call->buffers[b]).device;
    }
  }

  void find_tensors() {
    for (int32_t s = 0; s < steps_; ++s) {
      if (kernel_step(s) != nullptr) continue;
      const auto& node = node_of(s);
      const auto need = [&](ir::ValueId v) { need_tensor(v); };
      ir::for_each_input(node, need);
      for (auto v : node.effects.writes) need(v);
      for (auto v : node.outputs) need(v);
      // LibTorch copies the whole storage of what it scatters into, so it must not be the arena.
      if (node.op.find("_scatter") != std::string::npos && !node.args.empty())
        if (const auto* into = node.args[0].as<ir::ValueId>()) storage(*into).leaves = true;
    }
    for (const auto& output : graph_.outputs) {
      if (!output.value.valid()) continue;
      need_tensor(output.value);
      storage(output.value).leaves = true;
    }
  }

  /// When a kernel finds a bad index, LibTorch raises the error, for which it needs what indices are computed
  /// from.
  void keep_inputs_for_errors() {
    out_.checks = options_.checks ? options_.checks : index_checks(program_);
    if (!out_.checks) return;
    int32_t last = -1;
    for (int32_t s = 0; s < steps_; ++s)
      if (const auto* call = kernel_step(s))
        if (may_fail(program_.kernel_of(*call))) last = s;
    for (auto i : out_.checks->inputs) {
      if (i < 0) continue;
      const auto value = graph_.inputs[i].value;
      live_.use(value, last);
      state_[value].is_checked = true;
    }
  }

  void assign_register(ir::ValueId v) {
    auto& slot = out_.register_of[v];
    if (slot < 0) slot = out_.registers++;
  }

  void assign_registers() {
    for (const auto& input : graph_.inputs)
      if (live_.value(input.value).is_used()) assign_register(input.value);
    for (int32_t s = 0; s < steps_; ++s)
      if (kernel_step(s) == nullptr)
        for (auto v : node_of(s).outputs) assign_register(v);
  }

  /// Gives results that are written to inputs the memory of those.
  void adopt() {
    for (const auto& write : options_.in_place.writes) {
      if (!write.direct()) continue;
      const auto result = graph_.outputs[write.output].value;
      const auto input = graph_.inputs[write.input].value;
      assign_register(input);
      assign_register(result);
      state_[input].is_donated = true;
      out_.adoptions.emplace_back(out_.register_of[result], out_.register_of[input]);
    }
  }

  void give_memory(int32_t s) {
    if (const auto* call = kernel_step(s)) {
      const auto& kernel = program_.kernel_of(*call);
      const auto passed = passed_buffers(kernel);
      for (size_t b = 0; b < passed.size(); ++b)
        if (kernel.buffers[passed[b]].kind == Buffer::Kind::Output)
          give_memory_to_output(s, *call, passed, b);
      return;
    }
    const auto& node = node_of(s);
    if (!out_op(node, graph_)) return;
    const auto value = node.outputs[0];
    out_.steps[s].writes_out = true;
    const bool own = has_own_memory(value);
    if (!own) add_block(value, s);
    out_.steps[s].births.push_back({out_.register_of[value], value, own ? -1 : 0, -1});
  }

  /// Large values are worth a tensor: its memory exists while it is needed, and can be donated to an output.
  /// So are those that steps read which run later: the arena does not wait for them.
  bool has_own_memory(ir::ValueId v) const {
    return state_[v].leaves || (options_.in_place.deferred && storage_end(v) >= first_write_) ||
           graph_.tensor_type(v).device != out_.device || bytes_of(graph_.tensor_type(v)) >= kSmallestPooled;
  }

  void give_memory_to_output(int32_t s, const RunKernel& call, const std::vector<int32_t>& passed, size_t b) {
    const auto value = call.buffers[b];
    if (state_[value].block >= 0 || out_.register_of[value] >= 0) return;  // an earlier step made it
    auto& births = out_.steps[s].births;
    if (has_own_memory(value)) {
      assign_register(value);
      const auto donor = find_donor(s, call, passed, b, false);
      births.push_back({out_.register_of[value], value, -1, donor ? out_.register_of[*donor] : -1});
      return;
    }
    if (const auto donor = find_donor(s, call, passed, b, true)) {
      auto& block = blocks_[state_[*donor].block];
      block.end = std::max(block.end, storage_end(value));
      state_[value].block = state_[*donor].block;
    } else {
      add_block(value, s);
    }
    if (state_[value].needs_tensor) {
      assign_register(value);
      births.push_back({out_.register_of[value], value, 0, -1});
    }
  }

  /// Returns an input of the kernel that nobody reads afterwards and whose memory the output may take over.
  std::optional<ir::ValueId> find_donor(int32_t s, const RunKernel& call, const std::vector<int32_t>& passed,
                                        size_t output, bool in_arena) {
    const auto& kernel = program_.kernel_of(call);
    for (size_t b = 0; b < passed.size(); ++b) {
      const auto value = call.buffers[b];
      if (kernel.buffers[passed[b]].kind != Buffer::Kind::Input) continue;
      if (storage_end(value) != s || graph_.storage_of(value) != value || state_[value].is_donated) continue;
      if (state_[value].is_checked) continue;  // must stay as it was in case the kernel fails
      if ((state_[value].block >= 0) != in_arena) continue;
      if (std::count(call.buffers.begin(), call.buffers.end(), value) != 1) continue;
      if (bytes_of(graph_.tensor_type(value)) != bytes_of(graph_.tensor_type(call.buffers[output]))) continue;
      if (!may_overwrite(kernel, passed[b], passed[output], options_.symbols)) continue;
      state_[value].is_donated = true;
      return value;
    }
    return std::nullopt;
  }

  void add_block(ir::ValueId v, int32_t s) {
    state_[v].block = static_cast<int32_t>(blocks_.size());
    blocks_.push_back({bytes_of(graph_.tensor_type(v)), s, std::max(s, storage_end(v))});
  }

  /// The step at which the arena of a block must exist: no memory is allocated once inputs are written.
  int32_t arena_begin(const Block& block) const { return std::min(block.begin, first_write_); }

  /// Blocks are in the order of their first steps. The arena ends where no block is needed.
  void plan_arena() {
    std::vector<int64_t> offsets;
    for (size_t first = 0; first < blocks_.size();) {
      auto end = blocks_[first].end;
      auto next = first + 1;
      for (; next < blocks_.size() && arena_begin(blocks_[next]) <= end; ++next)
        end = std::max(end, blocks_[next].end);
      const auto plan = plan_memory(
          {blocks_.begin() + static_cast<int64_t>(first), blocks_.begin() + static_cast<int64_t>(next)});
      offsets.insert(offsets.end(), plan.offsets.begin(), plan.offsets.end());
      out_.arena_bytes = std::max(out_.arena_bytes, plan.bytes);
      out_.steps[arena_begin(blocks_[first])].arena_begin = std::max(plan.bytes, kAlignment);
      out_.steps[end].arena_end = true;
      first = next;
    }
    for (const auto v : state_.ids())
      if (state_[v].block >= 0) out_.values[v].arena_offset = offsets[state_[v].block];
    for (auto& step : out_.steps)
      for (auto& birth : step.births)
        if (birth.arena_offset >= 0) birth.arena_offset = out_.values[birth.value].arena_offset;
  }

  void find_dying() {
    for (const auto v : out_.values.ids()) {
      const auto last = out_.values[v].last_use = live_.value(v).last;
      if (last >= 0 && last < steps_ && out_.register_of[v] >= 0)
        out_.steps[last].dying.push_back(out_.register_of[v]);
    }
  }

  void allocate_before_writes() {
    for (auto s = first_write_ + 1; s < steps_; ++s) {
      auto &first = out_.steps[first_write_].births, &births = out_.steps[s].births;
      first.insert(first.end(), births.begin(), births.end());
      births.clear();
    }
  }

  const Program& program_;
  const ir::Graph& graph_;
  const PlacementOptions options_;
  const int32_t steps_;
  int32_t first_write_ = 0;  ///< the first step that writes to an input; the number of steps if none does
  ir::Liveness live_;        ///< over the steps
  Placement out_;
  ir::PerValue<State> state_;
  std::vector<Block> blocks_;
};

}  // namespace

/// Whether the parts of a concatenation are dense CPU tensors of the result's type.
static bool joins_alike(const ir::Node& node, const ir::Graph& graph) {
  const auto* parts = node.args.empty() ? nullptr : node.args[0].as<ir::Arg::List>();
  const auto& out = graph.tensor_type(node.outputs[0]);
  return parts != nullptr && std::ranges::all_of(*parts, [&](const ir::Arg& part) {
           const auto* value = part.as<ir::ValueId>();
           if (value == nullptr || !value->valid()) return false;
           const auto& type = graph.tensor_type(*value);
           return type.dtype == out.dtype && type.device == out.device &&
                  type.sizes.size() == out.sizes.size();
         });
}

std::optional<OutOp> out_op(const ir::Node& node, const ir::Graph& graph) {
  constexpr std::array<std::pair<std::string_view, OutOp>, 5> kOps = {{{"aten.mm", OutOp::Mm},
                                                                       {"aten.bmm", OutOp::Bmm},
                                                                       {"aten.addmm", OutOp::Addmm},
                                                                       {"aten.baddbmm", OutOp::Baddbmm},
                                                                       {"aten.cat", OutOp::Cat}}};
  const auto found = std::ranges::find(kOps, node.op, &std::pair<std::string_view, OutOp>::first);
  if (found == kOps.end() || node.outputs.size() != 1 || node.functional) return std::nullopt;
  const auto& type = graph.tensor_type(node.outputs[0]);
  if (type.device.kind != ir::Device::Kind::Cpu || !type.is_contiguous() || ir::is_complex(type.dtype))
    return std::nullopt;
  if (found->second == OutOp::Cat && !joins_alike(node, graph)) return std::nullopt;
  return found->second;
}

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
