#include "codegen/cuda/reduce_text.h"

#include <algorithm>

#include "codegen/cuda/section_printer.h"
#include "codegen/text/op_text.h"

namespace antegrad::codegen::cuda {
namespace {

/// Combines over `lanes` neighbouring threads of a warp.
void print_shuffles(Writer& out, const Partial& partial, int32_t lanes) {
  if (lanes <= 1) return;
  out.line("AG_UNROLL");
  out.open("for (int32_t other = {}; other > 0; other /= 2) {{", lanes / 2);
  out.line("const {} from = AG_SHFL_XOR({}, other);", reduction_type(partial.type), partial.variable);
  out.line("{}", combine_text(partial.variable, "from", partial.type, partial.combine));
  out.close();
}

/// Combines `count` values in shared memory, from `first` on, `step` apart.
void print_gather(Writer& out, const Partial& partial, const std::string& memory, const std::string& first,
                  int32_t step, int32_t count) {
  out.line("{} = {}[{}];", partial.variable, memory, first);
  out.line("AG_UNROLL");
  out.open("for (int32_t other = 1; other < {}; ++other) {{", count);
  out.line("const {} from = {}[{} + other{}];", reduction_type(partial.type), memory, first,
           step == 1 ? "" : fmt::format(" * {}", step));
  out.line("{}", combine_text(partial.variable, "from", partial.type, partial.combine));
  out.close();
}

std::string memory_of(const Partial& partial, const std::string& slots, int64_t number, int64_t slots_each) {
  return fmt::format("(({}*)({} + {}))", reduction_type(partial.type), slots, 8 * number * slots_each);
}

}  // namespace

void print_row_combination(Writer& out, const Mapping& mapping, const std::vector<Partial>& partials,
                           const std::string& slots) {
  const auto row = mapping.threads_per_row;
  if (row == 1 || partials.empty()) return;
  const auto number = [&](const Partial& partial) { return &partial - partials.data(); };
  if (mapping.form == Mapping::Form::Columns) {
    const auto memory = [&](const Partial& partial) {
      return memory_of(partial, slots, number(partial), mapping.threads);
    };
    for (const auto& partial : partials) out.line("{}[AG_THREAD] = {};", memory(partial), partial.variable);
    out.line("AG_SYNC();");
    for (const auto& partial : partials)
      print_gather(out, partial, memory(partial), "row_of_block", mapping.rows_per_block, row);
    out.line("AG_SYNC();");
    return;
  }
  for (const auto& partial : partials) print_shuffles(out, partial, std::min(row, kWarp));
  if (row <= kWarp) return;
  const auto memory = [&](const Partial& partial) {
    return memory_of(partial, slots, number(partial), mapping.threads / kWarp);
  };
  out.open("if (AG_THREAD % 32 == 0) {{");
  for (const auto& partial : partials)
    out.line("{}[AG_THREAD / 32] = {};", memory(partial), partial.variable);
  out.close();
  out.line("AG_SYNC();");
  const auto first = mapping.rows_per_block == 1 ? "0" : fmt::format("row_of_block * {}", row / kWarp);
  for (const auto& partial : partials) print_gather(out, partial, memory(partial), first, 1, row / kWarp);
  out.line("AG_SYNC();");
}

void print_block_combination(Writer& out, const Mapping& mapping, const Partial& partial,
                             const std::string& slots) {
  print_shuffles(out, partial, kWarp);
  if (mapping.threads <= kWarp) return;
  const auto memory = memory_of(partial, slots, 0, 0);
  out.line("AG_SYNC();");
  out.line("if (AG_THREAD % 32 == 0) {}[AG_THREAD / 32] = {};", memory, partial.variable);
  out.line("AG_SYNC();");
  out.open("if (AG_THREAD == 0) {{");
  print_gather(out, partial, memory, "0", 1, mapping.threads / kWarp);
  out.close();
}

void print_barrier(Writer& out, const Mapping& mapping) {
  if (mapping.threads_per_row == 1) return;
  const bool one_warp = mapping.form == Mapping::Form::Rows && mapping.threads_per_row <= kWarp;
  out.line("{}", one_warp ? "AG_SYNC_WARP();" : "AG_SYNC();");
}

}  // namespace antegrad::codegen::cuda
