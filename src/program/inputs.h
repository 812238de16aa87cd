#pragma once
#include <ATen/core/ivalue.h>

#include <map>
#include <string>
#include <vector>

#include "antegrad/options.h"
#include "program/program_data.h"

namespace antegrad::program {

using Keywords = std::map<std::string, c10::IValue>;

/// Returns the arguments of a call without their structure and without constants, in the order of
/// ProgramData::leaves. Arguments are either as Python takes them, or all of these leaves one by one. Throws
/// Error(InvalidArgument).
std::vector<c10::IValue> leaves_of_call(const ProgramData& data, const std::vector<c10::IValue>& arguments,
                                        const Keywords& keywords);
/// Checks sizes, dtypes, ranges of symbols and conditions. Throws Error(InvalidArgument).
void check_inputs(const ProgramData& data, const std::vector<c10::IValue>& leaves);

/// Arguments as they were at export, but with zeros for the contents of tensors.
std::vector<c10::IValue> example_of(const ProgramData& data);

/// The sizes that may change, with tensors counted over the leaves of a call.
std::vector<DynamicSize> dynamic_sizes_of(const ProgramData& data);

}  // namespace antegrad::program
