/*
 * The kernels with vectors of 16 bytes and the instructions that every processor of the machine
 * has: SSE2, NEON, VSX, or whatever the compiler makes of them.
 */
#include "config.h"

#include <stdbool.h>

#define SIMD_NAME vector16
#define SIMD_TARGET
#define V_BYTES 16
#ifdef __x86_64__
#    define SIMD_X86 2
#else
#    define SIMD_X86 0
#endif

static bool simd_usable(void)
{
    return true;
}

#include "cpu/simd_vector.h"

#include "cpu/kernel_template.h"
