#include "config.h"

#include "cuda/decoder_state.h"

#include "cuda/runtime/check.h"

bool decoder_check(struct engine_decoder *u, cudaError_t error, const char *what)
{
    if (!cuda_check(error, what, u->error))
        u->failed = true;
    return !u->failed;
}

void decoder_note(struct timeline *t, const struct engine_decoder *u, cudaEvent_t from,
                  cudaEvent_t to, uint64_t bytes)
{
    float before, between; /* milliseconds */
    uint64_t begin;

    if (cudaEventElapsedTime(&before, u->base, from) != cudaSuccess ||
        cudaEventElapsedTime(&between, from, to) != cudaSuccess) {
        (void)cudaGetLastError(); /* it is no failure of the next launch */
        return;
    }
    begin = u->base_time + (uint64_t)((double)before * 1e6);
    timeline_note(t, begin, begin + (uint64_t)((double)between * 1e6), bytes);
}

uint64_t decoder_wanted_end(const struct engine_decoder *u)
{
    const uint64_t position = u->part.position;
    const uint64_t in_part = u->setup.end > position ? u->setup.end - position : 0;

    return u->part.provisional || in_part > UINT64_MAX - u->part_begin ? UINT64_MAX
                                                                       : u->part_begin + in_part;
}
