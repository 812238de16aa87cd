#include "ir/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "antegrad/error.h"
#include "ir/ops.h"
#include "ir/printer.h"

namespace antegrad::ir {
namespace {

/// Whether the results of the op always share the memory of its first argument. Other view ops (reshape,
/// contiguous) may copy.
bool is_view(std::string_view op) {
  static const auto& may_copy = *new const std::set<std::string_view>{
      "aten.reshape",      "aten.reshape_as",  "aten.flatten.using_ints", "aten.contiguous",
      "aten.resolve_conj", "aten.resolve_neg", "aten.lift_fresh",         "aten.real"};
  const auto* info = find_op(op);
  return info != nullptr && info->kind == OpKind::View && !may_copy.contains(op);
}

bool keeps_offset(std::string_view op) {
  static const auto& ops = *new const std::set<std::string_view>{
      "aten.alias",     "aten.detach",  "aten.view",        "aten.expand",       "aten.permute",
      "aten.t",         "aten.squeeze", "aten.squeeze.dim", "aten.squeeze.dims", "aten.transpose.int",
      "aten.unsqueeze", "aten.view_as", "aten.expand_as",   "aten._conj",        "aten._reshape_alias"};
  return ops.contains(op);
}

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), defined_(graph.values.size(), false) {}
  void run();

 private:
  void check_symbols();
  void check_input(const Input& input);
  void check_node(const Node& node);
  void check_effects(const Node& node);
  void check_returns(const Node& node);
  void check_attrs(const Node& node);
  void check_output(const Output& output);
  void check_output_stage(const Output& output);
  void check_target(const Output& output);
  void check_arg(const Arg& arg);
  void check_dim(const Dim& dim);
  void check_type(const Type& type);
  void define(ValueId id);
  void check_base(ValueId id);
  void check_memory(const Node& node);
  void check_view(const Node& node, ValueId viewed, ValueId result);
  void check_use(ValueId id);

  bool in_range(ValueId id) const { return graph_.values.contains(id); }
  bool is_defined(ValueId id) const { return in_range(id) && defined_[id]; }
  bool stage_is_one_of(std::initializer_list<Stage> stages) const {
    return std::find(stages.begin(), stages.end(), graph_.stage) != stages.end();
  }
  std::vector<std::string> lines_around(size_t& marked) const;
  [[noreturn]] void fail(const std::string& fact) const;

  const Graph& graph_;
  PerValue<bool> defined_;
  size_t line_ = 0;  ///< the line being checked, counted from the header: inputs, then nodes, then outputs
};

void Verifier::run() {
  check_symbols();
  for (const auto& input : graph_.inputs) {
    ++line_;
    check_input(input);
  }
  for (const auto& node : graph_.nodes) {
    ++line_;
    check_node(node);
  }
  for (const auto& output : graph_.outputs) {
    ++line_;
    check_output(output);
  }
}

void Verifier::check_symbols() {
  for (size_t i = 0; i < graph_.symbols.size(); ++i) {
    const Range& range = graph_.symbols[i].range;
    if (range.lower > range.upper)
      fail(fmt::format("symbol s{} has the empty range {}..{}", i, range.lower, range.upper));
  }
}

void Verifier::check_dim(const Dim& dim) {
  if (dim.is_constant()) return;
  std::vector<int32_t> used;
  dim.collect_symbols(used);
  if (used.back() >= std::ssize(graph_.symbols))
    fail(fmt::format("{} names symbol s{}, the graph declares {} symbols", dim.to_string(), used.back(),
                     graph_.symbols.size()));
}

void Verifier::check_type(const Type& type) {
  if (const auto* tensor = type.tensor()) {
    if (tensor->sizes.size() != tensor->strides.size())
      fail(fmt::format("a tensor type has {} sizes and {} strides", tensor->sizes.size(),
                       tensor->strides.size()));
    for (const auto& size : tensor->sizes) {
      check_dim(size);
      if (size.is_constant() && size.constant() < 0)
        fail(fmt::format("a tensor has the size {}", size.constant()));
    }
    for (const auto& stride : tensor->strides) check_dim(stride);
    check_dim(tensor->offset);
  }
  const auto check_element = [&](const std::shared_ptr<const Type>& element) {
    if (!element) fail("a list or optional type has no element type");
    check_type(*element);
  };
  if (const auto* list = std::get_if<ListType>(&type.v)) check_element(list->element);
  if (const auto* optional = std::get_if<OptionalType>(&type.v)) check_element(optional->element);
}

void Verifier::define(ValueId id) {
  if (!in_range(id))
    fail(fmt::format("value %{} is out of range, the graph has {}", id.index, graph_.values.size()));
  if (is_defined(id)) fail(fmt::format("value %{} is defined twice", id.index));
  check_type(graph_.type_of(id));
  check_base(id);
  defined_[id] = true;
}

