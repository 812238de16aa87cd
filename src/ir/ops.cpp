#include "ir/ops.h"

#include <algorithm>
#include <unordered_map>

namespace antegrad::ir {
namespace {

std::vector<OpInfo> sorted_table() {
  std::vector<OpInfo> table{
#define OP(name, kind, recompute, expression) {name, OpKind::kind, Recompute::recompute, expression},
#include "ir/ops.def"
#undef OP
  };
  std::sort(table.begin(), table.end(), [](const OpInfo& a, const OpInfo& b) { return a.name < b.name; });
  return table;
}

}  // namespace

const std::vector<OpInfo>& all_ops() {
  static const auto& table = *new const std::vector<OpInfo>(sorted_table());
  return table;
}

const OpInfo* find_op(std::string_view name) {
  const auto& table = all_ops();
  const auto at = std::lower_bound(table.begin(), table.end(), name,
                                   [](const OpInfo& row, std::string_view key) { return row.name < key; });
  return at != table.end() && at->name == name ? &*at : nullptr;
}

Raises raises(std::string_view name) {
  static const auto& table = *new const std::unordered_map<std::string_view, Raises>{
#define RAISES(name, when) {name, Raises::when},
#include "ir/ops_raising.def"
#undef RAISES
  };
  const auto row = table.find(name);
  return row == table.end() ? Raises::Never : row->second;
}

Derivative derivative(std::string_view name) {
  static const auto& table = *new const std::unordered_map<std::string_view, Derivative>{
#define DERIVATIVE(name, course) {name, Derivative::course},
#include "ir/ops_derivative.def"
#undef DERIVATIVE
  };
  if (const auto row = table.find(name); row != table.end()) return row->second;
  const auto* info = find_op(name);
  const bool is_known = info != nullptr && info->kind != OpKind::Extern && info->kind != OpKind::Effect;
  return is_known ? Derivative::Uniform : Derivative::Varies;
}

}  // namespace antegrad::ir
