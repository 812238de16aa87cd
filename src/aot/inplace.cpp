#include "aot/inplace.h"

#include <map>
#include <mutex>
#include <unordered_map>

#include "util/fork_mutex.h"

namespace antegrad::aot {
namespace {

using aten::ArgKind;
using aten::ArgSchema;
using aten::OpSchema;

bool is_out_argument(const ArgSchema& arg) { return arg.written && arg.keyword; }

/// Returns all overloads of an op such as "aten::add".
const std::vector<c10::OperatorName>& overloads_of(const std::string& name) {
  static const auto& table = *new const auto([] {
    std::unordered_map<std::string, std::vector<c10::OperatorName>> all;
    for (const auto& op : c10::Dispatcher::singleton().getAllOpNames()) all[op.name].push_back(op);
    for (auto& [key, ops] : all)
      std::sort(ops.begin(), ops.end(),
                [](const auto& a, const auto& b) { return a.overload_name < b.overload_name; });
    return all;
  }());
  static const auto& none = *new const std::vector<c10::OperatorName>();
  auto found = table.find(name);
  return found == table.end() ? none : found->second;
}

/// Returns whether arguments are the same by name and kind, in order, apart from out arguments.
bool takes_same_inputs(const OpSchema& writing, const OpSchema& candidate) {
  size_t j = 0;
  for (const auto& arg : writing.args) {
    if (is_out_argument(arg)) continue;
    if (j == candidate.args.size()) return false;
    const auto& other = candidate.args[j++];
    if (other.kind != arg.kind || other.name != arg.name || other.optional != arg.optional) return false;
  }
  return j == candidate.args.size();
}

bool results_stand_for_writes(const OpSchema& writing, const OpSchema& candidate) {
  size_t result = 0;
  for (const auto& arg : writing.args) {
    if (!arg.written) continue;
    if (result == candidate.returns.size() || candidate.returns[result] != arg.kind) return false;
    ++result;
  }
  return result == candidate.returns.size();
}

const OpSchema* search(const OpSchema& schema) {
  // In-place random ops draw in the order of memory, which may differ in a fresh result. In a foreign library
  // the variant may do something else than its name says.
  if (schema.random || !schema.writes || schema.foreign) return nullptr;
  for (size_t i = 0; i < schema.returns.size(); ++i)
    if (schema.return_is_arg[i] < 0) return nullptr;
  auto name = schema.handle.operator_name().name;
  if (!name.empty() && name.back() == '_') name.pop_back();
  for (const auto& candidate : overloads_of(name)) {
    auto handle = c10::Dispatcher::singleton().findSchema(candidate);
    if (!handle) continue;
    const auto& other = aten::schema_of(*handle);
    if (!other.writes && !other.has_alias && !other.is_composite && takes_same_inputs(schema, other) &&
        results_stand_for_writes(schema, other))
      return &other;
  }
  return nullptr;
}

}  // namespace

const OpSchema* functional_variant(const OpSchema& schema) {
  static auto& mutex = *new BriefMutex;
  static auto& found = *new std::map<const OpSchema*, const OpSchema*>;
  std::scoped_lock lock(mutex);
  auto [entry, is_new] = found.try_emplace(&schema, nullptr);
  if (is_new) entry->second = search(schema);
  return entry->second;
}

ir::Node functional_call(const ir::Node& node, const OpSchema& schema, const OpSchema& variant) {
  ir::Node call;
  call.op = variant.name;
  call.provenance = node.provenance;
  for (size_t i = 0; i < node.args.size(); ++i)
    if (!is_out_argument(schema.args[i])) call.args.push_back(node.args[i]);
  for (const auto& attr : node.attrs) {
    bool only_written = false;
    for (const auto& arg : schema.args) only_written |= arg.name == attr.name && is_out_argument(arg);
    if (!only_written) call.attrs.push_back(attr);
  }
  return call;
}

}  // namespace antegrad::aot
