#include "simd_portable.h"

#include "kernel_template.h"

const struct cpu_kernels cpu_kernels_portable = KERNELS;
