#include "config.h"

#include "zstd/team.h"

#include <stdlib.h>

#include "sys/align.h"
#include "sys/mapping.h"
#include "zstd/team_state.h"

/* Blocks under way: each worker has one, and finds another when it is done, while the oldest waits
   for its turn. */
#define BLOCKS_A_WORKER 3
#define BLOCKS_MORE 4

/* The most memory of a team, in bytes: windows of up to 128 MiB. */
#define MEMORY_MAX ((uint64_t)200 << 20)

static bool ended_locked(const struct zstd_team *t) REQUIRES(waiters_role);
static enum zstd_team_step end_locked(struct zstd_team *t) REQUIRES(waiters_role);
static bool make_ring_locked(struct zstd_team *t, size_t capacity) REQUIRES(waiters_role);

/*
 * Places.
 */

void zstd_team_release_locked(struct zstd_team *t, unsigned worker)
{
    if (!t || t->held[worker] == ZSTD_TEAM_NOT_HELD)
        return;
    t->held[worker] = ZSTD_TEAM_NOT_HELD;
    if (t->busy)
        zstd_team_assign_locked(t);
}

/*
 * Distribution of work.
 */

bool zstd_team_busy_locked(const struct zstd_team *t)
{
    return t && t->busy;
}

bool zstd_team_lasts_locked(const struct zstd_team *t)
{
    return t && t->busy && !t->walked_all;
}

/* Whether the frame has been decoded and handed out, or will not be any further. */
static bool ended_locked(const struct zstd_team *t)
{
    return t->active == 0 && (t->stopped || (zstd_team_executed_all_locked(t) && t->verified &&
                                             t->handed_to == t->executed_to));
}

/* The frame has ended. */
static enum zstd_team_step end_locked(struct zstd_team *t)
{
    struct zstd_decoder *d = &t->decoder;
    const uint64_t next = zstd_span_next(&d->span);

    d->position = t->stopped ? t->handed_to : t->executed_to;
    t->busy = false;
    if (t->stopped)
        return ZSTD_TEAM_UNWANTED;
    if (t->header.content != ZSTD_UNKNOWN && t->header.content != d->position - d->task.base)
        zstd_team_refuse_locked(t);
    if (t->walk.end > next)
        zstd_span_pass(&d->span, (size_t)(t->walk.end - next));
    return ZSTD_TEAM_ENDED;
}

/* The kinds of work, the most urgent first. */
enum work {
    WORK_NOTHING,
    WORK_END,
    WORK_EXECUTE,  /* others may wait for it */
    WORK_HAND_OUT, /* it makes room, and is in a cache now */
    WORK_HASH,
    WORK_PLACE,
    WORK_WALK, /* before the next block is missing */
    WORK_POPULATE,
    WORK_DECODE,
    WORK_HAND_OUT_LITTLE
};

static enum work choose_locked(const struct zstd_team *t) REQUIRES(waiters_role);
static enum work choose_locked(const struct zstd_team *t)
{
    if (!t || !t->busy)
        return WORK_NOTHING;
    if (ended_locked(t))
        return WORK_END;
    if (t->stopped)
        return WORK_NOTHING;
    if (zstd_team_may_execute_locked(t))
        return WORK_EXECUTE;
    if (zstd_team_may_hand_out_locked(t, ZSTD_TEAM_PIECE_MIN))
        return WORK_HAND_OUT;
    if (zstd_team_may_hash_locked(t))
        return WORK_HASH;
    if (zstd_team_unplaced_locked(t))
        return WORK_PLACE;
    if (zstd_team_may_walk_locked(t) && t->walked - t->claimed <= t->workers)
        return WORK_WALK;
    if (zstd_team_may_populate_locked(t))
        return WORK_POPULATE;
    if (t->claimed < t->walked)
        return WORK_DECODE;
    if (zstd_team_may_walk_locked(t))
        return WORK_WALK;
    return zstd_team_may_hand_out_locked(t, 1) ? WORK_HAND_OUT_LITTLE : WORK_NOTHING;
}

bool zstd_team_wants_locked(const struct zstd_team *t)
{
    return choose_locked(t) != WORK_NOTHING;
}

