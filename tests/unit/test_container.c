/*
 * container.h: the headers of containers, as their own libraries write them, and those that these
 * libraries refuse, each with what is said of it and at which byte.
 */
#include "config.h"

#include "source/format/containers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/data_gen.h"
#include "lib/tap.h"
#include "source/format/inflate.h"

/* A file in memory, in a block of just its size, so that a sanitizer sees a step beyond it. */
struct file {
    unsigned char *bytes;
    size_t size;
};

static bool read_memory(struct container_input *in, void *buffer, size_t size, uint64_t offset)
{
    const struct file *file = in->context;

    if (offset > file->size || size > file->size - offset)
        abort(); /* it may ask only for what is there */
    memcpy(buffer, file->bytes + offset, size);
    return true;
}

static struct container_input input(struct file *file)
{
    return (struct container_input){.read = read_memory, .context = file, .size = file->size};
}

/* A safetensors file with this header, and so many bytes of elements; free its bytes. */
static struct file make_sized(const char *header, size_t length, size_t data)
{
    struct file file = {.size = 8 + length + data};

    file.bytes = calloc(file.size, 1);
    if (!file.bytes)
        abort();
    for (unsigned i = 0; i < 8; i++)
        file.bytes[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(file.bytes + 8, header, length);
    return file;
}

static struct file make(const char *header, size_t data)
{
    return make_sized(header, strlen(header), data);
}

static struct container *open_as(const struct container_format *format, struct file *file,
                                 struct container_input *in)
{
    *in = input(file);
    return container_open(format, in);
}

static void close_file(struct container *c, struct file *file)
{
    container_close(c);
    free(file->bytes);
}

/* Whether a file, which is closed, is refused with an error that has these words: in->error. */
static bool is_refused(const struct container_format *format, struct file *file, const char *words,
                       struct container_input *in)
{
    struct container *c = open_as(format, file, in);

    if (c)
        snprintf(in->error.text, sizeof in->error.text, "taken");
    close_file(c, file);
    return !c && in->error.kind != ERROR_NONE && strstr(in->error.text, words);
}

/* Checks that a file is refused wherever it is cut off, with an offset that it then has. */
static void check_cut_off(struct tap_family *family, const struct container_format *format,
                          const struct file *file)
{
    struct container_input in;

    for (size_t size = 0; size < file->size; size++) {
        struct file cut = {malloc(size + 1), size};

        if (!cut.bytes)
            abort();
        memcpy(cut.bytes, file->bytes, size);
        tap_case(family, is_refused(format, &cut, "", &in) && in.error.offset <= size,
                 "%s, cut off at %zu: %s", format->name, size, in.error.text);
    }
}

/* Room for a name, in the tests of names. */
#define NAME_ROOM 48

/* Checks a header that uses all features. */
static void check_read(void)
{
    struct file file =
        make("{\"__metadata__\":{\"format\":\"pt\",\"a\\u0001\":\"\"},"
             "\"w.1\" : {\"shape\":[2, 3],\"data_offsets\":[4,28],\"dtype\":\"F32\"},\n"
             "\"\\u00e9\\n\\\"\":{\"dtype\":\"C64\",\"extra\":[{}],\"shape\":[1],"
             "\"data_offsets\":[28,36]},"
             "\"z\":{\"dtype\":\"BF16\",\"shape\":[7,0],\"data_offsets\":[4,4]},"
             "\"s\":{\"dtype\":\"F8_E5M2\",\"shape\":[],\"data_offsets\":[36,37]},"
             "\"first\":{\"dtype\":\"I16\",\"shape\":[1,2,1],\"data_offsets\":[0,4]}}  ",
             37);
    struct container_input in;
    struct container *c = open_as(&container_safetensors, &file, &in);
    const struct container_array *a = c ? c->arrays : NULL;
    const uint64_t data = file.size - 37;

    tap_ok(c != NULL && c->count == 5, "five arrays: %s", in.error.text);
    if (c && c->count == 5) {
        tap_ok(strcmp(a[0].name, "first") == 0 && a[0].type == ELEMENT_I16 && a[0].elements == 2 &&
                   a[0].offset == data && a[0].length == 4 && a[0].dimensions == 3 &&
                   a[0].sizes[0] == 1 && a[0].sizes[1] == 2 && a[0].sizes[2] == 1 &&
                   !a[0].big_endian && !a[0].fortran_order,
               "the first in the file");
        tap_ok(strcmp(a[1].name, "z") == 0 && a[1].type == ELEMENT_BF16 && a[1].elements == 0 &&
                   a[1].length == 0 && a[1].dimensions == 2,
               "one without elements stands before the one at the same place");
        tap_ok(strcmp(a[2].name, "w.1") == 0 && a[2].type == ELEMENT_F32 && a[2].elements == 6 &&
                   a[2].offset == data + 4 && a[2].sizes[0] == 2 && a[2].sizes[1] == 3,
               "members of its description are in any order");
        tap_ok(strcmp(a[3].name, "\xc3\xa9\n\"") == 0 && a[3].unreadable &&
                   strcmp(a[3].type_name, "C64") == 0 && a[3].length == 8,
               "a name with escapes, and a type that is not read");
        tap_ok(strcmp(a[4].name, "s") == 0 && a[4].type == ELEMENT_F8E5M2 && a[4].elements == 1 &&
                   a[4].dimensions == 0,
               "a single number");
    }
    close_file(c, &file);
    file = make("{}      ", 0);
    c = open_as(&container_safetensors, &file, &in);
    tap_ok(c && c->count == 0, "no arrays");
    close_file(c, &file);
}

/* Every type that the format names, with the bytes of 16 elements. */
static void check_types(void)
{
    static const struct {
        const char *name;
        unsigned bytes;
        bool read;
    } types[] = {
        {"BOOL", 16, true},         {"F4", 8, false},      {"F6_E2M3", 12, false},
        {"F6_E3M2", 12, false},     {"U8", 16, true},      {"I8", 16, true},
        {"F8_E5M2", 16, true},      {"F8_E4M3", 16, true}, {"F8_E8M0", 16, false},
        {"I16", 32, true},          {"U16", 32, true},     {"F16", 32, true},
        {"BF16", 32, true},         {"I32", 64, true},     {"U32", 64, true},
        {"F32", 64, true},          {"C64", 128, false},   {"F64", 128, true},
        {"I64", 128, true},         {"U64", 128, true},    {"F8_E4M3FNUZ", 16, false},
        {"F8_E5M2FNUZ", 16, false},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char header[200];
        struct container_input in;
        struct container *c;
        struct file file;

        snprintf(header, sizeof header,
                 "{\"x\":{\"dtype\":\"%s\",\"shape\":[4,4],\"data_offsets\":[0,%u]}}",
                 types[i].name, types[i].bytes);
        file = make(header, types[i].bytes);
        c = open_as(&container_safetensors, &file, &in);
        tap_case(&family,
                 c && c->count == 1 && !c->arrays[0].unreadable == types[i].read &&
                     c->arrays[0].length == types[i].bytes &&
                     strcmp(c->arrays[0].type_name, types[i].name) == 0,
                 "%s: %s", types[i].name, in.error.text);
        close_file(c, &file);
    }
    tap_family_end(&family, "types have their sizes, and are read or not");
}

#define X(type, shape, begin, end) \
    "{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

/* Cases that are refused: the header, the bytes after it, and the byte of the file at which it is
   wrong. */
static void check_refused(void)
{
    static const struct {
        const char *header;
        size_t data;
        uint64_t offset;
        const char *error;
    } cases[] = {
        {"", 0, 8, "begins with {"},
        {" {}", 0, 8, "begins with {"},
        {"[]", 0, 8, "begins with {"},
        {"{} x", 0, 11, "follows its end"},
        {"{}{}", 0, 10, "follows its end"},
        {"{", 0, 9, "name of an array"},
        {"{\"x\"", 0, 12, "name of an array"},
        {"{\"x\":", 0, 13, "description"},
        {"{x:1}", 0, 9, "name of an array"},
        {"{\"\xff\":{}}", 0, 10, "name of an array"},
        {"{\"\xed\xa0\x80\":{}}", 0, 10, "name of an array"},
        {"{\"\\u0000x\":{}}", 0, 16, "name of an array"},
        {"{\"x\":" X("F32", "[1]", 0, 4) ",}", 4, 62, "name of an array"},
        {"{\"x\":1}", 0, 13, "description"},
        {"{\"x\":null}", 0, 13, "description"},
        {"{\"x\":{}}", 0, 13, "missing"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, 13, "missing"},
        {"{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\"}}", 4, 36, "dtype appears twice"},
        {"{\"x\":{\"shape\":[],\"shape\":[]}}", 4, 33, "shape appears twice"},
        {"{\"x\":" X("F33", "[1]", 0, 4) "}", 4, 13, "x: F33 is not a type"},
        {"{\"x\":" X("f32", "[1]", 0, 4) "}", 4, 13, "f32 is not a type"},
        {"{\"x\":" X("", "[1]", 0, 4) "}", 4, 13, "is not a type"},
        {"{\"x\":{\"dtype\":7}}", 4, 22, "name of a type"},
        {"{\"x\":" X("F32", "[1.0]", 0, 4) "}", 4, 37, "integer below"},
        {"{\"x\":" X("F32", "[1e0]", 0, 4) "}", 4, 37, "integer below"},
        {"{\"x\":" X("F32", "[-1]", 0, 4) "}", 4, 37, "integer below"},
        {"{\"x\":" X("F32", "[01]", 0, 4) "}", 4, 37, "integer below"},
        {"{\"x\":" X("F32", "[\\u0031]", 0, 4) "}", 4, 37, "integer below"},
        {"{\"x\":" X("F32", "[18446744073709551616]", 0, 4) "}", 4, 37, "integer below"},
        {"{\"x\":" X("F32", "[4294967296,4294967296]", 0, 4) "}", 4, 13, "more elements than any"},
        {"{\"x\":" X("F32", "[4294967296,4294967296,0]", 0, 0) "}", 0, 13, "more elements than"},
        {"{\"x\":" X("F32", "[4611686018427387904]", 0, 0) "}", 0, 13, "more elements than any"},
        {"{\"x\":" X("F32", "[1", 0, 4) "}", 4, 39, "integer below"},
        {"{\"x\":" X("F32", "1", 0, 4) "}", 4, 36, "a shape is expected"},
        {"{\"x\":" X("F4", "[3]", 0, 2) "}", 2, 13, "must have whole bytes"},
        {"{\"x\":" X("F6_E2M3", "[2]", 0, 1) "}", 1, 13, "must have whole bytes"},
        {"{\"x\":" X("F32", "[1]", 0, 8) "}", 8, 13, "F32: 4 bytes, but the offsets are 0 and 8"},
        {"{\"x\":" X("F32", "[2]", 0, 4) "}", 4, 13, "F32: 8 bytes, but the offsets are 0 and 4"},
        {"{\"x\":" X("F32", "[1]", 4, 0) "}", 4, 13, "the offsets are 4 and 0"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, 58, "two offsets"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}", 8, 60,
         "two offsets"},
        {"{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[]}}", 4, 57, "two offsets"},
        {"{\"x\":" X("F32", "[1]", 4, 8) "}", 8, 62,
         "leaves a hole: it begins at offset 4, not at 0"},
        {"{\"a\":" X("F32", "[1]", 0, 4) ",\"b\":" X("F32", "[1]", 8, 12) "}", 12, 120,
         "b leaves a hole"},
        {"{\"a\":" X("F32", "[2]", 0, 8) ",\"b\":" X("F32", "[1]", 4, 8) "}", 8, 0,
         "b overlaps another"},
        {"{\"a\":" X("F32", "[2]", 0, 8) ",\"b\":" X("F32", "[1]", 4, 8) "}", 0, 115,
         "b overlaps another"},
        {"{\"a\":" X("F32", "[1]", 0, 4) ",\"b\":" X("F32", "[1]", 0, 4) "}", 4, 0,
         "overlaps another"},
        {"{\"a\":" X("U8", "[1]", 0, 1) ",\"b\":" X("U8", "[1]", 1,
                                                    2) ",\"\\u0061\":" X("U8", "[1]", 2, 3) "}",
         3, 0, "two arrays are called a"},
        {"{\"x\":" X("F32", "[1]", 0, 4) "}", 5, 66, "1 byte before the file does"},
        {"{\"x\":" X("F32", "[1]", 0, 4) "}", 3, 65, "1 byte before the arrays do"},
        {"{}", 1, 10, "1 byte before the file"},
        {"{\"__metadata__\":[]}", 0, 24, "__metadata__ is an object"},
        {"{\"__metadata__\":{\"a\":1}}", 0, 29, "__metadata__ holds strings"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, 42, "__metadata__ appears twice"},
        {"{\"x\":{\"y\":"
         "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
         "1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}}",
         0, 0, "nested too deeply"},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct file file = make(cases[i].header, cases[i].data);
        struct container_input in;

        tap_case(&family,
                 is_refused(&container_safetensors, &file, cases[i].error, &in) &&
                     (cases[i].offset == 0 || cases[i].offset == in.error.offset),
                 "%s: %s at byte %" PRIu64 ", expected %s at %" PRIu64, cases[i].header,
                 in.error.text, in.error.offset, cases[i].error, cases[i].offset);
    }
    tap_family_end(&family, "what is refused, why, and where");
}

