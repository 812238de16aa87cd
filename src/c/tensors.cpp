#include "c/tensors.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <optional>

#include "antegrad/error.h"

namespace antegrad::c {
namespace {

struct DTypeName {
  antegrad_dtype dtype;
  at::ScalarType type;
};
constexpr DTypeName kDTypes[] = {
    {ANTEGRAD_BOOL, at::kBool},
    {ANTEGRAD_UINT8, at::kByte},
    {ANTEGRAD_INT8, at::kChar},
    {ANTEGRAD_INT16, at::kShort},
    {ANTEGRAD_INT32, at::kInt},
    {ANTEGRAD_INT64, at::kLong},
    {ANTEGRAD_FLOAT16, at::kHalf},
    {ANTEGRAD_BFLOAT16, at::kBFloat16},
    {ANTEGRAD_FLOAT32, at::kFloat},
    {ANTEGRAD_FLOAT64, at::kDouble},
    {ANTEGRAD_COMPLEX64, at::kComplexFloat},
    {ANTEGRAD_COMPLEX128, at::kComplexDouble},
};

[[noreturn]] void refuse(const std::string& fact, const char* way_out) {
  throw Error(ErrorCode::InvalidArgument, "c:tensor", fact, way_out);
}

at::ScalarType type_of(int32_t dtype, const std::string& which) {
  for (const auto& row : kDTypes)
    if (row.dtype == dtype) return row.type;
  refuse(fmt::format("the dtype of {} is {}", which, dtype), "Use a constant of antegrad_dtype");
}

antegrad_dtype dtype_of(at::ScalarType type, const std::string& which) {
  for (const auto& row : kDTypes)
    if (row.type == type) return row.dtype;
  throw Error(
      ErrorCode::UnsupportedTensor, "c:tensor",
      fmt::format("{} is of the dtype {}, which the C API does not support", which, c10::toString(type)),
      "Convert it inside the function");
}

/// Returns nothing when the number of bytes overflows.
std::optional<size_t> bytes_of(at::IntArrayRef sizes, size_t element) {
  size_t bytes = element;
  for (const auto size : sizes) {
    size_t product = 0;
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(size), &product)) return std::nullopt;
    bytes = product;
  }
  if (bytes > static_cast<size_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  return bytes;
}

at::Tensor borrow_one(const antegrad_tensor& input, const std::string& which) {
  const auto type = type_of(input.dtype, which);
  if (input.dims < 0 || input.dims > ANTEGRAD_MAX_DIMS)
    refuse(fmt::format("{} has {} dims", which, input.dims),
           "An array has from 0 to ANTEGRAD_MAX_DIMS of them");
  const at::IntArrayRef sizes(input.sizes, input.dims);
  for (const auto size : sizes)
    if (size < 0) refuse(fmt::format("{} has a size of {}", which, size), "Sizes are 0 or more");
  const auto needed = bytes_of(sizes, c10::elementSize(type));
  if (!needed) refuse(fmt::format("{} has more bytes than can be addressed", which), "Check its sizes");
  if (input.data == nullptr && *needed > 0)
    refuse(fmt::format("the data of {} is null", which), "Point it at the first element");
  if (input.bytes != 0 && input.bytes < *needed)
    refuse(fmt::format("{} has {} bytes where its sizes ask for {}", which, input.bytes, *needed),
           "Check sizes and dtype");
  const auto alignment = c10::elementSize(c10::toRealValueType(type));
  if (reinterpret_cast<uintptr_t>(input.data) % alignment != 0)
    refuse(fmt::format("the data of {} is not aligned to its dtype", which), "Copy it to aligned memory");
  return at::from_blob(input.data, sizes, at::TensorOptions(type));
}

/// Whether this handle is the only owner of the memory, so that it can be handed over.
bool is_alone(const at::Tensor& tensor) {
  return tensor.is_contiguous() && tensor.storage_offset() == 0 && tensor.use_count() == 1 &&
         tensor.storage().use_count() == 1 && !tensor.is_conj() && !tensor.is_neg();
}

void check_output(const at::Tensor& result, const antegrad_tensor& output, const std::string& which) {
  if (!result.defined())
    throw Error(ErrorCode::UnsupportedTensor, "c:tensor", fmt::format("{} is undefined", which),
                "Return tensors only");
  if (result.dim() > ANTEGRAD_MAX_DIMS)
    throw Error(ErrorCode::UnsupportedTensor, "c:tensor", fmt::format("{} has {} dims", which, result.dim()),
                "Results have at most ANTEGRAD_MAX_DIMS");
  const auto dtype = dtype_of(result.scalar_type(), which);
  if (output.data == nullptr || output.dtype == dtype) return;
  const auto* given = "something else";
  for (const auto& row : kDTypes)
    if (row.dtype == output.dtype) given = c10::toString(row.type);
  refuse(fmt::format("{} is of the dtype {} where the memory for it is of {}", which,
                     c10::toString(result.scalar_type()), given),
         "Give memory of the result's dtype, or null to have it allocated");
}

void describe(const at::Tensor& result, antegrad_tensor& output) {
  output.dims = static_cast<int32_t>(result.dim());
  for (size_t i = 0; i < ANTEGRAD_MAX_DIMS; ++i)
    output.sizes[i] = std::cmp_less(i, result.dim()) ? result.size(static_cast<int64_t>(i)) : 0;
}

/// Returns the result as row-major memory; when it is given away, memory that nobody else uses.
at::Tensor ready(at::Tensor result, bool give_away) {
  if (give_away && is_alone(result)) return result;
  const auto plain = result.resolve_conj().resolve_neg();
  return give_away ? plain.clone(at::MemoryFormat::Contiguous) : plain.contiguous();
}

}  // namespace

