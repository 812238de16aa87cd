#pragma once
#include <cstddef>
#include <utility>
#include <variant>

namespace antegrad {

/// A visitor for std::visit made of several functions. An alternative that no function accepts does not
/// compile.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

/// Like std::visit with a visitor that returns nothing, for hot paths: the functions of the visitor can be
/// inlined, whereas std::visit calls them through a table if there are many alternatives.
template <class Visitor, class... Alternatives>
inline void visit_inline(const Visitor& visitor, const std::variant<Alternatives...>& variant) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    const auto index = variant.index();
    static_cast<void>(((index == I && (visitor(*std::get_if<I>(&variant)), true)) || ...));
  }
  (std::index_sequence_for<Alternatives...>());
}

}  // namespace antegrad
