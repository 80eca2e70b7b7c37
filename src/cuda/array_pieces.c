#include "config.h"

#include "cuda/array_pieces.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/array.h"
#include "cuda/array_launch.h"
#include "cuda/guest.h"
#include "sys/mutex.h"

/* Bytes that are copied to the host at a time: pieces of both sides, and their numbers. */
#define NUMBERS_BYTES (CUDA_PIECES_MAX * sizeof(uint64_t))
#define SLOT_BYTES (2 * CUDA_FETCH_BYTES + NUMBERS_BYTES)

/* Copies under way, at most: as many threads as can be on their way to the host, or compare. */
#define SLOTS 16

static const char *const copying = "copying from the GPU", *const launching = "starting a kernel";

MUTEX_ROLE(comparer_role);

/* Pinned memory that elements come to the host by, and a stream. Belongs to the thread that claimed it. */
struct slot {
    bool busy; /* under the mutex */
    struct cuda_site site;
    struct cuda_room pinned;
};

struct cuda_comparer {
    struct cuda_comparer_tuning tuning;
    struct mutex mutex;
    pthread_cond_t changed; /* a slot is not busy any more, or pieces were copied */
    struct slot slots[SLOTS];

    struct cuda_site site;                         /* of the last comparison */
    struct cuda_room count, copied;                /* of pieces that differ; elements: pinned */
    struct cuda_room numbers, copies[2], stage[2]; /* of pieces that differ; of rows */
    struct cuda_array *all, *differing;            /* of the first side, and of its pieces */

    /* The comparison: */
    struct cuda_array_elements sides[2];
    unsigned wants;
    uint64_t pieces, room;                       /* all; those that there is room for */
    uint64_t most GUARDED_BY(comparer_role);     /* pieces that are compared at a time */
    uint64_t next GUARDED_BY(comparer_role);     /* the first that has not been compared */
    uint64_t found GUARDED_BY(comparer_role);    /* that differ, of those compared last */
    uint64_t taken GUARDED_BY(comparer_role);    /* of these */
    unsigned fetching GUARDED_BY(comparer_role); /* threads that copy some of these */
};

MUTEX_ROLE_OF(comparer, struct cuda_comparer, mutex);

const struct cuda_comparer_tuning cuda_comparer_shipped = {.room = 64 * MIB / CUDA_PIECE_BYTES};

struct cuda_comparer *cuda_comparer_open(const struct cuda_comparer_tuning *tuning)
{
    struct cuda_comparer *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->tuning = *tuning;
    mutex_init(&c->mutex);
    pthread_cond_init(&c->changed, NULL);
    return c;
}

void cuda_comparer_close(struct cuda_comparer *c)
{
    if (!c)
        return;
    cuda_array_close(c->all);
    cuda_array_close(c->differing);
    cuda_site_close(&c->site);
    for (int i = 0; i < SLOTS; i++)
        cuda_site_close(&c->slots[i].site);
    pthread_cond_destroy(&c->changed);
    mutex_destroy(&c->mutex);
    free(c);
}

bool cuda_array_await(const struct cuda_array_elements *e, int *device, struct error *error)
{
    struct cuda_guest guest;
    bool good;

    *device = e->device;
    if (e->count == 0)
        return true;
    if (!cuda_guest_find(device, e->layout->data, error))
        return false;
    good = cuda_guest_enter(&guest, *device, error) &&
           cuda_guest_check(cudaStreamSynchronize((cudaStream_t)e->stream), "waiting for a stream",
                            error);
    cuda_guest_leave(&guest);
    return good;
}

/*
 * Copies.
 */

/* A slot that no other thread has until it is released. */
static struct slot *claim(struct cuda_comparer *c)
{
    struct slot *s = NULL;

    comparer_lock(c);
    while (!s) {
        for (int i = 0; i < SLOTS && !s; i++)
            s = c->slots[i].busy ? NULL : &c->slots[i];
        if (!s)
            comparer_wait_for(c, &c->changed);
    }
    s->busy = true;
    comparer_unlock(c);
    return s;
}

