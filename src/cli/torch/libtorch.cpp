#include <ATen/Parallel.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/headeronly/version.h>

#include <nlohmann/json.hpp>

#include "cli/torch/commands.h"

namespace antegrad::cli {
namespace {

/// The version is in the three highest bytes.
std::string version_of(uint64_t abi) {
  return fmt::format("{}.{}.{}", abi >> 56, abi >> 48 & 0xff, abi >> 40 & 0xff);
}

}  // namespace

std::string describe_libtorch() {
  Dl_info info{};
  const bool known = dladdr(reinterpret_cast<const void*>(&aoti_torch_abi_version), &info) != 0;
  const nlohmann::ordered_json out = {{"version", version_of(aoti_torch_abi_version())},
                                      {"built_for", TORCH_VERSION},
                                      {"path", known && info.dli_fname ? info.dli_fname : ""},
                                      {"threads", at::get_num_threads()},
                                      {"antegrad", ANTEGRAD_VERSION}};
  return out.dump() + "\n";
}

}  // namespace antegrad::cli
