#include "config.h"

#include "cuda/decoder.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/feeder.h"
#include "cuda/runtime/check.h"
#include "cuda/runtime/owned.h"
#include "cuda/sums.h"
#include "cuda/zstd/device.h"
#include "cuda/zstd/kernels.h"
#include "cuda/zstd/tuning.h"
#include "engine/engine.h"
#include "sys/align.h"
#include "sys/grow.h"
#include "sys/mapping.h"

/* Launches read from addresses that are multiples of this. */
#define ALIGNMENT ZSTD_DEVICE_ALIGNMENT

/* Results under way: one for each batch that was reduced and not been seen to be. */
#define MIRRORS 4

_Static_assert(ZSTD_CONTENT_PIECES <= ENGINE_CONTENT_MAX, "callers have room for as many");
_Static_assert(2 * MIRRORS + 2 * ZSTD_CONTENT_PIECES + ZSTD_HASH_STREAMS + 3 * ZSTD_HASHED + 10 <=
                   CUDA_THINGS_MAX,
               "there is room for all streams, events and memory");

enum piece_state {
    PIECE_FREE,
    PIECE_COPYING, /* its bytes are on their way */
    PIECE_OUT      /* they are being looked at */
};

/* A piece of content that comes back. */
struct piece {
    _Atomic int state;
    struct pinned_piece memory; /* gpu_tuning.content_bytes, once it has been used */
    cudaEvent_t copied;
    struct engine_segment *segments;
    size_t count, capacity;
};

/* The verification of a batch on the device. The batch is released after it. */
struct check {
    uint32_t count;             /* of frames; 0: nothing is */
    uint64_t bytes;             /* of them */
    uint32_t *wrong;            /* the first job whose checksum is wrong, if one is; pinned */
    struct zstd_hash_job *jobs; /* pinned */
    unsigned char *device;      /* both, on the device */
    uint64_t *frames;           /* their offsets in the input; of u->frames */
    cudaStream_t stream;        /* one of u->hash_streams */
    cudaEvent_t begun, hashed;
    cudaEvent_t done; /* and the batch is reduced */
};

/* A result on its way back. */
struct mirror {
    cudaEvent_t begun, done;
    uint64_t bytes;
    bool busy;
};

/* A part of the input. */
struct part {
    struct stream_part part;
    uint64_t content; /* bytes that it decoded to; UINT64_MAX while not known */
};

struct engine_decoder {
    const struct feeder_device *device;
    struct engine_decode_setup setup;
    struct zstd_device *decoder;
    uint64_t window;   /* of the decoder */
    size_t copy_least; /* bytes of input that are worth a copy */
    struct cuda_owned owned;
    struct pinned_piece input, mirrors_memory;
    cudaStream_t stream, back; /* of the kernels; of content that comes back */
    cudaEvent_t back_done;
    unsigned char *memory; /* device: the job's */
    struct cuda_sums sums;
    struct mirror mirrors[MIRRORS];
    unsigned next_mirror;
    struct cuda_clock clock;
    /* Batches that were taken, and are not released; their numbers go on. */
    struct check checks[ZSTD_HASHED];
    uint64_t check_begin, check_end;
    cudaStream_t hash_streams[ZSTD_HASH_STREAMS];
    struct pinned_piece checks_memory;
    unsigned char *checks_device;
    uint64_t *frames;    /* of all checks */
    cudaEvent_t reduced; /* in `stream`: a batch is, and its content has come back */
    bool *on_device;     /* of each block of the held batch: it is verified on the device */
    size_t on_device_capacity;
    struct piece pieces[ZSTD_CONTENT_PIECES];
    unsigned next_out, next_piece; /* that comes back next; to be filled next */

    /* State of this input. Positions are those of the decoder's output: decoded bytes, and `shift`
       more, and the padding that aligns parts. */
    uint64_t shift;
    struct part *parts;               /* of the input */
    size_t part_count, part_capacity; /* that have been begun to be fed */
    size_t parts_passed;              /* of which a batch has been taken, or of one behind it */
    struct stream_part part;          /* the last of these */
    uint64_t part_begin;              /* position of what it decodes to */
    size_t pieces_begun;              /* of it */
    bool misplaced;                   /* one of them has not begun where it should */
    uint64_t padding;                 /* bytes between parts, so far */
    uint64_t elements;                /* that have been reduced */
    uint64_t reduced_to;              /* multiple of ALIGNMENT, but at the end of a part */
    uint64_t decoded_to;              /* all batches taken */
    uint64_t frame, frame_position;   /* of the frame that was begun last */
    bool has_frame;
    bool holding; /* a batch whose content is not all on its way */
    struct zstd_device_output held;
    uint64_t held_done; /* bytes of it */
    uint32_t held_block;
    uint64_t stopped_at; /* offset in the input behind the block that holds the last wanted byte;
                            UINT64_MAX before that is decoded, or where all is wanted */
    bool refused, stopped, failed;
    bool wrong; /* a checksum is */
    uint64_t wrong_frame;
    struct stream_refusal refusal;
    struct engine_times times;
    char error[ENGINE_REASON_MAX];
};

/* Returns whether a call succeeded; if not, the device has failed, and u->error says why. */
static bool check(struct engine_decoder *u, cudaError_t error, const char *what)
{
    if (!cuda_check(error, what, u->error))
        u->failed = true;
    return !u->failed;
}

static bool fail_memory(struct engine_decoder *u)
{
    u->failed = true;
    return cuda_no_memory(u->error);
}

