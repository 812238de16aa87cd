#include "compiler/function/version.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "aten/op_schema.h"
#include "compiler/function/gradient_function.h"
#include "compiler/function/new_sizes.h"

namespace antegrad::compiler {
namespace {

/// Ops of other libraries do not say whether they draw.
bool may_draw(const ir::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const ir::Node& node) {
    const auto library = std::string_view(node.op).substr(0, node.op.find('.'));
    return node.effects.random || aten::library_kind(library) == aten::LibraryKind::Foreign;
  });
}

/// Whether the defined tensors have equal ranks and zeros in the same places.
bool of_one_kind(const symbolic::CallShapes& a, const symbolic::CallShapes& b) {
  const auto zeros_alike = [](const std::vector<int64_t>& x, const std::vector<int64_t>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [](int64_t v, int64_t w) { return (v == 0) == (w == 0); });
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& x, const auto& y) {
    return x.defined == y.defined && zeros_alike(x.sizes, y.sizes) && zeros_alike(x.strides, y.strides);
  });
}

}  // namespace

bool relies_on_aliasing(const aot::Signature& signature) {
  return !signature.written.empty() || !signature.shared.empty() || !signature.fixed_offsets.empty() ||
         !signature.same.empty() || !signature.changed.empty();
}

size_t Version::SymbolsHash::operator()(const Symbols& symbols) const {
  size_t hash = symbols.size();
  for (auto value : symbols) hash = (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29);
  return hash;
}

Version::Version(VersionGuards guards, std::shared_ptr<const Template> code,
                 std::shared_ptr<detail::Function> gradients, std::map<std::string, uint64_t> shape_fallbacks)
    : guards_(std::move(guards)),
      template_(std::move(code)),
      gradients_(std::move(gradients)),
      shape_fallbacks_(std::move(shape_fallbacks)) {
  if (is_dynamic() && !template_->captured().values.empty())  // packages have no captured graph
    forward_check_.emplace(guards_.shapes ? guards_.shapes->shapes() : symbolic::Shapes(),
                           template_->captured());
  may_pass_by_ = compiler::may_pass_by(*template_);
}

Version::Version(VersionGuards guards, std::exception_ptr refusal)
    : guards_(std::move(guards)), refusal_(std::move(refusal)) {}

Result<InstancePtr> Version::make_instance(const CaptureSettings& settings, const Call& call,
                                           const Captured& captured) {
  auto symbols = guards_.shapes_hold(call.leaves);
  if (!symbols) return Failure{"its guards do not hold"};
  const auto sizes = sizes_in(*symbols);
  auto values = is_dynamic() ? template_->symbols_in(sizes, captured) : Result(sizes);
  if (!values) return Failure{values.reason()};
  if (!guards_.lifts_same(captured.trace))
    return Failure{"it reads other tensors than those captured before"};
  auto instance = std::make_shared<Instance>();
  instance->symbols = std::move(*symbols);
  instance->values = *values;
  instance->pattern = captured.end.pattern;
  instance->structure = captured.end.structure;
  instance->grad_mode_after = captured.end.grad_mode;
  for (const auto& tensor : captured.inputs)
    instance->offsets.push_back(tensor.defined() ? tensor.storage_offset() : 0);
  for (const auto& lifted : captured.trace.lifted)
    instance->offsets.push_back(lifted.tensor.storage_offset());
  instance->check_aliasing = relies_on_aliasing(captured.functional.signature);
  instance->reach = reach_of(captured.trace.graph);
  instance->has_assumptions = captured.trace.has_assumptions;
  instance->may_draw = may_draw(captured.trace.graph);
  if (settings.options.check_recapture) instance->traced_text = traced_text(captured);
  instance->caller = template_->instantiate(
      *values, captured,
      higher_order(settings.options, call, captured.trace, captured.functional.signature.gradients));
  if (forward_check_ && !settings.options.check_recapture)
    forward_check_->add(*values, captured, instance->caller->signature());
  return InstancePtr(std::move(instance));
}

