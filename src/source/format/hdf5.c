/*
 * HDF5, and what is built on it: netCDF-4, MATLAB's files from version 7.3 on. libhdf5 says what
 * datasets there are and where: a program of its own calls it (src/hdf5), since damaged files crash
 * it. Elements are read without it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source/format/containers.h"
#include "source/format/hdf5_records.h"
#include "source/format/inflate.h"
#include "sys/escape.h"

#define HELPER "gpureduce-hdf5"

#ifdef HAVE_HDF5
/* The signature of 64 bits, at 0, 512, 1024, 2048. */
static bool recognise(const unsigned char *bytes, size_t size)
{
    static const unsigned char magic[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

    for (size_t at = 0; at < size && size - at >= sizeof magic; at = at ? 2 * at : 512)
        if (memcmp(bytes + at, magic, sizeof magic) == 0)
            return true;
    return false;
}

/* The most bytes of records. */
#    define RECORDS_MAX \
        (SIZE_MAX / 4 < (uint64_t)4 << 30 ? SIZE_MAX / 4 : (size_t)((uint64_t)4 << 30))

struct records {
    unsigned char *bytes;
    size_t size;
};

/*
 * The program that calls libhdf5.
 */

/* Finds it: beside this program, in libexec beside its folder, or where it was to be installed.
   False where it is missing. */
static bool find_helper(char path[PATH_MAX])
{
    static const char *const places[] = {HELPER, "../libexec/" HELPER, LIBEXECDIR "/" HELPER};
    char program[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    char *slash;

    program[length > 0 ? length : 0] = '\0';
    slash = strrchr(program, '/');
    if (slash)
        slash[1] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(path, PATH_MAX, "%s%s", *places[i] == '/' ? "" : program, places[i]) <
                PATH_MAX &&
            access(path, X_OK) == 0)
            return true;
    return false;
}

/* Makes its arguments, in memory that one call of free gives back. NULL without memory. */
static char **make_arguments(const struct container_input *in)
{
    size_t size = (in->pattern_count + 6) * sizeof(char *), used;
    char **arguments, *text;

    used = size;
    size += sizeof PACKAGE_VERSION + 64;
    for (unsigned i = 0; i < in->pattern_count; i++)
        size += strlen(in->patterns[i].pattern) + 2;
    arguments = malloc(size);
    if (!arguments)
        return NULL;
    text = (char *)arguments + used;
    size -= used;
    arguments[0] = (char *)(uintptr_t)HELPER;
    arguments[1] = (char *)(uintptr_t)PACKAGE_VERSION;
    for (unsigned i = 0; i < in->pattern_count + 3; i++) {
        const struct container_pattern *p = i < 3 ? NULL : &in->patterns[i - 3];
        int length = 0;

        if (i < 2)
            length = snprintf(text, size, "%" PRIu64, i == 0 ? in->begin : in->size);
        else if (i == 2)
            length = snprintf(text, size, "%s%s%s%s", in->headers_only ? HDF5_ASK_HEADERS : "",
                              in->stored ? HDF5_ASK_STORED : "",
                              in->missing_unknown ? HDF5_ASK_NO_MISSING : "",
                              in->scale_unknown ? HDF5_ASK_NO_SCALE : "");
        else
            length =
                snprintf(text, size, "%c%s", p->exclude ? HDF5_EXCLUDE : HDF5_INCLUDE, p->pattern);
        arguments[2 + i] = text;
        text += length + 1;
        size -= (size_t)length + 1;
    }
    arguments[in->pattern_count + 5] = NULL;
    return arguments;
}

/* Starts it, with the file as its standard input, and its output to `to`. Returns 0 or an error
   number. */
static int start_helper(const struct container_input *in, const char *path, int to, pid_t *child)
{
    extern char **environ;
    char **arguments = make_arguments(in);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int error = ENOMEM;

    if (!arguments)
        return error;
    (void)sigemptyset(&none);
    if (posix_spawn_file_actions_init(&actions) == 0) {
        if (posix_spawnattr_init(&attributes) == 0) {
            error = posix_spawn_file_actions_adddup2(&actions, in->file, STDIN_FILENO);
            error = error ? error : posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
            error = error ? error
                          : posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                                             O_RDWR, 0);
            /* Threads of this program may block signals. */
            (void)posix_spawnattr_setsigmask(&attributes, &none);
            (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
            error =
                error ? error : posix_spawn(child, path, &actions, &attributes, arguments, environ);
            (void)posix_spawnattr_destroy(&attributes);
        }
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    free(arguments);
    return error;
}

/* Reads what the process writes, to its end. False without memory. */
static bool read_records(int fd, struct records *records)
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

/* Whether this process, and so the helper, may not have all memory: libhdf5 crashes without it. */
static bool is_memory_limited(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* Has it write the records. False if there are none. */
static bool get_records(struct container_input *in, struct records *records)
{
    char path[PATH_MAX];
    int ends[2], status = 0, error;
    bool good;
    pid_t child;

    if (!find_helper(path))
        return container_wrong(in, ERROR_NO_OFFSET,
                               "needs libhdf5: " HELPER " is neither beside this program nor "
                               "in " LIBEXECDIR);
    if (pipe2(ends, O_CLOEXEC) != 0)
        return container_wrong(in, ERROR_NO_OFFSET, "cannot create a pipe: %s", strerror(errno));
    error = start_helper(in, path, ends[1], &child);
    close(ends[1]);
    if (error) {
        close(ends[0]);
        return container_wrong(in, ERROR_NO_OFFSET, "needs libhdf5: cannot start %s: %s", path,
                               strerror(error));
    }
    good = read_records(ends[0], records);
    close(ends[0]); /* if it still writes, it dies of that */
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!good)
        return container_no_memory(in);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return container_wrong(in, ERROR_NO_OFFSET,
                               "damaged, or very large: libhdf5 did not finish within %d seconds",
                               HDF5_TIME_MAX);
    if (WIFSIGNALED(status))
        return container_wrong(in, ERROR_NO_OFFSET, "%s: libhdf5 crashed (%s)",
                               is_memory_limited()
                                   ? "damaged, or needs more memory than the limit (ulimit -v)"
                                   : "damaged",
                               strsignal(WTERMSIG(status)));
    if (status != 0)
        return container_wrong(in, ERROR_NO_OFFSET, "needs libhdf5: %s failed with status %d%s",
                               path, WEXITSTATUS(status),
                               WEXITSTATUS(status) == 127 ? ", which loaders use for a library "
                                                            "that is missing"
                                                          : "");
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
    return container_wrong(r->in, ERROR_NO_OFFSET, "libhdf5 returned inconsistent data");
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
        (t->count > 0 || (!r->in->headers_only &&
                          container_wants(r->in->patterns, r->in->pattern_count, a->name, false))))
        return broken(r);
    bytes = t->elements * element_size(a->type);
    for (uint64_t i = 0; i < t->count; i++) {
        const struct container_tile *tile = &t->tiles[i];

        if (tile->compressed == 0)
            continue;
        /* Compressed data may be larger than others, but little. */
        if (tile->compressed > file || tile->offset > file - tile->compressed ||
            (tile->compressed > bytes && t->filter_count == 0) ||
            tile->compressed / 2 > bytes + 4096)
            return broken(r);
        if (a->compressed == 0 || tile->offset < a->offset)
            a->offset = tile->offset;
        a->compressed += tile->compressed;
    }
    return true;
}

/* Reads how the tiles are stored. */
static bool take_tiles(struct reader *r, struct container_array *a)
{
    struct container_tiles *t = &r->container->tiles[r->tiles++];
    uint64_t bytes, plain, count, extended;
    bool deflated = false;

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
        deflated = deflated || kind == CONTAINER_DEFLATE;
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
    if (!take_places(r, a, t))
        return false;
    if (deflated && !inflate_possible()) {
        a->unreadable =
            "compressed by deflate; this needs zlib, without which this program was built";
        a->typed = true;
        a->tiles = NULL;
        a->offset = a->compressed = 0;
    }
    return true;
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

/* Chunks that cannot be decoded. */
static bool take_pieces(struct reader *r, struct container_array *a)
{
    const uint64_t *const begin = (const void *)r->at;
    const uint64_t count = take(r), head = take(r), words = HDF5_PIECE + (uint64_t)a->dimensions;
    const uint64_t *piece;

    if (!a->unreadable || !take_words(r, head) || count > (uint64_t)(r->end - r->at) / (8 * words))
        return broken(r);
    piece = take_words(r, count * words);
    for (uint64_t i = 0; i < count; i++, piece += words)
        if (piece[1] > r->in->size || piece[0] > r->in->size - piece[1])
            return broken(r);
    a->pieces = begin;
    return true;
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
    case HDF5_PIECES:
        return take_pieces(r, a);
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

/* Whether missing values are ranges of keys of the type in ascending order, which have all NaNs or
   none. */
static bool is_sound(const struct missing *m, enum element_type type)
{
    const uint64_t least = order_least(type), greatest = order_greatest(type),
                   end = order_sign(type) | (order_sign(type) - 1);
    const unsigned char first_byte = *(const unsigned char *)m;

    _Static_assert(offsetof(struct missing, differ) == 0, "it is the first byte");
    if (first_byte != 0 || m->count == 0 || m->count > HDF5_MISSING_MAX)
        return false;
    for (unsigned i = 0; i < m->count; i++) {
        const struct missing_range *range = &m->ranges[i];

        if (range->first > range->last || range->last > end ||
            (i > 0 && (range->first <= range[-1].last || range->first - range[-1].last == 1)) ||
            (range->first > 0 && range->first < least) ||
            (range->first > greatest && range->first - greatest > 1) ||
            (range->last < least && least - range->last > 1) ||
            (range->last > greatest && range->last < end))
            return false;
    }
    return missing_has(m, 0) == missing_has(m, end) || element_is_integer(type);
}

/* Reads what the numbers of an array mean. */
static bool take_meaning(struct reader *r, struct container_array *a)
{
    const uint64_t missing_size = take(r);
    const void *const missing = take_bytes(r, missing_size);
    const uint64_t scale_size = missing ? take(r) : 0;
    const void *const scale = missing ? take_bytes(r, scale_size) : NULL;

    if (!scale || (missing_size > 0 && missing_size != sizeof *a->missing_values) ||
        (scale_size > 0 && scale_size != sizeof *a->scale))
        return broken(r);
    if (missing_size > 0) {
        if (!is_sound(missing, a->type))
            return broken(r);
        a->missing_values = missing;
    }
    if (scale_size > 0) {
        _Static_assert(offsetof(struct scale, given) == 0, "it is the first byte");
        if (*(const unsigned char *)scale != 1)
            return broken(r);
        a->scale = scale;
        if (scale_refusal(a->scale))
            return broken(r);
    }
    a->warning = take_string(r);
    return a->warning || broken(r);
}

/* Reads the record of an array. */
static bool take_array(struct reader *r)
{
    const char *name = take_string(r), *type_name = take_string(r), *unreadable = take_string(r);
    const uint64_t type = take(r), typed = take(r), not_numeric = take(r);
    const uint64_t by_attributes = take(r), big = take(r);
    struct container_array *a;
    uint64_t dimensions;

    if (!name || !type_name || !unreadable || type >= ELEMENT_TYPES || typed > 1 ||
        not_numeric > 1 || by_attributes > 1 || big > 1)
        return broken(r);
    a = container_add(r->container, name);
    if (!a)
        return container_no_memory(r->in);
    container_name_type(a, type_name);
    a->unreadable = *unreadable ? unreadable : NULL;
    a->typed = typed;
    a->not_numeric = not_numeric;
    a->advice = by_attributes ? ADVICE_STORED : ADVICE_NONE;
    a->type = (enum element_type)type;
    a->big_endian = big;
    if (!take_meaning(r, a))
        return false;
    dimensions = take(r);
    if (dimensions > CONTAINER_DIMENSIONS_MAX)
        return broken(r);
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
    struct records records = {0};
    struct reader r = {.container = c, .in = in};
    char shown[ESCAPE_QUOTE_MAX];
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
        return text ? container_wrong(in, ERROR_NO_OFFSET, "%s", escape_quote(shown, text))
                    : broken(&r);
    case HDF5_UNREAD:
        offset = take(&r);
        return read_again(in, offset, take(&r));
    default:
        return broken(&r);
    }
}

#else

/* Such files are told as ones of an unsupported format. */
static bool recognise(const unsigned char *bytes, size_t size)
{
    (void)bytes, (void)size;
    return false;
}

static bool read_file(struct container *c, struct container_input *in)
{
    (void)c;
    return container_wrong(in, ERROR_NO_OFFSET,
                           "needs libhdf5, without which this program was built");
}

#endif

const struct container_format container_hdf5 = {
    .name = "hdf5",
    .article = "an HDF5 file",
    .recognise = recognise,
    .read = read_file,
};
