#include "config.h"

#include <string.h>

#include "sys/clock.h"
#include "zstd/team_state.h"

/* The most bytes handed out at a time, which then are in somebody's level-2 cache. */
#define PIECE_MAX (2 * ZSTD_TEAM_PIECE_MIN)

/* Hashed at a time, at least. Bytes. */
#define HASH_BYTES (2 * ZSTD_TEAM_PIECE_MIN)

static void drop_locked(struct zstd_team *t) REQUIRES(waiters_role);

/*
 * Executing.
 */

bool zstd_team_may_execute_locked(const struct zstd_team *t)
{
    return !t->executing && t->executed < t->assigned &&
           zstd_team_block_locked(t, t->executed)->state == ZSTD_FLIGHT_READY;
}

/* The role of who executes: one block with sequences, and those behind it that have none. */
void zstd_team_execute_locked(struct zstd_team *t)
{
    const uint64_t window = t->header.window;
    bool one = false;

    t->executing = true;
    while (t->executed < t->assigned && !t->stopped) {
        struct zstd_flight *f = zstd_team_block_locked(t, t->executed);
        bool good = true;

        if (f->state != ZSTD_FLIGHT_READY || (one && f->parts.sequences > 0))
            break;
        if (f->parts.sequences > 0) {
            const struct zstd_place place = zstd_ring_reach(&t->ring, f->run, f->place);
            uint64_t begun = clock_now();

            one = true;
            ZSTD_TEAM_OUTSIDE(t, good = zstd_flight_execute(f, &place, &t->history, window));
            atomic_fetch_add(&t->shared->file->decode_time, clock_now() - begun);
        }
        if (!good) {
            zstd_team_refuse_locked(t);
            break;
        }
        zstd_note_block(t->shared->file, t->executed_to, t->executed_to + f->content, f->behind);
        t->executed_to += f->content;
        t->executed++;
        drop_locked(t); /* others may hand out while the next one is executed */
    }
    t->executing = false;
    zstd_team_pass_locked(t);
    zstd_team_assign_locked(t);
}

/*
 * Hashing.
 */

bool zstd_team_executed_all_locked(const struct zstd_team *t)
{
    return t->walked_all && t->executed == t->walked;
}

bool zstd_team_may_hash_locked(const struct zstd_team *t)
{
    return !t->hashing && !t->verified &&
           (t->executed_to - t->hashed_to >= HASH_BYTES || zstd_team_executed_all_locked(t));
}

/* The most bytes hashed at a time. If hashing is slowest, the other workers sleep, and the hashing
   one has to wake one of them after each piece, which takes a third of the time of hashing
   HASH_BYTES. A quarter of the ring leaves the rest to them. */
static uint64_t hash_most(const struct zstd_team *t)
{
    const uint64_t quarter = ZSTD_TEAM_AHEAD(t) / 4;

    return quarter > HASH_BYTES ? quarter : HASH_BYTES;
}

static void call_stored(void *argument)
{
    struct zstd_team_call *g = argument;
    const struct zstd_team *t = g->team;

    g->good = zstd_load32(t->decoder.span.view.map + t->walk.end - 4) ==
              (uint32_t)xxh64_end(&t->checksum);
}

/* The role of who hashes: a piece; behind the last one, the comparison. */
void zstd_team_hash_locked(struct zstd_team *t)
{
    const uint64_t most = hash_most(t);
    uint64_t end;
    const unsigned char *bytes = zstd_ring_at(&t->ring, t->hashed_to, &end);

    if (end > t->executed_to)
        end = t->executed_to;
    if (end - t->hashed_to > most)
        end = t->hashed_to + most;
    t->hashing = true;
    if (end > t->hashed_to) {
        const size_t size = (size_t)(end - t->hashed_to);

        ZSTD_TEAM_OUTSIDE(t, xxh64_add(&t->checksum, bytes, size));
    }
    t->hashed_to = end;
    if (end == t->executed_to && zstd_team_executed_all_locked(t)) {
        struct zstd_team_call g = {.team = t};
        bool good = false;

        ZSTD_TEAM_OUTSIDE(t, good = zstd_team_guard(call_stored, &g));
        t->verified = good;
        if (!good)
            zstd_team_failed_locked(t, &g);
    }
    t->hashing = false;
    zstd_team_assign_locked(t);
}

/*
 * Handing out.
 */

/* Steps over what is no element: in front of the first one, behind the last one of an array, and
   what the frame's end tears. */
static void drop_locked(struct zstd_team *t)
{
    const struct zstd_file *file = t->shared->file;
    const uint64_t begin = file->wanted_begin;

    if (t->handed_to < begin)
        t->handed_to = t->executed_to < begin ? t->executed_to : begin;
    if ((t->decoder.task.true_position && t->handed_to >= file->wanted_end) ||
        (zstd_team_executed_all_locked(t) && t->executed_to - t->handed_to < file->element_size))
        t->handed_to = t->executed_to;
}

/* Whether there are elements to hand out, so many bytes or the last. */
bool zstd_team_may_hand_out_locked(const struct zstd_team *t, uint64_t least)
{
    const uint64_t ready = t->executed_to - t->handed_to;

    return ready >= t->shared->file->element_size &&
           (ready >= least || zstd_team_executed_all_locked(t));
}

/* Hands elements out. False when the rest is not wanted. */
bool zstd_team_hand_out_locked(struct zstd_team *t, const struct chunk_request *request,
                               struct chunk *chunk)
{
    const struct zstd_file *file = t->shared->file;
    const size_t element = file->element_size;
    const uint64_t from = t->handed_to, limit = file->wanted_end;
    uint64_t piece = request->size, end;
    const unsigned char *bytes = zstd_ring_at(&t->ring, from, &end);

    if (zstd_unwanted(t->shared, &t->decoder.task, from)) {
        t->stopped = true;
        return false;
    }
    if (request->borrow && request->in_place > piece)
        piece = request->in_place;
    if (piece > PIECE_MAX && request->borrow)
        piece = PIECE_MAX;
    if (end - from < element && end < t->executed_to) {
        /* An element is torn by the end of a run: in front of the next one there is room for it. */
        const uint64_t torn = end - from;
        unsigned char *next = zstd_ring_at(&t->ring, end, &end);

        bytes = memcpy(next - torn, bytes, (size_t)torn);
    }
    if (end > t->executed_to)
        end = t->executed_to;
    if (t->decoder.task.true_position && end > limit)
        end = limit;
    if (end - from > piece)
        end = from + piece;
    chunk->index = (from - file->data_offset) / element;
    chunk->count = (size_t)(end - from) / element;
    chunk->data = bytes;
    t->held[request->worker] = zstd_ring_offset(&t->ring, from);
    t->handed_to += chunk->count * element;
    if (!request->borrow) {
        ZSTD_TEAM_OUTSIDE(t, memcpy(request->buffer, bytes, chunk->count * element));
        chunk->data = request->buffer;
        t->held[request->worker] = ZSTD_TEAM_NOT_HELD;
    }
    drop_locked(t);
    zstd_team_assign_locked(t);
    return true;
}
