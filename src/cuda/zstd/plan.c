#include "config.h"

#include "cuda/zstd/plan.h"

#include <string.h>

#include "cuda/zstd/tuning.h"
#include "sys/align.h"

#define CHECKSUM 4

void zstd_stream_begin(struct zstd_stream *stream)
{
    memset(stream, 0, sizeof *stream);
    stream->state = ZSTD_BEFORE_FRAME;
    stream->measured = (uint32_t)ZSTD_BLOCK_CONTENT_MAX;
}

void zstd_plan_begin(struct zstd_plan *plan, const struct zstd_plan_limits *limits,
                     const struct zstd_plan_arrays *arrays)
{
    memset(plan, 0, sizeof *plan);
    plan->limits = *limits;
    plan->arrays = *arrays;
}

/*
 * Feeding.
 */

/* The index of a distribution in the batch's tables; it is added where it is not there yet. */
static uint32_t add_table(struct zstd_plan *plan, enum zstd_part part,
                          const struct zstd_distribution *d)
{
    struct zstd_counts *counts;

    if (plan->table_number[part] == d->number)
        return plan->table[part];
    counts = &plan->arrays.tables[plan->total.tables];
    memset(counts, 0, sizeof *counts);
    if (d->run) {
        counts->symbols = d->code;
    } else {
        counts->symbols = d->codes;
        counts->bits = d->log;
        memcpy(counts->count, d->counts, d->codes * sizeof *d->counts);
    }
    plan->table_number[part] = d->number;
    plan->table[part] = plan->total.tables;
    return plan->total.tables++;
}

static uint32_t add_code(struct zstd_plan *plan, const struct zstd_tables *tables)
{
    if (plan->code_number != tables->tree_number) {
        struct zstd_tree *tree = &plan->arrays.codes[plan->total.codes];

        memcpy(tree->bytes, tables->tree, tables->tree_size);
        tree->size = (uint16_t)tables->tree_size;
        plan->code_number = tables->tree_number;
        plan->code = plan->total.codes++;
    }
    return plan->code;
}

/* Numbers of codes and tables mean others in the next frame. */
static void forget_numbers(struct zstd_plan *plan)
{
    plan->code_number = 0;
    for (unsigned part = 0; part < ZSTD_PARTS; part++)
        if (plan->table_number[part] < UINT64_MAX - ZSTD_PARTS) /* not a predefined one */
            plan->table_number[part] = 0;
}

/* Plans the literals of a compressed block whose content begins at offset `at`. */
static void add_literals(struct zstd_plan *plan, struct zstd_plan_block *block,
                         const struct zstd_tables *tables, const struct zstd_literals *l,
                         const unsigned char *source, uint32_t at)
{
    struct zstd_literals_job *job;

    block->literal_count = l->size;
    switch (l->type) {
    case ZSTD_LITERALS_RAW:
        block->place = ZSTD_IN_SOURCE;
        block->literals = ZSTD_SOURCE_BEFORE + plan->base + at + l->begin;
        return;
    case ZSTD_LITERALS_RUN:
        block->place = ZSTD_ONE_BYTE;
        block->literals = source[at + l->begin];
        return;
    case ZSTD_LITERALS_TREE:
    case ZSTD_LITERALS_TREELESS:
        break;
    }
    block->place = ZSTD_IN_LITERALS;
    block->literals = plan->total.literals;
    plan->total.literals += (uint32_t)align_up(l->size, 16);
    job = &plan->arrays.literals[plan->total.literals_jobs++];
    job->streams = l->streams;
    for (unsigned i = 0; i <= ZSTD_STREAMS_MAX; i++)
        job->stream[i] =
            ZSTD_SOURCE_BEFORE + plan->base + at + l->stream[i <= l->streams ? i : l->streams];
    job->target = block->literals;
    job->count = l->size;
    job->code = add_code(plan, tables);
    job->block = plan->total.blocks;
}

