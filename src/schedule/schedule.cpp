#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/text.h"
#include "schedule/build_kernel.h"
#include "schedule/cost.h"
#include "schedule/one_block.h"
#include "schedule/program.h"

namespace antegrad::schedule {
namespace {

/// Turns reshapes of contiguous tensors that autograd does not treat as views into views.
void make_views(ir::Graph& graph) {
  for (auto& node : graph.nodes) {
    const auto* source = node.op == "aten._unsafe_view" ? node.args[0].as<ir::ValueId>() : nullptr;
    if (source == nullptr || !graph.tensor_type(*source).is_contiguous() ||
        !(graph.tensor_type(*source).offset == ir::Dim(0)))
      continue;
    const auto result = node.outputs[0], storage = graph.storage_of(*source);
    node.op = "aten.view";
    graph.values[result].base = storage;
    for (auto& value : graph.values)
      if (value.base == result) value.base = storage;
  }
}

class Scheduler {
 public:
  Scheduler(ir::Graph graph, const Settings& settings) : settings_(settings) {
    out_.graph = std::move(graph);
  }

  Program run(MemoryModel* memory) {
    Fusion fusion(out_.graph, settings_, memory);
    fusion.run();
    fusion_ = &fusion;
    find_stored();
    emitted_.resize(out_.graph.nodes.size());
    for (const auto& unit : fusion.units()) {
      if (unit.group.valid())
        add_kernel(unit.group);
      else
        add_node(unit.node, unit.why);
    }
    for (const auto& output : out_.graph.outputs)
      if (output.value.valid()) add_views(output.value);
    return std::move(out_);
  }

 private:
  void find_stored() {
    stored_.assign(out_.graph.values.size(), false);
    const auto mark = [&](ir::ValueId id) {
      if (const auto owner = fusion_->places().owner(id); owner.valid()) stored_[owner] = true;
    };
    for (const auto& unit : fusion_->units())
      if (unit.node.valid()) {
        ir::for_each_input(out_.graph.node(unit.node), mark);
        for (auto id : out_.graph.node(unit.node).effects.writes) mark(id);
      }
    for (const auto& output : out_.graph.outputs)
      if (output.value.valid()) mark(output.value);
    for (const auto& item : fusion_->items()) {
      if (!item.group.valid()) continue;
      if (item.source.valid()) mark(item.source);
      if (item.part) stored_[item.output] = true;
      for (const auto& operand : item.operands) {
        if (!operand.value.valid()) continue;
        for (auto maker : fusion_->makers(operand.value))
          if (fusion_->item(maker).group != item.group) mark(operand.value);
      }
    }
  }

  /// Adds the nodes of views that LibTorch or the caller reads.
  void add_views(ir::ValueId id) {
    if (!fusion_->places().is_view(id)) return;
    const auto node = fusion_->places().view_node(id);
    if (emitted_[node]) return;
    add_views(fusion_->places().viewed(id));
    emitted_[node] = true;
    out_.steps.emplace_back(RunNode{node});
  }

  void add_node(ir::NodeId node, const std::string& why) {
    ir::for_each_input(out_.graph.node(node), [&](ir::ValueId id) { add_views(id); });
    out_.steps.emplace_back(RunNode{node});
    out_.decisions.push_back({{node.index}, "LibTorch", why});
  }

  void add_kernel(GroupId group) {
    auto built = build_kernel(*fusion_, group, stored_);
    if (built.kernel.sections.empty()) return;  // no result is used
    built.kernel.text = text_of(group, built);
    Decision decision;
    for (auto index : fusion_->group(group).items) {
      const auto node = fusion_->item(index).node;
      if (decision.nodes.empty() || decision.nodes.back() != node.index) decision.nodes.push_back(node.index);
    }
    add_memory(built, fusion_->group(group).device);
    const auto count = units(built.kernel);
    const auto grain = grain_of(built.kernel, [&](const ir::Dim& dim) { return fusion_->likely(dim); });
    const auto sections = built.kernel.sections.size();
    const auto kernel = keep(std::move(built.kernel));
    decision.what = fmt::format("kernel {}: {} units, {} sections", out_.kernels[kernel].name,
                                count.to_string(), sections);
    out_.decisions.push_back(std::move(decision));
    out_.steps.emplace_back(RunKernel{kernel, std::move(built.buffers), count, grain});
  }

