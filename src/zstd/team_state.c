#include "config.h"

#include "sys/mapping.h"
#include "zstd/team_state.h"

static uint64_t oldest_locked(const struct zstd_team *t) REQUIRES(waiters_role);

bool zstd_team_guard(void (*body)(void *), struct zstd_team_call *call)
{
    call->good = false;
    call->whole = mapping_guard(body, call);
    return call->whole && call->good;
}

void zstd_team_failed_locked(struct zstd_team *t, const struct zstd_team_call *call)
{
    if (call->whole)
        zstd_team_refuse_locked(t);
    else
        zstd_team_vanish_locked(t);
}

void zstd_team_refuse_locked(struct zstd_team *t)
{
    if (t->stopped) /* what comes behind is nobody's concern any more */
        return;
    t->stopped = true;
    atomic_store(&t->shared->retry, true);
}

void zstd_team_vanish_locked(struct zstd_team *t)
{
    t->stopped = true;
    (void)zstd_decoder_became_shorter(&t->decoder);
}

struct zstd_flight *zstd_team_block_locked(const struct zstd_team *t, uint64_t number)
{
    return &t->blocks[number % t->room];
}

/* The offset in the ring from which on content is needed: by who executes, hands out, hashes, or
   reads a chunk. */
static uint64_t oldest_locked(const struct zstd_team *t)
{
    uint64_t window = t->executed_to - t->decoder.task.base, position = t->executed_to, oldest;

    position -= window < t->header.window ? window : t->header.window;
    if (t->handed_to < position)
        position = t->handed_to;
    if (!t->verified && t->hashed_to < position)
        position = t->hashed_to;
    oldest = zstd_ring_offset(&t->ring, position);
    for (unsigned i = 0; i < t->workers; i++)
        if (t->held[i] < oldest)
            oldest = t->held[i];
    return oldest;
}

void zstd_team_assign_locked(struct zstd_team *t)
{
    uint64_t oldest = t->assigned < t->walked ? oldest_locked(t) : 0;

    while (t->assigned < t->walked) {
        struct zstd_flight *f = zstd_team_block_locked(t, t->assigned);

        if (!f->sized)
            break;
        /* The ring holds the window of a frame as long as that is no more than the frame states it
           holds: for more there might never be room. */
        if (f->content >
            t->header.content - (zstd_ring_position(&t->ring) - t->decoder.task.base)) {
            zstd_team_refuse_locked(t);
            break;
        }
        f->place = zstd_ring_place(&t->ring, f->content, oldest, &f->run);
        if (!f->place)
            break;
        t->assigned++;
    }
}
