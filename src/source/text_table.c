#include "config.h"

#include "source/text_table.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define HEADING_MAX 8

/* The separators, in the order in which a line is searched for them: where there are others, a
   comma may belong to a number, and where there is none of these, blanks separate. */
static const char separators[] = ";\t|,";

/* A line without its newline, nor a carriage return before that. */
struct line {
    const char *text;
    size_t length;
};

/* Cuts the next line off the text. False where no newline follows. */
static bool next_line(struct line *rest, struct line *line)
{
    const char *end = memchr(rest->text, '\n', rest->length);

    if (!end)
        return false;
    line->text = rest->text;
    line->length = (size_t)(end - rest->text);
    rest->text = end + 1;
    rest->length -= line->length + 1;
    if (line->length > 0 && line->text[line->length - 1] == '\r')
        line->length--;
    return true;
}

static char separator_of(struct line line)
{
    for (const char *s = separators; *s; s++)
        if (memchr(line.text, *s, line.length))
            return *s;
    return ' ';
}

static size_t skip_digits(struct line field, size_t i)
{
    while (i < field.length && isdigit((unsigned char)field.text[i]))
        i++;
    return i;
}

/* Whether a field, without blanks around it, is a number, nan or inf. *comma: whether with a
   decimal comma. */
static bool is_number(struct line field, bool *comma)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    size_t i = field.length > 0 && (*field.text == '-' || *field.text == '+'), begin = i, digits;

    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (field.length - i == strlen(words[k]) &&
            strncasecmp(field.text + i, words[k], field.length - i) == 0)
            return true;
    i = skip_digits(field, i);
    digits = i - begin;
    if (i < field.length && (field.text[i] == '.' || field.text[i] == ',')) {
        *comma |= field.text[i] == ',';
        begin = ++i;
        i = skip_digits(field, i);
        digits += i - begin;
    }
    if (digits == 0)
        return false;
    if (i < field.length && (field.text[i] == 'e' || field.text[i] == 'E')) {
        i++;
        i += i < field.length && (field.text[i] == '-' || field.text[i] == '+');
        begin = i;
        i = skip_digits(field, i);
        if (i == begin)
            return false;
    }
    return i == field.length;
}

/* Cuts the next field off the line, with the separator behind it, and the blanks around it. */
static struct line next_field(struct line *line, char separator)
{
    struct line field;
    size_t i = 0;

    while (i < line->length &&
           (separator == ' ' ? !isspace((unsigned char)line->text[i]) : line->text[i] != separator))
        i++;
    field.text = line->text;
    field.length = i;
    i += i < line->length;
    line->text += i;
    line->length -= i;
    while (field.length > 0 && isspace((unsigned char)*field.text)) {
        field.text++;
        field.length--;
    }
    while (field.length > 0 && isspace((unsigned char)field.text[field.length - 1]))
        field.length--;
    return field;
}

/* How many numbers the line is of; 0 where it has anything else. With separators other than
   blanks, a field may be empty. */
static size_t count_numbers(struct line line, char separator, bool *comma)
{
    size_t fields = 0, numbers = 0;

    while (line.length > 0) {
        struct line field = next_field(&line, separator);

        if (field.length > 0 && !is_number(field, comma))
            return 0;
        numbers += field.length > 0;
        fields += field.length > 0 || separator != ' ';
    }
    return numbers > 0 ? fields : 0;
}

bool text_table_find(const unsigned char *text, size_t size, struct text_table *table)
{
    struct line rest = {(const char *)text, size}, line;
    size_t fields = 0;

    memset(table, 0, sizeof *table);
    while (next_line(&rest, &line)) {
        bool comma = false;
        char separator = table->separator;
        size_t found;

        if (table->lines == 0)
            separator = separator_of(line);
        found = count_numbers(line, separator, &comma);

        if (table->lines == 0 && found == 0) {
            if (++table->heading > HEADING_MAX)
                return false;
            continue;
        }
        if (table->lines > 0 && found != fields)
            return false;
        fields = found;
        table->separator = separator;
        table->decimal_comma |= comma;
        table->lines++;
    }
    return table->lines > 1 || (table->lines == 1 && fields > 1);
}
