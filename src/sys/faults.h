/*
 * Failures on purpose, for tests/cli/cuda_faults.sh. Only a build that was configured with
 * --enable-faults has them; in any other, all functions are constant.
 */
#ifndef GPUREDUCE_FAULTS_H
#define GPUREDUCE_FAULTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Whether the CUDA call whose result is looked at now is to count as failed. GPUREDUCE_CUDA_FAULT
   is the number of that call, from 1; with a + behind it all that follow fail as well, as they do
   after an error that the device does not recover from. With @N behind that only calls count that
   are made while GPU N of the engine's is the thread's current one, which `device` tells. Any
   thread. */
static inline bool faults_cuda(int (*device)(void))
{
#ifdef FAULTS
    static _Atomic unsigned long calls;
    const char *fault = getenv("GPUREDUCE_CUDA_FAULT");
    unsigned long call, number;
    char *end;
    bool on;

    if (!fault)
        return false;
    number = strtoul(fault, &end, 10);
    on = *end == '+';
    end += on;
    if (*end == '@' && strtol(end + 1, NULL, 10) != device())
        return false;
    call = atomic_fetch_add(&calls, 1) + 1;
    return call == number || (on && call > number);
#else
    (void)device;
    return false;
#endif
}

/* Whether auto is to call the GPU in and to feed it however small the work is: GPUREDUCE_CALL_GPU
   is set. */
static inline bool faults_call_gpu(void)
{
#ifdef FAULTS
    return getenv("GPUREDUCE_CALL_GPU") != NULL;
#else
    return false;
#endif
}

#endif
