/*
 * The CPU kernels: every instruction set that runs here, every element type, with and without the
 * sum, must say of any data what the oracle and a plain loop say, bit for bit.
 *
 * From the environment: CHECK_SHARE; see lib/share.h.
 */
/* Tags: ports */
#include "config.h"

#include "cpu/kernel.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/exact.h"
#include "cpu/convert.h"
#include "lib/data_gen.h"
#include "lib/oracle.h"
#include "lib/reference.h"
#include "lib/sanitized.h"
#include "lib/share.h"
#include "lib/tap.h"

/* Sanitizers try one in so many of the numbers among which only the arithmetic differs; builds
   without them try all. */
#define EVERY (SANITIZED ? 5 : 1)

#define N_MAX ((size_t)9000)

#define KERNELS_MAX 16

/* Those that run here, the best last. */
static const struct cpu_kernels *kernels[KERNELS_MAX];
static size_t kernel_count;

/* A reducer as an engine makes it. The scratch is full of NaNs: a kernel may not trust it. */
static void begin(struct cpu_reducer *r, const struct cpu_kernels *k, enum element_type type,
                  unsigned wants)
{
    static double *scratch;
    static struct cpu_cell cells[CPU_CELLS];

    if (!scratch)
        scratch = aligned_alloc(64, CPU_BLOCK_MAX * sizeof *scratch);
    if (!scratch)
        abort();
    memset(scratch, 0xff, CPU_BLOCK_MAX * sizeof *scratch);
    memset(r, 0, sizeof *r);
    partial_clear(&r->partial);
    r->type = type;
    r->wants = wants;
    r->scratch = scratch;
    r->cells = cells;
    r->kernel = cpu_kernels_find(k, type, wants);
    r->search = k->search[__builtin_ctzll(element_size(type))];
}

static void check(struct tap_family *family, const struct cpu_reducer *r,
                  const struct cpu_kernels *k, const struct reference *e,
                  const struct partial *one_by_one, size_t n, const char *what,
                  unsigned long detail)
{
    const char *differs = reference_moments_differs(&r->partial, one_by_one, r->wants);

    tap_case(family, !differs, "%s, %s, %s (%lu), %zu elements, wants %u: %s", k->name,
             element_name(r->type), what, detail, n, r->wants, differs);
    for (int skip = 0; skip < 2; skip++) {
        struct result got;

        partial_finish(&r->partial, skip, &got);
        tap_case(family, reference_same(&got, &e->policy[skip], r->wants),
                 "%s, %s, %s (%lu), %zu elements, wants %u, skip_nan %d:\n%s\nexpected\n%s",
                 k->name, element_name(r->type), what, detail, n, r->wants, skip,
                 reference_show(&got), reference_show(&e->policy[skip]));
    }
}

/* The requests of an engine. */
static const unsigned all_wants[] = {
    PARTIAL_SUM | PARTIAL_EXTREMES | PARTIAL_WHERE,
    PARTIAL_EXTREMES | PARTIAL_WHERE,
    PARTIAL_SUM | PARTIAL_EXTREMES,
    PARTIAL_EXTREMES,
    PARTIAL_ALL,
    PARTIAL_EXTREMES | PARTIAL_SUM | PARTIAL_SQUARES | PARTIAL_SMALL,
    PARTIAL_EXTREMES | PARTIAL_SMALL | PARTIAL_NEGATIVE,
    PARTIAL_SUM,
};
#define WANTS (sizeof all_wants / sizeof *all_wants)

/* All kernels over one piece of data, as one chunk. */
static void check_whole(struct tap_family *family, enum element_type type, const void *data,
                        size_t n, uint64_t index, const char *what, unsigned long detail)
{
    struct partial one_by_one;
    struct reference e;

    if (!share_takes_next())
        return;
    reference_reduce(&e, type, data, n, index);
    partial_clear(&one_by_one);
    reference_take(&one_by_one, type, data, n, index);
    for (size_t k = 0; k < kernel_count; k++) {
        for (size_t w = 0; w < WANTS; w++) {
            struct cpu_reducer r;

            /* Smaller requests do not compute in another way, so they are tried now and then. */
            if ((w == 2 || w == 3) && n % 8 != 3)
                continue;
            begin(&r, kernels[k], type, all_wants[w]);
            r.kernel(&r, data, n, index);
            check(family, &r, kernels[k], &e, &one_by_one, n, what, detail);
        }
    }
}

