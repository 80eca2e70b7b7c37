#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda/decoder.h"
#include "cuda/decoder_state.h"
#include "cuda/runtime/check.h"
#include "cuda/zstd/kernels.h"
#include "sys/align.h"
#include "sys/mapping.h"

/* The word that tells what became of a batch's jobs stands before them. Bytes. */
#define JOBS_AT 64

bool decoder_checks_open(struct engine_decoder *u, char reason[ENGINE_REASON_MAX])
{
    const uint32_t jobs = u->device->tuning->hash_jobs;
    const size_t room = align_up(JOBS_AT + jobs * sizeof(struct zstd_hash_job), 64);

    if (!pinned_piece_open(&u->checks_memory, u->arena,
                           align_up(ZSTD_HASHED * room, mapping_page()), reason) ||
        !cuda_check(cudaMalloc((void **)&u->checks_device, ZSTD_HASHED * room), "device memory",
                    reason))
        return false;
    for (unsigned i = 0; i < ZSTD_HASH_STREAMS; i++)
        if (!cuda_check(cudaStreamCreateWithFlags(&u->hash_streams[i], cudaStreamNonBlocking),
                        "creating a stream", reason))
            return false;
    for (unsigned i = 0; i < ZSTD_HASHED; i++) {
        struct check *c = &u->checks[i];

        c->wrong = (void *)(u->checks_memory.memory + i * room);
        c->jobs = (void *)(u->checks_memory.memory + i * room + JOBS_AT);
        c->device = u->checks_device + i * room;
        c->frames = calloc(jobs, sizeof *c->frames);
        if (!c->frames) {
            snprintf(reason, ENGINE_REASON_MAX, "out of memory");
            return false;
        }
        if (!cuda_check(cudaEventCreate(&c->begun), "creating an event", reason) ||
            !cuda_check(cudaEventCreate(&c->hashed), "creating an event", reason) ||
            !cuda_check(cudaEventCreateWithFlags(&c->done, cudaEventDisableTiming),
                        "creating an event", reason))
            return false;
    }
    return true;
}

void decoder_checks_close(struct engine_decoder *u)
{
    for (unsigned i = 0; i < ZSTD_HASH_STREAMS; i++)
        if (u->hash_streams[i])
            (void)cudaStreamDestroy(u->hash_streams[i]);
    for (unsigned i = 0; i < ZSTD_HASHED; i++) {
        struct check *c = &u->checks[i];

        if (c->begun)
            (void)cudaEventDestroy(c->begun);
        if (c->hashed)
            (void)cudaEventDestroy(c->hashed);
        if (c->done)
            (void)cudaEventDestroy(c->done);
        free(c->frames);
    }
    if (u->checks_device)
        (void)cudaFree(u->checks_device);
    pinned_piece_close(&u->checks_memory, u->arena);
    free(u->on_device);
}

/* Writes down the frames of the held batch that are to be verified on the device: those that lie in
   it whole, and whose hashing does not hold the batch for long. */
static bool write_jobs(struct engine_decoder *u, struct check *c)
{
    const struct gpu_tuning *tuning = u->device->tuning;
    const struct zstd_device_output *o = &u->held;
    const uint64_t wanted = u->setup.stop ? decoder_wanted_end(u) : UINT64_MAX;
    uint64_t ring_size;
    uint32_t first = 0; /* block of the frame */
    bool whole = false;

    (void)zstd_device_bytes(u->decoder, 0, &ring_size);
    if (o->block_count > u->on_device_capacity) {
        bool *larger = realloc(u->on_device, o->block_count * sizeof *larger);

        if (!larger) {
            snprintf(u->error, sizeof u->error, "out of memory");
            u->failed = true;
            return false;
        }
        u->on_device = larger;
        u->on_device_capacity = o->block_count;
    }
    for (uint32_t i = 0; i < o->block_count; i++) {
        const struct zstd_plan_block *b = &o->blocks[i];
        uint64_t begin, end = b->position + b->size;

        u->on_device[i] = false;
        if (b->first) {
            first = i;
            whole = true;
        }
        begin = o->blocks[first].position;
        if (!whole || !b->last || !b->checked || end - begin > tuning->hash_max ||
            o->position + end >= wanted || c->count == tuning->hash_jobs)
            continue;
        for (uint32_t k = first; k <= i; k++)
            u->on_device[k] = true;
        c->frames[c->count] = b->frame;
        c->jobs[c->count++] = (struct zstd_hash_job){.begin = (o->position + begin) % ring_size,
                                                     .size = end - begin,
                                                     .checksum = b->checksum};
        c->bytes += end - begin;
    }
    return true;
}

