#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "antegrad/number.h"

namespace antegrad {

/// Flattened arguments: the tensors, and a key that encodes everything else (numbers, strings, lengths, which
/// optionals are set). Argument lists with equal keys differ only in their tensors.
struct Leaves {
  /// A number that an argument consists of, as opposed to a length, a flag or a part of a text.
  struct Number {
    uint32_t place = 0;     ///< its index in the key
    uint16_t argument = 0;  ///< the argument that contains it
    bool real = false;      ///< the entry of the key has the bits of a double
  };
  c10::SmallVector<at::Tensor, 6> tensors;  ///< in the order of flattening
  c10::SmallVector<int64_t, 8> key;         ///< everything except tensors
  c10::SmallVector<Number, 4> numbers;      ///< entries of the key
  /// Numbers declared as such (antegrad::Number), which are not in the key, and how those that a captured
  /// function has computed came about.
  c10::SmallVector<std::pair<detail::HostNumber, detail::NumberCode>, 2> declared;
  uint16_t argument = 0;  ///< the argument that is being flattened

  /// Appends a number, given by its bits if it is real.
  void add_number(int64_t value, bool real) {
    numbers.push_back({static_cast<uint32_t>(key.size()), argument, real});
    key.push_back(value);
  }
};

/// Returns tensors one by one, in the order of flattening.
class LeafReader {
 public:
  /// The tensors must outlive the reader.
  explicit LeafReader(const std::vector<at::Tensor>& tensors, bool captures = false)
      : tensors_(tensors), captures_(captures) {}
  /// Returns the next tensor; undefined when none is left.
  at::Tensor next() { return next_ < tensors_.size() ? tensors_[next_++] : at::Tensor(); }
  /// Returns the Number that a copy of the next argument is: while a function is captured, one that is not
  /// known.
  Number next(const Number& like) { return captures_ ? Number::argument(like, next_number_++) : like; }
  size_t tensors_read() const { return next_; }

 private:
  const std::vector<at::Tensor>& tensors_;
  const bool captures_;
  size_t next_ = 0;
  uint32_t next_number_ = 0;
};

/// The customisation point for user structs: a function beside the struct that ties its fields.
///   auto antegrad_fields(State& s) { return std::tie(s.positions, s.step); }
template <class T>
concept HasFields = requires(T& value) {
  antegrad_fields(value);
};

namespace detail {
template <class T>
concept IsModule = requires(T& module) {
  module.named_parameters();
};
template <class T>
concept HoldsModule = requires(T& pointer) {
  pointer->named_parameters();
};
/// A module in a holder (torch::nn::Linear) or in a std::shared_ptr.
template <class T>
concept SharesModule =
    HoldsModule<T> && !std::is_pointer_v<T> &&
    (
        requires(T & holder) { holder.ptr(); } || requires(T & pointer) { pointer.use_count(); });

template <class T>
inline constexpr bool kIsWritableSpan = false;
template <class T, size_t N>
inline constexpr bool kIsWritableSpan<std::span<T, N>> = !std::is_const_v<T>;
}  // namespace detail

/// How values of a type are flattened and rebuilt. Specialised below for every type that arguments and
/// results may consist of.
template <class T, class = void>
struct Tree {
  static constexpr bool kModule = detail::IsModule<T> || detail::HoldsModule<T>;
  static constexpr bool kText = std::is_same_v<T, const char*> || std::is_same_v<T, char*>;
  static_assert(
      HasFields<T> || !kModule,
      "antegrad takes modules that are shared: pass a holder (TORCH_MODULE) or a std::shared_ptr, or let the "
      "function capture the module and name it in Options::watch");
  static_assert(
      HasFields<T> || !detail::kIsWritableSpan<T>,
      "antegrad does not write to the memory of a std::span: pass a std::span<const T>, or a std::vector<T>& "
      "for what the function assigns to");
  static_assert(HasFields<T> || !kText, "antegrad takes texts as std::string: write std::string(\"…\")");
  static_assert(
      HasFields<T> || kModule || kText || !std::is_pointer_v<T>,
      "antegrad does not know how much a pointer points to, or who changes it: pass a tensor, a std::vector "
      "or a std::array, or let the function capture it");
  static_assert(HasFields<T> || kModule || kText || std::is_pointer_v<T> || detail::kIsWritableSpan<T>,
                "antegrad cannot take this type apart: give it `auto antegrad_fields(T& v) { return "
                "std::tie(v.a, …); }` "
                "beside its definition");
  /// Appends the leaves of the value.
  static void flatten(const T& value, Leaves& leaves) {
    if constexpr (HasFields<T>)  // otherwise one of the assertions above has failed
      std::apply(
          [&](const auto&... field) {
            (Tree<std::remove_cvref_t<decltype(field)>>::flatten(field, leaves), ...);
          },
          antegrad_fields(const_cast<T&>(value)));
  }
  /// Returns a copy of `like` with the reader's tensors.
  static T rebuild(const T& like, LeafReader& reader) {
    T copy = like;
    if constexpr (HasFields<T>)
      std::apply(
          [&](auto&... field) {
            ((field = Tree<std::remove_cvref_t<decltype(field)>>::rebuild(field, reader)), ...);
          },
          antegrad_fields(copy));
    return copy;
  }
};

/// Appends the leaves of the value.
template <class T>
void flatten(const T& value, Leaves& leaves) {
  Tree<T>::flatten(value, leaves);
}
/// Returns a copy of `like` with its tensors replaced by the reader's.
template <class T>
T rebuild(const T& like, LeafReader& reader) {
  return Tree<T>::rebuild(like, reader);
}

template <>
struct Tree<at::Tensor> {
  static void flatten(const at::Tensor& value, Leaves& leaves) { leaves.tensors.push_back(value); }
  static at::Tensor rebuild(const at::Tensor&, LeafReader& reader) { return reader.next(); }
};

template <>
struct Tree<Number> {
  static void flatten(const Number& value, Leaves& leaves) {
    leaves.key.push_back(value.is_integer());
    leaves.declared.emplace_back(value.host(), value.code() != nullptr ? *value.code() : "");
  }
  static Number rebuild(const Number& like, LeafReader& reader) { return reader.next(like); }
};

template <class T>
struct Tree<T, std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>>> {
  static void flatten(T value, Leaves& leaves) {
    if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>)
      leaves.key.push_back(static_cast<int64_t>(value));
    else
      leaves.add_number(static_cast<int64_t>(value), false);
  }
  static T rebuild(T like, LeafReader&) { return like; }
};

