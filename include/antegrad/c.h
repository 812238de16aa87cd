#ifndef ANTEGRAD_C_H
#define ANTEGRAD_C_H
/** @file
 * The C99 API of antegrad, for every language that can call C. docs/c-api.md has the rules and an example;
 * examples/c_potential.c and examples/fortran_potential.f90 are complete programs.
 *
 * Functions that can fail return a status; antegrad_last_error() returns the message. No function throws.
 * Handles are opaque and freed by whoever created them. The functions that free accept null; all others
 * accept it only where documented.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Result of a call; antegrad_last_error() has details. */
typedef enum antegrad_status {
  ANTEGRAD_OK = 0,                     /**< success */
  ANTEGRAD_ERROR_INVALID_ARGUMENT = 1, /**< null, or an invalid dtype, shape, count, option or index */
  ANTEGRAD_ERROR_IO = 2,               /**< a file that cannot be read */
  ANTEGRAD_ERROR_FORMAT = 3,           /**< not a TorchScript file, or not the text of an exported graph */
  ANTEGRAD_ERROR_BUFFER_TOO_SMALL = 4, /**< the required sizes are in the outputs */
  ANTEGRAD_ERROR_UNSUPPORTED = 5,      /**< the function cannot be captured, or has no gradient */
  ANTEGRAD_ERROR_COMPILE = 6,          /**< generated code does not compile */
  ANTEGRAD_ERROR_CACHE_MISS = 7,       /**< a cache miss with cache=strict */
  ANTEGRAD_ERROR_LIBTORCH = 8,         /**< LibTorch rejected the arguments */
  ANTEGRAD_ERROR_MEMORY = 9,           /**< out of memory */
  ANTEGRAD_ERROR_INTERNAL = 10         /**< a bug in antegrad */
} antegrad_status;

/** Element type. */
typedef enum antegrad_dtype {
  ANTEGRAD_BOOL = 1,
  ANTEGRAD_UINT8 = 2,
  ANTEGRAD_INT8 = 3,
  ANTEGRAD_INT16 = 4,
  ANTEGRAD_INT32 = 5,
  ANTEGRAD_INT64 = 6,
  ANTEGRAD_FLOAT16 = 7,
  ANTEGRAD_BFLOAT16 = 8,
  ANTEGRAD_FLOAT32 = 9,
  ANTEGRAD_FLOAT64 = 10,
  ANTEGRAD_COMPLEX64 = 11,
  ANTEGRAD_COMPLEX128 = 12
} antegrad_dtype;

/** Maximum number of dimensions of an antegrad_tensor. */
#define ANTEGRAD_MAX_DIMS 8

/**
 * A row-major array in memory: the last index runs fastest.
 *
 * As an input, it is borrowed for the call; `bytes` may be 0 (unspecified) and `owner` is ignored.
 * As an output with `data` null: the call allocates the memory and sets all fields; free it with
 * antegrad_tensor_free().
 * As an output with `data` set: the result is copied there. `dtype` must be that of the result and `bytes`
 * the size of the memory; the call sets `dims` and `sizes`.
 */
typedef struct antegrad_tensor {
  void* data;                       /**< the first element */
  size_t bytes;                     /**< size of the memory */
  int32_t dtype;                    /**< an antegrad_dtype */
  int32_t dims;                     /**< number of dimensions */
  int64_t sizes[ANTEGRAD_MAX_DIMS]; /**< size of each dimension */
  void* owner;                      /**< for internal use; null for memory of the caller */
} antegrad_tensor;

/** A set of options. */
typedef struct antegrad_options antegrad_options;
/** A function. TorchScript is compiled on the first call, a graph when it is loaded. */
typedef struct antegrad_function antegrad_function;

/** Returns the version, such as "0.1.0". */
const char* antegrad_version(void);
/** Returns the message of the last failure on this thread; empty if there was none. Valid until the next one.
 */
const char* antegrad_last_error(void);
/** Sets how many threads LibTorch and kernels use inside one call, at least 1, for the whole process. */
antegrad_status antegrad_set_threads(int32_t threads);

/* --- Options. Names and values are listed in docs/c-api.md. Not thread-safe. */

/** Creates a set of options with their default values. */
antegrad_status antegrad_options_create(antegrad_options** options);
/** Sets one option. */
antegrad_status antegrad_options_set(antegrad_options* options, const char* name, const char* value);
/** Frees a set of options; null is allowed. */
void antegrad_options_free(antegrad_options* options);

/* --- Functions. `options` may be null, and may be freed afterwards. */

/** Loads the forward() of a TorchScript module from a file, in evaluation mode. */
antegrad_status antegrad_load_script(const char* path, const antegrad_options* options,
                                     antegrad_function** function);
/** Loads a program that torch.export.save() has written (docs/programs.md). Its inputs are the tensors that
 * it takes, without the tuples, lists and dictionaries around them. */
antegrad_status antegrad_load_program(const char* path, const antegrad_options* options,
                                      antegrad_function** function);
/** Loads a function of a package (docs/packages.md); null for its first one. Nothing is captured, and nothing
 * is compiled if the package has code for this machine; with the option cache=strict, anything else fails.
 * Its inputs are the tensors of its arguments, which require gradients as they did when it was packaged. */
antegrad_status antegrad_load_package(const char* path, const char* name, const antegrad_options* options,
                                      antegrad_function** function);
