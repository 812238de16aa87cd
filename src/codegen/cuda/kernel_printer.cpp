#include "codegen/cuda/kernel_printer.h"

#include <algorithm>

#include "codegen/cuda/accumulator_text.h"
#include "codegen/cuda/barriers.h"
#include "codegen/cuda/kernel_source.h"
#include "codegen/cuda/one_block.h"
#include "codegen/cuda/reduce_text.h"
#include "codegen/cuda/section_printer.h"
#include "codegen/text/c_text.h"
#include "codegen/text/op_text.h"

namespace antegrad::codegen::cuda {
namespace {

using schedule::Buffer;
using schedule::Kernel;
using schedule::Op;
using schedule::OpCode;
using Form = Mapping::Form;

class KernelPrinter {
 public:
  KernelPrinter(const Kernel& kernel, const Mapping& mapping, bool is_function)
      : kernel_(kernel),
        mapping_(mapping),
        is_function_(is_function),
        plan_(plan_kernel(kernel, mapping)),
        names_(kernel) {}

  PrintedKernel run() {
    Writer body(1);
    print_empty_checks(body);
    if (mapping_.form == Form::Flat || mapping_.form == Form::All)
      print_flat(body);
    else
      print_rows(body);
    if (checks_indices()) body.line("if (bad != 0) *error = bad;");
    Writer out;
    out.comment(kernel_.text);
    out.comment(to_string(mapping_));
    const auto resident = mapping_.resident > 0 ? fmt::format(", {}", mapping_.resident) : "";
    const auto head =
        is_function_ ? "AG_INLINE void" : fmt::format("AG_KERNEL({}{})", mapping_.threads, resident);
    out.open("{} {}({}) {{", head, kernel_.name, parameters());
    print_declarations(out, body.text().find("ag_shared") != std::string::npos);
    out.append(body.text());
    out.close();
    return {out.text(), names_.functions(), checks_indices()};
  }

 private:
  bool checks_indices() const {
    for (const auto& section : kernel_.sections)
      for (const auto& op : section.ops)
        if (!op.indirect.empty()) return true;
    return false;
  }
  bool has_chunks() const { return !kernel_.chunks.is(0); }

  std::string parameters() const {
    std::string out;
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const auto& buffer = kernel_.buffers[i];
      if (buffer.kind == Buffer::Kind::Scratch) continue;
      const auto constant = buffer.kind == Buffer::Kind::Input ? "const " : "";
      out += buffer.host ? fmt::format("AG_PARAMETER AgHost h{}, ", i)
                         : fmt::format("{}{}* b{}, ", constant, memory_type(buffer.dtype), i);
    }
    for (int32_t i = 0; i < kernel_.symbols; ++i) out += fmt::format("long long s{}, ", i);
    return out + "unsigned long long* error";
  }

  void print_declarations(Writer& out, bool shared) {
    if (shared) out.line("AG_SHARED(ag_shared);");
    for (size_t i = 0; i < names_.used_dims().size(); ++i)
      out.line("const int64_t d{} = {};", i, dim_text(names_.used_dims()[i], names_.functions()));
    for (const auto i : names_.used_buffers())
      if (kernel_.buffers[i].host)
        out.line("const {0}* b{1} = (const {0}*)h{1}.words;", memory_type(kernel_.buffers[i].dtype), i);
    if (checks_indices()) out.line("uint64_t bad = 0;");
  }

  /// Prints early returns for indexed dims of size 0: every index is out of range then, and there is no
  /// element to read instead.
  void print_empty_checks(Writer& out) {
    int32_t number = 0;
    for (const auto& section : kernel_.sections)
      for (const auto& op : section.ops)
        for (const auto& part : op.indirect) {
          ++number;
          if (part.size.is_constant() && part.size.constant() > 0) continue;
          auto condition = fmt::format("{} <= 0", names_.dim(part.size));
          for (const auto loop : kernel_.outer) condition += fmt::format(" && {} > 0", names_.extent(loop));
          for (const auto loop : section.loops) condition += fmt::format(" && {} > 0", names_.extent(loop));
          out.open("if ({}) {{", condition);
          out.line("*error = ag_bad({}, 0);", std::min(number, kMostIndexNumbers));
          out.line("return;");
          out.close();
        }
  }

  // --- Flat, All

  void print_flat(Writer& out) {
    SectionPrinter sections(out, names_, plan_, mapping_);
    const auto slots = fmt::format("ag_shared + {}", plan_.slots);
    begin_accumulators(out, names_, plan_, mapping_);
    for (size_t i = 0; i < plan_.sections.size(); ++i) {
      const auto& section = plan_.sections[i];
      if (!section.has_loops() && mapping_.form == Form::All) {
        sections.print_once(i, "");  // each thread with its own part
        continue;
      }
      print_reductions(out, section);
      sections.print(i, flat_span(section));
      print_results(out, section);
    }
    end_accumulators(out, names_, plan_, mapping_, slots);
  }

