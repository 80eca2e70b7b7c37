#include "config.h"

#include "cpu/tally.h"

#include <stdlib.h>
#include <string.h>

#include "core/order.h"
#include "sys/search.h"

/* Elements of a block: it stays in the level-1 cache. */
#define BLOCK ((size_t)1 << CPU_BLOCK64_LOG2)

/* Four sets of counters where they are few enough to stay in the level-1 cache, otherwise two. */
#define SETS CPU_COUNTER_SETS
#define FOUR_SETS_MAX 4098

/* State of counting beside the tally: the sets of counters, one after the other. */
struct counters {
    uint64_t most; /* elements that a set has taken since it was zero, at most */
    union {        /* the first counter */
        uint16_t small;
        uint32_t wide;
    } first[];
};

static size_t sets(const struct tally *t)
{
    return tally_size(t->plan) <= FOUR_SETS_MAX ? SETS : SETS / 2;
}

/* Whether counters have 16 bits: bins of floats, of which vectors find many a cycle, and so few
   that it costs little to add them up often. */
static bool has_small_counters(const struct tally *t)
{
    return t->plan->kind == TALLY_BINS && !element_is_integer(t->plan->type) && sets(t) == SETS;
}

static size_t counter_size(const struct tally *t)
{
    return has_small_counters(t) ? sizeof(uint16_t) : sizeof(uint32_t);
}

/* Elements that are counted at a time, so that small counters need not be added up in between. */
#define COUNTED_MAX ((size_t)1 << 17)
_Static_assert(COUNTED_MAX / SETS < UINT16_MAX, "a set has its part of them");

/* Counters of all values of 16 bits have 16 bits themselves: then those of the values that are
   common stay in the level-1 cache. When one comes to zero again, the tally's own count is given
   what that was worth. */
#define NARROW_COUNTERS ((size_t)1 << 16)
#define NARROW_SETS ((size_t)2)

static bool has_narrow_counters(const struct tally *t)
{
    return t->plan->kind == TALLY_WORDS && tally_size(t->plan) == NARROW_COUNTERS &&
           element_size(t->plan->type) == sizeof(uint16_t);
}

static uint16_t *open_narrow_counters(struct tally *t)
{
    if (!t->scratch)
        t->scratch = calloc(NARROW_SETS * NARROW_COUNTERS, sizeof(uint16_t));
    t->failed = !t->scratch;
    return t->scratch;
}

static void empty_narrow_counters(struct tally *t)
{
    uint16_t *narrow = t->scratch;

    for (size_t i = 0; i < NARROW_COUNTERS; i++)
        for (size_t set = 0; set < NARROW_SETS; set++)
            t->counts[i] += narrow[set * NARROW_COUNTERS + i];
    memset(narrow, 0, NARROW_SETS * NARROW_COUNTERS * sizeof *narrow);
}

static void empty_counters(struct tally *t)
{
    struct counters *c = t->scratch;
    const size_t size = tally_size(t->plan);

    if (has_small_counters(t)) {
        const uint16_t *count = (const uint16_t *)c->first;

        for (size_t i = 0; i < size; i++)
            t->counts[i] +=
                (uint32_t)count[i] + count[size + i] + count[2 * size + i] + count[3 * size + i];
    } else {
        const uint32_t *count = (const uint32_t *)c->first;

        for (size_t set = 0; set < sets(t); set++)
            for (size_t i = 0; i < size; i++)
                t->counts[i] += count[set * size + i];
    }
    memset(c->first, 0, sets(t) * size * counter_size(t));
    c->most = 0;
}

/* Finds the sets of counters, with room for n more elements, at most COUNTED_MAX, that take turns.
   False without memory. */
static bool open_counters(struct tally *t, size_t n, struct cpu_counters *counters)
{
    const bool small = has_small_counters(t);
    const size_t size = tally_size(t->plan);
    const uint64_t most = n / sets(t) + 1;
    struct counters *c = t->scratch;

    if (!c) {
        c = t->scratch = calloc(1, sizeof *c + sets(t) * size * counter_size(t));
        t->failed = !c;
        if (!c)
            return false;
    }
    if (c->most + most > (small ? UINT16_MAX : UINT32_MAX))
        empty_counters(t);
    c->most += most;
    counters->small = small;
    for (size_t i = 0; i < SETS; i++)
        if (small)
            counters->small_set[i] = (uint16_t *)c->first + i * size;
        else
            counters->set[i] = (uint32_t *)c->first + i % sets(t) * size;
    return true;
}

