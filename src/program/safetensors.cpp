#include <ATen/Functions.h>
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "antegrad/error.h"
#include "program/json.h"
#include "program/output_file.h"
#include "program/tensor_file.h"

namespace antegrad::program {
namespace {

constexpr uint64_t kLargestHeader = 100'000'000;  // as the format's own reader has it

const std::map<std::string, at::ScalarType>& safetensors_dtypes() {
  static const auto& table = *new std::map<std::string, at::ScalarType>{{"BOOL", at::kBool},
                                                                        {"U8", at::kByte},
                                                                        {"I8", at::kChar},
                                                                        {"I16", at::kShort},
                                                                        {"U16", at::kUInt16},
                                                                        {"I32", at::kInt},
                                                                        {"I64", at::kLong},
                                                                        {"F16", at::kHalf},
                                                                        {"BF16", at::kBFloat16},
                                                                        {"F32", at::kFloat},
                                                                        {"F64", at::kDouble},
                                                                        {"C64", at::kComplexFloat},
                                                                        {"F8_E4M3", at::kFloat8_e4m3fn},
                                                                        {"F8_E5M2", at::kFloat8_e5m2}};
  return table;
}

[[noreturn]] void refuse_safetensors(const ByteSource& source, const std::string& fact) {
  throw Error(ErrorCode::Parse, "program:load_state",
              fmt::format("\"{}\" cannot be read: {}", source.name, fact),
              "Name a file that safetensors has written");
}

at::Tensor read_one(const ByteSource& source, const std::string& name, const Json& json, uint64_t begin) {
  const auto dtype = safetensors_dtypes().find(json.at("dtype"));
  if (dtype == safetensors_dtypes().end())
    refuse_safetensors(source,
                       fmt::format("\"{}\" is of the unknown dtype {}", name, json.at("dtype").dump()));
  const auto from = integer_of(json.at("data_offsets").at(0)), to = integer_of(json.at("data_offsets").at(1));
  int64_t bytes = static_cast<int64_t>(c10::elementSize(dtype->second));
  std::vector<int64_t> sizes;
  for (const auto& size : json.at("shape")) {
    sizes.push_back(integer_of(size));
    if (sizes.back() < 0 || sizes.size() > 64 || __builtin_mul_overflow(bytes, sizes.back(), &bytes))
      refuse_safetensors(source, fmt::format("\"{}\" has impossible sizes", name));
  }
  const auto room = static_cast<int64_t>(source.size - begin);
  if (from < 0 || to < from || to > room || to - from != bytes)
    refuse_safetensors(source, fmt::format("\"{}\" is not where the file says", name));
  auto tensor = at::empty(sizes, dtype->second);
  source.read(begin + static_cast<uint64_t>(from), tensor.data_ptr(), static_cast<size_t>(bytes));
  return tensor;
}

}  // namespace

TensorsByName read_safetensors(const ByteSource& source) {
  uint64_t length = 0;
  if (source.size < 8) refuse_safetensors(source, "it is too short");
  source.read(0, &length, 8);
  if (length > kLargestHeader || length > source.size - 8)
    refuse_safetensors(source, fmt::format("its header should have {} bytes", length));
  std::string header(length, '\0');
  source.read(8, header.data(), length);
  TensorsByName tensors;
  try {
    const auto json = parse_json(header, source.name);
    uint64_t sum = 0;
    for (const auto& [name, entry] : json.items()) {
      if (name == "__metadata__") continue;
      tensors[name] = read_one(source, name, entry, 8 + length);
      sum += tensors[name].nbytes();
      if (sum > source.size) refuse_safetensors(source, "its tensors overlap");
    }
  } catch (const Json::exception& error) {
    refuse_safetensors(source, error.what());
  }
  return tensors;
}

void write_safetensors(const std::string& path, const TensorsByName& tensors) {
  auto header = nlohmann::ordered_json::object();
  std::vector<at::Tensor> contents;
  uint64_t at = 0;
  for (const auto& [name, tensor] : tensors) {
    contents.push_back(tensor.detach().to(at::kCPU).contiguous());
    std::string dtype;
    for (const auto& [text, type] : safetensors_dtypes())
      if (type == tensor.scalar_type()) dtype = text;
    if (dtype.empty())
      throw Error(ErrorCode::UnsupportedTensor, "program:save_state",
                  fmt::format("safetensors has no {} (\"{}\")", c10::toString(tensor.scalar_type()), name),
                  "Save a state_dict instead: a path that does not end in .safetensors");
    const auto end = at + contents.back().nbytes();
    header[name] = {{"dtype", dtype}, {"shape", tensor.sizes().vec()}, {"data_offsets", {at, end}}};
    at = end;
  }
  auto text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();
  OutputFile file(path, "program:save_state");
  file.write(&length, 8);
  file.write(text.data(), text.size());
  for (const auto& tensor : contents) file.write(tensor.data_ptr(), tensor.nbytes());
  file.finish();
}

}  // namespace antegrad::program
