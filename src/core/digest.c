#include "config.h"

#include "core/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/number.h"
#include "sys/bytes.h"

/*
 * Modulo 2^127 - 1.
 */

/* a b, where b has two digits of 64 bits, the lower one first. */
static struct digest multiply_wide(const struct digest *a, const uint64_t b[2])
{
    const struct digest half = digest_times(digest_times(*a, b[1]), UINT64_C(1) << 63);

    return digest_plus(digest_plus(half, half), digest_times(*a, b[0]));
}

/*
 * Text.
 */

void digest_write(char text[DIGEST_DIGITS + 1], const struct digest *d)
{
    snprintf(text, DIGEST_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, d->high, d->low);
}

/* Reads 32 hexadecimal digits as digest_read does; their number may be too large. */
static bool read_digits(struct digest *d, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t *const to[2] = {&d->high, &d->low};

    *d = (struct digest){0};
    for (size_t i = 0; i < DIGEST_DIGITS; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

        if (!digit)
            return false;
        *to[i / 16] = *to[i / 16] << 4 | (uint64_t)(digit - digits);
    }
    return true;
}

bool digest_read(struct digest *d, const char *text)
{
    return read_digits(d, text) &&
           (d->high < DIGEST_MODULUS_HIGH ||
            (d->high == DIGEST_MODULUS_HIGH && d->low < DIGEST_MODULUS_LOW));
}

size_t digest_show(char text[DIGEST_TEXT_MAX], const struct digest_value *value)
{
    const uint64_t seeds[] = {value->count, 3, 4, 5};
    struct digest shown = value->sum;
    char digits[DIGEST_DIGITS + 1];

    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        shown = (struct digest){shown.high ^ digest_split_mix(seeds[i], shown.low), shown.low};
    digest_write(digits, &shown);
    return (size_t)snprintf(text, DIGEST_TEXT_MAX, "%s:%" PRIu64 ":%s", element_name(value->type),
                            value->count, digits);
}

bool digest_is_text(const char *text)
{
    const char *count = strchr(text, ':'), *sum = count ? strchr(count + 1, ':') : NULL;
    char number[NUMBER_MAX];
    struct digest d;
    uint64_t n;

    if (!sum || sum - count > 21 || strlen(sum) != 1 + DIGEST_DIGITS || !read_digits(&d, sum + 1))
        return false;
    memcpy(number, count + 1, (size_t)(sum - count - 1));
    number[sum - count - 1] = '\0';
    if (!number_parse_count(number, &n))
        return false;
    for (enum element_type i = 0; i < ELEMENT_TYPES; i++)
        if (strlen(element_name(i)) == (size_t)(count - text) &&
            strncmp(element_name(i), text, (size_t)(count - text)) == 0)
            return true;
    return false;
}

/*
 * Sums.
 */

void digest_add_pairs(struct digest_tile *tile, const struct digest_factors *factors,
                      struct digest_watch *watch, const void *words, size_t first, size_t count)
{
    const unsigned char *bytes = words;

    for (size_t i = first; i < first + count; i++, bytes += 8) {
        const uint64_t pair = element_bits(sizeof pair, bytes);
        uint64_t even, odd, sum;

        if (watch)
            watch->carries |= (pair & watch->exponent) + watch->one;
        even = pair & UINT32_MAX;
        odd = pair >> 32;
        sum = even * factors->even[i] + odd * factors->odd[i];
        tile->low += sum & UINT32_MAX;
        tile->high += sum >> 32;
        sum = even * factors->even_upper[i] + odd * factors->odd_upper[i];
        tile->upper_low += sum & UINT32_MAX;
        tile->upper_high += sum >> 32;
    }
}

void digest_sum_open(struct digest_sum *s, digest_kernel *kernel, enum element_type type)
{
    const uint64_t lower = UINT32_MAX >> 1;

    for (size_t i = 0; i < DIGEST_TILE / 2; i++) {
        const uint64_t even = digest_word_factor(2 * i), odd = digest_word_factor(2 * i + 1);

        s->factors.even[i] = even & lower;
        s->factors.even_upper[i] = even >> 31;
        s->factors.odd[i] = odd & lower;
        s->factors.odd_upper[i] = odd >> 31;
        s->factors.even_all[i] = even;
        s->factors.even_top[i] = even >> 52;
        s->factors.odd_all[i] = odd;
        s->factors.odd_top[i] = odd >> 52;
    }
    s->kernel = kernel;
    digest_sum_clear(s, type);
}

void digest_sum_clear(struct digest_sum *s, enum element_type type)
{
    s->size = element_size(type);
    s->truth = element_formats[type].kind == ELEMENT_TRUTH;
    s->done = (struct digest){0};
    s->tile = (struct digest_tile){0};
    s->number = 0;
    s->watches = false;
}

void digest_sum_watch(struct digest_sum *s, enum element_type type)
{
    const struct element_format *f = &element_formats[type];
    const unsigned bits = 8 * (unsigned)s->size;
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    uint64_t one = 0;

    /* Integers have no exponent. The only NaN of a finite type has all bits but the sign. */
    if (!element_is_integer(type))
        one = f->kind == ELEMENT_FINITE ? 1 : UINT64_C(1) << (f->significant_bits - 1);
    s->watches = true;
    s->watch = (struct digest_watch){.exponent = one > 0 ? sign - one : 0, .one = one};
    for (unsigned i = bits; i < 64; i *= 2) {
        s->watch.exponent |= s->watch.exponent << i;
        s->watch.one |= s->watch.one << i;
    }
}

