#pragma once
#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <string_view>
#include <vector>

namespace antegrad::aten {

/// Where an op comes from.
enum class LibraryKind : uint8_t {
  LibTorch,
  Collective,  ///< of LibTorch; communicates with other processes
  Foreign,     ///< of a library that antegrad knows nothing of
};
LibraryKind library_kind(std::string_view library);

enum class ArgKind : uint8_t {
  Tensor,  ///< also optional
  TensorList,
  OptionalTensorList,
  Number,
  Int,
  Float,
  Bool,
  String,
  DType,
  Layout,
  MemoryFormat,
  Device,
  IntList,
  FloatList,
  BoolList,
  NumberList,
  Generator,
  Other
};

struct ArgSchema {
  std::string name;
  ArgKind kind = ArgKind::Other;
  bool keyword = false;
  bool optional = false;
  bool symbolic = false;  ///< SymInt or SymInt[] in C++
  bool written = false;   ///< by the schema's alias annotation, or by kUnannotatedWrites in op_schema.cpp
  bool has_default = false;
  c10::IValue default_value;
};

/// What recording, functionalization and the runtime need to know about an op, read once from its schema.
struct OpSchema {
  explicit OpSchema(const c10::OperatorHandle& handle);

  c10::OperatorHandle handle;
  std::string name;  ///< as in graphs: "aten.add.Tensor"
  std::vector<ArgSchema> args;
  std::vector<ArgKind> returns;
  std::vector<int> return_is_arg;  ///< per return: the written argument that it is, or -1
  bool random = false;
  bool writes = false;
  bool has_alias = false;     ///< some return may be a view of an argument
  bool inplace_view = false;  ///< t_, resize_, set_ …: changes the metadata of its argument
  bool has_meta_kernel = false;
  bool is_composite = false;  ///< its only kernel is composed of other ops
  bool bumps_below = false;   ///< in place, and the ops that it calls increment version counters
  int device_arg = -1;
  int writes_if = -1;       ///< a bool argument without which nothing is written, or -1
  bool foreign = false;     ///< called as it is, with effects that its schema does not show: foreign_ops.h
  bool collective = false;  ///< communicates with other processes: collectives.h
};

/// Cached per thread; the reference stays valid for the life of the process.
const OpSchema& schema_of(const c10::OperatorHandle& handle);
/// Finds an op by its graph name. Null when the dispatcher has no such op.
const OpSchema* find_schema(std::string_view graph_name);

}  // namespace antegrad::aten
