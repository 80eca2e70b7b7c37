#include "config.h"

#include "zstd/execute.h"

#include <string.h>

#if defined __x86_64__
#    include <immintrin.h>
#endif

#include "sys/inline.h"
#include "sys/processor.h"

/* Bytes copied at a time. */
#define STEP ((size_t)16)

/* Copies a step: all of it is read before any is written. */
static inline void copy_step(unsigned char *to, const unsigned char *from)
{
    unsigned char step[STEP];

    memcpy(step, from, STEP);
    memcpy(to, step, STEP);
}

/* Copies whole steps, up to STEP - 1 bytes more than `size`; what is read in a step is not what is
   written in it. */
static inline void copy_steps(unsigned char *to, const unsigned char *from, size_t size)
{
    copy_step(to, from);
    for (size_t i = STEP; __builtin_expect(i < size, 0); i += STEP)
        copy_step(to + i, from + i);
}

/* Copies a match that begins less than a step before: it repeats itself. Each round doubles what is
   known to repeat. Writes up to STEP - 1 bytes more. */
static inline void repeat_steps(unsigned char *to, size_t offset, size_t size)
{
    const unsigned char *from = to - offset;
    unsigned char *end = to + size;

    while ((size_t)(to - from) < STEP) {
        size_t known = (size_t)(to - from);

        copy_step(to, from);
        to += known;
        if (to >= end)
            return;
    }
    copy_steps(to, from, (size_t)(end - to));
}

/* Copies a match, and not a byte more. */
static void copy_match(unsigned char *to, const unsigned char *from, size_t size)
{
    while (size > (size_t)(to - from)) {
        const size_t known = (size_t)(to - from);

        memcpy(to, from, known);
        to += known;
        size -= known;
    }
    memcpy(to, from, size);
}

/* Copies a match whose beginning lies in the older content, `back` bytes before the run. */
static void copy_older(const struct zstd_place *place, unsigned char *to, size_t back, size_t size)
{
    size_t first = back < size ? back : size;

    memcpy(to, place->older_end - back, first);
    if (size > first)
        copy_match(to + first, place->run, size - first);
}

/* Copies a match that is not close by: whose offset is a symbol, or reaches the older content; or
   that must be exact. False where there is no such match. */
static bool copy_any(const struct zstd_place *place, unsigned char *to, uint32_t offset,
                     size_t size, const struct zstd_history *before, uint64_t window)
{
    const size_t near = (size_t)(to - place->run);

    offset = zstd_offset_resolve(offset, before);
    if (offset == 0 || offset > window || (offset > near && offset - near > place->older))
        return false;
    if (offset > near)
        copy_older(place, to, offset - near, size);
    else
        copy_match(to, to - offset, size);
    return true;
}

void zstd_place_literals(unsigned char *out, uint32_t content, const unsigned char *literals,
                         uint32_t literals_size, const struct zstd_sequence *sequences,
                         uint32_t count)
{
    unsigned char *const end = out + content;
    const unsigned char *const literals_end = literals + literals_size;

    for (uint32_t i = 0; i < count; i++) {
        memcpy(out, literals, sequences[i].literals);
        literals += sequences[i].literals;
        out += (size_t)sequences[i].literals + sequences[i].match;
    }
    memcpy(end - (literals_end - literals), literals, (size_t)(literals_end - literals));
}

/* The matches alone. */
static bool execute_matches(const struct zstd_place *place, const struct zstd_sequence *sequences,
                            uint32_t count, const struct zstd_history *before, uint64_t window)
{
    unsigned char *out = place->out;

    for (uint32_t i = 0; i < count; i++) {
        const struct zstd_sequence s = sequences[i];

        out += s.literals;
        if (s.match > 0 && !copy_any(place, out, s.offset, s.match, before, window))
            return false;
        out += s.match;
    }
    return true;
}

/* A block whose sequences hold so many bytes each has long matches: a processor cannot predict in how
   many steps they are copied, nor whether they repeat themselves. */
