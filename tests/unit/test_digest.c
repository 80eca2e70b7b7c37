/*
 * core/digest.h and its kernels against a plain loop over words, which multiplies bit by bit, and
 * against texts that Python's integers gave (tests/lib/digest.py). Structured arrays must collide as
 * rarely as chance has it.
 */
/* Tags: ports */
#include "config.h"

#include "core/digest.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/element.h"
#include "core/order.h"
#include "cpu/kernel.h"
#include "lib/allocate.h"
#include "lib/data_gen.h"
#include "lib/sanitized.h"
#include "lib/tap.h"

/*
 * The definition.
 */

static uint64_t mix(uint64_t seed, uint64_t n)
{
    uint64_t z = seed + (n + 1) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Numbers of 127 bits, as two of 64. */
struct wide {
    uint64_t low, high;
};

/* (a + b) mod 2^127 - 1. */
static struct wide add(struct wide a, struct wide b)
{
    struct wide sum = {a.low + b.low, a.high + b.high};

    sum.high += sum.low < a.low;
    if (sum.high >> 63 || (sum.high == UINT64_MAX >> 1 && sum.low == UINT64_MAX)) {
        sum.high &= UINT64_MAX >> 1;
        sum.low++;
        sum.high += sum.low == 0;
        sum.high &= UINT64_MAX >> 1;
    }
    return sum;
}

/* a b mod 2^127 - 1, where b has 128 bits. */
static struct wide times(struct wide a, struct wide b)
{
    struct wide product = {0, 0};

    for (int i = 127; i >= 0; i--) {
        product = add(product, product);
        if ((i < 64 ? b.low >> i : b.high >> (i - 64)) & 1)
            product = add(product, a);
    }
    return product;
}

/* The text of elements, which are little-endian bytes. */
static void define(char text[DIGEST_TEXT_MAX], enum element_type type, const unsigned char *bytes,
                   size_t count)
{
    const size_t size = count * element_size(type);
    struct wide sum = {0, 0};

    for (size_t i = 0; i < size; i++) {
        const uint64_t j = i / 4, weight = (uint64_t)bytes[i] << 8 * (i % 4);
        const struct wide a = {mix(1, j % 1024) >> 2, 0}, b = {mix(2, j / 1024), 0};

        if (weight > 0)
            sum = add(sum, times(times(a, (struct wide){weight, 0}), b));
    }
    for (uint64_t i = 2; i < 6; i++)
        sum = (struct wide){sum.high ^ mix(i > 2 ? i : count, sum.low), sum.low};
    snprintf(text, DIGEST_TEXT_MAX, "%s:%zu:%016" PRIx64 "%016" PRIx64, element_name(type), count,
             sum.high, sum.low);
}

/*
 * Digests of the code under test.
 */

static void show(char text[DIGEST_TEXT_MAX], enum element_type type, uint64_t count,
                 struct digest sum)
{
    digest_show(text, &(struct digest_value){.sum = sum, .count = count, .type = type});
}

/* Elements in the machine's order as little-endian bytes; truth values as 0 and 1. */
static void make_little(unsigned char *to, const unsigned char *from, enum element_type type,
                        size_t count)
{
    const size_t size = element_size(type);

    if (element_host_is_big())
        element_swap(to, from, count, size);
    else
        memcpy(to, from, count * size);
    for (size_t i = 0; i < count && type == ELEMENT_BOOL; i++)
        to[i] = to[i] != 0;
}

/* Whether n elements from number `first` on are finite. */
static bool are_finite(enum element_type type, const unsigned char *data, size_t first, size_t n)
{
    const size_t size = element_size(type);
    bool finite = true;

    for (size_t i = first; i < first + n && !element_is_integer(type); i++)
        finite = finite &&
                 isfinite(order_value(type, order_key(type, order_load(type, data + i * size))));
    return finite;
}

#define ELEMENTS ((size_t)3000)

static void test_kernels(void)
{
    struct digest_sum *sum = allocate(sizeof *sum);
    unsigned char *data = allocate(8 * ELEMENTS + 8), *little = allocate(8 * ELEMENTS);
    unsigned char *moved = allocate(8 * ELEMENTS + 8);
    struct rng rng;

    rng_seed(&rng, 43);
    for (size_t k = 0; k <= cpu_kernels_count; k++) {
        digest_kernel *const kernel =
            k < cpu_kernels_count ? cpu_kernels_all[k]->digest : digest_add_pairs;
        const char *name = k < cpu_kernels_count ? cpu_kernels_all[k]->name : "no vectors";
        struct tap_family whole = {0};

        if (k < cpu_kernels_count && !cpu_kernels_all[k]->usable())
            continue;
        digest_sum_open(sum, kernel, ELEMENT_F32);
        for (enum element_type type = 0; type < ELEMENT_TYPES; type++) {
            for (int turn = 0; turn < (SANITIZED ? 3 : 12); turn++) {
                const size_t size = element_size(type);
                const size_t count = turn < 3 ? (size_t)turn : (size_t)rng_below(&rng, ELEMENTS);
                const size_t shift = (size_t)rng_below(&rng, 8);
                char expected[DIGEST_TEXT_MAX], found[DIGEST_TEXT_MAX];

                for (size_t i = 0; i < 8 * ELEMENTS; i++)
                    data[i] = turn % 4 == 3 ? 0xff : (unsigned char)rng_next(&rng);
                for (size_t i = 0; type == ELEMENT_BOOL && i < ELEMENTS; i++)
                    data[i] %= 3;
                make_little(little, data, type, count);
                define(expected, type, little, count);
                memcpy(moved + shift, data, count * size);
                /* Pieces from the last one to the first, of random lengths. */
                digest_sum_clear(sum, type);
                if (turn % 3 > 0)
                    digest_sum_watch(sum, type);
                for (size_t end = count; end > 0;) {
                    const size_t some = 1 + (size_t)rng_below(&rng, turn % 2 ? end : 9);
                    const size_t n = some < end ? some : end;

                    end -= n;
                    digest_sum_take(sum, moved + shift + end * size, n, end);
                    if (turn % 3 > 0)
                        tap_case(&whole,
                                 digest_sum_was_finite(sum) == are_finite(type, data, end, n),
                                 "%zu %s from %zu on are finite", n, element_name(type), end);
                }
                show(found, type, count, digest_sum_find(sum));
                tap_case(&whole, strcmp(found, expected) == 0, "%zu %s: %s is not %s", count,
                         element_name(type), found, expected);
            }
        }
        tap_family_end(
            &whole,
            "%s: pieces in any order have the digest of the definition, and are finite or not",
            name);
    }
    free(data);
    free(little);
    free(moved);
    free(sum);
}

static void test_same(void)
{
    struct digest_sum *sum = allocate(sizeof *sum), *plain = allocate(sizeof *plain);
    unsigned char *data = allocate((size_t)80000);
    struct tap_family same = {0};
    struct rng rng;

    rng_seed(&rng, 44);
    digest_sum_open(sum, digest_add_pairs, ELEMENT_F32);
    digest_sum_open(plain, digest_add_pairs, ELEMENT_F32);
    for (enum element_type type = 0; type < ELEMENT_TYPES; type++) {
        for (int turn = 0; turn < 40; turn++) {
            const size_t size = element_size(type);
            const uint64_t count = rng_below(&rng, turn % 2 ? 10000 : 700),
                           first = turn % 3 ? rng_below(&rng, 9000) : rng_next(&rng) >> 8;
            const uint64_t bits = turn % 5 ? rng_next(&rng) : 0;
            char expected[DIGEST_TEXT_MAX], found[DIGEST_TEXT_MAX];

            for (size_t i = 0; i < count; i++)
                memcpy(data + i * size, &bits, size);
            digest_sum_clear(sum, type);
            digest_sum_clear(plain, type);
            digest_sum_take(sum, data, (size_t)count / 3, first + count);
            digest_sum_take(plain, data, (size_t)count / 3, first + count);
            digest_sum_take_same(sum, &bits, count, first);
            digest_sum_take(plain, data, (size_t)count, first);
            show(expected, type, count, digest_sum_find(plain));
            show(found, type, count, digest_sum_find(sum));
            tap_case(&same, strcmp(found, expected) == 0, "%" PRIu64 " of %s from %" PRIu64, count,
                     element_name(type), first);
        }
    }
    tap_family_end(&same, "elements that are the same have the digest of as many alike");
    free(data);
    free(plain);
    free(sum);
}

/* Texts by tests/lib/digest.py. */
static void test_texts(void)
{
    static const float numbers[] = {1.5f, -0.25f, 3};
    static const struct {
        enum element_type type;
        size_t count;
        const char *text;
    } cases[] = {
        {ELEMENT_F32, 0, "f32:0:90c7780328b59db07c84280670285a5a"},
        {ELEMENT_F32, 3, "f32:3:ba900116bc8a562cf1c0c1dacecaba83"},
        {ELEMENT_F64, 1, "f64:1:4e4062c3779c1d48d5135752622973b8"},
        {ELEMENT_U8, 5, "u8:5:3a61c60e1b8368eaa250abf8e29759d7"},
    };
    struct digest_sum *sum = allocate(sizeof *sum);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[DIGEST_TEXT_MAX];

        digest_sum_open(sum, digest_add_pairs, cases[i].type);
        if (element_host_is_big() && cases[i].type != ELEMENT_F32)
            continue;
        digest_sum_take(sum, numbers, cases[i].count, 0);
        show(text, cases[i].type, cases[i].count, digest_sum_find(sum));
        tap_ok(strcmp(text, cases[i].text) == 0, "%s", text);
        tap_ok(digest_is_text(text), "it is a digest");
    }
    tap_ok(!digest_is_text("f32:3") && !digest_is_text("f32:3:0") && !digest_is_text("") &&
               !digest_is_text("f31:0:00000000000000000000000000000000") &&
               !digest_is_text("f32::00000000000000000000000000000000") &&
               !digest_is_text("f32:0:0000000000000000000000000000000g") &&
               digest_is_text("f32:0:ffffffffffffffffffffffffffffffff"),
           "other texts are none");
    free(sum);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b > 0) {
        const uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* The factors are as the bounds of doc/numerics.md need them. */
static void test_factors(void)
{
    uint64_t a[DIGEST_TILE];
    bool coprime = true, distinct = true;

    for (uint64_t r = 0; r < DIGEST_TILE; r++)
        a[r] = mix(1, r) >> 2;
    /* d a[r] = e a[r + 1] needs a d or an e of 2^32. */
    for (size_t r = 0; r < DIGEST_TILE; r += 2)
        coprime = coprime && (a[r] | a[r + 1]) / common_divisor(a[r], a[r + 1]) >> 33 > 0;
    qsort(a, DIGEST_TILE, sizeof *a, compare_numbers);
    for (size_t r = 0; r < DIGEST_TILE; r++)
        distinct = distinct && a[r] > (r > 0 ? a[r - 1] : 0);
    tap_ok(distinct, "no factor of a word is 0 or that of another");
    tap_ok(coprime, "no change of an element of 64 bits cancels out");
}

/*
 * Collisions.
 */

#define ARRAYS 1000000
#define FAMILY (ARRAYS / 4)

struct arrays {
    struct digest_sum *sum;
    size_t count;
    uint64_t *cut; /* the last 32 bits of each digest */
};

static void put(struct arrays *a, const uint32_t *words, size_t count)
{
    char text[DIGEST_TEXT_MAX];

    digest_sum_clear(a->sum, ELEMENT_U32);
    digest_sum_take(a->sum, words, count, 0);
    show(text, ELEMENT_U32, count, digest_sum_find(a->sum));
    a->cut[a->count++] = strtoull(text + strlen(text) - 8, NULL, 16);
}

static unsigned count_pairs(uint64_t *values, size_t count)
{
    unsigned pairs = 0;

    qsort(values, count, sizeof *values, compare_numbers);
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count && values[j] == values[i]; j++)
            pairs++;
    return pairs;
}

