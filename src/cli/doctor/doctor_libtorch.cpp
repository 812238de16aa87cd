#include <fmt/format.h>

#include <chrono>

#include "antegrad/error.h"
#include "cli/doctor/doctor.h"
#include "cli/text.h"
#include "cli/torch_program.h"
#include "util/process.h"

namespace antegrad::cli {
namespace {

using Json = nlohmann::ordered_json;

void check_versions(Findings& out, const Json& found) {
  const auto text = [&](const char* name) { return found.value(name, std::string()); };
  const auto version = text("version"), built_for = text("built_for"), own = text("antegrad");
  if (own != ANTEGRAD_VERSION)
    out.problem("antegrad-torch", fmt::format("is of antegrad {}, this command of {}", own, ANTEGRAD_VERSION),
                "Install all of antegrad again");
  const Json values = {{"version", version}, {"built_for", built_for}, {"path", text("path")}};
  if (version == built_for)
    out.ok("version", fmt::format("{}, which antegrad was built for", version), values);
  else
    out.problem("version", fmt::format("{}, but antegrad was built for {}", version, built_for),
                fmt::format("Put LibTorch {} first on the library path, or build antegrad again", built_for),
                values);
  out.ok("library", text("path"));
  out.ok("threads", fmt::format("{}", found.value("threads", 0)), {{"threads", found.value("threads", 0)}});
}

}  // namespace

void check_libtorch(Findings& out) {
  const auto program = find_torch_program();
  if (!program.path) {
    out.problem("antegrad-torch", fmt::format("is not in {}", program.places.back().parent_path().string()),
                "Install all of antegrad: antegrad run and bench need it");
    return;
  }
  constexpr const char* kWayOut =
      "See that LibTorch is where it was when antegrad was built, or set LD_LIBRARY_PATH";
  const auto start = std::chrono::steady_clock::now();
  ProcessResult result;
  try {
    result = run_process({program.path->string(), "libtorch"});
  } catch (const Error& error) {
    out.problem("antegrad-torch", first_line(error.what()), kWayOut);
    return;
  }
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto found = Json::parse(result.output, nullptr, false);
  if (result.status != 0 || !found.is_object()) {
    out.problem("antegrad-torch",
                fmt::format("does not start (exit code {}): {}", result.status, first_line(result.output)),
                kWayOut);
    return;
  }
  out.ok("antegrad-torch", fmt::format("{}, starts in {}", program.path->string(), time_text(seconds)),
         {{"path", program.path->string()}, {"start_s", seconds}});
  check_versions(out, found);
}

}  // namespace antegrad::cli
