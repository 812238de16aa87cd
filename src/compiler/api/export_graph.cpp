#include "compiler/api/export_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "antegrad/error.h"
#include "aot/aliasing.h"
#include "aot/convention.h"
#include "aot/functionalize.h"
#include "compiler/api/graph_signature.h"
#include "compiler/code/captured.h"
#include "util/overloaded.h"

namespace antegrad::compiler {
namespace {

[[noreturn]] void refuse(const std::string& fact, const char* way_out) {
  throw Error(ErrorCode::UnsupportedTensor, "export", fact, way_out);
}

void check_metadata(const capture::Trace& trace) {
  for (size_t i = 0; i < trace.inputs.size(); ++i) {
    const auto& end = trace.inputs[i].end;
    const auto& input = trace.graph.inputs[i];
    if (end.value != input.value)
      refuse(fmt::format("the function changes the shape or the storage of input '{}' in place", input.name),
             "Use the op that returns a new tensor, such as t() for t_()");
    if (end.requires_grad != end.required_grad && !end.history_changed)
      refuse(fmt::format("the function changes requires_grad of input '{}'", input.name),
             "Set it before the export");
  }
}

void check_aliasing(const capture::Trace& trace, const std::vector<int32_t>& same_as) {
  auto name = [&](int32_t i) { return trace.graph.inputs[i].name; };
  for (const auto& group : aot::find_alias_groups(trace, aot::find_written(trace))) {
    const auto& members = group.members;
    for (auto i : members)
      if (std::cmp_less(i, same_as.size()) && same_as[i] >= 0)
        refuse(fmt::format("inputs '{}' and '{}' are the same tensor, and the function writes to it",
                           name(same_as[i]), name(i)),
               "Pass a clone() for one of them, or take it as one argument");
    if (members.size() == 1)
      refuse(fmt::format("the function writes to input '{}' and reaches memory outside it",
                         name(members.front())),
             "Pass the whole tensor, or a clone() of the part");
    refuse(fmt::format("inputs '{}' and '{}' share memory, and the function writes to it", name(members[0]),
                       name(members[1])),
           "Pass a clone() for one of them, or make the view inside the function");
  }
}

/// Assembles an exported graph from a functional graph and the steps of its signature.
class Assembly {
 public:
  Assembly(const capture::Trace& trace, aot::FunctionalGraph functional)
      : trace_(trace), graph_(std::move(functional.graph)), signature_(std::move(functional.signature)) {}

  ir::Graph run() {
    if (signature_.slots != signature_.inputs) fail("an input was replaced");
    make_names_unique();
    sort_steps();
    add_results();
    add_new_values();
    name_tangents();
    if (trace_.differentiable) add_gradients();
    if (!has_lazy_bits(trace_)) drop_copies();
    graph_.outputs = std::move(outputs_);
    return std::move(graph_);
  }

 private:
  [[noreturn]] static void fail(const char* fact) { throw Error(ErrorCode::Internal, "export", fact); }

  ir::Input& input(int32_t i) { return graph_.inputs[i]; }

  /// Several watched modules may each have a "weight".
  void make_names_unique() {
    std::set<std::string> taken;
    for (int32_t i = 0; i < signature_.inputs; ++i) {
      const auto name = input(i).name;
      for (int number = 1; !taken.insert(input(i).name).second; ++number)
        input(i).name = fmt::format("{}_{}", name, number);
    }
  }

  void add(const std::string& name, ir::OutputRole role, int32_t result, int32_t target = -1) {
    const auto value = result < 0 ? ir::ValueId{} : graph_.outputs[result].value;
    outputs_.push_back({value, role, name, target});
    if (result >= 0) name_of_result_[result] = name;
  }

  /// Collects the steps that matter in an exported graph. check_exportable() has rejected changes of shape
  /// and of requires_grad; version counters and saved tensors are meaningless between values.
  void sort_steps() {
    const Overloaded sort{
        [](const aot::MakeBase&) {},  // would need a slot of its own, which run() has rejected
        [](const aot::TakeRngState&) {},
        [](const aot::RunGraph&) {},
        [this](const aot::Attach& step) { attached_.push_back(step); },
        [](const aot::SetVersion&) {},
        [](const aot::SaveForBackward&) {},
        [](const aot::ResizeInput&) {},
        [this](const aot::WriteBack& step) { written_.push_back(step); },
        [](const aot::MakeView&) {},
        [this](const aot::MakeOutput& step) { made_.push_back(step); },
        [](const aot::SetTensor&) {},
        [](const aot::BumpVersion&) {},
        [](const aot::RequireGrad&) {},
        [](const aot::TakeGenerators&) {},
        [](const aot::SetGenerator&) {},
        [](const aot::RetainGrad&) {},
    };
    for (const auto& step : signature_.steps) std::visit(sort, step);
  }