/* A million structured arrays, no two of which are the same. Chance gives 10^12 / 2 / 2^32 pairs:
   116, plus or minus three times its root. */
static void test_structured(void)
{
    struct arrays a = {allocate(sizeof *a.sum), 0, allocate(ARRAYS * sizeof *a.cut)};
    const uint32_t one = 0x3f800000;
    uint32_t words[1000];
    unsigned pairs;

    digest_sum_open(a.sum, cpu_kernels_choose(NULL)->digest, ELEMENT_U32);
    for (uint32_t signs = 0; signs < FAMILY; signs++) { /* of 20 ones */
        for (unsigned i = 0; i < 20; i++)
            words[i] = one | (signs >> i & 1) << 31;
        put(&a, words, 20);
    }
    for (uint32_t base = 0; base < FAMILY / 250; base++) { /* of base, base + 1, ... */
        for (uint32_t turn = 0; turn < 250; turn++) {
            for (uint32_t i = 0; i < 250; i++)
                words[i] = base + (i + turn) % 250;
            put(&a, words, 250);
        }
    }
    for (uint32_t value = 1; value <= FAMILY / 500; value++) { /* from 251 to 750 times */
        for (size_t i = 0; i < 750; i++)
            words[i] = one + value;
        for (size_t count = 251; count <= 750; count++)
            put(&a, words, count);
    }
    for (uint32_t value = 1; value <= FAMILY / 500; value++) { /* followed by zeros */
        memset(words, 0, sizeof words);
        words[0] = value;
        for (size_t count = 251; count <= 750; count++)
            put(&a, words, count);
    }
    pairs = count_pairs(a.cut, a.count);
    tap_ok(a.count == ARRAYS && pairs >= 83 && pairs <= 149,
           "%u pairs of a million structured arrays collide in 32 bits", pairs);
    free(a.sum);
    free(a.cut);
}

