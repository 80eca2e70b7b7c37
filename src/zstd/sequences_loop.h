/*
 * The loop that decodes nearly all sequences: a template for sequences.c, which includes it once
 * for each instruction set, with
 *
 *     LOOP_NAME                its name
 *     LOOP_TARGET              the attribute of functions for that set
 *     LOOP_LOW_BITS(word, n)   the lowest bits of a word, as many as the lowest 8 bits of n say, up
 *                              to 63
 *
 * It decodes all but the last one, as long as eight bytes may be read wherever the numbers of a
 * sequence begin, and these fit in what one load has. Nothing here depends on what the numbers
 * mean, so several sequences are worked on at a time. False where a sequence is refused.
 */
static LOOP_TARGET bool LOOP_NAME(struct decoding *d)
{
    const zstd_sequence_state *const tables = d->decoder->tables[0];
    const unsigned char *const bytes = d->stream.bytes;
    size_t length_state = d->states[ZSTD_LITERAL_LENGTH], offset_state = d->states[ZSTD_OFFSET],
           match_state = d->states[ZSTD_MATCH_LENGTH];
    struct zstd_sequence *out = d->out;
    int64_t left = d->stream.left;
    uint32_t more = d->left;
    bool good = true;

    /* The first ones lie at the end of the block, after which nothing may be read. */
    while (more > 1 && left <= d->inside) {
        const zstd_sequence_state length = tables[length_state];
        const zstd_sequence_state offset =
            tables[((size_t)ZSTD_OFFSET << ZSTD_TABLE_LOG_MAX) + offset_state];
        const zstd_sequence_state match =
            tables[((size_t)ZSTD_MATCH_LENGTH << ZSTD_TABLE_LOG_MAX) + match_state];
        const uint64_t sum = length + offset + match;
        const unsigned taken = bits_of(sum) + next_bits_of(sum);
        uint32_t value, literals, match_length;
        uint64_t word;

        if (__builtin_expect(taken > 57 || left < (int64_t)taken, 0))
            break;
        left -= taken;
        more--;
        word = zstd_load64(bytes + (left >> 3)) >> (left & 7);
        offset_state = next_of(offset) + LOOP_LOW_BITS(word, offset >> 8);
        word >>= offset >> 8 & 63;
        match_state = next_of(match) + LOOP_LOW_BITS(word, match >> 8);
        word >>= match >> 8 & 63;
        length_state = next_of(length) + LOOP_LOW_BITS(word, length >> 8);
        word >>= length >> 8 & 63;
        literals = base_of(length) + (uint32_t)LOOP_LOW_BITS(word, length);
        word >>= length & 63;
        match_length = base_of(match) + (uint32_t)LOOP_LOW_BITS(word, match);
        word >>= match & 63;
        value = base_of(offset) + (uint32_t)LOOP_LOW_BITS(word, offset);
        if (__builtin_expect((literals | match_length) > UINT16_MAX, 0)) {
            good = write_pieces(d, &out, value, literals, match_length);
            if (!good)
                break;
        } else {
            *out++ = (struct zstd_sequence){value, (uint16_t)literals, (uint16_t)match_length};
        }
    }
    d->states[ZSTD_LITERAL_LENGTH] = (uint32_t)length_state;
    d->states[ZSTD_OFFSET] = (uint32_t)offset_state;
    d->states[ZSTD_MATCH_LENGTH] = (uint32_t)match_state;
    d->stream.left = left;
    d->left = more;
    d->out = out;
    return good;
}

#undef LOOP_NAME
#undef LOOP_TARGET
#undef LOOP_LOW_BITS
