/*
 * libgpureduce: exact reductions of arrays of numbers, in files, in memory and on GPUs.
 *
 * Every result is that of exact arithmetic on the numbers that the data mean, rounded once. It does
 * not depend on the engine, the number of threads or GPUs, or the order in which elements come.
 *
 * Objects. A context owns threads, GPUs and the text of the last error. Each other object belongs
 * to the context it was made with, which must outlive it. A context and its objects belong to one
 * thread at a time; different contexts may be used by different threads at the same time.
 * Functions that take NULL say so; those that free an object all take NULL.
 *
 * Errors. Functions return GPR_OK, or a status after which gpr_error_text and its kin tell what is
 * wrong. Then nothing was made, and what an output parameter points to is not changed. The library
 * prints nothing, ends no process, changes no environment and no signal handler, and leaves no
 * thread behind when its contexts are freed.
 *
 * Names of element types, `dtype`: u8, i8, bool, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64,
 * f8e4m3 and f8e5m2. Names of operations, `op`: those of gpureduce(1), such as sum, mean, min, max,
 * argmin, std, median, p99 and count.
 *
 * The interface is C99, and C++ can include it. Its functions and values keep their meaning in all
 * versions whose major number is equal.
 */
#ifndef GPUREDUCE_H
#define GPUREDUCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GPR_API __attribute__((visibility("default")))
#else
#define GPR_API
#endif

/* The outcome of a function. */
typedef enum gpr_status {
    GPR_OK = 0,
    GPR_ERROR_MEMORY = 1,      /* memory is lacking, or the limit of the context is too low */
    GPR_ERROR_ARGUMENT = 2,    /* an argument makes no sense: an error in the calling program */
    GPR_ERROR_READ = 3,        /* the system cannot open or read an input */
    GPR_ERROR_DATA = 4,        /* an input is damaged, or its format or type is not supported */
    GPR_ERROR_CHANGED = 5,     /* an input changed while it was read */
    GPR_ERROR_UNSUPPORTED = 6, /* this input, object or build cannot give what is asked for */
    GPR_ERROR_NAN = 7,         /* there is a NaN, and the request makes that an error */
    GPR_ERROR_DEVICE = 8,      /* a GPU failed, or there is none */
    GPR_ERROR_CANCELLED = 9,   /* gpr_cancel was called, or a callback returned nonzero */
    GPR_ERROR_INTERNAL = 10    /* a check of the library itself failed */
} gpr_status;

typedef struct gpr_context gpr_context;
typedef struct gpr_view gpr_view;
typedef struct gpr_input gpr_input;
typedef struct gpr_request gpr_request;
typedef struct gpr_result gpr_result;

/* The version of the library, such as "0.1.0"; a constant. Any thread. */
GPR_API const char *gpr_version(void);

/*
 * Contexts
 */

/* Makes a context. Threads and GPUs are started when they are needed first. GPR_ERROR_MEMORY is the
   only error. Any thread. */
GPR_API gpr_status gpr_context_new(gpr_context **context);

/* Joins all threads of a context, gives its GPUs back and frees it. All objects that belong to it
   must have been freed. */
GPR_API void gpr_context_free(gpr_context *context);

/* Settings of a context. */
typedef enum gpr_setting {
    GPR_THREADS = 1, /* threads that reduce; 0, as at first: one for each core that the process may
                        use */
    GPR_MEMORY = 2,  /* bytes of buffers that one call may allocate in all; 0, as at first: the
                        library chooses */
    GPR_DEVICE = 3,  /* a value of gpr_device: who reduces files and host memory */
    GPR_GPU = 4      /* the number of the GPU, from 0, where GPR_DEVICE admits one */
} gpr_setting;

/* Who reduces. Device memory is reduced on its own GPU whatever the setting. */
typedef enum gpr_device {
    GPR_DEVICE_AUTO = 0, /* as at first: the CPU, or a GPU where it is faster */
    GPR_DEVICE_CPU = 1,
    GPR_DEVICE_GPU = 2 /* the GPU alone; where it cannot, GPR_ERROR_DEVICE */
} gpr_device;

/* Changes a setting, from the next call on. GPR_ERROR_ARGUMENT for a setting or value that does not
   exist. */
GPR_API gpr_status gpr_context_set(gpr_context *context, gpr_setting setting, uint64_t value);

/* A function that receives warnings, such as one about elements that look like another type. `text`
   is UTF-8, valid during the call. It is called by the thread that called into the library. */
typedef void gpr_log_function(void *user, const char *text);
GPR_API void gpr_context_set_log(gpr_context *context, gpr_log_function *function, void *user);

/* A function that is told of progress, about fifty times a second, by the thread that called into
   the library: `done` of `total` bytes have been read; UINT64_MAX: the total is unknown. A call
   that takes less than 20 milliseconds may not call it. Nonzero cancels the call. */
typedef int gpr_progress_function(void *user, uint64_t done, uint64_t total);
GPR_API void gpr_context_set_progress(gpr_context *context, gpr_progress_function *function,
                                      void *user);

/* Ends the call that the context is in, if it is in one, with GPR_ERROR_CANCELLED; later calls are
   not affected. Any thread, and signal handlers. */
GPR_API void gpr_cancel(gpr_context *context);

/* The last error of a context, until the next call with it or one of its objects. */
GPR_API gpr_status gpr_error_status(const gpr_context *context);
/* What is wrong, in UTF-8; empty if nothing is. It names the input and, where there is one, the
   array. */
GPR_API const char *gpr_error_text(const gpr_context *context);
/* Where: bytes from the input's beginning; UINT64_MAX if no offset is known. */
GPR_API uint64_t gpr_error_offset(const gpr_context *context);
/* The name of the array; NULL if the error is not about one. */
GPR_API const char *gpr_error_array(const gpr_context *context);

/*
 * Shards
 */

/* Finds the part of each of `count` files that shard `number`, from 1 to `of`, has: the elements
   whose first bytes lie from begins[i] up to, and without, ends[i], where UINT64_MAX is the end of the
   file; both 0: none. Each process that plans for the same files comes to the same parts, which have
   each element once. Begins are multiples of 2 MiB, and of compressed files ends of frames.
   GPR_ERROR_ARGUMENT for more than 2^20 shards, GPR_ERROR_UNSUPPORTED for a pipe, and
   GPR_ERROR_READ for a file that cannot be read: processes that can read it have other parts. */
GPR_API gpr_status gpr_plan_shards(gpr_context *context, const char *const *paths, size_t count,
                                   uint64_t number, uint64_t of, uint64_t *begins, uint64_t *ends);

#ifdef __cplusplus
}
#endif

#endif
