/*
 * Arrays that are stored in tiles, handed out in runs of consecutive elements: for those who cannot
 * do with elements tile by tile (tiles.h).
 *
 * A band is tiles beside each other that cover a run of consecutive elements: those that have the
 * same place in the first dimension, or, as long as tiles have one element there, in the first two,
 * and so on. A worker claims the next bands, about a megabyte or at least one, decompresses their
 * tiles into memory of its own and hands that out. One worker alone gets all elements in their
 * order. By source_at a worker chooses the elements: workers that need the same bands decompress
 * them together, and share the memory.
 */
#include "config.h"

#include "source/kinds.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/tiles.h"
#include "sys/align.h"
#include "sys/group.h"
#include "sys/mapping.h"
#include "sys/mutex.h"

/* Bytes that a worker claims together where bands are small, and memory for the bands of all
   workers, unless one of them takes more. */
#define CLAIM_BYTES ((uint64_t)1 << 20)
#define BANDS_BYTES ((uint64_t)1 << 30)

/* Claims for each worker at least, so that all end together. */
#define CLAIMS_MIN 4

#define ALIGNMENT 64

MUTEX_ROLE(bands_role);

/* How an array is divided. */
struct division {
    uint64_t count;    /* of bands */
    uint64_t elements; /* of a band; less of one at an edge */
    uint64_t tiles;    /* of each */
    uint64_t rows; /* the size of the dimension in which neighbouring bands differ; of a tile, and
                      of the array */
    uint64_t all_rows;
    uint64_t across; /* bands in that dimension */
    uint64_t inner;  /* elements of a row: the product of the sizes behind that dimension */
};

struct band_worker {
    struct tile *tile;
    unsigned char *bytes; /* of the claim */
    uint64_t index, left,
        done; /* the first element, those not handed out yet, and those that are */

    struct shared_claim *shared; /* the claim whose elements it was handed by bands_at; or NULL */
    bool present;                /* it may ask bands_at for more */
};

/* Memory for a claim that several workers decompress and read, by bands_at. */
struct shared_claim {
    unsigned char *bytes;
    uint64_t number GUARDED_BY(bands_role); /* of the claim; SOURCE_UNKNOWN for none */
    unsigned users GUARDED_BY(bands_role);  /* workers that have it */
    uint64_t used GUARDED_BY(bands_role);   /* when one of them asked for it last, as a count */
    uint64_t next GUARDED_BY(bands_role);   /* the next tile that nobody decompresses */
    uint64_t left GUARDED_BY(bands_role);   /* tiles that are not decompressed yet */
};

struct band_state {
    const struct container_array *array;
    struct division division;
    uint64_t claim;        /* bands that are claimed together */
    unsigned holders;      /* workers that get any, those with the least numbers */
    _Atomic uint64_t next; /* band that nobody has claimed */
    struct band_worker *workers;
    unsigned worker_count;

    struct mutex mutex;
    pthread_cond_t changed;
    struct shared_claim *shared;
    unsigned shared_count;                   /* as many as there is memory for */
    unsigned present GUARDED_BY(bands_role); /* workers that may ask for them */
    uint64_t asked GUARDED_BY(bands_role);   /* how often one was asked for */
};

MUTEX_ROLE_OF(bands, struct band_state, mutex);

/* Whether the array has the fill value alone. Then its one tile may be of any size. */
static bool is_filled(const struct container_array *a)
{
    return a->compressed == 0 && !a->tiles->bytes && !a->tiles->stored;
}

static struct division divide(const struct container_array *a)
{
    struct division d = {.rows = 1, .all_rows = 1, .across = 1, .inner = 1, .tiles = 1};
    unsigned k = 0;

    if (a->elements == 0)
        return d;
    if (is_filled(a)) {
        d.rows = CLAIM_BYTES / element_size(a->type);
        d.rows = d.rows < a->elements ? d.rows : a->elements;
        d.all_rows = a->elements;
        d.across = d.count = (a->elements + d.rows - 1) / d.rows;
        d.elements = d.rows;
        return d;
    }
    while (k + 1 < a->dimensions && (a->tiles->sizes[k] == 1 || a->sizes[k] == 1))
        k++;
    d.count = 1;
    for (unsigned i = 0; i < a->dimensions; i++) {
        const uint64_t size = a->tiles->sizes[i], across = (a->sizes[i] + size - 1) / size;

        if (i > k) {
            d.inner *= a->sizes[i];
            d.tiles *= across;
            continue;
        }
        d.count *= across;
        if (i == k) {
            d.rows = size < a->sizes[i] ? size : a->sizes[i];
            d.all_rows = a->sizes[i];
            d.across = across;
        }
    }
    d.elements = d.rows * d.inner;
    return d;
}

