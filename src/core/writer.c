#include "config.h"

#include "core/writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sys/escape.h"
#include "sys/json.h"

/*
 * Values.
 */

_Static_assert(DIGEST_TEXT_MAX <= NUMBER_MAX, "a digest has room");

void writer_show(char text[NUMBER_MAX], const struct field *field, enum number_form form)
{
    switch (field->kind) {
    case FIELD_COUNT:
    case FIELD_INDEX:
        if (field->count != UINT64_MAX)
            (void)number_write(text, field->count);
        else
            strcpy(text, field->kind == FIELD_INDEX ? "nan" : WRITER_MISSING);
        return;
    case FIELD_INTEGER:
        number_format_integer(text, field->integer);
        return;
    case FIELD_NUMBER:
        if (form == NUMBER_HEX)
            number_format_hex(text, field->number);
        else
            number_format(text, field->number, field->type);
        return;
    case FIELD_DECIMALS:
        snprintf(text, NUMBER_MAX, "%.*f", field->decimals, field->number);
        return;
    case FIELD_TRUTH:
        strcpy(text, field->truth ? "true" : "false");
        return;
    case FIELD_DIGEST:
        (void)digest_show(text, field->digest);
        return;
    case FIELD_TEXT:
    case FIELD_FILE:
    case FIELD_LIST:
    case FIELD_PLACE:
    case FIELD_MISSING:
    case FIELD_ABSENT:
    case FIELD_NONFINITE:
    case FIELD_OBJECT:
    case FIELD_ARRAY:
    case FIELD_END:
        break;
    }
    strcpy(text, WRITER_MISSING);
}

static void put_items(struct buffer *out, const struct field *field, const char *separator)
{
    char text[24];

    for (size_t i = 0; i < field->item_count; i++) {
        if (i > 0)
            buffer_text(out, separator);
        buffer_bytes(out, text, (size_t)(number_write(text, field->items[i]) - text));
    }
}

/* Adds a value as it stands in lines, TSV and tables. */
static void put_value(struct writer *w, const struct field *field)
{
    const char *text = field->text ? field->text : "";
    char number[NUMBER_MAX], quoted[ESCAPE_QUOTE_MAX];

    if (field->kind == FIELD_FILE && !field->text) {
        text = "total";
    } else if (field->kind == FIELD_FILE && strcmp(text, "total") == 0) {
        text = "./total"; /* the total has this name */
    } else if (field->kind == FIELD_PLACE || (field->kind == FIELD_LIST && field->items)) {
        buffer_text(w->out, field->kind == FIELD_LIST ? "[" : "");
        put_items(w->out, field, ",");
        buffer_text(w->out, field->kind == FIELD_LIST ? "]" : "");
        return;
    } else if (field->kind != FIELD_TEXT && field->kind != FIELD_FILE) {
        writer_show(number, field, w->number);
        buffer_text(w->out, number);
        return;
    }
    if (w->form == WRITER_TABLE && *text)
        buffer_text(w->out, escape_quote(quoted, text));
    else
        buffer_escape(w->out, text, ESCAPE_FIELD);
}

/*
 * JSON.
 */

static void put_string(struct buffer *out, const char *text)
{
    buffer_char(out, '"');
    buffer_escape(out, text, ESCAPE_JSON);
    buffer_char(out, '"');
}

static bool is_utf8(const char *text)
{
    size_t length = 1;

    for (; *text && length > 0; text += length)
        length = escape_utf8_length((const unsigned char *)text);
    return length > 0;
}

/* Adds the name of a member, and what separates it from the one before. */
static void put_name(struct writer *w, const char *name)
{
    if (!w->first)
        buffer_bytes(w->out, ", ", 2);
    w->first = false;
    if (name) {
        buffer_char(w->out, '"');
        buffer_text(w->out, name);
        buffer_bytes(w->out, "\": ", 3);
    }
}

/* Adds a member of the name of a file as in TSV, where the one before does not tell its bytes. */
static void put_escaped_name(struct writer *w, const char *path)
{
    struct buffer escaped = {0};

    if (is_utf8(path))
        return;
    buffer_escape(&escaped, path, ESCAPE_FIELD);
    buffer_char(&escaped, '\0');
    w->out->failed = w->out->failed || escaped.failed;
    put_name(w, "file_escaped");
    put_string(w->out, escaped.failed ? "" : escaped.data);
    buffer_free(&escaped);
}