#define LONG_SEQUENCE 16

/* Bytes of a long match that are copied whatever its size. */
#define LONG_BYTES (3 * STEP)

/* Bytes of the block that come after all sequences but the last ones, whose copies may be longer. */
#define ROOM 64

/* Copies a match that lies in the run. May write up to ROOM - 1 bytes more. */
typedef void copy_near(unsigned char *to, size_t offset, size_t size);

static inline void copy_short(unsigned char *to, size_t offset, size_t size)
{
    if (offset >= STEP)
        copy_steps(to, to - offset, size);
    else
        repeat_steps(to, offset, size);
}

/* A block under way. */
struct execution {
    const struct zstd_place *place;
    const struct zstd_history *before;
    uint64_t window;
    size_t mean;       /* bytes of content to a sequence */
    bool few_literals; /* less than a byte to four sequences */
    unsigned char *out;
    const unsigned char *literals;
};

/* The beginning of a match is fetched so many sequences before it is copied: most matches lie outside
   the level-1 cache. */
#define AHEAD 32

/* The bytes of a short sequence, for AHEAD. A constant makes the loop faster. */
#define SHORT_MEAN 8

/* Carries out sequences after which the block holds ROOM bytes or more. `mean`: about as many bytes as a
   sequence holds. */
static ALWAYS_INLINE bool execute_body(struct execution *x, const struct zstd_sequence *sequences,
                                       uint32_t count, size_t mean, copy_near *copy)
{
    const unsigned char *const run = x->place->run, *literals = x->literals;
    unsigned char *out = x->out;

    for (uint32_t i = 0; i < count; i++) {
        const struct zstd_sequence s = sequences[i];
        const uint32_t later = i + AHEAD < count ? i + AHEAD : i;
        unsigned char *const to = out + s.literals;

        __builtin_prefetch(to + AHEAD * mean - sequences[later].offset);
        copy_steps(out, literals, s.literals);
        if (s.offset <= (size_t)(to - run))
            copy(to, s.offset, s.match);
        else if (s.match > 0 && !copy_any(x->place, to, s.offset, s.match, x->before, x->window))
            return false;
        literals += s.literals;
        out = to + s.match;
    }
    x->literals = literals;
    x->out = out;
    return true;
}

static bool execute_short(struct execution *x, const struct zstd_sequence *sequences,
                          uint32_t count)
{
    return execute_body(x, sequences, count, SHORT_MEAN, copy_short);
}

#if defined __x86_64__
/* An offset below a step has its bytes in this order in the first step, and repeats itself after a
   multiple that is a step or more. */
#    define ORDER(n)                                                                            \
        {                                                                                       \
            0, 1 % (n), 2 % (n), 3 % (n), 4 % (n), 5 % (n), 6 % (n), 7 % (n), 8 % (n), 9 % (n), \
                10 % (n), 11 % (n), 12 % (n), 13 % (n), 14 % (n), 15 % (n)                      \
        }
static const unsigned char orders[STEP][STEP] = {
    ORDER(1), ORDER(2),  ORDER(3),  ORDER(4),  ORDER(5),  ORDER(6),  ORDER(7),  ORDER(8),
    ORDER(9), ORDER(10), ORDER(11), ORDER(12), ORDER(13), ORDER(14), ORDER(15), ORDER(16)};
static const unsigned char multiples[STEP] = {16, 16, 18, 16, 20, 18, 21, 16,
                                              18, 20, 22, 24, 26, 28, 30, 16};

#    define SSSE3 __attribute__((target("ssse3")))

static inline SSSE3 void copy_long(unsigned char *to, size_t offset, size_t size)
{
    const size_t place = offset < STEP ? offset - 1 : STEP - 1;
    const unsigned char *from = to - (offset < STEP ? multiples[place] : offset);

    _mm_storeu_si128(
        (__m128i *)(void *)to,
        _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(to - offset)),
                         _mm_loadu_si128((const __m128i *)(const void *)orders[place])));
    for (size_t i = STEP; i < LONG_BYTES; i += STEP)
        copy_step(to + i, from + i);
    if (size > LONG_BYTES)
        copy_steps(to + LONG_BYTES, from + LONG_BYTES, size - LONG_BYTES);
}

