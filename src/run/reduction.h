/*
 * A finished reduction: the result, what it was the result of, and how the run went. Plain data.
 */
#ifndef GPUREDUCE_RUN_REDUCTION_H
#define GPUREDUCE_RUN_REDUCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/element.h"
#include "core/error.h"
#include "core/histogram.h"
#include "core/moments.h"
#include "core/partial.h"
#include "engine/engine.h"
#include "profile/profile.h"
#include "source/source.h"

struct arrays;

/* The contribution of an engine. */
struct reduction_share {
    const char *engine;   /* "cpu" or "gpu"; NULL when it had no part */
    char description[64]; /* the device: instruction set, or name of the GPU */
    unsigned workers;
    uint64_t elements;
    uint64_t bytes;
    uint64_t joined;      /* nanoseconds from the first read to its first chunk */
    uint64_t source_time; /* nanoseconds in the source, all workers together */
    uint64_t wait;        /* nanoseconds they waited for a free buffer */
};

struct reduction {
    struct error error; /* why there is no result: then nothing below is set, but, of an array of a
                           container, what describes it. ERROR_NONE where there is one. */
    const struct arrays *arrays; /* of a container: what each of its arrays came to (arrays.h), the
                                    session's until its next input. `result`, `partial`, `type` and
                                    `shape` are not set then. NULL where there is one array */
    size_t number;               /* of an array of a container: its place among those that are to be
                                    reduced of the whole input */
    const char *array;           /* the name of the array that this is of; NULL where the input is
                                    not a container */
    const char *type_name; /* of an array that cannot be read: its type as the container spells
                              it, empty for none; NULL of others. Then `type` means nothing */
    struct result result;
    struct partial partial; /* the exact state from which the result was rounded; indices are those
                               of elements */
    enum element_type type;
    bool big_endian;
    uint64_t data_offset; /* bytes, after decompression, before the first element; SOURCE_UNKNOWN
                             where elements are in tiles */
    struct source_shape shape;
    const char *format; /* raw, npy, zstd or npy+zstd */
    bool compressed;
    bool repeatable;    /* it can be read again */
    bool in_order;      /* frames could not be decoded in parallel, and were read a second time */
    unsigned passes;    /* how often the input was read */
    uint32_t quantiles; /* quantiles that the result has; bits as in struct pass_request */
    const struct histogram *histogram; /* the session's, until its next input; NULL for none */
    uint64_t elements;                 /* reduced, NaNs included */
    uint64_t first, of;   /* which: those from `first` on, of so many that there are to reduce */
    bool behind;          /* a part was asked for that does not begin with the input */
    uint64_t bytes;       /* of elements */
    uint64_t input_bytes; /* read from the file: compressed, where it is */
    double seconds;       /* from the first read to the final result */
    struct reduction_share shares[ENGINES]; /* by enum engine_id */
    char gpu_skipped[ENGINE_REASON_MAX];    /* why auto did without a GPU; empty if it did not */
    struct profile profile;
};

/* Rounds all results of elements of `type`, or of several, which `types` tells then. */
static inline void reduction_round(struct result *result, const struct partial *partial,
                                   enum element_type type, const struct partial_types *types,
                                   bool skip_nan, uint64_t ddof)
{
    const struct moments_terms terms = {.skip_nan = skip_nan,
                                        .ddof = ddof,
                                        .type = type,
                                        .types = types ? *types : partial_types_of(type)};

    partial_finish_types(partial, &terms.types, skip_nan, result);
    moments_finish(partial, &terms, result);
}

#endif