/* Pairs of arrays that differ in one element, or in the order of two. */
static void test_changes(void)
{
    const size_t count = SANITIZED ? 20000 : 1000000;
    struct digest_sum *sum = allocate(sizeof *sum);
    unsigned changed = 0, swapped = 0;
    struct rng rng;

    rng_seed(&rng, 45);
    digest_sum_open(sum, digest_add_pairs, ELEMENT_U32);
    for (size_t i = 0; i < count; i++) {
        /* The elements that are no others are in both sums. */
        const uint64_t first = rng_below(&rng, UINT64_C(1) << 40);
        const uint64_t second = first + 1 + rng_below(&rng, i % 2 ? 5000 : UINT64_C(1) << 40);
        const uint32_t x = (uint32_t)rng_next(&rng);
        const uint32_t y =
            i % 3 ? x ^ UINT32_C(1) << rng_below(&rng, 32) : (uint32_t)rng_next(&rng);
        struct digest found[4];

        for (int k = 0; k < 4; k++) {
            digest_sum_clear(sum, ELEMENT_U32);
            digest_sum_take(sum, k % 2 ? &y : &x, 1, first);
            if (k > 1)
                digest_sum_take(sum, k % 2 ? &x : &y, 1, second);
            found[k] = digest_sum_find(sum);
        }
        changed += x != y && memcmp(&found[0], &found[1], sizeof *found) == 0;
        swapped += x != y && memcmp(&found[2], &found[3], sizeof *found) == 0;
    }
    tap_ok(changed == 0, "%zu pairs with another element: %u are equal", count, changed);
    tap_ok(swapped == 0, "%zu pairs with two swapped: %u are equal", count, swapped);
    free(sum);
}

int main(void)
{
    test_factors();
    test_texts();
    test_kernels();
    test_same();
    test_structured();
    test_changes();
    return tap_done();
}
