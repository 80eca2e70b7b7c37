/*
 * Missing values as ranges of bits.
 */
#include "config.h"

#include "cpu/missing.h"

/* Adds a range of bits: those from `first` on, of which the last is `distance` more. Kernels compare
   signed numbers, so that the least of these stands for `first`. */
static void add_range(struct cpu_missing *m, uint64_t sign, uint64_t first, uint64_t distance)
{
    m->add[m->count] = sign - first;
    m->last[m->count++] = distance ^ sign;
}

void cpu_missing_set(struct cpu_missing *m, const struct cpu_kernels *kernels,
                     enum element_type type, const struct missing *set)
{
    const bool truth = element_formats[type].kind == ELEMENT_TRUTH;
    const uint64_t sign = order_sign(type);

    m->size = element_size(type);
    m->count = 0;
    for (unsigned i = 0; i < set->count; i++) {
        const uint64_t first = set->ranges[i].first, last = set->ranges[i].last;

        if (truth) { /* all bits but 0 have the key 1 */
            add_range(m, sign, first, last > 0 ? UINT8_MAX - first : 0);
        } else if (element_is_integer(type)) {
            add_range(m, sign, order_bits(type, first), last - first);
        } else { /* keys of negative floats are in the other order than their bits */
            const uint64_t low = last < sign ? last : sign - 1, high = first < sign ? sign : first;

            if (first < sign)
                add_range(m, sign, order_bits(type, low), low - first);
            if (last >= sign)
                add_range(m, sign, order_bits(type, high), last - high);
        }
    }
    for (unsigned i = m->count; i < CPU_MISSING_FEW; i++) {
        m->add[i] = m->add[i - 1];
        m->last[i] = m->last[i - 1];
    }
    m->leave_out = kernels->leave_out[__builtin_ctzll(m->size)];
    m->stand_in = kernels->stand_in[__builtin_ctzll(m->size)];
}

size_t cpu_missing_find(const struct cpu_missing *m, void *scratch, const void *from, size_t count,
                        size_t n)
{
    const unsigned char *x = from;
    size_t begin = 0;

    /* The element is among the `count` from `begin` on, number n of those that are not missing. */
    while (count > 1) {
        const size_t some = count / 2;
        const size_t present = m->leave_out(m, scratch, x + begin * m->size, some);

        if (n < present) {
            count = some;
        } else {
            n -= present;
            begin += some;
            count -= some;
        }
    }
    return begin;
}
