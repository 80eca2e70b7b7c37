#include "config.h"

#include "cuda/array_tallies.h"

#include <stdlib.h>
#include <string.h>

#include "core/moments.h"
#include "cuda/array_launch.h"
#include "cuda/array_parts.h"
#include "cuda/guest.h"
#include "cuda/kernels.h"
#include "cuda/tallies.h"

/* Elements of a launch, at most: kernels take less than 2^30. */
#define LAUNCH_MAX ((uint64_t)1 << 29)

/* Bytes that come to the host by way of pinned memory, at most: others come to where they belong, which takes
   the driver longer to begin. */
#define PINNED_BYTES ((size_t)256 << 10)

/* There is room to keep one in so many elements. */
#define KEPT_PART 16

const struct cuda_tallier_tuning cuda_tallier_shipped = {
    .room = (uint64_t)1 << 20, .fetched = (uint64_t)1 << 13, .counted = (uint64_t)1 << 25};

static const char *const launching = "starting a kernel";

/* Elements that a tally of cells has left in device memory. */
struct held {
    uint64_t count; /* 0: none */
    struct tally_plan plan;
    uint64_t counts[TALLY_CELLS_MAX + 1]; /* of all elements */
};

struct cuda_tallier {
    struct cuda_tallier_tuning tuning;
    struct cuda_site site; /* its event is recorded after a sample */

    /* Device memory: of jobs, for elements that are kept and that a next pass keeps of these, for
       counts of parts, for copies, and for samples. And pinned memory: of jobs, for samples, and for what
       is fetched. */
    struct cuda_room job, kept, few, fine, stage, gathered, pinned, sample, fetched;

    struct held held;

    struct pass_runs runs; /* of the sample, and the form of its elements */
    size_t sample_size;
    bool sample_swap;

    /* The call that is being made. */
    const struct cuda_array_elements *elements;
    size_t size; /* bytes of an element */
    cudaStream_t stream;
    bool from_held;                        /* it looks at what was kept */
    uint64_t outside[TALLY_CELLS_MAX + 1]; /* then: the counts of all other elements */
    struct cuda_tallies tallies;
};

struct cuda_tallier *cuda_tallier_open(const struct cuda_tallier_tuning *tuning)
{
    struct cuda_tallier *t = calloc(1, sizeof *t);

    if (t)
        t->tuning = *tuning;
    return t;
}

void cuda_tallier_close(struct cuda_tallier *t)
{
    if (!t)
        return;
    cuda_site_close(&t->site);
    free(t);
}

/* Begins a call, until cuda_site_leave: sets the elements, and makes their device the current one. */
static bool enter(struct cuda_tallier *t, const struct cuda_array_elements *elements,
                  struct error *error)
{
    int device = elements->device;

    if (!cuda_guest_find(&device, elements->layout->data, error))
        return false;
    if (device != t->site.device)
        t->held.count = 0;
    t->elements = elements;
    t->size = element_size(elements->type);
    t->stream = elements->stream;
    if (cuda_site_enter(&t->site, device, error))
        return true;
    cuda_site_leave(&t->site);
    return false;
}

static bool fail(const char *reason, struct error *error)
{
    return error_set(error, ERROR_GPU, "%s", reason);
}

/*
 * Launches.
 */

/* Tallies elements that lie in rows. */
typedef bool tally_rows(struct cuda_tallier *t, struct cuda_rows rows, size_t count,
                        struct error *error);

static bool add_rows(struct cuda_tallier *t, struct cuda_rows rows, size_t count,
                     struct error *error)
{
    struct cuda_job *const job = &t->tallies.job;
    char reason[ENGINE_REASON_MAX];

    for (unsigned i = 0; i < t->tallies.set->count; i++)
        t->tallies.launch[i].rows = rows;
    return job->kind->add(job, 0, rows.data, count, 0, t->stream, reason) || fail(reason, error);
}

/* Counts elements in parts of the cells that are kept. There are cells in the first plan alone. */
static bool count_rows(struct cuda_tallier *t, struct cuda_rows rows, size_t count,
                       struct error *error)
{
    struct cuda_tally_launch launch = t->tallies.launch[0];

    launch.fine = true;
    launch.rows = rows;
    launch.count = count;
    launch.counts = (void *)t->fine.memory;
    launch.size = (launch.plan->kept_cells << launch.plan->fine_bits) + 1;
    if (t->from_held) {
        launch.missing = NULL;
        launch.swap = false;
    }
    return cuda_guest_check(cuda_tally(&launch, t->stream), launching, error);
}

