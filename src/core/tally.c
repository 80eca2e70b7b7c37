#include "config.h"

#include "core/tally.h"

#include <stdlib.h>
#include <string.h>

#include "core/order.h"

/* Elements for which there is room at first. */
#define ROOM_MIN ((size_t)1 << 14)

/* Elements from which on a worker counts and orders what it has kept: less is looked through as
   soon. */
#define COUNTED_MIN ((size_t)1 << 15)

/* Elements of a block that is put in order, at least, and for each part that they may be of: a
   block, the numbers of its elements' parts and what comes of it fit the level-2 cache. */
#define BLOCK_MIN ((size_t)1 << 15)
#define BLOCK_PER_PART 8

size_t tally_size(const struct tally_plan *plan)
{
    switch (plan->kind) {
    case TALLY_CELLS:
        return (size_t)plan->cells + 1;
    case TALLY_WORDS:
        return (size_t)1 << (8 * element_size(plan->type) - plan->shift);
    case TALLY_BINS:
        return (size_t)plan->bins + 2;
    case TALLY_KEYS:
        return 1; /* it means nothing */
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
    free(t->place);
    free(t->scratch);
    *t = (struct tally){.plan = NULL};
}

uint64_t tally_nans(const struct tally *t, uint64_t elements)
{
    return t->plan->kind == TALLY_BINS ? t->special[0]
                                       : t->counts[0] + (elements - t->counts[t->plan->cells]);
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

/* How keys are made of elements (order_key) of all types but bool: the bits in `turn` are changed where
   the sign is set, and those in `flip` always. */
struct key_rule {
    unsigned sign_bit;
    uint64_t turn, flip;
};

static struct key_rule key_rule(enum element_type type)
{
    const uint64_t least = order_key(type, 0), sign = order_sign(type);

    return (struct key_rule){.sign_bit = (unsigned)(8 * element_size(type) - 1),
                             .turn = order_key(type, sign) ^ sign ^ least,
                             .flip = least};
}

static inline uint64_t kept_key(const struct key_rule *rule, uint64_t bits)
{
    return bits ^ (-(bits >> rule->sign_bit) & rule->turn) ^ rule->flip;
}

/* The cells that are kept. */
struct kept_cells {
    unsigned count, shift[TALLY_CELLS_MAX], fine_bits;
    uint64_t first[TALLY_CELLS_MAX];
    struct key_rule rule;
};

static void find_kept_cells(struct kept_cells *cells, const struct tally_plan *plan)
{
    cells->count = 0;
    cells->first[0] = cells->shift[0] = 0;
    cells->fine_bits = plan->fine_bits;
    cells->rule = key_rule(plan->type);
    for (unsigned i = 0; i < plan->cells; i++) {
        if (plan->keep[i]) {
            cells->first[cells->count] = plan->first[i];
            cells->shift[cells->count++] = tally_fine_shift(plan, i);
        }
    }
}

/* The bits of element i of those that are kept. The size is a constant, here and below. */
static inline uint64_t kept_bits(const struct tally *t, size_t i, size_t size)
{
    return size == sizeof(uint32_t) ? ((const uint32_t *)t->kept)[i]
                                    : ((const uint64_t *)t->kept)[i];
}

static inline size_t kept_cell(const struct kept_cells *cells, uint64_t key)
{
    size_t cell = 0;

    /* Adding up needs no guess at which cell it is. */
    for (unsigned i = 1; i < cells->count; i++)
        cell += key >= cells->first[i];
    return cell;
}

/* The number of its fine count. */
static inline size_t kept_part(const struct kept_cells *cells, uint64_t bits)
{
    const uint64_t key = kept_key(&cells->rule, bits);
    const size_t cell = kept_cell(cells, key);

    return (cell << cells->fine_bits) + ((key - cells->first[cell]) >> cells->shift[cell]);
}

static inline void count_sized(struct tally *t, const struct kept_cells *cells, size_t size)
{
    for (size_t i = 0; i < t->kept_count; i++)
        t->fine[kept_part(cells, kept_bits(t, i, size))]++;
}

static size_t fine_size(const struct tally_plan *plan)
{
    return (size_t)plan->kept_cells << plan->fine_bits;
}

/* Counts the elements that are kept in parts of their cells. */
static void count_fine(struct tally *t)
{
    const struct tally_plan *plan = t->plan;
    struct kept_cells cells;

    if (!t->fine)
        t->fine = calloc(fine_size(plan), sizeof *t->fine);
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

/* A block that is put in order: the part of each of its elements, and the elements in order. */
struct ordering {
    size_t parts;
    uint32_t *part;
    uint32_t *next; /* where the next element of each part belongs */
    void *to;
};

/* Puts elements from number `begin` on, `count` of them, in the order of their parts, and counts
   them. */
static inline void order_block(struct tally *t, const struct kept_cells *cells,
                               const struct ordering *o, size_t begin, size_t count,
                               uint32_t *place, size_t size)
{
    uint32_t sum = 0;

    memset(o->next, 0, o->parts * sizeof *o->next);
    for (size_t i = 0; i < count; i++) {
        const uint32_t part = (uint32_t)kept_part(cells, kept_bits(t, begin + i, size));

        o->part[i] = part;
        o->next[part]++;
    }
    for (size_t part = 0; part < o->parts; part++) {
        const uint32_t here = o->next[part];

        t->fine[part] += here;
        place[part] = o->next[part] = sum;
        sum += here;
    }
    place[o->parts] = sum;
    for (size_t i = 0; i < count; i++) {
        const uint32_t at = o->next[o->part[i]]++;

        if (size == sizeof(uint32_t))
            ((uint32_t *)o->to)[at] = (uint32_t)kept_bits(t, begin + i, size);
        else
            ((uint64_t *)o->to)[at] = kept_bits(t, begin + i, size);
    }
    memcpy((char *)t->kept + begin * size, o->to, count * size);
}

/* Counts the elements that are kept in parts of their cells, and puts each block of them in the
   order of these. False without the memory for it: then nothing has been done. */
static bool order_kept(struct tally *t)
{
    const size_t size = element_size(t->plan->type), parts = fine_size(t->plan);
    /* The description of a block takes a small part of the room of its elements. */
    const size_t block = parts * BLOCK_PER_PART > BLOCK_MIN ? parts * BLOCK_PER_PART : BLOCK_MIN;
    const size_t blocks = (t->kept_count - 1) / block + 1;
    struct ordering o = {.parts = parts,
                         .part = malloc(block * sizeof *o.part),
                         .next = malloc(parts * sizeof *o.next),
                         .to = malloc(block * size)};
    struct kept_cells cells;
    bool good;

    t->fine = calloc(parts, sizeof *t->fine);
    t->place = malloc(blocks * (parts + 1) * sizeof *t->place);
    good = t->fine && t->place && o.part && o.next && o.to;
    if (good) {
        t->block = block;
        find_kept_cells(&cells, t->plan);
    } else {
        free(t->fine);
        free(t->place);
        t->fine = NULL;
        t->place = NULL;
    }
    for (size_t i = 0; i < blocks && good; i++) {
        const size_t begin = i * block;
        const size_t count = t->kept_count - begin < block ? t->kept_count - begin : block;
        uint32_t *place = t->place + i * (parts + 1);

        if (size == 4)
            order_block(t, &cells, &o, begin, count, place, 4);
        else
            order_block(t, &cells, &o, begin, count, place, 8);
    }
    free(o.part);
    free(o.next);
    free(o.to);
    return good;
}

bool tally_kept(const struct tally *t, size_t block, size_t fine, size_t *begin, size_t *end)
{
    const size_t first = block * t->block;
    const uint32_t *place = t->place + block * (fine_size(t->plan) + 1) + fine;

    if (first >= t->kept_count)
        return false;
    *begin = first + place[0];
    *end = first + place[1];
    return true;
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
        counts[kept_cell(
            &cells, kept_key(&cells.rule, size == 4 ? kept_bits(t, i, 4) : kept_bits(t, i, 8)))]++;
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
    const bool keys = t->plan->kind == TALLY_KEYS;
    const size_t size = keys ? sizeof(uint64_t) : element_size(t->plan->type);
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
    if (t->kept_room - t->kept_count < count && !keys) {
        count_fine(t);
        t->dropped = true;
        t->kept_count = 0;
    }
    if (t->kept_room - t->kept_count < count)
        t->failed = true;
    return !t->failed;
}

/* A loop for each size of elements. All keys are written, and those of NaNs over again. */
#define KEEP_KEYS(integer)                                   \
    do {                                                     \
        for (size_t i = 0; i < count; i++) {                 \
            integer bits;                                    \
                                                             \
            memcpy(&bits, x + i * sizeof bits, sizeof bits); \
            keys[kept] = kept_key(&rule, bits);              \
            kept += keys[kept] - least <= greatest - least;  \
        }                                                    \
    } while (0)

bool tally_keep_keys(struct tally *t, const void *elements, size_t count)
{
    const enum element_type type = t->plan->type;
    const uint64_t least = order_least(type), greatest = order_greatest(type);
    const struct key_rule rule = key_rule(type);
    const unsigned char *x = elements;
    uint64_t *keys;
    size_t kept = 0;

    if (count == 0 || !tally_reserve(t, count))
        return count == 0;
    keys = (uint64_t *)t->kept + t->kept_count;
    switch (element_size(type)) {
    case 8:
        KEEP_KEYS(uint64_t);
        break;
    case 4:
        KEEP_KEYS(uint32_t);
        break;
    case 2:
        KEEP_KEYS(uint16_t);
        break;
    default:
        if (type == ELEMENT_BOOL)
            for (; kept < count; kept++)
                keys[kept] = order_key(type, x[kept]);
        else
            KEEP_KEYS(uint8_t);
        break;
    }
    t->kept_count += kept;
    return true;
}

bool tally_keep_same(struct tally *t, const void *element, uint64_t times)
{
    const size_t before = t->kept_count;
    bool good = tally_reserve(t, (size_t)times) && tally_keep_keys(t, element, times > 0);

    for (uint64_t i = 1; good && t->kept_count > before && i < times; i++) {
        const uint64_t key = ((const uint64_t *)t->kept)[before];

        ((uint64_t *)t->kept)[t->kept_count++] = key;
    }
    return good;
}

bool tally_count_same(struct tally *t, const void *element, uint64_t times)
{
    struct kept_cells cells;

    count_fine(t);
    t->dropped = true;
    t->kept_count = 0;
    if (t->failed)
        return false;
    find_kept_cells(&cells, t->plan);
    t->fine[kept_part(&cells, order_load(t->plan->type, element))] += times;
    return true;
}

void tally_end(struct tally *t)
{
    if (t->plan->kind != TALLY_CELLS || t->ended)
        return;
    t->ended = true;
    if (t->dropped || (t->kept_count >= COUNTED_MIN && !order_kept(t)))
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
        t->special[i] += other->special[i];
    t->failed = t->failed || other->failed;
    if (plan->kind != TALLY_CELLS)
        return;
    t->dropped = t->dropped || other->dropped;
    if (t->fine && other->fine)
        for (size_t i = 0; i < fine_size(plan); i++)
            t->fine[i] += other->fine[i];
}
