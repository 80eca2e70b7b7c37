#include "config.h"

#include "bench/ladder/rung_table.h"

#include <stdio.h>
#include <string.h>

#include "engine/cuda/kernels.h"

#define TEXTBOOK_TYPES (RUNG_TYPE(ELEMENT_F32) | RUNG_TYPE(ELEMENT_F64))
#define ALL_TYPES (TEXTBOOK_TYPES | RUNG_TYPE(ELEMENT_F16) | RUNG_TYPE(ELEMENT_BF16))

/* Merges the elements into launch->result, a struct partial; launch->temporary is the scratch. */
static cudaError_t production(const struct rung_launch *l, cudaStream_t stream, unsigned wants)
{
    struct cuda_launch launch = {
        .type = l->type,
        .wants = wants,
        .data = l->data,
        .count = l->count,
        .partial = l->result,
        .scratch = l->temporary,
        .multiprocessors = l->multiprocessors,
    };

    return cuda_reduce(&launch, stream);
}

static cudaError_t production_all(const struct rung_launch *l, cudaStream_t stream)
{
    return production(l, stream, PARTIAL_SUM | PARTIAL_EXTREMES);
}

static cudaError_t production_where(const struct rung_launch *l, cudaStream_t stream)
{
    return production(l, stream, PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE);
}

static cudaError_t production_extremes(const struct rung_launch *l, cudaStream_t stream)
{
    return production(l, stream, PARTIAL_EXTREMES);
}

const struct rung rung_table[] = {
    {"atomic", rung_atomic,
     "one atomic addition an element, all to one address: they queue up, and nothing is parallel",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, 1, false, false, 0},
    {"vector-atomic", rung_vector_atomic,
     "16 bytes a load and an atomic for each: fewer atomics, but still a queue", TEXTBOOK_TYPES,
     ORDER_SEGMENTS, PER_LOAD, false, false, 0},
    {"global-divergent", rung_global_divergent,
     "a tree in global memory whose active threads lie ever farther apart: warps diverge, and "
     "every step goes through memory",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, 2, true, true, 0},
    {"global-convergent", rung_global_convergent,
     "the same tree with the active threads side by side: whole warps retire, and accesses "
     "coalesce",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, 2, true, true, 0},
    {"shared-divergent", rung_shared_divergent,
     "the tree in shared memory: each element is read from global memory once; warps diverge, and "
     "the remainder costs instructions",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, 1, true, false, 0},
    {"shared-strided", rung_shared_strided,
     "active threads side by side with strided indices: no divergence, but bank conflicts",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, 1, true, false, 0},
    {"sequential", rung_sequential,
     "the stride halves: neighbours access neighbours, and no banks conflict", TEXTBOOK_TYPES,
     ORDER_SEGMENTS, 1, true, false, 0},
    {"first-add", rung_first_add,
     "the first addition is done while loading: half the blocks, and no thread idles at once",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, 2, true, false, 0},
    {"warp-unrolled", rung_warp_unrolled,
     "the last warp needs no barrier of the block, and no loop", TEXTBOOK_TYPES, ORDER_SEGMENTS, 2,
     true, false, 0},
    {"shuffle", rung_shuffle,
     "the last warp exchanges registers: no shared memory for the last 32 values", TEXTBOOK_TYPES,
     ORDER_SEGMENTS, 2, true, false, 0},
    {"coarsened", rung_coarsened,
     "each thread adds many elements in registers first: fewer blocks, and less of the time in "
     "trees and barriers",
     TEXTBOOK_TYPES, ORDER_SEGMENTS, PER_COARSEN, true, false, 0},
    {"batched-divergent", rung_batched_divergent,
     "a block a row, with a divergent tree: larger blocks wait longer at more barriers",
     TEXTBOOK_TYPES, ORDER_ROWS, 1, true, false, 0},
    {"batched-strided", rung_batched_strided,
     "a block a row, with a strided tree: the block's size decides the occupancy", TEXTBOOK_TYPES,
     ORDER_ROWS, 1, true, false, 0},
    {"cub", rung_cub, "the library: cub::DeviceReduce::Sum, the reference for speed", ALL_TYPES,
     ORDER_ANY, 1, false, false, 0},
    {"cub-reproducible", rung_cub_reproducible,
     "the library's gpu_to_gpu determinism: the same bits on every GPU, but not the exact sum",
     TEXTBOOK_TYPES, ORDER_BINNED, 1, false, false, 0},
    {"production", production_all,
     "exact sum, minimum, maximum and counts in one pass: correct rounding is free", ALL_TYPES,
     ORDER_EXACT, 1, false, false, PARTIAL_SUM | PARTIAL_EXTREMES},
    {"production-where", production_where, "the same, and where the extremes are", ALL_TYPES,
     ORDER_EXACT, 1, false, false, PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE},
    {"production-extremes", production_extremes, "minimum, maximum and counts alone", ALL_TYPES,
     ORDER_EXACT, 1, false, false, PARTIAL_EXTREMES},
};

const size_t rung_table_count = sizeof rung_table / sizeof *rung_table;

const unsigned rung_table_blocks[RUNG_BLOCKS] = {128, 256, 512, 1024};

const char *rung_table_label(char label[RUNG_LABEL_MAX], const struct rung *rung, unsigned threads)
{
    if (rung->order == ORDER_ROWS)
        snprintf(label, RUNG_LABEL_MAX, "%s-%u", rung->name, threads);
    else
        snprintf(label, RUNG_LABEL_MAX, "%s", rung->name);
    return label;
}

const struct rung *rung_table_find(const char *name)
{
    for (size_t i = 0; i < rung_table_count; i++)
        if (strcmp(name, rung_table[i].name) == 0)
            return &rung_table[i];
    return NULL;
}

bool rung_table_listed(const char *list, const struct rung *rung, unsigned threads)
{
    char label[RUNG_LABEL_MAX];

    rung_table_label(label, rung, threads);
    while (list && *list) {
        size_t length = strcspn(list, ",");

        if ((length == strlen(label) && strncmp(list, label, length) == 0) ||
            (length == strlen(rung->name) && strncmp(list, rung->name, length) == 0))
            return true;
        list += length + (list[length] == ',');
    }
    return list == NULL;
}

const char *rung_table_stranger(const char *list, size_t *length)
{
    for (;; list += *length + 1) {
        char word[RUNG_LABEL_MAX];
        bool known = false;

        *length = strcspn(list, ",");
        snprintf(word, sizeof word, "%.*s",
                 *length < RUNG_LABEL_MAX ? (int)*length : RUNG_LABEL_MAX, list);
        for (size_t i = 0; i < rung_table_count && !known; i++)
            for (size_t j = 0; j < RUNG_BLOCKS && !known; j++)
                known = rung_table_listed(word, &rung_table[i], rung_table_blocks[j]);
        if (!known)
            return list;
        if (!list[*length])
            return NULL;
    }
}

const char *rung_table_unavailable(const struct rung *rung, enum element_type type, uint64_t count)
{
    if (!(rung->types & RUNG_TYPE(type)))
        return "not for this type";
    if (rung->order == ORDER_BINNED && !rung_cub_is_reproducible())
        return "needs CUB 3.1";
    if (rung->order == ORDER_BINNED && count > INT32_MAX)
        return "at most 2^31 - 1 elements";
    return NULL;
}
