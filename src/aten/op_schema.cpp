#include "aten/op_schema.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "aten/collectives.h"
#include "util/fork_mutex.h"
#include "util/thread_object.h"

namespace antegrad::aten {
namespace {

/// Ops that write to arguments which their schema does not annotate.
struct UnannotatedWrite {
  std::string_view op;
  std::vector<std::string_view> args;
  std::string_view only_if;  ///< a bool argument that must be true
};
const auto& kUnannotatedWrites = *new const std::vector<UnannotatedWrite>{
    {"aten.native_batch_norm", {"running_mean", "running_var"}, "training"},
    {"aten.cudnn_batch_norm", {"running_mean", "running_var"}, "training"},
    {"aten.miopen_batch_norm", {"running_mean", "running_var"}, "training"},
};

std::string library_of(const c10::OperatorName& name) { return name.name.substr(0, name.name.find("::")); }

ArgKind kind_of_element(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      return ArgKind::TensorList;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return ArgKind::IntList;
    case c10::TypeKind::FloatType:
      return ArgKind::FloatList;
    case c10::TypeKind::BoolType:
      return ArgKind::BoolList;
    case c10::TypeKind::NumberType:
      return ArgKind::NumberList;
    case c10::TypeKind::OptionalType:
      return ArgKind::OptionalTensorList;
    default:
      return ArgKind::Other;
  }
}

ArgKind kind_of(const c10::Type& type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType:
      return ArgKind::Tensor;
    case c10::TypeKind::NumberType:
      return ArgKind::Number;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return ArgKind::Int;
    case c10::TypeKind::FloatType:
      return ArgKind::Float;
    case c10::TypeKind::BoolType:
      return ArgKind::Bool;
    case c10::TypeKind::StringType:
      return ArgKind::String;
    case c10::TypeKind::ScalarTypeType:
      return ArgKind::DType;
    case c10::TypeKind::LayoutType:
      return ArgKind::Layout;
    case c10::TypeKind::MemoryFormatType:
      return ArgKind::MemoryFormat;
    case c10::TypeKind::DeviceObjType:
      return ArgKind::Device;
    case c10::TypeKind::GeneratorType:
      return ArgKind::Generator;
    case c10::TypeKind::OptionalType:
      return kind_of(*type.expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::ListType:
      return kind_of_element(*type.expectRef<c10::ListType>().getElementType());
    default:
      return ArgKind::Other;
  }
}

bool is_symbolic(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::SymIntType) return true;
  if (type.kind() == c10::TypeKind::OptionalType)
    return is_symbolic(*type.expectRef<c10::OptionalType>().getElementType());
  if (type.kind() == c10::TypeKind::ListType)
    return is_symbolic(*type.expectRef<c10::ListType>().getElementType());
  return false;
}

std::string graph_name(const c10::OperatorName& name) {
  auto text = name.name;
  if (auto colons = text.find("::"); colons != std::string::npos) text.replace(colons, 2, ".");
  if (!name.overload_name.empty()) text += "." + name.overload_name;
  return text;
}

/// Returns whether the op runs on meta tensors. Composite kernels of LibTorch do; what those of other
/// libraries do is unknown.
bool runs_on_meta(const c10::OperatorHandle& op, bool foreign) {
  using c10::DispatchKey;
  if (op.hasKernelForDispatchKey(DispatchKey::Meta)) return true;
  return !foreign && (op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutograd) ||
                      op.hasKernelForDispatchKey(DispatchKey::CompositeExplicitAutogradNonFunctional) ||
                      op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd));
}

bool is_composite_only(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::CPU) &&
         !op.hasKernelForDispatchKey(c10::DispatchKey::Meta);
}

ArgSchema read_argument(const c10::Argument& argument, const std::string& op) {
  ArgSchema arg;
  arg.name = argument.name();
  arg.kind = kind_of(*argument.real_type());
  arg.keyword = argument.kwarg_only();
  arg.optional = argument.real_type()->kind() == c10::TypeKind::OptionalType;
  arg.symbolic = is_symbolic(*argument.real_type());
  if (const auto* alias = argument.alias_info()) {
    arg.written = alias->isWrite();
  }
  if (argument.default_value()) {
    arg.has_default = true;
    arg.default_value = *argument.default_value();
  }
  for (const auto& row : kUnannotatedWrites)
    if (row.op == op)
      for (auto name : row.args) arg.written |= name == arg.name;
  return arg;
}

}  // namespace