static void release(struct cuda_comparer *c, struct slot *s)
{
    comparer_lock(c);
    s->busy = false;
    pthread_cond_broadcast(&c->changed);
    comparer_unlock(c);
}

/* The copies from device memory of a call: `bytes` bytes in a row each, or elements of a layout. */
struct part {
    const void *from; /* NULL: elements of `gather` */
    size_t bytes;
    void *to;
};

static bool copy_parts(struct slot *s, const struct part *parts, unsigned count,
                       struct cuda_gather *gather, struct error *error)
{
    cudaStream_t stream = s->site.stream;
    size_t at = 0;

    for (unsigned i = 0; i < count; at += parts[i++].bytes) {
        const struct part *p = &parts[i];

        if (!p->from) {
            gather->to = s->pinned.seen;
            if (!cuda_guest_check(cuda_gather(gather, s->site.multiprocessors, stream), launching,
                                  error))
                return false;
        } else if (!cuda_guest_check(cudaMemcpyAsync(s->pinned.memory + at, p->from, p->bytes,
                                                     cudaMemcpyDeviceToHost, stream),
                                     copying, error)) {
            return false;
        }
    }
    if (!cuda_guest_check(cudaStreamSynchronize(stream), copying, error))
        return false;
    at = 0;
    for (unsigned i = 0; i < count; at += parts[i++].bytes)
        memcpy(parts[i].to, s->pinned.memory + at, parts[i].bytes);
    return true;
}

static bool fetch(struct cuda_comparer *c, int device, const struct part *parts, unsigned count,
                  struct cuda_gather *gather, struct error *error)
{
    struct slot *s = claim(c);
    const bool good = cuda_site_enter(&s->site, device, error) &&
                      cuda_room_pin(&s->site, &s->pinned, SLOT_BYTES, error) &&
                      cuda_site_stream(&s->site, error) &&
                      copy_parts(s, parts, count, gather, error);

    cuda_site_leave(&s->site);
    release(c, s);
    return good;
}

bool cuda_array_fetch(struct cuda_comparer *c, const struct cuda_array_elements *e, uint64_t first,
                      size_t bytes, void *to, struct error *error)
{
    const size_t size = element_size(e->type);
    const bool row = cuda_array_is_row(e->layout, size);
    const struct part part = {row ? e->layout->data + first * size : NULL, bytes, to};
    struct cuda_gather gather;

    if (bytes == 0)
        return true;
    gather = cuda_gather_of(e->layout, size, first, bytes / size);
    return fetch(c, e->device, &part, 1, &gather, error);
}

static bool copy(struct cuda_comparer *c, const struct cuda_array_elements *e, struct error *error)
{
    const size_t size = element_size(e->type), bytes = (size_t)e->count * size;
    struct cuda_gather gather;

    if (!cuda_room_pin(&c->site, &c->copied, bytes, error))
        return false;
    if (cuda_array_is_row(e->layout, size)) {
        if (!cuda_guest_check(cudaMemcpyAsync(c->copied.memory, e->layout->data, bytes,
                                              cudaMemcpyDeviceToHost, e->stream),
                              copying, error))
            return false;
    } else {
        gather = cuda_gather_of(e->layout, size, 0, e->count);
        gather.to = c->copied.seen;
        if (!cuda_guest_check(cuda_gather(&gather, c->site.multiprocessors, e->stream), launching,
                              error))
            return false;
    }
    return cuda_guest_check(cudaStreamSynchronize(e->stream), copying, error);
}

bool cuda_array_copy(struct cuda_comparer *c, const struct cuda_array_elements *e,
                     const void **data, struct error *error)
{
    int device = e->device;
    bool good;

    *data = NULL;
    if (e->count == 0)
        return true;
    if (!cuda_guest_find(&device, e->layout->data, error))
        return false;
    good = cuda_site_enter(&c->site, device, error) && copy(c, e, error);
    cuda_site_leave(&c->site);
    *data = c->copied.memory;
    return good;
}

/*
 * Pieces.
 */

