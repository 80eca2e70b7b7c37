#include "config.h"

#include "zstd/ring.h"

#include "sys/align.h"
#include "zstd/frames.h"

size_t zstd_ring_capacity(uint64_t window, size_t ahead)
{
    /* At the end of a run there may be too little for a block, and another is being written. */
    return (size_t)window + ahead + 2 * (size_t)ZSTD_BLOCK_CONTENT_MAX + 2 * ZSTD_RING_FRONT;
}

void zstd_ring_init(struct zstd_ring *r, unsigned char *memory, size_t capacity)
{
    *r = (struct zstd_ring){.memory = memory, .capacity = capacity};
}

static const struct zstd_run *run_of(const struct zstd_ring *r, uint64_t number)
{
    return &r->runs[number % ZSTD_RING_RUNS];
}

/* Begins a run at this offset. */
static void begin_run(struct zstd_ring *r, uint64_t position, uint64_t begin, bool continues)
{
    r->runs[++r->run % ZSTD_RING_RUNS] = (struct zstd_run){
        .position = position, .begin = begin, .end = begin, .continues = continues};
}

void zstd_ring_begin(struct zstd_ring *r, uint64_t position)
{
    uint64_t begin = run_of(r, r->run)->end + ZSTD_RING_FRONT;

    /* The bytes before it must not be beyond the end of the memory. */
    if (begin % r->capacity < ZSTD_RING_FRONT)
        begin += ZSTD_RING_FRONT;
    begin_run(r, position, begin, false);
}

unsigned char *zstd_ring_place(struct zstd_ring *r, uint32_t size, uint64_t oldest, uint64_t *run)
{
    uint64_t begin = run_of(r, r->run)->end;
    bool fits = begin % r->capacity != 0 && begin % r->capacity + size <= r->capacity;

    if (!fits)
        begin = align_units(begin, r->capacity) * r->capacity + ZSTD_RING_FRONT;
    if (begin + size > oldest + r->capacity)
        return NULL;
    if (!fits)
        begin_run(r, zstd_ring_position(r), begin, true);
    r->runs[r->run % ZSTD_RING_RUNS].end = begin + size;
    *run = r->run;
    return r->memory + begin % r->capacity;
}

uint64_t zstd_ring_position(const struct zstd_ring *r)
{
    const struct zstd_run *newest = run_of(r, r->run);

    return newest->position + (newest->end - newest->begin);
}

/* The run in which this position lies. */
static const struct zstd_run *find_run(const struct zstd_ring *r, uint64_t position)
{
    uint64_t number = r->run;

    for (unsigned i = 1; i < ZSTD_RING_RUNS && run_of(r, number)->continues &&
                         position < run_of(r, number)->position;
         i++)
        number--;
    return run_of(r, number);
}

uint64_t zstd_ring_offset(const struct zstd_ring *r, uint64_t position)
{
    const struct zstd_run *run = find_run(r, position);

    return run->begin + (position - run->position);
}

unsigned char *zstd_ring_at(const struct zstd_ring *r, uint64_t position, uint64_t *end)
{
    const struct zstd_run *run = find_run(r, position);

    *end = run->position + (run->end - run->begin);
    return r->memory + run->begin % r->capacity + (position - run->position);
}

struct zstd_place zstd_ring_reach(const struct zstd_ring *r, uint64_t run, unsigned char *out)
{
    const struct zstd_run *own = run_of(r, run), *older = run_of(r, run - 1);
    struct zstd_place place = {.out = out, .run = r->memory + own->begin % r->capacity};

    if (own->continues) {
        place.older = (size_t)(older->end - older->begin);
        place.older_end = r->memory + older->begin % r->capacity + place.older;
    }
    return place;
}
