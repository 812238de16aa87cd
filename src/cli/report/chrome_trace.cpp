#include <algorithm>
#include <limits>
#include <map>

#include "cli/report/report_page.h"

namespace antegrad::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

int64_t number(const nlohmann::json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_number() ? found->get<int64_t>() : 0;
}
std::string text(const nlohmann::json& event, const char* name) {
  const auto found = event.find(name);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

OrderedJson metadata(const char* what, int64_t pid, int64_t tid, const std::string& name) {
  return {{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", {{"name", name}}}};
}

/// The events of one process. Times are relative to `origin`, which is in microseconds since 1970.
class ProcessEvents {
 public:
  ProcessEvents(const TraceFile& trace, int64_t origin, OrderedJson& out) : trace_(trace), out_(out) {
    for (const auto& event : trace.events) {
      if (event["e"] == "process") {
        pid_ = number(event, "pid");
        shift_ = number(event, "unix_us") - origin;
        out_.push_back(metadata("process_name", pid_, 0, text(event, "program")));
      }
      if (event["e"] == "function" || event["e"] == "version")
        if (const auto name = text(event, "name"); !name.empty()) names_[number(event, "f")] = name;
    }
  }

  void add() {
    for (const auto& event : trace_.events) {
      if (event["e"] == "begin") begin(event);
      if (event["e"] == "end") end(event);
    }
    for (auto& [id, span] : open_) {  // still open when the process ended
      span["ph"] = "B";
      out_.push_back(std::move(span));
    }
  }

 private:
  void begin(const nlohmann::json& event) {
    const auto tid = number(event, "tid");
    if (threads_.emplace(tid, true).second)
      out_.push_back(metadata("thread_name", pid_, tid, "thread " + std::to_string(tid)));
    const auto detail = text(event, "detail");
    OrderedJson args = OrderedJson::object();
    if (const auto f = number(event, "f"); f != 0)
      args["function"] = names_.count(f) ? names_[f] : std::to_string(f);
    if (const auto v = number(event, "v"); v != 0) args["version"] = v;
    if (const auto pass = text(event, "pass"); !pass.empty()) args["pass"] = pass;
    if (!detail.empty()) args["detail"] = detail;
    const auto name = text(event, "name");
    open_[number(event, "id")] = {{"ph", "X"},
                                  {"name", name == "pass" ? name + " " + detail : name},
                                  {"cat", "antegrad"},
                                  {"ts", shift_ + number(event, "t")},
                                  {"pid", pid_},
                                  {"tid", tid},
                                  {"args", std::move(args)}};
  }

  void end(const nlohmann::json& event) {
    const auto span = open_.find(number(event, "id"));
    if (span == open_.end()) return;
    span->second["dur"] = shift_ + number(event, "t") - span->second["ts"].get<int64_t>();
    out_.push_back(std::move(span->second));
    open_.erase(span);
  }

  const TraceFile& trace_;
  OrderedJson& out_;
  int64_t pid_ = 0, shift_ = 0;
  std::map<int64_t, std::string> names_;
  std::map<int64_t, bool> threads_;
  std::map<int64_t, OrderedJson> open_;
};

}  // namespace

std::string chrome_trace(const std::vector<TraceFile>& traces) {
  auto origin = std::numeric_limits<int64_t>::max();
  for (const auto& trace : traces)
    for (const auto& event : trace.events)
      if (event["e"] == "process") origin = std::min(origin, number(event, "unix_us"));
  auto events = OrderedJson::array();
  for (const auto& trace : traces) ProcessEvents(trace, origin, events).add();
  const OrderedJson out = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  return out.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace antegrad::cli
