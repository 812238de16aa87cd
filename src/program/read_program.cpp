#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>

#include "antegrad/error.h"
#include "program/program_data.h"
#include "program/read_graph.h"

namespace antegrad::program {
namespace {

constexpr int64_t kSchemaMajor = 8, kSchemaMinor = 17;

[[noreturn]] void refuse_program(ErrorCode code, const std::string& fact,
                                 const std::string& way_out = "Export the program with PyTorch 2.11") {
  throw Error(code, "program:load", fact, way_out);
}

std::string chosen_model(const ZipFile& file, const std::string& wanted) {
  const auto models = models_in(file);
  if (models.empty())
    refuse_program(ErrorCode::Parse, fmt::format("\"{}\" has no programs", file.name()),
                   "Name a file that torch.export.save() has written");
  if (wanted.empty() && models.size() == 1) return models[0];
  for (const auto& model : models)
    if (model == wanted) return model;
  refuse_program(ErrorCode::InvalidArgument,
                 wanted.empty() ? fmt::format("\"{}\" has {} programs", file.name(), models.size())
                                : fmt::format("\"{}\" has no program \"{}\"", file.name(), wanted),
                 fmt::format("Name one of them in ProgramOptions::model: {}", fmt::join(models, ", ")));
}

InputSpec read_input_spec(const Json& json) {
  const auto [kind, content] = member_of(json);
  InputSpec spec;
  if (kind == "parameter") {
    spec.kind = InputSpec::Kind::Parameter;
    spec.name = content.at("parameter_name");
  } else if (kind == "buffer") {
    spec.kind = InputSpec::Kind::Buffer;
    spec.name = content.at("buffer_name");
    spec.persistent = content.at("persistent");
  } else if (kind == "tensor_constant") {
    spec.kind = InputSpec::Kind::Constant;
    spec.name = content.at("tensor_constant_name");
  } else if (kind == "constant_input") {
    spec.kind = InputSpec::Kind::Number;
    spec.name = content.at("name");
    spec.constant = constant_of(content.at("value"));
  } else if (kind == "user_input") {
    const auto [type, argument] = member_of(content.at("arg"));
    if (type == "as_tensor" || type == "as_custom_obj") {
      spec.name = argument.at("name");
    } else if (type.rfind("as_sym_", 0) == 0 && argument.contains("as_name")) {
      spec.name = argument.at("as_name");
    } else {
      spec.kind = InputSpec::Kind::Number;
      spec.constant = constant_of(content.at("arg"));
    }
    if (type == "as_custom_obj")
      refuse_program(ErrorCode::UnsupportedArgument,
                     fmt::format("the argument \"{}\" is a script object", spec.name),
                     "Export a model of tensors and numbers");
  } else if (kind == "custom_obj") {
    refuse_program(
        ErrorCode::UnsupportedArgument,
        fmt::format("the program uses the custom object \"{}\", which is stored as a pickle; none is "
                    "ever run",
                    content.at("custom_obj_name").get<std::string>()),
        "Export a model without script objects");
  } else {
    refuse_program(ErrorCode::UnsupportedArgument,
                   fmt::format("the program has an input of the kind \"{}\"", kind));
  }
  return spec;
}

OutputSpec read_output_spec(const Json& json) {
  const auto [kind, content] = member_of(json);
  if (kind == "user_output" || kind == "loss_output") return {};
  if (kind == "buffer_mutation") return {OutputSpec::Kind::BufferWrite, content.at("buffer_name")};
  if (kind == "parameter_mutation") return {OutputSpec::Kind::ParameterWrite, content.at("parameter_name")};
  if (kind == "user_input_mutation") return {OutputSpec::Kind::InputWrite, content.at("user_input_name")};
  refuse_program(ErrorCode::UnsupportedArgument,
                 fmt::format("the program has an output of the kind \"{}\"", kind),
                 "Export the forward function; gradients are computed here");
}

Range read_range(const Json& json) {
  Range range;
  if (!json.at("min_val").is_null()) range.min = integer_of(json.at("min_val"));
  if (!json.at("max_val").is_null()) range.max = integer_of(json.at("max_val"));
  return range;
}

/// What an expression was at export; 1 if the file does not say.
int64_t hint_of(const Json& expression) {
  if (!expression.contains("hint") || expression.at("hint").is_null()) return 1;
  const auto [kind, value] = member_of(expression.at("hint"));
  return kind == "as_int" ? integer_of(value) : 1;
}

TensorInput read_tensor_input(const Json& meta) {
  TensorInput input;
  input.dtype = dtype_of(meta.at("dtype"));
  input.device = device_of(meta.at("device"));
  for (const auto& size : meta.at("sizes")) {
    TensorInput::Size out;
    if (size.contains("as_int")) {
      out.expression.emplace();
      out.expression->number = integer_of(size.at("as_int"));
      out.text = std::to_string(out.expression->number);
      out.hint = out.expression->number;
    } else {
      out.hint = hint_of(size.at("as_expr"));
      out.text = size.at("as_expr").at("expr_str");
      out.expression = parse_srepr(out.text);
    }
    input.sizes.push_back(std::move(out));
  }
  return input;
}

class ProgramReader {
 public:
  ProgramReader(const ZipFile& file, const Json& json, ProgramData& data)
      : file_(file), json_(json), data_(data) {}

