/*
 * Trains a language model of Python, in plain C.
 *
 *     c_train model.pt2 trained.pt2 [steps]
 *
 * torch.export.save() writes the first file: a program of token numbers and targets, of 8 tokens in each of 4
 * rows, that returns a loss. Python's torch.export.load() reads the second one. The exit status says whether
 * training improved the model, and whether the saved program is the trained one.
 */
#include <antegrad/c.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS 4
#define TOKENS 8
#define WORDS 32

static void check(antegrad_status status) {
  if (status == ANTEGRAD_OK) return;
  fprintf(stderr, "%s\n", antegrad_last_error());
  exit(1);
}

int main(int argc, char** argv) {
  const int steps = argc > 3 ? atoi(argv[3]) : 100;
  int64_t ids[ROWS][TOKENS], targets[ROWS][TOKENS];
  float loss = 0, first = 0, trained_loss = 0, saved_loss = 0;
  antegrad_function *model = NULL, *saved = NULL;
  antegrad_trainer* trainer = NULL;
  if (argc < 3) {
    fprintf(stderr, "usage: c_train model.pt2 trained.pt2 [steps]\n");
    return 2;
  }
  for (int row = 0; row < ROWS; ++row)
    for (int token = 0; token < TOKENS; ++token) {
      ids[row][token] = (7 * token + 3 * row) % WORDS;
      targets[row][token] = (7 * (token + 1) + 3 * row) % WORDS;
    }
  const antegrad_tensor inputs[] = {{ids, sizeof ids, ANTEGRAD_INT64, 2, {ROWS, TOKENS}, NULL},
                                    {targets, sizeof targets, ANTEGRAD_INT64, 2, {ROWS, TOKENS}, NULL}};
  antegrad_tensor output = {&loss, sizeof loss, ANTEGRAD_FLOAT32, 0, {0}, NULL};

  check(antegrad_load_program(argv[1], NULL, &model));
  check(antegrad_trainer_create(model, "AdamW", NULL, &trainer));
  check(antegrad_trainer_set(trainer, "clip_norm", 1.0));
  for (int step = 0; step < steps; ++step) {
    check(antegrad_trainer_set(trainer, "lr", 0.01 * (steps - step) / steps)); /* no new code */
    check(antegrad_train(trainer, inputs, 2, &output, 1));
    if (step == 0) first = loss;
    if (step % 20 == 0) printf("step %4d   loss %.4f\n", step, loss);
  }
  antegrad_trainer_free(trainer);

  output.data = &trained_loss;
  check(antegrad_call(model, inputs, 2, &output, 1));
  check(antegrad_save_program(model, argv[2]));
  antegrad_function_free(model);

  check(antegrad_load_program(argv[2], NULL, &saved));
  output.data = &saved_loss;
  check(antegrad_call(saved, inputs, 2, &output, 1));
  antegrad_function_free(saved);
  printf("loss %.4f, then %.4f; of the saved program %.4f\n", first, trained_loss, saved_loss);
  return trained_loss < 0.5f * first && fabsf(saved_loss - trained_loss) < 1e-5f ? 0 : 1;
}
