#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace antegrad {

/// Keeps the report of a long run small.
inline constexpr size_t kMostReasons = 100;

/// Appends a reason; drops the oldest if the list is full.
inline void keep_newest(std::vector<std::string>& reasons, std::string reason) {
  if (reasons.size() == kMostReasons) reasons.erase(reasons.begin());
  reasons.push_back(std::move(reason));
}

/// Appends a reason that is not in the list, unless the list is full. Returns whether it was appended.
inline bool append_unique(std::vector<std::string>& reasons, const std::string& reason) {
  if (reasons.size() == kMostReasons || std::find(reasons.begin(), reasons.end(), reason) != reasons.end())
    return false;
  reasons.push_back(reason);
  return true;
}

}  // namespace antegrad