/* Whether kernels cannot read a side where it is. */
static bool is_staged(const struct cuda_array_elements *e)
{
    return !cuda_array_is_row(e->layout, element_size(e->type)) ||
           (uintptr_t)e->layout->data % CUDA_ALIGNMENT != 0;
}

/* Makes an accumulator one of no elements: with `keep` one that has its memory. */
static void clear(struct cuda_array **array, bool keep)
{
    struct error ignored = {.kind = ERROR_NONE};

    if (keep && cuda_array_clear(*array, &ignored))
        return;
    cuda_array_close(*array);
    *array = NULL;
}

UNCHECKED void cuda_array_begin_pieces(struct cuda_comparer *c,
                                       const struct cuda_array_elements sides[2], unsigned wants)
{
    const size_t size = element_size(sides[0].type);
    const bool keep = c->site.device == sides[0].device;

    clear(&c->all, keep);
    clear(&c->differing, keep);
    c->sides[0] = sides[0];
    c->sides[1] = sides[1];
    c->wants = wants;
    c->pieces = align_units(sides[0].count, CUDA_PIECE_BYTES / size);
    c->room = c->pieces < c->tuning.room ? c->pieces : c->tuning.room;
    c->most = c->pieces;
    if (c->pieces > 0 && (is_staged(&sides[0]) || is_staged(&sides[1])))
        c->most = CUDA_STAGE_BYTES / CUDA_PIECE_BYTES;
    c->next = c->found = c->taken = 0;
    c->fetching = 0;
}

/* Ensures that there is what the comparison needs on its device. */
static bool get_memory(struct cuda_comparer *c, struct error *error)
{
    const size_t bytes = (size_t)c->room * CUDA_PIECE_BYTES;
    bool good =
        cuda_site_stream(&c->site, error) &&
        cuda_room_pin(&c->site, &c->count, sizeof(uint64_t), error) &&
        cuda_room_grow(&c->site, &c->numbers, (size_t)(1 + c->room) * sizeof(uint64_t), error);

    for (int side = 0; side < 2; side++)
        good = good && cuda_room_grow(&c->site, &c->copies[side], bytes, error) &&
               (!is_staged(&c->sides[side]) ||
                cuda_room_grow(&c->site, &c->stage[side], CUDA_STAGE_BYTES, error));
    return good;
}

/* Sets *row to `bytes` bytes of a side from piece number `piece` on, in a row. */
static bool stage(struct cuda_comparer *c, int side, uint64_t piece, uint64_t bytes,
                  const unsigned char **row, struct error *error)
{
    const struct cuda_array_elements *e = &c->sides[side];
    const size_t size = element_size(e->type);
    struct cuda_gather gather;

    *row = e->layout->data + piece * CUDA_PIECE_BYTES;
    if (!is_staged(e))
        return true;
    gather = cuda_gather_of(e->layout, size, piece * (CUDA_PIECE_BYTES / size), bytes / size);
    *row = gather.to = c->stage[side].memory;
    return cuda_guest_check(cuda_gather(&gather, c->site.multiprocessors, c->site.stream),
                            launching, error);
}

/* Has the first side's pieces that were found reduced, before others take their place. */
static bool add_found(struct cuda_comparer *c, uint64_t found, struct error *error)
{
    const size_t size = element_size(c->sides[0].type);
    struct cuda_array_elements elements = c->sides[0];
    const struct view_layout row = {.data = c->copies[0].memory,
                                    .rank = 1,
                                    .sizes = {found * (CUDA_PIECE_BYTES / size)},
                                    .strides = {(int64_t)size}};

    elements.layout = &row;
    elements.count = row.sizes[0];
    elements.stream = c->site.stream;
    return cuda_array_add(&c->differing, &elements, c->wants, 0, error);
}

/* Compares `pieces` pieces from number `first` on. *found: how many differ. */
static bool compare(struct cuda_comparer *c, uint64_t first, uint64_t pieces, uint64_t *found,
                    struct error *error)
{
    const uint64_t all = c->sides[0].count * element_size(c->sides[0].type);
    const uint64_t left = all - first * CUDA_PIECE_BYTES;
    struct cuda_find_pieces job = {.bytes = pieces * CUDA_PIECE_BYTES, .first = first};

