#include "config.h"

#include "cuda/zstd/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/runtime/check.h"
#include "cuda/zstd/kernels.h"
#include "cuda/zstd/tuning.h"
#include "sys/align.h"
#include "sys/clock.h"

/* Output that stays in front of the oldest batch, whatever the windows. */
#define KEPT ((uint64_t)4096)

/* A host array and its copy on the device. */
struct mirrored {
    void *host, *device;
};

/* A batch, from the time that it is held or fed until it is left. */
enum slot_state { SLOT_FREE, SLOT_HELD, SLOT_FED, SLOT_SIZED, SLOT_PLACED, SLOT_TAKEN };

struct slot {
    enum slot_state state;
    struct zstd_plan plan;
    struct mirrored literals_jobs, sequences_jobs, codes, tables, executions, units, results;
    struct mirrored refused; /* a number */
    unsigned char *source;   /* on the device, as are these */
    unsigned char *pool;
    cudaStream_t stream;
    cudaEvent_t copied, begun, sequences_done, executed, done;
    bool aligned; /* it begins where zstd_device_align says */
    uint64_t position, size;
    uint64_t input_begin; /* offset in the input */
    uint32_t placed;      /* blocks */
};

/* The output of a batch, from the time that it is placed until it may be overwritten. */
struct kept {
    uint64_t position;
    bool awaited;         /* it was released behind something: then there is an event */
    cudaEvent_t released; /* all that reads it is done */
};

/* A copy of compressed bytes, or several that end with the last. */
struct copy {
    uint64_t bytes;
    uint64_t end; /* offset in the input */
    cudaEvent_t begun, done;
};

/* Memory for the symbols of a slice; slots share few of them. */
struct symbols {
    uint32_t *memory;
    cudaEvent_t free;
};

struct zstd_device {
    struct zstd_device_options options;
    struct zstd_plan_limits limits;
    struct zstd_stream stream;
    struct zstd_carry carry;
    unsigned slot_count, symbols_count;
    struct slot slots[ZSTD_SLOTS];
    struct symbols symbols[ZSTD_SLOTS];
    struct kept kept[ZSTD_KEPT_MAX];
    /* Slots are used in turn, and so is kept[]: numbers of batches. Those before `overwritable` are
       known to be read no more. */
    uint64_t fed, placed, taken, left, released, overwritable;
    uint64_t slices; /* executed so far */
    unsigned char *memory;
    struct pinned_piece host_memory;
    struct cuda_owned owned;
    unsigned char *ring;
    uint64_t ring_size;
    uint64_t position; /* of the next batch in the output */
    size_t input;      /* bytes that a batch should take of it at most */
    cudaStream_t copy_stream, resolve_stream;
    /* The range that was given. */
    const unsigned char *bytes;
    size_t size, at;
    uint64_t rest; /* bytes up to where a batch is to end */
    uint64_t origin;
    bool align;                          /* the next batch is to be aligned */
    struct copy copies[ZSTD_COPIES_MAX]; /* gpu_tuning.copies of them */
    uint64_t copies_begun, copies_ended; /* their numbers go on */
    uint64_t passed;                     /* see zstd_device_passed */
    uint64_t ratio_in, ratio_out;        /* bytes of batches of late */
    bool failed;
    char error[ENGINE_REASON_MAX];
};

_Static_assert(2 * ZSTD_COPIES_MAX + ZSTD_KEPT_MAX + 7 * ZSTD_SLOTS + 4 <= CUDA_THINGS_MAX,
               "there is room for all streams, events and memory");

static struct slot *slot_of(struct zstd_device *d, uint64_t batch)
{
    return &d->slots[batch % d->slot_count];
}

static struct kept *kept_of(struct zstd_device *d, uint64_t batch)
{
    return &d->kept[batch % ZSTD_KEPT_MAX];
}

/* Returns whether a call succeeded; if not, the device has failed, and d->error says why. */
static bool check(struct zstd_device *d, cudaError_t error, const char *what)
{
    if (!cuda_check(error, what, d->error))
        d->failed = true;
    return !d->failed;
}

static bool started(struct zstd_device *d, cudaError_t error)
{
    return check(d, error, "starting a kernel");
}

