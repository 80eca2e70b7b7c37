#include "config.h"

#include "cli/record.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "core/name.h"
#include "sys/escape.h"
#include "sys/grow.h"
#include "sys/json.h"

/* A record while it is read. */
struct parse {
    struct record *record;
    const struct session_options *session;
    struct operation_set *named_quantiles;
    const char *name; /* as messages show it */
    size_t line;      /* its number, from 1 */
    char *heading;    /* of TSV; NULL before it */
    size_t room;      /* lines that there is memory for */
    size_t files;     /* lines that are no totals */
    char *text;       /* the line */
    size_t text_room; /* bytes */

    /* State of the object that is being read. Operations have a bit each. */
    bool named;         /* "file" has been seen */
    bool header;        /* the file had one, which says where its elements begin */
    bool histogram;     /* there is one, which is not compared */
    uint64_t seen;      /* these have */
    uint64_t null;      /* and are null */
    uint64_t nonfinite; /* these stand in "nonfinite" */
};

static bool wrong(const struct parse *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool wrong(const struct parse *r, const char *format, ...)
{
    char text[160];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return message_error(EXIT_FAILED, "%s: line %zu: %s", r->name, r->line, text);
}

static bool out_of_memory(const struct parse *r)
{
    return message_error(EXIT_FAILED, "%s: out of memory", r->name);
}

/* A new line of the record, to be filled in; NULL when out of memory. */
static struct record_line *add_line(struct parse *r)
{
    struct record *record = r->record;
    struct record_line *line;

    if (!GROW(record->lines, r->room, record->count + 1)) {
        out_of_memory(r);
        return NULL;
    }
    line = &record->lines[record->count];
    *line = (struct record_line){.input = r->session->input,
                                 .nan = r->session->nan,
                                 .missing = r->session->missing,
                                 .ddof = r->session->ddof};
    line->value = calloc(OPERATIONS_MAX + MISSING_VALUES_MAX, sizeof *line->value);
    if (!line->value) {
        out_of_memory(r);
        return NULL;
    }
    record->count++;
    return line;
}

/* The operation that is called so; NULL if there is none. */
static const struct operation *find(const struct parse *r, const char *name)
{
    return operation_find(r->named_quantiles, name, strlen(name));
}

/* Notes in *set that there is the operation; false when it was there before. */
static bool note(uint64_t *set, const struct operation *op)
{
    uint64_t bit = UINT64_C(1) << operation_number_of(op);
    bool first = !(*set & bit);

    *set |= bit;
    return first;
}

/* Two values of one operation may differ, and one of them would not be compared. */
static bool twice(const struct parse *r, const struct operation *op)
{
    return wrong(r, "\"%s\" is given twice", op->name);
}

/* Whether a recorded value is one that the operation may have. */
static bool is_value(const struct operation *op, const char *text)
{
    uint64_t integer;
    double number;

    if (op->kind == OPERATION_DIGEST)
        return digest_is_text(text);
    if (op->kind == OPERATION_COUNT)
        return strcmp(text, "nan") == 0 || number_parse_count(text, &integer);
    return number_parse(text, ELEMENT_F64, &number);
}

/* Bytes of a bad value that are shown. */
#define SHOWN_MAX 60

static bool bad_value(const struct parse *r, const struct operation *op, const char *text)
{
    char quoted[ESCAPE_QUOTE_MAX];
    size_t shown = 0, step;

    escape_quote(quoted, text);
    /* The part that is cut off begins with a character, since the rest of one is not UTF-8. */
    while (quoted[shown] &&
           (step = escape_utf8_length((const unsigned char *)quoted + shown)) > 0 &&
           shown + step <= SHOWN_MAX)
        shown += step;
    return wrong(r, "bad value of %s: %.*s", op->name, (int)shown, quoted);
}

/* Looks at a line that has been read. */
static bool accept_line(struct parse *r, const struct record_line *line)
{
    bool any = false;

    if (line->file)
        r->files++;
    else if (r->record->count == 1 || !r->record->lines[r->record->count - 2].file)
        return wrong(r, "a total of no files");
    for (size_t i = 0; i < operation_count(r->named_quantiles) && !line->failed; i++) {
        const char *value = line->value[i];

        if (value[0] && !line->file &&
            operation_at(r->named_quantiles, i)->kind == OPERATION_DIGEST)
            return wrong(r, "a total of several files has no digest");
        if (value[0] && !is_value(operation_at(r->named_quantiles, i), value))
            return bad_value(r, operation_at(r->named_quantiles, i), value);
        any = any || value[0];
    }
    return any || line->failed || wrong(r, "there are no results");
}

/*
 * JSON.
 */

/* The name of a file, which may be as long as the line; `escaped`: as in TSV, in the place of one that
   lacks bytes. */
static bool read_file(struct parse *r, struct json_reader *json, struct record_line *line,
                      bool escaped)
{
    size_t size = strlen(r->text) + 1;

    if (r->named && !escaped)
        return wrong(r, "\"file\" is given twice");
    r->named = true;
    free(line->file);
    line->file = NULL;
    if (json_read_null(json))
        return true;
    line->file = malloc(size);
    if (!line->file)
        return out_of_memory(r);
    json_read_string(json, line->file, size);
    if (escaped)
        escape_undo(line->file);
    return true;
}

/* The value of an operation: a number, null, or, in hexadecimal, a string. The meaning of a null is
   in "nonfinite", which may come before it; or it is a missing index. */
static bool read_value(struct parse *r, struct json_reader *json, const struct operation *op,
                       char value[NUMBER_MAX])
{
    if (!note(&r->seen, op))
        return twice(r, op);
    json_read_space(json);
    if (json_read_null(json)) {
        (void)note(&r->null, op);
        if (!value[0])
            snprintf(value, NUMBER_MAX, "nan");
    } else if (*json->at == '"') {
        json_read_string(json, value, NUMBER_MAX);
        return value[0] || json->failed || bad_value(r, op, value);
    } else {
        json_read_number_text(json, value, NUMBER_MAX);
    }
    return true;
}

static bool read_nonfinite(struct parse *r, struct json_reader *json, struct record_line *line)
{
    char key[32], value[NUMBER_MAX] = "";

    json_read_begin(json, '{');
    while (json_read_more(json, '}')) {
        const struct operation *op;

        json_read_key(json, key, sizeof key);
        json_read_string(json, value, sizeof value);
        op = find(r, key);
        if (json->failed || !op)
            continue;
        if (!note(&r->nonfinite, op))
            return twice(r, op);
        if (strcmp(value, "nan") != 0 && strcmp(value, "inf") != 0 && strcmp(value, "-inf") != 0)
            return bad_value(r, op, value);
        memcpy(line->value[operation_number_of(op)], value, sizeof value);
    }
    return true;
}

/* The place of a string among words, up to a NULL, whose place is that of another one. */
static size_t read_word(struct json_reader *json, const char *const *words)
{
    char text[32];
    size_t i = 0;

    json_read_string(json, text, sizeof text);
    while (words[i] && strcmp(text, words[i]) != 0)
        i++;
    return i;
}

/* A number of bytes or elements. */
static bool read_count(struct parse *r, struct json_reader *json, const char *key, uint64_t *count)
{
    char text[NUMBER_MAX];

    json_read_number_text(json, text, sizeof text);
    return json->failed || number_parse_count(text, count) ||
           wrong(r, "\"%s\" is not a count: %s", key, text);
}

/* The missing values. Ranges are those of containers, whose records are not read. */
static bool read_missing(struct parse *r, struct json_reader *json, struct record_line *line)
{
    struct missing_values *missing = &line->missing;

    missing->count = 0;
    json_read_begin(json, '[');
    while (json_read_more(json, ']')) {
        char *text = line->value[OPERATIONS_MAX + missing->count];

        json_read_space(json);
        if (missing->count == MISSING_VALUES_MAX)
            return wrong(r, "there are more than %d missing values", MISSING_VALUES_MAX);
        if (*json->at == '"')
            json_read_string(json, text, NUMBER_MAX);
        else
            json_read_number_text(json, text, NUMBER_MAX);
        if (!json->failed && !missing_text_is_valid(text))
            return wrong(r, "a missing value is not a number");
        missing->texts[missing->count++] = text;
    }
    return true;
}

/* How the file was read. False when there is an error, other than of JSON. */
static bool read_how(struct parse *r, struct json_reader *json, const char *key,
                     struct record_line *line)
{
    static const char *const formats[] = {
        "raw",      "npy",     "zstd",         "npy+zstd",     "gzip",         "npy+gzip", "zlib",
        "npy+zlib", "fortran", "fortran+zstd", "fortran+gzip", "fortran+zlib", NULL};
    static const enum source_format meant[] = {SOURCE_RAW,      SOURCE_NPY,      SOURCE_RAW_ZSTD,
                                               SOURCE_ZSTD,     SOURCE_RAW_GZIP, SOURCE_GZIP,
                                               SOURCE_RAW_ZLIB, SOURCE_ZLIB,     SOURCE_FORTRAN,
                                               SOURCE_FORTRAN,  SOURCE_FORTRAN,  SOURCE_FORTRAN};
    static const char *const orders[] = {"little", "big", NULL};
    size_t place;

    if (strcmp(key, "format") == 0) {
        place = read_word(json, formats);
        if (!formats[place])
            return json->failed || wrong(r, "unknown format");
        line->input.format = meant[place];
        r->header = strncmp(formats[place], "npy", 3) == 0;
    } else if (strcmp(key, "dtype") == 0) {
        char text[32];
        enum element_order order;

        if (json_read_null(json)) /* a total of several */
            return true;
        json_read_string(json, text, sizeof text);
        /* The byte order stands in "endian". */
        return json->failed ||
               (element_parse(text, &line->input.type, &order) && order == ELEMENT_ORDER_UNSAID) ||
               wrong(r, "unknown dtype");
    } else if (strcmp(key, "endian") == 0) {
        place = read_word(json, orders);
        if (!orders[place])
            return json->failed || wrong(r, "unknown byte order");
        line->input.order = (enum element_order)(ELEMENT_ORDER_LITTLE + place);
    } else if (strcmp(key, "nan_policy") == 0) {
        place = read_word(json, nan_policy_words);
        if (!nan_policy_words[place])
            return json->failed || wrong(r, "unknown NaN policy");
        line->nan = (enum nan_policy)place;
    } else if (strcmp(key, "missing_values") == 0) {
        return read_missing(r, json, line);
    } else if (strcmp(key, "ddof") == 0) {
        return read_count(r, json, key, &line->ddof);
    } else if (strcmp(key, "skip") == 0) {
        return read_count(r, json, key, &line->input.skip);
    } else if (strcmp(key, "length") == 0) {
        line->input.length = SOURCE_UNKNOWN;
        return json_read_null(json) || read_count(r, json, key, &line->input.length);
    } else {
        json_read_skip(json);
    }
    return true;
}

/* Errors for a record that holds arrays of a container, or only a histogram. */
static const char arrays_unchecked[] =
    "results of the arrays of a file cannot be checked, except for digests in TSV";
static const char histogram_unchecked[] = "a histogram cannot be checked";

/* Why an object with this key is no record: it is not of the results of a file, or not of those
   alone. NULL for any other key. */
static const char *unchecked(const char *key)
{
    static const struct {
        const char *key, *why;
    } table[] = {
        {"array", arrays_unchecked},
        {"index", "results along an axis cannot be checked"},
        {"differs", "output of --diff cannot be checked"},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(key, table[i].key) == 0)
            return table[i].why;
    return NULL;
}

static bool beyond(const struct parse *r, const char *quantile)
{
    return wrong(r, "%s: there are more than 31 quantiles", quantile);
}

static bool read_member(struct parse *r, struct json_reader *json, struct record_line *line)
{
    char key[64];
    const struct operation *op;
    const char *why;

    json_read_key(json, key, sizeof key);
    why = unchecked(key);
    op = find(r, key);
    if (operation_beyond(r->named_quantiles, key, strlen(key)))
        return beyond(r, key);
    if (op) {
        return read_value(r, json, op, line->value[operation_number_of(op)]);
    } else if (strcmp(key, "file") == 0 || strcmp(key, "file_escaped") == 0) {
        return read_file(r, json, line, strcmp(key, "file_escaped") == 0);
    } else if (why) {
        return json_read_null(json) || json->failed || wrong(r, "%s", why);
    } else if (strcmp(key, "histogram") == 0) {
        r->histogram = true;
        json_read_skip(json);
    } else if (strcmp(key, "nonfinite") == 0) {
        return read_nonfinite(r, json, line);
    } else if (strcmp(key, "error") == 0) {
        json_read_space(json);
        line->failed = !json_read_null(json);
        if (line->failed)
            json_read_skip(json);
    } else {
        return read_how(r, json, key, line);
    }
    return true;
}

/* Whether there are results beside the counts that every object has. */
static bool has_more_than_counts(const struct parse *r, const struct record_line *line)
{
    for (size_t i = 0; i < operation_count(r->named_quantiles); i++)
        if (operation_at(r->named_quantiles, i)->wants != 0 && line->value[i][0])
            return true;
    return false;
}

static bool read_json(struct parse *r)
{
    struct record_line *line = add_line(r);
    struct json_reader json;

    if (!line)
        return false;
    r->named = r->header = r->histogram = false;
    r->seen = r->null = r->nonfinite = 0;
    line->binary64 = true;
    line->missing.count = 0;
    json_read(&json, r->text);
    json_read_begin(&json, '{');
    while (json_read_more(&json, '}'))
        if (!read_member(r, &json, line))
            return false;
    if (!json_read_end(&json))
        return wrong(r, "byte %td: not an object as --json prints it", json.at - r->text);
    if (!r->named)
        return wrong(r, "it has no \"file\"");
    if (r->nonfinite & ~r->null)
        return wrong(r, "\"nonfinite\" has a value for a key that is not null");
    if (r->histogram && !has_more_than_counts(r, line))
        return wrong(r, "%s", histogram_unchecked);
    if (r->header)
        line->input.skip = 0;
    return accept_line(r, line);
}

/*
 * TSV.
 */

/* Cuts the first field off *rest, which becomes NULL behind the last. */
static char *cut_field(char **rest)
{
    char *field = *rest, *tab = strchr(field, '\t');

    *rest = tab ? tab + 1 : NULL;
    if (tab)
        *tab = '\0';
    return field;
}

/* A heading is copied: it is looked at for every line. */
static bool read_heading(struct parse *r)
{
    char *rest = r->text;
    uint64_t seen = 0;
    bool digests = false;

    if (strcmp(r->text, "file") != 0 && strncmp(r->text, "file\t", 5) != 0)
        return wrong(r, "neither an object of --json nor the heading of --tsv");
    r->heading = strdup(r->text);
    if (!r->heading)
        return out_of_memory(r);
    if (strcmp(r->text, "file\tfrom\tto\tcount") == 0 ||
        strcmp(r->text, "file\tsign\tclass\texponent\tcount") == 0)
        return wrong(r, "%s", histogram_unchecked);
    while (rest) {
        const char *field = cut_field(&rest);
        const struct operation *op = find(r, field);

        if (operation_beyond(r->named_quantiles, field, strlen(field)))
            return beyond(r, field);
        r->record->arrays = r->record->arrays || strcmp(field, "array") == 0;
        digests = digests || (op && op->kind == OPERATION_DIGEST);
        if (op && !note(&seen, op))
            return twice(r, op);
    }
    return !r->record->arrays || digests || wrong(r, "%s", arrays_unchecked);
}

static bool read_tsv(struct parse *r)
{
    char *rest = r->text, *columns, *heading;
    struct record_line *line;
    bool good = true, missing = false, any = false;

    if (!r->heading)
        return read_heading(r);
    if (strcmp(r->text, r->heading) == 0) /* outputs of several commands, one behind the other */
        return true;
    line = add_line(r);
    heading = columns = strdup(r->heading);
    if (!line || !heading) {
        free(heading);
        return line ? out_of_memory(r) : false;
    }
    while (good && columns && rest) {
        const char *column = cut_field(&columns), *field = cut_field(&rest);
        const struct operation *op = find(r, column);

        if (column == heading) { /* the first one: the file */
            if (strcmp(field, "total") != 0) {
                line->file = strdup(field);
                good = line->file || out_of_memory(r);
                if (good)
                    escape_undo(line->file);
            }
        } else if (strcmp(column, "array") == 0 && *field) {
            line->array = strdup(field);
            good = line->array || out_of_memory(r);
            if (good)
                escape_undo(line->array);
        } else if (op && strcmp(field, "NA") == 0) {
            missing = true;
            line->failed = line->failed || !operation_quantile(op);
        } else if (op && (!*field || strlen(field) >= NUMBER_MAX)) {
            good = bad_value(r, op, field);
        } else if (op) {
            snprintf(line->value[operation_number_of(op)], NUMBER_MAX, "%s", field);
            any = true;
        }
    }
    /* Quantiles that were left out are no failure. */
    line->failed = line->failed || (missing && !any);
    free(heading);
    if (good && (columns || rest))
        return wrong(r, "%s fields than the heading has", rest ? "more" : "fewer");
    return good && accept_line(r, line);
}

/* Takes the line in r->text, of `length` bytes. */
static bool take_line(struct parse *r, size_t length)
{
    if (strlen(r->text) != length)
        return wrong(r, "byte %zu is a NUL", strlen(r->text));
    /* Spreadsheets end lines as DOS does. */
    if (length > 0 && r->text[length - 1] == '\n')
        r->text[--length] = '\0';
    if (length > 0 && r->text[length - 1] == '\r')
        r->text[--length] = '\0';
    if (length == 0)
        return true;
    /* A file of TSV may have a brace in front, too, but then there is a heading before. */
    return r->text[0] == '{' && !r->heading ? read_json(r) : read_tsv(r);
}

static bool read_lines(struct parse *r, FILE *in)
{
    ssize_t length;

    while ((length = getline(&r->text, &r->text_room, in)) >= 0) {
        r->line++;
        if (!take_line(r, (size_t)length))
            return false;
    }
    /* Some libraries set no error if there was no memory for a line. */
    if (ferror(in) || !feof(in))
        return message_error(EXIT_FAILED, "%s: %s", r->name, message_errno());
    if (r->files == 0)
        return message_error(EXIT_FAILED, "%s: holds no results", r->name);
    return true;
}

bool record_read(struct record *record, const char *path, const struct session_options *session,
                 struct operation_set *named)
{
    char name[NAME_INPUT_MAX];
    struct parse r = {.record = record,
                      .session = session,
                      .named_quantiles = named,
                      .name = name_input(name, path)};
    FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    bool good;

    *record = (struct record){0};
    if (!in)
        return message_error(EXIT_FAILED, "%s: %s", r.name, strerror(errno));
    good = read_lines(&r, in);
    free(r.text);
    free(r.heading);
    if (in != stdin)
        fclose(in);
    return good;
}

void record_free(struct record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        free(record->lines[i].file);
        free(record->lines[i].array);
        free(record->lines[i].value);
    }
    free(record->lines);
    *record = (struct record){0};
}
