#include "config.h"

#include "zstd/team.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sys/align.h"
#include "sys/clock.h"
#include "sys/mapping.h"
#include "zstd/block.h"
#include "zstd/execute.h"
#include "zstd/frames.h"
#include "zstd/literals.h"
#include "zstd/ring.h"
#include "zstd/sequences.h"
#include "zstd/xxh64.h"

/*
 * A block under way: walked over, decoded, carried out. Its processing does not depend on other
 * blocks, except where it says so, and needs no lock: a block belongs to one worker at a time. Its
 * bytes are the mapped input's: whoever walks over or decodes one does so under mapping_guard.
 */

/* The decoding tables of a worker. */
struct zstd_scratch {
    uint64_t frame; /* number of the frame that they are of */
    struct zstd_literals_decoder literals;
    struct zstd_sequences_decoder sequences[ZSTD_SEQUENCES_JOBS];
};

enum flight_state {
    FLIGHT_WALKED,   /* its parts are known */
    FLIGHT_DECODING, /* a worker has it */
    FLIGHT_DECODED,  /* its literals, or all of its content, are in its memory */
    FLIGHT_PLACING,  /* a worker has it */
    FLIGHT_READY     /* it can be carried out, or is where it belongs */
};

struct flight {
    /* Owned by the worker that has the block. */
    const unsigned char *bytes;
    uint32_t size;
    bool last;                     /* of its frame */
    struct zstd_block_parts parts; /* of raw blocks and runs, too: literals alone */
    struct zstd_tables tables;     /* that it uses */
    unsigned char *literals;       /* ZSTD_BLOCK_CONTENT_MAX + ZSTD_EXECUTE_BEHIND bytes */
    struct zstd_sequence *sequences;
    uint32_t room;                /* for sequences */
    struct zstd_sequences result; /* of decoding them */

    /* Its team's, under the mutex. */
    enum flight_state state;
    bool sized;           /* its content is known */
    uint32_t content;     /* bytes */
    uint64_t behind;      /* offset in the input behind it */
    unsigned char *place; /* in the ring; NULL before it has one */
    uint64_t run;         /* of the ring */
};

enum flight_walked {
    FLIGHT_SOUND,
    FLIGHT_FAULT,  /* *fault says what */
    FLIGHT_REFUSED /* the block is not sound: libzstd will say why */
};

/* A block with so many bytes of literals to a sequence or more has them placed by whoever decodes
   it. Fewer are copied as fast by who carries it out; more would make that the bottleneck. */
#define SPARSE_LITERALS 160

/* Walks over the next block of a frame. The blocks of a frame are walked over in order: *walk and
 *tables go from one to the next. */
static enum flight_walked flight_walk(struct flight *f, struct zstd_view *view,
                                      struct zstd_frame *walk, struct zstd_tables *tables,
                                      struct zstd_fault *fault)
{
    const uint64_t at = walk->position;

    if (!zstd_block(view, walk, fault))
        return FLIGHT_FAULT;
    if (walk->position > view->file->size) {
        zstd_set_fault(fault, ZSTD_CUT_OFF, walk->begin);
        return FLIGHT_FAULT;
    }
    f->bytes = view->map + at + ZSTD_BLOCK_HEADER;
    f->size = (uint32_t)(walk->position - at - ZSTD_BLOCK_HEADER);
    f->last = walk->end != ZSTD_UNKNOWN;
    f->behind = walk->position;
    f->state = FLIGHT_WALKED;
    f->place = NULL;
    f->parts = (struct zstd_block_parts){.literals.type = ZSTD_LITERALS_RAW};
    f->sized = true;
    switch ((enum zstd_block_type)(walk->block >> 1 & 3)) {
    case ZSTD_BLOCK_RUN:
        f->parts.literals.type = ZSTD_LITERALS_RUN;
        f->parts.literals.size = walk->block >> 3;
        break;
    case ZSTD_BLOCK_COMPRESSED:
        if (!zstd_block_parse(f->bytes, f->size, (size_t)walk->block_most, tables, &f->parts))
            return FLIGHT_REFUSED;
        f->tables = *tables;
        f->sized = f->parts.sequences == 0;
        break;
    case ZSTD_BLOCK_RAW:
    case ZSTD_BLOCK_RESERVED: /* refused by zstd_block */
        f->parts.literals.size = f->size;
        break;
    }
    f->content = f->parts.literals.size;
    return FLIGHT_SOUND;
}

