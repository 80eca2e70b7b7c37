/*
 * The reducer: what kernels of every instruction set share. Nothing here is run for every vector.
 */
#include "config.h"

#include "cpu/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/missing.h"

void cpu_take_tail(struct cpu_reducer *r, const unsigned char *data, size_t count, uint64_t index)
{
    size_t size = element_size(r->type);

    for (size_t i = 0; i < count; i++) {
        if (r->missing && cpu_missing_has(r->missing, data + i * size)) {
            r->partial.count++;
            r->partial.missing++;
            continue;
        }
        partial_take_element(&r->partial, r->type, data + i * size, index + i);
        if (r->wants & MOMENTS_WANTS)
            moments_take_element(&r->partial, r->type, data + i * size);
    }
}

void cpu_take_block(struct cpu_reducer *r, int64_t min_key, int64_t max_key, const void *block,
                    size_t count, uint64_t index)
{
    /* A block may have no element below the greatest key there is. */
    if (min_key < r->min.key || !r->min.block)
        r->min = (struct cpu_candidate){min_key, block, count, index};
    if (max_key > r->max.key || !r->max.block)
        r->max = (struct cpu_candidate){max_key, block, count, index};
}

void cpu_take_first_nan(struct cpu_reducer *r, const unsigned char *block, size_t count,
                        uint64_t index)
{
    size_t size = element_size(r->type);

    for (size_t i = 0; i < count && index + i < r->partial.first_nan; i++)
        if (element_is_nan(r->type, block + i * size))
            r->partial.first_nan = index + i;
}

/* Results that are found beside the kernels. */
#define NEEDS_NO_KERNEL (PARTIAL_WHERE | PARTIAL_MISSING | PARTIAL_SPLIT | PARTIAL_DIGEST)

cpu_kernel *cpu_kernels_find(const struct cpu_kernels *kernels, enum element_type type,
                             unsigned wants)
{
    const unsigned needed = wants & ~(unsigned)NEEDS_NO_KERNEL;
    const struct cpu_kernel_row *row = kernels->rows;

    while (row < kernels->rows + CPU_KERNEL_ROWS - 1 &&
           (!row->kernel[type] || (needed & ~row->finds) != 0))
        row++;
    /* cppcheck-suppress CastIntegerToAddressAtReturn ; they are pointers to functions */
    return row->kernel[type];
}

bool cpu_reducer_restart(struct cpu_reducer *r, const struct cpu_kernels *kernels,
                         enum element_type type)
{
    const bool has_cells = type == ELEMENT_F64;

    if (r->type != type) { /* what the last blocks were like tells nothing of others */
        struct cpu_reducer kept = *r;

        memset(r, 0, sizeof *r);
        r->wants = kept.wants;
        r->scratch = kept.scratch;
        r->cells = kept.cells;
    }
    partial_clear(&r->partial);
    r->type = type;
    r->missing = NULL;
    r->kernel = cpu_kernels_find(kernels, type, r->wants);
    r->search = kernels->search[__builtin_ctzll(element_size(type))];
    if (has_cells && !r->cells)
        r->cells = calloc(CPU_CELLS, sizeof *r->cells);
    return r->cells || !has_cells;
}

/* Whether kernels that leave out one range find all. */
static bool leave_out_range(const struct cpu_reducer *r, const struct cpu_kernels *kernels,
                            const struct cpu_missing *missing)
{
    const unsigned needed = r->wants & ~(unsigned)(PARTIAL_WHERE | PARTIAL_DIGEST);

    return missing->count <= 1 && (needed & ~kernels->missing.finds) == 0;
}

bool cpu_reducer_takes_lacking(const struct cpu_reducer *r, const struct cpu_kernels *kernels,
                               const struct cpu_missing *missing)
{
    return r->type == ELEMENT_F32 && r->wants & PARTIAL_SUM && leave_out_range(r, kernels, missing);
}

bool cpu_reducer_leaves_out(struct cpu_reducer *r, const struct cpu_kernels *kernels,
                            const struct cpu_missing *missing)
{
    if (!kernels->missing.kernel[r->type] || !leave_out_range(r, kernels, missing))
        return false;
    r->kernel = kernels->missing.kernel[r->type];
    r->missing = missing;
    return true;
}

bool cpu_reducer_open(struct cpu_reducer *r, const struct cpu_kernels *kernels,
                      enum element_type type, unsigned wants)
{
    memset(r, 0, sizeof *r);
    r->wants = wants;
    r->scratch = aligned_alloc(64, CPU_BLOCK_MAX * sizeof *r->scratch);
    return cpu_reducer_restart(r, kernels, type) && r->scratch;
}

