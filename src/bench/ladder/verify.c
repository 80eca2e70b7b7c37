#include "config.h"

#include "bench/ladder/verify.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/difference.h"
#include "bench/common/reducers.h"
#include "bench/common/team.h"
#include "core/moments.h"
#include "cuda/kernels.h"
#include "sys/clock.h"
#include "sys/group.h"

/* A result is compared with the first one so many times, or for so many nanoseconds. */
#define COMPARISONS 10
#define COMPARE_BUDGET (2 * CLOCK_SECOND)

/*
 * How large the error of a correct rung may be: proven bounds, which follow from what is known of
 * the order of its additions.
 */

/* The unit roundoff of the type that a rung adds in. Not for production, which does not round. */
static double roundoff(enum element_type type)
{
    return type == ELEMENT_F64 ? 0x1p-53 : 0x1p-24;
}

static double largest_finite(enum element_type type)
{
    return type == ELEMENT_F64 ? DBL_MAX : (double)FLT_MAX;
}

/* A unit in the last place of x, in the type in which elements of `type` are summed: binary64 for
   f64, else binary32. */
static double bound_unit(enum element_type type, double x)
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

/* The distance of `computed` from the exact sum, rounded once; infinite if it is an infinity or a
   NaN. */
static double bound_distance(const struct exact *exact, double computed)
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

const char *verify_verdict_name(enum verdict verdict)
{
    return verdict_names[verdict];
}

/* Judges the sum `computed` by a rung in this launch. r is the reference of the n elements that it
   is of: all of the launch, or a row. `exactly`: no addition of these elements can round. */
static enum verdict verdict_of(const struct rung *rung, const struct rung_launch *launch,
                               uint64_t n, const struct reference *r, double computed, bool exactly)
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

/*
 * Verification.
 */

