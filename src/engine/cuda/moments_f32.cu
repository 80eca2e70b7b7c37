#include "config.h"

#include "engine/cuda/instances.h"
#include "engine/cuda/moments.cuh"

MOMENTS_INSTANCE(f32)