/* A block of memory that ends with the n elements, which begin `offset` bytes past its start: a
   sanitizer sees a step outside. */
static unsigned char *block_new(size_t bytes, size_t offset)
{
    unsigned char *block = malloc(bytes + offset + 1);

    if (!block)
        abort();
    return block;
}

static void check_lengths(void)
{
    static const size_t around[] = {96, 128, 192, 256, 512, 1024, 2048, 3072, 4096};
    static size_t lengths[256];
    size_t count = 0;

    for (size_t n = 0; n <= 70; n++)
        lengths[count++] = n;
    for (size_t i = 0; i < sizeof around / sizeof *around; i++)
        for (size_t d = 0; d < 3; d++)
            lengths[count++] = around[i] - 1 + d;
    lengths[count++] = 2048 + 17;
    lengths[count++] = 2048 - 16;
    lengths[count++] = 6144 + 5;

    for (int t = 0; t < ELEMENT_FLOATS; t++) {
        enum element_type type = (enum element_type)t;
        size_t size = element_size(type);

        for (int d = 0; d < DATA_KINDS; d++) {
            enum data_kind kind = (enum data_kind)d;
            struct tap_family family = {0};

            for (size_t i = 0; i < count; i++) {
                size_t n = lengths[i], offset = (i * 5 + 1) % 67;
                unsigned char *block = block_new(n * size, offset);

                /* The byte at the end stays free for data that do not lie at the end. */
                data_fill(kind, type, block + offset, n, i);
                check_whole(&family, type, block + offset, n, i % 4 ? 0 : UINT64_C(1) << (i % 62),
                            data_kind_name(kind), (unsigned long)i);
                free(block);
            }
            tap_family_end(&family, "%s, all lengths: %s", element_name(type),
                           data_kind_name(kind));
        }
    }
}

/* Several chunks to one reducer, cut anywhere and in any order, and shared between two. */
static void check_chunks(void)
{
    struct rng rng;

    rng_seed(&rng, 61);
    for (int t = 0; t < ELEMENT_FLOATS; t++) {
        enum element_type type = (enum element_type)t;
        size_t size = element_size(type);
        struct tap_family family = {0};

        for (int round = 0; round < 6 * DATA_KINDS; round++) {
            enum data_kind kind = (enum data_kind)(round % DATA_KINDS);
            size_t n = 1 + (size_t)rng_below(&rng, N_MAX), cut[40], order[40], chunks = 0;
            uint64_t first = round % 2 ? 0 : rng_next(&rng) >> 2;
            unsigned char *block = block_new(n * size, 3);
            unsigned char *data = block + 3;
            struct partial one_by_one;
            struct reference e;

            data_fill(kind, type, data, n, (uint64_t)round);
            if (round % 5 == 4)
                for (int i = 0; i < 5; i++)
                    data_put_special(type, data, (size_t)rng_below(&rng, n),
                                     (enum data_special)rng_below(&rng, DATA_SPECIALS));
            reference_reduce(&e, type, data, n, first);
            partial_clear(&one_by_one);
            reference_take(&one_by_one, type, data, n, first);

            /* Whole blocks mostly, as an engine has them, or just anything. */
            for (size_t at = 0; at < n && chunks < 39;) {
                cut[chunks] = at;
                order[chunks] = chunks;
                chunks++;
                at += rng_below(&rng, 2) ? 1 + (size_t)rng_below(&rng, 700)
                                         : 512 * (1 + (size_t)rng_below(&rng, 8));
            }
            cut[chunks] = n;
            if (round % 3)
                rng_shuffle(&rng, order, chunks, sizeof *order);

            for (size_t k = 0; k < kernel_count; k++) {
                for (size_t w = 0; w < WANTS; w++) {
                    struct cpu_reducer r[2];

                    begin(&r[0], kernels[k], type, all_wants[w]);
                    begin(&r[1], kernels[k], type, all_wants[w]);
                    for (size_t c = 0; c < chunks; c++) {
                        struct cpu_reducer *to = &r[(order[c] * 7 + (size_t)round) % 5 == 0];
                        size_t at = cut[order[c]];

                        to->kernel(to, data + at * size, cut[order[c] + 1] - at, first + at);
                    }
                    partial_merge(&r[0].partial, &r[1].partial);
                    check(&family, &r[0], kernels[k], &e, &one_by_one, n, data_kind_name(kind),
                          (unsigned long)round);
                }
            }
            free(block);
        }
        tap_family_end(&family, "%s, chunks in any order", element_name(type));
    }
}