/* The index of the first element of a band; after the last, that of what would follow. */
static uint64_t band_begin(const struct division *d, uint64_t number)
{
    return (number / d->across * d->all_rows + number % d->across * d->rows) * d->inner;
}

/* The number of the band that an element is in. */
static uint64_t band_of(const struct division *d, uint64_t index)
{
    const uint64_t row = index / d->inner;

    return row / d->all_rows * d->across + row % d->all_rows / d->rows;
}

/* The index of the first element of a claim; after the last one, the number of elements. */
static uint64_t claim_begin(const struct band_state *b, uint64_t number)
{
    const uint64_t band = number * b->claim;

    return band < b->division.count ? band_begin(&b->division, band) : b->array->elements;
}

/* Memory that a worker needs for so many bands: with the two in which a tile is decompressed. */
static uint64_t memory_for(const struct container_array *a, const struct division *d,
                           uint64_t bands)
{
    const size_t size = element_size(a->type);
    uint64_t bytes;

    if (__builtin_mul_overflow(d->elements * size, bands, &bytes))
        return UINT64_MAX;
    return is_filled(a) ? bytes : bytes + 2 * tiles_bytes(a);
}

uint64_t source_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const uint64_t all = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    const uint64_t granted = group_memory(""), half = (granted < all ? granted : all) / 2;
    const uint64_t addresses = (uint64_t)SIZE_MAX / 4;

    return half < addresses ? half : addresses;
}

bool source_fits_consecutive(const struct container_array *array, unsigned inputs)
{
    struct division d;

    if (!array->tiles || array->elements == 0)
        return true;
    d = divide(array);
    return memory_for(array, &d, 1) <= source_memory() / (inputs ? inputs : 1);
}

static void free_worker(struct band_worker *w)
{
    tile_close(w->tile);
    free(w->bytes);
    *w = (struct band_worker){0};
}

/* One more than the index of the last element that is wanted. */
static uint64_t limit_of(const struct source *s)
{
    const uint64_t wanted = source_wanted(s);

    return s->info.elements < wanted ? s->info.elements : wanted;
}

/* Decompresses a tile, as far as it has elements before `limit`, to its places in `bytes`, which
   has those from index `first` on. False on failure, and if the array is damaged before it. */
static bool decompress(struct source *s, struct band_worker *w, uint64_t tile, uint64_t limit,
                       unsigned char *bytes, uint64_t first)
{
    const struct band_state *b = s->state;
    const struct container_array *a = b->array;
    const size_t size = element_size(a->type);

    if (is_filled(a)) { /* such a band has one tile */
        const uint64_t begin = tile * b->division.rows;

        for (uint64_t i = begin; i < limit && i < begin + b->division.rows; i++)
            memcpy(bytes + (i - first) * size, a->tiles->fill, size);
        return true;
    }
    if (tiles_elements(a, tile, limit) == 0)
        return true;
    if (source_is_damaged(s, 0, tile) || !tile_begin(&w->tile, s, 0, a, tile, 0, NULL, 0))
        return false;
    tile_put(w->tile, bytes, first);
    return true;
}

/* Claims the next bands, and decompresses them. */
static enum source_status claim(struct source *s, struct band_worker *w)
{
    struct band_state *b = s->state;
    const struct division *d = &b->division;
    const uint64_t limit = limit_of(s);
    uint64_t from, to, end;

    /* Nobody adds to it when all are claimed, so that it does not overflow. */
    if (atomic_load(&b->next) >= d->count)
        return SOURCE_END;
    from = atomic_fetch_add(&b->next, b->claim);
    if (from >= d->count)
        return SOURCE_END;
    to = d->count - from < b->claim ? d->count : from + b->claim;
    w->index = claim_begin(b, from / b->claim);
    end = claim_begin(b, from / b->claim + 1);
    end = end < limit ? end : limit;
    if (w->index >= end)
        return SOURCE_END;
    if (!w->bytes)
        w->bytes = aligned_alloc(
            ALIGNMENT,
            align_up((size_t)(d->elements * b->claim) * s->info.element_size, ALIGNMENT));
    if (!w->bytes) {
        (void)source_no_memory(s);
        return SOURCE_FAILED;
    }
    for (uint64_t i = from * d->tiles; i < to * d->tiles; i++)
        if (!decompress(s, w, i, limit, w->bytes, w->index))
            return SOURCE_FAILED;
    w->left = end - w->index;
    w->done = 0;
    return SOURCE_CHUNK;
}

static enum source_status bands_next(struct source *s, const struct chunk_request *request,
                                     struct chunk *chunk)
{
    struct band_state *b = s->state;
    struct band_worker *w = &b->workers[request->worker];
    const size_t size = s->info.element_size, most = request->size / size;
    enum source_status status = SOURCE_CHUNK;

