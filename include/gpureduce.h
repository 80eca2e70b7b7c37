/*
 * libgpureduce: exact reductions of arrays of numbers, in files, in memory and on GPUs.
 *
 *     #include <gpureduce.h>
 *     #include <stdio.h>
 *
 *     int main(void)
 *     {
 *         static const float numbers[] = {1e8f, 1.0f, -1e8f};
 *         const uint64_t shape[] = {3};
 *         gpr_context *context;
 *         gpr_view *view;
 *         gpr_input *input;
 *         gpr_request *request;
 *         gpr_result *result;
 *         double sum, std;
 *
 *         if (gpr_context_new(&context) != GPR_OK)
 *             return 1;
 *         if (gpr_view_new(context, &view) != GPR_OK ||
 *             gpr_view_set_data(view, numbers, "f32", GPR_ORDER_NATIVE, 1, shape, NULL) !=
 *                 GPR_OK ||
 *             gpr_open_view(context, view, &input) != GPR_OK ||
 *             gpr_request_new(context, &request) != GPR_OK ||
 *             gpr_request_op(request, "sum") != GPR_OK ||
 *             gpr_request_op(request, "std") != GPR_OK ||
 *             gpr_reduce(input, 0, request, &result) != GPR_OK ||
 *             gpr_result_double(result, "sum", &sum) != GPR_OK ||
 *             gpr_result_double(result, "std", &std) != GPR_OK) {
 *             fprintf(stderr, "%s\n", gpr_error_text(context));
 *             return 1;
 *         }
 *         printf("sum %.17g, standard deviation %.17g\n", sum, std);
 *         gpr_result_free(result);
 *         gpr_request_free(request);
 *         gpr_close(input);
 *         gpr_view_free(view);
 *         gpr_context_free(context);
 *         return 0;
 *     }
 *
 * Every result is that of exact arithmetic on the numbers that the data mean, rounded once. It does
 * not depend on the engine, the number of threads or GPUs, the order in which elements come, or the
 * floating-point mode of the caller (<fenv.h>), which functions leave as it is.
 *
 * Objects. A context owns threads, GPUs and the text of the last error. Each other object belongs
 * to the context it was made with, which must outlive it. A context and its objects belong to one
 * thread at a time; different contexts may be used by different threads at the same time.
 * Functions that take NULL say so; those that free an object all take NULL.
 *
 * Errors. Functions return GPR_OK, or a status after which gpr_error_text and its kin tell what is
 * wrong. Then nothing was made, and what an output parameter points to is not changed. The library
 * prints nothing, ends no process, changes no environment and, without GPR_MAPPED, no signal
 * handler, and leaves no thread behind when its contexts are freed.
 *
 * Names of element types, `dtype`: u8, i8, bool, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64,
 * f8e4m3 and f8e5m2. Names of operations, `op`: those of gpureduce(1), such as sum, mean, min, max,
 * argmin, std, median, p99, count and digest, which is a text.
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
#    define GPR_API __attribute__((visibility("default")))
#else
#    define GPR_API
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
typedef struct gpr_accumulator gpr_accumulator;

/* The version of the library, such as "0.1.0"; a constant. Any thread. */
GPR_API const char *gpr_version(void);

/* Writes what the library was built with as lines of text, each a name, a colon and what it is: CUDA
   and GPU architectures, CPU instruction sets, libzstd, deflate, HDF5 and hardening. `text` has room
   for `size` bytes; it is cut as snprintf cuts. Returns the length that all of it has. Any thread. */
GPR_API size_t gpr_build(char *text, size_t size);

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
                        library chooses. Fewer threads reduce where it is low. GPR_ERROR_MEMORY
                        where it is too low, and GPR_ERROR_UNSUPPORTED where it cannot be limited:
                        of pipes and compressed data, along an axis, and of comparisons */
    GPR_DEVICE = 3,  /* a value of gpr_device: who reduces files and host memory */
    GPR_GPU = 4,     /* the number of the GPU, where GPR_DEVICE admits one: 0, so far */
    GPR_MAPPED = 5   /* 1: files are mapped where that is faster. The process then has a handler of
                        SIGBUS from the library for ever, which makes an error of a file that is
                        truncated meanwhile, and calls the handler that was there of all else. The
                        caller must not block that signal. 0, as at first: files are read, and one
                        large frame of zstd is decoded by one thread */
} gpr_setting;