/* Cases that are wrong before the header can be looked at. */
static void check_lengths(void)
{
    static const struct {
        uint64_t length;
        size_t size;
        const char *error;
    } cases[] = {
        {2, 0, "ends within the length"},          {2, 7, "ends within the length"},
        {2, 9, "ends within the header of 2"},     {100000001, 20, "100000001 bytes is more than"},
        {100000000, 20, "ends within the header"}, {UINT64_MAX, 20, "is more than"},
        {UINT64_MAX - 7, 20, "is more than"},      {0, 8, "begins with {"},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct file file = {.size = cases[i].size};
        struct container_input in;

        file.bytes = calloc(file.size + 1, 1);
        if (!file.bytes)
            abort();
        for (size_t k = 0; k < 8 && k < file.size; k++)
            file.bytes[k] = (unsigned char)(cases[i].length >> 8 * k);
        tap_case(&family, is_refused(&container_safetensors, &file, cases[i].error, &in),
                 "length %" PRIu64 ", %zu bytes: %s", cases[i].length, cases[i].size,
                 in.error.text);
    }
    tap_family_end(&family, "lengths that no header has");
}

/* A zero byte ends no header, and shapes have their limit. */
static void check_limits(void)
{
    static const char zero[] = "{}\0 ";
    struct file file = make_sized(zero, 4, 0);
    struct container_input in;
    struct container *c;
    char header[1000] = "{\"x\":{\"dtype\":\"U8\",\"data_offsets\":[0,1],\"shape\":[1";

    tap_ok(is_refused(&container_safetensors, &file, "zero byte", &in) && in.error.offset == 10,
           "a zero byte: %s", in.error.text);
    for (unsigned dimensions = 1; dimensions < 65; dimensions++)
        snprintf(strchr(header, 0), 3, ",1");
    snprintf(strchr(header, 0), 4, "]}}");
    file = make(header, 1);
    tap_ok(is_refused(&container_safetensors, &file, "more than 64 dimensions", &in),
           "65 dimensions: %s", in.error.text);
    memmove(strstr(header, ",1]}}"), "]}}", 4);
    file = make(header, 1);
    c = open_as(&container_safetensors, &file, &in);
    tap_ok(c && c->arrays[0].dimensions == 64, "64 dimensions");
    close_file(c, &file);
}

