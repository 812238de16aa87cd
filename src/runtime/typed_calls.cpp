#include <tuple>

#include "aten/convert.h"
#include "runtime/instructions.h"

namespace antegrad::runtime {
namespace {

using aten::ArgKind;
using aten::ArgSchema;

/// How a C++ parameter type is matched against a schema, prepared, and passed at each run.
template <class T>
struct Parameter;

template <>
struct Parameter<const at::Tensor&> {
  int32_t slot;
  static bool fits(const ArgSchema& a) { return a.kind == ArgKind::Tensor && !a.optional; }
  Parameter(const ir::Arg& arg, const c10::IValue&, const RegisterMap& registers)
      : slot(arg.as<ir::ValueId>() ? registers[*arg.as<ir::ValueId>()] : -1) {}
  const at::Tensor& get(const Registers& registers) const {
    static const auto& undefined = *new const at::Tensor();
    return slot < 0 ? undefined : registers[slot];
  }
};

/// Any parameter but a tensor: converted once from its boxed form.
template <class T, class Stored, ArgKind kKind, bool kOptional, bool kSymbolic>
struct Literal {
  Stored value;
  static bool fits(const ArgSchema& a) {
    return a.kind == kKind && a.optional == kOptional && a.symbolic == kSymbolic;
  }
};

#define ANTEGRAD_LITERAL(Type, Stored, kind, optional, symbolic, convert)                                \
  template <>                                                                                            \
  struct Parameter<Type> : Literal<Type, Stored, ArgKind::kind, optional, symbolic> {                    \
    Parameter(const ir::Arg&, const c10::IValue& boxed, const RegisterMap&) : Literal{convert(boxed)} {} \
    Type get(const Registers&) const { return value; }                                                   \
  };

std::vector<c10::SymInt> symbolic_list(const c10::IValue& v) {
  const auto plain = v.toIntVector();
  return {plain.begin(), plain.end()};
}
std::optional<at::Scalar> optional_scalar(const c10::IValue& v) {
  return v.isNone() ? std::nullopt : std::optional(v.toScalar());
}
std::optional<at::ScalarType> optional_dtype(const c10::IValue& v) {
  return v.isNone() ? std::nullopt : std::optional(v.toScalarType());
}
std::optional<c10::MemoryFormat> optional_format(const c10::IValue& v) {
  return v.isNone() ? std::nullopt : std::optional(v.toMemoryFormat());
}
std::optional<c10::SymInt> optional_symint(const c10::IValue& v) {
  return v.isNone() ? std::nullopt : std::optional(c10::SymInt(v.toInt()));
}

ANTEGRAD_LITERAL(const at::Scalar&, at::Scalar, Number, false, false,
                 [](const c10::IValue& v) { return v.toScalar(); })
ANTEGRAD_LITERAL(int64_t, int64_t, Int, false, false, [](const c10::IValue& v) { return v.toInt(); })
ANTEGRAD_LITERAL(c10::SymInt, c10::SymInt, Int, false, true,
                 [](const c10::IValue& v) { return c10::SymInt(v.toInt()); })
ANTEGRAD_LITERAL(std::optional<c10::SymInt>, std::optional<c10::SymInt>, Int, true, true, optional_symint)
ANTEGRAD_LITERAL(bool, bool, Bool, false, false, [](const c10::IValue& v) { return v.toBool(); })
ANTEGRAD_LITERAL(double, double, Float, false, false, [](const c10::IValue& v) { return v.toDouble(); })
ANTEGRAD_LITERAL(c10::string_view, std::string, String, false, false,
                 [](const c10::IValue& v) { return v.toStringRef(); })
ANTEGRAD_LITERAL(at::IntArrayRef, std::vector<int64_t>, IntList, false, false,
                 [](const c10::IValue& v) { return v.toIntVector(); })
ANTEGRAD_LITERAL(c10::SymIntArrayRef, std::vector<c10::SymInt>, IntList, false, true, symbolic_list)
ANTEGRAD_LITERAL(const std::optional<at::Scalar>&, std::optional<at::Scalar>, Number, true, false,
                 optional_scalar)
ANTEGRAD_LITERAL(std::optional<at::ScalarType>, std::optional<at::ScalarType>, DType, true, false,
                 optional_dtype)
ANTEGRAD_LITERAL(std::optional<c10::MemoryFormat>, std::optional<c10::MemoryFormat>, MemoryFormat, true,
                 false, optional_format)
#undef ANTEGRAD_LITERAL

template <>
struct Parameter<at::OptionalIntArrayRef> {
  std::optional<std::vector<int64_t>> value;
  static bool fits(const ArgSchema& a) { return a.kind == ArgKind::IntList && a.optional && !a.symbolic; }
  Parameter(const ir::Arg&, const c10::IValue& boxed, const RegisterMap&) {
    if (!boxed.isNone()) value = boxed.toIntVector();
  }
  at::OptionalIntArrayRef get(const Registers&) const {
    return value ? at::OptionalIntArrayRef(*value) : at::OptionalIntArrayRef();
  }
};

bool same_parameters(const aten::OpSchema& a, const aten::OpSchema& b) {
  if (a.args.size() != b.args.size()) return false;
  for (size_t i = 0; i < a.args.size(); ++i)
    if (a.args[i].kind != b.args[i].kind || a.args[i].optional != b.args[i].optional ||
        a.args[i].symbolic != b.args[i].symbolic)
      return false;
  return true;
}

template <class Signature>
class TypedCall;

/// The in-place variant of an op whose first parameter is a tensor.
template <class... Args>
struct InPlace {
  void set(const aten::OpSchema&) {}
  bool run(Registers&, int32_t, const std::tuple<Parameter<Args>...>&) const { return false; }
};

template <class... Rest>
struct InPlace<const at::Tensor&, Rest...> {
  using Signature = at::Tensor&(at::Tensor&, Rest...);
  std::optional<c10::TypedOperatorHandle<Signature>> handle;