/* Position after the last requested element; UINT64_MAX if it is unknown. */
static uint64_t wanted_end(const struct engine_decoder *u)
{
    const uint64_t position = u->part.position;
    const uint64_t in_part = u->setup.end > position ? u->setup.end - position : 0;

    return u->part.provisional || in_part > UINT64_MAX - u->part_begin ? UINT64_MAX
                                                                       : u->part_begin + in_part;
}

/*
 * Checksums that are verified on the device.
 */

/* The word that tells what became of a batch's jobs stands before them. Bytes. */
#define JOBS_AT 64

/* Opens memory and streams for verifying on the device. False, with a reason, on failure. */
static bool open_checks(struct engine_decoder *u, char reason[ENGINE_REASON_MAX])
{
    const uint32_t jobs = u->device->tuning->hash_jobs;
    const size_t room = align_up(JOBS_AT + jobs * sizeof(struct zstd_hash_job), 64);

    if (!cuda_own_pinned(&u->owned, &u->checks_memory, align_up(ZSTD_HASHED * room, mapping_page()),
                         reason) ||
        !cuda_own_memory(&u->owned, &u->checks_device, ZSTD_HASHED * room, reason))
        return false;
    u->frames = calloc(ZSTD_HASHED * (size_t)jobs, sizeof *u->frames);
    if (!u->frames)
        return cuda_no_memory(reason);
    for (unsigned i = 0; i < ZSTD_HASH_STREAMS; i++)
        if (!cuda_own_stream(&u->owned, &u->hash_streams[i], 0, reason))
            return false;
    for (unsigned i = 0; i < ZSTD_HASHED; i++) {
        struct check *c = &u->checks[i];

        c->wrong = (void *)(u->checks_memory.memory + i * room);
        c->jobs = (void *)(u->checks_memory.memory + i * room + JOBS_AT);
        c->device = u->checks_device + i * room;
        c->frames = u->frames + i * (size_t)jobs;
        if (!cuda_own_event(&u->owned, &c->begun, 0, reason) ||
            !cuda_own_event(&u->owned, &c->hashed, 0, reason) ||
            !cuda_own_event(&u->owned, &c->done, cudaEventDisableTiming, reason))
            return false;
    }
    return true;
}

/* Writes down the frames of the held batch that are to be verified on the device: those that lie in
   it whole, and whose hashing does not hold the batch for long. */
static bool write_jobs(struct engine_decoder *u, struct check *c)
{
    const struct gpu_tuning *tuning = u->device->tuning;
    const struct zstd_device_output *o = &u->held;
    const uint64_t wanted = u->setup.stop ? wanted_end(u) : UINT64_MAX;
    uint64_t ring_size;
    uint32_t first = 0; /* block of the frame */
    bool whole = false;

    (void)zstd_device_bytes(u->decoder, 0, &ring_size);
    if (!GROW(u->on_device, u->on_device_capacity, o->block_count))
        return fail_memory(u);
    for (uint32_t i = 0; i < o->block_count; i++) {
        const struct zstd_plan_block *b = &o->blocks[i];
        uint64_t begin, end = b->position + b->size;

        u->on_device[i] = false;
        if (b->first) {
            first = i;
            whole = true;
        }
        begin = o->blocks[first].position;
        if (!whole || !b->last || !b->checked || end - begin > tuning->hash_max ||
            o->position + end >= wanted || c->count == tuning->hash_jobs)
            continue;
        for (uint32_t k = first; k <= i; k++)
            u->on_device[k] = true;
        c->frames[c->count] = b->frame;
        c->jobs[c->count++] = (struct zstd_hash_job){.begin = (o->position + begin) % ring_size,
                                                     .size = end - begin,
                                                     .checksum = b->checksum};
        c->bytes += end - begin;
    }
    return true;
}

/* Whether there is room to verify another batch. */
static bool has_room_for_checks(const struct engine_decoder *u)
{
    return u->check_end - u->check_begin < ZSTD_HASHED;
}

/* Has the device verify frames of the held batch, which is decoded. Which blocks are of these is
   then in u->on_device. The functions return false when the device failed. */
static bool begin_checks(struct engine_decoder *u)
{
    struct check *c = &u->checks[u->check_end % ZSTD_HASHED];
    struct zstd_hash_launch launch = {.jobs = (void *)(c->device + JOBS_AT),
                                      .wrong = (void *)c->device};

    launch.ring = zstd_device_bytes(u->decoder, 0, &launch.ring_size);
    c->bytes = 0;
    c->count = 0;
    if (!write_jobs(u, c))
        return false;
    if (c->count == 0)
        return true;
    launch.count = c->count;
    c->stream = u->hash_streams[u->check_end % ZSTD_HASH_STREAMS];
    *c->wrong = UINT32_MAX;
    return check(u,
                 zstd_launch_move(c->device, c->wrong, JOBS_AT + c->count * sizeof *c->jobs,
                                  c->stream),
                 "starting a kernel") &&
           check(u, cudaEventRecord(c->begun, c->stream), "recording an event") &&
           check(u, zstd_launch_hash(&launch, c->stream), "starting a kernel") &&
           check(u, cudaEventRecord(c->hashed, c->stream), "recording an event") &&
           check(u, zstd_launch_move(c->wrong, c->device, sizeof(uint32_t), c->stream),
                 "starting a kernel");
}

/* The decoder has failed. Returns false. */
static bool fail_decoder(struct engine_decoder *u)
{
    memcpy(u->error, zstd_device_error(u->decoder), sizeof u->error);
    u->failed = true;
    return false;
}

