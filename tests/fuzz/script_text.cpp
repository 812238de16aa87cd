#include "fuzz/script_text.h"

#include <ATen/ATen.h>
#include <c10/util/StringUtil.h>

#include <cmath>
#include <iomanip>
#include <limits>

namespace antegrad::fuzz {
namespace {

using c10::IValue;
using c10::TypeKind;

template <class List, class Text>
std::string listed(const List& list, const Text& text) {
  std::string out;
  for (const auto& item : list) out += (out.empty() ? "" : ", ") + text(item);
  return out;
}

std::string integer_text(int64_t number) {
  if (number == std::numeric_limits<int64_t>::min()) return "std::numeric_limits<int64_t>::min()";
  return c10::str("int64_t{", number, "}");
}

std::string scalar_text(const at::Scalar& scalar) {
  if (scalar.isBoolean()) return scalar.toBool() ? "at::Scalar(true)" : "at::Scalar(false)";
  if (scalar.isIntegral(false)) return "at::Scalar(" + integer_text(scalar.toLong()) + ")";
  if (!scalar.isComplex()) return "at::Scalar(" + number_text(scalar.toDouble()) + ")";
  const auto z = scalar.toComplexDouble();
  return c10::str("at::Scalar(c10::complex<double>(", number_text(z.real()), ", ", number_text(z.imag()),
                  "))");
}

std::string type_text(int64_t type) {
  return c10::str("at::ScalarType::", c10::toString(static_cast<at::ScalarType>(type)));
}

std::string device_text(at::Device device) { return c10::str("at::Device(\"", device.str(), "\")"); }

std::string integer_as(int64_t number, TypeKind kind) {
  switch (kind) {
    case TypeKind::ScalarTypeType:
      return type_text(number);
    case TypeKind::LayoutType:
      return c10::str("static_cast<at::Layout>(", number, ")");
    case TypeKind::MemoryFormatType:
      return c10::str("static_cast<at::MemoryFormat>(", number, ")");
    default:
      return integer_text(number);
  }
}

std::string list_text(const IValue& value, const c10::Type& element, const NameOf& name_of) {
  const auto integers = [&](const auto& list) {
    return listed(list, [](int64_t n) { return integer_text(n); });
  };
  if (value.isTensorList()) return "std::vector<at::Tensor>{" + listed(value.toTensorVector(), name_of) + "}";
  if (value.isOptionalTensorList())
    return "c10::List<std::optional<at::Tensor>>({" +
           listed(value.toOptionalTensorVector(),
                  [&](const std::optional<at::Tensor>& t) {
                    return t && t->defined() ? "std::optional<at::Tensor>(" + name_of(*t) + ")"
                                             : std::string("std::optional<at::Tensor>()");
                  }) +
           "})";
  const char* integer = element.kind() == TypeKind::SymIntType ? "c10::SymInt" : "int64_t";
  if (value.isIntList()) return c10::str("std::vector<", integer, ">{", integers(value.toIntVector()), "}");
  if (value.isDoubleList()) return "std::vector<double>{" + listed(value.toDoubleVector(), number_text) + "}";
  if (value.isBoolList() && !value.toBoolList().empty()) {
    std::string items;
    for (const bool item : value.toBoolList())
      items += (items.empty() ? "" : ", ") + std::string(item ? "true" : "false");
    return c10::str("std::array<bool, ", value.toBoolList().size(), ">{", items, "}");
  }
  std::string items;
  for (const IValue& item : value.toListRef())
    items += (items.empty() ? "" : ", ") +
             (item.isScalar() ? scalar_text(item.toScalar()) : integer_text(item.toInt()));
  const bool scalars = element.kind() == TypeKind::NumberType;
  return c10::str("std::vector<", scalars ? "at::Scalar" : integer, ">{", items, "}");
}

/// Returns the elements as a list of doubles, or of int64_t, since doubles cannot represent all of those.
std::string numbers_text(const at::Tensor& flat) {
  if (at::isIntegralType(flat.scalar_type(), true)) {
    const auto numbers = flat.to(at::kCPU, at::kLong).contiguous();
    const auto* data = numbers.const_data_ptr<int64_t>();
    return "std::vector<int64_t>{" +
           listed(at::ArrayRef<int64_t>(data, static_cast<size_t>(numbers.numel())),
                  [](int64_t n) {
                    return n == std::numeric_limits<int64_t>::min() ? integer_text(n) : std::to_string(n);
                  }) +
           "}, at::kLong";
  }
  const auto numbers = flat.to(at::kCPU, at::kDouble).contiguous();
  const auto* data = numbers.const_data_ptr<double>();
  return "std::vector<double>{" +
         listed(at::ArrayRef<double>(data, static_cast<size_t>(numbers.numel())), number_text) +
         "}, at::kDouble";
}

std::string sizes_text(at::IntArrayRef sizes) {
  return "{" + listed(sizes, [](int64_t n) { return std::to_string(n); }) + "}";
}

/// The program before and after the steps: how tensors are compared, and what runs the steps.
const char* const kBegin = R"(
#include <antegrad/antegrad.h>
#include <torch/torch.h>

#include <iostream>
#include <limits>
#include <map>

using Tensors = std::vector<at::Tensor>;
using Function = std::function<Tensors(Tensors)>;

struct Seen {
  std::string name;
  at::Tensor tensor, values;
};

// All that is compared, but for the numbers; `first` is the first tensor that was seen with the same memory.
std::string describe(const Seen& seen, const std::string& first) {
  const auto& t = seen.tensor;
  if (!t.defined()) return "undefined";
  return c10::str(t.scalar_type(), " sizes ", t.sizes(), " strides ", t.strides(), " offset ", t.storage_offset(),
                  t.requires_grad() ? " requires_grad" : "", t.is_leaf() ? " leaf" : "", t.is_view() ? " view" : "",
                  " memory of ", first);
}

struct Steps {
  std::vector<Seen> seen;
  std::string error;

