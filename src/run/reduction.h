/*
 * Reductions: the result of an input or an array, facts about it, and how the run went. Plain data.
 */
#ifndef GPUREDUCE_RUN_REDUCTION_H
#define GPUREDUCE_RUN_REDUCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/error.h"
#include "core/histogram.h"
#include "core/missing.h"
#include "core/moments.h"
#include "core/partial.h"
#include "core/scaled.h"
#include "engine/engine.h"
#include "profile/profile.h"
#include "source/source.h"

struct arrays;

/* The contribution of an engine. */
struct reduction_share {
    const char *engine;   /* "cpu" or "gpu"; NULL: the engine did nothing */
    char description[64]; /* the device: instruction set, or name of the GPU */
    unsigned workers;
    uint64_t elements;
    uint64_t bytes;
    uint64_t joined;      /* nanoseconds from the first read to its first chunk */
    uint64_t source_time; /* nanoseconds in the source, sum of all workers */
    uint64_t wait;        /* nanoseconds of waiting for a free buffer, sum of all workers */
};

struct reduction {
    struct error error; /* the reason why there is no result; ERROR_NONE if there is one. Without a
                           result, only fields that describe an array of a container are set */
    const struct arrays *arrays; /* of a container: the results of its arrays (arrays.h), valid
                                    until the session's next input; `result`, `partial`, `type`
                                    and `shape` are not set then. NULL if this is one array */
    size_t number;               /* of an array of a container: its number among those that are
                                    to be reduced */
    const char *array;           /* of an array of a container: its name; NULL for others */
    const char *type_name; /* of an array that cannot be read: the type's name in the container,
                              which may be empty, and `type` means nothing; NULL for others */
    struct result result;
    struct partial partial; /* the exact state from which the result was rounded */
    enum element_type type;
    struct missing missing; /* the missing values of the input, or of the array */
    bool big_endian;
    uint64_t data_offset; /* bytes, after decompression, before the first element; SOURCE_UNKNOWN
                             where elements are in tiles */
    struct array_shape shape;
    struct scale scale; /* `result` is of scaled numbers, `partial` of stored ones */
    const char *format; /* source_info.format */
    bool compressed;    /* the input is decompressed */
    bool repeatable;    /* the input can be read again */
    bool in_order;      /* zstd could not be decoded in parallel, and was read again in order */
    unsigned passes;    /* passes over the input */
    uint32_t quantiles; /* bits of the quantiles that the result has (struct pass_request) */
    const struct histogram *histogram; /* valid until the session's next input; NULL for none */
    uint64_t elements;                 /* elements reduced, NaNs included */
    uint64_t first;                    /* index of the first of them */
    uint64_t of;                       /* elements of the whole input that are to be reduced */
    bool behind;                       /* this is a part that does not begin with the input */
    uint64_t bytes;                    /* bytes of the elements */
    uint64_t input_bytes;              /* bytes read from the file, compressed or not */
    double seconds;                    /* from the first read to the final result */
    struct reduction_share shares[ENGINES]; /* by enum engine_id */
    char gpu_skipped[ENGINE_REASON_MAX];    /* the reason why DEVICE_AUTO used no GPU; empty if it
                                            did */
    struct profile profile;
};

/* Computes all results from a partial result of stored numbers of a type that have this scale. */
static inline void reduction_round(struct result *result, const struct partial *partial,
                                   enum element_type type, const struct scale *scale, bool skip_nan,
                                   uint64_t ddof)
{
    const struct moments_terms terms = {.skip_nan = skip_nan, .ddof = ddof, .type = type};

    result->digest =
        (struct digest_value){.sum = partial->digest, .count = partial->count, .type = type};
    if (scale->given) {
        scaled_round(partial, scale, &terms, result);
        return;
    }
    partial_finish_type(partial, type, skip_nan, result);
    moments_finish(partial, &terms, result);
}

#endif