template <class T>
struct Tree<T, std::enable_if_t<std::is_floating_point_v<T>>> {
  static void flatten(T value, Leaves& leaves) {
    leaves.add_number(std::bit_cast<int64_t>(static_cast<double>(value)), true);
  }
  static T rebuild(T like, LeafReader&) { return like; }
};

template <class T>
struct Tree<std::complex<T>> {
  static void flatten(std::complex<T> value, Leaves& leaves) {
    Tree<T>::flatten(value.real(), leaves);
    Tree<T>::flatten(value.imag(), leaves);
  }
  static std::complex<T> rebuild(std::complex<T> like, LeafReader&) { return like; }
};
template <class T>
struct Tree<c10::complex<T>> {
  static void flatten(c10::complex<T> value, Leaves& leaves) {
    Tree<std::complex<T>>::flatten(std::complex<T>(value), leaves);
  }
  static c10::complex<T> rebuild(c10::complex<T> like, LeafReader&) { return like; }
};
template <>
struct Tree<c10::Scalar> {
  static void flatten(const c10::Scalar& value, Leaves& leaves) {
    leaves.key.push_back(static_cast<int64_t>(value.type()));
    if (value.isComplex())
      Tree<c10::complex<double>>::flatten(value.toComplexDouble(), leaves);
    else if (value.isFloatingPoint())
      Tree<double>::flatten(value.toDouble(), leaves);
    else if (value.type() == at::kUInt64)
      Tree<uint64_t>::flatten(value.toUInt64(), leaves);
    else
      Tree<int64_t>::flatten(value.toLong(), leaves);
  }
  static c10::Scalar rebuild(const c10::Scalar& like, LeafReader&) { return like; }
};
template <>
struct Tree<c10::Device> {
  static void flatten(c10::Device value, Leaves& leaves) {
    leaves.key.push_back(static_cast<int64_t>(value.type()));
    leaves.key.push_back(value.index());
  }
  static c10::Device rebuild(c10::Device like, LeafReader&) { return like; }
};
template <>
struct Tree<caffe2::TypeMeta> {
  static void flatten(caffe2::TypeMeta value, Leaves& leaves) {
    leaves.key.push_back(static_cast<int64_t>(value.toScalarType()));
  }
  static caffe2::TypeMeta rebuild(caffe2::TypeMeta like, LeafReader&) { return like; }
};
template <>
struct Tree<c10::TensorOptions> {
  static void flatten(const c10::TensorOptions& value, Leaves& leaves);
  static c10::TensorOptions rebuild(const c10::TensorOptions& like, LeafReader&) { return like; }
};
/// Told apart by identity.
template <>
struct Tree<at::Generator> {
  static void flatten(const at::Generator& value, Leaves& leaves) {
    leaves.key.push_back(reinterpret_cast<int64_t>(value.unsafeGetGeneratorImpl()));
  }
  static at::Generator rebuild(const at::Generator& like, LeafReader&) { return like; }
};
/// Told apart by identity, by the training flags of all its parts and by the identity of what they own.
template <class T>
struct Tree<T, std::enable_if_t<detail::SharesModule<T> && !HasFields<T>>> {
  static void flatten(const T& value, Leaves& leaves) {
    for (const auto& part : value->modules()) {
      leaves.key.push_back(reinterpret_cast<int64_t>(part.get()));
      leaves.key.push_back(part->is_training());
      for (const auto& tensor : part->parameters(false)) add(tensor, leaves);
      for (const auto& tensor : part->buffers(false)) add(tensor, leaves);
    }
  }
  static T rebuild(const T& like, LeafReader&) { return like; }

 private:
  static void add(const at::Tensor& tensor, Leaves& leaves) {
    leaves.key.push_back(reinterpret_cast<int64_t>(tensor.unsafeGetTensorImpl()));
  }
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

inline void Tree<c10::TensorOptions>::flatten(const c10::TensorOptions& value, Leaves& leaves) {
  const auto flatten_optional = [&]<class V>(const std::optional<V>& field) {
    Tree<std::optional<V>>::flatten(field, leaves);
  };
  flatten_optional(value.device_opt());
  flatten_optional(value.dtype_opt());
  flatten_optional(value.layout_opt());
  flatten_optional(value.requires_grad_opt());
  flatten_optional(value.pinned_memory_opt());
  flatten_optional(value.memory_format_opt());
}

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
    // Braces guarantee evaluation from left to right.
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
