/*
 * While one thread decodes, another may read ahead: input lies in two buffers, one being decoded,
 * the spare being filled. The mutex guards the spare; all else is the decoding thread's.
 */
#include "config.h"

#include "zstd/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sys/mutex.h"
#include "zstd/context.h"
#include "zstd/frames.h"

/* Compressed bytes read at a time, unless tuning has others. */
#define READ_BYTES ((size_t)256 << 10)

MUTEX_ROLE(spare_role);

/* Compressed input, after space for what was left of the input before it. */
struct input_buffer {
    size_t size; /* without that space */
    unsigned char bytes[];
};

enum spare_state {
    SPARE_EMPTY,
    SPARE_READING, /* its buffer belongs to the thread that reads */
    SPARE_FULL,
    SPARE_END,   /* the input has ended: nothing more will be read */
    SPARE_FAILED /* exhausted, with an error */
};

struct zstd_reader {
    struct zstd_file *file;
    zstd_input_read *read; /* belongs to who made the spare SPARE_READING, */
    void *input;           /* and so does this */
    size_t room;           /* bytes of both buffers, without that space; it does not change */
    ZSTD_DCtx *context;
    struct input_buffer *current; /* in.src is in it */
    ZSTD_inBuffer in;
    uint64_t consumed; /* compressed bytes before in.src */
    bool ended;        /* no more input will come */

    enum { READER_BETWEEN_FRAMES, READER_IN_FRAME } state;
    struct zstd_frame frame; /* the header of the current frame */
    bool single_pass;        /* libzstd may decode it by its single-pass path; see context.h */
    uint64_t produced;       /* bytes that came out of it */
    uint64_t position;       /* behind all that came out */
    bool by_block;           /* libzstd is given no more than a block of it at a time */
    bool filled;             /* what it has decoded may not have come out to its end */

    struct zstd_reader_ends ends;

    struct mutex mutex;
    pthread_cond_t was_read; /* the spare is not SPARE_READING any more */
    enum spare_state spare_state GUARDED_BY(spare_role);
    struct input_buffer *spare GUARDED_BY(spare_role);
};

MUTEX_ROLE_OF(spare, struct zstd_reader, mutex);

/* Reads into the spare buffer, which is empty. Drops the mutex meanwhile. */
REQUIRES(spare_role)
static void read_spare_locked(struct zstd_reader *z)
{
    struct input_buffer *spare = z->spare;
    ptrdiff_t got;

    z->spare_state = SPARE_READING;
    spare_unlock(z);
    got = z->read(z->input, spare->bytes + ZSTD_HEADER_MAX, z->room);
    spare->size = got > 0 ? (size_t)got : 0;
    spare_lock(z);
    z->spare_state = got > 0 ? SPARE_FULL : got == 0 ? SPARE_END : SPARE_FAILED;
    pthread_cond_signal(&z->was_read);
}

bool zstd_reader_ahead(struct zstd_reader *z)
{
    bool wanted;

    spare_lock(z);
    wanted = z->spare_state == SPARE_EMPTY;
    if (wanted)
        read_spare_locked(z);
    spare_unlock(z);
    return wanted;
}

/* Decodes on in the spare buffer, which is full, and leaves the current one to be filled. Its
   undecoded rest, less than a header, is put before the new input. */
REQUIRES(spare_role)
static void exchange_locked(struct zstd_reader *z)
{
    struct input_buffer *next = z->spare;
    size_t left = z->in.size - z->in.pos;
    unsigned char *begin = next->bytes + ZSTD_HEADER_MAX - left;

    memcpy(begin, (const unsigned char *)z->in.src + z->in.pos, left);
    z->consumed += z->in.pos;
    z->in = (ZSTD_inBuffer){begin, left + next->size, 0};
    z->spare = z->current;
    z->current = next;
    z->spare_state = SPARE_EMPTY;
}