std::vector<at::Tensor> borrow(const antegrad_tensor* inputs, size_t count) {
  if (inputs == nullptr && count > 0)
    throw Error(ErrorCode::InvalidArgument, "c:call", "`inputs` is null", "Pass an array of inputs");
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < count; ++i) tensors.push_back(borrow_one(inputs[i], fmt::format("input {}", i)));
  return tensors;
}

std::vector<int64_t> check_wanted(const std::vector<at::Tensor>& inputs, const size_t* wanted, size_t count) {
  if (wanted == nullptr && count > 0)
    throw Error(ErrorCode::InvalidArgument, "c:gradients", "`wanted` is null",
                "Pass the indices of the inputs to differentiate by");
  std::vector<int64_t> places;
  for (size_t i = 0; i < count; ++i) {
    if (wanted[i] >= inputs.size())
      throw Error(ErrorCode::InvalidArgument, "c:gradients",
                  fmt::format("the gradient with respect to input {} is wanted, but there are {} inputs",
                              wanted[i], inputs.size()),
                  "Inputs are counted from 0");
    const auto& input = inputs[wanted[i]];
    const auto place = static_cast<int64_t>(wanted[i]);
    if (!input.is_floating_point() && !input.is_complex())
      throw Error(ErrorCode::InvalidArgument, "c:gradients",
                  fmt::format("the gradient with respect to input {} is wanted, whose dtype is {}", wanted[i],
                              c10::toString(input.scalar_type())),
                  "Only floating-point inputs have gradients");
    if (std::find(places.begin(), places.end(), place) != places.end())
      throw Error(ErrorCode::InvalidArgument, "c:gradients",
                  fmt::format("the gradient with respect to input {} is wanted twice", wanted[i]),
                  "Name each input once");
    places.push_back(place);
  }
  return places;
}

void give(std::vector<at::Tensor> results, const std::vector<Output>& outputs) {
  if (results.size() != outputs.size())
    throw Error(
        ErrorCode::InvalidArgument, "c:call",
        fmt::format("the function has {} results, but {} outputs were given", results.size(), outputs.size()),
        "Pass one output per result");
  std::string too_small;
  for (size_t i = 0; i < results.size(); ++i) check_output(results[i], *outputs[i].tensor, outputs[i].name);
  for (size_t i = 0; i < results.size(); ++i) {
    auto& output = *outputs[i].tensor;
    describe(results[i], output);
    if (output.data != nullptr && output.bytes < results[i].nbytes() && too_small.empty())
      too_small = fmt::format("{} has {} bytes, and there is room for {}", outputs[i].name,
                              results[i].nbytes(), output.bytes);
  }
  if (!too_small.empty())
    throw BufferTooSmall{
        fmt::format("[c:call] {}. Give more memory, or null to have it allocated.", too_small)};
  std::vector<std::unique_ptr<at::Tensor>> owners;
  for (size_t i = 0; i < results.size(); ++i)
    owners.push_back(
        std::make_unique<at::Tensor>(ready(std::move(results[i]), outputs[i].tensor->data == nullptr)));
  for (size_t i = 0; i < owners.size(); ++i) {  // nothing can fail from here on
    auto& output = *outputs[i].tensor;
    const auto bytes = owners[i]->nbytes();
    if (output.data == nullptr) {
      output.dtype = dtype_of(owners[i]->scalar_type(), "");
      output.bytes = bytes;
      output.data = owners[i]->data_ptr();
      output.owner = owners[i].release();
    } else if (bytes > 0) {
      std::memmove(output.data, owners[i]->const_data_ptr(), bytes);
    }
  }
}

}  // namespace antegrad::c