std::vector<int64_t> Version::sizes_in(const Symbols& symbols) const {
  return {symbols.begin(), symbols.begin() + guards_.size_symbols()};
}

bool Version::is_checked_by_forward(const Call& call) const {
  const auto symbols = forward_check_ ? guards_.shapes_hold(call.leaves) : std::nullopt;
  return symbols && forward_check_->decides(sizes_in(*symbols));
}

std::shared_ptr<capture::Follower> Version::follower_for(const Call& call) const {
  return forward_check_->follower_at(sizes_in(*guards_.shapes_hold(call.leaves)));
}

InstancePtr Version::make_instance(const Options& options, const Call& call, capture::Trace forward,
                                   RunEnd end) const {
  auto symbols = guards_.shapes_hold(call.leaves);
  if (!symbols || !guards_.lifts_same(forward)) return nullptr;
  auto instance = std::make_shared<Instance>();
  const auto sizes = sizes_in(*symbols);
  instance->symbols = std::move(*symbols);
  instance->pattern = std::move(end.pattern);
  instance->structure = std::move(end.structure);
  instance->grad_mode_after = end.grad_mode;
  for (const auto& tensor : call.leaves.tensors)
    instance->offsets.push_back(tensor.defined() ? tensor.storage_offset() : 0);
  for (const auto& lifted : forward.lifted) instance->offsets.push_back(lifted.tensor.storage_offset());
  const auto& other = *newest_;
  instance->check_aliasing = other.check_aliasing;
  instance->may_draw = other.may_draw;
  auto signature = other.caller->signature();
  runtime::BackwardFacts facts;
  if (const auto& backward = other.caller->backward()) facts = backward->facts();
  facts.higher_order = higher_order(options, call, forward, signature.gradients);
  auto values = forward_check_->values_in(sizes, std::move(forward));
  if (!values) return nullptr;
  instance->values = *std::move(values);
  instance->caller = template_->instantiate(instance->values, std::move(signature), std::move(facts));
  return instance;
}

std::shared_ptr<runtime::HigherOrder> Version::higher_order(const Options& options, const Call& call,
                                                            const capture::Trace& trace,
                                                            std::vector<int32_t> targets) const {
  if (!gradients_) return nullptr;
  return std::make_shared<GradientFunction>(gradients_, options.name, call, trace, std::move(targets));
}

void Version::add(InstancePtr instance, int most) {
  instance->used = ++clock_;
  if (newest_ == nullptr) first_symbols_ = instance->values;
  newest_ = instance;
  instances_[instance->symbols] = std::move(instance);
  if (std::cmp_less_equal(instances_.size(), std::max(1, most))) return;
  // Several at once, because finding the oldest ones takes time.
  const auto dropped = std::max(1, most / 8);
  std::vector<uint64_t> used;
  for (const auto& [symbols, other] : instances_) used.push_back(other->used);
  std::nth_element(used.begin(), used.begin() + dropped - 1, used.end());
  std::erase_if(instances_,
                [limit = used[dropped - 1]](const auto& one) { return one.second->used <= limit; });
}

std::vector<InstancePtr> Version::all_instances() const {
  std::vector<InstancePtr> out;
  for (const auto& [symbols, instance] : instances_) out.push_back(instance);
  std::sort(out.begin(), out.end(), [](const InstancePtr& a, const InstancePtr& b) {
    return std::lexicographical_compare(a->symbols.begin(), a->symbols.end(), b->symbols.begin(),
                                        b->symbols.end());
  });
  return out;
}

void Version::set_lifted(size_t k, const at::Tensor& tensor) {
  guards_.lifted.at(k).tensor = c10::weak_intrusive_ptr<c10::TensorImpl>(tensor.getIntrusivePtr());
}

