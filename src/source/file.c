/*
 * Regular files, raw and .npy, and the arrays of containers: every worker claims the next range by
 * an atomic exchange. Arrays are treated as if they lay one after the other. A range lies in one of
 * them, or it is the rest of one and some that follow, each as a whole: so small ones cost no
 * exchange each.
 *
 * Cached data are lent, mapped, to a worker that can take them so, and copied for others. The file
 * is mapped as a whole. Each worker takes the pages of its own ranges out of memory again, so that
 * no more than KEPT_BYTES or so are resident, however large the file is.
 *
 * Other data are read past the page cache in large pieces (O_DIRECT), if the file system can do
 * that. Direct reading costs no copy, does not depend on the kernel's read-ahead, and evicts
 * nothing from the page cache.
 */
#include "config.h"

#include "source/kinds.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source/access.h"
#include "source/format/container.h"
#include "source/format/inflate.h"
#include "source/formats.h"
#include "source/tiles.h"
#include "sys/align.h"
#include "sys/bytes.h"
#include "sys/clock.h"
#include "sys/mapping.h"
#include "sys/plural.h"
#include "sys/search.h"

/* The most that is handed out in place at a time. */
#define IN_PLACE_MAX ((size_t)64 << 20)

/* Mapped pages that workers are done with are given back in pieces of so many bytes, since each
   time costs a system call and a TLB shootdown; and all that is kept back meanwhile. */
#define RELEASE_BYTES ((size_t)2 << 20)
#define RELEASE_BUDGET ((size_t)64 << 20)

/* In containers, adjacent arrays are released together: no other worker's pages lie between them.
   This is as much as a worker takes in place of a file's one array. */
#define RELEASE_RUN ((size_t)32 << 20)
#define RELEASE_RUN_BUDGET ((size_t)96 << 20)

/* Such pieces are kept until they are so many bytes, of all workers together, and are then given
   back in one go. They are pages of the page cache: the kernel takes them where it needs memory. */
#define KEPT_BYTES ((size_t)1 << 30)

/* And so many of each: the last to end gives them back while nobody else has anything to do. */
#define KEPT_EACH ((size_t)64 << 20)

/* Until the first time, it is not known what that costs. */
#define KEPT_FIRST ((size_t)16 << 20)

/* A worker keeps so many chunks at most: who asks for small ones wants little memory to be used. */
#define KEPT_CHUNKS 16

/* A worker that finds nothing more to do gives back so many bytes and more of what is left; the
   rest goes with the mapping, which one thread undoes. */
#define RELEASE_LAST ((size_t)1 << 20)

/* Pages that are probed to tell whether a range, or a file, is in the page cache. A range counts as
   cached when all of them are; what is not cached all the same is read on access. */
#define PROBES_RANGE 8
#define PROBES_FILE 64

/* Bytes that a worker reads at a time of what is not cached, as far as its buffers may be so large.
   Four workers past the page cache read 4.2 GB/s in pieces of 16 MiB and 3.6 in pieces of 2 MiB. */
#define UNCACHED_MIN ((size_t)1 << 20)
#define UNCACHED_MAX ((size_t)16 << 20)

/* Lent memory is counted in pieces of so many bytes. */
#define LENT_MIN ((uint64_t)1 << 20)

/* Arrays are copied together where no more bytes than this lie between them. */
#define GAP_MAX ((uint64_t)1 << 10)

/* Records of an array with fewer bytes than this are copied together into a chunk; and those that
   are not cached if they have fewer than UNCACHED_MIN. Then everything between them is read, too,
   which the other arrays of the records need, unless it is more than so many times as much. */
#define RECORD_MIN ((uint64_t)64 << 10)
#define RECORD_SPARSE 16

/* Buffers smaller than this are not worth reading past the page cache. */
#define DIRECT_MIN ((size_t)64 << 10)

/* Workers try all access methods where a file has so much for each of them. In
   smaller ones trials end too late to be of use. */
#define TRIED_MIN ((uint64_t)24 << 20)

/*
 * The order in which the arrays of a container are claimed. Other files have one, which may be of
 * elements that are none of an array.
 */

struct array_order {
    const struct source_pick *picks;
    uint64_t *begins; /* of each array, in this order: the bytes of those before it; and after the
                         last, of all */
    size_t *order;    /* the numbers of the arrays */
    size_t count;
    size_t plain_from; /* the place from which on all lie in the file element by element */
};

/* Compressed arrays, of which a worker takes one at a time, come before others, the largest first,
   and then those in tiles; what then is left to do is shared out in small pieces. */
struct place {
    size_t number;
    bool whole;          /* it does not lie in the file element by element */
    uint64_t compressed; /* 0 where it is not compressed as one */
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->compressed != y->compressed)
        return x->compressed > y->compressed ? -1 : 1;
    if (x->whole != y->whole)
        return x->whole ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The most elements of an array that is handed out. */
static uint64_t elements_most(const struct source *s, unsigned workers)
{
    size_t many = 0;

    if (s->options.whole_most == 0)
        return UINT64_MAX;
    for (size_t i = 0; i < s->info.pick_count; i++)
        many += s->picks[i].elements > s->options.whole_most &&
                s->picks[i].elements <= s->options.whole_many;
    return many >= workers ? s->options.whole_many : s->options.whole_most;
}

/* Sets o->order: all in the order of their numbers, but for those that come before others. `count`:
   of o->picks. False without memory. */
static bool set_order(struct array_order *o, size_t count, uint64_t most)
{
    struct place *places;

    o->count = o->plain_from = 0;
    for (size_t i = 0; i < count; i++) {
        if (o->picks[i].elements > most)
            continue;
        o->order[o->count++] = i;
        o->plain_from += container_array_whole(o->picks[i].array);
    }
    if (o->plain_from == 0)
        return true;
    places = malloc(o->count * sizeof *places);
    if (!places)
        return false;
    for (size_t i = 0; i < o->count; i++) {
        const struct container_array *a = o->picks[o->order[i]].array;

        places[i] =
            (struct place){o->order[i], container_array_whole(a), a->deflated ? a->compressed : 0};
    }
    qsort(places, o->count, sizeof *places, compare_places);
    for (size_t i = 0; i < o->count; i++)
        o->order[i] = places[i].number;
    free(places);
    return true;
}

/* Bytes that are claimed of a pick. */
static uint64_t pick_bytes(const struct source_pick *pick)
{
    const struct container_array *a = pick->array;

    return a->tiles ? a->tiles->count * tiles_bytes(a) : pick->elements * element_size(a->type);
}

