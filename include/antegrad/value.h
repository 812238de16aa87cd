#pragma once
// C++ values as c10::IValue, the form in which packages take arguments and return results.
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "antegrad/tree.h"

namespace antegrad {

/// Returns a value as an IValue: tensors, numbers, texts; lists of vectors, arrays and spans; dictionaries of
/// maps with texts or whole numbers as keys; tuples of std::pair, std::tuple and structs with
/// antegrad_fields(). Nothing for values that have no such form, such as modules and generators.
template <class T>
std::optional<c10::IValue> value_of(const T& value);

namespace detail {

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};
template <class T>
concept MapLike = requires {
  typename T::mapped_type;
  typename T::key_type;
};
template <class T>
concept ListLike = requires(const T& list) {
  list.begin();
  list.end();
  list.size();
};
template <class T>
concept ComplexLike = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>> ||
    std::is_same_v<T, c10::complex<float>> || std::is_same_v<T, c10::complex<double>>;

/// The type of the elements of a list of T in IValues.
template <class T>
auto list_for() {
  if constexpr (std::is_same_v<T, at::Tensor>)
    return c10::impl::GenericList(c10::TensorType::get());
  else if constexpr (std::is_same_v<T, bool>)
    return c10::impl::GenericList(c10::BoolType::get());
  else if constexpr (std::is_integral_v<T>)
    return c10::impl::GenericList(c10::IntType::get());
  else if constexpr (std::is_floating_point_v<T>)
    return c10::impl::GenericList(c10::FloatType::get());
  else if constexpr (std::is_same_v<T, std::string>)
    return c10::impl::GenericList(c10::StringType::get());
  else
    return c10::impl::GenericList(c10::AnyType::get());
}

template <class List>
std::optional<c10::IValue> value_of_list(const List& list) {
  using Element = std::remove_cvref_t<decltype(*list.begin())>;
  auto out = list_for<Element>();
  for (const auto& element : list) {
    auto value = value_of<Element>(element);
    if (!value) return std::nullopt;
    out.push_back(*std::move(value));
  }
  return c10::IValue(std::move(out));
}

template <class Map>
std::optional<c10::IValue> value_of_map(const Map& map) {
  using Key = typename Map::key_type;
  if constexpr (std::is_same_v<Key, std::string> || std::is_integral_v<Key>) {
    const c10::TypePtr key_type = std::is_same_v<Key, std::string> ? c10::TypePtr(c10::StringType::get())
                                                                   : c10::TypePtr(c10::IntType::get());
    const c10::TypePtr type = std::is_same_v<typename Map::mapped_type, at::Tensor>
                                  ? c10::TypePtr(c10::TensorType::get())
                                  : c10::TypePtr(c10::AnyType::get());
    c10::impl::GenericDict out(key_type, type);
    for (const auto& [key, element] : map) {
      auto value = value_of(element);
      if (!value) return std::nullopt;
      out.insert(*value_of(key), *std::move(value));
    }
    return c10::IValue(std::move(out));
  } else {
    return std::nullopt;
  }
}

template <class... T>
std::optional<c10::IValue> value_of_parts(const T&... parts) {
  std::vector<c10::IValue> elements;
  const auto add = [&](std::optional<c10::IValue> value) {
    if (value) elements.push_back(*std::move(value));
    return value.has_value();
  };
  if (!(add(value_of(parts)) && ...)) return std::nullopt;
  return c10::IValue(c10::ivalue::Tuple::create(std::move(elements)));
}

/// What a call of a captured function takes and returns, without tensors: what packages store.
struct CallStructure {
  /// An argument that no tensor comes from and that has no form as an IValue, such as a module, is nothing.
  std::vector<std::optional<c10::IValue>> arguments;
  c10::IValue result;   ///< where the function assigns to arguments, a tuple with their new values at the end
  std::string problem;  ///< why there is no such form; empty when there is one
};
/// `tensors` is the number of tensors in each argument, `assigned` the new values of those that the function
/// has assigned to. Tensors are removed from all values.
std::shared_ptr<const CallStructure> call_structure(std::vector<std::optional<c10::IValue>> arguments,
                                                    const std::vector<size_t>& tensors,
                                                    std::optional<c10::IValue> result,
                                                    std::vector<std::optional<c10::IValue>> assigned);

}  // namespace detail

template <class T>
std::optional<c10::IValue> value_of(const T& value) {
  if constexpr (std::is_same_v<T, at::Tensor> || std::is_same_v<T, c10::IValue> ||
                std::is_same_v<T, std::string> || std::is_same_v<T, bool> || std::is_same_v<T, c10::Scalar> ||
                std::is_same_v<T, c10::Device>) {
    return c10::IValue(value);
  } else if constexpr (std::is_same_v<T, std::nullopt_t> || std::is_same_v<T, std::nullptr_t>) {
    return c10::IValue();
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return c10::IValue(static_cast<int64_t>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return c10::IValue(static_cast<double>(value));
  } else if constexpr (detail::ComplexLike<T>) {
    return c10::IValue(
        c10::complex<double>(static_cast<double>(value.real()), static_cast<double>(value.imag())));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return c10::IValue(std::string(std::string_view(value)));
  } else if constexpr (detail::kIsOptional<T>) {
    return value ? value_of(*value) : std::optional<c10::IValue>(std::in_place);
  } else if constexpr (HasFields<T>) {
    return std::apply([](const auto&... field) { return detail::value_of_parts(field...); },
                      antegrad_fields(const_cast<T&>(value)));
  } else if constexpr (detail::SharesModule<T>) {
    return std::nullopt;
  } else if constexpr (detail::MapLike<T>) {
    return detail::value_of_map(value);
  } else if constexpr (detail::ListLike<T>) {
    return detail::value_of_list(value);
  } else if constexpr (detail::TupleLike<T>) {
    return std::apply([](const auto&... part) { return detail::value_of_parts(part...); }, value);
  } else {
    return std::nullopt;
  }
}

}  // namespace antegrad
