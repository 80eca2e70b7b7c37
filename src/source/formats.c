#include "config.h"

#include "source/formats.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/name.h"
#include "core/shell.h"
#include "source/arrays.h"
#include "source/format/containers.h"
#include "source/format/inflate.h"
#include "source/format/npy.h"
#include "source/format/plausibility.h"
#include "source/format/unsupported.h"
#include "sys/plural.h"
#include "zstd/frames.h"

/* As many first bytes tell what an input is. */
#define FORMATS_HEAD UNSUPPORTED_HEAD

_Static_assert(FORMATS_HEAD <= READER_PUSHED_MAX, "what is read goes back to the reader");

/* Warns if the first elements, in so many bytes, do not look like those of their type. */
static void doubt(const struct source *s, const unsigned char *first, size_t size, bool big)
{
    struct advice better = {.kind = ADVICE_NONE};

    if (s->options.length < size / element_size(s->options.type))
        size = (size_t)s->options.length * element_size(s->options.type);
    (void)plausibility_better(first, size, s->options.type, big, &better);
    if (better.kind != ADVICE_NONE)
        log_warn(s->options.log, s->name, better, "the elements do not look like %s%s",
                 element_size(s->options.type) == 1 ? ""
                 : big                              ? "big-endian "
                                                    : "little-endian ",
                 element_name(s->options.type));
    else if (plausibility_nans(first, size, s->options.type, big))
        log_warn(s->options.log, s->name, (struct advice){.kind = ADVICE_OTHER_TYPE},
                 "many different NaNs: the elements do not look like %s",
                 element_name(s->options.type));
}

/* Raw elements are what the options say. */
static bool layout_raw(struct source *s, struct reader *reader, const unsigned char *prefix,
                       size_t had)
{
    const enum element_order order = s->options.record.order;
    bool big = (order == ELEMENT_ORDER_UNSAID ? s->options.order : order) == ELEMENT_ORDER_BIG;

    reader_push(reader, prefix, had);
    s->info.type = s->options.type;
    s->info.swap = big != element_host_is_big();
    s->data_offset = s->options.skip;
    if (s->options.plausibility && !s->options.reopened && s->options.skip < had &&
        s->options.record.bytes == 0)
        doubt(s, prefix + s->options.skip, had - (size_t)s->options.skip, big);
    return true;
}

/* Reads what lies behind the first bytes, from s->data_offset on. */
static bool read_at(void *user, uint64_t offset, void *bytes, size_t size)
{
    const struct source *s = user;

    return pread(s->fd, bytes, size, (off_t)(s->start + s->data_offset + offset)) == (ssize_t)size;
}

/* Describes an input that begins with these bytes, all if there are fewer than FORMATS_HEAD, but for the
   first s->data_offset, of which there are no more. */
static struct unsupported_input describe(struct source *s, const struct reader *reader,
                                         const unsigned char *head, size_t size)
{
    const bool plain = s->info.input_bytes != SOURCE_UNKNOWN && !s->info.compressed;
    /* In zstd the first frame is looked at, and another may follow. */
    const bool ends = size < FORMATS_HEAD && (!s->info.compressed || reader->at_end);
    const size_t skip = (size_t)s->data_offset;

    return (struct unsupported_input){.bytes = head + skip,
                                      .size = size - skip,
                                      .ends = ends,
                                      .total = ends    ? size - skip
                                               : plain ? s->info.input_bytes - skip
                                                       : SOURCE_UNKNOWN,
                                      .type = s->options.type,
                                      .big_endian = s->options.order == ELEMENT_ORDER_BIG,
                                      .read = plain ? read_at : NULL,
                                      .user = s};
}

/* Elements in Fortran's records have the byte order of the markers, which stand where they should. */
static bool layout_fortran(struct source *s, struct reader *reader, const unsigned char *prefix,
                           size_t had)
{
    unsigned char numbers[UNSUPPORTED_HEAD];

    reader_push(reader, prefix, had);
    s->info.type = s->options.type;
    s->data_offset = s->options.skip;
    s->fortran.marker = 4;
    s->fortran.big_endian = s->options.order == ELEMENT_ORDER_BIG;
    s->fortran.unseen = true;
    if (s->options.skip < had) {
        const struct unsupported_input in = describe(s, reader, prefix, had);

        s->fortran.unseen = !unsupported_find_markers(&in, s->options.order, &s->fortran.marker,
                                                      &s->fortran.big_endian);
        s->fortran.guessed = s->fortran.unseen && s->options.order == ELEMENT_ORDER_UNSAID;
        if (s->options.plausibility && !s->options.reopened && !s->fortran.unseen &&
            s->options.record.bytes == 0)
            doubt(s, numbers,
                  unsupported_take_numbers(&in, s->fortran.marker, s->fortran.big_endian, numbers),
                  s->fortran.big_endian);
    }
    s->info.swap = s->fortran.big_endian != element_host_is_big();
    return true;
}