/* Whether a block with sequences is mostly literals: these are placed before it is carried out. */
static bool flight_sparse(const struct flight *f)
{
    return f->parts.sequences > 0 &&
           (uint64_t)f->parts.sequences * SPARSE_LITERALS < f->parts.literals.size;
}

/* Prepares to decode the sequences: then f->result.content is the block's size. False where there
   are too many, or no memory. */
static bool flight_prepare(struct flight *f, struct zstd_sequences_decoder *decoder,
                           const struct zstd_frame *frame, struct zstd_sequences_job *job)
{
    const size_t most = (size_t)frame->block_most;
    const uint32_t room = zstd_sequences_room(f->parts.sequences, most);

    if ((uint64_t)f->parts.sequences * ZSTD_MATCH_MIN > most)
        return false;
    if (f->room < room) {
        free(f->sequences);
        f->sequences = malloc(room * sizeof *f->sequences);
        f->room = f->sequences ? room : 0;
        if (!f->sequences)
            return false;
    }
    *job = (struct zstd_sequences_job){.decoder = decoder,
                                       .bytes = f->bytes,
                                       .size = f->size,
                                       .parts = &f->parts,
                                       .tables = &f->tables,
                                       .most = most,
                                       .window = frame->window,
                                       .sequences = f->sequences,
                                       .result = &f->result};
    return true;
}

/* Decodes the literals to `out`, or to the block's own memory where that is NULL. False where they
   are not sound, or there is no memory. */
static bool flight_decode_literals(struct flight *f, struct zstd_scratch *scratch,
                                   unsigned char *out)
{
    if (!out && !f->literals)
        f->literals = malloc((size_t)ZSTD_BLOCK_CONTENT_MAX + ZSTD_EXECUTE_BEHIND);
    if (!out)
        out = f->literals;
    return out &&
           zstd_literals_decode(&scratch->literals, f->bytes, &f->parts.literals, &f->tables, out);
}

/* Carries the sequences out, after all blocks in front. *history: before it, and then behind. */
static bool flight_execute(struct flight *f, const struct zstd_place *place,
                           struct zstd_history *history, uint64_t window)
{
    if (!zstd_execute(place, f->content, f->literals, f->parts.literals.size, f->sequences,
                      f->result.count, history, window, flight_sparse(f)))
        return false;
    zstd_history_resolve(&f->result.history, history);
    *history = f->result.history;
    return true;
}

/*
 * The team.
 */

#define NOT_HELD UINT64_MAX

struct zstd_team {
    const struct zstd_input *input;
    struct waiters *waiters;
    unsigned workers;
    struct zstd_scratch *scratch; /* one for each worker, its own */
    struct flight *blocks;        /* block n is blocks[n % room] */
    unsigned room;
    unsigned char *memory; /* of the ring */
    size_t memory_size;

    /* The frame. Written when it begins. */
    struct zstd_decoder decoder;
    struct zstd_frame header;

    /* Owned by the worker that walks. */
    struct zstd_frame walk;
    struct zstd_tables tables;

    struct zstd_history history; /* of who executes */
    struct xxh64 checksum;       /* of who hashes */

    bool busy GUARDED_BY(waiters_role);
    bool stopped GUARDED_BY(waiters_role);    /* the rest is not wanted, or was refused */
    uint64_t frame GUARDED_BY(waiters_role);  /* its number */
    unsigned active GUARDED_BY(waiters_role); /* workers that do something without the mutex */

    bool walking GUARDED_BY(waiters_role);
    bool walked_all GUARDED_BY(waiters_role);
    bool populating GUARDED_BY(waiters_role);
    bool executing GUARDED_BY(waiters_role);
    bool hashing GUARDED_BY(waiters_role);
    bool
        verified GUARDED_BY(waiters_role); /* the checksum is what it should be, or there is none */