enum zstd_team_step zstd_team_step_locked(struct zstd_team *t, const struct chunk_request *request,
                                          struct chunk *chunk)
{
    switch (choose_locked(t)) {
    case WORK_NOTHING:
        return ZSTD_TEAM_NOTHING;
    case WORK_END:
        return end_locked(t);
    case WORK_EXECUTE:
        zstd_team_execute_locked(t);
        break;
    case WORK_HAND_OUT:
    case WORK_HAND_OUT_LITTLE:
        if (zstd_team_hand_out_locked(t, request, chunk))
            return ZSTD_TEAM_CHUNK;
        break;
    case WORK_HASH:
        zstd_team_hash_locked(t);
        break;
    case WORK_PLACE:
        zstd_team_place_locked(t, zstd_team_unplaced_locked(t));
        break;
    case WORK_WALK:
        zstd_team_walk_locked(t);
        break;
    case WORK_POPULATE:
        zstd_team_populate_locked(t);
        break;
    case WORK_DECODE:
        zstd_team_decode_locked(t, request->worker);
        break;
    }
    return ZSTD_TEAM_AGAIN;
}

struct zstd_decoder *zstd_team_decoder(struct zstd_team *t)
{
    return &t->decoder;
}

/*
 * The beginning and the end.
 */

/* Memory for a ring. Nobody may hold a chunk in the one there is. */
static bool make_ring_locked(struct zstd_team *t, size_t capacity)
{
    if (capacity + ZSTD_EXECUTE_BEHIND <= t->memory_size)
        return true;
    for (unsigned i = 0; i < t->workers; i++)
        if (t->held[i] != ZSTD_TEAM_NOT_HELD)
            return false;
    free(t->memory);
    t->memory_size = align_up(capacity + ZSTD_EXECUTE_BEHIND, mapping_page());
    t->memory = mapping_alloc(t->memory_size);
    if (!t->memory) {
        t->memory_size = 0;
        return false;
    }
    zstd_ring_init(&t->ring, t->memory, t->memory_size - ZSTD_EXECUTE_BEHIND);
    return true;
}

/* Reads the header of the frame that the decoder is about to decode. */
static void call_header(void *argument)
{
    struct zstd_team_call *g = argument;
    struct zstd_team *t = g->team;
    const uint64_t begin = t->decoder.task.batch.begin;
    const unsigned char *b = t->decoder.span.view.map + begin;

    g->good = zstd_read_header(b, (size_t)(t->decoder.span.end - begin), begin, &t->header) &&
              t->header.dictionary == 0 && !t->header.reserved;
}

bool zstd_team_begin_locked(struct zstd_team *t, const struct zstd_task *task)
{
    struct zstd_decoder *d = &t->decoder;
    struct zstd_team_call g = {.team = t};
    uint64_t capacity, window;

    if (!t->shared->input.map)
        return false;
    zstd_decoder_begin_task(d, task);
    if (!zstd_team_guard(call_header, &g))
        return false;
    window = t->header.window < t->header.content ? t->header.window : t->header.content;
    capacity = zstd_ring_capacity(window < MEMORY_MAX ? window : MEMORY_MAX, ZSTD_TEAM_AHEAD(t));
    if (capacity + 2 * ZSTD_BLOCK_CONTENT_MAX * t->room > MEMORY_MAX ||
        !make_ring_locked(t, (size_t)capacity))
        return false;
    t->walk = t->header;
    zstd_tables_begin(&t->tables);
    zstd_history_begin(&t->history);
    xxh64_begin(&t->checksum);
    zstd_ring_begin(&t->ring, task->base);
    t->busy = true;
    t->frame++;
    t->stopped = t->walked_all = t->populating = false;
    t->verified = !t->header.checksum || t->shared->file->no_check;
    t->walked = t->claimed = t->passed = t->assigned = t->executed = 0;
    t->unplaced = 0;
    t->executed_to = t->handed_to = t->hashed_to = task->base;
    zstd_span_pass(&d->span, (size_t)(t->header.position - t->header.begin));
    return true;
}

UNCHECKED struct zstd_team *zstd_team_open(struct zstd_shared *shared, struct waiters *waiters,
                                           unsigned workers)
{
    struct zstd_team *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    t->shared = shared;
    t->waiters = waiters;
    t->workers = workers;
    t->room = BLOCKS_A_WORKER * workers + BLOCKS_MORE;
    zstd_decoder_init(&t->decoder, shared);
    t->scratch = calloc(workers, sizeof *t->scratch);
    t->blocks = calloc(t->room, sizeof *t->blocks);
    t->held = malloc(workers * sizeof *t->held);
    for (unsigned i = 0; t->held && i < workers; i++)
        t->held[i] = ZSTD_TEAM_NOT_HELD;
    if (t->scratch && t->blocks && t->held)
        return t;
    zstd_team_close(t);
    return NULL;
}

UNCHECKED void zstd_team_close(struct zstd_team *t)
{
    if (!t)
        return;
    for (unsigned i = 0; t->blocks && i < t->room; i++)
        zstd_flight_close(&t->blocks[i]);
    zstd_decoder_free(&t->decoder);
    free(t->blocks);
    free(t->scratch);
    free(t->held);
    free(t->memory);
    free(t);
}
