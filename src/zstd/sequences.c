#include "config.h"

#include "zstd/sequences.h"

#if defined __x86_64__
#    include <immintrin.h>
#endif

#include "sys/inline.h"
#include "sys/processor.h"

static unsigned bits_of(zstd_sequence_state state)
{
    return state & 0xff;
}

static unsigned next_bits_of(zstd_sequence_state state)
{
    return state >> 8 & 0xff;
}

static uint32_t next_of(zstd_sequence_state state)
{
    return state >> 16 & 0xffff;
}

static uint32_t base_of(zstd_sequence_state state)
{
    return (uint32_t)(state >> 32);
}

/* A state of this code, without what comes next. */
static zstd_sequence_state state_of(enum zstd_part part, unsigned code)
{
    return (uint64_t)zstd_code_base(part, code) << 32 | zstd_code_bits(part, code);
}

/* Builds the decoding table of a part. */
static void build(zstd_sequence_state *table, enum zstd_part part,
                  const struct zstd_distribution *d)
{
    struct zstd_fse_state states[1 << ZSTD_TABLE_LOG_MAX];
    zstd_sequence_state codes[ZSTD_CODES_MAX];
    uint16_t next[ZSTD_CODES_MAX];

    if (d->run) {
        *table = state_of(part, d->code);
        return;
    }
    for (unsigned code = 0; code < d->codes; code++)
        codes[code] = state_of(part, code);
    zstd_fse_build(states, d->log, d->counts, d->codes, next);
    for (unsigned i = 0; i < 1u << d->log; i++)
        table[i] =
            codes[states[i].code] | (uint64_t)states[i].base << 16 | (uint64_t)states[i].bits << 8;
}

/* A block being decoded. */
struct decoding {
    const zstd_sequence_state *tables; /* one after the other, each with room for the largest */
    struct zstd_backward stream;
    int64_t inside; /* with so many bits left or fewer, eight bytes may be read at each number */
    uint32_t states[ZSTD_PARTS];
    uint32_t left; /* sequences to decode */
    uint64_t room; /* bytes that lengths of more than 16 bits may still come to */
    struct zstd_sequence *out;
};

/* Stands for the offset of a piece that has the one before it, or needs none. No Offset_Value is
   0. */
#define VALUE_SAME 0

/* Writes a sequence whose lengths do not fit, in pieces. The last piece of the literals holds some,
   since a match without literals would mean something else. False where there is no room. */
static bool write_pieces(struct decoding *d, uint32_t value, uint32_t literals, uint32_t match)
{
    if (d->room < (uint64_t)literals + match)
        return false;
    d->room -= (uint64_t)literals + match;
    for (; literals > UINT16_MAX; literals -= UINT16_MAX)
        *d->out++ = (struct zstd_sequence){VALUE_SAME, UINT16_MAX, 0};
    for (; match > UINT16_MAX; match -= UINT16_MAX) {
        *d->out++ = (struct zstd_sequence){value, (uint16_t)literals, UINT16_MAX};
        value = VALUE_SAME;
        literals = 0;
    }
    *d->out++ = (struct zstd_sequence){value, (uint16_t)literals, (uint16_t)match};
    return true;
}

static ALWAYS_INLINE zstd_sequence_state state_now(const struct decoding *d, enum zstd_part part)
{
    return d->tables[((size_t)part << ZSTD_TABLE_LOG_MAX) + d->states[part]];
}

/* Decodes one sequence, wherever in the stream it is. False where it is not sound. */
static bool decode_one(struct decoding *d)
{
    const zstd_sequence_state length = state_now(d, ZSTD_LITERAL_LENGTH),
                              offset = state_now(d, ZSTD_OFFSET),
                              match = state_now(d, ZSTD_MATCH_LENGTH);
    struct zstd_backward *r = &d->stream;
    const uint32_t value = base_of(offset) + zstd_backward_bits(r, bits_of(offset));
    const uint32_t bytes = base_of(match) + zstd_backward_bits(r, bits_of(match));
    const uint32_t literals = base_of(length) + zstd_backward_bits(r, bits_of(length));

    if (--d->left > 0) { /* behind the last one there are no next states */
        d->states[ZSTD_LITERAL_LENGTH] =
            next_of(length) + zstd_backward_bits(r, next_bits_of(length));
        d->states[ZSTD_MATCH_LENGTH] = next_of(match) + zstd_backward_bits(r, next_bits_of(match));
        d->states[ZSTD_OFFSET] = next_of(offset) + zstd_backward_bits(r, next_bits_of(offset));
    }
    if (r->left < 0)
        return false;
    if ((literals | bytes) > UINT16_MAX)
        return write_pieces(d, value, literals, bytes);
    *d->out++ = (struct zstd_sequence){value, (uint16_t)literals, (uint16_t)bytes};
    return true;
}

#define LOOP_ONE decode_most_plain
#define LOOP_TWO decode_both_plain
#define LOOP_STEP step_plain
#define LOOP_TARGET
#define LOOP_LOW_BITS(word, n) ((word) & ((UINT64_C(1) << ((n)&63)) - 1))
#include "zstd/sequences_loop.h"

