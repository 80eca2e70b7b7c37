/*
 * Kernels that finish the results of slices: means, and variances and their roots, of sums that were
 * found exactly. A part of kernel_template.h.
 *
 * They do for a vector of slices what core/slice_sums.h does for one: a quotient or a root, what that has
 * left, and a bound of the error of the rest. So they know few results less, and those are right.
 */
#ifndef GPUREDUCE_CPU_KERNEL_FINISH_H
#define GPUREDUCE_CPU_KERNEL_FINISH_H

#include "core/slice_sums.h"
#include "cpu/kernel_slices.h"

/* All bits of the lanes in which x + (more +- bound) rounds to `rounded`, their rounded sum. */
INLINE_TARGET wvec rounds_so(vecd rounded, vecd x, vecd more, vecd bound)
{
    return (wvec)(d_add(x, d_sub(more, bound)) == rounded) &
           (wvec)(d_add(x, d_add(more, bound)) == rounded);
}

/* Stores results, and which of them are known. */
INLINE_TARGET void put_finished(double *to, bool *known, vecd result, wvec good)
{
    uint64_t bits[W_LANES];

    d_store(to, result);
    d_store((double *)(void *)bits, w_value(good));
    for (size_t i = 0; i < W_LANES; i++)
        known[i] = bits[i] != 0;
}

static SIMD_TARGET size_t finish_means(const struct cpu_finish *f, size_t n, double *to,
                                       bool *known)
{
    const vecd count = d_set1(f->count), small = d_set1(0x1p-50), two = d_set1(2);
    size_t i = 0;

    for (; i + W_LANES <= n; i += W_LANES) {
        vecd rest, lost, left_out;
        const vecd sum =
            d_add(d_two_sum(d_load(f->high + i), d_load(f->low + i), &rest), d_set1(0)); /* no -0 */
        const vecd quotient = d_div(sum, count), product = d_two_product(quotient, count, &lost);
        /* The remainder of a division is a number. */
        const vecd left = d_two_sum(d_sub(d_sub(sum, product), lost), rest, &left_out);
        const vecd more = d_div(left, count), mean = d_add(quotient, more);
        const vecd bound =
            d_add(d_mul(d_abs(more), small), d_mul(d_div(d_abs(left_out), count), two));
        const wvec whole = (wvec)(rest == d_set1(0));
        const wvec good = (wvec)(d_abs(sum) > d_set1(0x1p-800)) &
                          (wvec)(d_abs(sum) < d_set1(0x1p900)) &
                          rounds_so(mean, quotient, more, bound);

        put_finished(to + i, known + i,
                     w_value((whole & d_bits(quotient)) | (~whole & d_bits(mean))), whole | good);
    }
    return i;
}

/* The sum of the squares of slices from number i on, as two numbers, and a bound of what these lack. */
INLINE_TARGET vecd sum_squares(const struct cpu_finish *f, size_t i, vecd *rest, vecd *lacks)
{
    vecd sum = d_set1(0), error;

    *rest = *lacks = d_set1(0);
    for (size_t k = 0; k < f->squares; k++) {
        sum = d_two_sum(sum, d_load(f->square[k] + i), &error);
        *rest = d_two_sum(*rest, error, &error);
        *lacks = d_add(*lacks, d_abs(error));
    }
    return d_two_sum(sum, *rest, rest);
}

/* See slice_spread_soon: sums have two numbers, without a factor. */
static SIMD_TARGET size_t finish_spreads(const struct cpu_finish *f, size_t n, double *to,
                                         bool *known)
{
    const vecd count = d_set1(f->count), divisor = d_set1(f->divisor), zero = d_set1(0);
    const vecd two = d_set1(2), inverse = d_set1(1 / f->divisor);
    size_t i = 0;

    for (; i + W_LANES <= n; i += W_LANES) {
        vecd low = zero, rest, n_low, s_low, low_sum, more, off, bound, last;
        const vecd high = f->high ? d_two_sum(d_load(f->high + i), d_load(f->low + i), &low) : zero;
        const vecd square = sum_squares(f, i, &rest, &bound);
        const vecd n_square = d_two_product(count, square, &n_low);
        const vecd s_square = d_two_product(high, high, &s_low);
        const vecd all = d_two_sum(n_square, d_sub(zero, s_square), &low_sum);
        const vecd lower = d_sub(d_mul(count, rest), d_mul(d_mul(two, high), low));
        const vecd above = d_two_sum(all, d_add(d_add(low_sum, d_sub(n_low, s_low)), lower), &more);
        vecd found = d_mul(above, inverse), each = inverse, of = found, error = zero;
        wvec good = (wvec)(n_square < d_set1(0x1p900)) & (wvec)(all > d_set1(0x1p-700)) &
                    ((wvec)(s_square == zero) | (wvec)(s_square >= d_set1(0x1p-850)));

        bound = d_add(d_mul(count, bound), d_add(d_mul(n_square, d_set1(SLICE_OFF_SQUARES)),
                                                 d_mul(above, d_set1(SLICE_OFF_LEFT))));
        if (f->root) {
            const vecd one_over = d_div(d_set1(1), d_sqrt(found));

            found = d_mul(found, one_over);
            each = d_mul(d_mul(d_set1(0.5), one_over), inverse);
            of = d_two_product(found, found, &error);
        }
        const vecd product = d_two_product(of, divisor, &off);
        const vecd left = d_sub(d_sub(d_sub(above, product), off), d_mul(error, divisor));

        bound = d_add(d_mul(bound, each), d_mul(found, d_set1(SLICE_OFF_RESULT)));
        const vecd result = d_two_sum(found, d_mul(d_add(left, more), each), &last);
        const vecd wider = d_add(d_mul(bound, d_set1(1.001)), d_mul(d_abs(last), d_set1(0x1p-50)));

        good &= rounds_so(result, result, last, wider);
        put_finished(to + i, known + i, result, good);
    }
    return i;
}

#endif
