#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace antegrad::aten {

/// LibTorch's default generator for the CPU. LibTorch destroys its own reference to it when the process ends,
/// while other threads may still be capturing; this one stays.
at::Generator& default_generator();

/// What tells whether the default generator is seeded later, while nobody draws from it. Other threads may,
/// so a changed state alone proves nothing.
struct SeedMark {
  uint64_t seed = 0;
  bool is_fresh = false;  ///< nothing has been drawn since it was seeded
};
/// Returns the mark of a generator for the CPU. The caller holds its mutex, or nobody else uses it.
SeedMark seed_mark(const at::Generator& generator);
/// Whether the generator was seeded between the two marks. Seeding one that is fresh with the same seed does
/// not show.
bool is_seeded_since(const SeedMark& before, const SeedMark& now);

// Generators that the user passes to ops. In a graph such a generator is a tensor, its state, which ops read
// and overwrite by the state that they leave behind.

/// Whether it is the default generator of its device, from which ops draw that are given none.
bool is_default(const at::Generator& generator);
/// Whether its state can be part of a graph: that of LibTorch's own generators for the CPU can.
bool has_known_state(const at::Generator& generator);

at::Tensor state_of(at::Generator generator);                ///< waits for others that use it
at::Tensor state_of_locked(const at::Generator& generator);  ///< the caller holds its mutex
void set_state_of_locked(at::Generator generator, const at::Tensor& state);
void set_state_of(at::Generator generator, const at::Tensor& state);
/// Returns a new generator in that state.
at::Generator generator_in(const at::Tensor& state);

/// Returns the tensor that stands for the generator: the same one for as long as the generator exists. It
/// tells generators apart; its contents are the state in which the generator was at the last call of this.
at::Tensor stand_in_of(const at::Generator& generator);
/// Returns the generator that a tensor stands for, undefined for other tensors and if it is gone.
at::Generator generator_of(const at::Tensor& stand_in);
/// Lets go of tensors that stand for generators which are gone.
void forget_dead_generators();

}  // namespace antegrad::aten
