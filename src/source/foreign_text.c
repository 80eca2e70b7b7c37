/*
 * Text, told from raw numbers by how likely its bytes are in either.
 */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "source/foreign_bytes.h"
#include "source/foreign_tables.h"
#include "source/text_table.h"

/* Bytes that are looked at. */
#define TEXT_MAX ((size_t)1024)

/*
 * The odds. All that is looked at has to be text to begin with. Then it is asked how much likelier
 * each byte is in text than among random ones: a letter e is 11 times as likely, 3.5 bits. Bytes
 * that are random reach a sum of n bits by a chance of 2^-n at most, whatever frequencies of
 * characters are taken for those of text (Markov's inequality of the ratio of likelihoods).
 *
 * Of raw elements, only the bytes of the fraction are as good as random. Sign and exponent may well
 * be those of characters, all of them: positive numbers around 1 begin with a question mark. And
 * neighbours may be alike, or in steps of the same size. So these count:
 *
 * - of the last byte of the fraction, each value once, and few values where there are few
 *   differences between neighbours;
 * - of the other bytes, the same, but only of elements whose sign and exponent did not occur
 * before.
 *
 * What repeats itself is thus counted once, and constant data as one element. 33 bits are needed;
 * four floats with random fractions are text by a chance of 2^-33, too.
 *
 * In tenths of bits, as is what follows.
 */
#define ENOUGH_BITS 330

/* Of little-endian elements, one has a newline, or a carriage return before one, where sign and
   exponent are: of f32, f64 and bf16, that is a number of 1e-30 or less and no subnormal, as next
   to none of a file's numbers are. Even fewer are where lines of numbers begin and end. */
#define NEWLINE_BITS 230
#define TABLE_BITS 300

/* Other lines of numbers stand below a heading. Their newlines lie elsewhere, and with few values
   they repeat themselves: as elements do that are tiles of each other, but these hardly begin with
   others. */
#define HEADING_BITS 200
#define HEADING_LINES 16

/* As raw elements it would be refused anyway, since the last is cut off. */
#define TORN_BITS 300

/* The 23 bits of a byte order mark of UTF-8 in the fraction of an f32, less what it counts for as
   text. */
#define MARK_BITS 160

/* How characters are distributed: 10 log2(256 p) for the p of each. The sums of p are 1. */
enum model { MODEL_NUMBERS, MODEL_JSON, MODEL_PROSE, MODEL_EITHER, MODELS };

static int numbers_bits(unsigned char c)
{
    if (isdigit(c))
        return 41; /* 0.069 */
    switch (c) {
    case '.':
        return 43; /* 0.08 */
    case '\n':
        return 39; /* 0.06 */
    case ' ':
        return 36; /* 0.05 */
    case ',':
        return 33; /* 0.04 */
    case '\t':
    case '-':
        return 23; /* 0.02 */
    case ';':
        return 13; /* 0.01 */
    case '\r':
    case 'e':
    case 'E':
    case '+':
        return 3; /* 0.005 */
    case 'n':
    case 'a':
        return -6; /* 0.0025 */
    }
    return -45; /* 0.00017: others of numeric() */
}

static int json_bits(unsigned char c)
{
    if (isdigit(c))
        return 29; /* 0.03 */
    if (islower(c))
        return 15; /* 0.011 */
    switch (c) {
    case ' ':
        return 43; /* 0.08 */
    case '"':
        return 39; /* 0.06 */
    case ',':
        return 36; /* 0.05 */
    case ':':
        return 33; /* 0.04 */
    case '.':
        return 29; /* 0.03 */
    case '[':
    case ']':
    case '{':
    case '}':
    case '\n':
        return 23; /* 0.02 */
    case '_':
    case '-':
        return 13; /* 0.01 */
    }
    return -35; /* 0.00034 */
}

static int prose_bits(unsigned char c)
{
    if (c == ' ')
        return 51; /* 0.14 */
    if (c != 0 && strchr("etaoinsrh", c))
        return 35; /* 0.045 */
    if (islower(c))
        return 17; /* 0.0125 */
    if (isdigit(c))
        return 10; /* 0.008 */
    if (c == '\n')
        return 23; /* 0.02 */
    if (isupper(c) || c == '\t' || c == '\r')
        return -10; /* 0.002 */
    if (c != 0 && strchr(".,-_/:;()'\"=#", c))
        return -2; /* 0.0035 */
    return -30;    /* 0.0005 */
}

