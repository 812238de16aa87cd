#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace antegrad::cache {

/// The lines that differ, "- " before those of `before` and "+ " before those of `after`, in order; "@ line
/// N" (of `before`) starts each place where the two part. Empty when they are equal. At most `max_lines`
/// lines, then a line that says how many were left out.
std::string line_diff(std::string_view before, std::string_view after, size_t max_lines = 200);

}  // namespace antegrad::cache