bool digest_sum_was_finite(struct digest_sum *s)
{
    const uint64_t carries = s->watch.carries;

    s->watch.carries = 0;
    return (carries & (s->watch.exponent + s->watch.one)) == 0;
}

/* The watch that kernels add to; NULL for none. */
static struct digest_watch *watch_of(struct digest_sum *s)
{
    return s->watches ? &s->watch : NULL;
}

/* The sum of a tile, without B_t: low + 2^32 high + 2^31 (upper_low + 2^32 upper_high). */
static struct digest sum_of_tile(const struct digest_tile *t)
{
    const struct digest parts[] = {{t->low, 0},
                                   {t->high << 32, t->high >> 32},
                                   {t->upper_low << 31, t->upper_low >> 33},
                                   {t->upper_high << 63, t->upper_high >> 1}};
    struct digest sum = {0};

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        sum = digest_plus(sum, parts[i]);
    return sum;
}

struct digest digest_sum_find(const struct digest_sum *s)
{
    const struct digest sum = sum_of_tile(&s->tile);

    return digest_plus(digest_times(sum, digest_tile_factor(s->number)), s->done);
}

/* Goes on with a tile. */
static inline void change_tile(struct digest_sum *s, uint64_t number)
{
    if (number == s->number)
        return;
    s->done = digest_sum_find(s);
    s->tile = (struct digest_tile){0};
    s->number = number;
}

/* Adds a word, which may lack elements. */
static void take_word(struct digest_sum *s, uint64_t word, uint64_t number)
{
    const size_t place = number % DIGEST_TILE, pair = place / 2;
    const uint64_t value = place % 2 ? word << 32 : word;

    change_tile(s, number / DIGEST_TILE);
    digest_add_pairs(&s->tile, &s->factors, watch_of(s), &value, pair, 1);
}

/* The bits of an element, which is 0 or 1 if it is a truth value. */
static uint64_t bits_of(const struct digest_sum *s, const void *element)
{
    const uint64_t bits = element_bits(s->size, element);

    return s->truth ? bits != 0 : bits;
}

static void take_element(struct digest_sum *s, uint64_t bits, uint64_t index)
{
    const uint64_t in_word = 4 / (s->size < 4 ? s->size : 4);

    if (s->size == 8) {
        take_word(s, bits & UINT32_MAX, 2 * index);
        take_word(s, bits >> 32, 2 * index + 1);
    } else {
        take_word(s, bits << 8 * s->size * (index % in_word), index / in_word);
    }
}

/* Adds pairs of words that lie in one tile, number `pair` of all being the first. */
static void take_pairs(struct digest_sum *s, const unsigned char *words, size_t count,
                       uint64_t pair)
{
    unsigned char truths[DIGEST_TILE_BYTES];

    change_tile(s, pair / (DIGEST_TILE / 2));
    for (size_t i = 0; s->truth && i < 8 * count; i++)
        truths[i] = words[i] != 0;
    s->kernel(&s->tile, &s->factors, watch_of(s), s->truth ? truths : words,
              pair % (DIGEST_TILE / 2), count);
}

void digest_sum_take(struct digest_sum *s, const void *elements, size_t count, uint64_t index)
{
    const size_t in_pair = 8 / s->size, tile = DIGEST_TILE_BYTES / s->size;
    const unsigned char *x = elements;

    while (count > 0) {
        const size_t in_tile = tile - (size_t)(index % tile);
        size_t some = 1;

        if (index % in_pair != 0 || count < in_pair || element_host_is_big()) {
            take_element(s, bits_of(s, x), index);
        } else {
            some = (count < in_tile ? count : in_tile) / in_pair;
            take_pairs(s, x, some, index / in_pair);
            some *= in_pair;
        }
        x += some * s->size;
        count -= some;
        index += some;
    }
}

void digest_sum_take_same(struct digest_sum *s, const void *element, uint64_t count, uint64_t index)
{
    const size_t in_tile = DIGEST_TILE_BYTES / s->size;
    const uint64_t before = (in_tile - index % in_tile) % in_tile;
    const size_t head = (size_t)(count < before ? count : before);
    const uint64_t tiles = (count - head) / in_tile, first = (index + head) / in_tile;
    const size_t needed = (size_t)(count < in_tile ? count : in_tile) * s->size;
    unsigned char bytes[DIGEST_TILE_BYTES];
    struct digest weight = {0}, sum;
    struct digest_tile kept;

    if (bits_of(s, element) == 0)
        return;
    memcpy(bytes, element, s->size);
    /* Runs may be short, and one by one elements take longer to copy than to add. */
    bytes_repeat(bytes, s->size, needed);
    digest_sum_take(s, bytes, head, index);
    if (tiles > 0) {
        change_tile(s, first);
        kept = s->tile;
        s->tile = (struct digest_tile){0};
        digest_sum_take(s, bytes, in_tile, first * in_tile);
        sum = sum_of_tile(&s->tile);
        s->tile = kept;
        for (uint64_t i = 0; i < tiles; i++)
            weight = digest_plus(weight, (struct digest){.low = digest_tile_factor(first + i)});
        sum = multiply_wide(&sum, (const uint64_t[]){weight.low, weight.high});
        s->done = digest_plus(s->done, sum);
    }
    digest_sum_take(s, bytes, (size_t)((count - head) % in_tile), (first + tiles) * in_tile);
}
