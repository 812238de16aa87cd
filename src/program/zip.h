#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace antegrad::program {

/// Bytes that can be read at any place: a file, or memory.
struct ByteSource {
  std::string name;  ///< for messages
  uint64_t size = 0;
  std::function<void(uint64_t offset, void* to, size_t bytes)> read;  ///< throws Error(Io)
};
/// Throws Error(Io) if the file cannot be opened.
ByteSource file_source(const std::string& path);
/// The bytes must outlive the source.
ByteSource memory_source(std::string name, const std::string& bytes);

enum class Checksums { Check, Ignore };

/// The records of a zip archive that LibTorch or Python has written: stored, not compressed, so that no
/// record is larger than the file. Nothing in the file is trusted: offsets and sizes are checked against it,
/// and records may not be larger in sum than the file. Names are without the folder that all of them are in.
class ZipFile {
 public:
  /// Throws Error(Io) or Error(Parse).
  explicit ZipFile(ByteSource source, Checksums checksums = Checksums::Check);

  struct Record {
    uint64_t offset = 0;  ///< of its first byte in the file
    uint64_t size = 0;
    uint32_t crc = 0;
  };
  const std::string& name() const { return source_.name; }
  const std::map<std::string, Record>& records() const { return records_; }
  bool has(const std::string& record) const { return records_.count(record) > 0; }
  /// Each throws Error(Parse) if there is no such record, or it is damaged.
  uint64_t size_of(const std::string& record) const { return find(record).size; }
  std::string read(const std::string& record) const;
  void read(const std::string& record, void* to) const;  ///< writes size_of(record) bytes

 private:
  const Record& find(const std::string& record) const;
  void add_record(const unsigned char* header, const std::string& record, uint64_t size, uint64_t place);
  uint64_t read_directory();
  void remove_common_folder();
  [[noreturn]] void refuse(const std::string& fact) const;

  ByteSource source_;
  Checksums checksums_;
  std::map<std::string, Record> records_;
};

}  // namespace antegrad::program