  void read() {
    check_versions();
    const auto& module = json_.at("graph_module");
    check_fields(module,
                 {"graph", "signature", "module_call_graph", "metadata", "treespec_namedtuple_fields"},
                 "a graph module");
    read_signature(module);
    data_.graph = read_graph(module.at("graph"));
    if (data_.graph.inputs.size() != data_.inputs.size() ||
        data_.graph.outputs.size() != data_.outputs.size())
      refuse_program(ErrorCode::Parse, "the signature does not fit the graph");
    read_structure(module.at("module_call_graph"));
    for (const auto& [symbol, range] : json_.at("range_constraints").items())
      data_.symbols[symbol] = read_range(range);
    read_leaves(module.at("graph"));
    read_guards();
    read_weights();
    warn_of_merged_inputs();
  }

 private:
  void check_versions() {
    check_fields(json_,
                 {"graph_module", "opset_version", "range_constraints", "schema_version", "verifiers",
                  "torch_version", "guards_code"},
                 "the program");
    const auto major = integer_of(json_.at("schema_version").at("major")),
               minor = integer_of(json_.at("schema_version").at("minor"));
    if (major != kSchemaMajor || minor > kSchemaMinor)
      refuse_program(ErrorCode::Parse, fmt::format("the file has schema {}.{}, and this version reads {}.{}",
                                                   major, minor, kSchemaMajor, kSchemaMinor));
    if (json_.contains("torch_version")) data_.torch_version = json_.at("torch_version");
    if (data_.torch_version.rfind("2.11.", 0) != 0)
      data_.warnings.push_back(fmt::format(
          "the program was exported with PyTorch {}; arguments that it leaves out get the defaults "
          "of 2.11",
          data_.torch_version));
    for (const auto& [name, version] : json_.at("opset_version").items())
      if (name == "aten" && integer_of(version) != 10)
        data_.warnings.push_back(fmt::format("the program uses version {} of ATen's ops; this is version 10",
                                             integer_of(version)));
  }

  void read_signature(const Json& module) {
    for (const auto& spec : module.at("signature").at("input_specs"))
      data_.inputs.push_back(read_input_spec(spec));
    for (const auto& spec : module.at("signature").at("output_specs"))
      data_.outputs.push_back(read_output_spec(spec));
  }

  void read_structure(const Json& calls) {
    for (const auto& call : calls) {
      if (call.at("fqn") != "" || call.at("signature").is_null()) continue;
      const auto& signature = call.at("signature");
      auto arguments = parse_tree_spec(signature.at("in_spec"));
      if (arguments.children.size() != 2 || arguments.children[1].kind != TreeSpec::Kind::Dict)
        refuse_program(ErrorCode::Parse, "arguments are no pair of positional ones and keywords");
      data_.positional = std::move(arguments.children[0]);
      data_.keywords = std::move(arguments.children[1]);
      data_.result = parse_tree_spec(signature.at("out_spec"));
      if (signature.contains("forward_arg_names") && signature.at("forward_arg_names").is_array())
        data_.argument_names = signature.at("forward_arg_names").get<std::vector<std::string>>();
      return;
    }
    refuse_program(ErrorCode::Parse, "the program does not say how it is called");
  }

