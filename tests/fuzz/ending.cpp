#include "fuzz/ending.h"

#include <antegrad/error.h>
#include <c10/util/Exception.h>

#include "fuzz/check.h"

namespace antegrad::fuzz {
namespace {

bool is_refusal(const antegrad::Error& error) {
  return error.code() == ErrorCode::NeedsGrad || error.code() == ErrorCode::UnsupportedOp ||
         error.code() == ErrorCode::UnsupportedTensor;
}

bool says(const Ending& ending, const char* what) { return ending.message.find(what) != std::string::npos; }

}  // namespace

Ending attempt(const std::function<void()>& work) {
  Ending ending;
  ending.threw = true;
  try {
    work();
    ending.threw = false;
  } catch (const antegrad::Error& error) {
    ending.refused = is_refusal(error);
    ending.message = message_of(error);
  } catch (const std::out_of_range& error) {  // a missing variable
    ending.invalid = true;
  } catch (const Hazard& error) {
    ending.invalid = true;
  } catch (const std::exception& error) {
    ending.message = message_of(error);
  }
  return ending;
}

bool is_changed(const Ending& ending) { return says(ending, "modified by an inplace operation"); }

bool is_freed_graph(const Ending& ending) { return says(ending, "backward through the graph a second time"); }

bool is_about_views(const Ending& ending) {
  return says(ending, "its base or another view of its base has been modified") ||
         says(ending, "A view was created in no_grad mode");
}

bool same_message(const Ending& a, const Ending& b) {
  return a.message == b.message || (is_changed(a) && is_changed(b));
}

}  // namespace antegrad::fuzz
