/*
 * Text, told from raw numbers by how likely its bytes are in either, and tables in it.
 */
#include "config.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

#include "core/number.h"
#include "source/format/unsupported_input.h"

/* Bytes that are looked at. */
#define TEXT_MAX ((size_t)1024)

/*
 * The odds. All that is looked at has to be text to begin with. Then it is asked how much likelier
 * each byte is in text than among random ones: a letter e is 11 times as likely, 3.5 bits. Bytes
 * that are random reach a sum of n bits by a chance of 2^-n at most, whatever frequencies of
 * characters are taken for those of text (Markov's inequality of the ratio of likelihoods).
 *
 * In raw elements only the bytes of the fraction are as good as random. Sign and exponent may well
 * be those of characters, all of them: positive numbers around 1 begin with a question mark. And
 * neighbours may be alike, or in steps of the same size. So these count:
 *
 * - of the last byte of the fraction, each value once, and few values where there are few
 *   differences between neighbours;
 * - of the other bytes, the same, but only of elements whose sign and exponent did not occur
 *   before.
 *
 * Repetitions are thus counted once, and constant data as one element. 33 bits are needed; four
 * floats with random fractions are text by a chance of 2^-33, too.
 *
 * This number and the following ones are in tenths of bits.
 */
#define ENOUGH_BITS 330

/* A little-endian element may have a newline, or a carriage return before one, where sign and
   exponent are: in f32, f64 and bf16 that is a number of 1e-30 or less and no subnormal, as next to
   none of a file's numbers are. Even fewer are where lines of numbers begin and end. */
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

/* How characters are distributed: 10 log2(256 p), of all that are in a set. The sums of p are 1. */
enum model { MODEL_NUMBERS, MODEL_JSON, MODEL_PROSE, MODEL_CAPITALS, MODEL_EITHER };

