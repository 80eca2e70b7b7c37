/*
 * The instruction sets, and the choice among them. A new one is a file kernels_NAME.c, which simd.h
 * describes, and a row here.
 */
#include "config.h"

#include "cpu/kernel.h"

#include <string.h>

/* The best first; the last one runs everywhere. */
#if defined __x86_64__
#    define X86_64_SETS(ROW) ROW(avx512) ROW(avx2) ROW(sse4)
#else
#    define X86_64_SETS(ROW)
#endif
#define INSTRUCTION_SETS(ROW) X86_64_SETS(ROW) ROW(vector16)

#define DECLARE(name) extern const struct cpu_kernels cpu_kernels_##name;
INSTRUCTION_SETS(DECLARE)

#define ADDRESS(name) &cpu_kernels_##name,
const struct cpu_kernels *const cpu_kernels_all[] = {INSTRUCTION_SETS(ADDRESS)};

const size_t cpu_kernels_count = sizeof cpu_kernels_all / sizeof *cpu_kernels_all;

const struct cpu_kernels *cpu_kernels_choose(const char *asked)
{
    size_t best = 0;

    for (size_t i = 0; asked && i < cpu_kernels_count; i++)
        if (strcmp(asked, cpu_kernels_all[i]->name) == 0 && cpu_kernels_all[i]->usable())
            return cpu_kernels_all[i];
    while (best < cpu_kernels_count - 1 && !cpu_kernels_all[best]->usable())
        best++;
    return cpu_kernels_all[best];
}
