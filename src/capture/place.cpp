#include "capture/place.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "capture/scope.h"
#include "util/call_site.h"

namespace antegrad::capture {
namespace {

constexpr size_t kLastOps = 3;

std::vector<std::string> last_ops(const ir::Graph& graph) {
  std::vector<std::string> ops;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend() && ops.size() < kLastOps; ++node)
    if (!node->op.starts_with("antegrad.")) ops.push_back(node->op);
  std::reverse(ops.begin(), ops.end());
  return ops;
}

std::string place(const ir::Graph& graph, const std::vector<void*>& stack) {
  std::vector<std::string> parts;
  if (auto site = describe_call_site(stack); !site.empty()) parts.push_back(std::move(site));
  if (!current_scope().empty()) parts.push_back(fmt::format("in scope '{}'", current_scope()));
  if (const auto ops = last_ops(graph); !ops.empty())
    parts.push_back(fmt::format("after {}", fmt::join(ops, ", ")));
  auto text = fmt::format("{}", fmt::join(parts, ", "));
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(text[0]));
  return text;
}

}  // namespace

Error with_place(const Error& error, const ir::Graph& graph, const std::vector<void*>& stack) {
  const std::string_view text = error.what();
  const auto end = text.find("] ");
  const auto where = place(graph, stack);
  if (where.empty() || !text.starts_with('[') || end == std::string_view::npos || !text.ends_with('.'))
    return error;
  return {error.code(), text.substr(1, end - 1), text.substr(end + 2, text.size() - end - 3), where};
}

std::vector<void*> call_stack_of(const std::exception& error) {
  const auto* thrown = dynamic_cast<const c10::Error*>(&error);
  if (thrown == nullptr || thrown->backtrace() == nullptr) return {};
  // One line per frame: "frame #2: function + 0x1f (0x7f65b397305d in library)".
  std::vector<void*> stack;
  const auto text = thrown->backtrace()->get();
  for (size_t at = text.find("(0x"); at != std::string::npos; at = text.find("(0x", at + 1)) {
    uintptr_t address = 0;
    const auto parsed = std::from_chars(text.data() + at + 3, text.data() + text.size(), address, 16);
    if (std::string_view(parsed.ptr).starts_with(" in ")) stack.push_back(reinterpret_cast<void*>(address));
  }
  return stack;
}

}  // namespace antegrad::capture
