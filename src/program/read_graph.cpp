#include "program/read_graph.h"

#include <c10/core/Device.h>
#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "antegrad/error.h"
#include "program/resolve.h"

namespace antegrad::program {
namespace {

constexpr int kDeepestGraph = 30;

const std::map<int64_t, at::ScalarType>& dtypes() {
  static const auto& table = *new std::map<int64_t, at::ScalarType>{{1, at::kByte},
                                                                    {2, at::kChar},
                                                                    {3, at::kShort},
                                                                    {4, at::kInt},
                                                                    {5, at::kLong},
                                                                    {6, at::kHalf},
                                                                    {7, at::kFloat},
                                                                    {8, at::kDouble},
                                                                    {9, at::kComplexHalf},
                                                                    {10, at::kComplexFloat},
                                                                    {11, at::kComplexDouble},
                                                                    {12, at::kBool},
                                                                    {13, at::kBFloat16},
                                                                    {28, at::kUInt16},
                                                                    {29, at::kFloat8_e4m3fn},
                                                                    {30, at::kFloat8_e5m2},
                                                                    {31, at::kFloat8_e4m3fnuz},
                                                                    {32, at::kFloat8_e5m2fnuz}};
  return table;
}

/// The text of an error without its stage and its way out.
std::string fact_of(const Error& error) {
  std::string text = error.what();
  if (const auto stage = text.find("] "); stage != text.npos) text = text.substr(stage + 2);
  return text.substr(0, text.find(". "));
}

[[noreturn]] void refuse_graph(const std::string& fact,
                               const std::string& way_out =
                                   "Save the program again with torch.export.save() of "
                                   "PyTorch 2.11") {
  throw Error(ErrorCode::Parse, "program:load", fact, way_out);
}

int64_t memory_format_of(const Json& json) {
  switch (integer_of(json)) {
    case 1:
      return static_cast<int64_t>(at::MemoryFormat::Contiguous);
    case 2:
      return static_cast<int64_t>(at::MemoryFormat::ChannelsLast);
    case 3:
      return static_cast<int64_t>(at::MemoryFormat::ChannelsLast3d);
    case 4:
      return static_cast<int64_t>(at::MemoryFormat::Preserve);
    default:
      refuse_graph(fmt::format("memory format {} is unknown", integer_of(json)));
  }
}

int64_t layout_of(const Json& json) {
  if (integer_of(json) != 7)
    refuse_graph(fmt::format("layout {} is not that of dense tensors", integer_of(json)),
                 "Export a model of dense tensors");
  return static_cast<int64_t>(at::kStrided);
}

/// Reads one graph; values are numbered in the order of their definition.
class GraphReader {
 public:
  explicit GraphReader(int depth) : depth_(depth) {
    if (depth > kDeepestGraph) refuse_graph(fmt::format("graphs are nested {} levels deep", depth));
  }

  Graph read(const Json& json) {
    check_fields(json,
                 {"inputs", "outputs", "nodes", "tensor_values", "sym_int_values", "sym_bool_values",
                  "is_single_tensor_return", "custom_obj_values", "sym_float_values"},
                 "a graph");
    for (const auto& input : json.at("inputs")) {
      const auto binding = bind(input);
      if (binding.list) refuse_graph("a graph takes a list, which nothing of torch.export does");
      graph_.inputs.push_back(binding.values.empty() ? kNoValue : binding.values[0]);
    }
    for (const auto& node : json.at("nodes")) {
      graph_.nodes.push_back(read_node(node));
      graph_.nodes.back().dynamic_length = has_dynamic_length(node, json.at("tensor_values"));
    }
    for (const auto& output : json.at("outputs")) graph_.outputs.push_back(argument(output));
    for (auto& node : graph_.nodes) resolve(node);
    find_last_uses();
    return std::move(graph_);
  }

 private:
  int value(const std::string& name) const {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) refuse_graph(fmt::format("\"{}\" is used before it is computed", name));
    return found->second;
  }
  int define(const std::string& name) {
    const auto number = static_cast<int>(graph_.values.size());
    if (!numbers_.emplace(name, number).second) refuse_graph(fmt::format("\"{}\" is computed twice", name));
    graph_.values.push_back(name);
    return number;
  }

  static Argument constant(c10::IValue value) {
    Argument out;
    out.one.constant = std::move(value);
    return out;
  }
  Argument tensor(const Json& json) const {
    Argument out;
    out.kind = Argument::Kind::Value;
    out.one.value = value(json.at("name"));
    return out;
  }
  std::vector<Element> tensor_list(const Json& json) const {
    std::vector<Element> out;
    for (const auto& element : json) out.push_back({value(element.at("name")), {}});
    return out;
  }
  /// Of a number that the graph computes, or a constant.
  Element number(const Json& json) const {
    const auto [kind, content] = member_of(json);
    if (kind == "as_name") return {value(content), {}};
    return {kNoValue, constant_of(json)};
  }
  static Argument list(Argument::Kind kind, std::vector<Element> elements) {
    Argument out;
    out.kind = kind;
    out.elements = std::move(elements);
    return out;
  }
  template <class Read>
  static Argument constants(const Json& json, const Read& read) {
    std::vector<Element> elements;
    for (const auto& element : json) elements.push_back({kNoValue, read(element)});
    return list(Argument::Kind::Numbers, std::move(elements));
  }

