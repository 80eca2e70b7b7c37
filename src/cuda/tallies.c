#include "config.h"

#include "cuda/tallies.h"

#include <stdio.h>
#include <string.h>

#include "core/order.h"
#include "cuda/runtime/check.h"

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

void cuda_tallies_fill(struct cuda_tally_cells *cells, const struct tally_plan *plan)
{
    unsigned kept = 0;

    memcpy(cells->first, plan->first, sizeof cells->first);
    for (unsigned i = 0; i < plan->cells; i++) {
        cells->keep[i] = plan->keep[i];
        if (!plan->keep[i])
            continue;
        cells->kept_first[kept] = plan->first[i];
        cells->kept_distance[kept] = tally_last(plan, i) - plan->first[i];
        cells->kept_shift[kept++] = (unsigned char)tally_fine_shift(plan, i);
    }
}

static struct cuda_tallies *tallies_of(struct cuda_job *job)
{
    return (struct cuda_tallies *)job;
}

/* Bytes of a plan's table. */
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
    case TALLY_KEYS:
        break;
    }
    return align_up(size, CUDA_JOB_ALIGNMENT);
}

static size_t counts_bytes(const struct tally_plan *plan)
{
    return align_up((tally_size(plan) + CUDA_TALLY_MORE) * sizeof(uint64_t), CUDA_JOB_ALIGNMENT);
}

static const struct tally_plan *plan_of(const struct cuda_tallies *t, unsigned i)
{
    return t->set->tally[i].plan;
}

/* Copies a plan's table to the device, by way of pinned memory, which is not written to again. */
static bool copy_table(const struct tally_plan *plan, void *table, void *pinned,
                       cudaStream_t stream, char reason[ENGINE_REASON_MAX])
{
    const void *bounds = plan->bound ? (const void *)plan->bound : plan->bound_key;
    size_t size = ((size_t)plan->bins + 1) * sizeof(uint64_t);

    if (plan->kind == TALLY_WORDS)
        return true;
    if (plan->kind == TALLY_CELLS) {
        cuda_tallies_fill(pinned, plan);
        size = sizeof(struct cuda_tally_cells);
    } else {
        memcpy(pinned, bounds, size);
    }
    return cuda_check(cudaMemcpyAsync(table, pinned, size, cudaMemcpyHostToDevice, stream),
                      device_memory, reason);
}

/* Gives all parts their places in the device memory. */
static bool begin(struct cuda_job *job, unsigned char *device, unsigned char *pinned,
                  cudaStream_t stream, char reason[ENGINE_REASON_MAX])
{
    struct cuda_tallies *t = tallies_of(job);
    unsigned char *at = device, *table = pinned + TALLIES_MIRRORS * t->count_bytes;

    t->device = device;
    t->sent = pinned;
    t->taken = 0;
    t->good = -1;
    for (unsigned i = 0; i < t->set->count; i++) {
        t->launch[i].counts = (void *)at;
        at += counts_bytes(plan_of(t, i));
    }
    for (unsigned i = 0; i < t->set->count; i++) {
        const struct tally_plan *plan = plan_of(t, i);

        t->launch[i].table = at;
        if (!copy_table(plan, at, table, stream, reason))
            return false;
        at += table_bytes(plan);
        table += table_bytes(plan);
        for (unsigned slot = 0; plan->kind == TALLY_CELLS && slot < t->slots; slot++) {
            t->kept[i][slot] = at;
            at += t->kept_bytes;
        }
    }
    return cuda_check(cudaMemsetAsync(device, 0, t->count_bytes, stream), device_memory, reason) &&
           (t->appends || cuda_check(cudaStreamCreateWithFlags(&t->back, cudaStreamNonBlocking),
                                     "creating a stream", reason));
}

static void close_tallies(struct cuda_job *job)
{
    struct cuda_tallies *t = tallies_of(job);

    if (t->back)
        (void)cudaStreamDestroy(t->back);
    t->back = NULL;
}

/* The counts of a tally in a copy. */
static const uint64_t *mirrored(const struct cuda_tallies *t, unsigned mirror, unsigned tally)
{
    const unsigned char *from = t->sent + mirror * t->count_bytes;

    return (const void *)(from + ((const unsigned char *)t->launch[tally].counts - t->device));
}

static bool add(struct cuda_job *job, unsigned slot, const void *data, size_t count, uint64_t index,
                cudaStream_t stream, char reason[ENGINE_REASON_MAX])
{
    struct cuda_tallies *t = tallies_of(job);

    (void)index;
    t->count[slot] = count;
    for (unsigned i = 0; i < t->set->count; i++) {
        t->launch[i].rows.data = data;
        t->launch[i].count = count;
        t->launch[i].kept = t->kept[i][slot];
        t->launch[i].room = t->kept_bytes / t->element_size;
        t->launch[i].more = t->appends;
        if (!cuda_check(cuda_tally(&t->launch[i], stream), "starting a kernel", reason))
            return false;
    }
    return true;
}

