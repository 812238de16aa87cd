#pragma once
// What a program does besides computing: printing, checking, calling back. Compiled or not, it happens when
// the program gets there, in order, once per call: docs/effects.md.
#include <ATen/core/Tensor.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace antegrad {

namespace detail {
/// Is given detached tensors.
using Callback = std::function<void(const std::vector<at::Tensor>&)>;

void print(const std::string& format, std::vector<at::Tensor> tensors);
/// Returns a name for a callback, which is kept until the process ends. `contents`: equal for equal callbacks
/// of one type; null if that is not known.
std::string name_callback(const std::type_info& type, const std::string* contents, Callback callback);
void call_back(const std::string& name, std::vector<at::Tensor> tensors);
at::Tensor print_gradient(const std::string& format, const at::Tensor& tensor);
at::Tensor call_back_with_gradient(const std::string& name, const at::Tensor& tensor);

/// Names a callable that takes this many tensors.
template <size_t... I, class F>
std::string name_of(F&& function, std::index_sequence<I...>) {
  using Function = std::remove_cvref_t<F>;
  std::string contents;
  constexpr bool kComparable = std::is_trivially_copyable_v<Function>;
  if constexpr (kComparable && !std::is_empty_v<Function>) {
    contents.resize(sizeof(Function));
    std::memcpy(contents.data(), &function, sizeof(Function));
  }
  auto shared = std::make_shared<Function>(std::forward<F>(function));
  return name_callback(typeid(Function), kComparable ? &contents : nullptr,
                       [shared](const std::vector<at::Tensor>& tensors) {
                         static_cast<void>(tensors);  // there may be none
                         (*shared)(tensors[I]...);
                       });
}
}  // namespace detail

/// Prints a line: the format, with each {} replaced by the contents of the next tensor ({{ and }} by braces).
/// A tensor of one element is printed as a number. Throws Error(InvalidArgument) for another number of
/// tensors.
template <class... Tensors>
void print(const std::string& format, const Tensors&... tensors) {
  detail::print(format, {tensors...});
}

/// Receives the lines that print() prints, each with its line break; an empty function stands for the
/// standard output.
void set_print(std::function<void(std::string_view line)> sink);

/// Throws c10::Error with the message unless all elements of the condition are true.
void check(const at::Tensor& condition, const std::string& message);

/// Calls function(tensors…), which must not write to them. In compiled functions a copy of the function is
/// called, made when the call was captured; what it refers to must outlive the compiled function.
template <class F, class... Tensors>
void callback(F&& function, const Tensors&... tensors) {
  detail::call_back(
      detail::name_of(std::forward<F>(function), std::make_index_sequence<sizeof...(Tensors)>()),
      {tensors...});
}

/// Returns the tensor; when its gradient is computed, prints that as print() does.
inline at::Tensor print_gradient(const std::string& format, const at::Tensor& tensor) {
  return detail::print_gradient(format, tensor);
}
/// Returns the tensor; when its gradient is computed, calls function(gradient) as callback() does.
template <class F>
at::Tensor gradient_callback(F&& function, const at::Tensor& tensor) {
  return detail::call_back_with_gradient(
      detail::name_of(std::forward<F>(function), std::make_index_sequence<1>()), tensor);
}

}  // namespace antegrad
