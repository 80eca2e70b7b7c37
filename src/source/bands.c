#include "config.h"

#include "source/bands.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/tiles.h"
#include "sys/align.h"
#include "sys/group.h"

/* Bytes that a worker claims together where bands are small, and memory for the bands of all
   workers, unless one of them takes more. */
#define CLAIM_BYTES ((uint64_t)1 << 20)
#define BANDS_BYTES ((uint64_t)1 << 30)

/* Claims for each worker at least, so that all end together. */
#define CLAIMS_MIN 4

#define ALIGNMENT 64

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
};

struct band_state {
    const struct container_array *array;
    struct division division;
    uint64_t claim;        /* bands that are claimed together */
    unsigned holders;      /* workers that get any, those with the least numbers */
    _Atomic uint64_t next; /* band that nobody has claimed */
    struct band_worker *workers;
    unsigned worker_count;
};

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

/* The index of the first element of a band; behind the last, that of what would follow. */
static uint64_t band_begin(const struct division *d, uint64_t number)
{
    return (number / d->across * d->all_rows + number % d->across * d->rows) * d->inner;
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

bool bands_fit(const struct container_array *a, unsigned inputs)
{
    struct division d;

    if (!a->tiles || a->elements == 0)
        return true;
    d = divide(a);
    return memory_for(a, &d, 1) <= source_memory() / (inputs ? inputs : 1);
}

static void free_worker(struct band_worker *w)
{
    tile_close(w->tile);
    free(w->bytes);
    *w = (struct band_worker){0};
}

/* Decompresses the tiles of the bands from number `from` to before `to`. False on failure. */
static bool decompress(struct source *s, struct band_worker *w, uint64_t from, uint64_t to,
                       uint64_t limit)
{
    const struct band_state *b = s->state;
    const struct division *d = &b->division;
    const struct container_array *a = b->array;
    const size_t size = element_size(a->type);

    if (!w->bytes)
        w->bytes =
            aligned_alloc(ALIGNMENT, align_up((size_t)(d->elements * b->claim * size), ALIGNMENT));
    if (!w->bytes)
        return source_no_memory(s);
    if (is_filled(a)) {
        for (uint64_t i = 0; i < w->left; i++)
            memcpy(w->bytes + i * size, a->tiles->fill, size);
        return true;
    }
    for (uint64_t i = from * d->tiles; i < to * d->tiles; i++) {
        if (tiles_elements(a, i, limit) == 0)
            continue;
        if (!tile_begin(&w->tile, s, 0, a, i, 0))
            return false;
        tile_put(w->tile, w->bytes, w->index);
    }
    return true;
}

/* Claims the next bands, and decompresses them. */
static enum source_status claim(struct source *s, struct band_worker *w)
{
    struct band_state *b = s->state;
    const uint64_t wanted = source_wanted(s);
    const uint64_t limit = s->info.elements < wanted ? s->info.elements : wanted;
    uint64_t from, to, end;

    /* Nobody adds to it when all are claimed, so that it does not overflow. */
    if (atomic_load(&b->next) >= b->division.count)
        return SOURCE_END;
    from = atomic_fetch_add(&b->next, b->claim);
    if (from >= b->division.count)
        return SOURCE_END;
    to = b->division.count - from < b->claim ? b->division.count : from + b->claim;
    w->index = band_begin(&b->division, from);
    end = to == b->division.count ? b->array->elements : band_begin(&b->division, to);
    end = end < limit ? end : limit;
    if (w->index >= end)
        return SOURCE_END;
    w->left = end - w->index;
    w->done = 0;
    return decompress(s, w, from, to, limit) ? SOURCE_CHUNK : SOURCE_FAILED;
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

static void bands_close(struct source *s)
{
    struct band_state *b = s->state;

    for (unsigned i = 0; i < b->worker_count; i++)
        free_worker(&b->workers[i]);
    free(b->workers);
    free(b);
}

/* Chooses how many bands are claimed together, and how many workers have memory for that. */
static void share_out(struct band_state *b)
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
    static const struct source_ops ops = {.next = bands_next, .close = bands_close};
    struct band_state *b;

    if (!bands_fit(s->array, inputs)) {
        const struct division d = divide(s->array);

        source_error(s, ERROR_REQUEST,
                     "reading its chunks in order needs %" PRIu64 " bytes of memory; %" PRIu64
                     " are allowed",
                     memory_for(s->array, &d, 1), source_memory() / inputs);
        return false;
    }
    if (is_mostly_unwritten(s)) {
        source_error(s, ERROR_REQUEST,
                     "it has %" PRIu64 " elements, most of which were never written: these are not "
                     "read one by one",
                     s->info.elements);
        return false;
    }
    b = calloc(1, sizeof *b);
    if (b)
        b->workers = calloc(workers, sizeof *b->workers);
    if (!b || !b->workers) {
        free(b);
        return source_no_memory(s);
    }
    b->array = s->array;
    b->division = divide(s->array);
    b->worker_count = workers;
    share_out(b);
    s->state = b;
    s->ops = &ops;
    return true;
}
