#include "config.h"

#include "fuzz/fuzz.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/common/difference.h"
#include "cli/failure.h"
#include "cli/message.h"
#include "core/moments.h"

/* Memory that an input frees is reused soon, while it is in the caches. With the usual 256 MiB, a
   large part of the time goes to fresh pages. Few inputs free more than this. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=8";
}

/*
 * Choices.
 */

uint64_t fuzz_below(struct fuzz_input *in, uint64_t bound)
{
    size_t size = bound <= 0x100 ? 1 : bound <= 0x10000 ? 2 : 8;
    uint64_t number = 0;

    for (size_t i = 0; i < size && in->size > 0; i++)
        number = number << 8 | in->data[--in->size];
    return number % bound;
}

bool fuzz_flag(struct fuzz_input *in)
{
    return fuzz_below(in, 2);
}

uint32_t fuzz_hash(const uint8_t *data, size_t size)
{
    uint32_t hash = 0;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * 0x01000193;
    return hash ^ hash >> 15;
}

uint64_t fuzz_odd_number(struct fuzz_input *in)
{
    uint64_t power = UINT64_C(1) << fuzz_below(in, 63);

    switch (fuzz_below(in, 5)) {
    case 0:
        return fuzz_below(in, 0x100);
    case 1:
        return power - 1;
    case 2:
        return power + fuzz_below(in, 2);
    case 3:
        return (uint64_t)INT64_MAX - fuzz_below(in, 16);
    default:
        return fuzz_below(in, (uint64_t)INT64_MAX + 1);
    }
}

/*
 * Bytes.
 */

unsigned char *fuzz_grow(struct fuzz_bytes *b, size_t size)
{
    unsigned char *place;

    if (!b->data || b->capacity - b->size < size) {
        b->capacity = 2 * b->capacity + size + 64;
        b->data = realloc(b->data, b->capacity);
        if (!b->data)
            abort();
    }
    place = b->data + b->size;
    b->size += size;
    return place;
}

void fuzz_add(struct fuzz_bytes *b, const void *bytes, size_t size)
{
    unsigned char *place = fuzz_grow(b, size);

    if (size > 0)
        memcpy(place, bytes, size);
}

void fuzz_add_number(struct fuzz_bytes *b, uint64_t number, unsigned size)
{
    for (unsigned i = 0; i < size; i++, number >>= 8)
        *fuzz_grow(b, 1) = (unsigned char)number;
}

void fuzz_free(struct fuzz_bytes *b)
{
    free(b->data);
    *b = (struct fuzz_bytes){0};
}

/*
 * Folders and arrays.
 */

void fuzz_write_file(int folder, const char *name, const void *data, size_t size)
{
    const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    fuzz_check(fd >= 0 && write(fd, data, size) == (ssize_t)size, "cannot write %s", name);
    close(fd);
}

bool fuzz_read_memory(struct container_input *in, void *buffer, size_t size, uint64_t offset)
{
    const struct fuzz_bytes *b = in->context;

    fuzz_check(offset <= b->size && size <= b->size - offset,
               "%zu bytes at %" PRIu64 " are asked for, and there are %zu", size, offset, b->size);
    memcpy(buffer, b->data + offset, size);
    return true;
}

void fuzz_check_reason(const struct container *c, const struct container_input *in)
{
    if (c)
        return;
    fuzz_check(in->error.kind != ERROR_NONE && *in->error.text, "refused without a reason");
    fuzz_check(in->error.offset <= in->size || in->error.offset == ERROR_NO_OFFSET,
               "refused for byte %" PRIu64 " of %" PRIu64, in->error.offset, in->size);
    for (const char *p = in->error.text; *p; p++)
        fuzz_check((unsigned char)*p >= 0x20 && *p != 0x7f,
                   "the reason has a control character: %s", in->error.text);
}