static void add_sequences(struct zstd_plan *plan, struct zstd_plan_block *block,
                          const struct zstd_tables *tables, const struct zstd_block_parts *parts,
                          uint32_t at, uint32_t size)
{
    struct zstd_sequences_job *job = &plan->arrays.sequences[plan->total.sequences_jobs];

    block->job = plan->total.sequences_jobs++;
    block->sequences = parts->sequences;
    plan->total.sequences += parts->sequences;
    block->first_sequence = plan->limits.pool / 16 - plan->total.sequences;
    job->source = ZSTD_SOURCE_BEFORE + plan->base + at + parts->stream;
    job->size = size - parts->stream;
    job->count = parts->sequences;
    job->first = block->first_sequence;
    job->literals = parts->literals.size;
    job->limit = block->limit;
    for (unsigned part = 0; part < ZSTD_PARTS; part++)
        job->table[part] = add_table(plan, (enum zstd_part)part, &tables->parts[part]);
    job->block = plan->total.blocks;
}

/* Frames up to this part of a batch are left whole. */
#define WHOLE_PART 4

/* Bytes that the frame holds, as far as that can be told: one that does not state it is taken to be
   as long as the one before, until it is longer. */
static uint64_t frame_size(const struct zstd_stream *stream)
{
    if (stream->frame.content != ZSTD_UNKNOWN)
        return stream->frame.content;
    return stream->size > stream->size_before ? stream->size : stream->size_before;
}

static bool is_short(const struct zstd_plan *plan, const struct zstd_stream *stream)
{
    return frame_size(stream) <= plan->limits.expected / WHOLE_PART;
}

/* Whether there is room for any block. A short frame that the batch has begun may go beyond the
   bytes that were aimed at: how much blocks hold is an estimate. */
static bool has_room(const struct zstd_plan *plan, const struct zstd_stream *stream)
{
    const struct zstd_plan_limits *l = &plan->limits;
    const uint32_t most = (uint32_t)stream->frame.block_most;

    return plan->total.blocks < l->blocks && plan->total.codes < l->codes &&
           plan->total.tables + ZSTD_PARTS <= l->tables &&
           (uint64_t)plan->total.literals + most + 16 +
                   (uint64_t)16 * (plan->total.sequences + ZSTD_BLOCK_SEQUENCES_MAX) <=
               l->pool &&
           plan->total.output + most <= l->output &&
           (plan->total.blocks == 0 || plan->total.expected < l->expected ||
            zstd_plan_cuts_frame(plan, stream));
}

/* Whether the frame that begins is to begin the next batch: it is likely to go beyond this one, but
   no other frame is cut off, and little room is lost. A frame that is whole in a batch is verified
   on the device. */
static bool leave_frame(const struct zstd_plan *plan, const struct zstd_stream *stream)
{
    return plan->total.blocks > 0 && is_short(plan, stream) &&
           plan->total.expected + frame_size(stream) > plan->limits.expected;
}

/* Bytes that a block with sequences may be expected to hold. */
static uint32_t expected_size(const struct zstd_stream *stream, uint32_t literals)
{
    const struct zstd_frame *f = &stream->frame;
    const uint64_t left = f->content > stream->size ? f->content - stream->size : 0;
    uint64_t size = stream->measured < f->block_most ? stream->measured : f->block_most;

    if (f->content != ZSTD_UNKNOWN && size > left)
        size = left;
    return size < literals ? literals : (uint32_t)size;
}

/* Plans a compressed block. */
static bool add_compressed(struct zstd_plan *plan, struct zstd_stream *stream,
                           struct zstd_plan_block *block, const unsigned char *source, uint32_t at,
                           uint32_t size)
{
    const uint32_t most = (uint32_t)stream->frame.block_most;
    struct zstd_block_parts parts;

    if (!zstd_block_parse(source + at, size, most, &stream->tables, &parts) ||
        parts.sequences > most / 3)
        return false;
    add_literals(plan, block, &stream->tables, &parts.literals, source, at);
    if (parts.sequences > 0) {
        add_sequences(plan, block, &stream->tables, &parts, at, size);
        plan->total.output += most;
        plan->total.expected += expected_size(stream, parts.literals.size);
    } else {
        block->size = parts.literals.size;
        plan->total.output += block->size;
        plan->total.expected += block->size;
    }
    return true;
}

/* Lines of the caches that hold a block's headers up to what describes its tables, as a rule. */
#define LINES 4

