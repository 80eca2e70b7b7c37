/*
 * zstd. A file's frames are decoded in parallel: under the mutex a worker either continues a frame
 * that is open and idle, or opens the next one, whose end it finds by walking the block headers; it
 * decodes outside the mutex, into its own buffer. Pipes are decoded in order by a reader.
 *
 * Frames need not say how long their content is (pzstd's do not). Such a frame is given as much of
 * the index space as its blocks can hold at most; source_index maps these provisional positions to
 * true ones when all lengths are known. That the elements are not torn across such frames is
 * assumed, and checked at the end: where it does not hold, the source asks to be read again in
 * order.
 *
 * The frame format: RFC 8878.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "clock.h"
#include "mapping.h"
#include "message.h"
#include "source.h"

#define FRAME_MAGIC 0xfd2fb528u
#define SKIPPABLE_MAGIC 0x184d2a50u /* and the fifteen that follow */
#define SKIPPABLE_MASK 0xfffffff0u
#define BLOCK_CONTENT_MAX ((uint64_t)128 << 10)
#define FRAME_HEADER_MAX 18

static uint32_t load32(const unsigned char *b)
{
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static bool is_skippable(uint32_t magic)
{
    return (magic & SKIPPABLE_MASK) == SKIPPABLE_MAGIC;
}

bool zstd_recognise(const void *bytes, size_t size)
{
    uint32_t magic;

    if (size < 4)
        return false;
    magic = load32(bytes);
    return magic == FRAME_MAGIC || is_skippable(magic);
}

/* Says why libzstd refused the frame that begins at byte `frame`. */
static void frame_error(struct source *s, uint64_t frame, size_t code)
{
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_frameParameter_windowTooLarge:
        source_error(s,
                     "byte %" PRIu64 ": zstd frame needs a window larger than 128 MiB; "
                     "'zstd -dc --long=31' decompresses it",
                     frame);
        break;
    case ZSTD_error_dictionary_wrong:
        source_error(s,
                     "byte %" PRIu64 ": zstd frame needs a dictionary; "
                     "'zstd -dc -D DICTIONARY' decompresses it",
                     frame);
        break;
    case ZSTD_error_prefix_unknown:
        source_error(s, "byte %" PRIu64 ": no zstd frame begins here", frame);
        break;
    case ZSTD_error_memory_allocation:
        source_error(s, "byte %" PRIu64 ": out of memory for a zstd frame", frame);
        break;
    default:
        source_error(s, "byte %" PRIu64 ": zstd frame is damaged: %s", frame,
                     ZSTD_getErrorName(code));
    }
}

/*
 * In order.
 */

struct zstd_reader {
    struct reader base;
    struct source *source;
    struct reader *input;
    ZSTD_DCtx *context;
    unsigned char *buffer; /* in.src */
    size_t capacity;
    ZSTD_inBuffer in;
    uint64_t consumed; /* compressed bytes before the buffer's */
    uint64_t frame;    /* compressed offset of the current frame */
    uint64_t said;     /* bytes its header says it holds, or SOURCE_UNKNOWN */
    uint64_t produced; /* bytes that came out of it */
    size_t expected;   /* what libzstd last said: 0 between frames */
    bool ended;        /* the compressed input is */
};

/* One call of the decoder, timed. */
static size_t decompress(struct source *s, ZSTD_DCtx *context, ZSTD_outBuffer *out,
                         ZSTD_inBuffer *in)
{
    uint64_t begun = clock_now();
    size_t result = ZSTD_decompressStream(context, out, in);

    atomic_fetch_add(&s->decode_time, clock_now() - begun);
    return result;
}

/* Says that a frame held other than its header said. */
static void lying_frame(struct source *s, uint64_t frame, uint64_t said, uint64_t held)
{
    source_error(s,
                 "byte %" PRIu64 ": zstd frame is damaged: it says it holds %" PRIu64
                 " bytes, and holds %" PRIu64,
                 frame, said, held);
}

/* Reads into the room behind what is left of the input. */
static bool refill(struct zstd_reader *z)
{
    ptrdiff_t got = reader_read(z->input, z->buffer + z->in.size, z->capacity - z->in.size);

    if (got < 0)
        return false;
    z->in.size += (size_t)got;
    z->ended = got == 0;
    return true;
}

