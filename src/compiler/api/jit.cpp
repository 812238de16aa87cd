#include "antegrad/jit.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include "antegrad/error.h"

namespace antegrad {
namespace {

/// Tags in a key, so that values of different kinds never compare equal.
enum class Kind : int64_t {
  None,
  Tensor,
  Int,
  Double,
  Complex,
  Bool,
  String,
  Device,
  Tuple,
  List,
  Dict,
  Object,
  Other
};

Kind kind_of(const c10::IValue& value) {
  if (value.isNone()) return Kind::None;
  if (value.isTensor()) return Kind::Tensor;
  if (value.isInt()) return Kind::Int;
  if (value.isDouble()) return Kind::Double;
  if (value.isComplexDouble()) return Kind::Complex;
  if (value.isBool()) return Kind::Bool;
  if (value.isString()) return Kind::String;
  if (value.isDevice()) return Kind::Device;
  if (value.isTuple()) return Kind::Tuple;
  if (value.isList()) return Kind::List;
  if (value.isGenericDict()) return Kind::Dict;
  if (value.isObject()) return Kind::Object;
  return Kind::Other;
}

/// How IValues are flattened. Value (arguments): collects tensors, and accepts only what can be rebuilt.
/// State (modules): distinguishes tensors and unknown objects by identity.
enum class Walk { Value, State };

void flatten_value(const c10::IValue& value, Walk walk, Leaves& leaves);

void flatten_elements(c10::ArrayRef<c10::IValue> elements, Walk walk, Leaves& leaves) {
  leaves.key.push_back(static_cast<int64_t>(elements.size()));
  for (const auto& element : elements) flatten_value(element, walk, leaves);
}

void push_pointer(const void* pointer, Leaves& leaves) {
  leaves.key.push_back(reinterpret_cast<int64_t>(pointer));
}

void flatten_dict(const c10::IValue& value, Walk walk, Leaves& leaves) {
  const auto dict = value.toGenericDict();
  leaves.key.push_back(static_cast<int64_t>(dict.size()));
  for (const auto& entry : dict) {
    flatten_value(entry.key(), walk, leaves);
    flatten_value(entry.value(), walk, leaves);
  }
}

void flatten_unknown(const c10::IValue& value, Walk walk, Leaves& leaves) {
  if (walk == Walk::Value)
    throw Error(ErrorCode::UnsupportedArgument, "compile:jit",
                fmt::format("an argument or result is a {}", value.tagKind()),
                "Use tensors, numbers, strings, and tuples, lists and dictionaries of these");
  if (!value.isObject()) return push_pointer(value.isPtrType() ? value.internalToPointer() : nullptr, leaves);
  const auto object = value.toObject();
  push_pointer(object.get(), leaves);
  flatten_elements(object->slots(), walk, leaves);
}

void flatten_value(const c10::IValue& value, Walk walk, Leaves& leaves) {
  const auto kind = kind_of(value);
  leaves.key.push_back(static_cast<int64_t>(kind));
  switch (kind) {
    case Kind::None:
      return;
    case Kind::Tensor:
      if (walk == Walk::State) return push_pointer(value.toTensor().unsafeGetTensorImpl(), leaves);
      leaves.tensors.push_back(value.toTensor());
      return;
    case Kind::Int:
      return flatten(value.toInt(), leaves);
    case Kind::Double:
      return flatten(value.toDouble(), leaves);
    case Kind::Complex:
      flatten(value.toComplexDouble().real(), leaves);
      return flatten(value.toComplexDouble().imag(), leaves);
    case Kind::Bool:
      leaves.key.push_back(value.toBool());
      return;
    case Kind::String:
      return flatten(value.toStringRef(), leaves);
    case Kind::Device:
      leaves.key.push_back(static_cast<int64_t>(value.toDevice().type()));
      leaves.key.push_back(value.toDevice().index());
      return;
    case Kind::Tuple:
      return flatten_elements(value.toTupleRef().elements(), walk, leaves);
    case Kind::List:
      return flatten_elements(value.toListRef(), walk, leaves);
    case Kind::Dict:
      return flatten_dict(value, walk, leaves);
    case Kind::Object:
    case Kind::Other:
      return flatten_unknown(value, walk, leaves);
  }
}

/// Returns a type that keeps the field names of named tuples. A plain tuple computes its type when first
/// asked, which fails on undefined tensors and would be a data race in a pattern that threads share; so every
/// rebuilt tuple is given its type.
c10::TupleTypePtr type_of(const c10::ivalue::Tuple& tuple) {
  try {
    return tuple.type();
  } catch (const c10::Error&) {
    return c10::TupleType::create(std::vector<c10::TypePtr>(tuple.elements().size(), c10::AnyType::get()));
  }
}

c10::IValue rebuild_tuple(const c10::IValue& like, LeafReader& reader) {
  const auto& tuple = like.toTupleRef();
  std::vector<c10::IValue> elements;
  for (const auto& element : tuple.elements())
    elements.push_back(Tree<c10::IValue>::rebuild(element, reader));
  return c10::ivalue::Tuple::createNamed(std::move(elements), type_of(tuple));
}

/// A snapshot of the attributes of a module or the elements of arguments, with all nested containers.
class Contents {
 public:
  void note(const c10::IValue& value) {
    if (value.isObject()) {
      auto object = value.toObject();
      objects_.emplace_back(object, object->slots());
      for (const auto& slot : object->slots()) note(slot);
    } else if (value.isTuple()) {
      for (const auto& element : value.toTupleRef().elements()) note(element);
    } else if (value.isList()) {
      lists_.emplace_back(value.toList(), value.toListRef().vec());
      for (const auto& element : lists_.back().second) note(element);
    } else if (value.isGenericDict()) {
      dicts_.emplace_back(value.toGenericDict(), value.toGenericDict().copy());
      for (const auto& entry : dicts_.back().second) note(entry.value());
    }
  }