    if (w->left == 0)
        status = request->drain || request->worker >= b->holders ? SOURCE_END : claim(s, w);
    if (status != SOURCE_CHUNK) {
        free_worker(w);
        return status;
    }
    chunk->index = w->index + w->done;
    chunk->count = w->left < most ? (size_t)w->left : most;
    chunk->data = w->bytes + w->done * size;
    if (!request->borrow) {
        memcpy(request->buffer, chunk->data, chunk->count * size);
        chunk->data = request->buffer;
    }
    w->left -= chunk->count;
    w->done += chunk->count;
    return SOURCE_CHUNK;
}

/*
 * Elements that the caller chooses: workers that need those of one claim decompress it together.
 */

/* Bytes of a shared claim. */
static uint64_t shared_bytes(const struct band_state *b)
{
    return b->division.elements * b->claim * element_size(b->array->type);
}

/* Finds the memory of a claim, or takes that which has not been used for the longest time. Drops
   the mutex while it waits for others to give one back. NULL if the source fails. */
REQUIRES(bands_role)
static struct shared_claim *take_shared_locked(struct source *s, struct band_state *b,
                                               uint64_t number)
{
    const struct division *d = &b->division;
    struct shared_claim *c = NULL;

    while (!source_failed(s)) {
        for (unsigned i = 0; i < b->shared_count && !(c && c->number == number); i++)
            if (b->shared[i].number == number ||
                (b->shared[i].users == 0 && (!c || b->shared[i].used < c->used)))
                c = &b->shared[i];
        if (c)
            break;
        bands_wait_for(b, &b->changed);
    }
    if (!c)
        return NULL;
    if (!c->bytes)
        c->bytes = mapping_alloc((size_t)shared_bytes(b));
    if (!c->bytes) {
        (void)source_no_memory(s);
        return NULL;
    }
    if (c->number != number) {
        const uint64_t begin = number * b->claim, left = d->count - begin;

        c->number = number;
        c->next = begin * d->tiles;
        c->left = (left < b->claim ? left : b->claim) * d->tiles;
    }
    c->users++;
    c->used = b->asked++;
    return c;
}

/* Decompresses tiles of a claim as long as there are any that nobody has begun with, and waits for
   those that others decompress. Drops the mutex meanwhile. False if the source fails, or the array is
   damaged before the end of the claim. */
REQUIRES(bands_role)
static bool fill_shared_locked(struct source *s, struct band_state *b, struct band_worker *w,
                               struct shared_claim *c)
{
    const struct division *d = &b->division;
    const uint64_t first = claim_begin(b, c->number), begin = c->number * b->claim;
    const uint64_t end = (d->count - begin < b->claim ? d->count : begin + b->claim) * d->tiles;

    while (c->left > 0 && !source_failed(s)) {
        const uint64_t tile = c->next;

        if (tile == end) {
            bands_wait_for(b, &b->changed);
            continue;
        }
        c->next++;
        bands_unlock(b);
        (void)decompress(s, w, tile, limit_of(s), c->bytes, first);
        bands_lock(b);
        c->left--;
        if (c->left == 0 || source_failed(s))
            pthread_cond_broadcast(&b->changed);
    }
    return !source_failed(s) && !source_is_damaged(s, 0, end);
}

REQUIRES(bands_role)
static void give_shared_locked(struct band_state *b, struct band_worker *w)
{
    if (w->shared) {
        w->shared->users--;
        pthread_cond_broadcast(&b->changed);
    }
    w->shared = NULL;
}

static enum source_status bands_at(struct source *s, const struct chunk_request *request,
                                   struct chunk *chunk)
{
    struct band_state *b = s->state;
    struct band_worker *w = &b->workers[request->worker];
    const size_t size = s->info.element_size;
    const uint64_t number = band_of(&b->division, chunk->index) / b->claim;
    const uint64_t first = claim_begin(b, number), left = claim_begin(b, number + 1) - chunk->index;
    bool good;

    bands_lock(b);
    b->present += !w->present;
    w->present = true;
    give_shared_locked(b, w);
    w->shared = take_shared_locked(s, b, number);
    good = w->shared && fill_shared_locked(s, b, w, w->shared);
    if (!good)
        give_shared_locked(b, w);
    bands_unlock(b);
    if (!good)
        return SOURCE_FAILED;
    if (chunk->count > left)
        chunk->count = (size_t)left;
    chunk->data = w->shared->bytes + (chunk->index - first) * size;
    if (!request->borrow) {
        chunk->count = request->size / size < chunk->count ? request->size / size : chunk->count;
        memcpy(request->buffer, chunk->data, chunk->count * size);
        chunk->data = request->buffer;
    }
    return SOURCE_CHUNK;
}

static void bands_piece(const struct source *s, uint64_t index, uint64_t *begin, uint64_t *end)
{
    const struct band_state *b = s->state;
    const uint64_t number = band_of(&b->division, index) / b->claim;

    if (b->shared_count < b->worker_count) /* then several workers are to have one */
        return;
    *begin = claim_begin(b, number);
    *end = claim_begin(b, number + 1);
}

