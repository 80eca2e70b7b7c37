#include "config.h"

#include "cuda/instances.h"
#include "cuda/moments.cuh"

MOMENTS_INSTANCE(f64)