#if defined __x86_64__
#    define LOOP_ONE decode_most_bmi2
#    define LOOP_TWO decode_both_bmi2
#    define LOOP_STEP step_bmi2
#    define LOOP_TARGET PROCESSOR_BMI2
#    define LOOP_LOW_BITS(word, n) _bzhi_u64((word), (uint32_t)(n))
#    include "zstd/sequences_loop.h"
#endif

/* The first sequences lie at the end of the block, after which nothing may be read. */
static bool is_inside(const struct decoding *d)
{
    return d->left > 1 && d->stream.left <= d->inside;
}

/* Decodes sequences of a block, or of two, by the best loop for this processor; none where they are
   not inside. */
static void decode_inside(struct decoding *one, struct decoding *other)
{
    if (!is_inside(one) || (other && !is_inside(other)))
        return;
#if defined __x86_64__
    if (processor_has_bmi2()) {
        if (other)
            decode_both_bmi2(one, other);
        else
            decode_most_bmi2(one);
        return;
    }
#endif
    if (other)
        decode_both_plain(one, other);
    else
        decode_most_plain(one);
}

/* Decodes all sequences of a block, or of two as long as both have some. False where they are not
   sound. */
static bool decode_all(struct decoding *one, struct decoding *other)
{
    while (one->left > 0 && (!other || other->left > 0)) {
        decode_inside(one, other);
        if (!decode_one(one) || (other && !decode_one(other)))
            return false;
    }
    return true;
}

/* Turns Offset_Values into offsets, and adds up what the sequences take. False where there is no
   such offset. */
static bool use_values(struct zstd_sequence *sequences, uint32_t count, uint64_t window,
                       struct zstd_history *history, uint64_t *literals, uint64_t *matches)
{
    uint32_t first = history->offsets[0], second = history->offsets[1],
             third = history->offsets[2]; /* in registers */
    uint64_t literals_sum = 0, matches_sum = 0;
    bool good = true;

    for (uint32_t i = 0; i < count; i++) {
        struct zstd_sequence *s = &sequences[i];
        const uint32_t value = s->offset;

        literals_sum += s->literals;
        matches_sum += s->match;
        if (value > 3) {
            third = second;
            second = first;
            first = value - 3;
            good &= first <= window;
        } else if (value != VALUE_SAME) {
            struct zstd_history h = {{first, second, third}};

            good &= zstd_offset_select(&h, value, s->literals == 0) != 0;
            first = h.offsets[0];
            second = h.offsets[1];
            third = h.offsets[2];
        }
        s->offset = first;
    }
    *history = (struct zstd_history){{first, second, third}};
    *literals = literals_sum;
    *matches = matches_sum;
    return good;
}

/* Begins at the end of the stream: where the first states are. */
static bool begin_stream(struct decoding *d, const unsigned char *b, size_t size,
                         const struct zstd_tables *t)
{
    if (!zstd_backward_begin(&d->stream, b, size))
        return false;
    for (unsigned part = 0; part < ZSTD_PARTS; part++) /* that is their order in the stream */
        d->states[part] =
            zstd_backward_bits(&d->stream, t->parts[part].run ? 0 : t->parts[part].log);
    d->inside = 8 * ((int64_t)size - 8);
    return d->stream.left >= 0;
}

/* Begins to decode a block. False where it is not sound. */
static bool begin(struct decoding *d, const struct zstd_sequences_job *job)
{
    struct zstd_sequences_decoder *decoder = job->decoder;

    *d = (struct decoding){.tables = decoder->tables[0],
                           .left = job->parts->sequences,
                           .room = 2 * (uint64_t)job->most,
                           .out = job->sequences};
    if ((uint64_t)d->left * ZSTD_MATCH_MIN > job->most)
        return false;
    if (d->left == 0)
        return true;
    for (unsigned part = 0; part < ZSTD_PARTS; part++) {
        if (decoder->numbers[part] != job->tables->parts[part].number)
            build(decoder->tables[part], (enum zstd_part)part, &job->tables->parts[part]);
        decoder->numbers[part] = job->tables->parts[part].number;
    }
    return begin_stream(d, job->bytes + job->parts->stream, job->size - job->parts->stream,
                        job->tables);
}

/* Finds what the sequences of a block come to. False where they are not sound. */
static bool end(const struct decoding *d, const struct zstd_sequences_job *job)
{
    struct zstd_sequences *result = job->result;
    const uint32_t size = job->parts->literals.size;
    uint64_t literals = 0, matches = 0;

    zstd_history_symbols(&result->history);
    result->count = (uint32_t)(d->out - job->sequences);
    if (d->stream.left != 0 ||
        !use_values(job->sequences, result->count, job->window, &result->history, &literals,
                    &matches) ||
        literals > size || matches + size > job->most)
        return false;
    result->literals = (uint32_t)literals;
    result->content = (uint32_t)matches + size;
    return true;
}

bool zstd_sequences_decode(const struct zstd_sequences_job *jobs, unsigned count)
{
    struct decoding blocks[ZSTD_SEQUENCES_JOBS];

    for (unsigned i = 0; i < count; i++)
        if (!begin(&blocks[i], &jobs[i]))
            return false;
    if (count > 1 && !decode_all(&blocks[0], &blocks[1]))
        return false;
    for (unsigned i = 0; i < count; i++)
        if (!decode_all(&blocks[i], NULL) || !end(&blocks[i], &jobs[i]))
            return false;
    return true;
}
