#include "config.h"

#include "bench/ladder/options.h"

#include <string.h>

#include "core/number.h"

/* Elements: a count, or a power of 2 written as 2^25. */
static bool parse_elements(const struct argument *x, const char *text, void *target)
{
    const uint64_t most = (uint64_t)1 << 40;
    uint64_t count, power;
    bool good;

    (void)x;
    if (strncmp(text, "2^", 2) == 0) {
        good = number_parse_count(text + 2, &power) && power <= 40;
        count = good ? (uint64_t)1 << power : 0;
    } else {
        good = number_parse_count(text, &count) && count > 0 && count <= most;
    }
    if (!good)
        return arguments_wrong("bad number of elements %s: it is from 1 to 2^40", text);
    *(uint64_t *)target = count;
    return true;
}

static const char *block_size_word(size_t i)
{
    static const char *const words[] = {"128", "256", "512", "1024"};

    return i < sizeof words / sizeof *words ? words[i] : NULL;
}

#define MEMBER(name) offsetof(struct ladder_options, name)

static const struct argument table[] = {
    {.name = "elements",
     .letter = 'n',
     .value = "N",
     .parse = parse_elements,
     .target = MEMBER(elements),
     .help = "number of elements, such as 1000000 or 2^28; default 2^25"},
    /* As it was once called. */
    {.name = "n",
     .value = "N",
     .hidden = true,
     .parse = parse_elements,
     .target = MEMBER(elements)},
    {ARGUMENTS_FLOAT(MEMBER(type)),
     .help = "type of the elements: f32 (default), f64, f16 or bf16"},
    {ARGUMENTS_DISTRIBUTION(MEMBER(distribution)),
     .help = "distribution of the elements: uniform (default), normal, wide, full, integers, "
             "sparse, cancel, weights, field, steps, series or image"},
    {ARGUMENTS_SEED(MEMBER(seed)), .help = "seed of the elements; default 1"},
    {.name = "rung",
     .value = "LIST",
     .kind = ARGUMENT_TEXT,
     .target = MEMBER(list),
     .help = "run only these rungs, by name, separated by commas"},
    {.name = "block-size",
     .value = "N",
     .kind = ARGUMENT_COUNT,
     .target = MEMBER(block_size),
     .least = 1,
     .word = block_size_word,
     .help = "threads of a block: 128, 256 (default), 512 or 1024; batched rungs run with all four "
             "unless it is given"},
    {.name = "coarsen",
     .value = "N",
     .kind = ARGUMENT_COUNT,
     .target = MEMBER(coarsen),
     .least = 1,
     .most = 4096,
     .help = "pairs of elements that a thread of 'coarsened' adds first; default 8"},
    {ARGUMENTS_REPEAT(MEMBER(repeat), LADDER_REPEAT_MAX),
     .help = "timings of each rung, fewer if they take more than a second; default 20"},
    {.name = "device",
     .letter = 'D',
     .value = "N",
     .kind = ARGUMENT_COUNT,
     .target = MEMBER(device),
     .most = 1023,
     .help = "number of the GPU; default 0"},
    {.name = "suite",
     .kind = ARGUMENT_SET,
     .target = MEMBER(suite),
     .help = "instead of running the rungs, compare the rung 'production' with CUB over types, "
             "distributions and sizes; --elements, --dtype and --dist narrow it"},
    {ARGUMENTS_JSON(MEMBER(json)), .help = "print a JSON object instead of text; with FILE, print "
                                           "text, and write the object there"},
    {ARGUMENTS_PLOT(MEMBER(plot)),
     .help = "also draw the rates as bars to FILE, which ends in .svg or .png; needs "
             "gnuplot"},
};

const struct arguments ladder_arguments = {
    .program = "gpureduce-bench ladder",
    .usage = "[OPTION]...",
    .summary = "Run every rung of reductions on the GPU, from one atomic addition an element\n"
               "to the production kernel. Each is verified against the exact sum, then timed.",
    .table = table,
    .count = sizeof table / sizeof *table,
};

const struct ladder_options ladder_defaults = {
    .coarsen = 8,
    .repeat = 20,
    .seed = 1,
    .type = ELEMENT_TYPES,
    .distribution = DISTRIBUTIONS,
};