/* The type of .npy elements whose header does not tell: what the user says. */
static bool layout_untyped(struct source *s, const struct npy *npy)
{
    enum element_order order = npy->order != ELEMENT_ORDER_UNSAID ? npy->order : s->options.order;

    if (element_size(s->options.type) != npy->untyped) {
        const bool two = npy->untyped == 2;

        return source_refuse(
            s,
            (struct advice){.kind = ADVICE_OPEN_TYPE, .type = two ? ELEMENT_BF16 : ELEMENT_F8E4M3},
            "the .npy header says only that elements have %s",
            two ? "2 bytes (V2)" : "1 byte (V1)");
    }
    s->info.type = s->options.type;
    s->info.swap = (order == ELEMENT_ORDER_BIG) != element_host_is_big();
    return true;
}

/* Warns of options that ask for something else than the header states. */
static void warn_overridden(const struct source *s, bool big_endian)
{
    struct advice advice = {.kind = ADVICE_OVERRIDDEN,
                            .says = true,
                            .type = s->info.type,
                            .order = big_endian ? ELEMENT_ORDER_BIG : ELEMENT_ORDER_LITTLE,
                            .skip = s->data_offset};

    if (s->options.type_given && s->options.type != s->info.type)
        advice.overridden |= OVERRIDDEN_TYPE;
    if (s->options.order != ELEMENT_ORDER_UNSAID && s->options.order != advice.order)
        advice.overridden |= OVERRIDDEN_ORDER;
    if (s->options.skip > 0 && s->options.skip != s->data_offset)
        advice.overridden |= OVERRIDDEN_SKIP;
    if (advice.overridden && !s->options.reopened)
        log_warn(s->options.log, s->name, advice, "the .npy header overrides what was asked for");
}

/* Says what is wrong with a .npy header. Returns false. */
static bool refuse_header(struct source *s, const struct npy *npy, const char *error,
                          uint64_t offset)
{
    const struct element_foreign *foreign =
        npy->unsupported ? element_find_foreign(npy->descr) : NULL;
    struct advice advice = {.kind = ADVICE_RAW_TYPE,
                            .order = *npy->descr == '>' ? ELEMENT_ORDER_BIG : ELEMENT_ORDER_UNSAID,
                            .skip = npy->data_offset};
    enum element_order order;

    source_error_at(s, ERROR_DATA, offset, "byte %" PRIu64 ": %s", offset, error);
    if (foreign && foreign->read_as && element_parse(foreign->read_as, &advice.type, &order))
        s->error.advice = advice;
    return false;
}

