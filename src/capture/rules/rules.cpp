#include "capture/rules/rules.h"

#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_set>

#include "aten/below_recording.h"
#include "capture/rules/table.h"
#include "util/fork_mutex.h"

namespace antegrad::capture {
namespace rules {
namespace {

constexpr auto kAten = "aten::";

c10::OperatorName aten_name(std::string_view name) {
  auto dot = name.find('.');
  if (dot == std::string_view::npos) return {kAten + std::string(name), ""};
  return {kAten + std::string(name.substr(0, dot)), std::string(name.substr(dot + 1))};
}

/// Returns whether the op needs no rule: its kernels run on meta tensors, or it decomposes before it is
/// recorded.
bool needs_no_derived_rule(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::Meta) ||
         op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

bool same_leading_arguments(const c10::FunctionSchema& whole, const c10::FunctionSchema& part) {
  const auto& a = whole.arguments();
  const auto& b = part.arguments();
  if (a.size() < b.size()) return false;
  for (size_t i = 0; i < b.size(); ++i) {
    if (a[i].name() != b[i].name() || *a[i].type() != *b[i].type()) return false;
  }
  return true;
}

/// Returns whether `op` is the out variant of `base`: the same arguments, then one out tensor for each
/// result.
bool is_out_variant(const c10::FunctionSchema& op, const c10::FunctionSchema& base) {
  size_t extra = op.arguments().size() - base.arguments().size();
  if (!same_leading_arguments(op, base) || extra != base.returns().size()) return false;
  for (size_t i = base.arguments().size(); i < op.arguments().size(); ++i) {
    const auto& argument = op.arguments()[i];
    if (!argument.is_out() || argument.type()->kind() != c10::TypeKind::TensorType) return false;
  }
  return true;
}

RuleTable make_table() {
  RuleTable table;
  add_attention_rules(table);
  add_composite_rules(table);
  add_convolution_rules(table);
  add_cuda_rules(table);
  add_distance_rules(table);
  add_embedding_rules(table);
  add_fft_rules(table);
  add_indexing_rules(table);
  add_linalg_rules(table);
  add_loss_rules(table);
  add_normalization_rules(table);
  add_optimizer_rules(table);
  add_pointwise_rules(table);
  add_pooling_rules(table);
  add_quantization_rules(table);
  add_random_rules(table);
  add_recurrent_rules(table);
  add_reduction_rules(table);
  return table;
}

/// Rules that take precedence for tensors on a CUDA device.
const RuleTable& rules_of_cuda_kernels() {
  static const auto& table = *new const auto([] {
    RuleTable rules;
    add_rules_of_cuda_kernels(rules);
    return rules;
  }());
  return table;
}

/// The rules by op. Those of variants are derived on first use: going through all ops of LibTorch would take
/// longer than most captures.
class Rules {
 public:
  Rules() : table_(make_table()) {
    for (const auto& [name, set] : table_.sets()) by_name_[name.name].emplace_back(name, &set);
  }

  ShapeRule find(const c10::OperatorName& name) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = known_.find(name); found != known_.end()) return found->second;
    }
    const auto rule = derive(name);
    const std::unique_lock lock(mutex_);
    known_.emplace(name, rule);
    return rule;
  }

  static Rules& instance() {
    static auto& rules = *new Rules;
    return rules;
  }

