#pragma once
#include <functional>
#include <string>

namespace antegrad::fuzz {

/// How an attempt ended in one world.
struct Ending {
  bool threw = false;
  bool refused = false;  ///< antegrad said that it cannot do this
  bool invalid = false;  ///< the program itself is at fault
  std::string message;
};

Ending attempt(const std::function<void()>& work);

/// A backward pass found that what it needs was changed.
bool is_changed(const Ending& ending);
/// A backward pass found that what it needs is gone.
bool is_freed_graph(const Ending& ending);
/// A rule for views of tensors from outside, of which a compiled function makes new ones.
bool is_about_views(const Ending& ending);
/// Which of several changed tensors is met first depends on the order of nodes.
bool same_message(const Ending& a, const Ending& b);

}  // namespace antegrad::fuzz