  void look(const std::string& name, const Tensors& tensors) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const auto& t = tensors[i];
      seen.push_back({c10::str(name, " ", i), t, t.defined() ? t.detach().clone() : t});
    }
  }
  std::string first(const at::Tensor& tensor) const {
    for (const auto& other : seen)
      if (tensor.defined() && other.tensor.defined() && other.tensor.storage().is_alias_of(tensor.storage()))
        return other.name;
    return "nothing";
  }
  template <class Wrap>
  void run(const Wrap& wrap);
};

template <class Wrap>
void Steps::run(const Wrap& wrap) {
)";
const char* const kEnd = R"(}

Steps steps(const std::function<Function(Function)>& wrap) {
  Steps out;
  try {
    out.run(wrap);
  } catch (const c10::Error& error) {
    out.error = error.what_without_backtrace();
  } catch (const std::exception& error) {
    out.error = error.what();
  }
  return out;
}

int main() {
  at::set_num_threads(1);
  const auto eager = steps([](Function f) { return f; });
  const auto compiled = steps([](Function f) -> Function {
    antegrad::Options options;
OPTIONS    return antegrad::compile(f, options);
  });
  int differences = 0;
  for (size_t i = 0; i < std::min(eager.seen.size(), compiled.seen.size()); ++i) {
    const Seen &a = eager.seen[i], &b = compiled.seen[i];
    const auto left = describe(a, eager.first(a.tensor)), right = describe(b, compiled.first(b.tensor));
    const bool same_numbers = !a.values.defined() || !b.values.defined() || a.values.sizes() != b.values.sizes() ||
                              a.values.scalar_type() != b.values.scalar_type() ||
                              at::allclose(a.values, b.values, 1e-5, 0, true);
    if (left == right && same_numbers) continue;
    ++differences;
    std::cout << a.name << ":\n  eager:    " << left << "\n  compiled: " << right << "\n";
    if (!same_numbers) std::cout << a.values << "\nbut compiled\n" << b.values << "\n";
  }
  if (eager.error != compiled.error && ++differences)
    std::cout << "eager threw: " << eager.error << "\ncompiled threw: " << compiled.error << "\n";
  std::cout << differences << " differences\n";
  return differences == 0 ? 0 : 1;
}
)";

}  // namespace