/* Sets the order of the first `count` of o->picks, of which those of more elements than `most` are
   left out. False without memory; it may be closed then, too. */
static bool open_order(struct array_order *o, size_t count, uint64_t most)
{
    o->begins = malloc((count + 1) * sizeof *o->begins);
    o->order = malloc((count + 1) * sizeof *o->order);
    if (!o->begins || !o->order || !set_order(o, count, most))
        return false;
    o->begins[0] = 0;
    for (size_t i = 0; i < o->count; i++)
        o->begins[i + 1] = o->begins[i] + pick_bytes(&o->picks[o->order[i]]);
    return true;
}

static void close_order(struct array_order *o)
{
    free(o->begins);
    free(o->order);
}

/*
 * The state.
 */

/* Bytes of the file, from `begin` to before `end`. */
struct file_range {
    uint64_t begin, end;
};

/* The claim of a worker, which it alone uses. */
struct claim {
    _Alignas(CACHE_APART) struct source *source;
    size_t array;    /* as in struct chunk */
    uint64_t index;  /* of the first element claimed and not handed out yet */
    uint64_t count;  /* elements */
    uint64_t offset; /* in the file, of that element */
    size_t size;     /* bytes of an element */
    bool uncached;   /* the page cache does not hold all of them */
    const struct container_array *compressed; /* the array, where it is compressed: then it has been
                                             claimed as a whole; else NULL */
    struct inflate *inflate;                  /* the decompressor; NULL before the first */
    struct mapping_room whole, content;  /* its bytes, and what they have been decompressed to */
    bool at_once;                        /* `content` is that of the array */
    const struct container_array *tiled; /* the array, where it is stored in tiles; else NULL */
    uint64_t number;                     /* then: of the tile at hand */
    uint64_t number_end;                 /* then: of the tile after the last that is claimed */
    uint64_t limit;                      /* then: of the first element that is not wanted */
    struct tile *tile;                   /* the tile that the worker has; NULL before the first */

    /* Arrays that have been claimed as wholes behind this one, by their places in the order: from
       the next one to behind the last. */
    size_t place, place_end;

    uint64_t lent; /* bytes that were handed out in place, and are not counted yet */

    /* Mapped bytes that the worker has handed back, from the first to behind the last, and that are
       still in memory. */
    const unsigned char *done, *done_end;
    struct mapping_pieces kept; /* those before them, likewise */
    size_t kept_most;           /* bytes of these */
    bool released;              /* some have been taken out of memory together */

    struct file_range copied;  /* the bytes in the request's buffer */
    struct file_range present; /* the bytes that were made present last */

    unsigned char *buffer; /* for what is not cached; NULL until it is needed */
    size_t buffer_size;    /* whole pages */

    struct access access; /* how it takes what is cached */
    uint64_t handed_at;   /* when the last chunk of that was handed out; 0: there was none */
    uint64_t handed_size; /* its bytes */
};

struct file_state {
    _Atomic uint64_t next; /* first byte of all arrays that nobody has claimed */
    struct array_order arrays;
    struct source_pick one; /* of a file that is no container */
    struct claim *claims;
    unsigned workers;
    struct access_shared access; /* the shared choice of an access method for cached data */

    size_t release_bytes, release_run; /* see RELEASE_BYTES and RELEASE_RUN */
    size_t kept_most;                  /* bytes that are kept for a worker; see KEPT_BYTES */
    unsigned char *map;                /* the file from its beginning on; NULL where it is read */
    size_t map_size;

    int direct;                  /* the file, past the page cache; -1 where that cannot be had */
    _Atomic bool direct_refused; /* or was not to be had after all */
};

/*
 * Claims.
 */

/* The bytes that one page table maps. Large ranges end at such boundaries: two workers should not
   make pages of the same table present. Smaller ranges end at boundaries of pages: two workers
   cannot both pin a page. */
#define LARGE_PAGE ((uint64_t)2 << 20)

/* Chunks shrink towards the end, so that all workers end together; not below this. */
#define CHUNK_MIN ((size_t)64 << 10)

/* The array of this number, as in struct chunk. */
static const struct container_array *array_of(const struct source *s, size_t array)
{
    return s->info.picks ? s->picks[array].array : s->array;
}

/* Offset in the file of an element of an array. */
static uint64_t place_of(const struct source *s, size_t array, uint64_t index)
{
    const struct container_array *a = array_of(s, array);

    return s->start + container_array_offset(a, index, element_size(a->type));
}

/* How many elements to claim from claim->offset on, where `left` are left, `here` of them in the
   array: up to `bytes`, fewer towards the end, and up to a boundary where an element begins at one.
 */
static uint64_t claim_size(const struct file_state *f, const struct claim *claim, uint64_t left,
                           uint64_t here, size_t bytes)
{
    uint64_t most = bytes / claim->size, least = CHUNK_MIN / claim->size;
    uint64_t count = left / 2 / f->workers, over;

    most = most ? most : 1;
    least = least < most ? least : most;
    count = count > most ? most : count < least ? least : count;
    if (count >= here)
        return here;
    over = (claim->offset + count * claim->size) %
           (count * claim->size < 2 * LARGE_PAGE ? mapping_page() : LARGE_PAGE);
    if (over % claim->size == 0 && over / claim->size < count)
        count -= over / claim->size;
    return count;
}

/* Takes up a tile of claim->tiled. */
static void take_tile(struct claim *claim, uint64_t number)
{
    claim->number = number;
    claim->index = 0;
    claim->count = tiles_elements(claim->tiled, number, claim->limit);
}

/* Claims tiles of an array, of whose elements the first `limit` are wanted: one; or, where they are
   decoded from the mapping, as many as claim_size's rule gives, so that the pages of a worker lie
   together; or all. Returns how many. */
static uint64_t claim_tiles(const struct source *s, struct claim *claim,
                            const struct container_array *a, uint64_t number, uint64_t limit,
                            size_t bytes)
{
    const struct file_state *f = s->state;
    const uint64_t left = a->tiles->count - number, most = bytes / tiles_bytes(a);
    uint64_t count = left / 2 / f->workers, offset;

    count = count < most ? count : most;
    count = count > 0 && tiles_stored(a, number, &offset) > 0 ? count : 1;
    count = s->options.whole_most > 0 ? left : count;
    claim->tiled = a;
    claim->limit = limit;
    claim->number_end = number + count;
    take_tile(claim, number);
    return count;
}