/* One special value at every place of short data, two at random places, and in longer data in the
   first and last places of vectors and blocks. */
static void check_specials(void)
{
    struct rng rng;

    rng_seed(&rng, 62);
    for (int t = 0; t < ELEMENT_FLOATS; t++) {
        enum element_type type = (enum element_type)t;
        size_t size = element_size(type);
        struct tap_family family = {0};

        for (size_t n = 1; n <= 40; n++) {
            unsigned char *data = block_new(n * size, 0);

            for (size_t at = 0; at < n; at++) {
                for (int s = 0; s < DATA_SPECIALS; s++) {
                    data_fill((at + n) % 3 ? DATA_NORMAL : DATA_NEGATIVE, type, data, n, at);
                    data_put_special(type, data, at, (enum data_special)s);
                    check_whole(&family, type, data, n, 100,
                                data_special_name((enum data_special)s), (unsigned long)at);
                }
            }
            free(data);
        }
        tap_family_end(&family, "%s, a special value at every place", element_name(type));

        for (int round = 0; round < 400; round++) {
            size_t n = round % 4 ? 1 + (size_t)rng_below(&rng, 70)
                                 : 1 + (size_t)rng_below(&rng, 3 * CPU_BLOCK_MAX);
            enum data_kind kind = (enum data_kind)rng_below(&rng, DATA_KINDS);
            unsigned char *data = block_new(n * size, 1);

            data_fill(kind, type, data + 1, n, (uint64_t)round);
            for (uint64_t i = 2 + rng_below(&rng, round % 3 ? 2 : n); i > 0; i--)
                data_put_special(type, data + 1, (size_t)rng_below(&rng, n),
                                 (enum data_special)rng_below(&rng, DATA_SPECIALS));
            check_whole(&family, type, data + 1, n, 5, "several special values",
                        (unsigned long)round);
            free(data);
        }
        tap_family_end(&family, "%s, several special values", element_name(type));

        for (int s = 0; s < DATA_SPECIALS; s++) {
            static const size_t places[] = {0,    1,    15,   16,   31,   1023, 1024, 1025,
                                            2047, 2048, 2049, 4095, 4096, 4097, 4110};
            const size_t n = 4111;
            unsigned char *data = block_new(N_MAX * size, 0);

            for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
                data_fill(p % 2 ? DATA_RANGE60 : DATA_UNIFORM, type, data, n, p);
                data_put_special(type, data, places[p], (enum data_special)s);
                check_whole(&family, type, data, n, UINT64_C(1) << 40,
                            data_special_name((enum data_special)s), (unsigned long)places[p]);
            }
            /* Whole blocks of it, one in four, beside numbers. */
            for (size_t length = 512; length <= CPU_BLOCK_MAX; length *= 2) {
                for (size_t block = 0; block < 4; block++) {
                    data_fill(block % 2 ? DATA_NEGATIVE : DATA_UNIFORM, type, data, 4 * length,
                              block);
                    for (size_t i = 0; i < length; i++)
                        data_put_special(type, data, block * length + i, (enum data_special)s);
                    check_whole(&family, type, data, 4 * length, 0, "a block of one special value",
                                (unsigned long)block);
                }
            }
            /* Nothing else at all. */
            for (size_t length = 0; length <= 2100; length += length < 40 ? 1 : 103) {
                for (size_t i = 0; i < length; i++)
                    data_put_special(type, data, i, (enum data_special)s);
                check_whole(&family, type, data, length, 9, "nothing but one special value",
                            (unsigned long)s);
            }
            free(data);
        }
        tap_family_end(&family, "%s, special values at the ends of blocks, and alone",
                       element_name(type));
    }
}