    /* Numbers of blocks: those below are done with so far. */
    uint64_t walked GUARDED_BY(waiters_role);
    uint64_t claimed GUARDED_BY(waiters_role);
    uint64_t passed GUARDED_BY(waiters_role); /* their input is not needed any more */
    uint64_t assigned GUARDED_BY(waiters_role);
    uint64_t executed GUARDED_BY(waiters_role);
    unsigned unplaced GUARDED_BY(waiters_role); /* blocks that wait to be placed */

    /* Positions in the stream. */
    uint64_t executed_to GUARDED_BY(waiters_role);
    uint64_t handed_to GUARDED_BY(waiters_role);
    uint64_t hashed_to GUARDED_BY(waiters_role);

    struct zstd_ring ring GUARDED_BY(waiters_role);
    uint64_t *held GUARDED_BY(waiters_role); /* offset of each worker's chunk; NOT_HELD */
};

/* OUTSIDE(t, what): drops the mutex, to do something that belongs to this worker. */
#define OUTSIDE(t, what)              \
    do {                              \
        (t)->active++;                \
        waiters_unlock((t)->waiters); \
        what;                         \
        waiters_lock((t)->waiters);   \
        (t)->active--;                \
    } while (0)

/* Arguments and results of a function that is called under mapping_guard. */
struct call {
    struct zstd_team *team;
    struct flight *flights[ZSTD_SEQUENCES_JOBS];
    unsigned count; /* of these */
    struct zstd_scratch *scratch;
    unsigned char *out;
    bool whole; /* the input is there */
    bool good;
};

/* Calls body(call) under mapping_guard. Whether it came to its end, and found all good. */
static bool guard(void (*body)(void *), struct call *call)
{
    call->good = false;
    call->whole = mapping_guard(body, call);
    return call->whole && call->good;
}

/* Something is not sound: libzstd will say what. */
REQUIRES(waiters_role)
static void refuse_locked(struct zstd_team *t)
{
    if (t->stopped) /* what comes behind is nobody's concern any more */
        return;
    t->stopped = true;
    atomic_store(&t->input->file->retry, true);
}

/* The file has been cut off. */
REQUIRES(waiters_role)
static void vanish_locked(struct zstd_team *t)
{
    t->stopped = true;
    (void)zstd_decoder_became_shorter(&t->decoder);
}

/* A call was not good. */
REQUIRES(waiters_role)
static void failed_locked(struct zstd_team *t, const struct call *call)
{
    if (call->whole)
        refuse_locked(t);
    else
        vanish_locked(t);
}

REQUIRES(waiters_role)
static struct flight *block_locked(const struct zstd_team *t, uint64_t number)
{
    return &t->blocks[number % t->room];
}

/* The offset in the ring from which on content is needed: by who executes, hands out, hashes, or
   reads a chunk. */
REQUIRES(waiters_role)
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

/* Assigns places to blocks, as far as sizes are known and there is room. To be called whenever more
   of either may be there. */
REQUIRES(waiters_role)
static void assign_locked(struct zstd_team *t)
{
    uint64_t oldest = t->assigned < t->walked ? oldest_locked(t) : 0;

    while (t->assigned < t->walked) {
        struct flight *f = block_locked(t, t->assigned);

        if (!f->sized)
            break;
        /* The ring holds the window of a frame as long as that is no more than the frame states it
           holds: for more there might never be room. */
        if (f->content >
            t->header.content - (zstd_ring_position(&t->ring) - t->decoder.task.base)) {
            refuse_locked(t);
            break;
        }
        f->place = zstd_ring_place(&t->ring, f->content, oldest, &f->run);
        if (!f->place)
            break;
        t->assigned++;
    }
}

/*
 * Walking.
 */

/* Blocks walked over at a time. */
#define WALK_BLOCKS 8

/* Whether there is something for who walks. */
REQUIRES(waiters_role)
static bool may_walk_locked(const struct zstd_team *t)
{
    return !t->walking && !t->walked_all && t->walked - t->executed < t->room;
}

