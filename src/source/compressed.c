#include "config.h"

#include "source/compressed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd_errors.h>

#include "source/serial.h"
#include "source/tiles.h"
#include "source/zstd.h"
#include "sys/align.h"
#include "sys/grow.h"
#include "sys/search.h"
#include "sys/waiters.h"
#include "zstd/context.h"
#include "zstd/cut.h"
#include "zstd/frames.h"
#include "zstd/index.h"

/*
 * Tiles of an array as compressed input: one after the other, as the frames of a zstd file are. They
 * are those that are zstd and nothing else, and lie in the array as a whole. The others, at edges or
 * never written, are left to who reads tiles one by one (tiles.h). Offsets are in bytes of the stream,
 * which does not change once it is open.
 */

struct tile_stream {
    const struct container_array *array;
    bool placed;       /* its positions are those of the elements in the array */
    uint64_t *numbers; /* of the array's tiles: first those of the stream, in order */
    uint64_t *begins;  /* offset of each tile of the stream, and after the last */
    size_t count;      /* tiles of the stream */
    size_t total;      /* tiles of the array */
    size_t runs;       /* stretches that it has at least */
};

/* Whether the tiles of an array are compressed by zstd alone. */
static bool tile_stream_fits(const struct container_array *a)
{
    return a->tiles && a->tiles->count > 0 && a->tiles->tiles && a->tiles->filter_count == 1 &&
           a->tiles->filters[0].kind == CONTAINER_ZSTD;
}

/* Whether the elements of such tiles follow one another in the array, too. */
static bool tile_stream_is_ordered(const struct container_array *a)
{
    const uint64_t *sizes = a->tiles->sizes;
    unsigned i = 0;

    while (i < a->dimensions && sizes[i] == 1)
        i++;
    while (++i < a->dimensions)
        if (sizes[i] != a->sizes[i])
            return false;
    return !a->tiles->order;
}

/* Bytes of the stream. */
static uint64_t tile_stream_size(const struct tile_stream *t)
{
    return t->begins[t->count];
}

/* Bytes that each tile decodes to. */
static uint64_t tile_stream_content(const struct tile_stream *t)
{
    return t->array->tiles->elements * element_size(t->array->type);
}

/* The position, in decoded bytes, of tile `i` of the stream. */
static uint64_t tile_stream_position(const struct tile_stream *t, size_t i)
{
    return t->placed ? tiles_first(t->array, t->numbers[i]) * element_size(t->array->type)
                     : i * tile_stream_content(t);
}

/* Opens the stream of an array that fits, of the tiles whose elements have indices less than
   `limit`. `placed`: see there; only for arrays that are ordered. False without memory; it may be
   closed then, too. */
static bool tile_stream_open(struct tile_stream *t, const struct container_array *a, uint64_t limit,
                             bool placed)
{
    size_t others;
    uint64_t next = 0;

    *t = (struct tile_stream){.array = a, .placed = placed, .total = (size_t)a->tiles->count};
    t->numbers = malloc(t->total * sizeof *t->numbers);
    t->begins = malloc((t->total + 1) * sizeof *t->begins);
    if (!t->numbers || !t->begins)
        return false;
    others = t->total;
    t->begins[0] = 0;
    for (uint64_t number = 0; number < a->tiles->count; number++) {
        if (!tile_is_whole(a, number, limit)) {
            t->numbers[--others] = number;
            continue;
        }
        t->numbers[t->count] = number;
        t->begins[t->count + 1] = t->begins[t->count] + a->tiles->tiles[number].compressed;
        t->runs += t->count == 0 || tile_stream_position(t, t->count) != next;
        next = tile_stream_position(t, t->count++) + tile_stream_content(t);
    }
    return true;
}

static void tile_stream_close(struct tile_stream *t)
{
    free(t->numbers);
    free(t->begins);
}

/* Finds the stretch that begins with tile `i` of the stream, of consecutive positions and at least
   `least` bytes, or as many as there are. Returns the number of the tile after it. */
static size_t tile_stream_cut(const struct tile_stream *t, size_t i, uint64_t least,
                              struct zstd_stretch *stretch)
{
    const uint64_t content = tile_stream_content(t), position = tile_stream_position(t, i);
    size_t end = i + 1;

    while (end < t->count && t->begins[end] - t->begins[i] < least &&
           tile_stream_position(t, end) == position + (end - i) * content)
        end++;
    *stretch = (struct zstd_stretch){t->begins[i], t->begins[end], (end - i) * content,
                                     (end - i) * content};
    return end;
}

