#include "codegen/cuda/kernel_source.h"

#include <fmt/format.h>

#include "codegen/cuda/kernel_printer.h"
#include "codegen/text/prelude.h"

namespace antegrad::codegen::cuda {
namespace {

constexpr std::string_view kDevice =
#include "codegen/cuda/prelude/device.h"
    ;
constexpr std::string_view kCommon =
#include "codegen/cuda/prelude/common.h"
    ;
constexpr std::string_view kForms =
#include "codegen/cuda/prelude/forms.h"
    ;

/// An index out of range is replaced by 0, so that nothing outside the buffer is accessed. The error has the
/// number of the index in its highest byte.
constexpr std::string_view kIndexing =
    R"(AG_INLINE uint64_t ag_bad(uint64_t number, int64_t index) {
  return number << 56 | ((uint64_t)index & 0xffffffffffffffull);
}
AG_INLINE uint32_t ag_outside(int64_t index, int64_t size, int wraps) {
  const int64_t at = wraps && index < 0 ? index + size : index;
  return (uint64_t)at >= (uint64_t)size;
}
AG_INLINE int64_t ag_position(int64_t index, int64_t size, int wraps) {
  const int64_t at = wraps && index < 0 ? index + size : index;
  return (uint64_t)at >= (uint64_t)size ? 0 : at;
}
)";

const PreludeForms& forms() {
  static const auto& instance = *new const PreludeForms(kForms);
  return instance;
}

}  // namespace

std::vector<std::string> index_texts(const schedule::Kernel& kernel,
                                     const std::function<int64_t(int32_t)>& symbols) {
  std::vector<std::string> texts;
  for (const auto& section : kernel.sections)
    for (const auto& op : section.ops)
      for (const auto& part : op.indirect)
        texts.push_back(fmt::format("{}, whose dim has the size {}",
                                    op.comment.empty() ? "kernel " + kernel.name : op.comment,
                                    part.size.evaluate(symbols)));
  return texts;
}

IndexError index_error(uint64_t word) {
  return {static_cast<int32_t>(word >> 56), static_cast<int64_t>(word << 8) >> 8};
}

std::string kernel_source(const schedule::Kernel& kernel, const Mapping& mapping) {
  return print_kernel(kernel, mapping).text;
}

std::string with_prelude(std::set<std::string> functions, const std::string& text) {
  functions.insert("AG_INLINE");
  return "AG_BEGIN_C\n" + prelude_for({functions.begin(), functions.end()}, &forms()) + "AG_END_C\n" +
         std::string(kCommon) + text;
}

std::string for_device(const std::string& portable) { return std::string(kDevice) + portable; }

std::string portable_source(const std::vector<MappedKernel>& kernels) {
  std::set<std::string> functions;
  std::string text;
  bool checks_indices = false;
  for (const auto& [kernel, mapping] : kernels) {
    const auto printed = print_kernel(*kernel, *mapping);
    functions.insert(printed.functions.begin(), printed.functions.end());
    checks_indices = checks_indices || printed.checks_indices;
    text += "\n" + printed.text;
  }
  return with_prelude(std::move(functions), checks_indices ? std::string(kIndexing) + text : text);
}

std::string unit_source(const schedule::Kernel& kernel, const Mapping& mapping) {
  return std::string(kernel.parts.empty() ? "" : kCompileQuickly) +
         for_device(portable_source({{&kernel, &mapping}}));
}

}  // namespace antegrad::codegen::cuda
