/*
 * Members of gzip are gathered in groups. One thread at a time reads the bytes of the next group,
 * and then decodes it, while another reads that of the one after it. So the bytes of groups are
 * read in the order of the file, they are decoded in any order, and handed out in order again.
 *
 * A block of bgzf says where it ends. Other members are taken to end before the next bytes that
 * may begin one. A group that is not decoded as was expected, for that or another reason, is
 * decoded in order by zlib, which finds out what is wrong if there is anything; and so is all that
 * follows it.
 */
#include "config.h"

#include "source/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "source/format/inflate.h"
#include "sys/bytes.h"
#include "sys/clock.h"
#include "sys/grow.h"
#include "sys/mutex.h"

/* Groups that may wait to be handed out. */
#define GROUPS 64

/* A group ends with the member at which it has so many bytes, compressed or not. */
#define GROUP_COMPRESSED ((size_t)256 << 10)
#define GROUP_CONTENT ((size_t)1 << 20)

/* Larger members, compressed or not, are decoded in order; and all groups together have at most so
   many bytes of content. */
#define MEMBER_COMPRESSED ((size_t)4 << 20)
#define MEMBER_CONTENT ((size_t)16 << 20)
#define ALL_CONTENT ((size_t)256 << 20)

/* Bytes that are read at a time. */
#define PIECE ((size_t)256 << 10)

/* As many bytes are handed out at a time at most: zlib counts by 32 bits. */
#define READ_MOST ((size_t)1 << 30)

/* The least member, and where its extra fields begin. */
#define MEMBER_LEAST 18
#define EXTRA 12

enum group_state {
    GROUP_EMPTY,
    GROUP_FILLED, /* its bytes are being read, or decoded */
    GROUP_READY,  /* its content is there */
    GROUP_IN_TURN /* its bytes are there, and are to be decoded in order */
};

/* Memory of a group. The one that was used last is used next, since it is in a cache. */
struct memory {
    unsigned char *bytes, *content;
    size_t room, content_room; /* bytes that there is memory for */
};

struct group {
    enum group_state state; /* guarded */
    struct memory memory;
    size_t size;         /* bytes */
    size_t content_size; /* of what they decode to */
    size_t given;        /* bytes that have been handed out, or decoded in order */
    uint64_t offset;     /* of its first byte in the input */
};

MUTEX_ROLE(gzip_role);

struct gzip {
    struct reader base;
    struct mutex mutex;
    pthread_cond_t changed; /* the state of a group */
    pthread_cond_t filled;  /* `filling` is false; one thread is woken, and wakes the next one */

    /* Owned, as the input is, by the thread that has set `filling`. */
    unsigned char *rest; /* what has been read after the last group */
    size_t rest_size, rest_room;
    bool ended; /* nothing follows */
    uint64_t
        offset; /* in the input, of what is read next; it parts guarded bytes from `ended`, which
                        the compiler might read with them */

    bool filling GUARDED_BY(gzip_role);                 /* a thread reads the bytes of a group */
    bool in_order GUARDED_BY(gzip_role);                /* no more groups are begun */
    size_t next GUARDED_BY(gzip_role);                  /* groups that were begun */
    size_t held GUARDED_BY(gzip_role);                  /* bytes of content of groups */
    struct inflate *idle[GROUPS] GUARDED_BY(gzip_role); /* decoders that nobody uses */
    size_t idle_count GUARDED_BY(gzip_role);
    struct memory spare[GROUPS] GUARDED_BY(gzip_role); /* of groups that have been handed out */
    size_t spare_count GUARDED_BY(gzip_role);
    struct group groups[GROUPS];

    /* Owned by the thread that reads. */
    size_t taken;            /* groups that have been handed out */
    struct inflate *inflate; /* decodes in order */
    unsigned char *piece;    /* then: bytes from the input */
    size_t piece_size, piece_at;
    uint64_t place;  /* offset in the input of what is decoded next */
    bool begun;      /* a member, or a stream of zlib */
    bool complete;   /* one has ended */
    const char *why; /* why the input failed; NULL: it has not, or could not be read */
};

MUTEX_ROLE_OF(gzip, struct gzip, mutex);

/*
 * Groups.
 */

/* The size of a block of bgzf that begins with these bytes, MEMBER_LEAST or more; 0 if it is none.
   Its first extra field is BC. */
static size_t block_size(const unsigned char *b)
{
    return (b[3] & 4) && bytes_number(b + 10, 2, false) >= 6 && b[EXTRA] == 'B' &&
                   b[EXTRA + 1] == 'C' && bytes_number(b + 14, 2, false) == 2
               ? (size_t)bytes_number(b + 16, 2, false) + 1
               : 0;
}