/* Between two frames: notes where the next one begins and what it says of its length. libzstd does
   not hold it to that in every case. */
static bool begin_frame(struct zstd_reader *z)
{
    size_t left = z->in.size - z->in.pos;
    unsigned long long content;

    if (left < FRAME_HEADER_MAX) {
        memmove(z->buffer, z->buffer + z->in.pos, left);
        z->consumed += z->in.pos;
        z->in.size = left;
        z->in.pos = 0;
        while (z->in.size < FRAME_HEADER_MAX && !z->ended)
            if (!refill(z))
                return false;
    }
    z->frame = z->consumed + z->in.pos;
    z->produced = 0;
    content = ZSTD_getFrameContentSize(z->buffer + z->in.pos, z->in.size - z->in.pos);
    z->said = content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR
                  ? SOURCE_UNKNOWN
                  : content;
    return true;
}

static ptrdiff_t zstd_read(struct reader *r, void *buffer, size_t size)
{
    struct zstd_reader *z = (struct zstd_reader *)r;
    ZSTD_outBuffer out = {buffer, size, 0};

    while (out.pos == 0) {
        size_t before;

        if (z->expected == 0) {
            if (!begin_frame(z))
                return -1;
            if (z->in.size == z->in.pos)
                return 0;
        } else if (z->in.pos == z->in.size && !z->ended) {
            z->consumed += z->in.size;
            z->in.size = z->in.pos = 0;
            if (!refill(z))
                return -1;
        }
        before = z->in.pos;
        z->expected = decompress(z->source, z->context, &out, &z->in);
        if (ZSTD_isError(z->expected)) {
            frame_error(z->source, z->frame, z->expected);
            return -1;
        }
        z->produced += out.pos;
        if (z->expected == 0 && z->said != SOURCE_UNKNOWN && z->said != z->produced) {
            lying_frame(z->source, z->frame, z->said, z->produced);
            return -1;
        }
        if (z->ended && out.pos == 0 && z->in.pos == before && z->expected != 0) {
            source_error(z->source,
                         "ends at byte %" PRIu64
                         ", inside the zstd frame that begins at byte %" PRIu64,
                         z->consumed + z->in.size, z->frame);
            return -1;
        }
    }
    return (ptrdiff_t)out.pos;
}

static void zstd_close(struct reader *r)
{
    struct zstd_reader *z = (struct zstd_reader *)r;

    z->input->close(z->input);
    ZSTD_freeDCtx(z->context);
    free(z->buffer);
    free(z);
}

struct reader *zstd_reader_open(struct source *s, struct reader *input)
{
    struct zstd_reader *z = calloc(1, sizeof *z);

    if (z) {
        z->capacity = ZSTD_DStreamInSize();
        z->buffer = malloc(z->capacity);
        z->in.src = z->buffer;
        z->context = ZSTD_createDCtx();
    }
    if (!z || !z->buffer || !z->context) {
        source_error(s, "out of memory");
        input->close(input);
        if (z) {
            ZSTD_freeDCtx(z->context);
            free(z->buffer);
            free(z);
        }
        return NULL;
    }
    z->base.read = zstd_read;
    z->base.close = zstd_close;
    z->source = s;
    z->input = input;
    return &z->base;
}

/*
 * In parallel.
 */

/* A frame that does not say how long it is. */
struct unsized_frame {
    uint64_t base;     /* provisional offset of its content */
    uint64_t reserved; /* bytes of provisional space it was given */
    uint64_t length;   /* bytes it turned out to hold */
    uint64_t gap;      /* provisional bytes without content up to its end; set at the finish */
};

#define NOT_UNSIZED SIZE_MAX

/* A frame being decoded. A slot is `open` while it has a frame, and `busy` while a worker is
   decoding it; open, busy and the choice of frame are guarded by the mutex, all else belongs to
   the worker that made it busy. */
