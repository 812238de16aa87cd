#pragma once
#include <antegrad/options.h>

#include "fuzz/check.h"

/// Ways to compile a random program that must not show in its results.
namespace antegrad::fuzz {

enum class Way {
  Plain,
  Background,  ///< calls run while code is made, and when it is there
  Fallback,    ///< the function reads data, so that calls are eager ones
};

Fn compile_in(Way way, Fn function, Options options);

/// Statements about `options` for a printed program; and what else is needed to see a failure, in words.
std::string options_text(Way way);

}  // namespace antegrad::fuzz