/* Reads `size` bytes from `offset` on. False on failure. Any worker. */
static bool tile_stream_read(struct source *s, const struct tile_stream *t, unsigned char *bytes,
                             size_t size, uint64_t offset)
{
    size_t i = search_begins(t->begins, t->count, offset);

    while (size > 0) {
        const uint64_t left = t->begins[i + 1] - offset;
        const size_t step = left < size ? (size_t)left : size;

        if (!tile_read(s, t->array, t->numbers[i], offset - t->begins[i], bytes, step))
            return false;
        bytes += step;
        offset += step;
        size -= step;
        i++;
    }
    return true;
}

/*
 * A reader that keeps what it has read, so that it can be read again: what told the format of a
 * pipe, and later what lies in the ring.
 */
struct replay {
    struct reader base; /* its input is closed with the source */
    bool recording;
    unsigned char *bytes;
    size_t size, capacity, at;
    /* Read first: from the ring. */
    const struct compressed_ring *ring;
    uint64_t from, to;
};

/* A part of the input that a ring takes. */
struct compressed_part {
    struct stream_part given;    /* as the engine gets it; pieces are tiles */
    struct zstd_stretch stretch; /* of the whole input */
    bool last;                   /* it is the input's last part */
    size_t number;               /* in the index; of a stream of tiles, of the first tile */
};

/* The tile outside of the stream that a worker hands out. */
struct other_tile {
    struct tile *tile;
    uint64_t left; /* elements that are not handed out yet */
};

/* The input of one engine's decoder, which is all of the source's, or parts of it. Offsets are in
   the ring's input, unless it is said otherwise. */
struct compressed_ring {
    /* Fixed by compressed_begin. */
    unsigned char *memory; /* of the ring; COMPRESSED_BEFORE bytes stand before it */
    uint64_t size;         /* of the ring, bytes */
    size_t piece;          /* bytes that are read at a time: `size` is a multiple */
    bool *read; /* of each piece of the ring: it is there, though others before it are not */

    /* There is room for all of them; those that are counted stay as they are. */
    struct compressed_part *parts;
    size_t part_count GUARDED_BY(waiters_role);
    size_t parts_done GUARDED_BY(waiters_role); /* of which is known what they decode to */
    uint64_t known GUARDED_BY(waiters_role);    /* offset behind them; SOURCE_UNKNOWN of a pipe */

    uint64_t end GUARDED_BY(waiters_role);     /* of its input; SOURCE_UNKNOWN while not known */
    uint64_t claimed GUARDED_BY(waiters_role); /* offset behind what was read or is being read */
    uint64_t present GUARDED_BY(waiters_role); /* all before it has been read */
    uint64_t passed GUARDED_BY(waiters_role);  /* nothing before it is needed */
    bool reading GUARDED_BY(waiters_role);     /* a worker reads the pipe */

    bool complete GUARDED_BY(waiters_role);  /* all that is wanted of it is decoded */
    uint64_t total GUARDED_BY(waiters_role); /* bytes that it decodes to */

    uint64_t fetched; /* of who reads the pipe: offset behind what is in the caches */

    /* Owned by the worker that feeds the engine. */
    uint64_t moved; /* offset of what was copied before the ring last */
    size_t feeding; /* the part that it takes from */
};

struct compressed_state {
    struct waiters waiters;     /* for its mutex */
    struct replay *pipe;        /* NULL of a file */
    struct tile_stream *stream; /* the tiles of an array, which are the input; NULL of a file */
    struct other_tile *others;  /* of each worker, of those that are not */
    unsigned workers;
    _Atomic size_t other;    /* the next one that nobody has claimed, among stream->numbers */
    struct zstd_frame first; /* as far as its header tells; its window SOURCE_UNKNOWN without */

    /* Fixed by compressed_cut. */
    struct compressed_ring *rings;
    unsigned ring_count;
    uint64_t part_least;        /* bytes of a part */
    struct zstd_cutter *cutter; /* of who cuts; NULL where there is one ring */

    struct zstd_index index GUARDED_BY(waiters_role); /* of the parts; without any, of one ring */
    bool cutting GUARDED_BY(waiters_role);            /* a worker cuts the next part */
    bool refused GUARDED_BY(waiters_role);
    bool torn GUARDED_BY(waiters_role); /* a part does not begin with an element */
    /* Parts that have been cut, and those of which is known what they decode to. */
    size_t parts_cut GUARDED_BY(waiters_role), parts_noted GUARDED_BY(waiters_role);
    size_t tiles_cut GUARDED_BY(waiters_role); /* tiles of the stream in them */
};

/*
 * The pipe.
 */

static bool record(struct replay *r, const void *bytes, size_t size)
{
    if (!GROW(r->bytes, r->capacity, r->size + size))
        return source_no_memory(r->base.source);
    memcpy(r->bytes + r->size, bytes, size);
    r->size += size;
    return true;
}

