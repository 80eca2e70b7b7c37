/*
 * npy.h: headers as NumPy writes them, and headers that nobody should write. fuzz_npy damages them.
 *
 * Every header lies in a block of just its size, so that a sanitizer sees a step beyond the end.
 */
/* Tags: emulator */
#include "config.h"

#include "source/format/npy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tap.h"

#define MAGIC "\x93NUMPY"

struct header {
    unsigned char *bytes;
    size_t size;
};

/* A header with the text for its dictionary, as it stands; free its bytes. */
static struct header make(int version, const char *text, size_t length)
{
    size_t prefix = version == 1 ? 10 : 12;
    struct header h = {.size = prefix + length};

    h.bytes = malloc(h.size);
    if (!h.bytes)
        abort();
    memcpy(h.bytes, MAGIC, 6);
    h.bytes[6] = (unsigned char)version;
    h.bytes[7] = 0;
    for (size_t i = 8; i < prefix; i++)
        h.bytes[i] = (unsigned char)(length >> 8 * (i - 8));
    memcpy(h.bytes + prefix, text, length);
    return h;
}

/* Spaces and a newline up to a multiple of 64, as NumPy does; free its bytes. */
static struct header make_padded(int version, const char *text)
{
    size_t prefix = version == 1 ? 10 : 12;
    char padded[512];
    size_t length = strlen(text);
    size_t total = (prefix + length + 1 + 63) / 64 * 64;

    memset(padded, ' ', sizeof padded);
    memcpy(padded, text, length);
    padded[total - prefix - 1] = '\n';
    return make(version, padded, total - prefix);
}

/* The dimensions, and their order. */
static void check_shape(void)
{
    char text[1024] = "{'descr': '<f4', 'fortran_order': False, 'shape': (", error[NPY_ERROR_MAX];
    struct header h = make_padded(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 0, 5)}");
    struct npy npy = {.dimensions = 77};
    size_t begin = strlen(text);
    uint64_t offset;

    tap_ok(npy_parse(h.bytes, h.size, &npy, error, &offset) && npy.dimensions == 3 &&
               npy.shape[0] == 3 && npy.shape[1] == 0 && npy.shape[2] == 5 && npy.fortran_order,
           "three dimensions in Fortran order");
    free(h.bytes);
    h = make_padded(1, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}");
    tap_ok(npy_parse(h.bytes, h.size, &npy, error, &offset) && npy.dimensions == 0 &&
               !npy.fortran_order,
           "no dimensions in C order");
    free(h.bytes);
    for (unsigned count = NPY_DIMENSIONS_MAX; count <= NPY_DIMENSIONS_MAX + 1; count++) {
        bool good = count <= NPY_DIMENSIONS_MAX, parsed;

        size_t length = begin;

        for (unsigned i = 0; i < count; i++)
            length += (size_t)snprintf(text + length, sizeof text - length, "1, ");
        snprintf(text + length, sizeof text - length, ")}");
        h = make(1, text, strlen(text));
        parsed = npy_parse(h.bytes, h.size, &npy, error, &offset);
        tap_ok(parsed == good && (good ? npy.dimensions == count : strstr(error, "64") != NULL),
               "%u dimensions", count);
        free(h.bytes);
    }
}