/* Goes on to the next input, or finds that there is none (z->ended). False when it failed. */
static bool refill(struct zstd_reader *z)
{
    enum spare_state state;

    spare_lock(z);
    if (z->spare_state == SPARE_EMPTY)
        read_spare_locked(z);
    while (z->spare_state == SPARE_READING)
        spare_wait_for(z, &z->was_read);
    state = z->spare_state;
    if (state == SPARE_FULL)
        exchange_locked(z);
    spare_unlock(z);
    z->ended = state != SPARE_FULL;
    return state != SPARE_FAILED;
}

/* Between two frames, at this offset: whether the mark is passed, or still to come. */
static bool look_for_mark(struct zstd_reader *z, uint64_t offset)
{
    const bool ends = z->ended && z->in.pos == z->in.size;

    if (z->ends.mark == 0 || z->ends.passed || (offset < z->ends.mark && !ends))
        return true;
    z->ends.passed = offset == z->ends.mark && z->position == z->ends.mark_position;
    if (!z->ends.passed)
        zstd_take_failure(z->file, error_advised((struct advice){.kind = ADVICE_NO_SHARD},
                                                 "byte %" PRIu64
                                                 ": the seek table or the frame headers place the "
                                                 "end of a frame here, at byte %" PRIu64
                                                 " of the decompressed data, but there is none",
                                                 z->ends.mark, z->ends.mark_position));
    return z->ends.passed;
}

/* Between two frames: reads the header of the next one, and checks in it what libzstd does not
   check in every case. */
static bool begin_frame(struct zstd_reader *z)
{
    const unsigned char *b;
    struct zstd_fault fault;
    uint64_t offset;
    size_t left;

    while (z->in.size - z->in.pos < ZSTD_HEADER_MAX && !z->ended)
        if (!refill(z))
            return false;
    b = (const unsigned char *)z->in.src + z->in.pos;
    left = z->in.size - z->in.pos;
    offset = z->consumed + z->in.pos;
    if (!look_for_mark(z, offset))
        return false;
    z->produced = 0;
    z->single_pass = true;
    if (z->ended && left == 4 && !zstd_recognise(b, left)) {
        /* Before 1.5, libzstd does not look at a magic number until a fifth byte is there. */
        zstd_note_fault(z->file, &(struct zstd_fault){.kind = ZSTD_NO_FRAME, .frame = offset});
        return false;
    }
    if (!zstd_read_header(b, left, offset, &z->frame)) {
        /* Skippable, cut off, or none: libzstd knows. */
        z->frame = (struct zstd_frame){.begin = offset, .content = ZSTD_UNKNOWN};
        return true;
    }
    if (!zstd_window_allowed(z->file, &z->frame, &fault)) {
        zstd_note_fault(z->file, &fault);
        return false;
    }
    /* Nothing is decoded after the last element that is asked for. */
    z->by_block = z->file->stop != ZSTD_UNKNOWN;
    z->single_pass =
        !z->by_block && zstd_within_block(&z->frame) && zstd_all_there(b, left, z->frame);
    return true;
}

/* Finds how much input libzstd gets next of a frame that is decoded block by block: nothing until
   all has come out of it; after that up to the end of the block, or of the frame after its last
   one. False when reading failed. */
static bool limit_to_block(struct zstd_reader *z, size_t *size)
{
    struct zstd_frame *f = &z->frame;
    struct zstd_fault fault;
    uint64_t at;

    *size = z->in.pos;
    if (z->filled)
        return true;
    while (z->in.size - z->in.pos < ZSTD_BLOCK_HEADER && !z->ended)
        if (!refill(z))
            return false;
    at = z->consumed + z->in.pos;
    if (at == f->position && f->end == ZSTD_UNKNOWN &&
        z->in.size - z->in.pos >= ZSTD_BLOCK_HEADER &&
        !zstd_next_block((const unsigned char *)z->in.src + z->in.pos, f, &fault))
        z->by_block = false; /* libzstd says what is wrong with it */
    *size = z->in.size;
    if (z->by_block && at < f->position && f->position - at < z->in.size - z->in.pos)
        *size = z->in.pos + (size_t)(f->position - at);
    return true;
}