static SSSE3 bool execute_long(struct execution *x, const struct zstd_sequence *sequences,
                               uint32_t count)
{
    return execute_body(x, sequences, count, x->mean, copy_long);
}

/*
 * With VBMI of AVX-512 the last 64 bytes of content stay in a register: a processor that reads bytes which it
 * has just written, by stores that do not hold all of them, waits until they are in the cache.
 */
#    define WIDE 64
#    define VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))

/* Row n: which of the last 64 bytes a match of this offset repeats, byte by byte. */
#    define FROM(n, i) (WIDE - (n) + (i) % (n))
#    define FROM8(n, i)                                                                     \
        FROM(n, i), FROM(n, (i) + 1), FROM(n, (i) + 2), FROM(n, (i) + 3), FROM(n, (i) + 4), \
            FROM(n, (i) + 5), FROM(n, (i) + 6), FROM(n, (i) + 7)
#    define ROW(n)                                                                            \
        {                                                                                     \
            FROM8(n, 0), FROM8(n, 8), FROM8(n, 16), FROM8(n, 24), FROM8(n, 32), FROM8(n, 40), \
                FROM8(n, 48), FROM8(n, 56)                                                    \
        }
#    define ROW8(n)                                                                   \
        ROW(n), ROW((n) + 1), ROW((n) + 2), ROW((n) + 3), ROW((n) + 4), ROW((n) + 5), \
            ROW((n) + 6), ROW((n) + 7)
static const _Alignas(WIDE) unsigned char repeated[WIDE][WIDE] = {
    {0},     ROW(1),   ROW(2),   ROW(3),   ROW(4),   ROW(5),   ROW(6),  ROW(7),
    ROW8(8), ROW8(16), ROW8(24), ROW8(32), ROW8(40), ROW8(48), ROW8(56)};

/* The 64 bytes in front of `out`; those before the run are 0. */
static inline VBMI __m512i last_of(const unsigned char *run, const unsigned char *out)
{
    const size_t known = (size_t)(out - run);
    __mmask64 mask = ~(__mmask64)0;

    if (known < WIDE)
        mask = known > 0 ? mask << (WIDE - known) : 0;
    return _mm512_maskz_loadu_epi8(mask, out - WIDE);
}

/* The last 64 bytes of `last` and `count` bytes of `next`, 64 at most. */
static inline VBMI __m512i append(__m512i last, __m512i next, size_t count)
{
    const __m512i numbers = _mm512_set_epi64(
        0x3f3e3d3c3b3a3938, 0x3736353433323130, 0x2f2e2d2c2b2a2928, 0x2726252423222120,
        0x1f1e1d1c1b1a1918, 0x1716151413121110, 0x0f0e0d0c0b0a0908, 0x0706050403020100);

    return _mm512_permutex2var_epi8(last, _mm512_add_epi8(numbers, _mm512_set1_epi8((char)count)),
                                    next);
}

/* The first 64 bytes of a match at `to`. Whether it is near cannot be predicted, so no branch depends on it;
   nor is what lies before `to` read then. */
static inline VBMI __m512i match_of(__m512i last, const unsigned char *to, size_t offset)
{
    const unsigned char *const row = repeated[offset % WIDE];
    uint64_t near = 0 - (uint64_t)(offset < WIDE);
    uintptr_t from;

    __asm__("" : "+r"(near)); /* or compilers make branches */
    from = ((uintptr_t)row & near) | ((uintptr_t)(to - offset) & ~near);
    return _mm512_mask_permutexvar_epi8(_mm512_loadu_si512((const void *)from), near,
                                        _mm512_load_si512(row), last);
}

