#include "config.h"

#include "core/tally.h"

#include <stdlib.h>
#include <string.h>

#include "core/order.h"

/* Elements for which there is room at first. */
#define ROOM_MIN ((size_t)1 << 14)

/* Elements from which on a worker counts what it has kept: less is sorted as soon. */
#define COUNTED_MIN ((size_t)1 << 16)

size_t tally_size(const struct tally_plan *plan)
{
    switch (plan->kind) {
    case TALLY_CELLS:
        return (size_t)plan->cells + 1;
    case TALLY_WORDS:
        return (size_t)1 << (8 * element_size(plan->type) - plan->shift);
    case TALLY_BINS:
        return (size_t)plan->bins + 2;
    }
    return 0;
}

uint64_t tally_last(const struct tally_plan *plan, unsigned cell)
{
    return cell + 1 < plan->cells ? plan->first[cell + 1] - 1 : order_greatest(plan->type);
}

bool tally_open(struct tally *t, const struct tally_plan *plan)
{
    *t = (struct tally){.plan = plan};
    t->counts = calloc(tally_size(plan), sizeof *t->counts);
    t->failed = !t->counts;
    return !t->failed;
}

void tally_close(struct tally *t)
{
    free(t->counts);
    free(t->kept);
    free(t->fine);
    free(t->scratch);
    *t = (struct tally){.plan = NULL};
}

unsigned tally_fine_cell(const struct tally_plan *plan, unsigned cell)
{
    unsigned before = 0;

    for (unsigned i = 0; i < cell; i++)
        before += plan->keep[i];
    return before;
}

unsigned tally_fine_shift(const struct tally_plan *plan, unsigned cell)
{
    const uint64_t last = tally_last(plan, cell) - plan->first[cell];
    unsigned shift = 0;

    while (last >> shift >> plan->fine_bits != 0)
        shift++;
    return shift;
}

/* The cells that are kept. */
struct kept_cells {
    unsigned count, shift[TALLY_CELLS_MAX];
    uint64_t first[TALLY_CELLS_MAX];
};

static void find_kept_cells(struct kept_cells *cells, const struct tally_plan *plan)
{
    cells->count = 0;
    for (unsigned i = 0; i < plan->cells; i++) {
        if (plan->keep[i]) {
            cells->first[cells->count] = plan->first[i];
            cells->shift[cells->count++] = tally_fine_shift(plan, i);
        }
    }
}

/* The key of element i of those that are kept, and its cell. The size is a constant. */
static inline uint64_t kept_key(const struct tally *t, size_t i, size_t size)
{
    const unsigned char *at = (const unsigned char *)t->kept + i * size;
    uint64_t bits = 0;
    uint32_t word;

    if (size == sizeof word) {
        memcpy(&word, at, sizeof word);
        bits = word;
    } else {
        memcpy(&bits, at, sizeof bits);
    }
    return order_key(t->plan->type, bits);
}

static inline size_t kept_cell(const struct kept_cells *cells, uint64_t key)
{
    size_t cell = 0;

    /* Adding up needs no guess at which cell it is. */
    for (unsigned i = 1; i < cells->count; i++)
        cell += key >= cells->first[i];
    return cell;
}

/* Counts the elements that are kept in parts of their cells; the size is a constant. */
static inline void count_sized(struct tally *t, const struct kept_cells *cells, size_t size)
{
    const unsigned fine_bits = t->plan->fine_bits;

    for (size_t i = 0; i < t->kept_count; i++) {
        const uint64_t key = kept_key(t, i, size);
        const size_t cell = kept_cell(cells, key);

        t->fine[(cell << fine_bits) + ((key - cells->first[cell]) >> cells->shift[cell])]++;
    }
}

static void count_fine(struct tally *t)
{
    const struct tally_plan *plan = t->plan;
    struct kept_cells cells;

    if (!t->fine)
        t->fine = calloc((size_t)plan->kept_cells << plan->fine_bits, sizeof *t->fine);
    if (!t->fine) {
        t->failed = true;
        return;
    }
    find_kept_cells(&cells, plan);
    if (element_size(plan->type) == 4)
        count_sized(t, &cells, 4);
    else
        count_sized(t, &cells, 8);
}

/* How many elements of each cell are kept, or have been dropped. */
static void count_cells(const struct tally *t, uint64_t *counts)
{
    const size_t size = element_size(t->plan->type), parts = (size_t)1 << t->plan->fine_bits;
    struct kept_cells cells;

    find_kept_cells(&cells, t->plan);
    for (unsigned i = 0; i < cells.count; i++) {
        counts[i] = 0;
        for (size_t part = 0; t->fine && part < parts; part++)
            counts[i] += t->fine[i * parts + part];
    }
    if (t->fine)
        return;
    for (size_t i = 0; i < t->kept_count; i++)
        counts[kept_cell(&cells, kept_key(t, i, size))]++;
}

/* Works out how many elements lie before the cells that follow those that are kept. */
static void count_behind(struct tally *t)
{
    const struct tally_plan *plan = t->plan;
    uint64_t counts[TALLY_CELLS_MAX] = {0};
    unsigned kept = 0;

    count_cells(t, counts);
    for (unsigned i = 0; i < plan->cells; i++) {
        if (!plan->keep[i])
            continue;
        if (i + 1 < plan->cells && !plan->keep[i + 1])
            t->counts[i + 1] = t->counts[i] + counts[kept];
        kept++;
    }
}

void tally_count_kept(struct tally *t)
{
    if (!t->fine)
        count_fine(t);
}

bool tally_reserve(struct tally *t, size_t count)
{
    const size_t size = element_size(t->plan->type);
    const size_t most = t->plan->room > count ? t->plan->room : count;

    while (t->kept_room - t->kept_count < count && t->kept_room < most) {
        size_t room = t->kept_room < ROOM_MIN ? ROOM_MIN : 2 * t->kept_room;
        void *kept;

        room = room > most ? most : room;
        kept = realloc(t->kept, room * size);
        if (!kept)
            break;
        t->kept = kept;
        t->kept_room = room;
    }
    if (t->kept_room - t->kept_count < count) {
        count_fine(t);
        t->dropped = true;
        t->kept_count = 0;
    }
    if (t->kept_room < count)
        t->failed = true;
    return !t->failed;
}

void tally_end(struct tally *t)
{
    if (t->plan->kind != TALLY_CELLS)
        return;
    if (t->dropped || t->kept_count >= COUNTED_MIN)
        count_fine(t);
    if (t->dropped)
        t->kept_count = 0;
    if (!t->failed)
        count_behind(t);
}

void tally_merge(struct tally *t, const struct tally *other)
{
    const struct tally_plan *plan = t->plan;

    for (size_t i = 0; i < tally_size(plan); i++)
        t->counts[i] += other->counts[i];
    for (int i = 0; i < 2; i++)
        t->zeros[i] += other->zeros[i];
    t->failed = t->failed || other->failed;
    if (plan->kind != TALLY_CELLS)
        return;
    t->dropped = t->dropped || other->dropped;
    if (t->fine && other->fine)
        for (size_t i = 0; i < (size_t)plan->kept_cells << plan->fine_bits; i++)
            t->fine[i] += other->fine[i];
}