static unsigned char *ring_at(const struct compressed_ring *r, uint64_t offset)
{
    return r->memory + offset % r->size;
}

/* As much as lies in one piece of the ring. */
static size_t piece_of_ring(const struct compressed_ring *r, uint64_t from, uint64_t to)
{
    uint64_t until_end = r->size - from % r->size;

    return (size_t)(to - from < until_end ? to - from : until_end);
}

static ptrdiff_t replay_read(struct reader *reader, void *buffer, size_t size)
{
    struct replay *r = (struct replay *)reader;
    ptrdiff_t got;

    if (r->from < r->to) {
        size_t count = piece_of_ring(r->ring, r->from, r->to);

        count = count < size ? count : size;
        memcpy(buffer, ring_at(r->ring, r->from), count);
        r->from += count;
        return (ptrdiff_t)count;
    }
    if (!r->recording && r->at < r->size) {
        size_t count = r->size - r->at < size ? r->size - r->at : size;

        memcpy(buffer, r->bytes + r->at, count);
        r->at += count;
        return (ptrdiff_t)count;
    }
    got = reader_read(r->base.input, buffer, size);
    if (got > 0 && r->recording && !record(r, buffer, (size_t)got))
        return -1;
    return got;
}

/* Those who read through it close it; the source keeps it. */
static void replay_close(struct reader *reader)
{
    (void)reader;
}

static struct replay *replay_open(struct source *s, struct reader *input)
{
    struct replay *r = reader_open(s, input, replay_read, sizeof *r, sizeof *r);

    if (!r)
        return NULL;
    r->base.close = replay_close;
    r->recording = true;
    return r;
}

/*
 * The rings, and the parts of the input that they take.
 */

/* Makes rings that can have so many parts each. False without memory. */
static bool rings_make(struct source *s, unsigned count, size_t parts)
{
    struct compressed_state *p = s->state;

    p->rings = calloc(count, sizeof *p->rings);
    if (!p->rings)
        return false;
    for (p->ring_count = 0; p->ring_count < count; p->ring_count++) {
        struct compressed_ring *r = &p->rings[p->ring_count];

        r->parts = calloc(parts, sizeof *r->parts);
        if (!r->parts)
            return false;
        r->moved = SOURCE_UNKNOWN;
    }
    return true;
}

UNCHECKED static void rings_free(struct compressed_state *p)
{
    for (unsigned i = 0; i < p->ring_count; i++) {
        free(p->rings[i].read);
        free(p->rings[i].parts);
    }
    free(p->rings);
    free(p->cutter);
    zstd_index_free(&p->index);
    p->index = (struct zstd_index){0};
    p->parts_cut = p->parts_noted = p->tiles_cut = 0;
    p->rings = NULL;
    p->cutter = NULL;
    p->ring_count = 0;
}

/* Bytes of the input of all rings. */
static uint64_t input_size(const struct source *s)
{
    const struct compressed_state *p = s->state;

    return p->stream ? tile_stream_size(p->stream) : s->info.input_bytes;
}

/* Cuts the next part off the stream of tiles. False when there is none. */
REQUIRES(waiters_role)
static bool cut_stream_locked(struct compressed_state *p, struct compressed_part *part)
{
    const struct tile_stream *stream = p->stream;

    if (p->refused || p->tiles_cut == stream->count)
        return false;
    part->number = p->tiles_cut;
    part->given.position = tile_stream_position(stream, part->number);
    p->tiles_cut = tile_stream_cut(stream, part->number, p->part_least, &part->stretch);
    part->given.pieces = stream->begins + part->number;
    part->given.piece_count = p->tiles_cut - part->number;
    part->given.piece_content = tile_stream_content(stream);
    part->last = p->tiles_cut == stream->count;
    return true;
}

/* Cuts the next part off a file. False when there is none. Drops the mutex meanwhile. */
REQUIRES(waiters_role)
static bool cut_file_locked(struct source *s, struct compressed_part *part)
{
    struct compressed_state *p = s->state;
    bool found;

    if (p->refused || p->torn)
        return false;
    p->cutting = true;
    waiters_unlock(&p->waiters);
    found = zstd_cutter_next(p->cutter, p->part_least, &part->stretch);
    zstd_source_error(s);
    waiters_lock(&p->waiters);
    p->cutting = false;
    if (!found)
        return false;
    part->given.position = p->index.next;
    part->given.provisional = p->index.count > 0;
    part->last = part->stretch.end == s->info.input_bytes;
    if (!zstd_index_begin(&p->index, part->stretch.content, &part->number))
        return source_no_memory(s);
    zstd_index_advance(&p->index, part->stretch.content, part->stretch.most);
    return true;
}