/* The findings of a walk. */
struct walk_call {
    struct zstd_team *team;
    struct flight *blocks[WALK_BLOCKS];
    unsigned wanted, got;
    enum flight_walked how;
    struct zstd_fault fault;
};

static void call_walk(void *argument)
{
    struct walk_call *call = argument;
    struct zstd_team *t = call->team;

    while (call->how == FLIGHT_SOUND && call->got < call->wanted && t->walk.end == ZSTD_UNKNOWN) {
        call->how = flight_walk(call->blocks[call->got], &t->decoder.span.view, &t->walk,
                                &t->tables, &call->fault);
        if (call->how == FLIGHT_SOUND)
            call->got++;
    }
}

/* The role of who walks: a few blocks. */
REQUIRES(waiters_role)
static void walk_locked(struct zstd_team *t)
{
    struct walk_call call = {.team = t, .how = FLIGHT_SOUND};
    const uint64_t free = t->room - (t->walked - t->executed);
    const uint64_t end = t->decoder.task.batch.end;
    bool whole = false;

    t->walking = true;
    call.wanted = free < WALK_BLOCKS ? (unsigned)free : WALK_BLOCKS;
    for (unsigned i = 0; i < call.wanted; i++)
        call.blocks[i] = block_locked(t, t->walked + i);
    OUTSIDE(t, {
        zstd_span_release(&t->decoder.span, t->input->step);
        whole = mapping_guard(call_walk, &call);
    });
    t->walking = false;
    if (t->stopped) /* nothing of what was found is wanted */
        return;
    if (!whole)
        vanish_locked(t);
    else if (call.how == FLIGHT_FAULT)
        (void)zstd_decoder_fault(&t->decoder, &call.fault);
    else if (call.how == FLIGHT_REFUSED)
        refuse_locked(t);
    if (!whole || call.how != FLIGHT_SOUND) {
        t->stopped = true;
        return;
    }
    t->walked += call.got;
    t->walked_all = t->walk.end != ZSTD_UNKNOWN;
    if (t->walked_all && end != ZSTD_UNKNOWN && t->walk.end != end) {
        (void)zstd_decoder_damaged(&t->decoder, "it continues after its last block");
        t->stopped = true;
    }
    assign_locked(t);
}

/* Whether input that will be needed soon is not present. */
REQUIRES(waiters_role)
static bool may_populate_locked(const struct zstd_team *t)
{
    const struct zstd_span *span = &t->decoder.span;
    const uint64_t present = atomic_load(&span->present), ahead = span->input->step;

    return !t->populating && !t->walking && !t->walked_all && present < span->end &&
           present < t->walk.position + ahead;
}

REQUIRES(waiters_role)
static void populate_locked(struct zstd_team *t)
{
    bool done = false;

    t->populating = true;
    OUTSIDE(t, done = zstd_span_populate(&t->decoder.span));
    /* If the kernel refused, pages come when they are read. */
    t->populating = !done;
}

/*
 * Decoding.
 */

/* The input of blocks that are decoded is not needed any more. */
REQUIRES(waiters_role)
static void pass_locked(struct zstd_team *t)
{
    uint64_t next = zstd_span_next(&t->decoder.span), behind = next;

    while (t->passed < t->claimed &&
           (t->passed < t->executed || block_locked(t, t->passed)->state >= FLIGHT_DECODED)) {
        const struct flight *f = block_locked(t, t->passed);

        if (t->passed >= t->executed)
            behind = f->behind;
        t->passed++;
    }
    if (behind > next)
        zstd_span_pass(&t->decoder.span, (size_t)(behind - next));
}

/* Decodes the sequences of all blocks. */
static void call_sequences(void *argument)
{
    struct call *g = argument;
    struct zstd_sequences_job jobs[ZSTD_SEQUENCES_JOBS];

    for (unsigned i = 0; i < g->count; i++)
        if (!flight_prepare(g->flights[i], &g->scratch->sequences[i], &g->team->header, &jobs[i]))
            return;
    g->good = zstd_sequences_decode(jobs, g->count);
}