/** Loads a graph from the text that Exported::graph() returns (docs/export.md). */
antegrad_status antegrad_load_graph(const char* text, const antegrad_options* options,
                                    antegrad_function** function);
/** Frees a function; null is allowed. No call of it may be running. Its outputs stay valid. */
void antegrad_function_free(antegrad_function* function);

/** --- Calls. Any number of threads may call one function at the same time.
 *
 * Inputs: one per argument; for a graph, all its inputs except tangents, in order.
 * Outputs: one per result. A call that fails writes nothing to their memory. */

antegrad_status antegrad_call(antegrad_function* function, const antegrad_tensor* inputs, size_t input_count,
                              antegrad_tensor* outputs, size_t output_count);

/** For a function with a single result of one element, such as an energy: computes the result and its
 * gradients with respect to the inputs whose indices are in `wanted`, in that order, in one compiled program.
 * Each gradient has the shape of its input. Forces are minus the gradient with respect to positions. `value`
 * may be null. */
antegrad_status antegrad_value_and_gradients(antegrad_function* function, const antegrad_tensor* inputs,
                                             size_t input_count, const size_t* wanted, size_t wanted_count,
                                             antegrad_tensor* value, antegrad_tensor* gradients);

/** --- State of a program (antegrad_load_program): its parameters and buffers, by their names in Python; and
 * the weights of a package (antegrad_load_package).
 * Other functions have none. Replacing state must not happen at the same time as a call or a reading. */

/** Sets `count` to the number of names. Tied parameters have several. */
antegrad_status antegrad_state_count(const antegrad_function* function, size_t* count);
/** Sets `name` to the name at that index, from 0: parameters, then buffers, each in alphabetical order. It is
 * valid as long as the function. */
antegrad_status antegrad_state_name(const antegrad_function* function, size_t index, const char** name);
/** Copies a parameter or buffer to `tensor`, an output as those of a call. */
antegrad_status antegrad_state_get(const antegrad_function* function, const char* name,
                                   antegrad_tensor* tensor);
/** Replaces the contents of a parameter or buffer, for all later calls. Dtype and sizes must be the same. */
antegrad_status antegrad_state_set(antegrad_function* function, const char* name,
                                   const antegrad_tensor* tensor);
/** Like antegrad_value_and_gradients(), with respect to the parameters of these names. */
antegrad_status antegrad_value_and_state_gradients(antegrad_function* function, const antegrad_tensor* inputs,
                                                   size_t input_count, const char* const* names,
                                                   size_t name_count, antegrad_tensor* value,
                                                   antegrad_tensor* gradients);
/** Writes the program with its present state, so that Python's torch.export.load() reads it. */
antegrad_status antegrad_save_program(const antegrad_function* function, const char* path);

/** --- Training a program. A trainer computes gradients with respect to all parameters of a program and
 * updates them, in one compiled step. It is not thread-safe, and the program must not be called during a
 * step. */

/** The optimizer of a program's parameters, and its state. */
typedef struct antegrad_trainer antegrad_trainer;

/** Makes a trainer of a program from antegrad_load_program(), whose first result must be the loss, of one
 * element. `optimizer`: "SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Lion", "NAdam", "Lamb", "Adafactor" or
 * "Muon", with its defaults. `options` may be null. */
antegrad_status antegrad_trainer_create(const antegrad_function* program, const char* optimizer,
                                        const antegrad_options* options, antegrad_trainer** trainer);
/** Loads a training step of a package (docs/packages.md) as a trainer of the weights of that package; null
 * for its first one. Nothing is captured or compiled, as in antegrad_load_package(). antegrad_trainer_save()
 * writes the package as it is then, and antegrad_trainer_load() fails. */
antegrad_status antegrad_load_package_step(const char* path, const char* name,
                                           const antegrad_options* options, antegrad_trainer** trainer);
/** Sets a hyperparameter of the optimizer ("lr", "weight_decay", "beta1" …) or of the step ("clip_norm",
 * "clip_value", "skip_nonfinite"; not of a package), for all later steps. docs/c-api.md lists the names. */
antegrad_status antegrad_trainer_set(antegrad_trainer* trainer, const char* name, double value);
/** Runs the program, computes gradients and updates the parameters. Outputs are the results of the program,
 * as in antegrad_call(). If it fails, parameters and the optimizer's state are as they were, unless the
 * outputs do not fit, which is found out after the update. */
antegrad_status antegrad_train(antegrad_trainer* trainer, const antegrad_tensor* inputs, size_t input_count,
                               antegrad_tensor* outputs, size_t output_count);
/** Writes the optimizer's hyperparameters and state, as torch::save() in C++ does. */
antegrad_status antegrad_trainer_save(const antegrad_trainer* trainer, const char* path);
/** Reads what antegrad_trainer_save() wrote, for the same optimizer and program. */
antegrad_status antegrad_trainer_load(antegrad_trainer* trainer, const char* path);
/** Frees a trainer. The program and its parameters stay. */
void antegrad_trainer_free(antegrad_trainer* trainer);

/** Frees memory that a call allocated and sets `data` and `owner` to null. Leaves memory of the caller alone.
 */
void antegrad_tensor_free(antegrad_tensor* tensor);

#ifdef __cplusplus
}
#endif
#endif
