#include "config.h"

#include "engine/gpu_tuning.h"

const struct gpu_tuning gpu_tuning_shipped = {
    .device_bytes = (uint64_t)8 << 30,
    .slices_least = (size_t)64 << 10,
    .slices_back = 0.5,
    .batch = (size_t)256 << 20,
    .batch_least = (size_t)4 << 20,
    .copy_least = (size_t)4 << 20,
    .copies = 32,
    .unit = (uint32_t)1 << 20,
    .wave = (uint32_t)4 << 20,
    .one_wave = (uint32_t)8 << 20,
    .hash_max = (uint64_t)16 << 20,
    .hash_jobs = 16384,
    .content_bytes = (size_t)8 << 20,
};