/* Decodes the literals of the first block. */
static void call_literals(void *argument)
{
    struct call *g = argument;

    g->good = flight_decode_literals(g->flights[0], g->scratch, g->out);
}

/* Puts a block that is decoded to its place, but for matches. */
REQUIRES(waiters_role)
static void place_locked(struct zstd_team *t, struct flight *f)
{
    unsigned char *const place = f->place;

    t->unplaced--;
    f->state = FLIGHT_PLACING;
    OUTSIDE(t, zstd_place_literals(place, f->content, f->literals, f->parts.literals.size,
                                   f->sequences, f->parts.sequences > 0 ? f->result.count : 0));
    f->state = FLIGHT_READY;
}

/* Decodes the literals of a block, to their place if they are all there is. */
REQUIRES(waiters_role)
static void decode_literals_locked(struct zstd_team *t, struct zstd_scratch *scratch,
                                   struct flight *f)
{
    struct call g = {.team = t,
                     .flights = {f},
                     .scratch = scratch,
                     .out = f->parts.sequences == 0 ? f->place : NULL};
    bool good = true;

    OUTSIDE(t, good = guard(call_literals, &g));
    if (!good) {
        failed_locked(t, &g);
    } else if (g.out || (f->parts.sequences > 0 && !flight_sparse(f))) {
        f->state = FLIGHT_READY;
    } else {
        f->state = FLIGHT_DECODED;
        t->unplaced++;
        if (f->place)
            place_locked(t, f);
    }
}

/* Decodes the next blocks that nobody has: two where there is one for each other worker besides.
   Their sequences come first, since when their sizes are known the blocks behind can have places. */
REQUIRES(waiters_role)
static void decode_locked(struct zstd_team *t, unsigned worker)
{
    const uint64_t first = t->claimed, left = t->walked - first;
    const uint64_t end = first + (left > t->workers ? ZSTD_SEQUENCES_JOBS : 1);
    struct call g = {.team = t, .scratch = &t->scratch[worker]};
    uint64_t begun = clock_now();
    bool good = true;

    t->claimed = end;
    for (uint64_t i = first; i < end; i++) {
        struct flight *f = block_locked(t, i);

        f->state = FLIGHT_DECODING;
        if (f->parts.sequences > 0)
            g.flights[g.count++] = f;
    }
    if (g.scratch->frame != t->frame) { /* tables are of another frame */
        g.scratch->literals.tree_number = 0;
        for (unsigned i = 0; i < ZSTD_SEQUENCES_JOBS; i++)
            memset(g.scratch->sequences[i].numbers, 0, sizeof g.scratch->sequences[i].numbers);
        g.scratch->frame = t->frame;
    }
    if (g.count > 0) {
        OUTSIDE(t, good = guard(call_sequences, &g));
        if (!good) {
            failed_locked(t, &g);
            return;
        }
        for (unsigned i = 0; i < g.count; i++) {
            g.flights[i]->sized = true;
            g.flights[i]->content = g.flights[i]->result.content;
        }
        assign_locked(t);
    }
    for (uint64_t i = first; i < end && !t->stopped; i++)
        decode_literals_locked(t, g.scratch, block_locked(t, i));
    atomic_fetch_add(&t->input->file->decode_time, clock_now() - begun);
    pass_locked(t);
}

/* A block that is decoded and has a place, but is not there; NULL if there is none. */
REQUIRES(waiters_role)
static struct flight *unplaced_locked(const struct zstd_team *t)
{
    for (uint64_t i = t->executed; t->unplaced > 0 && i < t->assigned; i++) {
        struct flight *f = block_locked(t, i);

        if (f->state == FLIGHT_DECODED)
            return f;
    }
    return NULL;
}

/*
 * Executing.
 */

/* Whether the next block can be carried out. */
REQUIRES(waiters_role)
static bool may_execute_locked(const struct zstd_team *t)
{
    return !t->executing && t->executed < t->assigned &&
           block_locked(t, t->executed)->state == FLIGHT_READY;
}