/* The call that is being made, and how its elements are tallied. */
struct tallying {
    struct cuda_tallier *tallier;
    tally_rows *tally;
};

static bool tally_part(void *context, struct cuda_rows rows, uint64_t count, struct error *error)
{
    const struct tallying *const c = context;

    return c->tally(c->tallier, rows, (size_t)count, error);
}

static const void *copy(void *context, const struct cuda_gather *gather, uint64_t staged,
                        struct error *error)
{
    struct cuda_tallier *const t = ((struct tallying *)context)->tallier;

    return cuda_array_stage(&t->site, &t->stage, gather, staged, t->stream, error);
}

/* Tallies all elements, or those that were kept. */
static bool tally_all(struct cuda_tallier *t, tally_rows *tally, struct error *error)
{
    struct tallying call = {t, tally};
    const struct view_layout kept = {
        .data = t->kept.memory, .rank = 1, .sizes = {t->held.count}, .strides = {(int64_t)t->size}};
    const struct cuda_array_elements *const e = t->elements;
    const struct cuda_array_parts parts = {.tuning = &cuda_array_parts_shipped,
                                           .size = t->size,
                                           .most = LAUNCH_MAX,
                                           .tiles = 1,
                                           .room = CUDA_STAGE_BYTES / t->size,
                                           .take = tally_part,
                                           .copy = copy,
                                           .context = &call};

    return t->from_held ? cuda_array_take_parts(&parts, &kept, t->held.count, error)
                        : cuda_array_take_parts(&parts, e->layout, e->count, error);
}

/*
 * Elements that were kept.
 */

/* Finds how many of the elements that are not held lie before each cell of a plan. False if that is
   not known, or if a cell that is to be kept is not within one that was. */
static bool find_outside(const struct held *held, const struct tally_plan *plan, uint64_t *outside)
{
    const struct tally_plan *old = &held->plan;
    uint64_t before = held->counts[0]; /* of the cells before number c */
    unsigned c = 0;

    if (held->count == 0)
        return false;
    for (unsigned i = 0; i < plan->cells; i++) {
        for (; c + 1 < old->cells && old->first[c + 1] <= plan->first[i]; c++)
            before += old->keep[c] ? 0 : held->counts[c + 1] - held->counts[c];
        if (old->keep[c] ? plan->keep[i] && tally_last(plan, i) > tally_last(old, c)
                         : plan->keep[i] || plan->first[i] != old->first[c])
            return false;
        outside[i] = before;
    }
    for (; c < old->cells; c++)
        before += old->keep[c] ? 0 : held->counts[c + 1] - held->counts[c];
    outside[plan->cells] = before;
    return true;
}

/* Copies device memory to the host. */
static bool fetch(struct cuda_tallier *t, void *to, const void *from, size_t bytes,
                  struct error *error)
{
    const bool pinned = bytes <= PINNED_BYTES;
    void *by;

    if (pinned && !cuda_room_pin(&t->site, &t->fetched, PINNED_BYTES, error))
        return false;
    by = pinned ? t->fetched.memory : to;
    if (!cuda_guest_check(cudaMemcpyAsync(by, from, bytes, cudaMemcpyDeviceToHost, t->stream),
                          "copying a result", error) ||
        !cuda_guest_check(cudaStreamSynchronize(t->stream), "tallying", error))
        return false;
    if (pinned)
        memcpy(to, by, bytes);
    return true;
}

/* Copies the counts of parts to a tally, which has dropped its elements. */
static bool fetch_fine(struct cuda_tallier *t, struct tally *tally, struct error *error)
{
    const size_t counts = (size_t)tally->plan->kept_cells << tally->plan->fine_bits;

    tally->fine = calloc(counts, sizeof *tally->fine);
    if (!tally->fine)
        return error_memory(error);
    tally->dropped = true;
    return fetch(t, tally->fine, t->fine.memory, counts * sizeof *tally->fine, error);
}

/* Copies elements that were kept to a tally. */
static bool fetch_kept(struct cuda_tallier *t, struct tally *tally, size_t count,
                       struct error *error)
{
    if (count == 0)
        return true;
    if (!tally_reserve(tally, count))
        return error_memory(error);
    tally->kept_count = count;
    return fetch(t, tally->kept, t->tallies.kept[0][0], count * t->size, error);
}