/* Who reduces. Device memory is reduced on its own GPU whatever the setting; but of 32 KiB at most, or of 256
   KiB for quantiles, unless it is GPR_DEVICE_GPU, the host reduces a copy, which takes less. */
typedef enum gpr_device {
    GPR_DEVICE_AUTO = 0, /* as at first: the CPU, or a GPU where it is faster */
    GPR_DEVICE_CPU = 1,
    GPR_DEVICE_GPU = 2 /* the GPU alone; where it cannot, GPR_ERROR_DEVICE. The CPU still compares,
                          and adds views of up to 1 MiB to accumulators */
} gpr_device;

/* Changes a setting, from the next call on. GPR_ERROR_ARGUMENT for a setting or value that does not
   exist. */
GPR_API gpr_status gpr_context_set(gpr_context *context, gpr_setting setting, uint64_t value);

/* A function that receives warnings, such as one about elements that look like another type. `text`
   is UTF-8, valid during the call. It is called by the thread that called into the library. */
typedef void gpr_log_function(void *user, const char *text);
GPR_API void gpr_context_set_log(gpr_context *context, gpr_log_function *function, void *user);

/* A function that is told of progress, about fifty times a second, by the thread that called into
   the library: `done` of `total` bytes have been read; UINT64_MAX: the total is unknown. Those of
   gpr_total are of one input after the other. A call that takes less than 20 milliseconds may not
   call it. Nonzero cancels the call. */
typedef int gpr_progress_function(void *user, uint64_t done, uint64_t total);
GPR_API void gpr_context_set_progress(gpr_context *context, gpr_progress_function *function,
                                      void *user);

/* Ends the call that the context is in, if that reduces, adds or compares elements, with
   GPR_ERROR_CANCELLED; later calls are not affected. Any thread, and signal handlers. */
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
 * Views: memory of the caller as an array
 */

/* The order of the bytes of an element. */
typedef enum gpr_order { GPR_ORDER_NATIVE = 0, GPR_ORDER_LITTLE = 1, GPR_ORDER_BIG = 2 } gpr_order;

/* Makes a view of nothing. */
GPR_API gpr_status gpr_view_new(gpr_context *context, gpr_view **view);
GPR_API void gpr_view_free(gpr_view *view);

/* Sets the elements: `rank` sizes in `shape` (rank 0: one element; at most 64), and as many
   strides, the bytes from an element to the next of each dimension, which may be negative or 0.
   NULL: the elements are in C order without gaps. `data` is the address of the element whose
   indices are all 0, and need not be aligned; it may be NULL if there are no elements.
   GPR_ERROR_ARGUMENT for a type or order that does not exist, and for more than 2^63 - 1 bytes. */
GPR_API gpr_status gpr_view_set_data(gpr_view *view, const void *data, const char *dtype,
                                     gpr_order order, unsigned rank, const uint64_t *shape,
                                     const int64_t *strides);

/* The form of a mask, which has an entry for each element in C order of the view's shape. */
typedef enum gpr_mask {
    GPR_MASK_NONE = 0,
    GPR_MASK_MISSING_BYTES = 1, /* a byte each, as of numpy.ma: nonzero: the element is missing */
    GPR_MASK_VALID_BYTES = 2,   /* a byte each: zero: the element is missing */
    GPR_MASK_VALID_BITS = 3     /* a bit each, the lowest first, as of Arrow: 0: it is missing */
} gpr_mask;

/* Sets a mask: missing elements are left out of everything but the count `missing`. `offset`:
   entries before the first one. The memory is where the elements are. */
GPR_API gpr_status gpr_view_set_mask(gpr_view *view, gpr_mask form, const void *mask,
                                     uint64_t offset);

/* Sets scale and offset, which are finite: an element x stands for scale * x + offset, exactly. The
   scale is not 0; 1 and an offset of 0 take both away. For argmin and argmax, -0 is still less than
   0. */
