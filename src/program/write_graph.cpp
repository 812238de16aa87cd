#include "program/write_graph.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <cstring>
#include <set>

#include "antegrad/error.h"
#include "aten/convert.h"
#include "aten/op_schema.h"
#include "program/graph_builder.h"
#include "program/read_graph.h"
#include "program/write_scatter.h"
#include "program/write_sizes.h"

namespace antegrad::program {
namespace {

[[noreturn]] void refuse_node(const ir::Node& node, const std::string& fact) {
  throw Error(ErrorCode::UnsupportedOp, "program:save:" + node.op, fact,
              "Write this part of the function with other ops");
}

const ir::Arg* attribute(const ir::Node& node, std::string_view name) {
  for (const auto& attr : node.attrs)
    if (attr.name == name) return &attr.value;
  return nullptr;
}

at::Tensor contents_of(const ir::Node& node, const ir::TensorType& type) {
  auto tensor = at::empty(aten::constants(type.sizes), aten::to_torch(type.dtype));
  if (const auto* data = attribute(node, "data")) {
    const auto& bytes = **data->as<ir::Bytes>();
    if (bytes.size() != tensor.nbytes()) refuse_node(node, "its contents do not have its size");
    if (!bytes.empty()) std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  }
  return tensor.to(aten::to_torch(type.device));
}

/// A number that takes part in type promotion as a number, not as a tensor.
Json number_of(const at::Tensor& wrapped) {
  if (wrapped.is_complex()) return complex_json(std::complex<double>(wrapped.item<c10::complex<double>>()));
  if (wrapped.is_floating_point()) return {{"as_float", real_json(wrapped.item<double>())}};
  if (wrapped.scalar_type() == at::kBool) return {{"as_bool", wrapped.item<bool>()}};
  return {{"as_int", wrapped.item<int64_t>()}};
}

class GraphWriter : private GraphBuilder {
 public:
  explicit GraphWriter(const ir::Graph& graph)
      : GraphBuilder(graph.symbols),
        graph_(graph),
        names_(graph.values.size()),
        numbers_(graph.values.size()),
        sizes_(
            graph, [this](ir::ValueId value) { return names_[value]; },
            [this](SizeWriter::NumberNode node) { return add_number(std::move(node)); }) {}

  WrittenGraph write() {
    name_inputs();
    for (const auto& node : graph_.nodes) add(node);
    add_outputs();
    out_.constants = std::move(constants());
    order_inputs();
    auto inputs = Json::array();
    for (const auto& [constant, index] : out_.order) {
      const auto name = constant ? std::optional(out_.constants[index].name) : out_.inputs[index];
      inputs.push_back(name ? Json{{"as_tensor", {{"name", *name}}}} : Json{{"as_none", true}});
    }
    json()["inputs"] = std::move(inputs);
    out_.graph = std::move(json());
    return std::move(out_);
  }

 private:
  void name_inputs() {
    for (const auto& input : graph_.inputs) {
      const auto* type = graph_.type_of(input.value).tensor();
      if (type == nullptr) {
        out_.inputs.emplace_back();
        continue;
      }
      const auto* prefix = input.role == ir::InputRole::UserInput ? ""
                           : input.role == ir::InputRole::Param   ? "p_"
                                                                  : "b_";
      names_[input.value] = define(prefix + identifier(input.name), *type);
      out_.inputs.emplace_back(names_[input.value]);
    }
  }

  void order_inputs() {
    const auto add_all = [&](bool user) {
      for (size_t i = 0; i < graph_.inputs.size(); ++i)
        if ((graph_.inputs[i].role == ir::InputRole::UserInput) == user) out_.order.push_back({false, i});
    };
    add_all(false);
    for (size_t i = 0; i < out_.constants.size(); ++i) out_.order.push_back({true, i});
    add_all(true);
  }

  // --- arguments

  Json tensor(ir::ValueId value) {
    if (names_[value].empty() && numbers_[value].defined())
      names_[value] = add_constant(numbers_[value], graph_.tensor_type(value));
    return {{"name", names_[value]}};
  }
  Json tensors(const ir::Arg::List& list, bool optional) {
    auto out = Json::array();
    for (const auto& element : list) {
      const auto* value = element.as<ir::ValueId>();
      if (!optional && value != nullptr) out.push_back(tensor(*value));
      if (optional)
        out.push_back(value != nullptr ? Json{{"as_tensor", tensor(*value)}} : Json{{"as_none", true}});
    }
    return {{optional ? "as_optional_tensors" : "as_tensors", out}};
  }
  Json integers(const ir::Arg::List& list) {
    bool constant = true;
    for (const auto& element : list) constant = constant && element.as<ir::Dim>()->is_constant();
    auto out = Json::array();
    for (const auto& element : list)
      out.push_back(constant ? Json(element.as<ir::Dim>()->constant())
                             : sizes_.element(*element.as<ir::Dim>()));
    return {{constant ? "as_ints" : "as_sym_ints", out}};
  }