void cpu_reducer_close(struct cpu_reducer *r)
{
    free(r->scratch);
    free(r->cells);
}

void cpu_add_to_cells(struct cpu_reducer *r, const double *x, size_t n)
{
    unsigned first = r->first_exponent, last = r->last_exponent;

    for (size_t i = 0; i < n; i++) {
        uint64_t bits = exact_bits(x[i]);
        unsigned number = (unsigned)(bits >> 52), exponent = number % (CPU_CELLS / 2);

        first = exponent < first ? exponent : first;
        last = exponent > last ? exponent : last;
        r->cells[number].lower += bits & 0xffffffff;
        r->cells[number].upper += (bits >> 32 & 0xfffff) | (uint64_t)(exponent != 0) << 20;
    }
    r->first_exponent = first;
    r->last_exponent = last;
}

static void empty_cells(struct cpu_reducer *r)
{
    for (unsigned exponent = r->first_exponent; exponent <= r->last_exponent; exponent++) {
        for (size_t negative = 0; negative < 2; negative++) {
            struct cpu_cell *cell = r->cells + negative * (CPU_CELLS / 2) + exponent;
            unsigned bit = exponent - (exponent != 0); /* subnormals weigh as exponent 1 */

            if (cell->lower != 0)
                exact_add_integer(&r->partial.sum, cell->lower, bit, (int)negative);
            if (cell->upper != 0)
                exact_add_integer(&r->partial.sum, cell->upper, bit + 32, (int)negative);
            cell->lower = cell->upper = 0;
        }
    }
}

static void empty_bins(struct cpu_reducer *r)
{
    for (size_t set = 0; r->binned > 0 && set < CPU_BIN_SETS; set++) {
        for (size_t i = 0; i < CPU_EXPONENT_BINS; i++) {
            if (r->exponent_bins[set][i] != 0)
                exact_add(&r->partial.sum, r->exponent_bins[set][i]);
            r->exponent_bins[set][i] = 0;
        }
    }
    r->binned = 0;
}

void cpu_reserve_bins(struct cpu_reducer *r, size_t n)
{
    if (r->binned + n > CPU_BIN_VALUES_MAX)
        empty_bins(r);
    r->binned += (unsigned)n;
}

static void empty_integers(struct cpu_reducer *r)
{
    const struct element_format *format = &element_formats[r->type];
    struct cpu_integers *n = &r->integers;

    if (n->count == 0)
        return;
    exact_add_integer(&r->partial.sum, n->low, EXACT_ONE_BIT, false);
    exact_add_integer(&r->partial.sum, n->high, EXACT_ONE_BIT + 32, false);
    if (format->kind == ELEMENT_SIGNED)
        exact_add_integer(&r->partial.sum, n->count,
                          EXACT_ONE_BIT + (unsigned)(8 * format->size - 1), true);
    *n = (struct cpu_integers){0};
}

void cpu_reserve_integers(struct cpu_reducer *r, size_t n)
{
    if (r->integers.count + n > CPU_INTEGERS_MAX)
        empty_integers(r);
    r->integers.count += n;
}

void cpu_begin_chunk(struct cpu_reducer *r)
{
    r->min = (struct cpu_candidate){.key = INT64_MAX};
    r->max = (struct cpu_candidate){.key = INT64_MIN};
    /* An empty range, which has nothing to empty. */
    r->first_exponent = CPU_CELLS;
    r->last_exponent = 0;
}

/* The index of the first element of the candidate's block that has its key. */
static uint64_t locate(const struct cpu_reducer *r, const struct cpu_candidate *c)
{
    const bool truth = element_formats[r->type].kind == ELEMENT_TRUTH;
    const size_t i = r->search(c->block, c->count, element_key_bits(r->type, c->key), truth);

    return i < c->count ? c->index + i : PARTIAL_NO_INDEX;
}

void cpu_end_chunk(struct cpu_reducer *r)
{
    struct partial *p = &r->partial;
    bool where = r->wants & PARTIAL_WHERE;

    empty_cells(r);
    empty_bins(r);
    empty_integers(r);
    /* Finding the place costs a look at the block: only when it would be taken. */
    if (r->min.block && (r->min.key < p->min_key ||
                         (where && r->min.key == p->min_key && r->min.index < p->min_index)))
        partial_take_min(p, r->min.key, where ? locate(r, &r->min) : PARTIAL_NO_INDEX);
    if (r->max.block && (r->max.key > p->max_key ||
                         (where && r->max.key == p->max_key && r->max.index < p->max_index)))
        partial_take_max(p, r->max.key, where ? locate(r, &r->max) : PARTIAL_NO_INDEX);
}
