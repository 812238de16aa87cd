#include "cli/doctor/doctor.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "cli/errors.h"
#include "cli/progress_bar.h"
#include "cli/text.h"

namespace antegrad::cli {
namespace {

constexpr const char* kDoctorExamples =
    "Each line is ok, a warning or a problem; the last two come with a way out. Nothing is changed.\n"
    "\n"
    "Examples:\n"
    "  antegrad doctor\n"
    "  antegrad doctor --json | jq '.checks[] | select(.state != \"ok\")'\n"
    "\n"
    "Exit codes: 0 no problem; 1 a problem was found; 2 wrong usage.";

const char* state_name(Check::State state) {
  switch (state) {
    case Check::State::Ok:
      return "ok";
    case Check::State::Warning:
      return "warning";
    case Check::State::Problem:
      return "problem";
  }
  return "problem";
}

std::string table_of(const Findings& findings) {
  std::string out, topic;
  size_t width = 0;
  for (const auto& check : findings.checks()) width = std::max(width, check.name.size());
  for (const auto& check : findings.checks()) {
    if (check.topic != topic) out += fmt::format("{}{}\n", topic.empty() ? "" : "\n", check.topic);
    topic = check.topic;
    out += fmt::format("  {:<7}  {:<{}}  {}\n", state_name(check.state), check.name, width,
                       one_line(check.fact));
    if (!check.way_out.empty())
      out += fmt::format("  {:<7}  {:<{}}  {}.\n", "", "", width, one_line(check.way_out));
  }
  return out + fmt::format("\n{}, {}\n", count_text(findings.count(Check::State::Problem), "problem"),
                           count_text(findings.count(Check::State::Warning), "warning"));
}

std::string json_of(const Findings& findings) {
  using Json = nlohmann::ordered_json;
  auto checks = Json::array();
  for (const auto& check : findings.checks()) {
    Json one = {{"topic", check.topic},
                {"name", check.name},
                {"state", state_name(check.state)},
                {"fact", check.fact}};
    if (!check.way_out.empty()) one["way_out"] = check.way_out;
    if (!check.values.is_null()) one["values"] = check.values;
    checks.push_back(std::move(one));
  }
  const Json out = {{"antegrad", ANTEGRAD_VERSION},
                    {"problems", findings.count(Check::State::Problem)},
                    {"warnings", findings.count(Check::State::Warning)},
                    {"checks", std::move(checks)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

void Findings::ok(std::string name, std::string fact, Values values) {
  checks_.push_back({topic_, std::move(name), Check::State::Ok, std::move(fact), {}, std::move(values)});
}

void Findings::warn(std::string name, std::string fact, std::string way_out, Values values) {
  checks_.push_back({topic_, std::move(name), Check::State::Warning, std::move(fact), std::move(way_out),
                     std::move(values)});
}

void Findings::problem(std::string name, std::string fact, std::string way_out, Values values) {
  checks_.push_back({topic_, std::move(name), Check::State::Problem, std::move(fact), std::move(way_out),
                     std::move(values)});
}

size_t Findings::count(Check::State state) const {
  return std::count_if(checks_.begin(), checks_.end(),
                       [state](const Check& check) { return check.state == state; });
}

CLI::App& add_doctor(CLI::App& app, DoctorOptions& options) {
  auto& command =
      *app.add_subcommand("doctor", "check machine, LibTorch, compilers, CUDA, cache and environment");
  command.add_flag("--json", options.json, "print JSON");
  command.footer(kDoctorExamples);
  return command;
}

CommandOutput run_doctor(const DoctorOptions& options) {
  Findings findings;
  constexpr std::pair<const char*, void (*)(Findings&)> kTopics[] = {
      {"machine", check_machine}, {"LibTorch", check_libtorch}, {"compilers", check_compilers},
      {"CUDA", check_cuda},       {"cache", check_cache},       {"environment", check_environment}};
  {
    ProgressBar progress("doctor");
    size_t done = 0;
    for (const auto& [topic, check] : kTopics) {
      findings.begin(topic);
      check(findings);
      progress(++done, std::size(kTopics));
    }
  }
  const bool failed = findings.count(Check::State::Problem) > 0;
  return {options.json ? json_of(findings) : table_of(findings), failed ? kFailed : kDone};
}

}  // namespace antegrad::cli
