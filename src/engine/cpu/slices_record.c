#include "config.h"

#include "engine/cpu/slices_record.h"

#include "core/exact.h"

void cpu_slice_record_clear(struct cpu_slice_record *r)
{
    *r = (struct cpu_slice_record){.min_key = INT64_MAX,
                                   .max_key = INT64_MIN,
                                   .least_magnitude = INT64_MAX,
                                   .min_index = PARTIAL_NO_INDEX,
                                   .max_index = PARTIAL_NO_INDEX};
}

void cpu_slice_record_set(struct cpu_slice_record *r, const struct engine_found *found, size_t i,
                          uint64_t index)
{
    const struct engine_found_more *more = &found->more;

    cpu_slice_record_clear(r);
    r->sum[0] = found->high[i];
    if (found->low)
        r->sum[1] = found->low[i];
    if (found->min) {
        r->min_key = ((const int64_t *)found->min)[i];
        r->max_key = ((const int64_t *)found->max)[i];
    }
    if (more->min_index) {
        r->min_index = index + more->min_index[i];
        r->max_index = index + more->max_index[i];
    }
    if (more->absolute) {
        r->absolute[0] = more->absolute[i];
        r->absolute[1] = more->absolute_low[i];
    }
    for (size_t k = 0; more->squares[0] && k < ENGINE_SLICE_SQUARES; k++)
        r->squares[k] = more->squares[k][i];
    if (more->least) {
        r->least_magnitude = more->least[i];
        r->zeros = more->zeros[i];
        r->subnormal = more->subnormal[i];
    }
    if (more->negative)
        r->negative = more->negative[i];
}

/* Adds numbers to others, as many. False where these cannot hold the sum. */
static bool add_numbers(double *sum, const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double rest = x[i];

        for (size_t j = 0; j < count && rest != 0; j++)
            sum[j] = exact_two_sum(sum[j], rest, &rest);
        if (rest != 0) /* NaN, too, of what overflowed */
            return false;
    }
    return true;
}

bool cpu_slice_record_merge(struct cpu_slice_record *r, const struct cpu_slice_record *other)
{
    struct cpu_slice_record s = *r;

    if (!add_numbers(s.sum, other->sum, 2) || !add_numbers(s.absolute, other->absolute, 2) ||
        !add_numbers(s.squares, other->squares, ENGINE_SLICE_SQUARES))
        return false;
    if (other->min_key < s.min_key ||
        (other->min_key == s.min_key && other->min_index < s.min_index)) {
        s.min_key = other->min_key;
        s.min_index = other->min_index;
    }
    if (other->max_key > s.max_key ||
        (other->max_key == s.max_key && other->max_index < s.max_index)) {
        s.max_key = other->max_key;
        s.max_index = other->max_index;
    }
    if (other->least_magnitude < s.least_magnitude)
        s.least_magnitude = other->least_magnitude;
    s.zeros += other->zeros;
    s.negative += other->negative;
    s.subnormal += other->subnormal;
    *r = s;
    return true;
}

void cpu_slice_record_add_to(const struct cpu_slice_record *r, struct partial *p)
{
    exact_add_all(&p->sum, r->sum, 2);
    exact_add_all(&p->absolute, r->absolute, 2);
    for (size_t k = 0; k < ENGINE_SLICE_SQUARES; k++)
        if (r->squares[k] != 0)
            exact_wide_add(&p->squares, r->squares[k]);
    partial_take_min(p, r->min_key, r->min_index);
    partial_take_max(p, r->max_key, r->max_index);
    if (r->least_magnitude < p->least_magnitude)
        p->least_magnitude = r->least_magnitude;
    p->zeros += r->zeros;
    p->negative += r->negative;
    p->subnormal += r->subnormal;
}
