/*
 * cpu/quantiles.h: the quantiles of many slices, however these lie in memory, whatever is missing, with all
 * kernels. Expected values come from sorting, and from the oracle's integers.
 *
 * STRESS_SEED is the seed, which is printed (CHECK_SEED, or the time); STRESS_RUNS how many random cases
 * there are, of which more have few elements.
 */
/* Tags: ports */
#include "config.h"

#include "cpu/quantiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/order.h"
#include "lib/allocate.h"
#include "lib/draw.h"
#include "lib/environment.h"
#include "lib/oracle.h"
#include "lib/reference_order.h"
#include "lib/tap.h"

#define RUNS 1000
#define SLICES_MAX 80
#define QUANTILES 4

struct slices_case {
    enum element_type type;
    const struct cpu_kernels *kernels;
    bool swap, propagate;
    struct missing missing;
    struct scale scale;
    struct pass_request request;
    size_t length, slices;
    unsigned char *elements; /* one slice after the other, in this machine's byte order */
    unsigned char *memory;   /* as they lie there */
    struct cpu_quantiles_data data;
};

static const struct cpu_kernels *any_kernels(void)
{
    const struct cpu_kernels *kernels;

    do
        kernels = cpu_kernels_all[below(cpu_kernels_count)];
    while (!kernels->usable());
    return kernels;
}

/* Lengths around all that decides on the way, more of them short. */
static size_t any_length(void)
{
    static const size_t most[] = {4, 40, 40, 400, 400, 2000, 10000, 70000};
    static const size_t special[] = {1, 2, 1023, 1024, 4096, 8192, 8193, 65536};

    if (once_in(8))
        return special[below(sizeof special / sizeof *special)];
    return 1 + below(most[below(sizeof most / sizeof *most)]);
}

static void make_elements(struct slices_case *c)
{
    const size_t size = element_size(c->type), count = c->length * c->slices;
    const unsigned shift = (unsigned)below(64);

    c->elements = allocate_exactly(count * size);
    if (element_is_float(c->type)) {
        data_fill((enum data_kind)below(DATA_KINDS), c->type, c->elements, count, rng_next(&rng));
        for (uint64_t left = once_in(2) ? 0 : below(1 + count / (1 + below(20))); left > 0; left--)
            data_put_special(c->type, c->elements, below(count),
                             (enum data_special)below(DATA_SPECIALS));
    } else {
        for (size_t i = 0; i < count; i++)
            element_store(size, c->elements + i * size, rng_next(&rng) >> shift);
    }
    for (uint64_t left = once_in(2) ? 0 : 1 + below(3); left > 0; left--) {
        const uint64_t bits = element_bits(size, c->elements + below(count) * size);
        const uint64_t key = order_key(c->type, bits);

        if (once_in(2))
            (void)missing_add_bits(&c->missing, c->type, bits);
        else if (key >= order_least(c->type) && key <= order_greatest(c->type))
            (void)missing_add_range(&c->missing, once_in(2) ? order_least(c->type) : key, key);
    }
}

/* Puts the elements into memory: as rows, columns, or blocks of some columns, at any address. */
static void lay_out(struct slices_case *c)
{
    const size_t size = element_size(c->type);
    const size_t columns = once_in(3) ? 1 : 1 + below(c->slices);
    const size_t stride = columns * size + (once_in(2) ? 0 : below(9));
    const size_t block = c->length * stride + (once_in(2) ? 0 : below(9));
    const size_t blocks = (c->slices + columns - 1) / columns;

    c->memory = allocate_exactly(blocks * block);
    c->data = (struct cpu_quantiles_data){c->memory, stride, columns, block};
    memset(c->memory, 0x7f, blocks * block);
    for (size_t j = 0; j < c->slices; j++)
        for (size_t i = 0; i < c->length; i++) {
            const unsigned char *from = c->elements + (j * c->length + i) * size;
            unsigned char *to = c->memory + j / columns * block + i * stride + j % columns * size;

            for (size_t k = 0; k < size; k++)
                to[k] = from[c->swap ? size - 1 - k : k];
        }
}

