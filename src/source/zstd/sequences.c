#include "config.h"

#include "source/zstd/sequences.h"

#include "source/zstd/target.h"

void zstd_sequences_begin(struct zstd_sequences_decoder *d)
{
    for (unsigned part = 0; part < ZSTD_PARTS; part++)
        d->numbers[part] = 0;
}

/* Builds the decoding table of a part. */
static void build(struct zstd_sequence_state *table, enum zstd_part part,
                  const struct zstd_distribution *d)
{
    struct zstd_fse_state states[1 << ZSTD_TABLE_LOG_MAX];
    struct zstd_sequence_state codes[ZSTD_CODES_MAX];
    uint16_t next[ZSTD_CODES_MAX];

    if (d->run) {
        *table = (struct zstd_sequence_state){.base = zstd_code_base(part, d->code),
                                              .bits = (uint8_t)zstd_code_bits(part, d->code)};
        return;
    }
    for (unsigned code = 0; code < d->codes; code++)
        codes[code] = (struct zstd_sequence_state){.base = zstd_code_base(part, code),
                                                   .bits = (uint8_t)zstd_code_bits(part, code)};
    zstd_fse_build(states, d->log, d->counts, d->codes, next);
    for (unsigned i = 0; i < 1u << d->log; i++) {
        table[i] = codes[states[i].code];
        table[i].next = states[i].base;
        table[i].next_bits = states[i].bits;
    }
}

static unsigned log_of(const struct zstd_distribution *d)
{
    return d->run ? 0 : d->log;
}

/* A block being decoded. */
struct decoding {
    const struct zstd_sequences_decoder *decoder;
    const unsigned char *bits; /* the stream */
    size_t size;               /* of it, bytes */
    int64_t position;          /* in it, bits: what lies below is still to be read */
    uint32_t states[ZSTD_PARTS];
    uint32_t left; /* sequences to decode */
    uint64_t room; /* bytes that lengths of more than 16 bits may still come to */
    struct zstd_sequence *out;
};

/* Eight bytes at `at`, zeros behind the end of the stream. */
static uint64_t load_at_end(const unsigned char *bits, size_t size, size_t at)
{
    uint64_t word = 0;

    for (size_t i = 0; i < 8 && at + i < size; i++)
        word |= (uint64_t)bits[at + i] << 8 * i;
    return word;
}

/* The bits of the stream from `at` on, 57 of them at least. `inside`: so many exist. */
ZSTD_BODY uint64_t bits_at(const unsigned char *bits, size_t size, int64_t at, bool inside)
{
    const size_t byte = (size_t)at / 8;

    return (inside ? zstd_load64(bits + byte) : load_at_end(bits, size, byte)) >> at % 8;
}

ZSTD_BODY uint32_t low_bits(uint64_t word, unsigned count)
{
    return (uint32_t)(word & ((UINT64_C(1) << count) - 1));
}

/* Stands for the offset of a piece that has the one before it, or needs none. No Offset_Value is
   0. */
#define VALUE_SAME 0

/* Writes a sequence whose lengths do not fit, in pieces. The last piece of the literals holds some,
   since a match without literals would mean something else. False where there is no room. */
static bool write_pieces(struct decoding *d, struct zstd_sequence **out, uint32_t value,
                         uint32_t literals, uint32_t match)
{
    struct zstd_sequence *to = *out;

    if (d->room < (uint64_t)literals + match)
        return false;
    d->room -= (uint64_t)literals + match;
    for (; literals > UINT16_MAX; literals -= UINT16_MAX)
        *to++ = (struct zstd_sequence){VALUE_SAME, UINT16_MAX, 0};
    for (; match > UINT16_MAX; match -= UINT16_MAX) {
        *to++ = (struct zstd_sequence){value, (uint16_t)literals, UINT16_MAX};
        value = VALUE_SAME;
        literals = 0;
    }
    *to++ = (struct zstd_sequence){value, (uint16_t)literals, (uint16_t)match};
    *out = to;
    return true;
}

/* Decodes sequences as long as the position is above `stop`: all but the last, or the last, behind
   which there are no next states. Their offsets are left as Offset_Values. `inside`: eight bytes
   may be read from wherever a number begins. False where they are not sound.

   Nothing is carried from one number to the next but its position, and nothing here depends on what
   the numbers mean: the processor loads the bits of the next states as soon as it knows how long
   all of the sequence is, and works on several sequences at once. */
