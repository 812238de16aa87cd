#include "engine/segment.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/engine.h>

#include <algorithm>
#include <bit>
#include <typeinfo>

#include "antegrad/error.h"
#include "engine/node_functions.h"
#include "engine/scalars.h"
#include "runtime/node.h"

namespace antegrad::engine {

bool is_compiled(const Node& node) {
  return dynamic_cast<const runtime::CompiledBackward*>(&node) != nullptr;
}

namespace {

namespace tda = torch::dynamo::autograd;

constexpr uint32_t kNobody = ~uint32_t{0};
constexpr size_t kAsItIs = ~size_t{0};
constexpr int64_t kLargestSize = int64_t{1} << 40;

void append(std::string& out, uint64_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Sums as the engine does, without writing to either.
void add_to(at::Tensor& sum, at::Tensor&& gradient) {
  if (gradient.defined()) sum = sum.defined() ? sum + gradient : std::move(gradient);
}

}  // namespace

Segment::Segment(std::vector<std::shared_ptr<Node>> nodes, std::vector<Slot> incoming,
                 const std::function<bool(const Node*)>& executes)
    : nodes_(std::move(nodes)),
      incoming_(std::move(incoming)),
      compiler_(std::make_unique<tda::AutogradCompilerCall>(tda::SizeInput::STATIC)) {
  find_targets(executes);
  collect();
}

void Segment::find_targets(const std::function<bool(const Node*)>& executes) {
  std::unordered_map<const Node*, size_t> index_of;
  for (size_t n = 0; n < nodes_.size(); ++n) index_of[nodes_[n].get()] = n;
  std::map<std::pair<const Node*, uint32_t>, size_t> outside;
  for (const auto& node : nodes_) {
    auto& targets = targets_.emplace_back();
    for (const auto& edge : node->next_edges()) {
      auto& target = targets.emplace_back(Target{false, 0, kNobody});
      if (!edge.is_valid() || !executes(edge.function.get())) continue;
      const auto inside = index_of.find(edge.function.get());
      if (inside != index_of.end()) {
        target = {true, inside->second, edge.input_nr};
        continue;
      }
      const auto [slot, added] = outside.try_emplace({edge.function.get(), edge.input_nr}, outgoing_.size());
      if (added) outgoing_.push_back({edge.function, edge.input_nr});
      target = {false, slot->second, edge.input_nr};
    }
  }
}

/// What a node has saved. A number that may change is hidden while the rest is collected.
void Segment::collect_saved(size_t n, tda::CompiledNodeArgs& arguments) {
  auto& node = *nodes_[n];
  auto* scalar = changing_scalar(node);
  if (scalar == nullptr) return node.compiled_args(arguments);
  numbers_.emplace_back(n, as_number(*scalar));
  const auto number = std::exchange(*scalar, at::Scalar(0.0));
  node.compiled_args(arguments);
  *scalar = number;
}

/// What identifies the segment, and what its nodes have saved.
void Segment::collect() {
  for (size_t n = 0; n < nodes_.size(); ++n) {
    auto& call = compiler_->node_calls.lookup(nodes_[n]);
    tda::CompiledNodeArgs arguments(*compiler_, call);
    collect_saved(n, arguments);
    arguments.collect(nodes_[n]->next_edges());
    const auto key = arguments.key();
    append(structure_, typeid(*nodes_[n]).hash_code());
    append(structure_, key.key_size);
    structure_.append(reinterpret_cast<const char*>(key.key), key.key_size);
    for (const auto& target : targets_[n])
      append(structure_, uint64_t{target.input} << 32 | target.index << 1 | (target.inside ? 1 : 0));
    calls_.push_back(&call);
  }
  collect_sizes();
  for (const auto& slot : incoming_)
    append(structure_, uint64_t{compiler_->node_calls.lookup(slot.node).id} << 32 | slot.input);
}

/// Sizes, and integers of custom functions. Those that cannot be the size of a symbol (0, 1, ends of slices)
/// are part of the structure.
void Segment::collect_sizes() {
  const auto collect = [&](int64_t size) {
    const bool may_change = size >= 2 && size < kLargestSize;
    const auto known = std::find(sizes_.begin(), sizes_.end(), size);
    size_uses_.push_back(may_change ? static_cast<size_t>(known - sizes_.begin()) : kAsItIs);
    append(structure_, size_uses_.back());
    if (!may_change)
      append(structure_, static_cast<uint64_t>(size));
    else if (known == sizes_.end())
      sizes_.push_back(size);
  };
  for (const auto& size : compiler_->all_size_inputs) collect(size.value);
  for (const auto& lifted : compiler_->lifted_ivalue_args.args) {
    append(structure_, lifted.actual_ptr->isInt() ? 1 : 0);
    if (lifted.actual_ptr->isInt()) collect(lifted.actual_ptr->toInt());
  }
}

Leaves Segment::leaves(variable_list gradients) const {
  Leaves out;
  for (auto& gradient : gradients) out.tensors.push_back(std::move(gradient));
  for (const auto& saved : compiler_->tensor_args.inputs)  // whether a leaf has a .grad is no matter here
    out.tensors.push_back(saved.requires_grad() ? saved.detach() : saved);
  for (const auto& [node, number] : numbers_) out.tensors.push_back(number);
  for (auto size : sizes_) out.tensors.push_back(at::empty_strided({size}, {0}));
  for (const auto& lifted : compiler_->lifted_ivalue_args.args)
    if (lifted.actual_ptr->isDouble())
      out.key.push_back(std::bit_cast<int64_t>(lifted.actual_ptr->toDouble()));
  return out;
}

/// Lets saved tensors be stood in for while it lives.
class Segment::StandIns {
 public:
  StandIns(tda::TensorArgs& arguments, const at::Tensor* stand_ins) : arguments_(arguments) {
    for (const auto& input : arguments_.inputs) arguments_.lookup(input).proxy_tensor = *stand_ins++;
  }
  ~StandIns() {
    for (const auto& input : arguments_.inputs) arguments_.lookup(input).proxy_tensor.reset();
  }
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;

