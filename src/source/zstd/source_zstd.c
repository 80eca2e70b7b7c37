/*
 * zstd. A file's frames are decoded in parallel. Small ones are claimed, in batches, by a worker
 * that decodes them by itself, a few blocks at a time: what it hands out is still in its level-2
 * cache when it is reduced. A large frame is decoded as pipes are read: by one worker at a time,
 * which fills the buffers of those that have nothing else to do. Frames are found ahead of all that
 * by a worker whose role it is for a while. Pipes are decoded in order by a reader.
 *
 * A worker waits only while another has a role, the finder's or a large frame's, and whoever gives
 * a role up or claims something calls one of those that wait, if there is more to do.
 *
 * Frames need not say how long their content is (pzstd's do not). A batch of such is given as much
 * of the index space as its blocks can hold at most; source_index maps these provisional positions
 * to true ones when all lengths are known. That the elements are not torn across such batches is
 * assumed, and checked at the end: where it does not hold, the source asks to be read again in
 * order. So it does when hints of where frames begin turn out to be wrong: what is said of such a
 * file is what reading it in order says.
 */
#include "config.h"

#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_d_stableOutBuffer */
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "source/formats.h"
#include "source/waiters.h"
#include "source/zstd/frames.h"
#include "source/zstd/zstd.h"
#include "sys/clock.h"
#include "sys/mapping.h"
#include "sys/message.h"

/* A decoder that takes windows as large as the source does; NULL without memory. */
static ZSTD_DCtx *open_context(const struct source *s)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    /* On a machine of 32 bits libzstd takes 1 GiB. */
    int most = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound;

    if (context)
        ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax,
                               s->window_log < most ? s->window_log : most);
    return context;
}