/* Many arrays, from the last to the first, so that every list has to grow and to be sorted. */
static void check_many(void)
{
    enum { MANY = 5000 };
    char *header = malloc((size_t)MANY * 100);
    size_t length = 1;
    struct container_input in;
    struct container *c;
    struct file file;
    bool good;

    if (!header)
        abort();
    *header = '{';
    for (unsigned i = MANY; i-- > 0;)
        length += (size_t)snprintf(
            header + length, 100,
            "\"w%u\":{\"dtype\":\"U8\",\"shape\":[1,%u],\"data_offsets\":[%u,%u]}%s", i, 2 + i % 3,
            i / 3 * 9 + (i % 3 == 0   ? 0
                         : i % 3 == 1 ? 2
                                      : 5),
            i / 3 * 9 + (i % 3 == 0   ? 2
                         : i % 3 == 1 ? 5
                                      : 9),
            i > 0 ? "," : "}");
    file = make(header, MANY / 3 * 9 + 5);
    c = open_as(&container_safetensors, &file, &in);
    good = c && c->count == MANY;
    for (unsigned i = 0; good && i < MANY; i++) {
        char name[20];

        snprintf(name, sizeof name, "w%u", i);
        good = strcmp(c->arrays[i].name, name) == 0 && c->arrays[i].sizes[1] == 2 + i % 3;
    }
    tap_ok(good, "5000 arrays in order: %s", in.error.text);
    close_file(c, &file);
    free(header);
}

/* Adds arrays of no elements with these names, and opens the file. */
static struct container *open_named(char (*names)[NAME_ROOM], size_t count,
                                    struct container_input *in, struct file *file)
{
    char *header = malloc(count * (NAME_ROOM + 80) + 2);
    size_t length = 1;

    if (!header)
        abort();
    *header = '{';
    for (size_t i = 0; i < count; i++)
        length += (size_t)sprintf(
            header + length, "\"%s\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}%s",
            names[i], i + 1 < count ? "," : "}");
    *file = make(header, 0);
    free(header);
    return open_as(&container_safetensors, file, in);
}

/* The byte of the file at which the last array of this name has it, behind a quote. */
static uint64_t place_of_last(const struct file *file, const char *name)
{
    char quoted[NAME_ROOM + 3];
    uint64_t place = 0;

    snprintf(quoted, sizeof quoted, "\"%s\":", name);
    for (size_t i = 8; i + strlen(quoted) <= file->size; i++)
        if (memcmp(file->bytes + i, quoted, strlen(quoted)) == 0)
            place = i + 1;
    return place;
}

/* Names of all lengths, some of which begin as others do; and one twice. */
static void check_names(void)
{
    enum { COUNT = 1500 };
    char(*names)[NAME_ROOM] = calloc(COUNT, sizeof *names);
    struct container_input in;
    struct container *c;
    struct file file;
    bool good;

    if (!names)
        abort();
    for (unsigned i = 0; i < COUNT; i++)
        snprintf(names[i], sizeof names[i], "%.*s%u", (int)(i % 37),
                 "model.layers.attention.projection.bias", i / 37);
    c = open_named(names, COUNT, &in, &file);
    tap_ok(c && c->count == COUNT, "names that differ in any byte: %s", in.error.text);
    close_file(c, &file);

    good = true;
    for (unsigned i = 0; i < 40 && good; i++) {
        char kept[NAME_ROOM], words[NAME_ROOM + 32];
        const unsigned first = i * 37 % COUNT, again = (first + 1 + i * 101) % COUNT;

        memcpy(kept, names[again], sizeof kept);
        memcpy(names[again], names[first], sizeof kept);
        snprintf(words, sizeof words, "two arrays are called %s", names[first]);
        c = open_named(names, COUNT, &in, &file);
        good = !c && strcmp(in.error.text, words) == 0 &&
               in.error.offset == place_of_last(&file, names[first]);
        close_file(c, &file);
        memcpy(names[again], kept, sizeof kept);
    }
    tap_ok(good, "one of many names twice: %s", in.error.text);

    free(names);
}

