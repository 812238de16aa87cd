#pragma once
#include <functional>
#include <string>

namespace antegrad::fuzz {

/// How an attempt ended in one world.
struct Ending {
  bool threw = false;
  bool refused = false;  ///< antegrad refused
  bool invalid = false;  ///< the program itself is at fault
  std::string message;
};

Ending attempt(const std::function<void()>& work);

/// Whether a backward pass found that a tensor it needs was modified.
bool is_changed(const Ending& ending);
/// Whether a backward pass found that a tensor it needs was freed.
bool is_freed_graph(const Ending& ending);
/// Whether a rule about views of tensors from outside was violated, of which a compiled function makes new
/// ones.
bool is_about_views(const Ending& ending);
/// Which of several modified tensors is found first depends on the order of nodes.
bool same_message(const Ending& a, const Ending& b);

}  // namespace antegrad::fuzz
