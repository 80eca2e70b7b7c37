#include "config.h"

#include "cuda/instances.h"
#include "cuda/reduce.cuh"
#include "cuda/reduce_left.cuh"

INSTANCE(f64)