static bool record(struct zstd_device *d, cudaEvent_t event, cudaStream_t stream)
{
    return check(d, cudaEventRecord(event, stream), "recording an event");
}

static bool await(struct zstd_device *d, cudaStream_t stream, cudaEvent_t event)
{
    return check(d, cudaStreamWaitEvent(stream, event, 0), "waiting for an event");
}

void zstd_device_restart(struct zstd_device *d, uint64_t position, size_t input)
{
    zstd_stream_begin(&d->stream);
    zstd_history_begin(&d->carry.history);
    d->carry.produced = 0;
    d->position = position;
    d->input = input;
    d->bytes = NULL;
    d->size = d->at = 0;
    d->rest = 0;
    d->origin = d->passed = 0;
    d->align = false;
    d->copies_ended = d->copies_begun;
    if (zstd_device_holds(d))
        slot_of(d, d->fed)->state = SLOT_FREE;
}

/*
 * Feeding: the first stage.
 */

void zstd_device_give(struct zstd_device *d, const unsigned char *bytes, size_t size, uint64_t rest,
                      uint64_t origin)
{
    d->bytes = bytes;
    d->size = size;
    d->rest = rest;
    d->at = 0;
    d->origin = origin;
}

void zstd_device_align(struct zstd_device *d)
{
    d->align = true;
}

size_t zstd_device_left(const struct zstd_device *d)
{
    return d->size - d->at;
}

uint64_t zstd_device_next(const struct zstd_device *d)
{
    return d->origin + d->at;
}

/* Batches are copied from a multiple of 16 on, counted from the begin of the range. */
#define COPIED_AGAIN 15

static uint64_t passed(const struct zstd_device *d)
{
    return d->passed < COPIED_AGAIN ? 0 : d->passed - COPIED_AGAIN;
}

/* Notes which copies have ended. Returns whether all have. */
static bool end_copies(struct zstd_device *d)
{
    while (d->copies_ended < d->copies_begun) {
        const struct copy *c = &d->copies[d->copies_ended % d->options.tuning->copies];
        cudaError_t error = cudaEventQuery(c->done);

        if (error == cudaErrorNotReady || !check(d, error, "copying compressed bytes"))
            return false;
        if (d->options.clock)
            cuda_clock_note(d->options.clock, d->options.copies, c->begun, c->done, c->bytes);
        d->passed = c->end;
        d->copies_ended++;
    }
    return true;
}

uint64_t zstd_device_passed(struct zstd_device *d)
{
    if (end_copies(d))
        d->passed = zstd_device_next(d);
    return passed(d);
}

uint64_t zstd_device_frame(const struct zstd_device *d)
{
    const bool between = d->stream.state == ZSTD_BEFORE_FRAME;

    return between ? zstd_device_next(d) : d->stream.frame_begin;
}

bool zstd_device_between_frames(const struct zstd_device *d)
{
    return d->stream.state == ZSTD_BEFORE_FRAME && d->at == d->size;
}

static bool send(struct zstd_device *d, const struct mirrored *m, size_t size)
{
    return size == 0 ||
           check(d,
                 cudaMemcpyAsync(m->device, m->host, size, cudaMemcpyHostToDevice, d->copy_stream),
                 "copying jobs");
}

/* The place of the next copy: the last one's, if as many are under way as there are places for. */
static struct copy *next_copy(struct zstd_device *d)
{
    const unsigned copies = d->options.tuning->copies;
    struct copy *c = &d->copies[(d->copies_begun + copies - 1) % copies];

    if (d->copies_begun - d->copies_ended == copies)
        (void)end_copies(d);
    if (d->copies_begun - d->copies_ended == copies)
        return c;
    c = &d->copies[d->copies_begun++ % copies];
    c->bytes = 0;
    return c;
}

/* Queues the copy of bytes of a batch: the first ones, or those behind what was copied before. */
static bool queue_source(struct zstd_device *d, const struct slot *s, const unsigned char *bytes,
                         size_t size)
{
    struct copy *c;

    if (size == 0)
        return true;
    c = next_copy(d);
    c->bytes += size;
    c->end = zstd_device_next(d);
    return (c->bytes > size || record(d, c->begun, d->copy_stream)) &&
           check(d,
                 cudaMemcpyAsync(s->source + ZSTD_SOURCE_BEFORE + s->plan.base, bytes, size,
                                 cudaMemcpyHostToDevice, d->copy_stream),
                 "copying compressed bytes") &&
           record(d, c->done, d->copy_stream);
}

