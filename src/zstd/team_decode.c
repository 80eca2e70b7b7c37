#include "config.h"

#include "sys/clock.h"
#include "sys/mapping.h"
#include "zstd/team_state.h"

/* Blocks walked over at a time. */
#define WALK_BLOCKS 8

/*
 * Walking.
 */

bool zstd_team_may_walk_locked(const struct zstd_team *t)
{
    return !t->walking && !t->walked_all && t->walked - t->executed < t->room;
}

/* The findings of a walk. */
struct walk_call {
    struct zstd_team *team;
    struct zstd_flight *blocks[WALK_BLOCKS];
    unsigned wanted, got;
    enum zstd_flight_walked how;
    struct zstd_fault fault;
};

static void call_walk(void *argument)
{
    struct walk_call *call = argument;
    struct zstd_team *t = call->team;

    while (call->how == ZSTD_FLIGHT_SOUND && call->got < call->wanted &&
           t->walk.end == ZSTD_UNKNOWN) {
        call->how = zstd_flight_walk(call->blocks[call->got], &t->decoder.span.view, &t->walk,
                                     &t->tables, &call->fault);
        if (call->how == ZSTD_FLIGHT_SOUND)
            call->got++;
    }
}

/* The role of who walks: a few blocks. */
void zstd_team_walk_locked(struct zstd_team *t)
{
    struct walk_call call = {.team = t, .how = ZSTD_FLIGHT_SOUND};
    const uint64_t free = t->room - (t->walked - t->executed);
    const uint64_t end = t->decoder.task.batch.end;
    bool whole = false;

    t->walking = true;
    call.wanted = free < WALK_BLOCKS ? (unsigned)free : WALK_BLOCKS;
    for (unsigned i = 0; i < call.wanted; i++)
        call.blocks[i] = zstd_team_block_locked(t, t->walked + i);
    ZSTD_TEAM_OUTSIDE(t, {
        zstd_span_release_steps(&t->decoder.span);
        whole = mapping_guard(call_walk, &call);
    });
    t->walking = false;
    if (t->stopped) /* nothing of what was found is wanted */
        return;
    if (!whole)
        zstd_team_vanish_locked(t);
    else if (call.how == ZSTD_FLIGHT_FAULT)
        (void)zstd_decoder_fault(&t->decoder, &call.fault);
    else if (call.how == ZSTD_FLIGHT_REFUSED)
        zstd_team_refuse_locked(t);
    if (!whole || call.how != ZSTD_FLIGHT_SOUND) {
        t->stopped = true;
        return;
    }
    t->walked += call.got;
    t->walked_all = t->walk.end != ZSTD_UNKNOWN;
    if (t->walked_all && end != ZSTD_UNKNOWN && t->walk.end != end) {
        (void)zstd_decoder_damaged(&t->decoder, "it continues after its last block");
        t->stopped = true;
    }
    zstd_team_assign_locked(t);
}

/* Whether input that will be needed soon is not present. */
bool zstd_team_may_populate_locked(const struct zstd_team *t)
{
    const struct zstd_span *span = &t->decoder.span;
    const uint64_t present = atomic_load(&span->present), ahead = span->input->step;

    return !t->populating && !t->walking && !t->walked_all && present < span->end &&
           present < t->walk.position + ahead;
}

void zstd_team_populate_locked(struct zstd_team *t)
{
    bool done = false;

    t->populating = true;
    ZSTD_TEAM_OUTSIDE(t, done = zstd_span_populate(&t->decoder.span));
    /* If the kernel refused, pages come when they are read. */
    t->populating = !done;
}

/*
 * Decoding.
 */

/* The input of blocks that are decoded is not needed any more. */
void zstd_team_pass_locked(struct zstd_team *t)
{
    uint64_t next = zstd_span_next(&t->decoder.span), behind = next;

    while (t->passed < t->claimed &&
           (t->passed < t->executed ||
            zstd_team_block_locked(t, t->passed)->state >= ZSTD_FLIGHT_DECODED)) {
        const struct zstd_flight *f = zstd_team_block_locked(t, t->passed);

        if (t->passed >= t->executed)
            behind = f->behind;
        t->passed++;
    }
    if (behind > next)
        zstd_span_pass(&t->decoder.span, (size_t)(behind - next));
}

static void call_sequences(void *argument)
{
    struct zstd_team_call *g = argument;

    g->good = zstd_flight_decode_sequences(g->flight, g->scratch, &g->team->header);
}

static void call_literals(void *argument)
{
    struct zstd_team_call *g = argument;

    g->good = zstd_flight_decode_literals(g->flight, g->scratch, g->out);
}

/* Decodes the next block that nobody has: its sequences first, since when its size is known the
   blocks behind can have places; then its literals, to their place if they are all there is. */
void zstd_team_decode_locked(struct zstd_team *t, unsigned worker)
{
    struct zstd_flight *f = zstd_team_block_locked(t, t->claimed++);
    struct zstd_team_call g = {.team = t, .flight = f, .scratch = &t->scratch[worker]};
    uint64_t begun = clock_now();
    bool good = true;

    f->state = ZSTD_FLIGHT_DECODING;
    if (g.scratch->frame != t->frame) {
        zstd_literals_begin(&g.scratch->literals);
        zstd_sequences_begin(&g.scratch->sequences);
        g.scratch->frame = t->frame;
    }
    if (f->parts.sequences > 0) {
        ZSTD_TEAM_OUTSIDE(t, good = zstd_team_guard(call_sequences, &g));
        if (!good) {
            zstd_team_failed_locked(t, &g);
            return;
        }
        f->sized = true;
        f->content = f->result.content;
        zstd_team_assign_locked(t);
    }
    g.out = f->parts.sequences == 0 ? f->place : NULL;
    ZSTD_TEAM_OUTSIDE(t, good = zstd_team_guard(call_literals, &g));
    atomic_fetch_add(&t->shared->file->decode_time, clock_now() - begun);
    if (!good) {
        zstd_team_failed_locked(t, &g);
    } else if (g.out || (f->parts.sequences > 0 && !zstd_flight_sparse(f))) {
        f->state = ZSTD_FLIGHT_READY;
    } else {
        f->state = ZSTD_FLIGHT_DECODED;
        t->unplaced++;
        if (f->place)
            zstd_team_place_locked(t, f);
    }
    zstd_team_pass_locked(t);
}

/*
 * Placing.
 */

struct zstd_flight *zstd_team_unplaced_locked(const struct zstd_team *t)
{
    for (uint64_t i = t->executed; t->unplaced > 0 && i < t->assigned; i++) {
        struct zstd_flight *f = zstd_team_block_locked(t, i);

        if (f->state == ZSTD_FLIGHT_DECODED)
            return f;
    }
    return NULL;
}

void zstd_team_place_locked(struct zstd_team *t, struct zstd_flight *f)
{
    unsigned char *const place = f->place;

    t->unplaced--;
    f->state = ZSTD_FLIGHT_PLACING;
    ZSTD_TEAM_OUTSIDE(t, zstd_flight_place(f, place));
    f->state = ZSTD_FLIGHT_READY;
}
