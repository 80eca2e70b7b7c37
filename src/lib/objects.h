/*
 * The objects of the library as they are inside, and its errors. All of them belong to the thread
 * that uses their context, except where a comment says so.
 */
#ifndef GPUREDUCE_LIB_OBJECTS_H
#define GPUREDUCE_LIB_OBJECTS_H

#include <gpureduce.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "core/error.h"
#include "core/histogram.h"
#include "core/missing.h"
#include "core/name.h"
#include "core/operation.h"
#include "core/partial.h"
#include "core/pass_plan.h"
#include "core/scaled.h"
#include "core/view.h"
#include "run/reduction.h"
#include "run/session_options.h"
#include "source/sets.h"
#include "source/source.h"

/* Settings of a context, at most. */
#define LIB_THREADS_MAX 4096
#define LIB_GPU_MAX 1023

/* For numbers of the public header that are used as they are inside. */
#define SAME_NUMBER(one, other) _Static_assert((int)(one) == (int)(other), "they are one number")

/* The states of a context. */
enum call_state {
    CALL_NONE,     /* no call that takes long is in it */
    CALL_RUNNING,  /* one is */
    CALL_CANCELLED /* one is, and is to end */
};

/* Room for the text of an error: the names of an input and an array, what is wrong and advice. */
#define LIB_TEXT_MAX (NAME_BOTH_MAX + ERROR_TEXT_MAX + 256)

struct gpr_context {
    /* The last error. */
    gpr_status status;
    uint64_t offset; /* bytes; ERROR_NO_OFFSET where none is known */
    bool about_array;
    char *array; /* if `about_array`: its name, allocated by malloc */
    char text[LIB_TEXT_MAX];

    /* The settings. */
    unsigned threads; /* 0: chosen */
    uint64_t memory;  /* bytes; 0: chosen */
    enum device_choice device;
    unsigned gpu; /* number */
    bool mapped;  /* files may be mapped, since there is a handler of SIGBUS */
    gpr_log_function *log;
    void *log_user;
    gpr_progress_function *progress;
    void *progress_user;

    _Atomic int call;    /* enum call_state; any thread and signal handlers may change it */
    unsigned long_calls; /* calls of lib_begin_long that have not ended */

    /* For views of device memory; NULL before they are needed. */
    struct cuda_array *device_array;
    struct cuda_tallier *device_tallier;
    struct cuda_summer *device_summer;
    struct cuda_comparer *device_comparer;
    struct cuda_masker *device_masker;

    struct reducer *reducer; /* threads and engines, which are kept */
};

struct gpr_view {
    gpr_context *context;
    struct view view; /* with VIEW_MASK_NONE and no scale at first */
    gpr_memory memory;
    int ordinal;  /* of GPR_MEMORY_CUDA: the device */
    void *stream; /* of GPR_MEMORY_CUDA */
};

/* The operations of a request, or of a result. */
struct lib_operations {
    struct operation_set named; /* the quantiles among them */
    unsigned count;
    unsigned char numbers[OPERATIONS_MAX]; /* operation_number_of, in the order of the request */
};

/* The operation number i of a request or a result. */
static inline const struct operation *lib_operation(const struct lib_operations *o, unsigned i)
{
    return operation_at(&o->named, o->numbers[i]);
}

/* Copies operations; both may be moved no more. */
void lib_copy_operations(struct lib_operations *to, const struct lib_operations *from);

struct gpr_request {
    gpr_context *context;
    struct lib_operations operations;
    unsigned wants; /* partial_want bits of all operations */
    struct pass_request passes;
    struct missing_values missing; /* whose texts are allocated by malloc */
    enum nan_policy nan;
    uint64_t ddof;
    bool ignore_dtype, cast, no_wait;
    unsigned more_axes;          /* behind the one of gpr_reduce_axis, reduced with it as one */
    struct source_options input; /* how inputs are read; a part from 0 to UINT64_MAX is all */
    struct array_shape shape;    /* of raw elements, as struct axis_request has it */
};

