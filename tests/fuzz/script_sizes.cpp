#include <c10/util/StringUtil.h>

#include <optional>
#include <regex>

#include "fuzz/script_text.h"

namespace antegrad::fuzz {
namespace {

/// A text, split at its whole numbers.
struct Parts {
  std::vector<std::string> between;
  std::vector<int64_t> numbers;
};

Parts parts_of(const std::string& text) {
  static const std::regex number(R"(int64_t\{(-?[0-9]+)\})");
  Parts parts;
  auto end = text.begin();
  for (std::sregex_iterator match(text.begin(), text.end(), number), none; match != none; ++match) {
    parts.between.emplace_back(end, text.begin() + match->position());
    parts.numbers.push_back(std::stoll((*match)[1]));
    end = text.begin() + match->position() + match->length();
  }
  parts.between.emplace_back(end, text.end());
  return parts;
}

/// Writes a number as factor * size / divisor + offset, if that holds in every call.
std::optional<std::string> as_size(const std::vector<FunctionText>& calls,
                                   const std::vector<int64_t>& numbers) {
  for (const int64_t divisor : {1, 2})
    for (const int64_t factor : {1, 2, 3, 4, 6, 8})
      for (size_t i = 0; i < calls[0].input_sizes.size(); ++i)
        for (size_t d = 0; d < calls[0].input_sizes[i].size(); ++d) {
          const auto scaled = [&](size_t call) -> std::optional<int64_t> {
            const auto& sizes = calls[call].input_sizes[i];
            if (d >= sizes.size()) return std::nullopt;
            return factor * sizes[d] / divisor;
          };
          const auto offset = numbers[0] - scaled(0).value_or(0);
          bool fits = true;
          for (size_t call = 0; call < calls.size() && fits; ++call)
            fits = scaled(call) && *scaled(call) + offset == numbers[call];
          if (fits)
            return c10::str("int64_t{", factor, " * x[", i, "].size(", d, ") / ", divisor, " + ", offset,
                            "}");
        }
  return std::nullopt;
}

std::optional<std::string> over_sizes(const std::vector<FunctionText>& calls) {
  std::vector<Parts> parts;
  for (const auto& call : calls) parts.push_back(parts_of(call.text));
  for (const auto& other : parts)
    if (other.between != parts[0].between) return std::nullopt;
  std::string text = parts[0].between[0];
  for (size_t n = 0; n < parts[0].numbers.size(); ++n) {
    std::vector<int64_t> numbers;
    bool same = true;
    for (const auto& call : parts) {
      numbers.push_back(call.numbers[n]);
      same = same && call.numbers[n] == numbers[0];
    }
    const auto size = same ? c10::str("int64_t{", numbers[0], "}") : as_size(calls, numbers).value_or("");
    if (size.empty()) return std::nullopt;
    text += size + parts[0].between[n + 1];
  }
  return text;
}

}  // namespace

std::string joined_functions(const std::vector<FunctionText>& functions) {
  if (functions.empty()) return "    return {};\n";
  if (auto text = over_sizes(functions)) return *text;
  std::string text;
  for (const auto& call : functions) {
    std::string condition;
    for (size_t i = 0; i < call.input_sizes.size(); ++i)
      condition += c10::str(i == 0 ? "" : " && ", "x[", i, "].sizes() == std::vector<int64_t>{",
                            c10::Join(", ", call.input_sizes[i]), "}");
    text += c10::str("    if (", condition.empty() ? "true" : condition, ") {\n", call.text, "    }\n");
  }
  return text + "    return {};\n";
}

}  // namespace antegrad::fuzz
