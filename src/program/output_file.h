#pragma once
#include <cstddef>
#include <string>

namespace antegrad::program {

/// A file that appears under its name when it is complete. Functions throw Error(Io).
class OutputFile {
 public:
  OutputFile(std::string path, std::string where);
  ~OutputFile();  ///< removes what finish() has not put in place
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, size_t bytes);
  void finish();

 private:
  [[noreturn]] void fail() const;

  std::string path_, where_, temporary_;
  int file_ = -1;
};

}  // namespace antegrad::program
