#include "program/tree_spec.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "antegrad/error.h"
#include "program/json.h"

namespace antegrad::program {
namespace {

bool is_list_like(const std::string& type) {
  return type == "builtins.list" || type == "collections.deque" || type.find("immutable_list") != type.npos;
}
bool is_dict_like(const std::string& type) {
  return type == "builtins.dict" || type == "collections.OrderedDict" || type == "collections.defaultdict" ||
         type.find("immutable_dict") != type.npos;
}

/// The keys of a dictionary: a list, or for a defaultdict a dictionary that has it.
std::vector<std::string> keys_of(const Json& context) {
  auto keys =
      context.is_string() ? parse_json(context.get<std::string>(), "the structure of arguments") : context;
  if (keys.is_object()) keys = keys.at("dict_context");
  std::vector<std::string> out;
  for (const auto& key : keys) out.push_back(key.is_string() ? key.get<std::string>() : key.dump());
  return out;
}

TreeSpec read_tree_spec(const Json& json) {
  TreeSpec out;
  const auto& children = json.at("children_spec");
  if (json.at("type").is_null()) return out;
  const auto type = json.at("type").get<std::string>();
  out.kind = is_list_like(type)   ? TreeSpec::Kind::List
             : is_dict_like(type) ? TreeSpec::Kind::Dict
                                  : TreeSpec::Kind::Tuple;
  for (const auto& child : children) out.children.push_back(read_tree_spec(child));
  if (out.kind == TreeSpec::Kind::Dict) {
    out.keys = keys_of(json.at("context"));
    if (out.keys.size() != out.children.size())
      throw Error(ErrorCode::Parse, "program:load", "a dictionary of arguments has not one value per key",
                  "Save the program again with torch.export.save()");
  }
  return out;
}

[[noreturn]] void refuse_argument(const std::string& name, const std::string& fact) {
  throw Error(ErrorCode::InvalidArgument, "program:call", fmt::format("`{}` {}", name, fact),
              "Pass what the program was exported with: program.inputs() lists it");
}

void check_count(const TreeSpec& spec, size_t given, const std::string& name) {
  if (given != spec.children.size())
    refuse_argument(name, fmt::format("has {} elements, and should have {}", given, spec.children.size()));
}

}  // namespace

size_t TreeSpec::leaves() const {
  if (kind == Kind::Leaf) return 1;
  size_t count = 0;
  for (const auto& child : children) count += child.leaves();
  return count;
}

TreeSpec parse_tree_spec(const std::string& text) {
  const auto json = parse_json(text, "the structure of arguments");
  if (!json.is_array() || json.size() != 2 || integer_of(json.at(0)) != 1)
    throw Error(ErrorCode::Parse, "program:load", "the structure of arguments has an unknown version",
                "Export the program with PyTorch 2.11");
  return read_tree_spec(json.at(1));
}

void flatten_into(const TreeSpec& spec, const c10::IValue& value, const std::string& name,
                  std::vector<c10::IValue>& leaves) {
  if (spec.kind == TreeSpec::Kind::Leaf) {
    leaves.push_back(value);
    return;
  }
  if (spec.kind == TreeSpec::Kind::Dict) {
    if (!value.isGenericDict()) refuse_argument(name, "should be a dictionary");
    const auto dict = value.toGenericDict();
    check_count(spec, dict.size(), name);
    for (size_t i = 0; i < spec.keys.size(); ++i) {
      const auto found = dict.find(spec.keys[i]);
      if (found == dict.end()) refuse_argument(name, fmt::format("has no key \"{}\"", spec.keys[i]));
      flatten_into(spec.children[i], found->value(), fmt::format("{}['{}']", name, spec.keys[i]), leaves);
    }
    return;
  }
  if (!value.isList() && !value.isTuple()) refuse_argument(name, "should be a list or a tuple");
  const auto elements = value.isList() ? value.toListRef().vec() : value.toTupleRef().elements().vec();
  check_count(spec, elements.size(), name);
  for (size_t i = 0; i < elements.size(); ++i)
    flatten_into(spec.children[i], elements[i], fmt::format("{}[{}]", name, i), leaves);
}

c10::IValue unflatten(const TreeSpec& spec, const std::vector<c10::IValue>& leaves, size_t& next) {
  if (spec.kind == TreeSpec::Kind::Leaf) return leaves.at(next++);
  if (spec.kind == TreeSpec::Kind::Dict) {
    c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
    for (size_t i = 0; i < spec.keys.size(); ++i)
      dict.insert(spec.keys[i], unflatten(spec.children[i], leaves, next));
    return dict;
  }
  std::vector<c10::IValue> elements;
  for (const auto& child : spec.children) elements.push_back(unflatten(child, leaves, next));
  if (spec.kind == TreeSpec::Kind::Tuple) return c10::ivalue::Tuple::create(std::move(elements));
  c10::impl::GenericList list(c10::AnyType::get());
  for (auto& element : elements) list.push_back(std::move(element));
  return list;
}

void name_leaves(const TreeSpec& spec, const std::string& name, std::vector<std::string>& names) {
  if (spec.kind == TreeSpec::Kind::Leaf) return names.push_back(name);
  for (size_t i = 0; i < spec.children.size(); ++i)
    name_leaves(spec.children[i],
                spec.kind == TreeSpec::Kind::Dict ? fmt::format("{}['{}']", name, spec.keys[i])
                                                  : fmt::format("{}[{}]", name, i),
                names);
}

}  // namespace antegrad::program
