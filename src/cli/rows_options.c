/*
 * The options about rows, --sort and --where: their values, and what they go with.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/option_values.h"
#include "cli/options.h"
#include "cli/rows.h"
#include "core/number.h"
#include "sys/escape.h"

static const char *const fields[] = {
    [ROW_NAME - 1] = "name",
    [ROW_DTYPE - 1] = "dtype",
    [ROW_ELEMENTS - 1] = "elements",
    [ROW_BYTES - 1] = "bytes",
};
#define FIELDS (sizeof fields / sizeof *fields)

/* Whether rows are compared by an operation. */
static bool is_compared(const struct operation *op)
{
    return op->kind != OPERATION_DIGEST;
}

const char *option_row_word(size_t i)
{
    if (i < FIELDS)
        return fields[i];
    i -= FIELDS;
    for (size_t k = 0; k < operation_table_count; k++)
        if (is_compared(&operation_table[k]) && i-- == 0)
            return operation_table[k].name;
    for (size_t k = 0; k < DIFFERENCE_VALUES; k++)
        if (k != DIFFERENCE_NAN && k != DIFFERENCE_MISSING &&
            i-- == 0) /* operations have these names, too */
            return difference_value_names[k];
    return NULL;
}

const char *option_condition_word(size_t i)
{
    _Static_assert(ROW_NAME == 1 && ROW_DTYPE == 2, "which are not compared with numbers");
    return option_row_word(i + 2);
}

/* Reads what rows are compared by, the first `length` characters of `name`. */
static bool parse_key(const struct arguments *a, const struct argument *x, const char *name,
                      size_t length, struct operation_set *named, struct row_key *key)
{
    char shown[ESCAPE_QUOTE_MAX];

    *key = (struct row_key){0};
    for (size_t i = 0; i < FIELDS; i++)
        if (strlen(fields[i]) == length && memcmp(fields[i], name, length) == 0)
            key->field = (enum row_field)(i + 1);
    if (key->field != ROW_UNASKED)
        return true;
    key->field = ROW_OPERATION;
    while (key->result < DIFFERENCE_VALUES &&
           (strlen(difference_value_names[key->result]) != length ||
            memcmp(difference_value_names[key->result], name, length) != 0))
        key->result++;
    key->op = operation_find(named, name, length);
    snprintf(shown, sizeof shown, "%.*s", length < 100 ? (int)length : 100, name);
    if (operation_beyond(named, name, length))
        return option_quantiles_full(a, shown);
    if (key->op && !is_compared(key->op))
        key->op = NULL;
    return key->op || key->result < DIFFERENCE_VALUES || arguments_unknown_word(a, x, shown);
}

bool option_parse_sort(const struct arguments *a, const struct argument *x, const char *text,
                       void *target)
{
    struct rows_request *rows = &((struct options *)target)->rows;

    rows->descending = *text == '-';
    text += rows->descending;
    return parse_key(a, x, text, strlen(text), &((struct options *)target)->named, &rows->sort);
}

/* Reads one of the signs at `text`. Returns what is behind it, NULL where there is none. */
static const char *parse_relation(const char *text, enum row_relation *relation)
{
    static const struct {
        const char *sign;
        enum row_relation relation;
    } signs[] = {
        {"<=", ROW_AT_MOST}, {">=", ROW_AT_LEAST}, {"==", ROW_EQUAL}, {"!=", ROW_UNEQUAL},
        {"<", ROW_LESS},     {">", ROW_GREATER},   {"=", ROW_EQUAL},
    };

    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        const size_t length = strlen(signs[i].sign);

        if (strncmp(text, signs[i].sign, length) != 0)
            continue;
        *relation = signs[i].relation;
        return text + length;
    }
    return NULL;
}

/* NAME<NUMBER, or with another sign; there may be spaces around it. */
bool option_parse_where(const struct arguments *a, const struct argument *x, const char *text,
                        void *target)
{
    struct rows_request *rows = &((struct options *)target)->rows;
    struct row_condition *c = &rows->conditions[rows->count];
    const size_t length = strcspn(text, " <>=!");
    const char *at = text + length;
    double number;

    if (rows->count == ROWS_CONDITIONS_MAX)
        return arguments_wrong(a, "too many --where at %s", text);
    at = parse_relation(at + strspn(at, " "), &c->relation);
    c->number = at ? at + strspn(at, " ") : "";
    if (!number_parse(c->number, ELEMENT_F64, &number))
        return arguments_wrong(a,
                               "bad condition %s: must be a name, one of < <= = == != > >=, and a "
                               "number",
                               text);
    if (number != number)
        return arguments_wrong(a, "bad condition %s: nan is equal to no number; nan>0 finds NaNs",
                               text);
    if (!parse_key(a, x, text, length, &((struct options *)target)->named, &c->key))
        return false;
    if (c->key.field == ROW_NAME || c->key.field == ROW_DTYPE)
        return arguments_wrong(
            a, "bad condition %s: names are not compared with numbers; --array chooses by name",
            text);
    rows->count++;
    return true;
}

void rows_ask(struct options *options)
{
    struct session_options *session = &options->session;
    const struct operation *all[ROWS_OPERATIONS_MAX];
    const unsigned count = rows_operations(&options->rows, all);

    options->total_quantiles = session->passes;
    for (unsigned i = 0; i < count; i++) {
        operation_ask(all[i], &session->wants, &session->passes);
        session->passes.required |= operation_quantile(all[i]);
    }
}

/* Has a name stand for a result of comparisons with --diff, and otherwise for that of an operation.
   False, after a message, if the command has no such result. */
static bool choose_result(const struct arguments *a, const struct options *options,
                          struct row_key *key)
{
    const bool diff = options->command == COMMAND_DIFF;

    if (key->field == ROW_OPERATION && !diff && !key->op)
        return arguments_wrong(a, "%s needs --diff", difference_value_names[key->result]);
    if (!diff || (key->field != ROW_BYTES && key->field != ROW_OPERATION))
        return true;
    if (key->field == ROW_BYTES || key->result == DIFFERENCE_VALUES)
        return arguments_wrong(a,
                               "--diff has no results such as %s; use name, dtype, elements, "
                               "different, max_abs, max_rel, max_ulp, rmsd, cosine, nan or missing",
                               key->op ? key->op->name : fields[ROW_BYTES - 1]);
    if (key->result >= DIFFERENCE_NEAREST && !options->cast)
        return arguments_wrong(a, "%s needs --cast", difference_value_names[key->result]);
    key->field = ROW_DIFFERENCE;
    key->op = NULL;
    return true;
}

bool rows_go_with(const struct arguments *a, struct options *options)
{
    const char *name = options->rows.count > 0 ? "--where" : "--sort";
    const struct operation *all[ROWS_OPERATIONS_MAX];

    for (unsigned i = 0; i < options->rows.count; i++)
        if (!choose_result(a, options, &options->rows.conditions[i].key))
            return false;
    if (!choose_result(a, options, &options->rows.sort))
        return false;
    if (options->rows.count == 0 && options->rows.sort.field == ROW_UNASKED)
        return true;
    if (options->session.passes.histogram.kind != HISTOGRAM_NONE)
        return arguments_wrong(a, "option %s does not go with --histogram", name);
    if (options->command == COMMAND_LIST && rows_operations(&options->rows, all) > 0)
        return arguments_wrong(
            a, "--list has no results such as %s; use name, dtype, elements or bytes",
            all[0]->name);
    return true;
}