/* Takes up the array at a place in the order, from byte `at` of all arrays on, which lies in it. */
static const struct source_pick *take_up(struct source *s, struct claim *claim, size_t place,
                                         uint64_t at)
{
    const struct file_state *f = s->state;
    const struct source_pick *pick = &f->arrays.picks[f->arrays.order[place]];

    claim->array = f->arrays.order[place];
    claim->size = element_size(pick->array->type);
    claim->index = pick->first + (at - f->arrays.begins[place]) / claim->size;
    claim->offset = place_of(s, claim->array, claim->index);
    claim->compressed = claim->tiled = NULL;
    return pick;
}

/* Goes on with the next of the arrays that have been claimed as wholes. It may have no elements.
   False when there is none. */
static bool claim_goes_on(struct source *s, struct claim *claim)
{
    const struct file_state *f = s->state;

    if (claim->place == claim->place_end)
        return false;
    claim->count = take_up(s, claim, claim->place, f->arrays.begins[claim->place])->elements;
    claim->place++;
    return true;
}

/* Finds the place after which a range ends that begins with byte `next` of all arrays, in the one
   at `place`, and goes to the end of that: as many arrays as claim_size's rule gives to a
   worker. */
static size_t run_end(const struct file_state *f, size_t place, uint64_t next, size_t bytes)
{
    const uint64_t all = f->arrays.begins[f->arrays.count];
    uint64_t most = (all - next) / 2 / f->workers;

    most = most < CHUNK_MIN ? CHUNK_MIN : most;
    most = most < bytes ? most : bytes;
    if (place < f->arrays.plain_from)
        return place + 1;
    if (all - next <= most)
        return f->arrays.count;
    most = search_begins(f->arrays.begins, f->arrays.count, next + most);
    return most > place ? (size_t)most : place + 1;
}

/* The byte of all arrays before which all lies that is wanted. A limit does not end an array in tiles:
   behind it in their order there may be elements before it. */
static uint64_t claims_end(const struct source *s)
{
    const struct file_state *f = s->state;
    const uint64_t all = f->arrays.begins[f->arrays.count], wanted = source_wanted(s);

    if (s->info.picks || wanted >= s->info.elements || s->array->tiles)
        return all;
    return wanted > s->info.first ? (wanted - s->info.first) * s->info.element_size : 0;
}

/* Claims the worker's next range, of up to `bytes` bytes; fewer towards the end. It is a part of an
   array; or the rest of one, and whole ones after it, which claim_goes_on is for. It may have no
   elements. False when there is none. Any worker may call it, for its own claim. */
static bool claim_range(struct source *s, struct claim *claim, size_t bytes)
{
    struct file_state *f = s->state;
    const uint64_t *const begins = f->arrays.begins, end = claims_end(s);
    uint64_t next = atomic_load_explicit(&f->next, memory_order_relaxed), size;

    do {
        if (next >= end)
            return false;
        const size_t place = search_begins(begins, f->arrays.count, next);
        const struct source_pick *pick = take_up(s, claim, place, next);
        const uint64_t here = begins[place + 1] < end ? begins[place + 1] - next : end - next;

        claim->place = claim->place_end = place + 1;
        if (pick->array->tiles) {
            size = tiles_bytes(pick->array);
            size *= claim_tiles(s, claim, pick->array, (next - begins[place]) / size,
                                pick->first + pick->elements, bytes);
            continue;
        }
        claim->compressed = pick->array->deflated ? pick->array : NULL;
        claim->count =
            claim->compressed || (s->info.picks && s->options.whole_most > 0)
                ? here / claim->size
                : claim_size(f, claim, (end - next) / claim->size, here / claim->size, bytes);
        size = claim->count * claim->size;
        if (next + size == begins[place + 1]) {
            claim->place_end = run_end(f, place, next, bytes);
            size = begins[claim->place_end] - next;
        }
    } while (!atomic_compare_exchange_weak(&f->next, &next, next + size));
    return true;
}

/*
 * Compressed arrays: a worker claims one as a whole, and decompresses it piece by piece.
 */

/* Reads compressed bytes of the array that has been claimed, for a decoder. */
static bool read_compressed(void *context, void *buffer, size_t size, uint64_t offset)
{
    const struct claim *claim = context;

    return source_pread_array(claim->source, claim->array, 0, buffer, size, offset);
}

/* Notes what is wrong with compressed data. Returns false. */
static bool compressed_wrong(struct source *s, const struct claim *claim, uint64_t offset,
                             const char *what)
{
    source_note_damage(s, claim->array, 0,
                       error_at(error_kind_of(what), offset, "byte %" PRIu64 ": %s", offset, what));
    return false;
}

/* Whether decoding was good so far. If it was not, that is noted. */
static bool is_good(struct source *s, const struct claim *claim, enum inflate_status status)
{
    if (status == INFLATE_WRONG)
        (void)compressed_wrong(s, claim, inflate_offset(claim->inflate) - s->start,
                               inflate_error(claim->inflate));
    return status == INFLATE_GOOD;
}

/* Decompresses exactly `size` bytes, or, to NULL, leaves them out. False on failure. */
static bool inflate_bytes(struct source *s, struct claim *claim, unsigned char *bytes,
                          uint64_t size)
{
    unsigned char dropped[4096] = {0};
    uint64_t begun = clock_now(), read_before = atomic_load(&s->read_time);

    for (uint64_t done = 0; done < size;) {
        const uint64_t left = size - done;
        const size_t most = bytes || left < sizeof dropped ? (size_t)left : sizeof dropped;
        size_t got;
        const enum inflate_status status = inflate_read(claim->inflate, read_compressed, claim,
                                                        bytes ? bytes + done : dropped, most, &got);
        if (!is_good(s, claim, status))
            return false;
        if (got < most)
            return compressed_wrong(s, claim, inflate_offset(claim->inflate) - s->start,
                                    "the compressed data end within the array");
        done += got;
    }
    /* Reading has been counted; other workers read, too, so that this is about right. */
    begun = clock_between(begun, clock_now());
    atomic_fetch_add_explicit(&s->decode_time,
                              clock_between(atomic_load(&s->read_time) - read_before, begun),
                              memory_order_relaxed);
    return true;
}

/* Arrays of at most so many bytes, compressed or not, are decompressed at once, with as many before
   them. */