/*
 * Cells.
 */

/* Counts an element so many times. Returns whether its cell is kept. */
static bool count_one(struct tally *t, const unsigned char *x, uint64_t times)
{
    const struct tally_plan *plan = t->plan;
    const uint64_t key = order_key(plan->type, order_load(plan->type, x));
    unsigned before = 0; /* the cells that do not begin behind it */

    while (before < plan->cells && plan->first[before] <= key)
        before++;
    for (unsigned i = before; i < plan->cells; i++)
        t->counts[i] += times;
    t->counts[plan->cells] += key <= order_greatest(plan->type) ? times : 0;
    return before > 0 && plan->keep[before - 1] && key <= tally_last(plan, before - 1);
}

/* Takes an element at the end of a chunk, which fills no vector. */
static void take_one(struct tally *t, const unsigned char *x)
{
    const size_t size = element_size(t->plan->type);

    if (count_one(t, x, 1))
        memcpy((unsigned char *)t->kept + t->kept_count++ * size, x, size);
}

static bool take_cells(struct tally *t, const struct cpu_kernels *kernels, const unsigned char *x,
                       size_t count, bool nans)
{
    const size_t size = element_size(t->plan->type), whole = count - count % CPU_LANES_MAX;

    for (size_t i = 0; i < whole; i += BLOCK) {
        const size_t n = whole - i < BLOCK ? whole - i : BLOCK;

        if (!tally_reserve(t, n + CPU_LANES_MAX))
            return false;
        (size == 8 ? kernels->tally->cells64 : kernels->tally->cells32)(t, x + i * size, n, nans);
    }
    if (whole < count && !tally_reserve(t, CPU_LANES_MAX))
        return false;
    for (size_t i = whole; i < count; i++)
        take_one(t, x + i * size);
    /* Without NaNs all elements lie in the cells. */
    if (!nans)
        t->counts[t->plan->cells] += whole;
    return true;
}

/*
 * Words.
 */

/* Counts those of n elements that are +0 and -0. */
static void count_zeros(struct tally *t, const unsigned char *x, size_t n)
{
    const uint64_t sign = order_sign(t->plan->type);

    for (size_t i = 0; i < n; i++) {
        uint64_t bits = order_load(t->plan->type, x + i * element_size(t->plan->type));

        t->special[0] += bits == 0;
        t->special[1] += bits == sign;
    }
}

/* A loop for each size of elements, of which it loads and counts four at a time. */
#define COUNT_WORDS(integer)                                 \
    do {                                                     \
        for (; i + SETS <= count; i += SETS) {               \
            integer word[SETS];                              \
                                                             \
            memcpy(word, x + i * sizeof *word, sizeof word); \
            set[0][word[0] >> shift]++;                      \
            set[1][word[1] >> shift]++;                      \
            set[2][word[2] >> shift]++;                      \
            set[3][word[3] >> shift]++;                      \
        }                                                    \
    } while (0)

static inline void count_narrow(struct tally *t, uint16_t *counter, uint16_t word)
{
    if (++counter[word] == 0)
        t->counts[word] += (uint64_t)UINT16_MAX + 1;
}

/* All values of 16 bits. */
static bool take_narrow_words(struct tally *t, const unsigned char *x, size_t count)
{
    uint16_t *even = open_narrow_counters(t), *odd;
    size_t i = 0;

    if (!even)
        return false;
    odd = even + NARROW_COUNTERS;
    for (; i + 4 <= count; i += 4) {
        uint16_t word[4];

        memcpy(word, x + i * sizeof *word, sizeof word);
        count_narrow(t, even, word[0]);
        count_narrow(t, odd, word[1]);
        count_narrow(t, even, word[2]);
        count_narrow(t, odd, word[3]);
    }
    for (; i < count; i++)
        count_narrow(t, even, (uint16_t)order_load(t->plan->type, x + i * sizeof(uint16_t)));
    return true;
}

