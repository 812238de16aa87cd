#include <ATen/Functions.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>

#include "antegrad/program.h"
#include "program/output_file.h"
#include "program/program_state.h"
#include "program/write_archive.h"

namespace antegrad {
namespace program {
namespace {

/// The bytes of each storage of the file, with the present contents of the tensors that are parts of it.
std::map<std::string, at::Tensor> records_of_state(const State& state) {
  std::map<std::string, at::Tensor> records;
  for (const auto& [name, entry] : state) {
    auto& bytes = records[entry.record];
    if (!bytes.defined()) bytes = at::zeros({entry.record_bytes}, at::kByte);
    at::empty({0}, entry.dtype)
        .set_(bytes.storage(), entry.offset, entry.sizes, entry.strides)
        .copy_(entry.tensor.detach());
  }
  return records;
}

}  // namespace

void write_archive(const std::string& path, const std::map<std::string, std::string>& records,
                   const std::map<std::string, at::Tensor>& storages) {
  OutputFile file(path, "program:save");
  caffe2::serialize::PyTorchStreamWriter archive([&](const void* bytes, size_t count) {
    file.write(bytes, count);
    return count;
  });
  const auto write = [&](const std::string& record, const void* bytes, size_t count) {
    archive.writeRecord(record, bytes, count);
  };
  for (const auto& [record, text] : {std::pair<const char*, std::string>{"archive_format", "pt2"},
                                     {"archive_version", "0"},
                                     {"byteorder", "little"}})
    write(record, text.data(), text.size());
  for (const auto& [record, bytes] : records) write(record, bytes.data(), bytes.size());
  for (const auto& [record, bytes] : storages)
    write(record, bytes.data_ptr(), static_cast<size_t>(bytes.numel()));
  archive.writeEndOfFile();
  file.finish();
}

}  // namespace program

void Program::save(const std::string& path) const {
  const at::NoGradGuard no_grad;
  program::write_archive(path, state_->data.records, program::records_of_state(state_->data.state));
}

}  // namespace antegrad