/* Releases batches that are verified, and notes what is wrong with them. */
static bool pass_checks(struct engine_decoder *u)
{
    for (; u->check_begin < u->check_end; u->check_begin++) {
        struct check *c = &u->checks[u->check_begin % ZSTD_HASHED];
        cudaStream_t stream = u->stream;

        if (c->count > 0) {
            cudaError_t error = cudaEventQuery(c->done);

            if (error == cudaErrorNotReady)
                return true;
            if (!check(u, error, "verifying checksums"))
                return false;
            cuda_clock_note(&u->clock, &u->times.lines[ENGINE_CHECKS], c->begun, c->hashed,
                            c->bytes);
            if (*c->wrong < c->count && !u->wrong) {
                u->wrong = true;
                u->wrong_frame = c->frames[*c->wrong];
            }
            c->count = 0;
            stream = NULL; /* all is done */
        }
        if (!zstd_device_release(u->decoder, stream))
            return fail_decoder(u);
    }
    return true;
}

/* All else that reads the held batch is queued: it is left, and to be released when it can be. */
static bool end_checks(struct engine_decoder *u)
{
    const struct check *c = &u->checks[u->check_end % ZSTD_HASHED];

    if (c->count > 0 &&
        (!check(u, cudaEventRecord(u->reduced, u->stream), "recording an event") ||
         !check(u, cudaStreamWaitEvent(c->stream, u->reduced, 0), "waiting for an event") ||
         !check(u, cudaEventRecord(c->done, c->stream), "recording an event")))
        return false;
    u->check_end++;
    zstd_device_leave(u->decoder);
    return pass_checks(u);
}

/* Releases all batches, whatever the device makes of them, and waits for that. */
static bool drop_checks(struct engine_decoder *u)
{
    for (; u->check_begin < u->check_end; u->check_begin++)
        if (!zstd_device_release(u->decoder, u->stream))
            return false;
    for (unsigned i = 0; i < ZSTD_HASHED; i++) {
        struct check *c = &u->checks[i];

        if (c->count > 0 && !check(u, cudaStreamSynchronize(c->stream), "verifying checksums"))
            return false;
        c->count = 0;
    }
    return true;
}

/*
 * Content whose checksum the caller is to verify.
 */

/* Memory for a piece: taken when it is first used, for often little comes back, and pinning takes
   long. */
static bool open_piece(struct engine_decoder *u, struct piece *p)
{
    if (!p->memory.memory &&
        !cuda_own_pinned(&u->owned, &p->memory, u->device->tuning->content_bytes, u->error)) {
        u->failed = true;
        return false;
    }
    return true;
}

/* Whether the content of a block of the held batch is to come back. */
static bool comes_back(const struct engine_decoder *u, uint32_t block)
{
    return u->held.blocks[block].checked && !u->on_device[block];
}

/* Passes over blocks that do not come back. */
static void pass_over(struct engine_decoder *u)
{
    const uint32_t count = u->held.block_count;

    while (u->held_block < count && !comes_back(u, u->held_block))
        u->held_block++;
    u->held_done = u->held_block == count ? u->held.size
                   : u->held.blocks[u->held_block].position > u->held_done
                       ? u->held.blocks[u->held_block].position
                       : u->held_done;
}

/* Begins with the held batch: where is the first content of it that is to come back. */
static void begin_content(struct engine_decoder *u)
{
    u->held_done = 0;
    u->held_block = 0;
    pass_over(u);
}

/* The end of the run of blocks that come back, whose first is the next one. */
static uint64_t run_end(const struct engine_decoder *u)
{
    const struct zstd_plan_block *blocks = u->held.blocks;
    uint32_t i = u->held_block;

    while (i + 1 < u->held.block_count && comes_back(u, i + 1))
        i++;
    return blocks[i].position + blocks[i].size;
}

/* Writes down which frames the bytes from `begin` to `end` of the held batch belong to. */
static bool write_segments(struct engine_decoder *u, struct piece *p, uint64_t begin, uint64_t end)
{
    const struct zstd_plan_block *blocks = u->held.blocks;
    /* A frame is verified if elements behind it are asked for. */
    const uint64_t wanted = u->setup.stop ? wanted_end(u) : UINT64_MAX;
    struct engine_segment *segment = NULL;

    p->count = 0;
    for (; u->held_block < u->held.block_count; u->held_block++) {
        const struct zstd_plan_block *b = &blocks[u->held_block];
        const uint64_t block_end = b->position + b->size;
        const uint64_t from = b->position > begin ? b->position : begin;
        const uint64_t to = block_end < end ? block_end : end;
        const bool all = to == block_end;

        if ((b->position >= end && b->size > 0) || !comes_back(u, u->held_block))
            break;
        if (!segment || b->first) {
            if (!GROW(p->segments, p->capacity, p->count + 1))
                return fail_memory(u);
            segment = &p->segments[p->count++];
            *segment = (struct engine_segment){.begin = (size_t)(from - begin),
                                               .frame = b->frame,
                                               .first = b->first && b->position >= begin};
        }
        segment->size = (size_t)(to - begin) - segment->begin;
        segment->last = b->last && all && u->held.position + block_end < wanted;
        segment->checksum = b->checksum;
        if (!all)
            break;
        if (b->last)
            segment = NULL;
    }
    return true;
}

/* Has the next piece of the held batch brought back, when there is room for it. *done: something
   was; false when the device failed. */