struct decoder {
    bool open;
    bool busy;
    ZSTD_DCtx *context;
    unsigned char *buffer; /* INPUT_BYTES */
    void *window;          /* what is mapped of the frame; NULL when it is read */
    size_t window_size;
    ZSTD_inBuffer in;  /* in the window or the buffer */
    uint64_t frame;    /* offset in the input of the frame's first byte */
    uint64_t end;      /* offset behind its last byte */
    uint64_t offset;   /* offset of the next byte to read */
    uint64_t base;     /* provisional offset of the frame's content */
    uint64_t position; /* provisional offset of the next byte to come out */
    uint64_t said;     /* bytes its header says it holds, or SOURCE_UNKNOWN */
    size_t unsized;    /* index of its unsized_frame, or NOT_UNSIZED */
    bool exact;        /* positions are true ones: no unsized frame up to and with this one */
};

/* Compressed bytes read at a time. */
#define INPUT_BYTES ((size_t)256 << 10)

/* Compressed bytes mapped at a time, where a frame has more than are read: decoding them in place
   spares a copy, which took a tenth of the time of data that hardly compress. */
#define WINDOW_BYTES ((size_t)16 << 20)

/* Bytes read at a time to walk headers: one page of what is likely cached anyway. */
#define WALK_BYTES 4096

struct zstd_state {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* a decoder became idle or closed, or the end came */

    struct decoder *decoders;
    unsigned capacity;   /* decoders there may be */
    unsigned open;       /* decoders that have a frame */
    bool at_end;         /* no frame is left to open */
    bool again;          /* the frames must be read in order */
    bool exact_needed;   /* --skip or --length count true positions */
    uint64_t next_frame; /* offset in the input of the next frame */
    uint64_t next_base;  /* provisional offset of its content */

    struct unsized_frame *unsized;
    size_t unsized_count, unsized_capacity;

    /* The stretch of input last read to walk headers. */
    unsigned char walk[WALK_BYTES];
    uint64_t walk_offset;
    size_t walk_size;
};

/* What the walk found out of one frame. */
struct frame {
    uint64_t end;     /* offset behind it */
    uint64_t content; /* decompressed bytes, or SOURCE_UNKNOWN */
    uint64_t blocks;
};

/* `size` bytes of the input at `offset`, or as many as there are; NULL on failure (said). */
static const unsigned char *walk_at(struct source *s, uint64_t offset, size_t size, size_t *got)
{
    struct zstd_state *z = s->state;

    if (offset < z->walk_offset || offset + size > z->walk_offset + z->walk_size) {
        uint64_t left = s->input_bytes - offset;
        ptrdiff_t n = source_pread(s, z->walk, left < WALK_BYTES ? (size_t)left : WALK_BYTES,
                                   s->start + offset);
        if (n < 0)
            return NULL;
        /* These bytes are read once more to be decoded. */
        atomic_fetch_sub(&s->input_read, (uint64_t)n);
        z->walk_offset = offset;
        z->walk_size = (size_t)n;
    }
    *got = z->walk_size - (size_t)(offset - z->walk_offset);
    if (*got > size)
        *got = size;
    return z->walk + (offset - z->walk_offset);
}

static bool walk_cut_off(struct source *s, uint64_t frame)
{
    source_error(s, "ends at byte %" PRIu64 ", inside the zstd frame that begins at byte %" PRIu64,
                 s->input_bytes, frame);
    return false;
}

/* The length of a frame's header and what it says of its content. */
static bool walk_header(struct source *s, uint64_t offset, uint64_t *length, bool *checksum,
                        uint64_t *content)
{
    static const unsigned dictionary_bytes[4] = {0, 1, 2, 4};
    size_t got;
    const unsigned char *b = walk_at(s, offset, FRAME_HEADER_MAX, &got);
    unsigned descriptor, content_bytes, position;
    bool single;

    if (!b)
        return false;
    if (got < 5)
        return walk_cut_off(s, offset);
    descriptor = b[4];
    single = descriptor & 0x20;
    *checksum = descriptor & 0x04;
    content_bytes = descriptor >> 6 ? 1u << (descriptor >> 6) : single;
    position = 5 + !single + dictionary_bytes[descriptor & 3];
    *length = position + content_bytes;
    if (got < *length)
        return walk_cut_off(s, offset);
    *content = content_bytes ? 0 : SOURCE_UNKNOWN;
    for (unsigned i = 0; i < content_bytes; i++)
        *content |= (uint64_t)b[position + i] << 8 * i;
    if (content_bytes == 2)
        *content += 256;
    return true;
}

