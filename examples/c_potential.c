/*
 * Moves atoms under a learned potential, in plain C.
 *
 *     c_potential potential.pt [moves]
 *
 * torchscript_train writes the file. The first call compiles energy and forces; later calls run them. The
 * program owns all memory: antegrad borrows the positions and writes the gradient where it is told to.
 */
#include <antegrad/c.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ATOMS 8
#define TIME_STEP 0.002

static void check(antegrad_status status) {
  if (status == ANTEGRAD_OK) return;
  fprintf(stderr, "%s\n", antegrad_last_error());
  exit(1);
}

static double positions[ATOMS][3], velocities[ATOMS][3], gradient[ATOMS][3];

/* Returns the energy, and writes the gradient to `gradient`. */
static double energy_and_gradient(antegrad_function* potential) {
  const size_t wanted[] = {0}; /* the first input, the positions */
  double energy = 0;
  antegrad_tensor input = {positions, sizeof positions, ANTEGRAD_FLOAT64, 2, {ATOMS, 3}, NULL};
  antegrad_tensor value = {&energy, sizeof energy, ANTEGRAD_FLOAT64, 0, {0}, NULL};
  antegrad_tensor by_positions = {gradient, sizeof gradient, ANTEGRAD_FLOAT64, 2, {ATOMS, 3}, NULL};
  check(antegrad_value_and_gradients(potential, &input, 1, wanted, 1, &value, &by_positions));
  return energy;
}

static double kinetic_energy(void) {
  double sum = 0;
  for (int atom = 0; atom < ATOMS; ++atom)
    for (int k = 0; k < 3; ++k) sum += 0.5 * velocities[atom][k] * velocities[atom][k];
  return sum;
}

static void accelerate(double time) { /* all masses are 1, forces are minus the gradient */
  for (int atom = 0; atom < ATOMS; ++atom)
    for (int k = 0; k < 3; ++k) velocities[atom][k] -= time * gradient[atom][k];
}

int main(int argc, char** argv) {
  const int moves = argc > 2 ? atoi(argv[2]) : 1000;
  antegrad_options* options = NULL;
  antegrad_function* potential = NULL;
  if (argc < 2) {
    fprintf(stderr, "usage: c_potential potential.pt [moves]\n");
    return 2;
  }
  printf("antegrad %s\n", antegrad_version());
  check(antegrad_options_create(&options));
  check(antegrad_options_set(options, "name", "potential"));
  check(antegrad_load_script(argv[1], options, &potential));
  antegrad_options_free(options);

  for (int atom = 0; atom < ATOMS; ++atom)
    for (int k = 0; k < 3; ++k) {
      positions[atom][k] = 1.15 * ((atom >> k) & 1);
      velocities[atom][k] = 0.2 * sin(7.0 * atom + 3.0 * k);
    }

  const double at_first = energy_and_gradient(potential) + kinetic_energy();
  double drift = 0, largest_kinetic = 0;
  for (int move = 1; move <= moves; ++move) { /* velocity Verlet */
    accelerate(0.5 * TIME_STEP);
    for (int atom = 0; atom < ATOMS; ++atom)
      for (int k = 0; k < 3; ++k) positions[atom][k] += TIME_STEP * velocities[atom][k];
    const double energy = energy_and_gradient(potential);
    accelerate(0.5 * TIME_STEP);
    drift = fmax(drift, fabs(energy + kinetic_energy() - at_first));
    largest_kinetic = fmax(largest_kinetic, kinetic_energy());
    if (move % (moves / 5 > 0 ? moves / 5 : 1) == 0)
      printf("move %5d   energy %.6f   kinetic %.6f\n", move, energy + kinetic_energy(), kinetic_energy());
  }
  printf("energy at first %.6f, kept within %.1e of it\n", at_first, drift);
  antegrad_function_free(potential);
  return drift < 0.01 * largest_kinetic ? 0 : 1;
}
