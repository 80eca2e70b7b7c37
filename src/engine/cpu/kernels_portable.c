#include "config.h"

#include "engine/cpu/simd_portable.h"

#include "engine/cpu/kernel_template.h"

const struct cpu_kernels cpu_kernels_portable = KERNELS;
