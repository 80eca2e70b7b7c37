#include "config.h"

#include "core/operation.h"

#include <string.h>

#define MEMBER(name) offsetof(struct result, name)

const struct operation operations[] = {
    {"sum", OPERATION_BINARY64, PARTIAL_SUM, MEMBER(sum)},
    {"min", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(min)},
    {"max", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(max)},
    {"mean", OPERATION_BINARY64, PARTIAL_SUM, MEMBER(mean)},
    {"count", OPERATION_COUNT, 0, MEMBER(count)},
    {"argmin", OPERATION_COUNT, PARTIAL_EXTREMES | PARTIAL_WHERE, MEMBER(argmin)},
    {"argmax", OPERATION_COUNT, PARTIAL_EXTREMES | PARTIAL_WHERE, MEMBER(argmax)},
    {"nan", OPERATION_COUNT, 0, MEMBER(nan)},
    {"inf", OPERATION_COUNT, 0, MEMBER(infinity)},
    {"var", OPERATION_BINARY64, PARTIAL_SUM | PARTIAL_SQUARES, MEMBER(var)},
    {"std", OPERATION_BINARY64, PARTIAL_SUM | PARTIAL_SQUARES, MEMBER(std)},
    {"sumsq", OPERATION_BINARY64, PARTIAL_SQUARES, MEMBER(sumsq)},
    {"rms", OPERATION_BINARY64, PARTIAL_SQUARES, MEMBER(rms)},
    {"l1", OPERATION_BINARY64, PARTIAL_ABSOLUTE, MEMBER(l1)},
    {"l2", OPERATION_BINARY64, PARTIAL_SQUARES, MEMBER(l2)},
    {"absmax", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(absmax)},
    {"absmin", OPERATION_ELEMENT, PARTIAL_SMALL, MEMBER(absmin)},
    {"range", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(range)},
    {"zeros", OPERATION_COUNT, PARTIAL_SMALL, MEMBER(zeros)},
    {"negatives", OPERATION_COUNT, PARTIAL_NEGATIVE, MEMBER(negatives)},
    {"subnormals", OPERATION_COUNT, PARTIAL_SMALL, MEMBER(subnormals)},
};

const struct operation_group operation_groups[] = {
    {"summary", "count,nan,inf,zeros,min,max,mean,std"},
};

const size_t operation_group_count = sizeof operation_groups / sizeof *operation_groups;

const size_t operation_count = sizeof operations / sizeof *operations;

const struct operation *operation_find(const char *name, size_t length)
{
    for (size_t i = 0; i < operation_count; i++)
        if (strlen(operations[i].name) == length && memcmp(operations[i].name, name, length) == 0)
            return &operations[i];
    return NULL;
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

uint64_t operation_integer(const struct operation *op, const struct result *result)
{
    uint64_t value;
    memcpy(&value, (const char *)result + op->member, sizeof value);
    return value;
}
