/*
 * HDF5, and what is built on it: netCDF-4, MATLAB's files from version 7.3 on. libhdf5 says what
 * datasets there are and where (hdf5_describe.c); elements are read without it.
 *
 * The library runs in a process of its own. It was written for files that are well-formed: damaged
 * ones have crashed one version of it after the other. Then that process is lost, and no more.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source/container/formats.h"
#include "source/container/hdf5_records.h"
#include "sys/message.h"
#include "sys/output.h"

/* Processor time after which the library is taken to go in circles: it does in some damaged files.
   Seconds; it finds the places of a million chunks in one or two. */
#define TIME_MAX 600

/* The most bytes of records. */
#define RECORDS_MAX (SIZE_MAX / 4 < (uint64_t)4 << 30 ? SIZE_MAX / 4 : (size_t)((uint64_t)4 << 30))

/* 64 bits, at 0, 512, 1024, 2048. Without the library these are told as what is not read. */
static bool recognise(const unsigned char *bytes, size_t size)
{
#ifdef HAVE_HDF5
    static const unsigned char magic[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

    for (size_t at = 0; at < size && size - at >= sizeof magic; at = at ? 2 * at : 512)
        if (memcmp(bytes + at, magic, sizeof magic) == 0)
            return true;
#endif
    (void)bytes, (void)size;
    return false;
}

/*
 * The process.
 */

/* The work of the process. It prints nothing, and leaves alone what it has a copy of. */
static _Noreturn void run_library(struct container_input *in, int fd)
{
    const struct rlimit no_core = {0, 0}, time = {TIME_MAX, TIME_MAX};
    struct hdf5_output out = {0};
    int null = open("/dev/null", O_RDWR);

    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)setrlimit(RLIMIT_CPU, &time);
    if (null >= 0) {
        (void)dup2(null, STDOUT_FILENO);
        (void)dup2(null, STDERR_FILENO);
    }
    hdf5_describe(in, &out);
    if (out.failed)
        _exit(EXIT_FAILURE);
    (void)output_write(fd, out.bytes, out.size); /* the other end may be gone */
    _exit(EXIT_SUCCESS);
}

/* Reads what the process writes, to its end. False without memory. */
static bool read_records(int fd, struct hdf5_output *records)
{
    size_t capacity = 0;

    for (;;) {
        unsigned char *bytes = records->bytes;
        ssize_t n;

        if (records->size == capacity) {
            capacity = 2 * capacity + ((size_t)64 << 10);
            bytes = capacity < RECORDS_MAX ? realloc(records->bytes, capacity) : NULL;
            if (!bytes)
                return false;
            records->bytes = bytes;
        }
        n = read(fd, bytes + records->size, capacity - records->size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0;
        records->size += (size_t)n;
    }
}

/* Has a process of its own put the records. False when there are none. */
static bool get_records(struct container_input *in, struct hdf5_output *records)
{
    int ends[2], status = 0;
    bool good;
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return container_wrong(in, 0, "cannot create a pipe: %s", strerror(errno));
    child = fork();
    if (child == 0)
        run_library(in, ends[1]);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return container_wrong(in, 0, "cannot start a process for libhdf5: %s", strerror(errno));
    }
    good = read_records(ends[0], records);
    close(ends[0]); /* if it still writes, it dies of that */
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!good)
        return container_no_memory(in);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return container_wrong(in, 0,
                               "the file is damaged, or very large: libhdf5 has not "
                               "understood it in ten minutes");
    if (WIFSIGNALED(status))
        return container_wrong(in, 0, "the file is damaged: libhdf5 has crashed (%s)",
                               strsignal(WTERMSIG(status)));
    if (status != 0)
        return container_wrong(in, 0, "libhdf5 has failed with status %d", WEXITSTATUS(status));
    return true;
}

/*
 * The records.
 */

struct reader {
    struct container *container;
    struct container_input *in;
    const unsigned char *at, *end;
    uint64_t bytes; /* of all arrays so far */
    size_t tiles;   /* arrays that are stored in them */
};

/* The error for records that make no sense. */
static bool broken(const struct reader *r)
{
    return container_wrong(r->in, 0, "libhdf5 returned inconsistent data");
}

/* The next word; UINT64_MAX behind the end, which no valid record has. */
static uint64_t take(struct reader *r)
{
    uint64_t word = UINT64_MAX;

    if ((size_t)(r->end - r->at) < sizeof word)
        return word;
    memcpy(&word, r->at, sizeof word);
    r->at += sizeof word;
    return word;
}

