#pragma once
// Executes a graph on hashes: the hash of a value is made of the op that computes it and the hashes of its
// arguments, so two graphs compute the same if their outputs have the same hashes. A copy has the hash of its
// source.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/text.h"

namespace antegrad {

inline uint64_t mix(uint64_t a, uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15ULL + (a << 6) + (a >> 2);
  a *= 0xff51afd7ed558ccdULL;
  return a ^ (a >> 33);
}

class SymbolicRun {
 public:
  static constexpr uint64_t kNone = 1;

  /// `inputs` has one hash per input of the graph.
  SymbolicRun(const ir::Graph& graph, const std::vector<uint64_t>& inputs)
      : graph_(graph), hash_(graph.values.size()) {
    for (size_t i = 0; i < inputs.size(); ++i) of(graph.inputs[i].value) = inputs[i];
    for (const auto& node : graph.nodes) run(node);
  }

  std::vector<uint64_t> outputs() const {
    std::vector<uint64_t> out;
    for (const auto& output : graph_.outputs)
      out.push_back(output.value.valid() ? hash_[output.value] : kNone);
    return out;
  }

 private:
  uint64_t& of(ir::ValueId id) { return hash_[id]; }

  uint64_t hash(const ir::Arg& arg) {
    if (const auto* id = arg.as<ir::ValueId>()) return of(*id);
    if (arg.as<ir::None>()) return kNone;
    uint64_t out = arg.v.index();
    if (const auto* list = arg.as<ir::Arg::List>())
      for (const auto& element : *list) out = mix(out, hash(element));
    if (const auto* dim = arg.as<ir::Dim>()) out = mix(out, dim->hash());
    if (const auto* number = arg.as<double>()) out = mix(out, std::hash<double>{}(*number));
    if (const auto* real = arg.as<ir::Real>())
      out = mix(mix(mix(out, static_cast<uint64_t>(real->form)), std::hash<double>{}(real->scale)),
                real->dim.hash());
    if (const auto* truth = arg.as<bool>()) out = mix(out, *truth ? 2 : 3);
    return out;
  }

  void run(const ir::Node& node) {
    if (node.op == "aten.clone" || node.op == "antegrad.restride") {
      of(node.outputs[0]) = hash(node.args[0]);
      return;
    }
    uint64_t all = std::hash<std::string>{}(node.op);
    for (const auto& arg : node.args) all = mix(all, hash(arg));
    for (const auto& attr : node.attrs) all = mix(all, hash(attr.value));
    // The result of a random node depends on its position among the random nodes of its pass.
    if (node.effects.random)
      all = mix(all, 1000 + 2 * static_cast<uint64_t>(drawn_[pass(node)]++) + pass(node));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const auto* kind = std::get_if<ir::ScalarKind>(&graph_.type_of(node.outputs[i]).v);
      of(node.outputs[i]) = kind && *kind == ir::ScalarKind::None ? kNone : mix(all, i);
    }
  }
  static size_t pass(const ir::Node& node) { return node.provenance.backward ? 1 : 0; }

  const ir::Graph& graph_;
  ir::PerValue<uint64_t> hash_;
  int drawn_[2] = {0, 0};
};

}  // namespace antegrad