InstancePtr Version::find_instance(const Symbols& symbols) const {
  if (!is_dynamic()) return newest_;
  const auto found = instances_.find(symbols);
  if (found == instances_.end()) return nullptr;
  found->second->used.store(clock_.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
  return found->second;
}

bool Version::gather(const Call& call, const Symbols& symbols, Match& match) const {
  auto& inputs = match.inputs;
  inputs.assign(call.leaves.tensors.begin(), call.leaves.tensors.end());
  if (is_eager()) return guards_.lifted_mismatch().empty();
  match.instance = find_instance(symbols);
  if (match.instance == nullptr) return false;
  const auto& instance = *match.instance;
  const auto reaches = [&](const Reach& reach) {
    const auto& tensor = inputs[reach.input];
    return std::cmp_less_equal(tensor.storage_offset() * tensor.itemsize() + reach.bytes,
                               tensor.storage().nbytes());
  };
  return guards_.add_bases(inputs, instance.offsets) && guards_.add_lifted(inputs) &&
         std::ranges::all_of(instance.reach, reaches) &&
         (!instance.check_aliasing ||
          runtime::aliasing_failure(instance.caller->signature(), inputs, instance.offsets).empty());
}

std::optional<Match> match(std::span<const std::shared_ptr<Version>> versions, const Call& call) {
  std::optional<Match> match;  // named so that it is constructed in place: a warm call moves nothing
  for (const auto& version : versions) {
    const auto symbols = version->guards_.hold(call);
    if (!symbols) continue;
    match.emplace(version);
    if (version->gather(call, *symbols, *match)) break;
    match.reset();
  }
  return match;
}

std::optional<Match> match_new_version(const std::shared_ptr<Version>& version, const Call& call) {
  std::optional<Match> match;
  const auto symbols = version->guards_.hold_ignoring_owners(call);
  if (!symbols) return match;
  match.emplace(version);
  if (!version->gather(call, *symbols, *match)) match.reset();
  return match;
}

std::string Version::instance_mismatch(const Leaves& leaves) const {
  const auto symbols = guards_.shapes_hold(leaves);
  if (!symbols) return guards_.shapes_mismatch(leaves);
  const auto instance = find_instance(*symbols);
  if (instance == nullptr) return "it has not been seen at these sizes and numbers";
  Inputs inputs(leaves.tensors.begin(), leaves.tensors.end());
  if (!guards_.add_bases(inputs, instance->offsets))
    return "inputs are no longer the same views of one tensor";
  if (!guards_.add_lifted(inputs)) return guards_.lifted_mismatch();
  return instance->check_aliasing
             ? runtime::aliasing_failure(instance->caller->signature(), inputs, instance->offsets)
             : "nothing differs";
}

std::vector<std::string> Version::mismatches(const Call& call) const {
  auto out = guards_.mismatches(call);
  if (!out.empty() && (is_eager() || !is_dynamic() || call.leaves.tensors.size() != guards_.arguments.size()))
    return out;
  auto what = is_eager()    ? guards_.lifted_mismatch()
              : out.empty() ? instance_mismatch(call.leaves)
                            : guards_.shapes_mismatch(call.leaves);
  if (!what.empty()) out.push_back(std::move(what));
  if (out.empty()) out.emplace_back("nothing differs");
  return out;
}

std::optional<symbolic::CallShapes> Version::shapes_if_like(const Call& call) const {
  if (is_eager() || !guards_.same_but_numbers(call.leaves) || !(call.ambient == guards_.ambient))
    return std::nullopt;
  symbolic::CallShapes own;
  for (size_t i = 0; i < guards_.arguments.size(); ++i) {
    auto guard = guards_.arguments[i];
    guard.ignore_shape();
    if (!guard.holds(call.leaves.tensors[i])) return std::nullopt;
    auto& shape = own.emplace_back();
    shape.defined = guard.is_plain();
    shape.sizes = guard.sizes().vec();
    shape.strides = guard.strides().vec();
  }
  if (!of_one_kind(own, shapes_of(call.leaves.tensors))) return std::nullopt;
  return own;
}

}  // namespace antegrad::compiler
