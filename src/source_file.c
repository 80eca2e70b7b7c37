/*
 * Regular files, raw and .npy: every worker claims the next range by an atomic exchange. A
 * worker that can take bytes in place is shown them in the mapped page cache; others, and all when
 * mapping is not to be had, get a copy in their own buffer.
 *
 * The file is mapped as a whole, and its pages are released in segments, when the workers have left
 * them behind, so that what is present stays small however large the file is.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "clock.h"
#include "mapping.h"
#include "message.h"
#include "source.h"

/* What is released at a time. Releasing interrupts every core, so it should not be done for every
   chunk; but what is not released yet counts as the process's memory. 16 threads on 16 GiB: 32 MiB
   139 GB/s and 211 MiB resident, 64 MiB 141 and 272, 256 MiB 141 and 843, 1 GiB 143 and 2109. One
   mapping of which parts are released is 10 GB/s faster than a mapping for each segment: to map and
   to unmap, everybody has to wait. */
#define SEGMENT ((uint64_t)1 << 25)

/* The most that is handed out in place at a time. */
#define IN_PLACE_MAX ((size_t)64 << 20)

/* Making the pages of a chunk present in one call, in place of a fault for every few of them, pays
   where the page cache holds small folios: one core read at 10.9 GB/s with it and 9.3 without.
   Where it holds large ones, faults are cheaper, and do not wait for each other: 16 cores 146 and
   156. So the first chunks try both, and the others do what was faster. */
enum presence { PRESENCE_FAULTED, PRESENCE_POPULATED, PRESENCES };
#define TRIAL_CHUNKS 64
#define TRIAL_CHUNK_MAX ((size_t)4 << 20)

/* Smaller files are read: mapping would cost more than it saves. */
#define MAPPED_FILE_MIN ((uint64_t)4 << 20)

/* Chunks shrink towards the end, so that all workers end together; not below this. */
#define CHUNK_MIN ((size_t)64 << 10)

/* Chunks of a worker whose bytes must stay: the last two. */
#define HELD 2

/* What a worker has in hand; its own. */
struct hand {
    uint64_t index; /* elements claimed and not handed out yet */
    uint64_t count;
    size_t held[HELD]; /* the segments of its last chunks plus one; 0 for none */
    unsigned oldest;   /* which of them to leave next */

    /* The trial whose chunk it has. */
    bool trying;
    enum presence tried;
    size_t tried_bytes;
    uint64_t tried_since;
};

struct file_state {
    _Atomic uint64_t next; /* first element that nobody has claimed */
    struct hand *hands;
    unsigned workers;

    unsigned char *map; /* the file from its beginning on; NULL where it is read */
    size_t map_size;
    _Atomic unsigned *users; /* of each segment: workers with a chunk that begins in it */
    _Atomic bool refused;    /* the kernel would not populate the mapping */

    /* What the trials so far found, by presence. */
    _Atomic unsigned trials; /* begun */
    _Atomic uint64_t trial_bytes[PRESENCES];
    _Atomic uint64_t trial_time[PRESENCES]; /* nanoseconds, the chunk's reduction included */
};

/* Offset in the file of an element. */
static uint64_t element_offset(const struct source *s, uint64_t index)
{
    return s->start + s->data_offset + index * s->element_size;
}

/* Leaves segment i, and releases it when no other worker is there and none will come. One that has
   claimed a range of it but not entered yet finds its pages absent, and releases them again. */
static void leave_segment(struct source *s, size_t i)
{
    struct file_state *f = s->state;
    uint64_t begin = i * SEGMENT, end = begin + SEGMENT;

    if (atomic_fetch_sub(&f->users[i], 1) == 1 && element_offset(s, atomic_load(&f->next)) >= end)
        mapping_release(f->map + begin, SEGMENT);
}

/* Holds segment i for the worker, in place of the one it held two chunks ago. */
static void hold_segment(struct source *s, struct hand *hand, size_t i)
{
    struct file_state *f = s->state;
    size_t *held = &hand->held[hand->oldest];

    hand->oldest = (hand->oldest + 1) % HELD;
    if (*held == i + 1)
        return;
    atomic_fetch_add(&f->users[i], 1);
    if (*held)
        leave_segment(s, *held - 1);
    *held = i + 1;
}

