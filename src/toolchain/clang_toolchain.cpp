#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <optional>

#include "toolchain/clang_plugin.h"
#include "toolchain/clang_process.h"
#include "toolchain/compile_error.h"
#include "toolchain/elf_file.h"
#include "toolchain/toolchain.h"
#include "util/memory_room.h"
#include "util/process_end.h"

#ifndef ANTEGRAD_CLANG_VERSION
#define ANTEGRAD_CLANG_VERSION "19"
#endif
namespace antegrad::toolchain {
namespace {

/// Free address space required to open LLVM in this process (it permanently takes about 300 MB, and the
/// program should keep most of what its limit allows) and to compile in it (one large kernel and a thread
/// must fit easily).
constexpr size_t kRoomToOpen = size_t{1} << 30, kRoomToCompile = size_t{1} << 28;

std::atomic<bool> broken = false;  ///< LLVM ran out of memory in this process and must not be used again

/// Whether LLVM can be used in this process now; otherwise another process is used.
bool fits_here() {
  if (broken || process_end::llvm_lost()) return false;
  return has_room(opened_clang_plugin() != nullptr ? kRoomToCompile : kRoomToOpen);
}

/// Returns why no process can be started for clang.
std::string program_problem() {
  std::error_code ignored;
  for (const auto& path : {clang_plugin_path(), clang_program_path()})
    if (!std::filesystem::exists(path, ignored)) return fmt::format("{} does not exist", path);
  return {};
}

/// Measured on pointwise and row kernels: SLP vectorisation (-vectorize-slp) adds a few percent of compile
/// time and changes none of them; -O2 generates the same code in the same time. Two thirds of the time go
/// into machine code generation, so less code (constant sizes, no remainder loops) is what compiles faster.
std::vector<std::string> arguments_for(Isa isa) {
  std::vector<std::string> arguments = {"-triple",
                                        "x86_64-pc-linux-gnu",
                                        "-target-cpu",
                                        std::string(isa_cpu(isa)),
                                        "-emit-obj",
                                        "-O3",
                                        "-vectorize-loops",
                                        "-mrelocation-model",
                                        "pic",
                                        "-pic-level",
                                        "2",
                                        "-ffp-contract=off",
                                        "-fwrapv",
                                        "-fopenmp-simd",
                                        "-std=gnu11",
                                        "-fgnuc-version=4.2.1",
                                        "-nostdsysteminc",
                                        "-nobuiltininc",
                                        "-discard-value-names",
                                        "-w"};
  if (isa == Isa::Avx512) arguments.push_back("-mprefer-vector-width=512");
  for (const char* argument : {"-x", "c", kSourceName}) arguments.push_back(argument);
  return arguments;
}

/// Touches 1 MB of stack. The stack of the main thread grows on use, and if there is no memory left then, the
/// process gets a signal; LLVM's share is claimed while there is room.
[[gnu::noinline]] void grow_stack() {
  volatile char bytes[size_t{1} << 20];
  for (size_t i = 0; i < sizeof(bytes); i += 4096) bytes[i] = 0;
}

/// Returns nothing when LLVM ran out of memory.
std::optional<ClangRun> run_plugin(const ClangPlugin& plugin, const std::vector<std::string>& arguments,
                                   const std::string& source) {
  std::vector<const char*> pointers;
  for (const auto& argument : arguments) pointers.push_back(argument.c_str());
  ClangRun run;
  const antegrad_clang_request request = {source.data(),
                                          source.size(),
                                          pointers.data(),
                                          pointers.size(),
                                          &run,
                                          [](void* context, const char* bytes, size_t size) {
                                            static_cast<ClangRun*>(context)->object.assign(bytes,
                                                                                           bytes + size);
                                          },
                                          [](void* context, const char* text, size_t size) {
                                            static_cast<ClangRun*>(context)->diagnostics.assign(text, size);
                                          }};
  grow_stack();
  const process_end::Section section(process_end::Work::InLlvm);
  const int made = plugin.compile(&request);
  if (made == kOutOfMemory) return std::nullopt;
  if (made == kRejected) run.object.clear();
  return run;
}

class ClangToolchain final : public Toolchain {
 public:
  std::string name() const override { return "clang-" ANTEGRAD_CLANG_VERSION; }

  Object compile(const std::string& source, const CodeTarget& target) const override {
    const auto isa = std::get<Isa>(target);
    const auto arguments = arguments_for(isa);
    std::optional<ClangRun> run;
    if (fits_here()) {
      const auto& plugin = clang_plugin();
      if (!plugin.compile) throw unavailable(plugin.problem);
      run = run_plugin(plugin, arguments, source);
      if (!run) broken = true;
    }
    if (!run) run = run_clang_program(arguments, source);
    if (run->object.empty()) throw failure(arguments, run->diagnostics, source);
    auto symbols = defined_functions(run->object);
    return {std::move(run->object), std::move(symbols)};
  }

 private:
  static Error unavailable(const std::string& problem) {
    return Error(ErrorCode::Compile, "toolchain", "clang cannot be opened: " + problem,
                 "Install clang 19's libraries (libclang-cpp19), name the plugin in ANTEGRAD_CLANG_PLUGIN, "
                 "or use the "
                 "system compiler");
  }
  Error failure(std::vector<std::string> arguments, const std::string& diagnostics,
                const std::string& source) const {
    arguments.insert(arguments.begin(), {"clang", "-cc1"});
    return compile_error(name(), arguments, diagnostics, source);
  }
};

}  // namespace

ToolchainPtr clang_toolchain() {
  static const auto& toolchain = *new ToolchainPtr(std::make_shared<ClangToolchain>());
  return toolchain;
}

std::string clang_unavailable() {
  if (const auto* plugin = opened_clang_plugin()) return plugin->problem;
  return fits_here() ? clang_plugin().problem : program_problem();
}

std::string default_toolchain_name() {
  std::error_code ignored;
  if (opened_clang_plugin() != nullptr ? clang_unavailable().empty()
                                       : std::filesystem::exists(clang_plugin_path(), ignored))
    return clang_toolchain()->name();
  return system_toolchain()->name();
}

ToolchainPtr default_toolchain() {
  return clang_unavailable().empty() ? clang_toolchain() : system_toolchain();
}

}  // namespace antegrad::toolchain