/* Has libzstd decode more of the frame. */
static bool decode_on(struct zstd_reader *z, ZSTD_outBuffer *out)
{
    const struct zstd_frame *frame = &z->frame;
    const uint64_t from = z->position;
    ZSTD_inBuffer in = z->in;
    size_t result;

    if (z->state == READER_BETWEEN_FRAMES && !z->single_pass)
        in.size = in.pos + (size_t)(frame->position - frame->begin);
    else if (z->by_block && !limit_to_block(z, &in.size))
        return false;
    in.src = z->in.src;
    in.pos = z->in.pos;
    result = zstd_context_decompress(z->file, z->context, out, &in);
    z->in.pos = in.pos;
    if (ZSTD_isError(result)) {
        zstd_note_refusal(z->file, frame->begin, result);
        return false;
    }
    z->state = result == 0 ? READER_BETWEEN_FRAMES : READER_IN_FRAME;
    z->produced += out->pos;
    z->position += out->pos;
    z->filled = out->pos == out->size;
    if (z->by_block)
        zstd_note_block(z->file, from, z->position, frame->position);
    if (z->state == READER_BETWEEN_FRAMES && frame->content != ZSTD_UNKNOWN &&
        frame->content != z->produced) {
        zstd_note_wrong_content(z->file, frame->begin, frame->content, z->produced);
        return false;
    }
    return true;
}

/* Looks whether anything follows the first frame with content. False on failure. */
static bool find_end(struct zstd_reader *z)
{
    while (z->in.pos == z->in.size && !z->ended)
        if (!refill(z))
            return false;
    z->ends.at_end = z->in.pos == z->in.size;
    return true;
}

ptrdiff_t zstd_reader_read(struct zstd_reader *z, void *buffer, size_t size, bool probing)
{
    ZSTD_outBuffer out = {buffer, size, 0};

    while (out.pos == 0) {
        const bool filled = z->filled;
        uint64_t before;

        if (z->state == READER_BETWEEN_FRAMES) {
            if (probing && z->produced > 0)
                return find_end(z) ? 0 : -1;
            if (!begin_frame(z))
                return -1;
            if (z->in.size == z->in.pos) {
                z->ends.at_end = true;
                return 0;
            }
        } else if (z->in.pos == z->in.size && !z->ended && !(z->by_block && z->filled) &&
                   !refill(z)) {
            return -1;
        }
        before = z->consumed + z->in.pos;
        if (!decode_on(z, &out))
            return -1;
        if (z->ended && out.pos == 0 && z->consumed + z->in.pos == before &&
            z->state == READER_IN_FRAME && !(z->by_block && filled)) {
            zstd_fail(z->file, ERROR_DATA,
                      "ends at byte %" PRIu64
                      ", inside the zstd frame that begins at byte %" PRIu64,
                      z->consumed + z->in.size, z->frame.begin);
            return -1;
        }
    }
    return (ptrdiff_t)out.pos;
}

UNCHECKED void zstd_reader_close(struct zstd_reader *z)
{
    ZSTD_freeDCtx(z->context);
    free(z->current);
    free(z->spare);
    mutex_destroy(&z->mutex);
    pthread_cond_destroy(&z->was_read);
    free(z);
}

UNCHECKED struct zstd_reader *zstd_reader_open(struct zstd_file *file, zstd_input_read *read,
                                               void *input, uint64_t origin, uint64_t position)
{
    struct zstd_reader *z = calloc(1, sizeof *z);

    if (!z)
        return NULL;
    zstd_forget_errors(file);
    mutex_init(&z->mutex);
    pthread_cond_init(&z->was_read, NULL);
    z->file = file;
    z->read = read;
    z->input = input;
    z->context = zstd_context_open(file);
    z->room = file->tuning->read > 0 ? file->tuning->read : READ_BYTES;
    z->current = malloc(sizeof *z->current + ZSTD_HEADER_MAX + z->room);
    z->spare = malloc(sizeof *z->spare + ZSTD_HEADER_MAX + z->room);
    if (!z->context || !z->current || !z->spare) {
        zstd_reader_close(z);
        return NULL;
    }
    z->in.src = z->current->bytes;
    z->consumed = origin;
    z->position = position;
    return z;
}

struct zstd_reader_ends *zstd_reader_ends(struct zstd_reader *z)
{
    return &z->ends;
}
