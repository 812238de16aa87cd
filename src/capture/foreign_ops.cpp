#include "capture/foreign_ops.h"

#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>

#include "antegrad/compile.h"
#include "antegrad/error.h"
#include "aten/collectives.h"
#include "aten/convert.h"
#include "ir/graph.h"

namespace antegrad {
namespace capture {

using namespace aten;

namespace {

/// What was registered about an op.
struct Description {
  ShapeFunction shape;  ///< empty when there is none
  OpEffects effects = OpEffects::Unknown;
  std::string resource;  ///< with OpEffects::Unknown
};

/// What register_shape and register_effect were told, by graph name. Created on first use, because libraries
/// register before main().
class Descriptions {
 public:
  template <class Change>
  void change(const std::string& op, Change change) {
    const std::scoped_lock lock(mutex_);
    change(descriptions_[op]);
  }
  Description find(const std::string& op) {
    const std::scoped_lock lock(mutex_);
    const auto found = descriptions_.find(op);
    return found == descriptions_.end() ? Description() : found->second;
  }
  static Descriptions& instance() {
    static auto* descriptions = new Descriptions;  // never destroyed: calls may outlive main()
    return *descriptions;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, Description> descriptions_;
};

/// Turns "mylib.op.overload" into LibTorch's "mylib::op.overload".
std::string dispatcher_name(const std::string& graph_name) {
  auto text = graph_name;
  text.replace(text.find('.'), 1, "::");
  return text;
}

std::string way_out_of_wrong_shapes(const OpSchema& schema, bool registered) {
  return registered ? fmt::format("Correct the function given to register_shape(\"{}\")",
                                  dispatcher_name(schema.name))
                    : "Correct its Meta kernel";
}

/// Returns a tensor on the meta device with memory of its own.
at::Tensor fresh_meta(const at::Tensor& like) {
  return at::empty_strided(like.sizes(), like.strides(), like.options().device(c10::kMeta));
}

c10::IValue without_shared_memory(const c10::IValue& result) {
  return map_tensors(result,
                     [](const at::Tensor& tensor) { return tensor.defined() ? fresh_meta(tensor) : tensor; });
}

/// Makes the results what the schema says: written arguments, views of arguments, new tensors. Throws when
/// they cannot be.
void settle_results(const OpSchema& schema, const std::vector<c10::IValue>& arguments,
                    std::vector<c10::IValue>& results, bool registered) {
  if (results.size() != schema.returns.size())
    throw Error(
        ErrorCode::InvalidArgument, "capture:" + schema.name,
        fmt::format("{} results were given where the schema has {}", results.size(), schema.returns.size()),
        way_out_of_wrong_shapes(schema, registered));
  const auto& returns = schema.handle.schema().returns();
  for (size_t i = 0; i < results.size(); ++i) {
    const bool is_list = schema.returns[i] == ArgKind::TensorList;
    if (is_list ? !results[i].isTensorList() : !results[i].isTensor())
      throw Error(ErrorCode::InvalidArgument, "capture:" + schema.name,
                  fmt::format("result {} is a {} where the schema has a {}", i, results[i].tagKind(),
                              is_list ? "list of tensors" : "tensor"),
                  way_out_of_wrong_shapes(schema, registered));
    if (schema.return_is_arg[i] >= 0)
      results[i] = arguments[schema.return_is_arg[i]];
    else if (returns[i].alias_info() == nullptr)
      results[i] = without_shared_memory(results[i]);
  }
}

bool gives_only_arguments(const OpSchema& schema) {
  return std::all_of(schema.return_is_arg.begin(), schema.return_is_arg.end(),
                     [](int arg) { return arg >= 0; });
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// Turns "mylib::op" or "mylib::op.overload" into the op's name in graphs. Throws for any other text.
std::string graph_name_of(const std::string& op, std::string_view caller) {
  const auto colons = op.find("::");
  const auto library = op.substr(0, colons);
  const auto rest = colons == std::string::npos ? std::string() : op.substr(colons + 2);
  const auto dot = rest.find('.');
  if (!is_name(library) || !is_name(rest.substr(0, dot)) ||
      (dot != std::string::npos && !is_name(rest.substr(dot + 1))))
    throw Error(ErrorCode::InvalidArgument, caller, fmt::format("\"{}\" is not the name of an op", op),
                "Write library::op, or library::op.overload");
  if (library_kind(library) != LibraryKind::Foreign)
    throw Error(ErrorCode::InvalidArgument, caller,
                fmt::format("{} is an op of LibTorch, not of a library of yours", op),
                "Leave it out: antegrad has its own rules for ops of LibTorch");
  return library + "." + rest;
}

}  // namespace

void check_recordable(const OpSchema& schema) {
  if (schema.collective && !schema.foreign)
    throw Error(
        ErrorCode::UnsupportedOp, "capture:" + schema.name,
        "it communicates in place, and only collectives that return their results can be captured",
        "Call antegrad::distributed::all_reduce and the like, or communicate between compiled functions");
  if (!schema.foreign) return;
  for (const auto& result : schema.handle.schema().returns())
    if (result.type()->kind() != c10::TypeKind::TensorType &&
        !result.type()->isSubtypeOf(*c10::ListType::ofTensors()))
      throw Error(ErrorCode::UnsupportedOp, "capture:" + schema.name,
                  fmt::format("it returns a value of type {}, and only tensors can be recorded",
                              result.type()->str()),
                  "Call it outside the compiled function, and pass its result as an argument");
}

std::optional<std::string> resource_of(const OpSchema& schema, c10::ArrayRef<c10::IValue> arguments) {
  if (!schema.foreign) return std::nullopt;
  if (const auto* collective = find_collective(schema.name))
    return collective->result == Collective::Result::Waited ? std::string(ir::kWaits)
                                                            : "group:" + arguments.back().toStringRef();
  const auto description = Descriptions::instance().find(schema.name);
  if (description.effects == OpEffects::None) return std::nullopt;
  if (schema.handle.hasTag(at::Tag::pt2_compliant_tag) && description.resource.empty()) return std::nullopt;
  return description.resource;
}

void infer_foreign_results(const OpSchema& schema, torch::jit::Stack& stack) {
  const std::vector<c10::IValue> arguments(stack.begin(), stack.end());
  if (const auto* collective = find_collective(schema.name)) {
    stack = collective_results(*collective, arguments);
    return;
  }
  const auto registered = Descriptions::instance().find(schema.name).shape;
  if (registered) {
    stack = registered(arguments);
  } else if (schema.handle.hasKernelForDispatchKey(c10::DispatchKey::Meta)) {  // also one registered late
    schema.handle.callBoxed(stack);
  } else if (gives_only_arguments(schema)) {
    stack.clear();
    for (auto argument : schema.return_is_arg) stack.push_back(arguments[argument]);
  } else {
    throw Error(
        ErrorCode::UnsupportedOp, "capture:" + schema.name,
        "the shapes of its results are unknown: it is an op of another library and has no Meta kernel",
        fmt::format("Describe them with antegrad::register_shape(\"{}\", f), or register a kernel for the "
                    "dispatch key Meta",
                    dispatcher_name(schema.name)));
  }
  settle_results(schema, arguments, stack, static_cast<bool>(registered));
}

}  // namespace capture

void register_shape(const std::string& op, ShapeFunction shape, OpEffects effects) {
  const auto name = capture::graph_name_of(op, "register_shape");
  if (!shape)
    throw Error(ErrorCode::InvalidArgument, "register_shape", fmt::format("the function for {} is empty", op),
                "Pass a function from the op's arguments to its results");
  capture::Descriptions::instance().change(name, [&](capture::Description& description) {
    description.shape = std::move(shape);
    if (effects != OpEffects::Unknown) description.effects = effects;
  });
}

void register_effect(const std::string& op, OpEffects effects) {
  capture::Descriptions::instance().change(capture::graph_name_of(op, "register_effect"),
                                           [&](capture::Description& description) {
                                             description.effects = effects;
                                             description.resource.clear();
                                           });
}

void register_effect(const std::string& op, const std::string& resource) {
  const auto name = capture::graph_name_of(op, "register_effect");
  if (resource.empty() || resource == ir::kWaits || resource.starts_with("group:"))
    throw Error(ErrorCode::InvalidArgument, "register_effect",
                fmt::format("\"{}\" cannot be the resource that {} acts on", resource, op),
                "Name the resource, or pass OpEffects::Unknown if the op may act on anything");
  capture::Descriptions::instance().change(name, [&](capture::Description& description) {
    description.effects = OpEffects::Unknown;
    description.resource = resource;
  });
}

}  // namespace antegrad
