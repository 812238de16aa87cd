#include "codegen/cuda/section_printer.h"

#include <algorithm>

#include "codegen/cuda/kernel_source.h"
#include "codegen/cuda/random_text.h"
#include "codegen/cuda/scatter_text.h"
#include "codegen/text/c_text.h"
#include "codegen/text/op_text.h"

namespace antegrad::codegen::cuda {

using ir::DType;
using schedule::Combine;
using schedule::Op;
using schedule::OpCode;

std::string_view index_type(const Mapping& mapping) { return mapping.wide ? "int64_t" : "int32_t"; }

std::string_view reduction_type(DType type) { return type == DType::Bool ? "int32_t" : scalar_type(type); }

void SectionPrinter::print(size_t section, const Span& span) {
  section_ = &plan_.sections[section];
  number_ = section;
  vector_ = section_->vector;
  comment_.clear();
  out_.open("{{");
  for (size_t i = 0; i < section_->ops.size(); ++i)
    if (plan(i).level == Level::Section) print_op(i);
  if (!span.active.empty()) out_.open("if ({}) {{", span.active);
  const auto type = index_type(mapping_);
  if (section_->trips > 0) {
    out_.line("AG_UNROLL");
    out_.open("for (int32_t k = 0; k < {}; k += {}) {{", section_->trips, span.batch);
    out_.line("const {} base = {} + k * {};", type, span.start, span.step);
  } else if (span.loops) {
    const auto more = !span.more.empty() ? span.more
                      : span.batch == 1  ? span.step
                                         : fmt::format("{} * {}", span.step, span.batch);
    out_.open("for ({0} base = {1}; base < {2}; base += {3}) {{", type, span.start, span.count, more);
  } else {
    out_.open("{{");
    out_.line("const {} base = {};", type, span.start);
  }
  print_batch(span, "base");
  out_.close();
  if (!span.active.empty()) out_.close();
  out_.close();
}

void SectionPrinter::print_once(size_t section, const std::string& first) {
  section_ = &plan_.sections[section];
  number_ = section;
  vector_ = 1;
  comment_.clear();
  for (size_t i = 0; i < section_->ops.size(); ++i) {
    const bool guarded = has_effect(op(i)) && !first.empty();
    if (guarded) out_.open("if ({}) {{", first);
    print_op(i);
    if (guarded) out_.close();
  }
}

int32_t SectionPrinter::last_loop() const { return section_->spread.empty() ? -1 : section_->spread.back(); }

/// Opens a block for the position of vector u of a batch, in which loop variables are defined.
void SectionPrinter::open_position(const Span& span, const std::string& base) {
  const auto type = index_type(mapping_);
  if (span.batch > 1)
    out_.line("const {} e = {} + u * {};", type, base, span.step);
  else
    out_.line("const {} e = {};", type, base);
  const auto end = section_->tail ? fmt::format("e + {} <= {}", section_->vector, span.count)
                                  : fmt::format("e < {}", span.count);
  if (span.guarded || section_->tail)
    out_.open("if ({}) {{", end);
  else
    out_.open("{{");
  split("e", section_->spread);
}

void SectionPrinter::split(const std::string& position, const std::vector<int32_t>& loops) {
  const auto type = index_type(mapping_);
  const auto unsigned_type = mapping_.wide ? "uint64_t" : "uint32_t";
  auto rest = position;
  for (size_t i = loops.size(); i-- > 0;) {
    if (i == 0) {
      out_.line("const {} i{} = {};", type, loops[i], rest);
      break;
    }
    const auto extent = names_.extent(loops[i]);
    out_.line("const {0} i{1} = ({0})(({2}){3} % {4});", type, loops[i], unsigned_type, rest, extent);
    out_.line("const {0} q{1} = ({0})(({2}){3} / {4});", type, loops[i], unsigned_type, rest, extent);
    rest = fmt::format("q{}", loops[i]);
  }
}

int32_t SectionPrinter::width(size_t index) const {
  return plan(index).level == Level::Element ? vector_ : 1;
}

void SectionPrinter::print_batch(const Span& span, const std::string& base) {
  bool loads = !section_->prefetches.empty();
  for (size_t i = 0; i < section_->ops.size(); ++i) {
    if (!plan(i).early || (plan(i).keep >= 0 && !plan(i).fills)) continue;
    loads = true;
    if (plan(i).keep >= 0) continue;
    out_.line("{} x{}[{}][{}];", memory_type(names_.memory(op(i).buffer)), op(i).result, span.batch,
              width(i));
  }
  const bool together = span.batch == 1;
  if (together) out_.line("const int32_t u = 0;");
  const auto open = [&] {
    if (!together) {
      out_.line("AG_UNROLL");
      out_.open("for (int32_t u = 0; u < {}; ++u) {{", span.batch);
    }
    open_position(span, base);
  };
  const auto close = [&] {
    out_.close();
    if (!together) out_.close();
  };
  open();
  if (loads) print_early();
  if (loads && !together) {
    close();
    open();
  }
  print_body();
  close();
  if (section_->tail) print_tail(span);
}

/// The elements of the last, incomplete vector, one by one.
void SectionPrinter::print_tail(const Span& span) {
  const auto type = index_type(mapping_);
  vector_ = 1;
  in_tail_ = true;
  if (span.batch > 1) {
    out_.line("AG_UNROLL");
    out_.open("for (int32_t u = 0; u < {}; ++u) {{", span.batch);
  }
  out_.line("const {} first = base{};", type, span.batch > 1 ? " + u * " + span.step : "");
  out_.open("if (first < {1} && first + {0} > {1}) {{", section_->vector, span.count);
  out_.open("for ({0} e = first; e < {1}; ++e) {{", type, span.count);
  split("e", section_->spread);
  print_body();
  out_.close();
  out_.close();
  if (span.batch > 1) out_.close();
  in_tail_ = false;
  vector_ = section_->vector;
}

void SectionPrinter::print_early() {
  for (size_t i = 0; i < section_->ops.size(); ++i) {
    if (!plan(i).early || (plan(i).keep >= 0 && !plan(i).fills)) continue;
    const auto into =
        plan(i).keep >= 0 ? fmt::format("keep{}[k + u]", plan(i).keep) : fmt::format("x{}[u]", op(i).result);
    if (width(i) == 1)
      out_.line("{}[0] = {};", into, names_.element(op(i)));
    else
      print_load(into, op(i), plan(i).vector, last_loop());
  }
  for (const auto& [keep, load, vector, spread] : section_->prefetches) {
    for (size_t i = 0; i < spread.size(); ++i)
      names_.rename_loop(spread[i], fmt::format("i{}", section_->spread[i]));
    print_load(fmt::format("keep{}[k + u]", keep), load, vector, spread.back());
    for (const auto loop : spread) names_.rename_loop(loop, "");
  }
}

/// Loads the elements of a vector, at once or one by one.
void SectionPrinter::print_load(const std::string& into, const Op& op, bool at_once, int32_t last) {
  if (at_once) return out_.line("ag_load<{}>({}, &{});", vector_, into, names_.element(op));
  out_.line("AG_UNROLL");
  names_.rename_loop(last, fmt::format("(i{} + v)", last_loop()));
  out_.line("for (int32_t v = 0; v < {}; ++v) {}[v] = {};", vector_, into, names_.element(op));
  names_.rename_loop(last, "");
}

/// Prints what is done for one vector.
void SectionPrinter::print_body() {
  for (const auto loop : section_->serial)
    out_.open("for ({0} i{1} = 0; i{1} < {2}; ++i{1}) {{", index_type(mapping_), loop, names_.extent(loop));
  for (size_t i = 0; i < section_->ops.size(); ++i) {
    if (plan(i).level == Level::Vector && plan(i).once)
      guarded_once(i);
    else if (plan(i).level == Level::Vector)
      print_op(i);
    else if (plan(i).level == Level::Element && plan(i).vector && !plan(i).early && plan(i).keep < 0 &&
             vector_ > 1 && op(i).code == OpCode::Load) {
      const auto at = positions(i);
      out_.line("{} x{}[{}];", memory_type(names_.memory(op(i).buffer)), op(i).result, vector_);
      out_.line("ag_load<{}>(x{}, &{});", vector_, op(i).result, names_.element(op(i), at));
    } else if (has_words(i)) {
      print_words(i);
    } else if (is_register_store(i)) {
      out_.line("{} y{}[{}];", memory_type(names_.memory(op(i).buffer)), i, vector_);
    }
    if (plan(i).wide && vector_ > 1) out_.line("float part{} = 0.0f;", i);
  }
  print_elements();
  for (size_t i = 0; i < section_->ops.size(); ++i) {
    if (is_register_store(i)) out_.line("ag_store<{}>(&{}, y{});", vector_, names_.element(op(i)), i);
    if (!plan(i).wide || vector_ == 1) continue;
    if (op(i).code == OpCode::Reduce)
      out_.line("r{} += part{};", op(i).result, i);
    else
      out_.line("acc{}_{} += part{};", number_, i, i);
  }
  for (size_t i = 0; i < section_->serial.size(); ++i) out_.close();
}

void SectionPrinter::print_elements() {
  const auto last = last_loop();
  if (vector_ > 1) {
    out_.line("AG_UNROLL");
    out_.open("for (int32_t v = 0; v < {}; ++v) {{", vector_);
    names_.rename_loop(last, fmt::format("(i{} + v)", last));
    in_elements_ = true;
  }
  for (size_t i = 0; i < section_->ops.size(); ++i)
    if (plan(i).level == Level::Element) plan(i).once ? guarded_once(i) : print_op(i);
  in_elements_ = false;
  if (vector_ == 1) return;
  names_.rename_loop(last, "");
  out_.close();
}

void SectionPrinter::guarded_once(size_t index) {
  std::string first;
  for (const auto loop : section_->inner)
    first += fmt::format("{}i{} == 0", first.empty() ? "" : " && ", loop);
  out_.open("if ({}) {{", first);
  print_op(index);
  out_.close();
}

void SectionPrinter::define(const Op& op, const std::string& value) {
  out_.line("const {} v{} = {};", scalar_type(names_.type(op.result)), op.result, value);
}

std::string SectionPrinter::index_id(size_t index) const {
  return op(index).result >= 0 ? fmt::format("{}", op(index).result) : fmt::format("_{}", index);
}

/// Returns the number of the op's first index among all of the kernel (index_texts() in kernel_source.h).
int32_t SectionPrinter::first_index_number(size_t index) const {
  size_t number = 1;
  for (size_t s = 0; s <= number_; ++s) {
    const auto& ops = plan_.sections[s].ops;
    for (size_t i = 0; i < (s == number_ ? index : ops.size()); ++i) number += ops[i].indirect.size();
  }
  return static_cast<int32_t>(number);
}

/// Prints the checked indices of an op and returns their names.
std::vector<std::string> SectionPrinter::positions(size_t index) {
  const auto& op = this->op(index);
  std::vector<std::string> out;
  const auto id = index_id(index);
  auto number = first_index_number(index);
  for (size_t i = 0; i < op.indirect.size(); ++i) {
    const auto& part = op.indirect[i];
    const auto given = names_.scalar(part.index);
    const auto arguments = fmt::format("{}, {}, {}", given, names_.dim(part.size), part.wraps ? 1 : 0);
    out.push_back(fmt::format("p{}_{}", id, i));
    out_.line("const uint32_t o{}_{} = ag_outside({});", id, i, arguments);
    out_.line("if (o{}_{} != 0) bad = ag_bad({}, {});", id, i, std::min(number++, kMostIndexNumbers), given);
    out_.line("const int64_t {} = ag_position({});", out.back(), arguments);
  }
  return out;
}

/// Returns whether one of the indices that positions() printed is out of range; empty if there is none.
std::string SectionPrinter::outside(size_t index) const {
  std::string out;
  for (size_t i = 0; i < op(index).indirect.size(); ++i)
    out += fmt::format("{}o{}_{}", i == 0 ? "" : " | ", index_id(index), i);
  return out;
}

/// What is accessed with an index out of range is not a number, so that results show it.
std::string SectionPrinter::nan_if_outside(size_t index, DType memory, std::string value) const {
  const auto type = schedule::compute_type(memory);
  if (op(index).indirect.empty() || !ir::is_floating(type)) return value;
  return fmt::format("({}) != 0 ? __builtin_nan{}(\"\") : {}", outside(index), type == DType::F64 ? "" : "f",
                     value);
}

/// Returns an address in 64 bits: the number of an iteration may be larger than any position in memory.
std::string SectionPrinter::wide_affine(const Op& op) {
  Names::Replaced wide;
  const auto last = last_loop();
  for (const auto& [loop, coefficient] : op.address.terms)
    wide[loop] = loop == last && vector_ > 1 && in_elements_ ? fmt::format("(int64_t)(i{} + v)", loop)
                                                             : fmt::format("(int64_t)i{}", loop);
  return names_.affine(op.address, wide);
}

std::string SectionPrinter::kept(size_t index) const {
  return fmt::format("keep{}[k + u][{}]", plan(index).keep, plan(index).level == Level::Element ? at() : "0");
}

std::string SectionPrinter::load_text(size_t index) {
  const auto& op = this->op(index);
  const auto memory = names_.memory(op.buffer);
  if (plan(index).keep >= 0) return from_memory(names_, memory, kept(index));
  if (!in_tail_ && plan(index).early)
    return from_memory(names_, memory, fmt::format("x{}[u][{}]", op.result, width(index) > 1 ? "v" : "0"));
  if (plan(index).vector && vector_ > 1)
    return nan_if_outside(index, memory, from_memory(names_, memory, fmt::format("x{}[v]", op.result)));
  const auto at = positions(index);
  return nan_if_outside(index, memory, from_memory(names_, memory, names_.element(op, at)));
}

bool SectionPrinter::is_register_store(size_t index) const {
  return op(index).code == OpCode::Store && plan(index).vector && vector_ > 1 && plan(index).keep < 0;
}

void SectionPrinter::print_store(size_t index) {
  const auto& op = this->op(index);
  const auto value =
      to_memory(names_, names_.memory(op.buffer), names_.scalar(op.args[0]), names_.type(op.args[0]));
  const auto into = plan(index).keep >= 0      ? kept(index)
                    : is_register_store(index) ? fmt::format("y{}[v]", index)
                                               : names_.element(op);
  out_.line("{} = {};", into, value);
}

std::string SectionPrinter::value_of(const Op& op) {
  const auto value = names_.scalar(op.args[0]);
  const bool truth = op.combine == Combine::Any || op.combine == Combine::All ||
                     (op.code == OpCode::Reduce ? op.dtype : names_.memory(op.buffer)) == DType::Bool;
  return truth && names_.type(op.args[0]) != DType::Bool ? fmt::format("({} != 0)", value) : value;
}

/// Returns the statement that adds a number to a sum, without rounding where it is a product.
std::string SectionPrinter::sum_text(const std::string& into, const Op& op, DType type) {
  const auto& ops = section_->ops;
  const auto product = std::find_if(ops.begin(), ops.end(), [&](const Op& one) {
    return one.code == OpCode::Compute && one.result == op.args[0] && one.operand == type &&
           (one.text == "a * b" || one.text == "a * a");
  });
  const bool fused =
      op.combine == Combine::Sum && (type == DType::F32 || type == DType::F64) && product != ops.end() &&
      names_.type(op.args[0]) == type &&
      std::ranges::all_of(product->args, [&](int32_t arg) { return names_.type(arg) == type; });
  if (!fused) return combine_text(into, value_of(op), type, op.combine);
  return fmt::format("{0} = __builtin_fma{1}({2}, {3}, {0});", into, type == DType::F32 ? "f" : "",
                     names_.scalar(product->args.front()), names_.scalar(product->args.back()));
}

void SectionPrinter::print_accumulate(size_t index) {
  const auto& op = this->op(index);
  const auto found =
      std::find_if(plan_.accumulators.begin(), plan_.accumulators.end(),
                   [&](const Accumulator& one) { return one.section == number_ && one.op == index; });
  auto into = fmt::format("acc{}_{}", number_, index);
  if (found->place == Accumulator::Place::Registers) into += fmt::format("[k + u][{}]", at());
  if (found->place == Accumulator::Place::Shared || found->place == Accumulator::Place::Global) {
    auto address = op.address;
    address.offset = 0;
    into += fmt::format("[{}]", names_.affine(address));
  }
  const bool part = plan(index).wide && vector_ > 1;
  if (part) into = fmt::format("part{}", index);
  out_.line("{}", sum_text(into, op, part ? DType::F32 : found->type));
}

void SectionPrinter::print_op(size_t index) {
  const auto& op = this->op(index);
  if (op.code != OpCode::Constant && !op.comment.empty() && op.comment != comment_) {
    out_.comment(op.comment);
    comment_ = op.comment;
  }
  switch (op.code) {
    case OpCode::Load:
      return define(op, load_text(index));
    case OpCode::Store:
      return print_store(index);
    case OpCode::Reduce: {
      const bool part = plan(index).wide && vector_ > 1;
      const bool in_double = plan(index).wide && !part;
      return out_.line("{}", sum_text(part ? fmt::format("part{}", index) : fmt::format("r{}", op.result), op,
                                      in_double ? DType::F64 : reduced_type(op)));
    }
    case OpCode::Accumulate:
      return print_accumulate(index);
    case OpCode::Scatter: {
      const auto at = positions(index);
      const auto value = nan_if_outside(index, names_.memory(op.buffer), names_.scalar(op.args[0]));
      return print_scatter(out_, names_, op, at, fmt::format("({})", value));
    }
    case OpCode::Random:
      return define(op, random_text(index));
    case OpCode::Index:
      return define(op, wide_affine(op));
    default:
      return define(op, value_text(names_, op));
  }
}

// --- random numbers

bool SectionPrinter::has_words(size_t index) const {
  const auto& op = this->op(index);
  if (op.code != OpCode::Random || vector_ == 1 || plan(index).level != Level::Element) return false;
  const auto group = std::min(vector_, words_per_call(op));
  const auto multiple = [&](const ir::Dim& dim) { return is_multiple(dim, group); };
  return op.address.coefficient(last_loop()) == ir::Dim(1) && multiple(op.address.offset) &&
         std::all_of(op.address.terms.begin(), op.address.terms.end(),
                     [&](const auto& term) { return term.first == last_loop() || multiple(term.second); });
}

void SectionPrinter::print_words(size_t index) {
  print_vector_words(out_, names_, op(index), vector_, wide_affine(op(index)));
}

std::string SectionPrinter::random_text(size_t index) {
  const auto& op = this->op(index);
  if (has_words(index)) return number_of_vector(names_, op);
  return single_number(out_, names_, op, wide_affine(op));
}

}  // namespace antegrad::codegen::cuda
