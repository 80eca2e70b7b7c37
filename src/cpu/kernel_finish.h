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
    const vecd two = d_set1(2), small = d_set1(0x1p-50), smaller = d_set1(0x1p-48);
    size_t i = 0;

    for (; i + W_LANES <= n; i += W_LANES) {
        vecd low = zero, rest, n_low, s_low, low_sum, more, error, off, bound, last, result;
        const vecd high = f->high ? d_two_sum(d_load(f->high + i), d_load(f->low + i), &low) : zero;
        const vecd square = sum_squares(f, i, &rest, &bound);
        const vecd n_square = d_two_product(count, square, &n_low);
        const vecd s_square = d_two_product(high, high, &s_low);
        const vecd all = d_two_sum(n_square, d_sub(zero, s_square), &low_sum);
        const vecd twice_low = d_mul(d_mul(two, high), low), n_rest = d_mul(count, rest);
        wvec good = (wvec)(n_square < d_set1(0x1p900)) & (wvec)(all > d_set1(0x1p-700)) &
                    ((wvec)(s_square == zero) | (wvec)(s_square >= d_set1(0x1p-850)));

        /* Each of these sums of what is small is off by a few last places of what is added. */
        bound = d_add(d_add(d_mul(count, bound), d_mul(low, low)),
                      d_mul(d_add(d_add(d_add(d_abs(low_sum), d_abs(n_low)),
                                        d_add(d_abs(s_low), d_abs(n_rest))),
                                  d_abs(twice_low)),
                            small));
        const vecd above = d_two_sum(
            all, d_add(d_add(low_sum, d_sub(n_low, s_low)), d_sub(n_rest, twice_low)), &more);
        const vecd quotient = d_div(above, divisor);

        if (f->root) {
            const vecd x = d_sqrt(quotient), x_square = d_two_product(x, x, &error);
            const vecd product = d_two_product(x_square, divisor, &off);
            const vecd error_part = d_mul(error, divisor), twice = d_mul(d_mul(two, x), divisor);
            const vecd left = d_add(d_sub(d_sub(d_sub(above, product), off), error_part), more);

            bound = d_add(bound, d_mul(d_add(d_add(d_abs(d_sub(above, product)), d_abs(off)),
                                             d_add(d_abs(error_part), d_abs(more))),
                                       small));
            rest = d_div(left, twice);
            bound = d_add(d_add(d_div(bound, twice), d_mul(d_abs(rest), smaller)),
                          d_div(d_mul(rest, rest), x));
            result = d_two_sum(x, rest, &last);
        } else {
            const vecd product = d_two_product(quotient, divisor, &off);
            const vecd left = d_add(d_sub(d_sub(above, product), off), more);

            bound = d_add(
                bound,
                d_mul(d_add(d_add(d_abs(d_sub(above, product)), d_abs(off)), d_abs(more)), small));
            rest = d_div(left, divisor);
            bound = d_add(d_div(bound, divisor), d_mul(d_abs(rest), smaller));
            result = d_two_sum(quotient, rest, &last);
        }
        const vecd wider = d_add(d_mul(bound, d_set1(1.001)), d_mul(d_abs(last), small));

        good &= rounds_so(result, result, last, wider) | (wvec)(bound == zero);
        put_finished(to + i, known + i, result, good);
    }
    return i;
}

#endif
