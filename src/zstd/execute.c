#include "config.h"

#include "zstd/execute.h"

#include <string.h>

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
    unsigned char *end = to + size;

    do {
        copy_step(to, from);
        to += STEP;
        from += STEP;
    } while (to < end);
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

bool zstd_execute(const struct zstd_place *place, uint32_t content, const unsigned char *literals,
                  uint32_t literals_size, const struct zstd_sequence *sequences, uint32_t count,
                  const struct zstd_history *before, uint64_t window, bool placed)
{
    unsigned char *out = place->out, *const end = out + content;
    const unsigned char *const run = place->run, *const literals_end = literals + literals_size;

    if (placed)
        return execute_matches(place, sequences, count, before, window);
    for (uint32_t i = 0; i < count; i++) {
        const struct zstd_sequence s = sequences[i];
        unsigned char *const to = out + s.literals;

        if ((size_t)(end - to) < s.match + 2 * STEP) {
            /* Near the end of the block, behind which others may lie. */
            memcpy(out, literals, s.literals);
            if (s.match > 0 && !copy_any(place, to, s.offset, s.match, before, window))
                return false;
        } else {
            copy_steps(out, literals, s.literals);
            if (s.offset > (size_t)(to - run)) {
                if (s.match > 0 && !copy_any(place, to, s.offset, s.match, before, window))
                    return false;
            } else if (s.offset >= STEP) {
                copy_steps(to, to - s.offset, s.match);
            } else {
                repeat_steps(to, s.offset, s.match);
            }
        }
        literals += s.literals;
        out = to + s.match;
    }
    memcpy(out, literals, (size_t)(literals_end - literals));
    return true;
}
