#include "config.h"

#include "core/operation.h"

#include <string.h>

#define MEMBER(name) offsetof(struct result, name)

#define QUANTILE(i) MEMBER(quantiles) + (i) * sizeof(double)

static struct operation table[OPERATIONS_MAX] = {
    {"sum", OPERATION_BINARY64, PARTIAL_SUM, MEMBER(sum)},
    {"min", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(min)},
    {"max", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(max)},
    {"mean", OPERATION_BINARY64, PARTIAL_SUM, MEMBER(mean)},
    {"count", OPERATION_COUNT, 0, MEMBER(count)},
    {"argmin", OPERATION_COUNT, PARTIAL_EXTREMES | PARTIAL_WHERE, MEMBER(argmin)},
    {"argmax", OPERATION_COUNT, PARTIAL_EXTREMES | PARTIAL_WHERE, MEMBER(argmax)},
    {"nan", OPERATION_COUNT, 0, MEMBER(nan)},
    {"inf", OPERATION_COUNT, 0, MEMBER(infinity)},
    {"median", OPERATION_BINARY64, PARTIAL_EXTREMES, QUANTILE(0)},
    /* The quantiles that the user names. */
};

#define MEDIAN 9
_Static_assert(MEDIAN + RESULT_QUANTILES_MAX <= OPERATIONS_MAX, "room for all quantiles");

const struct operation *const operations = table;
size_t operation_count = MEDIAN + 1;

/* Of each quantile: what it is, and its name, which is long enough for any. */
#define NAME_MAX_LENGTH 32
static struct quantile quantiles[RESULT_QUANTILES_MAX] = {{5, 10}};
static char names[RESULT_QUANTILES_MAX][NAME_MAX_LENGTH + 1];

/* Makes a quantile an operation. */
static const struct operation *add_quantile(const char *name, size_t length)
{
    const size_t place = operation_count - MEDIAN;

    if (place == RESULT_QUANTILES_MAX || length > NAME_MAX_LENGTH ||
        !quantile_parse(name, length, &quantiles[place]))
        return NULL;
    memcpy(names[place], name, length);
    table[operation_count] = table[MEDIAN];
    table[operation_count].name = names[place];
    table[operation_count].member = QUANTILE(place);
    return &table[operation_count++];
}

const struct operation *operation_find(const char *name, size_t length)
{
    for (size_t i = 0; i < operation_count; i++)
        if (strlen(operations[i].name) == length && memcmp(operations[i].name, name, length) == 0)
            return &operations[i];
    return add_quantile(name, length);
}

bool operation_is_quantile(const struct operation *op)
{
    return op - operations >= MEDIAN;
}

void operation_ask(const struct operation *op, unsigned *wants, struct survey_request *survey)
{
    const unsigned place = (unsigned)(op - operations) - MEDIAN;

    *wants |= op->wants;
    if (!operation_is_quantile(op))
        return;
    for (unsigned i = 0; i < survey->quantile_count; i++)
        if (survey->places[i] == place)
            return;
    survey->quantiles[survey->quantile_count] = quantiles[place];
    survey->places[survey->quantile_count++] = place;
}

double operation_number(const struct operation *op, const struct result *result)
{
    double value;
    memcpy(&value, (const char *)result + op->member, sizeof value);
    return value;
}

uint64_t operation_integer(const struct operation *op, const struct result *result)
{
    uint64_t value;
    memcpy(&value, (const char *)result + op->member, sizeof value);
    return value;
}
