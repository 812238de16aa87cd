#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <mutex>

#include "toolchain/compile_error.h"
#include "toolchain/elf_file.h"
#include "toolchain/exact_flags.h"
#include "toolchain/toolchain.h"
#include "util/process.h"

namespace antegrad::toolchain {
namespace {

constexpr const char* kWayOut = "Install a C compiler, or name one in ANTEGRAD_CC";

/// Returns the version in the first line of "COMPILER --version": "12.2.0" in "cc (Debian 12.2.0-14) 12.2.0",
/// "clang-14.0.6" in "Debian clang version 14.0.6".
std::string version_in(const std::string& line) {
  constexpr std::string_view kClang = "clang version ";
  const bool is_clang = line.find(kClang) != std::string::npos;
  const auto begin = is_clang ? line.find(kClang) + kClang.size() : line.rfind(' ') + 1;
  const auto version = line.substr(begin, line.find_first_not_of("0123456789.", begin) - begin);
  return (is_clang ? "clang-" : "") + (version.empty() ? "unknown" : version);
}

/// Returns an empty string when the compiler cannot be run.
std::string version_of(const std::string& compiler) try {
  const auto result = run_process({compiler, "--version"});
  return result.status == 0 ? version_in(result.output.substr(0, result.output.find('\n'))) : std::string();
} catch (const Error&) {
  return {};
}

struct Compiler {
  std::string command;
  std::string version;
};

Compiler find_compiler(const std::string& given) {
  std::string wanted = given;
  if (const char* named = std::getenv("ANTEGRAD_CC"); wanted.empty() && named) wanted = named;
  std::vector<std::string> candidates = {"cc", "clang", "gcc"};
  if (!wanted.empty()) candidates = {wanted};
  for (const auto& candidate : candidates) {
    if (auto version = version_of(candidate); !version.empty()) return {candidate, version};
  }
  const std::string which = wanted.empty() ? "none of the C compilers cc, clang, gcc runs"
                                           : fmt::format("the C compiler \"{}\" does not run", wanted);
  throw Error(ErrorCode::Compile, "toolchain", which, kWayOut);
}

std::vector<std::string> flags_for(Isa isa) {
  auto flags = exact_flags();
  flags.push_back(fmt::format("-march={}", isa_cpu(isa)));
  flags.push_back("-fcf-protection=none");
  flags.push_back("-pipe");
  if (isa == Isa::Avx512) flags.push_back("-mprefer-vector-width=512");
  return flags;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw Error(ErrorCode::Io, "toolchain", fmt::format("cannot write {}", path.string()), "Make room there");
}

std::vector<uint8_t> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class SystemToolchain final : public Toolchain {
 public:
  explicit SystemToolchain(std::string wanted) : wanted_(std::move(wanted)) {}

  std::string name() const override { return "cc-" + compiler().version; }

  Object compile(const std::string& source, const CodeTarget& target) const override {
    const auto isa = std::get<Isa>(target);
    const TemporaryFolder folder;
    const auto source_path = folder.path() / kSourceName, object_path = folder.path() / "kernel.o";
    write_text(source_path, source);
    std::vector<std::string> command = {compiler().command};
    for (auto& flag : flags_for(isa)) command.push_back(std::move(flag));
    for (const auto& argument :
         {std::string("-c"), source_path.string(), std::string("-o"), object_path.string()}) {
      command.push_back(argument);
    }
    const auto result = run_process(command);
    Object object = {read_bytes(object_path), {}};
    if (result.status != 0 || object.bytes.empty())
      throw compile_error(name(), command, result.output, source);
    object.symbols = defined_functions(object.bytes);
    return object;
  }

 private:
  const Compiler& compiler() const {
    std::call_once(found_, [this] { compiler_ = find_compiler(wanted_); });
    return compiler_;
  }

  const std::string wanted_;
  mutable std::once_flag found_;
  mutable Compiler compiler_;
};

}  // namespace

std::vector<std::string> exact_flags() {
  return {"-O3",
          "-std=gnu11",
          "-fPIC",
          "-fwrapv",
          "-fno-math-errno",
          "-fno-trapping-math",
          "-ffp-contract=off",
          "-fopenmp-simd",
          "-fno-asynchronous-unwind-tables",
          "-fno-stack-protector",
          "-fvisibility=default",
          "-w"};
}

ToolchainPtr system_toolchain(const std::string& compiler) {
  return std::make_shared<SystemToolchain>(compiler);
}

}  // namespace antegrad::toolchain
