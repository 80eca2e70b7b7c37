#include "config.h"

#include "engine/cuda/instances.h"
#include "engine/cuda/reduce.cuh"
#include "engine/cuda/reduce_left.cuh"

INSTANCE(f64)