/* Cuts a ring's next part, or finds that there is none. Drops the mutex meanwhile. Nobody else is
   cutting. */
REQUIRES(waiters_role)
static void cut_locked(struct source *s, struct compressed_ring *r)
{
    struct compressed_state *p = s->state;
    struct compressed_part *part = &r->parts[r->part_count]; /* of zeros */

    part->given.offset = r->known;
    if (!(p->stream ? cut_stream_locked(p, part) : cut_file_locked(s, part))) {
        r->end = r->known;
        return;
    }
    p->parts_cut++;
    r->part_count++;
    r->known += part->stretch.end - part->stretch.begin;
}

/* A part has been decoded, to `content` bytes. False when that shows that all has to be decoded
   once more. */
REQUIRES(waiters_role)
static bool note_content_locked(struct source *s, const struct compressed_part *part,
                                uint64_t content)
{
    struct compressed_state *p = s->state;
    const uint64_t end = part->given.position + content;

    p->parts_noted++;
    if (!p->stream)
        zstd_index_set_length(&p->index, part->number, content);
    if (content > part->stretch.most ||
        (part->stretch.content != SOURCE_UNKNOWN && part->stretch.content != content))
        p->refused = true;
    else if (part->stretch.content == SOURCE_UNKNOWN && !part->last &&
             (end < s->data_offset || !zstd_index_is_boundary(&p->index, end)))
        p->torn = true;
    return !p->refused && !p->torn;
}

bool compressed_pass_part(struct source *s, unsigned ring, uint64_t content)
{
    struct compressed_state *p = s->state;
    struct compressed_ring *r = &p->rings[ring];
    bool good;

    waiters_lock(&p->waiters);
    good = note_content_locked(s, &r->parts[r->parts_done++], content);
    waiters_unlock(&p->waiters);
    return good;
}

/* Bytes of a part, of which each of `rings` rings is to have several; a single one takes all. */
static uint64_t choose_part(const struct source *s, unsigned rings)
{
    const uint64_t bytes = input_size(s) / rings / COMPRESSED_PARTS;

    return rings == 1                              ? SOURCE_UNKNOWN
           : bytes > COMPRESSED_PART_MOST          ? COMPRESSED_PART_MOST
           : bytes < s->options.tuning->part_least ? s->options.tuning->part_least
                                                   : bytes;
}

/* Makes rings whose parts are cut as they are asked for. False without memory. */
UNCHECKED static bool make_rings(struct source *s, unsigned rings)
{
    struct compressed_state *p = s->state;

    const size_t runs = p->stream ? p->stream->runs : 0; /* a part has one at most */

    p->part_least = choose_part(s, rings);
    if (!rings_make(s, rings, (size_t)(input_size(s) / p->part_least) + 2 + runs))
        return false;
    if (!p->stream) {
        p->cutter = malloc(sizeof *p->cutter);
        if (!p->cutter)
            return false;
        zstd_cutter_init(p->cutter, zstd_source_file(s), s->data_offset,
                         (unsigned)s->info.element_size);
        zstd_index_init(&p->index, s->data_offset, s->info.element_size);
    }
    for (unsigned i = 0; i < rings; i++)
        p->rings[i].end = SOURCE_UNKNOWN;
    return true;
}

/* Cuts the first part of each of so many rings; fewer are left where there are fewer parts. False
   without memory. */
UNCHECKED static bool cut_first_parts(struct source *s, unsigned rings)
{
    struct compressed_state *p = s->state;
    unsigned i = 0;

    if (!make_rings(s, rings))
        return false;
    waiters_lock(&p->waiters);
    while (i < rings && p->rings[i].end == SOURCE_UNKNOWN) {
        cut_locked(s, &p->rings[i]);
        i += p->rings[i].part_count;
    }
    waiters_unlock(&p->waiters);
    for (; p->ring_count > i; p->ring_count--)
        free(p->rings[p->ring_count - 1].parts);
    return true;
}

/* Has one ring take the whole input. False without memory: the source fails. */
UNCHECKED static bool take_all(struct source *s)
{
    struct compressed_state *p = s->state;

    if (p->stream ? !cut_first_parts(s, 1) : !rings_make(s, 1, 1))
        return source_no_memory(s);
    if (!p->stream) {
        p->rings[0].part_count = 1;
        p->rings[0].known = p->rings[0].end = s->info.input_bytes;
    }
    return true;
}

/* Whether the input may be cut at all. */
static bool can_cut(const struct source *s)
{
    const struct compressed_state *p = s->state;
    const uint64_t size = input_size(s);

    return size >= 2 * s->options.tuning->part_least &&
           (p->stream || (s->info.elements == s->stated && size <= ZSTD_CUTTER_INPUT_MAX &&
                          s->data_offset <= SOURCE_UNKNOWN / 4));
}

