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

/// Combines over the threads of a row, which are a power of two and as far apart in shared memory as there
/// are rows in a block: in each step, the first half takes over the values of the second.
template <class MemoryOf>
void print_halvings(Writer& out, const Mapping& mapping, const std::vector<Partial>& partials,
                    const MemoryOf& memory_of) {
  for (const auto& partial : partials) out.line("{}[AG_THREAD] = {};", memory_of(partial), partial.variable);
  out.open("for (int32_t half = {}; half > 0; half /= 2) {{", mapping.threads_per_row / 2);
  out.line("AG_SYNC();");
  out.open("if (t < half) {{");
  for (const auto& partial : partials) {
    const auto memory = memory_of(partial);
    out.open("{{");
    out.line("const {} from = {}[AG_THREAD + half * {}];", reduction_type(partial.type), memory,
             mapping.rows_per_block);
    out.line("{}", combine_text(partial.variable, "from", partial.type, partial.combine));
    out.line("{}[AG_THREAD] = {};", memory, partial.variable);
    out.close();
  }
  out.close();
  out.close();
  out.line("AG_SYNC();");
  for (const auto& partial : partials)
    out.line("{} = {}[row_of_block];", partial.variable, memory_of(partial));
  out.line("AG_SYNC();");
}

}  // namespace

void print_row_combination(Writer& out, const Mapping& mapping, const std::vector<Partial>& partials,
                           const std::string& slots, bool used_next) {
  const auto row = mapping.threads_per_row;
  if (row == 1 || partials.empty()) return;
  const auto number = [&](const Partial& partial) { return &partial - partials.data(); };
  if (mapping.form == Mapping::Form::Columns) {
    const auto memory = [&](const Partial& partial) {
      return memory_of(partial, slots, number(partial), mapping.threads);
    };
    return print_halvings(out, mapping, partials, memory);
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
  print_barrier(out, mapping);
  const auto first = mapping.rows_per_block == 1 ? "0" : fmt::format("row_of_block * {}", row / kWarp);
  for (const auto& partial : partials) print_gather(out, partial, memory(partial), first, 1, row / kWarp);
  if (used_next) print_barrier(out, mapping);
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
  if (mapping.form != Mapping::Form::Rows || (mapping.threads_per_row > kWarp && mapping.rows_per_block == 1))
    out.line("AG_SYNC();");
  else if (mapping.threads_per_row <= kWarp)
    out.line("AG_SYNC_WARP();");
  else
    out.line("AG_SYNC_ROW(row_of_block, {});", mapping.threads_per_row);
}

}  // namespace antegrad::codegen::cuda
