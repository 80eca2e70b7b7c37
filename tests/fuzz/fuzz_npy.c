/*
 * The .npy header. Any bytes: parsing stays within them, its answer holds together, and the file is
 * taken or refused alike through a file and through a pipe. And headers made out of a choice of
 * parts, for which it is known what must come out.
 */
#include "config.h"

#include "fuzz/fuzz.h"
#include "source/format/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One input of so many is reduced by the whole program; the others are read without a session, which
   takes a fraction of the time. */
#define WHOLE 64

#define MAGIC "\x93NUMPY"

/* The expected meaning of a header that was put together. */
struct meaning {
    bool good;
    enum element_type type;
    bool big_endian;
    uint64_t elements;
};

static void add_text(struct fuzz_bytes *b, const char *text)
{
    fuzz_add(b, text, strlen(text));
}

static void add_space(struct fuzz_input *in, struct fuzz_bytes *b)
{
    static const char *const spaces[] = {"", " ", "\n", "\t  ", "\r\n"};

    add_text(b, spaces[fuzz_below(in, 5)]);
}

static void add_descr(struct fuzz_input *in, struct fuzz_bytes *b, struct meaning *meaning)
{
    /* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order to be read */
    static const struct {
        const char *text;
        bool good;
        enum element_type type;
        bool big;
    } descrs[] = {
        {"'<f4'", true, ELEMENT_F32, false},
        {"\"<f8\"", true, ELEMENT_F64, false},
        {"'>f4'", true, ELEMENT_F32, true},
        {"'>f8'", true, ELEMENT_F64, true},
        {"'<f2'", true, ELEMENT_F16, false},
        {"'>f2'", true, ELEMENT_F16, true},
        {"'<i4'", true, ELEMENT_I32, false},
        {"'>u8'", true, ELEMENT_U64, true},
        {"'<i1'", true, ELEMENT_I8, false},
        {"'>c8'", false, ELEMENT_F32, true},
        {"'<f16'", false, ELEMENT_F32, false},
        {"'|V2'", false, ELEMENT_F32, false},
        {"[('x', '<f4')]", false, ELEMENT_F32, false},
        {"'<f4\"", false, ELEMENT_F32, false},
        {"<f4", false, ELEMENT_F32, false},
        {"'\\x3cf4'", false, ELEMENT_F32, false},
    };
    uint64_t i = fuzz_below(in, sizeof descrs / sizeof *descrs);

    add_text(b, descrs[i].text);
    meaning->good &= descrs[i].good;
    meaning->type = descrs[i].type;
    meaning->big_endian = descrs[i].big;
}

/* A shape, and the product of its dimensions; beyond 2^64 that counts as UINT64_MAX. */
static void add_shape(struct fuzz_input *in, struct fuzz_bytes *b, struct meaning *meaning)
{
    uint64_t dimensions = fuzz_below(in, 6);
    uint64_t product = 1;
    bool empty = false;

    add_text(b, "(");
    for (uint64_t i = 0; i < dimensions; i++) {
        uint64_t dimension = fuzz_odd_number(in);
        char text[32];

        snprintf(text, sizeof text, "%" PRIu64, dimension);
        add_space(in, b);
        add_text(b, text);
        if (fuzz_below(in, 16) == 0) { /* beyond 2^63, even beyond 2^64 */
            add_text(b, "00000000000000000000");
            meaning->good &= dimension == 0;
        }
        if (fuzz_below(in, 8) == 0)
            add_text(b, "L");
        add_space(in, b);
        if (dimensions == 1 || i + 1 < dimensions || fuzz_flag(in))
            add_text(b, ",");
        empty |= dimension == 0;
        /* Once beyond 2^63 it is so for good, unless a dimension is 0. */
        if (product <= INT64_MAX && dimension > 0 &&
            __builtin_mul_overflow(product, dimension, &product))
            product = UINT64_MAX;
    }
    add_text(b, ")");
    meaning->elements = empty ? 0 : product;
    meaning->good &= empty || product <= INT64_MAX;
}

/* A header out of parts, with its prefix. */
static void put_together(struct fuzz_input *in, struct fuzz_bytes *b, struct meaning *meaning)
{
    static const char *const keys[] = {"'descr'", "\"fortran_order\"", "'shape'"};
    struct fuzz_bytes text = {0};
    unsigned version = 1 + (unsigned)fuzz_below(in, 3);
    uint64_t first = fuzz_below(in, 3), step = 1 + fuzz_below(in, 2);

    *meaning = (struct meaning){.good = true};
    add_space(in, &text);
    add_text(&text, "{");
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t key = (first + i * step) % 3;

        add_space(in, &text);
        add_text(&text, keys[key]);
        add_space(in, &text);
        add_text(&text, ":");
        add_space(in, &text);
        if (key == 0)
            add_descr(in, &text, meaning);
        else if (key == 1)
            add_text(&text, fuzz_flag(in) ? "True" : "False");
        else
            add_shape(in, &text, meaning);
        add_space(in, &text);
        if (i < 2 || fuzz_flag(in))
            add_text(&text, ",");
    }
    add_space(in, &text);
    add_text(&text, "}");
    add_space(in, &text);

    fuzz_add(b, MAGIC, 6);
    fuzz_add_number(b, version, 2);
    fuzz_add_number(b, text.size, version == 1 ? 2 : 4);
    fuzz_add(b, text.data, text.size);
    fuzz_free(&text);
}

