#include "package/archive.h"

#include <caffe2/serialize/inline_container.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "antegrad/error.h"
#include "cache/directory/secret.h"
#include "package/refuse.h"
#include "program/output_file.h"

namespace antegrad::packaging {
namespace {

constexpr uint64_t kLargestManifest = 256 << 20;

cache::Digest mac_of(const std::string& key_file, std::string_view manifest) {
  cache::FileSystem files;
  const auto read = cache::read_key_file(files, key_file);
  if (!read.secret) throw Error(ErrorCode::Io, "package:key", read.reason, "Name a file with a key");
  return cache::hmac_sha256(read.secret->bytes(), "antegrad package\n" + std::string(manifest));
}

void check_mac(const program::ZipFile& zip, const std::string& key_file, std::string_view manifest) {
  if (key_file.empty()) return;
  cache::Digest given;
  if (!zip.has(kMac) || zip.size_of(kMac) != given.bytes.size())
    throw Error(ErrorCode::Io, "package:key", fmt::format("\"{}\" is not signed", zip.name()),
                "Make the package with PackageOptions::key_file");
  const auto bytes = zip.read(kMac);
  std::copy(bytes.begin(), bytes.end(), given.bytes.begin());
  if (!cache::equal_in_constant_time(given, mac_of(key_file, manifest)))
    throw Error(ErrorCode::Io, "package:key",
                fmt::format("\"{}\" was signed with another key, or was changed afterwards", zip.name()),
                "Do not use the file, or load it with the key that it was signed with");
}

}  // namespace

FileMapping::FileMapping(const std::string& path) {
  const auto fail = [&](const std::string& why) {
    throw Error(ErrorCode::Io, "package:load", fmt::format("cannot read \"{}\": {}", path, why),
                "Name a file that antegrad::package() has written");
  };
  file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) fail(std::strerror(errno));
  struct stat status {};
  const bool is_file = fstat(file_, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0;
  void* memory = MAP_FAILED;
  size_ = status.st_size;
  if (is_file) memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file_, 0);
  if (memory == MAP_FAILED) {
    const std::string why = is_file ? std::strerror(errno) : "it is empty, or no file";
    close(file_);
    fail(why);
  }
  data_ = static_cast<char*>(memory);
}

FileMapping::~FileMapping() {
  munmap(data_, size_);
  close(file_);
}

program::ByteSource FileMapping::source(const std::string& name) const {
  return {name, size_, [this, name](uint64_t offset, void* to, size_t bytes) {
            while (bytes > 0) {
              const auto got = pread(file_, to, bytes, static_cast<off_t>(offset));
              if (got < 0 && errno == EINTR) continue;
              if (got <= 0) refuse_file(fmt::format("\"{}\" cannot be read any more", name));
              offset += static_cast<uint64_t>(got);
              to = static_cast<char*>(to) + got;
              bytes -= got;
            }
          }};
}

Archive::Archive(const std::string& path, const std::string& key_file)
    : path_(path), mapping_(std::make_shared<const FileMapping>(path)) {
  try {
    zip_ = std::make_unique<program::ZipFile>(mapping_->source(path));
    if (!zip_->has(kManifest) || zip_->size_of(kManifest) > kLargestManifest)
      refuse_file(fmt::format("\"{}\" is no package: it has no manifest", path));
    const auto manifest = zip_->read(kManifest);
    check_mac(*zip_, key_file, manifest);
    manifest_ = read_manifest(manifest);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Io) throw;
    refuse_file(error.what());
  }
  manifest_.info.is_signed = zip_->has(kMac);
  for (const auto& [record, digest] : manifest_.records)
    if (!zip_->has(record)) refuse_file(fmt::format("\"{}\" lacks the record \"{}\"", path, record));
  if (manifest_.info.libtorch != libtorch_here())
    throw Error(ErrorCode::Io, "package:load",
                fmt::format("the package is for LibTorch {}, and this is LibTorch {}",
                            manifest_.info.libtorch, libtorch_here()),
                "Make the package again with this LibTorch");
}

std::string_view Archive::mapped(const std::string& record) const {
  const auto found = zip_->records().find(record);
  if (found == zip_->records().end() || manifest_.records.count(record) == 0)
    refuse_file(fmt::format("\"{}\" has no record \"{}\"", path_, record));
  return {mapping_->data() + found->second.offset, found->second.size};
}

std::string_view Archive::read(const std::string& record) const {
  const auto bytes = mapped(record);
  {
    const std::scoped_lock lock(mutex_);
    if (checked_.count(record) > 0) return bytes;
  }
  if (cache::sha256(bytes) != manifest_.records.at(record))
    refuse_file(fmt::format("the checksum of \"{}\" in \"{}\" is wrong: the file is damaged", record, path_));
  const std::scoped_lock lock(mutex_);
  checked_.insert(record);
  return bytes;
}

void Archive::verify(const std::string& record) const {
  const auto source = mapping_->source(path_);
  const auto where = zip_->records().at(record);
  std::string part(std::min<uint64_t>(where.size, 1 << 20), '\0');
  cache::Sha256 hash;
  for (uint64_t done = 0; done < where.size; done += part.size()) {
    part.resize(std::min<uint64_t>(where.size - done, 1 << 20));
    source.read(where.offset + done, part.data(), part.size());
    hash.update(part);
  }
  if (hash.digest() != manifest_.records.at(record))
    refuse_file(fmt::format("the checksum of \"{}\" in \"{}\" is wrong: the file is damaged", record, path_));
}

void Archive::verify() const {
  for (const auto& [record, digest] : manifest_.records) verify(record);
}

std::string_view RecordToWrite::view() const {
  if (!tensor.defined()) return bytes;
  return {static_cast<const char*>(tensor.const_data_ptr()), static_cast<size_t>(tensor.nbytes())};
}

void write_archive(const std::string& path, Manifest manifest, std::map<std::string, RecordToWrite> records,
                   const std::string& key_file) {
  manifest.records.clear();
  for (const auto& [record, contents] : records) manifest.records[record] = cache::sha256(contents.view());
  const auto text = write_manifest(manifest);
  records[kManifest].bytes = text;
  if (!key_file.empty()) records[kMac].bytes = std::string(mac_of(key_file, text).view());
  program::OutputFile file(path, "package:save");
  caffe2::serialize::PyTorchStreamWriter archive([&](const void* bytes, size_t count) {
    file.write(bytes, count);
    return count;
  });
  const auto write = [&](const std::string& record, std::string_view bytes) {
    archive.writeRecord(record, bytes.data(), bytes.size());
  };
  write("archive_format", "pt2");
  write("archive_version", "0");
  write("byteorder", "little");
  for (const auto& [record, contents] : records) write(record, contents.view());
  archive.writeEndOfFile();
  file.finish();
}

}  // namespace antegrad::packaging
