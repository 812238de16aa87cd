#include "program/state.h"

#include <ATen/Functions.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "antegrad/error.h"
#include "program/read_graph.h"

namespace antegrad::program {
namespace {

[[noreturn]] void refuse_state(const std::string& name, const std::string& fact) {
  throw Error(ErrorCode::Parse, "program:load", fmt::format("the tensor \"{}\" {}", name, fact),
              "Save the program again with torch.export.save()");
}

std::vector<int64_t> numbers_of(const Json& json, const std::string& name) {
  std::vector<int64_t> out;
  for (const auto& element : json) {
    if (!element.contains("as_int")) refuse_state(name, "has a size that is not a number");
    out.push_back(integer_of(element.at("as_int")));
    if (out.back() < 0) refuse_state(name, fmt::format("has the size or stride {}", out.back()));
  }
  if (out.size() > 64) refuse_state(name, fmt::format("has {} dimensions", out.size()));
  return out;
}

class StateReader {
 public:
  StateReader(const ZipFile& file, std::string folder, StorageOf storage_of)
      : file_(file), folder_(std::move(folder)), storage_of_(std::move(storage_of)) {}

  StateEntry read(const std::string& name, const Json& json) {
    if (json.at("use_pickle").get<bool>() || json.at("tensor_meta").is_null())
      throw Error(ErrorCode::UnsupportedTensor, "program:load",
                  fmt::format("\"{}\" is stored as a pickle, and none is ever run", name),
                  "Export a model of plain tensors: neither script objects nor tensor subclasses");
    const auto& meta = json.at("tensor_meta");
    StateEntry entry;
    entry.parameter = json.at("is_param");
    entry.record = folder_ + json.at("path_name").get<std::string>();
    entry.record_bytes = static_cast<int64_t>(file_.size_of(entry.record));
    entry.dtype = dtype_of(meta.at("dtype"));
    entry.sizes = numbers_of(meta.at("sizes"), name);
    entry.strides = numbers_of(meta.at("strides"), name);
    entry.offset = numbers_of(Json::array({meta.at("storage_offset")}), name)[0];
    const auto device = device_of(meta.at("device"));
    if (integer_of(meta.at("layout")) != 7) refuse_state(name, "is not dense");
    if (entry.sizes.size() != entry.strides.size()) refuse_state(name, "has not as many strides as sizes");
    const bool needs_grad = entry.parameter && meta.at("requires_grad").get<bool>();
    auto key = fmt::format("{} {} {}", entry.record, meta.dump(), needs_grad);
    auto& known = tensors_[key];
    if (!known.defined()) {
      known = part(name, storage(entry.record, device), device, entry);
      if (needs_grad && !at::isFloatingType(entry.dtype) && !at::isComplexType(entry.dtype))
        refuse_state(name, "needs a gradient, and is not floating-point");
      if (needs_grad) known.set_requires_grad(true);
    }
    entry.tensor = known;
    return entry;
  }

 private:
  const at::Storage& storage(const std::string& record, c10::Device device) {
    auto& known = storages_[record];
    if (!known && storage_of_ && device.is_cpu()) {
      known = storage_of_(record);
    } else if (!known) {
      auto bytes = at::empty({static_cast<int64_t>(file_.size_of(record))}, at::kByte);
      file_.read(record, bytes.data_ptr());
      known = (device.is_cpu() ? bytes : bytes.to(device)).storage();
    }
    return known;
  }

  static at::Tensor part(const std::string& name, const at::Storage& storage, c10::Device device,
                         const StateEntry& entry) {
    const auto needed = extent(entry.sizes, entry.strides, entry.offset);
    const auto there = static_cast<int64_t>(storage.nbytes() / c10::elementSize(entry.dtype));
    if (!needed || *needed > there)
      refuse_state(name, fmt::format("reaches over more than the {} elements that are stored", there));
    auto out = at::empty({0}, at::TensorOptions(entry.dtype).device(device));
    out.set_(storage, entry.offset, entry.sizes, entry.strides);
    return out;
  }

  const ZipFile& file_;
  std::string folder_;
  StorageOf storage_of_;
  std::map<std::string, at::Storage> storages_;
  std::map<std::string, at::Tensor> tensors_;
};

}  // namespace

std::optional<int64_t> extent(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides,
                              int64_t offset) {
  int64_t last = offset, product = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    int64_t reach = 0;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
        __builtin_add_overflow(last, reach, &last) || __builtin_mul_overflow(product, sizes[i], &product))
      return {};
  }
  int64_t count = 0;
  return __builtin_add_overflow(last, int64_t{1}, &count) ? std::nullopt : std::optional(count);
}

void read_state(const ZipFile& file, const std::string& folder, const std::string& config, State& state,
                StorageOf storage_of) {
  const auto json = parse_json(file.read(config), config);
  StateReader reader(file, folder, std::move(storage_of));
  for (const auto& [name, entry] : json.at("config").items())
    if (!state.emplace(name, reader.read(name, entry)).second) refuse_state(name, "is stored twice");
}

}  // namespace antegrad::program