/* How to make a worker's next chunk present. */
static enum presence begin_trial(struct file_state *f, struct hand *hand, size_t size)
{
    unsigned trial;

    if (size > TRIAL_CHUNK_MAX)
        return PRESENCE_POPULATED;
    trial = atomic_load_explicit(&f->trials, memory_order_relaxed);
    if (trial < TRIAL_CHUNKS) {
        trial = atomic_fetch_add(&f->trials, 1);
        hand->trying = true;
        /* One after the other: side by side each would wait for the other's locks. */
        hand->tried = trial < TRIAL_CHUNKS / 2 ? PRESENCE_POPULATED : PRESENCE_FAULTED;
        hand->tried_bytes = size;
        hand->tried_since = clock_now();
        return hand->tried;
    }
    /* Bytes over nanoseconds, without dividing; either may still lack its last trials. */
    return (double)f->trial_bytes[PRESENCE_FAULTED] * (double)f->trial_time[PRESENCE_POPULATED] >
                   (double)f->trial_bytes[PRESENCE_POPULATED] *
                       (double)f->trial_time[PRESENCE_FAULTED]
               ? PRESENCE_FAULTED
               : PRESENCE_POPULATED;
}

/* The worker asks for another chunk: it is done with the last. */
static void end_trial(struct file_state *f, struct hand *hand)
{
    if (hand->trying) {
        atomic_fetch_add(&f->trial_bytes[hand->tried], hand->tried_bytes);
        atomic_fetch_add(&f->trial_time[hand->tried], clock_now() - hand->tried_since);
        hand->trying = false;
    }
}

/* The mapped bytes at `offset`. NULL where the kernel refuses. */
static const void *map_bytes(struct source *s, struct hand *hand, uint64_t offset, size_t size)
{
    struct file_state *f = s->state;
    uint64_t begun = clock_now();
    const unsigned char *data = f->map + offset;

    hold_segment(s, hand, (size_t)(offset / SEGMENT));
    if (begin_trial(f, hand, size) == PRESENCE_POPULATED && !mapping_populate(data, size))
        return NULL;
    atomic_fetch_add(&s->input_read, size);
    atomic_fetch_add(&s->read_time, clock_now() - begun);
    return data;
}

/* Reads elements into a buffer. False on failure, which has been said. */
static bool read_elements(struct source *s, void *buffer, uint64_t index, size_t count)
{
    uint64_t offset = element_offset(s, index);
    ptrdiff_t got = source_pread(s, buffer, count * s->element_size, offset);

    if (got >= 0 && (size_t)got < count * s->element_size)
        source_became_shorter(s, offset + (uint64_t)got);
    return got >= 0 && (size_t)got == count * s->element_size;
}

/* How many elements to claim from `index` on, where `left` are left: up to `bytes`, fewer towards
   the end, and up to a page boundary where an element begins at one (whole pages can be pinned by
   several workers at once, parts of one cannot). */
static uint64_t claim_size(const struct source *s, uint64_t index, uint64_t left, size_t bytes)
{
    const struct file_state *f = s->state;
    uint64_t most = bytes / s->element_size, least = CHUNK_MIN / s->element_size;
    uint64_t count = left / (2 * f->workers), over;

    most = most ? most : 1;
    least = least < most ? least : most;
    count = count > most ? most : count < least ? least : count;
    if (count >= left)
        return left;
    over = element_offset(s, index + count) % MAPPING_PAGE;
    if (over % s->element_size == 0 && over / s->element_size < count)
        count -= over / s->element_size;
    return count;
}

/* Claims the next range. False when there is none. */
static bool claim(struct source *s, struct hand *hand, size_t bytes)
{
    struct file_state *f = s->state;
    uint64_t limit = atomic_load_explicit(&s->limit, memory_order_relaxed);
    uint64_t end = s->elements < limit ? s->elements : limit;
    uint64_t next = atomic_load_explicit(&f->next, memory_order_relaxed);

    do {
        if (next >= end)
            return false;
        hand->count = claim_size(s, next, end - next, bytes);
    } while (!atomic_compare_exchange_weak(&f->next, &next, next + hand->count));
    hand->index = next;
    return true;
}