static void check_good(void)
{
    static const struct {
        const char *text;
        enum element_type type;
        bool big;
        uint64_t elements;
    } good[] = {
#define F "'fortran_order': False, "
        /* As numpy.save writes them. */
        {"{'descr': '<f4', " F "'shape': (3, 4), }", ELEMENT_F32, false, 12},
        {"{'descr': '<f8', " F "'shape': (1000000,), }", ELEMENT_F64, false, 1000000},
        {"{'descr': '<f2', " F "'shape': (7,), }", ELEMENT_F16, false, 7},
        {"{'descr': '>f4', " F "'shape': (3, 4), }", ELEMENT_F32, true, 12},
        {"{'descr': '>f8', " F "'shape': (5,), }", ELEMENT_F64, true, 5},
        {"{'descr': '>f2', " F "'shape': (5,), }", ELEMENT_F16, true, 5},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }", ELEMENT_F32, false, 12},
        {"{'descr': '<f4', " F "'shape': (), }", ELEMENT_F32, false, 1},
        {"{'descr': '<f4', " F "'shape': (0,), }", ELEMENT_F32, false, 0},
        {"{'descr': '<f4', " F "'shape': (3, 0, 4), }", ELEMENT_F32, false, 0},
        {"{'descr': '<f4', " F "'shape': (2, 3, 5, 7, 11, 13), }", ELEMENT_F32, false, 30030},
        {"{'descr': '<f4', " F "'shape': (1,), }", ELEMENT_F32, false, 1},
        /* Python 2's long integers. */
        {"{'descr': '<f4', " F "'shape': (3L, 4L), }", ELEMENT_F32, false, 12},
        {"{'descr': '<f4', " F "'shape': (10L,), }", ELEMENT_F32, false, 10},
        /* Other writers: order, quotes, spaces, commas. */
        {"{'shape': (3, 4), " F "'descr': '<f4'}", ELEMENT_F32, false, 12},
        {"{'fortran_order':False,'descr':'<f8','shape':(3,4)}", ELEMENT_F64, false, 12},
        {"{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (6,)}", ELEMENT_F32, false, 6},
        {"  {  'descr'  :  '<f4'  ,  'fortran_order'  :  False  ,  'shape'  :  (  3  ,  4  )  }  ",
         ELEMENT_F32, false, 12},
        {"{\n'descr': '<f4',\n'fortran_order': False,\n'shape': (3,\n4),\n}\n", ELEMENT_F32, false,
         12},
        {"{\t'descr':\t'<f4',\t'fortran_order':\tFalse,\t'shape':\t(3,\t4)\t}\r\n", ELEMENT_F32,
         false, 12},
        {"{'descr': '<f4', " F "'shape': (3, 4,)}", ELEMENT_F32, false, 12},
        /* As many elements as can be counted, and more dimensions that come to nothing. */
        {"{'descr': '<f4', " F "'shape': (9223372036854775807,)}", ELEMENT_F32, false, INT64_MAX},
        {"{'descr': '<f4', " F "'shape': (4294967296, 2147483647)}", ELEMENT_F32, false,
         UINT64_C(0x7fffffff) << 32},
        {"{'descr': '<f4', " F "'shape': (9223372036854775807, 9223372036854775807, 0)}",
         ELEMENT_F32, false, 0},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        for (int version = 1; version <= 3; version++) {
            for (int padded = 0; padded < 2; padded++) {
                struct header h = padded ? make_padded(version, good[i].text)
                                         : make(version, good[i].text, strlen(good[i].text));
                struct npy npy = {.type = ELEMENT_TYPES, .elements = 77};
                char error[NPY_ERROR_MAX] = "";
                uint64_t offset = 0;
                bool parsed = npy_parse(h.bytes, h.size, &npy, error, &offset);

                tap_case(&family,
                         parsed && npy.type == good[i].type && npy.big_endian == good[i].big &&
                             npy.elements == good[i].elements && npy.data_offset == h.size,
                         "version %d: %s\n%s at %" PRIu64 ": type %d, big %d, elements %" PRIu64
                         ", data at %" PRIu64,
                         version, good[i].text, error, offset, (int)npy.type, npy.big_endian,
                         npy.elements, npy.data_offset);
                tap_case(&family,
                         npy_recognise(h.bytes, h.size) &&
                             npy_header_length(h.bytes, h.size) == h.size,
                         "version %d: %s\na length of %" PRIu64 ", not %zu", version, good[i].text,
                         npy_header_length(h.bytes, h.size), h.size);
                free(h.bytes);
            }
        }
    }
    tap_family_end(&family, "headers of all versions, orders, types, shapes and spacings");
}

