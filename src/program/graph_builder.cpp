#include "program/graph_builder.h"

#include <fmt/format.h>

#include <cctype>

namespace antegrad::program {

std::string identifier(const std::string& text) {
  std::string out;
  for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return out;
}

GraphBuilder::GraphBuilder(const std::vector<ir::Symbol>& symbols) : symbols_(symbols) {
  for (const char* list : {"inputs", "outputs", "nodes"}) json_[list] = Json::array();
  for (const char* map :
       {"tensor_values", "sym_int_values", "sym_bool_values", "sym_float_values", "custom_obj_values"})
    json_[map] = Json::object();
  json_["is_single_tensor_return"] = false;
}

std::string GraphBuilder::unique(const std::string& name) {
  auto out = name;
  for (int number = 1; !taken_.insert(out).second; ++number) out = fmt::format("{}_{}", name, number);
  return out;
}

std::string GraphBuilder::define(const std::string& name, const ir::TensorType& type) {
  auto own = unique(name);
  json_["tensor_values"][own] = tensor_meta(type, symbols_);
  return own;
}

void GraphBuilder::push(NewNode node, const std::string& scope) {
  Json metadata = Json::object();
  if (!scope.empty() && scope.find_first_of(",;[]()") == scope.npos)
    metadata["nn_module_stack"] =
        fmt::format("L__self__,,antegrad.Function;L__self___{},{},antegrad.Scope", identifier(scope), scope);
  json_["nodes"].push_back({{"target", std::move(node.target)},
                            {"inputs", std::move(node.inputs)},
                            {"outputs", std::move(node.outputs)},
                            {"metadata", std::move(metadata)},
                            {"is_hop_single_tensor_return", nullptr},
                            {"name", std::move(node.name)}});
}

Json GraphBuilder::input(const std::string& name, Json argument, bool keyword) {
  return {{"name", name}, {"arg", std::move(argument)}, {"kind", keyword ? 2 : 1}};
}

std::string GraphBuilder::add_number(SizeWriter::NumberNode node) {
  const auto base = node.target.substr(node.target.find_last_of('.') + 1);
  const auto name = unique(base == "int" ? "sym_size_int" : base);
  json_[node.real ? "sym_float_values" : "sym_int_values"][name] = std::move(node.value);
  push({std::move(node.target), std::move(node.inputs),
        Json::array({{{node.real ? "as_sym_float" : "as_sym_int", {{"as_name", name}}}}}), name});
  return name;
}

std::string GraphBuilder::add_tensor(const char* op, const ir::TensorType& type, Json inputs,
                                     const std::string& scope, const char* overload) {
  const auto name = define(op, type);
  push({fmt::format("torch.ops.aten.{}.{}", op, overload), std::move(inputs),
        Json::array({{{"as_tensor", {{"name", name}}}}}), name},
       scope);
  return name;
}

std::string GraphBuilder::add_constant(const at::Tensor& contents, const ir::TensorType& type) {
  const auto name = define(fmt::format("c_constant{}", constants_.size()), type);
  constants_.push_back({name, contents});
  return name;
}

Json GraphBuilder::named(const std::string& name) { return {{"as_tensor", {{"name", name}}}}; }

}  // namespace antegrad::program
