#include "package/structure.h"

#include <fmt/format.h>

#include "antegrad/error.h"
#include "antegrad/jit.h"
#include "package/refuse.h"

namespace antegrad::packaging {
namespace {

enum class Kind : uint8_t { None, Tensor, Bool, Int, Double, Complex, String, Device, Tuple, List, Dict };
constexpr int kDeepest = 64;

/// Types of the elements of lists and dictionaries, by their place in this list.
const std::vector<c10::TypePtr>& element_types() {
  static const auto& types =
      *new std::vector<c10::TypePtr>{c10::AnyType::get(),
                                     c10::TensorType::get(),
                                     c10::BoolType::get(),
                                     c10::IntType::get(),
                                     c10::FloatType::get(),
                                     c10::StringType::get(),
                                     c10::OptionalType::create(c10::TensorType::get())};
  return types;
}

/// Other types than those known are written as "any".
uint8_t number_of(const c10::TypePtr& type) {
  const auto& types = element_types();
  for (size_t i = 0; i < types.size(); ++i)
    if (*types[i] == *type) return static_cast<uint8_t>(i);
  return 0;
}

const c10::TypePtr& type_number(uint8_t number) {
  if (number >= element_types().size()) refuse_file(fmt::format("elements of type {}", number));
  return element_types()[number];
}

void write_value(ByteWriter& out, const c10::IValue& value) {
  const auto kind = [&](Kind kind) { out.u8(static_cast<uint8_t>(kind)); };
  const auto elements = [&](c10::ArrayRef<c10::IValue> list) {
    out.count(list.size());
    for (const auto& element : list) write_value(out, element);
  };
  if (value.isNone()) {
    kind(Kind::None);
  } else if (value.isTensor()) {
    kind(Kind::Tensor);
  } else if (value.isBool()) {
    kind(Kind::Bool);
    out.flag(value.toBool());
  } else if (value.isInt()) {
    kind(Kind::Int);
    out.signed_varint(value.toInt());
  } else if (value.isDouble()) {
    kind(Kind::Double);
    out.f64(value.toDouble());
  } else if (value.isComplexDouble()) {
    kind(Kind::Complex);
    out.f64(value.toComplexDouble().real());
    out.f64(value.toComplexDouble().imag());
  } else if (value.isString()) {
    kind(Kind::String);
    out.string(value.toStringRef());
  } else if (value.isDevice()) {
    kind(Kind::Device);
    out.string(value.toDevice().str());
  } else if (value.isTuple()) {
    kind(Kind::Tuple);
    elements(value.toTupleRef().elements());
  } else if (value.isList()) {
    kind(Kind::List);
    out.u8(number_of(value.toList().elementType()));
    elements(value.toListRef());
  } else if (value.isGenericDict()) {
    kind(Kind::Dict);
    const auto dict = value.toGenericDict();
    out.u8(number_of(dict.keyType()));
    out.u8(number_of(dict.valueType()));
    out.count(dict.size());
    for (const auto& entry : dict) {
      write_value(out, entry.key());
      write_value(out, entry.value());
    }
  } else {
    throw Error(ErrorCode::InvalidArgument, "package",
                fmt::format("an argument or result is a {}", value.tagKind()),
                "Use tensors, numbers, texts, and tuples, lists and dictionaries of these");
  }
}

class ValueReader {
 public:
  explicit ValueReader(ByteReader& in) : in_(in) {}

  c10::IValue read(int depth = 0) {
    if (depth > kDeepest) refuse_file("it is nested too deeply");
    switch (static_cast<Kind>(in_.u8())) {
      case Kind::None:
        return {};
      case Kind::Tensor:
        return at::Tensor();
      case Kind::Bool:
        return in_.flag();
      case Kind::Int:
        return in_.signed_varint();
      case Kind::Double:
        return in_.f64();
      case Kind::Complex: {
        const auto real = in_.f64();
        return c10::complex<double>(real, in_.f64());
      }
      case Kind::String:
        return std::string(in_.string());
      case Kind::Device:
        return device();
      case Kind::Tuple: {
        auto parts = elements(depth);
        const std::vector<c10::TypePtr> types(parts.size(), c10::AnyType::get());
        return c10::ivalue::Tuple::createNamed(std::move(parts), c10::TupleType::create(types));
      }
      case Kind::List:
        return list(depth);
      case Kind::Dict:
        return dict(depth);
    }
    refuse_file("a value of an unknown kind");
  }