/* Queues the copies of a batch's jobs, behind those of its bytes. */
static bool queue_jobs(struct zstd_device *d, struct slot *s)
{
    const struct zstd_plan *p = &s->plan;

    *(uint32_t *)s->refused.host = p->total.blocks;
    return send(d, &s->literals_jobs, p->total.literals_jobs * sizeof(struct zstd_literals_job)) &&
           send(d, &s->sequences_jobs,
                p->total.sequences_jobs * sizeof(struct zstd_sequences_job)) &&
           send(d, &s->codes, p->total.codes * sizeof(struct zstd_tree)) &&
           send(d, &s->tables, p->total.tables * sizeof(struct zstd_counts)) &&
           send(d, &s->refused, sizeof(uint32_t)) && record(d, s->copied, d->copy_stream);
}

static struct zstd_device_batch device_batch(const struct slot *s)
{
    return (struct zstd_device_batch){s->source, s->pool, s->refused.device};
}

/* Queues a copy of so many bytes that kernels have written, to the host. */
static bool bring(struct zstd_device *d, const struct mirrored *m, size_t size, cudaStream_t stream)
{
    return started(d, zstd_launch_move(m->host, m->device, size, stream));
}

/* Queues the decoding of a batch's literals and sequences, and what tells the host of it. */
static bool queue_entropy(struct zstd_device *d, struct slot *s)
{
    const struct zstd_plan *p = &s->plan;
    const struct zstd_literals_launch literals = {device_batch(s), s->literals_jobs.device,
                                                  p->total.literals_jobs, s->codes.device};
    const struct zstd_sequences_launch sequences = {device_batch(s), s->sequences_jobs.device,
                                                    p->total.sequences_jobs, s->tables.device,
                                                    s->results.device};

    return await(d, s->stream, s->copied) && record(d, s->begun, s->stream) &&
           started(d, zstd_launch_literals(&literals, s->stream)) &&
           started(d, zstd_launch_sequences(&sequences, s->stream)) &&
           bring(d, &s->refused, sizeof(uint32_t), s->stream) &&
           bring(d, &s->results, p->total.sequences_jobs * sizeof(struct zstd_sequences_result),
                 s->stream) &&
           record(d, s->sequences_done, s->stream);
}

/* Bytes of output that the next batch should have: of as many equal ones as the rest makes. */
static uint32_t expected_batch(const struct zstd_device *d)
{
    const uint64_t left = d->rest - d->at;
    const bool known = d->ratio_in > 0 && d->ratio_out > 0;
    const double in = known ? (double)d->ratio_in : 1, out = known ? (double)d->ratio_out : 1;
    const double bound = (double)d->input * out / in;
    uint32_t most = d->limits.expected;
    uint64_t output, batches;

    if (bound < (double)most)
        most = bound < 1 ? 1 : (uint32_t)bound;
    if (!known)
        return most;
    output = (uint64_t)((double)left * out / in);
    batches = align_units(output, most);
    return batches <= 1 ? most : (uint32_t)(output / batches + 1);
}

/* Plans what the range holds from offset `begin` on of a batch, as far as the batch has room. */
static enum zstd_plan_status plan_bytes(struct zstd_device *d, struct slot *s, size_t begin)
{
    const size_t left = d->size - begin, room = d->limits.source - s->plan.base;
    size_t at = d->at - begin;
    enum zstd_plan_status status;

    d->stream.origin = d->origin + begin;
    status = zstd_plan_feed(&s->plan, &d->stream, d->bytes + begin, left < room ? left : room, &at);
    d->at = begin + at;
    return status;
}

static void begin_plan(struct zstd_device *d, struct slot *s)
{
    struct zstd_plan_limits limits = d->limits;
    const struct zstd_plan_arrays arrays = {
        s->literals_jobs.host, s->sequences_jobs.host, s->codes.host, s->tables.host,
        s->plan.arrays.blocks, s->executions.host,     s->units.host};

    limits.expected = expected_batch(d);
    zstd_plan_begin(&s->plan, &limits, &arrays);
}