#define AT_ONCE_MAX ((uint64_t)64 << 20)
#define AT_ONCE_BEFORE ((uint64_t)64 << 10)

/* Decompresses all of an array to claim->content. False where that is not done: it is decompressed
   piece by piece then, and what is wrong is found. */
static bool inflate_whole_array(struct source *s, struct claim *claim)
{
    const struct container_array *a = claim->compressed;
    const uint64_t length = a->before + a->length;
    uint64_t begun;
    bool good;

    if (!inflate_possible_at_once || a->record_elements > 0 || claim->count < a->elements ||
        a->compressed > AT_ONCE_MAX || a->length > AT_ONCE_MAX || a->before > AT_ONCE_BEFORE ||
        !mapping_room_take(&claim->whole, (size_t)a->compressed + 1) ||
        !mapping_room_take(&claim->content, (size_t)length + 1) ||
        !source_pread_array(s, claim->array, 0, claim->whole.bytes, (size_t)a->compressed,
                            s->start + a->offset))
        return false;
    begun = clock_now();
    good = inflate_at_once(claim->inflate, claim->whole.bytes, (size_t)a->compressed,
                           claim->content.bytes, (size_t)length, a->checksum);
    atomic_fetch_add_explicit(&s->decode_time, clock_between(begun, clock_now()),
                              memory_order_relaxed);
    return good;
}

/* Records are decompressed together up to so many bytes, or else each by itself. */
#define RECORDS_SPAN ((size_t)64 << 10)

/* Decompresses the next `count` elements that the worker has claimed, which lie in records. False on
   failure. */
static bool inflate_records(struct source *s, struct claim *claim, unsigned char *to, size_t count)
{
    const struct container_array *a = claim->compressed;
    const uint64_t each = a->record_elements, bytes = each * claim->size, stride = a->record_stride;

    for (uint64_t index = claim->index, end = index + count, some; index < end; index += some) {
        const uint64_t gap = index > 0 && index % each == 0 ? stride - bytes : 0;
        const uint64_t span = stride < RECORDS_SPAN ? RECORDS_SPAN / stride : 1;
        uint64_t records = index % each == 0 ? (end - index) / each : 0;

        if (gap > 0 && !inflate_bytes(s, claim, NULL, gap))
            return false;
        records = records < span ? records : span;
        some = records > 1 ? records * each : each - index % each;
        some = some < end - index ? some : end - index;
        if (records < 2) {
            if (!inflate_bytes(s, claim, to, some * claim->size))
                return false;
        } else {
            if (!mapping_room_take(&claim->content, RECORDS_SPAN))
                return compressed_wrong(s, claim, a->offset, error_no_memory);
            if (!inflate_bytes(s, claim, claim->content.bytes, (records - 1) * stride + bytes))
                return false;
            bytes_gather(to, claim->content.bytes, (size_t)records, (size_t)bytes, (int64_t)stride);
        }
        to += some * claim->size;
    }
    return true;
}

/* Decompresses the next elements that the worker has claimed of a compressed array into the
   request's buffer, or lends them. False on failure; if only the array is damaged, that is noted,
   and the source goes on. */
static bool inflate_next(struct source *s, struct claim *claim, const struct chunk_request *request,
                         struct chunk *chunk)
{
    const struct container_array *a = claim->compressed;
    const uint64_t most = request->size / claim->size;

    if (claim->index == 0) {
        if (!claim->inflate)
            claim->inflate = inflate_open();
        if (!claim->inflate)
            return compressed_wrong(s, claim, a->offset, error_no_memory);
        claim->at_once = inflate_whole_array(s, claim);
        if (!claim->at_once) {
            inflate_begin(claim->inflate, s->start + a->offset, a->compressed);
            if (!inflate_bytes(s, claim, NULL, a->before))
                return false;
        }
    }
    chunk->data = request->buffer;
    chunk->count = (size_t)(claim->count < most ? claim->count : most);
    if (claim->at_once) {
        const unsigned char *from = claim->content.bytes + a->before + claim->index * claim->size;

        if (request->borrow)
            chunk->data = from;
        else
            memcpy(request->buffer, from, chunk->count * claim->size);
        return true;
    }
    if (!(a->record_elements > 0
              ? inflate_records(s, claim, request->buffer, chunk->count)
              : inflate_bytes(s, claim, request->buffer, chunk->count * claim->size)))
        return false;
    /* With --length, what is behind that is left alone. */
    return claim->index + chunk->count < a->elements ||
           is_good(s, claim, inflate_finish(claim->inflate, read_compressed, claim, a->checksum));
}

/*
 * Copied, and direct.
 */

/* A buffer for what is not cached: one of the worker's own, as large as the ranges that it takes in
   place; or the request's, where the worker holds other chunks. *size: its bytes. NULL without
   memory. It is of huge pages, since a disk takes only so many separate pieces of memory in one
   request: a virtual disk gave 1.2 GB/s into small pages, and 2.4 into these. */
static unsigned char *uncached_buffer(struct claim *claim, const struct chunk_request *request,
                                      size_t *size)
{
    size_t most = request->in_place < UNCACHED_MAX ? request->in_place : UNCACHED_MAX;

    *size = request->size;
    if (!request->borrow)
        return request->buffer;
    if (!claim->buffer) {
        most = most > UNCACHED_MIN ? most : UNCACHED_MIN;
        claim->buffer_size = (most / mapping_page() + 2) * mapping_page(); /* wherever it begins */
        claim->buffer = mapping_alloc(claim->buffer_size);
    }
    *size = claim->buffer_size;
    return claim->buffer;
}

enum direct {
    DIRECT_DONE, /* the chunk is filled in */
    DIRECT_NOT,  /* it must be read in another way */
    DIRECT_FAILED
};

