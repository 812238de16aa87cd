#include "program/zip.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "antegrad/error.h"
#include "program/crc32.h"

namespace antegrad::program {
namespace {

constexpr uint64_t kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20, kHeaderSize = 46, kLocalSize = 30;
constexpr uint64_t kMostRecords = 1 << 20;
constexpr uint64_t kLargestDirectory = 256 << 20;
constexpr uint32_t kIsIn64 = 0xFFFFFFFF;  ///< a number that stands in the zip64 part instead

uint64_t little_endian(const unsigned char* bytes, int count) {
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = (value << 8) | bytes[i];
  return value;
}
uint16_t u16(const unsigned char* bytes) { return static_cast<uint16_t>(little_endian(bytes, 2)); }
uint32_t u32(const unsigned char* bytes) { return static_cast<uint32_t>(little_endian(bytes, 4)); }
uint64_t u64(const unsigned char* bytes) { return little_endian(bytes, 8); }

/// Replaces sizes and the offset of a record that do not fit in 32 bits by those of its zip64 field.
bool apply_zip64(const unsigned char* extra, size_t length, uint64_t& size, uint64_t& stored,
                 uint64_t& place) {
  while (length >= 4) {
    const size_t field = u16(extra + 2);
    if (field > length - 4) return false;
    if (u16(extra) == 1) {
      const auto* next = extra + 4;
      const auto* end = next + field;
      for (auto* value : {&size, &stored, &place}) {
        if (*value != kIsIn64) continue;
        if (end - next < 8) return false;
        *value = u64(next);
        next += 8;
      }
      return true;
    }
    extra += 4 + field;
    length -= 4 + field;
  }
  return size != kIsIn64 && stored != kIsIn64 && place != kIsIn64;
}

}  // namespace

ByteSource file_source(const std::string& path) {
  const auto fail = [path](const std::string& why) {
    throw Error(ErrorCode::Io, "program:load", fmt::format("cannot read \"{}\": {}", path, why),
                "Name a file that torch.export.save() has written");
  };
  const int opened = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) fail(std::strerror(errno));
  const std::shared_ptr<const int> file(new int(opened), [](const int* fd) {
    close(*fd);
    delete fd;
  });
  struct stat status {};
  if (fstat(opened, &status) != 0) fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("it is not a file");
  ByteSource source{path, static_cast<uint64_t>(status.st_size), {}};
  source.read = [file, fail](uint64_t offset, void* to, size_t bytes) {
    while (bytes > 0) {
      const auto got = pread(*file, to, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(std::strerror(errno));
      if (got == 0) fail("it has become shorter");
      offset += static_cast<uint64_t>(got);
      to = static_cast<char*>(to) + got;
      bytes -= got;
    }
  };
  return source;
}

ByteSource memory_source(std::string name, const std::string& bytes) {
  return {std::move(name), bytes.size(), [&bytes](uint64_t offset, void* to, size_t count) {
            std::memcpy(to, bytes.data() + offset, count);
          }};
}

ZipFile::ZipFile(ByteSource source, Checksums checksums) : source_(std::move(source)), checksums_(checksums) {
  const auto sum = read_directory();
  if (sum > source_.size) refuse("its records overlap");
  remove_common_folder();
}

void ZipFile::refuse(const std::string& fact) const {
  throw Error(ErrorCode::Parse, "program:load", fmt::format("\"{}\" cannot be read: {}", source_.name, fact),
              "Save it again with torch.export.save() of PyTorch 2.11");
}

/// Returns the sum of all records' sizes.
uint64_t ZipFile::read_directory() {
  if (source_.size < kEndSize) refuse("it is too short for a zip archive");
  const uint64_t tail = std::min<uint64_t>(source_.size, kEndSize + 0xFFFF + kLocator64Size);
  std::vector<unsigned char> end(tail);
  source_.read(source_.size - tail, end.data(), tail);
  uint64_t at = tail - kEndSize;
  while (u32(&end[at]) != 0x06054b50) {
    if (at-- == 0) refuse("it is no zip archive");
  }
  uint64_t count = u16(&end[at + 10]), size = u32(&end[at + 12]), place = u32(&end[at + 16]);
  if (at >= kLocator64Size && u32(&end[at - kLocator64Size]) == 0x07064b50) {
    const auto end64 = u64(&end[at - kLocator64Size + 8]);
    if (end64 > source_.size - kEnd64Size || source_.size < kEnd64Size) refuse("its directory is damaged");
    unsigned char record[kEnd64Size];
    source_.read(end64, record, kEnd64Size);
    if (u32(record) != 0x06064b50) refuse("its directory is damaged");
    count = u64(record + 32), size = u64(record + 40), place = u64(record + 48);
  }
  if (place > source_.size || size > source_.size - place || count > kMostRecords ||
      size > kLargestDirectory || count > size / kHeaderSize)
    refuse(fmt::format("it has a directory of {} records and {} bytes at byte {}", count, size, place));
  std::vector<unsigned char> directory(size + 1);
  source_.read(place, directory.data(), size);
  uint64_t sum = 0, next = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (size - next < kHeaderSize) refuse("its directory is cut off");
    const auto* header = &directory[next];
    const uint64_t name = u16(header + 28), extra = u16(header + 30), comment = u16(header + 32);
    const auto length = kHeaderSize + name + extra + comment;
    if (u32(header) != 0x02014b50 || size - next < length) refuse("its directory is damaged");
    uint64_t bytes = u32(header + 24), stored = u32(header + 20), offset = u32(header + 42);
    const std::string record(reinterpret_cast<const char*>(header) + kHeaderSize, name);
    if (!apply_zip64(header + kHeaderSize + name, extra, bytes, stored, offset))
      refuse(fmt::format("the sizes of \"{}\" are damaged", record));
    if (u16(header + 10) != 0 || stored != bytes)
      refuse(fmt::format("\"{}\" is compressed, which nothing of torch.export is", record));
    add_record(header, record, bytes, offset);
    if (bytes > source_.size || (sum += bytes) > source_.size) refuse("its records overlap");
    next += length;
  }
  return sum;
}