  Span flat_span(const SectionPlan& section) {
    const auto total = iterations(kernel_, section.spread);
    const auto step = int64_t{mapping_.threads} * section.vector, tile = step * mapping_.unroll;
    Span span;
    span.count = names_.dim(total);
    span.step = fmt::format("{}", step);
    span.batch = mapping_.unroll;
    span.loops = mapping_.form == Form::All;
    span.guarded = span.loops || !is_multiple(total, tile);
    span.start =
        is_function_ ? "AG_THREAD" : fmt::format("({})AG_BLOCK * {} + AG_THREAD", index_type(mapping_), tile);
    if (section.vector > 1) span.start += fmt::format(" * {}", section.vector);
    if (span.loops)
      span.more = fmt::format("({}){} * {}", index_type(mapping_), names_.dim(kernel_.chunks), tile);
    return span;
  }

  // --- Rows, Columns

  void print_rows(Writer& out) {
    const auto per_row = mapping_.threads_per_row, rows = mapping_.rows_per_block;
    const bool columns = mapping_.form == Form::Columns;
    if (rows > 1)
      out.line("const int32_t row_of_block = AG_THREAD {} {};", columns ? '%' : '/',
               columns ? rows : per_row);
    if (per_row > 1)
      out.line("const int32_t t = AG_THREAD {} {};", columns ? '/' : '%', columns ? rows : per_row);
    const auto type = index_type(mapping_);
    const auto units = names_.dim(iterations(kernel_, kernel_.outer));
    const auto mine = rows > 1 ? " + row_of_block" : "";
    if (mapping_.tile > 0) print_tile(out);
    begin_accumulators(out, names_, plan_, mapping_);
    if (has_chunks()) {
      out.open("for ({0} first = ({0}){4} * {1}; first < {2}; first += ({0}){3} * {1}) {{", type, rows, units,
               names_.dim(kernel_.chunks), mapping_.tile > 0 ? "chunk" : "AG_BLOCK");
      out.line("const {} unit = first{};", type, mine);
    } else {
      out.line("const {0} unit = ({0})AG_BLOCK * {1}{2};", type, rows, mine);
    }
    const bool partial =
        rows > 1 && !(is_multiple(iterations(kernel_, kernel_.outer), rows) && !units.empty());
    active_ = partial ? "active" : "";
    if (partial) out.line("const bool active = unit < {};", units);
    print_split(out, partial ? "(active ? unit : 0)" : "unit");
    print_unit(out);
    if (has_chunks()) {
      // The next row uses the same scratch memory.
      if (std::any_of(plan_.scratch.begin(), plan_.scratch.end(), [](int64_t at) { return at >= 0; }))
        print_barrier(out, mapping_);
      out.close();
    }
    end_accumulators(out, names_, plan_, mapping_, fmt::format("ag_shared + {}", plan_.slots));
  }

  /// Prints which chunk the block runs, and the first of its columns.
  void print_tile(Writer& out) {
    ir::Dim columns = 1;
    for (const auto& section : plan_.sections)
      if (section.has_loops()) columns = iterations(kernel_, section.spread);
    const auto tiles = names_.dim(floor_div(columns + (mapping_.tile - 1), mapping_.tile));
    out.line("const int32_t chunk = AG_BLOCK / (int32_t){};", tiles);
    out.line("const {0} tile = ({0})(AG_BLOCK % (int32_t){1}) * {2};", index_type(mapping_), tiles,
             mapping_.tile);
  }

  void print_split(Writer& out, const std::string& unit) {
    const auto type = index_type(mapping_);
    const auto unsigned_type = mapping_.wide ? "uint64_t" : "uint32_t";
    auto rest = unit;
    for (size_t i = kernel_.outer.size(); i-- > 0;) {
      const auto loop = kernel_.outer[i];
      if (i == 0) {
        out.line("const {} i{} = {};", type, loop, rest);
        break;
      }
      out.line("const {0} i{1} = ({0})(({2}){3} % {4});", type, loop, unsigned_type, rest,
               names_.extent(loop));
      out.line("const {0} q{1} = ({0})(({2}){3} / {4});", type, loop, unsigned_type, rest,
               names_.extent(loop));
      rest = fmt::format("q{}", loop);
    }
  }