  /// Adds values for memory that only the kernel uses.
  void add_memory(BuiltKernel& built, const ir::Device& device) {
    size_t passed = 0;
    for (const auto& buffer : built.kernel.buffers) {
      if (buffer.kind == Buffer::Kind::Scratch) continue;
      auto& id = built.buffers[passed++];
      if (!id.valid())
        id = out_.graph.add_value(ir::contiguous_tensor(buffer.dtype, {buffer.elements}, device));
    }
  }

  /// Returns the index of an equal kernel, adding this one when there is none.
  int32_t keep(Kernel kernel) {
    const auto key = to_string(kernel) + kernel.text;
    const auto [at, added] = known_.emplace(key, static_cast<int32_t>(out_.kernels.size()));
    if (!added) return at->second;
    kernel.name = fmt::format("k{}_{}", out_.kernels.size(), short_name(kernel));
    out_.kernels.push_back(std::move(kernel));
    return at->second;
  }

  static std::string short_name(const Kernel& kernel) {
    for (auto section = kernel.sections.rbegin(); section != kernel.sections.rend(); ++section)
      for (auto op = section->ops.rbegin(); op != section->ops.rend(); ++op) {
        auto name = op->comment.substr(0, op->comment.find(' '));
        if (name.empty()) continue;
        name = name.substr(name.find('.') + 1);
        name = name.substr(0, name.find('.'));
        std::ranges::replace_if(
            name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
        return name;
      }
    return "kernel";
  }

  /// Prints the nodes of a group as a graph, with values numbered from zero so that equal groups have equal
  /// texts.
  std::string text_of(GroupId group, const BuiltKernel& built) const {
    std::string text;
    std::map<int32_t, int32_t> names;
    const auto name = [&](ir::ValueId id) {
      return fmt::format("%{}", names.emplace(id.index, static_cast<int32_t>(names.size())).first->second);
    };
    for (size_t i = 0; i < built.buffers.size(); ++i)
      text += fmt::format("{} = buffer {}\n", name(built.buffers[i]), i);
    for (auto index : fusion_->group(group).items) {
      const auto& item = fusion_->item(index);
      std::string operands;
      for (const auto& operand : item.operands) {
        if (!operands.empty()) operands += ", ";
        operands += operand.value.valid() ? name(operand.value) : to_string(operand.number);
      }
      text += fmt::format("{}: {} = {}({})\n", name(item.output), ir::print(out_.graph.type_of(item.output)),
                          out_.graph.node(item.node).op, operands);
    }
    return text;
  }

  const Settings& settings_;
  Program out_;
  const Fusion* fusion_ = nullptr;
  ir::PerValue<bool> stored_;
  ir::PerNode<bool> emitted_;
  std::map<std::string, int32_t> known_;
};

}  // namespace

const Target* Settings::target_for(const ir::Device& device) const {
  if (device.kind == target.device) return &target;
  return cuda && device.kind == cuda->device ? &*cuda : nullptr;
}

namespace {

Program schedule_in_memory(const ir::Graph& graph, const Settings& settings) {
  auto viewed = graph;
  make_views(viewed);
  auto program = Scheduler(viewed, settings).run(nullptr);
  MemoryModel memory(viewed);
  const auto peak = peak_bytes(program);
  if (peak <= memory.peak() + kMemorySlack) return program;
  auto smaller = Scheduler(viewed, settings).run(&memory);
  return peak_bytes(smaller) < peak ? smaller : program;
}

}  // namespace

Program schedule(const ir::Graph& graph, const Settings& settings) {
  auto program = schedule_in_memory(graph, settings);
  if (settings.fuse) join_small_kernels(program);
  return program;
}

}  // namespace antegrad::schedule