UNCHECKED unsigned compressed_cut(struct source *s, unsigned rings)
{
    struct compressed_state *p = s->state;

    if (rings == p->ring_count || p->pipe || (rings > 1 && !can_cut(s)))
        return p->ring_count;
    rings_free(p);
    if (rings > 1 && cut_first_parts(s, rings) && p->ring_count > 1)
        return p->ring_count;
    rings_free(p);
    return take_all(s) ? 1 : 0;
}

/*
 * Reading.
 */

/* A piece is there that begins at this offset. */
REQUIRES(waiters_role)
static void note_piece_locked(struct compressed_ring *r, uint64_t offset)
{
    const uint64_t pieces = r->size / r->piece;

    r->read[offset / r->piece % pieces] = true;
    while (r->present < r->end && r->read[r->present / r->piece % pieces]) {
        r->read[r->present / r->piece % pieces] = false;
        r->present = r->end - r->present < r->piece ? r->end : r->present + r->piece;
    }
}

/* Reads `size` bytes of a ring's input, which lie in its first `count` parts. False on failure. */
static bool read_parts(struct source *s, struct compressed_ring *r, size_t count, uint64_t offset,
                       size_t size)
{
    const struct compressed_state *p = s->state;
    size_t i = count - 1;

    while (r->parts[i].given.offset > offset)
        i--;
    while (size > 0) {
        const struct compressed_part *part = &r->parts[i++];
        const uint64_t from = part->stretch.begin + (offset - part->given.offset);
        size_t step = size;

        if (i < count && r->parts[i].given.offset - offset < step)
            step = (size_t)(r->parts[i].given.offset - offset);
        if (!(p->stream ? tile_stream_read(s, p->stream, ring_at(r, offset), step, from)
                        : source_pread_all(s, ring_at(r, offset), step, s->start + from)))
            return false;
        offset += step;
        size -= step;
    }
    return true;
}

/* A ring's next part is cut when so little is left of its input that nobody has claimed: pieces. */
#define CUT_AHEAD 16

/* Claims a piece of a file, and reads it, or cuts the next part. Drops the mutex meanwhile. */
REQUIRES(waiters_role)
static enum compressed_read read_file_locked(struct source *s, struct compressed_ring *r)
{
    struct compressed_state *p = s->state;
    const uint64_t offset = r->claimed;
    const size_t count = r->part_count;
    size_t size = r->piece;
    bool good;

    if (r->end == SOURCE_UNKNOWN && !p->cutting && offset + CUT_AHEAD * r->piece > r->known) {
        cut_locked(s, r);
        return COMPRESSED_READ;
    }
    if (offset >= r->end)
        return COMPRESSED_END;
    if (offset + r->piece > r->passed + r->size ||
        (r->end == SOURCE_UNKNOWN && offset + r->piece > r->known))
        return COMPRESSED_BUSY;
    if (r->end - offset < size)
        size = (size_t)(r->end - offset);
    r->claimed = offset + r->piece;
    waiters_unlock(&p->waiters);
    good = read_parts(s, r, count, offset, size);
    waiters_lock(&p->waiters);
    if (!good)
        return COMPRESSED_FAILED;
    note_piece_locked(r, offset);
    return COMPRESSED_READ;
}

/* As much of the ring is fetched into this core's caches before a pipe is read into it: while it is
   read, who writes to the pipe has to wait. Bytes: more than writers write at a time. */
#define PIPE_AHEAD ((size_t)256 << 10)

/* Reads into the `room` bytes from offset `offset` on. */
static void fetch(struct compressed_ring *r, uint64_t offset, uint64_t room)
{
    const uint64_t end = offset + (room < PIPE_AHEAD ? room : PIPE_AHEAD);

    for (r->fetched = r->fetched < offset ? offset : r->fetched; r->fetched < end;
         r->fetched += CACHE_LINE)
        __builtin_prefetch(ring_at(r, r->fetched), 1, 2);
}

/* Reads what the pipe has, up to a piece. Drops the mutex meanwhile. */
REQUIRES(waiters_role)
static enum compressed_read read_pipe_locked(struct source *s)
{
    struct compressed_state *p = s->state;
    struct compressed_ring *r = &p->rings[0];
    const uint64_t offset = r->claimed;
    uint64_t room = r->passed + r->size - offset;
    ptrdiff_t got;

