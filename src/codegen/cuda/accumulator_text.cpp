#include "codegen/cuda/accumulator_text.h"

#include <algorithm>

#include "codegen/cuda/reduce_text.h"
#include "codegen/cuda/section_printer.h"
#include "codegen/text/c_text.h"
#include "codegen/text/op_text.h"

namespace antegrad::codegen::cuda {
namespace {

using Place = Accumulator::Place;

class AccumulatorPrinter {
 public:
  AccumulatorPrinter(Writer& out, Names& names, const KernelPlan& plan, const Mapping& mapping)
      : out_(out), names_(names), plan_(plan), mapping_(mapping) {}

  void begin(const Accumulator& one) {
    const auto type = reduction_type(one.type);
    const auto neutral = neutral_text(one.type, plan_.op(one).combine);
    switch (one.place) {
      case Place::Variable:
        out_.line("{} {} = {};", type, name(one), neutral);
        return;
      case Place::Registers: {
        const auto& section = plan_.sections[one.section];
        out_.line("{} {}[{}][{}];", type, name(one), section.trips, section.vector);
        out_.line("AG_UNROLL");
        out_.line("for (int32_t k = 0; k < {}; ++k)", section.trips);
        out_.line("  AG_UNROLL");
        out_.line("  for (int32_t v = 0; v < {}; ++v) {}[k][v] = {};", section.vector, name(one), neutral);
        return;
      }
      case Place::Shared:
        out_.line(
            "{0}* {1} = ({0}*)(ag_shared + {2}){3};", type, name(one), one.offset,
            mapping_.rows_per_block > 1 ? fmt::format(" + row_of_block * {}", names_.dim(one.count)) : "");
        out_.line("for (int32_t j = AG_THREAD; j < {0}; j += {1}) (({2}*)(ag_shared + {3}))[j] = {4};",
                  names_.dim(one.count * mapping_.rows_per_block), mapping_.threads, type, one.offset,
                  neutral);
        return;
      case Place::Global:
        out_.line("{}* {} = {};", memory_type(one.type), name(one), of_chunk(one));
        out_.line("for ({0} j = AG_THREAD; j < {1}; j += {2}) {3}[j] = {4};", index_type(mapping_),
                  names_.dim(one.count), mapping_.threads, name(one), neutral);
        return;
    }
  }

  void end(const Accumulator& one, const std::string& slots) {
    const auto& op = plan_.op(one);
    const Partial partial{name(one), one.type, op.combine};
    switch (one.place) {
      case Place::Variable:
        print_block_combination(out_, mapping_, partial, slots);
        out_.line("if (AG_THREAD == 0) *({}) = {};", of_chunk(one), stored(one, name(one)));
        return;
      case Place::Registers:
        return mapping_.rows_per_block > 1 ? end_of_rows(one, slots) : end_of_row(one);
      case Place::Shared: {
        out_.line("AG_SYNC();");
        const auto memory = fmt::format("(({}*)(ag_shared + {}))", reduction_type(one.type), one.offset);
        open_columns(one);
        combine_rows(one, memory);
        out_.line("({})[j] = {};", of_chunk(one), stored(one, "total"));
        out_.close();
        return;
      }
      case Place::Global:
        return;
    }
  }

 private:
  static std::string name(const Accumulator& one) { return fmt::format("acc{}_{}", one.section, one.op); }

  /// Returns a pointer to the results of the chunk.
  std::string of_chunk(const Accumulator& one) {
    const auto& op = plan_.op(one);
    auto out = fmt::format("{} + ({}){} * {}", names_.buffer(op.buffer), index_type(mapping_),
                           mapping_.tile > 0 ? "chunk" : "AG_BLOCK", names_.dim(one.count));
    if (!op.address.offset.is(0)) out += " + " + names_.dim(op.address.offset);
    return out;
  }
  std::string stored(const Accumulator& one, const std::string& value) {
    return to_memory(names_, names_.memory(plan_.op(one).buffer), value, one.type);
  }