static bool take_words(struct tally *t, const unsigned char *x, size_t count)
{
    const enum element_type type = t->plan->type;
    const unsigned shift = t->plan->shift;
    const size_t size = element_size(type), sign = tally_size(t->plan) / 2;
    struct cpu_counters counters;
    uint32_t *const *const set = counters.set;
    uint32_t zeros = 0;
    size_t i = 0;

    if (has_narrow_counters(t))
        return take_narrow_words(t, x, count);
    if (!open_counters(t, count, &counters))
        return false;
    for (size_t j = 0; j < sets(t); j++)
        zeros += set[j][0] + set[j][sign];
    switch (size) {
    case 8:
        COUNT_WORDS(uint64_t);
        break;
    case 4:
        COUNT_WORDS(uint32_t);
        break;
    case 2:
        COUNT_WORDS(uint16_t);
        break;
    default:
        COUNT_WORDS(uint8_t);
        break;
    }
    for (; i < count; i++)
        set[i % SETS][order_load(type, x + i * size) >> shift]++;
    /* Zeros are rare, or so many that the words of subnormals come in any case. */
    for (size_t j = 0; j < sets(t); j++)
        zeros -= set[j][0] + set[j][sign];
    if (shift > 0 && zeros != 0)
        count_zeros(t, x, count);
    return true;
}

/*
 * Bins.
 */

/* The number of bounds that are at most x, found by halving. A NaN has none. */
static size_t search_bounds(const struct tally_plan *plan, double x)
{
    size_t low = 0, high = (size_t)plan->bins + 1;

    SEARCH(low, high, x >= plan->bound[middle]);
    return low;
}

/* The bin of the element at place[i], as a kernel found it. */
static uint32_t place_bin(const double *place, size_t i)
{
    return (uint32_t)exact_bits(place[i]);
}

/* Adds to the counter that an element has in its set. */
static inline void count_bin(const struct cpu_counters *counters, size_t set, uint32_t bin)
{
    if (counters->small)
        counters->small_set[set][bin]++;
    else
        counters->set[set][bin]++;
}

/* A loop for each type of counters. */
#define COUNT_PLACES(set)                        \
    do {                                         \
        for (size_t i = 0; i < n; i += SETS) {   \
            (set)[0][place_bin(place, i)]++;     \
            (set)[1][place_bin(place, i + 1)]++; \
            (set)[2][place_bin(place, i + 2)]++; \
            (set)[3][place_bin(place, i + 3)]++; \
        }                                        \
    } while (0)

/* Counts n elements, a multiple of SETS, whose bins are certain. */
static void count_places(struct cpu_counters counters, const double *place, size_t n)
{
    if (counters.small)
        COUNT_PLACES(counters.small_set);
    else
        COUNT_PLACES(counters.set);
}

/* Counts n elements, whose bins may be the next ones: the bounds decide. */
static void compare_places(const struct cpu_counters *counters, const double *place, size_t n,
                           const struct tally_plan *plan, const unsigned char *x)
{
    const size_t size = element_size(plan->type);

    for (size_t i = 0; i < n; i++) {
        const double value = element_load(plan->type, x + i * size);

        count_bin(counters, i % SETS, cpu_correct_bin(plan, value, place_bin(place, i)));
    }
}

static bool take_bins(struct tally *t, const struct cpu_kernels *kernels, const unsigned char *x,
                      size_t count)
{
    const struct tally_plan *plan = t->plan;
    const size_t size = element_size(plan->type);
    const bool wide = size == 8, nearest = plan->scale > 0;
    const size_t whole = nearest ? count - count % CPU_LANES_MAX : 0;
    const size_t counted = plan->fraction32 > 0 ? whole : 0;
    double place[BLOCK];
    struct cpu_counters counters;

    if (!open_counters(t, count, &counters))
        return false;
    if (counted > 0)
        kernels->tally->count32(t, x, counted, counters);
    for (size_t i = counted; i < whole; i += BLOCK) {
        const size_t n = whole - i < BLOCK ? whole - i : BLOCK;
        const unsigned char *block = x + i * size;

        if (wide ? kernels->tally->bins64(t, block, n, place)
                 : kernels->tally->bins32(t, block, n, place))
            count_places(counters, place, n);
        else
            compare_places(&counters, place, n, plan, block);
    }
    for (size_t i = whole; i < count; i++)
        count_bin(&counters, i % SETS, search_bounds(plan, element_load(plan->type, x + i * size)));
    return true;
}

