#include "config.h"

#include "engine/engine.h"

static const struct engine *const engines[ENGINES] = {
    [ENGINE_CPU] = &engine_cpu,
    [ENGINE_CUDA] = &engine_cuda,
};

const struct engine *engine_get(enum engine_id id)
{
    return engines[id];
}
