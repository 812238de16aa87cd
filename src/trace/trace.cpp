#include "trace/trace.h"

#include <chrono>

#include "trace/sink.h"

namespace antegrad::trace {
namespace {

thread_local Context context_of_thread;

int64_t number_of_thread() {
  static std::atomic<int64_t> threads{0};
  thread_local const int64_t number = ++threads;
  return number;
}

}  // namespace

std::atomic<bool> active{false};

Context current() { return context_of_thread; }

int64_t new_function_id() {
  static std::atomic<int64_t> functions{0};
  return ++functions;
}

In::In(const Context& context) : outer_(context_of_thread) { context_of_thread = context; }
In::~In() { context_of_thread = outer_; }

Event::Event(std::string_view kind) {
  object_.add("e", kind).add("t", Sink::instance().microseconds()).add("tid", number_of_thread());
  const auto& context = context_of_thread;
  if (context.function != 0) object_.add("f", context.function);
  if (context.version != 0) object_.add("v", context.version);
  if (*context.pass != '\0') object_.add("pass", std::string_view(context.pass));
}

void Event::send() noexcept { Sink::instance().write(object_.text()); }

Span::Span(std::string_view name, std::string_view detail) {
  if (!on()) return;
  static std::atomic<int64_t> spans{0};
  id_ = ++spans;
  Event event("begin");
  event.with("id", id_).with("name", name);
  if (!detail.empty()) event.with("detail", detail);
  event.send();
}

Span::~Span() {
  if (id_ == 0 || !on()) return;
  try {
    Event("end").with("id", id_).send();
  } catch (...) {  // out of memory: the span stays open
  }
}

void warn(std::string_view kind, std::string_view text, std::string_view way_out) {
  if (!on()) return;
  Event event("warning");
  event.with("kind", kind).with("text", text);
  if (!way_out.empty()) event.with("way_out", way_out);
  event.send();
}

void start(const std::string& directory) { Sink::instance().start(directory); }
void stop() { Sink::instance().stop(); }
std::string file() { return Sink::instance().file(); }
std::vector<std::string> problems() { return Sink::instance().problems(); }

}  // namespace antegrad::trace