static void fetch(const unsigned char *source, size_t size, size_t at)
{
    for (size_t i = 0; i < LINES && at + i * CACHE_LINE < size; i++)
        __builtin_prefetch(source + at + i * CACHE_LINE);
}

/* Has the caches fetch what planning looks at: of the block whose header is at offset `at`, which
   was fetched before, all there is to look at, and the header of the one behind it. Blocks lie in
   memory that no cache holds, and each would be waited for eight times: that took most of the time.
   Planning goes on with the block before it meanwhile. */
static void look_ahead(const unsigned char *source, size_t size, size_t at)
{
    uint32_t header, content, places[ZSTD_PLACES];
    unsigned count = 0;

    if (at + ZSTD_BLOCK_HEADER >= size)
        return;
    header = source[at] | (uint32_t)source[at + 1] << 8 | (uint32_t)source[at + 2] << 16;
    content = header >> 3;
    at += ZSTD_BLOCK_HEADER;
    if ((enum zstd_block_type)(header >> 1 & 3) == ZSTD_BLOCK_COMPRESSED && content < size - at)
        count = zstd_block_places(source + at, content, places);
    if (count > 0)
        fetch(source, size, at + places[0]);
    for (unsigned i = 1; i < count; i++)
        __builtin_prefetch(source + at + places[i]);
    fetch(source, size,
          at + ((enum zstd_block_type)(header >> 1 & 3) == ZSTD_BLOCK_RUN ? 1 : content));
}

/* Plans the block whose header is at offset *at, if it is all there, with the checksum behind the
   last one. Starved, too, when it is planned: then *at is behind it. */
static enum zstd_plan_status feed_block(struct zstd_plan *plan, struct zstd_stream *stream,
                                        const unsigned char *source, size_t size, size_t *at)
{
    struct zstd_plan_block *block;
    uint32_t header, content, taken, trailer;
    uint64_t expected;
    enum zstd_block_type type;

    if (size - *at < ZSTD_BLOCK_HEADER)
        return ZSTD_PLAN_STARVED;
    header = source[*at] | (uint32_t)source[*at + 1] << 8 | (uint32_t)source[*at + 2] << 16;
    type = (enum zstd_block_type)(header >> 1 & 3);
    content = header >> 3;
    taken = type == ZSTD_BLOCK_RUN ? 1 : content;
    if (type == ZSTD_BLOCK_RESERVED || content > stream->frame.block_most)
        return ZSTD_PLAN_REFUSED;
    trailer = (header & 1) && stream->frame.checksum ? CHECKSUM : 0;
    if (size - *at - ZSTD_BLOCK_HEADER < taken + trailer)
        return ZSTD_PLAN_STARVED;
    if (!has_room(plan, stream))
        return ZSTD_PLAN_FULL;
    expected = plan->total.expected;
    if (stream->first) {
        plan->mark = plan->total;
        plan->marked = true;
    }
    look_ahead(source, size, *at + ZSTD_BLOCK_HEADER + taken);
    block = &plan->arrays.blocks[plan->total.blocks];
    memset(block, 0, sizeof *block);
    block->source = plan->base + (uint32_t)*at;
    block->first = stream->first;
    block->last = header & 1;
    block->limit = (uint32_t)stream->frame.block_most;
    block->window = (uint32_t)stream->frame.window;
    block->content = stream->frame.content;
    block->checked = stream->frame.checksum;
    block->frame = stream->frame_begin;
    *at += ZSTD_BLOCK_HEADER;
    if (type == ZSTD_BLOCK_COMPRESSED) {
        if (!add_compressed(plan, stream, block, source, (uint32_t)*at, content)) {
            *at -= ZSTD_BLOCK_HEADER;
            return ZSTD_PLAN_REFUSED;
        }
    } else {
        block->place = type == ZSTD_BLOCK_RAW ? ZSTD_IN_SOURCE : ZSTD_ONE_BYTE;
        block->literals = type == ZSTD_BLOCK_RAW ? ZSTD_SOURCE_BEFORE + plan->base + (uint32_t)*at
                                                 : (uint32_t)source[*at];
        block->literal_count = block->size = content;
        plan->total.output += content;
        plan->total.expected += content;
    }
    *at += taken;
    block->behind = plan->base + (uint32_t)*at;
    stream->size += plan->total.expected - expected;
    if (trailer > 0) {
        block->checksum = zstd_load32(source + *at);
        *at += trailer;
    }
    plan->total.blocks++;
    stream->first = false;
    if (block->last) {
        stream->state = ZSTD_BEFORE_FRAME;
        stream->size_before = stream->size;
        stream->size = 0;
    }
    return ZSTD_PLAN_STARVED;
}