  Json list(const ir::Node& node, const ir::Arg::List& list, const aten::ArgSchema& schema) {
    switch (schema.kind) {
      case aten::ArgKind::TensorList:
        return tensors(list, false);
      case aten::ArgKind::OptionalTensorList:
        return tensors(list, true);
      case aten::ArgKind::IntList:
        return integers(list);
      case aten::ArgKind::BoolList: {
        auto out = Json::array();
        for (const auto& element : list) out.push_back(*element.as<bool>());
        return {{"as_bools", out}};
      }
      case aten::ArgKind::FloatList: {
        auto out = Json::array();
        for (const auto& element : list) out.push_back(real_json(*element.as<double>()));
        return {{"as_floats", out}};
      }
      default:
        refuse_node(node, fmt::format("its argument \"{}\" is a list of an unknown kind", schema.name));
    }
  }

  Json argument(const ir::Node& node, const ir::Arg& arg, const aten::ArgSchema& schema) {
    if (arg.as<ir::None>() != nullptr) return {{"as_none", true}};
    if (const auto* value = arg.as<ir::ValueId>()) {
      if (const auto replaced = replaced_.find(*value); replaced != replaced_.end())
        return {{"as_tensor", {{"name", replaced->second}}}};
      if (numbers_[*value].defined()) return number_of(numbers_[*value]);
      return {{"as_tensor", tensor(*value)}};
    }
    if (const auto* flag = arg.as<bool>()) return {{"as_bool", *flag}};
    if (const auto* size = arg.as<ir::Dim>()) return sizes_.number(*size);
    if (const auto* real = arg.as<double>()) return {{"as_float", real_json(*real)}};
    if (const auto* real = arg.as<ir::Real>()) return sizes_.number(*real);
    if (const auto* complex = arg.as<std::complex<double>>()) return complex_json(*complex);
    if (const auto* text = arg.as<std::string>()) return {{"as_string", *text}};
    if (const auto* dtype = arg.as<ir::DType>())
      return {{"as_scalar_type", dtype_number(aten::to_torch(*dtype))}};
    if (const auto* device = arg.as<ir::Device>())
      return {{"as_device", device_json(aten::to_torch(*device))}};
    if (arg.as<ir::Layout>() != nullptr) return {{"as_layout", kStridedLayout}};
    if (const auto* format = arg.as<ir::MemoryFormat>())
      return {{"as_memory_format", memory_format_number(*format)}};
    if (const auto* elements = arg.as<ir::Arg::List>()) return list(node, *elements, schema);
    refuse_node(node, fmt::format("its argument \"{}\" has no form in a file of torch.export", schema.name));
  }

  // --- nodes

  std::string add_copy(ir::ValueId value, const std::string& scope) {
    return add_tensor("clone", graph_.tensor_type(value),
                      Json::array({input("self", {{"as_tensor", tensor(value)}})}), scope);
  }

  void add(const ir::Node& node) {
    if (node.op.rfind("antegrad.", 0) == 0) return add_own(node);
    const auto* schema = aten::find_schema(node.op);
    if (schema == nullptr) refuse_node(node, "the op is not registered in this process");
    NewNode out;
    out.target = "torch.ops." + node.op;
    if (std::count(node.op.begin(), node.op.end(), '.') == 1) out.target += ".default";
    const auto base = schema->handle.schema().name();
    const auto name = identifier(base.substr(base.find("::") + 2));
    // The op writes to copies, which are the last outputs.
    const size_t own = node.outputs.size() - (node.functional ? node.effects.writes.size() : 0);
    if (!node.functional && !node.effects.writes.empty()) refuse_node(node, "it writes in place");
    replaced_.clear();
    for (size_t w = 0; w + own < node.outputs.size(); ++w) {
      const auto written = node.effects.writes[w];
      names_[node.outputs[own + w]] = replaced_[written] = add_copy(written, node.provenance.scope);
    }
    for (size_t i = 0; i < node.args.size(); ++i)
      out.inputs.push_back(input(schema->args.at(i).name, argument(node, node.args[i], schema->args[i])));
    for (const auto& attr : node.attrs)
      for (const auto& arg : schema->args)
        if (arg.name == attr.name)
          out.inputs.push_back(input(arg.name, argument(node, attr.value, arg), true));
    replaced_.clear();
    bind(node, *schema, own, name, out);
    push(std::move(out), node.provenance.scope);
  }

