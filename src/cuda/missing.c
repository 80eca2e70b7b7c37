#include "config.h"

#include "cuda/missing.h"

static void add_range(struct cuda_missing *m, uint64_t first, uint64_t distance)
{
    m->ranges[m->count++] = (struct cuda_missing_range){UINT64_MAX, first, distance};
}

/* Adds keys of one sign. The bits of floats below zero are in the other order than their keys. */
static void add_keys(struct cuda_missing *m, enum element_type type, uint64_t first, uint64_t last)
{
    const uint64_t a = order_bits(type, first), b = order_bits(type, last);

    add_range(m, a < b ? a : b, last - first);
}

/* Adds the numbers of a set. */
static void add_numbers(struct cuda_missing *m, enum element_type type, const struct missing *set)
{
    const uint64_t sign = order_sign(type);

    for (unsigned i = 0; i < set->count; i++) {
        const struct missing_range r = missing_numbers(&set->ranges[i], type);

        if (r.first > r.last)
            continue;
        if (element_formats[type].kind == ELEMENT_TRUTH) {
            add_range(m, r.first, r.last > 0 ? UINT8_MAX - r.first : 0); /* all but 0 are true */
        } else if (r.first == sign - 1 && r.last == sign && !element_is_integer(type)) {
            /* Both zeros: one comparison finds them. */
            m->ranges[m->count++] = (struct cuda_missing_range){sign - 1, 0, 0};
        } else if (r.first < sign && r.last >= sign) {
            add_keys(m, type, r.first, sign - 1);
            add_keys(m, type, sign, r.last);
        } else {
            add_keys(m, type, r.first, r.last);
        }
    }
}

/* Adds the NaNs of a type of floats, of both signs. */
static void add_nans(struct cuda_missing *m, enum element_type type)
{
    const uint64_t magnitude = order_sign(type) - 1;
    const uint64_t first = order_bits(type, order_greatest(type) + 1);

    m->ranges[m->count++] = (struct cuda_missing_range){magnitude, first, magnitude - first};
}

static void add_set(struct cuda_missing *m, enum element_type type, const struct missing *set)
{
    add_numbers(m, type, set);
    if (missing_has_nans(set, type))
        add_nans(m, type);
}

void cuda_missing_set(struct cuda_missing *m, enum element_type type, const struct missing *set)
{
    m->count = 0;
    add_set(m, type, set);
}

void cuda_missing_add_bits(struct cuda_missing *m, uint64_t bits)
{
    add_range(m, bits, 0);
}

void cuda_missing_add_sums(struct cuda_missing *m, enum element_type type,
                           const struct missing *set)
{
    struct missing halves = {.count = 0};

    if (element_is_integer(type) || element_size(type) > 1) {
        add_set(m, type, set);
        return;
    }
    /* Each number is one of f16, in the same order: there is room for as many ranges. */
    for (unsigned i = 0; i < set->count; i++) {
        const struct missing_range r = missing_numbers(&set->ranges[i], type);

        if (r.first <= r.last)
            (void)missing_add_range(&halves,
                                    order_first(ELEMENT_F16, order_value(type, r.first), false),
                                    order_first(ELEMENT_F16, order_value(type, r.last), true) - 1);
    }
    add_numbers(m, ELEMENT_F16, &halves);
    if (missing_has_nans(set, type))
        add_nans(m, ELEMENT_F16);
}