static void check_recognise(void)
{
#ifdef HAVE_HDF5
    const char *const hdf5 = "hdf5";
#else
    const char *const hdf5 = NULL;
#endif
    const struct {
        const char *bytes;
        size_t size;
        const char *format;
    } cases[] = {
        {"\x40\0\0\0\0\0\0\0{\"w\":{\"d", 16, "safetensors"},
        {"\2\0\0\0\0\0\0\0{}", 10, "safetensors"},
        {"\x8\0\0\0\0\0\0\0{ ", 10, "safetensors"},
        {"\x8\0\0\0\0\0\0\0{\n", 10, "safetensors"},
        {"\x8\0\0\0\0\0\0\0{\t", 10, "safetensors"},
        {"\x8\0\0\0\0\0\0\0 \r\n{\"", 13, "safetensors"}, /* which is an error later */
        {"\x8\0\0\0\0\0\0\0 \r\n{", 12, NULL},
        {"\x8\0\0\0\0\0\0\0    ", 12, NULL},
        {"\x8\0\0\0\0\0\0\0{\n\0\0\0\0\0\0", 16, NULL}, /* integers: 8 and 2683, */
        {"\x8\0\0\0\0\0\0\0{\"\0\0\0\0\0\0", 16, NULL}, /* 8 and 8827 */
        {"\2\0\0\0\0\0\0\0{}\0\0", 12, "safetensors"}, /* and something behind it: an error later */
        {"\2\0\0\0\0\0\0\0{", 9, NULL},
        {"\1\0\0\0\0\0\0\0{}", 10, NULL},
        {"\1\xe1\xf5\5\0\0\0\0{\"", 10, NULL}, /* 100,000,001 */
        {"\0\xe1\xf5\5\0\0\0\0{\"", 10, "safetensors"},
        {"\x40\0\0\0\0\0\0\0[\"w\":{\"d", 16, NULL},
        {"\x40\0\0\0\0\0\0\1{\"w\":{\"d", 16, NULL},
        {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16, NULL},
        {"PK\3\4\24\0\0\0\0\0aaaabbbbccccdddd\5\0\0\0x.npy", 35, "npz"},
        {"PK\3\4\24\0\0\0\0\0aaaabbbbccccdddd\5\0\0\0x.np", 34, NULL},
        {"PK\3\4\24\0\0\0\0\0aaaabbbbccccdddd\5\0\0\0x.txt", 35, NULL},
        {"GGUF\3\0\0\0", 8, "gguf"},
        {"GGUF\0\0\0\2", 8, "gguf"},
        {"GGUF\1\0\0\0", 8, "gguf"},
        {"GGUF\0\1\0\0", 8, NULL},
        {"GGUF\0\0\0\377", 8, "gguf"},
        {"PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22, "npz"},
        {"PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 22, NULL},
        {"PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 23, NULL},
        {"\x89HDF\r\n\x1a\n", 8, hdf5},
        {"\x89HDF\r\n\x1a\r", 8, NULL},
        {"\x89HDF\r\n\x1a\n", 7, NULL},
        {"CDF\1\0\0\0\0\0\0\0\012", 12, "netcdf"},
        {"CDF\2\0\0\0\0\0\0\0\0", 12, "netcdf"},
        {"CDF\5\0\0\0\0\0\0\0\1\0\0\0\012", 16, "netcdf"},
        {"CDF\5\0\0\0\0\0\0\0\1\0\0\0\013", 16, NULL},
        {"CDF\3\0\0\0\0\0\0\0\012", 12, NULL},
        {"CDF\1\0\0\0\0\0\1\0\012", 12, NULL},
        {"SIMPLE  =                    T", 30, "fits"},
        {"SIMPLE  =T", 10, NULL},
        {"PK\3\4\0\0\0\10\0\0aaaabbbbccccdddd\12\0\0\0x/data.pkl", 40, "pytorch"},
        {"PK\3\4\0\0\0\10\0\0aaaabbbbccccdddd\21\0\0\0x/.format_version", 47, "pytorch"},
        {"PK\3\4\0\0\0\10\0\0aaaabbbbccccdddd\11\0\0\0/data.pkl", 39, NULL},
        {"PK\3\4\0\0\0\10\0\0aaaabbbbccccdddd\12\0\0\0x/data.pkl", 39, NULL},
        {"\x1c\2\0\0n+2\0\r\n\x1a\n", 12, "nifti"},
        {"\0\0\2\x1cn+2\0\r\n\x1a\n", 12, "nifti"},
        {"\0\0\2\x1cni2\0\r\n\x1a\n", 12, NULL},
        {"\x1c\2\0\0n+2\0\r\n\x1a\n", 11, NULL},
        {"", 0, NULL},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct container_format *found =
            container_recognise((const unsigned char *)cases[i].bytes, cases[i].size);

        tap_case(&family,
                 found ? cases[i].format && strcmp(found->name, cases[i].format) == 0
                       : !cases[i].format,
                 "case %zu: %s", i, found ? found->name : "none");
    }
    tap_family_end(&family, "formats are told by their first bytes");
}

/*
 * .npz.
 */

/* A zip archive as it is put together. */
struct archive {
    unsigned char bytes[8192], directory[2048];
    size_t size, directory_size;
    unsigned members;
};

static void put(unsigned char *at, uint64_t x, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned char)(x >> 8 * i);
}

/* The CRC-32 of bytes, as zip archives have it. */
static uint32_t checksum_of(const unsigned char *bytes, size_t size)
{
    uint32_t sum = UINT32_MAX;

    for (size_t i = 0; i < size; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~sum;
}

/* Adds a member, stored or, method 8, in one stored block of deflate. With `wide`, its sizes stand
   in a ZIP64 field, behind a field of another kind. */
static void add_member(struct archive *z, const char *name, const void *content, size_t size,
                       unsigned method, bool wide)
{
    const size_t length = strlen(name), compressed = method == 8 ? size + 5 : size;
    unsigned char *local = z->bytes + z->size, *entry = z->directory + z->directory_size;
    unsigned char *data = local + 30 + length;

    memset(local, 0, 30);
    put(local, 0x04034b50, 4);
    put(local + 8, method, 2);
    put(local + 26, length, 2);
    memcpy(local + 30, name, length);
    if (method == 8) {
        *data++ = 1;
        put(data, size, 2);
        put(data + 2, ~size, 2);
        data += 4;
    }
    memcpy(data, content, size);
    memset(entry, 0, 46);
    put(entry, 0x02014b50, 4);
    put(entry + 10, method, 2);
    put(entry + 16, checksum_of(content, size), 4);
    put(entry + 20, wide ? 0xffffffff : compressed, 4);
    put(entry + 24, wide ? 0xffffffff : size, 4);
    put(entry + 28, length, 2);
    put(entry + 30, wide ? 24 : 0, 2);
    put(entry + 42, z->size, 4);
    memcpy(entry + 46, name, length);
    if (wide) {
        put(entry + 46 + length, 0x7777, 4);
        put(entry + 46 + length + 4, 1, 2);
        put(entry + 46 + length + 6, 16, 2);
        put(entry + 46 + length + 8, size, 8);
        put(entry + 46 + length + 16, compressed, 8);
    }
    z->size += 30 + length + compressed;
    z->directory_size += 46 + length + (wide ? 24 : 0);
    z->members++;
}

/* Ends the archive, with a ZIP64 end and a comment where those are asked for; free its bytes. */
static struct file end_archive(const struct archive *z, bool wide, const char *comment)
{
    struct file file = {.size =
                            z->size + z->directory_size + (wide ? 76 : 0) + 22 + strlen(comment)};
    const size_t begin = z->size, end = begin + z->directory_size;
    unsigned char *at;

    file.bytes = calloc(file.size, 1);
    if (!file.bytes)
        abort();
    memcpy(file.bytes, z->bytes, z->size);
    memcpy(file.bytes + begin, z->directory, z->directory_size);
    at = file.bytes + end;
    if (wide) {
        put(at, 0x06064b50, 4);
        put(at + 4, 44, 8);
        put(at + 24, z->members, 8);
        put(at + 32, z->members, 8);
        put(at + 40, z->directory_size, 8);
        put(at + 48, begin, 8);
        put(at + 56, 0x07064b50, 4);
        put(at + 64, end, 8);
        put(at + 72, 1, 4);
        at += 76;
    }
    put(at, 0x06054b50, 4);
    put(at + 8, wide ? 0xffff : z->members, 2);
    put(at + 10, wide ? 0xffff : z->members, 2);
    put(at + 12, wide ? 0xffffffff : z->directory_size, 4);
    put(at + 16, wide ? 0xffffffff : begin, 4);
    put(at + 20, strlen(comment), 2);
    memcpy(at + 22, comment, strlen(comment));
    return file;
}

/* Adds a .npy with this dictionary, and so many bytes of elements. Returns its size. */
static size_t add_npy(struct archive *z, const char *name, const char *dictionary, size_t data,
                      unsigned method, bool wide)
{
    const size_t length = strlen(dictionary);
    unsigned char npy[512];

    memcpy(npy, "\x93NUMPY\1\0", 8);
    put(npy + 8, length, 2);
    memcpy(npy + 10, dictionary, length);
    memset(npy + 10 + length, 7, data);
    add_member(z, name, npy, 10 + length + data, method, wide);
    return 10 + length + data;
}

#define F4_23 "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}"
#define F4_03 "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3)}"
#define I2_32 "{'descr': '>i2', 'fortran_order': True, 'shape': (3, 2)}"
#define C8_1 "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}"
#define RECORD "{'descr': [('a', '<f4'), (']', 'O')], 'fortran_order': False, 'shape': ()}"

/* Archives of several members, in every form that sizes are written in. */
static void check_npz(void)
{
    struct tap_family family = {0};

    for (unsigned form = 0; form < 4; form++) {
        struct archive z = {.size = 0};
        const struct container_array *a;
        struct container_input in;
        struct container *c;
        struct file file;

        add_npy(&z, "w.npy", F4_23, 24, 0, form & 1);
        add_member(&z, "notes.txt", "notes", 5, 0, false);
        add_npy(&z, "b/a.npy", I2_32, 12, 0, form & 1);
        add_npy(&z, "c.npy", C8_1, 8, 0, false);
        add_npy(&z, "s.npy", RECORD, 8, 0, false);
        add_npy(&z, "l.npy", F4_23, 24, 14, false);
        file = end_archive(&z, form & 2, form == 3 ? "PK\5\6 is no end" : "");
        c = open_as(&container_npz, &file, &in);
        if (!tap_case(&family, c && c->count == 7, "form %u: %s", form, in.error.text)) {
            close_file(c, &file);
            continue;
        }
        a = c->arrays;
        tap_case(&family,
                 strcmp(a[0].name, "w") == 0 && a[0].type == ELEMENT_F32 && a[0].elements == 6 &&
                     a[0].dimensions == 2 && a[0].sizes[1] == 3 && !a[0].fortran_order &&
                     file.bytes[a[0].offset] == 7 && file.bytes[a[0].offset - 1] == '}' &&
                     a[0].length == 24,
                 "form %u: w", form);
        tap_case(&family, strcmp(a[1].name, "notes.txt") == 0 && a[1].unreadable, "form %u: notes",
                 form);
        tap_case(&family,
                 strcmp(a[2].name, "b/a") == 0 && a[2].type == ELEMENT_I16 && a[2].big_endian &&
                     a[2].fortran_order && a[2].sizes[0] == 3,
                 "form %u: b/a", form);
        tap_case(&family,
                 strcmp(a[3].name, "c.re") == 0 && strcmp(a[4].name, "c.im") == 0 &&
                     a[3].type == ELEMENT_F32 && a[3].dimensions == 1 && a[3].sizes[0] == 1 &&
                     file.bytes[a[3].offset] == 7 && file.bytes[a[3].offset - 1] == '}' &&
                     a[4].offset == a[3].offset + 4 && a[3].length == 4,
                 "form %u: complex numbers", form);
        tap_case(&family,
                 strcmp(a[5].type_name, "structured") == 0 && a[5].unreadable &&
                     strstr(a[5].unreadable, "a field holds Python objects") &&
                     file.bytes[a[5].offset - 1] == '}' && a[5].length == 8,
                 "form %u: a structure", form);
        tap_case(&family, strcmp(a[6].name, "l") == 0 && a[6].unreadable,
                 "form %u: another compression", form);
        close_file(c, &file);
    }
    tap_family_end(&family, "members, and what they are");
}

/* Whether the archive, which is closed, is taken, and its first array is an error of this text. */
static bool is_damaged(struct file *file, const char *error)
{
    struct container_input in;
    struct container *c = open_as(&container_npz, file, &in);
    const bool is = c && c->count > 0 && c->arrays[0].unreadable && !c->arrays[0].not_numeric &&
                    strcmp(c->arrays[0].name, "w") == 0 && strstr(c->arrays[0].unreadable, error);

    close_file(c, file);
    return is;
}

/* A member that is deflated: where its bytes are, and what they hold. */
static void check_deflated(void)
{
    struct archive z = {.size = 0};
    struct container_input in;
    struct container *c;
    struct file file;
    const size_t size = add_npy(&z, "w.npy", F4_23, 24, 8, false);

    file = end_archive(&z, false, "");
    c = open_as(&container_npz, &file, &in);
    tap_ok(c && c->count == 1 && c->arrays[0].deflated && c->arrays[0].offset == 35 &&
               c->arrays[0].compressed == size + 5,
           "where a deflated member lies: %s", in.error.text);
    if (inflate_possible)
        tap_ok(c && c->arrays[0].before == size - 24 && c->arrays[0].elements == 6 &&
                   c->arrays[0].length == 24 && !c->arrays[0].unreadable,
               "what a deflated member holds");
    else
        tap_ok(c && c->arrays[0].unreadable, "without zlib, it is left out");
    container_close(c);
    if (inflate_possible) {
        struct archive y = {.size = 0};
        const size_t complex = add_npy(&y, "c.npy", C8_1, 8, 8, false);
        struct file other;

        other = end_archive(&y, false, "");
        c = open_as(&container_npz, &other, &in);
        tap_ok(c && c->count == 2 && c->arrays[1].deflated && c->arrays[1].offset == 35 &&
                   c->arrays[1].compressed == complex + 5 && c->arrays[0].before == complex - 8 &&
                   c->arrays[1].before == complex - 4 && c->arrays[1].length == 4,
               "the parts of complex numbers: %s", in.error.text);
        close_file(c, &other);
    }
    file.bytes[35] = 7; /* a kind of block that there is not */
    tap_ok(is_damaged(&file, ": invalid block type") || !inflate_possible, "a damaged one");
    if (inflate_possible) {
        struct archive y = {.size = 0};
        struct file other;

        (void)add_npy(&y, "w.npy", F4_03, 12, 8, false);
        y.directory[16] ^= 1;
        other = end_archive(&y, false, "");
        tap_ok(is_damaged(&other, "the checksum of this member is wrong"),
               "one that is damaged and seems to have no elements");
    }
}

/* An archive of one member. */
static struct file make_npz(void)
{
    struct archive z = {.size = 0};

    add_npy(&z, "w.npy", F4_23, 24, 0, false);
    return end_archive(&z, false, "");
}

/* Archives with one part changed: the place, how many bytes, what they become, and what is said. */
static void check_damaged(void)
{
    enum { ENTRY_AT = 126, END_AT = 177, FILE_SIZE = END_AT + 22 };
    static const struct {
        size_t at, bytes;
        uint64_t value;
        const char *error;
        bool array; /* it is an error of the array, and not of the archive */
    } cases[] = {
        {0, 1, 'Q', "a member is expected here", true},
        {26, 2, 4, "another name in the directory", true},
        {26, 2, 60000, "must lie before the directory", true},
        {28, 2, 60000, "must lie before the directory", true},
        {31, 1, 'x', "another name in the directory", true},
        {41, 1, 9, "byte 6 of this .npy: .npy version 9.0", true},
        {43, 2, 500, "the .npy header is cut off", true},
        {45, 1, 'x', "byte 10 of this .npy", true},
        {98, 1, '9', "the shape has more elements than the", true},
        {ENTRY_AT, 1, 'x', "an entry of the central directory is expected", false},
        {ENTRY_AT + 20, 4, 92, "must lie before the directory", true},
        {ENTRY_AT + 20, 4, 90, "91 bytes stored as 90", true},
        {ENTRY_AT + 24, 4, 0xffffffff, "4294967295 bytes stored as 91", true},
        {ENTRY_AT + 28, 2, 6, "this entry of the central directory is cut off", false},
        {ENTRY_AT + 30, 2, 1, "this entry of the central directory is cut off", false},
        {ENTRY_AT + 32, 2, 65535, "this entry of the central directory is cut off", false},
        {ENTRY_AT + 42, 4, 1, "a member is expected here", true},
        {ENTRY_AT + 42, 4, 97, "not before the directory", true},
        {ENTRY_AT + 42, 4, 0xfffffffe, "not before the directory", true},
        {ENTRY_AT + 47, 1, 0, "zero byte", false},
        {END_AT, 1, 'x', "the file is cut off", false},
        {END_AT + 10, 2, 0, "more than 0 members", false},
        {END_AT + 10, 2, 2, "2 members do not fit in 51 bytes", false},
        {END_AT + 12, 4, 50, "does not end here", false},
        {END_AT + 12, 4, 0xfffffff0, "does not end here", false},
        {END_AT + 16, 4, 125, "does not end here", false},
        {END_AT + 16, 4, 0xffffffff, "does not end here", false},
        {END_AT + 20, 2, 1, "the file is cut off", false},
    };
    struct tap_family family = {0};
    struct archive z = {.size = 0};
    struct container_input in;
    struct file file;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file = make_npz();
        if (file.size != FILE_SIZE || file.bytes[ENTRY_AT] != 'P' || file.bytes[END_AT] != 'P')
            abort();
        put(file.bytes + cases[i].at, cases[i].value, cases[i].bytes);
        tap_case(&family,
                 cases[i].array ? is_damaged(&file, cases[i].error)
                                : is_refused(&container_npz, &file, cases[i].error, &in),
                 "byte %zu, expected %s", cases[i].at, cases[i].error);
    }
    file = make_npz();
    check_cut_off(&family, &container_npz, &file);
    free(file.bytes);
    (void)add_npy(&z, "w.npy", F4_23, 23, 0, false);
    add_member(&z, "notes.txt", "notes", 5, 0, false);
    file = end_archive(&z, false, "");
    tap_case(&family, is_damaged(&file, "the shape has more elements than the"),
             "a short member before another one");
    tap_family_end(&family, "damaged archives");
}

/* Archives that bytes follow. */
static void check_followed(void)
{
    static const size_t sizes[] = {1, 65536, 65537, 70000};
    struct tap_family family = {0};

    for (unsigned i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        const size_t more = sizes[i / 2];
        struct archive z = {.size = 0};
        struct container_input in;
        struct container *c;
        struct file file;

        add_npy(&z, "w.npy", F4_23, 24, 0, false);
        file = end_archive(&z, i % 2, "");
        file.bytes = realloc(file.bytes, file.size + more);
        if (!file.bytes)
            abort();
        memset(file.bytes + file.size, 'P', more);
        file.size += more;
        c = open_as(&container_npz, &file, &in);
        tap_case(&family,
                 more > 65536 ? !c && strstr(in.error.text, "or goes on after the archive")
                              : c && c->count == 1 && c->warning && strstr(c->warning, "ignored"),
                 "%zu bytes, form %u: %s", more, i % 2, in.error.text);
        close_file(c, &file);
    }
    tap_family_end(&family, "archives that bytes follow");
}

/* Members that are called .npy, and begin otherwise, beside one that is an array: they are none,
   and what is cut off within the magic string is an error. */
static void check_misnamed(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *error; /* NULL: it is left out */
    } cases[] = {
        {"hello world, no npy", 19, NULL},
        {"hello", 5, NULL},
        {"\x93NUMPX\1\0", 8, NULL},
        {"", 0, NULL},
        {"\x93NUM", 4, ": the .npy header is cut off"},
        {"\x93NUMPY\1\0", 8, ": the .npy header is cut off"},
        {"\x93NUMPY\2\0\0\0\0\1", 12, ": a .npy header of 16777228 bytes"},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (unsigned method = 0; method <= 8; method += 8) {
            struct archive z = {.size = 0};
            struct container_input in;
            struct container *c;
            struct file file;

            if (method == 8 && !inflate_possible)
                continue;
            add_member(&z, "b/ad.npy", cases[i].bytes, cases[i].size, method, false);
            add_npy(&z, "w.npy", F4_23, 24, 0, false);
            file = end_archive(&z, false, "");
            c = open_as(&container_npz, &file, &in);
            tap_case(&family,
                     c && c->count == 2 && strcmp(c->arrays[0].name, "b/ad") == 0 &&
                         c->arrays[0].unreadable && c->arrays[0].not_numeric == !cases[i].error &&
                         (!cases[i].error || strstr(c->arrays[0].unreadable, cases[i].error)) &&
                         !c->arrays[1].unreadable && c->arrays[1].elements == 6,
                     "case %zu, method %u: %s", i, method, in.error.text);
            close_file(c, &file);
        }
    }
    tap_family_end(&family, "members that are called .npy, and are none");
}

/* Names as NumPy has them: the last of two members of one name; .npy is cut off, unless another
   member is called so; directories are none. */
static void check_member_names(void)
{
    static const struct {
        const char *members[4], *names[4];
    } cases[] = {
        {{"w.npy", "w.npy"}, {"w"}},
        {{"w.npy", "v.npy", "w.npy", "w.npy"}, {"v", "w"}},
        {{"w", "v.npy"}, {"w", "v"}},
        {{"w.npy", "w"}, {"w.npy", "w"}},
        {{"w", "w.npy", "w", "w.npy"}, {"w", "w.npy"}},
        {{"w.npy.npy", "w.npy"}, {"w.npy", "w"}},
        {{"d/", "d/w.npy", "e/"}, {"d/w"}},
        {{"a!", "a.npy", "a", "a0"}, {"a!", "a.npy", "a", "a0"}},
        {{".npy", ""}, {".npy", ""}},
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct archive z = {.size = 0};
        struct container_input in;
        struct container *c;
        struct file file;
        bool good;
        size_t count = 0;

        for (size_t k = 0; k < 4 && cases[i].members[k]; k++)
            add_npy(&z, cases[i].members[k], F4_23, 24, 0, false);
        while (count < 4 && cases[i].names[count])
            count++;
        file = end_archive(&z, false, "");
        c = open_as(&container_npz, &file, &in);
        good = c && c->count == count;
        for (size_t k = 0; good && k < count; k++)
            good = strcmp(c->arrays[k].name, cases[i].names[k]) == 0 && !c->arrays[k].unreadable;
        tap_case(&family, good, "case %zu: %s", i, in.error.text);
        close_file(c, &file);
    }
    tap_family_end(&family, "names of members");
}

/* A member that lies in the elements of another one. */
static void check_overlap(void)
{
    struct archive z = {.size = 0};
    struct container_input in;
    size_t first, size;
    struct file file;

    add_npy(&z, "w.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (64,)}", 256, 0, false);
    first = z.size;
    add_npy(&z, "v.npy", F4_23, 24, 0, false);
    size = z.size - first;
    file = end_archive(&z, false, "");
    memcpy(file.bytes + first - size, file.bytes + first, size);
    put(file.bytes + z.size + 51 + 42, first - size, 4);
    tap_ok(is_refused(&container_npz, &file, "overlap", &in), "members overlap: %s", in.error.text);
}

/*
 * GGUF.
 */

/* A file as it is put together, in either byte order. */
struct gguf {
    unsigned char bytes[4096];
    size_t size;
    bool big;
};

static void add_number(struct gguf *g, uint64_t x, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        g->bytes[g->size + (g->big ? size - 1 - i : i)] = (unsigned char)(x >> 8 * i);
    g->size += size;
}

static void add_text(struct gguf *g, const char *text)
{
    add_number(g, strlen(text), 8);
    memcpy(g->bytes + g->size, text, strlen(text));
    g->size += strlen(text);
}

static void add_tensor(struct gguf *g, const char *name, unsigned rows, unsigned columns,
                       unsigned type, uint64_t offset)
{
    add_text(g, name);
    add_number(g, rows ? 2 : 1, 4);
    add_number(g, columns, 8);
    if (rows)
        add_number(g, rows, 8);
    add_number(g, type, 4);
    add_number(g, offset, 8);
}

/* The header up to the tensors, with metadata of every kind; the alignment is 64. */
static void begin_gguf(struct gguf *g, bool big, unsigned tensors)
{
    *g = (struct gguf){.big = big};
    memcpy(g->bytes, "GGUF", 4);
    g->size = 4;
    add_number(g, 3, 4);
    add_number(g, tensors, 8);
    add_number(g, 5, 8);
    add_text(g, "general.name");
    add_number(g, 8, 4);
    add_text(g, "made by hand");
    add_text(g, "general.something");
    add_number(g, 7, 4);
    add_number(g, 1, 1);
    add_text(g, "general.alignment");
    add_number(g, 4, 4);
    add_number(g, 64, 4);
    add_text(g, "tokens");
    add_number(g, 9, 4);
    add_number(g, 8, 4);
    add_number(g, 2, 8);
    add_text(g, "one");
    add_text(g, "");
    add_text(g, "scores");
    add_number(g, 9, 4);
    add_number(g, 12, 4);
    add_number(g, 3, 8);
    add_number(g, 1, 8);
    add_number(g, 2, 8);
    add_number(g, 3, 8);
}

/* With so many bytes of elements behind the header; free its bytes. */
static struct file end_gguf(const struct gguf *g, size_t data)
{
    const size_t begin = (g->size + 63) / 64 * 64;
    struct file file = {calloc(begin + data, 1), begin + data};

    if (!file.bytes)
        abort();
    memcpy(file.bytes, g->bytes, g->size);
    return file;
}

static void check_gguf(void)
{
    struct tap_family family = {0};
    struct container_input in;
    struct container *c;
    struct file file;
    struct gguf g;

    for (int big = 0; big < 2; big++) {
        const struct container_array *a;

        begin_gguf(&g, big, 4);
        add_tensor(&g, "last", 0, 5, 30, 192);
        add_tensor(&g, "blk.0.weight", 3, 2, 0, 0);
        add_tensor(&g, "quantised", 2, 32, 8, 64);
        add_tensor(&g, "new", 0, 7, 99, 192);
        file = end_gguf(&g, 202);
        c = open_as(&container_gguf, &file, &in);
        if (tap_case(&family, c && c->count == 4, "big %d: %s", big, in.error.text)) {
            a = c->arrays;
            tap_case(&family,
                     strcmp(a[0].name, "blk.0.weight") == 0 && a[0].type == ELEMENT_F32 &&
                         a[0].big_endian == big && a[0].elements == 6 && a[0].dimensions == 2 &&
                         a[0].sizes[0] == 3 && a[0].sizes[1] == 2 && a[0].length == 24 &&
                         a[0].offset == file.size - 202 && !a[0].unreadable,
                     "big %d: the first", big);
            tap_case(&family,
                     strcmp(a[1].name, "quantised") == 0 && strcmp(a[1].type_name, "Q8_0") == 0 &&
                         !a[1].unreadable == !big && a[1].elements == 64 &&
                         (big ? a[1].length == 68
                              : a[1].type == ELEMENT_F32 && a[1].length == 256 &&
                                    a[1].compressed == 68 && a[1].tiles->count == 1 &&
                                    a[1].tiles->tiles[0].offset == a[1].offset &&
                                    a[1].tiles->tiles[0].compressed == 68),
                     "big %d: a quantised one", big);
            tap_case(&family,
                     strcmp(a[2].name, "new") == 0 && a[2].unreadable &&
                         strcmp(a[2].type_name, "99") == 0,
                     "big %d: one of an unknown type", big);
            tap_case(&family,
                     strcmp(a[3].name, "last") == 0 && a[3].type == ELEMENT_BF16 &&
                         a[3].dimensions == 1 && a[3].elements == 5 && a[3].length == 10,
                     "big %d: the last", big);
        }
        container_close(c);
        check_cut_off(&family, &container_gguf, &file);
        free(file.bytes);
    }
    tap_family_end(&family, "tensors of a GGUF file");
}

static void check_gguf_wrong(void)
{
    static const struct {
        unsigned rows, columns, type;
        uint64_t offset;
        const char *error;
    } cases[] = {
        {1, 6, 0, 32, "is not a multiple of 64"},
        {1, 6, 0, 64, "24 bytes at offset"},
        {1, 17, 0, 0, "68 bytes at offset"},
        {1, 33, 2, 0, "rows of 33 elements are not whole blocks of 32"},
        {0xffffffff, 0xffffffff, 28, 0, "more elements than any file"},
        {1, 6, 0, UINT64_C(1) << 63, "truncated inside array"},
    };
    struct tap_family family = {0};
    struct container_input in;
    struct file file;
    struct gguf g;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin_gguf(&g, false, 1);
        add_tensor(&g, "w", cases[i].rows, cases[i].columns, cases[i].type, cases[i].offset);
        file = end_gguf(&g, 64);
        tap_case(&family, is_refused(&container_gguf, &file, cases[i].error, &in),
                 "case %zu: %s, expected %s", i, in.error.text, cases[i].error);
    }
    for (int same = 0; same < 2; same++) {
        begin_gguf(&g, false, 2);
        add_tensor(&g, "w", 1, 20, 0, 0);
        add_tensor(&g, same ? "w" : "v", 1, 16, 0, same ? 128 : 64);
        file = end_gguf(&g, 192);
        tap_case(&family,
                 is_refused(&container_gguf, &file,
                            same ? "two arrays are called w" : "v overlaps another", &in),
                 "two: %s", in.error.text);
    }
    begin_gguf(&g, false, 1);
    add_text(&g, "w");
    add_number(&g, 5, 4);
    file = end_gguf(&g, 192);
    tap_case(&family, is_refused(&container_gguf, &file, "5 dimensions; at most 4", &in),
             "dimensions: %s", in.error.text);
    begin_gguf(&g, false, 1000000);
    file = end_gguf(&g, 192);
    tap_case(&family, is_refused(&container_gguf, &file, "no room for 1000000 tensors", &in),
             "tensors: %s", in.error.text);
    tap_family_end(&family, "what is wrong with tensors");
}

