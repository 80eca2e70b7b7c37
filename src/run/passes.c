#include "config.h"

#include "run/passes.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/order.h"
#include "run/session_options.h"
#include "sys/clock.h"
#include "sys/team.h"

/* A file that is not in memory is sampled at fewer places, each of which costs a request, and more
   is taken of each. */
#define UNCACHED 0.5
#define UNCACHED_RUNS 512
#define UNCACHED_LENGTH 256

/* Threads that read a sample, at most, and runs that each takes at a time. */
#define SAMPLERS_MAX 16
#define RUNS_SHARE 64

void passes_open(struct passes *r, const struct pass_request *request)
{
    *r = (struct passes){.request = *request};
}

bool passes_open_several(struct passes *r, const struct pass_request *request, unsigned inputs,
                         const struct reduction *known, unsigned workers, bool propagate)
{
    passes_open(r, request);
    r->inputs = inputs;
    r->workers = workers;
    r->type = known->type;
    r->elements = known->elements;
    r->plan = pass_plan_open(&r->request, r->type, &known->scale, r->elements, workers, propagate);
    if (!r->plan)
        return false;
    pass_plan_begin(r->plan, &known->partial);
    r->runs = pass_plan_runs(r->plan);
    r->more = !pass_plan_is_done(r->plan);
    partial_clear(&r->all);
    return true;
}

void passes_drop(struct passes *r)
{
    r->inputs_taken = 0;
    partial_clear(&r->all);
    for (unsigned i = 0; r->sets && i < r->workers; i++)
        for (unsigned j = 0; j < r->sets[i].count; j++)
            tally_close(&r->sets[i].tally[j]);
    free(r->sets);
    r->sets = NULL;
}

void passes_close(struct passes *r)
{
    passes_drop(r);
    free(r->sample);
    free(r->sample_missing);
    r->sample = NULL;
    r->sample_missing = NULL;
    pass_plan_close(r->plan);
    r->plan = NULL;
}

/* The beginning of run number `number` of `count`, so that it ends before `limit`: anywhere in its
   share of the input, so that repetitive data do not meet all runs in the same place. It is the
   same in every run of the program. */
static uint64_t run_index(size_t number, size_t count, uint64_t limit, size_t length)
{
    const double share = (double)(limit - length) / (double)count;
    /* The fractions of multiples of the golden ratio are spread evenly. */
    double place = (double)number * 0.61803398874989485;

    place -= (double)(uint64_t)place;
    return (uint64_t)(share * ((double)number + place));
}

/* Runs that are read: by several threads, a share at a time. */
struct sampling {
    struct source *source;
    struct pass_runs runs;
    unsigned char *elements;
    struct missing set;  /* the missing values of the source; may be empty */
    bool some;           /* some may be missing */
    bool *missing;       /* for each of `elements`: it is missing; false at first */
    _Atomic size_t next; /* number of the first run that nobody has */
    _Atomic bool failed;
};

/* Notes which elements of a run, which begins with element `index` of the input, are missing. */
static void note_missing(const struct sampling *s, enum element_type type, size_t run,
                         uint64_t index)
{
    const size_t length = s->runs.length, size = element_size(type);

    for (size_t i = run * length; i < (run + 1) * length; i++)
        s->missing[i] =
            missing_has(&s->set, order_key(type, order_load(type, s->elements + i * size))) ||
            source_is_missing(s->source, index + (i - run * length));
}

static void read_shares(void *argument, unsigned number)
{
    struct sampling *s = argument;
    const struct source_info *info = source_info(s->source);
    const size_t count = s->runs.count, length = s->runs.length;
    size_t first;

    (void)number;
    while ((first = atomic_fetch_add(&s->next, RUNS_SHARE)) < count)
        for (size_t i = first; i < count && i < first + RUNS_SHARE; i++) {
            const uint64_t index = run_index(i, count, info->elements, length);

            if (!source_read_at(s->source, index, length,
                                s->elements + i * length * info->element_size))
                atomic_store(&s->failed, true);
            else if (s->some)
                note_missing(s, info->type, i, index);
        }
}

