#include "effects/printing.h"

#include <fmt/format.h>

#include <cstdio>
#include <mutex>
#include <sstream>

#include "antegrad/effects.h"
#include "antegrad/error.h"

namespace antegrad {
namespace effects {
namespace {

using Sink = std::function<void(std::string_view)>;
auto& sink_mutex = *new std::mutex;
auto& sink = *new std::shared_ptr<const Sink>;

std::string text_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  std::ostringstream out;
  if (tensor.numel() == 1 && tensor.layout() == c10::kStrided)
    out << tensor.item();
  else
    out << tensor;
  return out.str();
}

/// Calls text(c) for characters and place() for each {}.
template <class Text, class Place>
void walk(std::string_view format, Text text, Place place) {
  for (size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    if (c != '{' && c != '}') {
      text(c);
      continue;
    }
    const char next = i + 1 < format.size() ? format[i + 1] : '\0';
    if (next == c)
      text(c);
    else if (c == '{' && next == '}')
      place();
    else
      throw Error(ErrorCode::InvalidArgument, "print",
                  fmt::format("\"{}\" has a single brace at position {}", format, i),
                  "Write {} for the contents of a tensor, and {{ or }} for a brace");
    ++i;
  }
}

}  // namespace

size_t count_places(std::string_view format) {
  size_t count = 0;
  walk(
      format, [](char) {}, [&] { ++count; });
  return count;
}

std::string text_of(std::string_view format, const std::vector<at::Tensor>& tensors) {
  std::string out;
  size_t next = 0;
  walk(
      format, [&](char c) { out += c; }, [&] { out += text_of(tensors.at(next++)); });
  return out;
}

void print_line(std::string line) {
  line += '\n';
  std::shared_ptr<const Sink> to;
  {
    const std::scoped_lock lock(sink_mutex);
    to = sink;
  }
  if (to != nullptr)
    (*to)(line);
  else
    std::fwrite(line.data(), 1, line.size(), stdout);
}

}  // namespace effects

void set_print(std::function<void(std::string_view line)> sink) {
  const std::scoped_lock lock(effects::sink_mutex);
  effects::sink = sink ? std::make_shared<const effects::Sink>(std::move(sink)) : nullptr;
}

}  // namespace antegrad