GPR_API gpr_status gpr_view_set_scale(gpr_view *view, double scale, double offset);

/* Where the memory of a view is. */
typedef enum gpr_memory {
    GPR_MEMORY_HOST = 0, /* as at first */
    GPR_MEMORY_CUDA = 1  /* on a CUDA device, or managed */
} gpr_memory;

/* Sets where the memory is: on device `ordinal`, written by work that was put on `stream` before (a
   cudaStream_t or CUstream; NULL: the legacy default stream). gpr_reduce, gpr_total and gpr_reduce_axis
   take such memory, and gpr_diff_inputs without a mask. All else is GPR_ERROR_UNSUPPORTED, and so is
   device memory without CUDA. */
GPR_API gpr_status gpr_view_set_memory(gpr_view *view, gpr_memory memory, int ordinal,
                                       void *stream);

/*
 * Inputs: one array, or a container of several
 */

/* Opens a file, of any format that gpureduce(1) reads; "-" is not special. `options`: a request
   whose format, type, shape, GPR_SKIP, GPR_LENGTH, GPR_STORED, GPR_WINDOW, GPR_BEGIN and GPR_END say
   how it is read, and all else of which means nothing; NULL: elements of raw files are little-endian
   f32. Nothing is read of a pipe before it is reduced; but opening a FIFO waits for a program that
   writes to it. A directory of safetensors or GGUF files, and an index of safetensors, stand for all
   arrays of their files, all of which must be there and are open until gpr_close; an array that the
   index has and its file lacks is one that cannot be read. */
GPR_API gpr_status gpr_open_path(gpr_context *context, const char *path, const gpr_request *options,
                                 gpr_input **input);

/* Opens what a descriptor reads: a file from its beginning, or a pipe from where it is. The
   descriptor stays the caller's, must stay open until gpr_close, and is not closed. */
GPR_API gpr_status gpr_open_fd(gpr_context *context, int fd, const gpr_request *options,
                               gpr_input **input);

/* A function that stands for a pipe: it writes at least one and at most `size` bytes into `buffer`,
   those from byte `offset` on, and returns how many; 0 at the end, or a negative number if they
   cannot be read. `offset` is the sum of what it has returned before. It may be called by any thread
   of the context, by one at a time, and from the functions of the context it may call gpr_cancel
   alone. */
typedef int64_t gpr_read_function(void *user, void *buffer, uint64_t size, uint64_t offset);

/* Opens what a function gives, which is read as a pipe is: in any format that a pipe may have, from
   the beginning, once. `name`, which is copied, names it in errors. The function is called from
   gpr_reduce and the like, until they return; gpr_cancel takes effect when it returns. */
GPR_API gpr_status gpr_open_callback(gpr_context *context, const char *name,
                                     gpr_read_function *function, void *user,
                                     const gpr_request *options, gpr_input **input);

/* Opens a view, which is copied; the memory it describes stays the caller's, and must not change or
   be freed until gpr_close. */
GPR_API gpr_status gpr_open_view(gpr_context *context, const gpr_view *view, gpr_input **input);

GPR_API void gpr_close(gpr_input *input);

/* The number of arrays; 1 for what is no container. */
GPR_API size_t gpr_input_arrays(const gpr_input *input);

/* The format, such as "npy" or "safetensors"; "memory" for views, and "pipe" for pipes and
   functions. */
GPR_API const char *gpr_input_format(const gpr_input *input);

/* Facts about array number `array`, from 0, valid until gpr_close. Of a number that is too large they
   are those of an array that cannot be read, without a name, a type and dimensions. */
/* Its name, in UTF-8 where the container has that; "" for what is no container. */
GPR_API const char *gpr_array_name(const gpr_input *input, size_t array);
/* Its element type; for an array that cannot be read, the type's name in the container. */
GPR_API const char *gpr_array_dtype(const gpr_input *input, size_t array);
/* The reason why it cannot be read; NULL if it can. */
GPR_API const char *gpr_array_why_unreadable(const gpr_input *input, size_t array);
/* Its dimensions, and the sizes of the first `rank` of them in `shape`. A raw file has one
   dimension, unless gpr_request_shape has given others; the size that a pipe has is UINT64_MAX.
   `shape` may be NULL if `rank` is 0. */
