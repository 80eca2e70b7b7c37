#include "config.h"

#include "cuda/sums.h"

#include "cuda/runtime/check.h"

static struct cuda_sums *sums_of(struct cuda_job *job)
{
    return (struct cuda_sums *)job;
}

static struct partial *sent(const struct cuda_sums *s, unsigned slot)
{
    return (void *)(s->sent + slot * CUDA_SUMS_PINNED);
}

static bool begin(struct cuda_job *job, unsigned char *device, unsigned char *pinned,
                  cudaStream_t stream, char reason[ENGINE_REASON_MAX])
{
    static const char *const memory = "device memory";
    struct cuda_sums *s = sums_of(job);

    s->sent = pinned;
    s->launch.partial = (void *)device;
    s->launch.scratch = (void *)(device + CUDA_SUMS_PINNED);
    partial_clear(&s->good);
    *sent(s, 0) = s->good;
    return cuda_check(cudaMemsetAsync(s->launch.scratch, 0, sizeof *s->launch.scratch, stream),
                      memory, reason) &&
           cuda_check(cudaMemcpyAsync(s->launch.partial, sent(s, 0), sizeof s->good,
                                      cudaMemcpyHostToDevice, stream),
                      memory, reason);
}

static bool add(struct cuda_job *job, unsigned slot, const void *data, size_t count, uint64_t index,
                cudaStream_t stream, char reason[ENGINE_REASON_MAX])
{
    struct cuda_sums *s = sums_of(job);

    (void)slot;
    s->launch.data = data;
    s->launch.count = count;
    s->launch.index = index;
    return cuda_check(cuda_reduce(&s->launch, stream), "starting a kernel", reason);
}

static bool send(struct cuda_job *job, unsigned slot, cudaStream_t stream,
                 char reason[ENGINE_REASON_MAX])
{
    const struct cuda_sums *s = sums_of(job);

    return cuda_check(cudaMemcpyAsync(sent(s, slot), s->launch.partial, sizeof s->good,
                                      cudaMemcpyDeviceToHost, stream),
                      "copying a result", reason);
}

static bool collect(struct cuda_job *job, unsigned slot, char reason[ENGINE_REASON_MAX])
{
    struct cuda_sums *s = sums_of(job);

    (void)reason;
    s->good = *sent(s, slot);
    cuda_settle_partial(&s->good, s->launch.wants);
    return true;
}

void cuda_sums_init(struct cuda_sums *s, enum element_type type, bool swap, unsigned wants,
                    const struct missing *missing, int multiprocessors, unsigned slots)
{
    static const struct cuda_job_kind kind = {
        .begin = begin, .add = add, .send = send, .collect = collect};

    *s = (struct cuda_sums){
        .job = {.kind = &kind,
                .device_bytes =
                    align_up(CUDA_SUMS_PINNED + sizeof(struct cuda_scratch), CUDA_JOB_ALIGNMENT),
                .pinned_bytes = slots * CUDA_SUMS_PINNED},
        .launch = {.type = type, .swap = swap, .wants = wants, .multiprocessors = multiprocessors},
    };
    if (wants & PARTIAL_MISSING) {
        cuda_missing_set_sums(&s->missing, type, missing);
        s->launch.missing = &s->missing;
    }
    partial_clear(&s->good);
}