    job.bytes = job.bytes < left ? job.bytes : left;
    if (!get_memory(c, error))
        return false;
    job.pieces = (struct cuda_list){.found = (void *)c->numbers.memory, .room = c->room};
    for (int side = 0; side < 2; side++) {
        job.copies[side] = c->copies[side].memory;
        if (!stage(c, side, first, job.bytes, &job.sides[side], error))
            return false;
    }
    if (!cuda_guest_check(cudaMemsetAsync(job.pieces.found, 0, sizeof(uint64_t), c->site.stream),
                          launching, error) ||
        !cuda_guest_check(cuda_find_pieces(&job, c->site.multiprocessors, c->site.stream),
                          launching, error) ||
        !cuda_guest_check(cudaMemcpyAsync(c->count.memory, job.pieces.found, sizeof *found,
                                          cudaMemcpyDeviceToHost, c->site.stream),
                          copying, error) ||
        !cuda_guest_check(cudaStreamSynchronize(c->site.stream), "comparing", error))
        return false;
    memcpy(found, c->count.memory, sizeof *found);
    return *found == 0 || *found > c->room || add_found(c, *found, error);
}

/* Compares until there are pieces that nobody has taken, or the end is reached. */
REQUIRES(comparer_role)
static bool advance_locked(struct cuda_comparer *c, struct error *error)
{
    while (c->taken == c->found && c->next < c->pieces) {
        const uint64_t left = c->pieces - c->next, n = left < c->most ? left : c->most;
        uint64_t found = 0;
        bool good;

        if (c->fetching > 0) {
            comparer_wait_for(c, &c->changed);
            continue;
        }
        good = cuda_site_enter(&c->site, c->sides[0].device, error) &&
               compare(c, c->next, n, &found, error);
        cuda_site_leave(&c->site);
        if (!good)
            return false;
        if (found > c->room) { /* from now on as many as there is room for */
            c->most = c->room;
            continue;
        }
        c->next += n;
        c->found = found;
        c->taken = 0;
    }
    return true;
}

bool cuda_array_has_pieces(struct cuda_comparer *c, bool *any, struct error *error)
{
    bool good;

    comparer_lock(c);
    good = advance_locked(c, error);
    *any = c->taken < c->found;
    comparer_unlock(c);
    return good;
}

bool cuda_array_next_pieces(struct cuda_comparer *c, struct cuda_pieces *pieces, size_t *count,
                            struct error *error)
{
    struct part parts[3];
    uint64_t from, n;
    bool good;

    comparer_lock(c);
    good = advance_locked(c, error);
    from = c->taken;
    n = c->found - from < CUDA_PIECES_MAX ? c->found - from : CUDA_PIECES_MAX;
    if (good) {
        c->taken += n;
        c->fetching++;
    }
    comparer_unlock(c);
    if (!good)
        return false;
    *count = (size_t)n;
    parts[0] = (struct part){c->numbers.memory + (1 + from) * sizeof(uint64_t),
                             (size_t)n * sizeof(uint64_t), pieces->numbers};
    for (int side = 0; side < 2; side++)
        parts[1 + side] = (struct part){c->copies[side].memory + from * CUDA_PIECE_BYTES,
                                        (size_t)n * CUDA_PIECE_BYTES, pieces->data[side]};
    good = n == 0 || fetch(c, c->sides[0].device, parts, 3, NULL, error);
    comparer_lock(c);
    c->fetching--;
    pthread_cond_broadcast(&c->changed);
    comparer_unlock(c);
    return good;
}

bool cuda_array_sums(struct cuda_comparer *c, struct partial *all, struct partial *differing,
                     struct error *error)
{
    struct cuda_array_elements elements = c->sides[0];

    elements.stream = c->site.stream;
    return cuda_array_add(&c->all, &elements, c->wants, 0, error) &&
           cuda_array_snapshot(c->all, c->wants, all, error) &&
           cuda_array_snapshot(c->differing, c->wants, differing, error);
}
