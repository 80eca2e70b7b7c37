/*
 * The command line of gpureduce-bench ladder: what it is written into, and its table of options.
 * They are there without CUDA, too: the completions of shells are the same in every build.
 */
#ifndef GPUREDUCE_BENCH_LADDER_OPTIONS_H
#define GPUREDUCE_BENCH_LADDER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/common/arguments.h"
#include "bench/common/distribution.h"
#include "core/element.h"

/* The most timings of a rung. */
#define LADDER_REPEAT_MAX 10000

struct ladder_options {
    uint64_t block_size; /* threads of a block; 0 where it is not given */
    uint64_t coarsen, repeat, device, seed;
    enum element_type type;         /* ELEMENT_TYPES where it is not given */
    enum distribution distribution; /* DISTRIBUTIONS if not given */
    uint64_t elements;              /* 0 if not given */
    const char *list, *plot;        /* NULL if not given */
    struct argument_json json;
    bool suite;
};

/* The options, as arguments_parse takes them. */
extern const struct arguments ladder_arguments;

/* The values of options that are not given. */
extern const struct ladder_options ladder_defaults;

#endif
