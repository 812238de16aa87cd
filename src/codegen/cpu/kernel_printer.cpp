#include "codegen/cpu/kernel_printer.h"

#include <algorithm>

#include "codegen/cpu/section_printer.h"
#include "codegen/cpu/target_text.h"
#include "codegen/text/c_text.h"
#include "codegen/text/op_text.h"

namespace antegrad::codegen::cpu {
namespace {

using schedule::Buffer;
using schedule::Kernel;
using schedule::Op;
using schedule::OpCode;

constexpr std::string_view kParameters = "void* const* buffers, const int64_t* dims";

class KernelPrinter {
 public:
  explicit KernelPrinter(const Kernel& kernel)
      : kernel_(kernel), plan_(plan_kernel(kernel)), names_(kernel, plan_), checks_(checks_indices(plan_)) {}

  PrintedKernel run() {
    Writer out;
    out.comment(kernel_.text);
    if (kernel_.lane >= 0) print_strip_function(out);
    Writer body(1);
    print_empty_checks(body);
    if (kernel_.owner)
      print_owner(body);
    else if (has_chunks())
      print_chunks(body);
    else
      print_units(body, "begin", "end");
    body.line("return {};", checks_ ? "bad" : "0");
    out.open("int64_t {}({}, int64_t begin, int64_t end) {{", kernel_.name, kParameters);
    print_declarations(out, kernel_.lane < 0);
    out.append(body.text());
    out.close();
    return {out.text(), names_.functions(), checks_};
  }

 private:
  struct Accumulator {
    const Op* op;
    const Target* target;
  };
  std::vector<Accumulator> accumulators() const {
    std::vector<Accumulator> out;
    for (const auto& section : plan_.sections)
      for (const auto& target : section.targets)
        if (section.section->ops[target.op].code == OpCode::Accumulate)
          out.push_back({&section.section->ops[target.op], &target});
    return out;
  }

  /// Prints the pointers to this unit's scratch memory: on the stack, or in the spill buffer if it is too
  /// long.
  void print_spills(Writer& out) {
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const auto& buffer = kernel_.buffers[i];
      if (buffer.spill < 0) continue;
      const auto unit = kernel_.outer.size() == 1 ? unit_variable(kernel_.outer[0]) : "u";
      out.line("{0}* b{1} = {2} <= {3} ? a{1} : {4} + {5} * {2};", memory_type(buffer.dtype), i,
               names_.dim(buffer.elements), schedule::kMostScratch, names_.buffer(buffer.spill), unit);
    }
  }

  /// Declares the pointers, sizes and scratch memory that the text printed so far uses. With lanes, the strip
  /// function has its own declarations.
  void print_declarations(Writer& out, bool all) {
    for (const auto symbol : names_.used_symbols()) out.line("const int64_t s{} = dims[{}];", symbol, symbol);
    for (size_t i = 0; i < names_.used_dims().size(); ++i)
      out.line("const int64_t d{} = {};", i, dim_text(names_.used_dims()[i], names_.functions()));
    int32_t passed = 0;
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const auto& buffer = kernel_.buffers[i];
      const auto type = memory_type(buffer.dtype);
      const auto index = static_cast<int32_t>(i);
      const bool used = names_.used_buffers().contains(index) && (all || outside_of_strips_.contains(index));
      if (buffer.kind == Buffer::Kind::Scratch) {
        const auto name = buffer.spill < 0 ? 'b' : 'a';
        if (used) out.line("_Alignas(64) {} {}{}[{}];", type, name, i, scratch_elements(buffer));
        continue;
      }
      const auto constant = buffer.kind == Buffer::Kind::Input ? "const " : "";
      if (used) out.line("{0}{1}* b{2} = ({0}{1}*)buffers[{3}];", constant, type, i, passed);
      ++passed;
    }
    if (checks_) out.line("int64_t bad = 0;");
  }

  int64_t scratch_elements(const Buffer& buffer) const {
    const auto elements = buffer.elements.is_constant() ? std::max<int64_t>(buffer.elements.constant(), 1)
                                                        : schedule::kMostScratch;
    return kernel_.lane >= 0 ? elements * lanes(kernel_) : elements;
  }