/* The header of a frame, or of a skippable one. Starved: it is cut off. */
static enum zstd_plan_status feed_header(struct zstd_plan *plan, struct zstd_stream *stream,
                                         const unsigned char *b, size_t got, size_t *at)
{
    uint64_t skippable;

    if (got < 4)
        return ZSTD_PLAN_STARVED;
    if (zstd_is_skippable(b, got)) {
        skippable = zstd_skippable_size(b, got);
        if (skippable == 0)
            return ZSTD_PLAN_STARVED;
        stream->skip = skippable;
        stream->frame_begin = stream->origin + *at;
        stream->first = true;
        stream->state = ZSTD_SKIPPING;
        return ZSTD_PLAN_FULL;
    }
    if (!zstd_recognise(b, got))
        return ZSTD_PLAN_REFUSED;
    if (!zstd_read_header(b, got, 0, &stream->frame))
        return got < ZSTD_HEADER_MAX ? ZSTD_PLAN_STARVED : ZSTD_PLAN_REFUSED;
    if (stream->frame.dictionary != 0 || stream->frame.reserved ||
        stream->frame.window > plan->limits.window)
        return ZSTD_PLAN_REFUSED;
    zstd_tables_begin(&stream->tables);
    stream->tables.trees_unread = true;
    forget_numbers(plan);
    stream->frame_begin = stream->origin + *at;
    stream->first = true;
    stream->state = ZSTD_BEFORE_BLOCK;
    *at += (size_t)stream->frame.position;
    return ZSTD_PLAN_FULL;
}

enum zstd_plan_status zstd_plan_feed(struct zstd_plan *plan, struct zstd_stream *stream,
                                     const unsigned char *source, size_t size, size_t *at)
{
    enum zstd_plan_status status;
    size_t before;

    for (;;) {
        before = *at;
        switch (stream->state) {
        case ZSTD_BEFORE_FRAME:
            status = feed_header(plan, stream, source + *at, size - *at, at);
            if (status == ZSTD_PLAN_REFUSED) {
                stream->state = ZSTD_AT_REFUSED;
                stream->frame_begin = stream->origin + before;
                stream->first = true;
            }
            if (status != ZSTD_PLAN_FULL)
                return status;
            break;
        case ZSTD_SKIPPING: {
            const uint64_t there = size - *at;
            const size_t step = (size_t)(there < stream->skip ? there : stream->skip);

            *at += step;
            stream->skip -= step;
            if (stream->skip > 0)
                return ZSTD_PLAN_STARVED;
            stream->state = ZSTD_BEFORE_FRAME;
            break;
        }
        case ZSTD_BEFORE_BLOCK:
            if (stream->first && leave_frame(plan, stream))
                return ZSTD_PLAN_FULL;
            status = feed_block(plan, stream, source, size, at);
            if (status == ZSTD_PLAN_REFUSED)
                stream->state = ZSTD_AT_REFUSED;
            if (status != ZSTD_PLAN_STARVED || *at == before)
                return status;
            break;
        case ZSTD_AT_REFUSED:
            return ZSTD_PLAN_REFUSED;
        }
    }
}

bool zstd_plan_cuts_frame(const struct zstd_plan *plan, const struct zstd_stream *stream)
{
    return stream->state == ZSTD_BEFORE_BLOCK && !stream->first && plan->marked &&
           is_short(plan, stream);
}

/*
 * Splitting: what is planned of a frame goes to another batch.
 */

bool zstd_plan_can_split(const struct zstd_plan *plan)
{
    return plan->marked && plan->mark.blocks > 0;
}