/* Takes what the cells of the first tally have kept: copies it, or its counts. */
static bool take_kept(struct cuda_tallier *t, struct tally *tally, struct error *error)
{
    struct cuda_tallies *const tallies = &t->tallies;
    const uint64_t kept = cuda_tallies_kept(tallies, 0, 0);
    const size_t fine =
        (((size_t)tally->plan->kept_cells << tally->plan->fine_bits) + 1 + CUDA_TALLY_MORE) *
        sizeof(uint64_t);

    if (!t->from_held)
        t->held.count = 0;
    if (kept <= t->tuning.fetched && kept <= tallies->launch[0].room)
        return fetch_kept(t, tally, (size_t)kept, error);
    if (!cuda_room_grow(&t->site, &t->fine, fine, error) ||
        !cuda_guest_check(cudaMemsetAsync(t->fine.memory, 0, fine, t->stream), launching, error))
        return false;
    if (!t->from_held && kept <= tallies->launch[0].room) {
        t->held.count = kept;
        t->held.plan = *tally->plan;
        memcpy(t->held.counts, tally->counts, (tally->plan->cells + 1) * sizeof *tally->counts);
        t->from_held = true;
    }
    return tally_all(t, count_rows, error) && fetch_fine(t, tally, error);
}

/*
 * Calls.
 */

/* Allocates the memory and begins the job. */
static bool begin(struct cuda_tallier *t, struct tally_set *set, struct error *error)
{
    const struct cuda_array_elements *e = t->elements;
    struct cuda_tallies *const tallies = &t->tallies;
    struct cuda_job *const job = &tallies->job;
    const bool cells = set->tally[0].plan->kind == TALLY_CELLS;
    struct cuda_room *const to = t->from_held ? &t->few : &t->kept;
    uint64_t room = e->count / KEPT_PART;
    char reason[ENGINE_REASON_MAX];

    room = room > t->tuning.room ? room : t->tuning.room;
    room = room < e->count ? room : e->count;
    room = t->from_held ? t->tuning.fetched : room;
    cuda_tallies_init(tallies, set, e->type, e->swap && !t->from_held,
                      t->from_held ? NULL : e->missing, t->site.multiprocessors, t->site.shared, 0,
                      cells ? (size_t)room * t->size : 0);
    tallies->appends = true;
    if ((cells && !cuda_room_grow(&t->site, to, tallies->kept_bytes, error)) ||
        !cuda_room_grow(&t->site, &t->job, job->device_bytes, error) ||
        !cuda_room_pin(&t->site, &t->pinned, job->pinned_bytes, error))
        return false;
    tallies->kept[0][0] = cells ? to->memory : NULL;
    if (!job->kind->begin(job, t->job.memory, t->pinned.memory, t->stream, reason))
        return fail(reason, error);
    return true;
}

/* Tallies, and waits for it. */
static bool tally_set(struct cuda_tallier *t, struct tally_set *set, struct error *error)
{
    struct cuda_job *const job = &t->tallies.job;
    struct tally *const first = &set->tally[0];
    char reason[ENGINE_REASON_MAX];

    if (!begin(t, set, error) || !tally_all(t, add_rows, error))
        return false;
    if (!job->kind->send(job, 0, t->stream, reason))
        return fail(reason, error);
    if (!cuda_guest_check(cudaStreamSynchronize(t->stream), "tallying", error))
        return false;
    if (!job->kind->collect(job, 0, reason))
        return fail(reason, error);
    job->kind->end(job);
    for (unsigned i = 0; t->from_held && i <= first->plan->cells; i++)
        first->counts[i] += t->outside[i];
    return first->plan->kind != TALLY_CELLS || take_kept(t, first, error);
}

bool cuda_array_tally(struct cuda_tallier *t, const struct cuda_array_elements *elements,
                      bool again, struct tally_set *set, struct error *error)
{
    bool good;

    if (!enter(t, elements, error))
        return false;
    t->held.count = again ? t->held.count : 0;
    t->from_held = set->count == 1 && set->tally[0].plan->kind == TALLY_CELLS &&
                   find_outside(&t->held, set->tally[0].plan, t->outside);
    good = tally_set(t, set, error);
    if (good) {
        for (unsigned i = 0; i < set->count; i++) {
            tally_end(&set->tally[i]);
            good = good && !set->tally[i].failed;
        }
        if (!good)
            (void)error_memory(error);
    }
    cuda_site_leave(&t->site);
    if (!good) {
        /* Kernels may still use the memory: cudaFree waits for them. */
        t->held.count = 0;
        cuda_site_close(&t->site);
    }
    return good;
}