/*
 * netCDF.
 */

/* A count, of 4 or in CDF-5 of 8 bytes. */
static void add_count(struct gguf *g, uint64_t x)
{
    add_number(g, x, g->bytes[3] == 5 ? 8 : 4);
}

static void add_name(struct gguf *g, const char *name)
{
    add_count(g, strlen(name));
    memcpy(g->bytes + g->size, name, strlen(name));
    g->size += (strlen(name) + 3) / 4 * 4;
}

static void add_list(struct gguf *g, unsigned tag, unsigned count)
{
    add_number(g, tag, 4);
    add_count(g, count);
}

/* The header up to the variables, of dimensions x, 3, and t, unlimited. */
static void begin_netcdf(struct gguf *g, unsigned version, uint64_t records, unsigned variables)
{
    *g = (struct gguf){.big = true, .size = 4};
    memcpy(g->bytes, "CDF", 3);
    g->bytes[3] = (unsigned char)version;
    add_count(g, records);
    add_list(g, 10, 2);
    add_name(g, "x");
    add_count(g, 3);
    add_name(g, "t");
    add_count(g, 0);
    add_list(g, 12, 1);
    add_name(g, "title");
    add_number(g, 2, 4);
    add_name(g, "none");
    add_list(g, 11, variables);
}

/* Adds a variable of `count` dimensions, with an attribute missing_value of its type, 16 bits or
   more: the number 7. */
