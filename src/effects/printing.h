#pragma once
#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <vector>

namespace antegrad::effects {

/// Returns how many tensors a format takes. Throws Error(InvalidArgument) for braces that are neither {} nor
/// doubled.
size_t count_places(std::string_view format);
/// Returns the format with its places filled.
std::string text_of(std::string_view format, const std::vector<at::Tensor>& tensors);
/// Hands a line to the sink, or to the standard output.
void print_line(std::string line);

}  // namespace antegrad::effects