/* Walks the frame at `offset`, block by block. */
static bool walk_frame(struct source *s, uint64_t offset, struct frame *frame)
{
    uint64_t position, header;
    bool checksum, last = false;

    if (!walk_header(s, offset, &header, &checksum, &frame->content))
        return false;
    position = offset + header;
    frame->blocks = 0;
    while (!last) {
        size_t got;
        const unsigned char *b;
        uint32_t block;

        if (position >= s->input_bytes)
            return walk_cut_off(s, offset);
        b = walk_at(s, position, 3, &got);
        if (!b)
            return false;
        if (got < 3)
            return walk_cut_off(s, offset);
        block = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16;
        last = block & 1;
        if ((block >> 1 & 3) == 3) {
            source_error(s,
                         "byte %" PRIu64
                         ": zstd frame is damaged: a block of a reserved type at byte %" PRIu64,
                         offset, position);
            return false;
        }
        /* A run-length block holds one byte, whatever the size it expands to. */
        position += 3 + ((block >> 1 & 3) == 1 ? 1 : block >> 3);
        frame->blocks++;
    }
    frame->end = position + (checksum ? 4 : 0);
    if (frame->end > s->input_bytes)
        return walk_cut_off(s, offset);
    return true;
}

/* Steps over skippable frames. *more tells whether a frame with content follows. */
static bool walk_skippable(struct source *s, bool *more)
{
    struct zstd_state *z = s->state;

    *more = false;
    while (z->next_frame < s->input_bytes) {
        size_t got;
        const unsigned char *b = walk_at(s, z->next_frame, 8, &got);

        if (!b)
            return false;
        if (got < 4 || !zstd_recognise(b, got)) {
            source_error(s, "byte %" PRIu64 ": no zstd frame begins here", z->next_frame);
            return false;
        }
        if (!is_skippable(load32(b))) {
            *more = true;
            return true;
        }
        if (got < 8 || load32(b + 4) > s->input_bytes - z->next_frame - 8)
            return walk_cut_off(s, z->next_frame);
        atomic_fetch_add(&s->input_read, 8 + (uint64_t)load32(b + 4));
        z->next_frame += 8 + (uint64_t)load32(b + 4);
    }
    return true;
}

/* Notes an unsized frame; the mutex is held. Returns its index, or NOT_UNSIZED without memory. */
static size_t note_unsized(struct source *s, uint64_t reserved)
{
    struct zstd_state *z = s->state;

    if (z->unsized_count == z->unsized_capacity) {
        size_t capacity = z->unsized_capacity ? 2 * z->unsized_capacity : 64;
        struct unsized_frame *grown = realloc(z->unsized, capacity * sizeof *grown);
        if (!grown) {
            source_error(s, "out of memory");
            return NOT_UNSIZED;
        }
        z->unsized = grown;
        z->unsized_capacity = capacity;
    }
    z->unsized[z->unsized_count] = (struct unsized_frame){z->next_base, reserved, 0, 0};
    return z->unsized_count++;
}

/* Whether byte `position` of the content is the first of an element, or before them all. */
static bool is_boundary(const struct source *s, uint64_t position)
{
    return position <= s->data_offset || (position - s->data_offset) % s->element_size == 0;
}

/* Provisional space for an unsized frame: what its blocks can hold, up to where an element may
   begin. The content before the first element must lie in the first frame. */
static uint64_t reserve(const struct source *s, uint64_t base, uint64_t blocks)
{
    uint64_t end = base + blocks * BLOCK_CONTENT_MAX;

    if (end < s->data_offset)
        end = s->data_offset;
    return end + (s->element_size - (end - s->data_offset) % s->element_size) - base;
}

