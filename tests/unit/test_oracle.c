/*
 * The tests' own tools: the oracle's two backends agree with each other and with sums that are
 * worked out by hand, and the generators make what they say.
 */
/* Tags: smoke emulator */
#include "config.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "lib/data_gen.h"
#include "lib/oracle.h"
#include "lib/tap.h"

#define N_MAX 1500

static void check_by_hand(void)
{
    static const struct {
        const char *what;
        double x[6];
        int n;
        uint64_t times, divisor;
        double expected;
    } cases[] = {
        {"nothing", {0}, 0, 1, 1, 0},
        {"minus zero", {-0.0, -0.0}, 2, 1, 1, 0},
        {"x - x", {1.5, -1.5}, 2, 1, 1, 0},
        {"cancellation", {1e300, 1, -1e300}, 3, 1, 1, 1},
        {"tie to even, down", {0x1p53, 1}, 2, 1, 1, 0x1p53},
        {"tie to even, up", {0x1p53, 3}, 2, 1, 1, 0x1p53 + 4},
        {"past a tie", {0x1p53, 1, 0x1p-1074}, 3, 1, 1, 0x1p53 + 2},
        {"short of a tie", {0x1p53, 3, -0x1p-1074}, 3, 1, 1, 0x1p53 + 2},
        {"past a negative tie", {-0x1p53, -1, -0x1p-1074}, 3, 1, 1, -0x1p53 - 2},
        {"overflow and back", {DBL_MAX, DBL_MAX, -DBL_MAX}, 3, 1, 1, DBL_MAX},
        {"overflow", {DBL_MAX, DBL_MAX}, 2, 1, 1, INFINITY},
        {"negative overflow", {-DBL_MAX, -DBL_MAX}, 2, 1, 1, -INFINITY},
        {"just no overflow", {DBL_MAX, 0x1p970, -0x1p-1074}, 3, 1, 1, DBL_MAX},
        {"overflow at the tie", {DBL_MAX, 0x1p970}, 2, 1, 1, INFINITY},
        {"subnormals", {0x1p-1074, 0x3p-1074}, 2, 1, 1, 0x1p-1072},
        {"into the normals", {DBL_MIN, -0x1p-1074, 0x1p-1074}, 3, 1, 1, DBL_MIN},
        {"NaN", {1, NAN, INFINITY}, 3, 1, 1, NAN},
        {"infinities of both signs", {INFINITY, 0, -INFINITY}, 3, 1, 1, NAN},
        {"infinity", {-1, INFINITY}, 2, 1, 1, INFINITY},
        {"minus infinity", {-INFINITY, -INFINITY}, 2, 1, 1, -INFINITY},
        {"a third", {1}, 1, 1, 3, 0x1.5555555555555p-2},
        {"two thirds", {2}, 1, 1, 3, 0x1.5555555555555p-1},
        {"minus a fifth", {-1}, 1, 1, 5, -0x1.999999999999ap-3},
        {"mean of what overflows", {DBL_MAX, DBL_MAX}, 2, 1, 2, DBL_MAX},
        {"a subnormal's half, to even", {0x1p-1074}, 1, 1, 2, 0},
        {"three halves, to even", {0x3p-1074}, 1, 1, 2, 0x1p-1073},
        {"five halves, to even", {0x5p-1074}, 1, 1, 2, 0x1p-1073},
        {"two thirds of the smallest", {0x1p-1073}, 1, 1, 3, 0x1p-1074},
        {"a third of the smallest", {-0x1p-1074}, 1, 1, 3, -0.0},
        {"up to the normals", {DBL_MIN, DBL_MIN, -0x1p-1074}, 3, 1, 2, DBL_MIN},
        {"times", {0x1p-1074}, 1, UINT64_MAX, 1, 0x1p-1010},
        {"times over itself", {0.1}, 1, UINT64_MAX, UINT64_MAX, 0.1},
        {"a large divisor", {3}, 1, 1, UINT64_MAX, 0x3p-64},
    };
    struct tap_family schoolbook = {0}, mpfr = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double a =
            oracle_schoolbook(cases[i].x, (size_t)cases[i].n, cases[i].times, cases[i].divisor);
        double b = oracle_mpfr(cases[i].x, (size_t)cases[i].n, cases[i].times, cases[i].divisor);

        tap_case(&schoolbook, oracle_same(a, cases[i].expected), "%s: %a, not %a", cases[i].what, a,
                 cases[i].expected);
        tap_case(&mpfr, oracle_same(b, cases[i].expected), "%s: %a, not %a", cases[i].what, b,
                 cases[i].expected);
    }
    tap_family_end(&schoolbook, "schoolbook: sums worked out by hand");
    if (oracle_has_mpfr())
        tap_family_end(&mpfr, "MPFR: sums worked out by hand");
    else
        tap_skip("MPFR: sums worked out by hand", "built without MPFR");
}