/* Whether all blocks have been. */
REQUIRES(waiters_role)
static bool executed_all_locked(const struct zstd_team *t)
{
    return t->walked_all && t->executed == t->walked;
}

/* Steps over what is no element: in front of the first one, behind the last one of an array, and
   what the frame's end tears. */
REQUIRES(waiters_role)
static void drop_locked(struct zstd_team *t)
{
    const struct zstd_file *file = t->input->file;
    const uint64_t begin = file->wanted_begin;

    if (t->handed_to < begin)
        t->handed_to = t->executed_to < begin ? t->executed_to : begin;
    if ((t->decoder.task.true_position && t->handed_to >= file->wanted_end) ||
        (executed_all_locked(t) && t->executed_to - t->handed_to < file->element_size))
        t->handed_to = t->executed_to;
}

/* The role of who executes: one block with sequences, and those behind it that have none. */
REQUIRES(waiters_role)
static void execute_locked(struct zstd_team *t)
{
    const uint64_t window = t->header.window;
    bool one = false;

    t->executing = true;
    while (t->executed < t->assigned && !t->stopped) {
        struct flight *f = block_locked(t, t->executed);
        bool good = true;

        if (f->state != FLIGHT_READY || (one && f->parts.sequences > 0))
            break;
        if (f->parts.sequences > 0) {
            const struct zstd_place place = zstd_ring_reach(&t->ring, f->run, f->place);
            uint64_t begun = clock_now();

            one = true;
            OUTSIDE(t, good = flight_execute(f, &place, &t->history, window));
            atomic_fetch_add(&t->input->file->decode_time, clock_now() - begun);
        }
        if (!good) {
            refuse_locked(t);
            break;
        }
        zstd_note_block(t->input->file, t->executed_to, t->executed_to + f->content, f->behind);
        t->executed_to += f->content;
        t->executed++;
        drop_locked(t); /* others may hand out while the next one is executed */
    }
    t->executing = false;
    pass_locked(t);
    assign_locked(t);
}

/*
 * Hashing.
 */

/* Bytes hashed at a time, at least. */
static uint64_t hash_least(const struct zstd_team *t)
{
    return 2 * t->input->file->tuning->piece;
}

/* Bytes of a ring besides the window: each block under way, and two for each chunk being read. */
static size_t ahead(const struct zstd_team *t)
{
    const size_t blocks = t->room + 2 * (size_t)t->workers, told = t->input->file->tuning->ahead;

    return told > 0 ? told : ZSTD_BLOCK_CONTENT_MAX * blocks;
}

/* Whether there is something to hash. */
REQUIRES(waiters_role)
static bool may_hash_locked(const struct zstd_team *t)
{
    return !t->hashing && !t->verified &&
           (t->executed_to - t->hashed_to >= hash_least(t) || executed_all_locked(t));
}

/* The most bytes hashed at a time. If hashing is slowest, the other workers sleep, and the hashing
   one has to wake one of them after each piece, which takes a third of the time of hashing as
   much as it hashes at least. A quarter of the ring leaves the rest to them. */
static uint64_t hash_most(const struct zstd_team *t)
{
    const uint64_t quarter = ahead(t) / 4;

    return quarter > hash_least(t) ? quarter : hash_least(t);
}

static void call_stored(void *argument)
{
    struct call *g = argument;
    const struct zstd_team *t = g->team;

    g->good = zstd_load32(t->decoder.span.view.map + t->walk.end - 4) ==
              (uint32_t)xxh64_end(&t->checksum);
}

/* The role of who hashes: a piece; behind the last one, the comparison. */
REQUIRES(waiters_role)
static void hash_locked(struct zstd_team *t)
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

        OUTSIDE(t, xxh64_add(&t->checksum, bytes, size));
    }
    t->hashed_to = end;
    if (end == t->executed_to && executed_all_locked(t)) {
        struct call g = {.team = t};
        bool good = false;

        OUTSIDE(t, good = guard(call_stored, &g));
        t->verified = good;
        if (!good)
            failed_locked(t, &g);
    }
    t->hashing = false;
    assign_locked(t);
}

