#include "util/call_site.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <unordered_map>

#include "antegrad/error.h"
#include "util/fork_mutex.h"
#include "util/process.h"

namespace antegrad::inline util {
namespace {

/// An address of the process, and where the linker has loaded it from.
struct Location {
  std::string module;    ///< path of the program or library
  std::string symbol;    ///< demangled, if the dynamic linker knows it
  uintptr_t offset = 0;  ///< the address as addr2line takes it
};

/// A function, and the line in it; inlined functions have their own.
struct Line {
  std::string function, file_and_line;
};

std::string demangled(const char* name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

/// Libraries that call the user's code or are called by it, but are not it.
bool is_foreign_module(const std::string& path) {
  const auto name = path.substr(path.rfind('/') + 1);
  static constexpr std::array kPrefixes{"libtorch",  "libc10", "libantegrad", "libc.",  "libc-",
                                        "libstdc++", "libgcc", "libgomp",     "libmkl", "ld-linux"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](const char* p) { return name.starts_with(p); });
}

/// Code of their headers, which is compiled into the user's program. Tests of antegrad are user code.
bool is_foreign_function(const std::string& name) {
  static constexpr std::array kPrefixes{"at::", "c10::", "torch::", "antegrad::", "std::", "__gnu_cxx::"};
  if (name.starts_with("antegrad::test::")) return false;
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](const char* p) { return name.starts_with(p); });
}

/// The same for functions that were inlined, whose names lack their namespaces.
bool is_foreign_file(const std::string& path) {
  static constexpr std::array kFolders{"/include/c++/", "/ATen/", "/c10/", "/torch/csrc/",
                                       "/include/antegrad/"};
  return std::any_of(kFolders.begin(), kFolders.end(),
                     [&](const char* f) { return path.find(f) != std::string::npos; });
}

Location locate(void* address) {
  Location location;
  Dl_info info{};
  link_map* map = nullptr;
  // The address is that of the instruction after the call, which may belong to another line.
  auto* call = static_cast<char*>(address) - 1;
  if (dladdr1(call, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return {};
  location.module = info.dli_fname;
  location.offset = reinterpret_cast<uintptr_t>(call) - map->l_addr;
  if (info.dli_sname != nullptr) location.symbol = demangled(info.dli_sname);
  return location;
}

/// Returns the inlined functions at an address, the innermost first, then the function itself.
std::vector<Line> lines_at(const Location& location) {
  std::vector<Line> lines;
  try {
    const auto found = run_process(
        {"addr2line", "-C", "-f", "-i", "-e", location.module, fmt::format("{:#x}", location.offset)});
    std::istringstream text(found.status == 0 ? found.output : "");
    for (Line line; std::getline(text, line.function) && std::getline(text, line.file_and_line);) {
      line.function = short_function_name(line.function);
      lines.push_back(line);
    }
  } catch (const Error&) {  // it is not installed
  }
  if (lines.empty() || lines[0].function == "??") lines = {{short_function_name(location.symbol), "?"}};
  return lines;
}

/// Describes a call, or returns "" if it is not the user's.
std::string describe(void* address) {
  const auto location = locate(address);
  if (location.module.empty() || is_foreign_module(location.module)) return "";
  if (!location.symbol.empty() && is_foreign_function(short_function_name(location.symbol))) return "";
  for (auto& [function, line] : lines_at(location)) {
    if (is_foreign_function(function) || is_foreign_file(line)) continue;
    if (const auto remark = line.find(" ("); remark != std::string::npos) line = line.substr(0, remark);
    if (line.find('?') == std::string::npos && !line.ends_with(":0"))
      return fmt::format("at {} in {}", line, function);
    const auto module = location.module.substr(location.module.rfind('/') + 1);
    return fmt::format("in {} ({}+{:#x})", function.empty() ? "a function" : function, module,
                       location.offset);
  }
  return "";
}

/// Answers of describe(). A program that is refused everywhere does not spend its time in addr2line.
struct Known {
  static constexpr size_t kMost = 1000;
  BriefMutex mutex;
  std::unordered_map<void*, std::string> descriptions;
};

}  // namespace

std::vector<void*> call_stack() {
  std::vector<void*> stack(100);
  stack.resize(backtrace(stack.data(), static_cast<int>(stack.size())));
  if (!stack.empty()) stack.erase(stack.begin());  // this function
  return stack;
}

std::string describe_call_site(const std::vector<void*>& stack) {
  static auto& known = *new Known;
  for (auto* address : stack) {
    {
      std::scoped_lock lock(known.mutex);
      const auto found = known.descriptions.find(address);
      if (found != known.descriptions.end() && found->second.empty()) continue;
      if (found != known.descriptions.end()) return found->second;
      if (known.descriptions.size() == Known::kMost) return "";
    }
    auto description = describe(address);
    std::scoped_lock lock(known.mutex);
    known.descriptions.emplace(address, description);
    if (!description.empty()) return description;
  }
  return "";
}

bool is_user_code(void* address) {
  const auto location = locate(address);
  return !location.module.empty() && !is_foreign_module(location.module);
}

std::string short_function_name(const std::string& full) {
  const auto demangled = full.substr(0, full.find(" [clone"));  // the optimizer's remark
  std::string name;
  int depth = 0;
  bool angles = true;  // `operator<` and `->` are no brackets
  for (size_t i = 0; i < demangled.size(); ++i) {
    const char c = demangled[i];
    if (demangled.compare(i, 8, "operator") == 0) angles = false;
    if (c == '(' && demangled.compare(i, 21, "(anonymous namespace)") == 0) {
      if (depth == 0) name += "(anonymous)";
      i += 20;
      continue;
    }
    if (c == '(' && demangled.compare(i, 2, "()") == 0 && name.ends_with("operator")) {
      name += "()";
      ++i;
      angles = true;
      continue;
    }
    const bool opens = c == '(' || c == '[' || (c == '<' && angles);
    const bool closes = c == ')' || c == ']' || (c == '>' && angles && depth > 0);
    if (opens) ++depth;
    if (depth == 0) name += c;
    if (closes) --depth;
    if (c == ' ' && depth == 0) angles = true;
  }
  for (const auto* suffix : {" const", " const &", " &", " &&"})
    if (name.ends_with(suffix)) name = name.substr(0, name.size() - std::string_view(suffix).size());
  const auto last_space = name.rfind(' ');  // after the type of the result
  return last_space == std::string::npos || name.find("operator") < last_space ? name
                                                                               : name.substr(last_space + 1);
}

}  // namespace antegrad::inline util