  /// Names the results of a node.
  void bind(const ir::Node& node, const aten::OpSchema& schema, size_t own, const std::string& name,
            NewNode& out) {
    const auto& returns = schema.handle.schema().returns();
    const bool single = returns.size() == 1 && schema.returns[0] == aten::ArgKind::Tensor;
    if (!single) out.name = unique(name);
    const auto result = [&](ir::ValueId value) -> Json {
      const auto* type = graph_.type_of(value).tensor();
      if (type == nullptr) return nullptr;
      names_[value] = define(single ? name : "getitem", *type);
      return {{"name", names_[value]}};
    };
    size_t next = 0, entry = 0;
    for (size_t r = 0; r < returns.size(); ++r) {
      if (const auto of = schema.return_is_arg[r]; of >= 0) {  // not among the outputs: the argument itself
        const auto* written =
            of < static_cast<int>(node.args.size()) ? node.args[of].as<ir::ValueId>() : nullptr;
        if (written == nullptr) refuse_node(node, "it returns an argument that it is not given");
        out.outputs.push_back({{"as_tensor", {{"name", define(name, graph_.tensor_type(*written))}}}});
        continue;
      }
      const auto count = node.returns.empty() ? -1 : node.returns.at(entry++);
      if (count >= 0) {
        auto list = Json::array();
        for (int32_t k = 0; k < count; ++k) list.push_back(result(node.outputs.at(next++)));
        out.outputs.push_back({{"as_tensors", std::move(list)}});
        continue;
      }
      if (schema.returns[r] != aten::ArgKind::Tensor || next >= own)
        refuse_node(node, fmt::format("it returns a {}", returns[r].type()->str()));
      auto tensor = result(node.outputs[next++]);
      out.outputs.push_back(tensor.is_null() ? Json{{"as_none", true}}
                                             : Json{{"as_tensor", std::move(tensor)}});
    }
    if (single) out.name = out.outputs[0].begin()->at("name");
  }

  void add_own(const ir::Node& node) {
    const auto output = node.outputs.at(0);
    const auto& type = graph_.tensor_type(output);
    if (node.op == "antegrad.constant") {
      const auto contents = contents_of(node, type);
      if (attribute(node, "wrapped") != nullptr)
        numbers_[output] = contents;
      else
        names_[output] = add_constant(contents, type);
      return;
    }
    const auto first = node.args.at(0).as<ir::ValueId>();
    const auto self = [&] { return input("self", {{"as_tensor", tensor(*first)}}); };
    const auto& scope = node.provenance.scope;
    if (node.op == "antegrad.alias") {
      names_[output] = add_tensor("alias", type, Json::array({self()}), scope);
      return;
    }
    const auto sizes = [&](const ir::Arg& arg) { return integers(*arg.as<ir::Arg::List>()); };
    if (node.op == "antegrad.restride") {
      names_[output] = add_with_strides(tensor(*first).at("name"), type, sizes(node.args.at(1)), scope);
      return;
    }
    if (node.op == "antegrad.strided_scatter") return add_scatter(node);
    if (node.op != "antegrad.strided") refuse_node(node, "it has no counterpart among the ops of PyTorch");
    // Ours counts from the first element of the tensor, PyTorch's from the start of its memory.
    const auto offset = *node.args.at(3).as<ir::Dim>() + graph_.tensor_type(*first).offset;
    names_[output] = add_tensor(
        "as_strided", type,
        Json::array({self(), input("size", sizes(node.args.at(1))), input("stride", sizes(node.args.at(2))),
                     input("storage_offset", sizes_.number(offset))}),
        scope);
  }

