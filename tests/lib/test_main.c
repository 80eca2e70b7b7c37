/*
 * gpureduce for tests (TEST_EMULATED: on the emulated CUDA runtime). The sizes are so small there
 * that small files have many pieces, parts and batches.
 *
 * If GPUREDUCE_CALL_GPU is in the environment, auto has the GPU help however small the work is.
 * GPUREDUCE_CUDA_FAULT has calls of CUDA fail: see below.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "cli/program.h"
#include "cuda/runtime/check.h"
#include "run/session_options.h"
#ifdef TEST_EMULATED
#    include "lib/zstd_emulated.h"
#endif

/* Whether the CUDA call whose result is looked at now is to count as failed. GPUREDUCE_CUDA_FAULT
   is the number of that call, from 1; with a + behind it all that follow fail as well, as they do
   after an error that the device does not recover from. With @N behind that only calls count that
   are made while GPU N of the engine's is the thread's current one. */
static bool is_to_fail(void)
{
    static _Atomic unsigned long calls;
    const char *fault = getenv("GPUREDUCE_CUDA_FAULT");
    unsigned long call, number;
    int device = -1;
    char *end;
    bool on;

    if (!fault)
        return false;
    number = strtoul(fault, &end, 10);
    on = *end == '+';
    end += on;
    (void)cudaGetDevice(&device);
    if (*end == '@' && strtol(end + 1, NULL, 10) != device)
        return false;
    call = atomic_fetch_add(&calls, 1) + 1;
    return call == number || (on && call > number);
}

/* The linker has others call this one.
   NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the names of --wrap. */
bool __real_cuda_check(cudaError_t error, const char *what, char reason[ENGINE_REASON_MAX]);
bool __wrap_cuda_check(cudaError_t error, const char *what, char reason[ENGINE_REASON_MAX]);
bool __wrap_cuda_check(cudaError_t error, const char *what, char reason[ENGINE_REASON_MAX])
{
    return __real_cuda_check(is_to_fail() ? cudaErrorUnknown : error, what, reason);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

int main(int argc, char **argv)
{
    struct source_tuning source = source_tuning_shipped;
    struct session_tuning session = session_tuning_shipped;

    session.gpu_always = getenv("GPUREDUCE_CALL_GPU");
#ifdef TEST_EMULATED
    source.mapped_least = 4096;
    source.closely_least = 1024;
    source.piece = 64 << 10;
    source.part_least = 4 << 10;
    session.gpu = &emulated_tuning;
    session.compressed_workers = 2;
#endif
    return program_main(argc, argv, &source, &session);
}