static enum source_status file_next(struct source *s, const struct source_request *request,
                                    struct chunk *chunk)
{
    struct file_state *f = s->state;
    struct hand *hand = &f->hands[request->worker];
    bool in_place =
        request->in_place && f->map && !atomic_load_explicit(&f->refused, memory_order_relaxed);
    size_t most = request->in_place < IN_PLACE_MAX ? request->in_place : IN_PLACE_MAX;
    uint64_t room = request->size / s->element_size;

    end_trial(f, hand);
    if (hand->count == 0 && !claim(s, hand, in_place ? most : request->size))
        return SOURCE_END;
    chunk->index = hand->index;
    if (in_place) {
        size_t bytes = (size_t)hand->count * s->element_size;

        chunk->data = map_bytes(s, hand, element_offset(s, hand->index), bytes);
        chunk->mapped = chunk->data != NULL;
        if (!chunk->mapped)
            atomic_store(&f->refused, true);
    }
    if (chunk->mapped) {
        chunk->count = (size_t)hand->count;
    } else {
        chunk->count = (size_t)(hand->count < room ? hand->count : room);
        chunk->data = request->buffer;
        if (!read_elements(s, request->buffer, chunk->index, chunk->count))
            return SOURCE_FAILED;
    }
    hand->index += chunk->count;
    hand->count -= chunk->count;
    return SOURCE_CHUNK;
}

/* Reading the chunk again tells what is wrong with it; if nothing is any more, the caller says
   that the file changed. */
static void file_lost(struct source *s, const struct chunk *chunk)
{
    size_t size = (size_t)64 << 10, room = size / s->element_size;
    unsigned char *buffer = malloc(size);
    bool good = buffer != NULL;

    for (size_t i = 0; good && i < chunk->count; i += room) {
        size_t count = chunk->count - i < room ? chunk->count - i : room;
        good = read_elements(s, buffer, chunk->index + i, count);
    }
    free(buffer);
}

static void file_close(struct source *s)
{
    struct file_state *f = s->state;

    if (f->map)
        munmap(f->map, f->map_size);
    free(f->users);
    free(f->hands);
    free(f);
}

/* Whether the file is worth mapping, and can be: block devices and small files are read. */
static bool worth_mapping(const struct source *s)
{
    struct stat status;

    return s->input_bytes >= MAPPED_FILE_MIN && fstat(s->fd, &status) == 0 &&
           S_ISREG(status.st_mode);
}

/* Maps the file, if that can be; it is read otherwise. */
static void map_file(const struct source *s, struct file_state *f)
{
    uint64_t size = s->start + s->input_bytes;

    f->users = calloc((size_t)(size / SEGMENT + 1), sizeof *f->users);
    if (!f->users || size > SIZE_MAX)
        return;
    f->map = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, s->fd, 0);
    if (f->map == MAP_FAILED)
        f->map = NULL;
    f->map_size = (size_t)size;
}

/* The state of a source whose layout is known; NULL without memory. */
static struct file_state *file_state(const struct source *s, unsigned workers)
{
    struct file_state *f = calloc(1, sizeof *f);

    if (!f)
        return NULL;
    f->hands = calloc(workers, sizeof *f->hands);
    if (!f->hands) {
        free(f);
        return NULL;
    }
    f->workers = workers;
    if (worth_mapping(s))
        map_file(s, f);
    return f;
}

bool file_source_open(struct source *s, const struct source_options *options, unsigned workers)
{
    static const struct source_ops ops = {
        .next = file_next, .lost = file_lost, .close = file_close};
    struct reader *reader = stream_reader_open(s);
    uint64_t available;
    bool ok = reader && source_layout(s, options, reader);

    if (reader)
        reader->close(reader);
    if (!ok || !source_check_end(s, s->input_bytes))
        return false;
    available = (s->input_bytes - s->data_offset) / s->element_size;
    if (s->promised != SOURCE_UNKNOWN && s->promised < available)
        message_warning("%s: %" PRIu64 " bytes after the array are left out", s->name,
                        s->input_bytes - s->data_offset - s->promised * s->element_size);
    if (s->elements > available)
        s->elements = available;

    s->state = file_state(s, workers);
    if (!s->state) {
        source_error(s, "out of memory");
        return false;
    }
    /* What was read to detect the format counts no more than once. */
    atomic_store(&s->input_read, s->npy ? s->data_offset : 0);
    s->ops = &ops;
    s->parallel = true;
    return true;
}
