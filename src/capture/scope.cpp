#include "capture/scope.h"

#include "antegrad/options.h"

namespace antegrad {
namespace {

std::string& path() {
  thread_local std::string text;
  return text;
}

}  // namespace

Scope::Scope(std::string_view name) : outer_length_(path().size()) {
  if (!path().empty()) path() += '.';
  path() += name;
}

Scope::~Scope() { path().resize(outer_length_); }

namespace capture {
const std::string& current_scope() { return path(); }
}  // namespace capture

}  // namespace antegrad