GPR_API unsigned gpr_array_shape(const gpr_input *input, size_t array, unsigned rank,
                                 uint64_t *shape);
/* The number of its elements, GPR_LENGTH at most; UINT64_MAX if unknown. */
GPR_API uint64_t gpr_array_count(const gpr_input *input, size_t array);

/* What headers say of an array, as a number. */
typedef enum gpr_fact {
    GPR_FACT_BYTES = 1,      /* the bytes of gpr_array_count elements, decompressed */
    GPR_FACT_OFFSET = 2,     /* bytes before its first element, in the file; where that is
                                compressed as a whole, after decompression. Unknown where the
                                elements are in chunks or records, and of views */
    GPR_FACT_COMPRESSED = 3, /* 1: its elements, or the file, are compressed, so that there are
                                none at GPR_FACT_OFFSET as they are; else 0 */
    GPR_FACT_BIG_ENDIAN = 4, /* 1: the most significant byte of an element is the first; else 0 */
    GPR_FACT_FORTRAN_ORDER = 5, /* 1: the first index changes fastest; else 0. Unknown of views */
    GPR_FACT_CHUNKS = 6,        /* the number of its chunks; unknown where it has none */
    GPR_FACT_MISSING_CHUNKS = 7 /* how many of them are not stored, and hold the fill value alone */
} gpr_fact;

/* A fact; UINT64_MAX if it is unknown, or does not exist. All are unknown of pipes. */
GPR_API uint64_t gpr_array_fact(const gpr_input *input, size_t array, gpr_fact fact);

/* Finds the scale of an array, by attributes of the file or gpr_view_set_scale: an element x stands for
   *scale * x + *offset. Returns 1 if there is one; if not, 0, and sets *scale to 1 and *offset to 0. */
GPR_API int gpr_array_scale(const gpr_input *input, size_t array, double *scale, double *offset);

/* Writes the elements that attributes of the file call missing, such as "-9999, 1e+30 to inf, nan",
   as text with a NUL into `text`, which has room for `size` bytes, cut as snprintf cuts. Returns the
   length that all of it has: 0 if there are none, or without memory, as gpr_error_status tells. */
GPR_API size_t gpr_array_missing(const gpr_input *input, size_t array, char *text, size_t size);

/*
 * Requests: what to compute
 */

/* Makes a request for nothing. */
GPR_API gpr_status gpr_request_new(gpr_context *context, gpr_request **request);
GPR_API void gpr_request_free(gpr_request *request);

/* Adds an operation or a group of them (summary) by its name; one that the request has is not added
   again. GPR_ERROR_ARGUMENT for one that does not exist; the text names the nearest. */
GPR_API gpr_status gpr_request_op(gpr_request *request, const char *op);

/* Adds a quantile numerator/denominator, from 0 to 1, of linear interpolation as numpy.quantile
   has; the result's name is `name`, which has from 1 to 32 bytes and must be no operation's. The
   denominator is at most 10^18. A request has at most 31 quantiles besides the median. */
GPR_API gpr_status gpr_request_quantile(gpr_request *request, const char *name, uint64_t numerator,
                                        uint64_t denominator);

/* Asks for a histogram of `bins` bins, at most 65536, of equal width from `least` to `most`; both
   NaN: from the minimum to the maximum. */
GPR_API gpr_status gpr_request_histogram(gpr_request *request, uint64_t bins, double least,
                                         double most);

/* Adds a value that is missing wherever it occurs, at most 4: a number as text, rounded to the
   stored type, or nan. */
GPR_API gpr_status gpr_request_missing(gpr_request *request, const char *value);

