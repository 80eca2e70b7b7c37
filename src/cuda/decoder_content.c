#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda/decoder.h"
#include "cuda/decoder_state.h"

/* Memory for a piece: taken when it is first used, for often little comes back, and pinning takes
   long. */
static bool open_piece(struct engine_decoder *u, struct piece *p)
{
    if (!p->memory.memory &&
        !pinned_piece_open(&p->memory, u->arena, u->device->tuning->content_bytes, u->error)) {
        u->failed = true;
        return false;
    }
    return true;
}

static struct engine_segment *add_segment(struct engine_decoder *u, struct piece *p)
{
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 64;
        struct engine_segment *larger = realloc(p->segments, capacity * sizeof *larger);

        if (!larger) {
            snprintf(u->error, sizeof u->error, "out of memory");
            u->failed = true;
            return NULL;
        }
        p->segments = larger;
        p->capacity = capacity;
    }
    return &p->segments[p->count++];
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

void decoder_content_begin(struct engine_decoder *u)
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
    const uint64_t wanted = u->setup.stop ? decoder_wanted_end(u) : UINT64_MAX;
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
            segment = add_segment(u, p);
            if (!segment)
                return false;
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
bool decoder_bring_back(struct engine_decoder *u, bool *done)
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
         !decoder_check(
             u, cudaMemcpyAsync(p->memory.memory, from, size, cudaMemcpyDeviceToHost, u->back),
             "copying content")) ||
        !decoder_check(u, cudaEventRecord(p->copied, u->back), "recording an event"))
        return false;
    atomic_store(&p->state, PIECE_COPYING);
    u->next_piece = (u->next_piece + 1) % ZSTD_CONTENT_PIECES;
    return true;
}

/* Hands out the oldest piece that has come back. */
bool decoder_hand_out(struct engine_decoder *u, struct engine_content *content)
{
    struct piece *p = &u->pieces[u->next_out];
    cudaError_t error;

    if (atomic_load(&p->state) != PIECE_COPYING)
        return false;
    error = cudaEventQuery(p->copied);
    if (error == cudaErrorNotReady || !decoder_check(u, error, "copying content"))
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
bool decoder_content_copying(const struct engine_decoder *u)
{
    for (unsigned i = 0; i < ZSTD_CONTENT_PIECES; i++)
        if (atomic_load(&u->pieces[i].state) == PIECE_COPYING)
            return true;
    return false;
}

/* Whether content of the held batch is still to be brought back: empty blocks may be last. */
bool decoder_more_to_bring(const struct engine_decoder *u)
{
    return u->holding && (u->held_done < u->held.size || u->held_block < u->held.block_count);
}
