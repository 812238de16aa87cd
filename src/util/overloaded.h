#pragma once

namespace antegrad {

/// One visitor of several functions, for std::visit. What no function takes does not compile.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace antegrad