/* The error, and its byte in the text: where `at` first occurs in it, or at its end. */
static void check_bad(void)
{
    static const struct {
        const char *text;
        const char *message; /* part of it */
        const char *at;
    } bad[] = {
        {"", "not a dictionary", NULL},
        {"   ", "not a dictionary", NULL},
        {"'descr'", "not a dictionary", "'descr'"},
        {"[]", "not a dictionary", "[]"},
        {"{", "quoted string", NULL},
        {"{}", "missing", NULL},
        {"{'descr': '<f4', " F "}", "missing", NULL},
        {"{'descr': '<f4', 'shape': (3,)}", "missing", NULL},
        {"{" F "'shape': (3,)}", "missing", NULL},
        {"{'descr': '<f4', " F "'shape': (3,)", "does not end", NULL},
        {"{'descr': '<f4', " F "'shape': (3,),", "quoted string", NULL},
        {"{'descr': '<f4' " F "'shape': (3,)}", "does not end", "'fortran"},
        {"{'descr': '<f4', " F "'shape': (3,)} x", "unexpected text", "x"},
        {"{'descr': '<f4', " F "'shape': (3,)}}", "unexpected text", NULL},
        {"{'descr' '<f4', " F "'shape': (3,)}", "':'", "'<f4"},
        {"{descr: '<f4', " F "'shape': (3,)}", "quoted string", "descr"},
        {"{'descr': '<f4', " F "'shape': (3,), 'more': 1}", "'more' is unknown", "'more'"},
        {"{'Descr': '<f4', " F "'shape': (3,)}", "'Descr' is unknown", "'Descr'"},
        {"{'descr': '<f4', 'descr': '<f8', " F "'shape': (3,)}", "'descr' is repeated",
         "'descr': '<f8"},
        {"{'descr': '<f4', " F F "'shape': (3,)}", "'fortran_order' is repeated", NULL},
        {"{'descr': '<f4', " F "'shape': (3,), 'shape': (3,)}", "'shape' is repeated", NULL},
        {"{'descr': '<f4, " F "'shape': (3,)}", "", NULL},
        {"{'descr': \"<f4', " F "'shape': (3,)}", "", NULL},
        {"{'desc\\x72': '<f4', " F "'shape': (3,)}", "unsupported characters", "\\x72"},
        {"{'descr\xc3\xa9': '<f4', " F "'shape': (3,)}", "unsupported characters", "\xc3"},
        {"{'a key that is much longer than any of the three': 1}", "too long", NULL},
        {"{'descr", "does not end", NULL},
        {"{'descr': '<f4", "does not end", NULL},
        {"{'descr': <f4, " F "'shape': (3,)}", "quoted string", "<f4"},
        {"{'descr': [('x', '<f4')], " F "'shape': (3,)}", "structured", "[("},
        {"{'descr': '<i3', " F "'shape': (3,)}", "'<i3' is not supported (floats and", "'<i3'"},
        {"{'descr': '|u4', " F "'shape': (3,)}", "'|u4' is not supported", "'|u4'"},
        {"{'descr': '<i16', " F "'shape': (3,)}", "'<i16' is not supported", "'<i16'"},
        {"{'descr': 'i64', " F "'shape': (3,)}", "'i64' is not supported", "'i64'"},
        {"{'descr': 'F8_E5M2', " F "'shape': (3,)}", "'F8_E5M2' is not supported", "'F8"},
        {"{'descr': '<c8', " F "'shape': (3,)}",
         "'<c8' is not supported: it is pairs of f32, a real and an imaginary part", "'<c8'"},
        {"{'descr': '>c16', " F "'shape': (3,)}",
         "'>c16' is not supported: it is pairs of f64, a real and an imaginary part", "'>c16'"},
        {"{'descr': '<c32', " F "'shape': (3,)}", "x.astype('c16')", "'<c32'"},
        {"{'descr': '<f16', " F "'shape': (3,)}", "is a float of 16 bytes to NumPy", "'<f16'"},
        {"{'descr': '<m8[s]', " F "'shape': (3,)}", "it is time, counted in integers", "'<m8"},
        {"{'descr': '|O', " F "'shape': (3,)}", "'|O' is not supported: it is Python's", "'|O'"},
        {"{'descr': '|S7', " F "'shape': (3,)}", "'|S7' is not supported: it is text", "'|S7'"},
        {"{'descr': [('a', '<f4')], " F "'shape': (3,)}", "save a field alone", "[("},
        {"{'descr': '<V4', " F "'shape': (3,)}", "'<V4' is not supported", "'<V4'"},
        {"{'descr': 'xV2', " F "'shape': (3,)}", "'xV2' is not supported", "'xV2'"},
        {"{'descr': '<<V2', " F "'shape': (3,)}", "'<<V2' is not supported", "'<<V2'"},
        {"{'descr': '<U5', " F "'shape': (3,)}", "'<U5' is not supported", "'<U5'"},
        {"{'descr': '<M8[ns]', " F "'shape': (3,)}", "'<M8[ns]' is not supported", "'<M8"},
        {"{'descr': '', " F "'shape': (3,)}", "'' is not supported", "''"},
        {"{'descr': 4, " F "'shape': (3,)}", "quoted string", "4,"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", "True or False", "0,"},
        {"{'descr': '<f4', 'fortran_order': false, 'shape': (3,)}", "True or False", "false"},
        {"{'descr': '<f4', 'fortran_order': Truely, 'shape': (3,)}", "does not end", "ly"},
        {"{'descr': '<f4', 'fortran_order': Tru", "True or False", "Tru"},
        {"{'descr': '<f4', " F "'shape': 3}", "not a tuple", "3}"},
        {"{'descr': '<f4', " F "'shape': [3]}", "not a tuple", "[3]"},
        {"{'descr': '<f4', " F "'shape': }", "not a tuple", "}"},
        {"{'descr': '<f4', " F "'shape': (3", "does not end", NULL},
        {"{'descr': '<f4', " F "'shape': (3,", "dimension is expected", NULL},
        {"{'descr': '<f4', " F "'shape': (", "dimension is expected", NULL},
        {"{'descr': '<f4', " F "'shape': (3 4)}", "does not end", "4)"},
        {"{'descr': '<f4', " F "'shape': (3,,4)}", "dimension is expected", ",4)"},
        {"{'descr': '<f4', " F "'shape': (,)}", "dimension is expected", ",)}"},
        {"{'descr': '<f4', " F "'shape': (-3,)}", "dimension is expected", "-3"},
        {"{'descr': '<f4', " F "'shape': (3.0,)}", "does not end", ".0"},
        {"{'descr': '<f4', " F "'shape': (x,)}", "dimension is expected", "x,"},
        {"{'descr': '<f4', " F "'shape': (3LL,)}", "does not end", "L,)"},
        {"{'descr': '<f4', " F "'shape': (L,)}", "dimension is expected", "L,)"},
        {"{'descr': '<f4', " F "'shape': (9223372036854775808,)}", "out of range", "8,)"},
        {"{'descr': '<f4', " F "'shape': (99999999999999999999999,)}", "out of range", NULL},
        {"{'descr': '<f4', " F "'shape': (4294967296, 4294967296)}", "2^63", NULL},
        {"{'descr': '<f4', " F "'shape': (3037000500, 3037000500)}", "2^63", NULL},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        for (int version = 1; version <= 3; version++) {
            const char *text = bad[i].text;
            size_t prefix = version == 1 ? 10 : 12;
            struct header h = make(version, text, strlen(text));
            struct npy npy;
            char error[NPY_ERROR_MAX + 1] = "";
            uint64_t offset = UINT64_MAX;
            bool parsed;

            error[NPY_ERROR_MAX] = '#';
            parsed = npy_parse(h.bytes, h.size, &npy, error, &offset);
            tap_case(&family, !parsed, "version %d: %s\nis taken", version, text);
            tap_case(&family,
                     parsed || (error[0] && strlen(error) < NPY_ERROR_MAX &&
                                strstr(error, bad[i].message)),
                     "version %d: %s\nsays '%s', not '%s'", version, text, error, bad[i].message);
            tap_case(&family, parsed || (offset >= prefix && offset <= h.size),
                     "version %d: %s\noffset %" PRIu64 " of %zu", version, text, offset, h.size);
            if (bad[i].at)
                tap_case(&family,
                         parsed || offset == prefix + (size_t)(strstr(text, bad[i].at) - text),
                         "version %d: %s\n'%s' at %" PRIu64 ", not %zu", version, text, error,
                         offset, prefix + (size_t)(strstr(text, bad[i].at) - text));
            free(h.bytes);
        }
    }
    tap_family_end(&family, "malformed headers are refused, saying what and where");
}

/* Strings of any length: what does not fit is refused, not cut off or written past the end. */
static void check_strings(void)
{
    struct tap_family family = {0};

    for (size_t length = 0; length < 300; length++) {
        for (int descr = 0; descr < 2; descr++) {
            char text[400], error[NPY_ERROR_MAX + 1];
            struct header h;
            struct npy npy;
            uint64_t offset;
            size_t at = 0;

            at += (size_t)sprintf(text, descr ? "{'descr': '" : "{'");
            memset(text + at, 'k', length);
            snprintf(text + at + length, sizeof text - at - length, "': 1}");
            h = make(1, text, strlen(text));
            memset(error, '#', sizeof error);
            tap_case(&family,
                     !npy_parse(h.bytes, h.size, &npy, error, &offset) &&
                         memchr(error, 0, NPY_ERROR_MAX) && error[NPY_ERROR_MAX] == '#' &&
                         offset >= 10 && offset <= h.size &&
                         strstr(error, length >= 100 ? "too long"
                                       : length > 20 ? ""
                                       : descr       ? "not supported"
                                                     : "is unknown"),
                     "a %s of %zu characters: '%.*s'", descr ? "descr" : "key", length,
                     NPY_ERROR_MAX, error);
            free(h.bytes);
        }
    }
    tap_family_end(&family, "strings of any length");
}

/* NumPy counts bytes: its f16 is a float of 128 bits, and f32 and f64 are nothing at all. */
static void check_numpy_names(void)
{
    static const char *const names[] = {"<f16", ">f16", "f16", "<f32", "<f64"};
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[200], error[NPY_ERROR_MAX] = "";
        struct header h;
        struct npy npy;
        uint64_t offset;

        snprintf(text, sizeof text, "{'descr': '%s', " F "'shape': (3,)}", names[i]);
        h = make(1, text, strlen(text));
        tap_case(&family,
                 !npy_parse(h.bytes, h.size, &npy, error, &offset) &&
                     strstr(error, "not supported"),
                 "a descr of '%s' is taken for elements of another size", names[i]);
        free(h.bytes);
    }
    tap_family_end(&family, "NumPy's f16 is a long double, which is refused");
}