 private:
  c10::IValue device() {
    const std::string name(in_.string());
    if (name == "cpu") return c10::Device(c10::kCPU);
    if (name.rfind("cuda:", 0) == 0 && name.size() == 6 && name[5] >= '0' && name[5] <= '9')
      return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(name[5] - '0'));
    refuse_file(fmt::format("the device \"{}\"", name));
  }
  std::vector<c10::IValue> elements(int depth) {
    std::vector<c10::IValue> out;
    const auto count = in_.count(1);
    for (size_t i = 0; i < count && !in_.failed(); ++i) out.push_back(read(depth + 1));
    return out;
  }
  /// Lists and dictionaries of LibTorch trust the types of what is added.
  static void check(const c10::IValue& element, const c10::TypePtr& type) {
    const bool fits =
        type->kind() == c10::TypeKind::AnyType ||
        (type->kind() == c10::TypeKind::TensorType && element.isTensor()) ||
        (type->kind() == c10::TypeKind::BoolType && element.isBool()) ||
        (type->kind() == c10::TypeKind::IntType && element.isInt()) ||
        (type->kind() == c10::TypeKind::FloatType && element.isDouble()) ||
        (type->kind() == c10::TypeKind::StringType && element.isString()) ||
        (type->kind() == c10::TypeKind::OptionalType && (element.isNone() || element.isTensor()));
    if (!fits) refuse_file(fmt::format("an element is no {}", type->str()));
  }
  c10::IValue list(int depth) {
    const auto& type = type_number(in_.u8());
    c10::impl::GenericList out(type);
    for (auto& element : elements(depth)) {
      check(element, type);
      out.push_back(std::move(element));
    }
    return out;
  }
  c10::IValue dict(int depth) {
    const auto& key_type = type_number(in_.u8());
    const auto& type = type_number(in_.u8());
    const auto kind = key_type->kind();
    if (kind != c10::TypeKind::StringType && kind != c10::TypeKind::IntType)
      refuse_file("a dictionary has keys that are neither texts nor whole numbers");
    c10::impl::GenericDict out(key_type, type);
    const auto count = in_.count(2);
    for (size_t i = 0; i < count && !in_.failed(); ++i) {
      auto key = read(depth + 1);
      auto value = read(depth + 1);
      check(key, key_type);
      check(value, type);
      out.insert(std::move(key), std::move(value));
    }
    return out;
  }

  ByteReader& in_;
};

template <class List>
std::string joined(const List& values) {
  std::string text;
  for (const auto& value : values) text += (text.empty() ? "" : ", ") + print(c10::IValue(value));
  return text;
}

}  // namespace

void write(ByteWriter& out, const Structure& structure) {
  out.count(structure.arguments.size());
  for (const auto& argument : structure.arguments) write_value(out, argument);
  write_value(out, structure.result);
}

Structure read_structure(ByteReader& in) {
  ValueReader from(in);
  Structure structure;
  const auto count = in.count(1);
  for (size_t i = 0; i < count && !in.failed(); ++i) structure.arguments.push_back(from.read());
  structure.result = from.read();
  if (in.failed()) refuse_file("it is cut off");
  return structure;
}

std::string print(const c10::IValue& value) {
  if (value.isNone()) return "none";
  if (value.isTensor()) return "tensor";
  if (value.isBool()) return value.toBool() ? "true" : "false";
  if (value.isInt()) return fmt::format("int {}", value.toInt());
  if (value.isDouble()) return fmt::format("real {}", value.toDouble());
  if (value.isComplexDouble())
    return fmt::format("complex {}+{}i", value.toComplexDouble().real(), value.toComplexDouble().imag());
  if (value.isString()) return fmt::format("\"{}\"", value.toStringRef());
  if (value.isDevice()) return value.toDevice().str();
  if (value.isTuple()) return fmt::format("({})", joined(value.toTupleRef().elements()));
  if (value.isList()) return fmt::format("[{}]", joined(value.toListRef()));
  if (!value.isGenericDict()) return value.tagKind();
  std::string text;
  for (const auto& entry : value.toGenericDict())
    text += (text.empty() ? "" : ", ") + print(entry.key()) + ": " + print(entry.value());
  return "{" + text + "}";
}

std::string print(const std::vector<c10::IValue>& values) { return fmt::format("({})", joined(values)); }

Leaves flatten_arguments(const std::vector<c10::IValue>& arguments) {
  Leaves leaves;
  for (const auto& argument : arguments) {
    Tree<c10::IValue>::flatten(argument, leaves);
    ++leaves.argument;
  }
  return leaves;
}

c10::IValue with_tensors(const c10::IValue& value, const std::vector<at::Tensor>& tensors) {
  LeafReader reader(tensors);
  return Tree<c10::IValue>::rebuild(value, reader);
}

}  // namespace antegrad::packaging
