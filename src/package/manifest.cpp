#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/headeronly/version.h>

#include <nlohmann/json.hpp>

#include "antegrad/error.h"
#include "package/archive.h"
#include "package/refuse.h"
#include "program/read_graph.h"

namespace antegrad::packaging {

void refuse_file(const std::string& fact) {
  throw Error(ErrorCode::Io, "package:load", fact, "Make the package again, or get an undamaged copy of it");
}

void require_in_file(bool holds, const char* fact) {
  if (!holds) refuse_file(fmt::format("a version cannot be read: {}", fact));
}

std::string folder_of(const std::string& function) {
  return fmt::format("data/antegrad/functions/{}/", function);
}

std::string kernel_record(const std::string& isa, const cache::Digest& kernel) {
  return fmt::format("data/antegrad/kernels/{}/{}.o", isa, kernel.hex());
}

std::string step_folder(const std::string& step) { return fmt::format("data/antegrad/steps/{}/", step); }

std::string step_record(const std::string& step) { return step_folder(step) + "optimizer.json"; }

std::string update_record(const std::string& graph_text) {
  return fmt::format("{}{}.code", kUpdatesFolder, cache::sha256(graph_text).hex());
}

std::string libtorch_here() { return fmt::format("{}.{}", TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR); }

WeightInfo weight_info(const std::string& name, const at::Tensor& tensor) {
  return {name, tensor.scalar_type(), tensor.sizes().vec(), tensor.strides().vec(), tensor.requires_grad()};
}

std::string type_text(const WeightInfo& weight) {
  return fmt::format("{}[{}]{}", c10::toString(weight.dtype), fmt::join(weight.sizes, ", "),
                     weight.requires_grad ? ", requires a gradient" : "");
}

std::string write_manifest(const Manifest& manifest) {
  nlohmann::ordered_json json;
  json["format"] = manifest.info.format;
  json["antegrad"] = manifest.info.antegrad;
  json["build"] = manifest.info.build;
  json["libtorch"] = manifest.info.libtorch;
  json["machine"] = manifest.info.machine;
  json["isas"] = manifest.info.isas;
  json["toolchain"] = manifest.toolchain;
  json["metadata"] = manifest.info.metadata;
  json["functions"] = nlohmann::ordered_json::array();
  for (const auto& function : manifest.functions)
    json["functions"].push_back({{"name", function.name},
                                 {"arguments", function.arguments},
                                 {"result", function.result},
                                 {"derivatives", function.derivatives},
                                 {"versions", function.versions}});
  if (!manifest.steps.empty()) json["steps"] = nlohmann::ordered_json::array();
  for (const auto& step : manifest.steps)
    json["steps"].push_back({{"name", step.name},
                             {"arguments", step.arguments},
                             {"result", step.result},
                             {"optimizer", step.optimizer},
                             {"versions", step.versions}});
  json["weights"] = nlohmann::ordered_json::array();
  for (const auto& weight : manifest.weights)
    json["weights"].push_back({{"name", weight.name},
                               {"dtype", program::dtype_number(weight.dtype)},
                               {"sizes", weight.sizes},
                               {"strides", weight.strides},
                               {"requires_grad", weight.requires_grad}});
  json["external_weights"] = manifest.external_weights;
  json["records"] = nlohmann::ordered_json::object();
  for (const auto& [record, digest] : manifest.records) json["records"][record] = digest.hex();
  return json.dump(1) + "\n";
}

static Manifest manifest_of(const program::Json& json) {
  Manifest manifest;
  auto& info = manifest.info;
  info.format = program::integer_of(json.at("format"));
  if (info.format != kFormat)
    throw Error(
        ErrorCode::Io, "package:load",
        fmt::format("the package has format {}, and this antegrad reads format {}", info.format, kFormat),
        "Load it with the antegrad that it was made with, or make it again");
  info.antegrad = json.at("antegrad");
  info.build = json.at("build");
  info.libtorch = json.at("libtorch");
  info.machine = json.at("machine");
  info.isas = json.at("isas").get<std::vector<std::string>>();
  manifest.toolchain = json.at("toolchain");
  info.metadata = json.at("metadata").get<std::map<std::string, std::string>>();
  for (const auto& function : json.at("functions")) {
    auto& out = manifest.functions.emplace_back();
    out.name = function.at("name");
    out.arguments = function.at("arguments");
    out.result = function.at("result");
    out.derivatives = program::integer_of(function.at("derivatives"));
    out.versions = function.at("versions").get<std::vector<std::vector<std::string>>>();
  }
  if (const auto steps = json.find("steps"); steps != json.end())
    for (const auto& step : *steps)
      manifest.steps.push_back({step.at("name"), step.at("arguments"), step.at("result"),
                                step.at("optimizer"),
                                step.at("versions").get<std::vector<std::vector<std::string>>>()});
  for (const auto& weight : json.at("weights"))
    manifest.weights.push_back({weight.at("name"), program::dtype_of(weight.at("dtype")),
                                weight.at("sizes").get<std::vector<int64_t>>(),
                                weight.at("strides").get<std::vector<int64_t>>(),
                                weight.at("requires_grad")});
  manifest.external_weights = json.at("external_weights");
  for (const auto& [record, text] : json.at("records").items()) {
    const auto digest = cache::Digest::from_hex(text.get<std::string>());
    if (!digest) refuse_file(fmt::format("the checksum of \"{}\" is no checksum", record));
    manifest.records[record] = *digest;
  }
  return manifest;
}

Manifest read_manifest(const std::string& text) {
  try {
    return manifest_of(program::parse_json(text, kManifest));
  } catch (const nlohmann::json::exception& error) {
    refuse_file(fmt::format("the manifest cannot be read: {}", error.what()));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Io) throw;
    refuse_file(fmt::format("the manifest cannot be read: {}", error.what()));
  }
}

}  // namespace antegrad::packaging
