#include "antegrad/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "antegrad/error.h"
#include "program/inputs.h"
#include "program/interpreter.h"
#include "program/program_state.h"

namespace antegrad {
namespace program {
namespace {

bool has_checkpoints(const Graph& graph) {
  for (const auto& node : graph.nodes) {
    if (node.function.find("activation_checkpoint") != node.function.npos) return true;
    for (const auto& input : node.inputs)
      if (input.argument.graph && has_checkpoints(*input.argument.graph)) return true;
  }
  return false;
}

NamedTensors tensors_of(const ProgramData& data, InputSpec::Kind kind) {
  NamedTensors out;
  for (const auto& name : names_of(data, kind)) out.emplace_back(name, data.state.at(name).tensor);
  return out;
}

}  // namespace

std::vector<std::string> names_of(const ProgramData& data, InputSpec::Kind kind, bool persistent_only) {
  std::set<std::string> names, others;
  for (const auto& input : data.inputs) {
    if (input.kind == kind && (input.persistent || !persistent_only)) names.insert(input.name);
    if (input.kind != kind || (!input.persistent && persistent_only)) others.insert(input.name);
  }
  // The file may have parameters and buffers that the graph does not use.
  for (const auto& [name, entry] : data.state) {
    const bool weight = entry.record.rfind("data/weights/", 0) == 0;
    const auto own = entry.parameter ? InputSpec::Kind::Parameter
                     : weight        ? InputSpec::Kind::Buffer
                                     : InputSpec::Kind::Constant;
    if (own == kind && others.count(name) == 0) names.insert(name);
  }
  return {names.begin(), names.end()};
}

}  // namespace program

using program::InputSpec;

Program load_program(const std::string& path, const ProgramOptions& options) {
  const program::ZipFile file(program::file_source(path));
  return Program(std::make_shared<program::ProgramState>(
      program::ProgramState{program::read_program(file, options.model), 0}));
}

std::vector<c10::IValue> Program::leaves_of(const std::vector<c10::IValue>& arguments,
                                            const std::map<std::string, c10::IValue>& keywords) const {
  auto leaves = program::leaves_of_call(state_->data, arguments, keywords);
  program::check_inputs(state_->data, leaves);
  return leaves;
}

c10::IValue Program::operator()(const std::vector<c10::IValue>& arguments,
                                const std::map<std::string, c10::IValue>& keywords) const {
  return program::run_program(state_->data, leaves_of(arguments, keywords));
}

std::vector<at::Tensor> Program::parameters() const {
  std::vector<at::Tensor> out;
  std::set<const void*> seen;
  for (const auto& [name, tensor] : named_parameters())
    if (seen.insert(tensor.unsafeGetTensorImpl()).second) out.push_back(tensor);
  return out;
}

NamedTensors Program::named_parameters() const {
  return program::tensors_of(state_->data, InputSpec::Kind::Parameter);
}
NamedTensors Program::named_buffers() const {
  return program::tensors_of(state_->data, InputSpec::Kind::Buffer);
}
NamedTensors Program::named_constants() const {
  return program::tensors_of(state_->data, InputSpec::Kind::Constant);
}

std::vector<ProgramInput> Program::inputs() const {
  std::vector<ProgramInput> out;
  for (const auto& leaf : state_->data.leaves)
    out.push_back({leaf.name, program::type_of_leaf(state_->data, leaf)});
  return out;
}

std::vector<c10::IValue> Program::example() const { return program::example_of(state_->data); }
std::vector<DynamicSize> Program::dynamic_sizes() const { return program::dynamic_sizes_of(state_->data); }
std::vector<std::string> Program::warnings() const { return state_->data.warnings; }
std::string Program::text() const { return program::print_program(state_->data); }

void Program::share_state(const Program& other) {
  size_t shared = 0;
  const auto& theirs = other.state_->data.state;
  for (const auto& [name, entry] : state_->data.state) {
    const auto found = theirs.find(name);
    if (found == theirs.end()) continue;
    const auto &a = entry.tensor, &b = found->second.tensor;
    if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes() || a.device() != b.device())
      throw Error(
          ErrorCode::InvalidArgument, "program:share_state",
          fmt::format("\"{}\" is {}{} here, and {}{} in the other program", name,
                      c10::toString(a.scalar_type()), fmt::format("[{}]", fmt::join(a.sizes(), ", ")),
                      c10::toString(b.scalar_type()), fmt::format("[{}]", fmt::join(b.sizes(), ", "))),
          "Export both programs from one module");
    ++shared;
  }
  if (shared == 0)
    throw Error(ErrorCode::InvalidArgument, "program:share_state", "the two programs have no name in common",
                "Export both programs from one module");
  for (auto& [name, entry] : state_->data.state)
    if (const auto found = theirs.find(name); found != theirs.end()) entry.tensor = found->second.tensor;
  ++state_->generation;
}

Options Program::with_sizes(Options options) const {
  if (options.dynamic_sizes.empty()) options.dynamic_sizes = dynamic_sizes();
  if (options.name == Options().name) options.name = state_->data.model;
  if (program::has_checkpoints(state_->data.graph))
    options.scope_rules.push_back({program::kCheckpointScope, Keep::Recompute});
  return options;
}

void Tree<Program>::flatten(const Program& program, Leaves& leaves) {
  leaves.key.push_back(reinterpret_cast<int64_t>(program.state_.get()));
  leaves.key.push_back(static_cast<int64_t>(program.state_->generation));
}

c10::IValue detail::ProgramForward::operator()(const Program& of,
                                               const std::vector<c10::IValue>& leaves) const {
  return program::run_program(of.state_->data, leaves);
}

c10::IValue detail::ProgramForward::with_parameters(const Program& of,
                                                    const std::vector<c10::IValue>& arguments,
                                                    const std::map<std::string, at::Tensor>& parameters) {
  return program::run_program(of.state_->data, of.leaves_of(arguments, {}), parameters);
}

}  // namespace antegrad
