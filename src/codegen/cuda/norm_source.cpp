#include "codegen/cuda/norm_source.h"

#include <fmt/format.h>

#include <set>

#include "codegen/cuda/kernel_source.h"
#include "codegen/text/c_text.h"

namespace antegrad::codegen::cuda {
namespace {

constexpr int32_t kNormUnroll = 4;  ///< vectors that a thread loads before it computes

constexpr std::string_view kPartialNorms =
#include "codegen/cuda/prelude/norms.h"
    ;
constexpr std::string_view kCombineBlock =
#include "codegen/cuda/prelude/norm_blocks.h"
    ;
constexpr std::string_view kEnd =
#include "codegen/cuda/prelude/norm_end.h"
    ;

/// Returns what an element x, not negative, adds.
std::string term(NormKind kind, bool wide, std::set<std::string>& functions) {
  if (kind == NormKind::Squares) return "x * x";
  if (kind != NormKind::Powers) return "x";
  const std::string function = wide ? "ag_pow_f64" : "ag_pow_f32";
  functions.insert(function);
  return fmt::format("{}(x, ({})power)", function, wide ? "double" : "float");
}

std::string widened(ir::DType dtype, std::set<std::string>& functions) {
  if (dtype != ir::DType::F16 && dtype != ir::DType::BF16) return "memory";
  const std::string function = dtype == ir::DType::F16 ? "ag_f16_to_f32" : "ag_bf16_to_f32";
  functions.insert(function);
  return function + "(memory)";
}

std::string heads(const std::string& name) {
  return fmt::format("#define AG_NORM AG_KERNEL({0}) {1}\n#define AG_THREADS {0}\n", kTableThreads, name) +
         std::string(kCombineBlock);
}

}  // namespace

TableText norm_source(const std::string& name, NormKind kind, ir::DType dtype, bool vectors) {
  const auto vector = vectors ? 16 / ir::size_in_bytes(dtype) : 1;
  const bool wide = dtype == ir::DType::F64, is_max = kind == NormKind::Max;
  const auto* suffix = wide ? "" : "f";
  std::set<std::string> functions;
  auto text = table_declarations() + heads(name);
  text += fmt::format("typedef {} AgMemory;\ntypedef {} AgWide;\n", memory_type(dtype),
                      wide ? "double" : "float");
  text += fmt::format("#define AG_VECTOR {}\n#define AG_UNROLLED {}\n#define AG_IS_MAX {}\n", vector,
                      kNormUnroll, is_max);
  text += fmt::format(
      "// Adds an element to a part, and notes when it is not finite.\n"
      "AG_INLINE void ag_add(AgWide& part, int& bad, AgMemory memory, double power) {{\n"
      "  const AgWide x = __builtin_fabs{}({});\n"
      "  bad |= !(x < __builtin_inf{}());\n"
      "  const AgWide term = {};\n"
      "  part = {};\n}}\n",
      suffix, widened(dtype, functions), suffix, term(kind, wide, functions),
      is_max ? "AG_NAN_MAX(part, term)" : "part + term");
  text += kPartialNorms;
  return {with_prelude(std::move(functions), text), {1, 0, kTableThreads * vector * kNormUnroll}};
}

std::string norm_end_source(const std::string& name) {
  return with_prelude({"ag_pow_f64"}, table_declarations() + heads(name) + std::string(kEnd));
}

}  // namespace antegrad::codegen::cuda
