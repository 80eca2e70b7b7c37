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
            prefetch_line((uintptr_t)x, AHEAD(DIGEST_TILE_BYTES), DIGEST_TILE_BYTES);
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

static SIMD_TARGET void digest_pairs(struct digest_tile *tile, const struct digest_factors *factors,
                                     struct digest_watch *watch, const void *words, size_t first,
                                     size_t count)
{
    if (watch)
        add_digest_pairs(tile, factors, watch, words, first, count);
    else
        add_digest_pairs(tile, factors, NULL, words, first, count);
}

#endif