/* Reads the worker's next elements past the page cache: the whole pages in which they lie. */
static enum direct read_direct(struct source *s, struct claim *claim,
                               const struct chunk_request *request, struct chunk *chunk)
{
    struct file_state *f = s->state;
    uint64_t begin = claim->offset / mapping_page() * mapping_page();
    size_t before = (size_t)(claim->offset - begin), capacity, size, done;
    unsigned char *buffer = uncached_buffer(claim, request, &capacity);
    uint64_t count;

    capacity = capacity / mapping_page() * mapping_page();
    /* A page may lie before the first element. */
    if (!buffer || (uintptr_t)buffer % mapping_page() != 0 || capacity < DIRECT_MIN ||
        capacity < 2 * mapping_page())
        return DIRECT_NOT;
    count = (capacity - before) / claim->size;
    count = count < claim->count ? count : claim->count;
    size = before + (size_t)count * claim->size;
    /* At the end of the file less than the last page comes. */
    if (source_try_pread(s, f->direct, buffer, align_up(size, mapping_page()), begin, &done) > 0) {
        atomic_store(&f->direct_refused, true);
        return DIRECT_NOT;
    }
    if (done < size) {
        source_became_shorter(s, begin + done);
        return DIRECT_FAILED;
    }
    /* Bytes before and after the elements are counted by those who claimed them. */
    atomic_fetch_sub(&s->input_read, done - count * claim->size);
    chunk->data = buffer + before;
    chunk->count = (size_t)count;
    return DIRECT_DONE;
}

/* Counts what the worker was lent. All workers share the counter, so it is not done for each small
   array. */
static void count_lent(struct source *s, struct claim *claim)
{
    if (claim->lent > 0)
        source_count(s, claim->lent, 0);
    claim->lent = 0;
}

/* Lends the worker the mapped pages of what it has claimed, up to `most` bytes. They become present
   as it reads them. */
static void lend(struct source *s, struct claim *claim, uint64_t most, struct chunk *chunk)
{
    const struct file_state *f = s->state;

    most = most > claim->size ? most / claim->size : 1;
    chunk->data = f->map + claim->offset;
    chunk->count = (size_t)(claim->count < most ? claim->count : most);
    chunk->mapped = true;
    claim->lent += chunk->count * claim->size;
    if (claim->lent >= LENT_MIN)
        count_lent(s, claim);
}

/* How many bytes from claim->offset on to take together, `least` of them at least, which lie in one
   array: with the arrays behind it that the worker has claimed, as far as they lie close behind
   each other and are not more than `most` bytes. */
static size_t run_size(const struct source *s, const struct claim *claim, size_t least,
                       uint64_t most)
{
    const struct file_state *f = s->state;
    const uint64_t here = claim->count * claim->size;
    uint64_t end = claim->offset + least;

    for (size_t place = claim->place; least == here && place < claim->place_end; place++) {
        const struct source_pick *pick = &f->arrays.picks[f->arrays.order[place]];
        const size_t size = element_size(pick->array->type);
        const uint64_t begin = place_of(s, f->arrays.order[place], pick->first);

        if (begin < end || begin - end > GAP_MAX || pick->array->record_elements > 0 ||
            begin + pick->elements * size - claim->offset > most)
            break;
        end = begin + pick->elements * size;
    }
    return (size_t)(end - claim->offset);
}

/* Whether all of so many bytes from an offset on lie in a range. */
static bool holds(const struct file_range *range, uint64_t offset, uint64_t size)
{
    return offset >= range->begin && offset + size <= range->end;
}

/* Nothing of what the worker claims next is in its buffer, or was made present. */
static void forget_bytes(struct claim *claim)
{
    claim->copied = claim->present = (struct file_range){0, 0};
}

/* Makes pages that the worker is lent present, up to `most` bytes, unless they have been with those
   of an array before. Pages that cannot be populated become present when they are read, or are
   missed then. */
static void populate(struct source *s, struct claim *claim, uint64_t most,
                     const struct chunk *chunk)
{
    size_t size = chunk->count * claim->size;

    if (holds(&claim->present, claim->offset, size))
        return;
    const uint64_t begun = clock_now();

    /* It is not known yet whether arrays after this one are cached. */
    if (s->info.uncached == 0)
        size = run_size(s, claim, size, most);
    (void)mapping_populate(chunk->data, size);
    claim->present = (struct file_range){claim->offset, claim->offset + size};
    source_count(s, 0, clock_since(begun));
}

/* Reads elements that the worker has claimed. False on failure: then the array is damaged, or the
   source has failed. */
static bool read_elements(struct source *s, const struct claim *claim, void *buffer, size_t size)
{
    return source_pread_array(s, claim->array, claim->index, buffer, size, claim->offset);
}

/* Fills a buffer from the page cache, or through it. Nobody else writes to the request's until the
   worker claims more. False on failure. */
static bool copy(struct source *s, struct claim *claim, const struct chunk_request *request,
                 struct chunk *chunk)
{
    size_t room = request->size, size;
    unsigned char *buffer =
        claim->uncached ? uncached_buffer(claim, request, &room) : request->buffer;
    uint64_t capacity;

    if (!buffer) {
        buffer = request->buffer;
        room = request->size;
    }
    capacity = room / claim->size;
    chunk->count = (size_t)(claim->count < capacity ? claim->count : capacity);
    chunk->data = buffer;
    size = chunk->count * claim->size;
    if (buffer != request->buffer)
        return read_elements(s, claim, buffer, size);
    if (!holds(&claim->copied, claim->offset, size)) {
        const size_t run = request->borrow ? run_size(s, claim, size, request->size) : size;
        size_t done;

        claim->copied = (struct file_range){claim->offset, claim->offset};
        if (run > size && source_try_pread(s, s->fd, buffer, run, claim->offset, &done) == 0)
            claim->copied.end += run;
        else if (read_elements(s, claim, buffer, size)) /* alone: which array cannot be read? */
            claim->copied.end += size;
        else
            return false;
    }
    chunk->data = buffer + (claim->offset - claim->copied.begin);
    return true;
}

/* Whether the page cache lacks any of what has been claimed, as far as a few probes tell. */
static bool is_uncached(const struct source *s, const struct claim *claim)
{
    const struct file_state *f = s->state;

    if (claim->compressed || claim->tiled || s->info.uncached == 0 || !f->map || claim->count == 0)
        return false;
    return source_uncached(f->map, claim->offset,
                           place_of(s, claim->array, claim->index + claim->count - 1) +
                               claim->size - claim->offset,
                           PROBES_RANGE) > 0;
}

/* Whether what the worker is to have next has been copied together with what it had before. */
static bool is_copied(const struct claim *claim)
{
    return holds(&claim->copied, claim->offset, 1);
}

/* Notes what the last chunk that was cached has cost the worker, which is done with it; of chunks
   that were copied together, what all of them have. */
static void note_cost(struct claim *claim)
{
    if (is_copied(claim))
        return;
    if (claim->handed_at > 0)
        access_took(&claim->access, claim->handed_size, clock_since(claim->handed_at));
    claim->handed_at = 0;
}

