#include "engine/saved_fields.h"

#include <torch/csrc/autograd/generated/Functions.h>
#include <torch/version.h>

#include <typeinfo>
#include <vector>

#include "aten/autograd_members.h"
#include "engine/flat_index.h"
#include "util/thread_object.h"

namespace antegrad::engine {

using torch::autograd::Node;
using torch::autograd::SavedVariable;
namespace generated = torch::autograd::generated;

namespace {

/// Returns false for a tensor that was packed by hooks, released, or written to since.
bool read(const SavedVariable& saved, SavedFields& fields) {
  auto& tensor = fields.tensors[fields.count++];
  tensor.reset();
  if (aten::was_never_set(saved)) return true;
  auto data = saved.get_raw_data();
  if (!data || !data->defined()) return false;
  tensor = std::move(*data);
  const auto& version = tensor.unsafeGetTensorImpl()->version_counter();
  return version.enabled() && version.current_version() == aten::version_when_saved(saved);
}

template <class Type, auto... kSaved>
bool read_as(const Node& node, SavedFields& fields) {
  const auto& typed = static_cast<const Type&>(node);
  fields.count = 0;
  fields.rest = 0;
  if constexpr (requires { typed.self_scalar_type; })
    fields.rest |= static_cast<uint64_t>(typed.self_scalar_type);
  if constexpr (requires { typed.other_scalar_type; })
    fields.rest |= static_cast<uint64_t>(typed.other_scalar_type) << 8;
  if constexpr (requires { typed.alpha; }) {
    if (!typed.alpha.isIntegral(false) || typed.alpha.isSymbolic() || typed.alpha.toLong() != 1) return false;
  }
  return (read(typed.*kSaved, fields) && ...);
}

using Read = bool (*)(const Node&, SavedFields&);

template <class Type, auto... kSaved>
bool offer(const Node& node, Read& read) {
  if (typeid(node) != typeid(Type)) return false;
  read = read_as<Type, kSaved...>;
  return true;
}

Read find_reader(const Node& node) {
  Read read = nullptr;
#if TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR == 11  // these are all their fields in this version
  static_cast<void>(
      offer<generated::AddBackward0>(node, read) || offer<generated::SubBackward0>(node, read) ||
      offer<generated::NegBackward0>(node, read) ||
      offer<generated::SinBackward0, &generated::SinBackward0::self_>(node, read) ||
      offer<generated::CosBackward0, &generated::CosBackward0::self_>(node, read) ||
      offer<generated::LogBackward0, &generated::LogBackward0::self_>(node, read) ||
      offer<generated::SiluBackward0, &generated::SiluBackward0::self_>(node, read) ||
      offer<generated::TanhBackward0, &generated::TanhBackward0::result_>(node, read) ||
      offer<generated::SigmoidBackward0, &generated::SigmoidBackward0::result_>(node, read) ||
      offer<generated::ExpBackward0, &generated::ExpBackward0::result_>(node, read) ||
      offer<generated::SqrtBackward0, &generated::SqrtBackward0::result_>(node, read) ||
      offer<generated::ReluBackward0, &generated::ReluBackward0::result_>(node, read) ||
      offer<generated::MulBackward0, &generated::MulBackward0::other_, &generated::MulBackward0::self_>(
          node, read) ||
      offer<generated::DivBackward0, &generated::DivBackward0::other_, &generated::DivBackward0::self_>(
          node, read));
#endif
  return read;
}

}  // namespace

bool read_fields(const Node& node, SavedFields& fields) {
  auto& types = thread_object<FlatIndex<uintptr_t>, SavedFields>();
  auto& readers = thread_object<std::vector<Read>, SavedFields>();
  const auto [index, added] = types.number(reinterpret_cast<uintptr_t>(&typeid(node)));
  if (added) readers.push_back(find_reader(node));
  return readers[index] != nullptr && readers[index](node, fields);
}

}  // namespace antegrad::engine
