#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "antegrad/trace.h"
#include "trace/json.h"

/// Events of the compiler, a line of JSON each. The format is described in docs/report.md.
namespace antegrad::trace {

extern std::atomic<bool> active;
/// Whether a trace is written. What makes an event asks this first: without a trace it costs a load.
inline bool on() { return active.load(std::memory_order_relaxed); }

/// What the events of a thread belong to.
struct Context {
  int64_t function = 0;   ///< 0: none
  int64_t version = 0;    ///< of the function, from 1; 0: none yet
  const char* pass = "";  ///< "forward" or "backward"; a literal
};
Context current();
/// A number that no other function of this process has.
int64_t new_function_id();

/// Events of this thread belong to `context` while this lives.
class In {
 public:
  explicit In(const Context& context);
  ~In();
  In(const In&) = delete;
  In& operator=(const In&) = delete;

 private:
  Context outer_;
};

/// One event. Made only where on() is true.
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

/// A stretch of time, inside of those that the thread has open.
class Span {
 public:
  explicit Span(std::string_view name, std::string_view detail = {});
  ~Span();
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  int64_t id_ = 0;  ///< 0: no trace is written
};

/// Something that the user may want to change. `kind`: as docs/report.md has them.
void warn(std::string_view kind, std::string_view text, std::string_view way_out = {});

/// Runs what makes events. Should it throw, the trace says so, and what is traced goes on.
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