/* The next bytes, aligned to 8, and behind them a zero byte; NULL where there are not so many. */
static const unsigned char *take_bytes(struct reader *r, uint64_t size)
{
    const unsigned char *bytes = r->at;
    const uint64_t left = (uint64_t)(r->end - r->at);

    if (size >= left || (size + 8) / 8 * 8 > left || bytes[size] != 0)
        return NULL;
    r->at += (size + 8) / 8 * 8;
    return bytes;
}

static const char *take_string(struct reader *r)
{
    const uint64_t length = take(r);
    const unsigned char *bytes = take_bytes(r, length);

    return bytes && !memchr(bytes, 0, (size_t)length) ? (const char *)bytes : NULL;
}

/* As many words, where they stand. */
static const uint64_t *take_words(struct reader *r, uint64_t count)
{
    const void *words = r->at;

    if (count > (uint64_t)(r->end - r->at) / 8)
        return NULL;
    r->at += count * 8;
    return words;
}

/* Reads where the tiles are. */
static bool take_places(struct reader *r, struct container_array *a, struct container_tiles *t)
{
    const uint64_t size = take(r), file = r->in->size;
    uint64_t count = 1, bytes;

    t->tiles = (const void *)take_bytes(r, size);
    if (!t->tiles || size % sizeof *t->tiles != 0)
        return broken(r);
    for (unsigned i = 0; i < a->dimensions; i++) {
        const uint64_t n = t->sizes[i] ? (a->sizes[i] + t->sizes[i] - 1) / t->sizes[i] : 0;

        if (__builtin_mul_overflow(count, n, &count))
            return broken(r);
    }
    t->count = size / sizeof *t->tiles;
    if (t->count != count &&
        (t->count > 0 || !(r->in->headers_only || (r->in->wants && !r->in->wants(r->in, a->name)))))
        return broken(r);
    bytes = t->elements * element_size(a->type);
    for (uint64_t i = 0; i < t->count; i++) {
        const struct container_tile *tile = &t->tiles[i];

        if (tile->packed == 0)
            continue;
        /* Compressed data may be larger than others, but little. */
        if (tile->packed > file || tile->offset > file - tile->packed ||
            (tile->packed > bytes && t->filter_count == 0) || tile->packed / 2 > bytes + 4096)
            return broken(r);
        if (a->packed == 0 || tile->offset < a->offset)
            a->offset = tile->offset;
        a->packed += tile->packed;
    }
    return true;
}

/* Reads how the tiles are stored. */
static bool take_tiles(struct reader *r, struct container_array *a)
{
    struct container_tiles *t = &r->container->tiles[r->tiles++];
    uint64_t bytes, plain, count, extended;

    t->sizes = take_words(r, a->dimensions);
    plain = take(r);
    count = take(r);
    if (!t->sizes || plain > 1 || count > CONTAINER_FILTERS_MAX)
        return broken(r);
    t->edges_plain = plain;
    t->filter_count = (unsigned)count;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t kind = take(r), parameter = take(r);

        if (kind > CONTAINER_FLETCHER32 || parameter > UINT32_MAX ||
            (kind == CONTAINER_SHUFFLE && parameter == 0))
            return broken(r);
        t->filters[i] =
            (struct container_filter){(enum container_filter_kind)kind, (uint32_t)parameter};
    }
    t->elements = 1;
    for (unsigned i = 0; i < a->dimensions; i++)
        if (__builtin_mul_overflow(t->elements, t->sizes[i], &t->elements))
            return broken(r);
    if (__builtin_mul_overflow(t->elements, element_size(a->type), &bytes) ||
        (bytes > CONTAINER_TILE_BYTES_MAX && t->filter_count > 0) ||
        take(r) != element_size(a->type))
        return broken(r);
    t->fill = take_bytes(r, element_size(a->type));
    extended = take(r);
    if (!t->fill || extended > 1)
        return broken(r);
    if (extended) {
        t->stored = take_words(r, a->dimensions);
        for (unsigned i = 0; t->stored && i < a->dimensions; i++)
            if (t->stored[i] > a->sizes[i])
                return broken(r);
        if (!t->stored || take(r) != element_size(a->type))
            return broken(r);
        t->pad = take_bytes(r, element_size(a->type));
        if (!t->pad)
            return broken(r);
    }
    a->tiles = t;
    return take_places(r, a, t);
}