static void move_blocks(const struct zstd_plan *plan, uint32_t shift, struct zstd_plan *next)
{
    const struct zstd_plan_total *m = &plan->mark;

    for (uint32_t i = m->blocks; i < plan->total.blocks; i++) {
        struct zstd_plan_block *block = &next->arrays.blocks[next->total.blocks++];

        *block = plan->arrays.blocks[i];
        block->source -= shift;
        block->behind -= shift;
        switch ((enum zstd_literals_place)block->place) {
        case ZSTD_IN_SOURCE:
            block->literals -= shift;
            break;
        case ZSTD_IN_LITERALS:
            block->literals -= m->literals;
            break;
        case ZSTD_ONE_BYTE:
            break;
        }
        if (block->sequences > 0) {
            block->job -= m->sequences_jobs;
            block->first_sequence += m->sequences;
        }
    }
}

static void move_literals(const struct zstd_plan *plan, uint32_t shift, struct zstd_plan *next)
{
    const struct zstd_plan_total *m = &plan->mark;

    for (uint32_t i = m->literals_jobs; i < plan->total.literals_jobs; i++) {
        struct zstd_literals_job *job = &next->arrays.literals[next->total.literals_jobs++];

        *job = plan->arrays.literals[i];
        for (unsigned k = 0; k <= ZSTD_JOB_STREAMS; k++)
            job->stream[k] -= shift;
        job->target -= m->literals;
        job->code -= m->codes; /* a frame begins with a code of its own */
        job->block -= m->blocks;
    }
    while (m->codes + next->total.codes < plan->total.codes) {
        next->arrays.codes[next->total.codes] = plan->arrays.codes[m->codes + next->total.codes];
        next->total.codes++;
    }
    next->code_number = plan->code_number;
    next->code = plan->code - m->codes;
}

/* Predefined tables may be those of frames before, so each is copied where it is first used. */
static void move_sequences(const struct zstd_plan *plan, uint32_t shift, struct zstd_plan *next)
{
    const struct zstd_plan_total *m = &plan->mark;
    uint32_t old[ZSTD_PARTS] = {UINT32_MAX, UINT32_MAX, UINT32_MAX};

    for (uint32_t i = m->sequences_jobs; i < plan->total.sequences_jobs; i++) {
        struct zstd_sequences_job *job = &next->arrays.sequences[next->total.sequences_jobs++];

        *job = plan->arrays.sequences[i];
        job->source -= shift;
        job->first += m->sequences;
        job->block -= m->blocks;
        for (unsigned part = 0; part < ZSTD_PARTS; part++) {
            if (job->table[part] != old[part]) {
                old[part] = job->table[part];
                next->arrays.tables[next->total.tables] = plan->arrays.tables[old[part]];
                next->table[part] = next->total.tables++;
                next->table_number[part] = plan->table_number[part];
            }
            job->table[part] = next->table[part];
        }
    }
}

uint32_t zstd_plan_split(struct zstd_plan *plan, struct zstd_plan *next)
{
    const struct zstd_plan_total m = plan->mark;
    const uint32_t shift = plan->arrays.blocks[m.blocks].source / 16 * 16;

    move_blocks(plan, shift, next);
    move_literals(plan, shift, next);
    move_sequences(plan, shift, next);
    next->base = plan->base - shift;
    next->total.literals = plan->total.literals - m.literals;
    next->total.sequences = plan->total.sequences - m.sequences;
    next->total.output = plan->total.output - m.output;
    next->total.expected = plan->total.expected - m.expected;
    next->marked = true;
    plan->total = m;
    plan->marked = false;
    return shift;
}

/*
 * Placing.
 */

static struct zstd_slice *begin_slice(struct zstd_plan *plan, uint32_t block, uint64_t position)
{
    struct zstd_slice *slice = &plan->slices[plan->slice_count++];

    memset(slice, 0, sizeof *slice);
    slice->first_block = block;
    slice->position = position;
    slice->first_unit = plan->unit_numbers;
    return slice;
}

/* Ends a slice before block `end`. `stretch` is the most bytes of it that belong to one frame:
   through no more symbols than those do chains go, so where they are few the slice is one wave. */
