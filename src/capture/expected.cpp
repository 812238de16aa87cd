#include "capture/expected.h"

#include <algorithm>

#include "aten/convert.h"
#include "capture/sure_shapes.h"
#include "ir/substitute.h"

namespace antegrad::capture {

using namespace aten;

namespace {

constexpr std::string_view kConstant = "antegrad.constant";
constexpr std::string_view kAlias = "antegrad.alias";

/// Whether a capture may leave the op out when its arguments are as expected: its results follow from them,
/// and recording does nothing else for it.
bool can_be_left_out(const ir::Graph& graph, const ir::Node& node, const OpSchema& schema) {
  return !schema.foreign && !schema.random && !schema.writes && !schema.inplace_view && !schema.collective &&
         node.op == schema.name && has_sure_shapes(graph, node);
}

}  // namespace

Expected::Expected(ir::Graph forward)
    : graph_(std::move(forward)), forms_(graph_.values.size()), outside_(graph_.values.size(), false) {
  for (const auto& input : graph_.inputs) outside_[input.value] = true;
  auto node = graph_.nodes.begin();
  for (; node != graph_.nodes.end() && node->op == kConstant; ++node) outside_[node->outputs[0]] = true;
  for (; node != graph_.nodes.end(); ++node) {
    // Constants that ops were turned into, lazy bits, and what reads data are left to whole captures.
    if (node->op == kConstant || node->op == "antegrad.restride" || node->op == "aten._conj" ||
        node->op == "aten._neg_view" || node->op == "aten.as_strided")
      usable_ = false;
    Op op{&*node, nullptr, node->op == kAlias};
    if (const auto* schema = op.is_alias ? nullptr : find_schema(node->op);
        schema != nullptr && can_be_left_out(graph_, *node, *schema))
      op.schema = schema;
    ops_.push_back(op);
  }
  for (const auto v : graph_.values.ids()) {
    const auto* type = graph_.type_of(v).tensor();
    if (type == nullptr) continue;
    usable_ = usable_ && type->device.kind == ir::Device::Kind::Cpu;
    auto& form = forms_[v];
    form.is_tensor = true;
    form.dtype = to_torch(type->dtype);
    for (const auto& size : type->sizes) {
      form.sizes.push_back(number_of(size));
      if (form.sizes.back().expression >= 0) symbolic_[form.sizes.back().expression] = true;
    }
    for (const auto& stride : type->strides) form.strides.push_back(number_of(stride));
    form.offset = number_of(type->offset);
  }
}

Expected::Number Expected::number_of(const ir::Dim& dim) {
  if (dim.is_constant()) return {dim.constant()};
  const auto found = std::ranges::find(expressions_, dim);
  const auto at = found - expressions_.begin();
  if (found == expressions_.end()) {
    expressions_.push_back(dim);
    symbolic_.push_back(false);
  }
  return {0, static_cast<int32_t>(at)};
}

Follower::Follower(std::shared_ptr<const Expected> expected, std::vector<int64_t> symbols)
    : expected_(std::move(expected)),
      symbols_(std::move(symbols)),
      offsets_(expected_->graph_.values.size(), 0) {
  const ir::Dim::Assignment value_of = [this](int32_t s) { return symbols_[s]; };
  for (size_t i = 0; i < expected_->expressions_.size(); ++i) {
    values_.push_back(expected_->expressions_[i].evaluate(value_of));
    usual_ = usual_ && !(expected_->symbolic_[i] && values_.back() <= 1);
  }
}

const Expected::Op* Follower::next_call(const OpSchema& schema) const {
  if (is_complete()) return nullptr;
  const auto& op = expected_->ops_[next_];
  return op.schema == &schema ? &op : nullptr;
}

const Expected::Op* Follower::next_alias() const {
  if (is_complete()) return nullptr;
  const auto& op = expected_->ops_[next_];
  return op.is_alias ? &op : nullptr;
}

bool Follower::matches_list(const ir::Arg::List& expected, const c10::IValue& value, const ArgSchema& schema,
                            const IsValue& is_value) const {
  if (!value.isList()) return false;
  const auto elements = value.toListRef();
  return std::equal(expected.begin(), expected.end(), elements.begin(), elements.end(),
                    [&](const ir::Arg& one, const c10::IValue& element) {
                      return matches(one, element, schema, is_value);
                    });
}

bool Follower::matches(const ir::Arg& expected, const c10::IValue& value, const ArgSchema& schema,
                       const IsValue& is_value) const {
  if (const auto* id = expected.as<ir::ValueId>())
    return value.isTensor() && value.toTensor().defined() && is_value(value.toTensor(), *id);
  if (expected.as<ir::None>() != nullptr)
    return value.isNone() || (value.isTensor() && !value.toTensor().defined());
  if (const auto* dim = expected.as<ir::Dim>()) {
    if (!value.isInt()) return false;
    if (dim->is_constant()) return dim->constant() == value.toInt();
    const auto known = std::ranges::find(expected_->expressions_, *dim);
    if (known != expected_->expressions_.end())
      return values_[known - expected_->expressions_.begin()] == value.toInt();
    return dim->evaluate([this](int32_t s) { return symbols_[s]; }) == value.toInt();
  }
  if (const auto* list = expected.as<ir::Arg::List>()) return matches_list(*list, value, schema, is_value);
  if (value.isBool() || value.isDouble() || value.isInt()) {
    const auto* flag = expected.as<bool>();
    if (value.isBool()) return flag != nullptr && *flag == value.toBool();
    const bool is_real = value.isDouble() || schema.kind == ArgKind::Float;
    return is_real &&
           ir::Arg(value.isDouble() ? value.toDouble() : static_cast<double>(value.toInt())) ==
               (expected.as<ir::Real>() != nullptr ? ir::substitute(expected, symbols_) : expected);
  }
  if (value.isTensor() || value.isList()) return false;
  return expected == to_arg(value, schema, "", [](const at::Tensor&) { return ir::ValueId(); });
}

bool Follower::has_arguments(const Expected::Op& op, c10::ArrayRef<c10::IValue> arguments,
                             IsValue is_value) const {
  const auto& args = op.schema->args;
  size_t positional = 0;
  for (size_t i = 0; i < args.size(); ++i)
    if (!args[i].keyword && !equals_default(arguments[i], args[i])) positional = i + 1;
  const auto& node = *op.node;
  if (positional != node.args.size()) return false;
  for (size_t i = 0; i < positional; ++i)
    if (!matches(node.args[i], arguments[i], args[i], is_value)) return false;
  size_t next = 0;
  for (size_t i = positional; i < args.size(); ++i) {
    if (!args[i].keyword || equals_default(arguments[i], args[i])) continue;
    if (next == node.attrs.size() || node.attrs[next].name != args[i].name ||
        !matches(node.attrs[next].value, arguments[i], args[i], is_value))
      return false;
    ++next;
  }
  return next == node.attrs.size();
}

ir::TensorType Follower::type_of(ir::ValueId value) const {
  const auto& form = expected_->forms_[value];
  const auto& expected = expected_->graph_.tensor_type(value);
  ir::TensorType type;
  type.dtype = expected.dtype;
  type.device = expected.device;
  type.sizes.reserve(form.sizes.size());
  type.strides.reserve(form.strides.size());
  for (const auto& size : form.sizes) type.sizes.emplace_back(size.at(values_));
  for (const auto& stride : form.strides) type.strides.emplace_back(stride.at(values_));
  type.offset = form.offset.at(values_) + offsets_[expected_->graph_.storage_of(value)];
  return type;
}

bool Follower::has_values(const ir::Graph& graph) {
  const auto& expected = expected_->graph_;
  for (; known_ < graph.values.size(); ++known_) {
    const auto v = ir::ValueId::at(known_);
    if (!expected.values.contains(v) || graph.values[v].base != expected.values[v].base) return false;
    const auto* type = graph.type_of(v).tensor();
    if (type == nullptr || !expected_->forms_[v].is_tensor) {
      if (!(graph.type_of(v) == expected.type_of(v))) return false;
      continue;
    }
    if (expected_->outside_[v])
      offsets_[v] = type->offset.constant() - expected_->forms_[v].offset.at(values_);
    if (!(*type == type_of(v))) return false;
  }
  return true;
}

bool Follower::take_recorded(ir::Graph& graph) {
  if (!has_values(graph) || next_ + graph.nodes.size() > expected_->ops_.size()) return false;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (!(ir::substitute(*expected_->ops_[next_ + n].node, symbols_) == graph.nodes[n])) return false;
  next_ += graph.nodes.size();
  graph.nodes.clear();
  return true;
}

ir::Graph Follower::recorded() const {
  ir::Graph graph;
  graph.values = expected_->graph_.values;
  for (const auto v : graph.values.ids())
    if (graph.values[v].type.tensor() != nullptr) graph.values[v].type = type_of(v);
  graph.nodes = left_out();
  return graph;
}

std::vector<ir::Node> Follower::left_out() const {
  std::vector<ir::Node> nodes;
  for (size_t n = 0; n < next_; ++n) nodes.push_back(ir::substitute(*expected_->ops_[n].node, symbols_));
  return nodes;
}

}  // namespace antegrad::capture