static bool bring_back(struct engine_decoder *u, bool *done)
{
    struct piece *p = &u->pieces[u->next_piece];
    uint64_t in_one_piece;
    const unsigned char *from =
        zstd_device_bytes(u->decoder, u->held.position + u->held_done, &in_one_piece);
    uint64_t size = run_end(u) - u->held_done;

    *done = false;
    if (atomic_load(&p->state) != PIECE_FREE)
        return true;
    if (!open_piece(u, p))
        return false;
    size = size < in_one_piece ? size : in_one_piece;
    size = size < p->memory.size ? size : p->memory.size;
    if (!write_segments(u, p, u->held_done, u->held_done + size))
        return false;
    u->held_done += size;
    pass_over(u);
    *done = true;
    if ((size > 0 &&
         !check(u, cudaMemcpyAsync(p->memory.memory, from, size, cudaMemcpyDeviceToHost, u->back),
                "copying content")) ||
        !check(u, cudaEventRecord(p->copied, u->back), "recording an event"))
        return false;
    atomic_store(&p->state, PIECE_COPYING);
    u->next_piece = (u->next_piece + 1) % ZSTD_CONTENT_PIECES;
    return true;
}

/* Hands out the oldest piece that has come back. */
static bool hand_out(struct engine_decoder *u, struct engine_content *content)
{
    struct piece *p = &u->pieces[u->next_out];
    cudaError_t error;

    if (atomic_load(&p->state) != PIECE_COPYING)
        return false;
    error = cudaEventQuery(p->copied);
    if (error == cudaErrorNotReady || !check(u, error, "copying content"))
        return false;
    atomic_store(&p->state, PIECE_OUT);
    u->next_out = (u->next_out + 1) % ZSTD_CONTENT_PIECES;
    *content = (struct engine_content){
        .bytes = p->memory.memory, .segments = p->segments, .segment_count = p->count, .piece = p};
    return true;
}

void decoder_content_free(struct engine_decoder *u, void *piece)
{
    struct piece *p = piece;

    (void)u;
    atomic_store(&p->state, PIECE_FREE);
}

/* Whether content is on its way. */
static bool content_copying(const struct engine_decoder *u)
{
    for (unsigned i = 0; i < ZSTD_CONTENT_PIECES; i++)
        if (atomic_load(&u->pieces[i].state) == PIECE_COPYING)
            return true;
    return false;
}

/* Whether content of the held batch is still to be brought back: empty blocks may be last. */
static bool more_to_bring(const struct engine_decoder *u)
{
    return u->holding && (u->held_done < u->held.size || u->held_block < u->held.block_count);
}

unsigned char *decoder_memory(struct engine_decoder *u, size_t *size)
{
    *size = u->input.size;
    return u->input.memory;
}

/*
 * Reducing.
 */

/* Takes a result that has come back. With `wait`, waits for it. */
static bool collect(struct engine_decoder *u, struct mirror *m, bool wait)
{
    cudaError_t error;

    if (!m->busy)
        return true;
    error = wait ? cudaEventSynchronize(m->done) : cudaEventQuery(m->done);
    if (error == cudaErrorNotReady)
        return true;
    if (!check(u, error, "reducing"))
        return false;
    m->busy = false;
    if (!u->sums.job.kind->collect(&u->sums.job, (unsigned)(m - u->mirrors), u->error))
        return false;
    cuda_clock_note(&u->clock, &u->times.lines[ENGINE_KERNELS], m->begun, m->done, m->bytes);
    return true;
}

/* Takes all results that have come back, oldest first. */
static bool collect_all(struct engine_decoder *u, bool wait)
{
    for (unsigned i = 0; i < MIRRORS; i++) {
        struct mirror *m = &u->mirrors[(u->next_mirror + i) % MIRRORS];

        if (!collect(u, m, wait))
            return false;
        if (m->busy) /* nor are those behind it, whatever they say by now */
            break;
    }
    return true;
}

/* Reduces the elements up to position `to`. */
static bool reduce_to(struct engine_decoder *u, uint64_t to)
{
    const size_t size = element_size(u->setup.type);
    const unsigned slot = u->next_mirror;
    struct mirror *m = &u->mirrors[slot];
    bool good;

    if (to < u->reduced_to + size)
        return true;
    if (!collect(u, m, true))
        return false;
    u->next_mirror = (u->next_mirror + 1) % MIRRORS;
    m->busy = true;
    m->bytes = to - u->reduced_to;
    good = check(u, cudaEventRecord(m->begun, u->stream), "recording an event");
    while (good && to >= u->reduced_to + size) {
        uint64_t piece;
        const unsigned char *data = zstd_device_bytes(u->decoder, u->reduced_to, &piece);
        const uint64_t index =
            (u->reduced_to - u->part_begin + u->part.position - u->setup.begin) / size;
        size_t count;

        piece = piece < to - u->reduced_to ? piece : to - u->reduced_to;
        count = piece / size;
        good = u->sums.job.kind->add(&u->sums.job, slot, data, count, index, u->stream, u->error);
        u->reduced_to += count * size;
        u->elements += count;
    }
    good = good && u->sums.job.kind->send(&u->sums.job, slot, u->stream, u->error);
    u->failed = u->failed || !good;
    return good && check(u, cudaEventRecord(m->done, u->stream), "recording an event");
}

/* Reduces what has been decoded. Before the end what makes no ALIGNMENT bytes is left for later. */
static bool reduce_decoded(struct engine_decoder *u, bool at_end)
{
    const uint64_t end = wanted_end(u), to = u->decoded_to < end ? u->decoded_to : end;

    if (to <= u->reduced_to)
        return true;
    return reduce_to(u, at_end || to == end ? to : to - (to - u->reduced_to) % ALIGNMENT);
}