/* Elements in the records are a tile, which is all of the array. */
static bool take_here(struct reader *r, struct container_array *a)
{
    struct container_tiles *t = &r->container->tiles[r->tiles++];

    if (take(r) != a->length)
        return broken(r);
    t->bytes = take_bytes(r, a->length);
    t->fill = t->bytes;
    t->sizes = a->sizes;
    t->elements = a->elements;
    t->count = a->elements > 0;
    a->tiles = t;
    return t->bytes || broken(r);
}

/* Reads where the elements are. */
static bool take_place(struct reader *r, struct container_array *a)
{
    switch (take(r)) {
    case HDF5_NOWHERE:
        return a->unreadable || broken(r);
    case HDF5_STORED:
        a->offset = take(r);
        a->length = take(r);
        return (a->unreadable && a->length <= r->in->size &&
                a->offset <= r->in->size - a->length) ||
               broken(r);
    case HDF5_RANGE:
        a->offset = take(r);
        return (a->length <= r->in->size && a->offset <= r->in->size - a->length) || broken(r);
    case HDF5_HERE:
        return take_here(r, a);
    case HDF5_TILES:
        return take_tiles(r, a);
    default:
        return broken(r);
    }
}

/* Reads the record of an array. */
static bool take_array(struct reader *r)
{
    const char *name = take_string(r), *type_name = take_string(r), *unreadable = take_string(r);
    const uint64_t type = take(r), typed = take(r), not_numeric = take(r);
    const uint64_t big = take(r), dimensions = take(r);
    struct container_array *a;

    if (!name || !type_name || !unreadable || type >= ELEMENT_TYPES || typed > 1 ||
        not_numeric > 1 || big > 1 || dimensions > CONTAINER_DIMENSIONS_MAX)
        return broken(r);
    a = container_add(r->container, name);
    if (!a)
        return container_no_memory(r->in);
    container_name_type(a, type_name);
    a->unreadable = *unreadable ? unreadable : NULL;
    a->typed = typed;
    a->not_numeric = not_numeric;
    a->type = (enum element_type)type;
    a->big_endian = big;
    a->dimensions = (unsigned)dimensions;
    a->sizes = take_words(r, dimensions);
    if (!a->sizes || !container_product(a, &a->elements))
        return broken(r);
    if (a->unreadable)
        return take_place(r, a);
    if (__builtin_mul_overflow(a->elements, element_size(a->type), &a->length) ||
        __builtin_add_overflow(r->bytes, a->length, &r->bytes) || r->bytes > HDF5_ARRAYS_BYTES_MAX)
        return broken(r);
    return take_place(r, a);
}

/* Reads all records. */
static bool take_arrays(struct reader *r)
{
    /* A record has a dozen words at least. */
    r->container->tiles = calloc((size_t)(r->end - r->at) / 64 + 1, sizeof *r->container->tiles);
    if (!r->container->tiles)
        return container_no_memory(r->in);
    for (;;) {
        switch (take(r)) {
        case HDF5_ARRAY:
            if (!take_array(r))
                return false;
            break;
        case HDF5_END:
            return true;
        default:
            return broken(r);
        }
    }
}

/* Reads once more what the process could not read, which says why. */
static bool read_again(struct container_input *in, uint64_t offset, uint64_t size)
{
    const bool inside = size <= in->size && offset <= in->size - size;
    unsigned char *bytes = inside && size > 0 ? malloc((size_t)size) : NULL;
    bool good = !bytes || in->read(in, bytes, (size_t)size, offset);

    free(bytes);
    return good && container_wrong(in, offset, "%" PRIu64 " bytes could not be read", size);
}

static bool read_file(struct container *c, struct container_input *in)
{
    struct hdf5_output records = {0};
    struct reader r = {.container = c, .in = in};
    char shown[MESSAGE_QUOTE_MAX];
    const char *text;
    uint64_t offset;
    bool good = get_records(in, &records);

    c->text = (char *)records.bytes;
    if (!good)
        return false;
    r.at = records.bytes;
    r.end = r.at + records.size;
    switch (take(&r)) {
    case HDF5_ARRAYS:
        return take_arrays(&r);
    case HDF5_WRONG:
        text = take_string(&r);
        return text ? container_wrong(in, 0, "%s", message_quote(shown, text)) : broken(&r);
    case HDF5_UNREAD:
        offset = take(&r);
        return read_again(in, offset, take(&r));
    case HDF5_MISSING:
        text = take_string(&r);
        return text ? container_wrong(in, 0, "it takes libhdf5: %s", text) : broken(&r);
    default:
        return broken(&r);
    }
}

const struct container_format container_hdf5 = {
    .name = "hdf5",
    .article = "an HDF5 file",
    .recognise = recognise,
    .read = read_file,
};