    if (offset == r->end)
        return COMPRESSED_END;
    if (r->reading || room == 0)
        return COMPRESSED_BUSY;
    room = piece_of_ring(r, offset, offset + (room < r->piece ? room : r->piece));
    r->reading = true;
    r->claimed = offset + room; /* what was there is overwritten */
    waiters_unlock(&p->waiters);
    fetch(r, offset, room);
    got = reader_read(&p->pipe->base, ring_at(r, offset), (size_t)room);
    waiters_lock(&p->waiters);
    r->reading = false;
    r->claimed = r->present = offset + (got > 0 ? (uint64_t)got : 0);
    if (got == 0)
        r->end = r->present;
    return got < 0 ? COMPRESSED_FAILED : got == 0 ? COMPRESSED_END : COMPRESSED_READ;
}

enum compressed_read compressed_read(struct source *s, unsigned ring)
{
    struct compressed_state *p = s->state;
    enum compressed_read status;

    waiters_lock(&p->waiters);
    if (source_failed(s))
        status = COMPRESSED_FAILED;
    else
        status = p->pipe ? read_pipe_locked(s) : read_file_locked(s, &p->rings[ring]);
    waiters_unlock(&p->waiters);
    return status;
}

/*
 * Feeding.
 */

/* The bytes that are left if their number is unknown. */
#define COMPRESSED_REST_MOST ((uint64_t)1 << 40)

struct stream_bytes compressed_bytes(struct source *s, unsigned ring, uint64_t from)
{
    struct compressed_state *p = s->state;
    struct compressed_ring *r = &p->rings[ring];
    const uint64_t border = from - from % r->size + r->size;
    struct stream_bytes b = {.bytes = ring_at(r, from)};
    uint64_t present, end, part_end;

    waiters_lock(&p->waiters);
    while (r->feeding + 1 < r->part_count && r->parts[r->feeding + 1].given.offset <= from)
        r->feeding++;
    part_end = r->feeding + 1 < r->part_count ? r->parts[r->feeding + 1].given.offset : r->known;
    present = r->present;
    end = r->end;
    b.part = r->parts[r->feeding].given;
    waiters_unlock(&p->waiters);
    b.last = present == end;
    if (present > part_end) {
        present = part_end;
        b.last = false;
    }
    if (end > part_end)
        end = part_end;
    if (present >= border && border - from > COMPRESSED_BEFORE) {
        b.size = (size_t)(border - from);
        b.full = true;
        b.last = b.last && present == border;
    } else if (present <= border) {
        b.size = (size_t)(present - from);
        b.full = b.last;
    } else {
        /* The rest before the ring's end goes before its beginning. */
        b.bytes = r->memory - (border - from);
        if (r->moved != from)
            memcpy(r->memory - (border - from), ring_at(r, from), (size_t)(border - from));
        r->moved = from;
        b.last = b.last && present <= border + r->size;
        b.size = (size_t)((present < border + r->size ? present : border + r->size) - from);
        b.full = b.last;
    }
    b.rest = end - from < COMPRESSED_REST_MOST ? end - from : COMPRESSED_REST_MOST;
    b.part_ends = from + b.size == part_end;
    b.full |= b.part_ends;
    return b;
}

void compressed_pass(struct source *s, unsigned ring, uint64_t offset)
{
    struct compressed_state *p = s->state;
    struct compressed_ring *r = &p->rings[ring];

    waiters_lock(&p->waiters);
    if (offset > r->passed)
        r->passed = offset;
    waiters_unlock(&p->waiters);
}

/* Whether the bytes of a pipe from offset `from` on are all still there. */
static bool holds(struct source *s, uint64_t from)
{
    struct compressed_state *p = s->state;
    bool holds;

    waiters_lock(&p->waiters);
    holds = p->rings[0].claimed <= from + p->rings[0].size;
    waiters_unlock(&p->waiters);
    return holds;
}

void compressed_complete(struct source *s, unsigned ring, uint64_t total, uint64_t stopped_at)
{
    struct compressed_state *p = s->state;
    struct compressed_ring *r = &p->rings[ring];

    waiters_lock(&p->waiters);
    r->complete = true;
    r->total = total;
    if (s->zstd.stop != SOURCE_UNKNOWN)
        atomic_store(&s->zstd.stopped_at, stopped_at);
    waiters_unlock(&p->waiters);
}

void compressed_refuse(struct source *s)
{
    struct compressed_state *p = s->state;

    waiters_lock(&p->waiters);
    p->refused = true;
    waiters_unlock(&p->waiters);
}

void compressed_wrong_checksum(struct source *s, uint64_t frame)
{
    zstd_note_refusal(&s->zstd, frame, (size_t)-ZSTD_error_checksum_wrong);
    zstd_source_error(s);
}

/*
 * The end.
 */