static void end_slice(struct zstd_plan *plan, struct zstd_slice *slice, uint32_t end,
                      uint32_t stretch)
{
    slice->blocks = end - slice->first_block;
    slice->units = plan->unit_numbers - slice->first_unit;
    slice->wave = stretch <= plan->limits.one_wave ? ZSTD_SLICE_MAX : plan->limits.wave;
    plan->arrays.units[plan->unit_numbers++] = slice->blocks;
}

/* Whether a block of `size` bytes may stand where its frame is, and goes on with that. */
static bool continue_frame(const struct zstd_plan_block *block, uint32_t size,
                           struct zstd_carry *carry)
{
    if (block->first) {
        carry->produced = 0;
        zstd_history_begin(&carry->history);
    }
    return block->content == ZSTD_UNKNOWN ||
           (size <= block->content - carry->produced &&
            (!block->last || size == block->content - carry->produced));
}

static void fill_execution(struct zstd_execution *e, const struct zstd_plan_block *block,
                           uint32_t index, uint32_t position, const struct zstd_carry *carry)
{
    memset(e, 0, sizeof *e);
    e->position = position;
    e->size = block->size;
    e->place = block->place;
    e->literals = block->literals;
    e->literal_count = block->literal_count;
    e->sequences = block->sequences;
    e->first = block->first_sequence;
    e->history = carry->history;
    e->produced = carry->produced < ZSTD_OFFSET_MAX ? (uint32_t)carry->produced : ZSTD_OFFSET_MAX;
    e->window = block->window;
    e->block = index;
}

uint32_t zstd_plan_place(struct zstd_plan *plan, uint32_t count,
                         const struct zstd_sequences_result *results, struct zstd_carry *carry)
{
    struct zstd_slice *slice = NULL;
    uint64_t position = 0;
    uint32_t unit = 0, stretch = 0, longest = 0, i; /* bytes */

    plan->slice_count = plan->unit_numbers = 0;
    for (i = 0; i < count; i++) {
        struct zstd_plan_block *block = &plan->arrays.blocks[i];
        const struct zstd_sequences_result *result =
            block->sequences > 0 ? &results[block->job] : NULL;

        if (result && result->size > block->limit)
            break;
        if (result)
            block->size = result->size;
        if (!continue_frame(block, block->size, carry))
            break;
        if (slice && slice->size + block->size > plan->limits.slice) {
            end_slice(plan, slice, i, longest);
            slice = NULL;
        }
        if (!slice && plan->slice_count == ZSTD_SLICES_MAX)
            break;
        if (!slice) {
            slice = begin_slice(plan, i, position);
            unit = plan->limits.unit + 1;
            stretch = longest = 0;
        }
        if (block->first)
            stretch = 0;
        if (block->first || unit + block->size > plan->limits.unit) {
            plan->arrays.units[plan->unit_numbers++] = i - slice->first_block;
            unit = 0;
        }
        fill_execution(&plan->arrays.executions[i], block, i, slice->size, carry);
        if (result) {
            struct zstd_history history = result->history;

            zstd_history_resolve(&history, &carry->history);
            carry->history = history;
            slice->sequences = true;
        }
        block->position = position;
        carry->produced += block->size;
        position += block->size;
        slice->size += block->size;
        unit += block->size;
        stretch += block->size;
        longest = stretch > longest ? stretch : longest;
        slice->largest = block->size > slice->largest ? block->size : slice->largest;
    }
    if (slice)
        end_slice(plan, slice, i, longest);
    return i;
}

void zstd_stream_measure(struct zstd_stream *stream, const struct zstd_plan *plan)
{
    uint64_t bytes = 0, blocks = 0;

    for (uint32_t i = 0; i < plan->total.blocks; i++)
        if (plan->arrays.blocks[i].sequences > 0) {
            bytes += plan->arrays.blocks[i].size;
            blocks++;
        }
    if (blocks > 0)
        stream->measured = (uint32_t)(bytes / blocks);
}

uint64_t zstd_plan_size(const struct zstd_plan *plan)
{
    const struct zstd_slice *last;

    if (plan->slice_count == 0)
        return 0;
    last = &plan->slices[plan->slice_count - 1];
    return last->position + last->size;
}