  void read_leaves(const Json& graph) {
    std::vector<std::string> names;
    for (size_t i = 0; i < data_.positional.children.size(); ++i) {
      if (i >= data_.argument_names.size()) data_.argument_names.push_back(fmt::format("args[{}]", i));
      name_leaves(data_.positional.children[i], data_.argument_names[i], names);
    }
    data_.argument_names.resize(data_.positional.children.size());
    for (size_t i = 0; i < data_.keywords.children.size(); ++i) {
      data_.argument_names.push_back(data_.keywords.keys[i]);
      name_leaves(data_.keywords.children[i], data_.keywords.keys[i], names);
    }
    for (size_t i = 0; i < data_.inputs.size(); ++i) {
      const auto& spec = data_.inputs[i];
      if (spec.kind != InputSpec::Kind::User && spec.kind != InputSpec::Kind::Number) continue;
      Leaf leaf;
      leaf.input = i;
      leaf.baked = spec.kind == InputSpec::Kind::Number;
      if (data_.leaves.size() < names.size()) leaf.name = names[data_.leaves.size()];
      if (!leaf.baked && graph.at("tensor_values").contains(spec.name)) {
        leaf.tensor = true;
        data_.tensors[i] = read_tensor_input(graph.at("tensor_values").at(spec.name));
      } else if (!leaf.baked && graph.at("sym_int_values").contains(spec.name)) {
        const auto& number = graph.at("sym_int_values").at(spec.name);
        if (number.contains("as_expr")) {
          data_.number_hints[i] = hint_of(number.at("as_expr"));
          if (const auto symbol = parse_srepr(number.at("as_expr").at("expr_str")))
            data_.numbers[i] = *symbol;
        }
      }
      data_.leaves.push_back(std::move(leaf));
    }
    size_t results = 0;
    for (const auto& output : data_.outputs) results += output.kind == OutputSpec::Kind::User;
    if (data_.leaves.size() != names.size() || results != data_.result.leaves())
      refuse_program(ErrorCode::Parse, "the structure of arguments or results does not fit the signature");
  }

  void read_guards() {
    if (!json_.contains("guards_code")) return;
    for (const std::string text : json_.at("guards_code")) {
      const auto expression = parse_guard(text);
      if (!expression || !names_are_known(*expression))
        refuse_program(
            ErrorCode::UnsupportedArgument,
            fmt::format("the program holds under a condition that cannot be checked here: {}", text),
            "Export it with dynamic_shapes that need no such condition");
      data_.guards.push_back({text, *expression});
    }
  }

  bool names_are_known(const Expression& expression) const {
    for (const auto& name : names_in(expression)) {
      const auto path = name.substr(0, name.rfind("."));
      if (leaf_of_path(data_, name.rfind(".") == name.npos ? name : path) == nullptr) return false;
    }
    return true;
  }

  void read_weights() {
    const std::string folders[2][2] = {{"data/weights/", "_weights_config.json"},
                                       {"data/constants/", "_constants_config.json"}};
    for (const auto& [folder, config] : folders)
      if (file_.has(folder + data_.model + config))
        read_state(file_, folder, folder + data_.model + config, data_.state);
    const auto require = [&](const std::string& name) {
      if (data_.state.count(name) == 0)
        refuse_program(ErrorCode::Parse, fmt::format("the file has no contents for \"{}\"", name));
    };
    for (const auto& input : data_.inputs)
      if (input.kind == InputSpec::Kind::Parameter || input.kind == InputSpec::Kind::Buffer ||
          input.kind == InputSpec::Kind::Constant)
        require(input.name);
    for (const auto& output : data_.outputs) {
      if (output.kind == OutputSpec::Kind::BufferWrite || output.kind == OutputSpec::Kind::ParameterWrite)
        require(output.name);
      if (output.kind == OutputSpec::Kind::InputWrite &&
          std::none_of(data_.leaves.begin(), data_.leaves.end(), [&](const Leaf& leaf) {
            return leaf.tensor && data_.inputs[leaf.input].name == output.name;
          }))
        refuse_program(ErrorCode::Parse,
                       fmt::format("the program writes to \"{}\", which it does not take", output.name));
    }
  }

