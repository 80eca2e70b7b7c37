/*
 * The kernels that look for elements by their bits, of every instruction set: what they find is what a
 * plain loop finds, and they read nothing after the elements.
 *
 * From the environment: SEARCH_RUNS is how many random arrays, CHECK_SEED the seed.
 */
/* Tags: ports */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/kernel.h"
#include "lib/allocate.h"
#include "lib/draw.h"
#include "lib/environment.h"
#include "lib/tap.h"

#define RUNS 20000

/* An element as it is compared. */
static uint64_t meant(const unsigned char *x, size_t size, bool truth)
{
    const uint64_t bits = element_bits(size, x);

    return truth ? bits != 0 : bits;
}

/* Bits of few values, which differ in any byte. */
static uint64_t draw_bits(size_t size, bool truth)
{
    const uint64_t bits = truth ? below(2) : below(3) << 8 * below(size);

    return once_in(40) ? rng_next(&rng) >> (64 - 8 * size) >> (truth ? 7 : 0) : bits;
}

static void fill(unsigned char *x, size_t count, size_t size, bool truth)
{
    const uint64_t usual = draw_bits(size, truth), often = 1 + below(300);

    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = once_in(often) ? draw_bits(size, truth) : usual;

        element_store(size, x + i * size, truth && bits ? 1 + below(255) : bits);
    }
}

static void check_row(struct tap_family *family, const struct cpu_kernels *kernels)
{
    const unsigned log = (unsigned)below(4);
    const size_t size = (size_t)1 << log, count = below(once_in(4) ? 3000 : 200);
    const bool truth = log == 0 && once_in(2);
    unsigned char *x = allocate_exactly(count * size);
    uint64_t wanted;
    size_t expected = 0, found;

    fill(x, count, size, truth);
    wanted = count > 0 && once_in(2) ? meant(x + below(count) * size, size, truth)
                                     : draw_bits(size, truth);
    while (expected < count && meant(x + expected * size, size, truth) != wanted)
        expected++;
    found = kernels->search[log](x, count, wanted, truth);
    tap_case(family, found == expected, "%s: %#" PRIx64 " of %zu bytes, among %zu: %zu, not %zu",
             kernels->name, wanted, size, count, found, expected);
    free(x);
}

static void check_columns(struct tap_family *family, const struct cpu_kernels *kernels)
{
    const unsigned log = (unsigned)below(4);
    const size_t size = (size_t)1 << log, columns = CPU_SEARCHED_BYTES / size;
    const size_t rows = below(once_in(4) ? 255 : 30), stride = CPU_SEARCHED_BYTES + below(3) * 5;
    const size_t bytes = rows > 0 ? (rows - 1) * stride + CPU_SEARCHED_BYTES : 0;
    const bool truth = log == 0 && once_in(2);
    unsigned char *x = allocate_exactly(bytes);
    uint64_t wanted[CPU_SEARCHED_BYTES], row[CPU_SEARCHED_BYTES];

    for (size_t i = 0; i < rows; i++)
        fill(x + i * stride, columns, size, truth);
    for (size_t j = 0; j < columns; j++)
        wanted[j] = rows > 0 && once_in(2) ? meant(x + below(rows) * stride + j * size, size, truth)
                                           : draw_bits(size, truth);
    kernels->search_columns[log](x, stride, rows, wanted, truth, row);
    for (size_t j = 0; j < columns; j++) {
        uint64_t expected = 0;

        while (expected < rows && meant(x + expected * stride + j * size, size, truth) != wanted[j])
            expected++;
        expected = expected < rows ? expected : CPU_NO_ROW;
        tap_case(family, row[j] == expected,
                 "%s: %#" PRIx64 " of %zu bytes, column %zu of %zu rows: %" PRIu64 ", not %" PRIu64,
                 kernels->name, wanted[j], size, j, rows, row[j], expected);
    }
    free(x);
}

int main(void)
{
    const unsigned runs = (unsigned)from_environment("SEARCH_RUNS", RUNS);
    const uint64_t seed = from_environment("CHECK_SEED", 1);

    rng_seed(&rng, seed);
    tap_note("seed %" PRIu64, seed);
    for (size_t k = 0; k < cpu_kernels_count; k++) {
        const struct cpu_kernels *const kernels = cpu_kernels_all[k];
        struct tap_family family = {0};

        if (!kernels->usable())
            continue;
        for (unsigned run = 0; run < runs; run++) {
            check_row(&family, kernels);
            check_columns(&family, kernels);
        }
        tap_family_end(&family, "%s", kernels->name);
    }
    return tap_done();
}
