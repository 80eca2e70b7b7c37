/*
 * Rows of output: an ordered list of named fields, written as lines of text, bare values, TSV, a table
 * with aligned columns, or an object of JSON. The reports say which fields a row has, and in which
 * forms each is shown; how it looks is decided here. A writer belongs to one thread.
 */
#ifndef GPUREDUCE_WRITER_H
#define GPUREDUCE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/element.h"
#include "core/number.h"
#include "sys/buffer.h"

/* The word for a value that there is not; other programs that read TSV know it. */
#define WRITER_MISSING "NA"

enum writer_form {
    WRITER_LINES,  /* a line for each field: its name, a tab, its value */
    WRITER_VALUES, /* a line for each value */
    WRITER_TSV,    /* a line for each row, with tabs between the values */
    WRITER_TABLE,  /* columns, aligned when the writer is flushed */
    WRITER_JSON    /* an object of JSON for each row, on a line */
};

/* The writers that show a field: those that show one of these. */
enum {
    IN_OBJECT = 1, /* JSON */
    IN_LINES = 2,  /* lines and values */
    IN_CELLS = 4,  /* TSV and tables */
    IN_FILE = 8,   /* the same, where rows have a column for the file */
    IN_ARRAY = 16  /* the same, where rows have columns for the array */
};

enum field_kind {
    FIELD_TEXT,    /* a text; NULL is nothing, in JSON null */
    FIELD_FILE,    /* the name of a file; NULL is the total */
    FIELD_COUNT,   /* UINT64_MAX is missing */
    FIELD_INDEX,   /* UINT64_MAX is nan, in JSON null */
    FIELD_INTEGER, /* of up to 128 bits */
    FIELD_NUMBER,  /* shown as one of `type`, in JSON as binary64. One that is not finite is null in
                        JSON, and a member of "nonfinite" */
    FIELD_DECIMALS,  /* a number with so many decimals */
    FIELD_TRUTH,     /* true or false */
    FIELD_LIST,      /* [2,3]; NULL is missing */
    FIELD_PLACE,     /* 2,3 */
    FIELD_MISSING,   /* a value that there is not */
    FIELD_ABSENT,    /* as FIELD_MISSING, but left out of lines and JSON */
    FIELD_NONFINITE, /* the numbers of this row so far that are not finite */
    FIELD_OBJECT,    /* begins an object or an array, whose members follow up to FIELD_END */
    FIELD_ARRAY,
    FIELD_END
};

struct field {
    const char *name; /* constant; NULL in arrays */
    enum field_kind kind;
    unsigned in;
    union {
        const char *text;
        uint64_t count;
        const struct integer *integer;
        bool truth;
        struct {
            double number;
            union {
                enum element_type type;
                int decimals;
            };
        };
        struct {
            const uint64_t *items;
            size_t item_count;
        };
    };
};

/*
 * Fields of each kind.
 */

static inline struct field field_of(unsigned in, const char *name, enum field_kind kind)
{
    return (struct field){.name = name, .kind = kind, .in = in};
}

static inline struct field field_text(unsigned in, const char *name, const char *text)
{
    return (struct field){.name = name, .kind = FIELD_TEXT, .in = in, .text = text};
}

static inline struct field field_file(unsigned in, const char *path)
{
    return (struct field){.name = "file", .kind = FIELD_FILE, .in = in, .text = path};
}

static inline struct field field_count(unsigned in, const char *name, uint64_t count)
{
    return (struct field){.name = name, .kind = FIELD_COUNT, .in = in, .count = count};
}

static inline struct field field_number(unsigned in, const char *name, double number,
                                        enum element_type type)
{
    return (struct field){
        .name = name, .kind = FIELD_NUMBER, .in = in, .number = number, .type = type};
}

static inline struct field field_decimals(unsigned in, const char *name, int decimals,
                                          double number)
{
    return (struct field){
        .name = name, .kind = FIELD_DECIMALS, .in = in, .number = number, .decimals = decimals};
}

static inline struct field field_truth(unsigned in, const char *name, bool truth)
{
    return (struct field){.name = name, .kind = FIELD_TRUTH, .in = in, .truth = truth};
}

static inline struct field field_list(unsigned in, const char *name, const uint64_t *items,
                                      size_t count)
{
    return (struct field){
        .name = name, .kind = FIELD_LIST, .in = in, .items = items, .item_count = count};
}

/* An integer where it is known, and otherwise the number. */
static inline struct field field_value(unsigned in, const char *name, const struct integer *integer,
                                       double number)
{
    if (!integer->known)
        return field_number(in, name, number, ELEMENT_F64);
    return (struct field){.name = name, .kind = FIELD_INTEGER, .in = in, .integer = integer};
}

struct writer {
    enum writer_form form;
    enum number_form number;
    unsigned shows;      /* IN_ bits */
    unsigned left;       /* of a table: how many columns, the first ones, begin below each other */
    struct buffer *out;  /* where rows go; of a table, its cells, each with a NUL */
    bool prints;         /* `out` goes to standard output when it has grown */
    bool heading;        /* the next row is the heading: the names of its fields */
    bool first;          /* nothing has been written of the innermost object, array or line */
    unsigned columns;    /* of a table, counted in its heading */
    struct buffer other; /* members of "nonfinite" */
};

/* Whether tables are for people, as on a terminal. A launcher may give ranks one that is none of the
   user's. */
bool writer_is_aligned(bool ranks);

/* Takes the memory that rows of usual length need: then none of them lacks it later. False, with an
   error, where there is none. */
bool writer_open(struct writer *w);

/* Begins a row, adds fields to it, and ends it. */
void writer_begin(struct writer *w);
void writer_field(struct writer *w, struct field field);
void writer_end(struct writer *w);

/* Adds several fields to a row. */
void writer_fields(struct writer *w, const struct field *fields, size_t count);
#define WRITER_FIELDS(w, ...)                             \
    writer_fields(w, (const struct field[]){__VA_ARGS__}, \
                  sizeof(const struct field[]){__VA_ARGS__} / sizeof(struct field))

/* Writes a row of these fields. */
#define WRITER_ROW(w, ...) (writer_begin(w), WRITER_FIELDS(w, __VA_ARGS__), writer_end(w))

/* The text of a value in lines and TSV. */
void writer_show(char text[NUMBER_MAX], const struct field *field, enum number_form form);

/* Writes what is in `out` to standard output; a table is aligned. */
void writer_flush(struct writer *w);

/* Frees what the writer holds beside `out`. */
void writer_close(struct writer *w);

#endif
