#include "package/step_record.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "antegrad/error.h"
#include "optim/updates.h"
#include "package/refuse.h"
#include "program/json.h"

namespace antegrad::packaging {
namespace {

using program::Json;

[[noreturn]] void refuse_step(const std::string& fact) {
  refuse_file(fmt::format("a training step cannot be read: {}", fact));
}

Json json_of(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
}

Json json_of(const Field& field) {
  struct Write {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(double number) const { return json_of(number); }
    Json operator()(bool flag) const { return flag; }
    Json operator()(int64_t number) const { return number; }
    Json operator()(WeightNumber weight) const { return {{"weight", weight.number}}; }
  };
  return std::visit(Write{}, field);
}

Json json_of(const Fields& fields) {
  auto json = Json::object();
  for (const auto& [name, field] : fields) json[name] = json_of(field);
  return json;
}

/// Makes fields of what it is shown.
class FieldWriter final : public optim::FieldVisitor {
 public:
  FieldWriter(const NumberOf& number_of, std::string before, std::string after)
      : number_of_(number_of), before_(std::move(before)), after_(std::move(after)) {}
  void visit(const std::string& name, double& field) override { fields_[name] = field; }
  void visit(const std::string& name, std::optional<double>& field) override {
    fields_[name] = field ? Field(*field) : Field();
  }
  void visit(const std::string& name, bool& field) override { fields_[name] = field; }
  void visit(const std::string& name, int64_t& field) override { fields_[name] = field; }
  void visit(const std::string& name, at::Tensor& field) override {
    fields_[name] =
        field.defined() ? Field(WeightNumber{number_of_(field, before_ + name + after_)}) : Field();
  }
  Fields take() { return std::move(fields_); }

 private:
  const NumberOf& number_of_;
  const std::string before_, after_;
  Fields fields_;
};

/// Reads a record; every number of a weight is checked.
struct JsonReader {
  size_t weights;

  int32_t weight(const Json& json, bool may_lack = false) const {
    const auto number = program::integer_of(json);
    if (number < (may_lack ? -1 : 0) || number >= static_cast<int64_t>(weights))
      refuse_step(fmt::format("the weight {} does not exist", number));
    return static_cast<int32_t>(number);
  }
  std::vector<int32_t> weight_list(const Json& json, bool may_lack = false) const {
    std::vector<int32_t> out;
    if (!json.is_array()) refuse_step("a list of weights is no list");
    for (const auto& entry : json) out.push_back(weight(entry, may_lack));
    return out;
  }
  Field field(const Json& json) const {
    if (json.is_null()) return {};
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number_integer()) return program::integer_of(json);
    if (json.is_object()) return WeightNumber{weight(json.at("weight"))};
    return program::real_of(json);
  }
  Fields fields(const Json& json) const {
    Fields out;
    if (!json.is_object()) refuse_step("fields are no object");
    for (const auto& [name, entry] : json.items()) out[name] = field(entry);
    return out;
  }
};

StepRecord step_of(const Json& json, size_t weights) {
  const JsonReader from{weights};
  StepRecord out;
  const auto name = json.at("class").get<std::string>();
  const auto method = optim::method_named(name);
  if (!method) refuse_step(fmt::format("the optimizer \"{}\" is not known", name));
  out.method = *method;
  out.is_eager = json.at("eager").get<bool>();
  out.options = from.fields(json.at("options"));
  out.defaults = from.fields(json.at("defaults"));
  for (const auto& group : json.at("groups"))
    out.groups.push_back({from.weight_list(group.at("parameters")), from.fields(group.at("options"))});
  for (const auto& state : json.at("states"))
    out.states.push_back({from.weight(state.at("parameter")), from.fields(state.at("fields"))});
  out.trained = from.weight_list(json.at("trained"));
  if (const auto& scaler = json.at("scaler"); !scaler.is_null()) out.scaler = from.fields(scaler);
  if (const auto& average = json.at("average"); !average.is_null()) out.average = from.fields(average);
  out.averages = from.weight_list(json.at("averages"), true);
  out.accumulated = from.weight_list(json.at("accumulated"), true);
  out.calls = program::integer_of(json.at("calls"));
  for (const auto& [folder, versions] : json.at("functions").items()) {
    const auto count = program::integer_of(versions);
    if (count < 1 || count > 1024) refuse_step("a function without versions");
    out.functions[folder] = static_cast<size_t>(count);
  }
  if (!out.accumulated.empty() && out.accumulated.size() != out.trained.size())
    refuse_step("other sums than parameters");
  return out;
}

}  // namespace

std::string write_step(const StepRecord& step) {
  nlohmann::ordered_json json;
  json["class"] = optim::class_name(step.method);
  json["eager"] = step.is_eager;
  json["options"] = json_of(step.options);
  json["defaults"] = json_of(step.defaults);
  json["groups"] = Json::array();
  for (const auto& group : step.groups)
    json["groups"].push_back({{"options", json_of(group.options)}, {"parameters", group.parameters}});
  json["states"] = Json::array();
  for (const auto& state : step.states)
    json["states"].push_back({{"parameter", state.parameter}, {"fields", json_of(state.fields)}});
  json["trained"] = step.trained;
  json["scaler"] = step.scaler ? json_of(*step.scaler) : Json();
  json["average"] = step.average ? json_of(*step.average) : Json();
  json["averages"] = step.averages;
  json["accumulated"] = step.accumulated;
  json["calls"] = step.calls;
  json["functions"] = step.functions;
  return json.dump(1) + "\n";
}

