#include "program/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "antegrad/error.h"

namespace antegrad::program {
namespace {

constexpr int kDeepest = 200;
constexpr size_t kLongest = 512 << 20;

/// Measures before parsing, since what walks over parsed JSON recurses.
int depth_of(const std::string& text) {
  int depth = 0, deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

[[noreturn]] void refuse_json(const std::string& fact) {
  throw Error(ErrorCode::Parse, "program:load", fact, "Save the program again with torch.export.save()");
}

}  // namespace

Json parse_json(const std::string& text, const std::string& record) {
  if (text.size() > kLongest) refuse_json(fmt::format("\"{}\" has {} bytes", record, text.size()));
  if (const int depth = depth_of(text); depth > kDeepest)
    refuse_json(fmt::format("\"{}\" is nested {} levels deep", record, depth));
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    refuse_json(fmt::format("\"{}\" is no JSON: {}", record, error.what()));
  }
}

int64_t integer_of(const Json& json) {
  if (json.is_number_unsigned() && json.get<uint64_t>() > std::numeric_limits<int64_t>::max())
    refuse_json(fmt::format("{} is too large", json.get<uint64_t>()));
  if (!json.is_number_integer()) refuse_json("a number should be whole");
  return json.get<int64_t>();
}

double real_of(const Json& json) {
  if (!json.is_string()) return json.get<double>();
  const auto& text = json.get_ref<const std::string&>();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  refuse_json(fmt::format("\"{}\" is no number", text));
}

std::pair<std::string, const Json&> member_of(const Json& json) {
  if (!json.is_object() || json.size() != 1) refuse_json("a union should have one member");
  return {json.begin().key(), json.begin().value()};
}

void check_fields(const Json& json, std::initializer_list<std::string_view> known, const char* what) {
  if (!json.is_object()) refuse_json(fmt::format("{} is no object", what));
  for (const auto& [name, content] : json.items())
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw Error(ErrorCode::Parse, "program:load",
                  fmt::format("{} has the unknown field \"{}\"", what, name),
                  "Export the program with PyTorch 2.11");
}

}  // namespace antegrad::program
