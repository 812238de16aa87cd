#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "cli/doctor/doctor.h"
#include "cli/text.h"
#include "toolchain/isa.h"

namespace antegrad::cli {
namespace {

constexpr std::string_view kPrefix = "ANTEGRAD_";

/// The variables documented in docs/options.md; a test keeps both lists consistent.
struct Variable {
  std::string_view name;
  std::vector<std::string_view> values;  ///< empty when any value is allowed
};

const std::vector<Variable>& known_variables() {
  static const std::vector<std::string_view> kFlag = {"0", "1"};
  static const std::vector<Variable> variables = {
      {"ANTEGRAD_UNSUPPORTED", {"error", "eager"}},
      {"ANTEGRAD_CHECK_RECAPTURE", kFlag},
      {"ANTEGRAD_MAX_VERSIONS", {}},
      {"ANTEGRAD_DYNAMIC", {"auto", "all", "none"}},
      {"ANTEGRAD_DISABLE_PASSES", {}},
      {"ANTEGRAD_COMPILE_ALL_SIZES", kFlag},
      {"ANTEGRAD_VERIFY", kFlag},
      {"ANTEGRAD_WRITABLE_INPUTS", kFlag},
      {"ANTEGRAD_BACKEND", {"eager", "nofuse", "default"}},
      {"ANTEGRAD_TOOLCHAIN", {"auto", "clang", "system"}},
      {"ANTEGRAD_COMPILE", {"blocking", "background"}},
      {"ANTEGRAD_TRACE", {}},
      {"ANTEGRAD_ISA", {"auto", "baseline", "avx2", "avx512"}},
      {"ANTEGRAD_MATMUL", {"auto", "libtorch", "onednn"}},
      {"ANTEGRAD_COMPILE_FAILURE", {"error", "eager"}},
      {"ANTEGRAD_DEBUG_COMPARE", kFlag},
      {"ANTEGRAD_CUDA_KERNELS", kFlag},
      {"ANTEGRAD_CUDA_SYNC", kFlag},
      {"ANTEGRAD_CACHE", {"on", "off", "strict"}},
      {"ANTEGRAD_CACHE_DIR", {}},
      {"ANTEGRAD_CACHE_KEY_FILE", {}},
      {"ANTEGRAD_CACHE_SHARED_DIR", {}},
      {"ANTEGRAD_CACHE_SHARED_WRITE", kFlag},
      {"ANTEGRAD_CACHE_REDIS", {}},
      {"ANTEGRAD_CACHE_REDIS_WRITE", kFlag},
      {"ANTEGRAD_CLANG_PLUGIN", {}},
      {"ANTEGRAD_CC", {}},
      {"ANTEGRAD_NVRTC", {}},
      {"ANTEGRAD_DEPS", {}},
  };
  return variables;
}

/// Returns the number of letters that must be inserted, removed or changed.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const auto changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

const Variable& nearest(std::string_view name) {
  const auto& all = known_variables();
  return *std::min_element(all.begin(), all.end(), [name](const Variable& a, const Variable& b) {
    return distance(name, a.name) < distance(name, b.name);
  });
}

void report_unknown(Findings& out, const std::string& name) {
  const auto& near = nearest(name);
  const bool misspelt = distance(name, near.name) <= 3;
  out.warn(name, misspelt ? fmt::format("is not known; {} is", near.name) : "is not known",
           misspelt ? fmt::format("Write {}, or unset it", near.name)
                    : "Unset it, or look it up in docs/options.md",
           {{"known", false}});
}

/// Hides the login in a URL, which may contain a password.
std::string shown(std::string_view name, const std::string& value) {
  const auto at = value.rfind('@');
  const auto scheme = value.find("://");
  if (name != "ANTEGRAD_CACHE_REDIS" || at == value.npos || scheme == value.npos) return value;
  return value.substr(0, scheme + 3) + "..." + value.substr(at);
}

void report_known(Findings& out, const Variable& variable, const std::string& value) {
  const std::string name(variable.name);
  const auto& values = variable.values;
  const bool is_count = name == "ANTEGRAD_MAX_VERSIONS";
  const bool is_number = !value.empty() && value.size() <= 7 &&
                         value.find_first_not_of("0123456789") == value.npos && std::stol(value) >= 1 &&
                         std::stol(value) <= 1'000'000;
  if (!values.empty() && std::find(values.begin(), values.end(), value) == values.end()) {
    out.problem(name, fmt::format("is \"{}\", which compile() refuses", value),
                fmt::format("Set it to {}, or unset it", fmt::join(values, ", ")), {{"value", value}});
  } else if (is_count && !is_number) {
    out.problem(name, fmt::format("is \"{}\", which compile() refuses", value),
                "Set it to a number from 1 to 1000000, or unset it", {{"value", value}});
  } else if (const auto isa = toolchain::isa_from_name(value);
             name == "ANTEGRAD_ISA" && isa && *isa > toolchain::detect_isa()) {
    out.problem(
        name, fmt::format("is {}, this machine runs {}", value, toolchain::isa_name(toolchain::detect_isa())),
        "Set it to auto, or unset it", {{"value", value}});
  } else {
    out.ok(name, shown(name, value), {{"value", shown(name, value)}});
  }
}

}  // namespace

void check_environment(Findings& out) {
  std::map<std::string, std::string> set;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (text.starts_with(kPrefix) && equals != text.npos)
      set.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  if (set.empty()) out.ok("variables", "none of ANTEGRAD_... is set");
  for (const auto& [name, value] : set) {
    const auto& all = known_variables();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Variable& v) { return v.name == name; });
    if (found == all.end())
      report_unknown(out, name);
    else
      report_known(out, *found, value);
  }
}

}  // namespace antegrad::cli