/* Reads more bytes of a group, up to `size` in all. False on failure. */
static bool read_more(struct gzip *g, struct group *group, size_t size)
{
    ptrdiff_t got;

    if (!GROW(group->memory.bytes, group->memory.room, size))
        return source_no_memory(g->base.source);
    got = reader_fill(g->base.input, group->memory.bytes + group->size, size - group->size);
    if (got < 0)
        return false;
    g->ended = (size_t)got < size - group->size;
    group->size += (size_t)got;
    g->offset += (uint64_t)got;
    return true;
}

/* Reads a group to its byte `size`, and to where it is to end if that is further and the input is no
   pipe, which may be slow. Bytes after the end of a group are copied to the next one. */
static bool read_ahead(struct gzip *g, struct group *group, size_t size)
{
    return read_more(g, group,
                     g->base.source->has_size && size < GROUP_COMPRESSED ? GROUP_COMPRESSED : size);
}

/* Finds the size of the member at `at` of a group, for which more is read; 0 where it is not soon
   known, or on failure. */
static size_t find_size(struct gzip *g, struct group *group, size_t at)
{
    size_t from = at + MEMBER_LEAST, size;

    if (group->size < at + MEMBER_LEAST && !g->ended && !read_ahead(g, group, at + MEMBER_LEAST))
        return 0;
    if (group->size < at + MEMBER_LEAST ||
        !inflate_recognise_gzip(group->memory.bytes + at, MEMBER_LEAST))
        return 0;
    size = block_size(group->memory.bytes + at);
    if (size > 0) {
        if (group->size < at + size && !g->ended && !read_ahead(g, group, at + size))
            return 0;
        return size >= MEMBER_LEAST && at + size <= group->size ? size : 0;
    }
    if (!g->base.source->has_size)
        return 0;
    for (;;) {
        const unsigned char *found;

        while (from + 10 <= group->size &&
               (found = memchr(group->memory.bytes + from, 0x1f, group->size - from - 9))) {
            if (inflate_recognise_gzip(found, 10))
                return (size_t)(found - group->memory.bytes) - at;
            from = (size_t)(found - group->memory.bytes) + 1;
        }
        if (g->ended)
            return group->size - at;
        from = group->size > from + 9 ? group->size - 9 : from;
        if (group->size - at >= MEMBER_COMPRESSED || !read_more(g, group, group->size + PIECE))
            return 0;
    }
}

/* Reads the members of a group. False where none could be taken: then its bytes are to be decoded in
   order. */
static bool fill(struct gzip *g, struct group *group)
{
    size_t at = 0, size;

    group->content_size = 0;
    group->given = 0;
    group->offset = g->offset - g->rest_size;
    if (!GROW(group->memory.bytes, group->memory.room, g->rest_size + 1))
        return source_no_memory(g->base.source);
    if (g->rest_size > 0)
        memcpy(group->memory.bytes, g->rest, g->rest_size);
    group->size = g->rest_size;
    g->rest_size = 0;
    while (at < GROUP_COMPRESSED && group->content_size < GROUP_CONTENT) {
        size_t content;

        if (at > 0 && at == group->size && g->ended)
            break;
        size = find_size(g, group, at);
        if (size == 0)
            break;
        content = (size_t)bytes_number(group->memory.bytes + at + size - 4, 4, false);
        if (content > MEMBER_CONTENT)
            break;
        at += size;
        group->content_size += content;
    }
    if (at == 0)
        return false;
    size = group->size - at;
    if (!GROW(g->rest, g->rest_room, size))
        return source_no_memory(g->base.source);
    if (size > 0)
        memcpy(g->rest, group->memory.bytes + at, size);
    g->rest_size = size;
    group->size = at;
    return true;
}

/* Decodes a group. False where its members are not what was expected. */
static bool decode(struct group *group, struct inflate *z)
{
    size_t at = 0, done = 0;

    if (!GROW(group->memory.content, group->memory.content_room, group->content_size + 1))
        return false;
    while (at < group->size) {
        size_t used, size = group->content_size - done;

        if (!inflate_member(z, group->memory.bytes + at, group->size - at, &used,
                            group->memory.content + done, &size))
            return false;
        at += used;
        done += size;
    }
    return done == group->content_size;
}

/* Begins with the next group, if there is room for one. False if there is nothing to do. Drops the
   mutex meanwhile. */