/* Plans a batch of the range's next bytes, which begin at offset *begin: that is a multiple of 16. */
static enum zstd_plan_status plan_batch(struct zstd_device *d, struct slot *s, size_t *begin)
{
    enum zstd_plan_status status;
    size_t before;

    begin_plan(d, s);
    do {
        *begin = d->at / 16 * 16;
        before = d->at;
        status = plan_bytes(d, s, *begin);
        /* Once more where all of it was a part of a skippable frame. */
    } while (status == ZSTD_PLAN_STARVED && s->plan.total.blocks == 0 && d->at > before);
    return status;
}

/* Has a batch end before the frame that it would cut off: what it has of that begins the next
   batch, which is held. Its bytes are on the device already, or on their way. */
static bool split_batch(struct zstd_device *d, struct slot *s, struct slot *next)
{
    uint32_t shift;

    begin_plan(d, next);
    shift = zstd_plan_split(&s->plan, &next->plan);
    next->input_begin = s->input_begin + shift;
    next->aligned = false;
    next->state = SLOT_HELD;
    return check(d,
                 cudaMemcpyAsync(next->source + ZSTD_SOURCE_BEFORE,
                                 s->source + ZSTD_SOURCE_BEFORE + shift, next->plan.base,
                                 cudaMemcpyDeviceToDevice, d->copy_stream),
                 "copying compressed bytes");
}

/* Queues the first stage of a batch whose bytes have been queued. Short frames that it begins are
   left whole, but for one that fits no batch. */
static enum zstd_step feed_batch(struct zstd_device *d, struct slot *s)
{
    if (zstd_plan_can_split(&s->plan) && zstd_plan_cuts_frame(&s->plan, &d->stream)) {
        struct slot *next = slot_of(d, d->fed + 1);

        if (next->state != SLOT_FREE) {
            s->state = SLOT_HELD;
            return ZSTD_STEP_BUSY;
        }
        if (!split_batch(d, s, next))
            return ZSTD_STEP_FAILED;
    }
    if (!queue_jobs(d, s) || !queue_entropy(d, s))
        return ZSTD_STEP_FAILED;
    s->state = SLOT_FED;
    d->fed++;
    return ZSTD_STEP_FED;
}

enum zstd_step zstd_device_step(struct zstd_device *d, enum zstd_more more)
{
    struct slot *s = slot_of(d, d->fed);
    enum zstd_plan_status status;
    size_t begin;

    if (!zstd_device_pump(d))
        return ZSTD_STEP_FAILED;
    if (s->state == SLOT_HELD) {
        begin = d->at;
        status = plan_bytes(d, s, begin);
    } else if (s->state == SLOT_FREE) {
        status = plan_batch(d, s, &begin);
        if (s->plan.total.blocks == 0)
            return status == ZSTD_PLAN_REFUSED ? ZSTD_STEP_REFUSED : ZSTD_STEP_STARVED;
        s->input_begin = d->origin + begin;
        s->aligned = d->align;
        d->align = false;
    } else {
        return ZSTD_STEP_BUSY;
    }
    if (!queue_source(d, s, d->bytes + begin, d->at - begin))
        return ZSTD_STEP_FAILED;
    s->plan.base += (uint32_t)(d->at - begin);
    if (more != ZSTD_MORE_NONE && status == ZSTD_PLAN_STARVED &&
        s->plan.base + (d->size - d->at) < d->limits.source &&
        (more == ZSTD_MORE_BATCH || zstd_plan_cuts_frame(&s->plan, &d->stream))) {
        s->state = SLOT_HELD;
        return ZSTD_STEP_STARVED;
    }
    return feed_batch(d, s);
}

bool zstd_device_holds(const struct zstd_device *d)
{
    return d->slots[d->fed % d->slot_count].state == SLOT_HELD;
}

/*
 * Placing: the second stage.
 */

/* Whether the ring has room for `size` bytes more: what the windows of batches that are not
   released may reach, and what stands in front of them, is not to be overwritten. */
static bool ring_has_room(struct zstd_device *d, uint64_t size)
{
    const uint64_t oldest =
        d->released < d->placed ? kept_of(d, d->released)->position : d->position;

    return d->placed - d->released < ZSTD_KEPT_MAX &&
           d->position + size <= oldest + d->ring_size - d->limits.window - KEPT;
}

