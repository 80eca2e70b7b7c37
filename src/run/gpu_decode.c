#include "config.h"

#include "run/gpu_decode.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/engine.h"
#include "source/compressed.h"
#include "sys/clock.h"
#include "sys/mutex.h"
#include "sys/team.h"
#include "zstd/xxh64.h"

MUTEX_ROLE(feed_role);

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

/* A decoder, and what workers do for it. */
struct feed {
    struct run *run;
    struct gpu_decode *decode; /* it is one of this one's */
    const struct engine_decode *ops;
    struct engine_decoder *decoder; /* of who feeds it */
    unsigned number;                /* of the device, and of the source's ring */
    bool in_parts;                  /* the input is divided into parts */
    _Atomic unsigned workers;       /* that take part */

    struct mutex mutex;
    pthread_cond_t changed;
    bool feeding GUARDED_BY(feed_role); /* a worker does */
    bool polling GUARDED_BY(feed_role); /* a worker looks again soon */
    bool ended GUARDED_BY(feed_role);   /* nothing more comes out of the decoder */
    bool over GUARDED_BY(feed_role);    /* nor is there anything left to do */
    bool refused GUARDED_BY(feed_role); /* the decoder has refused a frame */

    struct job jobs[ENGINE_CONTENT_MAX] GUARDED_BY(feed_role); /* from first_job on */
    uint64_t first_job GUARDED_BY(feed_role);
    uint64_t job_end GUARDED_BY(feed_role);
    struct checked checked GUARDED_BY(feed_role);

    /* Owned by the worker that feeds it. */
    uint64_t reduced; /* elements */
    size_t parts;     /* that have been passed to the source */
    bool input_ended;
    bool failed; /* the engine has */
};

MUTEX_ROLE_OF(feed, struct feed, mutex);

struct gpu_decode {
    unsigned count;
    _Atomic unsigned next; /* feed that the next worker begins with */
    _Atomic bool given_up; /* a feed has come to what makes the others' work useless */

    /* Owned by the session's thread. */
    bool going_on; /* a worker has libzstd go on with a pipe */

    struct feed feeds[]; /* of a device each */
};

/* Nothing is left to do. */
REQUIRES(feed_role)
static void end_locked(struct feed *x)
{
    x->ended = x->over = true;
    pthread_cond_broadcast(&x->changed);
}

/* A checksum is wrong: of the frame at this offset of the feed's input. */
static void wrong_checksum(struct feed *x, uint64_t frame)
{
    struct source *s = x->run->source;

    if (x->run->info->input_bytes == SOURCE_UNKNOWN)
        compressed_wrong_checksum(s, frame);
    compressed_refuse(s);
    atomic_store(&x->decode->given_up, true);
}

/*
 * Checksums of content that comes back.
 */

/* Bytes that a worker hashes at a time, unless a single frame is longer. */
#define HASH_BYTES ((size_t)512 << 10)

REQUIRES(feed_role)
static struct job *job_locked(struct feed *x, uint64_t number)
{
    return &x->jobs[number % ENGINE_CONTENT_MAX];
}

