#include "aten/convert.h"

#include <ATen/EmptyTensor.h>
#include <fmt/format.h>

#include "antegrad/error.h"

namespace antegrad::aten {
namespace {

constexpr std::pair<c10::ScalarType, ir::DType> kDTypes[] = {
    {c10::kByte, ir::DType::U8},
    {c10::kChar, ir::DType::I8},
    {c10::kShort, ir::DType::I16},
    {c10::kInt, ir::DType::I32},
    {c10::kLong, ir::DType::I64},
    {c10::kUInt16, ir::DType::U16},
    {c10::kUInt32, ir::DType::U32},
    {c10::kUInt64, ir::DType::U64},
    {c10::kHalf, ir::DType::F16},
    {c10::kBFloat16, ir::DType::BF16},
    {c10::kFloat, ir::DType::F32},
    {c10::kDouble, ir::DType::F64},
    {c10::kComplexHalf, ir::DType::C32},
    {c10::kComplexFloat, ir::DType::C64},
    {c10::kComplexDouble, ir::DType::C128},
    {c10::kBool, ir::DType::Bool},
    {c10::kFloat8_e4m3fn, ir::DType::F8E4M3},
    {c10::kFloat8_e5m2, ir::DType::F8E5M2},
};

[[noreturn]] void no_text_form(std::string_view op, const ArgSchema& schema, std::string_view what) {
  throw Error(ErrorCode::UnsupportedArgument, fmt::format("capture:{}", op),
              fmt::format("argument '{}' is {}, which cannot be part of a graph", schema.name, what),
              "Call the op without it, or outside the compiled function");
}

ir::Arg scalar_arg(const c10::IValue& value, const ArgSchema& schema, std::string_view op) {
  if (value.isInt()) return ir::Dim(value.toInt());
  if (value.isDouble()) return value.toDouble();
  if (value.isBool()) return value.toBool();
  if (value.isComplexDouble()) {
    auto c = value.toComplexDouble();
    return std::complex<double>(c.real(), c.imag());
  }
  no_text_form(op, schema, value.tagKind());
}

template <class T>
ir::Arg list_arg(const T& list, auto&& convert) {
  ir::Arg::List out;
  out.reserve(list.size());
  for (const auto& element : list) out.push_back(convert(element));
  return ir::Arg(std::move(out));
}

ir::Arg tensor_arg(const at::Tensor& tensor, const ValueOf& value_of) {
  if (!tensor.defined()) return ir::None{};
  return value_of(tensor);
}

ir::MemoryFormat to_ir(c10::MemoryFormat format) {
  switch (format) {
    case c10::MemoryFormat::Preserve:
      return ir::MemoryFormat::Preserve;
    case c10::MemoryFormat::ChannelsLast:
      return ir::MemoryFormat::ChannelsLast;
    case c10::MemoryFormat::ChannelsLast3d:
      return ir::MemoryFormat::ChannelsLast3d;
    default:
      return ir::MemoryFormat::Contiguous;
  }
}

c10::MemoryFormat to_torch(ir::MemoryFormat format) {
  switch (format) {
    case ir::MemoryFormat::Preserve:
      return c10::MemoryFormat::Preserve;
    case ir::MemoryFormat::ChannelsLast:
      return c10::MemoryFormat::ChannelsLast;
    case ir::MemoryFormat::ChannelsLast3d:
      return c10::MemoryFormat::ChannelsLast3d;
    case ir::MemoryFormat::Contiguous:
      return c10::MemoryFormat::Contiguous;
  }
  return c10::MemoryFormat::Contiguous;
}

int64_t integer(const ir::Arg& arg) { return arg.as<ir::Dim>()->constant(); }

c10::IValue scalar_ivalue(const ir::Arg& arg) {
  if (const auto* dim = arg.as<ir::Dim>()) return dim->constant();
  if (const auto* number = arg.as<double>()) return *number;
  if (const auto* flag = arg.as<bool>()) return *flag;
  const auto& c = *arg.as<std::complex<double>>();
  return c10::complex<double>(c.real(), c.imag());
}

template <class T>
c10::IValue list_ivalue(const ir::Arg& arg, auto&& convert) {
  c10::List<T> out;
  for (const auto& element : *arg.as<ir::Arg::List>()) out.push_back(convert(element));
  return out;
}

c10::IValue number_list(const ir::Arg& arg) {
  c10::impl::GenericList out(c10::NumberType::get());
  for (const auto& element : *arg.as<ir::Arg::List>()) out.push_back(scalar_ivalue(element));
  return out;
}

/// IValue::isOptionalTensorList() compares the address of the element type, and TorchScript that was loaded
/// from a file has a type object of its own.
bool is_optional_tensor_list(const c10::IValue& value) {
  return value.isOptionalTensorList() ||
         (value.isList() && *value.toList().elementType() == *c10::OptionalType::ofTensor());
}

}  // namespace

bool equals_default(const c10::IValue& value, const ArgSchema& schema) {
  if (!schema.has_default) return false;
  const auto& d = schema.default_value;
  if (value.isNone() || d.isNone()) return value.isNone() && d.isNone();
  if (value.isInt()) return d.isInt() && d.toInt() == value.toInt();
  if (value.isBool()) return d.isBool() && d.toBool() == value.toBool();
  if (value.isDouble()) return d.isDouble() && d.toDouble() == value.toDouble();
  if (value.isIntList()) return d.isIntList() && d.toIntVector() == value.toIntVector();
  if (value.isString()) return d.isString() && d.toStringRef() == value.toStringRef();
  return false;
}

c10::IValue map_tensors(const c10::IValue& value, const std::function<at::Tensor(const at::Tensor&)>& fn) {
  if (value.isTensor()) return fn(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> out;
    for (const at::Tensor& t : value.toTensorVector()) out.push_back(fn(t));
    return out;
  }
  if (is_optional_tensor_list(value)) {
    c10::List<std::optional<at::Tensor>> out;
    for (const auto& t : value.toListRef())
      out.push_back(t.isNone() ? std::nullopt : std::optional(fn(t.toTensor())));
    return out;
  }
  return value;
}

ir::DType to_ir(c10::ScalarType dtype) {
  for (const auto& [torch, ours] : kDTypes)
    if (torch == dtype) return ours;
  throw Error(ErrorCode::UnsupportedTensor, "capture",
              fmt::format("dtype {} cannot be captured", c10::toString(dtype)),
              "Convert to a floating point, integer, bool or complex dtype first");
}

c10::ScalarType to_torch(ir::DType dtype) {
  for (const auto& [torch, ours] : kDTypes)
    if (ours == dtype) return torch;
  return c10::ScalarType::Undefined;
}

ir::Device to_ir(c10::Device device) {
  switch (device.type()) {
    case c10::kCPU:
      return {ir::Device::Kind::Cpu, -1};
    case c10::kCUDA:
      return {ir::Device::Kind::Cuda, device.index()};
    case c10::kMeta:
      return {ir::Device::Kind::Meta, -1};
    default:
      throw Error(ErrorCode::UnsupportedTensor, "capture",
                  fmt::format("device {} cannot be captured", device.str()), "Use the cpu or a cuda device");
  }
}

c10::Device to_torch(const ir::Device& device) {
  switch (device.kind) {
    case ir::Device::Kind::Cpu:
      return c10::Device(c10::kCPU);
    case ir::Device::Kind::Cuda:
      return {c10::kCUDA, static_cast<c10::DeviceIndex>(device.index)};
    case ir::Device::Kind::Meta:
      return c10::Device(c10::kMeta);
  }
  return c10::Device(c10::kCPU);
}

ir::TensorType type_of(const at::Tensor& tensor, c10::Device device) {
  ir::TensorType type;
  type.dtype = to_ir(tensor.scalar_type());
  type.device = to_ir(device);
  type.sizes.assign(tensor.sizes().begin(), tensor.sizes().end());
  type.strides.assign(tensor.strides().begin(), tensor.strides().end());
  type.offset = tensor.storage_offset();
  return type;
}

std::vector<int64_t> constants(const std::vector<ir::Dim>& dims) {
  std::vector<int64_t> numbers;
  for (const auto& dim : dims) numbers.push_back(dim.constant());
  return numbers;
}

at::TensorOptions options_of(const ir::TensorType& type) {
  return at::TensorOptions().dtype(to_torch(type.dtype)).device(to_torch(type.device));
}

at::Tensor make_meta(const ir::TensorType& type) {
  c10::SmallVector<int64_t, 6> sizes;
  c10::SmallVector<int64_t, 6> strides;
  for (const auto& dim : type.sizes) sizes.push_back(dim.constant());
  for (const auto& dim : type.strides) strides.push_back(dim.constant());
  const auto bytes =
      at::detail::computeStorageNbytes(sizes, strides, ir::size_in_bytes(type.dtype), type.offset.constant());
  auto tensor = at::detail::empty_strided_meta({0}, {1}, to_torch(type.dtype));
  tensor.storage().unsafeGetStorageImpl()->set_nbytes(bytes);
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides, type.offset.constant());
  return tensor;
}

