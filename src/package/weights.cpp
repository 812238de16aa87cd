#include "package/weights.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "antegrad/error.h"
#include "package/refuse.h"
#include "program/read_graph.h"
#include "program/state.h"

namespace antegrad::packaging {
namespace {

const std::string* name_in(const NamedTensors& names, const at::Tensor& tensor) {
  for (const auto& [name, named] : names)
    if (named.is_same(tensor)) return &name;
  return nullptr;
}

nlohmann::json number(int64_t value) { return {{"as_int", value}}; }

nlohmann::json numbers(c10::IntArrayRef values) {
  auto list = nlohmann::json::array();
  for (const auto value : values) list.push_back(number(value));
  return list;
}

/// As torch.export describes a tensor in a storage.
nlohmann::json entry_of(const at::Tensor& tensor, const std::string& file) {
  return {{"path_name", file},
          {"is_param", tensor.requires_grad()},
          {"use_pickle", false},
          {"tensor_meta",
           {{"dtype", program::dtype_number(tensor.scalar_type())},
            {"sizes", numbers(tensor.sizes())},
            {"strides", numbers(tensor.strides())},
            {"storage_offset", number(tensor.storage_offset())},
            {"requires_grad", tensor.requires_grad()},
            {"device", {{"type", "cpu"}, {"index", nullptr}}},
            {"layout", 7}}}};
}

at::Tensor bytes_of(const at::Storage& storage) {
  return at::empty({0}, at::kByte).set_(storage, 0, {static_cast<int64_t>(storage.nbytes())}, {1});
}

/// The storage of a record over the mapped file. Kernels read whole vectors: records of other alignments,
/// which no writer of packages makes, are copied.
at::Storage storage_over(const Archive& archive, const std::string& record) {
  const auto bytes = archive.mapped(record);
  constexpr uintptr_t kAlignment = 64;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlignment != 0) {
    auto copy = at::empty({static_cast<int64_t>(bytes.size())}, at::kByte);
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(copy.data_ptr()));
    return copy.storage();
  }
  auto* keep = new std::shared_ptr<const FileMapping>(archive.mapping());
  at::DataPtr data(
      const_cast<char*>(bytes.data()), keep,
      [](void* mapping) { delete static_cast<std::shared_ptr<const FileMapping>*>(mapping); }, c10::kCPU);
  return at::Storage(at::Storage::use_byte_size_t(), bytes.size(), std::move(data), nullptr, false);
}

}  // namespace

WeightTable::WeightTable(NamedTensors names) : names_(std::move(names)) {}

int32_t WeightTable::add(const at::Tensor& tensor, const NamedTensors& names, const std::string& name) {
  const auto [known, added] =
      numbers_.emplace(tensor.unsafeGetTensorImpl(), static_cast<int32_t>(weights_.size()));
  if (!added) return known->second;
  const auto* given = name_in(names_, tensor);
  if (given == nullptr) given = name_in(names, tensor);
  const auto wanted = given != nullptr ? *given : name;
  auto unique = wanted;
  const auto taken = [&] {
    return std::any_of(weights_.begin(), weights_.end(), [&](const auto& w) { return w.first == unique; });
  };
  for (int n = 2; taken(); ++n) unique = fmt::format("{}_{}", wanted, n);
  weights_.emplace_back(unique, tensor);
  return known->second;
}

void add_weights(const NamedTensors& weights, Manifest& manifest,
                 std::map<std::string, RecordToWrite>& records) {
  for (const auto& [name, tensor] : weights) manifest.weights.push_back(weight_info(name, tensor));
  if (manifest.external_weights || weights.empty()) return;
  std::map<const void*, std::string> files;
  nlohmann::json config = nlohmann::json::object();
  for (const auto& [name, tensor] : weights) {
    const auto& storage = tensor.storage();
    auto& file = files[storage.unsafeGetStorageImpl()];
    if (file.empty()) {
      file = fmt::format("weight_{}", files.size() - 1);
      records[kWeightsFolder + file].tensor = bytes_of(storage);
    }
    config[name] = entry_of(tensor, file);
  }
  records[kWeightsConfig].bytes = nlohmann::json{{"config", config}}.dump();
}

std::vector<at::Tensor> map_weights(const Archive& archive) {
  const auto& manifest = archive.manifest();
  std::vector<at::Tensor> out(manifest.weights.size());
  if (manifest.external_weights || out.empty()) return out;
  program::State state;
  try {
    archive.read(kWeightsConfig);
    program::read_state(archive.zip(), kWeightsFolder, kWeightsConfig, state,
                        [&](const std::string& record) { return storage_over(archive, record); });
  } catch (const nlohmann::json::exception& error) {
    refuse_file(fmt::format("the list of weights cannot be read: {}", error.what()));
  } catch (const Error& error) {
    refuse_file(error.what());
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const auto& info = manifest.weights[i];
    const auto found = state.find(info.name);
    if (found == state.end()) refuse_file(fmt::format("the weight \"{}\" is missing", info.name));
    out[i] = found->second.tensor;
    const auto type = weight_info(info.name, out[i]);
    if (type.dtype != info.dtype || type.sizes != info.sizes || type.strides != info.strides ||
        type.requires_grad != info.requires_grad)
      refuse_file(
          fmt::format("the weight \"{}\" is {}, not {}", info.name, type_text(type), type_text(info)));
  }
  return out;
}

void check_weight(const WeightInfo& weight, const at::Tensor& tensor) {
  const auto refuse = [&](const std::string& fact) {
    throw Error(ErrorCode::InvalidArgument, "package:weights",
                fmt::format("the weight \"{}\" {}", weight.name, fact), "Give it a tensor of its type");
  };
  if (!tensor.defined()) refuse("would become undefined");
  if (!tensor.device().is_cpu() || tensor.layout() != at::kStrided)
    refuse(fmt::format("is a dense tensor on the CPU, and the new one is {} on {}",
                       tensor.layout() == at::kStrided ? "dense" : "not dense", tensor.device().str()));
  const auto type = weight_info(weight.name, tensor);
  if (type.dtype != weight.dtype || type.sizes != weight.sizes || type.requires_grad != weight.requires_grad)
    refuse(fmt::format("is {}, and the new tensor {}", type_text(weight), type_text(type)));
  if (type.strides != weight.strides)
    refuse(fmt::format("has strides [{}], and the new tensor [{}]", fmt::join(weight.strides, ", "),
                       fmt::join(type.strides, ", ")));
}

}  // namespace antegrad::packaging