static void add_variable(struct gguf *g, const char *name, unsigned count, const unsigned *along,
                         unsigned type, unsigned size, uint64_t begin)
{
    add_name(g, name);
    add_count(g, count);
    for (unsigned i = 0; i < count; i++)
        add_count(g, along[i]);
    add_list(g, 12, 1);
    add_name(g, "missing_value");
    add_number(g, type, 4);
    add_count(g, 1);
    add_number(g, 7, size);
    g->size = (g->size + 3) / 4 * 4;
    add_number(g, type, 4);
    add_count(g, 0); /* the size, which is not read */
    add_number(g, begin, g->bytes[3] == 1 ? 4 : 8);
}

/* With so many bytes in all; free its bytes. */
static struct file end_netcdf(const struct gguf *g, size_t size)
{
    struct file file = {calloc(size, 1), size};

    if (!file.bytes || g->size > size)
        abort();
    memcpy(file.bytes, g->bytes, g->size);
    return file;
}

static void check_netcdf(void)
{
    static const unsigned versions[] = {1, 2, 5};
    struct tap_family family = {0};
    struct container_input in;
    struct container *c;
    struct file file;
    struct gguf g;

    for (size_t i = 0; i < 3; i++) {
        const unsigned version = versions[i];

        begin_netcdf(&g, version, 2, 2);
        add_variable(&g, "s", 2, (unsigned[]){1, 0}, 3, 2, 712);
        add_variable(&g, "n", 1, (unsigned[]){0}, 4, 4, 700);
        file = end_netcdf(&g, 724);
        c = open_as(&container_netcdf, &file, &in);
        if (tap_case(&family, c && c->count == 2, "CDF-%u: %s", version, in.error.text)) {
            const struct container_array *a = c->arrays;

            tap_case(&family,
                     strcmp(a[0].name, "n") == 0 && a[0].type == ELEMENT_I32 && a[0].big_endian &&
                         a[0].elements == 3 && a[0].dimensions == 1 && a[0].sizes[0] == 3 &&
                         a[0].length == 12 && a[0].offset == 700 && !a[0].unreadable,
                     "CDF-%u: a fixed variable", version);
            tap_case(&family,
                     strcmp(a[1].name, "s") == 0 && a[1].type == ELEMENT_I16 &&
                         a[1].elements == 6 && a[1].dimensions == 2 && a[1].sizes[0] == 2 &&
                         a[1].sizes[1] == 3 && a[1].length == 12 && a[1].offset == 712 &&
                         !a[1].unreadable,
                     "CDF-%u: the only one in records, which are not filled up", version);
            tap_case(&family,
                     a[0].missing_values && a[0].missing_values->count == 2 &&
                         missing_has(a[0].missing_values, order_key(ELEMENT_I32, 7)) &&
                         a[1].missing_values,
                     "CDF-%u: missing values", version);
            tap_case(&family, c->end == 724, "CDF-%u: the end", version);
        }
        container_close(c);
        check_cut_off(&family, &container_netcdf, &file);
        /* The number of records is not known. */
        memset(file.bytes + 4, 0xff, version == 5 ? 8 : 4);
        c = open_as(&container_netcdf, &file, &in);
        tap_case(&family, c && c->arrays[1].sizes[0] == 2, "CDF-%u: records by the size: %s",
                 version, in.error.text);
        container_close(c);
        file.size -= 5; /* of the last record */
        c = open_as(&container_netcdf, &file, &in);
        tap_case(&family, c && c->arrays[1].sizes[0] == 1, "CDF-%u: without a part of one: %s",
                 version, in.error.text);
        close_file(c, &file);
    }
    tap_family_end(&family, "variables of netCDF files");
}