static VBMI bool execute_wide(struct execution *x, const struct zstd_sequence *sequences,
                              uint32_t count)
{
    const unsigned char *const run = x->place->run, *literals = x->literals;
    unsigned char *out = x->out;
    __m512i last = last_of(run, out);

    for (uint32_t i = 0; i < count; i++) {
        const struct zstd_sequence s = sequences[i];
        const uint32_t later = i + AHEAD < count ? i + AHEAD : i;
        unsigned char *const to = out + s.literals;

        __builtin_prefetch(to + AHEAD * x->mean - sequences[later].offset);
        out = to + s.match;
        if (__builtin_expect(s.offset <= (size_t)(to - run) && s.literals <= WIDE, 1)) {
            unsigned char *at = to;
            __m512i next;

            if (s.literals > 0) {
                next = _mm512_loadu_si512(literals);
                _mm512_storeu_si512(to - s.literals, next);
                last = append(last, next, s.literals);
            }
            next = match_of(last, to, s.offset);
            _mm512_storeu_si512(at, next);
            if (s.match > WIDE) {
                /* The least multiple of the offset that is 64 or more. */
                const size_t back = (size_t)((WIDE + s.offset - 1) / s.offset) * s.offset;

                do {
                    at += WIDE;
                    last = next;
                    next = _mm512_loadu_si512(at - back);
                    _mm512_storeu_si512(at, next);
                } while (out - at > WIDE);
            }
            last = append(last, next, (size_t)(out - at));
        } else {
            copy_steps(to - s.literals, literals, s.literals);
            if (s.match > 0 && !copy_any(x->place, to, s.offset, s.match, x->before, x->window))
                return false;
            last = last_of(run, out);
        }
        literals += s.literals;
    }
    x->literals = literals;
    x->out = out;
    return true;
}
#endif

/* Sequences by the faster loop. */
static bool execute(struct execution *x, const struct zstd_sequence *sequences, uint32_t count)
{
#if defined __x86_64__
    if (x->mean >= LONG_SEQUENCE && x->few_literals &&
        processor_has_vbmi2()) /* which is newer than VBMI */
        return execute_wide(x, sequences, count);
    if (x->mean >= LONG_SEQUENCE && processor_has_bmi2()) /* which is newer than SSSE3 */
        return execute_long(x, sequences, count);
#endif
    return execute_short(x, sequences, count);
}

/* How many sequences have ROOM bytes or more of the block after them. */
static uint32_t inside(const struct zstd_sequence *sequences, uint32_t count)
{
    size_t after = 0;

    while (count > 0 && after < ROOM) {
        count--;
        after += (size_t)sequences[count].literals + sequences[count].match;
    }
    return count;
}

bool zstd_execute(const struct zstd_place *place, uint32_t content, const unsigned char *literals,
                  uint32_t literals_size, const struct zstd_sequence *sequences, uint32_t count,
                  const struct zstd_history *before, uint64_t window, bool placed)
{
    const unsigned char *const literals_end = literals + literals_size;
    const uint32_t most = inside(sequences, count);
    struct execution x = {.place = place,
                          .before = before,
                          .window = window,
                          .mean = count > 0 ? content / count : 0,
                          .few_literals = literals_size < count / 4,
                          .out = place->out,
                          .literals = literals};

    if (placed)
        return execute_matches(place, sequences, count, before, window);
    if (!execute(&x, sequences, most))
        return false;
    /* Other blocks may lie after the last ones. */
    for (uint32_t i = most; i < count; i++) {
        const struct zstd_sequence s = sequences[i];

        memcpy(x.out, x.literals, s.literals);
        x.literals += s.literals;
        x.out += s.literals;
        if (s.match > 0 && !copy_any(place, x.out, s.offset, s.match, before, window))
            return false;
        x.out += s.match;
    }
    memcpy(x.out, x.literals, (size_t)(literals_end - x.literals));
    return true;
}