/* Reads the rest of a .npy header whose first `had` bytes are in `prefix`. */
static bool layout_npy(struct source *s, struct reader *reader, const unsigned char *prefix,
                       size_t had)
{
    uint64_t length = npy_header_length(prefix, had);
    uint64_t error_offset;
    char error[NPY_ERROR_MAX];
    unsigned char *header;
    struct npy npy;
    ptrdiff_t rest;
    bool ok;

    if (length == 0)
        return source_error_at(s, ERROR_DATA, had, "the .npy header is cut off at byte %zu", had);
    if (length > NPY_HEADER_MAX)
        return source_error_at(s, ERROR_DATA, 8,
                               "byte 8: a .npy header of %" PRIu64
                               " bytes is more than the %zu allowed",
                               length, NPY_HEADER_MAX);
    if (length < had) { /* an empty header; what was read beyond it goes back */
        reader_push(reader, prefix + length, had - (size_t)length);
        had = (size_t)length;
    }
    header = malloc((size_t)length + 1);
    if (!header)
        return source_no_memory(s);
    memcpy(header, prefix, had);
    rest = reader_fill(reader, header + had, (size_t)length - had);
    ok = rest >= 0;
    if (ok && had + (size_t)rest < length)
        ok = source_error_at(s, ERROR_DATA, had + (size_t)rest,
                             "the .npy header is cut off at byte %zu of %" PRIu64,
                             had + (size_t)rest, length);
    if (ok && !npy_parse(header, (size_t)length, &npy, error, &error_offset))
        ok = refuse_header(s, &npy, error, error_offset);
    free(header);
    if (!ok)
        return false;
    if (!npy.untyped) {
        s->info.type = npy.type;
        s->info.swap = npy.big_endian != element_host_is_big();
    } else if (!layout_untyped(s, &npy)) {
        return false;
    }
    if (npy.elements > (INT64_MAX - npy.data_offset) / element_size(s->info.type))
        return source_error_at(s, ERROR_DATA, NPY_PREFIX_MAX,
                               "byte %" PRIu64 ": the shape has more elements than any file holds",
                               (uint64_t)NPY_PREFIX_MAX);
    s->data_offset = npy.data_offset;
    s->stated = npy.elements;
    if (!npy.untyped)
        warn_overridden(s, npy.big_endian);
    s->info.shape = (struct array_shape){
        .known = true, .fortran_order = npy.fortran_order, .dimensions = npy.dimensions};
    _Static_assert(ARRAY_DIMENSIONS_MAX >= NPY_DIMENSIONS_MAX, "any shape has room");
    memcpy(s->info.shape.sizes, npy.shape, npy.dimensions * sizeof *npy.shape);
    return true;
}

/* A format that is recognised by its first bytes stands before those that are not. */
static const struct format formats[] = {
    {.id = SOURCE_NPY,
     .inside = COMPRESSION_NAMES("npy"),
     .recognise = npy_recognise,
     .layout = layout_npy,
     .wrong = "not a .npy file: byte 0 does not begin its magic string"},
    {.id = SOURCE_ZSTD,
     .recognise = zstd_recognise,
     .compression = COMPRESSION_ZSTD,
     .wrong = "not zstd data: no frame begins at byte 0"},
    {.id = SOURCE_GZIP,
     .recognise = inflate_recognise_gzip,
     .compression = COMPRESSION_GZIP,
     .wrong = "not gzip data: no member begins at byte 0"},
    {.id = SOURCE_ZLIB,
     .recognise = inflate_recognise_zlib,
     .compression = COMPRESSION_ZLIB,
     .named_only = true,
     .wrong = "not zlib data: no stream begins at byte 0"},
    {.id = SOURCE_FORTRAN, .inside = COMPRESSION_NAMES("fortran"), .layout = layout_fortran},
    {.id = SOURCE_RAW, .inside = {"raw", "zstd", "gzip", "zlib"}, .layout = layout_raw},
};

static const size_t format_count = sizeof formats / sizeof *formats;

#define WORD(id, word) word,
#define NAME(id, name) #name,
const char *const source_format_words[] = {SOURCE_PLAIN_FORMATS(WORD) CONTAINER_FORMATS(NAME) NULL};

static const struct format *find(enum source_format id)
{
    for (size_t i = 0; i < format_count; i++)
        if (formats[i].id == id)
            return &formats[i];
    return NULL;
}

/* The name of a compression, which raw data inside it have, too. */
static const char *find_named(enum compression compression)
{
    return find(SOURCE_RAW)->inside[compression];
}

/* The format whose data begin like that, among the compressions or among the others. */
static const struct format *recognise(const void *bytes, size_t size, bool compression)
{
    for (size_t i = 0; i < format_count; i++)
        if ((formats[i].compression != COMPRESSION_NONE) == compression && formats[i].recognise &&
            !formats[i].named_only && formats[i].recognise(bytes, size))
            return &formats[i];
    return NULL;
}

/* Whether the user asked for raw elements inside a compression, whose own value is one less. */
static bool is_raw_inside(enum source_format format)
{
    return format == SOURCE_RAW_ZSTD || format == SOURCE_RAW_GZIP || format == SOURCE_RAW_ZLIB;
}

/* The row of the format outside, and of the one inside, that the user asked for; NULL where the
   content tells. */
static const struct format *asked_outside(const struct source_options *options)
{
    if (options->format == SOURCE_FORTRAN)
        return NULL;
    return find(is_raw_inside(options->format) ? options->format - 1 : options->format);
}