/* Parses a header in a block of just its size, so that a step beyond it is seen. */
static bool parse(const void *bytes, size_t size, struct npy *npy)
{
    unsigned char *header = malloc(size);
    char error[NPY_ERROR_MAX] = "";
    uint64_t offset = UINT64_MAX;
    bool good;

    if (!header)
        abort();
    memcpy(header, bytes, size);
    good = npy_parse(header, size, npy, error, &offset);
    free(header);
    if (good) {
        fuzz_check(npy->data_offset == size, "data begin at byte %" PRIu64 " of %zu",
                   npy->data_offset, size);
        fuzz_check(npy->elements <= INT64_MAX, "%" PRIu64 " elements", npy->elements);
        fuzz_check(npy->untyped || (unsigned)npy->type < ELEMENT_TYPES, "type %d", npy->type);
    } else {
        fuzz_check(strlen(error) > 0 && strlen(error) < NPY_ERROR_MAX, "refused without a reason");
        fuzz_check(offset <= size, "refused for byte %" PRIu64 " of %zu", offset, size);
        for (const char *c = error; *c; c++)
            fuzz_check(*c >= 0x20 && *c < 0x7f, "the reason has a control character: %s", error);
    }
    return good;
}

/* Compares the results, or elements, of these bytes as a file and as a pipe. */
static void compare_ways(const struct options *options, const unsigned char *bytes, size_t size,
                         const struct npy *npy, bool whole)
{
    struct fuzz_content content = {.bytes = bytes, .size = size};
    uint64_t elements = SOURCE_UNKNOWN;

    if (npy) {
        content.type = npy->type;
        content.big_endian = npy->big_endian;
        content.before = npy->data_offset;
        content.promised = npy->elements;
        /* More than any file can hold is refused even where --length asks for less. */
        if (npy->elements <= (INT64_MAX - npy->data_offset) / element_size(npy->type))
            elements = fuzz_expect(options, &content);
    }
    for (int way = 0; way < FUZZ_WAYS; way++) {
        const char *name = fuzz_way_name((enum fuzz_way)way);
        struct fuzz_bytes got = {0};
        struct reduction reduction;
        bool good;

        if (!whole && way == FUZZ_STDIN)
            continue;
        good = whole
                   ? fuzz_reduce(options, (enum fuzz_way)way, bytes, size, 1 + size / 3, &reduction)
                   : fuzz_read(options, (enum fuzz_way)way, bytes, size, 1 + size / 3, &got);
        if (elements == SOURCE_UNKNOWN)
            fuzz_check(!good, "a bad .npy is taken, %s", name);
        else if (whole)
            fuzz_compare(options, &content, elements, good, &reduction, name);
        else
            fuzz_compare_elements(&content, elements, good, &got, name);
        fuzz_free(&got);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct fuzz_bytes bytes = {0};
    struct options options;
    struct meaning meaning;
    bool parts = fuzz_flag(&in), good = false, typed;
    uint64_t length;
    struct npy npy = {0};

    fuzz_options(&in, &options);
    if (fuzz_flag(&in))
        options.session.input.length = fuzz_odd_number(&in);
    options.session.input.format = SOURCE_NPY;
    if (parts)
        put_together(&in, &bytes, &meaning);
    fuzz_add(&bytes, in.data, in.size);

    length = npy_header_length(bytes.data, bytes.size);
    if (npy_recognise(bytes.data, bytes.size) && length >= NPY_PREFIX_MAX && length <= bytes.size &&
        length <= NPY_HEADER_MAX)
        good = parse(bytes.data, (size_t)length, &npy);
    typed = good && !npy.untyped;
    if (parts) {
        fuzz_check(typed == meaning.good, "a header is %s: %.*s", typed ? "taken" : "refused",
                   (int)bytes.size - 10, bytes.data + 10);
        if (typed)
            fuzz_check(npy.type == meaning.type && npy.big_endian == meaning.big_endian &&
                           npy.elements == meaning.elements,
                       "a header is misread: %.*s", (int)bytes.size - 10, bytes.data + 10);
    }
    /* Voids are what --dtype says, if that has as many bytes. */
    if (good && npy.untyped) {
        enum element_order order = npy.order;

        if (order == ELEMENT_ORDER_UNSAID)
            order = options.session.input.order;
        npy.type = options.session.input.type;
        npy.big_endian = order == ELEMENT_ORDER_BIG;
        good = element_size(npy.type) == npy.untyped;
    }
    if (!npy_has_fields(bytes.data, bytes.size)) /* fuzz_container is for these */
        compare_ways(&options, bytes.data, bytes.size, good ? &npy : NULL,
                     fuzz_hash(data, size) % WHOLE == 0);
    fuzz_free(&bytes);
    return 0;
}
