#ifndef ANTEGRAD_C_H
#define ANTEGRAD_C_H
/** @file
 * antegrad for C99, and for every language that can call C. docs/c-api.md has the rules and an example;
 * examples/c_potential.c and examples/fortran_potential.f90 are whole programs.
 *
 * What can fail gives a status; antegrad_last_error() has the text. No exception leaves these functions.
 * Handles are opaque; whoever made one frees it. Null is allowed where a free function is called, and
 * nowhere else unless it is said.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What became of a call; antegrad_last_error() says more. */
typedef enum antegrad_status {
  ANTEGRAD_OK = 0,                     /**< it worked */
  ANTEGRAD_ERROR_INVALID_ARGUMENT = 1, /**< null, a dtype, shape, count, option or index that cannot be */
  ANTEGRAD_ERROR_IO = 2,               /**< a file that cannot be read */
  ANTEGRAD_ERROR_FORMAT = 3,           /**< a file that is no TorchScript, a text that is no graph */
  ANTEGRAD_ERROR_BUFFER_TOO_SMALL = 4, /**< the sizes that are needed are in the outputs */
  ANTEGRAD_ERROR_UNSUPPORTED = 5,      /**< a function that cannot be captured, or has no gradient */
  ANTEGRAD_ERROR_COMPILE = 6,          /**< generated code that a compiler rejects */
  ANTEGRAD_ERROR_CACHE_MISS = 7,       /**< cache=strict, and the cache does not have it */
  ANTEGRAD_ERROR_LIBTORCH = 8,         /**< what LibTorch says of arguments that it rejects */
  ANTEGRAD_ERROR_MEMORY = 9,
  ANTEGRAD_ERROR_INTERNAL = 10 /* a defect of antegrad */
} antegrad_status;

/** What elements are. */
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

/** As many dimensions as an antegrad_tensor can have. */
#define ANTEGRAD_MAX_DIMS 8

/**
 * Some memory as an array, row-major: the last index runs fastest.
 *
 * As an input it is borrowed for the call; `bytes` may be 0 (not said) and `owner` is not looked at.
 * As an output, with `data` null: the call allocates, fills in all fields, and antegrad_tensor_free() frees.
 * As an output, with `data` set: results are copied there. `dtype` must be that of the result and `bytes` the
 * size of the memory; `dims` and `sizes` are filled in.
 */
typedef struct antegrad_tensor {
  void* data;                       /**< the first element */
  size_t bytes;                     /**< size of the memory */
  int32_t dtype;                    /**< an antegrad_dtype */
  int32_t dims;                     /**< how many of `sizes` there are */
  int64_t sizes[ANTEGRAD_MAX_DIMS]; /**< the last index runs fastest */
  void* owner;                      /**< antegrad's; null in memory of the caller's */
} antegrad_tensor;

/** Options by name. */
typedef struct antegrad_options antegrad_options;
/** A function that is compiled when it is called. */
typedef struct antegrad_function antegrad_function;

/** "0.1.0". */
const char* antegrad_version(void);
/** Why the last call of this thread that failed did; "" before one does. Lives until the next failure. */
const char* antegrad_last_error(void);
/** How many threads LibTorch and kernels use inside one call; at least 1. For the whole process. */
antegrad_status antegrad_set_threads(int32_t threads);

/* --- Options: by the names and values of docs/c-api.md. One thread at a time. */

/** Options as they are unless said otherwise. */
antegrad_status antegrad_options_create(antegrad_options** options);
/** Sets one. */
antegrad_status antegrad_options_set(antegrad_options* options, const char* name, const char* value);
/** Null is allowed. */
void antegrad_options_free(antegrad_options* options);

/* --- Functions. `options` may be null, and may be freed afterwards. */

/** The forward() of a TorchScript module in a file, in evaluation mode. */
antegrad_status antegrad_load_script(const char* path, const antegrad_options* options,
                                     antegrad_function** function);
/** A graph as Exported::graph() prints it (docs/export.md). */
antegrad_status antegrad_load_graph(const char* text, const antegrad_options* options,
                                    antegrad_function** function);
/** No call of it may be running. Outputs stay valid. */
void antegrad_function_free(antegrad_function* function);

/** --- Calls. Any number of threads may call one function at the same time.
 *
 * Inputs: one per argument; of a graph, all its inputs but tangents, in its order.
 * Outputs: one per result. When a call fails nothing is written to their memory. */

antegrad_status antegrad_call(antegrad_function* function, const antegrad_tensor* inputs, size_t input_count,
                              antegrad_tensor* outputs, size_t output_count);

/** For a function with one result of one element, an energy: the result, and its derivatives by the inputs
 * whose indices are in `wanted`, in that order; each has the shape of its input. Forces are minus the
 * gradient by positions. Both are computed by one compiled program. `value` may be null. */
antegrad_status antegrad_value_and_gradients(antegrad_function* function, const antegrad_tensor* inputs,
                                             size_t input_count, const size_t* wanted, size_t wanted_count,
                                             antegrad_tensor* value, antegrad_tensor* gradients);

/** Frees what a call allocated and sets `data` and `owner` to null. Does nothing to memory of the caller's.
 */
void antegrad_tensor_free(antegrad_tensor* tensor);

#ifdef __cplusplus
}
#endif
#endif