/*
 * Batches.
 */

/* Notes which frames a batch begins. */
static void note_frames(struct engine_decoder *u, const struct zstd_device_output *o)
{
    for (uint32_t i = o->block_count; i > 0; i--)
        if (o->blocks[i - 1].first) {
            u->frame = o->blocks[i - 1].frame;
            u->frame_position = o->position + o->blocks[i - 1].position;
            u->has_frame = true;
            return;
        }
}

/* The last byte that is wanted is in the batch: notes the end of its block. */
static void note_stop(struct engine_decoder *u, const struct zstd_device_output *o)
{
    const uint64_t last = wanted_end(u) - 1 - o->position;
    uint32_t i = 0;

    while (o->blocks[i].position + o->blocks[i].size <= last)
        i++;
    u->stopped_at = o->input_begin + o->blocks[i].behind;
}

/* Compares the frames that a batch begins with where the pieces of the part do. */
static void check_pieces(struct engine_decoder *u, const struct zstd_device_output *o)
{
    const struct stream_part *part = &u->part;

    for (uint32_t i = 0; part->pieces && i < o->block_count && u->pieces_begun < part->piece_count;
         i++) {
        const struct zstd_plan_block *b = &o->blocks[i];
        const uint64_t offset = part->pieces[u->pieces_begun] - part->pieces[0] + part->offset;

        if (!b->first || b->frame < offset) /* it goes on, or a piece has another frame */
            continue;
        if (b->frame > offset ||
            o->position + b->position != u->part_begin + u->pieces_begun * part->piece_content)
            u->misplaced = true;
        u->pieces_begun++;
    }
}

/* All of the part has been taken. Without content if its pieces are not what they should be. */
static void note_content(struct engine_decoder *u)
{
    const bool good = !u->misplaced && (!u->part.pieces || u->pieces_begun == u->part.piece_count);

    u->parts[u->parts_passed - 1].content = good ? u->decoded_to - u->part_begin : 0;
}

static void note_refusal(struct engine_decoder *u, uint64_t frame)
{
    u->refused = true;
    u->refusal.frame = frame;
    u->refusal.begin =
        (u->has_frame && frame == u->frame ? u->frame_position : u->decoded_to) - u->shift;
}

/* Begins with the next part: all of the one before has been taken. Reduces what is left of that.
   The part's content begins at the next multiple of ALIGNMENT. */
static bool pass_part(struct engine_decoder *u)
{
    const uint64_t padding = (ALIGNMENT - u->decoded_to % ALIGNMENT) % ALIGNMENT;

    if (u->parts_passed > 0) {
        if (!reduce_decoded(u, true))
            return false;
        note_content(u);
        u->padding += padding;
        u->decoded_to += padding;
        u->part_begin = u->reduced_to = u->decoded_to;
    }
    u->part = u->parts[u->parts_passed++].part;
    u->pieces_begun = 0;
    u->misplaced = false;
    return true;
}

/* Goes on to the part that a batch is of. */
static bool pass_parts(struct engine_decoder *u, const struct zstd_device_output *o)
{
    while (u->parts_passed < u->part_count &&
           u->parts[u->parts_passed].part.offset <= o->input_begin)
        if (!pass_part(u))
            return false;
    return true;
}

/* All has been taken: reduces what is left, and ends all parts. */
static bool end_parts(struct engine_decoder *u)
{
    while (u->parts_passed < u->part_count)
        if (!pass_part(u))
            return false;
    if (u->parts_passed > 0)
        note_content(u);
    return reduce_decoded(u, true);
}

/* Takes the oldest batch, which is decoded, and reduces it. */
static bool take_batch(struct engine_decoder *u)
{
    struct zstd_device_output *o = &u->held;
    bool none, checked = false;

    if (!zstd_device_take(u->decoder, o, &none))
        return fail_decoder(u);
    cuda_clock_note(&u->clock, &u->times.lines[ENGINE_DECODES], o->begun, o->done, o->size);
    if (!u->refused && !u->stopped && !pass_parts(u, o))
        return false;
    if (!u->refused && !u->stopped) {
        u->decoded_to = o->position + o->size;
        note_frames(u, o);
        check_pieces(u, o);
        if (!reduce_decoded(u, false))
            return false;
        for (uint32_t i = 0; u->setup.check && i < o->block_count && !checked; i++)
            checked = o->blocks[i].checked;
        /* Faults after the last element that is wanted are not looked for. */
        if (u->setup.stop && u->decoded_to >= wanted_end(u)) {
            if (wanted_end(u) > o->position)
                note_stop(u, o);
            u->stopped = true;
        } else if (o->refused) {
            note_refusal(u, o->frame);
        }
    }
    u->holding = true;
    u->held_done = o->size;
    u->held_block = o->block_count;
    if (checked) {
        if (!begin_checks(u))
            return false;
        begin_content(u);
    }
    return true;
}

/* Lets go of the held batch: all that reads it is queued. */
static bool release_batch(struct engine_decoder *u)
{
    u->holding = false;
    return check(u, cudaEventRecord(u->back_done, u->back), "recording an event") &&
           check(u, cudaStreamWaitEvent(u->stream, u->back_done, 0), "waiting for an event") &&
           end_checks(u);
}

/* Whether every batch that was fed has been released. */
static bool all_released(const struct engine_decoder *u)
{
    return zstd_device_under_way(u->decoder) == 0 && !u->holding && u->check_begin == u->check_end;
}

