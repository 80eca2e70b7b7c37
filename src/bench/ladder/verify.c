#include "config.h"

#include "bench/ladder/verify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/reducers.h"
#include "bench/common/team.h"
#include "sys/clock.h"
#include "sys/cores.h"

/* Times that a result is compared with the first, within this many nanoseconds. */
#define COMPARISONS 10
#define COMPARE_BUDGET (2 * CLOCK_SECOND)

/* Runs a subject once on the elements at `from`, and copies its results to `results`. */
static cudaError_t run_once(struct workbench *b, const struct inputs *in, struct subject *s,
                            unsigned char *from, void *results)
{
    cudaError_t error = subject_reset(b, s, 1);

    if (error == cudaSuccess && s->rung->in_place) {
        error = cudaMemcpyAsync(in->work, from, in->count * element_size(in->type),
                                cudaMemcpyDeviceToDevice, b->stream);
        from = in->work;
    }
    if (error == cudaSuccess)
        error = subject_start(b, s, from);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(results, s->memory, s->size, cudaMemcpyDeviceToHost, b->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(b->stream);
    return error;
}

/* What the production kernel left, as results. */
static struct result finish(const void *results)
{
    struct partial partial;
    struct result result;

    memcpy(&partial, results, sizeof partial);
    partial.sum.pending = EXACT_PENDING_MAX; /* the kernel does not keep it */
    partial_finish(&partial, false, &result);
    return result;
}

static bool same_double(double x, double y)
{
    return exact_bits(x) == exact_bits(y);
}

/* The name of the first result, out of those wanted, that is not what it must be; or NULL. */
static const char *difference(const struct result *a, const struct result *b, unsigned wants)
{
    bool sum = wants & PARTIAL_SUM, extremes = wants & PARTIAL_EXTREMES;
    bool where = wants & PARTIAL_WHERE;

    if (a->count != b->count)
        return "count";
    if (a->nan != b->nan || a->first_nan != b->first_nan)
        return "number of NaNs";
    if (a->infinity != b->infinity)
        return "number of infinities";
    if (sum && !same_double(a->sum, b->sum))
        return "sum";
    if (sum && !same_double(a->mean, b->mean))
        return "mean";
    if (extremes && !same_double(a->min, b->min))
        return "minimum";
    if (extremes && !same_double(a->max, b->max))
        return "maximum";
    if (where && a->argmin != b->argmin)
        return "index of the minimum";
    if (where && a->argmax != b->argmax)
        return "index of the maximum";
    return NULL;
}

/* Rows of a batched rung, and what a thread finds of its share of them. */
struct rows_part {
    struct exact sum; /* of all rows' results that are finite */
    enum verdict verdict;
    uint64_t wrong; /* the first row that is, or UINT64_MAX */
};

struct rows_job {
    const struct subject *subject;
    const unsigned char *data;
    const void *results;
    bool exactly;
    struct cpu_reducer *reducers; /* one a thread */
    struct rows_part *parts;      /* likewise */
};

/* Rows that a thread takes at least. */
#define ROWS 64

static void judge_share(void *argument, unsigned number, uint64_t begin, uint64_t end)
{
    const struct rows_job *job = argument;
    const struct rung_launch *l = &job->subject->launch;
    struct rows_part *part = &job->parts[number];

    for (uint64_t row = begin; row < end; row++) {
        uint64_t first = row * l->threads;
        uint64_t count = l->count - first < l->threads ? l->count - first : l->threads;
        double computed = subject_value(job->subject, job->results, row);
        struct reference r =
            reference_of(&job->reducers[number], job->data + first * element_size(l->type),
                         (size_t)count, first);
        enum verdict verdict =
            bound_judge(job->subject->rung, l, count, &r, computed, job->exactly);

        if (verdict == VERDICT_WRONG && part->wrong == UINT64_MAX)
            part->wrong = row;
        part->verdict = verdict > part->verdict ? verdict : part->verdict;
        if (isfinite(computed))
            exact_add(&part->sum, computed);
    }
}

/* Judges each row; the error of their sum goes to the findings of content 0. */
static enum verdict judge_rows(const struct subject *s, const unsigned char *data,
                               const struct reference *r, const void *results, bool exactly,
                               struct findings *f)
{
    unsigned threads = cores_available();
    struct rows_job job = {.subject = s,
                           .data = data,
                           .results = results,
                           .exactly = exactly,
                           .reducers = reference_reducers(s->launch.type, threads),
                           .parts = calloc(threads, sizeof *job.parts)};
    bool good = job.reducers && job.parts;
    enum verdict verdict = VERDICT_EXACT;
    struct exact rest;

    for (unsigned i = 0; good && i < threads; i++)
        job.parts[i].wrong = UINT64_MAX;
    good = good && team_share(threads, s->results, ROWS, judge_share, &job);
    exact_clear(&rest);
    for (unsigned i = 0; good && i < threads; i++) {
        const struct rows_part *part = &job.parts[i];

        exact_merge(&rest, &part->sum);
        if (part->wrong != UINT64_MAX && verdict != VERDICT_WRONG)
            snprintf(f->why, sizeof f->why, "the sum of row %" PRIu64 ", %.9g, is wrong",
                     part->wrong, subject_value(s, results, part->wrong));
        verdict = part->verdict > verdict ? part->verdict : verdict;
    }
    reducers_free(job.reducers, threads);
    free(job.parts);
    if (!good) {
        snprintf(f->why, sizeof f->why, "its rows could not be verified");
        return VERDICT_WRONG;
    }
    if (!exactly) {
        double exact = exact_round(&r->partial.sum);

        /* The rows' sums, added without error, less the exact sum. */
        for (int i = 0; i < EXACT_DIGITS; i++)
            rest.digit[i] = -rest.digit[i];
        exact_merge(&rest, &r->partial.sum);
        f->ulps = verdict == VERDICT_OVERFLOW
                      ? INFINITY
                      : fabs(exact_round(&rest)) / bound_unit(s->launch.type, exact);
    }
    return verdict;
}

/* Judges the results of one run; `data` are the elements, on the host, for rungs with rows. */
static enum verdict judge_results(const struct subject *s, const unsigned char *data,
                                  const struct reference *r, const void *results, bool exactly,
                                  struct findings *f)
{
    const struct rung_launch *l = &s->launch;
    enum verdict verdict = VERDICT_EXACT;
    double sum = exact_round(&r->partial.sum), computed;

    if (s->rung->order == ORDER_ROWS)
        return judge_rows(s, data, r, results, exactly, f);
    if (s->rung->order == ORDER_EXACT) {
        struct result got = finish(results), expected;
        const char *wrong;

        partial_finish(&r->partial, false, &expected);
        wrong = difference(&got, &expected, s->rung->wants);
        computed = got.sum;
        f->ulps = NAN;
        if (wrong) {
            snprintf(f->why, sizeof f->why, "the %s is wrong (sums: %.17g, exact %.17g)", wrong,
                     got.sum, sum);
            return VERDICT_WRONG;
        }
        if (!(s->rung->wants & PARTIAL_SUM))
            return verdict;
    } else {
        computed = subject_value(s, results, 0);
        verdict = bound_judge(s->rung, l, l->count, r, computed, exactly);
        if (verdict == VERDICT_WRONG)
            snprintf(f->why, sizeof f->why, "the sum is %.9g%s, %s %.17g", computed,
                     exactly ? " of signs" : "", exactly ? "not" : "too far from", sum);
    }
    f->ulps = bound_distance(&r->partial.sum, computed) / bound_unit(l->type, sum);
    return verdict;
}

/* Whether two runs gave the same bits. Digits of an exact sum may differ where their value does
   not: the results are what counts. */
static bool same_results(const struct subject *s, const void *a, const void *b)
{
    if (s->rung->order == ORDER_EXACT) {
        struct result x = finish(a), y = finish(b);
        return difference(&x, &y, s->rung->wants) == NULL;
    }
    return memcmp(a, b, s->size) == 0;
}

void verify_note_error(struct workbench *b, struct findings *f, cudaError_t error)
{
    f->verdict = VERDICT_WRONG;
    f->measurable = false;
    snprintf(f->why, sizeof f->why, "%s", cudaGetErrorString(error));
    workbench_note_error(b);
}

/* The host has the elements of content 0 alone, and of the signs. */
struct findings verify_subject(struct workbench *b, const struct inputs *in, struct subject *s)
{
    struct findings f = {.verdict = VERDICT_EXACT, .ulps = NAN, .same = true, .compared = 1};
    unsigned char *results = malloc(2 * s->size), *again;
    unsigned contents = s->rung->order == ORDER_ROWS ? 1 : in->contents;
    uint64_t begun = clock_now();
    cudaError_t error = cudaSuccess;
    double ulps = NAN;

    if (!results) {
        f.verdict = VERDICT_WRONG;
        snprintf(f.why, sizeof f.why, "out of memory");
        return f;
    }
    again = results + s->size;
    if (in->signs) {
        error = run_once(b, in, s, in->signs, results);
        if (error == cudaSuccess && judge_results(s, in->host_signs, &in->signs_reference, results,
                                                  true, &f) == VERDICT_WRONG)
            f.verdict = VERDICT_WRONG;
    }
    for (unsigned i = contents; i-- > 0 && error == cudaSuccess && f.verdict != VERDICT_WRONG;) {
        enum verdict verdict;

        error = run_once(b, in, s, in->data + i * in->stride, results);
        if (error != cudaSuccess)
            break;
        verdict = judge_results(s, in->host, &in->references[i], results, false, &f);
        f.verdict = verdict > f.verdict ? verdict : f.verdict;
        ulps = f.ulps; /* content 0 comes last */
    }
    f.ulps = ulps;
    for (; f.compared < COMPARISONS && error == cudaSuccess && f.verdict != VERDICT_WRONG &&
           clock_now() - begun < COMPARE_BUDGET;
         f.compared++) {
        error = run_once(b, in, s, in->data, again);
        f.same = f.same && error == cudaSuccess && same_results(s, results, again);
    }
    if (error != cudaSuccess)
        verify_note_error(b, &f, error);
    f.measurable = f.verdict != VERDICT_WRONG;
    free(results);
    return f;
}