LibraryKind library_kind(std::string_view library) {
  constexpr std::array kLibTorch = {"aten",       "prim",         "prims",  "antegrad", "quantized",
                                    "_quantized", "quantization", "mkl",    "mkldnn",   "mkldnn_prepacked",
                                    "onednn",     "prepacked",    "sparse", "inductor", "static_runtime"};
  constexpr std::array kCollective = {"c10d", "_c10d_functional", "_c10d_functional_autograd", "_dtensor",
                                      "symm_mem"};
  const auto is_one_of = [&](const auto& names) { return std::ranges::find(names, library) != names.end(); };
  if (is_one_of(kLibTorch)) return LibraryKind::LibTorch;
  return is_one_of(kCollective) ? LibraryKind::Collective : LibraryKind::Foreign;
}

OpSchema::OpSchema(const c10::OperatorHandle& op) : handle(op), name(graph_name(op.operator_name())) {
  const auto& schema = op.schema();
  for (const auto& argument : schema.arguments()) {
    args.push_back(read_argument(argument, name));
    if (args.back().name == "device" && args.back().kind == ArgKind::Device)
      device_arg = static_cast<int>(args.size()) - 1;
    writes |= args.back().written;
    for (const auto& row : kUnannotatedWrites)
      if (row.op == name && row.only_if == args.back().name) writes_if = static_cast<int>(args.size()) - 1;
  }
  for (const auto& result : schema.returns()) {
    returns.push_back(kind_of(*result.real_type()));
    return_is_arg.push_back(-1);
    const auto* alias = result.alias_info();
    if (alias == nullptr) continue;
    if (!alias->isWrite()) has_alias = true;
    for (size_t i = 0; alias->isWrite() && i < args.size(); ++i)
      if (const auto* from = schema.arguments()[i].alias_info();
          from != nullptr && from->beforeSets() == alias->beforeSets())
        return_is_arg.back() = static_cast<int>(i);
  }
  random = op.hasTag(at::Tag::nondeterministic_seeded);
  inplace_view = op.hasTag(at::Tag::inplace_view) || name.rfind("aten.set_.", 0) == 0 ||
                 name == "aten.set_" || name.rfind("aten.resize_", 0) == 0;
  const auto library = library_kind(library_of(op.operator_name()));
  collective = library == LibraryKind::Collective;
  foreign = library == LibraryKind::Foreign || (collective && find_collective(name) != nullptr);
  has_meta_kernel = runs_on_meta(op, foreign);
  is_composite = is_composite_only(op);
  bumps_below = writes && !op.hasKernelForDispatchKey(c10::DispatchKey::ADInplaceOrView) &&
                op.hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd);
}

const OpSchema& schema_of(const c10::OperatorHandle& handle) {
  // Ops live as long as the process (custom ops may be unregistered, but a name's schema does not change).
  auto& cache = thread_object<std::unordered_map<c10::OperatorHandle, const OpSchema*>, OpSchema>();
  if (auto found = cache.find(handle); found != cache.end()) return *found->second;
  static auto& mutex = *new BriefMutex;
  static auto& all = *new std::unordered_map<c10::OperatorName, std::unique_ptr<OpSchema>>;
  std::scoped_lock lock(mutex);
  auto& schema = all[handle.operator_name()];
  if (!schema) schema = std::make_unique<OpSchema>(handle);
  cache.emplace(handle, schema.get());
  return *schema;
}

const OpSchema* find_schema(std::string_view graph_name) {
  auto& cache = thread_object<std::unordered_map<std::string, const OpSchema*>, OpSchema>();
  if (auto found = cache.find(std::string(graph_name)); found != cache.end()) return found->second;
  const auto first = graph_name.find('.');
  if (first == std::string_view::npos) return nullptr;
  const auto second = graph_name.find('.', first + 1);
  std::string name(graph_name.substr(0, first));
  name += "::";
  name += graph_name.substr(first + 1, second == std::string_view::npos ? second : second - first - 1);
  std::string overload(second == std::string_view::npos ? std::string_view() : graph_name.substr(second + 1));
  auto handle = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!handle) return nullptr;  // not remembered: a library may register it later
  return cache[std::string(graph_name)] = &schema_of(*handle);
}

}  // namespace antegrad::aten