/* NOLINTNEXTLINE(misc-no-recursion): MODEL_EITHER asks for two others */
static int ascii_bits(enum model model, unsigned char c)
{
    static const struct {
        const char *set; /* the last one: all others of ASCII */
        int bits;
    } models[][4] = {
        [MODEL_NUMBERS] = {{"0123456789., \n", 40}, {"\t;-+eE\r", 18}, {NULL, -20}},
        [MODEL_JSON] = {{" \",:.", 38},
                        {"[]{}\n_-0123456789", 27},
                        {"abcdefghijklmnopqrstuvwxyz", 15},
                        {NULL, -35}},
        [MODEL_PROSE] = {{" ", 51},
                         {"etaoinsrh", 35},
                         {"bcdfgjklmpquvwxyz\n0123456789", 14},
                         {NULL, -14}},
        [MODEL_CAPITALS] = {{" \n", 46}, {"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 22}, {NULL, -10}},
    };

    if (model == MODEL_EITHER) { /* numbers or prose, by even odds */
        int numbers = ascii_bits(MODEL_NUMBERS, c), prose = ascii_bits(MODEL_PROSE, c);

        return (numbers > prose ? numbers : prose) - 10;
    }
    for (size_t i = 0;; i++)
        if (!models[model][i].set || (c != 0 && strchr(models[model][i].set, c)))
            return models[model][i].bits;
}

/* A byte above ASCII. In UTF-8: 0.05 for those that begin a character, and the next is one of 64.
   In Latin-1 and its kin: 0.02 for all. */
static int byte_bits(enum model model, unsigned char c, bool utf8)
{
    if (c < 0x80)
        return ascii_bits(model, c);
    return !utf8 ? -46 : c < 0xc0 ? 20 : -24;
}

static bool ascii_text(uint64_t c)
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

/*
 * Tables: lines of as many numbers each.
 */

#define HEADING_MAX 8

struct table {
    size_t heading;     /* lines before the first of numbers */
    size_t lines;       /* of numbers */
    char separator;     /* of fields; a space stands for any blanks */
    bool decimal_comma; /* 1,5 is one number */
};

/* How many numbers a line is of; 0 where it has anything else. Fields between separators that are
   no blanks may be empty. */
static size_t count_numbers(const char *line, size_t length, char separator, bool *comma)
{
    size_t fields = 0, numbers = 0, i = 0;

    while (i < length) {
        char field[40] = "", *point;
        size_t used = 0;
        double x;

        for (; i < length &&
               (separator == ' ' ? !isspace((unsigned char)line[i]) : line[i] != separator);
             i++)
            if (!isspace((unsigned char)line[i]) && used < sizeof field - 1)
                field[used++] = (char)tolower((unsigned char)line[i]);
        i++;
        point = strchr(field, ',');
        *comma |= point != NULL;
        if (point)
            *point = '.';
        if (used > 0 && !number_parse(field + (*field == '+'), ELEMENT_F64, &x))
            return 0;
        numbers += used > 0;
        fields += used > 0 || separator != ' ';
    }
    return numbers > 0 ? fields : 0;
}

/* Whether the text is a table: some lines of anything, and lines of numbers, two at least, or one
   of two numbers. Text after the last newline is not looked at. */
static bool find_table(const struct unsupported_input *in, size_t size, struct table *table)
{
    const char *line = (const char *)in->bytes, *end;
    size_t fields = 0, found;

    *table = (struct table){.separator = ' '};
    for (; (end = memchr(line, '\n', size)); size -= (size_t)(end + 1 - line), line = end + 1) {
        size_t length = (size_t)(end - line);
        bool comma = false;

        length -= length > 0 && line[length - 1] == '\r';
        if (table->lines == 0) { /* where there is another, a comma may belong to a number */
            const char *separator = ";\t|, ";

            while (*separator != ' ' && !memchr(line, *separator, length))
                separator++;
            table->separator = *separator;
        }
        found = count_numbers(line, length, table->separator, &comma);
        if (table->lines == 0 && found == 0) {
            if (++table->heading > HEADING_MAX)
                return false;
            continue;
        }
        if (table->lines > 0 && found != fields)
            return false;
        fields = found;
        table->decimal_comma |= comma;
        table->lines++;
    }
    return table->lines > 1 || (table->lines == 1 && fields > 1);
}

/*
 * Recognition of text.
 */

/* The values that occurred in a byte of the elements' fraction. */
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
static int ratio(const struct unsupported_input *in, size_t size, enum model model, bool utf8,
                 bool all)
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
            sum += byte_bits(model, c, utf8) * (bits < 8 ? bits : 8) / 8;
        }
    }
    return sum;
}

/* Whether sign and exponent of a float are a newline, which they hardly are in numbers. */
static bool has_tiny(const struct unsupported_input *in, size_t size)
{
    size_t element = element_formats[in->type].size;

    if (in->big_endian || in->type == ELEMENT_F16 || !element_is_float(in->type))
        return false;
    for (size_t i = element - 1; i < size; i += element)
        if (in->bytes[i] == '\n' || BEGINS(in, i, "\r\n"))
            return true;
    return false;
}

/* Whether elements are too much alike to tell, as numbers of like size are, whose first bytes are text by chance,
   and then the others may be so, too: one of 2 bytes has few values, or one of more bytes has more than twice as
   many as any other. Or all bytes of each are equal, as those of pixels are that were 8 bits. */
static bool alike(const struct unsupported_input *in, size_t size)
{
    size_t element = element_formats[in->type].size, most = 0, next = 0, equal = 1;

    if (has_tiny(in, size))
        return false;
    while (equal < size && (equal % element == 0 || in->bytes[equal] == in->bytes[equal - 1]))
        equal++;
    for (size_t column = 0; column < element; column++) {
        bool seen[256] = {false};
        size_t different = 0;

        for (size_t i = column; i < size; i += element) {
            different += !seen[in->bytes[i]];
            seen[in->bytes[i]] = true;
        }
        next = different > most ? most : different > next ? different : next;
        most = different > most ? different : most;
    }
    return equal == size || (element == 2 ? next < 8 : 2 * next < most);
}

static size_t looked_at(const struct unsupported_input *in)
{
    return in->size < TEXT_MAX ? in->size : TEXT_MAX;
}

static bool has_mark(const struct unsupported_input *in)
{
    return BEGINS(in, 0, "\xef\xbb\xbf");
}

