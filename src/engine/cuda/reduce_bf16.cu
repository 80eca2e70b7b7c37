#include "config.h"

#include "engine/cuda/instances.h"
#include "engine/cuda/reduce.cuh"

INSTANCE(bf16)
