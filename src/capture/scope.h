#pragma once
#include <string>

namespace antegrad::capture {

/// The path of the antegrad::Scope objects alive on this thread, joined by '.'.
const std::string& current_scope();

}  // namespace antegrad::capture