void Verifier::check_base(ValueId id) {
  const ValueId base = graph_.values[id].base;
  if (!base.valid()) return;
  if (!in_range(base))
    fail(fmt::format("the base %{} of value %{} is out of range, the graph has {}", base.index, id.index,
                     graph_.values.size()));
  if (!is_defined(base))
    fail(fmt::format("the base %{} of value %{} is not defined before it", base.index, id.index));
  const auto* type = graph_.type_of(id).tensor();
  const auto* base_type = graph_.type_of(base).tensor();
  if (!type || !base_type)
    fail(fmt::format("value %{} and its base %{} are not both tensors", id.index, base.index));
  if (graph_.values[base].base.valid())
    fail(fmt::format("the base %{} of value %{} has a base itself", base.index, id.index));
  if (type->device != base_type->device)
    fail(fmt::format("value %{} is on {}, its base %{} on {}", id.index, to_string(type->device), base.index,
                     to_string(base_type->device)));
}

/// Shared memory must come from a value that the node reaches, and a view must share the memory of its
/// source: otherwise the memory would be reused while the view is still read.
void Verifier::check_memory(const Node& node) {
  if (graph_.stage == Stage::Traced) return;  // tensors may have been moved to other memory
  std::vector<ValueId> reached;
  for_each_input(node, [&](ValueId id) { reached.push_back(graph_.storage_of(id)); });
  for (const auto id : node.effects.writes) reached.push_back(graph_.storage_of(id));
  const ValueId* first = nullptr;
  if (is_view(node.op) && !node.functional && !node.args.empty()) first = node.args[0].as<ValueId>();
  for (const auto id : node.outputs) {
    const auto storage = graph_.storage_of(id);
    if (storage != id && std::find(reached.begin(), reached.end(), storage) == reached.end())
      fail(fmt::format("value %{} is on the memory of %{}, which its node does not reach", id.index,
                       storage.index));
    if (first != nullptr && graph_.type_of(*first).tensor() && graph_.type_of(id).tensor())
      check_view(node, *first, id);
    reached.push_back(storage);
  }
}

void Verifier::check_view(const Node& node, ValueId viewed, ValueId result) {
  const auto storage = graph_.storage_of(viewed);
  if (graph_.storage_of(result) != storage)
    fail(fmt::format("value %{} is a view of %{} by {} and is not on its memory, &%{}", result.index,
                     viewed.index, node.op, storage.index));
  const auto& from = graph_.type_of(viewed).tensor()->offset;
  const auto& to = graph_.type_of(result).tensor()->offset;
  if (keeps_offset(node.op) && from.is_constant() && to.is_constant() && !(from == to))
    fail(fmt::format("value %{} is a view of %{} by {} and begins at {} instead of {}", result.index,
                     viewed.index, node.op, to.to_string(), from.to_string()));
}

void Verifier::check_use(ValueId id) {
  if (!in_range(id))
    fail(fmt::format("value %{} is out of range, the graph has {}", id.index, graph_.values.size()));
  if (!is_defined(id)) fail(fmt::format("value %{} is used before it is defined", id.index));
}

void Verifier::check_input(const Input& input) {
  define(input.value);
  if (input.role == InputRole::Tangent && stage_is_one_of({Stage::Functional, Stage::Forward}))
    fail(fmt::format("a {} graph has no tangents", name(graph_.stage)));
  const bool saved = input.role == InputRole::SavedTensor || input.role == InputRole::SavedDim;
  if (saved && !stage_is_one_of({Stage::Backward, Stage::Lowered}))
    fail("a saved value is an input of backward graphs only");
}

void Verifier::check_arg(const Arg& arg) {
  if (const auto* id = arg.as<ValueId>()) check_use(*id);
  if (const auto* dim = arg.as<Dim>()) check_dim(*dim);
  if (const auto* real = arg.as<Real>()) check_dim(real->dim);
  if (const auto* bytes = arg.as<Bytes>(); bytes && !*bytes) fail("an argument is bytes without contents");
  if (const auto* graph = arg.as<GraphPtr>()) {
    if (!*graph) fail("an argument is a graph without contents");
    Verifier(**graph).run();
  }
  if (const auto* list = arg.as<Arg::List>())
    for (const auto& element : *list) check_arg(element);
}

void Verifier::check_attrs(const Node& node) {
  std::set<std::string_view> names;
  for (const auto& attr : node.attrs) {
    if (!is_identifier(attr.name)) fail(fmt::format("\"{}\" is no name of a keyword argument", attr.name));
    if (!names.insert(attr.name).second) fail(fmt::format("keyword argument {} is given twice", attr.name));
    check_arg(attr.value);
  }
}