/* Every pattern of the 16-bit types, in blocks. */
static void check_patterns(void)
{
    for (int t = ELEMENT_F16; t <= ELEMENT_BF16; t++) {
        enum element_type type = (enum element_type)t;
        struct tap_family family = {0};
        unsigned char *data = block_new(N_MAX * 2, 0);

        for (uint64_t first = 0; first < 0x10000; first += 64) {
            for (uint64_t i = 0; i < 64; i++)
                data_put_pattern(type, data, (size_t)i, first + i);
            check_whole(&family, type, data, 64, first, "patterns from", (unsigned long)first);
            /* Scattered: each block has neighbours of all sizes. */
            for (uint64_t i = 0; i < 67; i++)
                data_put_pattern(type, data, (size_t)i, (first + i * 40503) & 0xffff);
            check_whole(&family, type, data, 67, first, "scattered from", (unsigned long)first);
        }
        free(data);
        tap_family_end(&family, "%s, every pattern", element_name(type));
    }
}

/* Blocks at the limit of what binary64 adds without rounding: all the mantissa's bits set, at the
   largest exponent, and a single last place far below. */
static void check_spans(void)
{
    struct rng rng;

    rng_seed(&rng, 63);
    for (int t = 0; t < ELEMENT_FLOATS; t++) {
        enum element_type type = (enum element_type)t;
        unsigned fields = (1u << data_exponent_bits(type)) - 1;
        uint64_t ones = ((uint64_t)1 << data_fraction_bits(type)) - 1;
        const size_t n = 2 * CPU_BLOCK_MAX;
        unsigned char *data = block_new(n * 8, 0);
        struct tap_family family = {0};

        for (unsigned span = 0; span < 120 && span + 1 < fields; span += EVERY) {
            for (int variant = 0; variant < 6; variant++) {
                unsigned top = fields - 1;
                unsigned sign = variant & 1;

                if (variant >= 2 && top > span) /* down to the subnormals */
                    top = span + (unsigned)rng_below(&rng, variant >= 4 ? 3 : top - span);
                if (top >= fields)
                    top = fields - 1;
                for (size_t i = 0; i < n; i++)
                    data_put_fields(type, data, i, variant == 5 ? (unsigned)(i % 3 == 0) : sign,
                                    top, top ? ones : ones - 1);
                for (size_t i = 0; i < (variant == 3 ? 40u : 2u); i++)
                    data_put_fields(type, data, (size_t)rng_below(&rng, n), sign,
                                    top - (top < span ? top : span), 1);
                check_whole(&family, type, data, n, 0, "span", span);
                check_whole(&family, type, data, n / 2 + 3, 0, "span, half", span);
            }
        }
        free(data);
        tap_family_end(&family, "%s, a last place far below a block of ones", element_name(type));
    }
}

/* Data of binary64 that the expected range of a block fits just, or just not: blocks of ones only,
   at every exponent, and with steps between blocks. */
