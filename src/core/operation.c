#include "config.h"

#include "core/operation.h"

#include <string.h>

#define MEMBER(name) offsetof(struct result, name)

_Static_assert(MEMBER(sum_integer) != 0, "a place of 0 stands for none");

const struct operation operations[] = {
    {"sum", OPERATION_BINARY64, PARTIAL_SUM, MEMBER(sum), MEMBER(sum_integer)},
    {"min", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(min), MEMBER(min_integer)},
    {"max", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(max), MEMBER(max_integer)},
    {"mean", OPERATION_BINARY64, PARTIAL_SUM, MEMBER(mean), 0},
    {"count", OPERATION_COUNT, 0, MEMBER(count), 0},
    {"argmin", OPERATION_COUNT, PARTIAL_EXTREMES | PARTIAL_WHERE, MEMBER(argmin), 0},
    {"argmax", OPERATION_COUNT, PARTIAL_EXTREMES | PARTIAL_WHERE, MEMBER(argmax), 0},
    {"nan", OPERATION_COUNT, 0, MEMBER(nan), 0},
    {"inf", OPERATION_COUNT, 0, MEMBER(infinity), 0},
};

const size_t operation_count = sizeof operations / sizeof *operations;

const struct operation *operation_find(const char *name, size_t length)
{
    for (size_t i = 0; i < operation_count; i++)
        if (strlen(operations[i].name) == length && memcmp(operations[i].name, name, length) == 0)
            return &operations[i];
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