/* Queues a slice. Its bytes go where released ones were: the streams have waited for that. */
static bool queue_slice(struct zstd_device *d, struct slot *s, const struct zstd_slice *slice)
{
    const uint64_t begin = (s->position + slice->position) % d->ring_size;
    const struct zstd_execution *blocks =
        (struct zstd_execution *)s->executions.device + slice->first_block;
    const uint32_t *units = (uint32_t *)s->units.device + slice->first_unit;
    struct symbols *symbols = &d->symbols[d->slices % d->symbols_count];
    const struct zstd_execute_launch execute = {device_batch(s), blocks, units, slice->units,
                                                symbols->memory};
    const struct zstd_copy_launch copy = {device_batch(s),
                                          blocks,
                                          slice->blocks,
                                          slice->largest,
                                          {d->ring, d->ring_size, begin, slice->size}};

    if (slice->sequences && d->slices++ >= d->symbols_count && !await(d, s->stream, symbols->free))
        return false;
    return started(d, slice->sequences ? zstd_launch_execute(&execute, s->stream)
                                       : zstd_launch_copy(&copy, s->stream)) &&
           record(d, s->executed, s->stream) && await(d, d->resolve_stream, s->executed) &&
           (!slice->sequences || (started(d, zstd_launch_resolve(&copy.to, symbols->memory,
                                                                 slice->wave, d->resolve_stream)) &&
                                  record(d, symbols->free, d->resolve_stream)));
}

/* Has the streams of a slot wait until what was released may be overwritten. */
static bool await_released(struct zstd_device *d, const struct slot *to)
{
    while (d->overwritable < d->released &&
           (!kept_of(d, d->overwritable)->awaited ||
            cudaEventQuery(kept_of(d, d->overwritable)->released) == cudaSuccess))
        d->overwritable++;
    for (uint64_t batch = d->overwritable; batch < d->released; batch++) {
        const struct kept *kept = kept_of(d, batch);

        if (kept->awaited &&
            (!await(d, d->resolve_stream, kept->released) || !await(d, to->stream, kept->released)))
            return false;
    }
    return true;
}

/* Queues the second stage of a batch whose first one is done. */
static bool queue_batch(struct zstd_device *d, struct slot *s)
{
    const struct zstd_plan *p = &s->plan;

    if (!started(d, zstd_launch_move(s->executions.device, s->executions.host,
                                     s->placed * sizeof(struct zstd_execution), s->stream)) ||
        !started(d, zstd_launch_move(s->units.device, s->units.host,
                                     p->unit_numbers * sizeof(uint32_t), s->stream)) ||
        !await_released(d, s))
        return false;
    for (uint32_t i = 0; i < p->slice_count; i++)
        if (!queue_slice(d, s, &p->slices[i]))
            return false;
    return bring(d, &s->refused, sizeof(uint32_t), d->resolve_stream) &&
           record(d, s->done, d->resolve_stream);
}

/* Notes what batches make of their bytes, the last ones above all. */
static void note_ratio(struct zstd_device *d, const struct slot *s)
{
    const struct zstd_plan_block *blocks = s->plan.arrays.blocks;
    const uint32_t last = s->plan.total.blocks - 1;

    if (blocks[last].source <= blocks[0].source)
        return;
    d->ratio_in = d->ratio_in / 2 + (blocks[last].source - blocks[0].source);
    d->ratio_out = d->ratio_out / 2 + (s->size - blocks[last].size);
    zstd_stream_measure(&d->stream, &s->plan);
}

/* Finds out how large a batch is, if its first stage is done. Returns whether it is. */
static bool size_batch(struct zstd_device *d, struct slot *s)
{
    cudaError_t error = cudaEventQuery(s->sequences_done);
    uint32_t refused;

    if (error == cudaErrorNotReady || !check(d, error, "decoding literals and sequences"))
        return false;
    memcpy(&refused, s->refused.host, sizeof refused);
    s->placed =
        zstd_plan_place(&s->plan, refused < s->plan.total.blocks ? refused : s->plan.total.blocks,
                        s->results.host, &d->carry);
    s->size = zstd_plan_size(&s->plan);
    if (s->aligned)
        d->position +=
            (ZSTD_DEVICE_ALIGNMENT - d->position % ZSTD_DEVICE_ALIGNMENT) % ZSTD_DEVICE_ALIGNMENT;
    s->position = d->position;
    s->state = SLOT_SIZED;
    if (s->placed == s->plan.total.blocks)
        note_ratio(d, s);
    return true;
}