ZSTD_BODY bool decode_body(struct decoding *d, int64_t stop, bool last, bool inside)
{
    const struct zstd_sequences_decoder *decoder = d->decoder;
    const unsigned char *const bits = d->bits;
    uint32_t length_state = d->states[ZSTD_LITERAL_LENGTH], offset_state = d->states[ZSTD_OFFSET],
             match_state = d->states[ZSTD_MATCH_LENGTH], left = d->left;
    const uint32_t end = last ? 0 : 1;
    struct zstd_sequence *out = d->out;
    int64_t position = d->position;
    bool good = true;

    while (left > end && position > stop) {
        const struct zstd_sequence_state *length =
            &decoder->tables[ZSTD_LITERAL_LENGTH][length_state];
        const struct zstd_sequence_state *offset = &decoder->tables[ZSTD_OFFSET][offset_state];
        const struct zstd_sequence_state *match = &decoder->tables[ZSTD_MATCH_LENGTH][match_state];
        const unsigned added = (unsigned)length->bits + match->bits;
        const int64_t numbers = position - (int64_t)(added + offset->bits);
        uint32_t value, literals, bytes;
        uint64_t word;

        position = numbers;
        if (!last)
            position -= length->next_bits + match->next_bits + offset->next_bits;
        if (__builtin_expect(position < 0, 0)) {
            good = false;
            break;
        }
        word = bits_at(bits, d->size, numbers, inside);
        literals = length->base + low_bits(word, length->bits);
        bytes = match->base + low_bits(word >> length->bits, match->bits);
        if (__builtin_expect(added + offset->bits <= 57, 1))
            word >>= added;
        else
            word = bits_at(bits, d->size, numbers + added, inside);
        value = offset->base + low_bits(word, offset->bits);
        if (!last) {
            word = bits_at(bits, d->size, position, inside);
            offset_state = offset->next + low_bits(word, offset->next_bits);
            word >>= offset->next_bits;
            match_state = match->next + low_bits(word, match->next_bits);
            word >>= match->next_bits;
            length_state = length->next + low_bits(word, length->next_bits);
        }
        left--;
        if (__builtin_expect((literals | bytes) > UINT16_MAX, 0)) {
            good = write_pieces(d, &out, value, literals, bytes);
            if (!good)
                break;
        } else {
            *out++ = (struct zstd_sequence){value, (uint16_t)literals, (uint16_t)bytes};
        }
    }
    d->states[ZSTD_LITERAL_LENGTH] = length_state;
    d->states[ZSTD_OFFSET] = offset_state;
    d->states[ZSTD_MATCH_LENGTH] = match_state;
    d->left = left;
    d->out = out;
    d->position = position;
    return good;
}

ZSTD_BODY bool decode_most_body(struct decoding *d)
{
    return decode_body(d, -1, false, true);
}

ZSTD_VARIANTS(bool, decode_most, (struct decoding * d), (d))

/* Turns Offset_Values into offsets, and adds up what the sequences take. False where there is no
   such offset. */
static bool use_values(struct zstd_sequence *sequences, uint32_t count, uint64_t window,
                       struct zstd_history *history, uint64_t *literals, uint64_t *matches)
{
    struct zstd_history h = *history;
    uint64_t literals_sum = 0, matches_sum = 0;
    bool good = true;

    for (uint32_t i = 0; i < count; i++) {
        struct zstd_sequence *s = &sequences[i];
        const uint32_t value = s->offset;

        literals_sum += s->literals;
        matches_sum += s->match;
        if (value > 3) {
            h.offsets[2] = h.offsets[1];
            h.offsets[1] = h.offsets[0];
            h.offsets[0] = value - 3;
            good &= value - 3 <= window;
        } else if (value != VALUE_SAME) {
            good &= zstd_offset_use(&h, value, s->literals == 0) != 0;
        }
        s->offset = h.offsets[0];
    }
    *history = h;
    *literals = literals_sum;
    *matches = matches_sum;
    return good;
}

/* Begins at the end of the stream: where the first states are. */
static bool begin_stream(struct decoding *d, const struct zstd_tables *t)
{
    static const enum zstd_part order[ZSTD_PARTS] = {ZSTD_LITERAL_LENGTH, ZSTD_OFFSET,
                                                     ZSTD_MATCH_LENGTH};
    struct zstd_backward r;

    if (!zstd_backward_begin(&r, d->bits, d->size))
        return false;
    for (unsigned i = 0; i < ZSTD_PARTS; i++)
        d->states[order[i]] = zstd_backward_bits(&r, log_of(&t->parts[order[i]]));
    d->position = r.left;
    return r.left >= 0;
}

bool zstd_sequences_decode(struct zstd_sequences_decoder *decoder, const unsigned char *b,
                           size_t size, const struct zstd_block_parts *parts,
                           const struct zstd_tables *t, size_t most, uint64_t window,
                           struct zstd_sequence *sequences, struct zstd_sequences *result)
{
    struct decoding d = {.decoder = decoder,
                         .bits = b + parts->stream,
                         .size = size - parts->stream,
                         .left = parts->sequences,
                         .room = 2 * (uint64_t)most,
                         .out = sequences};
    uint64_t literals = 0, matches = 0;

    zstd_history_symbols(&result->history);
    if ((uint64_t)parts->sequences * ZSTD_MATCH_MIN > most)
        return false;
    if (parts->sequences > 0) {
        for (unsigned part = 0; part < ZSTD_PARTS; part++) {
            if (decoder->numbers[part] != t->parts[part].number)
                build(decoder->tables[part], (enum zstd_part)part, &t->parts[part]);
            decoder->numbers[part] = t->parts[part].number;
        }
        /* The first ones lie at the end of the block, behind which nothing may be read. */
        if (!begin_stream(&d, t) || !decode_body(&d, 8 * ((int64_t)d.size - 8), false, false) ||
            !decode_most(&d) || !decode_body(&d, -1, true, false) || d.left > 0 || d.position != 0)
            return false;
    }
    result->count = (uint32_t)(d.out - sequences);
    if (!use_values(sequences, result->count, window, &result->history, &literals, &matches) ||
        literals > parts->literals.size || matches + parts->literals.size > most)
        return false;
    result->literals = (uint32_t)literals;
    result->content = (uint32_t)matches + parts->literals.size;
    return true;
}