/* Whether the input is of a part that has not been begun. */
static bool is_new_part(const struct engine_decoder *u, const struct stream_bytes *input)
{
    return u->part_count == 0 || input->part.offset > u->parts[u->part_count - 1].part.offset;
}

/* Begins the part that the input is of. False without memory. */
static bool begin_part(struct engine_decoder *u, const struct stream_bytes *input)
{
    if (!GROW(u->parts, u->part_capacity, u->part_count + 1))
        return fail_memory(u);
    u->parts[u->part_count++] = (struct part){.part = input->part, .content = UINT64_MAX};
    if (u->part_count > 1)
        zstd_device_align(u->decoder);
    return true;
}

/* Refuses the next bytes, once all batches under way have been taken. */
static enum engine_decode_status refuse_next(struct engine_decoder *u)
{
    if (!all_released(u))
        return DECODE_IDLE;
    note_refusal(u, zstd_device_frame(u->decoder));
    return DECODE_AGAIN;
}

/* Whether the device has nothing to do, and would have to wait for a whole batch. The first one is
   waited for: of little input it would cut off a frame that may well be short. */
static bool is_idle(const struct engine_decoder *u)
{
    return zstd_device_under_way(u->decoder) == 0 && u->decoded_to > u->shift;
}

/* The input that the decoder's next batch may wait for. */
static enum zstd_more more_of(const struct engine_decoder *u, const struct stream_bytes *input,
                              bool idle)
{
    if (input->last || input->part_ends)
        return ZSTD_MORE_NONE;
    if (!idle)
        return ZSTD_MORE_BATCH;
    return input->full || zstd_device_holds(u->decoder) ? ZSTD_MORE_FRAME : ZSTD_MORE_NONE;
}

/* Makes the decoder's next step, and returns its outcome. */
static enum engine_decode_status step(struct engine_decoder *u, const struct stream_bytes *input)
{
    const bool idle = is_idle(u);

    if (u->refused || u->stopped)
        return DECODE_IDLE;
    if (input->size > 0 && is_new_part(u, input)) {
        if (!zstd_device_between_frames(u->decoder)) /* the frame goes on, or is not a true one */
            return refuse_next(u);
        if (!begin_part(u, input))
            return DECODE_FAILED;
    }
    if (!input->full && !idle && input->size < u->copy_least)
        return DECODE_IDLE;
    if (input->size > zstd_device_left(u->decoder))
        zstd_device_give(u->decoder, input->bytes, input->size, input->rest,
                         zstd_device_next(u->decoder));
    switch (zstd_device_step(u->decoder, more_of(u, input, idle))) {
    case ZSTD_STEP_FED:
        return DECODE_AGAIN;
    case ZSTD_STEP_BUSY:
        break;
    case ZSTD_STEP_STARVED:
        /* Headers, and skippable frames, make no batch. */
        if (input->last || input->part_ends) {
            if (!zstd_device_between_frames(u->decoder))
                return refuse_next(u);
            if (input->last && all_released(u))
                return DECODE_ENDED;
        }
        break;
    case ZSTD_STEP_REFUSED:
        return refuse_next(u);
    case ZSTD_STEP_FAILED:
        (void)fail_decoder(u);
        return DECODE_FAILED;
    }
    return DECODE_IDLE;
}

/* Whether nothing more is to come of what was fed, refused or not wanted. */
static bool at_rest(const struct engine_decoder *u)
{
    return (u->refused || u->stopped) && all_released(u) && !content_copying(u);
}

enum engine_decode_status decoder_advance(struct engine_decoder *u,
                                          const struct stream_bytes *input,
                                          struct engine_content *content)
{
    enum engine_decode_status status;
    bool done = false;

    if (u->failed || !check(u, cudaSetDevice((int)u->device->index), "choosing the GPU") ||
        !collect_all(u, false) || !pass_checks(u))
        return DECODE_FAILED;
    if (u->wrong)
        return DECODE_WRONG;
    if (hand_out(u, content))
        return DECODE_CONTENT;
    if (more_to_bring(u) && !bring_back(u, &done))
        return DECODE_FAILED;
    if (u->holding && !more_to_bring(u)) {
        if (!release_batch(u))
            return DECODE_FAILED;
        done = true;
    }
    if (!done && !u->holding && has_room_for_checks(u) && zstd_device_ready(u->decoder)) {
        if (!take_batch(u))
            return DECODE_FAILED;
        done = true;
    }
    /* A decoder that has failed is never ready, and is not asked for a step where all is refused or
       nothing more is wanted. */
    if (zstd_device_error(u->decoder)) {
        (void)fail_decoder(u);
        return DECODE_FAILED;
    }
    status = step(u, input);
    if (u->failed)
        return DECODE_FAILED;
    if (u->wrong) /* what was released above may have been hashed by then */
        return DECODE_WRONG;
    if (status == DECODE_ENDED && content_copying(u))
        return DECODE_IDLE;
    if (status == DECODE_ENDED || (at_rest(u) && u->stopped && !u->refused)) {
        u->stopped = true;
        return end_parts(u) ? DECODE_ENDED : DECODE_FAILED;
    }
    if (at_rest(u))
        return DECODE_REFUSED;
    return done ? DECODE_AGAIN : status;
}

/*
 * The result.
 */

uint64_t decoder_wanted(const struct engine_decoder *u)
{
    return zstd_device_next(u->decoder);
}

uint64_t decoder_taken(const struct engine_decoder *u)
{
    return zstd_device_passed(u->decoder);
}