static void check_prefix(void)
{
    static const unsigned char v1[] = MAGIC "\1\0\x76\0{'";
    static const unsigned char v1_long[] = MAGIC "\1\0\xff\xff{'";
    static const unsigned char v2[] = MAGIC "\2\0\x76\0\0\0";
    static const unsigned char v2_long[] = MAGIC "\2\0\xff\xff\xff\xff";
    static const unsigned char v3[] = MAGIC "\3\0\1\2\3\4";
    struct tap_family family = {0};

    for (size_t size = 0; size < NPY_PREFIX_MAX; size++) {
        /* A block of just that size. */
        unsigned char *bytes = malloc(size ? size : 1);

        if (!bytes)
            abort();
        memcpy(bytes, v1, size);
        tap_case(&family, npy_recognise(bytes, size) == (size >= 6), "recognised from %zu bytes",
                 size);
        tap_case(&family, npy_header_length(bytes, size) == 0, "a length from %zu bytes", size);
        free(bytes);
    }
    tap_case(&family, npy_header_length(v1, 12) == 10 + 0x76, "version 1");
    tap_case(&family, npy_header_length(v1_long, 12) == 10 + 0xffff, "version 1, long");
    tap_case(&family, npy_header_length(v2, 12) == 12 + 0x76, "version 2");
    tap_case(&family, npy_header_length(v2_long, 12) == UINT64_C(12) + 0xffffffff,
             "version 2, long");
    tap_case(&family, npy_header_length(v3, 12) == 12 + 0x04030201, "version 3");
    tap_case(&family, npy_header_length(v2_long, 12) > NPY_HEADER_MAX, "too long to be read");
    for (size_t i = 0; i < 6; i++) {
        unsigned char other[12];

        memcpy(other, v1, 12);
        other[i] ^= 0x20;
        tap_case(&family, !npy_recognise(other, 12), "recognised with byte %zu wrong", i);
    }
    tap_family_end(&family, "the first bytes: recognised, and the header's length");

    for (int version = 0; version < 256; version++) {
        const char *text = "{'descr': '<f4', " F "'shape': (3, 4), }";
        struct header h = make(version, text, strlen(text));
        struct npy npy;
        char error[NPY_ERROR_MAX] = "", number[16];
        uint64_t offset = 77;
        bool parsed;

        h.bytes[7] = 9;
        snprintf(number, sizeof number, " %d.9 ", version);
        parsed = npy_parse(h.bytes, h.size, &npy, error, &offset);
        if (version >= 1 && version <= 3)
            tap_case(&family, parsed, "version %d.9: %s", version, error);
        else
            tap_case(&family, !parsed && offset == 6 && strstr(error, number),
                     "version %d.9: '%s' at %" PRIu64, version, error, offset);
        free(h.bytes);
    }
    tap_family_end(&family, "versions other than 1, 2 and 3 are refused");
}

