#include "config.h"

#include "source/foreign_text.h"

#include <string.h>

/* Bytes that are looked at. */
#define TEXT_MAX ((size_t)1024)

/*
 * The odds. Of raw elements, the bytes with sign and exponent may well be those of characters, all
 * of them: 0.125 to 0.65 as f16 begin with a digit. Of the other bytes, those of the fraction, the
 * last at least is as good as random. It is one of the 31 characters that lists of numbers are
 * written with by a chance of 2^-3, one of ASCII text by 2^-1.3, and goes into UTF-8 by 2^-1 at
 * most. So it is counted how many different elements there are, and each must be text by chance:
 * the first with all bytes of its fraction, the others, since neighbours may be alike, with their
 * last bytes. Constant data are one element, and no text, whatever they are.
 *
 * In tenths of bits, as is what follows.
 */
#define NUMERIC_BITS 30
#define ASCII_BITS 13
#define UTF8_BITS 10
#define ENOUGH_BITS 330

/* A text ends with a newline. As the last byte, which has sign and exponent, of anything but an f16
   that is a number of 1e-33 or less, as next to none of a file's numbers are. And raw data end with
   a whole element. */
#define END_BITS 220

static bool numeric(unsigned char c)
{
    return c != 0 && strchr("0123456789+-.eE,;|:\t\r\n naifNAIF", c) != NULL;
}

/* The bytes of the character of UTF-8 at p, of `left`; 0 where there is none that text has. One
   that is cut off by the end of what is known counts as whole. */
static size_t character(const unsigned char *p, size_t left)
{
    size_t length = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc2 ? 2 : 1;

    if (*p < 0x80)
        return (*p >= 0x20 && *p != 0x7f) || (*p >= '\t' && *p <= '\r' && *p != '\v');
    if (length == 1 || *p > 0xf4)
        return 0;
    for (size_t i = 1; i < length && i < left; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return length < left ? length : left;
}

/* How many different elements the text would be, counted up to `most`. */
static size_t count_different(const unsigned char *bytes, size_t size, size_t element, size_t most)
{
    size_t count = 0;

    for (size_t i = 0; i + element <= size && count < most; i += element) {
        size_t j = 0;

        while (j < i && memcmp(bytes + i, bytes + j, element) != 0)
            j += element;
        count += j == i;
    }
    return count;
}

/* Whether all bytes of elements take part, which are of 2 bytes: their first bytes are text by
   chance where the numbers are of like size, and then the others may be so, too. */
static bool varied(const unsigned char *bytes, size_t size)
{
    for (size_t column = 0; column < 2; column++) {
        bool seen[256] = {false};
        unsigned different = 0;

        for (size_t i = column; i < size; i += 2) {
            different += !seen[bytes[i]];
            seen[bytes[i]] = true;
        }
        if (different < 8)
            return false;
    }
    return true;
}

/* Whether raw elements would hardly be these characters, each byte with odds of 2^-(bits / 10). */
static bool no_chance(const struct foreign_input *in, size_t size, int bits)
{
    const struct element_format *format = &element_formats[in->type];
    int first = bits * (format->significant_bits - 1) / 8;
    int last = first < bits ? first : bits; /* of bf16, the last byte has 7 bits of the fraction */
    int different = (int)count_different(in->bytes, size, format->size, ENOUGH_BITS / 5);
    int total = first + last * (different - 1);

    if (different < 2 || (format->size == 2 && !varied(in->bytes, size)))
        return false;
    if (in->ends && size == in->size &&
        (size % format->size != 0 ||
         (in->bytes[size - 1] == '\n' && in->type != ELEMENT_F16 && !in->big_endian)))
        total += END_BITS;
    return total >= ENOUGH_BITS;
}

static size_t looked_at(const struct foreign_input *in)
{
    return in->size < TEXT_MAX ? in->size : TEXT_MAX;
}

bool foreign_text_numbers(const struct foreign_input *in)
{
    size_t size = looked_at(in), digits = 0;

    for (size_t i = 0; i < size; i++) {
        if (!numeric(in->bytes[i]))
            return false;
        digits += in->bytes[i] >= '0' && in->bytes[i] <= '9';
    }
    return digits >= size / 8 && no_chance(in, size, NUMERIC_BITS);
}

/* Whether all that is looked at, from `from` on, is text. *bits: the odds of each byte. */
static bool all_text(const struct foreign_input *in, size_t from, int *bits)
{
    size_t size = looked_at(in), step;

    *bits = ASCII_BITS;
    for (size_t i = from; i < size; i += step) {
        step = character(in->bytes + i, in->size - i);
        if (step == 0)
            return false;
        if (in->bytes[i] >= 0x80)
            *bits = UTF8_BITS;
    }
    return true;
}

bool foreign_text(const struct foreign_input *in)
{
    size_t size = looked_at(in), from = 0;
    int bits;

    if (size >= 3 && memcmp(in->bytes, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        from = 3;
    return all_text(in, from, &bits) && no_chance(in, size, bits);
}

bool foreign_text_json(const struct foreign_input *in)
{
    size_t size = looked_at(in), i = 0;
    int bits;

    while (i < size && in->bytes[i] != 0 && strchr(" \t\r\n", in->bytes[i]))
        i++;
    return i < size && (in->bytes[i] == '{' || in->bytes[i] == '[') && all_text(in, i, &bits) &&
           no_chance(in, size, bits);
}