/* The verdict on parts, all of which have been decoded. */
UNCHECKED static enum source_verdict finish_parts(struct source *s)
{
    struct compressed_state *p = s->state;
    enum source_verdict verdict;

    if (p->parts_noted < p->parts_cut || p->cutter->begin < s->info.input_bytes)
        return SOURCE_REREAD;
    if (!zstd_index_resolve(&p->index, SOURCE_UNKNOWN))
        return SOURCE_TORN;
    verdict = zstd_source_finish_total(s, zstd_index_total(&p->index), p->index.count == 0);
    return verdict == SOURCE_REREAD ? SOURCE_TORN : verdict;
}

UNCHECKED static enum source_verdict compressed_finish(struct source *s)
{
    struct compressed_state *p = s->state;

    if (p->refused || p->torn)
        return p->refused ? SOURCE_REREAD : SOURCE_TORN;
    for (unsigned i = 0; i < p->ring_count; i++)
        if (!p->rings[i].complete)
            return SOURCE_REREAD;
    if (source_wanted(s) != SOURCE_UNKNOWN)
        return SOURCE_COMPLETE;
    if (p->stream)
        return p->parts_noted == p->parts_cut && p->tiles_cut == p->stream->count ? SOURCE_COMPLETE
                                                                                  : SOURCE_REREAD;
    return p->ring_count > 1 ? finish_parts(s)
                             : zstd_source_finish_total(s, p->rings[0].total, true);
}

/* The true index of an element. */
UNCHECKED static uint64_t compressed_index(const struct source *s, uint64_t element)
{
    const struct compressed_state *p = s->state;

    return zstd_index_true(&p->index, element);
}

static void compressed_close(struct source *s)
{
    struct compressed_state *p = s->state;

    if (p->pipe) {
        free(p->pipe->bytes);
        reader_close(&p->pipe->base);
    }
    rings_free(p);
    for (unsigned i = 0; p->others && i < p->workers; i++)
        tile_close(p->others[i].tile);
    free(p->others);
    if (p->stream)
        tile_stream_close(p->stream);
    free(p->stream);
    waiters_destroy(&p->waiters);
    free(p);
}

UNCHECKED bool compressed_resume(struct source *s, const struct stream_refusal *place)
{
    struct compressed_state *p = s->state;
    struct reader *reader;

    if (!p->pipe || !holds(s, place->frame))
        return source_refuse(
            s, (struct advice){.kind = ADVICE_CPU_TELLS},
            "byte %" PRIu64 ": zstd frame is damaged, or not one that a GPU decodes", place->frame);
    p->pipe->ring = &p->rings[0];
    p->pipe->from = place->frame;
    p->pipe->to = p->rings[0].present;
    p->refused = true;
    s->info.undecoded = false;
    reader = zstd_source_reader(s, &p->pipe->base, place->frame, place->begin);
    if (!reader)
        return false;
    if (place->tail_size > 0)
        reader_push(reader, place->tail, place->tail_size);
    return serial_source_resume(s, reader, place->good,
                                place->tail_size > 0 ? 0 : place->good - place->begin);
}

struct compressed_layout compressed_layout(const struct source *s)
{
    const struct compressed_state *p = s->state;

    return (struct compressed_layout){
        .window = p->first.window,
        .window_max = (uint64_t)1 << s->zstd.window_log,
        .begin = p->stream ? 0 : s->data_offset,
        .end = p->stream ? SOURCE_UNKNOWN : source_end_position(s),
        .stop = !p->stream && s->info.elements != s->stated,
        .in_parts = p->stream || p->ring_count > 1,
        .check = p->stream || !s->zstd.no_check,
        .piece = s->options.tuning->piece,
    };
}

UNCHECKED void compressed_begin(struct source *s, unsigned ring, unsigned char *memory, size_t size)
{
    struct compressed_state *p = s->state;
    struct compressed_ring *r = &p->rings[ring];

    r->memory = memory + COMPRESSED_BEFORE;
    r->piece = s->options.tuning->piece;
    r->size = (size - COMPRESSED_BEFORE) / r->piece * r->piece;
    r->read = p->pipe ? NULL : calloc((size_t)(r->size / r->piece), sizeof *r->read);
    if (!p->pipe && !r->read)
        (void)source_no_memory(s);
}

/* Makes the source one of this kind, which has its input to get yet. False without memory. */
static bool begin_source(struct source *s, const struct source_ops *ops)
{
    struct compressed_state *p = calloc(1, sizeof *p);

    if (!p)
        return source_no_memory(s);
    waiters_init(&p->waiters);
    s->state = p;
    s->ops = ops;
    return true;
}

