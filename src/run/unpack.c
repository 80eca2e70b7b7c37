#include "config.h"

#include "run/unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run/work.h"
#include "source/packed.h"
#include "source/zstd/xxh64.h"
#include "sys/clock.h"
#include "sys/message.h"

/* Where there is nothing to do, one worker looks again after this long, nanoseconds; the others are
   woken, or look after the longer time. */
#define MOMENT 20000
#define LONGER (CLOCK_SECOND / 1000)

/* What a worker hashes at a time, unless a single frame is longer. Bytes. */
#define HASH_BYTES ((size_t)512 << 10)

MUTEX_ROLE(unpack_role);

/* A piece of content. */
struct job {
    struct engine_content content;
    size_t next;  /* segment that nobody has claimed */
    size_t left;  /* segments whose hashing has not ended */
    bool goes_on; /* its first segment goes on with the last one of the piece before */
    bool head_claimed, head_done;
    bool open;         /* the frame of its last segment goes on behind it */
    bool tail_done;    /* as far as that segment goes, it is hashed: */
    struct xxh64 tail; /* to this */
};

struct unpack {
    struct run *run;
    const struct engine_unpack *ops;
    struct engine_unpacker *unpacker; /* of who feeds it */

    struct mutex mutex;
    pthread_cond_t changed;
    bool feeding GUARDED_BY(unpack_role); /* a worker does */
    bool polling GUARDED_BY(unpack_role); /* a worker looks again soon */
    bool ended GUARDED_BY(unpack_role);   /* nothing more comes out of the unpacker */
    bool over GUARDED_BY(unpack_role);    /* nor is there anything left to do */
    bool refused GUARDED_BY(unpack_role); /* the unpacker has refused a frame */

    struct job jobs[ENGINE_CONTENT_MAX] GUARDED_BY(unpack_role); /* from first_job on */
    uint64_t first_job GUARDED_BY(unpack_role);
    uint64_t job_end GUARDED_BY(unpack_role);
    uint64_t hashed GUARDED_BY(unpack_role);    /* bytes */
    uint64_t hash_time GUARDED_BY(unpack_role); /* nanoseconds, of all workers */
    /* Of that, in pieces that a frame goes through: one after the other. */
    uint64_t hash_time_in_turn GUARDED_BY(unpack_role);

    /* Of who feeds it. */
    uint64_t reduced; /* elements */
    bool input_ended;
    bool failed; /* the engine has */

    /* Of the session's thread. */
    bool going_on; /* a worker has libzstd go on with a pipe */
};

static void lock(struct unpack *x) ACQUIRE(unpack_role);
static void unlock(struct unpack *x) RELEASE(unpack_role);
static void wait_locked(struct unpack *x) REQUIRES(unpack_role);
static struct job *job_locked(struct unpack *x, uint64_t number) REQUIRES(unpack_role);
static void push_job_locked(struct unpack *x, const struct engine_content *content)
    REQUIRES(unpack_role);
static void pop_jobs_locked(struct unpack *x) REQUIRES(unpack_role);
static void end_locked(struct unpack *x) REQUIRES(unpack_role);

UNCHECKED static void lock(struct unpack *x)
{
    mutex_lock(&x->mutex);
}

UNCHECKED static void unlock(struct unpack *x)
{
    mutex_unlock(&x->mutex);
}

/* Waits until something has changed, or for a while. Drops the mutex meanwhile. */
UNCHECKED static void wait_locked(struct unpack *x)
{
    uint64_t until = clock_now() + LONGER;
    struct timespec t = {.tv_sec = (time_t)(until / CLOCK_SECOND),
                         .tv_nsec = (long)(until % CLOCK_SECOND)};

    (void)mutex_wait_until(&x->mutex, &x->changed, &t);
}

/* Nothing is left to do. */
static void end_locked(struct unpack *x)
{
    x->ended = x->over = true;
    pthread_cond_broadcast(&x->changed);
}

/*
 * Checksums.
 */

static struct job *job_locked(struct unpack *x, uint64_t number)
{
    return &x->jobs[number % ENGINE_CONTENT_MAX];
}

static void push_job_locked(struct unpack *x, const struct engine_content *content)
{
    struct job *job = job_locked(x, x->job_end);
    const struct engine_segment *segments = content->segments;

    *job = (struct job){.content = *content,
                        .left = content->segment_count,
                        .goes_on = !segments[0].first,
                        .open = !segments[content->segment_count - 1].last};
    job->next = job->goes_on;
    job->head_claimed = job->head_done = !job->goes_on;
    x->job_end++;
    pthread_cond_signal(&x->changed);
}