/* Gives decoder d the next frame; the mutex is held. False when there is none, or on failure. */
static bool open_frame(struct source *s, struct decoder *d)
{
    struct zstd_state *z = s->state;
    uint64_t limit = atomic_load(&s->limit);
    struct frame frame;
    bool more;

    if (!walk_skippable(s, &more) || !more)
        return false;
    /* Nothing in the frames from here on is wanted: --length, or a NaN that ends it all. */
    if (z->exact_needed && s->elements < limit)
        limit = s->elements;
    if (limit != SOURCE_UNKNOWN && z->next_base >= s->data_offset &&
        (z->next_base - s->data_offset) / s->element_size >= limit)
        return false;
    if (!walk_frame(s, z->next_frame, &frame))
        return false;
    if (frame.content != SOURCE_UNKNOWN && frame.content > frame.blocks * BLOCK_CONTENT_MAX) {
        source_error(s,
                     "byte %" PRIu64 ": zstd frame says it holds %" PRIu64
                     " bytes, more than its %" PRIu64 " blocks can",
                     z->next_frame, frame.content, frame.blocks);
        return false;
    }
    if ((frame.content != 0 && !is_boundary(s, z->next_base)) ||
        (frame.content == SOURCE_UNKNOWN && z->exact_needed)) {
        z->again = true;
        return false;
    }
    d->unsized = NOT_UNSIZED;
    d->said = frame.content;
    d->base = d->position = z->next_base;
    if (frame.content == SOURCE_UNKNOWN) {
        uint64_t reserved = reserve(s, z->next_base, frame.blocks);
        d->unsized = note_unsized(s, reserved);
        if (d->unsized == NOT_UNSIZED)
            return false;
        z->next_base += reserved;
    } else {
        z->next_base += frame.content;
    }
    d->exact = z->unsized_count == 0;
    d->frame = d->offset = z->next_frame;
    d->end = z->next_frame = frame.end;
    d->in.size = d->in.pos = 0;
    if (!d->context) {
        d->context = ZSTD_createDCtx();
        d->buffer = malloc(INPUT_BYTES);
    }
    if (!d->context || !d->buffer) {
        source_error(s, "out of memory");
        return false;
    }
    ZSTD_DCtx_reset(d->context, ZSTD_reset_session_only);
    d->open = true;
    z->open++;
    return true;
}

static void unmap_window(struct decoder *d)
{
    if (d->window)
        munmap(d->window, d->window_size);
    d->window = NULL;
}

/* Maps the next `size` bytes of d's frame as its input. False where that cannot be done. */
static bool map_window(struct source *s, struct decoder *d, size_t size)
{
    uint64_t begun = clock_now(), offset = s->start + d->offset;
    size_t before = (size_t)(offset % MAPPING_PAGE);
    void *map = mmap(NULL, before + size, PROT_READ, MAP_SHARED, s->fd, (off_t)(offset - before));

    if (map == MAP_FAILED)
        return false;
    d->window = map;
    d->window_size = before + size;
    if (!mapping_populate(map, before + size)) {
        unmap_window(d);
        return false;
    }
    d->in.src = (const unsigned char *)map + before;
    atomic_fetch_add(&s->input_read, size);
    atomic_fetch_add(&s->read_time, clock_now() - begun);
    return true;
}

/* Gives d its next input, which is used up. False on failure (said). */
static bool next_input(struct source *s, struct decoder *d)
{
    uint64_t left = d->end - d->offset;
    size_t count = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;

    unmap_window(d);
    d->in.pos = d->in.size = 0;
    if (count <= INPUT_BYTES || !map_window(s, d, count)) {
        ptrdiff_t got;

        count = count < INPUT_BYTES ? count : INPUT_BYTES;
        got = source_pread(s, d->buffer, count, s->start + d->offset);
        if (got >= 0 && (size_t)got < count)
            source_became_shorter(s, s->start + d->offset + (uint64_t)got);
        if (got < 0 || (size_t)got < count)
            return false;
        d->in.src = d->buffer;
    }
    d->in.size = count;
    d->offset += count;
    return true;
}

/* A call of decompress, in the form that mapping_guard takes. */
struct decode_call {
    struct source *source;
    struct decoder *decoder;
    ZSTD_outBuffer *out;
    size_t result;
};

static void call_decompress(void *argument)
{
    struct decode_call *call = argument;

    call->result = decompress(call->source, call->decoder->context, call->out, &call->decoder->in);
}

/* Decodes from d until `size` bytes are out or the frame ends (*complete). Returns how many came,
   or -1. */