bool decoder_checks_have_room(const struct engine_decoder *u)
{
    return u->check_end - u->check_begin < ZSTD_HASHED;
}

bool decoder_checks_begin(struct engine_decoder *u)
{
    struct check *c = &u->checks[u->check_end % ZSTD_HASHED];
    uint64_t ring_size;
    const unsigned char *ring = zstd_device_bytes(u->decoder, 0, &ring_size);

    c->bytes = 0;
    c->count = 0;
    if (!write_jobs(u, c))
        return false;
    if (c->count == 0)
        return true;
    c->stream = u->hash_streams[u->check_end % ZSTD_HASH_STREAMS];
    *c->wrong = UINT32_MAX;
    return decoder_check(u,
                         zstd_launch_move(c->device, c->wrong, JOBS_AT + c->count * sizeof *c->jobs,
                                          c->stream),
                         "starting a kernel") &&
           decoder_check(u, cudaEventRecord(c->begun, c->stream), "recording an event") &&
           decoder_check(u,
                         zstd_launch_hash(ring, ring_size, (void *)(c->device + JOBS_AT), c->count,
                                          (void *)c->device, c->stream),
                         "starting a kernel") &&
           decoder_check(u, cudaEventRecord(c->hashed, c->stream), "recording an event") &&
           decoder_check(u, zstd_launch_move(c->wrong, c->device, sizeof(uint32_t), c->stream),
                         "starting a kernel");
}

bool decoder_checks_end(struct engine_decoder *u)
{
    const struct check *c = &u->checks[u->check_end % ZSTD_HASHED];

    if (c->count > 0 &&
        (!decoder_check(u, cudaEventRecord(u->reduced, u->stream), "recording an event") ||
         !decoder_check(u, cudaStreamWaitEvent(c->stream, u->reduced, 0), "waiting for an event") ||
         !decoder_check(u, cudaEventRecord(c->done, c->stream), "recording an event")))
        return false;
    u->check_end++;
    return decoder_check(u, zstd_device_leave(u->decoder) ? cudaSuccess : cudaErrorUnknown,
                         "decoding zstd") &&
           decoder_checks_pass(u);
}

bool decoder_checks_pass(struct engine_decoder *u)
{
    for (; u->check_begin < u->check_end; u->check_begin++) {
        struct check *c = &u->checks[u->check_begin % ZSTD_HASHED];
        cudaStream_t stream = u->stream;

        if (c->count > 0) {
            cudaError_t error = cudaEventQuery(c->done);

            if (error == cudaErrorNotReady)
                return true;
            if (!decoder_check(u, error, "verifying checksums"))
                return false;
            decoder_note(&u->times.checks, u, c->begun, c->hashed, c->bytes);
            if (*c->wrong < c->count && !u->wrong) {
                u->wrong = true;
                u->wrong_frame = c->frames[*c->wrong];
            }
            c->count = 0;
            stream = NULL; /* all is done */
        }
        if (!decoder_check(u,
                           zstd_device_release(u->decoder, stream) ? cudaSuccess : cudaErrorUnknown,
                           "decoding zstd"))
            return false;
    }
    return true;
}

bool decoder_checks_drop(struct engine_decoder *u)
{
    for (; u->check_begin < u->check_end; u->check_begin++)
        if (!zstd_device_release(u->decoder, u->stream))
            return false;
    for (unsigned i = 0; i < ZSTD_HASHED; i++) {
        struct check *c = &u->checks[i];

        if (c->count > 0 &&
            !decoder_check(u, cudaStreamSynchronize(c->stream), "verifying checksums"))
            return false;
        c->count = 0;
    }
    return true;
}
