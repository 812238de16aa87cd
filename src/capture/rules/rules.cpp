#include "capture/rules/rules.h"

#include <string>
#include <unordered_set>

#include "capture/rules/table.h"

namespace antegrad::capture {
namespace rules {
namespace {

constexpr auto kAten = "aten::";

c10::OperatorName aten_name(std::string_view name) {
  auto dot = name.find('.');
  if (dot == std::string_view::npos) return {kAten + std::string(name), ""};
  return {kAten + std::string(name.substr(0, dot)), std::string(name.substr(dot + 1))};
}

/// The ops whose kernels run on meta tensors, or that decompose above us, keep what they have.
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

/// Whether `op` is the out variant of `base`: the same arguments, less those of the new tensor's options, and
/// then one out tensor for each result.
bool is_out_variant(const c10::FunctionSchema& op, const c10::FunctionSchema& base) {
  size_t extra = op.arguments().size() - base.arguments().size();
  if (!same_leading_arguments(op, base) || extra != base.returns().size()) return false;
  for (size_t i = base.arguments().size(); i < op.arguments().size(); ++i) {
    const auto& argument = op.arguments()[i];
    if (!argument.is_out() || argument.type()->kind() != c10::TypeKind::TensorType) return false;
  }
  return true;
}

using Resolved = std::unordered_map<c10::OperatorName, ShapeRule>;

void derive_variants(const std::vector<c10::OperatorName>& overloads, const c10::OperatorName& base_name,
                     const RuleSet& set, Resolved& resolved) {
  auto& dispatcher = c10::Dispatcher::singleton();
  auto base = dispatcher.findSchema(base_name);
  if (!base) return;
  for (const auto& name : overloads) {
    auto op = dispatcher.findSchema(name);
    if (!op || needs_no_derived_rule(*op)) continue;
    bool inplace = name.name != base_name.name;
    if (inplace && set.inplace && op->schema().arguments().size() == base->schema().arguments().size() &&
        same_leading_arguments(op->schema(), base->schema())) {
      resolved.emplace(name, set.inplace);
    }
    if (!inplace && set.out && is_out_variant(op->schema(), base->schema())) {
      bool generated = op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
      resolved.emplace(name, generated ? set.generated_out : set.out);
    }
  }
}

Resolved resolve(const RuleTable& table) {
  std::unordered_map<std::string, std::vector<c10::OperatorName>> overloads;
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) overloads[name.name].push_back(name);
  Resolved resolved;
  for (const auto& [name, set] : table.sets()) resolved.emplace(name, set.functional);
  for (const auto& [name, set] : table.sets()) {
    derive_variants(overloads[name.name], name, set, resolved);
    derive_variants(overloads[name.name + "_"], name, set, resolved);
  }
  return resolved;
}

const Resolved& all_rules() {
  static const Resolved resolved = [] {
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
    add_reduction_rules(table);
    return resolve(table);
  }();
  return resolved;
}

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

ShapeRule find_shape_rule(const c10::OperatorName& name) {
  const auto& all = rules::all_rules();
  auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

bool has_data_dependent_shape(const c10::OperatorName& name) {
  static const std::unordered_set<std::string> kNames = {
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
  static const std::unordered_set<c10::OperatorName> kOverloads = {
      {"aten::repeat_interleave", "Tensor"},
      {"aten::repeat_interleave", "Tensor_out"},
      {"aten::_ctc_loss", "Tensor"},
      {"aten::_ctc_loss", "Tensor_out"},
      {"aten::where", ""},
  };
  return kNames.contains(name.name) || kOverloads.contains(name);
}

}  // namespace antegrad::capture