struct engine_progress decoder_progress(const struct engine_decoder *u)
{
    return (struct engine_progress){.total = u->decoded_to - u->padding - u->shift,
                                    .stopped_at = u->stopped_at,
                                    .reduced = u->elements,
                                    .first_nan = u->sums.good.first_nan,
                                    .wrong = u->wrong_frame,
                                    .error = u->error};
}

uint64_t decoder_part_content(const struct engine_decoder *u, size_t part)
{
    return part < u->part_count ? u->parts[part].content : UINT64_MAX;
}

bool decoder_refused(struct engine_decoder *u, struct stream_refusal *refusal)
{
    const uint64_t begin = u->refusal.begin + u->shift;
    const uint64_t left = u->reduced_to < begin ? begin - u->reduced_to : 0;

    *refusal = u->refusal;
    refusal->good = u->reduced_to - u->shift;
    refusal->tail_size = left <= sizeof refusal->tail ? (size_t)left : 1;
    if (refusal->tail_size > 0) {
        uint64_t piece;
        const unsigned char *from = zstd_device_bytes(u->decoder, u->reduced_to, &piece);

        if (!check(u,
                   cudaMemcpyAsync(refusal->tail, from, refusal->tail_size, cudaMemcpyDeviceToHost,
                                   u->stream),
                   "copying a result") ||
            !check(u, cudaStreamSynchronize(u->stream), "copying a result"))
            return false;
    }
    return true;
}

bool decoder_finish(struct engine_decoder *u, struct partial *partial, struct engine_times *times)
{
    bool good = !u->failed && check(u, cudaSetDevice((int)u->device->index), "choosing the GPU") &&
                collect_all(u, true);

    (void)zstd_device_passed(u->decoder); /* the last copies are noted */
    *partial = u->sums.good;
    *times = u->times;
    u->times = (struct engine_times){0}; /* the timelines are the caller's now */
    return good;
}

/*
 * Opening.
 */

/* Bytes of device memory for the decoder, of those that are free. */
static size_t memory_for_decoder(size_t free)
{
    const size_t rest = free < ZSTD_MEMORY_LEFT * 4 ? free / 4 : ZSTD_MEMORY_LEFT;

    return free - rest < ZSTD_MEMORY_MAX ? free - rest : ZSTD_MEMORY_MAX;
}

/* The windows that the decoder is to take: those that are expected, and larger ones where that
   costs little. */
static uint64_t choose_window(const struct engine_decode_setup *setup, size_t memory)
{
    uint64_t window = setup->window == UINT64_MAX ? ZSTD_WINDOW_USUAL : setup->window;
    uint64_t spare = memory / 16;

    if (window < ZSTD_WINDOW_USUAL)
        window = ZSTD_WINDOW_USUAL;
    if (window < spare)
        window = spare;
    if (window > setup->window_max)
        window = setup->window_max;
    return window < ZSTD_OFFSET_MAX ? window : ZSTD_OFFSET_MAX;
}

static bool open_decoder(struct engine_decoder *u, char reason[ENGINE_REASON_MAX])
{
    struct zstd_device_options options = {
        .clock = &u->clock, .copies = &u->times.lines[ENGINE_COPIES], .tuning = u->device->tuning};
    size_t free = 0, total = 0;

    if (!cuda_check(cudaMemGetInfo(&free, &total), "asking for free memory", reason))
        return false;
    options.memory = memory_for_decoder(free);
    options.window = choose_window(&u->setup, options.memory);
    options.keep = u->setup.check ? ZSTD_KEPT : 0;
    u->window = options.window;
    if (u->setup.window != UINT64_MAX && u->setup.window > u->window) {
        snprintf(reason, ENGINE_REASON_MAX, "the window of the frame is too large for a GPU");
        return false;
    }
    u->decoder = zstd_device_open(&options, reason);
    return u->decoder != NULL;
}

/* Bytes of a file that a decoder has read ahead. */
static size_t file_ahead(unsigned decoders)
{
    const size_t share = ZSTD_INPUT_ALL / (decoders > 0 ? decoders : 1);

    return share < ZSTD_INPUT_LEAST  ? ZSTD_INPUT_LEAST
           : share > ZSTD_INPUT_MOST ? ZSTD_INPUT_MOST
                                     : share;
}

/* Memory for so many bytes that are read ahead. */
static size_t memory_ahead(size_t bytes, size_t before, size_t piece)
{
    return align_up(before + align_up(bytes, piece) + piece, mapping_page());
}

size_t decoder_input_size(size_t before, size_t piece, unsigned decoders)
{
    return memory_ahead(file_ahead(decoders), before, piece);
}

/* The size of memory for this input. */
static size_t input_size(const struct engine_decoder *u, const struct engine_decode_setup *setup)
{
    const size_t most = setup->input == UINT64_MAX ? ZSTD_INPUT_PIPE : file_ahead(setup->decoders);
    const size_t batches = ZSTD_INPUT_BATCHES * zstd_device_batch(u->decoder);

    return memory_ahead(batches < most ? batches : most, setup->before, setup->piece);
}

/* The memory for input holds so many copies at least. */
#define COPIES_LEAST 4

static bool get_memory(struct engine_decoder *u, char reason[ENGINE_REASON_MAX])
{
    cuda_sums_init(&u->sums, u->setup.type, u->setup.swap, u->setup.wants, u->setup.missing,
                   u->setup.split, u->device->multiprocessors, MIRRORS);
    if (!cuda_own_pinned(&u->owned, &u->input, input_size(u, &u->setup), reason) ||
        !cuda_own_pinned(&u->owned, &u->mirrors_memory,
                         align_up(u->sums.job.pinned_bytes, mapping_page()), reason) ||
        !cuda_own_memory(&u->owned, &u->memory, u->sums.job.device_bytes, reason))
        return false;
    u->copy_least = (u->input.size - u->setup.before) / COPIES_LEAST;
    if (u->copy_least > u->device->tuning->copy_least)
        u->copy_least = u->device->tuning->copy_least;
    return true;
}

