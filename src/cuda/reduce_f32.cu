#include "config.h"

#include "cuda/instances.h"
#include "cuda/reduce.cuh"

INSTANCE(f32)
