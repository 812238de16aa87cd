#pragma once
#include <vector>

#include "aot/aliasing.h"
#include "aot/emitter.h"
#include "capture/capture.h"

namespace antegrad::aot {

using RootId = Id<struct RootTag>;

/// The memory of a traced program as values. Every traced tensor lies on a *root*, the value of a whole
/// storage; it is the root itself, a view op on a parent, or a strided region of the root. Writing a tensor
/// gives its root a new value; reading a tensor whose root has moved on replays its views.
class Memory {
 public:
  Memory(const ir::Graph& trace, Emitter& emit) : trace_(trace), emit_(emit), tensors_(trace.values.size()) {}

  /// `traced` starts a storage whose contents are `value`. Returns the root.
  RootId add_root(ir::ValueId traced, ir::ValueId value);
  /// A storage that no traced tensor covers whole (the base of overlapping inputs); `first`: its offset in
  /// the real one.
  RootId add_base(ir::ValueId value, int64_t first);
  /// `traced` is the part of a root that its type says.
  void add_region(ir::ValueId traced, RootId root);
  /// `traced` is result `output` of a view op on `parent`; `value`: its contents now, when known.
  void add_view(ir::ValueId traced, ir::ValueId parent, const ir::Node& view, int32_t output,
                ir::ValueId value = {});
  /// The same, and `traced` is the tensor object that was `object` until an op changed its metadata in place.
  void add_changed(ir::ValueId traced, ir::ValueId object, ir::ValueId parent, const ir::Node& view,
                   ir::ValueId value);

  /// `traced` is what the tensor object of `before` became.
  void continue_object(ir::ValueId traced, ir::ValueId before) { at(traced).object = before; }

  ir::ValueId read(ir::ValueId traced);
  /// `value` has the sizes and dtype of `traced`.
  void write(ir::ValueId traced, ir::ValueId value);
  /// The storage of `traced`, which is a root, is now this value of other sizes, known as `successor`.
  void regrow(ir::ValueId traced, ir::ValueId successor, ir::ValueId value);

  RootId root_of(ir::ValueId traced) const { return at(traced).root; }
  /// Whether `traced` is the whole of its storage, and the storage is the one that its object was made on.
  bool is_grown_object(ir::ValueId traced) const {
    return at(traced).is_root && at(object_of(traced)).root == at(traced).root;
  }
  bool written(RootId root) const { return generation(root) > 0; }
  /// Grows with each write.
  int32_t generation(RootId root) const { return roots_[root].generation; }
  IdMap<RootId, int32_t> generations() const;  ///< of all roots
  bool regrown(RootId root) const { return roots_[root].regrown; }
  ir::ValueId contents(RootId root) const { return roots_[root].value; }

  /// The view from `traced` towards its root: what it is a view of, and how. Null: it is the root or a region
  /// of it.
  struct View {
    ir::ValueId parent;
    const ir::Node* node;
    int32_t output;
  };
  const View* view_of(ir::ValueId traced) const { return at(traced).view.node ? &at(traced).view : nullptr; }
  /// The value that the tensor object of `traced` had when it was made.
  ir::ValueId object_of(ir::ValueId traced) const {
    while (at(traced).object.valid()) traced = at(traced).object;
    return traced;
  }

 private:
  struct Root {
    ir::ValueId value;
    ir::TensorType type;  ///< as traced: its offset is the one that regions count from
    int32_t generation = 0;
    bool regrown = false;
  };
  struct Tensor {
    RootId root;
    bool is_root = false;
    View view{{}, nullptr, 0};
    ir::ValueId object;  ///< what the same object was before; not valid: it was made as this
    ir::ValueId value;
    int32_t generation = -1;
  };

  Tensor& at(ir::ValueId v) { return tensors_[v]; }
  const Tensor& at(ir::ValueId v) const { return tensors_[v]; }
  ir::ValueId replay(ir::ValueId traced);
  bool is_inside_parent(ir::ValueId traced) const;
  ir::ValueId scatter_into_root(ir::ValueId traced, ir::ValueId value);
  int64_t offset_in_root(ir::ValueId traced) const;

  const ir::Graph& trace_;
  Emitter& emit_;
  ir::PerValue<Tensor> tensors_;  ///< of the trace
  IdMap<RootId, Root> roots_;
};

}  // namespace antegrad::aot