  /// Prints early returns for indexed dims of size 0: every index is out of range then, and there is no
  /// element to read instead.
  void print_empty_checks(Writer& out) {
    for (const auto& section : plan_.sections)
      for (const auto& position : section.positions) {
        if (position.part.size.is_constant() && position.part.size.constant() > 0) continue;
        auto condition = fmt::format("begin < end && {} <= 0", names_.dim(position.part.size));
        for (int level = 0; level < position.depth; ++level) condition += may_be_empty(section.nest[level]);
        if (has_chunks() || kernel_.owner)
          for (const auto loop : kernel_.outer) condition += may_be_empty(loop);
        out.line("if ({}) return 1;", condition);
      }
  }
  std::string may_be_empty(int32_t loop) {
    const auto& extent = kernel_.loops[loop];
    if (extent.is_constant() && extent.constant() > 0) return "";
    return fmt::format(" && {} > 0", names_.dim(extent));
  }

  bool has_chunks() const { return !kernel_.chunks.is(0); }

  void print_sections(Writer& out, const Bounds& bounds = {}) {
    print_spills(out);
    for (const auto& section : plan_.sections) print_section(out, names_, section, bounds);
  }

  void print_units(Writer& out, const std::string& first, const std::string& last) {
    if (kernel_.outer.empty()) {
      const auto divided = divided_section(kernel_);
      if (divided >= 0) {
        const auto loop = kernel_.sections[divided].loops.front();
        if (!has_chunks() && may_read_ahead()) out.line("if (begin >= end) return 0;");
        print_sections(out, {{loop, {first, last}}});
        return;
      }
      out.open("if ({} < {}) {{", first, last);
    } else {
      open_outer_loops(out, first, last);
    }
    if (kernel_.lane >= 0)
      print_strip_call(out);
    else
      print_sections(out);
    if (kernel_.outer.size() > 1) print_step(out);
    out.close();
  }

  /// Whether something is loaded before the loops, which is only allowed if there is a first iteration.
  bool may_read_ahead() const {
    for (const auto& section : plan_.sections)
      for (size_t i = 0; i < section.depth.size(); ++i)
        if (section.depth[i] == 0 && section.section->ops[i].code == OpCode::Load) return true;
    return false;
  }

  std::string unit_extent(int32_t loop) {
    if (loop != kernel_.lane) return names_.dim(kernel_.loops[loop]);
    return names_.dim(floor_div(kernel_.loops[loop] + (schedule::kStrip - 1), schedule::kStrip));
  }
  std::string unit_variable(int32_t loop) const {
    return loop == kernel_.lane ? "strip" : fmt::format("i{}", loop);
  }
  /// Returns the extent to divide by. Only kernels that have units reach the division, but compilers warn
  /// about a constant 0.
  std::string divisor(int32_t loop) {
    const auto text = unit_extent(loop);
    return text == "0"                                          ? "1"
           : has_chunks() && !kernel_.loops[loop].is_constant() ? fmt::format("AG_MAX({}, 1)", text)
                                                                : text;
  }

  /// Computes the variables of the outer loops by division once; print_step() then increments them.
  void open_outer_loops(Writer& out, const std::string& first, const std::string& last) {
    const auto& outer = kernel_.outer;
    if (outer.size() == 1) {
      out.open("for (int64_t {0} = {1}; {0} < {2}; ++{0}) {{", unit_variable(outer[0]), first, last);
      return;
    }
    if (!has_chunks()) out.line("if (begin >= end) return 0;");
    auto rest = first;
    for (size_t i = outer.size(); i-- > 1;) {
      out.line("int64_t {} = {} % {};", unit_variable(outer[i]), rest, divisor(outer[i]));
      if (i == 1) break;
      out.line("const int64_t u{} = {} / {};", i, rest, divisor(outer[i]));
      rest = fmt::format("u{}", i);
    }
    out.line("int64_t {} = {} / {};", unit_variable(outer[0]), rest, divisor(outer[1]));
    out.open("for (int64_t u = {}; u < {}; ++u) {{", first, last);
  }

  void print_step(Writer& out) {
    const auto& outer = kernel_.outer;
    for (size_t i = outer.size(); i-- > 1;) {
      out.open("if (++{} == {}) {{", unit_variable(outer[i]), unit_extent(outer[i]));
      out.line("{} = 0;", unit_variable(outer[i]));
    }
    out.line("++{};", unit_variable(outer[0]));
    for (size_t i = 1; i < outer.size(); ++i) out.close();
  }

  void print_chunks(Writer& out) {
    const auto units = names_.dim(units_of_all_chunks(kernel_)), chunks = names_.dim(kernel_.chunks);
    out.open("for (int64_t chunk = begin; chunk < end; ++chunk) {{");
    out.line("const int64_t from = {} * chunk / {};", units, chunks);
    out.line("const int64_t to = {} * (chunk + 1) / {};", units, chunks);
    for (const auto& [op, target] : accumulators()) begin_accumulator(out, *op, *target);
    print_units(out, "from", "to");
    for (const auto& [op, target] : accumulators()) end_accumulator(out, *op, *target);
    out.close();
  }