REQUIRES(gzip_role)
static bool begin_group_locked(struct gzip *g)
{
    struct group *group = &g->groups[g->next % GROUPS];
    struct inflate *z;
    uint64_t begun;
    bool good;

    if (g->filling || g->in_order || group->state != GROUP_EMPTY ||
        (g->held >= ALL_CONTENT && g->next > 0))
        return false;
    g->filling = true;
    group->state = GROUP_FILLED;
    if (g->spare_count > 0)
        group->memory = g->spare[--g->spare_count];
    g->next++;
    z = g->idle_count > 0 ? g->idle[--g->idle_count] : NULL;
    gzip_unlock(g);
    good = fill(g, group);
    z = z || !good ? z : inflate_open();
    gzip_lock(g);
    g->filling = false;
    g->in_order = g->in_order || !good;
    g->held += good ? group->content_size : 0;
    pthread_cond_broadcast(&g->changed);
    pthread_cond_signal(&g->filled);
    gzip_unlock(g);
    begun = clock_now();
    good = good && z && decode(group, z);
    atomic_fetch_add_explicit(&g->base.source->decode_time, clock_now() - begun,
                              memory_order_relaxed);
    gzip_lock(g);
    if (z)
        g->idle[g->idle_count++] = z;
    group->state = good ? GROUP_READY : GROUP_IN_TURN;
    g->in_order = g->in_order || !good;
    pthread_cond_broadcast(&g->changed);
    return true;
}

static bool gzip_ahead(struct reader *r)
{
    struct gzip *g = (struct gzip *)r;
    bool good;

    gzip_lock(g);
    /* The bytes of a group of a file are soon read. A caller that finds nothing to do sleeps for
       longer, until the reader has filled its buffer. */
    while (g->filling && g->base.source->has_size)
        gzip_wait_for(g, &g->filled);
    good = begin_group_locked(g);
    if (!good)
        pthread_cond_signal(&g->filled);
    gzip_unlock(g);
    return good;
}

/* Waits until the group that is handed out next has been read, and decoded, and returns it; NULL if
   there is none. */
static struct group *wait_for_group(struct gzip *g)
{
    struct group *group = &g->groups[g->taken % GROUPS];

    gzip_lock(g);
    while (g->taken < g->next ? group->state == GROUP_FILLED : !g->in_order)
        if (!begin_group_locked(g))
            gzip_wait_for(g, &g->changed);
    if (g->taken == g->next)
        group = NULL;
    gzip_unlock(g);
    return group;
}

/* A group has been handed out. */
static void pass_group(struct gzip *g, struct group *group)
{
    gzip_lock(g);
    g->held -= group->state == GROUP_READY ? group->content_size : 0;
    group->state = GROUP_EMPTY;
    if (g->in_order) { /* no group follows */
        free(group->memory.bytes);
        free(group->memory.content);
    } else {
        g->spare[g->spare_count++] = group->memory;
    }
    group->memory = (struct memory){.room = 0};
    g->taken++;
    gzip_unlock(g);
}

/*
 * In order.
 */

/* Sees to it that there are bytes of g->piece to decode, if there are any in the input: those of
   groups first. False on failure. */
static bool refill(struct gzip *g)
{
    struct group *group;
    ptrdiff_t got;

    if (g->piece_at < g->piece_size)
        return true;
    g->piece_at = g->piece_size = 0;
    while ((group = wait_for_group(g)) && group->given == group->size)
        pass_group(g, group);
    if (group) {
        got = (ptrdiff_t)(group->size - group->given < PIECE ? group->size - group->given : PIECE);
        memcpy(g->piece, group->memory.bytes + group->given, (size_t)got);
        group->given += (size_t)got;
    } else if (g->rest_size > 0) {
        got = (ptrdiff_t)(g->rest_size < PIECE ? g->rest_size : PIECE);
        memcpy(g->piece, g->rest, (size_t)got);
        memmove(g->rest, g->rest + got, g->rest_size - (size_t)got);
        g->rest_size -= (size_t)got;
    } else {
        got = g->ended ? 0 : reader_read(g->base.input, g->piece, PIECE);
        if (got < 0)
            return false;
        g->ended = got == 0;
    }
    g->piece_size = (size_t)got;
    return true;
}

/* Makes the source fail, now and whenever more is to be read. Returns false. */
static bool wrong(struct gzip *g, const char *what)
{
    g->why = what;
    source_error_at(g->base.source, ERROR_DATA, g->place, "byte %" PRIu64 ": %s", g->place, what);
    return false;
}

