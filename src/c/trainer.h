#pragma once
#include <memory>
#include <string>

#include "antegrad/program.h"
#include "c/callable.h"

namespace antegrad::c {

/// Throws Error(InvalidArgument) for an unknown optimizer.
std::unique_ptr<antegrad_trainer> make_trainer(const Program& program, const std::string& optimizer,
                                               const Options& options);

}  // namespace antegrad::c