static void bands_release(struct source *s, unsigned worker, const struct chunk *chunk)
{
    struct band_state *b = s->state;

    (void)chunk;
    bands_lock(b);
    give_shared_locked(b, &b->workers[worker]);
    bands_unlock(b);
}

/* The last worker to leave frees the memory: there may be thousands of arrays. */
static void bands_leave(struct source *s, unsigned worker)
{
    struct band_state *b = s->state;
    struct band_worker *w = &b->workers[worker];

    bands_lock(b);
    give_shared_locked(b, w);
    b->present -= w->present;
    w->present = false;
    for (unsigned i = 0; b->present == 0 && i < b->shared_count; i++) {
        free(b->shared[i].bytes);
        b->shared[i].bytes = NULL;
        b->shared[i].number = SOURCE_UNKNOWN;
    }
    bands_unlock(b);
    free_worker(w);
}

static void bands_close(struct source *s)
{
    struct band_state *b = s->state;

    for (unsigned i = 0; i < b->worker_count; i++)
        free_worker(&b->workers[i]);
    for (unsigned i = 0; i < b->shared_count; i++)
        free(b->shared[i].bytes);
    pthread_cond_destroy(&b->changed);
    mutex_destroy(&b->mutex);
    free(b->shared);
    free(b->workers);
    free(b);
}

/* Chooses how many bands are claimed together, and how many workers have memory for that. There is
   a shared claim for each worker, and one more. False without memory. */
UNCHECKED static bool share_out(struct band_state *b)
{
    const struct division *d = &b->division;
    const uint64_t bytes = d->elements * element_size(b->array->type);
    const uint64_t fair = d->count / b->worker_count / CLAIMS_MIN;
    uint64_t memory, holders;

    b->claim = bytes > 0 && bytes < CLAIM_BYTES ? CLAIM_BYTES / bytes : 1;
    b->claim = b->claim < fair ? b->claim : fair > 0 ? fair : 1;
    memory = memory_for(b->array, d, b->claim);
    holders = memory < BANDS_BYTES ? BANDS_BYTES / (memory ? memory : 1) : 1;
    b->holders = holders < b->worker_count ? (unsigned)holders : b->worker_count;
    memory = source_memory() / 4;
    memory = (memory < BANDS_BYTES ? memory : BANDS_BYTES) / (shared_bytes(b) + 1);
    b->shared_count = memory > b->worker_count ? b->worker_count + 1
                      : memory                 ? (unsigned)memory
                                               : 1;
    b->shared = calloc(b->shared_count, sizeof *b->shared);
    b->shared_count = b->shared ? b->shared_count : 0;
    for (unsigned i = 0; i < b->shared_count; i++)
        b->shared[i].number = SOURCE_UNKNOWN;
    return b->shared;
}

/* Elements above which an array has to be read from the file, at least in part: to make up others
   one by one would take hours. And how many times as large as what is in the file they may be: a
   bit more than what deflate makes of them. */
#define ELEMENTS_MAX ((uint64_t)1 << 36)
#define GROWTH_MAX 1100

static bool is_mostly_unwritten(const struct source *s)
{
    const struct container_array *a = s->array;

    return s->info.elements > ELEMENTS_MAX && !a->tiles->bytes &&
           s->info.elements / GROWTH_MAX * element_size(a->type) > a->compressed;
}

bool bands_source_open(struct source *s, unsigned inputs, unsigned workers)
{
    static const struct source_ops ops = {.next = bands_next,
                                          .at = bands_at,
                                          .piece = bands_piece,
                                          .release = bands_release,
                                          .leave = bands_leave,
                                          .close = bands_close};
    struct band_state *b;

    if (!source_fits_consecutive(s->array, inputs)) {
        const struct division d = divide(s->array);

        return source_error(s, ERROR_REQUEST,
                            "reading its chunks in order needs %" PRIu64
                            " bytes of memory; %" PRIu64 " are allowed",
                            memory_for(s->array, &d, 1), source_memory() / inputs);
    }
    if (is_mostly_unwritten(s))
        return source_error(s, ERROR_REQUEST,
                            "it has %" PRIu64
                            " elements, most of which were never written: these are not "
                            "read one by one",
                            s->info.elements);
    b = calloc(1, sizeof *b);
    if (!b)
        return source_no_memory(s);
    b->workers = calloc(workers, sizeof *b->workers);
    b->array = s->array;
    b->division = divide(s->array);
    b->worker_count = b->workers ? workers : 0;
    mutex_init(&b->mutex);
    pthread_cond_init(&b->changed, NULL);
    s->state = b;
    s->ops = &ops;
    return (b->workers && share_out(b)) || source_no_memory(s);
}