static bool make_events(struct engine_decoder *u, char reason[ENGINE_REASON_MAX])
{
    struct cuda_owned *const o = &u->owned;
    int least = 0, greatest = 0;

    for (unsigned i = 0; i < MIRRORS; i++)
        if (!cuda_own_event(o, &u->mirrors[i].begun, 0, reason) ||
            !cuda_own_event(o, &u->mirrors[i].done, 0, reason))
            return false;
    for (unsigned i = 0; i < ZSTD_CONTENT_PIECES; i++)
        if (!cuda_own_event(o, &u->pieces[i].copied, cudaEventDisableTiming, reason))
            return false;
    return cuda_own_event(o, &u->clock.base, 0, reason) &&
           cuda_own_event(o, &u->back_done, cudaEventDisableTiming, reason) &&
           cuda_own_event(o, &u->reduced, cudaEventDisableTiming, reason) &&
           cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "priorities", reason) &&
           /* Memory for the next batches waits for the reduction, which is short. */
           cuda_own_stream(o, &u->stream, greatest, reason) &&
           cuda_own_stream(o, &u->back, 0, reason);
}

struct engine_decoder *decoder_open(const struct feeder_device *device, struct pinned_arena *arena,
                                    const struct engine_decode_setup *setup,
                                    char reason[ENGINE_REASON_MAX])
{
    struct engine_decoder *u = calloc(1, sizeof *u);

    if (!u) {
        (void)cuda_no_memory(reason);
        return NULL;
    }
    u->device = device;
    u->owned.arena = arena;
    u->setup = *setup;
    if (!cuda_check(cudaSetDevice((int)device->index), "choosing the GPU", reason) ||
        !open_decoder(u, reason) || !get_memory(u, reason) || !make_events(u, reason) ||
        (setup->check && !open_checks(u, reason)) || !decoder_begin(u, setup)) {
        if (u->failed)
            memcpy(reason, u->error, ENGINE_REASON_MAX);
        decoder_close(u);
        return NULL;
    }
    return u;
}

void decoder_close(struct engine_decoder *u)
{
    /* Nothing below can be helped when it fails. */
    (void)cudaSetDevice((int)u->device->index);
    zstd_device_close(u->decoder);
    cuda_owned_free(&u->owned);
    for (unsigned i = 0; i < ZSTD_CONTENT_PIECES; i++)
        free(u->pieces[i].segments);
    free(u->frames);
    free(u->on_device);
    free(u->parts);
    engine_times_free(&u->times);
    free(u);
}

/* Waits for all that is under way, and forgets it. */
static bool drain(struct engine_decoder *u)
{
    struct zstd_device_output output;
    bool none = false;

    if (!drop_checks(u) || (u->holding && !zstd_device_release(u->decoder, u->stream)))
        return false;
    u->holding = false;
    while (zstd_device_take(u->decoder, &output, &none))
        if (!zstd_device_release(u->decoder, u->stream))
            return false;
    return none && check(u, cudaStreamSynchronize(u->stream), "reducing") &&
           check(u, cudaStreamSynchronize(u->back), "copying content");
}

bool decoder_begin(struct engine_decoder *u, const struct engine_decode_setup *setup)
{
    if (u->failed || (setup->window != UINT64_MAX && setup->window > u->window) ||
        setup->window_max < u->window || input_size(u, setup) > u->input.size ||
        !check(u, cudaSetDevice((int)u->device->index), "choosing the GPU") || !drain(u))
        return false;
    u->setup = *setup;
    u->shift = (ALIGNMENT - setup->skip % ALIGNMENT) % ALIGNMENT;
    u->part_count = u->parts_passed = 0;
    u->part = (struct stream_part){0};
    u->part_begin = u->shift;
    u->padding = u->elements = 0;
    u->reduced_to = u->shift + setup->skip;
    u->decoded_to = u->frame_position = u->shift;
    u->frame = 0;
    u->has_frame = u->refused = u->stopped = u->wrong = false;
    u->stopped_at = UINT64_MAX;
    u->next_out = u->next_piece = u->next_mirror = 0;
    for (unsigned i = 0; i < ZSTD_CONTENT_PIECES; i++)
        atomic_store(&u->pieces[i].state, PIECE_FREE);
    for (unsigned i = 0; i < MIRRORS; i++)
        u->mirrors[i].busy = false;
    u->times = (struct engine_times){.device = u->device->index};
    /* All bytes of a pipe that batches hold should be at hand, should libzstd have to go on from
       there. */
    zstd_device_restart(u->decoder, u->shift,
                        setup->input == UINT64_MAX ? ZSTD_INPUT_PIPE / ZSTD_INPUT_BATCHES
                                                   : SIZE_MAX);
    cuda_sums_init(&u->sums, setup->type, setup->swap, setup->wants, setup->missing, setup->split,
                   u->device->multiprocessors, MIRRORS);
    u->failed = !u->sums.job.kind->begin(&u->sums.job, u->memory, u->mirrors_memory.memory,
                                         u->stream, u->error) ||
                !cuda_clock_begin(&u->clock, u->stream, u->error);
    return !u->failed;
}
