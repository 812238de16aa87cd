#pragma once
#include <cstddef>
#include <string_view>

namespace antegrad {

/// Names a part of a program: ops recorded while it lives carry its name (and those of the scopes around it).
class Scope {
 public:
  explicit Scope(std::string_view name);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  size_t outer_length_;
};

}  // namespace antegrad
