// A C++ function as a .pt2 file.
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <nlohmann/json.hpp>
#include <set>

#include "antegrad/error.h"
#include "antegrad/program.h"
#include "compiler/api/function_graph.h"
#include "passes/simplify/dead_code.h"
#include "program/check_function.h"
#include "program/tensor_file.h"
#include "program/value_json.h"
#include "program/write_archive.h"
#include "program/write_graph.h"

namespace antegrad {
namespace program {
namespace {

using compiler::FunctionGraph;

/// The graph without tangents and gradients.
ir::Graph forward_of(ir::Graph graph) {
  std::erase_if(graph.outputs, [](const ir::Output& output) { return output.role == ir::OutputRole::Grad; });
  passes::dead_code(graph);
  std::erase_if(graph.inputs, [](const ir::Input& input) { return input.role == ir::InputRole::Tangent; });
  return graph;
}

Json spec_of_input(const ir::Input& input, const std::optional<std::string>& name) {
  switch (input.role) {
    case ir::InputRole::Param:
      return {{"parameter", {{"arg", {{"name", *name}}}, {"parameter_name", input.name}}}};
    case ir::InputRole::UserInput:
      if (!name) return {{"constant_input", {{"name", input.name}, {"value", {{"as_none", true}}}}}};
      return {{"user_input", {{"arg", {{"as_tensor", {{"name", *name}}}}}}}};
    default:
      return {{"buffer", {{"arg", {{"name", *name}}}, {"buffer_name", input.name}, {"persistent", true}}}};
  }
}

Json spec_of_output(const ir::Graph& graph, const ir::Output& output, const WrittenGraph& written,
                    const std::optional<std::string>& name) {
  if (output.role != ir::OutputRole::MutatedInput)
    return {
        {"user_output", {{"arg", name ? Json{{"as_tensor", {{"name", *name}}}} : Json{{"as_none", true}}}}}};
  const size_t target = output.target;
  const auto& input = graph.inputs[target];
  const Json value = {{"name", *name}};
  switch (input.role) {
    case ir::InputRole::Param:
      return {{"parameter_mutation", {{"arg", value}, {"parameter_name", input.name}}}};
    case ir::InputRole::UserInput:
      return {{"user_input_mutation", {{"arg", value}, {"user_input_name", *written.inputs[target]}}}};
    default:
      return {{"buffer_mutation", {{"arg", value}, {"buffer_name", input.name}}}};
  }
}

std::string constant_name(size_t number) { return fmt::format("constant{}", number); }

Json signature_json(const ir::Graph& graph, const WrittenGraph& written) {
  auto inputs = Json::array(), outputs = Json::array();
  for (const auto& [constant, index] : written.order)
    inputs.push_back(constant ? Json{{"tensor_constant",
                                      {{"arg", {{"name", written.constants[index].name}}},
                                       {"tensor_constant_name", constant_name(index)}}}}
                              : spec_of_input(graph.inputs[index], written.inputs[index]));
  for (const bool mutations : {true, false})
    for (size_t i = 0; i < graph.outputs.size(); ++i)
      if ((graph.outputs[i].role == ir::OutputRole::MutatedInput) == mutations)
        outputs.push_back(spec_of_output(graph, graph.outputs[i], written, written.outputs[i]));
  return {{"input_specs", inputs}, {"output_specs", outputs}};
}

/// Tensors one by one: a tuple of leaves, or one leaf.
Json leaf_spec() { return {{"type", nullptr}, {"context", nullptr}, {"children_spec", Json::array()}}; }
Json tuple_spec(Json children) {
  return {{"type", "builtins.tuple"}, {"context", "null"}, {"children_spec", std::move(children)}};
}
std::string spec_text(const Json& spec) { return Json::array({1, spec}).dump(); }

Json call_json(const ir::Graph& graph, bool single) {
  auto arguments = Json::array(), names = Json::array(), results = Json::array();
  for (const auto& input : graph.inputs)
    if (input.role == ir::InputRole::UserInput) {
      arguments.push_back(leaf_spec());
      names.push_back(input.name);
    }
  for (const auto& output : graph.outputs)
    if (output.role == ir::OutputRole::UserOutput) results.push_back(leaf_spec());
  const Json keywords = {{"type", "builtins.dict"}, {"context", "[]"}, {"children_spec", Json::array()}};
  return Json::array({{{"fqn", ""},
                       {"signature",
                        {{"inputs", Json::array()},
                         {"outputs", Json::array()},
                         {"in_spec", spec_text(tuple_spec(Json::array({tuple_spec(arguments), keywords})))},
                         {"out_spec", spec_text(single ? leaf_spec() : tuple_spec(results))},
                         {"forward_arg_names", names}}}}});
}

Json ranges_json(const std::vector<ir::Symbol>& symbols) {
  auto out = Json::object();
  for (size_t s = 0; s < symbols.size(); ++s) {
    const auto [lower, upper] = symbols[s].range;
    out[symbol_name(static_cast<int32_t>(s))] = {
        {"min_val", lower}, {"max_val", upper == ir::Range{}.upper ? Json() : Json(upper)}};
  }
  return out;
}

Json program_json(const ir::Graph& graph, const WrittenGraph& written, bool single) {
  return {{"graph_module",
           {{"graph", written.graph},
            {"signature", signature_json(graph, written)},
            {"module_call_graph", call_json(graph, single)},
            {"metadata", Json::object()},
            {"treespec_namedtuple_fields", Json::object()}}},
          {"opset_version", {{"aten", 10}}},
          {"range_constraints", ranges_json(graph.symbols)},
          {"schema_version", {{"major", 8}, {"minor", 17}}},
          {"verifiers", {"TRAINING"}},
          {"torch_version", TORCH_VERSION},
          {"guards_code", Json::array()}};
}

/// Tensors of a folder of the file, each storage once.
class StateWriter {
 public:
  StateWriter(std::string folder, std::string prefix)
      : folder_(std::move(folder)), prefix_(std::move(prefix)) {}