static const struct format *asked_inside(const struct source_options *options)
{
    const struct format *asked =
        find(is_raw_inside(options->format) ? SOURCE_RAW : options->format);

    return asked && asked->compression != COMPRESSION_NONE ? NULL : asked;
}

/* Position behind so many elements of a size, from `begin` on, or of a field of records;
   SOURCE_UNKNOWN where it is larger than any. */
static uint64_t position_behind(const struct source_options *options, uint64_t begin,
                                uint64_t elements, size_t size)
{
    const struct source_record *r = &options->record;

    if (options->format == SOURCE_FORTRAN) /* markers lie between */
        return SOURCE_UNKNOWN;
    if (r->bytes > 0 && elements > 0) { /* from the last record on */
        const uint64_t before = (elements - 1) / r->elements;

        if (elements == SOURCE_UNKNOWN || before > (SOURCE_UNKNOWN - r->offset) / r->bytes ||
            __builtin_add_overflow(begin, before * r->bytes + r->offset, &begin))
            return SOURCE_UNKNOWN;
        elements -= before * r->elements;
    }
    return begin < SOURCE_UNKNOWN && elements < (SOURCE_UNKNOWN - begin) / size
               ? begin + elements * size
               : SOURCE_UNKNOWN;
}

/* The row of the compression, of those that may be, that data begin with; NULL for none, and where this
   program lacks zlib. */
static const struct format *find_compression(const struct format *asked, const void *bytes,
                                             size_t size)
{
    const struct format *found = asked ? asked : recognise(bytes, size, true);

    if (asked && (asked->compression == COMPRESSION_NONE || !asked->recognise(bytes, size)))
        return NULL;
    return found && (found->compression == COMPRESSION_ZSTD || inflate_possible) ? found : NULL;
}

enum compression formats_compression(const struct source_options *options, const void *bytes,
                                     size_t size)
{
    const struct format *found = find_compression(asked_outside(options), bytes, size);

    return found ? found->compression : COMPRESSION_NONE;
}

bool formats_detect_compression(struct source *s, struct reader *reader)
{
    const struct format *asked = asked_outside(&s->options), *found;
    unsigned char magic[FORMATS_MAGIC_MAX];
    ptrdiff_t got;

    s->info.compressed = false;
    s->info.compression = COMPRESSION_NONE;
    if (asked && asked->compression == COMPRESSION_NONE)
        return true;
    got = reader_fill(reader, magic, sizeof magic);
    if (got < 0)
        return false;
    reader_push(reader, magic, (size_t)got);
    found = find_compression(asked, magic, (size_t)got);
    if (asked && !found)
        return source_error(s, ERROR_DATA, "%s",
                            asked->compression != COMPRESSION_ZSTD && !inflate_possible
                                ? "cannot be decompressed: this program was built without zlib"
                                : asked->wrong);
    if (!found)
        return true;
    s->info.compressed = true;
    s->info.compression = found->compression;
    /* Unless it is a .npy, or a container. */
    s->zstd.stop = position_behind(&s->options, s->options.skip, s->options.length,
                                   element_size(s->options.type));
    return true;
}

/* Whether the first `length` bytes of a path end so; they may be nothing else. */
static bool path_ends(const char *path, size_t length, const char *end)
{
    return name_ends(path, length, end) ||
           (length == strlen(end) && memcmp(path, end, length) == 0);
}

/* Whether the input's name ends so. */
static bool is_named(const struct source *s, const char *end)
{
    return path_ends(s->path, strlen(s->path), end);
}

/* Whether a file of no bytes has a name that says what it should hold. */
static bool empty_by_name(const struct source *s)
{
    static const char *const ends[] = {".npy", ".npz",  ".safetensors", ".gguf", ".h5",  ".hdf5",
                                       ".nc",  ".fits", ".pt",          ".pth",  ".zst", ".gz"};

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (is_named(s, ends[i]))
            return true;
    return false;
}

/* An error of an input that is damaged, or of a format that is not supported. */
static struct error data_error(struct error error)
{
    error.kind = ERROR_DATA;
    return error;
}

/* Makes the source fail with such an error, with the advice and the text of error_advised. Returns
   false. */
#define reject(s, ...) source_fail(s, data_error(error_advised(__VA_ARGS__)))

