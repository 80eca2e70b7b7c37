#include "config.h"

#include "cuda/sums.h"

#include "core/order.h"
#include "cuda/runtime/check.h"

static struct cuda_sums *sums_of(struct cuda_job *job)
{
    return (struct cuda_sums *)job;
}

static struct partial *sent(const struct cuda_sums *s, unsigned slot, unsigned part)
{
    return (void *)(s->sent + slot * CUDA_SUMS_PINNED + part * CUDA_SUMS_PARTIAL);
}

static bool begin(struct cuda_job *job, unsigned char *device, unsigned char *pinned,
                  cudaStream_t stream, char reason[ENGINE_REASON_MAX])
{
    static const char *const memory = "device memory";
    struct cuda_sums *s = sums_of(job);
    struct cuda_scratch *scratch = (void *)(device + s->parts * CUDA_SUMS_PARTIAL);

    s->sent = pinned;
    partial_clear(&s->good);
    for (unsigned i = 0; i < s->parts; i++) {
        s->launch[i].partial = (void *)(device + i * CUDA_SUMS_PARTIAL);
        s->launch[i].scratch = scratch;
        *sent(s, 0, i) = s->good;
    }
    return cuda_check(cudaMemsetAsync(scratch, 0, sizeof *scratch, stream), memory, reason) &&
           cuda_check(cudaMemcpyAsync(device, pinned, s->parts * CUDA_SUMS_PARTIAL,
                                      cudaMemcpyHostToDevice, stream),
                      memory, reason);
}

static bool add(struct cuda_job *job, unsigned slot, const void *data, size_t count, uint64_t index,
                cudaStream_t stream, char reason[ENGINE_REASON_MAX])
{
    struct cuda_sums *s = sums_of(job);

    (void)slot;
    for (unsigned i = 0; i < s->parts; i++) {
        s->launch[i].rows.data = data;
        s->launch[i].count = count;
        s->launch[i].index = index;
        if (!cuda_check(cuda_reduce(&s->launch[i], stream), "starting a kernel", reason))
            return false;
    }
    return true;
}

static bool send(struct cuda_job *job, unsigned slot, cudaStream_t stream,
                 char reason[ENGINE_REASON_MAX])
{
    const struct cuda_sums *s = sums_of(job);

    return cuda_check(cudaMemcpyAsync(sent(s, slot, 0), s->launch[0].partial,
                                      s->parts * CUDA_SUMS_PARTIAL, cudaMemcpyDeviceToHost, stream),
                      "copying a result", reason);
}

/* Sets the fields that PARTIAL_SPLIT defines. */
static void put_sides(struct cuda_sums *s, unsigned slot)
{
    const struct partial *lower = sent(s, slot, CUDA_SUMS_LOWER);
    const struct partial *upper = sent(s, slot, CUDA_SUMS_UPPER);
    struct partial sides;

    partial_clear(&sides);
    sides.absolute = upper->sum;
    sides.absolute.pending = EXACT_PENDING_MAX;
    sides.least_magnitude = upper->min_key;
    sides.below_key = lower->max_key;
    sides.negative = partial_numbers(lower);
    sides.zeros = sent(s, slot, CUDA_SUMS_UNEQUAL)->missing - s->good.missing;
    partial_split_put(&s->good, &sides);
}

static bool collect(struct cuda_job *job, unsigned slot, char reason[ENGINE_REASON_MAX])
{
    struct cuda_sums *s = sums_of(job);

    (void)reason;
    s->good = *sent(s, slot, CUDA_SUMS_WHOLE);
    cuda_settle_partial(&s->good, s->launch[CUDA_SUMS_WHOLE].wants);
    if (s->parts > 1)
        put_sides(s, slot);
    return true;
}

/* Adds the keys of a range, which may be empty, to what a launch leaves out. */
static void leave_out(struct cuda_missing *m, enum element_type type, uint64_t first, uint64_t last)
{
    const struct missing range = {.count = first <= last, .ranges = {{first, last}}};

    cuda_missing_add_sums(m, type, &range);
}

/* Makes the parts that find what PARTIAL_SPLIT defines, from the one that takes all elements. */
static void make_sides(struct cuda_sums *s, const struct partial_split *split)
{
    const struct cuda_launch *whole = &s->launch[CUDA_SUMS_WHOLE];
    const enum element_type type = whole->type;
    const uint64_t least = order_least(type), greatest = order_greatest(type);

    s->parts = CUDA_SUMS_PARTS;
    for (unsigned i = 1; i < CUDA_SUMS_PARTS; i++) {
        s->launch[i] = *whole;
        s->launch[i].wants = PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_MISSING;
        s->missing[i] = s->missing[CUDA_SUMS_WHOLE];
        s->launch[i].missing = &s->missing[i];
    }
    if (split->all_below) {
        leave_out(&s->missing[CUDA_SUMS_UPPER], type, least, greatest);
        return;
    }
    leave_out(&s->missing[CUDA_SUMS_LOWER], type, split->first, greatest);
    if (split->first > least)
        leave_out(&s->missing[CUDA_SUMS_UPPER], type, least, split->first - 1);
    if (split->last_equal + 1 != split->first)
        leave_out(&s->missing[CUDA_SUMS_UNEQUAL], type, split->first, split->last_equal);
}

void cuda_sums_init(struct cuda_sums *s, enum element_type type, bool swap, unsigned wants,
                    const struct missing *missing, const struct partial_split *split,
                    int multiprocessors, unsigned slots)
{
    static const struct cuda_job_kind kind = {
        .begin = begin, .add = add, .send = send, .collect = collect};

    *s = (struct cuda_sums){
        .job = {.kind = &kind,
                .device_bytes =
                    align_up(CUDA_SUMS_PINNED + sizeof(struct cuda_scratch), CUDA_JOB_ALIGNMENT),
                .pinned_bytes = slots * CUDA_SUMS_PINNED},
        .parts = 1,
        .launch = {{.type = type,
                    .swap = swap,
                    .wants = wants & ~(unsigned)PARTIAL_SPLIT,
                    .missing = &s->missing[CUDA_SUMS_WHOLE],
                    .multiprocessors = multiprocessors}},
    };
    if (wants & PARTIAL_MISSING)
        cuda_missing_add_sums(&s->missing[CUDA_SUMS_WHOLE], type, missing);
    if (wants & PARTIAL_SPLIT)
        make_sides(s, split);
    partial_clear(&s->good);
}
