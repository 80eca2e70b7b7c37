#include "config.h"

#include "bench/ladder/bound.h"

#include <float.h>
#include <math.h>

/* The unit roundoff of the type that a rung adds in. Not for production, which does not round. */
static double roundoff(enum element_type type)
{
    return type == ELEMENT_F64 ? 0x1p-53 : 0x1p-24;
}

static double largest_finite(enum element_type type)
{
    return type == ELEMENT_F64 ? DBL_MAX : (double)FLT_MAX;
}

double bound_unit(enum element_type type, double x)
{
    int digits = type == ELEMENT_F64 ? 53 : 24;
    int least = type == ELEMENT_F64 ? -1022 : -126;
    int exponent;

    if (x == 0 || !isfinite(x))
        exponent = least;
    else
        exponent = ilogb(x) > least ? ilogb(x) : least;
    return ldexp(1, exponent - digits + 1);
}

double bound_distance(const struct exact *exact, double computed)
{
    struct exact rest = *exact;

    if (!isfinite(computed))
        return INFINITY;
    exact_add(&rest, -computed);
    return fabs(exact_round(&rest));
}

/* The number of elements that a thread adds up before threads combine their sums. */
static double per_thread(const struct rung *rung, const struct rung_launch *launch)
{
    switch (rung->per_thread) {
    case PER_LOAD:
        return 16.0 / (double)element_size(launch->type);
    case PER_COARSEN:
        return 2.0 * launch->coarsen;
    default:
        return rung->per_thread;
    }
}

/* A bound of the error of a sum of n elements, relative to the sum of their magnitudes.

   In a tree, each element goes through at most `height` roundings, so the relative error is at most
   (1 + u)^height - 1 (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 4.2). Adding m
   numbers in any order has an error of at most (m - 1) u (C.-P. Jeannerod and S. M. Rump, "Improved
   error bounds for inner products in floating-point arithmetic", 2013). If they are added one after
   the other, the error is also at most 1: a rounded sum a + b is never farther from a + b than a or
   b is, because both are floating-point numbers themselves. */
static double relative_bound(const struct rung *rung, const struct rung_launch *launch, uint64_t n)
{
    const double u = roundoff(launch->type);
    double own = per_thread(rung, launch);
    double height = own - 1 + (rung->tree ? log2(launch->threads) : 0);
    double terms = ceil((double)n / (own * (rung->tree ? launch->threads : 1)));
    double within = expm1(height * log1p(u));
    double between = (terms - 1) * u < 1 ? (terms - 1) * u : 1;

    switch (rung->order) {
    case ORDER_SEGMENTS:
        return within + (1 + within) * between;
    case ORDER_ROWS:
        return within;
    case ORDER_ANY:
    case ORDER_BINNED:
    case ORDER_EXACT:
        break;
    }
    return (double)(n - 1) * u;
}

/* A bound of the error of a rung that is not exact, for n elements with this reference. */
static double error_bound(const struct rung *rung, const struct rung_launch *launch, uint64_t n,
                          const struct reference *r)
{
    enum element_type type = launch->type;
    /* Atomic additions to global memory flush subnormal numbers of binary32 to zero, both operands
       and the sum (PTX ISA, atom). So the last bin of the reproducible sum may lose them, too. */
    double subnormal = type == ELEMENT_F64 ? 0 : 3 * (double)n * FLT_MIN;

    if (rung->order == ORDER_BINNED) {
        /* K = 3 bins of W = 13 or 40 bits lose less than n 2^(W (1 - K) - 1) times the largest
           element. The final sum of the bins has an error below 7 epsilon (J. Demmel and H. D.
           Nguyen, "Parallel reproducible summation", 2015). */
        double least = exact_key_value(r->partial.min_key);
        double most = exact_key_value(r->partial.max_key);
        double largest = fabs(least) > fabs(most) ? fabs(least) : fabs(most);
        double lost = type == ELEMENT_F64 ? 0x1p-81 : 0x1p-27;

        return (double)n * lost * largest +
               14 * roundoff(type) * fabs(exact_round(&r->partial.sum)) + subnormal;
    }
    return relative_bound(rung, launch, n) * r->magnitude * (1 + 0x1p-40) + subnormal;
}

static const char *const verdict_names[] = {
    [VERDICT_EXACT] = "exact",
    [VERDICT_BOUNDED] = "within bound",
    [VERDICT_OVERFLOW] = "overflow",
    [VERDICT_WRONG] = "FAILED",
};

const char *bound_verdict_name(enum verdict verdict)
{
    return verdict_names[verdict];
}

enum verdict bound_judge(const struct rung *rung, const struct rung_launch *launch, uint64_t n,
                         const struct reference *r, double computed, bool exactly)
{
    double off = bound_distance(&r->partial.sum, computed);

    if (off == 0)
        return VERDICT_EXACT;
    if (exactly && rung->order != ORDER_BINNED)
        return VERDICT_WRONG;
    if (!isfinite(computed))
        return r->magnitude >= largest_finite(launch->type) / 2 ? VERDICT_OVERFLOW : VERDICT_WRONG;
    return off <= error_bound(rung, launch, n, r) ? VERDICT_BOUNDED : VERDICT_WRONG;
}