/* Places and queues the oldest batch that is fed, if its first stage is done and there is room.
   Returns whether it was queued. */
static bool place_next(struct zstd_device *d)
{
    struct slot *s = slot_of(d, d->placed);

    if (d->failed || d->placed == d->fed || (s->state == SLOT_FED && !size_batch(d, s)) ||
        !ring_has_room(d, s->size))
        return false;
    kept_of(d, d->placed)->position = s->position;
    d->position += s->size;
    d->placed++;
    s->state = SLOT_PLACED;
    return queue_batch(d, s);
}

bool zstd_device_pump(struct zstd_device *d)
{
    while (place_next(d))
        ;
    return !d->failed;
}

/*
 * Taking.
 */

uint64_t zstd_device_under_way(const struct zstd_device *d)
{
    return d->fed - d->taken;
}

bool zstd_device_ready(struct zstd_device *d)
{
    const struct slot *s = slot_of(d, d->taken);
    cudaError_t error;

    if (!zstd_device_pump(d) || d->taken == d->fed || s->state != SLOT_PLACED)
        return false;
    error = cudaEventQuery(s->done);
    return error != cudaErrorNotReady && check(d, error, "decoding zstd");
}

bool zstd_device_take(struct zstd_device *d, struct zstd_device_output *output, bool *none)
{
    struct slot *s = slot_of(d, d->taken);
    cudaError_t error = cudaErrorNotReady;
    uint32_t refused;

    *none = d->taken == d->fed;
    if (*none)
        return false;
    /* Later batches are placed in the meantime. */
    while (zstd_device_pump(d)) {
        if (s->state == SLOT_PLACED)
            error = cudaEventQuery(s->done);
        if (error != cudaErrorNotReady)
            break;
        clock_rest();
    }
    if (d->failed || !check(d, error, "decoding zstd"))
        return false;
    memcpy(&refused, s->refused.host, sizeof refused);
    s->state = SLOT_TAKEN;
    d->taken++;
    *output = (struct zstd_device_output){
        .position = s->position, .size = s->size, .blocks = s->plan.arrays.blocks, .done = s->done};
    output->input_begin = s->input_begin;
    output->begun = s->begun;
    output->block_count = refused < s->placed ? refused : s->placed;
    output->refused = output->block_count < s->plan.total.blocks;
    if (output->refused) {
        const struct zstd_plan_block *block = &s->plan.arrays.blocks[output->block_count];

        output->frame = block->frame;
        if (output->block_count < s->placed)
            output->size = block->position;
    }
    return true;
}

void zstd_device_leave(struct zstd_device *d)
{
    slot_of(d, d->left++)->state = SLOT_FREE;
}

bool zstd_device_release(struct zstd_device *d, cudaStream_t stream)
{
    struct kept *kept = kept_of(d, d->released);

    if (d->released == d->left)
        zstd_device_leave(d);
    if (stream && !record(d, kept->released, stream))
        return false;
    kept->awaited = stream != NULL;
    d->released++;
    return true;
}

const unsigned char *zstd_device_bytes(const struct zstd_device *d, uint64_t position,
                                       uint64_t *in_one_piece)
{
    const uint64_t at = position % d->ring_size;

    *in_one_piece = d->ring_size - at;
    return d->ring + at;
}

const char *zstd_device_error(const struct zstd_device *d)
{
    return d->failed ? d->error : NULL;
}

size_t zstd_device_batch(const struct zstd_device *d)
{
    return d->limits.expected;
}

/*
 * Memory. One allocation on the device, one on the host: each takes its time.
 */

static void *cut(struct cuda_cutter *c, size_t size)
{
    return cuda_cut(c, size, 4096);
}

static void cut_mirrored(struct cuda_cutter *device, struct cuda_cutter *host, struct mirrored *m,
                         size_t size)
{
    m->device = cut(device, size);
    m->host = cut(host, size);
}

