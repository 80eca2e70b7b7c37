#include "config.h"

#include "engine/cuda/tallies.h"

#include <stdio.h>
#include <string.h>

#include "core/order.h"
#include "engine/cuda/check.h"
#include "sys/align.h"
#include "sys/mapping.h"

static const char *const device_memory = "device memory";

void cuda_tallies_describe(struct cuda_tally_launch *launch, const struct tally_plan *plan)
{
    const uint64_t least = order_key(plan->type, 0), sign = order_sign(plan->type);

    launch->plan = plan;
    launch->element_size = (unsigned)element_size(plan->type);
    launch->integers = element_is_integer(plan->type);
    launch->size = (unsigned)tally_size(plan);
    launch->flip = least;
    launch->turn = order_key(plan->type, sign) ^ sign ^ least;
    launch->greatest = order_greatest(plan->type);
}

static bool is_active(const struct cuda_tallies *t)
{
    return t->set && t->set->count > 0;
}

/* Bytes of a plan's table, a multiple of what all memory here is aligned to. */
#define ALIGNMENT 256
static size_t table_bytes(const struct tally_plan *plan)
{
    size_t size = 0;

    switch (plan->kind) {
    case TALLY_CELLS:
        size = sizeof(struct cuda_tally_cells);
        break;
    case TALLY_WORDS:
        break;
    case TALLY_BINS:
        size = ((size_t)plan->bins + 1) * sizeof(uint64_t); /* that of a double, too */
        break;
    }
    return align_up(size, ALIGNMENT);
}

static size_t counts_bytes(const struct tally_plan *plan)
{
    return align_up((tally_size(plan) + CUDA_TALLY_MORE) * sizeof(uint64_t), ALIGNMENT);
}

static const struct tally_plan *plan_of(const struct cuda_tallies *t, unsigned i)
{
    return t->set->tally[i].plan;
}

/* Copies a plan's table to the device. */
static bool copy_table(struct cuda_tallies *t, const struct tally_plan *plan, void *table,
                       cudaStream_t stream, char reason[ENGINE_REASON_MAX])
{
    const void *from = plan->bound ? (const void *)plan->bound : plan->bound_key;
    size_t size = ((size_t)plan->bins + 1) * sizeof(uint64_t);

    if (plan->kind == TALLY_WORDS)
        return true;
    if (plan->kind == TALLY_CELLS) {
        memcpy(t->cells.first, plan->first, sizeof t->cells.first);
        for (unsigned i = 0; i < plan->cells; i++)
            t->cells.keep[i] = plan->keep[i];
        from = &t->cells;
        size = sizeof t->cells;
    }
    return cuda_check(cudaMemcpyAsync(table, from, size, cudaMemcpyHostToDevice, stream),
                      device_memory, reason);
}

/* Gives all parts their places in the device memory. */
static bool lay_out(struct cuda_tallies *t, size_t chunk_bytes, cudaStream_t stream,
                    char reason[ENGINE_REASON_MAX])
{
    const size_t kept = align_up(chunk_bytes, ALIGNMENT);
    size_t size = 0, at;

    t->count_bytes = 0;
    for (unsigned i = 0; i < t->set->count; i++) {
        const struct tally_plan *plan = plan_of(t, i);

        t->count_bytes += counts_bytes(plan);
        size += counts_bytes(plan) + table_bytes(plan);
        size += plan->kind == TALLY_CELLS ? TALLIES_SLOTS * kept : 0;
    }
    if (!cuda_check(cudaMalloc((void **)&t->device, size), device_memory, reason))
        return false;
    t->counts = (void *)t->device;
    at = 0;
    for (unsigned i = 0; i < t->set->count; i++) {
        t->launch[i].counts = (void *)(t->device + at);
        at += counts_bytes(plan_of(t, i));
    }
    for (unsigned i = 0; i < t->set->count; i++) {
        const struct tally_plan *plan = plan_of(t, i);

        t->launch[i].table = t->device + at;
        if (!copy_table(t, plan, t->device + at, stream, reason))
            return false;
        at += table_bytes(plan);
        for (unsigned slot = 0; plan->kind == TALLY_CELLS && slot < TALLIES_SLOTS; slot++) {
            t->kept[i][slot] = t->device + at;
            at += kept;
        }
    }
    return cuda_check(cudaMemsetAsync(t->counts, 0, t->count_bytes, stream), device_memory, reason);
}

