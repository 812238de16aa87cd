#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "antegrad/trace.h"
#include "trace/json.h"

/// Events of the compiler, one line of JSON each. docs/report.md describes the format.
namespace antegrad::trace {

extern std::atomic<bool> active;
/// Whether a trace is being written. Must be checked before creating an event: without a trace, it costs one
/// load.
inline bool on() { return active.load(std::memory_order_relaxed); }

/// What the events of a thread refer to.
struct Context {
  int64_t function = 0;   ///< 0 for none
  int64_t version = 0;    ///< number of the version in the function, from 1; 0 while there is none
  const char* pass = "";  ///< "forward" or "backward"; a string literal
};
Context current();
/// Returns an id that is unique in this process.
int64_t new_function_id();

/// Sets the context of this thread's events for its lifetime.
class In {
 public:
  explicit In(const Context& context);
  ~In();
  In(const In&) = delete;
  In& operator=(const In&) = delete;

 private:
  Context outer_;
};

/// One event. Create it only if on() is true.
class Event {
 public:
  explicit Event(std::string_view kind);
  template <class T>
  Event& with(std::string_view name, const T& value) {
    object_.add(name, value);
    return *this;
  }
  void send() noexcept;

 private:
  JsonObject object_;
};

/// A time span, nested in the spans that the thread has open.
class Span {
 public:
  explicit Span(std::string_view name, std::string_view detail = {});
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  int64_t id_ = 0;  ///< 0 when no trace is being written
};

/// Reports something that the user may want to change. docs/report.md lists the kinds.
void warn(std::string_view kind, std::string_view text, std::string_view way_out = {});

/// Runs code that creates events. If it throws, the trace says so and the traced program continues.
template <class F>
void attempt(const F& make_events) {
  if (!on()) return;
  try {
    make_events();
  } catch (const std::exception& error) {
    warn("trace", error.what(), "This part of the trace is missing");
  }
}

}  // namespace antegrad::trace
