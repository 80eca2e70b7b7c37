/*
 * The kernels that finish the results of slices, of every instruction set: what they know of sums of few
 * elements are the results of partial results, which test_partial and test_moments compare with the
 * oracle, bit for bit; and of data that are easy to add up they know most.
 *
 * From the environment: FINISH_RUNS is how many random arrays, CHECK_SEED the seed.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/moments.h"
#include "core/partial.h"
#include "cpu/kernel.h"
#include "lib/data_gen.h"
#include "lib/environment.h"
#include "lib/reference.h"
#include "lib/tap.h"

#define RUNS 600
#define SLICES 67 /* no whole vectors */
#define LENGTH 40

static struct rng rng;

/* The sums of all slices, and what partial results come to. */
static double high[SLICES], low[SLICES], square[CPU_FINISH_SQUARES][SLICES];
static struct result expected[SLICES];

/* Sets them for slice number i: to NaNs if sums need more numbers. */
static void take_slice(enum element_type type, const unsigned char *data, size_t length,
                       uint64_t ddof, size_t i)
{
    const struct moments_terms terms = {.ddof = ddof, .type = type};
    double sum[2] = {0}, squares[CPU_FINISH_SQUARES] = {0};
    const bool good = reference_sums(type, data, length, sum, squares, CPU_FINISH_SQUARES);
    struct partial p;

    partial_clear(&p);
    reference_take(&p, type, data, length, 0);
    p.count = length;
    partial_finish(&p, false, &expected[i]);
    moments_finish(&p, &terms, &expected[i]);
    high[i] = good ? sum[0] : (double)NAN;
    low[i] = sum[1];
    for (int k = 0; k < CPU_FINISH_SQUARES; k++)
        square[k][i] = good ? squares[k] : (double)NAN;
}

/* The result that a kernel was asked for. */
static double wanted(const struct result *r, int what)
{
    const double all[] = {r->mean, r->var, r->std, r->sumsq, r->l2, r->rms};

    return all[what];
}

/* How many results there are, and how many of them are known. */
struct score {
    size_t all, known;
};

/* Has a kernel finish a result of all slices: 0 means, and the others as `wanted` has them. */
static void check(struct tap_family *family, const struct cpu_kernels *kernels, int what,
                  size_t length, uint64_t ddof, struct score *score)
{
    const bool spread = what == 1 || what == 2;
    const double count = what == 0 || spread || what == 5 ? (double)length : 1;
    const struct cpu_finish f = {.high = spread || what == 0 ? high : NULL,
                                 .low = low,
                                 .square = {square[0], square[1], square[2], square[3]},
                                 .squares = CPU_FINISH_SQUARES,
                                 .count = count,
                                 .divisor = count * (count - (spread ? (double)ddof : 0)),
                                 .root = what == 2 || what > 3};
    double found[SLICES];
    bool known[SLICES];
    size_t done;

    if (spread && length <= ddof)
        return;
    done = what == 0 ? kernels->finish_means(&f, SLICES, found, known)
                     : kernels->finish_spreads(&f, SLICES, found, known);
    tap_case(family, done <= SLICES && SLICES - done < kernels->lanes, "%s: %zu are finished",
             kernels->name, done);
    score->all += done;
    for (size_t i = 0; i < done; i++) {
        const double x = wanted(&expected[i], what);

        score->known += known[i];
        tap_case(family, !known[i] || exact_bits(found[i]) == exact_bits(x),
                 "%s: result %d of %zu elements: %a, not %a", kernels->name, what, length, found[i],
                 x);
    }
}

int main(void)
{
    const unsigned long runs = (unsigned long)from_environment("FINISH_RUNS", RUNS);
    const uint64_t seed = from_environment("CHECK_SEED", 1);
    unsigned char data[LENGTH * sizeof(double)];

    rng_seed(&rng, seed);
    for (size_t set = 0; set < cpu_kernels_count; set++) {
        const struct cpu_kernels *const kernels = cpu_kernels_all[set];
        struct tap_family family = {0};
        struct score easy = {0, 0}, others = easy;

        if (!kernels->usable())
            continue;
        for (unsigned long run = 0; run < runs; run++) {
            const enum element_type type = run % 2 ? ELEMENT_F32 : ELEMENT_F64;
            const enum data_kind kind = (enum data_kind)(run / 2 % DATA_KINDS);
            const size_t length = 1 + (size_t)rng_below(&rng, rng_below(&rng, 2) ? 6 : LENGTH);
            const uint64_t ddof = rng_below(&rng, 2);
            const int few = (int)rng_below(&rng, 12);
            const bool plain = kind == DATA_NORMAL || kind == DATA_UNIFORM;

            for (size_t i = 0; i < SLICES; i++) {
                data_fill(kind, type, data, length, rng_next(&rng));
                /* Few bits, so that many results lie between two numbers. */
                for (size_t k = 0; k < length && run % 5 == 1; k++)
                    data_put(type, data, k,
                             ldexp((double)rng_below(&rng, UINT64_C(1) << few), -20));
                take_slice(type, data, length, ddof, i);
            }
            for (int what = 0; what < 6; what++)
                check(&family, kernels, what, length, ddof,
                      plain && type == ELEMENT_F32 && run % 5 != 1 && length > 2 ? &easy : &others);
        }
        tap_family_end(&family, "%s", kernels->name);
        tap_ok(easy.known > easy.all / 100 * 95, "%s: %zu of %zu are known", kernels->name,
               easy.known, easy.all);
    }
    return tap_done();
}
