#include "config.h"

#include "core/tally.h"

#include <stdlib.h>

#include "core/order.h"

/* Elements for which there is room at first. */
#define ROOM_MIN ((size_t)1 << 14)

/* Elements from which on a worker counts what it has kept: less is sorted as soon. */
#define COUNTED_MIN ((size_t)1 << 16)

size_t tally_size(const struct tally_plan *plan)
{
    switch (plan->kind) {
    case TALLY_CELLS:
        return plan->edges;
    case TALLY_WORDS:
        return (size_t)1 << (8 * element_size(plan->type) - plan->shift);
    case TALLY_BINS:
        return (size_t)plan->bins + 2;
    }
    return 0;
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
    uint64_t last = plan->edge[cell + 1] - 1 - plan->edge[cell];
    unsigned shift = 0;

    while (last >> shift >> plan->fine_bits != 0)
        shift++;
    return shift;
}

/* Counts the elements that are kept. */
static void count_fine(struct tally *t)
{
    const struct tally_plan *plan = t->plan;
    const size_t size = element_size(plan->type), fine = (size_t)1 << plan->fine_bits;
    unsigned cells[TALLY_EDGES_MAX], shifts[TALLY_EDGES_MAX], count = 0;

    if (!t->fine)
        t->fine = calloc(plan->kept_cells * fine, sizeof *t->fine);
    if (!t->fine) {
        t->failed = true;
        return;
    }
    for (unsigned i = 0; i < plan->edges; i++) {
        if (plan->keep[i]) {
            cells[count] = i;
            shifts[count++] = tally_fine_shift(plan, i);
        }
    }
    for (size_t i = 0; i < t->kept_count; i++) {
        uint64_t key =
            order_key(plan->type, order_load(plan->type, (const char *)t->kept + i * size));
        unsigned cell = 0;

        while (key >= plan->edge[cells[cell] + 1])
            cell++;
        t->fine[cell * fine + ((key - plan->edge[cells[cell]]) >> shifts[cell])]++;
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
    if (t->plan->kind != TALLY_CELLS || (!t->dropped && t->kept_count < COUNTED_MIN))
        return;
    count_fine(t);
    if (t->dropped)
        t->kept_count = 0;
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
