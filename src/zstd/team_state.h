/*
 * For the files of the team: its state, and what each does of its work. team.h says what is which.
 *
 *     team.c          who does what; how a frame begins and ends
 *     team_decode.c   walking over blocks, decoding them, placing what is decoded
 *     team_content.c  executing, hashing, handing out
 *     team_state.c    what these have in common: calls that fail, and places in the ring
 */
#ifndef GPUREDUCE_ZSTD_TEAM_STATE_H
#define GPUREDUCE_ZSTD_TEAM_STATE_H

#include "sys/waiters.h"
#include "zstd/decoder.h"
#include "zstd/flight.h"
#include "zstd/ring.h"
#include "zstd/xxh64.h"

/* The least bytes handed out at a time, unless nothing else is to be done. */
#ifndef ZSTD_TEAM_PIECE_MIN
#    define ZSTD_TEAM_PIECE_MIN ((uint64_t)128 << 10)
#endif

/* Bytes of a ring besides the window: each block under way, and two for each chunk being read. */
#ifndef ZSTD_TEAM_AHEAD
#    define ZSTD_TEAM_AHEAD(t) \
        ((size_t)ZSTD_BLOCK_CONTENT_MAX * ((t)->room + 2 * (size_t)(t)->workers))
#endif

#define ZSTD_TEAM_NOT_HELD UINT64_MAX

struct zstd_team {
    struct zstd_shared *shared;
    struct waiters *waiters;
    unsigned workers;
    struct zstd_scratch *scratch; /* one for each worker, its own */
    struct zstd_flight *blocks;   /* block n is blocks[n % room] */
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
    uint64_t *held GUARDED_BY(waiters_role); /* offset of each worker's chunk; ZSTD_TEAM_NOT_HELD */
};

/* ZSTD_TEAM_OUTSIDE(t, what): drops the mutex, to do something that belongs to this worker. */
#define ZSTD_TEAM_OUTSIDE(t, what)    \
    do {                              \
        (t)->active++;                \
        waiters_unlock((t)->waiters); \
        what;                         \
        waiters_lock((t)->waiters);   \
        (t)->active--;                \
    } while (0)

/* Arguments and results of a function that is called under mapping_guard. */
struct zstd_team_call {
    struct zstd_team *team;
    struct zstd_flight *flight;
    struct zstd_scratch *scratch;
    unsigned char *out;
    bool whole; /* the input is there */
    bool good;
};

/* Calls body(call) so. Whether it came to its end, and found all good. */
bool zstd_team_guard(void (*body)(void *), struct zstd_team_call *call);

/* Something is not sound: libzstd will say what. */
void zstd_team_refuse_locked(struct zstd_team *t) REQUIRES(waiters_role);

/* The file has been cut off. */
void zstd_team_vanish_locked(struct zstd_team *t) REQUIRES(waiters_role);

/* A call was not good. */
void zstd_team_failed_locked(struct zstd_team *t, const struct zstd_team_call *call)
    REQUIRES(waiters_role);

struct zstd_flight *zstd_team_block_locked(const struct zstd_team *t, uint64_t number)
    REQUIRES(waiters_role);

/* Assigns places to blocks, as far as sizes are known and there is room. To be called whenever more
   of either may be there. */
void zstd_team_assign_locked(struct zstd_team *t) REQUIRES(waiters_role);

/* The input of blocks that are decoded is not needed any more. */
void zstd_team_pass_locked(struct zstd_team *t) REQUIRES(waiters_role);

/* Whether there is something for who walks; and what there is. */
bool zstd_team_may_walk_locked(const struct zstd_team *t) REQUIRES(waiters_role);
void zstd_team_walk_locked(struct zstd_team *t) REQUIRES(waiters_role);

/* Whether input that will be needed soon is not present; makes some of it so. */
bool zstd_team_may_populate_locked(const struct zstd_team *t) REQUIRES(waiters_role);
void zstd_team_populate_locked(struct zstd_team *t) REQUIRES(waiters_role);

/* Decodes the next block that nobody has. */
void zstd_team_decode_locked(struct zstd_team *t, unsigned worker) REQUIRES(waiters_role);

/* A block that is decoded and has a place, but is not there; NULL if there is none. Puts it there.
 */
struct zstd_flight *zstd_team_unplaced_locked(const struct zstd_team *t) REQUIRES(waiters_role);
void zstd_team_place_locked(struct zstd_team *t, struct zstd_flight *f) REQUIRES(waiters_role);

/* Whether the next block can be carried out; carries it out. */
bool zstd_team_may_execute_locked(const struct zstd_team *t) REQUIRES(waiters_role);
void zstd_team_execute_locked(struct zstd_team *t) REQUIRES(waiters_role);

/* Whether all blocks have been. */
bool zstd_team_executed_all_locked(const struct zstd_team *t) REQUIRES(waiters_role);

/* Whether there is something to hash; hashes a piece. */
bool zstd_team_may_hash_locked(const struct zstd_team *t) REQUIRES(waiters_role);
void zstd_team_hash_locked(struct zstd_team *t) REQUIRES(waiters_role);

/* Whether there are elements to hand out, so many bytes or the last. */
bool zstd_team_may_hand_out_locked(const struct zstd_team *t, uint64_t least)
    REQUIRES(waiters_role);

/* Hands elements out. False when the rest is not wanted. */
bool zstd_team_hand_out_locked(struct zstd_team *t, const struct chunk_request *request,
                               struct chunk *chunk) REQUIRES(waiters_role);

#endif