bool cuda_tallies_open(struct cuda_tallies *t, const struct engine_setup *setup,
                       int multiprocessors, int shared, size_t chunk_bytes,
                       struct pinned_arena *arena, cudaStream_t stream,
                       char reason[ENGINE_REASON_MAX])
{
    *t = (struct cuda_tallies){.set = setup->tallies, .arena = arena, .good = -1};
    if (!is_active(t))
        return true;
    t->element_size = element_size(setup->type);
    for (unsigned i = 0; i < t->set->count; i++) {
        cuda_tallies_describe(&t->launch[i], plan_of(t, i));
        t->launch[i].swap = setup->swap;
        t->launch[i].multiprocessors = multiprocessors;
        t->launch[i].shared = (size_t)shared;
    }
    return lay_out(t, chunk_bytes, stream, reason) &&
           pinned_piece_open(&t->mirrors, arena,
                             align_up(TALLIES_MIRRORS * t->count_bytes, mapping_page()), reason) &&
           cuda_check(cudaStreamCreateWithFlags(&t->back, cudaStreamNonBlocking),
                      "creating a stream", reason);
}

void cuda_tallies_close(struct cuda_tallies *t)
{
    if (t->back)
        (void)cudaStreamDestroy(t->back);
    if (t->device)
        (void)cudaFree(t->device);
    pinned_piece_close(&t->mirrors, t->arena);
    *t = (struct cuda_tallies){.set = NULL};
}

/* The counts of a tally in a mirror. */
static const uint64_t *mirrored(const struct cuda_tallies *t, unsigned mirror, unsigned tally)
{
    const unsigned char *from = t->mirrors.memory + mirror * t->count_bytes;

    return (const void *)(from + ((const unsigned char *)t->launch[tally].counts - t->device));
}

bool cuda_tallies_take(struct cuda_tallies *t, unsigned slot, const void *data, size_t count,
                       cudaStream_t stream, char reason[ENGINE_REASON_MAX])
{
    if (!is_active(t))
        return true;
    for (unsigned i = 0; i < t->set->count; i++) {
        t->launch[i].data = data;
        t->launch[i].count = count;
        t->launch[i].kept = t->kept[i][slot];
        if (!cuda_check(cuda_tally(&t->launch[i], stream), "starting a kernel", reason))
            return false;
    }
    t->mirror[slot] = t->taken++ % TALLIES_MIRRORS;
    return cuda_check(cudaMemcpyAsync(t->mirrors.memory + t->mirror[slot] * t->count_bytes,
                                      t->counts, t->count_bytes, cudaMemcpyDeviceToHost, stream),
                      "copying a result", reason);
}

/* Fetches what a launch has kept. Nothing is kept until all of it is here. */
static bool fetch(struct cuda_tallies *t, unsigned i, unsigned slot, size_t count,
                  char reason[ENGINE_REASON_MAX])
{
    static const char *const copying = "copying elements back";
    struct tally *tally = &t->set->tally[i];
    const uint64_t kept = mirrored(t, t->mirror[slot], i)[t->launch[i].size + CUDA_TALLY_KEPT];
    const size_t size = t->element_size;
    bool good;

    if (kept > count) {
        snprintf(reason, ENGINE_REASON_MAX, "internal error: more elements were kept than came");
        return false;
    }
    if (kept == 0)
        return true;
    if (!tally_reserve(tally, (size_t)kept)) {
        snprintf(reason, ENGINE_REASON_MAX, "out of memory");
        return false;
    }
    good = cuda_check(cudaMemcpyAsync((unsigned char *)tally->kept + tally->kept_count * size,
                                      t->kept[i][slot], (size_t)kept * size, cudaMemcpyDeviceToHost,
                                      t->back),
                      copying, reason);
    /* In any case: others may be about to give the tally's memory another place. */
    good = cuda_check(cudaStreamSynchronize(t->back), copying, reason) && good;
    if (good)
        tally->kept_count += (size_t)kept;
    return good;
}

bool cuda_tallies_collect(struct cuda_tallies *t, unsigned slot, size_t count,
                          char reason[ENGINE_REASON_MAX])
{
    if (!is_active(t))
        return true;
    /* There are cells in one plan at most: no other can fail when elements have been kept. */
    for (unsigned i = 0; i < t->set->count; i++)
        if (t->kept[i][slot] && !fetch(t, i, slot, count, reason))
            return false;
    t->good = (int)t->mirror[slot];
    return true;
}

void cuda_tallies_finish(struct cuda_tallies *t)
{
    if (!is_active(t) || t->good < 0)
        return;
    for (unsigned i = 0; i < t->set->count; i++) {
        struct tally *tally = &t->set->tally[i];
        const unsigned size = t->launch[i].size;
        const uint64_t *from = mirrored(t, (unsigned)t->good, i);

        for (unsigned j = 0; j < size; j++)
            tally->counts[j] += from[j];
        for (int j = 0; j < 2; j++)
            tally->zeros[j] += from[size + CUDA_TALLY_ZEROS + j];
    }
    t->good = -1;
}
