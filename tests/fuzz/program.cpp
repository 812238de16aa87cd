#include "fuzz/program.h"

#include <ATen/core/grad_mode.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "fuzz/op.h"
#include "fuzz/script.h"

namespace antegrad::fuzz {
namespace {

/// Returns the offset of every element from the start of the storage, in bytes.
std::vector<int64_t> element_addresses(const at::Tensor& tensor) {
  std::vector<int64_t> addresses = {tensor.storage_offset()};
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    std::vector<int64_t> next;
    next.reserve(addresses.size() * static_cast<size_t>(tensor.size(d)));
    for (int64_t i = 0; i < tensor.size(d); ++i)
      for (const int64_t address : addresses) next.push_back(address + i * tensor.stride(d));
    addresses = std::move(next);
  }
  for (int64_t& address : addresses) address *= static_cast<int64_t>(tensor.itemsize());
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

bool share_memory(const at::Tensor& a, const at::Tensor& b) {
  if (!a.storage().is_alias_of(b.storage())) return false;
  const auto left = element_addresses(a), right = element_addresses(b);
  const auto left_size = static_cast<int64_t>(a.itemsize()), right_size = static_cast<int64_t>(b.itemsize());
  size_t i = 0, j = 0;
  while (i < left.size() && j < right.size()) {
    if (left[i] + left_size <= right[j])
      ++i;
    else if (right[j] + right_size <= left[i])
      ++j;
    else
      return true;
  }
  return false;
}

bool same_geometry(const at::Tensor& a, const at::Tensor& b) {
  return a.storage_offset() == b.storage_offset() && a.scalar_type() == b.scalar_type() &&
         a.sizes() == b.sizes() && a.strides() == b.strides();
}

void require_order_independent(const Op& op, const Tensors& args) {
  for (int w = 0; w < op.writes; ++w) {
    const auto& written = args[static_cast<size_t>(w)];
    if (overlaps_itself(written)) throw Hazard(op.name + " writes an element twice");
    for (size_t other = 0; other < args.size(); ++other) {
      if (other == static_cast<size_t>(w) || !share_memory(written, args[other])) continue;
      const bool both_written = other < static_cast<size_t>(op.writes);
      if (both_written || !op.elementwise || !same_geometry(written, args[other]))
        throw Hazard(op.name + " reads what it writes");
    }
  }
}

const char* link_name(Link link) {
  switch (link) {
    case Link::Fresh:
      return "fresh";
    case Link::View:
      return "view";
    case Link::Detach:
      return "detach";
    case Link::Data:
      return "variable_data";
    case Link::Same:
      return "same";
  }
  return "?";
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string name_of(int var) { return var == kUndefined ? "at::Tensor()" : c10::str("v", var); }

std::string describe(const TensorSpec& spec) {
  std::string text =
      c10::str("  ", spec.captured ? "captured" : "input   ", " v", spec.var, " = ", link_name(spec.link));
  if (spec.link == Link::Same) return text + c10::str("(v", spec.base, ");\n");
  if (spec.base != kUndefined) text += c10::str("(v", spec.base, ")");
  text += c10::str(" ", c10::toString(spec.dtype), " sizes ", to_string(spec.sizes), " strides ",
                   to_string(spec.strides), " offset ", spec.offset);
  if (spec.link == Link::Fresh) text += c10::str(" of ", spec.storage_numel, " elements");
  if (spec.requires_grad) text += " requires_grad";
  if (spec.non_leaf) text += " computed from a leaf";
  if (spec.awkward) text += " awkward";
  return text + (spec.whole_numbers ? ";\n" : " fractions;\n");
}

const char* mode_comment(GradMode mode) {
  switch (mode) {
    case GradMode::Outer:
      return "";
    case GradMode::Off:
      return "  // no_grad";
    case GradMode::OnWithinOff:
      return "  // enable_grad within no_grad";
    case GradMode::On:
      return "  // enable_grad";
  }
  return "?";
}

std::string describe(const Statement& s) {
  std::vector<std::string> results, parts;
  for (const int var : s.results) results.push_back(name_of(var));
  for (const int var : s.args) parts.push_back(name_of(var));
  if (s.op->name == "to" || s.op->name == "view_dtype")
    parts.push_back(c10::str("at::k", c10::toString(static_cast<at::ScalarType>(s.ints[0]))));
  else if (!s.ints.empty())
    parts.push_back(to_string(s.ints));
  for (const double number : s.numbers) parts.push_back(c10::str(number));
  std::string left;
  if (!results.empty()) left = c10::str("auto [", joined(results), "] = ");
  if (results.size() == 1) left = c10::str("auto ", results[0], " = ");
  return c10::str("  ", left, s.op->name, "(", joined(parts), ");", mode_comment(s.grad_mode),
                  s.kept ? "  // kept" : "", "\n");
}

const char* kind_name(Derivative::Kind kind) {
  switch (kind) {
    case Derivative::Kind::Backward:
      return "backward";
    case Derivative::Kind::Retain:
      return "backward, retain_graph";
    case Derivative::Kind::Subset:
      return "grad of a subset";
    case Derivative::Kind::Second:
      return "second order";
    case Derivative::Kind::Disturb:
      return "in-place changes";
  }
  return "?";
}

}  // namespace

bool overlaps_itself(const at::Tensor& tensor) {
  if (tensor.is_non_overlapping_and_dense()) return false;
  const auto addresses = element_addresses(tensor);
  return std::adjacent_find(addresses.begin(), addresses.end()) != addresses.end();
}

Tensors apply(const Statement& statement, const Tensors& args, RunMode mode) {
  if (mode == RunMode::Checked) require_order_independent(*statement.op, args);
  const GradMode grad = statement.grad_mode;
  const bool in_off = grad == GradMode::Off || grad == GradMode::OnWithinOff;
  const bool on = grad == GradMode::On || grad == GradMode::OnWithinOff;
  const at::AutoGradMode outer(!in_off && at::GradMode::is_enabled());
  const at::AutoGradMode inner(on || at::GradMode::is_enabled());
  return statement.op->apply(args, statement);
}

static thread_local int reads_between = 0;
ReadsBetween::ReadsBetween() { ++reads_between; }
ReadsBetween::~ReadsBetween() { --reads_between; }

/// Reads a tensor by an op, or its memory if that is the host's. That of an argument which an op has just
/// written is not accessible (docs/graph-breaks.md).
static void read_on_host(uint64_t number, const Tensors& args, const Tensors& results) {
  if (number % 3 == 1) return;
  for (const at::Tensor& tensor : results.empty() ? args : results) {
    if (!tensor.defined() || tensor.numel() == 0) continue;
    const bool is_new = std::none_of(args.begin(), args.end(),
                                     [&](const at::Tensor& argument) { return argument.is_same(tensor); });
    if (number % 5 == 0 && is_new && tensor.device().is_cpu())
      (void)*static_cast<const volatile char*>(tensor.const_data_ptr());
    else
      (void)at::any(tensor.detach()).item<bool>();
    return;
  }
}

Tensors run(const Program& program, const Tensors& inputs, const Tensors& captured, RunMode mode,
            Kept* kept) {
  std::map<int, at::Tensor> values;
  size_t next_input = 0, next_captured = 0;
  for (const TensorSpec& spec : program.tensors)
    values[spec.var] = spec.captured ? captured.at(next_captured++) : inputs.at(next_input++);
  for (size_t number = 0; number < program.statements.size(); ++number) {
    const Statement& s = program.statements[number];
    const bool from_before = s.kept && kept != nullptr && kept->contains(number);
    Tensors args, results;
    for (const int var : s.args) args.push_back(values.at(var));
    if (s.kept) script_keep();
    results = from_before ? kept->at(number) : apply(s, args, mode);
    if (s.kept) script_kept(number, results);
    if (s.kept && kept != nullptr) (*kept)[number] = results;
    for (size_t i = 0; i < s.results.size(); ++i) values[s.results[i]] = results.at(i);
    if (reads_between > 0) read_on_host(program.seed + number, args, results);
  }
  Tensors outputs;
  for (const int var : program.outputs) outputs.push_back(var == kUndefined ? at::Tensor() : values.at(var));
  return outputs;
}

std::string to_string(const Sizes& sizes) {
  std::vector<std::string> parts;
  for (const int64_t size : sizes) parts.push_back(std::to_string(size));
  return "[" + joined(parts) + "]";
}

std::string to_string(const Program& program) {
  std::string text = c10::str("// seed ", program.seed, "\n{\n");
  for (const TensorSpec& spec : program.tensors) text += describe(spec);
  for (const Statement& s : program.statements) text += describe(s);
  std::vector<std::string> outputs;
  for (const int var : program.outputs) outputs.push_back(name_of(var));
  text += c10::str("  return {", joined(outputs), "};\n}\n");
  if (program.called_without_grad) text += "// called in no_grad\n";
  for (const Derivative& d : program.derivatives)
    text += c10::str("// then ", kind_name(d.kind), " (", d.seed, ")\n");
  return text;
}

}  // namespace antegrad::fuzz
