#include "cli/report/report_page.h"

#include "antegrad/error.h"
#include "cli/report/report_resources.h"

namespace antegrad::cli {
namespace {

using Json = nlohmann::json;

/// Returns JSON without '<', so that it cannot close the element that contains it.
std::string as_element_text(const Json& json) {
  const auto text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

/// Returns the template up to a mark, and removes that part and the mark from `rest`.
std::string_view take_until(std::string_view& rest, std::string_view mark) {
  const auto at = rest.find(mark);
  if (at == std::string_view::npos)
    throw Error(ErrorCode::Internal, "report", "the page has no " + std::string(mark));
  const auto before = rest.substr(0, at);
  rest.remove_prefix(at + mark.size());
  return before;
}

}  // namespace

std::string report_page(const std::vector<TraceFile>& traces, const std::string& directory) {
  Json data = {{"directory", directory}, {"traces", Json::array()}};
  for (const auto& trace : traces) {
    data["traces"].push_back(
        {{"file", trace.name}, {"bad_lines", trace.bad_lines}, {"events", trace.events}});
    if (!trace.closed) data["traces"].back()["not_closed"] = kNotClosed;
  }
  auto rest = resources::page();
  std::string out;
  out += take_until(rest, "@STYLE@");
  out += resources::style();
  out += take_until(rest, "@DATA@");
  out += as_element_text(data);
  out += take_until(rest, "@SCRIPT@");
  out += resources::script();
  out += rest;
  return out;
}

}  // namespace antegrad::cli