/* Whether raw elements would hardly be these characters. */
static bool no_chance(const struct unsupported_input *in, enum model model, bool utf8)
{
    size_t size = looked_at(in), element = element_formats[in->type].size;
    struct table table;
    bool lines, below;
    int sum = 0;

    if (!in->torn && alike(in, size))
        return false;
    lines = find_table(in, size, &table);
    below = lines && table.heading > 0 && table.lines >= HEADING_LINES;
    if (has_tiny(in, size))
        sum += lines ? TABLE_BITS : NEWLINE_BITS;
    else if (below && element > 2)
        sum += HEADING_BITS;
    if (in->torn)
        sum += TORN_BITS;
    if (has_mark(in))
        sum += MARK_BITS;
    return sum + ratio(in, size, model, utf8, below) >= ENOUGH_BITS;
}

/* Whether all that is looked at is text. *utf8: in UTF-8, or else in Latin-1 or one of its kin, a
   quarter of it above ASCII at most. */
static bool all_text(const struct unsupported_input *in, bool *utf8)
{
    size_t size = looked_at(in), from = has_mark(in) ? 3 : 0, high = 0, step;

    *utf8 = true;
    for (size_t i = from; i < size && *utf8; i += step) {
        step = character(in->bytes + i, in->size - i);
        *utf8 = step != 0;
    }
    for (size_t i = from; i < size && !*utf8; i++) {
        if (in->bytes[i] < 0x80 && !ascii_text(in->bytes[i]))
            return false;
        high += in->bytes[i] >= 0x80;
    }
    return high <= (size - from) / 4;
}

bool unsupported_is_numbers(const struct unsupported_input *in)
{
    size_t size = looked_at(in), digits = 0;
    struct table table;

    for (size_t i = 0; i < size; i++) {
        if (in->bytes[i] == 0 || !strchr("0123456789+-.eE,;|:\t\r\n naifNAIF", in->bytes[i]))
            return false;
        digits += isdigit(in->bytes[i]) != 0;
    }
    return (digits >= size / 8 || find_table(in, size, &table)) &&
           (no_chance(in, MODEL_NUMBERS, true) || no_chance(in, MODEL_PROSE, true));
}

static size_t skip_space(const struct unsupported_input *in, size_t i)
{
    while (i < in->size && isspace(in->bytes[i]))
        i++;
    return i;
}

/* Text of capitals has words or lines. Without these they may be pixels, whose numbers are of like size. */
bool unsupported_is_text(const struct unsupported_input *in)
{
    const size_t i = skip_space(in, 0), size = looked_at(in);
    const bool words = memchr(in->bytes, ' ', size) || memchr(in->bytes, '\n', size);
    bool utf8;

    return all_text(in, &utf8) &&
           (no_chance(in, MODEL_PROSE, utf8) || (words && no_chance(in, MODEL_CAPITALS, utf8)) ||
            ((BEGINS(in, i, "{") || BEGINS(in, i, "[")) && no_chance(in, MODEL_JSON, utf8)));
}

/* Whether the inner of a list of JSON may begin at i. */
static bool is_list(const struct unsupported_input *in, size_t i)
{
    static const char *const begin[] = {"\"",    "{",    "[",   "]",        "true",
                                        "false", "null", "NaN", "Infinity", "-Infinity"};
    size_t end = i;

    for (size_t k = 0; k < sizeof begin / sizeof *begin; k++)
        if (begins(in, i, begin[k], strlen(begin[k])))
            return true;
    while (end < in->size && in->bytes[end] != 0 && strchr("+-.0123456789Ee", in->bytes[end]))
        end++;
    end = skip_space(in, end);
    return end == in->size || (end > i && strchr(",]", in->bytes[end]));
}

/* Settings begin with brackets, too, and so do the lines of many logs. */
bool unsupported_is_json(const struct unsupported_input *in)
{
    const size_t first = skip_space(in, 0), i = skip_space(in, first + 1);

    return (BEGINS(in, first, "{")   ? BEGINS(in, i, "\"") || BEGINS(in, i, "}")
            : BEGINS(in, first, "[") ? is_list(in, i)
                                     : false) &&
           unsupported_is_text(in);
}

