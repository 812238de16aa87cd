#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "antegrad/package.h"
#include "cache/format/hash.h"
#include "program/zip.h"
#include "util/fork_mutex.h"

namespace antegrad::packaging {

constexpr int64_t kFormat = 1;  ///< of the manifest and of all records that it names

/// Names of records.
inline const std::string kManifest = "data/antegrad/manifest.json", kMac = "data/antegrad/manifest.mac",
                         kWeightsFolder = "data/weights/",
                         kWeightsConfig = "data/weights/antegrad_weights_config.json",
                         kUpdatesFolder = "data/antegrad/updates/";
std::string folder_of(const std::string& function);  ///< of its versions; ends with a slash
std::string kernel_record(const std::string& isa, const cache::Digest& kernel);
std::string step_folder(const std::string& step);  ///< as folder_of()
std::string step_record(const std::string& step);  ///< of its optimizer
/// The code of a part of an optimizer's step, by the text of its graph.
std::string update_record(const std::string& graph_text);

/// What the manifest says about a function.
struct FunctionInfo {
  std::string name, arguments, result;
  int64_t derivatives = 1;
  std::vector<std::vector<std::string>> versions;  ///< per version: its guards, for people
};

/// What the manifest says about a training step.
struct StepInfo {
  std::string name, arguments, result;
  std::string optimizer;  ///< its class
  std::vector<std::vector<std::string>> versions;
};

/// The type of a weight.
struct WeightInfo {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> sizes, strides;
  bool requires_grad = false;
};
WeightInfo weight_info(const std::string& name, const at::Tensor& tensor);
/// "f32[2, 3]"
std::string type_text(const WeightInfo& weight);

/// The table of contents of a package.
struct Manifest {
  PackageInfo info;
  std::string toolchain;  ///< the compiler of the kernels
  std::vector<FunctionInfo> functions;
  std::vector<StepInfo> steps;
  std::vector<WeightInfo> weights;  ///< in the order in which versions number them
  bool external_weights = false;
  std::map<std::string, cache::Digest> records;  ///< SHA-256 of every other record
};
std::string write_manifest(const Manifest& manifest);
Manifest read_manifest(const std::string& text);  ///< throws Error(Io)
/// The version of the LibTorch in this process, as far as packages depend on it: "2.11".
std::string libtorch_here();

/// A file in memory: pages that are written to are copied, the file stays as it is.
class FileMapping {
 public:
  explicit FileMapping(const std::string& path);  ///< throws Error(Io)
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }
  program::ByteSource source(const std::string& name) const;  ///< reads the file itself

 private:
  int file_ = -1;
  char* data_ = nullptr;
  size_t size_ = 0;
};

/// The records of a package. Nothing in the file is trusted: offsets are checked, and the bytes of a record
/// are compared with its checksum before they are used. Thread-safe.
class Archive {
 public:
  /// Throws Error(Io). With a key, the manifest must have its MAC.
  Archive(const std::string& path, const std::string& key_file);

  const std::string& path() const { return path_; }
  const Manifest& manifest() const { return manifest_; }
  const program::ZipFile& zip() const { return *zip_; }
  bool has(const std::string& record) const {
    return zip_->has(record) && manifest_.records.count(record) > 0;
  }
  /// Returns the bytes of a record, which live as long as the archive. Throws Error(Io).
  std::string_view read(const std::string& record) const;
  /// Returns where the bytes of a record are mapped, unchecked.
  std::string_view mapped(const std::string& record) const;
  const std::shared_ptr<const FileMapping>& mapping() const { return mapping_; }
  /// Compares the contents of all records, weights included, with their checksums. Throws Error(Io).
  void verify() const;
  void verify(const std::string& record) const;  ///< reads the record from the file again

 private:
  std::string path_;
  std::shared_ptr<const FileMapping> mapping_;
  std::unique_ptr<program::ZipFile> zip_;
  Manifest manifest_;
  mutable BriefMutex mutex_;
  mutable std::set<std::string> checked_;
};

/// What is written as one record: bytes, or the storage of a tensor.
struct RecordToWrite {
  std::string bytes;
  at::Tensor tensor;  ///< of bytes; where it is defined, `bytes` is empty
  std::string_view view() const;
};
/// Completes the manifest and writes an archive. Throws Error(Io).
void write_archive(const std::string& path, Manifest manifest, std::map<std::string, RecordToWrite> records,
                   const std::string& key_file);

}  // namespace antegrad::packaging
