#pragma once
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <functional>
#include <string>
#include <vector>

namespace antegrad::fuzz {

using NameOf = std::function<std::string(const at::Tensor&)>;

/// An argument of at::_ops::…::call as C++.
std::string argument_text(const c10::IValue& value, const c10::Argument& argument, const NameOf& name_of);
/// "at::_ops::add_Tensor::call"
std::string function_text(const c10::FunctionSchema& schema);
/// A tensor with these numbers, in memory of its own: row-major, or with its
/// sizes and strides.
std::string tensor_text(const at::Tensor& tensor);
std::string number_text(double number);
/// The function as one call had it.
struct FunctionText {
  std::string text;
  std::vector<std::vector<int64_t>> input_sizes;
};
/// One function for all calls. What differs between them is written as sizes of the inputs x, where it is
/// these; else the function looks which call it is.
std::string joined_functions(const std::vector<FunctionText>& functions);
/// What stands before the function and after the steps: see Script::program.
std::string script_text(const std::string& headline, const std::string& options, const std::string& world,
                        const std::string& function, const std::string& steps);

}  // namespace antegrad::fuzz
