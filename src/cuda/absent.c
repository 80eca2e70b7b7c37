/*
 * Stands for the CUDA engine in a build without CUDA, which never opens, and for accumulators in
 * device memory, which nothing can be added to.
 */
#include "config.h"

#include <stdio.h>

#include "cuda/array.h"
#include "cuda/array_tallies.h"
#include "engine/engine.h"

static const char built_without[] = "this gpureduce was built without CUDA";

static struct engine_state *absent_open(const struct engine_needs *needs,
                                        char reason[ENGINE_REASON_MAX])
{
    (void)needs;
    snprintf(reason, ENGINE_REASON_MAX, "%s", built_without);
    return NULL;
}

static unsigned absent_workers(unsigned device_count, unsigned cores)
{
    (void)device_count;
    (void)cores;
    return 1;
}

const struct engine engine_cuda = {.name = "gpu", .open = absent_open, .workers = absent_workers};

bool cuda_array_add(struct cuda_array **array, const struct cuda_array_terms *terms,
                    const struct view_layout *layout, uint64_t count, uint64_t index, int device,
                    void *stream, struct error *error)
{
    (void)array;
    (void)terms;
    (void)layout;
    (void)count;
    (void)index;
    (void)device;
    (void)stream;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

bool cuda_array_snapshot(struct cuda_array *array, unsigned wants, struct partial *partial,
                         struct error *error)
{
    (void)array;
    (void)wants;
    (void)partial;
    (void)error;
    return true;
}

bool cuda_array_clear(struct cuda_array *array, struct error *error)
{
    (void)array;
    (void)error;
    return true;
}

void cuda_array_close(struct cuda_array *array)
{
    (void)array;
}

bool cuda_array_tally(const struct cuda_array_elements *elements, struct tally_set *set,
                      struct error *error)
{
    (void)elements;
    (void)set;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

bool cuda_array_sample(const struct cuda_array_elements *elements, struct selection_runs runs,
                       unsigned char *sample, struct error *error)
{
    (void)elements;
    (void)runs;
    (void)sample;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}