/* Content has come back. Pieces come in order. */
REQUIRES(feed_role)
static void push_locked(struct feed *x, const struct engine_content *content)
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
REQUIRES(feed_role)
static void pop_jobs_locked(struct feed *x)
{
    while (x->first_job < x->job_end) {
        const struct job *job = job_locked(x, x->first_job);

        if (job->left > 0 || (job->open && (x->first_job + 1 == x->job_end ||
                                            !job_locked(x, x->first_job + 1)->head_done)))
            return;
        x->ops->content_free(x->decoder, job->content.piece);
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

/* Claims the first segment of a piece, which goes on with the one before it, if that is hashed. */
REQUIRES(feed_role)
static bool claim_head_locked(struct feed *x, uint64_t number, struct claim *claim)
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
REQUIRES(feed_role)
static bool claim_locked(struct feed *x, struct claim *claim)
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

REQUIRES(feed_role)
static void end_claim_locked(struct feed *x, const struct claim *claim)
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

/* Hashes content, where there is some that nobody hashes. Whether there was. */
static bool hash_some(struct feed *x)
{
    struct claim claim;
    uint64_t begun, time;
    bool claimed;

    feed_lock(x);
    claimed = !x->over && claim_locked(x, &claim);
    feed_unlock(x);
    if (!claimed)
        return false;
    begun = clock_now();
    hash(&claim);
    time = clock_since(begun);
    if (claim.wrong)
        wrong_checksum(x, claim.frame);
    feed_lock(x);
    x->checked.time += time;
    if (claim.open && !claim.content->segments[claim.first].first)
        x->checked.time_in_turn += time;
    for (size_t i = claim.first; i < claim.end; i++)
        x->checked.bytes += claim.content->segments[i].size;
    end_claim_locked(x, &claim);
    if (claim.wrong)
        end_locked(x);
    feed_unlock(x);
    return true;
}

/* Whether some that has come back is not hashed yet, but for the end of a frame that goes on. */
REQUIRES(feed_role)
static bool hash_under_way_locked(struct feed *x)
{
    bool open = false;

    for (uint64_t number = x->first_job; number < x->job_end; number++)
        open |= job_locked(x, number)->left > 0;
    return open;
}

/* If there is nothing to do, one worker looks again after CLOCK_MOMENT; the others are woken, or
   look after this long, nanoseconds. */
#define LONGER (CLOCK_SECOND / 1000)

/* Waits until something has changed, or for a while. Drops the mutex meanwhile. */
REQUIRES(feed_role)
UNCHECKED static void wait_locked(struct feed *x)
{
    uint64_t until = clock_now() + LONGER;
    struct timespec t = {.tv_sec = (time_t)(until / CLOCK_SECOND),
                         .tv_nsec = (long)(until % CLOCK_SECOND)};

    (void)mutex_wait_until(&x->mutex, &x->changed, &t);
}

static void end(struct feed *x)
{
    feed_lock(x);
    end_locked(x);
    feed_unlock(x);
}

/*
 * Feeding.
 */

/* Notes what has been reduced meanwhile, as a chunk of the worker's. */
static void note_reduced(struct feed *x, struct worker *w)
{
    const uint64_t reduced = x->ops->progress(x->decoder).reduced;

    if (reduced == x->reduced)
        return;
    worker_note_chunk(w, reduced - x->reduced, clock_now());
    if (x->reduced == 0)
        phases_note_ramped(&x->run->phases);
    x->reduced = reduced;
}

/* Whether a NaN has been found that ends it all. Tiles are read to the end, as the CPU does: one that
   is damaged is an error, wherever it lies. */
static bool found_nan(const struct feed *x)
{
    uint64_t nan;

    if (x->run->options->nan != NAN_ERROR || x->run->info->scattered)
        return false;
    nan = x->ops->progress(x->decoder).first_nan;
    if (nan == PARTIAL_NO_INDEX)
        return false;
    source_limit(x->run->source, nan);
    return true;
}

static void engine_failed(struct feed *x, struct worker *w)
{
    x->failed = true;
    if (worker_engine_failed(x->run, ENGINE_CUDA, x->ops->progress(x->decoder).error))
        compressed_refuse(x->run->source);
    else
        w->failed = true;
}

/* Tells the source what parts have decoded to. False when that makes the work useless. */
static bool pass_parts(struct feed *x)
{
    uint64_t content;
    bool good = true;

    while (good && x->in_parts &&
           (content = x->ops->part_content(x->decoder, x->parts)) != UINT64_MAX) {
        good = compressed_pass_part(x->run->source, x->number, content);
        x->parts++;
    }
    if (!good)
        atomic_store(&x->decode->given_up, true);
    return good;
}

/* All that is wanted is decoded. */
static void complete(const struct feed *x)
{
    const struct engine_progress progress = x->ops->progress(x->decoder);

    compressed_complete(x->run->source, x->number, progress.total, progress.stopped_at);
}

/* Has the decoder do one thing. Whether it did; *ended: it does nothing more. */
static bool feed_once(struct feed *x, struct worker *w, bool *ended)
{
    struct source *s = x->run->source;
    const struct stream_bytes input = compressed_bytes(s, x->number, x->ops->wanted(x->decoder));
    struct engine_content content;
    enum engine_decode_status status = x->ops->advance(x->decoder, &input, &content);

    compressed_pass(s, x->number, x->ops->taken(x->decoder));
    note_reduced(x, w);
    if (!pass_parts(x)) {
        *ended = true;
        return true;
    }
    if (input.last && !x->input_ended)
        phases_note_end(&x->run->phases, clock_now());
    x->input_ended = input.last;
    switch (status) {
    case DECODE_IDLE:
    case DECODE_AGAIN:
        break;
    case DECODE_CONTENT:
        feed_lock(x);
        push_locked(x, &content);
        feed_unlock(x);
        break;
    case DECODE_ENDED:
        complete(x);
        *ended = true;
        break;
    case DECODE_REFUSED:
        compressed_refuse(s);
        if (x->decode->count > 1)
            atomic_store(&x->decode->given_up, true);
        feed_lock(x);
        x->refused = true;
        feed_unlock(x);
        *ended = true;
        break;
    case DECODE_WRONG:
    case DECODE_FAILED:
        if (status == DECODE_WRONG)
            wrong_checksum(x, x->ops->progress(x->decoder).wrong);
        else
            engine_failed(x, w);
        end(x);
        *ended = true;
        return true;
    }
    if (found_nan(x)) {
        complete(x);
        *ended = true;
    }
    return status != DECODE_IDLE;
}

/* The role of who feeds the decoder, if nobody has it. Whether there was something to do. */
static bool feed(struct feed *x, struct worker *w)
{
    bool did = false, ended = false, mine;

    feed_lock(x);
    mine = !x->feeding && !x->ended;
    if (mine)
        x->feeding = true;
    feed_unlock(x);
    if (!mine)
        return false;
    while (!ended && feed_once(x, w, &ended))
        did = true;
    feed_lock(x);
    x->feeding = false;
    x->ended |= ended;
    pthread_cond_signal(&x->changed);
    feed_unlock(x);
    return did;
}

/*
 * Workers.
 */

/* Looks whether all is done: what has come back is checked, and nobody feeds. */
static bool is_over(struct feed *x)
{
    bool over;

    feed_lock(x);
    /* The rest of a frame that was refused, or is not wanted to its end, will not come. */
    if (!x->over && x->ended && !x->feeding && !hash_under_way_locked(x))
        end_locked(x);
    over = x->over;
    feed_unlock(x);
    return over;
}

/* There was nothing to do. */
static void rest(struct feed *x)
{
    bool poll;

    feed_lock(x);
    poll = !x->polling && !x->over;
    if (poll)
        x->polling = true;
    else if (!x->over)
        wait_locked(x);
    feed_unlock(x);
    if (!poll)
        return;
    clock_rest();
    feed_lock(x);
    x->polling = false;
    feed_unlock(x);
}

/* Whether who has read a piece is to read on: a pipe that nobody reads stands still, and there is
   another worker who can feed the decoder meanwhile. */
static bool reads_on(struct feed *x)
{
    bool good;

    if (x->run->info->input_bytes != SOURCE_UNKNOWN)
        return false;
    feed_lock(x);
    good = atomic_load(&x->workers) > 1 && !x->over;
    feed_unlock(x);
    return good;
}

static enum compressed_read read_on(struct feed *x)
{
    enum compressed_read status = compressed_read(x->run->source, x->number);

    while (status == COMPRESSED_READ && reads_on(x))
        status = compressed_read(x->run->source, x->number);
    return status;
}

/* The work of all workers for a decoder until there is nothing left. */
static void take_part(struct feed *x, struct worker *w)
{
    bool more_input = true;

    atomic_fetch_add(&x->workers, 1);
    while (!w->failed && !is_over(x)) {
        if (atomic_load(&x->decode->given_up)) { /* the others' workers see that, too */
            end(x);
            break;
        }
        bool did = feed(x, w);

        /* Content stays with who has begun to hash: a frame that goes on is not handed over. */
        while (hash_some(x))
            did = true;
        if (!did && more_input) {
            switch (read_on(x)) {
            case COMPRESSED_READ:
                did = true;
                break;
            case COMPRESSED_BUSY:
                break;
            case COMPRESSED_END:
                more_input = false;
                break;
            case COMPRESSED_FAILED:
                w->failed = true;
                break;
            }
        }
        if (!did)
            rest(x);
    }
    atomic_fetch_sub(&x->workers, 1);
    if (w->failed) {
        atomic_store(&x->decode->given_up, true);
        end(x);
    }
}

/* Has libzstd go on from where the decoder refused a frame of a pipe. */
static bool go_on(struct feed *x, struct worker *w)
{
    struct source *s = x->run->source;
    struct stream_refusal refusal;

    if (!x->ops->refused(x->decoder, &refusal)) {
        engine_failed(x, w);
        return false;
    }
    return compressed_resume(s, &refusal) && work_on_cpu(w);
}

void gpu_decode_work(struct worker *w)
{
    struct gpu_decode *decode = w->run->decode;
    struct worker_stats *stats = &w->stats;
    const uint64_t cpu_time = clock_thread();

    if (stats->started_at == 0) {
        stats->started_at = clock_now();
        phases_note_start(&w->run->phases, stats->started_at);
    }
    if (decode->going_on) {
        w->failed = !go_on(&decode->feeds[0], w);
    } else { /* for all decoders, in turns */
        const unsigned first = atomic_fetch_add(&decode->next, 1);

        for (unsigned i = 0; i < decode->count && !w->failed; i++)
            take_part(&decode->feeds[(first + i) % decode->count], w);
    }
    /* The source of an array in tiles still has those that are not for a decoder. */
    if (w->run->info->scattered && !w->failed)
        w->failed = !work_on_cpu(w);
    stats->ended_at = clock_now();
    stats->cpu_time += clock_thread() - cpu_time;
}

/*
 * The beginning and the end: the session's thread's.
 */

/* A decoder to be made ready, beside others. */
struct opening {
    struct gpu_decode *decode;
    struct engine_decode_setup setup;
    char reasons[ENGINE_DEVICES_MAX][ENGINE_REASON_MAX];
};

static void open_feed(void *context, unsigned i)
{
    struct opening *opening = context;
    struct feed *x = &opening->decode->feeds[i];
    struct engine_decode_setup setup = opening->setup;

    setup.skip = i == 0 ? setup.begin : 0;
    x->decoder = x->ops->begin(gpu_status(x->run->gpu).engine, i, &setup, opening->reasons[i]);
}

/* Makes decoders ready, as many as the input is for. If another than the first cannot be made, the
   first takes all of the input. False with a reason if the first cannot be made. */
static bool open_feeds(struct gpu_decode *decode, const struct engine_decode_setup *setup,
                       char reason[ENGINE_REASON_MAX])
{
    struct opening opening = {.decode = decode, .setup = *setup};
    bool all = true;

    team_call(decode->count, open_feed, &opening);
    for (unsigned i = 1; i < decode->count; i++)
        all = all && decode->feeds[i].decoder;
    if (!all)
        decode->count = compressed_cut(decode->feeds[0].run->source, 1);
    memcpy(reason, opening.reasons[0], ENGINE_REASON_MAX);
    return decode->count > 0 && decode->feeds[0].decoder;
}

/* For how many devices the input is. A NaN has its index from one that has seen all before it. */
static unsigned choose_count(const struct run *run)
{
    const bool one = run->plan->how == PLAN_ONE_GPU || run->options->nan == NAN_ERROR;
    const unsigned devices = one ? 1 : run->gpu->needs.device_count;

    return compressed_cut(run->source, devices < run->feeders ? devices : run->feeders);
}

UNCHECKED static void begin_feed(struct feed *x)
{
    unsigned char *memory;
    size_t size;

    x->in_parts = compressed_layout(x->run->source).in_parts;
    mutex_init(&x->mutex);
    mutex_condition_init(&x->changed);
    memory = x->ops->memory(x->decoder, &size);
    compressed_begin(x->run->source, x->number, memory, size);
}

struct gpu_decode *gpu_decode_begin(struct run *run, char reason[ENGINE_REASON_MAX])
{
    const struct engine_decode *ops = engine_cuda.decode;
    const struct compressed_layout layout = compressed_layout(run->source);
    struct engine_decode_setup setup = {
        .type = run->setup.type,
        .swap = run->setup.swap,
        .wants = run->setup.wants,
        .missing = run->setup.missing,
        .split = run->setup.split,
        .window = layout.window,
        .window_max = layout.window_max,
        .begin = layout.begin,
        .end = layout.end,
        .stop = layout.stop,
        .check = layout.check,
        .input = run->info->input_bytes,
        .before = COMPRESSED_BEFORE,
        .piece = layout.piece,
    };
    struct gpu_decode *decode;
    unsigned count;

    if (!ops) {
        snprintf(reason, ENGINE_REASON_MAX, "it cannot decode zstd");
        return NULL;
    }
    count = choose_count(run);
    decode = calloc(1, sizeof *decode + count * sizeof *decode->feeds);
    if (!decode || count == 0) {
        free(decode);
        snprintf(reason, ENGINE_REASON_MAX, "out of memory");
        return NULL;
    }
    decode->count = setup.decoders = count;
    for (unsigned i = 0; i < count; i++)
        decode->feeds[i] = (struct feed){.run = run, .decode = decode, .ops = ops, .number = i};
    if (!open_feeds(decode, &setup, reason)) {
        free(decode);
        return NULL;
    }
    for (unsigned i = 0; i < decode->count; i++)
        begin_feed(&decode->feeds[i]);
    return decode;
}

unsigned gpu_decode_devices(const struct gpu_decode *decode)
{
    return decode->count;
}

UNCHECKED bool gpu_decode_goes_on(struct gpu_decode *decode)
{
    const struct feed *x = &decode->feeds[0];

    decode->going_on = x->refused && x->run->info->input_bytes == SOURCE_UNKNOWN;
    return decode->going_on;
}

/* Gives what a decoder has reduced to `first`, and what its device has done to `w`. */
UNCHECKED static void end_feed(struct feed *x, struct worker *first, struct worker *w)
{
    struct engine_times times;
    struct partial partial;

    if (!x->ops->finish(x->decoder, &partial, &times) && !x->failed)
        engine_failed(x, first);
    partial_merge(&first->partial, &partial);
    w->stats.elements += partial.count;
    w->stats.times.device = times.device;
    for (int i = 0; i < ENGINE_WORKS; i++)
        timeline_join(&w->stats.times.lines[i], &times.lines[i]);
    x->run->checked.bytes += x->checked.bytes;
    x->run->checked.time += x->checked.time;
    x->run->checked.time_in_turn += x->checked.time_in_turn;
    if (x->reduced == 0 && x->decode->count > 1)
        phases_note_ramped(&x->run->phases);
    pthread_cond_destroy(&x->changed);
    mutex_destroy(&x->mutex);
}

void gpu_decode_end(struct gpu_decode *decode, struct worker *workers)
{
    for (unsigned i = 0; i < decode->count; i++) /* a worker that did not begin tells nothing */
        end_feed(&decode->feeds[i], &workers[0], &workers[workers[i].run ? i : 0]);
    free(decode);
}

bool gpu_decode_without(struct run *run)
{
    const struct stream_refusal place = {.good = compressed_layout(run->source).begin};

    return compressed_resume(run->source, &place);
}