  Argument argument(const Json& json) {
    const auto [kind, content] = member_of(json);
    if (kind == "as_tensor") return tensor(content);
    if (kind == "as_optional_tensor") return argument(content);
    if (kind == "as_tensors") return list(Argument::Kind::Tensors, tensor_list(content));
    if (kind == "as_optional_tensors") return maybe_tensors(content);
    if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
      auto one = number(content);
      if (one.value == kNoValue) return constant(std::move(one.constant));
      Argument out;
      out.kind = Argument::Kind::Value;
      out.one = std::move(one);
      return out;
    }
    if (kind == "as_sym_ints" || kind == "as_sym_floats" || kind == "as_sym_bools") {
      std::vector<Element> elements;
      for (const auto& element : content) elements.push_back(number(element));
      return list(Argument::Kind::Numbers, std::move(elements));
    }
    if (kind == "as_ints")
      return constants(content, [](const Json& j) { return c10::IValue(integer_of(j)); });
    if (kind == "as_floats") return constants(content, [](const Json& j) { return c10::IValue(real_of(j)); });
    if (kind == "as_bools")
      return constants(content, [](const Json& j) { return c10::IValue(j.get<bool>()); });
    if (kind == "as_nested_tensors") {
      Argument out;
      out.kind = Argument::Kind::NestedTensors;
      for (const auto& inner : content) out.lists.push_back(tensor_list(inner));
      return out;
    }
    if (kind == "as_graph") {
      Argument out;
      out.kind = Argument::Kind::Graph;
      out.graph = std::make_shared<const Graph>(read_graph(content.at("graph"), depth_ + 1));
      return out;
    }
    return constant(constant_of(json));
  }

  Argument maybe_tensors(const Json& json) const {
    std::vector<Element> elements;
    for (const auto& element : json) {
      const auto [kind, content] = member_of(element);
      elements.push_back({kind == "as_none" ? kNoValue : value(content.at("name")), {}});
    }
    return list(Argument::Kind::MaybeTensors, std::move(elements));
  }

  Binding bind(const Json& json) {
    const auto [kind, content] = member_of(json);
    Binding out;
    if (kind == "as_tensor" || kind == "as_custom_obj") {
      out.values.push_back(define(content.at("name")));
    } else if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
      if (content.contains("as_name")) out.values.push_back(define(content.at("as_name")));
    } else if (kind == "as_tensors" || kind == "as_optional_tensors") {
      out.list = true;
      for (const auto& element : content) {
        const bool optional = kind == "as_optional_tensors";
        if (optional && element.contains("as_none"))
          out.values.push_back(kNoValue);
        else
          out.values.push_back(define(optional ? element.at("as_tensor").at("name") : element.at("name")));
      }
    } else if (kind != "as_none" && kind != "as_int" && kind != "as_float" && kind != "as_bool" &&
               kind != "as_string") {
      refuse_graph(fmt::format("a result is of the unknown kind \"{}\"", kind));
    }
    return out;
  }

  Argument argument_of(const Node& node, const Json& json) {
    try {
      return argument(json);
    } catch (const Error& error) {
      if (std::string_view(error.what()).find(" at node ") != std::string_view::npos) throw;
      throw Error(error.code(), "program:load", fmt::format("{}{}", fact_of(error), where_in_python(node)),
                  "Export the model without it");
    }
  }

  Node read_node(const Json& json) {
    check_fields(json, {"target", "inputs", "outputs", "metadata", "is_hop_single_tensor_return", "name"},
                 "a node");
    Node node;
    node.target = json.at("target");
    if (json.contains("name") && json["name"].is_string()) node.name = json["name"];
    if (json.contains("metadata")) {
      const auto& metadata = json.at("metadata");
      if (metadata.contains("stack_trace")) node.stack_trace = metadata.at("stack_trace");
      if (metadata.contains("nn_module_stack")) node.scope = innermost_module(metadata.at("nn_module_stack"));
    }
    for (const auto& input : json.at("inputs")) {
      check_fields(input, {"name", "arg", "kind"}, "an argument");
      NamedArgument given;
      if (!input.at("name").is_null()) given.name = input.at("name");
      given.keyword = input.contains("kind") && input.at("kind") == 2;
      given.argument = argument_of(node, input.at("arg"));
      node.inputs.push_back(std::move(given));
    }
    for (const auto& output : json.at("outputs")) node.outputs.push_back(bind(output));
    if (node.name.empty() && !node.outputs.empty() && !node.outputs[0].values.empty() &&
        node.outputs[0].values[0] != kNoValue)
      node.name = graph_.values[node.outputs[0].values[0]];
    return node;
  }

  /// Whether the first size of the tensors that a scan or a map takes apart is a symbol.
  static bool has_dynamic_length(const Json& node, const Json& tensors) {
    const std::string target = node.at("target");
    const size_t lists = target == "torch.ops.higher_order.scan"       ? 2
                         : target == "torch.ops.higher_order.map_impl" ? 1
                                                                       : 0;
    if (lists == 0 || node.at("inputs").size() <= lists) return false;
    const auto& given = node.at("inputs")[lists].at("arg");
    if (!given.contains("as_tensors")) return false;
    for (const auto& tensor : given.at("as_tensors")) {
      const std::string name = tensor.at("name");
      if (!tensors.contains(name)) continue;
      const auto& sizes = tensors.at(name).at("sizes");
      if (!sizes.empty() && sizes[0].contains("as_expr")) return true;
    }
    return false;
  }

  /// "L__self__,,Net;L__self___l1,l1,torch.nn.modules.linear.Linear" -> "l1"
  static std::string innermost_module(const std::string& stack) {
    const auto last = stack.substr(stack.rfind(';') + 1);
    const auto begin = last.find(',');
    const auto end = begin == last.npos ? last.npos : last.find(',', begin + 1);
    return end == last.npos ? std::string() : last.substr(begin + 1, end - begin - 1);
  }

  void find_last_uses() {
    std::vector<char> used(graph_.values.size(), 0);
    std::vector<int>* uses = nullptr;
    const auto use_one = [&](int value) {
      if (value == kNoValue || used[value]) return;
      used[value] = 1;
      if (uses != nullptr) uses->push_back(value);
    };
    const auto use = [&](const Argument& argument) {
      use_one(argument.one.value);
      for (const auto& element : argument.elements) use_one(element.value);
      for (const auto& inner : argument.lists)
        for (const auto& element : inner) use_one(element.value);
    };
    for (const auto& output : graph_.outputs) use(output);
    for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
      uses = &node->last_uses;
      for (const auto& output : node->outputs)
        for (const int value : output.values) use_one(value);
      for (const auto& input : node->inputs) use(input.argument);
    }
  }

  int depth_;
  Graph graph_;
  std::unordered_map<std::string, int> numbers_;
};

}  // namespace