static void check_windows(void)
{
    static double data[4096];
    struct tap_family family = {0};
    struct rng rng;

    for (unsigned field = 0; field < 2047; field++) {
        size_t n = field % 16 == 0 || field > 1980 || field < 150 ? 3 * 1024 : 1024 + 512;

        if (field % EVERY != 0 && field > 70 && field < 2000)
            continue;
        for (size_t i = 0; i < n; i++)
            data_put_fields(ELEMENT_F64, data, i, field & 1, field, 0xfffffffffffff);
        check_whole(&family, ELEMENT_F64, data, n, 0, "ones at field", field);
        /* Powers of two: the largest that a slice rounds to, and not beyond it. */
        if (field > 1980 || field < 150) {
            for (size_t i = 0; i < n; i++)
                data_put_fields(ELEMENT_F64, data, i, field & 1, field, 0);
            check_whole(&family, ELEMENT_F64, data, n, 0, "powers at field", field);
        }
    }
    tap_family_end(&family, "f64, blocks of ones at every exponent");

    rng_seed(&rng, 64);
    for (int round = 0; round < 300; round++) {
        int field = (int)rng_below(&rng, 2047);

        for (size_t i = 0; i < 4096; i++) {
            int spread = (int)rng_below(&rng, 1 + (uint64_t)(round % 90)), here;

            if (i % 1024 == 0) { /* a small step or a large one */
                field += round % 2 ? (int)rng_below(&rng, 7) - 3 : (int)rng_below(&rng, 601) - 300;
                field = field < 0 ? 0 : field > 2046 ? 2046 : field;
            }
            here = field > spread ? field - spread : 0;
            data_put_fields(ELEMENT_F64, data, i, rng_next(&rng) & 1, (unsigned)here,
                            rng_next(&rng) >> 12 & ~UINT64_C(0) << (round % 53));
        }
        check_whole(&family, ELEMENT_F64, data, 4096, 0, "steps", (unsigned long)round);
    }
    tap_family_end(&family, "f64, the exponent steps between blocks");

    /* Below the lower slice nothing must be lost. All the rest cancels, so that the sum is the tiny
       element and its sign; it may be in any lane. The second block has it: by then a range is
       expected. */
    for (int bit = 20; bit < 130; bit += EVERY) {
        for (size_t lane = 0; lane < 16; lane++) {
            size_t at = 1024 + (size_t)(bit * 16) % 900 + lane;

            for (size_t i = 0; i < 2048; i++)
                data[i] = (i % 2 ? -1.0 : 1.0) * (double)(1 + i / 2 % 7);
            data[at] = ldexp(lane % 3 ? 1 : -3, 2 - bit);
            data[at ^ 1] = 0;
            check_whole(&family, ELEMENT_F64, data, 2048, 0, "tiny at bit", (unsigned long)bit);
        }
    }
    tap_family_end(&family, "f64, a tiny element among others that cancel");

    /* Elements that lie whole in one slice and fill it: 2^high - 2^low, and one of them less by a
       last place, so that the sum needs every bit of binary64 or, for wider ones, more. */
    for (int high = 4; high > -100; high -= EVERY) {
        for (int low = high - 40; low > high - 54; low--) {
            for (int sign = -1; sign <= 1; sign += 2) {
                for (size_t i = 0; i < 1024; i++)
                    data[i] = 1 + (double)(i % 7);
                for (size_t i = 1024; i < 2048; i++)
                    data[i] = sign * (ldexp(1, high) - ldexp(1, low));
                data[1024 + (size_t)(low & 1023)] -= sign * ldexp(1, low);
                /* Without the first block's sum, and the second's leading bits, its last bits come
                   to light. */
                for (size_t i = 2048; i < 3072; i++)
                    data[i] = -data[i - 2048];
                for (size_t i = 3072; i < 3080; i++)
                    data[i] = 0;
                data[3075] = -sign * ldexp(1, high + 10);
                check_whole(&family, ELEMENT_F64, data, 3080, 0, "a full slice up to 2^",
                            (unsigned long)(high + 1000L));
            }
        }
    }
    tap_family_end(&family, "f64, elements that fill a slice");
}

/* Ties for the extremes: within a vector, between vectors, blocks and chunks. */
static void check_ties(void)
{
    struct rng rng;

    rng_seed(&rng, 65);
    for (int t = 0; t < ELEMENT_FLOATS; t++) {
        enum element_type type = (enum element_type)t;
        size_t size = element_size(type);
        unsigned char *data = block_new(N_MAX * size, 0);
        struct tap_family family = {0};

        for (int round = 0; round < 200; round++) {
            size_t n = 2 + (size_t)rng_below(&rng, round % 2 ? 60 : 5000);
            static const double extremes[] = {2, 1.5, 0.0, -0.0, -1.5, -2};
            double low = extremes[3 + rng_below(&rng, 3)], high = extremes[rng_below(&rng, 3)];

            for (size_t i = 0; i < n; i++)
                data_put(type, data, i, round % 4 == 0 ? low : rng_next(&rng) & 1 ? -0.0 : 0.0);
            for (uint64_t i = rng_below(&rng, 6); i > 0; i--) {
                data_put(type, data, (size_t)rng_below(&rng, n), low);
                data_put(type, data, (size_t)rng_below(&rng, n), high);
            }
            check_whole(&family, type, data, n, 77, "ties", (unsigned long)round);
        }
        free(data);
        tap_family_end(&family, "%s, the first of equal extremes", element_name(type));
    }
}

