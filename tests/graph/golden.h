#pragma once
// For tests whose expected texts are files. With ANTEGRAD_UPDATE_GOLDEN=1 in the environment they rewrite the
// files; review the diff.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace antegrad {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

inline bool updating_golden() {
  const auto* update = std::getenv("ANTEGRAD_UPDATE_GOLDEN");
  return update != nullptr && std::string(update) == "1";
}

}  // namespace antegrad