static bool send(struct cuda_job *job, unsigned slot, cudaStream_t stream,
                 char reason[ENGINE_REASON_MAX])
{
    struct cuda_tallies *t = tallies_of(job);

    t->mirror[slot] = t->taken++ % TALLIES_MIRRORS;
    return cuda_check(cudaMemcpyAsync(t->sent + t->mirror[slot] * t->count_bytes, t->device,
                                      t->count_bytes, cudaMemcpyDeviceToHost, stream),
                      "copying a result", reason);
}

uint64_t cuda_tallies_kept(const struct cuda_tallies *t, unsigned i, unsigned slot)
{
    return mirrored(t, t->mirror[slot], i)[t->launch[i].size + CUDA_TALLY_KEPT];
}

/* Fetches what a launch has kept. Nothing is kept until all of it is here. */
static bool fetch(struct cuda_tallies *t, unsigned i, unsigned slot, char reason[ENGINE_REASON_MAX])
{
    static const char *const copying = "copying elements back";
    const uint64_t count = cuda_tallies_kept(t, i, slot);
    struct tally *const tally = &t->set->tally[i];
    const size_t size = t->element_size;
    bool good;

    if (count > t->count[slot]) {
        snprintf(reason, ENGINE_REASON_MAX, "internal error: more elements were kept than came");
        return false;
    }
    if (count == 0)
        return true;
    if (!tally_reserve(tally, (size_t)count))
        return cuda_no_memory(reason);
    good = cuda_check(cudaMemcpyAsync((unsigned char *)tally->kept + tally->kept_count * size,
                                      t->kept[i][slot], (size_t)count * size,
                                      cudaMemcpyDeviceToHost, t->back),
                      copying, reason);
    /* In any case: others may be about to give the tally's memory another place. */
    good = cuda_check(cudaStreamSynchronize(t->back), copying, reason) && good;
    if (good)
        tally->kept_count += (size_t)count;
    return good;
}

static bool collect(struct cuda_job *job, unsigned slot, char reason[ENGINE_REASON_MAX])
{
    struct cuda_tallies *t = tallies_of(job);

    /* There are cells in one plan at most: no other can fail when elements have been kept. */
    for (unsigned i = 0; i < t->set->count; i++)
        if (t->kept[i][slot] && !t->appends && !fetch(t, i, slot, reason))
            return false;
    t->good = (int)t->mirror[slot];
    return true;
}

/* Adds the counts of all chunks that count to the set. */
static void end(struct cuda_job *job)
{
    struct cuda_tallies *t = tallies_of(job);

    if (t->good < 0)
        return;
    for (unsigned i = 0; i < t->set->count; i++) {
        struct tally *tally = &t->set->tally[i];
        const unsigned size = t->launch[i].size;
        const uint64_t *from = mirrored(t, (unsigned)t->good, i);

        for (unsigned j = 0; j < size; j++)
            tally->counts[j] += from[j];
        for (int j = 0; j < 2; j++)
            tally->special[j] += from[size + CUDA_TALLY_SPECIAL + j];
    }
    t->good = -1;
}

void cuda_tallies_init(struct cuda_tallies *t, struct tally_set *set, enum element_type type,
                       bool swap, const struct missing *missing, int multiprocessors, int shared,
                       unsigned slots, size_t kept_bytes)
{
    static const struct cuda_job_kind kind = {.begin = begin,
                                              .add = add,
                                              .send = send,
                                              .collect = collect,
                                              .end = end,
                                              .close = close_tallies};

    *t = (struct cuda_tallies){.job = {.kind = &kind},
                               .set = set,
                               .element_size = element_size(type),
                               .kept_bytes = align_up(kept_bytes, CUDA_JOB_ALIGNMENT),
                               .slots = slots,
                               .good = -1};
    if (missing)
        cuda_missing_set(&t->missing, type, missing);
    for (unsigned i = 0; i < set->count; i++) {
        const struct tally_plan *plan = plan_of(t, i);

        cuda_tallies_describe(&t->launch[i], plan);
        t->launch[i].missing = missing ? &t->missing : NULL;
        t->launch[i].swap = swap;
        t->launch[i].multiprocessors = multiprocessors;
        t->launch[i].shared = (size_t)shared;
        t->count_bytes += counts_bytes(plan);
        t->job.device_bytes += counts_bytes(plan) + table_bytes(plan);
        t->job.pinned_bytes += table_bytes(plan);
        t->job.device_bytes += plan->kind == TALLY_CELLS ? slots * t->kept_bytes : 0;
    }
    t->job.pinned_bytes += TALLIES_MIRRORS * t->count_bytes;
}
