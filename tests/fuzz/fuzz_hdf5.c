/*
 * The records of gpureduce-hdf5. Any bytes: reading stays within them, what is taken holds together,
 * and what is refused has a reason. And records of an array with missing values and a scale, for
 * which it is known whether they must be taken.
 *
 * The last byte decides which.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "source/format/attributes.h"
#include "source/format/containers.h"
#include "source/format/hdf5_records.h"

#define FILE_SIZE 65536

/* A file of zeros. */
static bool read_zeros(struct container_input *in, void *buffer, size_t size, uint64_t offset)
{
    fuzz_check(offset <= in->size && size <= in->size - offset,
               "%zu bytes at %" PRIu64 " are asked for, and there are %" PRIu64, size, offset,
               in->size);
    memset(buffer, 0, size);
    return true;
}

/* The records of the input. */
static struct fuzz_bytes records;

static bool read_records(struct container *c, struct container_input *in)
{
    unsigned char *bytes = malloc(records.size);

    c->text = (char *)bytes; /* as small as it may be, so that a step beyond is seen */
    if (bytes)
        memcpy(bytes, records.data, records.size);
    return hdf5_take(c, in, bytes, bytes ? records.size : 0);
}

static void check_missing(const struct missing *m, enum element_type type)
{
    const uint64_t end = order_sign(type) | (order_sign(type) - 1);
    const bool nan = missing_has(m, end);
    const unsigned char elements[64] = {0};

    fuzz_check(m->count > 0 && m->count <= ATTRIBUTES_MISSING_MAX && !m->differ, "%u ranges",
               m->count);
    for (unsigned i = 0; i < m->count; i++) {
        const struct missing_range *r = &m->ranges[i];

        fuzz_check(r->first <= r->last && r->last <= end, "range %u is none of keys", i);
        fuzz_check(i == 0 || (r->first > r[-1].last && r->first - r[-1].last > 1),
                   "range %u touches the one before", i);
    }
    if (!element_is_integer(type))
        fuzz_check(missing_has(m, 0) == nan && missing_has(m, order_least(type) - 1) == nan &&
                       missing_has(m, order_greatest(type) + 1) == nan,
                   "some NaNs are missing");
    (void)missing_some(m, type, elements, sizeof elements / element_size(type));
}

static void check_array(const struct container_array *a)
{
    if (!fuzz_check_array(a))
        return;
    fuzz_check(a->tiles || (a->length <= FILE_SIZE && a->offset <= FILE_SIZE - a->length),
               "%" PRIu64 " bytes at %" PRIu64, a->length, a->offset);
    fuzz_check(a->warning, "no warning");
    if (a->missing_values)
        check_missing(a->missing_values, a->type);
    if (a->scale)
        fuzz_check(a->scale->given && !scale_refusal(a->scale), "%a x + %a", a->scale->factor,
                   a->scale->offset);
}

/* Takes the records. Whether they are right. */
static bool take(size_t *arrays)
{
    static const struct container_format format = {
        .name = "hdf5", .article = "an HDF5 file", .read = read_records};
    struct container_input in = {.read = read_zeros, .size = FILE_SIZE, .file = -1};
    struct container *c = container_open(&format, &in);

    *arrays = c ? c->count : 0;
    fuzz_check_reason(c, &in);
    for (size_t i = 0; c && i < c->count; i++)
        check_array(&c->arrays[i]);
    container_close(c);
    return *arrays > 0;
}

/*
 * Records that are put together.
 */

static void put(uint64_t word)
{
    fuzz_add(&records, &word, sizeof word);
}

static void put_text(const void *text, size_t size)
{
    static const char zeros[8];

    put(size);
    fuzz_add(&records, text, size);
    fuzz_add(&records, zeros, 8 - size % 8);
}

/* Draws missing values by the functions that make them. */
static void draw_missing(struct fuzz_input *in, enum element_type type, struct missing *m)
{
    const uint64_t mask = UINT64_MAX >> (64 - 8 * element_size(type));
    const size_t values = (size_t)fuzz_below(in, 6);

    memset(m, 0, sizeof *m);
    for (size_t i = 0; i < values; i++)
        (void)missing_add_bits(m, type, fuzz_odd_number(in) & mask);
    if (fuzz_flag(in)) {
        const uint64_t least = order_least(type),
                       key = least + fuzz_odd_number(in) % (order_greatest(type) - least);

        (void)missing_add_range(m, least, key);
    }
}

/* One array, whose record is right but for one slip at most. Whether it must be taken. */
static bool put_together(struct fuzz_input *in)
{
    const enum element_type type = (enum element_type)fuzz_below(in, ELEMENT_BOOL);
    const unsigned slip = (unsigned)fuzz_below(in, 12);
    struct scale scale;
    struct missing m;
    bool reversed;
    size_t size;

    draw_missing(in, type, &m);
    reversed = slip == 4 && m.count > 0 && m.ranges[0].last < UINT64_MAX;
    memset(&scale, 0, sizeof scale);
    scale.given = true;
    scale.factor = slip == 0 ? 0 : slip == 1 ? (double)NAN : -0.5;
    scale.offset = slip == 2 ? (double)INFINITY : 100;
    if (m.count > 1 && slip == 3)
        m.ranges[0] = m.ranges[1];
    if (reversed)
        m.ranges[0].first = m.ranges[0].last + 1;
    if (slip == 5)
        m.count = m.count ? ATTRIBUTES_MISSING_MAX + 1 : 0;
    if (slip == 6)
        m.differ = true;
    size = m.count > 0 ? sizeof m : 0;
    put(HDF5_ARRAYS);
    put(HDF5_ARRAY);
    put_text("a", 1);
    put_text(element_name(type), strlen(element_name(type)));
    put_text("", 0);
    put(type);
    for (int i = 0; i < 4; i++) /* typed, not numeric, by attributes, big-endian */
        put(0);
    put_text(&m, slip == 7 && size > 0 ? size - 8 : size);
    put_text(&scale, sizeof scale);
    put_text("ignored", slip == 8 ? 6 : 7);
    put(1);
    put(3);
    put(HDF5_RANGE);
    put(slip == 9 ? FILE_SIZE : 8);
    put(slip == 10 ? HDF5_ARRAY : HDF5_END);
    return !(slip <= 2 || (slip == 3 && m.count > 1) || reversed ||
             (slip >= 5 && slip <= 7 && size > 0) || slip == 9 || slip == 10);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    size_t arrays;

    records = (struct fuzz_bytes){0};
    if (fuzz_flag(&in)) {
        const bool wanted = put_together(&in), good = take(&arrays);

        fuzz_check(good == wanted, "a record is %s", good ? "taken" : "refused");
    } else {
        fuzz_add(&records, in.data, in.size);
        (void)take(&arrays);
    }
    fuzz_free(&records);
    return 0;
}
