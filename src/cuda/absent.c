/*
 * Stands for the CUDA engine in a build without CUDA, which never opens, and for accumulators in
 * device memory, which nothing can be added to.
 */
#include "config.h"

#include <stdio.h>

#include "cuda/array.h"
#include "cuda/array_masks.h"
#include "cuda/array_pieces.h"
#include "cuda/array_slices.h"
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

const struct cuda_tallier_tuning cuda_tallier_shipped = {.room = 0};

struct cuda_tallier *cuda_tallier_open(const struct cuda_tallier_tuning *tuning)
{
    static char none;

    (void)tuning;
    return (struct cuda_tallier *)&none;
}

void cuda_tallier_close(struct cuda_tallier *tallier)
{
    (void)tallier;
}

bool cuda_array_tally(struct cuda_tallier *tallier, const struct cuda_array_elements *elements,
                      bool again, struct tally_set *set, struct error *error)
{
    (void)tallier;
    (void)elements;
    (void)again;
    (void)set;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

bool cuda_array_begin_sample(struct cuda_tallier *tallier,
                             const struct cuda_array_elements *elements, struct selection_runs runs,
                             struct error *error)
{
    (void)tallier;
    (void)elements;
    (void)runs;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

const void *cuda_array_sample(struct cuda_tallier *tallier, struct error *error)
{
    (void)tallier;
    (void)error_set(error, ERROR_REQUEST, "%s", built_without);
    return NULL;
}

struct cuda_masker *cuda_masker_open(void)
{
    static char none;

    return (struct cuda_masker *)&none;
}

void cuda_masker_close(struct cuda_masker *masker)
{
    (void)masker;
}

bool cuda_array_keep(struct cuda_masker *masker, const struct cuda_array_elements *elements,
                     const struct view *view, uint64_t first, uint64_t count,
                     const unsigned char **row, uint64_t *kept, struct error *error)
{
    (void)masker;
    (void)elements;
    (void)view;
    (void)first;
    (void)count;
    (void)row;
    (void)kept;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

const struct cuda_comparer_tuning cuda_comparer_shipped = {.room = 0};

struct cuda_comparer *cuda_comparer_open(const struct cuda_comparer_tuning *tuning)
{
    static char none;

    (void)tuning;
    return (struct cuda_comparer *)&none;
}

void cuda_comparer_close(struct cuda_comparer *comparer)
{
    (void)comparer;
}

bool cuda_array_await(const struct cuda_array_elements *elements, int *device, struct error *error)
{
    (void)elements;
    (void)device;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

bool cuda_array_fetch(struct cuda_comparer *comparer, const struct cuda_array_elements *elements,
                      uint64_t first, size_t bytes, void *to, struct error *error)
{
    (void)comparer;
    (void)elements;
    (void)first;
    (void)bytes;
    (void)to;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

void cuda_array_begin_pieces(struct cuda_comparer *comparer,
                             const struct cuda_array_elements sides[2], unsigned wants)
{
    (void)comparer;
    (void)sides;
    (void)wants;
}

bool cuda_array_has_pieces(struct cuda_comparer *comparer, bool *any, struct error *error)
{
    (void)comparer;
    (void)any;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

bool cuda_array_next_pieces(struct cuda_comparer *comparer, struct cuda_pieces *pieces,
                            size_t *count, struct error *error)
{
    (void)comparer;
    (void)pieces;
    (void)count;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

bool cuda_array_sums(struct cuda_comparer *comparer, struct partial *all, struct partial *differing,
                     struct error *error)
{
    (void)comparer;
    (void)all;
    (void)differing;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

struct cuda_summer *cuda_summer_open(void)
{
    static char none;

    return (struct cuda_summer *)&none;
}

void cuda_summer_close(struct cuda_summer *summer)
{
    (void)summer;
}

bool cuda_array_reduce_slices(struct cuda_summer *summer,
                              const struct cuda_array_elements *elements,
                              const struct cuda_array_axis *axis, uint64_t *results,
                              struct error *error)
{
    (void)summer;
    (void)elements;
    (void)axis;
    (void)results;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

bool cuda_array_reduce_listed(struct cuda_summer *summer, const struct view_layout *shaped,
                              unsigned axis, uint64_t count, uint64_t *results, struct error *error)
{
    (void)summer;
    (void)shaped;
    (void)axis;
    (void)count;
    (void)results;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

bool cuda_array_find_unknown(struct cuda_summer *summer, const uint64_t *results, uint64_t first,
                             uint64_t count, struct error *error)
{
    (void)summer;
    (void)results;
    (void)first;
    (void)count;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

bool cuda_array_unknown(struct cuda_summer *summer, const uint64_t **unknown, uint64_t *found,
                        struct error *error)
{
    (void)summer;
    (void)unknown;
    (void)found;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}

bool cuda_array_set(struct cuda_summer *summer, uint64_t *result, uint64_t bits,
                    struct error *error)
{
    (void)summer;
    (void)result;
    (void)bits;
    return error_set(error, ERROR_REQUEST, "%s", built_without);
}