/* Numbers of a request. */
typedef enum gpr_key {
    GPR_NAN = 1,    /* a value of gpr_nan */
    GPR_DDOF = 2,   /* delta degrees of freedom of var and std; 0 at first */
    GPR_STORED = 3, /* 1: ignore attributes of files that give stored numbers another meaning */
    GPR_SKIP = 4,   /* bytes before the first element of a raw file */
    GPR_LENGTH = 5, /* elements at most, from the first one; UINT64_MAX, as at first: all */
    GPR_BEGIN = 6,  /* the part of a file that is read, in bytes, as gpr_plan_shards gives it: 0 */
    GPR_END = 7, /* and UINT64_MAX at first; a part without bytes is an error, and so are parts of
                       pipes and in comparisons. Facts are those of the whole array */
    GPR_IGNORE_DTYPE = 8, /* 1: a comparison of two types finds no difference if all values are the
                             same */
    GPR_CAST = 9, /* 1: a comparison finds whether each element of the second input is what rounding
                    that of the first to its type gives */
    GPR_NO_WAIT = 10, /* 1: gpr_reduce_axis of device memory need not wait for the results */
    GPR_WINDOW = 11,  /* the largest window of a zstd frame that is read, as the logarithm of its
                         bytes to base 2: from 10 to 31; 27 at first. A decoder keeps it in memory */
    GPR_AXES = 12     /* neighbouring dimensions that gpr_reduce_axis reduces as one, from 1, as at
                         first, to 64 */
} gpr_key;

typedef enum gpr_nan {
    GPR_NAN_PROPAGATE = 0, /* as at first: results of numbers with a NaN among them are NaN */
    GPR_NAN_SKIP = 1,      /* NaNs are left out */
    GPR_NAN_ERROR = 2      /* a NaN is an error */
} gpr_nan;

GPR_API gpr_status gpr_request_set(gpr_request *request, gpr_key key, uint64_t value);

/* Sets how raw files are read: their element type and its order. */
GPR_API gpr_status gpr_request_type(gpr_request *request, const char *dtype, gpr_order order);

/* Sets the shape of raw files, in C order, of `rank` sizes, at most 64; one may be UINT64_MAX: what
   the others leave of the elements. A file with another number of elements is an error when it is
   opened if the number is known then, and else along an axis. Where a header states the shape, that
   counts, and a warning says so. */
GPR_API gpr_status gpr_request_shape(gpr_request *request, unsigned rank, const uint64_t *shape);

/* Sets the format of inputs by its name, as of --format of gpureduce(1): "auto", as at first: the
   first bytes tell it, which they do not of "fortran" and "zlib"; "raw" reads them as numbers
   whatever they are. GPR_ERROR_ARGUMENT for one that does not exist. An input of another format is
   an error when it is opened, and a pipe when it is reduced. */
GPR_API gpr_status gpr_request_format(gpr_request *request, const char *format);

/*
 * Reductions
 */

/* Reduces array number `array` of an input. A pipe can be reduced once. A format, a type, GPR_SKIP
   and GPR_STORED of the request mean nothing here. */
GPR_API gpr_status gpr_reduce(gpr_input *input, size_t array, const gpr_request *request,
                              gpr_result **result);

/* A function that is told what array number `array` came to: a result, which is its to free; or NULL,
   if there is none, as gpr_error_text and its kin then tell. Of the functions that take the context or
   one of its objects it may call those of results and errors alone. Nonzero cancels. */
typedef int gpr_result_function(void *user, size_t array, gpr_result *result);

/* Reduces all arrays of an input, each for itself: many small ones faster than gpr_reduce one after the
   other, since they are read in one run, which results have no profile of. `function` is called for each
   array, in their order, by the thread that called into the library. An array that cannot be reduced
   is no error of this function. */
GPR_API gpr_status gpr_reduce_each(gpr_input *input, const gpr_request *request,
                                   gpr_result_function *function, void *user);

/* Reduces `count` elements of host memory that lie in a row: a view, its input and, where `result` is
   NULL, its result in one call. values[k] becomes the value of operation k of the request that
   gpr_result_double gives; after an error it may have changed. */
GPR_API gpr_status gpr_reduce_memory(const gpr_request *request, const void *data,
                                     const char *dtype, gpr_order order, uint64_t count,
                                     double *values, gpr_result **result);

/* Reduces all arrays of several inputs of a context as one array, in their order. Text and the like
   are left out with a warning. An array of numbers that cannot be read is an error, and so are
   quantiles and histograms over arrays of a container, even one, over different types or scales, of
   pipes, with arrays in device memory, and digests. Indices count over all. */
