#include "compiler/code/forward_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <tuple>

#include "antegrad/error.h"
#include "ir/ops.h"
#include "ir/substitute.h"
#include "symbolic/merge.h"

namespace antegrad::compiler {
namespace {

constexpr size_t kLeastSamples = 3;  ///< where only numbers differ
constexpr size_t kSamplesKept = 24;
constexpr size_t kMostForms = 8;

/// Returns the name without the underscore of an op that works in place.
std::string functional_name(const std::string& op) {
  const auto overload = op.find('.', op.find('.') + 1);
  const auto end = overload == std::string::npos ? op.size() : overload;
  return end > 0 && op[end - 1] == '_' ? op.substr(0, end - 1) + op.substr(end) : op;
}

/// As ir::derivative(), for ops as they are recorded.
ir::Derivative derivative(const std::string& traced) {
  const auto op = functional_name(traced);
  return op.rfind("antegrad.", 0) == 0 ? ir::Derivative::KeepsNumbers : ir::derivative(op);
}

bool has_uniform_derivatives(const ir::Graph& forward) {
  return std::ranges::all_of(forward.nodes, [](const ir::Node& node) {
    return node.effects.random || derivative(node.op) != ir::Derivative::Varies;
  });
}

/// Whether symbols from number `first` on occur only where the derivative keeps them.
bool keeps_numbers(const ir::Graph& forward, size_t first) {
  const auto uses = uses_of_numbers(forward, static_cast<int32_t>(first));
  return std::ranges::all_of(
      uses, [](const NumberUse& use) { return derivative(*use.op) == ir::Derivative::KeepsNumbers; });
}

/// Returns a bit for what formulas may treat numbers of this kind alike; 0 for a number that may be special.
uint32_t kind_of(int64_t value, bool real) {
  const auto number = real ? std::bit_cast<double>(value) : static_cast<double>(value);
  const auto size = std::abs(number);
  if (!(size > 1e-30 && size < 1e30) || size == 1) return 0;
  return 1U << ((number < 0 ? 2 : 0) + (size > 1 ? 1 : 0));
}

/// Whether views may reach beyond the tensor that they are views of (Instance::reach).
bool may_leave_memory(const ir::Graph& forward) {
  return std::ranges::any_of(forward.nodes,
                             [](const ir::Node& node) { return node.op == "aten.as_strided"; });
}

/// Whether a size that depends on symbols is 0 or 1 in `graph`.
bool has_special_sizes(const ir::Graph& over_symbols, const ir::Graph& graph) {
  for (const auto v : graph.values.ids()) {
    const auto* general = over_symbols.type_of(v).tensor();
    const auto* type = graph.type_of(v).tensor();
    if (general == nullptr || type == nullptr || general->sizes.size() != type->sizes.size()) continue;
    for (size_t d = 0; d < type->sizes.size(); ++d)
      if (!general->sizes[d].is_constant() && type->sizes[d].constant() <= 1) return true;
  }
  return false;
}

/// Whether nothing but ops and their arguments decides what the backward pass does.
bool follows_from_forward(const Captured& captured) {
  const auto& trace = captured.trace;
  const auto throws = [](const capture::TangentEnd& tangent) { return tangent.error != nullptr; };
  const auto is_late = [](const capture::LiftedTensor& lifted) { return lifted.late; };
  return trace.histories.plain && captured.bases.empty() && trace.views.empty() && !trace.has_assumptions &&
         trace.kept == 0 && std::ranges::none_of(trace.tangents, throws) &&
         std::ranges::none_of(trace.lifted, is_late);
}

bool depends_on_memory(const aot::Signature& signature) {
  return !signature.fixed_offsets.empty() || !signature.shared.empty() || !signature.apart.empty() ||
         !signature.backward_writes.empty();
}

}  // namespace

ForwardCheck::Ends ForwardCheck::ends_of(const capture::Trace& trace) {
  Ends ends{trace.inputs, trace.output_ends, trace.duplicate_of, trace.histories};
  ends.inputs.resize(trace.user_inputs + trace.lifted.size());
  for (auto& input : ends.inputs) input.memory.bytes = 0;  // depends on the sizes
  return ends;
}

ForwardCheck::ForwardCheck(const symbolic::Shapes& shapes, const ir::Graph& captured)
    : shapes_(shapes),
      uses_(uses_of_numbers(captured, static_cast<int32_t>(shapes.symbols.size()))),
      expressions_(expressions_in(captured)),
      kinds_(captured.symbols.size() - shapes.symbols.size()),
      real_(kinds_.size()) {
  for (const auto& use : uses_) real_[use.symbol - shapes.symbols.size()] = use.real;
}

void ForwardCheck::give_up() {
  usable_ = false;
  samples_.clear();
  forms_.clear();
}

std::vector<int64_t> ForwardCheck::sizes_in(const std::vector<int64_t>& values) const {
  return {values.begin(), values.begin() + static_cast<int64_t>(shapes_.symbols.size())};
}

const ForwardCheck::Form* ForwardCheck::form_for(const std::vector<int64_t>& sizes) const {
  const auto serves = [&](const Form& form) { return !form.only_at || *form.only_at == sizes; };
  const auto form = std::ranges::find_if(forms_, serves);
  return form == forms_.end() ? nullptr : &*form;
}

void ForwardCheck::note_kinds(const std::vector<int64_t>& values) {
  for (size_t s = 0; s < kinds_.size(); ++s)
    kinds_[s] |= kind_of(values[shapes_.symbols.size() + s], real_[s]);
}

/// Whether whole captures have had numbers like these, and code for any number gives what eager gives.
bool ForwardCheck::are_known(const std::vector<int64_t>& values) const {
  for (size_t s = 0; s < kinds_.size(); ++s)
    if ((kind_of(values[shapes_.symbols.size() + s], real_[s]) & kinds_[s]) == 0) return false;
  return std::ranges::all_of(uses_, [&](const NumberUse& use) { return is_usual(use, values[use.symbol]); });
}

void ForwardCheck::add(const std::vector<int64_t>& values, const Captured& captured,
                       const aot::Signature& signature) {
  if (!usable_ || (!forms_.empty() && !has_numbers())) return;
  auto ends = ends_of(captured.trace);
  if (!follows_from_forward(captured) || depends_on_memory(signature) ||
      (!samples_.empty() && !(ends == ends_ && signature == signature_)))
    return give_up();
  ends_ = std::move(ends);
  signature_ = signature;
  differentiable_ = captured.trace.differentiable;
  note_kinds(values);
  auto forward = forward_of(captured.trace);
  if (may_leave_memory(forward)) return give_up();
  const auto is_same = [&](const Sample& sample) { return sample.values == values; };
  const auto* form = form_for(sizes_in(values));
  if ((form != nullptr && ir::equal_at(form->forward, values, forward)) ||
      std::ranges::any_of(samples_, is_same))
    return;
  samples_.push_back({values, std::move(forward)});
  if (samples_.size() > kSamplesKept) samples_.erase(samples_.begin());
  merge();
}

/// Looks for a common form of samples at enough sizes or, where numbers change, of those at the newest sizes.
void ForwardCheck::merge() {
  std::vector<const Sample*> all, here;
  std::vector<std::vector<int64_t>> sizes;
  const auto now = sizes_in(samples_.back().values);
  for (const auto& sample : samples_) {
    auto own = sizes_in(sample.values);
    all.push_back(&sample);
    if (own == now) here.push_back(&sample);
    if (std::ranges::find(sizes, own) == sizes.end()) sizes.push_back(std::move(own));
  }
  const auto symbols = shapes_.symbols.size();
  const auto uniform = [&] { return !differentiable_ || has_uniform_derivatives(samples_.back().forward); };
  if (symbols > 0 && sizes.size() >= std::max<size_t>(symbols + 2, 4) && uniform()) {
    if (auto form = merge(all)) {
      forms_.clear();
      forms_.push_back(*std::move(form));
      if (!has_numbers()) samples_.clear();
      return;
    }
    if (!has_numbers()) return give_up();
  }
  if (!has_numbers() || here.size() < kLeastSamples) return;
  std::erase_if(forms_, [&](const Form& form) { return !form.only_at || *form.only_at == now; });
  auto form = merge(here);
  if (!form) return;
  form->only_at = now;
  if (forms_.size() >= kMostForms) forms_.erase(forms_.begin());
  forms_.push_back(*std::move(form));
}

std::optional<ForwardCheck::Form> ForwardCheck::merge(const std::vector<const Sample*>& samples) const {
  std::vector<ir::Graph> graphs;
  std::vector<std::vector<int64_t>> values, sizes;
  for (const auto* sample : samples) {
    graphs.push_back(sample->forward);
    values.push_back(sample->values);
    sizes.push_back(sizes_in(sample->values));
  }
  auto places = mark_numbers({graphs, values, shapes_.symbols.size()});
  if (!places) return std::nullopt;  // more samples may tell numbers apart
  try {
    Form form{
        symbolic::merge(graphs, shapes_, sizes).graph, std::nullopt, values[0], *std::move(places), {}, {}};
    form.rivals = find_rivals(expressions_, form.forward, values);
    if (differentiable_ && !keeps_numbers(form.forward, shapes_.symbols.size())) return std::nullopt;
    if (has_numbers()) return form;
    auto expected = std::make_shared<const capture::Expected>(form.forward);
    if (expected->is_usable()) form.expected = std::move(expected);
    return form;
  } catch (const symbolic::Mismatch&) {  // whole captures find out
    return std::nullopt;
  }
}

bool ForwardCheck::decides(std::vector<int64_t> sizes) const {
  const auto* form = form_for(sizes);
  if (form == nullptr || form->only_at) return form != nullptr;
  std::ranges::sort(sizes);
  return sizes.front() > 1 && std::ranges::adjacent_find(sizes) == sizes.end();
}

std::shared_ptr<capture::Follower> ForwardCheck::follower_at(const std::vector<int64_t>& sizes) const {
  const auto* form = form_for(sizes);
  if (form == nullptr || !form->expected) return nullptr;
  try {
    auto follower = std::make_shared<capture::Follower>(form->expected, sizes);
    return follower->has_usual_sizes() ? follower : nullptr;
  } catch (const Error&) {  // e.g. division by a size that is 0 here
    return nullptr;
  }
}

/// Whether a capture that did what is expected had the expected inputs, constants and results.
bool ForwardCheck::has_frame(const Form& form, const capture::Trace& trace) {
  const auto& [expected, graph] = std::tie(form.forward, trace.graph);
  const auto same_input = [](const ir::Input& a, const ir::Input& b) {
    return a.value == b.value && a.role == b.role;
  };
  return std::ranges::equal(expected.inputs, graph.inputs, same_input) && expected.outputs == graph.outputs &&
         graph.nodes.size() + form.expected->ops() == expected.nodes.size() &&
         std::equal(graph.nodes.begin(), graph.nodes.end(), expected.nodes.begin());
}

std::optional<std::vector<int64_t>> ForwardCheck::values_in(std::vector<int64_t> sizes,
                                                            capture::Trace trace) const {
  const auto& form = *form_for(sizes);
  auto values = values_where_alike(std::move(sizes), std::move(trace));
  return values && agree(form.rivals, *values) ? std::move(values) : std::nullopt;
}

/// As values_in(), for code that has the same numbers as the forward pass.
std::optional<std::vector<int64_t>> ForwardCheck::values_where_alike(std::vector<int64_t> sizes,
                                                                     capture::Trace trace) const {
  if (trace.kept > 0 || trace.has_assumptions || ends_of(trace) != ends_) return std::nullopt;
  const auto& form = *form_for(sizes);
  if (trace.as_expected) return has_frame(form, trace) ? std::optional(std::move(sizes)) : std::nullopt;
  const auto forward = forward_of(std::move(trace));
  auto values = std::move(sizes);
  for (const auto& place : form.places) {
    const auto value = place ? number_at(forward, form.forward, *place) : form.first[values.size()];
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  if (!are_known(values) || !ir::equal_at(form.forward, values, forward) ||
      has_special_sizes(form.forward, forward))
    return std::nullopt;
  return values;
}

}  // namespace antegrad::compiler