/* The bin of an integer, counting from 1; 0 for what lies below all bins, or bins + 1 above them.
 */
static inline uint32_t integer_bin(const struct tally_plan *plan, uint64_t key)
{
    const uint64_t *bound = plan->bound_key;
    uint32_t bin;

    if (plan->reached == 0 || key < bound[0])
        return 0;
    if (plan->holds_none || key > plan->last_key)
        return plan->bins + 1;
    bin = plan->base + (uint32_t)((double)(key - bound[0]) * plan->scale);
    while (bin + 1 < plan->reached && key >= bound[bin + 1])
        bin++;
    return bin + 1;
}

/* A loop for each size of integers. `flip` makes keys of them. */
#define COUNT_INTEGERS(integer, flip)                                      \
    do {                                                                   \
        for (size_t i = 0; i < count; i++) {                               \
            integer word;                                                  \
                                                                           \
            memcpy(&word, x + i * sizeof word, sizeof word);               \
            set[i % SETS][integer_bin(t->plan, word ^ (integer)(flip))]++; \
        }                                                                  \
    } while (0)

static bool take_integer_bins(struct tally *t, const unsigned char *x, size_t count)
{
    const uint64_t flip = order_key(t->plan->type, 0);
    struct cpu_counters counters;
    uint32_t *const *const set = counters.set;

    if (!open_counters(t, count, &counters))
        return false;
    if (element_size(t->plan->type) == 8)
        COUNT_INTEGERS(uint64_t, flip);
    else
        COUNT_INTEGERS(uint32_t, flip);
    return true;
}

/* Counts elements, at most COUNTED_MAX. */
static bool count_elements(struct tally *t, const struct cpu_kernels *kernels,
                           const unsigned char *x, size_t count)
{
    if (t->plan->kind == TALLY_WORDS)
        return take_words(t, x, count);
    if (element_is_integer(t->plan->type))
        return take_integer_bins(t, x, count);
    return take_bins(t, kernels, x, count);
}

bool cpu_tally_take(struct tally *t, const struct cpu_kernels *kernels, const void *data,
                    size_t count, bool nans)
{
    const unsigned char *x = data;
    const size_t size = element_size(t->plan->type);

    switch (t->plan->kind) {
    case TALLY_CELLS:
        return take_cells(t, kernels, x, count, nans);
    case TALLY_KEYS:
        return tally_keep_keys(t, x, count);
    case TALLY_WORDS:
    case TALLY_BINS:
        break;
    }
    for (size_t i = 0; i < count; i += COUNTED_MAX)
        if (!count_elements(t, kernels, x + i * size,
                            count - i < COUNTED_MAX ? count - i : COUNTED_MAX))
            return false;
    return true;
}

bool cpu_tally_take_same(struct tally *t, const void *element, uint64_t times)
{
    const struct tally_plan *plan = t->plan;
    const enum element_type type = plan->type;
    const uint64_t bits = order_load(type, element);

    switch (plan->kind) {
    case TALLY_CELLS:
        return !count_one(t, element, times) || tally_count_same(t, element, times);
    case TALLY_KEYS:
        return tally_keep_same(t, element, times);
    case TALLY_WORDS:
        t->counts[bits >> plan->shift] += times;
        if (plan->shift > 0) {
            t->special[0] += bits == 0 ? times : 0;
            t->special[1] += bits == order_sign(type) ? times : 0;
        }
        break;
    case TALLY_BINS:
        if (element_is_integer(type))
            t->counts[integer_bin(plan, order_key(type, bits))] += times;
        else
            t->counts[search_bounds(plan, element_load(type, element))] += times;
        break;
    }
    return true;
}

void cpu_tally_finish(struct tally *t)
{
    if (t->scratch && has_narrow_counters(t))
        empty_narrow_counters(t);
    else if (t->scratch)
        empty_counters(t);
}
