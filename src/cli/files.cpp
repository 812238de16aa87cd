#include "cli/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "antegrad/error.h"

namespace antegrad::cli {
namespace {

Error io_error(const std::string& fact, const std::string& way_out) {
  return Error(ErrorCode::Io, "cli", fmt::format("{}: {}", fact, std::strerror(errno)), way_out);
}

}  // namespace

std::string read_file(const std::string& path) {
  const bool standard = path == "-";
  const auto close = [](std::FILE* file) {
    if (file != stdin) std::fclose(file);
  };
  const std::unique_ptr<std::FILE, decltype(close)> file(standard ? stdin : std::fopen(path.c_str(), "rb"),
                                                         close);
  const std::string way_out = "Name a file that can be read, or - for standard input";
  const auto what = standard ? std::string("standard input") : fmt::format("\"{}\"", path);
  if (file == nullptr) throw io_error(fmt::format("cannot open {}", what), way_out);
  std::string text;
  char buffer[1 << 16];
  for (size_t count = 0; (count = std::fread(buffer, 1, sizeof(buffer), file.get())) > 0;)
    text.append(buffer, count);
  if (std::ferror(file.get()) != 0) throw io_error(fmt::format("cannot read {}", what), way_out);
  return text;
}

void write_file(const std::string& where, const std::string& path, std::string_view bytes) {
  // Writes under another name first, so that nobody reads half a file. A device or a pipe is written
  // directly.
  std::error_code ignored;
  const bool in_place = std::filesystem::is_other(path, ignored);
  const auto part = in_place ? path : path + ".part";
  std::FILE* file = std::fopen(part.c_str(), "wb");
  bool done = file != nullptr;
  if (done) {
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    done = std::fclose(file) == 0 && written && (in_place || std::rename(part.c_str(), path.c_str()) == 0);
  }
  if (done) return;
  const int error = errno;
  if (file && !in_place) std::remove(part.c_str());
  throw Error(ErrorCode::Io, where, fmt::format("cannot write {}: {}", path, std::strerror(error)),
              "Name a file in a directory that can be written to and has room");
}

void write_output(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw io_error("cannot write to standard output", "Make room, or keep the reader of the pipe alive");
}

}  // namespace antegrad::cli