  void put_back() {
    for (auto& [object, slots] : objects_)
      for (size_t i = 0; i < slots.size(); ++i) object->setSlot(i, slots[i]);
    for (auto& [list, elements] : lists_) {
      list.clear();
      for (const auto& element : elements) list.push_back(element);
    }
    for (auto& [dict, entries] : dicts_) {
      dict.clear();
      for (const auto& entry : entries) dict.insert(entry.key(), entry.value());
    }
  }

 private:
  std::vector<std::pair<c10::intrusive_ptr<c10::ivalue::Object>, std::vector<c10::IValue>>> objects_;
  std::vector<std::pair<c10::impl::GenericList, std::vector<c10::IValue>>> lists_;
  std::vector<std::pair<c10::impl::GenericDict, c10::impl::GenericDict>> dicts_;
};

/// Detects and undoes changes by forward() to anything but tensors.
class Unchanged {
 public:
  Unchanged(const torch::jit::Module& module, const std::vector<c10::IValue>& inputs)
      : module_(module), inputs_(inputs) {
    contents_.note(module._ivalue());
    for (const auto& input : inputs) contents_.note(input);
    before_ = key();
  }

  /// Restores what was changed; returns whether anything was.
  bool put_back() {
    if (key() == before_) return false;
    contents_.put_back();
    return true;
  }

 private:
  c10::SmallVector<int64_t, 8> key() const {
    Leaves leaves;
    flatten(module_, leaves);
    for (const auto& input : inputs_) flatten_value(input, Walk::State, leaves);
    return std::move(leaves.key);
  }

  const torch::jit::Module& module_;
  const std::vector<c10::IValue>& inputs_;
  Contents contents_;
  c10::SmallVector<int64_t, 8> before_;
};

/// Lets TorchScript prepare the method, which it otherwise does on the first run; it compares constants for
/// that, and these ops must not be recorded.
void prepare(const torch::jit::Module& module) {
  const c10::impl::ExcludeDispatchKeyGuard unrecorded(
      c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot}));
  torch::jit::toGraphFunction(module.get_method("forward").function()).get_executor();
}

}  // namespace

void Tree<c10::IValue>::flatten(const c10::IValue& value, Leaves& leaves) {
  flatten_value(value, Walk::Value, leaves);
}

c10::IValue Tree<c10::IValue>::rebuild(const c10::IValue& like, LeafReader& reader) {
  if (like.isTensor()) return reader.next();
  if (like.isTuple()) return rebuild_tuple(like, reader);
  if (like.isList()) {
    c10::impl::GenericList list(like.toList().elementType());
    for (const auto& element : like.toListRef()) list.push_back(rebuild(element, reader));
    return list;
  }
  if (like.isGenericDict()) {
    const auto from = like.toGenericDict();
    c10::impl::GenericDict dict(from.keyType(), from.valueType());
    for (const auto& entry : from) dict.insert(rebuild(entry.key(), reader), rebuild(entry.value(), reader));
    return dict;
  }
  return like;
}

void Tree<torch::jit::Module>::flatten(const torch::jit::Module& module, Leaves& leaves) {
  const auto numbers = leaves.numbers.size();
  flatten_value(module._ivalue(), Walk::State, leaves);
  leaves.numbers.resize(numbers);  // attributes are not arguments
}

c10::IValue detail::ScriptForward::operator()(const torch::jit::Module& module,
                                              const std::vector<c10::IValue>& inputs) const {
  if (!capturing()) return torch::jit::Module(module).forward(inputs);
  prepare(module);
  Unchanged world(module, inputs);
  c10::IValue result;
  try {
    result = torch::jit::Module(module).forward(inputs);
  } catch (...) {
    world.put_back();
    throw;
  }
  if (world.put_back())
    throw Error(
        ErrorCode::UnsupportedOp, "capture:jit",
        "forward() changes an attribute of the module, or a list or dictionary it is given",
        "Return the new value, keep it in a tensor and use copy_(), or set Options::unsupported to Eager");
  return result;
}

}  // namespace antegrad