/* Forgets pieces that are done, once what goes on behind them does not need them. */
static void pop_jobs_locked(struct unpack *x)
{
    while (x->first_job < x->job_end) {
        const struct job *job = job_locked(x, x->first_job);

        if (job->left > 0 || (job->open && (x->first_job + 1 == x->job_end ||
                                            !job_locked(x, x->first_job + 1)->head_done)))
            return;
        x->ops->content_free(x->unpacker, job->content.piece);
        x->first_job++;
    }
}

/* Segments of a piece that a worker has claimed. */
struct claim {
    uint64_t number; /* of the job */
    const struct engine_content *content;
    size_t first, end;
    struct xxh64 hash; /* to begin with, where the first segment goes on, or that of the last */
    bool open;         /* the last segment's frame goes on behind the piece */
    bool wrong;        /* a checksum is */
    uint64_t frame;    /* of that frame */
};

static bool claim_locked(struct unpack *x, struct claim *claim) REQUIRES(unpack_role);
static bool claim_head_locked(struct unpack *x, uint64_t number, struct claim *claim)
    REQUIRES(unpack_role);
static void end_claim_locked(struct unpack *x, const struct claim *claim) REQUIRES(unpack_role);

/* Claims the first segment of a piece, which goes on with the one before it, if that is hashed. */
static bool claim_head_locked(struct unpack *x, uint64_t number, struct claim *claim)
{
    struct job *job = job_locked(x, number), *before = job_locked(x, number - 1);

    if (job->head_claimed || number == x->first_job || !before->tail_done)
        return false;
    job->head_claimed = true;
    claim->hash = before->tail;
    claim->first = 0;
    claim->end = 1;
    return true;
}

/* Claims some segments, oldest first. */
static bool claim_locked(struct unpack *x, struct claim *claim)
{
    for (uint64_t number = x->first_job; number < x->job_end; number++) {
        struct job *job = job_locked(x, number);
        const struct engine_content *content = &job->content;
        bool claimed = claim_head_locked(x, number, claim);

        if (!claimed && job->next < content->segment_count) {
            size_t bytes = 0;

            claim->first = claim->end = job->next;
            while (claim->end < content->segment_count && bytes < HASH_BYTES)
                bytes += content->segments[claim->end++].size;
            job->next = claim->end;
            claimed = true;
        }
        if (claimed) {
            claim->number = number;
            claim->content = content;
            claim->open = job->open && claim->end == content->segment_count;
            claim->wrong = false;
            return true;
        }
    }
    return false;
}

/* Hashes what was claimed. */
static void hash(struct claim *claim)
{
    for (size_t i = claim->first; i < claim->end && !claim->wrong; i++) {
        const struct engine_segment *s = &claim->content->segments[i];

        if (s->first)
            xxh64_begin(&claim->hash);
        xxh64_add(&claim->hash, claim->content->bytes + s->begin, s->size);
        if (s->last && (uint32_t)xxh64_end(&claim->hash) != s->checksum) {
            claim->wrong = true;
            claim->frame = s->frame;
        }
    }
}

static void end_claim_locked(struct unpack *x, const struct claim *claim)
{
    struct job *job = job_locked(x, claim->number);

    job->left -= claim->end - claim->first;
    if (claim->first == 0)
        job->head_done = true;
    if (claim->open) {
        job->tail = claim->hash;
        job->tail_done = true;
    }
    pop_jobs_locked(x);
    pthread_cond_signal(&x->changed);
}

/* A checksum is wrong. */
static void wrong_checksum(struct unpack *x, uint64_t frame)
{
    struct source *s = x->run->source;

    if (x->run->info->input_bytes == SOURCE_UNKNOWN)
        packed_wrong_checksum(s, frame);
    packed_refuse(s);
}

/* Hashes content, where there is some that nobody hashes. Whether there was. */
static bool hash_some(struct unpack *x)
{
    struct claim claim;
    uint64_t begun, time;
    bool claimed;

    lock(x);
    claimed = !x->over && claim_locked(x, &claim);
    unlock(x);
    if (!claimed)
        return false;
    begun = clock_now();
    hash(&claim);
    time = clock_since(begun);
    if (claim.wrong)
        wrong_checksum(x, claim.frame);
    lock(x);
    x->hash_time += time;
    if (claim.open && !claim.content->segments[claim.first].first)
        x->hash_time_in_turn += time;
    for (size_t i = claim.first; i < claim.end; i++)
        x->hashed += claim.content->segments[i].size;
    end_claim_locked(x, &claim);
    if (claim.wrong)
        end_locked(x);
    unlock(x);
    return true;
}

/*
 * Feeding.
 */