GPR_API gpr_status gpr_total(gpr_input *const *inputs, size_t count, const gpr_request *request,
                             gpr_result **result);

/* The type of the results of an operation of the request along an axis: "f64", or, where results
   are integers, such as counts, indices, and sums of integers, "i64" or "u64". NULL, with an error,
   for a pipe, if the operation is not in the request, or if that has a histogram or a digest. */
GPR_API const char *gpr_axis_dtype(const gpr_input *input, size_t array, const gpr_request *request,
                                   const char *op);

/* Reduces along dimension `axis`, from 0, and with GPR_AXES along those behind it, too: each
   operation of the request, in its order, gives an array of results in C order of the other
   dimensions, of the type that gpr_axis_dtype names. `results[k]`: the memory for those of
   operation k, `count` elements. An index that does not exist is -1. If all elements of a slice are
   missing, its results but counts are NaN, even the sum, or, where they are integers, the first
   missing value, as it is stored. GPR_ERROR_ARGUMENT if there are not `count` results, and
   GPR_ERROR_UNSUPPORTED for an input without a shape, for an axis that it does not have, for an
   integer that does not exist or does not fit its type, for indices along several dimensions, for
   subnormals of scaled numbers, and where GPR_LENGTH is given. After an error the memory has no
   results. Quantiles of what can only be read in order, such as a compressed file, take memory for
   all elements: GPR_ERROR_MEMORY for more than half of the machine's. Arrays in device memory,
   without scales, have results in memory of their device. One of floats may have a mask there, if
   NaNs are no errors: it is copied, on the device, and GPR_ERROR_UNSUPPORTED, too, if a slice that
   is no row has to be reduced by itself for a variance and its kin, or for a quantile. With
   GPR_NO_WAIT sum, mean, min, max and l1 of floats there return when the work is on the stream of
   the view, as kernels do, unless more than 64 MiB at a time are copied first, since they do not lie
   in rows of equal distances, or are not aligned to their type: what follows on it finds the
   results, the memory of both must stay until then, and a failure of the GPU is an error of a later
   call. */
GPR_API gpr_status gpr_reduce_axis(gpr_input *input, size_t array, const gpr_request *request,
                                   unsigned axis, void *const *results, uint64_t count);

/*
 * Results
 */

GPR_API void gpr_result_free(gpr_result *result);

/* The value of an operation as binary64: exact and rounded once, `range` to the element type.
   Counts and indices are rounded, too; an index that does not exist is -1. GPR_ERROR_ARGUMENT for
   what was not asked for, and for a digest; GPR_ERROR_UNSUPPORTED for subnormals of scaled numbers. */
GPR_API gpr_status gpr_result_double(const gpr_result *result, const char *op, double *value);

/* The value of a count or an index; UINT64_MAX for an index that does not exist. An index counts
   elements of a file in their order there, where the first dimension changes fastest if
   GPR_FACT_FORTRAN_ORDER is 1; those of a view in C order. GPR_ERROR_ARGUMENT for other operations;
   GPR_ERROR_UNSUPPORTED for subnormals of scaled numbers. */
GPR_API gpr_status gpr_result_count(const gpr_result *result, const char *op, uint64_t *value);

/* The next functions write text with a NUL into `text`, which has room for `size` bytes, cut as
   snprintf cuts, and return the length that all of it has; 0 where there is no such value, with an
   error. */

/* An integer in full: results of integer types, counts and indices. */
GPR_API size_t gpr_result_integer(const gpr_result *result, const char *op, char *text,
                                  size_t size);

/* The value as gpureduce(1) prints it. That of a digest is an error unless the result is of all
   elements of its array, or of the first GPR_LENGTH ones, and of a view without a mask. */
GPR_API size_t gpr_result_text(const gpr_result *result, const char *op, char *text, size_t size);

/* The exact value of sum, sumsq, l1, min, max, absmax, absmin and range before it was rounded: an
   integer in hexadecimal, which may have a minus, times 2 to the power of *exponent. */
GPR_API size_t gpr_result_exact(const gpr_result *result, const char *op, char *text, size_t size,
                                int64_t *exponent);

/* The histogram: the number of bins, 0 if there is none; the counts of `bins` bins, the edges, one
   more than bins, and what lies below and above. Each pointer may be NULL. */
