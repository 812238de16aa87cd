#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command_output.h"

namespace CLI {
class App;
}

namespace antegrad::cli {

struct DoctorOptions {
  bool json = false;
};
CLI::App& add_doctor(CLI::App& app, DoctorOptions& options);

/// Examines everything on this machine that compiled functions depend on. Changes nothing. The exit code is 1
/// when there is a problem.
CommandOutput run_doctor(const DoctorOptions& options);

/// The result of one check.
struct Check {
  enum class State { Ok, Warning, Problem };
  std::string topic;
  std::string name;
  State state = State::Ok;
  std::string fact;
  std::string way_out;            ///< "" when Ok
  nlohmann::ordered_json values;  ///< the same as numbers and paths, for programs
};

class Findings {
 public:
  /// Sets the topic of what is added next.
  void begin(std::string topic) { topic_ = std::move(topic); }
  using Values = nlohmann::ordered_json;
  void ok(std::string name, std::string fact, Values values = nullptr);
  void warn(std::string name, std::string fact, std::string way_out, Values values = nullptr);
  void problem(std::string name, std::string fact, std::string way_out, Values values = nullptr);

  const std::vector<Check>& checks() const { return checks_; }
  size_t count(Check::State state) const;

 private:
  std::string topic_;
  std::vector<Check> checks_;
};

// Each adds its findings; none throws because of what it finds.
void check_machine(Findings& out);
void check_libtorch(Findings& out);
void check_compilers(Findings& out);
void check_cuda(Findings& out);
void check_cache(Findings& out);
void check_environment(Findings& out);

}  // namespace antegrad::cli
