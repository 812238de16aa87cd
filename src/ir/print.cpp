#include <algorithm>

#include "ir/printer.h"
#include "ir/text.h"

namespace antegrad::ir {
namespace {

void print_bytes(std::string& out, const Bytes& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  out += "x\"";
  if (bytes) {
    out.reserve(out.size() + 2 * bytes->size() + 1);
    for (const uint8_t byte : *bytes) {
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  out += '"';
}

void print_range(std::string& out, const Range& range) {
  const Range all;
  if (range.lower != all.lower) out += std::to_string(range.lower);
  out += "..";
  if (range.upper != all.upper) out += std::to_string(range.upper);
}

void print_name(std::string& out, const std::string& name) {
  if (is_identifier(name))
    out += name;
  else
    print_string(out, name);
}

}  // namespace

void Printer::line(std::string& out, int indent) const {
  if (one_line_)
    out += ' ';
  else
    out.append(1, '\n').append(indent, ' ');
}

void Printer::value(std::string& out, ValueId id) const {
  const ValueId number = numbering_ ? numbering_->number_of(id) : id;
  out += number.valid() ? '%' + std::to_string(number.index) : "%?";
}

void Printer::definition(std::string& out, ValueId id) const {
  value(out, id);
  out += ": ";
  if (!graph_.values.contains(id)) {
    out += '?';
    return;
  }
  print_type(out, graph_.type_of(id));
  const ValueId base = numbering_ ? numbering_->base[id] : graph_.values[id].base;
  if (!base.valid()) return;
  out += " &";
  value(out, base);
}

void Printer::definitions(std::string& out, const Node& node) const {
  size_t next = 0;
  const auto define_next = [&](bool first) {
    if (!first) out += ", ";
    definition(out, node.outputs[next++]);
  };
  bool first = true;
  for (const int32_t count : node.returns) {
    if (count < 0) {
      if (next == node.outputs.size()) break;
      define_next(first);
    } else {
      out += first ? "[" : ", [";
      for (int32_t i = 0; i < count && next < node.outputs.size(); ++i) define_next(i == 0);
      out += ']';
    }
    first = false;
  }
  while (next < node.outputs.size()) {
    define_next(first);
    first = false;
  }
  if (!first) out += " = ";
}

void Printer::arg(std::string& out, const Arg& arg, int indent) const {
  if (arg.as<None>()) out += "none";
  if (const auto* id = arg.as<ValueId>()) value(out, *id);
  if (const auto* flag = arg.as<bool>()) out += *flag ? "true" : "false";
  if (const auto* dim = arg.as<Dim>()) out += dim->to_string();
  if (const auto* number = arg.as<double>()) print_double(out, *number);
  if (const auto* real = arg.as<Real>()) {
    out += name(real->form);
    out += '(';
    print_double(out, real->scale);
    out += ", " + real->dim.to_string() + ')';
  }
  if (const auto* number = arg.as<std::complex<double>>()) {
    out += "complex(";
    print_double(out, number->real());
    out += ", ";
    print_double(out, number->imag());
    out += ')';
  }
  if (const auto* text = arg.as<std::string>()) print_string(out, *text);
  if (const auto* dtype = arg.as<DType>()) out += name(*dtype);
  if (const auto* device = arg.as<Device>()) out += to_string(*device);
  if (const auto* layout = arg.as<Layout>()) out += name(*layout);
  if (const auto* format = arg.as<MemoryFormat>()) out += name(*format);
  if (const auto* bytes = arg.as<Bytes>()) print_bytes(out, *bytes);
  if (const auto* graph = arg.as<GraphPtr>()) {
    static const auto& kEmpty = *new const Graph();
    const Graph& inner = *graph ? **graph : kEmpty;
    const Numbering numbering = number_values(inner);
    Printer(inner, &numbering, one_line_).graph(out, indent);
  }
  if (const auto* list = arg.as<Arg::List>()) {
    out += '[';
    for (size_t i = 0; i < list->size(); ++i) {
      if (i) out += ", ";
      this->arg(out, (*list)[i], indent);
    }
    out += ']';
  }
}

void Printer::suffixes(std::string& out, const Node& node) const {
  if (!node.effects.writes.empty()) {
    out += " writes(";
    for (size_t i = 0; i < node.effects.writes.size(); ++i) {
      if (i) out += ", ";
      value(out, node.effects.writes[i]);
    }
    out += ')';
  }
  if (node.effects.random) out += " random";
  if (node.effects.ordered) out += " ordered";
  if (!node.effects.resource.empty()) {
    out += '(';
    print_string(out, node.effects.resource);
    out += ')';
  }
  if (!node.provenance.scope.empty()) {
    out += " at ";
    print_string(out, node.provenance.scope);
  }
  if (node.provenance.sequence != -1) out += " seq " + std::to_string(node.provenance.sequence);
  if (node.provenance.backward) out += " backward";
  if (node.provenance.roots != 0)
    out += " for " + std::to_string(static_cast<int64_t>(node.provenance.roots));
}

void Printer::node(std::string& out, const Node& node, int indent) const {
  definitions(out, node);
  if (node.functional) out += "functional ";
  if (is_op_name(node.op)) {
    out += node.op;
  } else {
    out += "op ";
    print_string(out, node.op);
  }
  out += '(';
  bool first = true;
  const auto separate = [&] {
    if (!first) out += ", ";
    first = false;
  };
  for (const auto& value : node.args) {
    separate();
    arg(out, value, indent);
  }
  for (const auto& attr : node.attrs) {
    separate();
    print_name(out, attr.name);
    out += '=';
    arg(out, attr.value, indent);
  }
  out += ')';
  suffixes(out, node);
}

void Printer::input(std::string& out, const Input& input) const {
  out += "in ";
  definition(out, input.value);
  out += ' ';
  out += name(input.role);
  if (input.name.empty()) return;
  out += ' ';
  print_string(out, input.name);
}

void Printer::output(std::string& out, const Output& output) const {
  out += "out ";
  if (output.value.valid())
    value(out, output.value);
  else
    out += "none";
  out += ' ';
  out += name(output.role);
  if (output.target != -1) out += ' ' + std::to_string(output.target);
  if (output.name.empty()) return;
  out += ' ';
  print_string(out, output.name);
}

void Printer::header(std::string& out) const {
  out += "graph @";
  print_name(out, graph_.name);
  out += ' ';
  out += name(graph_.stage);
  for (size_t i = 0; i < graph_.symbols.size(); ++i) {
    out += i ? ", s" : " [s";
    out += std::to_string(i) + ": ";
    print_range(out, graph_.symbols[i].range);
    if (graph_.symbols[i].hint != 0) out += " ~ " + std::to_string(graph_.symbols[i].hint);
  }
  out += graph_.symbols.empty() ? " {" : "] {";
}

void Printer::graph(std::string& out, int indent) const {
  header(out);
  for (const auto& item : graph_.inputs) {
    line(out, indent + 2);
    input(out, item);
  }
  for (const auto& item : graph_.nodes) {
    line(out, indent + 2);
    node(out, item, indent + 2);
  }
  for (const auto& item : graph_.outputs) {
    line(out, indent + 2);
    output(out, item);
  }
  line(out, indent);
  out += '}';
}

std::string print(const Graph& graph) {
  std::string out;
  const Numbering numbering = number_values(graph);
  Printer(graph, &numbering, false).graph(out, 0);
  out += '\n';
  return out;
}

std::string print(const Graph& graph, const Node& node) {
  std::string out;
  Printer(graph, nullptr, true).node(out, node, 0);
  return out;
}

}  // namespace antegrad::ir