static void put_number(struct writer *w, const struct field *field)
{
    struct field full = *field;
    char text[NUMBER_MAX];

    /* Readers take numbers for binary64, which decimals of a narrower type are not exact in. */
    if (field->kind == FIELD_NUMBER)
        full.type = ELEMENT_F64;
    writer_show(text, &full, w->number);
    if (field->kind == FIELD_NUMBER && !isfinite(field->number)) {
        buffer_text(w->out, "null");
        if (field->name)
            buffer_print(&w->other, "%s\"%s\": \"%s\"", w->other.size > 0 ? ", " : "", field->name,
                         text);
    } else if (field->kind == FIELD_NUMBER && w->number == NUMBER_HEX) {
        put_string(w->out, text);
    } else {
        buffer_text(w->out, json_decimal(text));
    }
}

static void put_member(struct writer *w, const struct field *field)
{
    char text[NUMBER_MAX];

    if (field->kind == FIELD_ABSENT)
        return;
    if (field->kind == FIELD_END) {
        buffer_text(w->out, field->name);
        w->first = false;
        return;
    }
    put_name(w, field->name);
    switch (field->kind) {
    case FIELD_TEXT:
    case FIELD_FILE:
        if (field->text)
            put_string(w->out, field->text);
        else
            buffer_text(w->out, "null");
        if (field->kind == FIELD_FILE && field->text)
            put_escaped_name(w, field->text);
        break;
    case FIELD_DIGEST:
        writer_show(text, field, w->number);
        put_string(w->out, text);
        break;
    case FIELD_COUNT:
    case FIELD_INDEX:
        if (field->count == UINT64_MAX)
            buffer_text(w->out, "null");
        else
            put_number(w, field);
        break;
    case FIELD_INTEGER:
    case FIELD_NUMBER:
    case FIELD_DECIMALS:
    case FIELD_TRUTH:
        put_number(w, field);
        break;
    case FIELD_LIST:
    case FIELD_PLACE:
        if (!field->items) {
            buffer_text(w->out, "null");
            break;
        }
        buffer_char(w->out, '[');
        put_items(w->out, field, field->kind == FIELD_LIST ? ", " : ",");
        buffer_char(w->out, ']');
        break;
    case FIELD_NONFINITE:
        w->out->failed = w->out->failed || w->other.failed;
        buffer_char(w->out, '{');
        buffer_bytes(w->out, w->other.data, w->other.size);
        buffer_char(w->out, '}');
        break;
    case FIELD_OBJECT:
    case FIELD_ARRAY:
        buffer_char(w->out, field->kind == FIELD_OBJECT ? '{' : '[');
        w->first = true;
        break;
    case FIELD_MISSING:
        buffer_text(w->out, "null");
        break;
    case FIELD_ABSENT:
    case FIELD_END:
        break;
    }
}

/*
 * Rows.
 */

void writer_begin(struct writer *w)
{
    w->first = true;
    w->other.size = 0;
    if (w->heading)
        w->columns = 0;
    if (w->form == WRITER_JSON)
        buffer_char(w->out, '{');
}

void writer_field(struct writer *w, struct field field)
{
    if (!(field.in & w->shows))
        return;
    switch (w->form) {
    case WRITER_LINES:
        if (field.kind == FIELD_ABSENT)
            return;
        buffer_text(w->out, field.name);
        buffer_char(w->out, '\t');
        put_value(w, &field);
        buffer_char(w->out, '\n');
        break;
    case WRITER_VALUES:
        put_value(w, &field);
        buffer_char(w->out, '\n');
        break;
    case WRITER_TSV:
        if (!w->first)
            buffer_char(w->out, '\t');
        w->first = false;
        if (w->heading)
            buffer_text(w->out, field.name);
        else
            put_value(w, &field);
        break;
    case WRITER_TABLE:
        w->columns += w->heading;
        if (w->heading)
            buffer_text(w->out, field.name);
        else
            put_value(w, &field);
        buffer_char(w->out, '\0');
        break;
    case WRITER_JSON:
        put_member(w, &field);
        if (w->print && w->out->size >= WRITER_PRINTED) /* it may have very many members */
            w->print(w);
        break;
    }
}

void writer_fields(struct writer *w, const struct field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        writer_field(w, fields[i]);
}

void writer_end(struct writer *w)
{
    if (w->form == WRITER_JSON)
        buffer_text(w->out, "}\n");
    else if (w->form == WRITER_TSV)
        buffer_char(w->out, '\n');
    if (w->print && w->form != WRITER_TABLE && w->out->size >= WRITER_PRINTED)
        w->print(w);
}

void writer_close(struct writer *w)
{
    buffer_free(&w->other);
}
