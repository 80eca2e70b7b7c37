#include "config.h"

#include "run/gpu_decode_feed.h"
#include "sys/clock.h"

/* Bytes that a worker hashes at a time, unless a single frame is longer. */
#define HASH_BYTES ((size_t)512 << 10)

static struct job *job_locked(struct feed *x, uint64_t number) REQUIRES(gpu_decode_role);
static void pop_jobs_locked(struct feed *x) REQUIRES(gpu_decode_role);

static struct job *job_locked(struct feed *x, uint64_t number)
{
    return &x->jobs[number % ENGINE_CONTENT_MAX];
}

void gpu_decode_hash_push_locked(struct feed *x, const struct engine_content *content)
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

static bool claim_locked(struct feed *x, struct claim *claim) REQUIRES(gpu_decode_role);
static bool claim_head_locked(struct feed *x, uint64_t number, struct claim *claim)
    REQUIRES(gpu_decode_role);
static void end_claim_locked(struct feed *x, const struct claim *claim) REQUIRES(gpu_decode_role);

/* Claims the first segment of a piece, which goes on with the one before it, if that is hashed. */
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

bool gpu_decode_hash_some(struct feed *x)
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
        feed_wrong_checksum(x, claim.frame);
    feed_lock(x);
    x->hash_time += time;
    if (claim.open && !claim.content->segments[claim.first].first)
        x->hash_time_in_turn += time;
    for (size_t i = claim.first; i < claim.end; i++)
        x->hashed += claim.content->segments[i].size;
    end_claim_locked(x, &claim);
    if (claim.wrong)
        feed_end_locked(x);
    feed_unlock(x);
    return true;
}

bool gpu_decode_hash_under_way_locked(struct feed *x)
{
    bool open = false;

    for (uint64_t number = x->first_job; number < x->job_end; number++)
        open |= job_locked(x, number)->left > 0;
    return open;
}