 private:
  ShapeRule derive(const c10::OperatorName& name) const {
    if (const auto own = table_.sets().find(name); own != table_.sets().end()) return own->second.functional;
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op || needs_no_derived_rule(*op)) return nullptr;
    if (const auto rule = out_rule(*op)) return rule;
    return name.name.ends_with('_') ? inplace_rule(*op) : nullptr;
  }

  ShapeRule out_rule(const c10::OperatorHandle& op) const {
    const bool generated = op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
    return first_of(op.operator_name().name, [&](const c10::FunctionSchema& base, const RuleSet& set) {
      if (!set.out || !is_out_variant(op.schema(), base)) return ShapeRule(nullptr);
      return generated ? set.generated_out : set.out;
    });
  }

  ShapeRule inplace_rule(const c10::OperatorHandle& op) const {
    auto base_name = op.operator_name().name;
    base_name.pop_back();
    return first_of(base_name, [&](const c10::FunctionSchema& base, const RuleSet& set) {
      const bool same = op.schema().arguments().size() == base.arguments().size() &&
                        same_leading_arguments(op.schema(), base);
      return same ? set.inplace : ShapeRule(nullptr);
    });
  }

  /// Returns the first rule that `rule_of` gives for a base op of that name.
  template <class RuleOf>
  ShapeRule first_of(const std::string& base_name, const RuleOf& rule_of) const {
    const auto bases = by_name_.find(base_name);
    if (bases == by_name_.end()) return nullptr;
    for (const auto& [name, set] : bases->second)
      if (const auto base = c10::Dispatcher::singleton().findSchema(name))
        if (const auto rule = rule_of(base->schema(), *set)) return rule;
    return nullptr;
  }

  const RuleTable table_;
  std::unordered_map<std::string, std::vector<std::pair<c10::OperatorName, const RuleSet*>>> by_name_;
  BriefSharedMutex mutex_;
  std::unordered_map<c10::OperatorName, ShapeRule> known_;  ///< null for ops without a rule
};

}  // namespace

void RuleTable::add_set(std::string_view name, const RuleSet& set) {
  bool added = sets_.emplace(aten_name(name), set).second;
  TORCH_INTERNAL_ASSERT(added, "two shape rules for ", name);
}

void finish_inplace(Stack& stack, const std::vector<Tensor>& results) {
  Tensor self = stack.front().toTensor();
  TORCH_CHECK(results.front().sizes() == self.sizes(), "output with shape ", self.sizes(),
              " doesn't match the broadcast shape ", results.front().sizes());
  stack.clear();
  stack.emplace_back(std::move(self));
}

void finish_out(Stack& stack, const std::vector<Tensor>& results, bool contiguous) {
  TORCH_CHECK(stack.size() >= results.size(), "an out variant needs ", results.size(), " out arguments");
  Stack outs(stack.end() - static_cast<int64_t>(results.size()), stack.end());
  for (size_t i = 0; i < outs.size(); ++i) {
    const Tensor& out = outs[i].toTensor();
    const Tensor& result = results[i];
    if (!out.defined() || !result.defined() || out.sizes() == result.sizes()) continue;
    out.resize_(result.sizes());
    if (!contiguous && out.strides() != result.strides()) out.as_strided_(result.sizes(), result.strides());
  }
  stack = std::move(outs);
}

}  // namespace rules

ShapeRule find_shape_rule(const c10::OperatorName& name) { return rules::Rules::instance().find(name); }

bool infer_by_cuda_rule(const c10::OperatorName& name, torch::jit::Stack& stack) {
  const auto& rules = rules::rules_of_cuda_kernels().sets();
  const auto rule = rules.find(name);
  if (rule == rules.end()) return false;
  const aten::BelowRecording below;
  rule->second.functional(stack);
  return true;
}

bool has_data_dependent_shape(const c10::OperatorName& name) {
  static const auto& kNames = *new const std::unordered_set<std::string>{
      "aten::nonzero",
      "aten::nonzero_numpy",
      "aten::argwhere",
      "aten::masked_select",
      "aten::_unique",
      "aten::_unique2",
      "aten::unique_dim",
      "aten::unique_consecutive",
      "aten::unique_dim_consecutive",
      "aten::bincount",
      "aten::_local_scalar_dense",
      "aten::_nested_tensor_from_mask",
      "aten::_padded_dense_to_jagged_forward",
      "aten::_to_sparse",
      "aten::_to_sparse_csr",
      "aten::_to_sparse_csc",
      "aten::_to_sparse_bsr",
      "aten::_to_sparse_bsc",
  };
  static const auto& kOverloads = *new const std::unordered_set<c10::OperatorName>{
      {"aten::repeat_interleave", "Tensor"},
      {"aten::repeat_interleave", "Tensor_out"},
      {"aten::_ctc_loss", "Tensor"},
      {"aten::_ctc_loss", "Tensor_out"},
      {"aten::where", ""},
  };
  return kNames.contains(name.name) || kOverloads.contains(name);
}

}  // namespace antegrad::capture