 private:
  tda::TensorArgs& arguments_;
};

void Segment::distribute(size_t from, variable_list&& gradients, std::vector<variable_list>& inside,
                         variable_list& outside) const {
  for (size_t i = 0; i < std::min(gradients.size(), targets_[from].size()); ++i) {
    const auto& target = targets_[from][i];
    if (gradients[i].defined() && gradients[i].layout() != at::kStrided)
      throw Error(ErrorCode::UnsupportedTensor, "compiled autograd",
                  fmt::format("{} gives a sparse gradient", nodes_[from]->name()));
    if (target.input == kNobody) continue;
    add_to(target.inside ? inside[target.index][target.input] : outside[target.index],
           std::move(gradients[i]));
  }
}

variable_list Segment::trace_node(size_t n, const variable_list& incoming, const at::Tensor& number,
                                  tda::TraceState& state) {
  auto& node = *nodes_[n];
  const Scope scope(is_compiled(node) ? fmt::format("aot{}", n) : fmt::format("{}_{}", node.name(), n));
  tda::SwapSavedVariables swap(*compiler_, state, nullptr, *calls_[n]);
  try {
    auto gradients =
        number.defined() ? apply_with_number(node, incoming, number) : node.apply_with_saved(incoming, swap);
    auto& edges = const_cast<torch::autograd::edge_list&>(node.next_edges());
    swap.before(edges);
    torch::autograd::validate_outputs(edges, gradients, [&](const std::string& text) {
      return fmt::format("{} returned an invalid gradient: {}", node.name(), text);
    });
    swap.after(edges);
    return gradients;
  } catch (...) {
    put_back(swap);
    throw;
  }
}

variable_list Segment::trace(const std::vector<at::Tensor>& stand_ins) {
  const StandIns saved(compiler_->tensor_args, stand_ins.data() + incoming_.size());
  const auto* first_size = stand_ins.data() + stand_ins.size() - sizes_.size();
  auto use = size_uses_.begin();
  const auto next_size = [&](int64_t own) {
    const auto which = *use++;
    return which == kAsItIs ? own : first_size[which].size(0);
  };
  std::vector<std::optional<c10::SymInt>> sizes;
  for (const auto& size : compiler_->all_size_inputs) sizes.emplace_back(next_size(size.value));
  compiler_->lifted_ivalue_args.next = 0;
  for (auto& lifted : compiler_->lifted_ivalue_args.args) {
    const auto& own = *lifted.actual_ptr;
    lifted.proxy = own.isInt() ? c10::IValue(next_size(own.toInt())) : own;
  }
  tda::TraceState state(std::move(sizes), 0);
  std::vector<variable_list> inside;
  std::unordered_map<const Node*, size_t> index_of;
  for (const auto& node : nodes_) {
    index_of[node.get()] = inside.size();
    inside.emplace_back(node->num_inputs());
  }
  variable_list outside(outgoing_.size());
  for (size_t i = 0; i < incoming_.size(); ++i)
    add_to(inside[index_of.at(incoming_[i].node.get())][incoming_[i].input], at::Tensor(stand_ins[i]));
  auto number = numbers_.begin();
  const auto* number_stand_in = stand_ins.data() + incoming_.size() + compiler_->tensor_args.inputs.size();
  for (size_t n = 0; n < nodes_.size(); ++n) {
    const bool has_number = number != numbers_.end() && number->first == n;
    auto gradients = trace_node(n, inside[n], has_number ? *number_stand_in++ : at::Tensor(), state);
    if (has_number) ++number;
    inside[n].clear();
    distribute(n, std::move(gradients), inside, outside);
  }
  return outside;
}

void Segment::release(bool keep_graph) {
  if (!keep_graph)
    for (const auto& node : nodes_) {
      node->will_release_variables();
      node->release_variables();
    }
  calls_.clear();
  compiler_.reset();
}

}  // namespace antegrad::engine