bool passes_sample(struct passes *r, struct source *source, const struct missing_values *values,
                   unsigned workers)
{
    const struct source_info *info = source_info(source);
    struct sampling s = {.source = source, .runs = r->runs};
    size_t shares;
    double share;

    if (s.runs.count == 0)
        return true;
    /* Not knowing some of the inputs, a sample would mislead. */
    if (!source_is_random(source) || info->type != r->type) {
        r->runs.count = 0;
        return true;
    }
    share = (double)s.runs.count * ((double)info->elements / (double)r->elements);
    s.runs.count -= r->runs_taken;
    s.runs.count = share < (double)s.runs.count ? (size_t)share : s.runs.count;
    if (info->elements < s.runs.count * s.runs.length)
        return true;
    if (!source_find_missing(source, values, &s.set))
        return false;
    if (!r->sample) {
        r->sample = malloc(r->runs.count * s.runs.length * info->element_size);
        r->sample_missing = calloc(r->runs.count, s.runs.length);
    }
    if (!r->sample || !r->sample_missing)
        return source_no_memory(source);
    s.elements = r->sample + r->runs_taken * s.runs.length * info->element_size;
    s.missing = r->sample_missing + r->runs_taken * s.runs.length;
    s.some = s.set.count > 0 || info->scattered;
    shares = s.runs.count / RUNS_SHARE;
    shares = shares < SAMPLERS_MAX ? shares : SAMPLERS_MAX;
    team_call(workers < shares ? workers : shares > 0 ? (unsigned)shares : 1, read_shares, &s);
    r->runs_taken += s.runs.count;
    return !atomic_load(&s.failed);
}

bool passes_sampled(struct passes *r)
{
    return r->runs.count == 0 || r->runs_taken == 0 ||
           pass_plan_sample(r->plan, r->sample, r->sample_missing, r->runs_taken, r->runs.length);
}

/* Samples the input, where that is of use and can be done. */
static bool sample(struct passes *r, struct run *run)
{
    /* One reads memory sooner than it wakes others. */
    const unsigned workers = run->options->input.view ? 1 : run->cpu_workers;

    r->elements = run->info->elements;
    r->runs = pass_plan_runs(r->plan);
    if (r->runs.count == 0 || !source_is_random(run->source))
        return true;
    if (run->info->uncached > UNCACHED)
        r->runs = (struct pass_runs){UNCACHED_RUNS, UNCACHED_LENGTH};
    /* From here on the input is read. */
    if (run->started_at == 0)
        run->started_at = clock_now();
    return passes_sample(r, run->source, &run->options->missing, workers) &&
           (passes_sampled(r) || source_no_memory(run->source));
}

/* Sees to it that an input can be read as often as it may take. */
static bool can_be_repeated(const struct passes *r, const struct run *run)
{
    const char *why;

    if (run->info->repeatable || pass_plan_is_single(r->plan, &why))
        return true;
    if (r->request.quantile_count > 0)
        source_error(run->source, ERROR_REQUEST,
                     "%s of %s need several passes, but this input can be read only once; save it "
                     "as a file first",
                     why, element_name(run->info->type));
    else
        source_refuse(run->source, (struct advice){.kind = ADVICE_RANGE},
                      "%s needs a pass of its own, but this input can be read only once", why);
    return false;
}

/* Sees to it that what is asked for can be found of the type. */
static bool is_for_type(const struct passes *r, const struct run *run)
{
    const enum element_type type = run->info->type;

    if (r->request.histogram.kind != HISTOGRAM_EXPONENTS)
        return true;
    if (run->info->scale.given)
        return source_refuse(
            run->source, (struct advice){.kind = ADVICE_BINS},
            "it has a scale or an offset, and exponents are those of stored numbers");
    if (!element_is_integer(type))
        return true;
    return source_refuse(run->source, (struct advice){.kind = ADVICE_BINS}, "%s has no exponents",
                         element_name(type));
}