/* Lines of numbers below a heading. */
bool unsupported_is_table(const struct unsupported_input *in)
{
    struct table table;
    bool utf8;

    return all_text(in, &utf8) && find_table(in, looked_at(in), &table) &&
           (no_chance(in, MODEL_EITHER, utf8) || unsupported_is_text(in));
}

/* The end of the first value of JSON, which begins at i; that of all bytes if it goes on there. */
static size_t json_end(const struct unsupported_input *in, size_t i)
{
    size_t open = 0;
    bool quoted = false;

    for (; i < in->size; i++) {
        const unsigned char c = in->bytes[i];

        if (c == '"')
            quoted = !quoted;
        else if (quoted)
            i += c == '\\';
        else if (c == '{' || c == '[')
            open++;
        else if ((c == '}' || c == ']') && --open == 0)
            return i + 1;
    }
    return in->size;
}

/* How Python reads numbers of JSON: of objects, members; of several lines, one of each. */
void unsupported_say_json(const struct unsupported_input *in, char *said)
{
    const size_t first = skip_space(in, 0), inner = skip_space(in, first + 1);
    const bool list = BEGINS(in, first, "["),
               lines = skip_space(in, json_end(in, first)) < in->size;
    const char *name = list ? "" : "['NAME']";

    if (lines)
        snprintf(said, UNSUPPORTED_DETAIL_MAX, "[json.loads(x)%s for x in open('FILE')]", name);
    else if (list && BEGINS(in, inner, "{"))
        snprintf(said, UNSUPPORTED_DETAIL_MAX, "[x['NAME'] for x in json.load(open('FILE'))]");
    else
        snprintf(said, UNSUPPORTED_DETAIL_MAX, "json.load(open('FILE'))%s", name);
}

/* The bytes of a unit of UTF-16 or UTF-32 that begins with the mark; 0 of anything else. */
static unsigned unit_bytes(const struct unsupported_input *in)
{
    bool big = in->bytes[0] != 0xff;

    return bytes_number(in->bytes, 4, big) == 0xfeff   ? 4
           : bytes_number(in->bytes, 2, big) == 0xfeff ? 2
                                                       : 0;
}

/* Text after a mark of 16 bits or 32: three units at least, half of them or more of ASCII, each of
   9 bits, and none that stands for nothing. */
bool unsupported_is_wide_text(const struct unsupported_input *in)
{
    unsigned width = unit_bytes(in);
    size_t size = looked_at(in), ascii = 0, units = 0;

    for (size_t i = width; width > 0 && i + width <= size; i += width, units++) {
        uint64_t u = bytes_number(in->bytes + i, width, in->bytes[0] != 0xff);

        if ((u < 0x80 && !ascii_text(u)) || (u >= 0x80 && u < 0xa0) || u == 0xffff || u > 0x10ffff)
            return false;
        ascii += u < 0x80;
    }
    return units >= 3 && ascii >= 3 && 2 * ascii >= units;
}

void unsupported_say_encoding(const struct unsupported_input *in, char *said)
{
    snprintf(said, UNSUPPORTED_DETAIL_MAX, "utf-%u", 8 * unit_bytes(in));
}

/* How NumPy reads a table. */
void unsupported_say_table(const struct unsupported_input *in, char *said)
{
    struct table table;
    char separator[24] = "", rows[32] = "";

    if (!find_table(in, looked_at(in), &table))
        table = (struct table){.separator = ' '};
    if (table.separator != ' ')
        snprintf(separator, sizeof separator, ", delimiter='%s%c'",
                 table.separator == '\t' ? "\\" : "",
                 table.separator == '\t' ? 't' : table.separator);
    if (table.heading > 0)
        snprintf(rows, sizeof rows, ", skiprows=%zu", table.heading);
    snprintf(said, UNSUPPORTED_DETAIL_MAX, "numpy.loadtxt('FILE'%s%s%s)", separator, rows,
             table.decimal_comma
                 ? ", encoding='utf-8', converters=lambda x: float(x.replace(',', '.'))"
                 : "");
}
