/*
 * The loops that decode nearly all sequences: a template for sequences.c, which includes it once
 * for each instruction set, with
 *
 *     LOOP_ONE, LOOP_TWO       the names of the functions: of one block, and of two
 *     LOOP_STEP                that of what they are made of
 *     LOOP_TARGET              the attribute of functions for that set
 *     LOOP_LOW_BITS(word, n)   the lowest bits of a word, as many as the lowest 8 bits of n say, up
 *                              to 63
 *
 * They stop before the last sequence, and before one whose numbers do not fit in what one load has
 * or whose lengths do not fit 16 bits. Each sequence tells where the next one begins, and that takes
 * longer than all else that is to be done: so two blocks take little more time than one.
 */

/* Decodes the next sequence; eight bytes may be read wherever its numbers begin. False where it
   stops before it. */
static inline __attribute__((always_inline)) LOOP_TARGET bool LOOP_STEP(struct decoding *d)
{
    const zstd_sequence_state length = state_now(d, ZSTD_LITERAL_LENGTH),
                              offset = state_now(d, ZSTD_OFFSET),
                              match = state_now(d, ZSTD_MATCH_LENGTH);
    const uint64_t sum = length + offset + match;
    const unsigned taken = bits_of(sum) + next_bits_of(sum);
    const int64_t left = d->stream.left - (int64_t)taken;
    uint32_t next_offset, next_match, next_length, value, literals, match_length;
    uint64_t word;

    if (__builtin_expect(taken > 57 || left < 0, 0))
        return false;
    word = zstd_load64(d->stream.bytes + (left >> 3)) >> (left & 7);
    next_offset = next_of(offset) + (uint32_t)LOOP_LOW_BITS(word, offset >> 8);
    word >>= offset >> 8 & 63;
    next_match = next_of(match) + (uint32_t)LOOP_LOW_BITS(word, match >> 8);
    word >>= match >> 8 & 63;
    next_length = next_of(length) + (uint32_t)LOOP_LOW_BITS(word, length >> 8);
    word >>= length >> 8 & 63;
    literals = base_of(length) + (uint32_t)LOOP_LOW_BITS(word, length);
    word >>= length & 63;
    match_length = base_of(match) + (uint32_t)LOOP_LOW_BITS(word, match);
    word >>= match & 63;
    value = base_of(offset) + (uint32_t)LOOP_LOW_BITS(word, offset);
    if (__builtin_expect((literals | match_length) > UINT16_MAX, 0))
        return false;
    *d->out++ = (struct zstd_sequence){value, (uint16_t)literals, (uint16_t)match_length};
    d->states[ZSTD_OFFSET] = next_offset;
    d->states[ZSTD_MATCH_LENGTH] = next_match;
    d->states[ZSTD_LITERAL_LENGTH] = next_length;
    d->stream.left = left;
    d->left--;
    return true;
}

static LOOP_TARGET void LOOP_ONE(struct decoding *one)
{
    struct decoding d = *one;

    while (d.left > 1 && LOOP_STEP(&d)) {
    }
    *one = d;
}

/* Until one of them stops. */
static LOOP_TARGET void LOOP_TWO(struct decoding *one, struct decoding *other)
{
    struct decoding a = *one, b = *other;

    for (uint32_t n = (a.left < b.left ? a.left : b.left) - 1; n > 0; n--)
        if (!LOOP_STEP(&a) || !LOOP_STEP(&b))
            break;
    *one = a;
    *other = b;
}

#undef LOOP_ONE
#undef LOOP_TWO
#undef LOOP_STEP
#undef LOOP_TARGET
#undef LOOP_LOW_BITS
