#pragma once
#include <functional>

#include "fuzz/program.h"

namespace antegrad::fuzz {

/// Returns the smallest program found that is valid in eager and for which `fails` holds; `program` itself
/// must fail. Calls `fails` at most `max_checks` times.
Program shrink(const Program& program, const std::function<bool(const Program&)>& fails,
               int max_checks = 2000);

}  // namespace antegrad::fuzz
