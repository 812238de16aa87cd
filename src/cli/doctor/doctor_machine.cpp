#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <thread>

#include "cli/doctor/doctor.h"
#include "cli/text.h"
#include "toolchain/isa.h"

namespace antegrad::cli {
namespace {

constexpr uint64_t kFewBytes = uint64_t{1} << 30;  ///< clang alone takes a few hundred MB while it compiles

/// Returns the value after a name such as "MemTotal:", converted from KiB to bytes.
std::optional<uint64_t> memory_info(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    uint64_t kib = 0;
    if (word == name && file >> kib) return kib * 1024;
  }
  return std::nullopt;
}

/// Returns the memory limit of the control group; nothing when there is no limit or no control group.
std::optional<uint64_t> memory_limit() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  uint64_t bytes = 0;
  if (file >> bytes) return bytes;
  return std::nullopt;
}

void check_cores(Findings& out) {
  cpu_set_t set;
  const auto all = std::thread::hardware_concurrency();
  const int usable = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : static_cast<int>(all);
  out.ok("cores", fmt::format("{} usable", usable), {{"usable", usable}});
}

void check_memory(Findings& out) {
  const auto total = memory_info("MemTotal:"), available = memory_info("MemAvailable:");
  if (!total || !available) {
    out.warn("memory", "/proc/meminfo does not say how much there is", "Mount /proc");
    return;
  }
  const auto limit = memory_limit();
  Findings::Values values = {{"total", *total}, {"available", *available}};
  auto fact = fmt::format("{}, {} available", size_text(*total), size_text(*available));
  if (limit) {
    fact += fmt::format(", limited to {} here", size_text(*limit));
    values["limit"] = *limit;
  }
  if (std::min(*available, limit.value_or(*available)) < kFewBytes)
    out.warn("memory", fact,
             "Compiling may fail: make room, or load what was compiled elsewhere from a cache", values);
  else
    out.ok("memory", fact, values);
}

void check_instructions(Findings& out) {
  using toolchain::Isa;
  const auto best = toolchain::detect_isa();
  std::vector<std::string> usable, not_usable;
  for (const auto isa : {Isa::Baseline, Isa::Avx2, Isa::Avx512})
    (isa <= best ? usable : not_usable).emplace_back(toolchain::isa_name(isa));
  auto fact = fmt::format("{}; usable: {}", toolchain::isa_name(best), fmt::join(usable, ", "));
  if (!not_usable.empty()) fact += fmt::format("; not usable: {}", fmt::join(not_usable, ", "));
  const Findings::Values values = {{"best", toolchain::isa_name(best)}, {"usable", usable}};
  if (best == Isa::Baseline)
    out.warn("instruction set", fact, "Kernels will be slow: run on a processor with AVX2", values);
  else
    out.ok("instruction set", fact, values);
}

}  // namespace

void check_machine(Findings& out) {
  utsname name{};
  uname(&name);
  const auto fact = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  if (std::string_view(name.machine) == "x86_64")
    out.ok("system", fact);
  else
    out.problem("system", fact,
                "Kernels are made for x86-64 only: use Backend::Eager (ANTEGRAD_BACKEND=eager)");
  check_cores(out);
  check_memory(out);
  check_instructions(out);
}

}  // namespace antegrad::cli