/* Runs a case once on the elements at `from`, and copies its results to `results`. */
static cudaError_t run_once(struct workbench *b, const struct inputs *in, struct bench_case *c,
                            unsigned char *from, void *results)
{
    cudaError_t error = bench_case_reset(b, c, 1);

    if (error == cudaSuccess && c->rung->in_place) {
        error = cudaMemcpyAsync(in->work, from, in->count * element_size(in->type),
                                cudaMemcpyDeviceToDevice, b->stream);
        from = in->work;
    }
    if (error == cudaSuccess)
        error = bench_case_start(b, c, from);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(results, c->memory, c->size, cudaMemcpyDeviceToHost, b->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(b->stream);
    return error;
}

/* One result to judge. */
struct judging {
    const struct bench_case *c;
    const struct reference *reference; /* of all elements */
    const unsigned char *data;         /* the elements, on the host; for rungs with rows */
    const void *results;               /* on the host */
    bool exactly;                      /* no addition of these elements can round */
};

static enum verdict worse(enum verdict a, enum verdict b)
{
    return a > b ? a : b;
}

/*
 * Rows: each sum of a batched rung is judged by itself.
 */

/* The findings of a thread in its share of the rows. */
struct rows_part {
    struct exact sum; /* of all row sums that are finite */
    enum verdict verdict;
    uint64_t wrong; /* the first row that is wrong, or UINT64_MAX */
};

struct rows_job {
    const struct judging *judging;
    struct cpu_reducer *reducers; /* one per thread */
    struct rows_part *parts;      /* one per thread */
};

/* A thread takes at least so many rows. */
#define ROWS 64

static void judge_share(void *argument, unsigned number, uint64_t begin, uint64_t end)
{
    const struct rows_job *job = argument;
    const struct judging *j = job->judging;
    const struct rung_launch *l = &j->c->launch;
    struct rows_part *part = &job->parts[number];

    for (uint64_t row = begin; row < end; row++) {
        uint64_t first = row * l->threads;
        uint64_t count = l->count - first < l->threads ? l->count - first : l->threads;
        double computed = bench_case_value(j->c, j->results, row);
        struct reference r = reference_of(
            &job->reducers[number], j->data + first * element_size(l->type), (size_t)count, first);
        enum verdict verdict = verdict_of(j->c->rung, l, count, &r, computed, j->exactly);

        if (verdict == VERDICT_WRONG && part->wrong == UINT64_MAX)
            part->wrong = row;
        part->verdict = worse(part->verdict, verdict);
        if (isfinite(computed))
            exact_add(&part->sum, computed);
    }
}

/* The error of the row sums' sum, in units in the last place. */
static double rows_error(const struct judging *j, struct exact *sum)
{
    const struct exact *exact = &j->reference->partial.sum;

    /* The difference of the two exact sums. */
    for (int i = 0; i < EXACT_DIGITS; i++)
        sum->digit[i] = -sum->digit[i];
    exact_merge(sum, exact);
    return fabs(exact_round(sum)) / bound_unit(j->c->launch.type, exact_round(exact));
}

/* Judges each row. */
static enum verdict judge_rows(const struct judging *j, struct findings *f)
{
    unsigned threads = cores_available();
    struct rows_job job = {.judging = j,
                           .reducers = reference_reducers(j->c->launch.type, PARTIAL_SUM, threads),
                           .parts = calloc(threads, sizeof *job.parts)};
    bool good = job.reducers && job.parts;
    enum verdict verdict = VERDICT_EXACT;
    struct exact sum;

    for (unsigned i = 0; good && i < threads; i++)
        job.parts[i].wrong = UINT64_MAX;
    good = good && team_share(threads, j->c->results, ROWS, judge_share, &job);
    exact_clear(&sum);
    for (unsigned i = 0; good && i < threads; i++) {
        const struct rows_part *part = &job.parts[i];

        exact_merge(&sum, &part->sum);
        if (part->wrong != UINT64_MAX && verdict != VERDICT_WRONG)
            snprintf(f->why, sizeof f->why, "the sum of row %" PRIu64 ", %.9g, is wrong",
                     part->wrong, bench_case_value(j->c, j->results, part->wrong));
        verdict = worse(verdict, part->verdict);
    }
    reducers_free(job.reducers, threads);
    free(job.parts);
    if (!good) {
        snprintf(f->why, sizeof f->why, "its rows could not be verified");
        return VERDICT_WRONG;
    }
    if (!j->exactly)
        f->ulps = verdict == VERDICT_OVERFLOW ? INFINITY : rows_error(j, &sum);
    return verdict;
}

/*
 * One result: of the production kernel, or a sum.
 */

static struct result results_of(const struct partial *partial, const struct bench_case *c)
{
    const enum element_type type = c->launch.type;
    const struct moments_terms terms = {.type = type};
    struct result result;

    partial_finish(partial, false, &result);
    moments_finish(partial, &terms, &result);
    return result;
}

/* The results that the production kernel left in device memory. */
static struct result finish(const void *results, const struct bench_case *c)
{
    struct partial partial;

    memcpy(&partial, results, sizeof partial);
    cuda_settle_partial(&partial, c->rung->wants);
    return results_of(&partial, c);
}

/* The first difference between two results, in words; NULL if there is none. */
static const char *difference(const struct result *a, const struct result *b, unsigned wants)
{
    const char *wrong = result_difference(a, b, wants);

    return wrong ? wrong : moments_difference(a, b, wants & (MOMENTS_WANTS | PARTIAL_SUM));
}

static double ulps_of(const struct judging *j, double computed)
{
    const struct exact *exact = &j->reference->partial.sum;

    return bound_distance(exact, computed) / bound_unit(j->c->launch.type, exact_round(exact));
}

/* Judges what the production kernel found: every bit that was asked for must be right. */
static enum verdict judge_exact(const struct judging *j, struct findings *f)
{
    const struct result got = finish(j->results, j->c);
    const struct result expected = results_of(&j->reference->partial, j->c);
    const char *wrong = difference(&got, &expected, j->c->rung->wants);

    f->ulps = !wrong && j->c->rung->wants & PARTIAL_SUM ? ulps_of(j, got.sum) : (double)NAN;
    if (wrong)
        snprintf(f->why, sizeof f->why, "the %s is wrong (sums: %.17g, exact %.17g)", wrong,
                 got.sum, exact_round(&j->reference->partial.sum));
    return wrong ? VERDICT_WRONG : VERDICT_EXACT;
}

/* Judges a sum by its bound. */
static enum verdict judge_sum(const struct judging *j, struct findings *f)
{
    const struct rung_launch *l = &j->c->launch;
    double computed = bench_case_value(j->c, j->results, 0);
    enum verdict verdict = verdict_of(j->c->rung, l, l->count, j->reference, computed, j->exactly);

    if (verdict == VERDICT_WRONG)
        snprintf(f->why, sizeof f->why, "the sum is %.9g%s, %s %.17g", computed,
                 j->exactly ? " of signs" : "", j->exactly ? "not" : "too far from",
                 exact_round(&j->reference->partial.sum));
    f->ulps = ulps_of(j, computed);
    return verdict;
}

/* Judges the results of one run. Sets the error of the findings and, for wrong ones, says why. */
static enum verdict judge(const struct judging *j, struct findings *f)
{
    switch (j->c->rung->order) {
    case ORDER_ROWS:
        return judge_rows(j, f);
    case ORDER_EXACT:
        return judge_exact(j, f);
    case ORDER_SEGMENTS:
    case ORDER_ANY:
    case ORDER_BINNED:
        break;
    }
    return judge_sum(j, f);
}

/*
 * All runs of a case.
 */

/* Runs the case on the signs, and judges it. */
static cudaError_t verify_signs(struct workbench *b, const struct inputs *in, struct bench_case *c,
                                void *results, struct findings *f)
{
    struct judging j = {c, &in->signs_reference, in->host_signs, results, true};
    cudaError_t error = run_once(b, in, c, in->signs, results);

    /* An exact verdict is worth nothing yet: the other inputs decide. */
    if (error == cudaSuccess && judge(&j, f) == VERDICT_WRONG)
        f->verdict = VERDICT_WRONG;
    return error;
}

/* Runs the case on the contents, of which the host has only content 0, and judges it. Content 0
   comes last, so that its error and its results are left. */
static cudaError_t verify_contents(struct workbench *b, const struct inputs *in,
                                   struct bench_case *c, void *results, struct findings *f)
{
    unsigned contents = c->rung->order == ORDER_ROWS ? 1 : in->contents;
    double ulps = NAN;

    for (unsigned i = contents; i-- > 0 && f->verdict != VERDICT_WRONG;) {
        struct judging j = {c, &in->references[i], in->host, results, false};
        cudaError_t error = run_once(b, in, c, in->data + i * in->stride, results);

        if (error != cudaSuccess)
            return error;
        f->verdict = worse(f->verdict, judge(&j, f));
        ulps = f->ulps;
    }
    f->ulps = ulps;
    return cudaSuccess;
}

/* Whether two runs gave the same results. The digits of an exact sum may differ where their value
   does not, so results are compared, not digits. */
static bool same_results(const struct bench_case *c, const void *a, const void *b)
{
    if (c->rung->order == ORDER_EXACT) {
        struct result x = finish(a, c), y = finish(b, c);
        return difference(&x, &y, c->rung->wants) == NULL;
    }
    return memcmp(a, b, c->size) == 0;
}

/* Runs the case on content 0 again and again, into `again`, and compares with `results`. */
static cudaError_t compare_runs(struct workbench *b, const struct inputs *in, struct bench_case *c,
                                const void *results, void *again, uint64_t begun,
                                struct findings *f)
{
    cudaError_t error = cudaSuccess;

    for (;
         f->compared < COMPARISONS && error == cudaSuccess && clock_now() - begun < COMPARE_BUDGET;
         f->compared++) {
        error = run_once(b, in, c, in->data, again);
        f->same = f->same && error == cudaSuccess && same_results(c, results, again);
    }
    return error;
}

void verify_note_error(struct workbench *b, struct findings *f, cudaError_t error)
{
    f->verdict = VERDICT_WRONG;
    f->measurable = false;
    snprintf(f->why, sizeof f->why, "%s", cudaGetErrorString(error));
    workbench_note_error(b);
}

struct findings verify_case(struct workbench *b, const struct inputs *in, struct bench_case *c)
{
    struct findings f = {.verdict = VERDICT_EXACT, .ulps = NAN, .same = true, .compared = 1};
    unsigned char *results = malloc(2 * c->size);
    uint64_t begun = clock_now();
    cudaError_t error = cudaSuccess;

    if (!results) {
        f.verdict = VERDICT_WRONG;
        snprintf(f.why, sizeof f.why, "out of memory");
        return f;
    }
    if (in->signs)
        error = verify_signs(b, in, c, results, &f);
    if (error == cudaSuccess)
        error = verify_contents(b, in, c, results, &f);
    if (error == cudaSuccess && f.verdict != VERDICT_WRONG)
        error = compare_runs(b, in, c, results, results + c->size, begun, &f);
    if (error != cudaSuccess)
        verify_note_error(b, &f, error);
    f.measurable = f.verdict != VERDICT_WRONG;
    free(results);
    return f;
}