/* The quantile k of slice j. */
static double expected(const struct slices_case *c, size_t j, unsigned k)
{
    const size_t size = element_size(c->type);
    const unsigned char *const slice = c->elements + j * c->length * size;
    const struct quantile *const q = &c->request.quantiles[k];
    unsigned char *left = allocate_exactly(c->length * size);
    struct reference_number *sorted;
    size_t count = 0, numbers;
    double value = NAN;

    for (size_t i = 0; i < c->length; i++)
        if (!missing_has(&c->missing, order_key(c->type, element_bits(size, slice + i * size))))
            memcpy(left + count++ * size, slice + i * size, size);
    sorted = reference_sort(c->type, left, count, &numbers);
    if (numbers > 0 && (numbers == count || !c->propagate))
        value = reference_quantile(sorted, numbers, q->numerator, q->denominator);
    free(sorted);
    free(left);
    /* The scale is -1: the other end, without a zero that is negative. */
    return c->scale.given ? 0 - value : value;
}

static void check_case(struct slices_case *c, struct tap_family *family)
{
    static double found[QUANTILES][SLICES_MAX];
    double *to[QUANTILES];
    struct cpu_quantiles q;

    for (unsigned k = 0; k < QUANTILES; k++)
        to[k] = found[k];
    if (!cpu_quantiles_open(&q, c->kernels, c->type, c->swap, &c->missing, &c->scale, c->propagate,
                            &c->request, c->length + (once_in(3) ? below(10000) : 0)))
        abort();
    cpu_quantiles_find(&q, &c->data, c->length, c->slices, to);
    cpu_quantiles_close(&q);
    for (size_t j = 0; j < c->slices; j++)
        for (unsigned k = 0; k < c->request.quantile_count; k++) {
            struct quantile *const asked = &c->request.quantiles[k];
            double wanted;

            asked->numerator =
                c->scale.given ? asked->denominator - asked->numerator : asked->numerator;
            wanted = expected(c, j, k);
            asked->numerator =
                c->scale.given ? asked->denominator - asked->numerator : asked->numerator;
            tap_case(
                family, oracle_same(found[k][j], wanted),
                "%s, %s%s, quantile %llu / %llu of slice %zu of %zu of %zu elements: %a, not %a",
                c->kernels->name, element_name(c->type), c->swap ? ", swapped" : "",
                (unsigned long long)asked->numerator, (unsigned long long)asked->denominator, j,
                c->slices, c->length, found[k][j], wanted);
        }
}

/* No elements: no quantiles. */
static void check_nothing(void)
{
    struct slices_case c = {.type = ELEMENT_F32,
                            .kernels = any_kernels(),
                            .request = {.quantiles = {{1, 2}}, .quantile_count = 1}};
    double found[3] = {0, 0, 0}, *to[] = {found};
    struct cpu_quantiles q;

    if (!cpu_quantiles_open(&q, c.kernels, c.type, false, &c.missing, &c.scale, false, &c.request,
                            5))
        abort();
    c.data = (struct cpu_quantiles_data){c.elements, 4, 1, 0};
    cpu_quantiles_find(&q, &c.data, 0, 3, to);
    cpu_quantiles_close(&q);
    tap_ok(isnan(found[0]) && isnan(found[1]) && isnan(found[2]), "slices without elements");
}

int main(void)
{
    const uint64_t seed =
        from_environment("STRESS_SEED", from_environment("CHECK_SEED", (uint64_t)time(NULL)));
    const uint64_t runs = from_environment("STRESS_RUNS", RUNS);
    struct tap_family family = {0};

    tap_note("STRESS_SEED=%llu", (unsigned long long)seed);
    rng_seed(&rng, seed);
    check_nothing();
    for (uint64_t run = 0; run < runs; run++) {
        struct slices_case c = {.type = (enum element_type)below(ELEMENT_TYPES),
                                .kernels = any_kernels(),
                                .swap = once_in(3),
                                .propagate = once_in(2),
                                .length = any_length()};

        c.slices = 1 + below(c.length > 1000 ? 20 : SLICES_MAX);
        if (once_in(4))
            c.scale = (struct scale){.given = true, .factor = -1};
        c.request.quantile_count = 1 + (unsigned)below(QUANTILES);
        for (unsigned k = 0; k < c.request.quantile_count; k++) {
            const uint64_t denominator = 1 + below(once_in(2) ? 4 : REFERENCE_DENOMINATOR_MAX);

            c.request.quantiles[k] = (struct quantile){below(denominator + 1), denominator};
        }
        make_elements(&c);
        lay_out(&c);
        check_case(&c, &family);
        free(c.elements);
        free(c.memory);
    }
    tap_family_end(&family, "random slices");
    return tap_done();
}