static void check_agreement(void)
{
    static double x[N_MAX];
    struct rng r;

    if (!oracle_has_mpfr()) {
        tap_skip("the backends agree", "built without MPFR");
        return;
    }
    rng_seed(&r, 1);
    for (int kind = 0; kind < DATA_KINDS; kind++) {
        struct tap_family family = {0};

        for (size_t n = 0; n < 80; n++) {
            /* Mostly short: there the last bits are not drowned by chance. */
            size_t length = n < 60 ? n % 30 : (size_t)rng_below(&r, N_MAX);
            uint64_t times = n % 4 ? 1 : rng_next(&r) >> rng_below(&r, 64);
            uint64_t divisor = n % 3 ? 1 : rng_next(&r) >> rng_below(&r, 64);
            double a, b;

            times += times == 0;
            divisor += divisor == 0;
            data_fill((enum data_kind)kind, ELEMENT_F64, x, length, n);
            a = oracle_schoolbook(x, length, times, divisor);
            b = oracle_mpfr(x, length, times, divisor);
            tap_case(&family, oracle_same(a, b), "seed %zu, %zu elements: schoolbook %a, MPFR %a",
                     n, length, a, b);
        }
        tap_family_end(&family, "the backends agree: %s", data_kind_name((enum data_kind)kind));
    }
}

/* The published generator: its first numbers from the state 1, 2, 3, 4. */
static void check_rng(void)
{
    static const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
    struct rng r = {{1, 2, 3, 4}};
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        uint64_t x = rng_next(&r);
        tap_case(&family, x == expected[i], "number %zu: %llu", i, (unsigned long long)x);
    }
    tap_family_end(&family, "the generator gives the published numbers");
}

static void check_data(void)
{
    static const double values[] = {0, 1, -2, 0.5, 100, -0.0, 0x1p-24, 0x1p-14, 65504};
    unsigned char bytes[N_MAX * 8];
    struct tap_family family = {0};

    for (int t = 0; t < ELEMENT_FLOATS; t++) {
        enum element_type type = (enum element_type)t;

        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            /* 65504 is beyond the bits of bf16. */
            if (type == ELEMENT_BF16 && values[i] == 65504)
                continue;
            data_put(type, bytes, i, values[i]);
            tap_case(&family, oracle_same(data_value(type, bytes, i), values[i]),
                     "type %d: %a became %a", t, values[i], data_value(type, bytes, i));
        }
        for (int s = 0; s < DATA_SPECIALS; s++) {
            double x;

            data_put_special(type, bytes, 3, (enum data_special)s);
            x = data_value(type, bytes, 3);
            tap_case(&family,
                     s <= DATA_SIGNALING_NAN       ? isnan(x)
                     : s == DATA_POSITIVE_INFINITY ? x == INFINITY
                     : s == DATA_NEGATIVE_INFINITY ? x == -INFINITY
                                                   : oracle_same(x, -0.0),
                     "type %d: %s became %a", t, data_special_name((enum data_special)s), x);
        }
        for (int kind = 0; kind < DATA_KINDS; kind++) {
            data_fill((enum data_kind)kind, type, bytes, N_MAX, 7);
            for (size_t i = 0; i < N_MAX; i++)
                tap_case(&family, isfinite(data_value(type, bytes, i)), "type %d, %s: element %zu",
                         t, data_kind_name((enum data_kind)kind), i);
        }
    }
    data_put(ELEMENT_F16, bytes, 0, 65519);
    data_put(ELEMENT_F16, bytes, 1, -1e30);
    data_put(ELEMENT_F16, bytes, 2, 0x1.fp-25);
    tap_case(&family, data_value(ELEMENT_F16, bytes, 0) == 65504, "65519 is cut off to 65504");
    tap_case(&family, data_value(ELEMENT_F16, bytes, 1) == -65504, "-1e30 is cut off to -65504");
    tap_case(&family, data_value(ELEMENT_F16, bytes, 2) == 0, "less than 2^-24 is cut off to 0");
    tap_family_end(&family, "data are finite, and values are what they were made of");
}

int main(void)
{
    tap_note("oracle: %s", oracle_backend());
    check_by_hand();
    check_agreement();
    check_rng();
    check_data();
    return tap_done();
}