bool cuda_array_counts_values(const struct cuda_tallier *t, const struct cuda_array_elements *e,
                              unsigned wants, bool tallied)
{
    const bool integers = element_is_integer(e->type);
    const unsigned told = PARTIAL_ALL & ~(unsigned)PARTIAL_WHERE;
    const unsigned extremes = integers ? CUDA_FINDS_EXTREMES : PARTIAL_SUM;
    const unsigned squares = integers ? CUDA_FINDS_SQUARES : PARTIAL_SUM;

    return element_size(e->type) == 1 && e->count >= t->tuning.counted && !(wants & ~told) &&
           (tallied || ((wants & ~extremes) && (wants & ~squares)));
}

/* Adds an element that occurs so often. */
static void take_value(struct partial *p, enum element_type type, unsigned char byte,
                       uint64_t count)
{
    p->count += count;
    for (uint64_t some; count > 0; count -= some) {
        some = count < UINT32_MAX ? count : UINT32_MAX;
        moments_take_byte(p, type, true, byte, some);
    }
    if (element_is_nan(type, &byte))
        return;
    partial_take_min(p, element_key(type, &byte), PARTIAL_NO_INDEX);
    partial_take_max(p, element_key(type, &byte), PARTIAL_NO_INDEX);
}

bool cuda_array_count_values(struct cuda_tallier *t, const struct cuda_array_elements *elements,
                             const struct tally *counted, struct partial *partial,
                             struct error *error)
{
    const struct tally_plan plan = {.kind = TALLY_WORDS, .type = elements->type};
    struct tally_set set = {.count = 1};
    const struct tally *const tally = counted ? counted : &set.tally[0];
    const bool good = counted || ((tally_open(&set.tally[0], &plan) || error_memory(error)) &&
                                  cuda_array_tally(t, elements, false, &set, error));

    for (unsigned byte = 0; byte < tally_size(&plan) && good; byte++)
        if (tally->counts[byte] > 0)
            take_value(partial, plan.type, (unsigned char)byte, tally->counts[byte]);
    partial->missing = elements->count - partial->count;
    partial->count = elements->count;
    if (!counted)
        tally_close(&set.tally[0]);
    return good;
}

/* Gathers the runs on the device, and has them copied from there. */
static bool begin_sample(struct cuda_tallier *t, struct pass_runs runs, struct error *error)
{
    const struct cuda_array_elements *e = t->elements;
    const size_t size = t->size, all = runs.count * runs.length;
    const int64_t step = (int64_t)((e->count - runs.length) / runs.count);
    const int64_t stride = e->layout->strides[0];
    struct cuda_gather job = {.from = {.data = e->layout->data,
                                       .rank = 2,
                                       .sizes = {runs.count, runs.length},
                                       .strides = {step * stride, stride}},
                              .count = all,
                              .size = (unsigned)size};

    if (!cuda_site_event(&t->site, error) ||
        !cuda_room_grow(&t->site, &t->gathered, all * size, error) ||
        !cuda_room_pin(&t->site, &t->sample, all * size, error))
        return false;
    job.to = t->gathered.memory;
    return cuda_guest_check(cuda_gather(&job, t->site.multiprocessors, t->stream), launching,
                            error) &&
           cuda_guest_check(cudaMemcpyAsync(t->sample.memory, t->gathered.memory, all * size,
                                            cudaMemcpyDeviceToHost, t->stream),
                            "copying elements", error) &&
           cuda_guest_check(cudaEventRecord(t->site.event, t->stream), "recording an event", error);
}

bool cuda_array_begin_sample(struct cuda_tallier *t, const struct cuda_array_elements *elements,
                             struct pass_runs runs, struct error *error)
{
    bool good;

    if (!enter(t, elements, error))
        return false;
    good = begin_sample(t, runs, error);
    t->runs = runs;
    t->sample_size = t->size;
    t->sample_swap = elements->swap;
    cuda_site_leave(&t->site);
    return good;
}

const void *cuda_array_sample(struct cuda_tallier *t, struct error *error)
{
    if (!cuda_guest_check(cudaEventSynchronize(t->site.event), "sampling", error))
        return NULL;
    if (t->sample_swap)
        element_swap(t->sample.memory, t->sample.memory, t->runs.count * t->runs.length,
                     t->sample_size);
    return t->sample.memory;
}
