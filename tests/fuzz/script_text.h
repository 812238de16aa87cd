#pragma once
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <string>
#include <vector>

namespace antegrad::fuzz {

using NameOf = std::function<std::string(const at::Tensor&)>;

/// Writes an argument of at::_ops::…::call as C++.
std::string argument_text(const c10::IValue& value, const c10::Argument& argument, const NameOf& name_of);
/// Returns a name such as "at::_ops::add_Tensor::call".
std::string function_text(const c10::FunctionSchema& schema);
/// Writes a tensor with these numbers in memory of its own: row-major, or with its sizes and strides.
std::string tensor_text(const at::Tensor& tensor);
std::string number_text(double number);
/// The function as recorded in one call.
struct FunctionText {
  std::string text;
  std::vector<std::vector<int64_t>> input_sizes;
};
/// Writes one function for all calls. Numbers that differ between calls are written in terms of the sizes of
/// the inputs x where possible; otherwise the function branches on the number of the call.
std::string joined_functions(const std::vector<FunctionText>& functions);
/// Joins the parts of a program; see Script::program.
std::string script_text(const std::string& headline, const std::string& options, const std::string& world,
                        const std::string& function, const std::string& steps);

}  // namespace antegrad::fuzz
