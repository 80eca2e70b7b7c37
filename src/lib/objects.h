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
#include "core/operation.h"
#include "core/pass_plan.h"
#include "core/view.h"
#include "run/session_options.h"
#include "source/source.h"

/* Settings of a context, at most. */
#define LIB_THREADS_MAX 4096
#define LIB_GPU_MAX 1023

/* The states of a context. */
enum call_state {
    CALL_NONE,     /* no call that takes long is in it */
    CALL_RUNNING,  /* one is */
    CALL_CANCELLED /* one is, and is to end */
};

/* Room for the text of an error: the names of an input and an array, what is wrong and advice. */
#define LIB_TEXT_MAX (SOURCE_NAME_MAX + 2 * CONTAINER_NAME_SHOWN + ERROR_TEXT_MAX + 256)

struct gpr_context {
    /* The last error. */
    gpr_status status;
    uint64_t offset; /* bytes; ERROR_NO_OFFSET where none is known */
    bool about_array;
    char array[2 * CONTAINER_NAME_SHOWN]; /* if `about_array`: its name, which may be cut */
    char text[LIB_TEXT_MAX];

    /* The settings. */
    unsigned threads; /* 0: chosen */
    uint64_t memory;  /* bytes; 0: chosen */
    enum device_choice device;
    unsigned gpu; /* number */
    gpr_log_function *log;
    void *log_user;
    gpr_progress_function *progress;
    void *progress_user;

    _Atomic int call; /* enum call_state; any thread and signal handlers may change it */
};

struct gpr_view {
    gpr_context *context;
    struct view view;
};

/* Forgets the last error of a context. Each function that can fail begins with it. */
static inline void lib_begin(gpr_context *context)
{
    context->status = GPR_OK;
}

/* Sets the error of a context: a text in the manner of printf. Returns the status. */
gpr_status lib_fail(gpr_context *context, gpr_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets GPR_ERROR_MEMORY. Returns it. */
gpr_status lib_fail_memory(gpr_context *context);

/* Sets the error of a context to one that the parts below have found, about the input `name`, as
   source_name writes it, and array `array` of it; NULL: about none. Returns the status. */
gpr_status lib_fail_error(gpr_context *context, const char *name, const char *array,
                          const struct error *error);

#endif
