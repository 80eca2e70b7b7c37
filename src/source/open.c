/*
 * Opening sources: finds out what an input is, and which kind of source reads it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/name.h"
#include "core/shell.h"
#include "source/arrays.h"
#include "source/compressed.h"
#include "source/format/containers.h"
#include "source/format/inflate.h"
#include "source/formats.h"
#include "source/kinds.h"
#include "source/reader.h"
#include "source/serial.h"
#include "source/zstd.h"
#include "sys/operand.h"
#include "sys/team.h"
#include "sys/whole.h"
#include "zstd/cut.h"
#include "zstd/frames.h"

/* The format of an open directory, by the files in it; NULL if it has none. */
static const struct container_format *known_directory(int fd)
{
    static const struct {
        const char *name;
        const struct container_format *format;
    } files[] = {{"zarr.json", &container_zarr},
                 {".zgroup", &container_zarr},
                 {".zarray", &container_zarr},
                 {".zmetadata", &container_zarr},
                 {".metadata", &container_pytorch}};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (faccessat(fd, files[i].name, F_OK, 0) == 0)
            return files[i].format;
    return NULL;
}

bool source_is_store(int fd)
{
    return known_directory(fd) == &container_zarr;
}

/* The format of a directory, by the files in it or as asked for; NULL if it has none. */
static const struct container_format *find_directory(const struct source *s)
{
    const struct container_format *asked = arrays_asked(&s->options),
                                  *known = s->options.format == SOURCE_AUTO ? known_directory(s->fd)
                                                                            : NULL;

    return known                                          ? known
           : s->options.array || asked == &container_zarr ? &container_zarr
           : asked == &container_pytorch                  ? asked
                                                          : NULL;
}

/* Reads the first bytes of NIfTI's header, which gzip may have compressed if its name says so. Returns how
   many, or -1, as where it is cut off. */
static ssize_t read_header(int fd, bool named_gz, void *bytes, size_t size)
{
    unsigned char packed[4096];
    const size_t room = size;
    const ssize_t got = named_gz ? pread(fd, packed, sizeof packed, 0) : 0;
    size_t in = got > 0 ? (size_t)got : 0;
    struct inflate *z = inflate_recognise_gzip(packed, in) ? inflate_open() : NULL;
    bool good, ended;

    if (!z)
        return pread(fd, bytes, size, 0);
    inflate_begin_stream(z, true);
    good = inflate_stream(z, packed, &in, bytes, &size, &ended);
    inflate_close(z);
    return good && (ended || size == room) ? (ssize_t)size : -1;
}

/* Finds a pair of NIfTI's files, of which the path names either: puts the first bytes of the header into
   s->pair, and has s->fd be the image. False if the image cannot be opened. */
