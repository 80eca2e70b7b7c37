/*
 * Writers of rows. A row is a list of named fields, and is written as lines of text, bare values,
 * TSV, a table with aligned columns, or an object of JSON. Reports choose the fields of a row, and
 * the forms that show each field; writers format them. A writer belongs to one thread.
 */
#ifndef GPUREDUCE_WRITER_H
#define GPUREDUCE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/digest.h"
#include "core/element.h"
#include "core/number.h"
#include "sys/buffer.h"

/* The text of a missing value, which other programs that read TSV know. */
#define WRITER_MISSING "NA"

enum writer_form {
    WRITER_LINES,  /* a line for each field: its name, a tab, its value */
    WRITER_VALUES, /* a line for each value */
    WRITER_TSV,    /* a line for each row, with tabs between the values */
    WRITER_TABLE,  /* columns, aligned when the writer is flushed */
    WRITER_JSON    /* an object of JSON for each row, on a line */
};

/* Bits: the forms that show a field. A writer shows the fields that share a bit with its
   `shows`. */
enum {
    IN_OBJECT = 1, /* JSON */
    IN_LINES = 2,  /* lines and values */
    IN_CELLS = 4,  /* TSV and tables */
    IN_FILE = 8,   /* TSV and tables that have a column for the file */
    IN_ARRAY = 16  /* TSV and tables that have columns for the array */
};

enum field_kind {
    FIELD_TEXT,    /* a text; NULL is empty, in JSON null */
    FIELD_FILE,    /* the name of a file; NULL is the total */
    FIELD_COUNT,   /* a number; UINT64_MAX is missing */
    FIELD_INDEX,   /* an index; UINT64_MAX is nan, in JSON null */
    FIELD_INTEGER, /* an integer of up to 128 bits */
    FIELD_NUMBER,  /* shown as one of `type`, in JSON as binary64. One that is not finite is null in
                        JSON, and a member of "nonfinite" */
    FIELD_DECIMALS,  /* a number with a fixed number of decimals */
    FIELD_TRUTH,     /* true or false */
    FIELD_DIGEST,    /* a digest */
    FIELD_LIST,      /* [2,3]; NULL is missing */
    FIELD_PLACE,     /* 2,3 */
    FIELD_MISSING,   /* a missing value */
    FIELD_ABSENT,    /* a missing value, which lines and JSON leave out */
    FIELD_NONFINITE, /* an object with the numbers of this row so far that are not finite */
    FIELD_OBJECT,    /* the beginning of an object, whose members follow up to FIELD_END */
    FIELD_ARRAY,     /* the beginning of an array, whose elements follow up to FIELD_END */
    FIELD_END        /* the end of an object or array; its name is the closing bracket */
};

/* A field. The texts and numbers that it points to must remain until it is written. */
struct field {
    const char *name; /* NULL in arrays of JSON */
    enum field_kind kind;
    unsigned in; /* IN_ bits */
    union {      /* the value, by the kind */
        const char *text;
        uint64_t count;
        const struct integer *integer;
        const struct digest_value *digest;
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
 * Fields of each kind. `in` has IN_ bits.
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

/* Bytes of rows that are printed together. */
#define WRITER_PRINTED ((size_t)64 << 10)

/* A writer. The caller sets the fields up to `heading`; the functions here change the others. */
struct writer {
    enum writer_form form;
    enum number_form number;
    unsigned shows;     /* IN_ bits */
    unsigned left;      /* of a table: number of first columns that are aligned to the left */
    struct buffer *out; /* receives rows; of a table, its cells, each with a NUL */
    /* Prints the contents of `out` and empties it: called when that has WRITER_PRINTED bytes. NULL:
       it grows. */
    void (*print)(struct writer *w);
    bool heading;        /* write the names of fields in place of their values */
    bool first;          /* nothing has been written of the innermost object, array or line */
    unsigned columns;    /* of a table: columns of its heading */
    struct buffer other; /* members of FIELD_NONFINITE */
};

/* Begins a row, adds a field to it, and ends it. If memory is lacking, out->failed is set. */
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

/* Writes the text of a value in lines and TSV. */
void writer_show(char text[NUMBER_MAX], const struct field *field, enum number_form form);

/* Frees the memory of the writer, but not `out`. */
void writer_close(struct writer *w);

#endif