/* Notes what has been reduced meanwhile, as a chunk of the worker's. */
static void note_reduced(struct unpack *x, struct worker *w)
{
    const uint64_t reduced = x->ops->reduced(x->unpacker), now = clock_now();
    struct worker_stats *stats = &w->stats;
    enum profile_phase phase;

    if (reduced == x->reduced)
        return;
    stats->chunks++;
    phase = phases_note_chunk(&x->run->phases, stats->chunks, now);
    stats->phase_elements[phase] += reduced - x->reduced;
    if (stats->first_chunk_at == 0)
        stats->first_chunk_at = now;
    if (x->reduced == 0)
        phases_note_ramped(&x->run->phases, 1);
    x->reduced = reduced;
}

/* Whether a NaN has been found that ends it all. */
static bool found_nan(const struct unpack *x)
{
    uint64_t nan;

    if (x->run->options->nan != NAN_ERROR)
        return false;
    nan = x->ops->first_nan(x->unpacker);
    if (nan == PARTIAL_NO_INDEX)
        return false;
    source_limit(x->run->source, nan);
    return true;
}

/* The GPU has failed. */
static void engine_failed(struct unpack *x, struct worker *w)
{
    struct run *run = x->run;
    const char *reason = x->ops->error(x->unpacker);

    x->failed = true;
    if (run->options->device == DEVICE_AUTO) {
        gpu_fail(run->gpu, reason);
        message_warning("%s: GPU failed: %s; continuing on the CPU", run->info->name, reason);
        packed_refuse(run->source);
        return;
    }
    source_error(run->source, "GPU: %s", reason);
    w->failed = true;
}

/* Has the unpacker do one thing. Whether it did; *ended: it does nothing more. */
static bool feed_once(struct unpack *x, struct worker *w, bool *ended)
{
    struct source *s = x->run->source;
    const struct packed_bytes b = packed_bytes(s, x->ops->wanted(x->unpacker));
    const struct engine_input input = {b.bytes, b.size, b.room, b.full, b.last};
    struct engine_content content;
    enum engine_unpack_status status = x->ops->advance(x->unpacker, &input, &content);

    packed_pass(s, x->ops->taken(x->unpacker));
    note_reduced(x, w);
    if (b.last && !x->input_ended)
        phases_note_end(&x->run->phases, clock_now());
    x->input_ended = b.last;
    switch (status) {
    case UNPACK_IDLE:
    case UNPACK_AGAIN:
        break;
    case UNPACK_CONTENT:
        lock(x);
        push_job_locked(x, &content);
        unlock(x);
        break;
    case UNPACK_ENDED:
        packed_complete(s, x->ops->total(x->unpacker));
        *ended = true;
        break;
    case UNPACK_REFUSED:
        packed_refuse(s);
        lock(x);
        x->refused = true;
        unlock(x);
        *ended = true;
        break;
    case UNPACK_WRONG:
        wrong_checksum(x, x->ops->wrong(x->unpacker));
        lock(x);
        end_locked(x);
        unlock(x);
        *ended = true;
        return true;
    case UNPACK_FAILED:
        engine_failed(x, w);
        lock(x);
        end_locked(x);
        unlock(x);
        *ended = true;
        return true;
    }
    if (found_nan(x)) {
        packed_complete(s, x->ops->total(x->unpacker));
        *ended = true;
    }
    return status != UNPACK_IDLE;
}

/* The role of who feeds the unpacker, if nobody has it. Whether there was something to do. */
static bool feed(struct unpack *x, struct worker *w)
{
    bool did = false, ended = false, mine;

    lock(x);
    mine = !x->feeding && !x->ended;
    if (mine)
        x->feeding = true;
    unlock(x);
    if (!mine)
        return false;
    while (!ended && feed_once(x, w, &ended))
        did = true;
    lock(x);
    x->feeding = false;
    x->ended |= ended;
    pthread_cond_signal(&x->changed);
    unlock(x);
    return did;
}

/*
 * Workers.
 */

/* Looks whether all is done: what has come back is checked, and nobody feeds. */
static bool is_over(struct unpack *x)
{
    bool over;

    lock(x);
    if (!x->over && x->ended && !x->feeding) {
        bool open = false;

        for (uint64_t number = x->first_job; number < x->job_end; number++)
            open |= job_locked(x, number)->left > 0;
        /* Of a frame that was refused, or is not wanted to its end, the rest will not come. */
        if (!open)
            end_locked(x);
    }
    over = x->over;
    unlock(x);
    return over;
}

/* There was nothing to do. */
static void rest(struct unpack *x)
{
    const struct timespec moment = {0, MOMENT};
    bool poll;

    lock(x);
    poll = !x->polling && !x->over;
    if (poll)
        x->polling = true;
    else if (!x->over)
        wait_locked(x);
    unlock(x);
    if (!poll)
        return;
    nanosleep(&moment, NULL);
    lock(x);
    x->polling = false;
    unlock(x);
}