/* Variables that share records, whose places are those that an oracle of one element finds. */
static void check_records(void)
{
    struct tap_family family = {0};
    struct container_input in;
    struct container *c;
    struct file file;
    struct gguf g;

    begin_netcdf(&g, 2, 4, 3);
    add_variable(&g, "a", 2, (unsigned[]){1, 0}, 3, 2, 700); /* 6 bytes, filled up to 8 */
    add_variable(&g, "b", 1, (unsigned[]){1}, 6, 8, 708);
    add_variable(&g, "c", 1, (unsigned[]){0}, 5, 4, 688);
    file = end_netcdf(&g, 764);
    c = open_as(&container_netcdf, &file, &in);
    if (tap_case(&family, c && c->count == 3, "%s", in.error.text)) {
        for (size_t i = 1; i < 3; i++) {
            const struct container_array *a = &c->arrays[i];
            const uint64_t here = i == 1 ? 3 : 1, begin = i == 1 ? 700 : 708;
            const size_t size = i == 1 ? 2 : 8;

            tap_case(&family,
                     a->record_elements == here && a->record_stride == 16 &&
                         a->elements == 4 * here &&
                         begin + container_array_extent(a) == (i == 1 ? 754 : 764),
                     "array %zu", i);
            for (uint64_t k = 0; k < a->elements; k++)
                tap_case(&family,
                         container_array_offset(a, k, size) ==
                             begin + k / here * 16 + k % here * size,
                         "array %zu, element %" PRIu64, i, k);
            for (uint64_t offset = 0; offset < 800; offset++) {
                uint64_t before = 0;

                while (before < a->elements &&
                       begin + before / here * 16 + before % here * size < offset)
                    before++;
                tap_case(&family, container_elements_before(a, offset, size, a->elements) == before,
                         "array %zu before %" PRIu64, i, offset);
                tap_case(&family,
                         container_elements_before(a, offset, size, 2) == (before < 2 ? before : 2),
                         "array %zu before %" PRIu64 ", of 2", i, offset);
            }
            tap_case(&family, container_elements_before(a, UINT64_MAX, size, 9) == 9,
                     "array %zu, all", i);
        }
        tap_case(&family, c->end == 764, "the end");
    }
    close_file(c, &file);
    for (unsigned begin = 701; begin < 717; begin++) {
        begin_netcdf(&g, 2, 4, 2);
        add_variable(&g, "a", 2, (unsigned[]){1, 0}, 3, 2, 700);
        add_variable(&g, "b", 1, (unsigned[]){1}, 6, 8, begin);
        file = end_netcdf(&g, 900);
        c = open_as(&container_netcdf, &file, &in);
        tap_case(&family, (c != NULL) == (begin >= 706 && begin <= 708), "the second at %u: %s",
                 begin, in.error.text);
        close_file(c, &file);
    }
    tap_family_end(&family, "variables that share records");
}