  void add(const std::string& name, const at::Tensor& given, bool parameter, bool needs_gradient) {
    const auto tensor = given.detach().resolve_conj().resolve_neg();
    const auto& storage = tensor.storage();
    const auto [place, added] = known_.emplace(storage.unsafeGetStorageImpl(), known_.size());
    const auto record = fmt::format("{}{}", prefix_, place->second);
    if (added)
      records_[folder_ + record] = at::empty({0}, tensor.options().dtype(at::kByte))
                                       .set_(storage, 0, {static_cast<int64_t>(storage.nbytes())}, {1})
                                       .to(at::kCPU);
    kept_.push_back(tensor);
    auto meta = tensor_meta(tensor);
    meta["requires_grad"] = needs_gradient;
    config_[name] = {{"path_name", record},
                     {"is_param", parameter},
                     {"use_pickle", false},
                     {"tensor_meta", std::move(meta)}};
  }
  std::string config() const { return Json{{"config", config_}}.dump(); }
  const std::map<std::string, at::Tensor>& records() const { return records_; }

 private:
  std::string folder_, prefix_;
  Json config_ = Json::object();
  std::map<std::string, at::Tensor> records_;
  std::map<const void*, size_t> known_;
  std::vector<at::Tensor> kept_;  ///< so that no other storage has the address of a known one
};

void write_program(const ir::Graph& graph, const FunctionGraph& function, const WrittenGraph& written,
                   const std::vector<at::Tensor>& example, bool single, const std::string& path) {
  const at::NoGradGuard no_grad;
  const bool gradients = function.gradients;
  StateWriter weights("data/weights/", "weight_"), constants("data/constants/", "tensor_");
  const auto first = graph.inputs.size() - function.lifted.size();
  for (size_t i = 0; i < function.lifted.size(); ++i) {
    const auto& [name, tensor] = function.lifted[i];
    weights.add(name, tensor, graph.inputs[first + i].role == ir::InputRole::Param,
                gradients && tensor.requires_grad());
  }
  for (size_t i = 0; i < written.constants.size(); ++i)
    constants.add(constant_name(i), written.constants[i].tensor, false, false);
  auto storages = weights.records();
  storages.insert(constants.records().begin(), constants.records().end());
  write_archive(path,
                {{"models/model.json", program_json(graph, written, single).dump()},
                 {"data/weights/model_weights_config.json", weights.config()},
                 {"data/constants/model_constants_config.json", constants.config()},
                 {"data/sample_inputs/model.pt", pickled_call(example)}},
                storages);
}

}  // namespace
}  // namespace program

void detail::save_function(const Options& options, const Leaves& example, const RunForExport& run,
                           bool single, const std::string& path) {
  using Gradients = compiler::ExportWanted::Gradients;
  const compiler::ExportWanted wanted{c10::GradMode::is_enabled() ? Gradients::IfAny : Gradients::None, true};
  const auto function = compiler::graph_of_function(options, wanted, example, run);
  const auto graph = program::forward_of(function.graph);
  const auto written = program::write_graph(graph);
  const std::vector<at::Tensor> tensors(example.tensors.begin(), example.tensors.end());
  program::check_function(function, written, tensors);
  program::write_program(graph, function, written, tensors, single, path);
}

}  // namespace antegrad
