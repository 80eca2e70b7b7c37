#include "config.h"

#include "zstd/stream.h"

#include <stdlib.h>

#include "sys/mapping.h"
#include "sys/waiters.h"
#include "zstd/index.h"
#include "zstd/team.h"

/* Input made present, and released, at a time. Bytes. */
#define STEP ((uint64_t)2 << 20)

/* A frame that holds less than so much of what frames for all workers hold at least is read by
   libzstd: at its end, workers wait for each other. */
#define LEAST_SHARE 8

struct zstd_stream {
    struct zstd_file *counted; /* the caller's */
    struct zstd_file file;     /* elements are bytes; its errors are dropped */
    _Atomic uint64_t limit;    /* none */
    struct zstd_input input;
    struct zstd_team *team;
    struct waiters waiters;

    /* Owned by the thread that reads. */
    struct zstd_stream_end at; /* the frame under way, or the next one */
    bool ended;

    /* Numbers of workers that nobody has, but 0, which is the reader's. */
    unsigned *free GUARDED_BY(waiters_role);
    unsigned free_count GUARDED_BY(waiters_role);
};

/*
 * Frames.
 */

/* A call that reads the header of the frame at hand, in the form that mapping_guard takes. */
struct header_call {
    struct zstd_stream *stream;
    struct zstd_frame frame;
    bool good;
};

static void call_header(void *argument)
{
    struct header_call *call = argument;
    struct zstd_stream *z = call->stream;
    struct zstd_view view = {.file = &z->file, .map = z->input.map};
    struct zstd_fault fault;
    uint64_t skipped = 1;
    size_t got;

    while (skipped > 0 && z->at.offset < z->file.size) {
        const unsigned char *b = zstd_view_at(&view, z->at.offset, ZSTD_HEADER_MAX, &got);

        skipped = zstd_skippable_size(b, got);
        if (skipped > z->file.size - z->at.offset)
            return;
        z->at.offset += skipped;
        atomic_fetch_add(&z->file.input_read, skipped);
    }
    call->good =
        z->at.offset < z->file.size && zstd_header(&view, z->at.offset, &call->frame, &fault);
}

/* Steps over skippable frames, and reads the header of the next frame. False where there is none
   that is for a team. */
static bool read_header(struct zstd_stream *z, struct zstd_frame *frame)
{
    const uint64_t least = z->file.tuning->small_max / LEAST_SHARE;
    struct header_call call = {.stream = z};

    if (!z->input.map || !mapping_guard(call_header, &call) || !call.good)
        return false;
    *frame = call.frame;
    return frame->content != ZSTD_UNKNOWN ? frame->content >= least
                                          : z->file.size - z->at.offset >= least;
}

/* Gives the team the next frame. False where it is not for it. */
REQUIRES(waiters_role)
static bool begin_frame_locked(struct zstd_stream *z)
{
    struct zstd_task task = {.base = z->at.position, .number = ZSTD_INDEX_STATED};
    struct zstd_frame frame;

    if (!read_header(z, &frame))
        return false;
    task.batch = (struct zstd_batch){.begin = z->at.offset,
                                     .end = ZSTD_UNKNOWN,
                                     .content = frame.content,
                                     .window = frame.window,
                                     .frames = 1};
    return zstd_team_begin_locked(z->team, &task);
}

/* The team's frame has ended. False where something is wrong with it. */
static bool pass_frame(struct zstd_stream *z)
{
    const struct zstd_decoder *d = zstd_team_decoder(z->team);

    if (zstd_failed(&z->file) || atomic_load(&z->file.retry) ||
        zstd_error_noted(&z->file) != ZSTD_UNKNOWN)
        return false;
    z->at = (struct zstd_stream_end){.offset = zstd_span_next(&d->span), .position = d->position};
    return true;
}

/*
 * Reading.
 */

/* Adds the work so far to the caller's. */
static void count(struct zstd_stream *z)
{
    atomic_fetch_add(&z->counted->input_read, atomic_exchange(&z->file.input_read, 0));
    atomic_fetch_add(&z->counted->read_time, atomic_exchange(&z->file.read_time, 0));
    atomic_fetch_add(&z->counted->decode_time, atomic_exchange(&z->file.decode_time, 0));
}

size_t zstd_stream_read(struct zstd_stream *z, void *buffer, size_t size)
{
    const struct chunk_request request = {.buffer = buffer, .size = size};
    struct chunk chunk = {.count = 0};
    enum zstd_team_step step;

    waiters_lock(&z->waiters);
    while (!z->ended && chunk.count == 0) {
        if (!zstd_team_busy_locked(z->team) && !begin_frame_locked(z)) {
            z->ended = true;
            break;
        }
        step = zstd_team_step_locked(z->team, &request, &chunk);
        if (step == ZSTD_TEAM_NOTHING) /* others are at it */
            (void)waiters_wait_locked(&z->waiters, NULL, NULL);
        z->ended = step == ZSTD_TEAM_UNWANTED || (step == ZSTD_TEAM_ENDED && !pass_frame(z));
    }
    waiters_unlock(&z->waiters);
    z->at.read += chunk.count;
    count(z);
    return chunk.count;
}

bool zstd_stream_help(struct zstd_stream *z)
{
    struct chunk_request request = {.worker = 0};
    struct waiter *reader = NULL;
    bool done = false;

    waiters_lock(&z->waiters);
    if (z->free_count > 0) {
        request.worker = z->free[--z->free_count];
        done = zstd_team_step_locked(z->team, &request, NULL) != ZSTD_TEAM_NOTHING;
        z->free[z->free_count++] = request.worker;
        if (done && zstd_team_wants_locked(z->team)) /* the thread that reads can go on */
            reader = waiters_take_locked(&z->waiters);
        if (reader)
            waiter_wake_locked(reader, WAITER_LOOK_AGAIN);
    }
    waiters_unlock(&z->waiters);
    return done;
}

/*
 * The beginning and the end: one thread's.
 */

struct zstd_stream_end zstd_stream_end(const struct zstd_stream *z)
{
    return z->at;
}

UNCHECKED struct zstd_stream *zstd_stream_open(struct zstd_file *file, unsigned workers)
{
    struct zstd_stream *z = calloc(1, sizeof *z);
    struct zstd_frame first;

    if (!z)
        return NULL;
    waiters_init(&z->waiters);
    zstd_file_init(&z->file);
    atomic_init(&z->limit, ZSTD_UNKNOWN);
    z->counted = file;
    z->file.fd = file->fd;
    z->file.start = file->start;
    z->file.size = file->size;
    z->file.window_log = file->window_log;
    z->file.no_check = file->no_check;
    z->file.tuning = file->tuning;
    z->file.element_size = 1;
    z->file.elements = z->file.wanted_end = ZSTD_UNKNOWN;
    z->file.limit = &z->limit;
    zstd_input_open(&z->input, &z->file, STEP);
    z->team = zstd_team_open(&z->input, &z->waiters, workers);
    z->free = calloc(workers, sizeof *z->free);
    if (!z->team || !z->free || !read_header(z, &first)) {
        zstd_stream_close(z);
        return NULL;
    }
    for (unsigned i = workers; --i > 0;)
        z->free[z->free_count++] = i;
    return z;
}

UNCHECKED void zstd_stream_close(struct zstd_stream *z)
{
    zstd_team_close(z->team);
    zstd_input_close(&z->input);
    zstd_file_destroy(&z->file);
    waiters_destroy(&z->waiters);
    free(z->free);
    free(z);
}
