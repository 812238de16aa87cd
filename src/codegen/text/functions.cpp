#include "codegen/text/functions.h"

#include <fmt/format.h>

#include "codegen/text/prelude.h"

namespace antegrad::codegen {

using ir::DType;

std::optional<std::string> function_name(std::string_view function, DType type) {
  const bool floating = type == DType::F32 || type == DType::F64;
  const auto suffix = type == DType::F32 ? "f" : "";
  if (floating && (function == "sqrt" || function == "copysign"))
    return fmt::format("__builtin_{}{}", function, suffix);
  if (floating && function == "abs") return fmt::format("__builtin_fabs{}", suffix);
  auto name = fmt::format("ag_{}_{}", function, ir::name(type == DType::Bool ? DType::U8 : type));
  if (prelude_has(name)) return name;
  name = fmt::format("ag_{}", function);
  if (prelude_has(name)) return name;
  return std::nullopt;
}

}  // namespace antegrad::codegen
