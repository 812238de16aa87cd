#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace antegrad {

/// A report of a long run stays small.
inline constexpr size_t kMostReasons = 100;

/// Makes room by dropping the oldest.
inline void keep_newest(std::vector<std::string>& reasons, std::string reason) {
  if (reasons.size() == kMostReasons) reasons.erase(reasons.begin());
  reasons.push_back(std::move(reason));
}

/// Each once; those of the beginning are kept. Whether it is a new one.
inline bool keep_once(std::vector<std::string>& reasons, const std::string& reason) {
  if (reasons.size() == kMostReasons || std::find(reasons.begin(), reasons.end(), reason) != reasons.end())
    return false;
  reasons.push_back(reason);
  return true;
}

}  // namespace antegrad
