#pragma once
#include <vector>

#include "aot/aliasing.h"
#include "aot/emitter.h"
#include "capture/capture.h"

namespace antegrad::aot {

using RootId = Id<struct RootTag>;

/// The memory of a traced program as values. Every traced tensor lies on a *root*, the value of a whole
/// storage: it is the root itself, a view op on a parent, or a strided region of the root. Writing a tensor
/// gives its root a new value; reading a tensor whose root has changed replays its views.
class Memory {
 public:
  Memory(const ir::Graph& trace, Emitter& emit) : trace_(trace), emit_(emit), tensors_(trace.values.size()) {}

  /// Adds a storage whose first tensor is `traced`, with the contents `value`. Returns its root.
  RootId add_root(ir::ValueId traced, ir::ValueId value);
  /// Adds a storage that no traced tensor covers whole (the base of overlapping inputs), at offset `first` of
  /// the real one.
  RootId add_base(ir::ValueId value, int64_t first);
  /// Makes `traced` the part of a root that its type describes.
  void add_region(ir::ValueId traced, RootId root);
  /// Makes `traced` result `output` of a view op on `parent`. `value`: its current contents, when known.
  void add_view(ir::ValueId traced, ir::ValueId parent, const ir::Node& view, int32_t output,
                ir::ValueId value = {});
  /// The same, where `traced` is the tensor object that was `object` until an op changed its metadata in
  /// place.
  void add_changed(ir::ValueId traced, ir::ValueId object, ir::ValueId parent, const ir::Node& view,
                   ir::ValueId value);

  /// Notes that the tensor object of `before` has become `traced`.
  void continue_object(ir::ValueId traced, ir::ValueId before) { at(traced).object = before; }

  /// Returns the current contents of `traced`.
  ir::ValueId read(ir::ValueId traced);
  /// Gives `traced` new contents of the same sizes.
  void write(ir::ValueId traced, ir::ValueId value);
  /// Replaces the storage of `traced`, which is a root, by a value of other sizes, which is `successor` in
  /// the trace.
  void replace_storage(ir::ValueId traced, ir::ValueId successor, ir::ValueId value);

  RootId root_of(ir::ValueId traced) const { return at(traced).root; }
  /// Returns whether `traced` is the whole of its storage, and its object was made on that storage.
  bool owns_whole_storage(ir::ValueId traced) const {
    return at(traced).is_root && at(object_of(traced)).root == at(traced).root;
  }
  bool written(RootId root) const { return generation(root) > 0; }
  /// Incremented by each write.
  int32_t generation(RootId root) const { return roots_[root].generation; }
  IdMap<RootId, int32_t> generations() const;  ///< of all roots
  bool regrown(RootId root) const { return roots_[root].regrown; }
  ir::ValueId contents(RootId root) const { return roots_[root].value; }

  /// How a tensor is a view: the parent, the op, and which of its results.
  struct View {
    ir::ValueId parent;
    const ir::Node* node;
    int32_t output;
  };
  /// Returns the view op from `traced` towards its root. Null when it is the root or a region of it.
  const View* view_of(ir::ValueId traced) const { return at(traced).view.node ? &at(traced).view : nullptr; }
  /// Returns the value that the tensor object of `traced` had when it was made.
  ir::ValueId object_of(ir::ValueId traced) const {
    while (at(traced).object.valid()) traced = at(traced).object;
    return traced;
  }

 private:
  struct Root {
    ir::ValueId value;
    ir::TensorType type;  ///< as traced; offsets of regions are relative to its offset
    int32_t generation = 0;
    bool regrown = false;
  };
  struct Tensor {
    RootId root;
    bool is_root = false;
    View view{{}, nullptr, 0};
    ir::ValueId object;  ///< the previous value of the same object; invalid when it was made as this
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
