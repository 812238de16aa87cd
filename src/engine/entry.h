#pragma once

namespace antegrad::engine {

/// Lets threads enter LibTorch's engine one after the other. Once a function for compiled autograd is set, a
/// pass that begins while another thread is between the engine's check and the call of that function throws
/// "Re-entrant into Compiled Autograd". The engine of a Python interpreter stays as it is.
void install_entry();

/// Lets the next thread enter. Called first by the function for compiled autograd.
void leave_entry();

}  // namespace antegrad::engine
