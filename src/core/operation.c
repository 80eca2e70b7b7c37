#include "config.h"

#include "core/operation.h"

#include <string.h>

#define MEMBER(name) offsetof(struct result, name)

_Static_assert(MEMBER(sum_integer) != 0, "a place of 0 stands for none");

#define QUANTILE(i) MEMBER(quantiles) + (i) * sizeof(double)

static struct operation table[OPERATIONS_MAX] = {
    {"sum", OPERATION_BINARY64, PARTIAL_SUM, MEMBER(sum), MEMBER(sum_integer)},
    {"min", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(min), MEMBER(min_integer)},
    {"max", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(max), MEMBER(max_integer)},
    {"mean", OPERATION_BINARY64, PARTIAL_SUM, MEMBER(mean), 0},
    {"count", OPERATION_COUNT, 0, MEMBER(count), 0},
    {"argmin", OPERATION_COUNT, PARTIAL_EXTREMES | PARTIAL_WHERE, MEMBER(argmin), 0},
    {"argmax", OPERATION_COUNT, PARTIAL_EXTREMES | PARTIAL_WHERE, MEMBER(argmax), 0},
    {"nan", OPERATION_COUNT, 0, MEMBER(nan), 0},
    {"inf", OPERATION_COUNT, 0, MEMBER(infinity), 0},
    {"var", OPERATION_BINARY64, PARTIAL_SUM | PARTIAL_SQUARES, MEMBER(var), 0},
    {"std", OPERATION_BINARY64, PARTIAL_SUM | PARTIAL_SQUARES, MEMBER(std), 0},
    {"sumsq", OPERATION_BINARY64, PARTIAL_SQUARES, MEMBER(sumsq), 0},
    {"rms", OPERATION_BINARY64, PARTIAL_SQUARES, MEMBER(rms), 0},
    {"l1", OPERATION_BINARY64, PARTIAL_ABSOLUTE, MEMBER(l1), 0},
    {"l2", OPERATION_BINARY64, PARTIAL_SQUARES, MEMBER(l2), 0},
    {"absmax", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(absmax), MEMBER(absmax_integer)},
    {"absmin", OPERATION_ELEMENT, PARTIAL_SMALL, MEMBER(absmin), MEMBER(absmin_integer)},
    {"range", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(range), MEMBER(range_integer)},
    {"zeros", OPERATION_COUNT, PARTIAL_SMALL, MEMBER(zeros), 0},
    {"negatives", OPERATION_COUNT, PARTIAL_NEGATIVE, MEMBER(negatives), 0},
    {"subnormals", OPERATION_COUNT, PARTIAL_SMALL, MEMBER(subnormals), 0},
    {"median", OPERATION_BINARY64, PARTIAL_EXTREMES, QUANTILE(0), 0},
    /* The quantiles that the user names. */
};

#define MEDIAN 21
_Static_assert(MEDIAN + RESULT_QUANTILES_MAX <= OPERATIONS_MAX, "room for all quantiles");

const struct operation *const operations = table;
size_t operation_count = MEDIAN + 1;

/* The quantiles that were asked for, with their names. The length is enough for any. */
#define NAME_MAX_LENGTH 32
static struct quantile quantiles[RESULT_QUANTILES_MAX] = {{5, 10}};
static char names[RESULT_QUANTILES_MAX][NAME_MAX_LENGTH + 1];

const struct operation_group operation_groups[] = {
    {"summary", "count,nan,inf,zeros,min,max,mean,std,q0.25,median,q0.75"},
};

const size_t operation_group_count = sizeof operation_groups / sizeof *operation_groups;

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

bool operation_beyond(const char *name, size_t length)
{
    struct quantile quantile;

    return operation_count == MEDIAN + RESULT_QUANTILES_MAX && !operation_find(name, length) &&
           length <= NAME_MAX_LENGTH && quantile_parse(name, length, &quantile);
}

uint32_t operation_quantile(const struct operation *op)
{
    const size_t number = (size_t)(op - operations);

    return number < MEDIAN ? 0 : UINT32_C(1) << (number - MEDIAN);
}

_Static_assert(RESULT_QUANTILES_MAX <= 32, "a bit for each");

void operation_ask(const struct operation *op, unsigned *wants, struct survey_request *survey)
{
    const unsigned place = (unsigned)(op - operations) - MEDIAN;

    *wants |= op->wants;
    if (!operation_quantile(op))
        return;
    for (unsigned i = 0; i < survey->quantile_count; i++)
        if (survey->places[i] == place)
            return;
    survey->quantiles[survey->quantile_count] = quantiles[place];
    survey->places[survey->quantile_count++] = place;
}

const struct operation_group *operation_group_find(const char *name, size_t length)
{
    for (size_t i = 0; i < operation_group_count; i++)
        if (strlen(operation_groups[i].name) == length &&
            memcmp(operation_groups[i].name, name, length) == 0)
            return &operation_groups[i];
    return NULL;
}

double operation_number(const struct operation *op, const struct result *result)
{
    double value;
    memcpy(&value, (const char *)result + op->member, sizeof value);
    return value;
}

const struct integer *operation_exact_integer(const struct operation *op,
                                              const struct result *result)
{
    const struct integer *value;

    if (op->integer == 0)
        return NULL;
    value = (const void *)((const char *)result + op->integer);
    return value->known ? value : NULL;
}

uint64_t operation_integer(const struct operation *op, const struct result *result)
{
    uint64_t value;
    memcpy(&value, (const char *)result + op->member, sizeof value);
    return value;
}