  /// Returns how many columns a block has.
  std::string columns(const Accumulator& one) {
    return mapping_.tile > 0 ? fmt::format("{}", mapping_.tile) : names_.dim(one.count);
  }
  void open_columns(const Accumulator& one) {
    const auto end = mapping_.tile > 0
                         ? fmt::format("AG_MIN({}, {} - tile)", mapping_.tile, names_.dim(one.count))
                         : names_.dim(one.count);
    out_.open("for ({0} j = AG_THREAD; j < {1}; j += {2}) {{", index_type(mapping_), end, mapping_.threads);
  }
  /// Combines element j of each row of the block.
  void combine_rows(const Accumulator& one, const std::string& memory) {
    out_.line("{} total = {}[j];", reduction_type(one.type), memory);
    if (mapping_.rows_per_block == 1) return;
    out_.open("for (int32_t row = 1; row < {}; ++row) {{", mapping_.rows_per_block);
    out_.line("const {} from = {}[row * {} + j];", reduction_type(one.type), memory, columns(one));
    out_.line("{}", combine_text("total", "from", one.type, plan_.op(one).combine));
    out_.close();
  }

  /// Opens loops over the registers of a thread, with `e` the position of each.
  void open_registers(const Accumulator& one) {
    const auto& section = plan_.sections[one.section];
    const auto count = names_.dim(one.count);
    out_.line("AG_UNROLL");
    out_.open("for (int32_t k = 0; k < {}; ++k) {{", section.trips);
    out_.line("AG_UNROLL");
    out_.open("for (int32_t v = 0; v < {}; ++v) {{", section.vector);
    out_.line("const {} e = {}(k * {} + {}) * {} + v;", index_type(mapping_),
              mapping_.tile > 0 ? "tile + " : "", mapping_.threads_per_row,
              mapping_.threads_per_row > 1 ? "t" : "0", section.vector);
    out_.open("if (e < {}) {{", count);
  }
  void close_registers() {
    for (int i = 0; i < 3; ++i) out_.close();
  }

  /// Prints the address of position `position` of the section's loops, without its offset.
  std::string address(const Accumulator& one, const std::string& position) {
    const auto& loops = plan_.sections[one.section].spread;
    auto rest = position;
    Names::Replaced variables;
    for (size_t i = loops.size(); i-- > 0;) {
      variables[loops[i]] = fmt::format("c{}", loops[i]);
      out_.line("const {} c{} = {}{};", index_type(mapping_), loops[i], rest,
                i == 0 ? "" : " % " + names_.extent(loops[i]));
      if (i > 0) rest = fmt::format("({} / {})", rest, names_.extent(loops[i]));
    }
    auto address = plan_.op(one).address;
    address.offset = 0;
    return names_.affine(address, variables);
  }

  void end_of_row(const Accumulator& one) {
    open_registers(one);
    const auto at = address(one, "e");
    out_.line("({})[{}] = {};", of_chunk(one), at, stored(one, name(one) + "[k][v]"));
    close_registers();
  }

  void end_of_rows(const Accumulator& one, const std::string& slots) {
    const auto memory = fmt::format("(({}*)({}))", reduction_type(one.type), slots);
    out_.line("AG_SYNC();");
    open_registers(one);
    out_.line("{}[row_of_block * {} + e{}] = {}[k][v];", memory, columns(one),
              mapping_.tile > 0 ? " - tile" : "", name(one));
    close_registers();
    out_.line("AG_SYNC();");
    open_columns(one);
    combine_rows(one, memory);
    const auto at = address(one, mapping_.tile > 0 ? "(tile + j)" : "j");
    out_.line("({})[{}] = {};", of_chunk(one), at, stored(one, "total"));
    out_.close();
  }

  Writer& out_;
  Names& names_;
  const KernelPlan& plan_;
  const Mapping& mapping_;
};

}  // namespace

void begin_accumulators(Writer& out, Names& names, const KernelPlan& plan, const Mapping& mapping) {
  AccumulatorPrinter printer(out, names, plan, mapping);
  bool in_memory = false;
  for (const auto& one : plan.accumulators) {
    printer.begin(one);
    in_memory = in_memory || one.place == Place::Shared || one.place == Place::Global;
  }
  if (in_memory) out.line("AG_SYNC();");
}

void end_accumulators(Writer& out, Names& names, const KernelPlan& plan, const Mapping& mapping,
                      const std::string& slots) {
  AccumulatorPrinter printer(out, names, plan, mapping);
  for (const auto& one : plan.accumulators) printer.end(one, slots);
}

}  // namespace antegrad::codegen::cuda
