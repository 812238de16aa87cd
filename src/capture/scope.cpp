#include "capture/scope.h"

#include "antegrad/options.h"
#include "util/thread_object.h"

namespace antegrad {
namespace {

std::string& path() { return thread_object<std::string, Scope>(); }

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
