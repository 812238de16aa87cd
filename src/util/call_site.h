#pragma once
#include <string>
#include <vector>

namespace antegrad::inline util {

/// Returns the return addresses of the calls that this thread is in, the innermost first. Cheap: nothing is
/// looked up.
std::vector<void*> call_stack();

/// Describes the innermost call that is neither LibTorch's nor antegrad's nor the standard library's:
/// "at loss.cpp:120 in head_loss", or "in head_loss (train+0x2f10)" without debug information. Returns ""
/// when there is none. Looks each address up once per process, by running addr2line where it is installed.
std::string describe_call_site(const std::vector<void*>& stack);

/// Returns whether the instruction before this return address is in a program or library of the user's: not
/// in LibTorch's, antegrad's or the standard library's.
bool is_user_code(void* address);

/// Returns a function's full, demangled name without template arguments and parameters: "Net::forward".
std::string short_function_name(const std::string& full);

}  // namespace antegrad::inline util