  /// torch.export takes two arguments that are one tensor for one, silently.
  void warn_of_merged_inputs() {
    std::set<int> used;
    const auto use = [&](const Argument& argument) {
      used.insert(argument.one.value);
      for (const auto& element : argument.elements) used.insert(element.value);
      for (const auto& inner : argument.lists)
        for (const auto& element : inner) used.insert(element.value);
    };
    for (const auto& node : data_.graph.nodes)
      if (node.target.rfind("torch.ops.aten.sym_", 0) != 0)  // sizes are the same for both
        for (const auto& input : node.inputs) use(input.argument);
    for (const auto& output : data_.graph.outputs) use(output);
    const auto is_used = [&](const Leaf& leaf) { return used.count(data_.graph.inputs[leaf.input]) > 0; };
    const auto same_type = [&](const Leaf& a, const Leaf& b) {
      const auto &x = data_.tensors.at(a.input), &y = data_.tensors.at(b.input);
      return x.dtype == y.dtype && std::equal(x.sizes.begin(), x.sizes.end(), y.sizes.begin(), y.sizes.end(),
                                              [](const auto& p, const auto& q) { return p.text == q.text; });
    };
    for (const auto& idle : data_.leaves)
      for (const auto& other : data_.leaves)
        if (idle.tensor && other.tensor && !is_used(idle) && is_used(other) && same_type(idle, other)) {
          data_.warnings.push_back(fmt::format(
              "the program does not read `{}`, but `{}`, which is of the same type: if one tensor was "
              "passed for both at export, torch.export has merged them. Export it with different "
              "tensors",
              idle.name, other.name));
          break;
        }
  }

  const ZipFile& file_;
  const Json& json_;
  ProgramData& data_;
};

}  // namespace

const Leaf* leaf_of_path(const ProgramData& data, const std::string& path) {
  for (size_t i = 0; i < data.leaves.size(); ++i) {
    const auto& leaf = data.leaves[i];
    // "['x'][0]" is the leaf "x[0]"; of *args it may be "args_0".
    const auto bracket = path.find("']");
    if (bracket == path.npos) continue;
    const auto name = path.substr(2, bracket - 2), rest = path.substr(bracket + 2);
    if (leaf.name == name + rest) return &leaf;
    if (name == "flat_args" && rest == fmt::format("[{}]", i)) return &leaf;
    const auto end = rest.find(']');
    if (rest.rfind('[', 0) == 0 && end != rest.npos &&
        leaf.name == fmt::format("{}_{}{}", name, rest.substr(1, end - 1), rest.substr(end + 1)))
      return &leaf;
  }
  return nullptr;
}

std::vector<std::string> models_in(const ZipFile& file) {
  std::vector<std::string> models;
  const std::string folder = "models/", end = ".json";
  for (const auto& [record, where] : file.records())
    if (record.rfind(folder, 0) == 0 && record.size() > folder.size() + end.size() &&
        record.compare(record.size() - end.size(), end.size(), end) == 0)
      models.push_back(record.substr(folder.size(), record.size() - folder.size() - end.size()));
  return models;
}

ProgramData read_program(const ZipFile& file, const std::string& model) {
  ProgramData data;
  data.file = file.name();
  data.model = chosen_model(file, model);
  const auto record = "models/" + data.model + ".json";
  try {
    if (file.has("byteorder") && file.read("byteorder") != "little")
      refuse_program(ErrorCode::Parse, "the file was written on a machine of the other byte order");
    data.records[record] = file.read(record);
    for (const auto& name : {fmt::format("data/weights/{}_weights_config.json", data.model),
                             fmt::format("data/constants/{}_constants_config.json", data.model),
                             fmt::format("data/sample_inputs/{}.pt", data.model)})
      if (file.has(name)) data.records[name] = file.read(name);
    for (const auto& [name, where] : file.records())
      if (name.rfind("extra/", 0) == 0) data.records[name] = file.read(name);
    const auto json = parse_json(data.records.at(record), record);
    ProgramReader(file, json, data).read();
  } catch (const Json::exception& error) {
    refuse_program(ErrorCode::Parse,
                   fmt::format("\"{}\" of \"{}\" is no program: {}", record, file.name(), error.what()));
  }
  return data;
}

}  // namespace antegrad::program
