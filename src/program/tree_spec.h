#pragma once
#include <ATen/core/ivalue.h>

#include <map>
#include <string>
#include <vector>

namespace antegrad::program {

/// The structure of arguments or results, as Python's pytree stores it.
struct TreeSpec {
  enum class Kind { Leaf, Tuple, List, Dict };
  Kind kind = Kind::Leaf;
  std::vector<std::string> keys;  ///< Dict
  std::vector<TreeSpec> children;

  size_t leaves() const;
};

/// Parses "[1, {"type": …, "context": …, "children_spec": […]}]". Throws Error(Parse); classes of the user,
/// which C++ does not know, become tuples.
TreeSpec parse_tree_spec(const std::string& text);

/// Appends the leaves of a value. Throws Error(InvalidArgument) if it does not have this structure.
void flatten_into(const TreeSpec& spec, const c10::IValue& value, const std::string& name,
                  std::vector<c10::IValue>& leaves);
/// Takes leaves from `next` on.
c10::IValue unflatten(const TreeSpec& spec, const std::vector<c10::IValue>& leaves, size_t& next);
/// Appends the path of each leaf in Python's notation: name['key'][0].
void name_leaves(const TreeSpec& spec, const std::string& name, std::vector<std::string>& names);

}  // namespace antegrad::program
