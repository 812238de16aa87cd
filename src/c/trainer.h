#pragma once
#include <memory>
#include <string>

#include "antegrad/program.h"
#include "c/callable.h"

namespace antegrad::c {

/// Throws Error(InvalidArgument) for an unknown optimizer.
std::unique_ptr<antegrad_trainer> make_trainer(const Program& program, const std::string& optimizer,
                                               const Options& options);

/// Throws Error(InvalidArgument) for a number that no hyperparameter of that name may be.
void check_hyperparameter(const std::string& name, double value);

}  // namespace antegrad::c
