// Pickles of tensors, as torch.save() writes them.
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>

#include <algorithm>

#include "antegrad/error.h"
#include "program/output_file.h"
#include "program/storage_types.h"
#include "program/tensor_file.h"

namespace antegrad::program {
namespace {

std::string pickled_text(const std::string& text) {
  const auto length = static_cast<uint32_t>(text.size());
  return "X" + std::string(reinterpret_cast<const char*>(&length), 4) + text;
}

std::string pickled_number(int64_t number) {
  return "\x8a\x08" + std::string(reinterpret_cast<const char*>(&number), 8);
}

std::string pickled_sizes(at::IntArrayRef sizes) {
  std::string out = "(";
  for (const auto size : sizes) out += pickled_number(size);
  return out + "t";
}

/// torch._utils._rebuild_tensor_v2(storage, offset, sizes, strides, False, OrderedDict())
std::string pickled_tensor(const at::Tensor& tensor, size_t storage) {
  std::string type;
  for (const auto& [name, dtype] : storage_types())
    if (dtype == tensor.scalar_type()) type = name.substr(6);
  if (type.empty())
    throw Error(ErrorCode::UnsupportedTensor, "program:save_state",
                fmt::format("a state_dict has no {}", c10::toString(tensor.scalar_type())),
                "Save safetensors instead: a path that ends in .safetensors");
  const auto count = static_cast<int64_t>(tensor.storage().nbytes() / tensor.element_size());
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickled_text("storage") + "ctorch\n" + type + "\n" +
         pickled_text(std::to_string(storage)) + pickled_text("cpu") + pickled_number(count) + "tQ" +
         pickled_number(tensor.storage_offset()) + pickled_sizes(tensor.sizes()) +
         pickled_sizes(tensor.strides()) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}

bool has_storage_type(at::ScalarType dtype) {
  return std::any_of(storage_types().begin(), storage_types().end(),
                     [&](const auto& entry) { return entry.second == dtype; });
}

/// Collects the storages of the tensors of a pickle. Tensors that share one do so in the file.
class TensorPickler {
 public:
  std::string pickled(const at::Tensor& tensor) {
    const auto here = tensor.detach().to(at::kCPU).resolve_conj().resolve_neg();
    const auto [place, added] = known_.emplace(here.storage().unsafeGetStorageImpl(), contents_.size());
    if (added) contents_.push_back(here);
    return pickled_tensor(here, place->second);
  }

  /// Writes an archive as torch.save() does.
  void write(const std::string& pickle, const std::function<size_t(const void*, size_t)>& sink) const {
    const auto whole = "\x80\x02" + pickle + ".";
    caffe2::serialize::PyTorchStreamWriter archive(sink);
    archive.writeRecord("data.pkl", whole.data(), whole.size());
    archive.writeRecord("byteorder", "little", 6);
    for (size_t i = 0; i < contents_.size(); ++i)
      archive.writeRecord("data/" + std::to_string(i), contents_[i].storage().data(),
                          contents_[i].storage().nbytes());
    archive.writeEndOfFile();
  }

 private:
  std::vector<at::Tensor> contents_;
  std::map<const void*, size_t> known_;
};

}  // namespace

void write_state_dict(const std::string& path, const TensorsByName& tensors) {
  TensorPickler pickler;
  std::string pickle = "}(";
  for (const auto& [name, tensor] : tensors) pickle += pickled_text(name) + pickler.pickled(tensor);
  OutputFile file(path, "program:save_state");
  pickler.write(pickle + "u", [&](const void* bytes, size_t count) {
    file.write(bytes, count);
    return count;
  });
  file.finish();
}

std::string pickled_call(const std::vector<at::Tensor>& arguments) {
  TensorPickler pickler;
  std::string pickle = "((";
  for (const auto& argument : arguments) {
    if (argument.defined() && !has_storage_type(argument.scalar_type())) return {};
    pickle += argument.defined() ? pickler.pickled(argument) : "N";
  }
  std::string out;
  pickler.write(pickle + "t}t", [&](const void* bytes, size_t count) {
    out.append(static_cast<const char*>(bytes), count);
    return count;
  });
  return out;
}

}  // namespace antegrad::program
