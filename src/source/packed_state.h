/*
 * The state of a packed source (packed.h): for its files.
 *
 *     packed.c       reading, feeding, the end
 *     packed_cut.c   the rings, and the parts of the input that they take
 *     packed_share.c cores that decode parts, too
 */
#ifndef GPUREDUCE_SOURCE_PACKED_STATE_H
#define GPUREDUCE_SOURCE_PACKED_STATE_H

#include "source/reader.h"
#include "source/waiters.h"
#include "source/zstd/cutter.h"
#include "source/zstd/frames.h"
#include "source/zstd/index.h"
#include "source/zstd/small.h"

/*
 * A reader that keeps what it has read, so that it can be read again: what told the format of a
 * pipe, and later what lies in the ring.
 */
struct replay {
    struct reader base;
    struct reader *input; /* closed with the source */
    bool recording;
    unsigned char *bytes;
    size_t size, capacity, at;
    /* Read first: from the ring. */
    const struct packed_ring *ring;
    uint64_t from, to;
};

/* A part of the input that a ring takes. */
struct packed_part {
    uint64_t offset;   /* of its first byte in the ring's input */
    uint64_t begin;    /* the same in the whole input */
    uint64_t end;      /* behind it, in the whole input */
    uint64_t position; /* in what the whole input decodes to, of the first byte it decodes to */
    bool provisional;  /* that is more than its true position */
    bool last;         /* it is the input's last part */
    uint64_t content;  /* bytes that it is said to decode to; SOURCE_UNKNOWN where nothing says */
    uint64_t most;     /* bytes that it is said to decode to at most */
    size_t number;     /* in the index */
};

/* The input of one engine's decoder, which is all of the source's, or parts of it. Offsets are in
   the ring's input, unless it is said otherwise. */
struct packed_ring {
    /* Fixed by packed_begin. */
    unsigned char *memory; /* of the ring; PACKED_BEFORE bytes stand before it */
    uint64_t size;         /* of the ring, bytes */
    bool *read; /* of each piece of the ring: it is there, though others before it are not */

    /* There is room for all of them; those that are counted stay as they are. */
    struct packed_part *parts;
    size_t part_count GUARDED_BY(source_role);
    size_t parts_done GUARDED_BY(source_role); /* of which is known what they decode to */
    uint64_t known GUARDED_BY(source_role);    /* offset behind them; SOURCE_UNKNOWN of a pipe */

    uint64_t end GUARDED_BY(source_role);     /* of its input; SOURCE_UNKNOWN while not known */
    uint64_t claimed GUARDED_BY(source_role); /* offset behind what was read or is being read */
    uint64_t present GUARDED_BY(source_role); /* all before it has been read */
    uint64_t passed GUARDED_BY(source_role);  /* nothing before it is needed */
    bool reading GUARDED_BY(source_role);     /* a worker reads the pipe */

    bool complete GUARDED_BY(source_role);  /* all that is wanted of it is decoded */
    uint64_t total GUARDED_BY(source_role); /* bytes that it decodes to */

    uint64_t fetched; /* of who reads the pipe: offset behind what is in the caches */

    /* Owned by the worker that feeds the engine. */
    uint64_t moved; /* offset of what was copied before the ring last */
    size_t feeding; /* the part that it takes from */
};

/* The decoding state of a worker. */
struct packed_core {
    struct zstd_small small;
    struct packed_part part;
};

/* State of cores that decode beside a ring. */
struct packed_share {
    struct zstd_shared shared;
    struct packed_part first; /* that is for a core */
    bool has_first GUARDED_BY(source_role);
    /* Until packed_call or packed_return, cores do not take the first, or any other. */
    bool hold_first GUARDED_BY(source_role), hold GUARDED_BY(source_role);
    unsigned helpers GUARDED_BY(source_role);
    bool returning GUARDED_BY(source_role);  /* the ring's parts are for the cores: from the one */
    size_t returned GUARDED_BY(source_role); /* of this number on */
    uint64_t small_max;                      /* bytes of a frame that a core decodes */
    uint64_t extra; /* bytes of input that a core may have present (small.h) */
    unsigned count;
    struct packed_core cores[];
};

struct packed_state {
    struct waiters waiters;  /* for its mutex */
    struct replay *pipe;     /* NULL of a file */
    struct zstd_frame first; /* as far as its header tells; its window SOURCE_UNKNOWN without */

    /* Fixed by packed_cut. */
    struct packed_ring *rings;
    unsigned ring_count;
    uint64_t part_least;        /* bytes of a part */
    struct zstd_cutter *cutter; /* of who cuts; NULL where there is one ring */

    struct zstd_index index GUARDED_BY(source_role); /* of the parts; without any, of one ring */
    bool cutting GUARDED_BY(source_role);            /* a worker cuts the next part */
    bool refused GUARDED_BY(source_role);
    bool torn GUARDED_BY(source_role); /* a part does not begin with an element */
    /* Parts that have been cut, and those of which is known what they decode to; and of these,
       bytes of input and of content. */
    size_t parts_cut GUARDED_BY(source_role), parts_noted GUARDED_BY(source_role);
    uint64_t noted_input GUARDED_BY(source_role), noted_content GUARDED_BY(source_role);

    struct packed_share *share; /* where cores decode, too; otherwise NULL */
};

/* Makes rings that can have so many parts each. False without memory. */
bool packed_rings_make(struct source *s, unsigned count, size_t parts);
void packed_rings_free(struct packed_state *p);

/* Has the one ring take the whole input. */
void packed_take_all(struct source *s);

/* Whether the input may be cut at all. */
bool packed_can_cut(const struct source *s);

/* Makes one ring, which gets parts as it asks for them. False without memory. */
bool packed_cut_ring(struct source *s);

/* Cuts the next part, of `least` bytes at least. False when there is none, or without memory. Drops
   the mutex meanwhile. Nobody else is cutting. */
bool packed_cut_part_locked(struct source *s, uint64_t least, struct packed_part *part)
    REQUIRES(source_role);

/* A part has been decoded, to `content` bytes. False when that shows that all has to be decoded
   once more. */
bool packed_note_content_locked(struct source *s, const struct packed_part *part, uint64_t content)
    REQUIRES(source_role);

/* Notes that the parts cannot be decoded as they were cut, or not by an engine. Any thread. */
static inline void packed_note_refused(struct packed_state *p)
{
    waiters_lock(&p->waiters);
    p->refused = true;
    waiters_unlock(&p->waiters);
}

/* source_next, where cores decode, too. */
enum source_status packed_next(struct source *s, const struct source_request *request,
                               struct chunk *chunk);
void packed_share_free(struct packed_state *p);

/* Cuts a ring's next part, or finds that there is none. Drops the mutex meanwhile. Nobody else is
   cutting. */
void packed_cut_locked(struct source *s, struct packed_ring *r) REQUIRES(source_role);

#endif
