#pragma once
#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <string_view>
#include <vector>

#include "samples/samples.h"

namespace antegrad::samples {

/// Returns the overload of that name, "aten::add.Tensor"; throws when LibTorch has none.
c10::OperatorHandle find_overload(const std::string& op);

/// Reads a table of samples (grammar in table.h) and appends its calls. Throws std::invalid_argument naming
/// the row.
void read_table(std::string_view table, uint64_t seed, std::vector<Sample>& samples);

/// Appends in-place and out= forms of the functional samples. They write to `self`, or to tensors like the
/// results of the call.
void derive_inplace(std::vector<Sample>& samples);
void derive_out(std::vector<Sample>& samples);

}  // namespace antegrad::samples
