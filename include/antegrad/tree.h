#pragma once
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace antegrad {

/// Arguments taken apart: the tensors, and a key that says everything else (numbers, strings, lengths, which
/// optionals are set). Two argument lists with equal keys differ in their tensors only.
struct Leaves {
  c10::SmallVector<at::Tensor, 6> tensors;  ///< in the order in which they were found
  c10::SmallVector<int64_t, 8> key;         ///< everything else
};

/// Hands out tensors in the order in which flattening found them.
class LeafReader {
 public:
  /// The tensors must outlive the reader.
  explicit LeafReader(const std::vector<at::Tensor>& tensors) : tensors_(tensors) {}
  /// The next one; undefined when there is none left.
  at::Tensor next() { return next_ < tensors_.size() ? tensors_[next_++] : at::Tensor(); }

 private:
  const std::vector<at::Tensor>& tensors_;
  size_t next_ = 0;
};

/// The customisation point for user structs: a function beside the struct that ties its fields,
///   auto antegrad_fields(State& s) { return std::tie(s.positions, s.step); }
template <class T>
concept HasFields = requires(T& value) {
  antegrad_fields(value);
};

/// How values of a type are taken apart and put together again. Specialised below for everything that
/// arguments and results may be made of.
template <class T, class = void>
struct Tree {
  static_assert(HasFields<T>,
                "antegrad cannot take this type apart: give it `auto antegrad_fields(T& v) { return "
                "std::tie(v.a, …); }` "
                "beside its definition");
  /// Adds what the value is made of.
  static void flatten(const T& value, Leaves& leaves) {
    std::apply(
        [&](const auto&... field) {
          (Tree<std::remove_cvref_t<decltype(field)>>::flatten(field, leaves), ...);
        },
        antegrad_fields(const_cast<T&>(value)));
  }
  /// A copy of `like` with the reader's tensors.
  static T rebuild(const T& like, LeafReader& reader) {
    T copy = like;
    std::apply(
        [&](auto&... field) {
          ((field = Tree<std::remove_cvref_t<decltype(field)>>::rebuild(field, reader)), ...);
        },
        antegrad_fields(copy));
    return copy;
  }
};

/// Adds what the value is made of.
template <class T>
void flatten(const T& value, Leaves& leaves) {
  Tree<T>::flatten(value, leaves);
}
/// A copy of `like` with its tensors replaced by the reader's.
template <class T>
T rebuild(const T& like, LeafReader& reader) {
  return Tree<T>::rebuild(like, reader);
}

template <>
struct Tree<at::Tensor> {
  static void flatten(const at::Tensor& value, Leaves& leaves) { leaves.tensors.push_back(value); }
  static at::Tensor rebuild(const at::Tensor&, LeafReader& reader) { return reader.next(); }
};

template <class T>
struct Tree<T, std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>>> {
  static void flatten(T value, Leaves& leaves) { leaves.key.push_back(static_cast<int64_t>(value)); }
  static T rebuild(T like, LeafReader&) { return like; }
};

template <class T>
struct Tree<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static void flatten(T value, Leaves& leaves) {
    leaves.key.push_back(std::bit_cast<int64_t>(static_cast<double>(value)));
  }
  static T rebuild(T like, LeafReader&) { return like; }
};

template <>
struct Tree<std::string> {
  static void flatten(const std::string& value, Leaves& leaves) {
    leaves.key.push_back(static_cast<int64_t>(value.size()));
    for (size_t i = 0; i < value.size(); i += 8) {
      int64_t chunk = 0;
      std::memcpy(&chunk, value.data() + i, std::min<size_t>(8, value.size() - i));
      leaves.key.push_back(chunk);
    }
  }
  static std::string rebuild(const std::string& like, LeafReader&) { return like; }
};

template <>
struct Tree<std::nullopt_t> {
  static void flatten(std::nullopt_t, Leaves&) {}
  static std::nullopt_t rebuild(std::nullopt_t, LeafReader&) { return std::nullopt; }
};
template <>
struct Tree<std::nullptr_t> {
  static void flatten(std::nullptr_t, Leaves&) {}
  static std::nullptr_t rebuild(std::nullptr_t, LeafReader&) { return nullptr; }
};

template <class T>
struct Tree<std::optional<T>> {
  static void flatten(const std::optional<T>& value, Leaves& leaves) {
    leaves.key.push_back(value.has_value());
    if (value) Tree<T>::flatten(*value, leaves);
  }
  static std::optional<T> rebuild(const std::optional<T>& like, LeafReader& reader) {
    return like ? std::optional<T>(Tree<T>::rebuild(*like, reader)) : std::nullopt;
  }
};

template <class T>
struct Tree<std::vector<T>> {
  static void flatten(const std::vector<T>& value, Leaves& leaves) {
    leaves.key.push_back(static_cast<int64_t>(value.size()));
    for (const T& element : value) Tree<T>::flatten(element, leaves);
  }
  static std::vector<T> rebuild(const std::vector<T>& like, LeafReader& reader) {
    std::vector<T> out;
    out.reserve(like.size());
    for (const T& element : like) out.push_back(Tree<T>::rebuild(element, reader));
    return out;
  }
};

template <class T, size_t N>
struct Tree<std::array<T, N>> {
  static void flatten(const std::array<T, N>& value, Leaves& leaves) {
    for (const T& element : value) Tree<T>::flatten(element, leaves);
  }
  static std::array<T, N> rebuild(const std::array<T, N>& like, LeafReader& reader) {
    auto copy = like;
    for (T& element : copy) element = Tree<T>::rebuild(element, reader);
    return copy;
  }
};

template <class A, class B>
struct Tree<std::pair<A, B>> {
  static void flatten(const std::pair<A, B>& value, Leaves& leaves) {
    Tree<A>::flatten(value.first, leaves);
    Tree<B>::flatten(value.second, leaves);
  }
  static std::pair<A, B> rebuild(const std::pair<A, B>& like, LeafReader& reader) {
    auto first = Tree<A>::rebuild(like.first, reader);
    return {std::move(first), Tree<B>::rebuild(like.second, reader)};
  }
};

template <class... T>
struct Tree<std::tuple<T...>> {
  static void flatten(const std::tuple<T...>& value, Leaves& leaves) {
    std::apply([&](const T&... element) { (Tree<T>::flatten(element, leaves), ...); }, value);
  }
  static std::tuple<T...> rebuild(const std::tuple<T...>& like, LeafReader& reader) {
    // Braces keep the order of evaluation.
    return std::apply(
        [&](const T&... element) { return std::tuple<T...>{Tree<T>::rebuild(element, reader)...}; }, like);
  }
};

namespace detail {
template <class Map>
struct MapTree {
  using Value = typename Map::mapped_type;
  static void flatten(const Map& value, Leaves& leaves) {
    leaves.key.push_back(static_cast<int64_t>(value.size()));
    for (const auto& [key, element] : value) {
      Tree<typename Map::key_type>::flatten(key, leaves);
      Tree<Value>::flatten(element, leaves);
    }
  }
  static Map rebuild(const Map& like, LeafReader& reader) {
    auto copy = like;
    for (auto& [key, element] : copy) element = Tree<Value>::rebuild(element, reader);
    return copy;
  }
};
}  // namespace detail

template <class K, class V, class... Rest>
struct Tree<std::map<K, V, Rest...>> : detail::MapTree<std::map<K, V, Rest...>> {};
template <class K, class V, class... Rest>
struct Tree<std::unordered_map<K, V, Rest...>> : detail::MapTree<std::unordered_map<K, V, Rest...>> {};

}  // namespace antegrad
