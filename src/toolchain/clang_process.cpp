#include "toolchain/clang_process.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "antegrad/error.h"
#include "toolchain/clang_plugin.h"
#include "util/process.h"

#ifndef ANTEGRAD_CLANG_PROGRAM_FOLDER
#define ANTEGRAD_CLANG_PROGRAM_FOLDER "../libexec/antegrad"  // from the folder of the plugin
#endif

namespace antegrad::toolchain {
namespace {

constexpr const char* kProgramFile = "antegrad-clang";
constexpr int kRejectedStatus = 1;  ///< the program's exit status when clang rejects the source

[[noreturn]] void fail(const std::string& fact) {
  throw Error(ErrorCode::Compile, "toolchain", fact,
              "Raise the memory limit (ulimit -v), compile before memory is used up, or set "
              "Options::toolchain to System");
}

/// An anonymous file in memory, outside the address space of this process.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("antegrad", MFD_CLOEXEC)) {
    if (descriptor_ < 0) fail(fmt::format("no memory for the files of clang: {}", std::strerror(errno)));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void add(const char* bytes, size_t size) const {
    while (size > 0) {
      const auto count = ::write(descriptor_, bytes, size);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) fail(fmt::format("no memory for the source of a kernel: {}", std::strerror(errno)));
      bytes += count;
      size -= count;
    }
  }
  void rewind() const { ::lseek(descriptor_, 0, SEEK_SET); }
  std::vector<uint8_t> contents() const {
    std::vector<uint8_t> bytes(static_cast<size_t>(::lseek(descriptor_, 0, SEEK_END)));
    size_t done = 0;
    while (done < bytes.size()) {
      const auto count =
          ::pread(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) fail(fmt::format("what clang has made cannot be read: {}", std::strerror(errno)));
      done += count;
    }
    return bytes;
  }
  int descriptor() const { return descriptor_; }

 private:
  const int descriptor_;
};

}  // namespace

std::string clang_program_path() {
  const auto folder = std::filesystem::path(clang_plugin_path()).parent_path();
  std::error_code ignored;
  const auto beside = folder / kProgramFile;
  if (std::filesystem::exists(beside, ignored)) return beside;
  return (folder / ANTEGRAD_CLANG_PROGRAM_FOLDER / kProgramFile).lexically_normal();
}

ClangRun run_clang_program(const std::vector<std::string>& arguments, const std::string& source) {
  const MemoryFile input, output;
  input.add(source.data(), source.size());
  input.rewind();
  std::vector<std::string> command = {clang_program_path(), clang_plugin_path()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ProcessResult result;
  try {
    result = run_process(command, {input.descriptor(), output.descriptor()});
  } catch (const Error& error) {
    fail(fmt::format(
        "this process has too little memory for clang, and a separate process cannot be started: {}",
        error.what()));
  }
  if (result.status != 0 && result.status != kRejectedStatus)
    fail(fmt::format("{} exited with status {}: {}", command.front(), result.status, result.output));
  ClangRun run{{}, std::move(result.output)};
  if (result.status == 0) run.object = output.contents();
  return run;
}

}  // namespace antegrad::toolchain
