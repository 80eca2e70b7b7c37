/*
 * Formats that the program does not read, so that none of them is taken for raw numbers: a table
 * with a row for each, and the command that reads such a file.
 *
 * Raw elements must practically never be refused. A magic of five bytes or more has odds of 2^-40
 * or less, for bytes of any value. A shorter one may be a number that occurs, so those rows ask for
 * more, and say what that makes. Zeros, ones and constant data match none.
 */
#ifndef GPUREDUCE_SOURCE_UNSUPPORTED_H
#define GPUREDUCE_SOURCE_UNSUPPORTED_H

#include "core/error.h"
#include "source/format/unsupported_input.h"

enum unsupported_advice {
    UNSUPPORTED_NOTHING, /* there are no numbers */
    UNSUPPORTED_WORDS,   /* `text` says what to do */
    UNSUPPORTED_FILTER,  /* `text` is a command that writes what is in a file, or in standard input,
                            to standard output */
    UNSUPPORTED_FORTRAN, /* it is read if the user names the format and the type of elements */
    UNSUPPORTED_COMMAND, /* `text` is a command that writes what is in a file */
    UNSUPPORTED_PYTHON   /* `text` is an expression for an array, which needs `modules` */
};

struct unsupported {
    const char *name; /* with its article; NULL: another beginning of the format before this */

    /* Bytes that it has in these places; the first is the beginning, and each may be empty. */
    struct {
        size_t at;
        const char *bytes;
        size_t length;
    } places[3];

    /* More that has to hold. They see at least `least` bytes. `find` also sets what is raw, if it
       finds numbers. */
    bool (*also)(const struct unsupported_input *in);
    bool (*find)(const struct unsupported_input *in, struct advice *raw);
    size_t least;

    enum unsupported_advice kind;
    const char *text;    /* FILE in it is the input's name, and {} what `detail` says */
    const char *modules; /* Python's, separated by commas, but for numpy */
    void (*detail)(const struct unsupported_input *in, char *said);
    bool arrays; /* it can be asked for as a .npz, too */
};

/* The format that the input has; NULL where it has none of them. *raw: the type of numbers in it that can be
   read as raw ones, their byte order, the bytes before them, and their number; 0: there are none. */
const struct unsupported *unsupported_find(const struct unsupported_input *in, struct advice *raw);

/* Finds how long the markers around Fortran's records are, in bytes, and their byte order unless it is
   given, from where they stand. False, and changes nothing, where the first bytes do not tell. */
bool unsupported_find_markers(const struct unsupported_input *in, enum element_order order,
                              unsigned *marker, bool *big);

/* Copies the numbers at the beginning of Fortran's records, without the markers between them. Returns their
   bytes. */
size_t unsupported_take_numbers(const struct unsupported_input *in, unsigned marker, bool big,
                                unsigned char numbers[UNSUPPORTED_HEAD]);

/* Room for the text of unsupported_advise. */
#define UNSUPPORTED_TEXT_MAX ((size_t)1280)

/* Writes what to do about an input of this format, to be put after its name, and completes what the user can
   do with that: *advice is what unsupported_find has set. `path` is the input's, or "" for standard input;
   `compressed`: these bytes come out of zstd. */
void unsupported_advise(const struct unsupported *row, const struct unsupported_input *in,
                        const char *path, enum compression compressed, struct advice *advice,
                        char text[UNSUPPORTED_TEXT_MAX]);

/* Writes the command that saves an array of a file as out.npy, by Python. `word` is the file's
   name, by shell_operand; 'FILE' in the expression stands for it. `modules` are those of
   the expression, but for numpy, separated by commas. */
void unsupported_python(char *command, size_t size, const char *word, const char *modules,
                        const char *expression);

#endif