static bool open_pair(struct source *s)
{
    const bool any =
        s->options.format == SOURCE_AUTO || arrays_asked(&s->options) == &container_nifti;
    char other[PATH_MAX];
    const char *const end = s->close_fd && any ? operand_pair(s->path, other) : NULL;
    const bool image = end && *end == 'h';
    ssize_t got;
    int fd;

    if (!end)
        return true;
    fd = image ? open(other, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : s->fd;
    if (fd < 0)
        return true; /* see operand_pair */
    got = read_header(fd, end[3] != '\0', s->pair, sizeof s->pair);
    s->pair_size = got > 0 && nifti_is_pair(s->pair, (size_t)got, false) ? (size_t)got : 0;
    if (!image && s->pair_size > 0) {
        s->fd = open(other, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        s->close_fd = s->fd >= 0;
        if (s->fd < 0)
            source_error(s, ERROR_READ, "a NIfTI header; its image %s: %s", other, strerror(errno));
    }
    if (image || s->pair_size > 0)
        close(fd);
    return s->fd >= 0;
}

/* Takes the descriptor and the metadata of what `path` names. */
static bool open_file(struct source *s, struct stat *status)
{
    int flags;

    if (s->options.has_descriptor) {
        s->fd = s->options.descriptor;
    } else if (strcmp(s->path, "-") == 0) {
        s->fd = STDIN_FILENO;
    } else {
        /* Without O_NONBLOCK a FIFO waits for its writer, as users expect. */
        s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        s->close_fd = s->fd >= 0;
    }
    if (s->fd >= 0 && !open_pair(s))
        return false;
    if (s->fd < 0 || fstat(s->fd, status) != 0)
        return source_error(s, ERROR_READ, "%s", strerror(errno));
    flags = fcntl(s->fd, F_GETFL);
    if (flags >= 0 && ((flags & O_PATH) || (flags & O_ACCMODE) == O_WRONLY))
        return source_error(s, ERROR_READ,
                            "cannot be read: it is closed, or open for writing only");
    s->info.repeatable = S_ISREG(status->st_mode) || S_ISBLK(status->st_mode);
    if (s->pair_size > 0 && !s->info.repeatable)
        return source_error(s, ERROR_READ,
                            "a pair of NIfTI files, whose image is not a regular file");
    if (S_ISDIR(status->st_mode)) {
        s->directory = find_directory(s);
        s->info.repeatable = s->directory;
        if (!s->directory)
            source_error(s, ERROR_READ, "is a directory");
        return s->directory;
    }
    return true;
}

/* Finds out where a file that can be read at any offset begins, and how much it holds. False for
   all that must be read in order: pipes, terminals, and special files without a size (as in /proc).
    */
static bool has_extent(struct source *s, bool from_beginning, const struct stat *status)
{
    off_t begin = 0, end;

    if (!S_ISREG(status->st_mode) && !S_ISBLK(status->st_mode))
        return false;
    if (!from_beginning) {
        begin = lseek(s->fd, 0, SEEK_CUR);
        if (begin < 0)
            return false;
    }
    end = S_ISREG(status->st_mode) ? status->st_size : lseek(s->fd, 0, SEEK_END);
    if (end <= 0)
        return false;
    s->start = (uint64_t)begin;
    s->info.input_bytes = end > begin ? (uint64_t)(end - begin) : 0;
    return true;
}

/* Notes which file it is. False where it was another one, or was longer, when it was opened before;
   what has been appended since then is left out. */
static bool is_same_file(struct source *s, const struct stat *status, bool has_size,
                         const struct source_file *earlier)
{
    const uint64_t input_bytes = has_size ? s->info.input_bytes : 0;

    s->info.file = (struct source_file){.known = has_size && S_ISREG(status->st_mode),
                                        .device = (uint64_t)status->st_dev,
                                        .number = (uint64_t)status->st_ino,
                                        .input_bytes = input_bytes};
    if (!earlier || !earlier->known)
        return true;
    if (s->info.file.device != earlier->device || s->info.file.number != earlier->number)
        return source_error(s, ERROR_CHANGED,
                            "it changed while it was read: it is another file now");
    if (input_bytes < earlier->input_bytes)
        return source_became_shorter(s, s->start + earlier->input_bytes);
    s->info.input_bytes = s->info.file.input_bytes = earlier->input_bytes;
    return true;
}

/* Reads the first bytes of a file that can be read at any offset. A file without blocks may hold
   less than its size says, as those in /sys do, but some: then all of it is what could be read.
   If the disk has errors there, so many as `least` will do: the rest may be what nobody needs.
   Returns how many there are, -1 on failure. */
static ptrdiff_t read_first(struct source *s, unsigned char *head, size_t size, size_t least)
{
    struct stat status;
    size_t got;
    int error;

    size = s->info.input_bytes < size ? (size_t)s->info.input_bytes : size;
    error = source_try_pread(s, s->fd, head, size, s->start, &got);
    if (error > 0 && size > least)
        error = source_try_pread(s, s->fd, head, size = least, s->start, &got);
    atomic_store(&s->input_read, 0); /* it counts when it is used */
    if (error > 0)
        source_unreadable(s, got, error);
    if (error >= 0)
        return error > 0 ? -1 : (ptrdiff_t)size;
    if (got > 0 && fstat(s->fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_blocks == 0 &&
        (uint64_t)status.st_size >= s->start + s->info.input_bytes) {
        s->info.input_bytes = got;
        return (ptrdiff_t)got;
    }
    source_became_shorter(s, s->start + got);
    return -1;
}

static bool read_head(struct source *s)
{
    const size_t size = s->info.input_bytes <= s->options.tuning->head_max
                            ? (size_t)s->info.input_bytes
                            : s->options.tuning->head_min;
    ptrdiff_t got;

    s->head = malloc(size + 1); /* an empty file has one, too */
    if (!s->head)
        return source_no_memory(s);
    got = read_first(s, s->head, size, s->options.tuning->head_min);
    s->head_size = got > 0 ? (size_t)got : 0;
    return got >= 0;
}

/* A file that can be read at any offset, and is not compressed. */
static bool open_plain_file(struct source *s, unsigned workers)
{
    const struct container_format *format;

    if (s->options.array) {
        const bool bands = s->options.array->tiles && s->options.consecutive;

        s->damages.kept = bands || !s->options.undecoded;
        return arrays_layout_one(s) &&
               (bands                  ? bands_source_open(s, s->options.consecutive, workers)
                : s->options.undecoded ? compressed_array_open(s, workers)
                                       : file_source_open(s, workers));
    }
    format = s->directory       ? s->directory
             : s->pair_size > 0 ? &container_nifti
                                : arrays_recognise(&s->options, s->head, s->head_size);
    if (format)
        return arrays_layout(s, format) &&
               (s->options.headers_only || file_source_open(s, workers));
    if (!file_layout(s))
        return false;
    return s->head_size == s->info.input_bytes && s->options.record.bytes == 0
               ? memory_source_open_head(s, workers)
               : file_source_open(s, workers);
}

const struct source_tuning source_tuning_shipped = {
    .head_max = (size_t)64 << 10,
    .head_min = 4096,
    .mapped_least = (uint64_t)4 << 20,
    .closely_least = (uint64_t)256 << 20,
    .piece = (size_t)1 << 20,
    .part_least = (uint64_t)32 << 20,
    .zstd = {.small_max = (uint64_t)8 << 20, .piece = (uint64_t)128 << 10},
};

static void set_options(struct source *s, const struct source_options *options)
{
    s->options = *options;
    s->options.tuning = source_tuning(options);
}

/* Prepares what the source decodes zstd by. */
static void begin_zstd(struct source *s)
{
    s->zstd.tuning = &s->options.tuning->zstd;
    s->zstd.window_log = s->options.window_log ? s->options.window_log : SOURCE_WINDOW_LOG_DEFAULT;
    s->zstd.no_check = s->options.no_check;
    zstd_file_init(&s->zstd);
}

/* A source of nothing, of this name, which is freed with it. NULL without a name, or memory. */
static struct source *make(const char *path, char *name, const struct source_options *options,
                           struct error *error)
{
    static const struct source_ops none = {0};
    struct source *s = name ? calloc(1, sizeof *s) : NULL;

    if (!s) {
        free(name);
        *error = (struct error){.kind = ERROR_NONE};
        (void)error_memory(error);
        return NULL;
    }
    s->name = name;
    s->info.name = s->name;
    s->fd = -1;
    s->ops = &none;
    s->path = path;
    s->info.input_bytes = SOURCE_UNKNOWN;
    atomic_init(&s->limit, SOURCE_UNKNOWN);
    mutex_init(&s->damages.mutex);
    set_options(s, options);
    begin_zstd(s);
    return s;
}

/*
 * Content that is needed at any offset, of inputs that are decompressed, or read, from front to back: it is
 * put into a file of its own, which has no name.
 */

/* Bytes that a worker reads and writes at a time. */
#define PIECE ((size_t)1 << 20)

struct unpacking {
    struct source *raw;
    int fd;
    uint64_t most;          /* of *held */
    _Atomic uint64_t *held; /* bytes of all such files that are open */
    _Atomic uint64_t bytes; /* of this one */
    _Atomic bool full;      /* there are more */
};

/* Opens a file without a name. -1 on failure. */
static int open_nameless(void)
{
    const char *const folder = getenv("TMPDIR");
    char path[PATH_MAX];
    int fd = -1;

#ifdef MFD_CLOEXEC
    fd = memfd_create("gpureduce", MFD_CLOEXEC);
    if (fd >= 0)
        return fd;
#endif
    if (snprintf(path, sizeof path, "%s/gpureduce-XXXXXX", folder && *folder ? folder : "/tmp") <
        (int)sizeof path)
        fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

/* Writes a chunk to its place. False on failure, and where there is no more room. */
static bool write_chunk(struct unpacking *u, const struct chunk *chunk)
{
    atomic_fetch_add(&u->bytes, chunk->count);
    if (atomic_fetch_add(u->held, chunk->count) + chunk->count > u->most) {
        atomic_store(&u->full, true);
        source_cancel(u->raw);
    }
    if (u->raw->options.cancelled && u->raw->options.cancelled(u->raw->options.cancel_context))
        source_cancel(u->raw);
    return !source_failed(u->raw) &&
           (write_whole(u->fd, chunk->data, chunk->count, (off_t)chunk->index) ||
            source_error(u->raw, ERROR_READ, "cannot keep its decompressed content: %s",
                         strerror(errno)));
}

/* The part of one worker. */
static void work(void *context, unsigned worker)
{
    struct unpacking *u = context;
    struct chunk_request request = {.worker = worker, .buffer = malloc(PIECE), .size = PIECE};
    struct chunk chunk;
    bool good = request.buffer || source_no_memory(u->raw);

    while (good && source_next(u->raw, &request, &chunk) == SOURCE_CHUNK) {
        good = write_chunk(u, &chunk);
        source_release(u->raw, worker, &chunk);
    }
    source_leave(u->raw, worker);
    free(request.buffer);
}

/* Reads all of a source of bytes (u8), by so many workers, into a file without a name: in memory, or in the
   folder for temporary files. Returns its descriptor, and sets *size to its bytes, by which *held grows;
   the caller subtracts them once it has closed the file. -1 on failure, or if the source is to be read
   again, with SOURCE_REREAD in *verdict. *held has up to `memory` bytes, or source_memory() if that is
   less: if there are more, the source fails without an error, and *size is what was left of them. *size
   is 0 after other failures. */
static int unpack(struct source *raw, unsigned workers, uint64_t memory, _Atomic uint64_t *held,
                  uint64_t *size, enum source_verdict *verdict)
{
    const uint64_t half = source_memory();
    struct unpacking u = {.raw = raw,
                          .fd = open_nameless(),
                          .most = memory && memory < half ? memory : half,
                          .held = held};
    uint64_t others;

    *verdict = SOURCE_BROKEN;
    if (u.fd < 0) {
        source_error(raw, ERROR_READ, "cannot keep its decompressed content: %s", strerror(errno));
        *size = 0;
        return -1;
    }
    team_call(workers, work, &u);
    *verdict = source_finish(raw);
    *size = u.bytes;
    if (*verdict == SOURCE_COMPLETE)
        return u.fd;
    close(u.fd);
    others = atomic_fetch_sub(held, u.bytes) - u.bytes;
    *size = !u.full ? 0 : others < u.most ? u.most - others : 1;
    return -1;
}

/* A reader of the decompressed bytes of a zstd file from their beginning. NULL on failure. */
static struct reader *open_decoder(struct source *s, unsigned workers)
{
    struct reader *reader = input_reader_open(s, 0);

    atomic_store(&s->input_read, 0);
    return reader ? zstd_source_reader_by_all(s, reader, workers) : NULL;
}

/* A source of the bytes of a container: the content of s, a zstd file, or what the reader reads, which is
   closed with it. It may have failed. NULL without memory. */
static struct source *open_raw(struct source *s, struct reader *reader, unsigned workers)
{
    const struct source_options raw = {.log = s->options.log,
                                       .format = SOURCE_RAW,
                                       .type = ELEMENT_U8,
                                       .length = SOURCE_UNKNOWN,
                                       .window_log = s->options.window_log,
                                       .no_check = s->options.no_check,
                                       .true_indices = true,
                                       .cancellable = s->options.cancellable,
                                       .cancelled = s->options.cancelled,
                                       .cancel_context = s->options.cancel_context,
                                       .tuning = s->options.tuning};
    struct error error = {.kind = ERROR_NONE};
    struct source *made = make(s->path, strdup(s->name), &raw, &error);

    if (!made) {
        if (reader)
            reader->close(reader);
        source_fail(s, error);
        return NULL;
    }
    made->fd = s->fd;
    made->start = s->start;
    if (reader) {
        (void)serial_source_open(made, reader);
        return made;
    }
    made->has_size = true;
    made->info.input_bytes = s->info.input_bytes;
    made->info.compression = s->info.compression;
    made->info.compressed = true;
    (void)zstd_source_open(made, workers);
    return made;
}

/* Makes the source fail since a container has more content than memory may hold. */
static void refuse_large(struct source *s, const struct container_format *format, uint64_t bound)
{
    const struct advice advice = {.kind = ADVICE_DECOMPRESSED, .compressed = s->info.compression};
    char command[SHELL_DECOMPRESSION_MAX], word[SHELL_WORD_MAX];

    if (s->info.compression == COMPRESSION_NONE) {
        source_error(s, ERROR_REQUEST,
                     "%s in a pipe, of more than the %" PRIu64
                     " MiB that memory has for it; save it as a file first: cat >FILE",
                     format->article, bound >> 20);
        return;
    }
    shell_decompression(command, word, strcmp(s->path, "-") == 0 ? "" : s->path, advice.compressed);
    source_refuse(s, advice,
                  "%s, compressed, of more than the %" PRIu64
                  " MiB that memory has for it; try: %s",
                  format->article, bound >> 20, command);
}

/* Puts the bytes of a container, from a zstd file or from the reader, into a file of their own, which
   takes the place of the input. The reader is closed. False on failure. */
static bool unpack_content(struct source *s, const struct container_format *format,
                           struct reader *reader, unsigned workers)
{
    _Atomic uint64_t alone = 0, *held = s->options.unpacked ? s->options.unpacked : &alone;
    enum source_verdict verdict = SOURCE_REREAD;
    uint64_t size = 0;
    int fd = -1;

    workers = s->options.threads ? s->options.threads : workers;
    while (fd < 0 && verdict == SOURCE_REREAD) {
        struct source *raw = open_raw(s, reader, workers);

        if (!raw)
            return false;
        fd = unpack(raw, workers, s->options.memory, held, &size, &verdict);
        if (source_why(raw)->kind != ERROR_NONE)
            source_fail(s, *source_why(raw));
        source_close(raw);
        reader = verdict == SOURCE_REREAD ? open_decoder(s, workers) : NULL;
        if (verdict == SOURCE_REREAD && !reader)
            return false;
    }
    if (fd >= 0) {
        if (s->close_fd)
            close(s->fd);
        free(s->head);
        s->head = NULL;
        s->head_size = 0;
        s->start = 0;
        s->fd = fd;
        s->unpacked = true;
        s->unpacked_bytes = s->options.unpacked;
        s->close_fd = s->has_size = true;
        s->info.compressed = false;
        s->info.input_bytes = size;
        s->info.whole = true;
    } else if (size > 0 && !source_failed(s)) {
        refuse_large(s, format, size);
    }
    /* The reader may have failed in place of what it was read by. */
    return fd >= 0 && !source_failed(s);
}

/* Opens a container inside a zstd file, or that the reader reads. The reader is closed in any case. */
static bool open_container(struct source *s, const struct container_format *format,
                           struct reader *reader, unsigned workers)
{
    s->zstd.stop = SOURCE_UNKNOWN;
    if (format->in_order && s->pair_size == 0 &&
        (s->options.arrays_in_order || s->options.headers_only)) {
        reader = reader ? reader : open_decoder(s, workers);
        if (!reader || !arrays_layout_in_order(s, format, &reader))
            return false;
        if (s->container)
            return !reader || serial_source_open_arrays(s, reader);
        if (s->has_size && s->info.compression == COMPRESSION_ZSTD) {
            reader->close(reader); /* all frames are decoded in parallel otherwise */
            reader = NULL;
        }
    }
    return unpack_content(s, format, reader, workers) && arrays_layout(s, format) &&
           (s->options.headers_only || file_source_open(s, workers));
}

/* Opens an input that comes in order. Takes the reader, which stands at the beginning of the
   decompressed data. */
static bool open_serial(struct source *s, struct reader *reader, unsigned workers)
{
    const struct container_format *format = formats_find_container(s, reader);

    if (format)
        return open_container(s, format, reader, workers);
    if (!source_failed(s))
        return serial_source_open(s, reader);
    reader->close(reader);
    return false;
}

/* A zstd file whose frames may be decoded in parallel. Inside there may be a container: then it is
   opened again. */
static bool open_zstd(struct source *s, unsigned workers)
{
    static const struct source_ops none = {0};

    if (s->options.undecoded && !s->options.part.cut ? compressed_source_open(s, NULL)
                                                     : zstd_source_open(s, workers))
        return true;
    if (!s->inner)
        return false;
    if (s->ops->close)
        s->ops->close(s);
    s->ops = &none;
    s->state = NULL;
    return open_container(s, s->inner, NULL, workers);
}

/* Whether the input is the image of a pair whose names do not say that it is compressed. */
static bool is_plain_pair(const struct source *s)
{
    const size_t length = strlen(s->path);

    return s->pair_size > 0 && strcmp(s->path + length - 3, ".gz") != 0;
}

/* Reads the first bytes, and finds out whether they are compressed. False on failure. */
static bool begin_format(struct source *s)
{
    if (s->options.view || s->directory)
        return true;
    if (s->has_size && !s->head && !read_head(s))
        return false;
    if (s->options.array || is_plain_pair(s))
        return true;
    s->reader = input_reader_open(s, 0);
    return s->reader && formats_detect_compression(s, s->reader);
}

/* Whether the input can be read as is asked for; if not, the source fails. */
static bool can_be_read(struct source *s)
{
    const struct container_format *asked = arrays_asked(&s->options);

    if ((s->info.compressed || !s->has_size) && s->options.part.begin > 0 && !s->options.part.cut)
        return source_error(s, ERROR_REQUEST, "cannot be split: its decompressed size is unknown");
    if (!asked || s->has_size || !s->info.repeatable)
        return true;
    return source_error(s, ERROR_DATA, "is empty, and not %s", asked->article);
}

static bool open_format(struct source *s, unsigned workers)
{
    struct reader *reader = s->reader;

    s->reader = NULL;
    if (s->options.view)
        return memory_source_open(s, workers);
    if (s->options.array || s->directory || is_plain_pair(s))
        return open_plain_file(s, workers);
    if (!can_be_read(s)) {
        reader->close(reader);
        return false;
    }
    if (s->info.compression == COMPRESSION_GZIP || s->info.compression == COMPRESSION_ZLIB) {
        reader = gzip_reader_open(s, reader);
        return reader && open_serial(s, reader, workers);
    }
    if (s->has_size && s->options.format != SOURCE_FORTRAN &&
        !(s->info.compressed && source_reads_in_order(&s->options))) {
        reader->close(reader);
        return s->info.compressed ? open_zstd(s, workers) : open_plain_file(s, workers);
    }
    if (s->options.part.cut && s->has_size) {
        reader->close(reader);
        return zstd_part_open_in_order(s);
    }
    if (s->info.compressed && s->options.undecoded && !source_reads_in_order(&s->options)) {
        if (compressed_source_open(s, reader))
            return true;
        if (s->inner) /* what has been read of the pipe is gone */
            source_refuse(s, (struct advice){.kind = ADVICE_CPU_TELLS},
                          "%s in a pipe, compressed, which a GPU does not decode",
                          s->inner->article);
        return false;
    }
    if (s->info.compressed)
        reader = zstd_source_reader_by_all(s, reader, workers);
    return reader && open_serial(s, reader, workers);
}

/* Opens a file to look at it. False where there is no regular file, or an empty one, or it cannot
   be opened; s->fd is to be closed if s->close_fd says so. */
static bool look_at(struct source *s, const char *path, const struct source_options *options)
{
    struct stat status;

    *s = (struct source){.path = path, .fd = -1, .muted = true};
    set_options(s, options);
    if (strcmp(path, "-") == 0)
        s->fd = STDIN_FILENO;
    else if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
        s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    s->close_fd = s->fd > STDIN_FILENO;
    return s->fd >= 0 && open_pair(s) && fstat(s->fd, &status) == 0 && S_ISREG(status.st_mode) &&
           has_extent(s, s->close_fd, &status);
}

bool source_look(const char *path, const struct source_options *options, struct source_facts *facts,
                 struct error *error)
{
    unsigned char head[CONTAINER_HEAD];
    struct zstd_frame frame;
    struct source s;
    ptrdiff_t got = 0;

    *facts = (struct source_facts){.content = SOURCE_UNKNOWN};
    if (look_at(&s, path, options)) {
        facts->size = s.info.input_bytes;
        got = read_first(&s, head, sizeof head, sizeof head);
    }
    if (s.close_fd)
        close(s.fd);
    if (options->format != SOURCE_AUTO)
        facts->container = arrays_asked(options) != NULL;
    else if (got > 0)
        facts->container = s.pair_size > 0 || container_recognise(head, (size_t)got) != NULL;
    if (got > 0) { /* Fortran's records are divided like compressed data: not at all */
        const enum compression found = formats_compression(options, head, (size_t)got);

        facts->compressed = found != COMPRESSION_NONE || options->format == SOURCE_FORTRAN;
        facts->zstd = found == COMPRESSION_ZSTD;
    }
    if (got > 0 && facts->compressed && zstd_read_header(head, (size_t)got, 0, &frame))
        facts->content = frame.content;
    *error = s.error;
    return got >= 0;
}

/* Whether there is a container inside a zstd file, which is then decompressed as a whole. */
static bool holds_container(struct source *s)
{
    struct reader *reader = zstd_source_reader(s, input_reader_open(s, 0), 0, 0);
    const struct container_format *format;

    if (!reader)
        return false;
    format = formats_find_container(s, reader);
    reader->close(reader);
    return format;
}

bool source_cut(const char *path, const struct source_options *options, struct source_part *part,
                bool *cut, struct error *error)
{
    unsigned char magic[FORMATS_MAGIC_MAX];
    struct zstd_cut frames;
    struct source s;
    ptrdiff_t got;

    *cut = look_at(&s, path, options);
    got = *cut ? read_first(&s, magic, sizeof magic, sizeof magic) : 0;
    *cut = got > 0 && formats_compression(options, magic, (size_t)got) == COMPRESSION_ZSTD;
    begin_zstd(&s);
    *cut = *cut && !source_reads_in_order(options);
    *cut = *cut && zstd_cut(zstd_source_file(&s), part->begin, part->end, &frames);
    s.muted = false; /* that the file cannot be read is told */
    zstd_source_error(&s);
    s.muted = true;
    *cut = *cut && !holds_container(&s) && !source_failed(&s);
    if (*cut)
        *part = (struct source_part){
            .begin = frames.begin, .end = frames.end, .cut = true, .frames = frames};
    zstd_file_destroy(&s.zstd);
    if (s.close_fd)
        close(s.fd);
    *error = s.error;
    return !source_failed(&s);
}

/* Whether the input can be what is asked for by the names of arrays. */
static bool has_wanted(struct source *s)
{
    struct source_wanted *wanted = s->options.wanted;

    if (!wanted || s->info.container || s->options.array)
        return true;
    wanted->chosen = true;
    if (wanted->included == 0 || s->options.as_bytes)
        return true;
    return source_refuse(s, (struct advice){.kind = ADVICE_NO_ARRAY},
                         "is one array without a name");
}

/* Notes that arrays may be in an input that could not be opened. Returns false. */
static bool note_unknown(const struct source_options *options)
{
    if (options->wanted && !options->array)
        options->wanted->unknown = true;
    return false;
}

/* Closes a source that could not be opened. Returns NULL, and why in *error. */
static struct source *give_up(struct source *s, struct error *error)
{
    *error = s->error;
    (void)note_unknown(&s->options);
    source_close(s);
    return NULL;
}

struct source *source_connect(const char *path, const struct source_options *options,
                              struct error *error)
{
    char name[NAME_BOTH_MAX];
    struct source *s;
    struct stat status;

    (void)name_both(name, path, options->array ? options->array->name : NULL);
    s = make(path, strdup(name), options, error);
    if (!s) {
        (void)note_unknown(options);
        return NULL;
    }
    if (options->view || options->read)
        return s;
    if (!open_file(s, &status))
        return give_up(s, error);
    s->has_size = has_extent(s, s->close_fd || options->has_descriptor, &status);
    if (s->directory || (s->pair_size > 0 && !s->has_size))
        s->info.input_bytes = 0;
    return is_same_file(s, &status, s->has_size, options->earlier) ? s : give_up(s, error);
}

bool source_find_facts(struct source *s, bool closely, struct source_facts *facts)
{
    *facts = (struct source_facts){.compressed = s->info.compression == COMPRESSION_ZSTD,
                                   .size = s->has_size ? s->info.input_bytes : 0,
                                   .content = SOURCE_UNKNOWN};
    if (facts->compressed && s->has_size)
        zstd_source_look(s, closely && s->info.input_bytes >= s->options.tuning->closely_least,
                         facts);
    return !source_failed(s);
}

/* The format of an input: what was asked for, or else what the set that it is of should have. */
static enum source_format expected_format(const struct source *s)
{
    const struct source_index *index = s->options.format == SOURCE_AUTO ? s->options.index : NULL;

    for (; index; index = index->next)
        if (arrays_find_path(index, s->path) < index->count)
            return index->format;
    return s->options.format;
}

bool source_open_probed(struct source *s, const struct source_options *options, unsigned workers)
{
    set_options(s, options);
    s->options.format = expected_format(s);
    return (open_format(s, workers) && has_wanted(s)) || note_unknown(options);
}

bool source_probe(struct source *s, const struct source_options *options)
{
    set_options(s, options);
    return begin_format(s) || note_unknown(options);
}

bool source_open_connected(struct source *s, const struct source_options *options, unsigned workers)
{
    return source_probe(s, options) && source_open_probed(s, options, workers);
}

struct source *source_renew(struct source *s, const struct source_options *options,
                            struct error *error)
{
    struct source *again = make(s->path, s->name, options, error);

    s->name = NULL;
    if (again) {
        again->fd = s->fd;
        again->close_fd = s->close_fd;
        again->has_size = s->has_size;
        again->directory = s->directory;
        again->head = s->head;
        again->head_size = s->head_size;
        memcpy(again->pair, s->pair, sizeof again->pair);
        again->pair_size = s->pair_size;
        again->start = s->start;
        again->info.input_bytes = s->info.input_bytes;
        again->info.repeatable = s->info.repeatable;
        again->info.file = s->info.file;
        again->unpacked = s->unpacked;
        again->unpacked_bytes = s->unpacked_bytes;
        s->unpacked_bytes = NULL;
        s->close_fd = false;
        s->head = NULL;
    }
    source_close(s);
    return !again || begin_format(again) ? again : give_up(again, error);
}

struct source *source_open(const char *path, const struct source_options *options, unsigned workers,
                           struct error *error)
{
    struct source *s = source_connect(path, options, error);

    if (s && !source_open_connected(s, options, workers)) {
        *error = s->error;
        source_close(s);
        return NULL;
    }
    return s;
}

struct source *source_open_array(const struct source *container,
                                 const struct container_array *array,
                                 const struct source_options *options, unsigned workers,
                                 struct error *error)
{
    struct source_options one = *options;

    one.array = array;
    if (container->unpacked) {
        one.has_descriptor = true;
        one.descriptor = container->fd;
    }
    one.earlier = container->unpacked ? NULL : &container->info.file;
    return source_open(container->path, &one, workers, error);
}