/* What all workers do until there is nothing left. */
static void take_part(struct unpack *x, struct worker *w)
{
    bool more_input = true;

    while (!w->failed && !is_over(x)) {
        bool did = feed(x, w);

        /* Content stays with who has begun to hash: a frame that goes on is not handed over. */
        while (hash_some(x))
            did = true;
        if (!did && more_input) {
            switch (packed_read(x->run->source)) {
            case PACKED_READ:
                did = true;
                break;
            case PACKED_BUSY:
                break;
            case PACKED_END:
                more_input = false;
                break;
            case PACKED_FAILED:
                w->failed = true;
                break;
            }
        }
        if (!did)
            rest(x);
    }
    lock(x);
    if (w->failed)
        end_locked(x);
    unlock(x);
}

/* Has libzstd go on from where the unpacker refused a frame of a pipe. */
static bool go_on(struct unpack *x, struct worker *w)
{
    struct source *s = x->run->source;
    struct engine_refusal refusal;
    struct packed_place place;

    if (!x->ops->refused(x->unpacker, &refusal)) {
        engine_failed(x, w);
        return false;
    }
    place =
        (struct packed_place){.frame = refusal.frame, .begin = refusal.begin, .good = refusal.good};
    memcpy(place.tail, refusal.tail, sizeof place.tail);
    return packed_resume(s, &place) && work_on_cpu(w);
}

void unpack_run_work(struct worker *w)
{
    struct unpack *x = w->run->unpack;
    struct worker_stats *stats = &w->stats;
    const uint64_t cpu_time = clock_thread();

    if (stats->started_at == 0) {
        stats->started_at = clock_now();
        phases_note_start(&w->run->phases, stats->started_at);
    }
    if (x->going_on)
        w->failed = !go_on(x, w);
    else
        take_part(x, w);
    stats->ended_at = clock_now();
    stats->cpu_time += clock_thread() - cpu_time;
}

/*
 * The beginning and the end: the session's thread's.
 */

UNCHECKED struct unpack *unpack_run_begin(struct run *run, char reason[ENGINE_REASON_MAX])
{
    const struct engine_unpack *ops = engine_cuda.unpack;
    const struct packed_layout layout = packed_layout(run->source);
    const struct engine_unpack_setup setup = {
        .type = run->setup.type,
        .swap = run->setup.swap,
        .wants = run->setup.wants,
        .window = layout.window,
        .window_max = layout.window_max,
        .begin = layout.begin,
        .end = layout.end,
        .stop = layout.stop,
        .check = !run->options->input.no_check,
        .before = PACKED_BEFORE,
        .piece = PACKED_PIECE,
    };
    struct unpack *x = calloc(1, sizeof *x);
    unsigned char *memory;
    size_t size;

    if (!x || !ops) {
        free(x);
        snprintf(reason, ENGINE_REASON_MAX, x ? "it cannot decode zstd" : "out of memory");
        return NULL;
    }
    x->run = run;
    x->ops = ops;
    x->unpacker = ops->begin(gpu_engine(run->gpu), 0, &setup, reason);
    if (!x->unpacker) {
        free(x);
        return NULL;
    }
    mutex_init(&x->mutex);
    mutex_condition_init(&x->changed);
    memory = ops->memory(x->unpacker, &size);
    packed_begin(run->source, memory, size);
    return x;
}

UNCHECKED bool unpack_run_goes_on(struct unpack *x)
{
    x->going_on = x->refused && x->run->info->input_bytes == SOURCE_UNKNOWN;
    return x->going_on;
}

UNCHECKED void unpack_run_end(struct unpack *x, struct worker *w)
{
    struct engine_times times;
    struct partial partial;

    if (!x->ops->finish(x->unpacker, &partial, &times) && !x->failed)
        engine_failed(x, w);
    partial_merge(&w->partial, &partial);
    w->stats.elements += partial.count;
    w->stats.times.device = times.device;
    timeline_join(&w->stats.times.copies, &times.copies);
    timeline_join(&w->stats.times.kernels, &times.kernels);
    timeline_join(&w->stats.times.unpack, &times.unpack);
    timeline_join(&w->stats.times.checks, &times.checks);
    x->run->checked = (struct checked){x->hashed, x->hash_time, x->hash_time_in_turn};
    pthread_cond_destroy(&x->changed);
    mutex_destroy(&x->mutex);
    free(x);
}

bool unpack_run_without(struct run *run)
{
    const struct packed_place place = {.good = packed_layout(run->source).begin};

    return packed_resume(run->source, &place);
}