/* Hands out elements that are cached, where they are mapped or as a copy. False on failure. */
static bool hand_out_cached(struct source *s, struct claim *claim,
                            const struct chunk_request *request, struct chunk *chunk)
{
    const bool copied = is_copied(claim);
    const uint64_t begun = copied ? 0 : clock_now();
    uint64_t most = 0;
    const enum source_access method =
        copied ? SOURCE_ACCESS_COPIED : access_next(&claim->access, &most);

    if (method == SOURCE_ACCESS_COPIED) {
        if (!copy(s, claim, request, chunk))
            return false;
    } else {
        lend(s, claim, most, chunk);
        if (method == SOURCE_ACCESS_POPULATED)
            populate(s, claim, most < request->in_place ? most : request->in_place, chunk);
    }
    if (!copied) {
        claim->handed_at = begun;
        claim->handed_size = 0;
    }
    claim->handed_size += chunk->count * claim->size;
    return true;
}

/* Bytes of mapped pages that a worker with such chunks keeps before it gives them back. */
static size_t kept_most(const struct file_state *f, const struct chunk_request *request)
{
    return f->kept_most / KEPT_CHUNKS < request->in_place ? f->kept_most
                                                          : request->in_place * KEPT_CHUNKS;
}

/* Hands out the next elements of what the worker has claimed, which is not compressed, and lies in
   one place. False on failure. */
static bool hand_out_range(struct source *s, struct claim *claim,
                           const struct chunk_request *request, struct chunk *chunk)
{
    struct file_state *f = s->state;
    const bool cached = request->in_place && f->map && !claim->uncached;
    /* An engine that copies to a GPU what it is lent is done with it later: its time says nothing.
     */
    const bool choose = cached && request->borrow;
    enum direct direct = DIRECT_NOT;

    if (source_is_damaged(s, claim->array, claim->index))
        return false;
    if (claim->uncached && f->direct >= 0 &&
        !atomic_load_explicit(&f->direct_refused, memory_order_relaxed))
        direct = read_direct(s, claim, request, chunk);
    if (direct == DIRECT_FAILED)
        return false;
    if (!choose)
        claim->handed_at = 0;
    claim->kept_most = kept_most(f, request);
    if (direct == DIRECT_NOT) {
        if (cached && !choose)
            lend(s, claim, UINT64_MAX, chunk);
        else if (!(choose ? hand_out_cached : copy)(s, claim, request, chunk))
            return false;
    }
    claim->index += chunk->count;
    claim->offset += chunk->count * claim->size;
    claim->count -= chunk->count;
    return true;
}

/* Hands out the next elements that the worker has claimed of an array in records. False on failure.
 */
static bool hand_out_records(struct source *s, struct claim *claim, const struct container_array *a,
                             const struct chunk_request *request, struct chunk *chunk)
{
    const uint64_t left = a->record_elements - claim->index % a->record_elements;
    const uint64_t after = claim->count > left ? claim->count - left : 0;
    const uint64_t bytes = a->record_elements * claim->size;
    const size_t room = request->size / claim->size;
    bool good;

    if (after > 0 && bytes < (claim->uncached ? UNCACHED_MIN : RECORD_MIN)) {
        forget_bytes(claim);
        claim->handed_at = 0;
        chunk->data = request->buffer;
        chunk->count = claim->count < room ? (size_t)claim->count : room;
        /* The disk is to be asked for all of it together. */
        if (claim->uncached && a->record_stride / RECORD_SPARSE <= bytes)
            (void)posix_fadvise(s->fd, (off_t)claim->offset,
                                (off_t)(chunk->count / a->record_elements * a->record_stride),
                                POSIX_FADV_WILLNEED);
        good =
            !source_is_damaged(s, claim->array, claim->index) &&
            source_pread_records(s, claim->array, a, claim->index, chunk->count, request->buffer);
        claim->index += chunk->count;
        claim->count -= chunk->count;
    } else {
        claim->count -= after;
        good = hand_out_range(s, claim, request, chunk);
        claim->count += after;
    }
    claim->offset = place_of(s, claim->array, claim->index);
    return good;
}

/* Hands out the next elements of what the worker has claimed, which is not compressed. False on
   failure. */
static bool hand_out(struct source *s, struct claim *claim, const struct chunk_request *request,
                     struct chunk *chunk)
{
    const struct container_array *a = array_of(s, claim->array);

    return a->record_elements > 0 ? hand_out_records(s, claim, a, request, chunk)
                                  : hand_out_range(s, claim, request, chunk);
}

/* Keeps pages that the worker is done with until there are enough of them, and then takes all out
   of memory; at once where that has to be a part of what a trial costs. Other workers' chunks may
   lie in them or between them: these get their pages back when they read them. */
static void keep(struct claim *claim, const void *data, size_t size)
{
    mapping_pieces_add(&claim->kept, data, size);
    if (access_release_now(&claim->access)) {
        mapping_pieces_release(&claim->kept);
    } else if (claim->kept.size >= claim->kept_most ||
               (!claim->released && claim->kept.size >= KEPT_FIRST)) {
        const uint64_t begun = clock_now();

        mapping_pieces_release(&claim->kept);
        claim->released = true;
        if (claim->handed_at > 0) /* the chunk at hand does not cost that */
            claim->handed_at += clock_since(begun);
    }
}

/* Does so with what the worker has handed back. */
static void keep_done(struct claim *claim)
{
    if (claim->done_end > claim->done)
        keep(claim, claim->done, (size_t)(claim->done_end - claim->done));
    claim->done = claim->done_end = NULL;
}

/* Mapped bytes are done with. Their pages go together with those before them. */
static void hand_back(const struct file_state *f, struct claim *claim, const unsigned char *begin,
                      size_t size)
{
    const bool follows = f->arrays.picks != &f->one && claim->done &&
                         (uintptr_t)begin - (uintptr_t)claim->done_end <= GAP_MAX;

    if (claim->done && !follows &&
        (begin < claim->done || (size_t)(begin - claim->done) >= f->release_bytes))
        keep_done(claim);
    if (!claim->done)
        claim->done = begin;
    claim->done_end = begin + size;
    if ((size_t)(claim->done_end - claim->done) >= (follows ? f->release_run : f->release_bytes))
        keep_done(claim);
}

/* Reads the tile at hand, or decodes it from the mapping if that is possible and the page cache
   holds the file. False on failure. */
