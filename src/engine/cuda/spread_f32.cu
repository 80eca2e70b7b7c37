#include "config.h"

#include "engine/cuda/instances.h"
#include "engine/cuda/spread.cuh"

SPREAD_INSTANCE(f32)