  void begin_accumulator(Writer& out, const Op& op, const Target& target) {
    const auto type = accumulator_type(names_, op, target);
    const auto neutral = neutral_text(schedule::compute_type(type), op.combine);
    if (op.address.terms.empty()) {
      out.line("{} {} = {};", scalar_type(type), target.accumulator, neutral);
      return;
    }
    const auto count = schedule::accumulators(kernel_, op);
    outside_of_strips_.insert(op.buffer);
    out.line("{}* {} = {} + chunk * {}{};", memory_type(type), target.accumulator, names_.buffer(op.buffer),
             names_.dim(count), op.address.offset == ir::Dim(0) ? "" : " + " + names_.dim(op.address.offset));
    out.line("for (int64_t j = 0; j < {}; ++j) {}[j] = {};", names_.dim(count), target.accumulator, neutral);
  }

  void end_accumulator(Writer& out, const Op& op, const Target& target) {
    if (!op.address.terms.empty()) return;
    outside_of_strips_.insert(op.buffer);
    auto address = op.address;
    out.line("{}[{}chunk] = {};", names_.buffer(op.buffer),
             address.offset == ir::Dim(0) ? "" : names_.dim(address.offset) + " + ",
             to_memory(names_, names_.memory(op.buffer), target.accumulator,
                       accumulator_type(names_, op, target)));
  }

  void print_owner(Writer& out) {
    for (const auto& [buffer, elements] : kernel_.clear)
      out.line("for (int64_t j = begin * {0}; j < end * {0}; ++j) {1}[j] = 0;", names_.dim(elements),
               names_.buffer(buffer));
    for (const auto loop : kernel_.outer)
      out.open("for (int64_t i{0} = 0; i{0} < {1}; ++i{0}) {{", loop, names_.extent(loop));
    print_sections(out);
    for (size_t i = 0; i < kernel_.outer.size(); ++i) out.close();
  }

  /// Prints a function for one strip, to be inlined with a constant number of lanes so that sums stay in
  /// registers.
  void print_strip_function(Writer& out) {
    Writer body(1);
    print_sections(body);
    body.line("return {};", checks_ ? "bad" : "0");
    std::string parameters(kParameters);
    for (const auto loop : kernel_.outer)
      parameters += loop == kernel_.lane ? ", int64_t first, int64_t n" : fmt::format(", int64_t i{}", loop);
    for (const auto& [op, target] : accumulators()) {
      const auto type = accumulator_type(names_, *op, *target);
      parameters += fmt::format(", {}* {}", op->address.terms.empty() ? scalar_type(type) : memory_type(type),
                                target->accumulator);
    }
    out.open("static inline __attribute__((always_inline)) int64_t {}_strip({}) {{", kernel_.name,
             parameters);
    print_declarations(out, true);
    out.append(body.text());
    out.close();
    out.append("\n");
  }

  void print_strip_call(Writer& out) {
    std::string before(", "), after;
    for (const auto loop : kernel_.outer)
      before += loop == kernel_.lane ? "first" : fmt::format("i{}, ", loop);
    for (const auto& [op, target] : accumulators())
      after += fmt::format(", {}{}", op->address.terms.empty() ? "&" : "", target->accumulator);
    const auto call = [&](const std::string& n) {
      out.line("{}{}_strip(buffers, dims{}, {}{});", checks_ ? "bad |= " : "", kernel_.name, before, n,
               after);
    };
    const auto& extent = kernel_.loops[kernel_.lane];
    const bool constant = extent.is_constant();
    out.line("const int64_t first = strip * {};", schedule::kStrip);
    if (constant && (extent.constant() < schedule::kStrip || extent.constant() % schedule::kStrip == 0))
      return call(fmt::format("{}", lanes(kernel_)));
    const auto rest = constant ? fmt::format("{}", extent.constant() % schedule::kStrip)
                               : fmt::format("{} - first", names_.dim(extent));
    out.open("if (first + {} <= {}) {{", schedule::kStrip, names_.dim(extent));
    call(fmt::format("{}", schedule::kStrip));
    out.close();
    out.open("else {{");
    call(rest);
    out.close();
  }

  const Kernel& kernel_;
  KernelPlan plan_;
  LaneNames names_;
  bool checks_;
  std::set<int32_t> outside_of_strips_;  ///< buffers used outside of the strip function
};

}  // namespace

PrintedKernel print_kernel(const Kernel& kernel) { return KernelPrinter(kernel).run(); }

}  // namespace antegrad::codegen::cpu