at::ScalarType dtype_of(const Json& json) {
  const auto found = dtypes().find(integer_of(json));
  if (found == dtypes().end()) refuse_graph(fmt::format("dtype {} is unknown", integer_of(json)));
  return found->second;
}

int dtype_number(at::ScalarType dtype) {
  for (const auto& [number, type] : dtypes())
    if (type == dtype) return static_cast<int>(number);
  throw Error(ErrorCode::UnsupportedTensor, "program:save",
              fmt::format("{} has no number in torch.export's files", c10::toString(dtype)),
              "Use another dtype");
}

c10::Device device_of(const Json& json) {
  auto text = json.at("type").get<std::string>();
  if (json.contains("index") && !json.at("index").is_null())
    text += ":" + std::to_string(integer_of(json.at("index")));
  try {
    return c10::Device(text);
  } catch (const c10::Error&) {
    refuse_graph(fmt::format("device \"{}\" is unknown", text));
  }
}

c10::IValue constant_of(const Json& json) {
  const auto [kind, content] = member_of(json);
  if (kind == "as_none") return {};
  if (kind == "as_int") return integer_of(content);
  if (kind == "as_float") return real_of(content);
  if (kind == "as_bool") return content.get<bool>();
  if (kind == "as_string") return content.get<std::string>();
  if (kind == "as_complex")
    return c10::complex<double>(real_of(content.at("real")), real_of(content.at("imag")));
  if (kind == "as_scalar_type") return static_cast<int64_t>(dtype_of(content));
  if (kind == "as_memory_format") return memory_format_of(content);
  if (kind == "as_layout") return layout_of(content);
  if (kind == "as_device") return device_of(content);
  if (kind == "as_strings") return content.get<std::vector<std::string>>();
  if (kind == "as_int_lists") {
    c10::List<std::vector<int64_t>> lists;
    for (const auto& inner : content) {
      std::vector<int64_t> numbers;
      for (const auto& number : inner) numbers.push_back(integer_of(number));
      lists.push_back(std::move(numbers));
    }
    return lists;
  }
  if (kind == "as_custom_obj")
    throw Error(ErrorCode::UnsupportedArgument, "program:load",
                "the program uses a custom object, which is stored as a pickle; none is ever run",
                "Export a model without script objects");
  refuse_graph(fmt::format("an argument is of the unknown kind \"{}\"", kind));
}

Graph read_graph(const Json& json, int depth) { return GraphReader(depth).read(json); }

}  // namespace antegrad::program