static bool begin_tile(struct source *s, struct claim *claim, const struct chunk_request *request)
{
    const struct file_state *f = s->state;
    const enum source_access choice = claim->access.choice;
    const unsigned char *mapped = NULL;
    uint64_t offset = 0, size = 0;
    bool good;

    if (f->map && request->in_place && s->info.uncached == 0 && choice != SOURCE_ACCESS_COPIED)
        size = tiles_stored(claim->tiled, claim->number, &offset);
    if (size > s->info.input_bytes || offset > s->info.input_bytes - size) /* reading it tells */
        size = 0;
    if (size > 0)
        mapped = f->map + s->start + offset;
    if (size > 0 && choice == SOURCE_ACCESS_POPULATED)
        (void)mapping_populate(mapped, (size_t)size);
    good = tile_begin(&claim->tile, s, claim->array, claim->tiled, claim->number, claim->count,
                      mapped, request->wants);
    if (size > 0) {
        source_count(s, size, 0);
        claim->kept_most = kept_most(f, request);
        hand_back(f, claim, mapped, (size_t)size);
    }
    return good;
}

/* Frees what an array was decompressed in: --diff has a source open for each of thousands. */
static void free_decoded(struct claim *claim)
{
    tile_empty(claim->tile);
    inflate_close(claim->inflate);
    free(claim->whole.bytes);
    free(claim->content.bytes);
    claim->inflate = NULL;
    claim->whole = claim->content = (struct mapping_room){0};
}

static void file_leave(struct source *s, unsigned worker)
{
    const struct file_state *f = s->state;
    struct claim *claim = &f->claims[worker];

    free_decoded(claim);
    if (claim->kept.size + (size_t)(claim->done_end - claim->done) < RELEASE_LAST)
        return;
    keep_done(claim);
    mapping_pieces_widen(&claim->kept, f->map, f->map_size);
    mapping_pieces_release(&claim->kept);
}

/* Claims more for a worker that has nothing left. False when there is none. */
static bool claim_more(struct source *s, struct claim *claim, const struct chunk_request *request)
{
    const struct file_state *f = s->state;
    const bool in_place = request->in_place && f->map;
    const size_t most = request->in_place < IN_PLACE_MAX ? request->in_place : IN_PLACE_MAX;
    const size_t bytes = in_place ? most : request->size;

    while (claim->count == 0) {
        if (claim->tiled && claim->number + 1 < claim->number_end) {
            take_tile(claim, claim->number + 1);
        } else if (!claim_goes_on(s, claim)) {
            count_lent(s, claim);
            forget_bytes(claim);
            if (request->drain || !claim_range(s, claim, bytes))
                return false;
        }
        claim->uncached = is_uncached(s, claim);
    }
    return true;
}

/* Hands out the next elements of what the worker has claimed, which are decoded. False on failure.
 */
static bool hand_out_decoded(struct source *s, struct claim *claim,
                             const struct chunk_request *request, struct chunk *chunk)
{
    if (claim->compressed) {
        if (!inflate_next(s, claim, request, chunk))
            return false;
    } else {
        if (source_is_damaged(s, claim->array, claim->number) ||
            (claim->index == 0 && !begin_tile(s, claim, request)))
            return false;
        tile_take(claim->tile, request, chunk);
    }
    claim->index += chunk->count;
    claim->count -= chunk->count;
    return true;
}

static enum source_status file_next(struct source *s, const struct chunk_request *request,
                                    struct chunk *chunk)
{
    struct file_state *f = s->state;
    struct claim *claim = &f->claims[request->worker];

    note_cost(claim);
    while (claim_more(s, claim, request)) {
        chunk->array = claim->array;
        chunk->index = claim->index;
        if ((claim->tiled || claim->compressed ? hand_out_decoded : hand_out)(s, claim, request,
                                                                              chunk))
            return SOURCE_CHUNK;
        if (source_failed(s))
            return SOURCE_FAILED;
        claim->count = 0; /* the array is damaged: the others go on */
    }
    file_leave(s, request->worker);
    return SOURCE_END;
}

/* The caller's choice is claimed for this call. */
static enum source_status file_at(struct source *s, const struct chunk_request *request,
                                  struct chunk *chunk)
{
    struct file_state *f = s->state;
    struct claim *claim = &f->claims[request->worker];
    bool good;

    note_cost(claim);
    claim->array = chunk->array;
    claim->index = chunk->index;
    claim->count = chunk->count;
    claim->size = element_size(array_of(s, chunk->array)->type);
    claim->offset = place_of(s, chunk->array, chunk->index);
    claim->compressed = claim->tiled = NULL;
    forget_bytes(claim);
    claim->uncached = is_uncached(s, claim);
    good = hand_out(s, claim, request, chunk);
    claim->count = 0;
    count_lent(s, claim);
    return good ? SOURCE_CHUNK : source_failed(s) ? SOURCE_FAILED : SOURCE_END;
}

static bool file_lend(struct source *s, unsigned worker, uint64_t index, size_t count,
                      struct chunk *chunk, uint64_t *most)
{
    struct file_state *f = s->state;
    struct claim *claim = &f->claims[worker];

    if (!f->map || (s->array->record_elements > 0 &&
                    index % s->array->record_elements + count > s->array->record_elements))
        return false;
    if (s->info.uncached == 0) {
        if (claim->handed_at == 0)
            claim->handed_at = clock_now();
        if (claim->access.choice == SOURCE_ACCESS_BEST && !claim->access.small)
            access_begin(&claim->access, SOURCE_ACCESS_BEST, true, &f->access);
        if (access_next(&claim->access, most) == SOURCE_ACCESS_COPIED)
            return false;
    }
    *chunk = (struct chunk){.index = index, .count = count, .mapped = true};
    chunk->data = f->map + place_of(s, 0, index);
    claim->kept_most = f->kept_most;
    return true;
}

static void file_took(struct source *s, unsigned worker, uint64_t bytes)
{
    const struct file_state *f = s->state;
    struct claim *claim = &f->claims[worker];

    claim->handed_size = bytes;
    note_cost(claim);
}

static void file_release(struct source *s, unsigned worker, const struct chunk *chunk)
{
    struct file_state *f = s->state;

    if (chunk->mapped)
        hand_back(f, &f->claims[worker], chunk->data,
                  chunk->count * element_size(array_of(s, chunk->array)->type));
}