  void print_unit(Writer& out) {
    for (size_t i = 0; i < plan_.keeps.size(); ++i) {
      const auto& keep = plan_.keeps[i];
      out.line("{} keep{}[{}][{}];", memory_type(keep.dtype), i, keep.trips, keep.vector);
    }
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      if (plan_.scratch[i] < 0) continue;
      const auto& buffer = kernel_.buffers[i];
      const auto bytes = (buffer.elements.constant() * ir::size_in_bytes(buffer.dtype) + 15) / 16 * 16;
      out.line("{0}* b{1} = ({0}*)(ag_shared + {2}{3});", memory_type(buffer.dtype), i, plan_.scratch[i],
               mapping_.rows_per_block > 1 ? fmt::format(" + row_of_block * {}", bytes) : "");
    }
    SectionPrinter sections(out, names_, plan_, mapping_);
    const auto barriers = barriers_before(kernel_, plan_, mapping_);
    for (size_t i = 0; i < plan_.sections.size(); ++i) {
      if (barriers[i]) print_barrier(out, mapping_);
      if (plan_.sections[i].has_loops())
        print_looped(out, sections, i);
      else
        sections.print_once(i, first_condition());
    }
  }

  std::string first_condition() const {
    if (mapping_.threads_per_row == 1) return active_;
    return active_.empty() ? "t == 0" : "active && t == 0";
  }

  void print_looped(Writer& out, SectionPrinter& sections, size_t index) {
    const auto& section = plan_.sections[index];
    const auto partials = print_reductions(out, section);
    sections.print(index, row_span(section));
    print_row_combination(out, mapping_, partials,
                          fmt::format("ag_shared + {}", plan_.slots + plan_.slots_of[index]),
                          /*used_next=*/has_chunks() && plan_.combinations == 1);
    print_results(out, section);
  }

  /// Declares the variables of a section's reductions.
  std::vector<Partial> print_reductions(Writer& out, const SectionPlan& section) {
    std::vector<Partial> partials;
    for (size_t i = 0; i < section.ops.size(); ++i) {
      const auto& op = section.ops[i];
      if (op.code != OpCode::Reduce) continue;
      const auto type = section.plans[i].wide ? ir::DType::F64 : reduced_type(op);
      partials.push_back({fmt::format("r{}", op.result), type, op.combine});
      out.line("{} r{} = {};", reduction_type(type), op.result, neutral_text(type, op.combine));
    }
    return partials;
  }
  /// Defines what they reduce to.
  void print_results(Writer& out, const SectionPlan& section) {
    for (const auto& op : section.ops)
      if (op.code == OpCode::Reduce) {
        const auto type = scalar_type(names_.type(op.result));
        out.line("const {} v{} = ({})r{};", type, op.result, type, op.result);
      }
  }

  /// Returns the bytes of registers that the loads of one vector fill only for a while.
  int64_t loaded_bytes(const SectionPlan& section) const {
    int64_t bytes = 0;
    for (size_t i = 0; i < section.ops.size(); ++i)
      if (section.plans[i].early && section.plans[i].keep < 0)
        bytes += ir::size_in_bytes(kernel_.buffers[section.ops[i].buffer].dtype) *
                 (section.plans[i].level == Level::Element ? section.vector : 1);
    return bytes;
  }

  Span row_span(const SectionPlan& section) {
    const auto count = iterations(kernel_, section.spread);
    const auto step = int64_t{mapping_.threads_per_row} * section.vector;
    Span span;
    span.count = names_.dim(count);
    span.step = fmt::format("{}", step);
    span.start = mapping_.threads_per_row == 1 ? "0" : "t";
    if (section.vector > 1 && mapping_.threads_per_row > 1)
      span.start += fmt::format(" * {}", section.vector);
    if (mapping_.tile > 0) span.start = "tile + " + span.start;
    span.batch = section.serial.empty() ? mapping_.unroll : 1;
    while (span.batch > 1 && (span.batch * loaded_bytes(section) > kMostLoaded ||
                              span.batch * section.vector * instructions(section) > kMostInstructions))
      span.batch /= 2;
    if (section.trips > 0)
      while (section.trips % span.batch != 0) span.batch /= 2;
    else
      while (span.batch > 1 && count.is_constant() && count.constant() < step * span.batch) span.batch /= 2;
    // With more trips than iterations, guards are needed although batches are complete.
    const auto whole = section.trips > 0 ? step * section.trips : step * span.batch;
    span.guarded = !is_multiple(count, whole);
    span.active = active_;
    return span;
  }

  const Kernel& kernel_;
  const Mapping& mapping_;
  const bool is_function_;
  KernelPlan plan_;
  Names names_;
  std::string active_;
};

}  // namespace

PrintedKernel print_kernel(const Kernel& kernel, const Mapping& mapping) {
  if (!kernel.parts.empty()) return print_one_block(kernel, mapping);
  return KernelPrinter(kernel, mapping, false).run();
}

PrintedKernel print_function(const Kernel& kernel, const Mapping& mapping) {
  return KernelPrinter(kernel, mapping, true).run();
}

}  // namespace antegrad::codegen::cuda
