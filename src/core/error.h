/*
 * Errors as values: why something failed, filled in where that is found, and handed up to whoever
 * asked for it. An error names no file and no option: whoever prints it adds these. Warnings are
 * handed to a log that the caller gives.
 */
#ifndef GPUREDUCE_ERROR_H
#define GPUREDUCE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/compression.h"
#include "core/element.h"

/* Kinds of errors. */
enum error_kind {
    ERROR_NONE,
    ERROR_MEMORY,   /* there is not enough */
    ERROR_READ,     /* the system cannot open or read an input */
    ERROR_DATA,     /* an input is damaged, or of a format or type that is not supported */
    ERROR_CHANGED,  /* an input changed while it was read */
    ERROR_REQUEST,  /* this input cannot give what was requested */
    ERROR_NAN,      /* there is a NaN, which the caller wants to be an error */
    ERROR_WRITE,    /* the caller could not take results, as it knows */
    ERROR_GPU,      /* a GPU failed */
    ERROR_NO_GPU,   /* there is no usable GPU */
    ERROR_INTERNAL, /* a check of our own failed */
    ERROR_OTHERS    /* inputs failed that this depends on */
};

/* Advice: something that the user can do about an error. The text of an error says nothing of
   settings: whoever knows what they are called adds the advice. */
enum advice_kind {
    ADVICE_NONE,
    ADVICE_CPU,           /* the CPU can do it */
    ADVICE_CPU_TELLS,     /* the CPU, or a file in place of a pipe, tells more */
    ADVICE_ARRAY,         /* one array is to be chosen */
    ADVICE_NO_ARRAY,      /* arrays cannot be chosen here */
    ADVICE_NO_SHARD,      /* the input is to be read whole */
    ADVICE_SHAPE,         /* the shape is to be given */
    ADVICE_SIZES,         /* all sizes of the shape are to be given */
    ADVICE_WRONG_SHAPE,   /* the shape that was given is wrong */
    ADVICE_SHAPE_UNUSED,  /* the shape that was given is ignored */
    ADVICE_SKIP,          /* more bytes are to be skipped than there are */
    ADVICE_WINDOW,        /* a larger window may be allowed */
    ADVICE_BINS,          /* the number of bins is to be given */
    ADVICE_RANGE,         /* the range of the histogram is to be given */
    ADVICE_OVERRIDDEN,    /* a header overrides what was asked for: `overridden` */
    ADVICE_BETTER_TYPE,   /* `type` or `order` make more sense */
    ADVICE_OTHER_TYPE,    /* some other type makes more sense */
    ADVICE_OPEN_TYPE,     /* if the elements are of `type`, it is to be given */
    ADVICE_TYPE_OF_BYTES, /* a type of one or two bytes may be given */
    ADVICE_STORED,        /* attributes can be ignored */
    ADVICE_RAW_TYPE,      /* they can be read as raw: `type`, `order`, `skip` */
    ADVICE_RAW_EMPTY,     /* it can be read as raw, and is then no elements */
    ADVICE_RAW,           /* it can be read as raw */
    ADVICE_RAW_PART,      /* a part of it can be read as raw: `type`, `order`, `skip`, `length` */
    ADVICE_FORTRAN,       /* the format is to be named, Fortran's records of `type` and `order` */
    ADVICE_PIPE,          /* the output of the command in the text is to be reduced, as `type` */
    ADVICE_DECOMPRESSED,  /* what the command in the text decompresses is to be reduced */
    ADVICE_LOAD           /* the command in the text writes out.npy */
};

/* Settings that a header overrides. */
#define OVERRIDDEN_TYPE 1U
#define OVERRIDDEN_ORDER 2U
#define OVERRIDDEN_SKIP 4U

struct advice {
    enum advice_kind kind;
    bool typed; /* `type` is set, where it need not be */
    bool says;  /* of ADVICE_OVERRIDDEN: the next three are the header's */
    enum element_type type;
    enum element_order order; /* ELEMENT_ORDER_UNSAID: the one that is usual, or was given */
    uint64_t skip, length;    /* bytes and elements */
    unsigned overridden;
    bool raw;                    /* of commands: the input can also be read as raw */
    bool arrays;                 /* of commands: or as a .npz */
    enum compression compressed; /* raw numbers are in that */
};

/* Room for the text of an error, bytes; a longer one is cut. */
#define ERROR_TEXT_MAX 512

/* The offset of an error that has none. */
#define ERROR_NO_OFFSET UINT64_MAX

struct error {
    enum error_kind kind; /* ERROR_NONE: nothing is wrong, and all else means nothing */
    struct advice advice;
    uint64_t offset; /* bytes from the input's beginning; ERROR_NO_OFFSET where none is known */
    char text[ERROR_TEXT_MAX]; /* a phrase: what is wrong, and where */
};

/* Errors of these kinds, the second with its offset; and one of ERROR_REQUEST, with advice. */
#define error_of(kind, ...) error_at(kind, ERROR_NO_OFFSET, __VA_ARGS__)
struct error error_at(enum error_kind kind, uint64_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
struct error error_advised(struct advice advice, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Sets *error, unless there is an error already: the first one counts. Returns false. */
#define error_set(error, ...) error_keep(error, error_of(__VA_ARGS__))
bool error_keep(struct error *error, struct error added);

/* The text of ERROR_MEMORY. Functions that return what is wrong as a text return this pointer where
   memory is lacking. */
extern const char error_no_memory[];

/* The kind of an error of such a text: ERROR_MEMORY, or else ERROR_DATA. */
static inline enum error_kind error_kind_of(const char *what)
{
    return what == error_no_memory ? ERROR_MEMORY : ERROR_DATA;
}

/* Sets *error to ERROR_MEMORY likewise. Returns false. */
bool error_memory(struct error *error);

/* A log of warnings. Any thread may call `warn`, and several at a time. `name` is the input's, and
   may be that of an array in it, as messages show it. */
struct log {
    void (*warn)(void *context, const char *name, const struct error *warning);
    void *context;
};

/* Tells `log`, unless that is NULL, with the advice and the text of error_advised. */
#define log_warn(log, name, ...) log_tell(log, name, error_advised(__VA_ARGS__))
#define NO_ADVICE ((struct advice){.kind = ADVICE_NONE})
void log_tell(const struct log *log, const char *name, struct error warning);

#endif