/* Begins with a member, or ends if there is none. Zeros may follow the last one. */
static bool begin_member(struct gzip *g)
{
    const bool gzip = g->base.source->info.compression == COMPRESSION_GZIP;

    for (;;) {
        if (!refill(g))
            return false;
        if (g->piece_at == g->piece_size) {
            g->complete = true;
            return true;
        }
        if (!g->complete || g->piece[g->piece_at] != 0)
            break;
        g->piece_at++;
        g->place++;
    }
    if (g->complete && (!gzip || g->piece[g->piece_at] != 0x1f))
        return wrong(g, gzip ? "no member of gzip begins here, after others"
                             : "the stream of zlib ends here, before the input does");
    inflate_begin_stream(g->inflate, gzip);
    g->begun = true;
    g->complete = false;
    return true;
}

/* Decodes up to `size` bytes in order. Returns how many, 0 at the end, or -1. */
static ptrdiff_t read_in_order(struct gzip *g, unsigned char *buffer, size_t size)
{
    size_t out = 0;

    while (out == 0) {
        uint64_t begun;
        bool ended;
        size_t in;

        if (!g->begun && !begin_member(g))
            return -1;
        if (!g->begun)
            return 0;
        if (!refill(g))
            return -1;
        if (g->piece_at == g->piece_size) {
            (void)wrong(g, "the compressed data are cut off");
            return -1;
        }
        begun = clock_now();
        in = g->piece_size - g->piece_at;
        out = size;
        if (!inflate_stream(g->inflate, g->piece + g->piece_at, &in, buffer, &out, &ended)) {
            g->place += in;
            (void)wrong(g, inflate_error(g->inflate));
            return -1;
        }
        atomic_fetch_add_explicit(&g->base.source->decode_time, clock_now() - begun,
                                  memory_order_relaxed);
        g->piece_at += in;
        g->place += in;
        if (ended) {
            g->begun = false;
            g->complete = true;
        }
    }
    return (ptrdiff_t)out;
}

/*
 * The reader.
 */

static ptrdiff_t gzip_read(struct reader *r, void *buffer, size_t size)
{
    struct gzip *g = (struct gzip *)r;
    ptrdiff_t got;

    size = size < READ_MOST ? size : READ_MOST;
    while (!g->piece) {
        struct group *group = wait_for_group(g);
        size_t count;

        if (source_failed(g->base.source))
            return -1;
        r->at_end = !group;
        if (!group)
            return 0;
        if (group->state == GROUP_IN_TURN) {
            g->place = group->offset;
            g->complete = g->taken > 0;
            g->inflate = inflate_open();
            g->piece = malloc(PIECE);
            if (!g->inflate || !g->piece) {
                (void)source_no_memory(g->base.source);
                return -1;
            }
            break;
        }
        count = group->content_size - group->given;
        count = count < size ? count : size;
        memcpy(buffer, group->memory.content + group->given, count);
        group->given += count;
        if (group->given == group->content_size)
            pass_group(g, group);
        if (count > 0)
            return (ptrdiff_t)count;
    }
    if (g->why)
        (void)wrong(g, g->why);
    got = g->why ? -1 : read_in_order(g, buffer, size);
    r->at_end = got == 0;
    return got;
}

UNCHECKED static void gzip_close(struct reader *r)
{
    struct gzip *g = (struct gzip *)r;

    for (size_t i = 0; i < GROUPS; i++) {
        free(g->groups[i].memory.bytes);
        free(g->groups[i].memory.content);
    }
    for (size_t i = 0; i < g->spare_count; i++) {
        free(g->spare[i].bytes);
        free(g->spare[i].content);
    }
    for (size_t i = 0; i < g->idle_count; i++)
        inflate_close(g->idle[i]);
    inflate_close(g->inflate);
    free(g->piece);
    free(g->rest);
    pthread_cond_destroy(&g->changed);
    pthread_cond_destroy(&g->filled);
    mutex_destroy(&g->mutex);
    reader_close(r);
}

struct reader *gzip_reader_open(struct source *s, struct reader *input)
{
    struct gzip *g = reader_open(s, input, gzip_read, sizeof *g, sizeof *g);

    if (!g)
        return NULL;
    g->base.close = gzip_close;
    g->base.ahead = gzip_ahead;
    g->base.many_ahead = true;
    mutex_init(&g->mutex);
    pthread_cond_init(&g->changed, NULL);
    pthread_cond_init(&g->filled, NULL);
    return &g->base;
}