static void cut_slot(struct cuda_cutter *device, struct cuda_cutter *host,
                     const struct zstd_plan_limits *l, struct slot *s)
{
    s->source = cut(device, (size_t)l->source + ZSTD_SOURCE_BEFORE + ZSTD_SOURCE_BEHIND);
    s->pool = cut(device, l->pool);
    cut_mirrored(device, host, &s->literals_jobs, l->blocks * sizeof(struct zstd_literals_job));
    cut_mirrored(device, host, &s->sequences_jobs, l->blocks * sizeof(struct zstd_sequences_job));
    cut_mirrored(device, host, &s->codes, l->codes * sizeof(struct zstd_tree));
    cut_mirrored(device, host, &s->tables, l->tables * sizeof(struct zstd_counts));
    cut_mirrored(device, host, &s->executions, l->blocks * sizeof(struct zstd_execution));
    cut_mirrored(device, host, &s->units, (l->blocks + ZSTD_SLICES_MAX + 1) * sizeof(uint32_t));
    cut_mirrored(device, host, &s->results, l->blocks * sizeof(struct zstd_sequences_result));
    cut_mirrored(device, host, &s->refused, 64);
}

/* Cuts all of a decoder's memory. */
static void cut_all(struct zstd_device *d, struct cuda_cutter *device, struct cuda_cutter *host)
{
    for (unsigned i = 0; i < d->slot_count; i++)
        cut_slot(device, host, &d->limits, &d->slots[i]);
    for (unsigned i = 0; i < d->symbols_count; i++)
        d->symbols[i].memory = cut(device, (size_t)d->limits.slice * sizeof(uint32_t));
    d->ring = cut(device, d->ring_size);
}

/* Limits for batches of about `batch` bytes, in so many slots, and for the output of `keep` more.
 */
static void set_limits(struct zstd_device *d, size_t batch, unsigned slots, unsigned keep)
{
    struct zstd_plan_limits *l = &d->limits;
    const uint32_t bytes = (uint32_t)batch;
    const uint32_t block = (uint32_t)ZSTD_BLOCK_CONTENT_MAX;

    d->slot_count = slots;
    d->symbols_count = (slots + 1) / 2;
    l->window = d->options.window;
    l->unit = d->options.tuning->unit;
    l->wave = d->options.tuning->wave;
    l->one_wave = d->options.tuning->one_wave;
    l->expected = bytes;
    l->slice = bytes + bytes / 8 + 2 * block;
    l->source = (uint32_t)align_up(bytes + 2 * block, 4096);
    l->pool = (uint32_t)align_up(bytes / 2 * 5 + ZSTD_POOL_LEAST, 4096);
    /* As many blocks as have 8 KiB each, codes for blocks of 16 KiB, and tables for those of 24 KiB
       that bring all three of their own. A batch of smaller blocks holds less. */
    l->blocks = bytes / 8192 + 16;
    l->codes = bytes / 16384 + 16;
    l->tables = bytes / 8192 + 16;
    /* The ring holds any batch: also one of blocks that hold much more than those before. */
    l->output = (uint64_t)(slots + 1 + keep) * l->slice;
    d->ring_size = align_up(l->window + KEPT + l->output, 4096);
}

static size_t needed(struct zstd_device *d, size_t batch, unsigned slots, unsigned keep)
{
    struct cuda_cutter device = {0}, host = {0};

    set_limits(d, batch, slots, keep);
    cut_all(d, &device, &host);
    return device.size;
}

/* Output that is kept where there is memory for so little that batches are made smaller for it: one
   batch is being hashed, another waits for that. */
#define KEEP_LEAST 2

/* The largest batches for which there is memory, in as many slots as there is memory for then. The
   rest of the memory keeps more output. */
static bool choose_sizes(struct zstd_device *d)
{
    const struct gpu_tuning *tuning = d->options.tuning;
    size_t batch = d->options.batch > 0 ? d->options.batch : tuning->batch;
    unsigned slots = ZSTD_SLOTS, keep = d->options.keep;
    const unsigned least = keep < KEEP_LEAST ? keep : KEEP_LEAST;

    while (d->options.batch == 0 && batch > tuning->batch_least &&
           needed(d, batch, slots, least) > d->options.memory)
        batch -= batch / 8;
    while (slots > ZSTD_SLOTS_LEAST && needed(d, batch, slots, 0) > d->options.memory)
        slots--;
    while (keep > 0 && needed(d, batch, slots, keep) > d->options.memory)
        keep--;
    return needed(d, batch, slots, keep) <= d->options.memory;
}

