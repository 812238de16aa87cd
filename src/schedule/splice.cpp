#include "schedule/splice.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "ir/binary.h"
#include "ir/calls.h"
#include "util/byte_stream.h"

namespace antegrad::schedule {
namespace {

/// The program of a graph that is called, and where its kernels are now.
struct Part {
  Program program;
  std::vector<int32_t> kernels;
};

class Splicer {
 public:
  Splicer(Program program, const std::function<Program(const ir::Graph&)>& program_of)
      : out_(std::move(program)), program_of_(program_of) {
    for (size_t k = 0; k < out_.kernels.size(); ++k)
      known_.emplace(key_of(out_.kernels[k]), static_cast<int32_t>(k));
  }

  Program run() {
    const auto nodes = std::exchange(out_.graph.nodes, {});
    const auto steps = std::exchange(out_.steps, {});
    ir::Inliner inliner(out_.graph);
    ir::PerNode<ir::NodeId> now;
    ir::PerNode<std::vector<Step>> parts;  // of the calls
    std::vector<Decision> decisions;       // likewise
    for (const auto& node : nodes) {
      const auto* callee = ir::called(node);
      parts.push_back({});
      if (callee == nullptr) {
        now.push_back(inliner.add(node));
        continue;
      }
      const auto& part = part_of(*callee);
      const auto called = inliner.call(node, part.program.graph);
      parts.back() = moved(part, called);
      for (const auto& decision : part.program.decisions) decisions.push_back(moved(decision, called.nodes));
      now.push_back({});
    }
    inliner.finish();
    for (const auto& step : steps) {
      const auto* run = std::get_if<RunNode>(&step);
      if (run == nullptr)
        out_.steps.push_back(step);
      else if (now[run->node].valid())
        out_.steps.emplace_back(RunNode{now[run->node]});
      else
        out_.steps.insert(out_.steps.end(), parts[run->node].begin(), parts[run->node].end());
    }
    // What is said of a call says nothing.
    std::erase_if(out_.decisions, [&](const Decision& decision) {
      return decision.nodes.size() == 1 && !now[ir::NodeId{decision.nodes[0]}].valid();
    });
    for (auto& decision : out_.decisions) decision = moved(std::move(decision), now);
    out_.decisions.insert(out_.decisions.end(), decisions.begin(), decisions.end());
    return std::move(out_);
  }

 private:
  static std::string key_of(Kernel kernel) {
    kernel.name.clear();
    return to_string(kernel) + kernel.text;
  }

  const Part& part_of(const ir::Graph& graph) {
    if (const auto found = by_address_.find(&graph); found != by_address_.end()) return *found->second;
    ByteWriter key;
    ir::write(key, graph);
    auto [at, added] = parts_.try_emplace(key.take());
    auto& part = at->second;
    by_address_.emplace(&graph, &part);
    if (!added) return part;
    part.program = program_of_(graph);
    for (auto& kernel : part.program.kernels) part.kernels.push_back(keep(std::move(kernel)));
    return part;
  }

  /// Returns the index of an equal kernel, adding this one when there is none.
  int32_t keep(Kernel kernel) {
    const auto [at, added] = known_.emplace(key_of(kernel), static_cast<int32_t>(out_.kernels.size()));
    if (!added) return at->second;
    kernel.name = fmt::format("k{}{}", out_.kernels.size(), kernel.name.substr(kernel.name.find('_')));
    out_.kernels.push_back(std::move(kernel));
    return at->second;
  }

  static std::vector<Step> moved(const Part& part, const ir::Inliner::Called& now) {
    std::vector<Step> steps;
    for (const auto& step : part.program.steps) {
      if (const auto* run = std::get_if<RunNode>(&step)) {
        steps.emplace_back(RunNode{now.nodes[run->node]});
        continue;
      }
      auto run = std::get<RunKernel>(step);
      run.kernel = part.kernels[run.kernel];
      for (auto& buffer : run.buffers) buffer = now.values[buffer];
      steps.emplace_back(std::move(run));
    }
    return steps;
  }

  static Decision moved(Decision decision, const ir::PerNode<ir::NodeId>& now) {
    for (auto& node : decision.nodes) node = now[ir::NodeId{node}].index;
    return decision;
  }

  Program out_;
  const std::function<Program(const ir::Graph&)>& program_of_;
  std::map<std::string, int32_t> known_;  ///< kernels by contents
  std::map<std::string, Part> parts_;     ///< by the contents of their graphs
  std::map<const ir::Graph*, const Part*> by_address_;
};

}  // namespace

Program splice(Program program, const std::function<Program(const ir::Graph&)>& program_of) {
  if (!ir::has_calls(program.graph)) return program;
  return Splicer(std::move(program), program_of).run();
}

}  // namespace antegrad::schedule