static void check_netcdf_wrong(void)
{
    static const struct {
        const char *name;
        unsigned count, along[2], type;
        uint64_t begin;
        const char *error;
    } cases[] = {
        {"v", 1, {0}, 5, 100, "variable v: it overlaps the header"},
        {"v", 1, {0}, 5, 990, "variable v: truncated: its 12 bytes begin at offset 990"},
        {"v", 1, {0}, 5, UINT64_MAX, "variable v: truncated"},
        {"v", 1, {0}, 5, 701, "variable v: it overlaps another"},
        {"v", 1, {1}, 5, 990, "variable v: truncated inside record 2 of 3"},
        {"v", 1, {2}, 5, 800, "variable v: there is no dimension number 2"},
        {"v", 2, {0, 1}, 5, 800, "variable v: the unlimited dimension is not its first"},
        {"v", 1, {0}, 12, 800, "type 12 is not one of CDF-5"},
        {"v", 1, {0}, 0, 800, "type 0 is not one of CDF-5"},
        {"w", 1, {0}, 5, 800, "two arrays are called w"},
        {"", 1, {0}, 5, 800, "a name is empty"},
        {"v", 65, {0}, 5, 800, "variable v: it has more than 64 dimensions"},
    };
    struct tap_family family = {0};
    struct container_input in;
    struct file file;
    struct gguf g;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned along[65] = {cases[i].along[0], cases[i].along[1]};

        begin_netcdf(&g, 5, 3, 2);
        add_variable(&g, cases[i].name, cases[i].count, along, cases[i].type, 4, cases[i].begin);
        add_variable(&g, "w", 1, (unsigned[]){0}, 5, 4, 700);
        file = end_netcdf(&g, cases[i].count > 2 ? 2000 : 1000);
        tap_case(&family, is_refused(&container_netcdf, &file, cases[i].error, &in),
                 "case %zu: %s, expected %s", i, in.error.text, cases[i].error);
    }
    begin_netcdf(&g, 1, UINT32_C(1) << 31, 0);
    file = end_netcdf(&g, 1000);
    tap_case(&family,
             is_refused(&container_netcdf, &file, "the number of records is negative", &in),
             "records: %s", in.error.text);
    begin_netcdf(&g, 5, 0, 0x7fffffff);
    file = end_netcdf(&g, 1000);
    tap_case(&family, is_refused(&container_netcdf, &file, "a name is empty", &in),
             "many variables: %s", in.error.text);
    tap_family_end(&family, "netCDF files that are wrong");
}

/*
 * Streams.
 */

/* The most bytes that were asked for at once. */
static size_t asked;

/* The read of a stream, which fails after its end. */
static bool read_stream(struct container_input *in, void *buffer, size_t size, uint64_t offset)
{
    const struct file *file = in->context;

    asked = size > asked ? size : asked;
    if (offset > file->size || size > file->size - offset)
        return false;
    memcpy(buffer, file->bytes + offset, size);
    return true;
}

static struct container *open_stream(const struct container_format *format, struct file *file,
                                     struct container_input *in)
{
    *in = (struct container_input){.read = read_stream,
                                   .context = file,
                                   .size = UINT64_C(1) << 62,
                                   .file = -1,
                                   .endless = true};
    asked = 0;
    return container_open(format, in);
}

/* Streams that end long before what their headers state: memory goes with what was read. */
static void check_streams(void)
{
    static const struct container_format *const formats[] = {&container_safetensors,
                                                             &container_gguf, &container_netcdf};
    enum { BYTES = 1000 };
    struct tap_family family = {0};
    struct container_input in;
    struct container *c;
    struct file file;
    struct gguf g;

    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        g = (struct gguf){.big = i == 2};
        if (i == 0) {
            add_number(&g, 90000000, 8);
            add_number(&g, '{', 1);
        } else if (i == 1) {
            begin_gguf(&g, false, 4000000);
        } else {
            begin_netcdf(&g, 5, 0, 1);
            add_count(&g, 90000000);
        }
        file = end_gguf(&g, BYTES);
        c = open_stream(formats[i], &file, &in);
        tap_case(&family, !c && asked <= (size_t)1 << 20, "%s: %s, %zu bytes asked for",
                 formats[i]->name, c ? "taken" : "refused", asked);
        close_file(c, &file);
    }
    tap_family_end(&family, "streams that end before what is stated");
}

int main(void)
{
    check_recognise();
    check_read();
    check_types();
    check_refused();
    check_lengths();
    check_limits();
    check_many();
    check_names();
    check_npz();
    check_deflated();
    check_damaged();
    check_followed();
    check_misnamed();
    check_member_names();
    check_overlap();
    check_gguf();
    check_gguf_wrong();
    check_netcdf();
    check_records();
    check_netcdf_wrong();
    check_streams();
    return tap_done();
}
