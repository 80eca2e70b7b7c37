/*
 * cuda_tally and cuda_slices, for the program on the emulated CUDA runtime: their kernels run on
 * the host.
 */
#include "config.h"

#include "lib/cuda_runtime_emulated.h"
#include "lib/tally_emulated.h"

/* The plan outlives what is queued. */
static void run(const void *launch)
{
    emulated_tally(launch, 2);
}

cudaError_t cuda_tally(const struct cuda_tally_launch *launch, cudaStream_t stream)
{
    emulated_queue(stream, run, launch, sizeof *launch);
    return cudaSuccess;
}

static void run_slices(const void *launch)
{
    emulated_slices(launch);
}

cudaError_t cuda_slices(const struct cuda_slice_launch *launch, cudaStream_t stream)
{
    emulated_queue(stream, run_slices, launch, sizeof *launch);
    return cudaSuccess;
}

#define QUEUE_JOB(name)                                                                      \
    static void run_slices_##name(const void *launch)                                        \
    {                                                                                        \
        emulated_slices_##name(launch);                                                      \
    }                                                                                        \
    cudaError_t cuda_slices_##name(const struct cuda_slice_job *launch, cudaStream_t stream) \
    {                                                                                        \
        emulated_queue(stream, run_slices_##name, launch, sizeof *launch);                   \
        return cudaSuccess;                                                                  \
    }
QUEUE_JOB(whole)
QUEUE_JOB(exact)
QUEUE_JOB(look)
QUEUE_JOB(select)

/*
 * Functions that nvcc has its objects call when the program begins and ends, though they hold
 * nothing for a device.
 */
void **emulated_register(void *binary) __asm__("__cudaRegisterFatBinary");
void emulated_register_end(void **handle) __asm__("__cudaRegisterFatBinaryEnd");
void emulated_unregister(void **handle) __asm__("__cudaUnregisterFatBinary");

void **emulated_register(void *binary)
{
    (void)binary;
    return NULL;
}

void emulated_register_end(void **handle)
{
    (void)handle;
}

void emulated_unregister(void **handle)
{
    (void)handle;
}