void Verifier::check_effects(const Node& node) {
  for (const auto id : node.effects.writes) {
    check_use(id);
    if (!graph_.type_of(id).tensor()) fail(fmt::format("value %{} is written and is no tensor", id.index));
  }
  if (!node.effects.ordered && !node.effects.resource.empty())
    fail(fmt::format("\"{}\" is the resource of a node that is not ordered", node.effects.resource));
  if (node.functional && graph_.stage == Stage::Traced) fail("a traced graph has no functional nodes");
  if (!node.effects.writes.empty() && !node.functional && graph_.stage != Stage::Traced)
    fail(fmt::format("a {} graph writes only in functional nodes", name(graph_.stage)));
}

void Verifier::check_returns(const Node& node) {
  const size_t copies = node.functional ? node.effects.writes.size() : 0;
  if (node.outputs.size() < copies)
    fail(fmt::format("a functional node writes {} values and has {} outputs", copies, node.outputs.size()));
  if (node.returns.empty()) return;
  size_t total = 0;
  for (const int32_t count : node.returns) {
    if (count < -1) fail(fmt::format("a return of {} outputs", count));
    total += count == -1 ? 1 : count;
  }
  if (total != node.outputs.size() - copies)
    fail(fmt::format("the returns hold {} values, the node has {} outputs of its own", total,
                     node.outputs.size() - copies));
}

void Verifier::check_node(const Node& node) {
  if (!is_op_name(node.op))
    fail(fmt::format("\"{}\" is no op name of the form namespace.name.overload", node.op));
  for (const auto& arg : node.args) check_arg(arg);
  check_attrs(node);
  check_effects(node);
  check_returns(node);
  for (const auto id : node.outputs) define(id);
  check_memory(node);
}

void Verifier::check_target(const Output& output) {
  const bool has_target = output.role == OutputRole::MutatedInput || output.role == OutputRole::Grad;
  if (!has_target) {
    if (output.target != -1) fail(fmt::format("an output with the role {} has no target", name(output.role)));
    return;
  }
  // The halves of a partition keep the indices of the joint graph, not all of whose inputs they have.
  const bool checkable = stage_is_one_of({Stage::Traced, Stage::Functional, Stage::Joint});
  if (output.target < 0 || (checkable && output.target >= std::ssize(graph_.inputs)))
    fail(fmt::format("the target {} is no index of an input, the graph has {}", output.target,
                     graph_.inputs.size()));
}

void Verifier::check_output_stage(const Output& output) {
  if (output.role == OutputRole::Grad && stage_is_one_of({Stage::Functional, Stage::Forward}))
    fail(fmt::format("a {} graph has no gradients", name(graph_.stage)));
  const bool saved = output.role == OutputRole::SavedTensor || output.role == OutputRole::SavedDim;
  if (saved && !stage_is_one_of({Stage::Forward, Stage::Lowered}))
    fail("a saved value is an output of forward graphs only");
}

void Verifier::check_output(const Output& output) {
  if (output.value.valid()) check_use(output.value);
  check_target(output);
  check_output_stage(output);
}

std::vector<std::string> Verifier::lines_around(size_t& marked) const {
  constexpr size_t kAround = 2;
  const Printer printer(graph_, nullptr, true);
  const size_t inputs = graph_.inputs.size(), nodes = graph_.nodes.size();
  const size_t last = inputs + nodes + graph_.outputs.size();
  std::vector<std::string> lines;
  const size_t first = line_ > kAround ? line_ - kAround : 0;
  marked = line_ - first;
  for (size_t i = first; i <= std::min(last, line_ + kAround); ++i) {
    std::string text;
    if (i == 0)
      printer.header(text);
    else if (i <= inputs)
      printer.input(text, graph_.inputs[i - 1]);
    else if (i <= inputs + nodes)
      printer.node(text, graph_.nodes[i - inputs - 1], 0);
    else
      printer.output(text, graph_.outputs[i - inputs - nodes - 1]);
    lines.push_back(std::move(text));
  }
  return lines;
}

void Verifier::fail(const std::string& fact) const {
  constexpr size_t kWidth = 300;  // constants can be megabytes of text
  size_t marked = 0;
  const auto lines = lines_around(marked);
  std::string excerpt;
  for (size_t i = 0; i < lines.size(); ++i) {
    excerpt += i == marked ? "\n  > " : "\n    ";
    excerpt += lines[i].size() > kWidth ? lines[i].substr(0, kWidth) + "..." : lines[i];
  }
  throw Error(ErrorCode::Verify, fmt::format("verify:{}", name(graph_.stage)), fact,
              fmt::format("See the line marked > of{}\n  in graph @{}", excerpt, graph_.name));
}

}  // namespace

void verify(const Graph& graph) { Verifier(graph).run(); }

}  // namespace antegrad::ir
