/*
 * Shared by the fuzz targets. A target is a file with LLVMFuzzerTestOneInput; it is linked with a
 * library of the program's own objects, all compiled for libFuzzer and the sanitizers.
 *
 * An input is read from both ends: its last bytes make the choices (fuzz_below), so that what is
 * left is a file from its first byte on, and a sample becomes a seed by adding a few bytes.
 *
 * message_error and message_warning are caught (--wrap of the linker): they print nothing, and the
 * targets hold the program to one error, in a line of printable characters, for each failure.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/message.h"
#include "cli/options.h"
#include "lib/reference.h"
#include "run/session.h"
#include "source/format/container.h"

/* The functions that libFuzzer calls: a target has the first, and may have the second. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/*
 * Choices.
 */

struct fuzz_input {
    const unsigned char *data;
    size_t size;
};

/* A number below `bound`, which is not 0, from the end of the input: of one byte, of two, or of
   eight where the bound needs them. 0 when the input is used up. */
uint64_t fuzz_below(struct fuzz_input *in, uint64_t bound);

bool fuzz_flag(struct fuzz_input *in);

/* A hash of an input, by which one of many is chosen for what takes long. The fuzzer cannot aim at it,
   and it is the same when the input runs again. */
uint32_t fuzz_hash(const uint8_t *data, size_t size);

/* A number like those that mark the edges of what fits: powers of two and their neighbours, small
   numbers, or any of 63 bits. */
uint64_t fuzz_odd_number(struct fuzz_input *in);

/*
 * Bytes being put together.
 */

struct fuzz_bytes {
    unsigned char *data;
    size_t size, capacity;
};

/* Room for `size` bytes more, which count as there; their contents are left to the caller. */
unsigned char *fuzz_grow(struct fuzz_bytes *b, size_t size);

void fuzz_add(struct fuzz_bytes *b, const void *bytes, size_t size);

/* Adds a zip archive of these members, which are stored. */
void fuzz_add_archive(struct fuzz_bytes *b, const char *const *names,
                      const uint8_t *const *contents, const size_t *sizes, size_t count);

/* Adds the lowest `size` bytes of a number, the least significant first. */
void fuzz_add_number(struct fuzz_bytes *b, uint64_t number, unsigned size);

void fuzz_free(struct fuzz_bytes *b);

/*
 * Folders and arrays.
 */

/* Makes a file of a folder anew. */
void fuzz_write_file(int folder, const char *name, const void *data, size_t size);

/* The read of a container in memory: in->context is its fuzz_bytes. Fails if more is asked for than is
   there. */
bool fuzz_read_memory(struct container_input *in, void *buffer, size_t size, uint64_t offset);

/* Fails if a container was refused without a reason, or with a place beyond its end. */
void fuzz_check_reason(const struct container *c, const struct container_input *in);

/* Fails unless an array has a name, and either a reason why it cannot be read, or elements, bytes and
   tiles that go with its shape. Returns whether it can be read. */
bool fuzz_check_array(const struct container_array *a);

/*
 * Messages.
 */

struct fuzz_messages {
    unsigned errors;
    unsigned warnings;
    enum exit_status status; /* the worst */
    char text[4096];         /* the last error */
};

extern struct fuzz_messages fuzz_messages;

void fuzz_messages_clear(void);

/* Says what is wrong and ends the process, so that libFuzzer keeps the input. */
_Noreturn void fuzz_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* fuzz_check(condition, format, ...): fails unless the condition holds. */
#define fuzz_check(condition, ...) ((condition) ? (void)0 : fuzz_fail(__VA_ARGS__))

/*
 * Whole reductions.
 */

/* How the program gets at the bytes. */
enum fuzz_way {
    FUZZ_FILE,  /* a file with a name */
    FUZZ_STDIN, /* standard input that is a file, from the middle on */
    FUZZ_PIPE,  /* standard input that is a pipe, filled piece by piece */
    FUZZ_WAYS
};

const char *fuzz_way_name(enum fuzz_way way);

/* Options of a reduction by the CPU: type and order of raw input, NaN policy, operations, threads,
   chunk size, instruction set. All else is what it is without an option. */
void fuzz_options(struct fuzz_input *in, struct options *options);

/* Without --long, or a --long=N of a few kinds. */
void fuzz_choose_long(struct fuzz_input *in, struct options *options);

/* The largest window that a frame may ask for then. */
uint64_t fuzz_window_most(const struct options *options);

/* Reduces the bytes by the whole program but for its output. `piece`, at least 1, is how many bytes
   stand before them in FUZZ_STDIN, and how many are written at a time in FUZZ_PIPE. Fails unless a
   failure comes with one error, and success with none. */
bool fuzz_reduce(const struct options *options, enum fuzz_way way, const void *bytes, size_t size,
                 size_t piece, struct reduction *reduction);

/* Reads the elements of the bytes by one thread from a source, without an engine or a session, which
   take most of the time of a reduction: from a file, or with FUZZ_PIPE in order, `piece` bytes at a
   time. Success: *elements, to be freed in any case, are they, in the file's byte order. */
bool fuzz_read(const struct options *options, enum fuzz_way way, const void *bytes, size_t size,
               size_t piece, struct fuzz_bytes *elements);

/* Whether the last reduction, or reading, failed since the input is of a format that is not read. */
bool fuzz_refused(void);

/*
 * The expected results, computed from the decompressed content, one element after the other.
 */

/* Content and how it is laid out. */
struct fuzz_content {
    const unsigned char *bytes;
    size_t size;
    enum element_type type;
    bool big_endian;
    uint64_t before;   /* bytes to leave out, or of a header */
    uint64_t promised; /* elements of a .npy; SOURCE_UNKNOWN for raw content */
};

/* How many elements of the content have to be reduced; SOURCE_UNKNOWN where it must be refused. */
uint64_t fuzz_expect(const struct options *options, const struct fuzz_content *content);

/* Fails unless the outcome is that of the first `elements`, which lie in the content: their results
   to the bit, or with --nan=error the index of the first NaN. */
void fuzz_compare(const struct options *options, const struct fuzz_content *content,
                  uint64_t elements, bool good, const struct reduction *reduction, const char *how);

/* Fails unless these are the first `elements` of the content, and were read. */
void fuzz_compare_elements(const struct fuzz_content *content, uint64_t elements, bool good,
                           const struct fuzz_bytes *got, const char *how);

#endif