/* A byte above ASCII. In UTF-8: 0.05 for those that begin a character, and the next is one of 64.
   In Latin-1 and its kin: 0.02 for all. */
static int high_bits(unsigned char c, bool utf8)
{
    if (!utf8)
        return -46;
    return c < 0xc0 ? 20 : -24;
}

static int model_bits(enum model model, unsigned char c, bool utf8)
{
    if (c >= 0x80)
        return high_bits(c, utf8);
    switch (model) {
    case MODEL_NUMBERS:
        return numbers_bits(c);
    case MODEL_JSON:
        return json_bits(c);
    case MODEL_EITHER: /* numbers or prose, by even odds */
        return (numbers_bits(c) > prose_bits(c) ? numbers_bits(c) : prose_bits(c)) - 10;
    case MODEL_PROSE:
    case MODELS:
        break;
    }
    return prose_bits(c);
}

static bool numeric(unsigned char c)
{
    return c != 0 && strchr("0123456789+-.eE,;|:\t\r\n naifNAIF", c) != NULL;
}

static bool ascii_text(unsigned char c)
{
    return (c >= 0x20 && c < 0x7f) || (c >= '\t' && c <= '\r' && c != '\v');
}

/* The bytes of the character of UTF-8 at p, of `left`; 0 where there is none that text has. One
   that is cut off by the end of what is known counts as whole. */