void ZipFile::add_record(const unsigned char* header, const std::string& record, uint64_t size,
                         uint64_t place) {
  if (place > source_.size || source_.size - place < kLocalSize)
    refuse(fmt::format("\"{}\" begins outside of the file", record));
  unsigned char local[kLocalSize];
  source_.read(place, local, kLocalSize);
  if (u32(local) != 0x04034b50) refuse(fmt::format("\"{}\" has no header", record));
  const auto offset = place + kLocalSize + u16(local + 26) + u16(local + 28);
  if (offset > source_.size || size > source_.size - offset)
    refuse(fmt::format("\"{}\" ends outside of the file", record));
  if (!records_.emplace(record, Record{offset, size, u32(header + 16)}).second)
    refuse(fmt::format("it has two records \"{}\"", record));
}

void ZipFile::remove_common_folder() {
  if (records_.empty()) return;
  const auto folder = records_.begin()->first.substr(0, records_.begin()->first.find('/') + 1);
  if (folder.empty()) return;
  std::map<std::string, Record> inner;
  for (const auto& [record, where] : records_) {
    if (record.compare(0, folder.size(), folder) != 0) return;
    inner.emplace(record.substr(folder.size()), where);
  }
  records_ = std::move(inner);
}

const ZipFile::Record& ZipFile::find(const std::string& record) const {
  const auto found = records_.find(record);
  if (found == records_.end()) refuse(fmt::format("it has no record \"{}\"", record));
  return found->second;
}

std::string ZipFile::read(const std::string& record) const {
  std::string bytes(find(record).size, '\0');
  read(record, bytes.data());
  return bytes;
}

void ZipFile::read(const std::string& record, void* to) const {
  const auto& where = find(record);
  source_.read(where.offset, to, where.size);
  if (checksums_ == Checksums::Check && crc32(to, where.size) != where.crc)
    refuse(fmt::format("the checksum of \"{}\" is wrong: the file is damaged", record));
}

}  // namespace antegrad::program