StepRecord read_step(const std::string& text, size_t weights) {
  try {
    return step_of(program::parse_json(text, "a training step"), weights);
  } catch (const nlohmann::json::exception& error) {
    refuse_step(error.what());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Io) throw;
    refuse_step(error.what());
  }
}

void visit_step_options(StepOptions& options, optim::FieldVisitor& visitor) {
  visitor.visit("clip_norm", options.clip_norm);
  visitor.visit("norm_type", options.norm_type);
  visitor.visit("error_if_nonfinite", options.error_if_nonfinite);
  visitor.visit("clip_value", options.clip_value);
  visitor.visit("skip_nonfinite", options.skip_nonfinite);
  bool keep = options.gradients == Gradients::Keep;
  visitor.visit("keep_gradients", keep);
  options.gradients = keep ? Gradients::Keep : Gradients::Drop;
  visitor.visit("accumulate", options.accumulate);
}

void visit_scaler(GradScaler& scaler, optim::FieldVisitor& visitor) {
  visitor.visit("scale", scaler.scale);
  visitor.visit("growth_tracker", scaler.growth_tracker);
  visitor.visit("growth_factor", scaler.growth_factor);
  visitor.visit("backoff_factor", scaler.backoff_factor);
  visitor.visit("growth_interval", scaler.growth_interval);
}

void visit_average(WeightAverage& average, optim::FieldVisitor& visitor) {
  visitor.visit("decay", average.decay);
}

StepRecord record_of(const detail::TrainingCore::Impl& core, const std::string& name,
                     const NumberOf& number_of, const NameOf& name_of) {
  StepRecord out;
  auto options = core.options();
  auto& optimizer = core.stepper.optimizer();
  out.method = *core.stepper.method();
  out.is_eager = options.options.backend == Backend::Eager;
  const auto fields = [&](const auto& visit, const std::string& middle = "", const std::string& of = "") {
    FieldWriter writer(number_of, name + "." + middle, of.empty() ? "" : "." + of);
    visit(writer);
    return writer.take();
  };
  out.options = fields([&](auto& writer) { visit_step_options(options, writer); });
  out.defaults = fields([&](auto& w) { optim::visit_options(out.method, optimizer.defaults(), w); });
  std::vector<at::Tensor> parameters;  // each once, in the order of averages
  std::map<const void*, std::string> names;
  for (auto& group : optimizer.param_groups()) {
    auto& to = out.groups.emplace_back();
    to.options = fields([&](auto& w) { optim::visit_options(out.method, group.options(), w); });
    for (const auto& parameter : group.params()) {
      to.parameters.push_back(number_of(parameter, name + ".parameter"));
      if (names.emplace(parameter.unsafeGetTensorImpl(), name_of(to.parameters.back())).second)
        parameters.push_back(parameter);
    }
  }
  const auto name_of_parameter = [&](const at::Tensor& parameter) {
    return names.at(parameter.unsafeGetTensorImpl());
  };
  for (const auto& parameter : parameters) {
    const auto found = optimizer.state().find(parameter.unsafeGetTensorImpl());
    if (found == optimizer.state().end() || found->second == nullptr) continue;
    out.states.push_back(
        {number_of(parameter, ""), fields([&](auto& w) { optim::visit_state(out.method, *found->second, w); },
                                          "", name_of_parameter(parameter))});
  }
  for (const auto& parameter : core.parameters) out.trained.push_back(number_of(parameter, ""));
  if (options.scaler)
    out.scaler = fields([&](auto& writer) { visit_scaler(*options.scaler, writer); }, "scaler.");
  const auto numbers = [&](const std::vector<at::Tensor>& tensors, const std::vector<at::Tensor>& of,
                           const char* what) {
    std::vector<int32_t> list;
    for (size_t i = 0; i < tensors.size(); ++i)
      list.push_back(tensors[i].defined() ? number_of(tensors[i], fmt::format("{}.{}.{}", name, what,
                                                                              name_of_parameter(of[i])))
                                          : -1);
    return list;
  };
  if (options.average) {
    out.average = fields([&](auto& writer) { visit_average(*options.average, writer); });
    out.averages = numbers(options.average->averages, parameters, "average");
  }
  out.accumulated = numbers(core.accumulated, core.parameters, "accumulated");
  out.calls = core.calls;
  return out;
}

template <class T>
T FieldReader::get(const std::string& name) const {
  const auto found = fields_.find(name);
  if (found == fields_.end()) refuse_step(fmt::format("the field \"{}\" is missing", name));
  if (const auto* value = std::get_if<T>(&found->second)) return *value;
  refuse_step(fmt::format("the field \"{}\" is of another type", name));
}

void FieldReader::visit(const std::string& name, double& field) { field = get<double>(name); }
void FieldReader::visit(const std::string& name, std::optional<double>& field) {
  const auto found = fields_.find(name);
  const bool lacks = found != fields_.end() && std::holds_alternative<std::monostate>(found->second);
  field = lacks ? std::nullopt : std::optional(get<double>(name));
}
void FieldReader::visit(const std::string& name, bool& field) { field = get<bool>(name); }
void FieldReader::visit(const std::string& name, int64_t& field) { field = get<int64_t>(name); }
void FieldReader::visit(const std::string& name, at::Tensor& field) {
  const auto found = fields_.find(name);
  const bool lacks = found != fields_.end() && std::holds_alternative<std::monostate>(found->second);
  field = lacks ? at::Tensor() : tensors_.at(get<WeightNumber>(name).number);
}

}  // namespace antegrad::packaging