/* Voids of one byte or two: what libraries for bfloat16 and for floats of one byte write. */
static void check_untyped(void)
{
    static const struct {
        const char *text;
        enum element_order order;
        size_t size;
    } voids[] = {
        {"{'descr': '<V2', " F "'shape': (3,)}", ELEMENT_ORDER_LITTLE, 2},
        {"{'descr': '>V2', " F "'shape': (3,)}", ELEMENT_ORDER_BIG, 2},
        {"{'descr': '|V2', " F "'shape': (3,)}", ELEMENT_ORDER_UNSAID, 2},
        {"{'descr': 'V2', " F "'shape': (3,)}", ELEMENT_ORDER_UNSAID, 2},
        {"{'descr': '|V1', " F "'shape': (3,)}", ELEMENT_ORDER_UNSAID, 1},
        {"{'descr': '<V1', " F "'shape': (3,)}", ELEMENT_ORDER_LITTLE, 1},
        {"{'descr': '<f2', " F "'shape': (3,)}", ELEMENT_ORDER_UNSAID, 0},
        {"{'descr': '|i1', " F "'shape': (3,)}", ELEMENT_ORDER_UNSAID, 0},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof voids / sizeof *voids; i++) {
        struct header h = make(1, voids[i].text, strlen(voids[i].text));
        struct npy npy = {.untyped = 77};
        bool parsed;
        char error[NPY_ERROR_MAX] = "";
        uint64_t offset = 0;

        parsed = npy_parse(h.bytes, h.size, &npy, error, &offset);
        tap_case(&family,
                 parsed && npy.untyped == voids[i].size && npy.elements == 3 &&
                     (!npy.untyped || npy.order == voids[i].order),
                 "%s: %s, untyped %zu, order %d", voids[i].text, error, npy.untyped,
                 (int)npy.order);
        free(h.bytes);
    }
    tap_family_end(&family, "voids of one byte or two have no type");
}

static void check_cut_off(void)
{
    struct tap_family family = {0};

    for (size_t size = 0; size <= 7; size++)
        tap_case(&family, npy_cut_off(MAGIC "\1", size) == (size >= 1 && size <= 5), "%zu bytes",
                 size);
    tap_case(&family, !npy_cut_off("\x93NUX", 4), "another magic");
    tap_family_end(&family, "cut off within the magic");
}

int main(void)
{
    check_good();
    check_shape();
    check_bad();
    check_strings();
    check_numpy_names();
    check_prefix();
    check_untyped();
    check_cut_off();
    return tap_done();
}