UNCHECKED bool compressed_source_open(struct source *s, struct reader *pipe)
{
    static const struct source_ops ops = {
        .finish = compressed_finish, .index = compressed_index, .close = compressed_close};
    struct compressed_state *p;

    if (!begin_source(s, &ops) || !take_all(s)) {
        if (pipe)
            pipe->close(pipe);
        return false;
    }
    p = s->state;
    if (pipe) {
        p->pipe = replay_open(s, pipe);
        if (!p->pipe || !zstd_source_layout(s, &p->pipe->base))
            return false;
        p->pipe->recording = false;
        p->first = zstd_first_frame(p->pipe->bytes, p->pipe->size);
    } else {
        if (!zstd_source_layout(s, input_reader_open(s, 0)))
            return false;
        p->first = zstd_first_frame(s->head, s->head_size);
        atomic_store(&s->input_read, 0); /* what was read to detect the format is read again */
        atomic_store(&s->zstd.stopped_at, SOURCE_UNKNOWN);
        s->info.parallel = true;
    }
    s->info.undecoded = true;
    return true;
}

/*
 * Arrays in tiles.
 */

/* Tiles that are looked at, here and there. */
#define TILES_PROBED 16

/* The first frame of the stream, and whether most of the tiles that are looked at are cached. */
static struct zstd_frame look_at_tiles(const struct source *s, const struct tile_stream *stream,
                                       bool *cached)
{
    unsigned char bytes[ZSTD_HEADER_MAX];
    struct zstd_frame first = {.window = SOURCE_UNKNOWN, .content = SOURCE_UNKNOWN};
    const size_t probes = stream->count < TILES_PROBED ? stream->count : TILES_PROBED;
    size_t there = 0;

    for (size_t i = 0; i < probes; i++) {
        const uint64_t number = stream->numbers[i * (stream->count / probes)];
        bool present;
        const size_t got = tile_peek(s, stream->array, number, bytes, sizeof bytes, &present);

        there += present;
        if (i == 0)
            first = zstd_first_frame(bytes, got);
    }
    *cached = there >= probes - probes / 2;
    return first;
}

bool compressed_array_look(const struct source *container, const struct container_array *a,
                           const struct source_options *options, struct source_facts *facts)
{
    const uint64_t limit = options->length < a->elements ? options->length : a->elements;
    struct tile_stream stream;
    struct zstd_frame first;
    bool good, cached;

    *facts = (struct source_facts){.content = SOURCE_UNKNOWN, .compressed = tile_stream_fits(a)};
    if (!facts->compressed || (options->true_indices && !tile_stream_is_ordered(a)))
        return true;
    good = tile_stream_open(&stream, a, limit, options->true_indices);
    /* A batch of the decoder ends with each part: many short ones take longer than the CPU does. */
    if (good && stream.count > 0 &&
        (stream.runs == 1 ||
         tile_stream_size(&stream) / stream.runs >= container->options.tuning->part_least)) {
        first = look_at_tiles(container, &stream, &cached);
        facts->size = tile_stream_size(&stream);
        facts->ratio =
            (double)stream.count * (double)tile_stream_content(&stream) / (double)facts->size;
        facts->checked = first.checksum;
        facts->uncached = !cached;
    }
    tile_stream_close(&stream);
    return good;
}

/* Hands out the tiles that are not in the stream, one after the other to each worker. */
static enum source_status next_other(struct source *s, const struct chunk_request *request,
                                     struct chunk *chunk)
{
    struct compressed_state *p = s->state;
    struct other_tile *o = &p->others[request->worker];

    while (o->left == 0) {
        const size_t i = atomic_fetch_add(&p->other, 1);

        if (i >= p->stream->total)
            return SOURCE_END;
        o->left = tiles_elements(s->array, p->stream->numbers[i], s->info.elements);
        if (o->left > 0 &&
            !tile_begin(&o->tile, s, 0, s->array, p->stream->numbers[i], o->left, NULL, 0))
            return SOURCE_FAILED;
    }
    tile_take(o->tile, request, chunk);
    o->left -= chunk->count;
    return SOURCE_CHUNK;
}

bool compressed_array_open(struct source *s, unsigned workers)
{
    static const struct source_ops ops = {
        .next = next_other, .finish = compressed_finish, .close = compressed_close};
    struct compressed_state *p;
    bool cached;

    if (!begin_source(s, &ops))
        return false;
    p = s->state;
    p->stream = calloc(1, sizeof *p->stream);
    p->others = calloc(workers, sizeof *p->others);
    p->workers = workers;
    if (!p->stream || !p->others ||
        !tile_stream_open(p->stream, s->array, s->info.elements, s->options.true_indices))
        return source_no_memory(s);
    atomic_init(&p->other, p->stream->count);
    p->first = look_at_tiles(s, p->stream, &cached);
    s->info.input_bytes = s->array->compressed;
    s->info.undecoded = true;
    return take_all(s);
}