static bool get_memory(struct zstd_device *d)
{
    struct cuda_cutter device = {0}, host = {0};

    cut_all(d, &device, &host);
    if (!cuda_own_memory(&d->owned, &d->memory, device.size, d->error) ||
        !cuda_own_pinned(&d->owned, &d->host_memory, host.size, d->error))
        return false;
    device = (struct cuda_cutter){d->memory, 0};
    host = (struct cuda_cutter){d->host_memory.memory, 0};
    cut_all(d, &device, &host);
    for (unsigned i = 0; i < d->slot_count; i++) {
        struct slot *s = &d->slots[i];

        s->plan.arrays.blocks = calloc(d->limits.blocks, sizeof *s->plan.arrays.blocks);
        if (!s->plan.arrays.blocks)
            return cuda_no_memory(d->error);
    }
    return true;
}

/*
 * Streams and events.
 */

/* Makes an event with a time, or one that others only wait for. */
static bool make_event(struct zstd_device *d, cudaEvent_t *event, bool timed)
{
    return cuda_own_event(&d->owned, event, timed ? 0 : cudaEventDisableTiming, d->error);
}

static bool make_slot_events(struct zstd_device *d, struct slot *s)
{
    return make_event(d, &s->copied, false) && make_event(d, &s->begun, true) &&
           make_event(d, &s->sequences_done, false) && make_event(d, &s->executed, false) &&
           make_event(d, &s->done, true);
}

static bool make_streams(struct zstd_device *d)
{
    int least = 0, greatest = 0;

    if (!check(d, cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities") ||
        !cuda_own_stream(&d->owned, &d->copy_stream, least, d->error) ||
        /* All else waits for it. */
        !cuda_own_stream(&d->owned, &d->resolve_stream, greatest, d->error))
        return false;
    for (unsigned i = 0; i < d->options.tuning->copies; i++)
        if (!make_event(d, &d->copies[i].begun, true) || !make_event(d, &d->copies[i].done, true))
            return false;
    for (unsigned i = 0; i < d->symbols_count; i++)
        if (!make_event(d, &d->symbols[i].free, false))
            return false;
    for (unsigned i = 0; i < ZSTD_KEPT_MAX; i++)
        if (!make_event(d, &d->kept[i].released, false))
            return false;
    for (unsigned i = 0; i < d->slot_count; i++)
        if (!make_slot_events(d, &d->slots[i]) ||
            !cuda_own_stream(&d->owned, &d->slots[i].stream, least, d->error))
            return false;
    return true;
}

struct zstd_device *zstd_device_open(const struct zstd_device_options *options,
                                     char reason[ENGINE_REASON_MAX])
{
    struct zstd_device *d = calloc(1, sizeof *d);

    if (!d) {
        (void)cuda_no_memory(reason);
        return NULL;
    }
    d->options = *options;
    if (d->options.window < ZSTD_BLOCK_CONTENT_MAX)
        d->options.window = ZSTD_BLOCK_CONTENT_MAX;
    if (!choose_sizes(d)) {
        snprintf(reason, ENGINE_REASON_MAX, "not enough device memory to decode zstd");
        free(d);
        return NULL;
    }
    if (!get_memory(d) || !make_streams(d) ||
        !check(d,
               cudaMemsetAsync(d->memory, 0, (size_t)(d->ring - d->memory) + d->ring_size,
                               d->copy_stream),
               "device memory") ||
        !check(d, cudaStreamSynchronize(d->copy_stream), "device memory")) {
        memcpy(reason, d->error, ENGINE_REASON_MAX);
        zstd_device_close(d);
        return NULL;
    }
    zstd_device_restart(d, 0, SIZE_MAX);
    return d;
}

void zstd_device_close(struct zstd_device *d)
{
    if (!d)
        return;
    /* Nothing here can be helped when it fails. */
    (void)cudaDeviceSynchronize();
    for (unsigned i = 0; i < d->slot_count; i++)
        free(d->slots[i].plan.arrays.blocks);
    cuda_owned_free(&d->owned);
    free(d);
}