GPR_API uint64_t gpr_result_bins(const gpr_result *result);
GPR_API gpr_status gpr_result_histogram(const gpr_result *result, uint64_t *counts, double *edges,
                                        uint64_t *below, uint64_t *above);

/* How the run went, as a JSON object: bytes, seconds, stages and their use; "{}" for what was not
   read by a run, and without memory. Valid until the result is freed. */
GPR_API const char *gpr_result_profile(const gpr_result *result);

/*
 * Accumulators: partial results that grow, and merge exactly
 *
 * An accumulator is a bag, whose elements come in any order and belong nowhere, or it is placed:
 * then each piece says where in a larger array it begins. The first function that adds to it
 * decides. The result is that of all its elements at once, to the bit, however they were divided,
 * added and merged.
 */

/* Makes an accumulator of no elements of a type. The request may have all operations but quantiles
   and histograms: GPR_ERROR_UNSUPPORTED. Its keys GPR_STORED, GPR_SKIP and GPR_LENGTH do not
   matter. */
GPR_API gpr_status gpr_accumulator_new(gpr_context *context, const char *dtype,
                                       const gpr_request *request, gpr_accumulator **accumulator);
GPR_API void gpr_accumulator_free(gpr_accumulator *accumulator);

/* Adds the elements of a view to a bag. They are of the accumulator's type, in either order of
   bytes, and all views that are added have one scale. GPR_ERROR_ARGUMENT if this is not so, if the
   accumulator is placed, or if its request has argmin, argmax or digest. */
GPR_API gpr_status gpr_accumulator_add(gpr_accumulator *accumulator, const gpr_view *view);

/* Adds the elements of a view, in C order, to a placed accumulator: they are those from number
   `start` on of a larger array. GPR_ERROR_ARGUMENT if one of them has been added before, if the
   accumulator is a bag, or if the elements are not as gpr_accumulator_add wants them. */
GPR_API gpr_status gpr_accumulator_add_at(gpr_accumulator *accumulator, const gpr_view *view,
                                          uint64_t start);

/* Adds the elements of array number `array` of an input to a placed accumulator, at their places in
   the array; of an input that was opened for a part of a file, those of the part. The line then
   has the names and the size of the array, unless gpr_accumulator_set_array has set others.
   GPR_ERROR_ARGUMENT as of gpr_accumulator_add_at; GPR_ERROR_UNSUPPORTED if the array has other
   missing values than the request. */
GPR_API gpr_status gpr_accumulator_add_input(gpr_accumulator *accumulator, gpr_input *input,
                                             size_t array);

/* Adds `count` elements in device memory to a bag: they lie in a row, in native byte order, and are
   what work that was put on `stream` before has written: a cudaStream_t or CUstream of their
   device; NULL: the legacy default stream. Waits for nothing, so they must not change before the
   stream has come past this. Allocates memory only the first time on a device, or in a capture of
   a graph; then the elements count each time that the graph is launched, until the accumulator is
   freed. Two executable graphs of one capture must not run at the same time. GPR_ERROR_UNSUPPORTED
   without CUDA, and for memory of the host. */
GPR_API gpr_status gpr_accumulator_add_device(gpr_accumulator *accumulator, const void *data,
                                              uint64_t count, void *stream);

/* Adds what `other` has, which was made with an equal type and request; `other` does not change. Its
   names become those of one that has none.
   GPR_ERROR_ARGUMENT if one is a bag and the other is placed, if both have an element of the larger
   array, or if their elements have different scales. */
GPR_API gpr_status gpr_accumulator_merge(gpr_accumulator *accumulator,
                                         const gpr_accumulator *other);

/* Computes the result of all that was added so far, and waits for what is in device memory; more
   can be added after. GPR_ERROR_NAN if there is a NaN and the request makes that an error. */
GPR_API gpr_status gpr_accumulator_snapshot(gpr_accumulator *accumulator, gpr_result **result);

/* Makes it one of no elements again. It keeps what gpr_accumulator_set_array has set, and
   remains a bag if it was given device memory. */
GPR_API gpr_status gpr_accumulator_clear(gpr_accumulator *accumulator);

