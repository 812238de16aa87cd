#pragma once

namespace antegrad::capture {

/// From the first call on, a function that is being captured cannot register a hook on a tensor from outside
/// (register_hook(), retain_grad()): it would be registered once, and eager registers one in each call.
void refuse_hooks_of_outside();

}  // namespace antegrad::capture
