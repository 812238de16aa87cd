#include "program/output_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "antegrad/error.h"

namespace antegrad::program {

OutputFile::OutputFile(std::string path, std::string where)
    : path_(std::move(path)), where_(std::move(where)), temporary_(path_ + ".XXXXXX") {
  file_ = mkstemp(temporary_.data());
  if (file_ < 0) fail();
  const auto mask = umask(0);
  umask(mask);
  fchmod(file_, 0666 & ~mask);
}

OutputFile::~OutputFile() {
  if (file_ >= 0) close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::write(const void* data, size_t bytes) {
  const auto* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const auto done = ::write(file_, next, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail();
    next += done;
    bytes -= done;
  }
}

void OutputFile::finish() {
  const int file = file_;
  file_ = -1;
  if (close(file) != 0 || std::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
  temporary_.clear();
}

void OutputFile::fail() const {
  throw Error(ErrorCode::Io, where_, fmt::format("cannot write \"{}\": {}", path_, std::strerror(errno)),
              "Name a file in a folder that exists and has room");
}

}  // namespace antegrad::program