ir::Arg to_arg(const c10::IValue& value, const ArgSchema& schema, std::string_view op,
               const ValueOf& value_of) {
  if (value.isNone()) return ir::None{};
  switch (schema.kind) {
    case ArgKind::Tensor:
      return tensor_arg(value.toTensor(), value_of);
    case ArgKind::TensorList:
      return list_arg(value.toTensorVector(), [&](const at::Tensor& t) { return tensor_arg(t, value_of); });
    case ArgKind::OptionalTensorList:
      return list_arg(value.toListRef(), [&](const c10::IValue& t) {
        return t.isNone() ? ir::Arg() : tensor_arg(t.toTensor(), value_of);
      });
    case ArgKind::Number:
      return scalar_arg(value, schema, op);
    case ArgKind::Int:
      return ir::Dim(value.toInt());
    case ArgKind::Float:
      return value.isInt() ? double(value.toInt()) : value.toDouble();
    case ArgKind::Bool:
      return value.toBool();
    case ArgKind::String:
      return value.toStringRef();
    case ArgKind::DType:
      return to_ir(value.toScalarType());
    case ArgKind::Layout:
      if (value.toLayout() == c10::kStrided) return ir::Layout::Strided;
      no_text_form(op, schema, "a layout other than strided");
    case ArgKind::MemoryFormat:
      return to_ir(value.toMemoryFormat());
    case ArgKind::Device:
      return to_ir(value.toDevice());
    case ArgKind::IntList:
      if (value.isInt()) return ir::Arg(ir::Arg::List{ir::Dim(value.toInt())});
      return list_arg(value.toIntVector(), [](int64_t i) { return ir::Arg(i); });
    case ArgKind::FloatList:
      return list_arg(value.toDoubleVector(), [](double d) { return ir::Arg(d); });
    case ArgKind::BoolList:
      return list_arg(value.toBoolList().vec(), [](bool b) { return ir::Arg(b); });
    case ArgKind::NumberList:
      return list_arg(value.toListRef(), [&](const c10::IValue& v) { return scalar_arg(v, schema, op); });
    case ArgKind::Generator:  // a tensor stands for it where it can be part of a graph
      if (value.isTensor()) return tensor_arg(value.toTensor(), value_of);
      no_text_form(op, schema, "a generator of the caller's");
    case ArgKind::Other:
      break;
  }
  if (value.isStorage())
    throw Error(
        ErrorCode::UnsupportedArgument, fmt::format("capture:{}", op),
        fmt::format("argument '{}' is a storage, which cannot be part of a graph; nn::LSTM, nn::GRU and "
                    "nn::RNN make a tensor from the storage of their weights on CUDA devices",
                    schema.name),
        "Call it outside the compiled function, or set Options::unsupported to Eager");
  no_text_form(op, schema, value.tagKind());
}