/* Sets the array that a placed accumulator's line is about: the name of an input, that of an array
   in it, which is NULL if the input is one array, and the number of elements of the whole array, or
   0: as many as end with the last that was added. At first the input is called "memory". */
GPR_API gpr_status gpr_accumulator_set_array(gpr_accumulator *accumulator, const char *input,
                                             const char *array, uint64_t count);

/* Writes all that it has as text, without a newline but with a NUL, cut as snprintf cuts; returns
   the length that all of it has, less than 4096, or 0 with an error. A placed accumulator gives a
   line of gpureduce-partial(5), which gpureduce --merge reads, and which is the line that the
   program prints for the same elements of the array; a bag gives a line of its own kind. Equal
   elements give equal texts. GPR_ERROR_UNSUPPORTED if the elements that were added are in more than
   16 ranges, or if the names are too long. */
GPR_API size_t gpr_accumulator_write(gpr_accumulator *accumulator, char *text, size_t size);

/* Makes an accumulator of `length` bytes of such a text, for a request that has no operations which
   it lacks the data for, and equal missing values. GPR_ERROR_DATA if it is none, or damaged. */
GPR_API gpr_status gpr_accumulator_read(gpr_context *context, const char *text, size_t length,
                                        const gpr_request *request, gpr_accumulator **accumulator);

/*
 * Comparisons
 */

/* A function that is told of an array that differs: `line` is the JSON object that gpureduce --diff
   --json prints for it, in UTF-8, valid during the call. It is called by the thread that called
   into the library. Nonzero cancels. */
typedef int gpr_row_function(void *user, const char *line);

/* Compares two inputs element by element, as the numbers that scales make of them; containers by
   the names of their arrays. Values of two types are compared exactly, and differ by their types,
   unless GPR_IGNORE_DTYPE is set. `request`: its GPR_NAN, GPR_IGNORE_DTYPE, GPR_CAST and missing
   values count, NULL: none. `tolerance`: a list of ulp:N, abs:X and rel:X, with commas in between,
   of which one is enough for two elements to be equal; NULL: none. It may have several lines, each
   such a list, or PATTERN=LIST for arrays whose names match, of which that of what is no container
   is empty: the last one that does counts, and else the lists without a pattern; one that matches
   none has a warning. `row` is called for each array that differs, in the order of `a`, and after these for those that `b` alone has;
   with `all` for all that were compared; NULL: for none. *different, unless that is NULL: how many
   differ. An array that cannot be compared has a row, and then is an error, but text in chunks is
   left out with a warning. Two views of memory of one device, of one type, byte order and scale,
   are compared there, and only pieces of 128 bytes that differ are copied to the host; other views
   of device memory are copied whole. GPR_ERROR_UNSUPPORTED for views with a mask. */
GPR_API gpr_status gpr_diff_inputs(gpr_input *a, gpr_input *b, const gpr_request *request,
                                   const char *tolerance, gpr_row_function *row, void *user,
                                   int all, uint64_t *different);

/* Compares two files in that way, raw ones as little-endian f32. */
GPR_API gpr_status gpr_diff(gpr_context *context, const char *a, const char *b,
                            const char *tolerance, gpr_row_function *row, void *user, int all,
                            uint64_t *different);

/*
 * Shards
 */

/* Finds the part of each of `count` files that shard `number`, from 1 to `of`, has: the elements
   whose first bytes lie from begins[i] up to, and without, ends[i], where UINT64_MAX is the end of
   the file; both 0: none, and nothing is to be opened. Each process that plans for the same files
   comes to the same parts, which have each element once. Begins are multiples of 2 MiB, and of
   compressed files ends of frames. GPR_ERROR_ARGUMENT for more than 2^20 shards,
   GPR_ERROR_UNSUPPORTED for a pipe, and GPR_ERROR_READ for a file that cannot be read: processes that
   can read it have other parts. */
GPR_API gpr_status gpr_plan_shards(gpr_context *context, const char *const *paths, size_t count,
                                   uint64_t number, uint64_t of, uint64_t *begins, uint64_t *ends);

#ifdef __cplusplus
}
#endif

#endif