/* Whatever is asked for, there is a kernel that finds it. */
static void check_rows(void)
{
    struct tap_family family = {0};

    for (size_t i = 0; i < cpu_kernels_count; i++) {
        const struct cpu_kernels *k = cpu_kernels_all[i];

        for (size_t w = 0; w < sizeof all_wants / sizeof *all_wants; w++) {
            for (int t = 0; t < ELEMENT_FLOATS; t++) {
                cpu_kernel *kernel = cpu_kernels_find(k, (enum element_type)t, all_wants[w]);
                unsigned finds = PARTIAL_WHERE;

                for (int row = 0; row < CPU_KERNEL_ROWS && kernel; row++)
                    if (k->rows[row].kernel[t] == kernel)
                        finds |= k->rows[row].finds;
                tap_case(&family, kernel && (all_wants[w] & ~finds) == 0, "%s, %s, wants %u",
                         k->name, element_name((enum element_type)t), all_wants[w]);
            }
        }
    }
    tap_family_end(&family, "there is a kernel for all that can be asked for");
}

static void check_choice(void)
{
    const struct cpu_kernels *best = kernels[kernel_count - 1];
    struct tap_family family = {0};

    tap_case(&family, cpu_kernels_choose(NULL) == best, "the best is %s, not %s",
             cpu_kernels_choose(NULL)->name, best->name);
    for (size_t k = 0; k < kernel_count; k++)
        tap_case(&family, cpu_kernels_choose(kernels[k]->name) == kernels[k],
                 "%s asked for, %s chosen", kernels[k]->name,
                 cpu_kernels_choose(kernels[k]->name)->name);
    tap_case(&family, cpu_kernels_choose("abacus") == best, "an abacus asked for, %s chosen",
             cpu_kernels_choose("abacus")->name);
    tap_family_end(&family, "the choice of kernels");
}

/* All floats of up to 16 bits as f32, in any number of them: their values, one by one, or NaNs. */
static void check_widened(void)
{
    static const enum element_type types[] = {ELEMENT_F16, ELEMENT_BF16, ELEMENT_F8E4M3,
                                              ELEMENT_F8E5M2};
    static unsigned char bytes[2 * 65536 + 1];
    static float found[65536];
    struct tap_family family = {0};

    for (unsigned i = 0; i < 65536; i++) {
        bytes[1 + 2 * i] = (unsigned char)i;
        bytes[2 + 2 * i] = (unsigned char)(i >> 8);
    }
    for (size_t k = 0; k < kernel_count; k++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            const size_t size = element_size(types[t]);

            for (size_t n = 1; n <= 65536; n = n < 700 ? n + 61 : n < 65536 ? 65536 : 65537) {
                size_t good = 0;

                cpu_convert(kernels[k], found, ELEMENT_F32, bytes + 1, types[t], n);
                for (size_t i = 0; i < n; i++) {
                    const double x = element_load(types[t], bytes + 1 + i * size);

                    good +=
                        isnan(x) ? isnan(found[i]) : exact_bits((double)found[i]) == exact_bits(x);
                }
                tap_case(&family, good == n, "%s: %zu of %zu of %s", kernels[k]->name, good, n,
                         element_name(types[t]));
            }
        }
    tap_family_end(&family, "floats of up to 16 bits as f32");
}

int main(void)
{
    tap_note("oracle: %s", oracle_backend());
    for (size_t i = cpu_kernels_count; i-- > 0;) {
        const struct cpu_kernels *k = cpu_kernels_all[i];

        if (k->usable() && kernel_count < KERNELS_MAX)
            kernels[kernel_count++] = k;
        tap_note("%s: %s", k->name, k->usable() ? "runs here" : "does not run here");
    }
    check_rows();
    check_choice();
    check_specials();
    check_patterns();
    check_ties();
    check_spans();
    check_windows();
    check_chunks();
    check_lengths();
    check_widened();
    return tap_done();
}