  void add_results() {
    for (const auto& step : made_) {
      const bool undefined = step.source.kind == aot::Source::Kind::Undefined;
      if (!undefined && step.source.kind != aot::Source::Kind::Result) fail("a result is a view");
      add(fmt::format("output{}", outputs_.size()), ir::OutputRole::UserOutput,
          undefined ? -1 : step.source.index);
    }
  }

  void add_new_values() {
    for (const auto& step : written_)
      add(fmt::format("{}{}", kMutationPrefix, input(step.slot).name), ir::OutputRole::MutatedInput,
          step.result, step.slot);
  }

  void name_tangents() {
    for (const auto& step : attached_) {
      const auto found = name_of_result_.find(step.source.index);
      if (step.source.kind != aot::Source::Kind::Result || found == name_of_result_.end())
        fail("a tangent belongs to no output");
      input(signature_.inputs + step.tangent).name = fmt::format("{}{}", kTangentPrefix, found->second);
    }
  }

  /// Adds a gradient for every input that requires one; it is undefined when no result depends on the input.
  void add_gradients() {
    std::map<int32_t, int32_t> result_of_input;
    for (size_t r = 0; r < graph_.outputs.size(); ++r)
      if (graph_.outputs[r].role == ir::OutputRole::Grad)
        result_of_input[graph_.outputs[r].target] = static_cast<int32_t>(r);
    for (int32_t i = 0; i < signature_.inputs; ++i) {
      if (!trace_.inputs[i].end.required_grad) continue;
      const auto found = result_of_input.find(i);
      add(fmt::format("{}{}", kGradientPrefix, input(i).name), ir::OutputRole::Grad,
          found == result_of_input.end() ? -1 : found->second, i);
    }
  }

  /// Removes the copies that gave each result its own tensor: they are meaningless between values.
  void drop_copies() {
    std::map<ir::ValueId, ir::ValueId> copied;
    for (const auto& node : graph_.nodes)
      if (node.op == "aten.clone" &&
          graph_.type_of(node.outputs[0]) == graph_.type_of(*node.args[0].as<ir::ValueId>()))
        copied[node.outputs[0]] = *node.args[0].as<ir::ValueId>();
    for (auto& output : outputs_)
      if (const auto found = copied.find(output.value); found != copied.end()) output.value = found->second;
  }

  const capture::Trace& trace_;
  ir::Graph graph_;
  aot::Signature signature_;
  std::vector<aot::MakeOutput> made_;
  std::vector<aot::WriteBack> written_;
  std::vector<aot::Attach> attached_;
  std::vector<ir::Output> outputs_;
  std::map<int32_t, std::string> name_of_result_;  ///< by output of the functional graph
};

}  // namespace

void check_exportable(const capture::Trace& trace, const std::vector<int32_t>& same_as) {
  for (const auto& lifted : trace.lifted)
    if (lifted.generator.defined())
      refuse("it draws from a generator of the caller's",
             "Draw from the default generator, or pass the numbers");
  check_metadata(trace);
  check_aliasing(trace, same_as);
}

void check_offsets(const capture::Trace& trace, const aot::Signature& signature) {
  for (auto i : signature.fixed_offsets) {
    const auto& input = trace.graph.inputs[i];
    const auto& type = trace.graph.tensor_type(input.value);
    const auto extent = aot::extent_of(type);
    const auto bytes = (extent.last - extent.first) * ir::size_in_bytes(type.dtype);
    if (extent.first != 0 || bytes != trace.inputs[i].memory.bytes)
      refuse(fmt::format("as_strided() counts from the start of the storage that input '{}' is a part of",
                         input.name),
             "Pass the whole tensor, or a clone() of the part");
  }
}

ir::Graph make_export_graph(const capture::Trace& trace, aot::FunctionalGraph functional) {
  return Assembly(trace, std::move(functional)).run();
}

}  // namespace antegrad::compiler