c10::IValue to_ivalue(const ir::Arg& arg, const ArgSchema& schema, const TensorOf& tensor_of) {
  auto tensor = [&](const ir::Arg& a) {
    return a.as<ir::ValueId>() ? tensor_of(*a.as<ir::ValueId>()) : at::Tensor();
  };
  if (arg.as<ir::None>()) return schema.optional ? c10::IValue() : c10::IValue(at::Tensor());
  switch (schema.kind) {
    case ArgKind::Tensor:
      return tensor(arg);
    case ArgKind::TensorList:
      return list_ivalue<at::Tensor>(arg, tensor);
    case ArgKind::OptionalTensorList:
      return list_ivalue<std::optional<at::Tensor>>(
          arg, [&](const ir::Arg& a) { return a.as<ir::None>() ? std::optional<at::Tensor>() : tensor(a); });
    case ArgKind::Int:
      return integer(arg);
    case ArgKind::Number:
    case ArgKind::Float:
    case ArgKind::Bool:
      return scalar_ivalue(arg);
    case ArgKind::String:
      return *arg.as<std::string>();
    case ArgKind::DType:
      return to_torch(*arg.as<ir::DType>());
    case ArgKind::Layout:
      return c10::kStrided;
    case ArgKind::MemoryFormat:
      return to_torch(*arg.as<ir::MemoryFormat>());
    case ArgKind::Device:
      return to_torch(*arg.as<ir::Device>());
    case ArgKind::IntList:
      return list_ivalue<int64_t>(arg, integer);
    case ArgKind::FloatList:
      return list_ivalue<double>(arg, [](const ir::Arg& a) { return *a.as<double>(); });
    case ArgKind::BoolList:
      return list_ivalue<bool>(arg, [](const ir::Arg& a) { return *a.as<bool>(); });
    case ArgKind::NumberList:
      return number_list(arg);
    case ArgKind::Generator:
      return {};  // made from the tensor by whoever calls the op
    case ArgKind::Other:
      break;
  }
  throw Error(ErrorCode::Internal, "convert", fmt::format("argument '{}' has no boxed form", schema.name));
}