/*
 * Handing out.
 */

/* Whether there are elements to hand out, so many bytes or the last. */
REQUIRES(waiters_role)
static bool may_hand_out_locked(const struct zstd_team *t, uint64_t least)
{
    const uint64_t ready = t->executed_to - t->handed_to;

    return ready >= t->input->file->element_size && (ready >= least || executed_all_locked(t));
}

/* Hands elements out. False when the rest is not wanted. */
REQUIRES(waiters_role)
static bool hand_out_locked(struct zstd_team *t, const struct chunk_request *request,
                            struct chunk *chunk)
{
    const struct zstd_file *file = t->input->file;
    const size_t element = file->element_size;
    const uint64_t from = t->handed_to, limit = file->wanted_end;
    uint64_t piece = request->size, end;
    const unsigned char *bytes = zstd_ring_at(&t->ring, from, &end);

    if (zstd_decoder_unwanted(&t->decoder, from)) {
        t->stopped = true;
        return false;
    }
    if (request->borrow && request->in_place > piece)
        piece = request->in_place;
    /* A piece of that size is in somebody's level-2 cache. */
    if (piece > 2 * file->tuning->piece && request->borrow)
        piece = 2 * file->tuning->piece;
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
        OUTSIDE(t, memcpy(request->buffer, bytes, chunk->count * element));
        chunk->data = request->buffer;
        t->held[request->worker] = NOT_HELD;
    }
    drop_locked(t);
    assign_locked(t);
    return true;
}

/* Blocks under way: each worker has two, and finds others when it is done, while the oldest wait
   for their turns. So many at most, for memory's sake. */
#define BLOCKS_A_WORKER 4
#define BLOCKS_MORE 4
#define BLOCKS_MOST 132

/* The most memory of a team, in bytes: windows of up to 128 MiB. */
#define MEMORY_MAX ((uint64_t)200 << 20)

/*
 * Places.
 */