bool fuzz_check_array(const struct container_array *a)
{
    uint64_t product, elements = 1;

    fuzz_check(a->name && a->dimensions <= CONTAINER_DIMENSIONS_MAX, "no name");
    if (a->unreadable) {
        fuzz_check(*a->unreadable, "%s: no reason", a->name);
        return false;
    }
    fuzz_check(container_product(a, &product) && product == a->elements &&
                   a->length == product * element_size(a->type),
               "%s: %" PRIu64 " elements in %" PRIu64 " bytes", a->name, a->elements, a->length);
    for (unsigned i = 0; a->tiles && i < a->dimensions; i++)
        elements *= a->tiles->sizes[i];
    fuzz_check(!a->tiles || (elements > 0 && elements == a->tiles->elements),
               "%s: tiles of %" PRIu64 " elements", a->name, elements);
    return true;
}

/*
 * Messages. Any thread may send one.
 */

struct fuzz_messages fuzz_messages;
static pthread_mutex_t messages_mutex = PTHREAD_MUTEX_INITIALIZER;

void fuzz_messages_clear(void)
{
    fuzz_messages = (struct fuzz_messages){0};
}

/* The last reduction, and how it was made, for a failure's message. */
static struct {
    const struct options *options;
    const void *bytes;
    size_t size;
} last;

/* Shows the last reduction as a command line, and saves its input where FUZZ_SAVE says. */
static void show_last(void)
{
    static const char *const formats[] = {"auto", "raw", "npy", "zstd"};
    static const char *const policies[] = {"propagate", "skip", "error"};
    const struct source_options *input = &last.options->session.input;
    const char *path = getenv("FUZZ_SAVE");
    FILE *file = path ? fopen(path, "wb") : NULL;

    fprintf(stderr, "gpureduce --device=cpu -t %s --endian=%s --format=%s --nan=%s -j %u",
            element_name(input->type), input->order == ELEMENT_ORDER_BIG ? "big" : "little",
            formats[input->format], policies[last.options->session.nan],
            last.options->session.threads);
    if (last.options->session.chunk_size)
        fprintf(stderr, " --chunk-size=%zu", last.options->session.chunk_size);
    if (input->skip)
        fprintf(stderr, " --skip=%" PRIu64, input->skip);
    if (input->window_log)
        fprintf(stderr, " --long=%d", input->window_log);
    if (input->length != SOURCE_UNKNOWN)
        fprintf(stderr, " --length=%" PRIu64, input->length);
    for (size_t i = 0; i < last.options->operation_count; i++)
        fprintf(stderr, "%s%s", i ? "," : " --op=", last.options->operations[i]->name);
    fprintf(stderr, " (%zu bytes; to save them set FUZZ_SAVE to a file)\n", last.size);
    if (file) {
        fwrite(last.bytes, 1, last.size, file);
        fclose(file);
    }
}

void fuzz_fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    fputs("FAILED: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    if (last.options)
        show_last();
    abort();
}

static void take_message(char text[sizeof fuzz_messages.text], const char *format,
                         va_list arguments)
{
    int length = vsnprintf(text, sizeof fuzz_messages.text, format, arguments);

    fuzz_check(length > 0 && (size_t)length < sizeof fuzz_messages.text, "a message of %d bytes",
               length);
    for (int i = 0; i < length; i++)
        fuzz_check((unsigned char)text[i] >= 0x20 && text[i] != 0x7f,
                   "a message with a control character: %s", text);
}