  static std::vector<ir::Dim> dims_of(const ir::Arg& arg) {
    std::vector<ir::Dim> out;
    for (const auto& element : *arg.as<ir::Arg::List>()) out.push_back(*element.as<ir::Dim>());
    return out;
  }
  Json integers(const std::vector<ir::Dim>& dims) {
    return integers(ir::Arg::List(dims.begin(), dims.end()));
  }
  void add_scatter(const ir::Node& node) {
    const auto& type = graph_.tensor_type(node.outputs.at(0));
    const auto whole = *node.args.at(0).as<ir::ValueId>(), part = *node.args.at(1).as<ir::ValueId>();
    const auto scatter =
        find_scatter(graph_.tensor_type(whole),
                     {dims_of(node.args.at(2)), dims_of(node.args.at(3)), *node.args.at(4).as<ir::Dim>()});
    if (!scatter) refuse_node(node, "it replaces a part of a tensor that no op of PyTorch replaces");
    const auto& scope = node.provenance.scope;
    auto inputs = Json::array(
        {input("self", named(tensor(whole).at("name"))), input("src", named(tensor(part).at("name")))});
    auto& result = names_[node.outputs[0]];
    switch (scatter->kind) {
      case Scatter::Kind::Whole:
        result = add_tensor("copy", type, std::move(inputs), scope);
        return;
      case Scatter::Kind::Slice:
        inputs.push_back(input("dim", {{"as_int", scatter->dim}}));
        inputs.push_back(input("start", sizes_.number(scatter->start)));
        inputs.push_back(input("end", sizes_.number(scatter->end)));
        inputs.push_back(input("step", {{"as_int", scatter->step}}));
        result = add_tensor("slice_scatter", type, std::move(inputs), scope);
        return;
      case Scatter::Kind::Select:
        inputs.push_back(input("dim", {{"as_int", scatter->dim}}));
        inputs.push_back(input("index", sizes_.number(scatter->start)));
        result = add_tensor("select_scatter", type, std::move(inputs), scope, "int");
        return;
      case Scatter::Kind::Index:
        result =
            add_index_put(type, tensor(whole).at("name"), tensor(part).at("name"), scatter->positions, scope);
    }
  }

  /// Replaces elements of a tensor as a row, by their positions.
  std::string add_index_put(const ir::TensorType& type, const std::string& whole, const std::string& part,
                            const at::Tensor& positions, const std::string& scope) {
    const auto row_type = ir::contiguous_tensor(type.dtype, {type.numel()}, type.device);
    const auto part_type = ir::contiguous_tensor(type.dtype, {ir::Dim(positions.numel())}, type.device);
    const auto reshape = [&](const std::string& name, const ir::TensorType& as) {
      return add_tensor("reshape", as,
                        Json::array({input("self", named(name)), input("shape", integers(as.sizes))}), scope);
    };
    const auto index =
        add_constant(positions.to(aten::to_torch(type.device)),
                     ir::contiguous_tensor(ir::DType::I64, {ir::Dim(positions.numel())}, type.device));
    const auto row = reshape(whole, row_type), values = reshape(part, part_type);
    const auto replaced =
        add_tensor("index_put", row_type,
                   Json::array({input("self", named(row)),
                                input("indices", {{"as_optional_tensors", Json::array({named(index)})}}),
                                input("values", named(values))}),
                   scope);
    auto plain = type;
    plain.strides = ir::contiguous_strides(type.sizes);
    const auto shaped = reshape(replaced, plain);
    return type.is_contiguous() ? shaped : add_with_strides(shaped, type, integers(type.strides), scope);
  }

  /// A copy of a tensor that lies in memory as `type` says.
  std::string add_with_strides(const std::string& name, const ir::TensorType& type, const Json& strides,
                               const std::string& scope) {
    const auto empty =
        add_tensor("new_empty_strided", type,
                   Json::array({input("self", named(name)), input("size", integers(type.sizes)),
                                input("stride", strides)}),
                   scope);
    return add_tensor("copy", type, Json::array({input("self", named(empty)), input("src", named(name))}),
                      scope);
  }

  /// New values of inputs come first, as in torch.export's files, which identify them by their names.
  void add_outputs() {
    std::multiset<ir::ValueId> uses;
    for (const auto& output : graph_.outputs)
      if (output.value.valid()) uses.insert(output.value);
    for (const auto& input : graph_.inputs) uses.insert(input.value);
    for (const auto& output : graph_.outputs) {
      if (!output.value.valid() || graph_.type_of(output.value).tensor() == nullptr)
        out_.outputs.emplace_back();
      else if (output.role == ir::OutputRole::MutatedInput && uses.count(output.value) > 1)
        out_.outputs.emplace_back(add_copy(output.value, {}));
      else
        out_.outputs.emplace_back(tensor(output.value).at("name").get<std::string>());
    }
    for (const bool mutations : {true, false})
      for (size_t i = 0; i < graph_.outputs.size(); ++i)
        if ((graph_.outputs[i].role == ir::OutputRole::MutatedInput) == mutations)
          json()["outputs"].push_back(out_.outputs[i] ? Json{{"as_tensor", {{"name", *out_.outputs[i]}}}}
                                                      : Json{{"as_none", true}});
  }

  const ir::Graph& graph_;
  WrittenGraph out_;
  ir::PerValue<std::string> names_;
  ir::PerValue<at::Tensor> numbers_;             ///< constants that stand for numbers
  std::map<ir::ValueId, std::string> replaced_;  ///< values that the present node is given copies of
  SizeWriter sizes_;
};

}  // namespace

WrittenGraph write_graph(const ir::Graph& graph) { return GraphWriter(graph).write(); }

}  // namespace antegrad::program
