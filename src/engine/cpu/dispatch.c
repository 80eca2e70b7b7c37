#include "config.h"

#include "engine/cpu/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The best first; the last one runs everywhere. */
const struct cpu_kernels *const cpu_kernels_all[] = {
#if defined __x86_64__
    &cpu_kernels_avx512,
    &cpu_kernels_avx2,
#endif
    &cpu_kernels_portable,
};

const size_t cpu_kernels_count = sizeof cpu_kernels_all / sizeof *cpu_kernels_all;

const struct cpu_kernels *cpu_kernels_choose(void)
{
    const char *asked = getenv("GPUREDUCE_CPU");
    size_t best = 0;

    for (size_t i = 0; asked && i < cpu_kernels_count; i++)
        if (strcmp(asked, cpu_kernels_all[i]->name) == 0 && cpu_kernels_all[i]->usable())
            return cpu_kernels_all[i];
    while (!cpu_kernels_all[best]->usable())
        best++;
    return cpu_kernels_all[best];
}

void cpu_take_tail(struct cpu_reducer *r, const unsigned char *data, size_t count, uint64_t index)
{
    size_t size = element_size(r->type);

    for (size_t i = 0; i < count; i++)
        partial_take(&r->partial, element_load(r->type, data + i * size), index + i);
}

void cpu_take_block(struct cpu_reducer *r, int64_t min_key, int64_t max_key, const void *block,
                    size_t count, uint64_t index)
{
    if (min_key < r->min.key)
        r->min = (struct cpu_candidate){min_key, block, count, index};
    if (max_key > r->max.key)
        r->max = (struct cpu_candidate){max_key, block, count, index};
}

void cpu_take_first_nan(struct cpu_reducer *r, const unsigned char *block, size_t count,
                        uint64_t index)
{
    size_t size = element_size(r->type);

    for (size_t i = 0; i < count && index + i < r->partial.first_nan; i++)
        if (isnan(element_load(r->type, block + i * size)))
            r->partial.first_nan = index + i;
}

bool cpu_reducer_open(struct cpu_reducer *r, const struct cpu_kernels *kernels,
                      enum element_type type, unsigned wants)
{
    memset(r, 0, sizeof *r);
    partial_clear(&r->partial);
    r->type = type;
    r->wants = wants;
    r->kernel = wants & PARTIAL_SUM ? kernels->with_sum[type] : kernels->without_sum[type];
    r->scratch = aligned_alloc(64, CPU_BLOCK_MAX * sizeof *r->scratch);
    r->bins = type == ELEMENT_F64 ? calloc(CPU_BINS, sizeof *r->bins) : NULL;
    return r->scratch && (r->bins || type != ELEMENT_F64);
}

void cpu_reducer_close(struct cpu_reducer *r)
{
    free(r->scratch);
    free(r->bins);
}

void cpu_add_to_bins(struct cpu_reducer *r, const double *x, size_t n)
{
    unsigned first = r->first_bin, last = r->last_bin;

    for (size_t i = 0; i < n; i++) {
        uint64_t bits = exact_bits(x[i]);
        unsigned number = (unsigned)(bits >> 52), exponent = number % (CPU_BINS / 2);

        first = exponent < first ? exponent : first;
        last = exponent > last ? exponent : last;
        r->bins[number].lower += bits & 0xffffffff;
        r->bins[number].upper += (bits >> 32 & 0xfffff) | (uint64_t)(exponent != 0) << 20;
    }
    r->first_bin = first;
    r->last_bin = last;
}

static void empty_bins(struct cpu_reducer *r)
{
    for (unsigned exponent = r->first_bin; exponent <= r->last_bin; exponent++) {
        for (size_t negative = 0; negative < 2; negative++) {
            struct cpu_bin *bin = r->bins + negative * (CPU_BINS / 2) + exponent;
            unsigned bit = exponent - (exponent != 0);

            if (bin->lower != 0)
                exact_add_integer(&r->partial.sum, bin->lower, bit, (int)negative);
            if (bin->upper != 0)
                exact_add_integer(&r->partial.sum, bin->upper, bit + 32, (int)negative);
            bin->lower = bin->upper = 0;
        }
    }
}

static void empty_bins32(struct cpu_reducer *r)
{
    for (size_t set = 0; r->binned32 > 0 && set < CPU_BIN_SETS; set++) {
        for (size_t i = 0; i < CPU_BINS32; i++) {
            if (r->bins32[set][i] != 0)
                exact_add(&r->partial.sum, r->bins32[set][i]);
            r->bins32[set][i] = 0;
        }
    }
    r->binned32 = 0;
}

void cpu_make_room32(struct cpu_reducer *r, size_t n)
{
    if (r->binned32 + n > CPU_BIN32_MAX)
        empty_bins32(r);
    r->binned32 += (unsigned)n;
}

void cpu_begin_chunk(struct cpu_reducer *r)
{
    r->min = (struct cpu_candidate){.key = INT64_MAX};
    r->max = (struct cpu_candidate){.key = INT64_MIN};
    r->first_bin = CPU_BINS;
    r->last_bin = 0;
}

/* The index of the first element of the candidate's block that has its key. */
static uint64_t locate(const struct cpu_reducer *r, const struct cpu_candidate *c)
{
    size_t size = element_size(r->type);

    for (size_t i = 0; i < c->count; i++) {
        double x = element_load(r->type, c->block + i * size);
        if (!isnan(x) && exact_key(x) == c->key)
            return c->index + i;
    }
    return PARTIAL_NO_INDEX;
}

void cpu_end_chunk(struct cpu_reducer *r)
{
    struct partial *p = &r->partial;
    bool where = r->wants & PARTIAL_WHERE;

    empty_bins(r);
    empty_bins32(r);
    /* Finding the place costs a look at the block: only when it would be taken. */
    if (r->min.block && (r->min.key < p->min_key ||
                         (where && r->min.key == p->min_key && r->min.index < p->min_index)))
        partial_take_min(p, r->min.key, where ? locate(r, &r->min) : PARTIAL_NO_INDEX);
    if (r->max.block && (r->max.key > p->max_key ||
                         (where && r->max.key == p->max_key && r->max.index < p->max_index)))
        partial_take_max(p, r->max.key, where ? locate(r, &r->max) : PARTIAL_NO_INDEX);
}