void zstd_team_release_locked(struct zstd_team *t, unsigned worker)
{
    if (!t || t->held[worker] == NOT_HELD)
        return;
    t->held[worker] = NOT_HELD;
    if (t->busy)
        assign_locked(t);
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
REQUIRES(waiters_role)
static bool ended_locked(const struct zstd_team *t)
{
    return t->active == 0 && (t->stopped || (executed_all_locked(t) && t->verified &&
                                             t->handed_to == t->executed_to));
}

/* The frame has ended. */
REQUIRES(waiters_role)
static enum zstd_team_step end_locked(struct zstd_team *t)
{
    struct zstd_decoder *d = &t->decoder;
    const uint64_t next = zstd_span_next(&d->span);

    d->position = t->stopped ? t->handed_to : t->executed_to;
    t->busy = false;
    if (t->stopped)
        return ZSTD_TEAM_UNWANTED;
    if (t->header.content != ZSTD_UNKNOWN && t->header.content != d->position - d->task.base)
        refuse_locked(t);
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
    WORK_DECODE /* and last, to hand out little */
};

/* The most urgent work that there is for a worker. `takes`: it takes chunks, and ends the frame. */
REQUIRES(waiters_role)
static enum work choose_locked(const struct zstd_team *t, bool takes)
{
    if (!t || !t->busy)
        return WORK_NOTHING;
    if (takes && ended_locked(t))
        return WORK_END;
    if (t->stopped)
        return WORK_NOTHING;
    if (may_execute_locked(t))
        return WORK_EXECUTE;
    if (takes && may_hand_out_locked(t, t->input->file->tuning->piece))
        return WORK_HAND_OUT;
    if (may_hash_locked(t))
        return WORK_HASH;
    if (unplaced_locked(t))
        return WORK_PLACE;
    if (may_walk_locked(t) && t->walked - t->claimed <= t->workers)
        return WORK_WALK;
    if (may_populate_locked(t))
        return WORK_POPULATE;
    if (t->claimed < t->walked)
        return WORK_DECODE;
    if (may_walk_locked(t))
        return WORK_WALK;
    return takes && may_hand_out_locked(t, 1) ? WORK_HAND_OUT : WORK_NOTHING;
}

bool zstd_team_wants_locked(const struct zstd_team *t)
{
    return choose_locked(t, true) != WORK_NOTHING;
}

enum zstd_team_step zstd_team_step_locked(struct zstd_team *t, const struct chunk_request *request,
                                          struct chunk *chunk)
{
    switch (choose_locked(t, chunk)) {
    case WORK_NOTHING:
        return ZSTD_TEAM_NOTHING;
    case WORK_END:
        return end_locked(t);
    case WORK_EXECUTE:
        execute_locked(t);
        break;
    case WORK_HAND_OUT:
        if (hand_out_locked(t, request, chunk))
            return ZSTD_TEAM_CHUNK;
        break;
    case WORK_HASH:
        hash_locked(t);
        break;
    case WORK_PLACE:
        place_locked(t, unplaced_locked(t));
        break;
    case WORK_WALK:
        walk_locked(t);
        break;
    case WORK_POPULATE:
        populate_locked(t);
        break;
    case WORK_DECODE:
        decode_locked(t, request->worker);
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
REQUIRES(waiters_role)
static bool make_ring_locked(struct zstd_team *t, size_t capacity)
{
    if (capacity + ZSTD_EXECUTE_BEHIND <= t->memory_size)
        return true;
    for (unsigned i = 0; i < t->workers; i++)
        if (t->held[i] != NOT_HELD)
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
    struct call *g = argument;
    struct zstd_team *t = g->team;
    const uint64_t begin = t->decoder.task.batch.begin;
    const unsigned char *b = t->decoder.span.view.map + begin;

    g->good = zstd_read_header(b, (size_t)(t->decoder.span.end - begin), begin, &t->header) &&
              t->header.dictionary == 0 && !t->header.reserved;
}

bool zstd_team_begin_locked(struct zstd_team *t, const struct zstd_task *task)
{
    struct zstd_decoder *d = &t->decoder;
    struct call g = {.team = t};
    uint64_t capacity, window;

    if (!t->input->map)
        return false;
    zstd_decoder_begin_task(d, task);
    if (!guard(call_header, &g))
        return false;
    t->header.content = task->batch.content; /* a seek table may state it */
    window = t->header.window < t->header.content ? t->header.window : t->header.content;
    capacity = zstd_ring_capacity(window < MEMORY_MAX ? window : MEMORY_MAX, ahead(t));
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
    t->verified = !t->header.checksum || t->input->file->no_check;
    t->walked = t->claimed = t->passed = t->assigned = t->executed = 0;
    t->unplaced = 0;
    t->executed_to = t->handed_to = t->hashed_to = task->base;
    zstd_span_pass(&d->span, (size_t)(t->header.position - t->header.begin));
    return true;
}

UNCHECKED struct zstd_team *zstd_team_open(const struct zstd_input *input, struct waiters *waiters,
                                           unsigned workers)
{
    struct zstd_team *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    t->input = input;
    t->waiters = waiters;
    t->workers = workers;
    t->room = BLOCKS_A_WORKER * workers + BLOCKS_MORE;
    t->room = t->room < BLOCKS_MOST ? t->room : BLOCKS_MOST;
    zstd_decoder_init(&t->decoder, input);
    t->scratch = calloc(workers, sizeof *t->scratch);
    t->blocks = calloc(t->room, sizeof *t->blocks);
    t->held = malloc(workers * sizeof *t->held);
    for (unsigned i = 0; t->held && i < workers; i++)
        t->held[i] = NOT_HELD;
    if (t->scratch && t->blocks && t->held)
        return t;
    zstd_team_close(t);
    return NULL;
}

UNCHECKED void zstd_team_close(struct zstd_team *t)
{
    if (!t)
        return;
    for (unsigned i = 0; t->blocks && i < t->room; i++) {
        free(t->blocks[i].literals);
        free(t->blocks[i].sequences);
    }
    zstd_decoder_free(&t->decoder);
    free(t->blocks);
    free(t->scratch);
    free(t->held);
    free(t->memory);
    free(t);
}
