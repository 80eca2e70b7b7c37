#include "config.h"

#include "source/formats.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/npy.h"
#include "source/zstd/frames.h"
#include "sys/message.h"

/* Raw elements are what the options say. */
static bool layout_raw(struct source *s, const struct source_options *options,
                       struct reader *reader, const unsigned char *prefix, size_t had)
{
    reader_push(reader, prefix, had);
    s->info.type = options->type;
    s->info.swap = (options->order == ELEMENT_ORDER_BIG) != element_host_is_big();
    s->data_offset = options->skip;
    return true;
}

/* Adds to a list that is separated by commas. */
static void list_add(char *list, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void list_add(char *list, size_t size, const char *format, ...)
{
    size_t used = strlen(list);
    va_list arguments;

    if (used > 0)
        used += (size_t)snprintf(list + used, size - used, ", ");
    va_start(arguments, format);
    vsnprintf(list + used, size - used, format, arguments);
    va_end(arguments);
}

/* Warns of options that ask for something else than the header states. */
static void warn_overridden(const struct source *s, const struct source_options *options,
                            bool big_endian)
{
    char list[200] = "";

    if (options->type_given && options->type != s->info.type)
        list_add(list, sizeof list, "--dtype (it says %s)", element_name(s->info.type));
    if (options->order != ELEMENT_ORDER_UNSAID &&
        (options->order == ELEMENT_ORDER_BIG) != big_endian)
        list_add(list, sizeof list, "--endian (it says %s)", big_endian ? "big" : "little");
    if (options->skip > 0 && options->skip != s->data_offset)
        list_add(list, sizeof list, "--skip (it says %" PRIu64 ")", s->data_offset);
    /* An input that is read again has been warned of. */
    if (*list && !options->in_order)
        message_warning("%s: the .npy header overrides %s", s->name, list);
}

/* Reads the rest of a .npy header whose first `had` bytes are in `prefix`. */
static bool layout_npy(struct source *s, const struct source_options *options,
                       struct reader *reader, const unsigned char *prefix, size_t had)
{
    uint64_t length = npy_header_length(prefix, had);
    uint64_t error_offset;
    char error[NPY_ERROR_MAX];
    unsigned char *header;
    struct npy npy;
    ptrdiff_t rest;
    bool ok;

    if (length == 0) {
        source_error(s, "the .npy header is cut off at byte %zu", had);
        return false;
    }
    if (length > NPY_HEADER_MAX) {
        source_error(s, "byte 8: a .npy header of %" PRIu64 " bytes is more than the %zu allowed",
                     length, NPY_HEADER_MAX);
        return false;
    }
    if (length < had) { /* an empty header; what was read beyond it goes back */
        reader_push(reader, prefix + length, had - (size_t)length);
        had = (size_t)length;
    }
    header = malloc((size_t)length + 1);
    if (!header) {
        source_error(s, "out of memory");
        return false;
    }
    memcpy(header, prefix, had);
    rest = reader_fill(reader, header + had, (size_t)length - had);
    ok = rest >= 0;
    if (ok && had + (size_t)rest < length) {
        source_error(s, "the .npy header is cut off at byte %zu of %" PRIu64, had + (size_t)rest,
                     length);
        ok = false;
    }
    if (ok && !npy_parse(header, (size_t)length, &npy, error, &error_offset)) {
        source_error(s, "byte %" PRIu64 ": %s", error_offset, error);
        ok = false;
    }
    free(header);
    if (!ok)
        return false;
    if (npy.elements > (INT64_MAX - npy.data_offset) / element_size(npy.type)) {
        source_error(s, "byte %" PRIu64 ": the shape has more elements than any file holds",
                     (uint64_t)NPY_PREFIX_MAX);
        return false;
    }
    s->info.type = npy.type;
    s->info.swap = npy.big_endian != element_host_is_big();
    s->data_offset = npy.data_offset;
    s->promised = npy.elements;
    warn_overridden(s, options, npy.big_endian);
    s->info.shape = (struct source_shape){
        .known = true, .fortran_order = npy.fortran_order, .dimensions = npy.dimensions};
    _Static_assert(SOURCE_DIMENSIONS_MAX >= NPY_DIMENSIONS_MAX, "any shape has room");
    memcpy(s->info.shape.sizes, npy.shape, npy.dimensions * sizeof *npy.shape);
    return true;
}

/* A format that is recognised by its first bytes stands before those that are not. */
static const struct format formats[] = {
    {.name = "npy",
     .inside = "npy+zstd",
     .id = SOURCE_NPY,
     .recognise = npy_recognise,
     .layout = layout_npy,
     .wrong = "not a .npy file: byte 0 does not begin its magic string"},
    {.name = "zstd",
     .id = SOURCE_ZSTD,
     .recognise = zstd_recognise,
     .compression = true,
     .wrong = "not zstd data: no frame begins at byte 0"},
    {.name = "raw", .inside = "zstd", .id = SOURCE_RAW, .layout = layout_raw},
};

static const size_t format_count = sizeof formats / sizeof *formats;

static const struct format *find(enum source_format id)
{
    for (size_t i = 0; i < format_count; i++)
        if (formats[i].id == id)
            return &formats[i];
    return NULL;
}

/* The format whose data begin like that, among the compressions or among the others. */
static const struct format *recognise(const unsigned char *bytes, size_t size, bool compression)
{
    for (size_t i = 0; i < format_count; i++)
        if (formats[i].compression == compression && formats[i].recognise &&
            formats[i].recognise(bytes, size))
            return &formats[i];
    return NULL;
}

bool formats_detect_compression(struct source *s, const struct source_options *options,
                                struct reader *reader)
{
    const struct format *asked = find(options->format), *found;
    unsigned char magic[FORMATS_MAGIC_MAX];
    ptrdiff_t got;

    s->info.compressed = false;
    if (asked && !asked->compression)
        return true;
    got = reader_fill(reader, magic, sizeof magic);
    if (got < 0)
        return false;
    reader_push(reader, magic, (size_t)got);
    found = recognise(magic, (size_t)got, true);
    if (asked && found != asked) {
        source_error(s, "%s", asked->wrong);
        return false;
    }
    s->info.compressed = found != NULL;
    return true;
}

bool formats_layout(struct source *s, const struct source_options *options, struct reader *reader)
{
    const struct format *asked = find(options->format), *found = NULL;
    unsigned char prefix[NPY_PREFIX_MAX];
    ptrdiff_t got = 0;

    s->promised = SOURCE_UNKNOWN;
    if (options->format != SOURCE_RAW) {
        got = reader_fill(reader, prefix, sizeof prefix);
        if (got < 0)
            return false;
    }
    if (s->info.compressed && recognise(prefix, (size_t)got, true)) {
        source_error(s, "byte 0: the decompressed data are zstd-compressed again; decompress once "
                        "with 'zstd -dc' first");
        return false;
    }
    found = recognise(prefix, (size_t)got, false);
    if (!found && asked && asked->recognise && !asked->compression) {
        source_error(s, "%s", asked->wrong);
        return false;
    }
    if (!found)
        found = find(SOURCE_RAW);
    if (!found->layout(s, options, reader, prefix, (size_t)got))
        return false;
    s->header = found->recognise != NULL;
    s->info.data_offset = s->data_offset;
    s->info.format = s->info.compressed ? found->inside : found->name;
    s->info.element_size = element_size(s->info.type);
    s->info.elements = options->length < s->promised ? options->length : s->promised;
    return true;
}
