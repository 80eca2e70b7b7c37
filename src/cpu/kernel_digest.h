/*
 * Kernels: sums of digests (core/digest.h). A part of kernel_template.h.
 *
 * A lane of 64 bits has a pair of words. The products of both with the lower half of their factors
 * are below 2^63 each, so that the sum of two is added up, modulo 2^64, and so are its upper 32
 * bits, which tell what was lost: lower bits are added up to less than 2^64.
 */
#ifndef GPUREDUCE_CPU_KERNEL_DIGEST_H
#define GPUREDUCE_CPU_KERNEL_DIGEST_H

#include "cpu/kernel_common.h"

INLINE_TARGET void add_digest_pairs(struct digest_tile *tile, const struct digest_factors *factors,
                                    struct digest_watch *watch, const void *words, size_t first,
                                    size_t count)
{
    const size_t whole = count - count % W_LANES;
    const unsigned char *x = words;
    const wvec exponent = w_set1(watch ? watch->exponent : 0), one = w_set1(watch ? watch->one : 0);
    wvec sum = {0}, high = {0}, upper_sum = {0}, upper_high = {0}, carries = {0};

    for (size_t i = first; i < first + whole; i += W_LANES, x += V_BYTES) {
        const wvec even = w_load(x), odd = w_odd(even);
        const wvec lower = w_add(w_multiply(even, w_load(factors->even + i)),
                                 w_multiply(odd, w_load(factors->odd + i)));
        const wvec upper = w_add(w_multiply(even, w_load(factors->even_upper + i)),
                                 w_multiply(odd, w_load(factors->odd_upper + i)));

        if (watch && (uintptr_t)x % CACHE_LINE < V_BYTES)
            prefetch_line((uintptr_t)x, AHEAD(DIGEST_TILE_BYTES), DIGEST_TILE_BYTES, true);
        if (watch)
            carries = w_or(carries, w_add(w_and(even, exponent), one));
        sum = w_add(sum, lower);
        high = w_add(high, w_odd(lower));
        upper_sum = w_add(upper_sum, upper);
        upper_high = w_add(upper_high, w_odd(upper));
    }
    tile->low += w_h_add(w_sub(sum, w_raise_lower(high)));
    tile->high += w_h_add(high);
    tile->upper_low += w_h_add(w_sub(upper_sum, w_raise_lower(upper_high)));
    tile->upper_high += w_h_add(upper_high);
    if (watch)
        watch->carries |= w_h_or(carries);
    digest_add_pairs(tile, factors, watch, x, first + whole, count - whole);
}

/* Adds pairs by add_digest_pairs or its like, with a watch that is known to be one or none. */
#define DIGEST_PAIRS(name, target, add)                                                     \
    static target void name(struct digest_tile *tile, const struct digest_factors *factors, \
                            struct digest_watch *watch, const void *words, size_t first,    \
                            size_t count)                                                   \
    {                                                                                       \
        if (watch)                                                                          \
            add(tile, factors, watch, words, first, count);                                 \
        else                                                                                \
            add(tile, factors, NULL, words, first, count);                                  \
    }

#if V_BYTES == 64
/* By IFMA, which some processors with AVX-512 have. A word times the lower 52 bits of its factor is
   added up in two halves of 52 bits. The upper half has the weight of the word times the other 10
   bits, below 2^42. The sums of a tile are below 2^62 and 2^53. */
static ALWAYS_INLINE IFMA_TARGET void
add_digest_pairs_ifma(struct digest_tile *tile, const struct digest_factors *factors,
                      struct digest_watch *watch, const void *words, size_t first, size_t count)
{
    const size_t whole = count - count % W_LANES;
    const unsigned char *x = words;
    const wvec exponent = w_set1(watch ? watch->exponent : 0), one = w_set1(watch ? watch->one : 0);
    const wvec lower = w_set1(UINT32_MAX);
    wvec even_low = {0}, even_high = {0}, even_top = {0}, carries = {0};
    wvec odd_low = {0}, odd_high = {0}, odd_top = {0};
    uint64_t low, high;

    for (size_t i = first; i < first + whole; i += W_LANES, x += V_BYTES) {
        const wvec pair = w_load(x), even = w_and(pair, lower), odd = w_odd(pair);
        const wvec even_factor = w_load(factors->even_all + i);
        const wvec odd_factor = w_load(factors->odd_all + i);

        if (watch) {
            prefetch_line((uintptr_t)x, AHEAD(DIGEST_TILE_BYTES), DIGEST_TILE_BYTES, true);
            carries = w_or(carries, w_add(w_and(pair, exponent), one));
        }
        even_low = w_add_low52(even_low, even, even_factor);
        even_high = w_add_high52(even_high, even, even_factor);
        even_top = w_add_low52(even_top, even, w_load(factors->even_top + i));
        odd_low = w_add_low52(odd_low, odd, odd_factor);
        odd_high = w_add_high52(odd_high, odd, odd_factor);
        odd_top = w_add_low52(odd_top, odd, w_load(factors->odd_top + i));
    }
    low = w_h_add(w_add(even_low, odd_low));
    high = w_h_add(w_add(w_add(even_high, odd_high), w_add(even_top, odd_top)));
    tile->low += low & UINT32_MAX;
    tile->high += low >> 32;
    tile->upper_low += high % (1 << 11) << 21; /* 2^52 is 2^31 2^21, and 2^63 is 2^52 2^11 */
    tile->upper_high += high >> 11;
    if (watch)
        watch->carries |= w_h_or(carries);
    digest_add_pairs(tile, factors, watch, x, first + whole, count - whole);
}

DIGEST_PAIRS(digest_pairs_plain, SIMD_TARGET, add_digest_pairs)
DIGEST_PAIRS(digest_pairs_ifma, IFMA_TARGET, add_digest_pairs_ifma)

static void digest_pairs(struct digest_tile *tile, const struct digest_factors *factors,
                         struct digest_watch *watch, const void *words, size_t first, size_t count)
{
    if (processor_has_ifma())
        digest_pairs_ifma(tile, factors, watch, words, first, count);
    else
        digest_pairs_plain(tile, factors, watch, words, first, count);
}
#else
DIGEST_PAIRS(digest_pairs, SIMD_TARGET, add_digest_pairs)
#endif

#endif