static ptrdiff_t decode(struct source *s, struct decoder *d, void *buffer, size_t size,
                        bool *complete)
{
    ZSTD_outBuffer out = {buffer, size, 0};
    struct decode_call call = {s, d, &out, 0};

    *complete = false;
    while (!*complete && out.pos < size) {
        size_t out_before = out.pos, result;

        if (d->in.pos == d->in.size && d->offset < d->end && !next_input(s, d))
            return -1;
        if (!d->window) {
            call_decompress(&call);
        } else if (!mapping_guard(call_decompress, &call)) {
            source_became_shorter(s, s->start + d->offset);
            return -1;
        }
        result = call.result;
        if (ZSTD_isError(result)) {
            frame_error(s, d->frame, result);
            return -1;
        }
        *complete = result == 0;
        if (!*complete && out.pos == out_before && d->in.pos == d->in.size && d->offset == d->end) {
            source_error(s, "byte %" PRIu64 ": zstd frame is damaged: it ends too early", d->frame);
            return -1;
        }
    }
    if (*complete && (d->in.pos < d->in.size || d->offset < d->end)) {
        source_error(s, "byte %" PRIu64 ": zstd frame is damaged: it goes on after its end",
                     d->frame);
        return -1;
    }
    d->position += out.pos;
    if (*complete && d->said != SOURCE_UNKNOWN && d->said != d->position - d->base) {
        lying_frame(s, d->frame, d->said, d->position - d->base);
        return -1;
    }
    return (ptrdiff_t)out.pos;
}

/* Fills the buffer with elements from d, dropping what is none of them. False on failure. A chunk
   of no elements means that the frame is complete. */
static bool fill(struct source *s, struct decoder *d, void *buffer, size_t size,
                 struct chunk *chunk, bool *complete)
{
    struct zstd_state *z = s->state;
    uint64_t end = SOURCE_UNKNOWN; /* position behind the last element, where it is known */
    ptrdiff_t got;

    chunk->count = 0;
    chunk->data = buffer;
    *complete = false;
    if (s->elements != SOURCE_UNKNOWN &&
        s->elements < (SOURCE_UNKNOWN - s->data_offset) / s->element_size)
        end = s->data_offset + s->elements * s->element_size;

    while (chunk->count == 0 && !*complete) {
        uint64_t from = d->position;
        size_t count = size - size % s->element_size;

        if (from < s->data_offset) {
            if (count > s->data_offset - from)
                count = (size_t)(s->data_offset - from);
            if (decode(s, d, buffer, count, complete) < 0)
                return false;
            continue;
        }
        if (from >= end && z->exact_needed) { /* the rest of the frame is not asked for */
            *complete = true;
            break;
        }
        got = decode(s, d, buffer, count, complete);
        if (got < 0)
            return false;
        chunk->index = (from - s->data_offset) / s->element_size;
        /* What lies behind the array of a .npy is decoded only to see that it is sound. */
        if (d->exact && from >= end)
            got = 0;
        else if (d->exact && end - from < (uint64_t)got)
            got = (ptrdiff_t)(end - from);
        chunk->count = (size_t)got / s->element_size;
    }
    return true;
}

/* Finds a decoder to go on with; the mutex is held. NULL when this worker is done. */
static struct decoder *choose(struct source *s, unsigned worker)
{
    struct zstd_state *z = s->state;

    for (;;) {
        struct decoder *free_slot = NULL;

        if (z->again || atomic_load(&s->failed))
            return NULL;
        /* Frames in progress come first, one's own before others': that bounds the memory. */
        for (unsigned i = 0; i < z->capacity; i++) {
            struct decoder *d = &z->decoders[(worker + i) % z->capacity];
            if (d->open && !d->busy)
                return d;
            if (!d->open && !free_slot)
                free_slot = d;
        }
        if (!z->at_end && free_slot) {
            if (open_frame(s, free_slot))
                return free_slot;
            z->at_end = true;
            pthread_cond_broadcast(&z->changed);
            continue;
        }
        if (z->at_end && z->open == 0)
            return NULL;
        pthread_cond_wait(&z->changed, &z->mutex);
    }
}

static enum source_status zstd_next(struct source *s, const struct source_request *request,
                                    struct chunk *chunk)
{
    struct zstd_state *z = s->state;
    enum source_status status = SOURCE_END;