  void set(const aten::OpSchema& schema) { handle = schema.handle.typed<Signature>(); }
  /// Returns false when the memory of the first argument may not be reused.
  bool run(Registers& registers, int32_t output,
           const std::tuple<Parameter<const at::Tensor&>, Parameter<Rest>...>& parameters) const {
    if (!handle) return false;
    auto& self = registers[std::get<0>(parameters).slot];
    if (!is_owned(self)) return false;
    std::apply([&](const auto&, const auto&... rest) { handle->call(self, rest.get(registers)...); },
               parameters);
    registers[output] = std::move(self);
    return true;
  }
};

template <class... Args>
class TypedCall<at::Tensor(Args...)> final : public Instruction {
 public:
  TypedCall(c10::TypedOperatorHandle<at::Tensor(Args...)> handle, std::tuple<Parameter<Args>...> parameters,
            int32_t output)
      : handle_(handle), parameters_(std::move(parameters)), output_(output) {}

  void run(Registers& registers) const override {
    if (in_place_.run(registers, output_, parameters_)) return;
    registers[output_] =
        std::apply([&](const auto&... p) { return handle_.call(p.get(registers)...); }, parameters_);
  }

  static std::unique_ptr<Instruction> make(const ir::Node& node, const aten::OpSchema& schema,
                                           const RegisterMap& registers, bool reuse) {
    if (schema.args.size() != sizeof...(Args) || !fits(schema, std::index_sequence_for<Args...>()))
      return nullptr;
    auto call = make(node, schema, registers, std::index_sequence_for<Args...>());
    const auto* in_place = reuse ? in_place_of(node.op) : nullptr;
    if (in_place != nullptr && same_parameters(schema, *in_place)) call->in_place_.set(*in_place);
    return call;
  }

 private:
  template <size_t... I>
  static bool fits(const aten::OpSchema& schema, std::index_sequence<I...>) {
    return (Parameter<Args>::fits(schema.args[I]) && ...);
  }
  template <size_t... I>
  static std::unique_ptr<TypedCall> make(const ir::Node& node, const aten::OpSchema& schema,
                                         const RegisterMap& registers, std::index_sequence<I...>) {
    const auto boxed = aten::boxed_arguments(node, schema, [](ir::ValueId) { return at::Tensor(); });
    static const auto& none = *new const ir::Arg();
    auto arg = [&](size_t i) -> const ir::Arg& { return i < node.args.size() ? node.args[i] : none; };
    return std::make_unique<TypedCall>(
        schema.handle.typed<at::Tensor(Args...)>(),
        std::tuple<Parameter<Args>...>(Parameter<Args>(arg(I), boxed[I], registers)...),
        registers[node.outputs[0]]);
  }

  c10::TypedOperatorHandle<at::Tensor(Args...)> handle_;
  InPlace<Args...> in_place_;
  std::tuple<Parameter<Args>...> parameters_;
  int32_t output_;
};

using T = const at::Tensor&;
using S = const at::Scalar&;
using Make = std::unique_ptr<Instruction> (*)(const ir::Node&, const aten::OpSchema&, const RegisterMap&,
                                              bool);

template <class... Args>
constexpr Make call_of() {
  return &TypedCall<at::Tensor(Args...)>::make;
}

/// The signatures of most calls; any other op goes through its boxed kernel.
constexpr Make kSignatures[] = {
    call_of<T>(),
    call_of<T, T>(),
    call_of<T, T, S>(),
    call_of<T, S>(),
    call_of<T, S, S>(),
    call_of<T, T, T>(),
    call_of<T, T, T, S>(),
    call_of<T, T, T, S, S>(),
    call_of<T, int64_t>(),
    call_of<T, int64_t, int64_t>(),
    call_of<T, int64_t, bool>(),
    call_of<T, int64_t, c10::SymInt>(),
    call_of<T, at::IntArrayRef>(),
    call_of<T, c10::SymIntArrayRef>(),
    call_of<T, c10::SymIntArrayRef, bool>(),
    call_of<T, at::IntArrayRef, bool>(),
    call_of<T, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>>(),
    call_of<T, at::IntArrayRef, bool, std::optional<at::ScalarType>>(),
    call_of<T, std::optional<at::ScalarType>>(),
    call_of<T, std::optional<c10::MemoryFormat>>(),
    call_of<T, const std::optional<at::Scalar>&, const std::optional<at::Scalar>&>(),
    call_of<T, c10::string_view>(),
    call_of<T, T, bool>(),
    call_of<T, int64_t, std::optional<c10::SymInt>, std::optional<c10::SymInt>, c10::SymInt>(),
};

}  // namespace

std::unique_ptr<Instruction> make_typed_call(const ir::Node& node, const aten::OpSchema& schema,
                                             const RegisterMap& register_of, bool reuse) {
  const bool one_tensor = schema.returns.size() == 1 && schema.returns[0] == ArgKind::Tensor &&
                          !schema.writes && node.outputs.size() == 1 && schema.name.rfind("aten.", 0) == 0;
  // A tensor given by keyword is not in node.args, where Parameter looks for it.
  for (const auto& attr : node.attrs)
    for (const auto& arg : schema.args)
      if (attr.name == arg.name && attr.value.as<ir::ValueId>()) return nullptr;
  if (!one_tensor) return nullptr;
  for (auto make : kSignatures)
    if (auto call = make(node, schema, register_of, reuse)) return call;
  return nullptr;
}

}  // namespace antegrad::runtime