/* Begins the pass plan, before the first pass, if there is anything to find. */
static bool begin_pass_plan(struct passes *r, struct run *run)
{
    /* They would need a second pass, which is not possible. */
    if (!run->info->repeatable && !order_is_narrow(run->info->type))
        pass_request_drop_optional(&r->request);
    if (!pass_request_any(&r->request))
        return true;
    if (!is_for_type(r, run))
        return false;
    r->workers = run->cpu_workers + run->feeders;
    r->type = run->info->type;
    r->data_offset = run->info->data_offset;
    r->plan = pass_plan_open(&r->request, run->info->type, &run->info->scale, run->info->elements,
                             r->workers, run->options->nan != NAN_SKIP);
    if (!r->plan)
        return source_no_memory(run->source);
    return can_be_repeated(r, run) && sample(r, run);
}

/* Opens the tallies of all workers, as the pass plan plans the next pass. */
static bool open_tallies(struct passes *r, const struct run *run)
{
    const struct tally_plan *plans[TALLY_PLANS_MAX];
    const unsigned count = pass_plan_next(r->plan, plans);
    bool good = true;

    r->sets = calloc(r->workers, sizeof *r->sets);
    if (!r->sets)
        return source_no_memory(run->source);
    for (unsigned i = 0; i < r->workers; i++) {
        for (unsigned j = 0; j < count; j++) {
            good = tally_open(&r->sets[i].tally[j], plans[j]) && good;
            r->sets[i].count++;
        }
    }
    return good || source_no_memory(run->source);
}

bool passes_begin(struct passes *r, struct run *run)
{
    if (!r->plan && !begin_pass_plan(r, run))
        return false;
    if (!r->plan)
        return true;
    if (r->type != run->info->type || (!r->inputs && r->data_offset != run->info->data_offset))
        return source_fail(run->source, pass_plan_error(PASS_PLAN_CHANGED));
    /* The first pass has found all else, but for what tells whether the next are of the same. */
    run->setup.wants = r->count == 0 && !r->inputs
                           ? run->setup.wants | PARTIAL_EXTREMES
                           : PARTIAL_EXTREMES | (run->setup.wants & (unsigned)PARTIAL_MISSING);
    if (!(run->setup.wants & PARTIAL_SPLIT))
        run->setup.split = NULL;
    if (!r->sets && !open_tallies(r, run))
        return false;
    for (unsigned i = 0; i < r->workers; i++) {
        r->sets[i].goes_on = r->inputs_taken + 1 < r->inputs;
        r->sets[i].alone = pass_plan_tallies_alone(r->plan);
    }
    run->tallies = r->sets;
    return true;
}

/* Adds what one of several inputs came to, and sets *partial to what all of them did. Returns
   whether it was the last. */
static bool take_input(struct passes *r, struct partial *partial)
{
    partial_append(&r->all, partial, r->all.count);
    *partial = r->all;
    r->more = true;
    return ++r->inputs_taken == r->inputs;
}

bool passes_take(struct passes *r, const struct run *run, struct partial *partial)
{
    enum pass_plan_verdict verdict;

    if (r->inputs && !take_input(r, partial))
        return true;
    r->inputs_taken = 0;
    if (r->count == 0)
        r->first = *partial;
    r->count++;
    r->more = false;
    if (!r->plan)
        return true;
    verdict = pass_plan_take(r->plan, partial, r->sets, r->workers);
    if (verdict > PASS_PLAN_MORE)
        return source_fail(run->source, pass_plan_error(verdict));
    r->more = verdict == PASS_PLAN_MORE;
    *partial = r->first;
    return true;
}

void passes_finish(const struct passes *r, struct reduction *reduction)
{
    reduction->passes += r->count;
    if (!r->plan)
        return;
    for (unsigned i = 0; i < r->request.quantile_count; i++) {
        reduction->result.quantiles[r->request.places[i]] = pass_plan_quantile(r->plan, i);
        reduction->quantiles |= UINT32_C(1) << r->request.places[i];
    }
    reduction->histogram = pass_plan_histogram(r->plan);
}
