#include "codegen/text/writer.h"

namespace antegrad::codegen {

void Writer::comment(std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    auto part = text.substr(0, end);
    // A trailing backslash would continue the comment on the next line.
    while (part.ends_with('\\') || part.ends_with(' ') || part.ends_with('/')) part.remove_suffix(1);
    line("//{}{}", part.empty() ? "" : " ", part);
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace antegrad::codegen
