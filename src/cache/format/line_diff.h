#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace antegrad::cache {

/// Returns the lines that differ, with "- " before those of `before` and "+ " before those of `after`, in
/// order; "@ line N" (of `before`) starts each hunk. Empty when the texts are equal. At most `max_lines`
/// lines, followed by a line that says how many were omitted.
std::string line_diff(std::string_view before, std::string_view after, size_t max_lines = 200);

}  // namespace antegrad::cache
