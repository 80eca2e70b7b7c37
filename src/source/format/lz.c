#include "config.h"

#include "source/format/lz.h"

#include <stdint.h>
#include <string.h>

#include "sys/bytes.h"
#include "sys/inline.h"

/* Bytes that are copied at a time where more than is asked for may be read and written. */
#define STEP 16

struct lz {
    const unsigned char *in, *in_end;
    unsigned char *begin, *out, *out_end;
};

static struct lz lz_of(const unsigned char *from, size_t size, unsigned char *to, size_t out)
{
    return (struct lz){
        .in = from, .in_end = from + size, .begin = to, .out = to, .out_end = to + out};
}

static inline size_t in_left(const struct lz *z)
{
    return (size_t)(z->in_end - z->in);
}

static inline size_t out_left(const struct lz *z)
{
    return (size_t)(z->out_end - z->out);
}

/* Bytes that are decoded. */
static inline size_t out_made(const struct lz *z)
{
    return (size_t)(z->out - z->begin);
}

static bool is_done(const struct lz *z)
{
    return z->in == z->in_end && z->out == z->out_end;
}

/* Copies bytes of the input. */
static ALWAYS_INLINE bool copy_literals(struct lz *z, size_t length)
{
    if (length > in_left(z) || length > out_left(z))
        return false;
    if (length <= STEP && in_left(z) >= STEP && out_left(z) >= STEP)
        memcpy(z->out, z->in, STEP);
    else
        memcpy(z->out, z->in, length);
    z->in += length;
    z->out += length;
    return true;
}

/* Repeats bytes that lie `distance` before, and may come to where they are repeated. */
static ALWAYS_INLINE bool copy_match(struct lz *z, size_t distance, size_t length)
{
    const unsigned char *from = z->out - distance;
    unsigned char *to = z->out, *const end = to + length;

    if (distance == 0 || distance > out_made(z) || length > out_left(z))
        return false;
    z->out = end;
    if (distance == 1) {
        memset(to, *from, length);
        return true;
    }
    if ((size_t)(z->out_end - end) >= STEP) {
        /* The most bytes up to 8 that are a multiple of the distance. */
        static const unsigned char periods[8] = {0, 8, 8, 6, 8, 5, 6, 7};

        if (distance >= STEP) {
            for (; to < end; to += STEP, from += STEP)
                memcpy(to, from, STEP);
        } else if (distance >= 8) {
            for (; to < end; to += 8, from += 8)
                memcpy(to, from, 8);
        } else {
            uint64_t pattern;

            for (size_t i = 0; i < 8; i++) /* these may be bytes that it has written */
                to[i] = from[i];
            memcpy(&pattern, to, sizeof pattern);
            for (; to < end; to += periods[distance])
                memcpy(to, &pattern, sizeof pattern);
        }
        return true;
    }
    while (length > distance) { /* what has been copied is a part of the next copy */
        memcpy(to, from, distance);
        to += distance;
        length -= distance;
        distance *= 2;
    }
    memcpy(to, from, length);
    return true;
}

/* The next number of so many bytes, the least significant first. */
static ALWAYS_INLINE bool take(struct lz *z, size_t bytes, size_t *number)
{
    if (bytes > in_left(z))
        return false;
    *number = (size_t)bytes_number(z->in, bytes, false);
    z->in += bytes;
    return true;
}

/* Adds bytes to a length that does not fit in its field: all up to one that is less than 255. */
static ALWAYS_INLINE bool lengthen(struct lz *z, size_t *length)
{
    size_t more = 255;

    while (more == 255) {
        if (!take(z, 1, &more))
            return false;
        *length += more; /* at most 255 times the size of the input */
    }
    return true;
}

bool lz_decode_lz4(const unsigned char *from, size_t size, unsigned char *to, size_t out)
{
    struct lz z = lz_of(from, size, to, out);
    size_t token, length, distance;

    while (take(&z, 1, &token)) {
        length = token >> 4;
        if (length < 15 && in_left(&z) >= STEP + 2 && out_left(&z) >= (size_t)2 * STEP) {
            memcpy(z.out, z.in, STEP);
            z.in += length;
            z.out += length;
        } else if ((length == 15 && !lengthen(&z, &length)) || !copy_literals(&z, length)) {
            return false;
        }
        if (z.in == z.in_end) /* literals are last */
            break;
        if (!take(&z, 2, &distance))
            return false;
        length = token & 15;
        if (length < 15 && distance >= 8 && distance <= out_made(&z) && out_left(&z) >= 18) {
            const unsigned char *match = z.out - distance;

            memcpy(z.out, match, 8);
            memcpy(z.out + 8, match + 8, 8);
            memcpy(z.out + 16, match + 16, 2);
            z.out += length + 4;
        } else if ((length == 15 && !lengthen(&z, &length)) ||
                   !copy_match(&z, distance, length + 4)) {
            return false;
        }
    }
    return is_done(&z);
}

bool lz_decode_lzf(const unsigned char *from, size_t size, unsigned char *to, size_t out)
{
    struct lz z = lz_of(from, size, to, out);
    size_t token, length, distance;

    while (take(&z, 1, &token)) {
        if (token < 32) {
            if (!copy_literals(&z, token + 1))
                return false;
            continue;
        }
        length = token >> 5;
        if (length == 7) {
            if (!take(&z, 1, &length))
                return false;
            length += 7;
        }
        if (!take(&z, 1, &distance) ||
            !copy_match(&z, ((token & 31) << 8 | distance) + 1, length + 2))
            return false;
    }
    return is_done(&z);
}

bool lz_decode_blosclz(const unsigned char *from, size_t size, unsigned char *to, size_t out)
{
    /* Distances from here on have two more bytes. */
    const size_t far = (31 << 8 | 255) + 1;
    struct lz z = lz_of(from, size, to, out);
    size_t token, length, distance;
    bool first = true;

    while (take(&z, 1, &token)) {
        if (first) /* it is literals, and its upper bits are others' */
            token &= 31;
        first = false;
        if (token < 32) {
            if (!copy_literals(&z, token + 1))
                return false;
            continue;
        }
        length = token >> 5;
        if ((length == 7 && !lengthen(&z, &length)) || !take(&z, 1, &distance))
            return false;
        distance += ((token & 31) << 8) + 1;
        if (distance == far) {
            const unsigned char *more = z.in;

            if (!take(&z, 2, &distance))
                return false;
            distance = (size_t)bytes_number(more, 2, true) + far;
        }
        if (!copy_match(&z, distance, length + 2))
            return false;
    }
    return is_done(&z);
}

bool lz_decode_snappy(const unsigned char *from, size_t size, unsigned char *to, size_t out)
{
    struct lz z = lz_of(from, size, to, out);
    size_t token = 128, length = 0, distance;

    for (unsigned shift = 0; token >= 128; shift += 7) { /* of the content */
        if (shift > 28 || !take(&z, 1, &token))
            return false;
        length |= (token & 127) << shift;
    }
    if (length != out)
        return false;
    while (take(&z, 1, &token)) {
        const unsigned kind = token & 3;
        bool good;

        length = token >> 2;
        if (kind == 0) {
            good = (length < 60 || take(&z, length - 59, &length)) && copy_literals(&z, length + 1);
        } else if (kind == 1) {
            good = take(&z, 1, &distance) &&
                   copy_match(&z, (token >> 5) << 8 | distance, (length & 7) + 4);
        } else {
            good = take(&z, kind == 2 ? 2 : 4, &distance) && copy_match(&z, distance, length + 1);
        }
        if (!good)
            return false;
    }
    return is_done(&z);
}