std::string number_text(double number) {
  if (std::isnan(number)) return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(number)) return c10::str(number < 0 ? "-" : "", "std::numeric_limits<double>::infinity()");
  auto text = c10::str(std::setprecision(17), number);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string argument_text(const IValue& value, const c10::Argument& argument, const NameOf& name_of) {
  c10::TypePtr type = argument.real_type();
  bool optional = false;
  if (const auto inner = type->cast<c10::OptionalType>()) {
    type = inner->getElementType();
    optional = true;
  }
  if (value.isNone())
    return type->kind() == TypeKind::TensorType && !optional ? "at::Tensor()" : "std::nullopt";
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return optional ? "std::nullopt" : "at::Tensor()";
    return name_of(value.toTensor());
  }
  if (type->kind() == TypeKind::NumberType) return scalar_text(value.toScalar());
  if (value.isList()) return list_text(value, *type->castRaw<c10::ListType>()->getElementType(), name_of);
  if (value.isBool()) return value.toBool() ? "true" : "false";
  if (value.isInt()) return integer_as(value.toInt(), type->kind());
  if (value.isDouble()) return number_text(value.toDouble());
  if (value.isString()) return c10::str("\"", value.toStringRef(), "\"");
  if (value.isDevice()) return device_text(value.toDevice());
  return c10::str("/* ", value.tagKind(), " */");
}

std::string function_text(const c10::FunctionSchema& schema) {
  std::string name = schema.name().substr(schema.name().find("::") + 2);
  if (!schema.overload_name().empty()) name += "_" + schema.overload_name();
  return "at::_ops::" + name + "::call";
}

std::string tensor_text(const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  if (!tensor.is_non_overlapping_and_dense() && tensor.has_storage()) {
    const auto count = static_cast<int64_t>(tensor.storage().nbytes() / tensor.itemsize());
    const auto whole = at::empty({0}, tensor.options()).set_(tensor.storage(), 0, {count}, {1});
    return c10::str(tensor_text(whole), ".as_strided(std::vector<int64_t>", sizes_text(tensor.sizes()),
                    ", std::vector<int64_t>", sizes_text(tensor.strides()), ", ", tensor.storage_offset(),
                    ")");
  }
  const auto type = tensor.scalar_type();
  const auto flat = tensor.detach().resolve_conj().resolve_neg().contiguous().flatten();
  std::string text;
  if (tensor.is_complex())
    text = "at::view_as_complex(at::tensor(" + numbers_text(at::view_as_real(flat).flatten()) +
           ").view({-1, 2}))";
  else
    text = "at::tensor(" + numbers_text(flat) + ")";
  const auto device = device_text(tensor.device());
  text += c10::str(".to(", device, ", ", type_text(static_cast<int64_t>(type)), ").view(std::vector<int64_t>",
                   sizes_text(tensor.sizes()), ")");  // {} could mean a dtype
  if (tensor.is_contiguous()) return text;
  return c10::str("at::empty_strided(", sizes_text(tensor.sizes()), ", ", sizes_text(tensor.strides()),
                  ", at::TensorOptions(at::ScalarType::", c10::toString(type), ").device(", device,
                  ")).copy_(", text, ")");
}

std::string script_text(const std::string& headline, const std::string& options, const std::string& world,
                        const std::string& function, const std::string& steps) {
  std::string end = kEnd, indented;
  for (const char c : options)
    indented += indented.empty() || indented.back() == '\n' ? std::string("    ") + c : std::string(1, c);
  if (!indented.empty() && indented.back() != '\n') indented += '\n';
  const auto at = end.find("OPTIONS");
  end.replace(at, 7, indented);
  std::string comment;
  for (const char c : headline) comment += c == '\n' ? std::string("\n// ") : std::string(1, c);
  return "// " + comment + "\n" + std::string(kBegin).substr(1) + world +
         "  const auto kept = std::make_shared<std::map<int, Tensors>>();\n  const Function f = "
         "wrap([=](Tensors x) mutable -> Tensors {\n" +
         function + "  });\n" + steps + end;
}

}  // namespace antegrad::fuzz