static void file_returned(struct source *s, unsigned worker, const void *data, size_t size)
{
    const struct file_state *f = s->state;

    keep(&f->claims[worker], data, size);
}

/* Reads the chunk again, which tells what is wrong with it. If nothing is any more, the caller says
   that the file changed. */
static void file_lost(struct source *s, const struct chunk *chunk)
{
    const size_t capacity = (size_t)64 << 10;
    const uint64_t offset = place_of(s, chunk->array, chunk->index);
    const size_t size = chunk->count * element_size(array_of(s, chunk->array)->type);
    unsigned char *buffer = malloc(capacity);
    bool good = buffer != NULL;

    for (size_t i = 0; good && i < size; i += capacity)
        good = source_pread_all(s, buffer, size - i < capacity ? size - i : capacity, offset + i);
    free(buffer);
}

static void file_close(struct source *s)
{
    struct file_state *f = s->state;

    for (unsigned i = 0; i < f->workers; i++) {
        free(f->claims[i].buffer);
        free_decoded(&f->claims[i]);
        tile_close(f->claims[i].tile);
        mapping_pieces_close(&f->claims[i].kept);
    }
    if (f->map)
        munmap(f->map, f->map_size);
    if (f->direct >= 0)
        close(f->direct);
    free(f->claims);
    close_order(&f->arrays);
    access_shared_close(&f->access);
    free(f);
}

/* Opens the file once more, to read past the page cache. Not every file system can do that. */
static int open_direct(const struct source *s)
{
    char path[32];

    snprintf(path, sizeof path, "/proc/self/fd/%d", s->fd);
    return open(path, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOCTTY);
}

/* The state of a source whose layout is known; NULL without memory. */
static struct file_state *file_state(struct source *s, unsigned workers)
{
    struct file_state *f = calloc(1, sizeof *f);
    enum source_access choice = s->options.access;

    if (!f)
        return NULL;
    if (choice == SOURCE_ACCESS_BEST && s->info.input_bytes / TRIED_MIN < workers)
        choice = SOURCE_ACCESS_MAPPED;
    f->claims = aligned_alloc(CACHE_APART, workers * sizeof *f->claims);
    if (f->claims)
        memset(f->claims, 0, workers * sizeof *f->claims);
    f->one = (struct source_pick){
        .array = s->array, .first = s->info.first, .elements = s->info.elements - s->info.first};
    f->arrays.picks = s->info.picks ? s->picks : &f->one;
    if (!f->claims || !open_order(&f->arrays, s->info.picks ? s->info.pick_count : 1,
                                  s->info.picks ? elements_most(s, workers) : UINT64_MAX)) {
        free(f->claims);
        close_order(&f->arrays);
        free(f);
        return NULL;
    }
    f->workers = workers;
    f->release_bytes =
        RELEASE_BYTES < RELEASE_BUDGET / workers ? RELEASE_BYTES : RELEASE_BUDGET / workers;
    f->release_run =
        RELEASE_RUN < RELEASE_RUN_BUDGET / workers ? RELEASE_RUN : RELEASE_RUN_BUDGET / workers;
    f->kept_most = KEPT_EACH < KEPT_BYTES / workers ? KEPT_EACH : KEPT_BYTES / workers;
    f->direct = -1;
    f->map = source_map(s, &f->map_size);
    access_shared_open(&f->access, workers);
    for (unsigned i = 0; i < workers; i++) {
        f->claims[i].source = s;
        access_begin(&f->claims[i].access, choice, false, &f->access);
    }
    return f;
}

bool file_layout(struct source *s)
{
    const struct source_part *part = &s->options.part;
    struct reader *reader = input_reader_open(s, 0);
    uint64_t available, behind = 0;
    bool ok = reader && formats_layout(s, reader);

    if (reader)
        reader->close(reader);
    if (ok && s->options.record.bytes > 0) {
        s->field.offset += s->options.record.offset;
        s->field.record_elements = s->options.record.elements;
        s->field.record_stride = s->options.record.bytes;
    }
    if (!ok || !source_check_end(s, s->info.input_bytes))
        return false;
    available = source_whole_elements(s, s->info.input_bytes - s->data_offset);
    if (s->stated != SOURCE_UNKNOWN && s->stated <= available)
        behind = s->info.input_bytes - s->data_offset - s->stated * s->info.element_size;
    if (behind > 0 && !s->options.reopened)
        log_warn(s->options.log, s->name, NO_ADVICE, "ignoring %" PRIu64 " byte%s after the array",
                 behind, plural(behind));
    if (s->info.elements > available)
        s->info.elements = available;
    /* Bytes read to detect the format count no more than once. */
    atomic_store(&s->input_read, s->header ? s->data_offset : 0);
    s->info.of = s->info.elements;
    if (part->end > 0) {
        s->info.first =
            container_elements_before(s->array, part->begin, s->info.element_size, s->info.of);
        s->info.elements =
            container_elements_before(s->array, part->end, s->info.element_size, s->info.of);
    }
    s->info.parallel = true;
    return true;
}

/* The share of what is to be read that is not cached, as pages here and there tell. */
static double uncached_share(const struct source *s, const unsigned char *map)
{
    uint64_t begin = s->start, size = s->info.input_bytes;
    unsigned probes = PROBES_FILE;

    /* An array may be a small part of its file. */
    if (!s->info.container && !s->info.compressed && !s->info.scattered) {
        begin = place_of(s, 0, s->info.first);
        size = s->info.elements > s->info.first ? s->start + source_end_position(s) - begin : 0;
    }
    if (size / mapping_page() + 2 < probes)
        probes = (unsigned)(size / mapping_page()) + 2;
    return size == 0 ? 0 : (double)source_uncached(map, begin, size, probes) / probes;
}

bool file_source_open(struct source *s, unsigned workers)
{
    static const struct source_ops ops = {.next = file_next,
                                          .at = file_at,
                                          .release = file_release,
                                          .lost = file_lost,
                                          .lend = file_lend,
                                          .took = file_took,
                                          .returned = file_returned,
                                          .leave = file_leave,
                                          .close = file_close};
    struct file_state *f = file_state(s, workers);

    if (!f)
        return source_no_memory(s);
    s->state = f;
    s->ops = &ops;
    s->info.whole_count = s->info.picks ? f->arrays.count : 0;
    if (f->map)
        s->info.uncached = uncached_share(s, f->map);
    if (s->info.uncached > 0 && !s->options.no_direct)
        f->direct = open_direct(s);
    return true;
}