struct gpr_input {
    gpr_context *context;
    char *path; /* the input's name; of a view "memory" */
    bool in_memory;
    gpr_view view;       /* if `in_memory` */
    uint64_t view_start; /* then: the index of its first element in a larger array */
    /* If `reordered`: the view in the order in which its elements lie in memory, for results that
       do not depend on it. */
    bool reordered;
    struct view fast;

    /* The files that a path stands for, and, if they are several, or others than itself, an input for
       each, which have the arrays: there is no source then. `parts` NULL: it is one file. */
    struct source_set set;
    gpr_input **parts;

    /* The source of a path or a descriptor. */
    struct source *source;         /* open; of a pipe connected, and NULL once it is reduced */
    bool pipe;                     /* it can be reduced once, and nothing is known of it before */
    struct source_options options; /* those it was opened with */
    struct array_shape shape;      /* of raw elements, if that was given */
};

struct gpr_result {
    gpr_context *context;
    struct lib_operations operations;
    struct reduction found; /* whose pointers mean nothing; if not `profiled`, only the result,
                               quantiles, partial result, type and scale are set */
    struct scaled *scaled; /* of arrays of several types or scales: their sums, allocated by malloc,
                              and the partial result means nothing; NULL for others */
    bool profiled;         /* a run has read it, and `found` tells how */
    bool partly;           /* elements of the array are missing: there is no digest */
    char *profile_text;    /* as gpr_result_profile has it, allocated by malloc; NULL before */
    struct histogram histogram; /* whose counts are allocated by malloc; HISTOGRAM_NONE for none */
};

/* The container that an input is; NULL if it is one array. */
static inline const struct container *lib_container(const gpr_input *input)
{
    return input->source && !input->pipe ? source_info(input->source)->container : NULL;
}

/* Finds the input that has array number *array: of a set of files one of its parts, and sets *array to
   the number there; else the input itself. */
gpr_input *lib_part(const gpr_input *input, size_t *array);

/* Finds an element type by the name that the header lists, and whether elements in an order of
   bytes are to be swapped. A status other than GPR_OK is that of the context then. */
gpr_status lib_parse_type(gpr_context *context, const char *name, enum element_type *type);
gpr_status lib_parse_order(gpr_context *context, gpr_order order, bool *swap);

/* Forgets the last error of a context. Each function that can fail begins with it. */
static inline void lib_begin(gpr_context *context)
{
    context->status = GPR_OK;
}

/* Sets the error of a context: a text in the manner of printf. Returns the status. */
gpr_status lib_fail(gpr_context *context, gpr_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Begins a call that may take long, or a part of one: gpr_cancel and the progress function end all of
   it. It ends with lib_end_long, which returns the status: `status`, or GPR_ERROR_CANCELLED. */
void lib_begin_long(gpr_context *context);
gpr_status lib_end_long(gpr_context *context, gpr_status status);

/* Sets GPR_ERROR_MEMORY. Returns it. */
gpr_status lib_fail_memory(gpr_context *context);

/* Sets the error of an operation that counts, but no scaled numbers. Returns its status. */
gpr_status lib_fail_uncounted(gpr_context *context, const char *op);

/* Sets the error of a view with a mask that has no digest. Returns its status. */
gpr_status lib_fail_masked_digest(gpr_context *context);

/* Writes an error that the parts below have found, about the input `name`, as name_input writes
   it, and array `array` of it; NULL: about none. */
void lib_write_error(char text[LIB_TEXT_MAX], const char *name, const char *array,
                     const struct error *error);

/* Sets the error of a context to one that the parts below have found, about the input `name`, as
   name_input writes it, and array `array` of it; NULL: about none. Returns the status. */
gpr_status lib_fail_named(gpr_context *context, const char *name, const char *array,
                          const struct error *error);

/* Sets the array that the error of a context is about; NULL: none. */
void lib_set_array(gpr_context *context, const char *array);

/* Does what lib_fail_named does for the input of a path; NULL: of none. */
gpr_status lib_fail_error(gpr_context *context, const char *path, const char *array,
                          const struct error *error);

#endif