void set_arguments(ir::Node& node, const OpSchema& schema, c10::ArrayRef<c10::IValue> values,
                   const ValueOf& value_of) {
  size_t positional = 0;
  for (size_t i = 0; i < values.size(); ++i)
    if (!schema.args[i].keyword && !equals_default(values[i], schema.args[i])) positional = i + 1;
  node.args.reserve(positional);
  for (size_t i = 0; i < positional; ++i)
    node.args.push_back(to_arg(values[i], schema.args[i], schema.name, value_of));
  for (size_t i = positional; i < values.size(); ++i)
    if (schema.args[i].keyword && !equals_default(values[i], schema.args[i]))
      node.attrs.push_back({schema.args[i].name, to_arg(values[i], schema.args[i], schema.name, value_of)});
}

std::vector<c10::IValue> boxed_arguments(const ir::Node& node, const OpSchema& schema,
                                         const TensorOf& tensor_of) {
  std::vector<c10::IValue> stack;
  stack.reserve(schema.args.size());
  for (size_t i = 0; i < schema.args.size(); ++i) {
    const auto& arg = schema.args[i];
    const ir::Arg* given = i < node.args.size() ? &node.args[i] : nullptr;
    for (const auto& attr : node.attrs)
      if (attr.name == arg.name) given = &attr.value;
    if (given != nullptr)
      stack.push_back(to_ivalue(*given, arg, tensor_of));
    else if (arg.has_default)
      stack.push_back(arg.default_value);
    else
      throw Error(ErrorCode::Internal, "convert",
                  fmt::format("{} lacks its argument '{}'", node.op, arg.name));
  }
  return stack;
}

}  // namespace antegrad::aten