/* Says why libzstd refused the frame that begins at byte `frame`. */
static void frame_error(struct source *s, uint64_t frame, size_t code)
{
    switch ((int)ZSTD_getErrorCode(code)) {        /* of which later versions have more */
    case ZSTD_error_frameParameter_windowTooLarge: /* of 2 GiB, on a machine of 32 bits */
        zstd_fault_say(s, &(struct zstd_fault){.kind = ZSTD_WINDOW, .frame = frame});
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
 * Where libzstd has all of a frame and room for what that says it holds, it decodes it at one go,
 * and then holds it neither to the limit of windows nor to that of blocks. Whether a frame is taken
 * must not depend on buffers. So windows are looked at here; and of frames that may hold more than
 * a block libzstd is given the header first, and then looks at the size of each block. That costs
 * nothing that can be measured; of small frames it would.
 *
 * What cannot be had so is that a match reaches no further back than the window: libzstd never
 * looks. In a frame with such a match it finds the bytes meant where all of the content is at hand,
 * as in small frames of files; elsewhere it finds others, or that the frame is damaged.
 */

/* Whether no block of a frame can hold more than it may, if all of them hold what the frame says.
 */
static bool within_block(const struct zstd_frame *frame)
{
    return frame->content <= frame->block_most;
}

/*
 * In order.
 */

/* Compressed bytes read at a time. */
#define INPUT_BYTES ((size_t)256 << 10)

/* Compressed input, behind room for the end of what came before it. */
struct input_buffer {
    unsigned char bytes[ZSTD_HEADER_MAX + INPUT_BYTES];
    size_t size; /* behind that room */
};

struct zstd_reader {
    struct reader base;
    struct source *source;
    struct reader *input;
    ZSTD_DCtx *context;
    struct input_buffer *current; /* in.src is in it */
    ZSTD_inBuffer in;
    uint64_t consumed;       /* compressed bytes before in.src */
    struct zstd_frame frame; /* the header of the current frame */
    bool at_once;            /* libzstd may decode it at one go */
    uint64_t produced;       /* bytes that came out of it */
    size_t expected;         /* what libzstd last said: 0 between frames */
    bool ended;              /* the compressed input is */

    /* What is read ahead. */
    pthread_mutex_t mutex; /* guards the following */
    pthread_cond_t read;
    enum { SPARE_EMPTY, SPARE_READING, SPARE_READ } spare_state;
    struct input_buffer *spare; /* its reader's while it is being read */
    bool spare_failed;
    bool over; /* input has ended, or failed */
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

/* Reads what there is into a buffer. */
static bool read_input(struct zstd_reader *z, struct input_buffer *buffer)
{
    ptrdiff_t got = reader_read(z->input, buffer->bytes + ZSTD_HEADER_MAX, INPUT_BYTES);

    buffer->size = got > 0 ? (size_t)got : 0;
    return got >= 0;
}

/* Reads into the spare buffer, which is marked as being read; the mutex is held. */
static void read_spare(struct zstd_reader *z)
{
    bool good;

    z->spare_state = SPARE_READING;
    pthread_mutex_unlock(&z->mutex);
    good = read_input(z, z->spare);
    pthread_mutex_lock(&z->mutex);
    z->spare_state = SPARE_READ;
    z->spare_failed = !good;
    z->over = !good || z->spare->size == 0;
    pthread_cond_signal(&z->read);
}

static bool zstd_ahead(struct reader *r)
{
    struct zstd_reader *z = (struct zstd_reader *)r;
    bool wanted;

    pthread_mutex_lock(&z->mutex);
    wanted = z->spare_state == SPARE_EMPTY && !z->over;
    if (wanted)
        read_spare(z);
    pthread_mutex_unlock(&z->mutex);
    return wanted;
}

/* Goes on to the next input. What is left of this, less than a header, comes before it. */
static bool refill(struct zstd_reader *z)
{
    size_t left = z->in.size - z->in.pos;
    struct input_buffer *next;
    bool good;

    pthread_mutex_lock(&z->mutex);
    if (z->spare_state == SPARE_EMPTY && !z->over)
        read_spare(z);
    while (z->spare_state == SPARE_READING)
        pthread_cond_wait(&z->read, &z->mutex);
    good = !z->spare_failed;
    if (z->spare_state == SPARE_EMPTY || z->spare->size == 0) {
        z->ended = true;
    } else {
        next = z->spare;
        z->spare = z->current;
        z->current = next;
        z->spare_state = SPARE_EMPTY;
    }
    pthread_mutex_unlock(&z->mutex);
    if (!z->ended) {
        unsigned char *begin = z->current->bytes + ZSTD_HEADER_MAX - left;

        memcpy(begin, (const unsigned char *)z->in.src + z->in.pos, left);
        z->consumed += z->in.pos;
        z->in = (ZSTD_inBuffer){begin, left + z->current->size, 0};
    }
    return good;
}

/* Between two frames: looks at what the next one says of itself. libzstd does not hold it to that
   in every case. */
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
    z->produced = 0;
    z->at_once = true;
    if (!zstd_read_header(b, left, offset, &z->frame)) {
        /* Skippable, cut off, or none: libzstd knows. */
        z->frame = (struct zstd_frame){.begin = offset, .content = SOURCE_UNKNOWN};
        return true;
    }
    if (!zstd_window_allowed(z->source, &z->frame, &fault)) {
        zstd_fault_say(z->source, &fault);
        return false;
    }
    z->at_once = within_block(&z->frame) && zstd_all_there(b, left, z->frame);
    return true;
}

/* Has libzstd decode more of the frame. False on failure, which has been said. */
static bool decode_on(struct zstd_reader *z, ZSTD_outBuffer *out)
{
    const struct zstd_frame *frame = &z->frame;
    ZSTD_inBuffer in = z->in;

    if (z->expected == 0 && !z->at_once)
        in.size = in.pos + (size_t)(frame->position - frame->begin);
    z->expected = decompress(z->source, z->context, out, &in);
    z->in.pos = in.pos;
    if (ZSTD_isError(z->expected)) {
        frame_error(z->source, frame->begin, z->expected);
        return false;
    }
    z->produced += out->pos;
    if (z->expected == 0 && frame->content != SOURCE_UNKNOWN && frame->content != z->produced) {
        lying_frame(z->source, frame->begin, frame->content, z->produced);
        return false;
    }
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
        } else if (z->in.pos == z->in.size && !z->ended && !refill(z)) {
            return -1;
        }
        before = z->in.pos;
        if (!decode_on(z, &out))
            return -1;
        if (z->ended && out.pos == 0 && z->in.pos == before && z->expected != 0) {
            source_error(z->source,
                         "ends at byte %" PRIu64
                         ", inside the zstd frame that begins at byte %" PRIu64,
                         z->consumed + z->in.size, z->frame.begin);
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
    free(z->current);
    free(z->spare);
    pthread_mutex_destroy(&z->mutex);
    pthread_cond_destroy(&z->read);
    free(z);
}

struct reader *zstd_reader_open(struct source *s, struct reader *input)
{
    struct zstd_reader *z = calloc(1, sizeof *z);

    if (!z) {
        source_error(s, "out of memory");
        input->close(input);
        return NULL;
    }
    pthread_mutex_init(&z->mutex, NULL);
    pthread_cond_init(&z->read, NULL);
    z->base.read = zstd_read;
    z->base.close = zstd_close;
    z->base.ahead = zstd_ahead;
    z->source = s;
    z->input = input;
    z->context = open_context(s);
    z->current = malloc(sizeof *z->current);
    z->spare = malloc(sizeof *z->spare);
    if (!z->context || !z->current || !z->spare) {
        source_error(s, "out of memory");
        zstd_close(&z->base);
        return NULL;
    }
    z->in.src = z->current->bytes;
    return &z->base;
}

/*
 * In parallel.
 */

/* Resident memory is to stay under 256 MiB. This is what all workers together may take of it for
   what they decode into, for the input they keep mapped, and for libzstd's tables and an engine's
   buffer: WORKER_BYTES each. */
#define MEMORY_BUDGET ((uint64_t)246 << 20)
#define WORKER_BYTES ((uint64_t)512 << 10)

/* Frames that hold more are large, or less where the workers are many. 8 MiB are what pzstd makes
   them at its usual levels. */
#define ROOM_MAX ((size_t)8 << 20)
#define ROOM_MIN ((size_t)256 << 10)

/* Memory behind the content of a frame: libzstd puts literals there, and decodes faster (2 %) than
   where it has to put them elsewhere. */
#define ROOM_BEHIND ((size_t)256 << 10)

/* The most that is handed out at a time of what lies in the source's memory. It should still be in
   the level-2 cache when it is reduced. But where a core slows down for vector instructions, it
   stays slow for a while: pieces of 288 KiB and less cost 5 % more of the time of decoding. */
#define PIECE_BYTES ((size_t)1 << 20)

/* Windows of large frames under way, together; one frame is decoded whatever window it needs. */
#define WINDOW_BUDGET ((uint64_t)128 << 20)

/* A decoder with a larger window than this is not kept for another frame. */
#define WINDOW_KEPT ((uint64_t)4 << 20)

/* Compressed bytes made present, and released, at a time; fewer where the workers are many.
   Releasing interrupts every core. Up to twice as many are present for a worker, and of frames that
   are decoded in one call all. */
#define PRESENT_MAX ((uint64_t)2 << 20)
#define PRESENT_MIN ((uint64_t)256 << 10)
#define PRESENT_BUDGET ((uint64_t)64 << 20)

/* Slots for large frames: one for each worker, and one for each that still helps with another. */
#define STREAMS(workers) (2 * (size_t)(workers))

#define NOT_UNSIZED SIZE_MAX

/* A batch whose frames do not say how long they are. */
struct unsized {
    uint64_t base;     /* provisional offset of its content */
    uint64_t reserved; /* bytes of provisional space it was given; 0: not known yet */
    uint64_t length;   /* bytes it turned out to hold */
    uint64_t gap;      /* provisional bytes without content up to its end; set at the finish */
};

/* A batch, and where its content stands. */
struct task {
    struct zstd_batch batch;
    uint64_t base;  /* provisional offset of its content */
    size_t unsized; /* index of its struct unsized, or NOT_UNSIZED */
    bool exact;     /* positions are true ones: no unsized batch up to and with this one */
};

/* The compressed bytes of a task. */
struct input {
    struct zstd_view view; /* of the mapping; of a buffer where there is none */
    uint64_t end;          /* what is needed of it lies before */
    /* Changed by the decoder, and by those who help it. */
    _Atomic uint64_t present;  /* offset up to which the mapping has been made present */
    _Atomic uint64_t released; /* offset up to which it has been released */
};

/* What decodes a task; it belongs to the worker that has it, or that made it busy. */
struct decoder {
    struct task task;
    ZSTD_DCtx *context;
    bool stable; /* the context decodes into memory that stays, without a window of its own */
    struct input input;
    _Atomic uint64_t offset; /* of the next compressed byte */
    uint64_t position;       /* provisional offset of the next byte to come out */
    bool in_frame;
    uint64_t frame; /* offset of the first byte of the frame under way, or of the last */
    uint64_t begun; /* position of its content */
    uint64_t said;  /* bytes its header says it holds, or SOURCE_UNKNOWN */
};

/* What a worker has in hand: a task of small frames. */
struct hand {
    bool taken;      /* it has a task, which has not been noted as done */
    bool open;       /* not all of that is decoded */
    uint64_t beyond; /* bytes of its input that may be present beyond twice z->present */
    struct decoder decoder;
    struct zstd_frame walk; /* the frame under way, up to where blocks are decoded */
    unsigned char *memory;  /* where content is decoded */
    size_t capacity;
    size_t ready, filled; /* what there is to hand out: memory[ready .. filled) */
    uint64_t from;        /* provisional offset of its first byte */
    ZSTD_outBuffer out;   /* of the frame under way */
};

/* A large frame. `open` while the slot has one and `busy` while a worker decodes it; both are
   guarded by the mutex. */
struct stream {
    bool open;
    bool busy;
    bool helped;     /* a worker that waits makes its input present */
    uint64_t window; /* bytes it may need for its window */
    struct decoder decoder;
};

struct zstd_state {
    unsigned char *map; /* the input; NULL where it cannot be mapped */
    size_t map_before;  /* bytes of the mapping before it */
    uint64_t present;   /* compressed bytes to make present at a time */
    size_t room;        /* most bytes of a small batch's frames */
    bool exact_needed;  /* --skip or --length count true positions */
    unsigned workers;
    struct hand *hands;
    _Atomic bool again; /* the frames must be read in order */

    pthread_mutex_t mutex; /* guards the following */
    struct waiter *waiters;
    struct task *queue; /* tasks found, of queue_size, from queue_first on */
    unsigned queue_size, queue_first, queue_count;
    bool finding;           /* a worker has the role of the finder */
    bool found_all;         /* nothing more is to be found */
    uint64_t next_base;     /* provisional offset of the content of what will be found next */
    uint64_t windows;       /* of the streams that are open */
    uint64_t budget;        /* bytes that hands may still take for input beyond that */
    unsigned open;          /* streams */
    struct stream *streams; /* slots */
    struct unsized *unsized;
    size_t unsized_count, unsized_capacity;

    struct zstd_finder finder; /* the finder's */
};

/* A frame is not what it should be. Where hints were believed it may be their fault: then the
   source is read again, and nothing is said. */
static bool doubt(struct source *s, const struct decoder *d)
{
    struct zstd_state *z = s->state;

    if (d->task.batch.hinted)
        atomic_store(&z->again, true);
    return d->task.batch.hinted;
}

static bool became_shorter(struct source *s, const struct decoder *d)
{
    source_became_shorter(s, s->start + atomic_load(&d->offset));
    return false;
}

/*
 * The input of a decoder.
 */

/* Releases the pages before `offset`, when there are enough of them or `all` is set. */
static void release_input(const struct zstd_state *z, struct input *in, uint64_t offset, bool all)
{
    uint64_t from = atomic_load(&in->released), to;

    /* Whole pages of the mapping. */
    to = (offset + z->map_before) / mapping_page() * mapping_page();
    if (!in->view.map || to < from + (all ? mapping_page() : z->present) ||
        !atomic_compare_exchange_strong(&in->released, &from, to))
        return;
    mapping_release(z->map - z->map_before + from, (size_t)(to - from));
}

/* Makes the mapping present from where it is not yet. False where the kernel refuses. */
static bool present_input(struct source *s, struct input *in)
{
    const struct zstd_state *z = s->state;
    uint64_t from = atomic_load(&in->present), begun = clock_now();
    uint64_t to = in->end - from > z->present ? from + z->present : in->end;

    if (from >= in->end)
        return true;
    if (!mapping_populate(z->map + from, (size_t)(to - from)))
        return false;
    atomic_compare_exchange_strong(&in->present, &from, to);
    atomic_fetch_add(&s->read_time, clock_now() - begun);
    return true;
}

/* Whether input that d will soon need is not present yet. */
static bool input_ahead(const struct zstd_state *z, const struct decoder *d)
{
    uint64_t present = atomic_load(&d->input.present);

    return present < d->input.end && present < atomic_load(&d->offset) + 2 * z->present;
}

/* The next compressed bytes, up to `size` of them; NULL on failure (said). */
static const unsigned char *input_bytes(struct source *s, struct decoder *d, size_t size,
                                        size_t *got)
{
    const struct zstd_state *z = s->state;
    struct input *in = &d->input;
    uint64_t offset = atomic_load(&d->offset);

    release_input(z, in, offset, false);
    while (in->view.map && atomic_load(&in->present) < offset + size &&
           atomic_load(&in->present) < in->end)
        if (!present_input(s, in))
            in->view.map = NULL;
    if (!in->view.map && !in->view.buffer) {
        in->view.buffer = malloc(INPUT_BYTES);
        in->view.capacity = INPUT_BYTES;
        if (!in->view.buffer) {
            source_error(s, "out of memory");
            return NULL;
        }
    }
    return zstd_view_at(&in->view, offset, size, got);
}

/* Passes compressed bytes that have been used. */
static void pass_input(struct source *s, struct decoder *d, size_t size)
{
    atomic_fetch_add(&d->offset, size);
    atomic_fetch_add_explicit(&s->input_read, size, memory_order_relaxed);
}

/* Makes d ready for a task. `stable`: its frames are decoded in one piece of memory each. False
   without memory (said). */
static bool begin_task(struct source *s, struct decoder *d, const struct task *task, bool stable)
{
    const struct zstd_state *z = s->state;
    uint64_t begin = task->batch.begin;

    if (!d->context) {
        d->context = open_context(s);
#ifdef ZSTD_d_stableOutBuffer
        d->stable = stable && d->context &&
                    !ZSTD_isError(ZSTD_DCtx_setParameter(d->context, ZSTD_d_stableOutBuffer, 1));
#else
        (void)stable;
#endif
        if (!d->context) {
            source_error(s, "out of memory");
            return false;
        }
    }
    d->task = *task;
    d->position = task->base;
    d->in_frame = false;
    d->frame = begin;
    atomic_store(&d->offset, begin);
    d->input.view = (struct zstd_view){.source = s,
                                       .map = z->map,
                                       .buffer = d->input.view.buffer,
                                       .capacity = d->input.view.capacity};
    d->input.end = task->batch.end == SOURCE_UNKNOWN ? s->info.input_bytes : task->batch.end;
    atomic_store(&d->input.present, begin);
    atomic_store(&d->input.released, (begin + z->map_before) / mapping_page() * mapping_page());
    return true;
}

static void end_decoder(struct decoder *d)
{
    ZSTD_freeDCtx(d->context);
    free(d->input.view.buffer);
}

/* Between two frames of d, the next of which stands at its offset. */
static void begin_frame_of(struct decoder *d, uint64_t said)
{
    ZSTD_DCtx_reset(d->context, ZSTD_reset_session_only);
    d->in_frame = true;
    d->frame = atomic_load(&d->offset);
    d->begun = d->position;
    d->said = said;
}

/* libzstd has refused a frame. */
static bool refused_frame(struct source *s, const struct decoder *d, size_t code)
{
    if (!doubt(s, d))
        frame_error(s, d->frame, code);
    return false;
}

/* The frame has ended. False when it held other than it said. */
static bool end_frame(struct source *s, struct decoder *d)
{
    uint64_t held = d->position - d->begun;

    d->in_frame = false;
    if (d->said == SOURCE_UNKNOWN || d->said == held)
        return true;
    if (!doubt(s, d))
        lying_frame(s, d->frame, d->said, held);
    return false;
}

/* Feeds compressed bytes to libzstd, and keeps count of what comes out. False on failure (said, or
   in doubt). *ended says that the frame has. */
static bool feed(struct source *s, struct decoder *d, ZSTD_outBuffer *out, ZSTD_inBuffer *in,
                 bool *ended)
{
    size_t before = out->pos, result = decompress(s, d->context, out, in);

    if (ZSTD_isError(result))
        return refused_frame(s, d, result);
    d->position += out->pos - before;
    pass_input(s, d, in->pos);
    *ended = result == 0;
    return !*ended || end_frame(s, d);
}

/*
 * Small frames.
 */

/* Position behind the last element that is asked for, where that is known. */
static uint64_t end_position(const struct source *s)
{
    if (s->info.elements < (SOURCE_UNKNOWN - s->data_offset) / s->info.element_size)
        return s->data_offset + s->info.elements * s->info.element_size;
    return SOURCE_UNKNOWN;
}

/* Whether nothing from d's position on is wanted: --length, or a NaN that ends it all. */
static bool unwanted(const struct source *s, const struct decoder *d)
{
    const struct zstd_state *z = s->state;
    uint64_t limit = atomic_load_explicit(&s->limit, memory_order_relaxed);

    return (z->exact_needed && d->position >= end_position(s)) ||
           (d->position >= s->data_offset &&
            (d->position - s->data_offset) / s->info.element_size >= limit);
}

/* Whether a batch that has come to its end is what it should be. */
static bool check_batch(struct source *s, struct decoder *d)
{
    const struct zstd_batch *batch = &d->task.batch;
    bool same = atomic_load(&d->offset) == batch->end &&
                (batch->content == SOURCE_UNKNOWN || batch->content == d->position - d->task.base);

    if (!same && !doubt(s, d))
        source_error(s, "byte %" PRIu64 ": zstd frame is damaged: it ends elsewhere than it did",
                     d->frame);
    return same;
}

/* What is wrong with a frame that was sound when it was found. */
static bool changed_frame(struct source *s, const struct decoder *d, const struct zstd_fault *fault)
{
    if (!doubt(s, d))
        zstd_fault_say(s, fault);
    return false;
}

/* A block has come out, which began at `where`. False when it held more than it may. */
static bool check_block(struct source *s, const struct hand *h, uint64_t where, size_t held)
{
    if (held <= h->walk.block_most)
        return true;
    return changed_frame(
        s, &h->decoder,
        &(struct zstd_fault){.kind = ZSTD_BLOCK_SIZE, .frame = h->decoder.frame, .where = where});
}

/* Decodes the hand's frame, all of which is at hand, in one call: so libzstd is fastest. It has one
   block, or is within one. False on failure. */
static bool in_one_call(struct source *s, struct hand *h, const unsigned char *b, size_t size)
{
    struct decoder *d = &h->decoder;
    uint64_t begun = clock_now();
    size_t result = ZSTD_decompressDCtx(d->context, h->out.dst, h->out.size, b, size);

    atomic_fetch_add(&s->decode_time, clock_now() - begun);
    if (ZSTD_isError(result))
        return refused_frame(s, d, result);
    h->filled += result;
    d->position += result;
    pass_input(s, d, size);
    return end_frame(s, d) && check_block(s, h, h->walk.position, result);
}

/* Decodes the hand's frame, all of which is at hand: its header, and the rest. False on failure. */
static bool in_two_calls(struct source *s, struct hand *h, const unsigned char *b, size_t size)
{
    struct decoder *d = &h->decoder;
    size_t header = (size_t)(h->walk.position - h->walk.begin);
    ZSTD_inBuffer first = {b, header, 0}, rest = {b + header, size - header, 0};
    bool ended = false;

    if (!feed(s, d, &h->out, &first, &ended) || !feed(s, d, &h->out, &rest, &ended))
        return false;
    h->filled += h->out.pos;
    if (!ended) {
        struct zstd_fault fault = {.kind = ZSTD_CUT_OFF, .frame = d->frame};
        return changed_frame(s, d, &fault);
    }
    return true;
}

/* Decodes the hand's frame, which ends at `end`, at one go. False on failure. */
static bool whole_frame(struct source *s, struct hand *h, uint64_t end, bool one_block)
{
    size_t size = (size_t)(end - h->walk.begin), got;
    const unsigned char *b = input_bytes(s, &h->decoder, size, &got);

    if (!b)
        return false;
    if (got < size) /* the kernel does not map it any more: piece by piece, then */
        return true;
    return one_block || within_block(&h->walk) ? in_one_call(s, h, b, size)
                                               : in_two_calls(s, h, b, size);
}

/* Begins the next frame of the hand's batch, and decodes all of it where that can be; or passes a
   skippable one. False on failure. */
static bool next_small(struct source *s, struct hand *h)
{
    const struct zstd_state *z = s->state;
    struct decoder *d = &h->decoder;
    struct zstd_frame whole;
    struct zstd_fault fault = {ZSTD_SOUND, 0, 0, 0};
    uint64_t skippable, end;
    size_t got;
    const unsigned char *b = input_bytes(s, d, ZSTD_HEADER_MAX, &got);

    if (!b)
        return false;
    if (!zstd_recognise(b, got)) {
        fault = (struct zstd_fault){.kind = ZSTD_NO_FRAME, .frame = atomic_load(&d->offset)};
        return changed_frame(s, d, &fault);
    }
    skippable = zstd_skippable(b, got);
    if (skippable > 0) {
        atomic_fetch_add(&d->offset, skippable); /* has been counted when it was found */
        return true;
    }
    if (!zstd_header(&d->input.view, atomic_load(&d->offset), &h->walk, &fault))
        return changed_frame(s, d, &fault);
    begin_frame_of(d, h->walk.content);
    h->out = (ZSTD_outBuffer){h->memory + h->filled, h->capacity - h->filled, 0};
    if (!d->input.view.map)
        return true;
    whole = h->walk;
    /* Of a batch's only frame the end is known; whether there is a second block is enough then. */
    if (!zstd_walk(&d->input.view, &whole,
                   d->task.batch.frames == 1 && !within_block(&whole) ? 1 : SOURCE_UNKNOWN, &fault))
        return changed_frame(s, d, &fault);
    end = whole.end == SOURCE_UNKNOWN ? d->task.batch.end : whole.end;
    if (end < whole.position) {
        fault = (struct zstd_fault){.kind = ZSTD_CUT_OFF, .frame = d->frame};
        return changed_frame(s, d, &fault);
    }
    return end - whole.begin > 2 * z->present + h->beyond ||
           whole_frame(s, h, end, whole.end == end && whole.blocks == 1);
}

/* Decodes the next block of the hand's frame. False on failure. */
static bool next_block(struct source *s, struct hand *h)
{
    struct decoder *d = &h->decoder;
    struct zstd_fault fault = {ZSTD_SOUND, 0, 0, 0};
    const uint64_t where = h->walk.position;
    size_t wanted, before = h->out.pos;
    bool ended = false;

    if (!zstd_block(&d->input.view, &h->walk, &fault))
        return changed_frame(s, d, &fault);
    wanted = (size_t)((h->walk.end == SOURCE_UNKNOWN ? h->walk.position : h->walk.end) -
                      atomic_load(&d->offset));
    while (wanted > 0 && !ended) {
        ZSTD_inBuffer in = {.pos = 0};

        in.src = input_bytes(s, d, wanted < INPUT_BYTES ? wanted : INPUT_BYTES, &in.size);
        if (!in.src)
            return false;
        if (in.size == 0)
            return became_shorter(s, d);
        if (!feed(s, d, &h->out, &in, &ended))
            return false;
        wanted -= in.pos;
    }
    h->filled += h->out.pos - before;
    if (!check_block(s, h, where, h->out.pos - before))
        return false;
    if (ended != (h->walk.end != SOURCE_UNKNOWN) || wanted > 0) {
        fault = (struct zstd_fault){.kind = ZSTD_CUT_OFF, .frame = d->frame};
        return changed_frame(s, d, &fault);
    }
    return true;
}

/* Decodes until `bytes` are ready, no further frame fits in behind them, or the batch is complete
   (h->open is false then). False on failure. */
static bool decode_small(struct source *s, struct hand *h, size_t bytes)
{
    struct decoder *d = &h->decoder;

    while (h->filled - h->ready < bytes) {
        if (!d->in_frame) {
            if (unwanted(s, d) || atomic_load(&d->offset) >= d->task.batch.end) {
                h->open = false;
                release_input(s->state, &d->input, atomic_load(&d->offset), true);
                return unwanted(s, d) || check_batch(s, d);
            }
            if (h->filled - h->ready < s->info.element_size) {
                memmove(h->memory, h->memory + h->ready, h->filled - h->ready);
                h->filled -= h->ready;
                h->ready = 0;
            }
            if (h->capacity - h->filled < d->task.batch.frame_most)
                return true;
            if (!next_small(s, h))
                return false;
        } else if (!next_block(s, h)) {
            return false;
        }
    }
    return true;
}

/* A call of decode_small, in the form that mapping_guard takes. */
struct small_call {
    struct source *source;
    struct hand *hand;
    size_t bytes;
    bool good;
};

static void call_decode_small(void *argument)
{
    struct small_call *call = argument;

    call->good = decode_small(call->source, call->hand, call->bytes);
}

/* Hands out up to `piece` bytes of what is ready as a chunk. False when that is no whole element.
 */
static bool take_ready(const struct source *s, struct hand *h, size_t piece, struct chunk *chunk)
{
    size_t size = h->filled - h->ready;
    uint64_t end = end_position(s);

    if (h->from < s->data_offset) {
        size_t header = size < s->data_offset - h->from ? size : (size_t)(s->data_offset - h->from);

        h->ready += header;
        h->from += header;
        size -= header;
    }
    /* What lies behind the array of a .npy is decoded only to see that it is sound. */
    if (h->decoder.task.exact && h->from >= end) {
        h->ready += size;
        h->from += size;
        return false;
    }
    if (h->decoder.task.exact && h->from + size > end)
        size = (size_t)(end - h->from);
    if (size > piece)
        size = piece;
    size -= size % s->info.element_size;
    if (size == 0)
        return false;
    chunk->index = (h->from - s->data_offset) / s->info.element_size;
    chunk->count = size / s->info.element_size;
    chunk->data = h->memory + h->ready;
    h->ready += size;
    h->from += size;
    return true;
}

/* The next chunk of the task in the worker's hand: where it lies for a worker that has no chunk in
   use, which decides how much it takes so; others get a copy. False when there is none, or on
   failure. */
static bool next_of_hand(struct source *s, struct hand *h, const struct source_request *request,
                         struct chunk *chunk)
{
    size_t piece = request->size;
    struct small_call call = {.source = s, .hand = h, .good = true};
    bool taken;

    if (request->borrow && request->in_place > piece)
        piece = request->in_place;
    if (request->borrow && piece > PIECE_BYTES)
        piece = PIECE_BYTES;
    call.bytes = piece - piece % s->info.element_size;
    do {
        if (h->open && !mapping_guard(call_decode_small, &call))
            call.good = became_shorter(s, &h->decoder);
        taken = call.good && take_ready(s, h, piece, chunk);
    } while (call.good && !taken && h->open);
    if (taken && !request->borrow)
        chunk->data = memcpy(request->buffer, chunk->data, chunk->count * s->info.element_size);
    return taken;
}

/*
 * Large frames.
 */

/* Feeds the decoder with all input that is at hand. False on failure. */
static bool feed_stream(struct source *s, struct decoder *d, ZSTD_outBuffer *out, bool *ended)
{
    const uint64_t offset = atomic_load(&d->offset);
    struct zstd_fault fault = {.kind = ZSTD_CUT_OFF, .frame = d->frame};
    struct zstd_frame frame;
    ZSTD_inBuffer in = {.pos = 0};
    size_t before = out->pos;

    /* Never less than a block: libzstd would copy what comes before the rest of it. */
    in.src = input_bytes(s, d, INPUT_BYTES, &in.size);
    if (!in.src)
        return false;
    if (d->input.view.map)
        in.size = (size_t)(atomic_load(&d->input.present) - offset);
    if (in.size == 0 && offset < d->input.end)
        return became_shorter(s, d);
    if (!d->in_frame) {
        begin_frame_of(d, d->task.batch.content);
        if (zstd_read_header(in.src, in.size, offset, &frame))
            in.size = (size_t)(frame.position - offset);
    }
    if (!feed(s, d, out, &in, ended))
        return false;
    return *ended || out->pos > before || in.pos > 0 || changed_frame(s, d, &fault);
}

/* Decodes until the buffer is full or the frame ends. False on failure. */
static bool decode_stream(struct source *s, struct decoder *d, ZSTD_outBuffer *out, bool *ended)
{
    *ended = false;
    while (!*ended && out->pos < out->size)
        if (!feed_stream(s, d, out, ended))
            return false;
    if (*ended && d->task.batch.end != SOURCE_UNKNOWN &&
        atomic_load(&d->offset) != d->task.batch.end) {
        if (!doubt(s, d))
            source_error(s, "byte %" PRIu64 ": zstd frame is damaged: it goes on after its end",
                         d->frame);
        return false;
    }
    return true;
}

/* A call of decode_stream, in the form that mapping_guard takes. */
struct stream_call {
    struct source *source;
    struct decoder *decoder;
    ZSTD_outBuffer *out;
    bool *ended;
    bool good;
};

static void call_decode_stream(void *argument)
{
    struct stream_call *call = argument;

    call->good = decode_stream(call->source, call->decoder, call->out, call->ended);
}

/* Fills the buffer with elements from d, dropping what is none of them. False on failure. A chunk
   of no elements means that the frame is complete, or the rest of it not wanted. */
static bool fill(struct source *s, struct decoder *d, const struct source_request *request,
                 struct chunk *chunk, bool *complete)
{
    uint64_t end = end_position(s);

    chunk->count = 0;
    chunk->data = request->buffer;
    *complete = false;
    while (chunk->count == 0 && !*complete) {
        uint64_t from = d->position;
        ZSTD_outBuffer out = {request->buffer, request->size - request->size % s->info.element_size,
                              0};
        struct stream_call call = {s, d, &out, complete, false};

        if (unwanted(s, d)) {
            *complete = true;
            break;
        }
        if (from < s->data_offset && out.size > s->data_offset - from)
            out.size = (size_t)(s->data_offset - from);
        if (!mapping_guard(call_decode_stream, &call))
            return became_shorter(s, d);
        if (!call.good)
            return false;
        if (from < s->data_offset)
            continue;
        /* What lies behind the array of a .npy is decoded only to see that it is sound. */
        if (d->task.exact && from >= end)
            out.pos = 0;
        else if (d->task.exact && end - from < out.pos)
            out.pos = (size_t)(end - from);
        chunk->index = (from - s->data_offset) / s->info.element_size;
        chunk->count = out.pos / s->info.element_size;
    }
    return true;
}

/*
 * Who does what. In all that follows the mutex is held, unless a comment says otherwise.
 */

/* Tasks that should have been found ahead of those who decode them. */
static unsigned found_ahead(const struct zstd_state *z)
{
    return z->workers / 2 + 1;
}

static bool to_be_found(const struct zstd_state *z)
{
    return !z->finding && !z->found_all && z->queue_count < found_ahead(z);
}

static const struct task *queue_front(const struct zstd_state *z)
{
    return z->queue_count ? &z->queue[z->queue_first] : NULL;
}

static void queue_pop(struct zstd_state *z)
{
    z->queue_first = (z->queue_first + 1) % z->queue_size;
    z->queue_count--;
}

/* Puts a task back to the front. */
static void queue_back(struct zstd_state *z, const struct task *task)
{
    z->queue_first = (z->queue_first + z->queue_size - 1) % z->queue_size;
    z->queue_count++;
    z->queue[z->queue_first] = *task;
}

/* Whether a hand can take the task. */
static bool is_small(const struct zstd_state *z, const struct task *task)
{
    return task->batch.frame_most <= z->room;
}

/* Whether a large frame may be begun now: one at any time, others where memory allows. */
static bool may_stream(const struct zstd_state *z, const struct task *task)
{
    return z->open == 0 ||
           (z->open < z->workers && z->windows + task->batch.window <= WINDOW_BUDGET);
}

static struct stream *idle_stream(const struct zstd_state *z, unsigned worker)
{
    for (unsigned i = 0; z->open > 0 && i < STREAMS(z->workers); i++) {
        struct stream *stream = &z->streams[(worker + i) % STREAMS(z->workers)];

        if (stream->open && !stream->busy)
            return stream;
    }
    return NULL;
}

/* Calls one of those that wait when there is something to do. */
static void call_next(struct zstd_state *z)
{
    const struct task *front = queue_front(z);

    if (z->waiters && (to_be_found(z) || idle_stream(z, 0) ||
                       (front && (is_small(z, front) || may_stream(z, front)))))
        waiter_wake(waiters_take(&z->waiters), WAITER_LOOK_AGAIN);
}

/* Whether byte `position` of the content is the first of an element, or before them all. */
static bool is_boundary(const struct source *s, uint64_t position)
{
    return position <= s->data_offset || (position - s->data_offset) % s->info.element_size == 0;
}

/* Provisional space for content of up to `most` bytes: up to where an element may begin. The
   content before the first element must lie in the first batch. */
static uint64_t reserve(const struct source *s, uint64_t base, uint64_t most)
{
    uint64_t end = base + most;

    if (end < s->data_offset)
        end = s->data_offset;
    return end + (s->info.element_size - (end - s->data_offset) % s->info.element_size) - base;
}

/* Notes an unsized batch. False without memory (said). */
static bool note_unsized(struct source *s, size_t *index)
{
    struct zstd_state *z = s->state;

    if (z->unsized_count == z->unsized_capacity) {
        size_t capacity = z->unsized_capacity ? 2 * z->unsized_capacity : 64;
        struct unsized *grown = realloc(z->unsized, capacity * sizeof *grown);
        if (!grown) {
            source_error(s, "out of memory");
            return false;
        }
        z->unsized = grown;
        z->unsized_capacity = capacity;
    }
    *index = z->unsized_count++;
    z->unsized[*index] = (struct unsized){z->next_base, 0, 0, 0};
    return true;
}

/* Takes the content of a batch into account for those that follow. */
static void advance_base(struct source *s, const struct zstd_batch *batch)
{
    struct zstd_state *z = s->state;

    if (batch->content == SOURCE_UNKNOWN) {
        struct unsized *u = &z->unsized[z->unsized_count - 1];

        u->reserved = reserve(s, u->base, batch->most);
        z->next_base += u->reserved;
    } else {
        z->next_base += batch->content;
    }
}

/* Puts a batch into the queue. False when that cannot be. */
static bool queue_batch(struct source *s, const struct zstd_batch *batch)
{
    struct zstd_state *z = s->state;
    struct task task = {.batch = *batch, .base = z->next_base, .unsized = NOT_UNSIZED};

    if ((batch->content != 0 && !is_boundary(s, z->next_base)) ||
        (batch->content == SOURCE_UNKNOWN && z->exact_needed)) {
        atomic_store(&z->again, true);
        return false;
    }
    if (batch->content == SOURCE_UNKNOWN && !note_unsized(s, &task.unsized))
        return false;
    task.exact = z->unsized_count == 0;
    z->queue[(z->queue_first + z->queue_count) % z->queue_size] = task;
    z->queue_count++;
    return true;
}

/* A call of zstd_find, in the form that mapping_guard takes. */
struct find_call {
    struct zstd_finder *finder;
    struct zstd_batch *batch;
    enum zstd_found found;
};

static void call_find(void *argument)
{
    struct find_call *call = argument;

    call->found = zstd_find(call->finder, call->batch);
}

/* Whether nothing that is still to be found is wanted. */
static bool rest_unwanted(const struct source *s)
{
    const struct zstd_state *z = s->state;
    uint64_t limit = atomic_load(&s->limit);

    if (z->exact_needed && s->info.elements < limit)
        limit = s->info.elements;
    return limit != SOURCE_UNKNOWN && z->next_base >= s->data_offset &&
           (z->next_base - s->data_offset) / s->info.element_size >= limit;
}

/* What the finder found. False when that was the last. */
static bool take_found(struct source *s, enum zstd_found found, const struct zstd_batch *batch)
{
    struct zstd_state *z = s->state;

    switch (found) {
    case ZSTD_FOUND:
    case ZSTD_FOUND_LARGE:
        if (rest_unwanted(s) || !queue_batch(s, batch))
            return false;
        if (found == ZSTD_FOUND)
            advance_base(s, batch);
        call_next(z);
        return true;
    case ZSTD_FOUND_REST:
        advance_base(s, batch);
        return true;
    case ZSTD_FOUND_NONE:
        return true;
    case ZSTD_FOUND_END:
    case ZSTD_FOUND_FAULT:
        break;
    }
    return false;
}

/* The role of the finder: finds tasks, until there are enough in the queue, or one for this worker
   while the rest of a large frame takes its time. */
static void find(struct source *s)
{
    struct zstd_state *z = s->state;
    bool enough = false;

    z->finding = true;
    while (!enough && !z->found_all && !atomic_load(&s->failed) && !atomic_load(&z->again)) {
        struct zstd_batch batch;
        struct find_call call = {&z->finder, &batch, ZSTD_FOUND_FAULT};

        if (rest_unwanted(s)) {
            z->found_all = true;
            break;
        }
        pthread_mutex_unlock(&z->mutex);
        if (!mapping_guard(call_find, &call))
            source_became_shorter(s, s->start + z->finder.next);
        pthread_mutex_lock(&z->mutex);
        z->found_all = !take_found(s, call.found, &batch);
        enough = z->queue_count >= 2 * found_ahead(z) ||
                 (call.found == ZSTD_FOUND_NONE && z->queue_count > 0 && !z->waiters);
    }
    z->finding = false;
}

/* A large frame has ended: the finder, if it is still looking for where, need not. */
static void tell_finder(struct zstd_state *z, const struct decoder *d)
{
    struct zstd_finder *f = &z->finder;

    if (!z->finding && f->in_frame && f->announced && f->frame.begin == d->task.batch.begin) {
        f->frame.end = atomic_load(&d->offset);
        f->frame.blocks = (d->position - d->task.base) / ZSTD_BLOCK_CONTENT_MAX + 1;
    }
}

/* A task is done with. */
static void end_task(struct zstd_state *z, struct decoder *d)
{
    release_input(z, &d->input, atomic_load(&d->offset), true);
    if (d->task.unsized != NOT_UNSIZED)
        z->unsized[d->task.unsized].length = d->position - d->task.base;
}

static void close_stream(struct zstd_state *z, struct stream *stream)
{
    struct decoder *d = &stream->decoder;

    end_task(z, d);
    if (stream->window > WINDOW_KEPT) {
        ZSTD_freeDCtx(d->context);
        d->context = NULL;
    }
    z->windows -= stream->window;
    z->open--;
    stream->open = false;
}

/* The role of the decoder of a large frame: decodes it for those that wait, and for this worker
   when nobody does. Whether its own chunk was filled. */
static bool serve(struct source *s, struct stream *stream, const struct source_request *request,
                  struct chunk *chunk)
{
    struct zstd_state *z = s->state;
    struct waiter *waiter;
    bool filled = false, more = true;

    stream->busy = true;
    while (more && ((waiter = waiters_take(&z->waiters)) || !filled)) {
        struct chunk *target = waiter ? waiter->chunk : chunk;
        bool good, complete;

        pthread_mutex_unlock(&z->mutex);
        good = fill(s, &stream->decoder, waiter ? waiter->request : request, target, &complete);
        pthread_mutex_lock(&z->mutex);
        if (good && complete && !stream->decoder.in_frame)
            tell_finder(z, &stream->decoder);
        more = good && !complete;
        if (waiter)
            waiter_wake(waiter, good && target->count > 0 ? WAITER_FILLED : WAITER_LOOK_AGAIN);
        else
            filled = good && target->count > 0;
    }
    stream->busy = false;
    if (!more)
        close_stream(z, stream);
    return filled;
}

/* Makes the input of a large frame present that somebody else decodes; the mutex is released
   meanwhile. Whether there was something to do. */
static bool help(struct source *s)
{
    struct zstd_state *z = s->state;

    for (unsigned i = 0; z->map && z->open > 0 && i < STREAMS(z->workers); i++) {
        struct stream *stream = &z->streams[i];
        struct input *in = &stream->decoder.input;
        bool done;

        if (!stream->busy || stream->helped || !input_ahead(z, &stream->decoder))
            continue;
        stream->helped = true;
        pthread_mutex_unlock(&z->mutex);
        done = present_input(s, in);
        pthread_mutex_lock(&z->mutex);
        stream->helped = false;
        return done;
    }
    return false;
}

/* Takes a small task into the hand. False without memory (said). */
static bool claim_small(struct source *s, struct hand *h, const struct task *task)
{
    struct zstd_state *z = s->state;
    const struct zstd_batch *batch = &task->batch;
    uint64_t beyond = batch->frames == 1 && batch->end - batch->begin > 2 * z->present
                          ? batch->end - batch->begin - 2 * z->present
                          : 0;
    /* What is ready of a piece, and behind it the largest frame. */
    size_t capacity =
        (size_t)batch->frame_most + ROOM_BEHIND + (batch->frames > 1 ? PIECE_BYTES : 0);

    capacity = (capacity + mapping_page() - 1) / mapping_page() * mapping_page();
    if (h->capacity < capacity) {
        free(h->memory);
        h->memory = aligned_alloc(mapping_page(), capacity);
        h->capacity = h->memory ? capacity : 0;
        if (!h->memory) {
            source_error(s, "out of memory");
            return false;
        }
    }
    if (!begin_task(s, &h->decoder, task, true))
        return false;
    h->ready = h->filled = 0;
    h->from = task->base;
    h->taken = h->open = true;
    h->beyond = beyond <= z->budget ? beyond : 0;
    z->budget -= h->beyond;
    return true;
}

/* Makes a task a stream. False without memory (said). */
static bool claim_large(struct source *s, const struct task *task)
{
    struct zstd_state *z = s->state;
    struct stream *stream = z->streams;

    while (stream->open || stream->helped)
        stream++;
    if (!begin_task(s, &stream->decoder, task, false))
        return false;
    stream->open = true;
    stream->busy = false;
    stream->window = task->batch.window;
    z->windows += stream->window;
    z->open++;
    return true;
}

/* A call of zstd_walk, in the form that mapping_guard takes. */
struct walk_call {
    struct decoder *decoder;
    uint64_t blocks;
    struct zstd_frame frame;
    struct zstd_fault fault;
    bool good;
};

static void call_walk(void *argument)
{
    struct walk_call *call = argument;
    struct zstd_view *view = &call->decoder->input.view;

    call->good = zstd_header(view, call->decoder->task.batch.begin, &call->frame, &call->fault) &&
                 zstd_walk(view, &call->frame, call->blocks, &call->fault);
}

/* Finds out how much a frame can hold whose end was a hint. False on failure. */
static bool walk_task(struct source *s, struct hand *h, struct task *task)
{
    struct zstd_state *z = s->state;
    struct walk_call call = {.decoder = &h->decoder,
                             .blocks = z->room / ZSTD_BLOCK_CONTENT_MAX + 1};
    bool sound;

    if (!begin_task(s, &h->decoder, task, true))
        return false;
    pthread_mutex_unlock(&z->mutex);
    sound = mapping_guard(call_walk, &call) || became_shorter(s, &h->decoder);
    pthread_mutex_lock(&z->mutex);
    if (!sound)
        return false;
    if (!call.good)
        return changed_frame(s, &h->decoder, &call.fault);
    task->batch.walked = true;
    if (call.frame.end != SOURCE_UNKNOWN)
        task->batch.frame_most = call.frame.blocks * ZSTD_BLOCK_CONTENT_MAX;
    return true;
}

/* Takes the task at the queue's front, if that can be now, as far as to make it a stream or to have
   it in the hand. False when there is nothing to claim. */
static bool claim(struct source *s, struct hand *h)
{
    struct zstd_state *z = s->state;
    struct task task;

    if (z->queue_count == 0)
        return false;
    task = *queue_front(z);
    if (!task.batch.walked && !is_small(z, &task)) {
        queue_pop(z);
        if (walk_task(s, h, &task))
            queue_back(z, &task);
        return true;
    }
    if (is_small(z, &task)) {
        queue_pop(z);
        (void)claim_small(s, h, &task);
        return true;
    }
    if (!may_stream(z, &task))
        return false;
    queue_pop(z);
    (void)claim_large(s, &task);
    return true;
}

/* Whether there is nothing more to do for anybody but those who have something in hand. Says what
   is wrong behind the last frame. */
static bool all_done(struct source *s)
{
    struct zstd_state *z = s->state;

    if (atomic_load(&s->failed) || atomic_load(&z->again))
        return true;
    if (!z->found_all || z->queue_count > 0)
        return false;
    if (z->finder.fault.kind != ZSTD_SOUND && !rest_unwanted(s)) {
        if (z->finder.hinted)
            atomic_store(&z->again, true);
        else
            zstd_fault_say(s, &z->finder.fault);
        return true;
    }
    return z->open == 0;
}

/* What there was to do. */
enum task_news {
    TASK_NONE,  /* there is nothing more */
    TASK_CHUNK, /* a stream has filled the worker's chunk */
    TASK_HAND   /* the worker has a task in hand */
};

/* Finds something to do. The mutex is not held. */
static enum task_news next_task(struct source *s, struct hand *h,
                                const struct source_request *request, struct chunk *chunk)
{
    struct zstd_state *z = s->state;
    enum task_news news = TASK_NONE;
    bool end = false, helpful = true;

    pthread_mutex_lock(&z->mutex);
    if (h->taken) {
        end_task(z, &h->decoder);
        z->budget += h->beyond;
        h->taken = false;
    }
    while (news == TASK_NONE && !(end = all_done(s))) {
        struct stream *stream = idle_stream(z, request->worker);

        if (stream) {
            if (serve(s, stream, request, chunk))
                news = TASK_CHUNK;
        } else if (to_be_found(z)) {
            find(s);
        } else if (claim(s, h)) {
            if (h->taken)
                news = TASK_HAND;
        } else if (helpful) {
            helpful = help(s);
        } else {
            if (waiters_wait(&z->waiters, &z->mutex, request, chunk) == WAITER_FILLED)
                news = TASK_CHUNK;
            helpful = true;
        }
    }
    if (end)
        waiters_wake_all(&z->waiters);
    else
        call_next(z);
    pthread_mutex_unlock(&z->mutex);
    return news;
}

static enum source_status zstd_next(struct source *s, const struct source_request *request,
                                    struct chunk *chunk)
{
    const struct zstd_state *z = s->state;
    struct hand *h = &z->hands[request->worker];
    enum task_news news;

    do {
        if (h->taken && next_of_hand(s, h, request, chunk))
            return SOURCE_CHUNK;
        news = next_task(s, h, request, chunk);
    } while (news == TASK_HAND);
    if (source_failed(s))
        return SOURCE_FAILED;
    return news == TASK_CHUNK ? SOURCE_CHUNK : SOURCE_END;
}

/* Whether a worker left without finishing what it had in hand: what it found is not in the
   result. */
static bool left_behind(const struct zstd_state *z)
{
    bool left = z->open > 0;

    for (unsigned i = 0; i < z->workers; i++)
        left |= z->hands[i].taken;
    return left;
}

static enum source_verdict zstd_finish(struct source *s)
{
    struct zstd_state *z = s->state;
    uint64_t gap = 0, total, limit = atomic_load(&s->limit), last = SOURCE_UNKNOWN;

    if (atomic_load(&z->again) || left_behind(z))
        return SOURCE_RETRY;
    if (limit != SOURCE_UNKNOWN)
        last = s->data_offset + limit * s->info.element_size;
    /* Behind the limit frames were not decoded to their ends. */
    for (size_t i = 0; i < z->unsized_count && z->unsized[i].base + z->unsized[i].reserved <= last;
         i++) {
        struct unsized *u = &z->unsized[i];

        /* A torn element between batches, or a header that goes beyond the first one. */
        if (u->base + u->reserved != z->next_base &&
            (u->base + u->length < s->data_offset || !is_boundary(s, u->base + u->length)))
            return SOURCE_RETRY;
        gap += u->reserved - u->length;
        u->gap = gap;
    }
    total = z->next_base - gap;
    /* The rest was not asked for, and not looked at. But whether what ended it all lies in the
       array of a .npy can only be told from true positions. */
    if (limit != SOURCE_UNKNOWN)
        return z->unsized_count > 0 && s->promised != SOURCE_UNKNOWN ? SOURCE_RETRY
                                                                     : SOURCE_COMPLETE;
    if (s->promised != SOURCE_UNKNOWN && s->info.elements == s->promised &&
        total > s->data_offset + s->promised * s->info.element_size) {
        if (z->unsized_count > 0)
            return SOURCE_RETRY; /* too much was handed out */
        message_warning("%s: the bytes after the array are left out", s->name);
    }
    return source_check_end(s, total) ? SOURCE_COMPLETE : SOURCE_BROKEN;
}

static uint64_t zstd_index(const struct source *s, uint64_t index)
{
    const struct zstd_state *z = s->state;
    uint64_t position = s->data_offset + index * s->info.element_size;
    size_t low = 0, high = z->unsized_count; /* how many unsized batches end at or before it */

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (z->unsized[middle].base + z->unsized[middle].reserved <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? index - z->unsized[low - 1].gap / s->info.element_size : index;
}

/* Whatever zstd_state got. */
static void zstd_source_close(struct source *s)
{
    struct zstd_state *z = s->state;

    for (unsigned i = 0; z->hands && i < z->workers; i++) {
        end_decoder(&z->hands[i].decoder);
        free(z->hands[i].memory);
    }
    for (unsigned i = 0; z->streams && i < STREAMS(z->workers); i++)
        end_decoder(&z->streams[i].decoder);
    if (z->map)
        munmap(z->map - z->map_before, z->map_before + (size_t)s->info.input_bytes);
    free(z->hands);
    free(z->streams);
    free(z->queue);
    free(z->unsized);
    pthread_mutex_destroy(&z->mutex);
    free(z);
}

/* Maps the input, if that can be; it is read otherwise. */
static void map_input(const struct source *s, struct zstd_state *z)
{
    void *map;

    z->map_before = (size_t)(s->start % mapping_page());
    /* A 32-bit process needs its addresses for buffers. */
    if (s->info.input_bytes > SIZE_MAX / 8)
        return;
    map = mmap(NULL, z->map_before + (size_t)s->info.input_bytes, PROT_READ, MAP_SHARED, s->fd,
               (off_t)(s->start - z->map_before));
    if (map != MAP_FAILED)
        z->map = (unsigned char *)map + z->map_before;
}

/* Shares the memory out between the workers. */
static void set_room(struct zstd_state *z)
{
    uint64_t share = MEMORY_BUDGET / z->workers, present = PRESENT_BUDGET / 2 / z->workers;
    uint64_t fixed, room;

    present = present > PRESENT_MAX ? PRESENT_MAX : present < PRESENT_MIN ? PRESENT_MIN : present;
    z->present = present / mapping_page() * mapping_page();
    fixed = WORKER_BYTES + ROOM_BEHIND + 2 * z->present;
    room = share > fixed ? share - fixed : 0;
    room = room > ROOM_MAX ? ROOM_MAX : room < ROOM_MIN ? ROOM_MIN : room;
    z->room = (size_t)(room / ZSTD_BLOCK_CONTENT_MAX * ZSTD_BLOCK_CONTENT_MAX);
    z->budget = share > fixed + z->room ? (share - fixed - z->room) * z->workers : 0;
}

/* Gives a source whose layout is known its state. False without memory. */
static bool zstd_state(struct source *s, unsigned workers)
{
    static const struct source_ops ops = {
        .next = zstd_next, .finish = zstd_finish, .index = zstd_index, .close = zstd_source_close};
    struct zstd_state *z = calloc(1, sizeof *z);

    if (!z)
        return false;
    s->state = z;
    s->ops = &ops;
    pthread_mutex_init(&z->mutex, NULL);
    z->workers = workers;
    z->queue_size = 2 * found_ahead(z) + workers;
    z->hands = calloc(workers, sizeof *z->hands);
    z->streams = calloc(STREAMS(workers), sizeof *z->streams);
    z->queue = calloc(z->queue_size, sizeof *z->queue);
    if (!z->hands || !z->streams || !z->queue)
        return false;
    set_room(z);
    z->exact_needed = s->info.elements != s->promised || (!s->header && s->data_offset > 0);
    map_input(s, z);
    zstd_finder_init(&z->finder, s, z->map, z->room, workers);
    return true;
}

bool zstd_source_open(struct source *s, const struct source_options *options, unsigned workers)
{
    struct reader *stream = input_reader_open(s);
    struct reader *reader = stream ? zstd_reader_open(s, stream) : NULL;
    bool ok = reader && formats_layout(s, options, reader);

    if (reader)
        reader->close(reader);
    if (!ok)
        return false;
    if (!zstd_state(s, workers)) {
        source_error(s, "out of memory");
        return false;
    }
    atomic_store(&s->input_read, 0); /* what was read to detect the format is read again */
    s->info.parallel = true;
    return true;
}