static size_t character(const unsigned char *p, size_t left)
{
    size_t length = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc2 ? 2 : 1;

    if (*p < 0x80)
        return ascii_text(*p);
    if (length == 1 || *p > 0xf4)
        return 0;
    for (size_t i = 1; i < length && i < left; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return length < left ? length : left;
}

/* What has occurred in a byte of the elements' fraction. */
struct column {
    bool values[256], differences[256];
    unsigned counted, different; /* values that counted; differences there are */
    unsigned char last;
};

/* Whether a value counts: each one once, and two at most for a difference. */
static bool counts(struct column *column, unsigned char value, bool first)
{
    unsigned char difference = (unsigned char)(value - column->last);
    bool fresh = !column->values[value];

    if (!first && !column->differences[difference]) {
        column->differences[difference] = true;
        column->different++;
    }
    column->values[value] = true;
    column->last = value;
    return fresh && column->counted < 1 + 2 * column->different;
}

/* How much likelier the first `size` bytes are as text than as elements. `all`: also of elements
   whose sign and exponent occurred before, all bytes count. */
static int ratio(const struct foreign_input *in, size_t size, enum model model, bool utf8, bool all)
{
    const struct element_format *format = &element_formats[in->type];
    size_t element = format->size, columns = (size_t)(format->significant_bits + 6) / 8;
    struct column column[8] = {0};
    bool tops[256] = {false};
    int sum = 0;

    for (size_t i = 0; i + element <= size; i += element) {
        const unsigned char *p = in->bytes + i;
        unsigned char top = p[in->big_endian ? 0 : element - 1];
        bool new_top = all || !tops[top];

        tops[top] = true;
        for (size_t k = 0; k < columns && k + 1 < element; k++) {
            unsigned char c = p[in->big_endian ? element - 1 - k : k];
            int bits = format->significant_bits - 1 - 8 * (int)k; /* of the fraction */

            if ((k > 0 && !new_top) || !counts(&column[k], c, i == 0))
                continue;
            column[k].counted++;
            sum += model_bits(model, c, utf8) * (bits < 8 ? bits : 8) / 8;
        }
    }
    return sum;
}

/* Whether sign and exponent of a float are a newline, which they hardly are in numbers. */
static bool has_tiny(const struct foreign_input *in, size_t size)
{
    size_t element = element_formats[in->type].size;

    if (in->big_endian || in->type == ELEMENT_F16 || !element_is_float(in->type))
        return false;
    for (size_t i = element - 1; i < size; i += element)
        if (in->bytes[i] == '\n' ||
            (in->bytes[i] == '\r' && i + 1 < in->size && in->bytes[i + 1] == '\n'))
            return true;
    return false;
}

/* Whether elements of 2 bytes are too much alike to tell: their first bytes are text by chance
   where the numbers are of like size, and then the others may be so, too. */
static bool alike(const struct foreign_input *in, size_t size)
{
    if (in->type != ELEMENT_F16 && !in->big_endian && has_tiny(in, size))
        return false;
    for (size_t column = 0; column < 2; column++) {
        bool seen[256] = {false};
        unsigned different = 0;

        for (size_t i = column; i < size; i += 2) {
            different += !seen[in->bytes[i]];
            seen[in->bytes[i]] = true;
        }
        if (different < 8)
            return true;
    }
    return false;
}

static size_t looked_at(const struct foreign_input *in)
{
    return in->size < TEXT_MAX ? in->size : TEXT_MAX;
}

static bool has_mark(const struct foreign_input *in)
{
    return BEGINS(in, 0, "\xef\xbb\xbf");
}

/* Whether raw elements would hardly be these characters. */
static bool no_chance(const struct foreign_input *in, enum model model, bool utf8)
{
    size_t size = looked_at(in), element = element_formats[in->type].size;
    struct text_table table;
    bool lines, below;
    int sum = 0, bits;

    if (element == 2 && !in->torn && alike(in, size))
        return false;
    lines = text_table_find(in->bytes, size, &table);
    below = lines && table.heading > 0 && table.lines >= HEADING_LINES;
    if (has_tiny(in, size))
        sum += lines ? TABLE_BITS : NEWLINE_BITS;
    else if (below && element > 2)
        sum += HEADING_BITS;
    if (in->torn)
        sum += TORN_BITS;
    if (has_mark(in))
        sum += MARK_BITS;
    bits = ratio(in, size, model, utf8, below);
    if (model == MODEL_NUMBERS) { /* or of the words nan and inf */
        int words = ratio(in, size, MODEL_PROSE, utf8, below);

        bits = words > bits ? words : bits;
    }
    return sum + bits >= ENOUGH_BITS;
}

/* Whether all that is looked at, from `from` on, is text. *utf8: in UTF-8, or else in Latin-1 or
   one of its kin, a quarter of it above ASCII at most. */
static bool all_text(const struct foreign_input *in, size_t from, bool *utf8)
{
    size_t size = looked_at(in), high = 0, step;

    *utf8 = true;
    for (size_t i = from; i < size && *utf8; i += step) {
        step = character(in->bytes + i, in->size - i);
        *utf8 = step != 0;
    }
    if (*utf8)
        return true;
    for (size_t i = from; i < size; i++) {
        if (in->bytes[i] < 0x80 && !ascii_text(in->bytes[i]))
            return false;
        high += in->bytes[i] >= 0x80;
    }
    return high <= (size - from) / 4;
}

static bool is_numbers(const struct foreign_input *in)
{
    size_t size = looked_at(in), digits = 0;
    struct text_table table;

    for (size_t i = 0; i < size; i++) {
        if (!numeric(in->bytes[i]))
            return false;
        digits += in->bytes[i] >= '0' && in->bytes[i] <= '9';
    }
    return (digits >= size / 8 || text_table_find(in->bytes, size, &table)) &&
           no_chance(in, MODEL_NUMBERS, true);
}

static bool is_text(const struct foreign_input *in)
{
    bool utf8;

    return all_text(in, has_mark(in) ? 3 : 0, &utf8) && no_chance(in, MODEL_PROSE, utf8);
}

/* Lines of numbers below a heading. */
static bool is_table(const struct foreign_input *in)
{
    struct text_table table;
    bool utf8;

    return all_text(in, has_mark(in) ? 3 : 0, &utf8) &&
           text_table_find(in->bytes, looked_at(in), &table) &&
           (no_chance(in, MODEL_EITHER, utf8) || no_chance(in, MODEL_PROSE, utf8));
}

static bool is_json(const struct foreign_input *in)
{
    size_t size = looked_at(in), i = 0;
    bool utf8;

    while (i < size && in->bytes[i] != 0 && strchr(" \t\r\n", in->bytes[i]))
        i++;
    return i < size && (in->bytes[i] == '{' || in->bytes[i] == '[') && all_text(in, i, &utf8) &&
           (no_chance(in, MODEL_JSON, utf8) || no_chance(in, MODEL_PROSE, utf8));
}

/* The code unit of `width` bytes at p. */
static uint64_t unit(const unsigned char *p, unsigned width, bool big)
{
    return big ? load_big(p, width) : load_little(p, width);
}

/* In UTF-16 or UTF-32: behind the mark, 16 bits or 32, three units at least, half of them or more
   of ASCII, each of 9 bits, and none that stands for nothing. */
static bool is_wide(const struct foreign_input *in)
{
    bool big = in->bytes[0] != 0xff;
    unsigned width =
        load_little(in->bytes, 4) == 0xfeff || load_big(in->bytes, 4) == 0xfeff ? 4 : 2;
    size_t size = looked_at(in), ascii = 0, units = 0;

    if (unit(in->bytes, width, big) != 0xfeff)
        return false;
    for (size_t i = width; i + width <= size; i += width, units++) {
        uint64_t u = unit(in->bytes + i, width, big);

        if ((u < 0x80 && !ascii_text((unsigned char)u)) || (u >= 0x80 && u < 0xa0) || u == 0xffff ||
            u > 0x10ffff)
            return false;
        ascii += u < 0x80;
    }
    return units >= 3 && ascii >= 3 && 2 * ascii >= units;
}

/* In UTF-16 without a mark: characters of ASCII, each with a zero where f32 and f64 have sign and
   exponent, in their byte order: all of them are subnormal, or f64 of 1e-300. In the other order,
   integers as f32 look so: the bytes of 8240 are those of "F0". Of the characters, both the first
   of two and the second must differ, or they may be steps of a unit in the last place. */
static bool is_unmarked(const struct foreign_input *in)
{
    size_t size = looked_at(in), zero = in->big_endian ? 0 : 1, different[2] = {0};
    bool seen[2][128] = {{false}};

    if (element_formats[in->type].size <= 2)
        return false;
    for (size_t i = 0; i + 1 < size; i += 2) {
        unsigned char c = in->bytes[i + 1 - zero];
        size_t place = i / 2 % 2;

        if (in->bytes[i + zero] != 0 || c >= 0x80 || !ascii_text(c))
            return false;
        different[place] += !seen[place][c];
        seen[place][c] = true;
    }
    return different[0] >= 3 && different[1] >= 3;
}

static bool is_html(const struct foreign_input *in)
{
    return BEGINS(in, 0, "<!DOCTYPE") || BEGINS(in, 0, "<!doctype") || BEGINS(in, 0, "<html") ||
           BEGINS(in, 0, "<HTML");
}

/* How NumPy or pandas reads a table. */
static void say_table(const struct foreign_input *in, char *said)
{
    struct text_table table;
    char separator[4] = "", rows[40] = "";

    if (!text_table_find(in->bytes, looked_at(in), &table))
        table = (struct text_table){.separator = ' '};
    snprintf(separator, sizeof separator, "%s%c", table.separator == '\t' ? "\\" : "",
             table.separator == '\t' ? 't' : table.separator);
    if (table.decimal_comma) {
        snprintf(rows, sizeof rows, "%zu", table.heading);
        snprintf(said, FOREIGN_DETAIL_MAX,
                 "pandas.read_csv('FILE', sep='%s', decimal=',', header=None, skiprows=%s)",
                 table.separator == ' ' ? "\\s+" : separator, rows);
        return;
    }
    if (table.heading > 0)
        snprintf(rows, sizeof rows, ", skiprows=%zu", table.heading);
    if (table.separator == ' ')
        snprintf(said, FOREIGN_DETAIL_MAX, "numpy.loadtxt('FILE'%s)", rows);
    else
        snprintf(said, FOREIGN_DETAIL_MAX, "numpy.loadtxt('FILE', delimiter='%s'%s)", separator,
                 rows);
}

#define TABLE_ADVICE "{} reads it, and numpy.save writes it as .npy"
#define WIDE_ADVICE                                                                                \
    "if it has columns of numbers, numpy.loadtxt with encoding='utf-16' reads it, and numpy.save " \
    "writes it as .npy"

static const struct foreign rows[] = {
    {.name = "an XML file", .advice = NO_NUMBERS, MAGIC("<?xml ")},
    {.name = "an HTML file", .advice = NO_NUMBERS, .least = 5, .also = is_html},
    {.name = "a JSON file",
     .advice = "json.load and numpy.save make a .npy of it",
     .least = 4,
     .also = is_json},
    {.name = "a text file of numbers",
     .advice = TABLE_ADVICE,
     .detail = say_table,
     .least = 4,
     .also = is_numbers},
    {.name = "a text file",
     .advice = TABLE_ADVICE,
     .detail = say_table,
     .least = 4,
     .also = is_table},
    {.name = "a text file",
     .advice = "if it has columns of numbers, numpy.loadtxt reads it, and numpy.save writes it as "
               ".npy",
     .least = 4,
     .also = is_text},
    {.name = "a text file in UTF-16 or UTF-32", .advice = WIDE_ADVICE, .least = 8, .also = is_wide},
    {.name = "a text file in UTF-16 or UTF-32",
     .advice = WIDE_ADVICE,
     .least = 16,
     .also = is_unmarked},
};

const struct foreign_table foreign_texts = {rows, sizeof rows / sizeof *rows};