bool __wrap_message_error(enum exit_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void __wrap_message_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool __wrap_message_error(enum exit_status status, const char *format, ...)
{
    va_list arguments;

    pthread_mutex_lock(&messages_mutex);
    va_start(arguments, format);
    take_message(fuzz_messages.text, format, arguments);
    va_end(arguments);
    fuzz_messages.errors++;
    if (status > fuzz_messages.status)
        fuzz_messages.status = status;
    pthread_mutex_unlock(&messages_mutex);
    return false;
}

void __wrap_message_warning(const char *format, ...)
{
    char text[sizeof fuzz_messages.text];
    va_list arguments;

    pthread_mutex_lock(&messages_mutex);
    va_start(arguments, format);
    take_message(text, format, arguments);
    va_end(arguments);
    fuzz_messages.warnings++;
    pthread_mutex_unlock(&messages_mutex);
}

/*
 * Whole reductions.
 */

const char *fuzz_way_name(enum fuzz_way way)
{
    static const char *const names[FUZZ_WAYS] = {"file", "standard input", "pipe"};

    return names[way];
}

/* Small files are mapped, too, and read in pieces, frames of more than a block are large, and the
   rings in which all workers decode these go round soon. */
static const struct source_tuning tuning = {
    .head_max = 512,
    .head_min = 512,
    .mapped_least = 4096,
    .zstd = {.small_max = 131072, .piece = 4096, .ahead = 16384, .read = 4096},
};

void fuzz_options(struct fuzz_input *in, struct options *options)
{
    static const char *const instruction_sets[] = {"avx512", "avx2", "sse4", "vector16"};
    enum { SETS = sizeof instruction_sets / sizeof *instruction_sets };
    uint64_t set;

    *options = (struct options){
        .session = {.input = {.length = SOURCE_UNKNOWN,
                              .order = ELEMENT_ORDER_UNSAID,
                              .tuning = &tuning},
                    .device = DEVICE_CPU,
                    .device_count = 1},
    };
    options->session.input.type = (enum element_type)fuzz_below(in, ELEMENT_TYPES);
    if (fuzz_flag(in))
        options->session.input.order = ELEMENT_ORDER_BIG;
    options->session.nan = (enum nan_policy)fuzz_below(in, NAN_ERROR + 1);
    options->session.threads = 1 + (unsigned)fuzz_below(in, 5);
    options->session.chunk_size = fuzz_flag(in) ? (size_t)fuzz_below(in, 0x10000) : 0;
    options->session.kernels = instruction_sets[fuzz_below(in, SETS)];
    set = fuzz_below(in, (UINT64_C(1) << operation_table_count) / 2); /* median is the last */
    for (size_t i = 0; i < operation_table_count; i++) {
        /* Operations that take several passes are not for pipes. */
        if (!operation_quantile(&operation_table[i]) && (set == 0 || (set >> i & 1))) {
            options->operations[options->operation_count++] = &operation_table[i];
            options->session.wants |= operation_table[i].wants;
        }
    }
}

void fuzz_choose_long(struct fuzz_input *in, struct options *options)
{
    static const unsigned char logs[] = {0, 10, 11, 13, 17, 20, 27, 28, 31};

    options->session.input.window_log = logs[fuzz_below(in, sizeof logs)];
}

uint64_t fuzz_window_most(const struct options *options)
{
    return UINT64_C(1) << (options->session.input.window_log ? options->session.input.window_log
                                                             : SOURCE_WINDOW_LOG_DEFAULT);
}

/* The thread that writes to the pipe. */
struct pipe_writer {
    int fd;
    const unsigned char *bytes;
    size_t size, piece;
};

static void *write_pieces(void *argument)
{
    struct pipe_writer *w = argument;
    size_t done = 0;

    while (done < w->size) {
        size_t left = w->size - done;
        ssize_t n = write(w->fd, w->bytes + done, left < w->piece ? left : w->piece);

        if (n < 0) /* nobody reads any more */
            break;
        done += (size_t)n;
    }
    close(w->fd);
    return NULL;
}

/* Makes `fd` standard input and closes the original. */
static void become_stdin(int fd)
{
    if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
        fuzz_fail("no descriptor for standard input");
    close(fd);
}

/* A file of these bytes, behind `before` others. */
static int make_file(const void *bytes, size_t size, size_t before)
{
    int fd = memfd_create("input", MFD_CLOEXEC);

    if (fd < 0 || ftruncate(fd, (off_t)(before + size)) != 0 ||
        pwrite(fd, bytes, size, (off_t)before) != (ssize_t)size ||
        lseek(fd, (off_t)before, SEEK_SET) < 0)
        fuzz_fail("no file");
    return fd;
}

static bool reduce_path(const struct options *options, const char *path,
                        struct reduction *reduction)
{
    char *const paths[] = {(char *)(uintptr_t)path};
    struct session *session;
    struct error error;
    bool good;

    fuzz_messages_clear();
    session = session_open(&options->session, paths, 1, &error);
    fuzz_check(session, "no session: %s", error.text);
    good = session_reduce(session, path, reduction);
    fuzz_check(fuzz_messages.errors == 0, "something is printed: %s", fuzz_messages.text);
    if (!good)
        failure_print(path, NULL, &reduction->error);
    fuzz_check(session_close(session), "the session does not end");
    fuzz_check(fuzz_messages.errors == !good, "%s, and %u errors: %s", good ? "success" : "failure",
               fuzz_messages.errors, fuzz_messages.text);
    fuzz_check(good || fuzz_messages.status == EXIT_FAILED, "failure, and status %d",
               fuzz_messages.status);
    return good;
}

bool fuzz_refused(void)
{
    return fuzz_messages.errors > 0 && strstr(fuzz_messages.text, "as raw numbers");
}

bool fuzz_reduce(const struct options *options, enum fuzz_way way, const void *bytes, size_t size,
                 size_t piece, struct reduction *reduction)
{
    char path[32] = "-";
    struct pipe_writer writer = {.bytes = bytes, .size = size, .piece = piece};
    pthread_t thread;
    int ends[2], file = -1;
    bool good;

    last.options = options;
    last.bytes = bytes;
    last.size = size;
    if (way == FUZZ_PIPE) {
        signal(SIGPIPE, SIG_IGN);
        if (pipe2(ends, O_CLOEXEC) != 0)
            fuzz_fail("no pipe");
        become_stdin(ends[0]);
        writer.fd = ends[1];
        if (pthread_create(&thread, NULL, write_pieces, &writer) != 0)
            fuzz_fail("no thread");
    } else {
        file = make_file(bytes, size, way == FUZZ_STDIN ? piece : 0);
        if (way == FUZZ_FILE)
            snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        else
            become_stdin(file);
    }
    good = reduce_path(options, path, reduction);
    if (way == FUZZ_FILE)
        close(file);
    else
        become_stdin(open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (way == FUZZ_PIPE)
        pthread_join(thread, NULL);
    return good;
}

/*
 * Elements from a source.
 */

/* A stream of bytes in memory. */
struct stream {
    const unsigned char *bytes;
    size_t size, piece;
};

static int64_t read_stream(void *context, void *buffer, uint64_t size, uint64_t offset)
{
    const struct stream *stream = context;
    size_t got = stream->size - (size_t)offset;

    got = got < stream->piece ? got : stream->piece;
    got = got < size ? got : (size_t)size;
    if (got > 0)
        memcpy(buffer, stream->bytes + offset, got);
    return (int64_t)got;
}

/* A chunk that was read: where its elements lie among all that were. */
struct piece {
    uint64_t index;
    size_t at, bytes;
};

/* Reads all chunks. Success: *elements are put in order. */
static enum source_verdict read_chunks(struct source *s, const struct options *options,
                                       struct fuzz_bytes *elements)
{
    static _Alignas(64) unsigned char buffer[(1 << 16) + 64]; /* a chunk, and an element */
    const size_t size = source_info(s)->element_size, chunk_size = options->session.chunk_size;
    const struct chunk_request request = {
        .buffer = buffer,
        .size = chunk_size > 0 ? chunk_size + size : sizeof buffer,
        .in_place = chunk_size > 0 ? 0 : SIZE_MAX,
    };
    struct fuzz_bytes pieces = {0}, came = {0};
    enum source_status status;
    enum source_verdict verdict;
    struct chunk chunk;

    while ((status = source_next(s, &request, &chunk)) == SOURCE_CHUNK) {
        const struct piece piece = {chunk.index, came.size, chunk.count * size};

        fuzz_add(&came, chunk.data, piece.bytes);
        fuzz_add(&pieces, &piece, sizeof piece);
        source_release(s, 0, &chunk);
    }
    verdict = status == SOURCE_END ? source_finish(s) : SOURCE_BROKEN;
    if (verdict == SOURCE_COMPLETE)
        memset(fuzz_grow(elements, came.size), 0xa5, came.size);
    for (size_t i = 0; verdict == SOURCE_COMPLETE && i < pieces.size / sizeof(struct piece); i++) {
        struct piece piece;
        size_t begin;

        memcpy(&piece, pieces.data + i * sizeof piece, sizeof piece);
        begin = (size_t)source_index(s, piece.index) * size;
        fuzz_check(begin <= came.size && piece.bytes <= came.size - begin, "element %zu of %zu",
                   begin / size, came.size / size);
        memcpy(elements->data + begin, came.data + piece.at, piece.bytes);
    }
    fuzz_free(&pieces);
    fuzz_free(&came);
    return verdict;
}

bool fuzz_read(const struct options *options, enum fuzz_way way, const void *bytes, size_t size,
               size_t piece, struct fuzz_bytes *elements)
{
    static int file = -1;
    struct stream stream = {bytes, size, piece};
    struct source_options input = options->session.input;
    enum source_verdict verdict;
    struct error error = {.kind = ERROR_NONE};

    last.options = options;
    last.bytes = bytes;
    last.size = size;
    fuzz_messages_clear();
    if (way == FUZZ_PIPE) {
        input.read = read_stream;
        input.read_context = &stream;
    } else {
        if (file < 0)
            file = make_file("", 0, 0);
        fuzz_check(ftruncate(file, (off_t)size) == 0 &&
                       pwrite(file, bytes, size, 0) == (ssize_t)size,
                   "no file");
        input.has_descriptor = true;
        input.descriptor = file;
    }
    do {
        struct source *s = source_open("input", &input, 1, &error);

        verdict = s ? read_chunks(s, options, elements) : SOURCE_BROKEN;
        if (s && verdict == SOURCE_BROKEN)
            error = *source_why(s);
        fuzz_check(verdict != SOURCE_REREAD || !input.in_order, "to be read again and again");
        input.in_order = verdict == SOURCE_REREAD;
        source_close(s);
    } while (verdict == SOURCE_REREAD);
    if (verdict != SOURCE_COMPLETE) {
        fuzz_check(error.kind != ERROR_NONE, "failure without a reason");
        failure_print("input", NULL, &error);
    }
    return verdict == SOURCE_COMPLETE;
}

/*
 * The expected results.
 */

static size_t type_size(enum element_type type)
{
    switch (type) {
    case ELEMENT_F64:
    case ELEMENT_I64:
    case ELEMENT_U64:
        return 8;
    case ELEMENT_F32:
    case ELEMENT_I32:
    case ELEMENT_U32:
        return 4;
    case ELEMENT_F16:
    case ELEMENT_BF16:
    case ELEMENT_I16:
    case ELEMENT_U16:
        return 2;
    case ELEMENT_F8E4M3:
    case ELEMENT_F8E5M2:
    case ELEMENT_I8:
    case ELEMENT_U8:
    case ELEMENT_BOOL:
        break;
    }
    return 1;
}

uint64_t fuzz_expect(const struct options *options, const struct fuzz_content *content)
{
    uint64_t length = options->session.input.length, data, there;
    size_t size = type_size(content->type);

    if (content->size < content->before)
        return SOURCE_UNKNOWN;
    data = content->size - content->before;
    there = data / size;
    if (content->promised != SOURCE_UNKNOWN) {
        uint64_t wanted = length < content->promised ? length : content->promised;
        return wanted > there ? SOURCE_UNKNOWN : wanted;
    }
    if (length <= there)
        return length;
    return data % size ? SOURCE_UNKNOWN : there;
}

/* The elements in this machine's byte order, to be freed. */
static unsigned char *in_order(const struct fuzz_content *content, size_t count)
{
    static const uint16_t one = 1;
    size_t size = type_size(content->type);
    bool swap = content->big_endian == (*(const unsigned char *)&one == 1);
    unsigned char *out = malloc(count * size + 1);

    if (!out)
        abort();
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < size; j++)
            out[i * size + j] =
                content->bytes[content->before + i * size + (swap ? size - 1 - j : j)];
    return out;
}

void fuzz_compare(const struct options *options, const struct fuzz_content *content,
                  uint64_t elements, bool good, const struct reduction *reduction, const char *how)
{
    /* The oracle takes milliseconds: not every time. */
    const bool moments = (options->session.wants & MOMENTS_WANTS) && elements % 8 == 0 &&
                         reference_moments_is_known(content->type);
    unsigned char *data = in_order(content, (size_t)elements);
    const char *differs;
    const struct result *expected;
    struct reference reference;
    char nan[64];

    reference_reduce(&reference, content->type, data, (size_t)elements, 0);
    if (moments)
        reference_moments(&reference, content->type, data, (size_t)elements, options->session.ddof);
    free(data);
    expected = &reference.policy[options->session.nan == NAN_SKIP];
    if (options->session.nan == NAN_ERROR && expected->nan > 0) {
        snprintf(nan, sizeof nan, ": element %" PRIu64 " is a NaN", expected->first_nan);
        fuzz_check(!good && strstr(fuzz_messages.text, nan), "%s: expected '%s', got %s: %s", how,
                   nan, good ? "success" : "failure", fuzz_messages.text);
        return;
    }
    fuzz_check(good, "%s: refused: %s", how, fuzz_messages.text);
    fuzz_check(reduction->type == content->type && reduction->elements == elements &&
                   reduction->bytes == elements * type_size(content->type),
               "%s: %" PRIu64 " elements of type %d, expected %" PRIu64 " of type %d", how,
               reduction->elements, reduction->type, elements, content->type);
    fuzz_check(reference_same(&reduction->result, expected, options->session.wants),
               "%s: %" PRIu64 " elements of %s, nan policy %d:\n%s\nexpected\n%s", how, elements,
               element_name(content->type), options->session.nan,
               reference_show(&reduction->result), reference_show(expected));
    differs =
        moments ? moments_difference(&reduction->result, expected, options->session.wants) : NULL;
    fuzz_check(!differs, "%s: %" PRIu64 " elements of %s, nan policy %d: %s", how, elements,
               element_name(content->type), options->session.nan, differs);
}

void fuzz_compare_elements(const struct fuzz_content *content, uint64_t elements, bool good,
                           const struct fuzz_bytes *got, const char *how)
{
    const size_t bytes = (size_t)elements * type_size(content->type);

    fuzz_check(good, "%s: refused: %s", how, fuzz_messages.text);
    fuzz_check(got->size == bytes, "%s: %zu bytes of elements, expected %zu", how, got->size,
               bytes);
    fuzz_check(bytes == 0 || memcmp(got->data, content->bytes + content->before, bytes) == 0,
               "%s: other elements than expected", how);
}

/* Adds the fields that a local header and an entry of the directory share. */
static void add_common(struct fuzz_bytes *b, size_t size, const char *name)
{
    fuzz_add_number(b, 0, 2); /* flags */
    fuzz_add_number(b, 0, 8); /* method, time, date and checksum */
    fuzz_add_number(b, 0, 2);
    fuzz_add_number(b, size, 4);
    fuzz_add_number(b, size, 4);
    fuzz_add_number(b, strlen(name), 2);
    fuzz_add_number(b, 0, 2);
}

void fuzz_add_archive(struct fuzz_bytes *b, const char *const *names,
                      const uint8_t *const *contents, const size_t *sizes, size_t count)
{
    struct fuzz_bytes directory = {0};
    const size_t start = b->size;
    size_t begin;

    for (size_t i = 0; i < count; i++) {
        const size_t at = b->size - start;

        fuzz_add_number(b, 0x04034b50, 4);
        fuzz_add_number(b, 0, 2);
        add_common(b, sizes[i], names[i]);
        fuzz_add(b, names[i], strlen(names[i]));
        fuzz_add(b, contents[i], sizes[i]);
        fuzz_add_number(&directory, 0x02014b50, 4);
        fuzz_add_number(&directory, 0, 4);
        add_common(&directory, sizes[i], names[i]);
        fuzz_add_number(&directory, 0, 8);
        fuzz_add_number(&directory, 0, 2);
        fuzz_add_number(&directory, at, 4);
        fuzz_add(&directory, names[i], strlen(names[i]));
    }
    begin = b->size - start;
    fuzz_add(b, directory.data, directory.size);
    fuzz_add_number(b, 0x06054b50, 4);
    fuzz_add_number(b, 0, 4);
    fuzz_add_number(b, count, 2);
    fuzz_add_number(b, count, 2);
    fuzz_add_number(b, directory.size, 4);
    fuzz_add_number(b, begin, 4);
    fuzz_add_number(b, 0, 2);
    fuzz_free(&directory);
}
