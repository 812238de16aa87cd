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

/// Flattened arguments: the tensors, and a key that encodes everything else (numbers, strings, lengths, which
/// optionals are set). Argument lists with equal keys differ only in their tensors.
struct Leaves {
  c10::SmallVector<at::Tensor, 6> tensors;  ///< in the order of flattening
  c10::SmallVector<int64_t, 8> key;         ///< everything except tensors
};

/// Returns tensors one by one, in the order of flattening.
class LeafReader {
 public:
  /// The tensors must outlive the reader.
  explicit LeafReader(const std::vector<at::Tensor>& tensors) : tensors_(tensors) {}
  /// Returns the next tensor; undefined when none is left.
  at::Tensor next() { return next_ < tensors_.size() ? tensors_[next_++] : at::Tensor(); }

 private:
  const std::vector<at::Tensor>& tensors_;
  size_t next_ = 0;
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
}  // namespace detail

/// How values of a type are flattened and rebuilt. Specialised below for every type that arguments and
/// results may consist of.
template <class T, class = void>
struct Tree {
  static constexpr bool kModule = detail::IsModule<T> || detail::HoldsModule<T>;
  static constexpr bool kText = std::is_same_v<T, const char*> || std::is_same_v<T, char*>;
  static_assert(
      HasFields<T> || !kModule,
      "antegrad takes no module as an argument or a result: let the function capture it and name it in "
      "Options::watch, or compile the module itself");
  static_assert(HasFields<T> || !kText, "antegrad takes texts as std::string: write std::string(\"…\")");
  static_assert(
      HasFields<T> || kModule || kText || !std::is_pointer_v<T>,
      "antegrad does not know how much a pointer points to, or who changes it: pass a tensor, a std::vector "
      "or a std::array, or let the function capture it");
  static_assert(HasFields<T> || kModule || kText || std::is_pointer_v<T>,
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

// --- Reference parameters that a callable assigns to.

namespace detail {

template <class... T>
struct TypeList {};
/// The parameters of a function type, or of a class with exactly one call operator; void when there are
/// several overloads or the call operator is a template.
template <class Call>
struct CallParameters {
  using Types = void;
};
template <class R, class... P>
struct CallParameters<R (*)(P...)> {
  using Types = TypeList<P...>;
};
template <class R, class... P>
struct CallParameters<R (*)(P...) noexcept> : CallParameters<R (*)(P...)> {};
template <class C, class R, class... P>
struct CallParameters<R (C::*)(P...)> : CallParameters<R (*)(P...)> {};
template <class C, class R, class... P>
struct CallParameters<R (C::*)(P...) const> : CallParameters<R (*)(P...)> {};
template <class C, class R, class... P>
struct CallParameters<R (C::*)(P...) noexcept> : CallParameters<R (*)(P...)> {};
template <class C, class R, class... P>
struct CallParameters<R (C::*)(P...) const noexcept> : CallParameters<R (*)(P...)> {};

/// The parameters that a callable declares. Specialised for wrappers of other callables.
template <class F, class = void>
struct Parameters : CallParameters<F> {};
template <class F>
struct Parameters<F, std::void_t<decltype(&F::operator())>> : CallParameters<decltype(&F::operator())> {};

template <size_t I, class Types>
struct MayAssign : std::true_type {};  // unknown parameters: assume it may
template <size_t I, class... P>
struct MayAssign<I, TypeList<P...>> {
  static constexpr bool at(auto... by_reference) {
    const std::array<bool, sizeof...(P) + 1> all{by_reference..., false};
    return all[std::min(I, sizeof...(P))];
  }
  static constexpr bool value =
      at((std::is_lvalue_reference_v<P> && !std::is_const_v<std::remove_reference_t<P>>)...);
};
/// Whether the callable may assign to argument number I: true for `T&` and `auto&`.
template <class F, size_t I>
inline constexpr bool kMayAssign = MayAssign<I, typename Parameters<F>::Types>::value;
template <class F, size_t... I>
constexpr bool may_assign_any(std::index_sequence<I...>) {
  return (kMayAssign<F, I> || ...);
}

/// Whether a deduced argument type is a variable of the caller that can be assigned to.
template <class T>
inline constexpr bool kIsVariable =
    std::is_lvalue_reference_v<T> && !std::is_const_v<std::remove_reference_t<T>>;

inline bool same_leaves(const Leaves& a, const Leaves& b) {
  const auto same = [](const at::Tensor& x, const at::Tensor& y) { return x.is_same(y); };
  return std::equal(a.key.begin(), a.key.end(), b.key.begin(), b.key.end()) &&
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(), same);
}

/// Assigns `pattern`, with the reader's tensors, to `target`. Members of a struct that are not among its
/// antegrad_fields() keep their values.
template <class T>
void assign(T& target, const T& pattern, LeafReader& reader) {
  if constexpr (HasFields<T>) {
    auto to = antegrad_fields(target);
    auto from = antegrad_fields(const_cast<T&>(pattern));
    [&]<size_t... I>(std::index_sequence<I...>) { (assign(std::get<I>(to), std::get<I>(from), reader), ...); }
    (std::make_index_sequence<std::tuple_size_v<decltype(to)>>());
  } else {
    target = Tree<T>::rebuild(pattern, reader);
  }
}
template <HasFields T>
void assign(std::vector<T>& target, const std::vector<T>& pattern, LeafReader& reader) {
  while (target.size() > pattern.size()) target.pop_back();
  for (size_t i = 0; i < target.size(); ++i) assign(target[i], pattern[i], reader);
  for (size_t i = target.size(); i < pattern.size(); ++i)
    target.push_back(Tree<T>::rebuild(pattern[i], reader));
}

/// Where an argument lies in the caller's memory.
struct Place {
  const void* object = nullptr;  ///< null when the argument is not a variable
  const void* type = nullptr;
  std::array<std::pair<const char*, const char*>, 2>
      memory{};  ///< the object itself, and the elements of a vector
};
template <class T>
inline constexpr char kTypeOf = 0;
template <class T>
Place place_of(T& variable) {
  Place place{&variable, &kTypeOf<T>, {}};
  const auto* begin = reinterpret_cast<const char*>(&variable);
  place.memory[0] = {begin, begin + sizeof(T)};
  if constexpr (requires { variable.data() + variable.size(); } && !std::is_same_v<T, std::string>) {
    const auto* first = reinterpret_cast<const char*>(variable.data());
    place.memory[1] = {first, reinterpret_cast<const char*>(variable.data() + variable.size())};
  }
  return place;
}

/// Which arguments are the same variable of the caller, or overlap.
template <size_t N>
struct SharedVariables {
  std::array<size_t, N> same{};  ///< per argument: the first argument that is the same variable
  std::array<bool, N> partly{};  ///< per argument: whether it contains, or is contained in, another argument
  bool any = false;

  explicit SharedVariables(const std::array<Place, N>& places) {
    for (size_t i = 0; i < N; ++i) {
      same[i] = i;
      for (size_t j = 0; j < i; ++j) compare(places[i], i, places[j], j);
    }
  }
  void add_to(Leaves& leaves) const {
    for (size_t i = 0; any && i < N; ++i) leaves.key.push_back(static_cast<int64_t>(2 * same[i] + partly[i]));
  }

 private:
  void compare(const Place& a, size_t i, const Place& b, size_t j) {
    if (a.object == nullptr || b.object == nullptr) return;
    if (a.object == b.object && a.type == b.type) {
      if (same[i] == i) same[i] = same[j];
      any = true;
      return;
    }
    for (const auto& x : a.memory)
      for (const auto& y : b.memory)
        if (x.first < y.second && y.first < x.second) any = partly[i] = partly[j] = true;
  }
};
/// Throws Error(UnsupportedArgument): the function assigns to an argument that overlaps another one.
[[noreturn]] void refuse_shared_variable(size_t argument);

}  // namespace detail
}  // namespace antegrad
