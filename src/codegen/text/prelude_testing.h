#pragma once
// For tests: prelude functions, compiled by the system's C compiler into loops over arrays, with the flags of
// generated code and for one instruction set.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "codegen/text/prelude.h"

namespace antegrad::codegen {

/// The signature of ag_pow_f32 is {"ag_pow_f32", "float", {"float", "float"}}. A function without arguments
/// gets no loop.
struct Signature {
  std::string name, result;
  std::vector<std::string> arguments;
};

/// Returns the x86-64 instruction sets that this machine supports.
inline std::vector<std::string> testable_isas() {
  std::vector<std::string> isas = {"x86-64"};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) isas.emplace_back("x86-64-v3");
  if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    isas.emplace_back("x86-64-v4");
  return isas;
}

class CompiledPrelude {
 public:
  /// `more` is C text to append. The environment variable PRELUDE_CC overrides the compiler cc.
  CompiledPrelude(const std::vector<Signature>& functions, const std::string& isa,
                  const std::string& more = "") {
    std::string pattern = std::filesystem::temp_directory_path() / "antegrad-prelude-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = pattern;
    std::ofstream(folder_ / "loops.c") << source(functions) << more;
    const char* compiler = std::getenv("PRELUDE_CC");
    compile(compiler != nullptr ? compiler : "cc", isa);
    library_ = dlopen((folder_ / "loops.so").c_str(), RTLD_NOW);
    if (library_ == nullptr) throw std::runtime_error(dlerror());
  }
  CompiledPrelude(const CompiledPrelude&) = delete;
  ~CompiledPrelude() {
    if (library_ != nullptr) dlclose(library_);
    std::filesystem::remove_all(folder_);
  }

  /// out[i] = name(arguments[0][i], …).
  template <class Result, class... Arguments>
  std::vector<Result> map(const std::string& name, const std::vector<Arguments>&... arguments) const {
    const size_t n = std::min({arguments.size()...});
    const auto out = std::make_unique<Result[]>(n);  // std::vector<bool> has no array
    const void* pointers[] = {arguments.data()...};
    symbol<void(void*, const void* const*, int64_t)>("loop_" + name)(out.get(), pointers,
                                                                     static_cast<int64_t>(n));
    return std::vector<Result>(out.get(), out.get() + n);
  }

  template <class Function>
  Function* symbol(const std::string& name) const {
    void* address = dlsym(library_, name.c_str());
    if (address == nullptr) throw std::runtime_error("no symbol " + name);
    return reinterpret_cast<Function*>(address);
  }

  /// Whether the compiler reports that the function's loop was vectorised.
  bool is_vectorised(const std::string& name) const {
    const std::string place = "loops.c:" + std::to_string(lines_.at(name)) + ":";
    for (size_t at = 0; (at = report_.find(place, at)) != std::string::npos; ++at) {
      const auto line = report_.substr(at, report_.find('\n', at) - at);
      if (line.find("vectorized") != std::string::npos) return true;
    }
    return false;
  }

 private:
  void compile(const std::string& compiler, const std::string& isa) {
    const std::string base = (folder_ / "loops").string();
    const std::string report_flag = std::system((compiler + " --version 2>&1 | grep -q clang").c_str()) == 0
                                        ? "-Rpass=loop-vectorize"
                                        : "-fopt-info-vec";
    const std::string command = compiler + " -std=gnu11 -march=" + isa +
                                " -O3 -ffp-contract=off -fno-math-errno -fno-trapping-math -shared -fPIC " +
                                report_flag + " -o " + base + ".so " + base + ".c -lm 2> " + base + ".txt";
    const bool failed = std::system(command.c_str()) != 0;
    std::ifstream report(base + ".txt");
    report_.assign(std::istreambuf_iterator<char>(report), {});
    if (failed) throw std::runtime_error(command + "\n" + report_);
  }

  std::string source(const std::vector<Signature>& functions) {
    std::vector<std::string> names;
    for (const auto& function : functions) names.push_back(function.name);
    std::string text = prelude_for(names);
    for (const auto& [name, result, arguments] : functions) {
      if (arguments.empty()) continue;
      std::string casts, call;
      for (size_t i = 0; i < arguments.size(); ++i) {
        const auto letter = std::string(1, static_cast<char>('a' + i));
        casts += "  const " + arguments[i] + "* " + letter + " = in[" + std::to_string(i) + "];\n";
        call += (i == 0 ? "" : ", ") + letter + "[i]";
      }
      text += "void loop_" + name + "(" + result + "* restrict out, const void* const* in, int64_t n) {\n" +
              casts;
      lines_[name] = 1 + std::count(text.begin(), text.end(), '\n');
      text += "  for (int64_t i = 0; i < n; ++i) out[i] = " + name + "(" + call + ");\n}\n";
    }
    return text;
  }

  std::filesystem::path folder_;
  std::map<std::string, int64_t> lines_;
  std::string report_;
  void* library_ = nullptr;
};

}  // namespace antegrad::codegen