    pthread_mutex_lock(&z->mutex);
    while (status == SOURCE_END) {
        struct decoder *d = choose(s, request->worker);
        bool ok, complete;

        if (!d)
            break;
        d->busy = true;
        pthread_mutex_unlock(&z->mutex);
        ok = fill(s, d, request->buffer, request->size, chunk, &complete);
        pthread_mutex_lock(&z->mutex);
        d->busy = false;
        if (!ok || complete) {
            unmap_window(d);
            d->open = false;
            z->open--;
            if (d->unsized != NOT_UNSIZED)
                z->unsized[d->unsized].length = d->position - d->base;
        }
        pthread_cond_broadcast(&z->changed);
        if (ok && chunk->count > 0)
            status = SOURCE_CHUNK;
    }
    pthread_mutex_unlock(&z->mutex);
    return atomic_load(&s->failed) ? SOURCE_FAILED : status;
}

static enum source_status zstd_finish(struct source *s)
{
    struct zstd_state *z = s->state;
    uint64_t gap = 0, total;
    bool limited = atomic_load(&s->limit) != SOURCE_UNKNOWN;

    if (z->again)
        return SOURCE_AGAIN;
    for (size_t i = 0; i < z->unsized_count; i++) {
        struct unsized_frame *u = &z->unsized[i];
        bool last = u->base + u->reserved == z->next_base;

        /* A torn element between frames, or a header that goes beyond the first one. */
        if (!last && (u->base + u->length < s->data_offset || !is_boundary(s, u->base + u->length)))
            return SOURCE_AGAIN;
        gap += u->reserved - u->length;
        u->gap = gap;
    }
    total = z->next_base - gap;
    /* The rest was not asked for, and not looked at. But whether what ended it all lies in the
       array of a .npy can only be told from true positions. */
    if (limited)
        return z->unsized_count > 0 && s->promised != SOURCE_UNKNOWN ? SOURCE_AGAIN : SOURCE_END;
    if (s->promised != SOURCE_UNKNOWN && s->elements == s->promised &&
        total > s->data_offset + s->promised * s->element_size) {
        if (z->unsized_count > 0)
            return SOURCE_AGAIN; /* too much was handed out */
        message_warning("%s: the bytes after the array are left out", s->name);
    }
    return source_check_end(s, total) ? SOURCE_END : SOURCE_FAILED;
}

static uint64_t zstd_index(const struct source *s, uint64_t index)
{
    const struct zstd_state *z = s->state;
    uint64_t position = s->data_offset + index * s->element_size;
    size_t low = 0, high = z->unsized_count; /* how many unsized frames end at or before it */

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (z->unsized[middle].base + z->unsized[middle].reserved <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? index - z->unsized[low - 1].gap / s->element_size : index;
}

static void zstd_source_close(struct source *s)
{
    struct zstd_state *z = s->state;

    for (unsigned i = 0; i < z->capacity; i++) {
        ZSTD_freeDCtx(z->decoders[i].context);
        unmap_window(&z->decoders[i]);
        free(z->decoders[i].buffer);
    }
    free(z->decoders);
    free(z->unsized);
    pthread_mutex_destroy(&z->mutex);
    pthread_cond_destroy(&z->changed);
    free(z);
}

bool zstd_source_open(struct source *s, const struct source_options *options, unsigned workers)
{
    static const struct source_ops ops = {
        .next = zstd_next, .finish = zstd_finish, .index = zstd_index, .close = zstd_source_close};
    struct reader *stream = stream_reader_open(s);
    struct reader *reader = stream ? zstd_reader_open(s, stream) : NULL;
    struct zstd_state *z;
    bool ok = reader && source_layout(s, options, reader);

    if (reader)
        reader->close(reader);
    if (!ok)
        return false;
    z = calloc(1, sizeof *z);
    if (z)
        z->decoders = calloc(workers, sizeof *z->decoders);
    if (!z || !z->decoders) {
        source_error(s, "out of memory");
        free(z);
        return false;
    }
    pthread_mutex_init(&z->mutex, NULL);
    pthread_cond_init(&z->changed, NULL);
    z->capacity = workers;
    z->exact_needed = s->elements != s->promised || (!s->npy && s->data_offset > 0);
    atomic_store(&s->input_read, 0); /* what was read to detect the format is read again */
    s->state = z;
    s->ops = &ops;
    s->parallel = true;
    return true;
}