/* Whether so many bytes of a file are the beginning of a NIfTI header, and not all of it. */
static bool is_part_of_header(const unsigned char *bytes, size_t size)
{
    return size < 348 && (size < 4 || container_nifti.head(bytes, size) > 0);
}

/* Whether the content may have the file's name, without that of a compression. If that is one of NIfTI's,
   it may not be a part of a header, or an image whose header is missing, cut off, or one of ANALYZE, or
   which is compressed: the source fails. */
static bool may_have_name(struct source *s, const unsigned char *head, size_t size)
{
    struct advice advice = {.kind = ADVICE_RAW, .raw = true, .compressed = s->info.compression};
    char header[PATH_MAX], word[SHELL_WORD_MAX], command[UNSUPPORTED_TEXT_MAX / 2];
    unsigned char bytes[CONTAINER_PAIR_MAX];
    size_t length = strlen(s->path);
    ssize_t got;
    int fd;

    if (!s->close_fd || length >= PATH_MAX)
        return true;
    if (s->info.compressed && (is_named(s, ".gz") || is_named(s, ".zst")))
        length = (size_t)(strrchr(s->path, '.') - s->path);
    if ((path_ends(s->path, length, ".nii") && size < 348) ||
        (path_ends(s->path, length, ".hdr") && size >= 4 && is_part_of_header(head, size)))
        return reject(s, advice, "truncated: %zu byte%s, the header of NIfTI needs 348", size,
                      plural(size));
    if (!path_ends(s->path, length, ".img"))
        return true;
    sprintf(header, "%.*shdr", (int)length - 3, s->path);
    fd = open(header, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    got = fd < 0 ? -1 : pread(fd, bytes, sizeof bytes, 0);
    if (got < 0)
        reject(s, advice, "an image whose header cannot be read: %s: %s", header, strerror(errno));
    else if (is_part_of_header(bytes, (size_t)got))
        reject(s, advice,
               "an image whose header is truncated: %s: %zd byte%s, the header of NIfTI needs 348",
               header, got, plural((size_t)got));
    else if (nifti_is_pair(bytes, (size_t)got, false))
        reject(s, advice,
               "the image of a pair of NIfTI files, compressed by %s; decompress it first",
               find_named(s->info.compression));
    if (fd >= 0)
        close(fd);
    if (source_failed(s))
        return false;
    if (!nifti_is_pair(bytes, (size_t)got, true))
        return true;
    shell_operand(word, s->path);
    unsupported_python(command, sizeof command, word, "nibabel",
                       "nibabel.load('FILE').get_fdata()");
    advice.kind = ADVICE_LOAD;
    return reject(s, advice, "an Analyze image; try: %s", command);
}

/* Whether what is none of the formats, nor asked for as one, may be raw numbers; if not, the source
   fails. `head` are its first bytes, up to FORMATS_HEAD. */
static bool may_be_raw(struct source *s, const struct reader *reader, const unsigned char *head,
                       size_t size)
{
    const uint64_t unit =
        s->options.record.bytes > 0 ? s->options.record.bytes : element_size(s->options.type);
    struct unsupported_input input = describe(s, reader, head, size);
    struct advice advice;
    const struct unsupported *found;

    input.torn = input.ends && s->options.length == SOURCE_UNKNOWN && s->options.skip <= size &&
                 (size - s->options.skip) % unit != 0;
    found = unsupported_find(&input, &advice);
    if (found) {
        char text[UNSUPPORTED_TEXT_MAX];

        unsupported_advise(found, &input, strcmp(s->path, "-") == 0 ? "" : s->path,
                           s->info.compression, &advice, text);
        return reject(s, advice, "%s%s%s%s", found->name,
                      s->info.compressed ? ", compressed by " : "",
                      s->info.compressed ? find_named(s->info.compression) : "", text);
    }
    if (!may_have_name(s, head, size))
        return false;
    if (size == 0 && !s->info.compressed && empty_by_name(s))
        return reject(s, (struct advice){.kind = ADVICE_RAW_EMPTY},
                      "is empty, but its name is that of a format");
    if (npy_cut_off(head, size) &&
        (is_named(s, ".npy") || is_named(s, ".npy.gz") || is_named(s, ".npy.zst")))
        return reject(s, (struct advice){.kind = ADVICE_RAW, .compressed = s->info.compression},
                      "a .npy file that is cut off at byte %zu", size);
    return true;
}

/* Fills `head`, which has `got` bytes, up to `size` bytes or the end of the input. Returns the
   number of bytes; -1 on failure. Damage of a compressed file that will be read again, or after
   the last requested element, counts as the end. */
static ptrdiff_t fill_head(struct source *s, struct reader *reader, unsigned char *head, size_t got,
                           size_t size)
{
    const bool again = s->info.input_bytes != SOURCE_UNKNOWN &&
                       !source_reads_in_order(&s->options) &&
                       s->info.compression == COMPRESSION_ZSTD;
    const bool muted = s->muted;
    ptrdiff_t more = 1;

    while (got < size && more > 0) {
        s->muted = muted || (s->info.compressed && (again || got >= s->zstd.stop));
        more = reader_read(reader, head + got, size - got);
        got += more > 0 ? (size_t)more : 0;
    }
    if (s->muted && more < 0 && !source_failed(s))
        more = 0;
    s->muted = muted;
    return more < 0 ? -1 : (ptrdiff_t)got;
}

const struct container_format *formats_find_container(struct source *s, struct reader *reader)
{
    const struct format *asked = asked_inside(&s->options);
    unsigned char head[CONTAINER_HEAD];
    size_t had = 0, wanted = NPY_PREFIX_MAX;
    ptrdiff_t got;

    if (s->pair_size > 0)
        return &container_nifti;
    if (asked && asked->id != SOURCE_NPY)
        return NULL;
    while ((got = fill_head(s, reader, head, had, wanted)) > (ptrdiff_t)had) {
        had = (size_t)got;
        wanted = container_head(head, had);
    }
    if (got > 0 && !recognise(head, (size_t)got, false)) {
        reader->probing = true;
        got = fill_head(s, reader, head, (size_t)got, sizeof head);
        reader->probing = false;
    }
    if (got < 0)
        return NULL;
    reader_push(reader, head, (size_t)got);
    return arrays_recognise(&s->options, head, (size_t)got);
}

bool formats_layout(struct source *s, struct reader *reader)
{
    const struct format *asked = asked_inside(&s->options), *found = asked;
    unsigned char head[FORMATS_HEAD];
    ptrdiff_t got = 0;

    s->stated = SOURCE_UNKNOWN;
    s->inner = s->info.compressed ? formats_find_container(s, reader) : NULL;
    if (s->inner || source_failed(s))
        return false;
    if (!asked || asked->recognise) {
        got = fill_head(s, reader, head, 0, NPY_PREFIX_MAX);
        if (got < 0)
            return false;
        found = s->info.compressed ? find_compression(NULL, head, (size_t)got) : NULL;
        if (found)
            return source_error(
                s, ERROR_DATA,
                "byte 0: the decompressed data are %s-compressed again; decompress once "
                "with '%s -dc' first",
                find_named(found->compression),
                s->info.compression == COMPRESSION_ZLIB ? "pigz" : find_named(s->info.compression));
        found = recognise(head, (size_t)got, false);
    }
    if (!found && asked)
        return source_error(s, ERROR_DATA, "%s", asked->wrong);
    /* Only what is, or may be, raw is looked at any further: a pipe may be slow. */
    if (!found || (!found->recognise && (s->options.plausibility || found->id == SOURCE_FORTRAN))) {
        reader->probing = true;
        got = fill_head(s, reader, head, (size_t)got, FORMATS_HEAD);
        reader->probing = false;
        if (got < 0 || (!found && !may_be_raw(s, reader, head, (size_t)got)))
            return false;
        found = found ? found : find(SOURCE_RAW);
    }
    if (found->recognise && !arrays_take_record(s, "a .npy file"))
        return false;
    if (!found->layout(s, reader, head, (size_t)got))
        return false;
    s->header = found->recognise != NULL;
    s->info.data_offset = s->data_offset;
    s->info.format = found->inside[s->info.compression];
    s->info.element_size = element_size(s->info.type);
    s->info.elements = s->options.length < s->stated ? s->options.length : s->stated;
    s->field = (struct container_array){.type = s->info.type, .offset = s->data_offset};
    s->array = &s->field;
    s->zstd.stop =
        s->info.compressed && s->info.elements != s->stated
            ? position_behind(&s->options, s->data_offset, s->info.elements, s->info.element_size)
            : SOURCE_UNKNOWN;
    return true;
}
