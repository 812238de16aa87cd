#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "samples/rows.h"
#include "samples/table.h"
#include "samples/tensor_text.h"

namespace antegrad::samples {
namespace {

/// How many samples are derived per overload: the first is the plain call, the others vary layout and
/// broadcasting.
constexpr int kDerivedPerOverload = 3;

bool writes(const c10::Argument& argument) {
  return argument.alias_info() && argument.alias_info()->isWrite();
}

bool same_types(const c10::FunctionSchema& a, const c10::FunctionSchema& b, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (a.arguments()[i].name() != b.arguments()[i].name()) return false;
    if (*a.arguments()[i].type() != *b.arguments()[i].type()) return false;
  }
  return true;
}

/// Whether `self` can hold the result of the functional call.
bool fits(const c10::IValue& self, const c10::Stack& results) {
  if (!self.isTensor()) return self.isTensorList();
  const at::Tensor& target = self.toTensor();
  if (results.empty() || !results[0].isTensor()) return false;
  const at::Tensor& result = results[0].toTensor();
  const bool overlapping =
      target.numel() > 1 && !target.is_non_overlapping_and_dense() && target.stride(0) == 0;
  return !overlapping && result.sizes() == target.sizes() &&
         at::canCast(result.scalar_type(), target.scalar_type());
}

at::Tensor transposed_zeros(const at::Tensor& like) {
  return at::zeros(like.transpose(0, 1).sizes(), like.options()).transpose(0, 1);
}

/// Whether the call asks for a result dtype, which an in-place call cannot convert to.
bool asks_for_dtype(const c10::FunctionSchema& schema, const Sample& sample) {
  const auto index = schema.argumentIndexWithName("dtype");
  return index && !sample.args[static_cast<size_t>(*index)].isNone();
}

/// Overloads by base name.
const std::unordered_map<std::string, std::vector<c10::OperatorHandle>>& overloads() {
  static const auto table = [] {
    std::unordered_map<std::string, std::vector<c10::OperatorHandle>> result;
    for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
      if (auto op = c10::Dispatcher::singleton().findSchema(name)) result[name.name].push_back(*op);
    }
    return result;
  }();
  return table;
}

/// Returns the overload that takes the arguments of `schema` and one out argument per result.
std::optional<c10::OperatorHandle> out_form(const c10::FunctionSchema& schema) {
  const size_t count = schema.arguments().size();
  const size_t outs = schema.returns().size();
  for (const auto& op : overloads().at(schema.name())) {
    const auto& arguments = op.schema().arguments();
    if (arguments.size() != count + outs || !same_types(schema, op.schema(), count)) continue;
    bool all_written = true;
    for (size_t i = count; i < count + outs; ++i)
      all_written &= arguments[i].is_out() && writes(arguments[i]);
    if (all_written) return op;
  }
  return std::nullopt;
}

std::string text_of(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

}  // namespace

void derive_inplace(std::vector<Sample>& samples) {
  std::map<std::string, int> derived;
  std::vector<Sample> added;
  for (const Sample& sample : samples) {
    const auto functional = find_overload(sample.op);
    c10::OperatorName name = functional.operator_name();
    name.name += "_";
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op || sample.args.empty() || is_random(sample.op) || is_uninitialized(sample.op)) continue;
    if (asks_for_dtype(functional.schema(), sample)) continue;
    const auto& schema = op->schema();
    const auto& arguments = functional.schema().arguments();
    if (schema.arguments().size() != arguments.size() || !writes(schema.arguments()[0]) ||
        writes(arguments[0]) || !same_types(functional.schema(), schema, arguments.size()))
      continue;
    int& count = derived[text_of(name)];
    if (count >= kDerivedPerOverload || !fits(sample.args[0], call(sample.op, clone_args(sample)))) continue;
    ++count;
    added.push_back({text_of(name), clone_args(sample)});
  }
  std::move(added.begin(), added.end(), std::back_inserter(samples));
}

void derive_out(std::vector<Sample>& samples) {
  std::unordered_set<std::string> wanted;
  for (auto line : split(kOutOps, '\n')) {
    for (auto name : split(line, ' ')) wanted.insert("aten::" + std::string(name));
  }
  std::map<std::string, int> derived;
  std::vector<Sample> added;
  for (const Sample& sample : samples) {
    int& count = derived[sample.op];
    if (!wanted.contains(sample.op) || count >= kDerivedPerOverload) continue;
    const auto op = out_form(find_overload(sample.op).schema());
    if (!op) throw std::invalid_argument("[samples:" + sample.op + "] has no out= form");
    Sample derived_call{text_of(op->operator_name()), clone_args(sample)};
    for (const auto& result : call(sample.op, clone_args(sample))) {
      const at::Tensor like = result.toTensor();
      const bool transpose = count == 1 && like.dim() == 2;
      derived_call.args.emplace_back(transpose ? transposed_zeros(like)
                                               : at::zeros(like.sizes(), like.options()));
    }
    ++count;
    added.push_back(std::move(derived_call));
  }
  std::move(added.begin(), added.end(), std::back_inserter(samples));
}

}  // namespace antegrad::samples
