#pragma once
#include <antegrad/options.h>

#include "fuzz/check.h"

/// Ways to compile a random program that must not affect its results.
namespace antegrad::fuzz {

enum class Way {
  Plain,
  Background,  ///< calls while code is being compiled, and when it is ready
  Fallback,    ///< the function reads data, so that calls run eagerly
  Break,       ///< the function reads data between its statements, so that it is compiled in parts
};

Fn compile_in(Way way, Fn function, Options options);

/// Statements about `options` for a printed program, and in words what else is needed to reproduce a failure.
std::string options_text(Way way);

}  // namespace antegrad::fuzz
