#include "config.h"

#include "core/operation.h"

#include <string.h>

#define MEMBER(name) offsetof(struct result, name)

_Static_assert(MEMBER(sum_integer) != 0, "a place of 0 stands for none");

#define QUANTILE(i) MEMBER(quantiles) + (i) * sizeof(double)

const struct operation operation_table[] = {
    {"sum", OPERATION_BINARY64, PARTIAL_SUM, MEMBER(sum), MEMBER(sum_integer), {0}},
    {"min", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(min), MEMBER(min_integer), {0}},
    {"max", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(max), MEMBER(max_integer), {0}},
    {"mean", OPERATION_BINARY64, PARTIAL_SUM, MEMBER(mean), 0, {0}},
    {"count", OPERATION_COUNT, 0, MEMBER(count), 0, {0}},
    {"argmin", OPERATION_COUNT, PARTIAL_EXTREMES | PARTIAL_WHERE_MIN, MEMBER(argmin), 0, {0}},
    {"argmax", OPERATION_COUNT, PARTIAL_EXTREMES | PARTIAL_WHERE_MAX, MEMBER(argmax), 0, {0}},
    {"nan", OPERATION_COUNT, 0, MEMBER(nan), 0, {0}},
    {"inf", OPERATION_COUNT, 0, MEMBER(infinity), 0, {0}},
    {"var", OPERATION_BINARY64, PARTIAL_SUM | PARTIAL_SQUARES, MEMBER(var), 0, {0}},
    {"std", OPERATION_BINARY64, PARTIAL_SUM | PARTIAL_SQUARES, MEMBER(std), 0, {0}},
    {"sumsq", OPERATION_BINARY64, PARTIAL_SQUARES, MEMBER(sumsq), 0, {0}},
    {"rms", OPERATION_BINARY64, PARTIAL_SQUARES, MEMBER(rms), 0, {0}},
    {"l1", OPERATION_BINARY64, PARTIAL_ABSOLUTE, MEMBER(l1), 0, {0}},
    {"l2", OPERATION_BINARY64, PARTIAL_SQUARES, MEMBER(l2), 0, {0}},
    {"absmax", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(absmax), MEMBER(absmax_integer), {0}},
    {"absmin", OPERATION_ELEMENT, PARTIAL_SMALL, MEMBER(absmin), MEMBER(absmin_integer), {0}},
    {"range", OPERATION_ELEMENT, PARTIAL_EXTREMES, MEMBER(range), MEMBER(range_integer), {0}},
    {"zeros", OPERATION_COUNT, PARTIAL_SMALL, MEMBER(zeros), 0, {0}},
    {"negatives", OPERATION_COUNT, PARTIAL_NEGATIVE, MEMBER(negatives), 0, {0}},
    {"subnormals", OPERATION_COUNT, PARTIAL_SMALL, MEMBER(subnormals), 0, {0}},
    {"missing", OPERATION_COUNT, 0, MEMBER(missing), 0, {0}},
    {"digest", OPERATION_DIGEST, PARTIAL_DIGEST, MEMBER(digest), 0, {0}},
    {"median", OPERATION_BINARY64, PARTIAL_EXTREMES, QUANTILE(0), 0, {5, 10}},
};

#define MEDIAN 23
_Static_assert(sizeof operation_table / sizeof *operation_table == MEDIAN + 1, "it is the last");
_Static_assert(MEDIAN + RESULT_QUANTILES_MAX <= OPERATIONS_MAX, "room for all quantiles");

const size_t operation_table_count = MEDIAN + 1;

static const struct operation_group operation_groups[] = {
    {"summary", "count,nan,inf,zeros,min,max,mean,std,q0.25,median,q0.75"},
};

#define GROUPS (sizeof operation_groups / sizeof *operation_groups)

size_t operation_count(const struct operation_set *set)
{
    return operation_table_count + set->count;
}

const struct operation *operation_at(const struct operation_set *set, size_t i)
{
    return i < operation_table_count ? &operation_table[i]
                                     : &set->quantiles[i - operation_table_count];
}

/* The place of a quantile among those of a result, the median first; SIZE_MAX of other operations.
   */
static size_t place_of(const struct operation *op)
{
    return op->member < MEMBER(quantiles) || op->member >= QUANTILE(RESULT_QUANTILES_MAX)
               ? SIZE_MAX
               : (op->member - MEMBER(quantiles)) / sizeof(double);
}

size_t operation_number_of(const struct operation *op)
{
    const size_t place = place_of(op);

    return place == SIZE_MAX ? (size_t)(op - operation_table) : MEDIAN + place;
}

const struct operation *operation_add_quantile(struct operation_set *set, const char *name,
                                               size_t length, struct quantile quantile)
{
    struct operation *op = &set->quantiles[set->count];

    memcpy(set->names[set->count], name, length);
    *op = operation_table[MEDIAN];
    op->name = set->names[set->count++];
    op->member = QUANTILE(set->count);
    op->quantile = quantile;
    return op;
}

const struct operation *operation_find(struct operation_set *set, const char *name, size_t length)
{
    struct quantile quantile;

    for (size_t i = 0; i < operation_count(set); i++) {
        const struct operation *op = operation_at(set, i);

        if (strlen(op->name) == length && memcmp(op->name, name, length) == 0)
            return op;
    }
    if (set->count == RESULT_QUANTILES_MAX - 1 || length > OPERATION_NAME_MAX ||
        !quantile_parse(name, length, &quantile))
        return NULL;
    return operation_add_quantile(set, name, length, quantile);
}

bool operation_beyond(struct operation_set *set, const char *name, size_t length)
{
    struct quantile quantile;

    return set->count == RESULT_QUANTILES_MAX - 1 && !operation_find(set, name, length) &&
           length <= OPERATION_NAME_MAX && quantile_parse(name, length, &quantile);
}

uint32_t operation_quantile(const struct operation *op)
{
    const size_t place = place_of(op);

    return place == SIZE_MAX ? 0 : UINT32_C(1) << place;
}

_Static_assert(RESULT_QUANTILES_MAX <= 32, "a bit for each");

void operation_ask(const struct operation *op, unsigned *wants, struct pass_request *request)
{
    const size_t place = place_of(op);

    *wants |= op->wants;
    if (op->wants & PARTIAL_WHERE)
        *wants |= PARTIAL_WHERE; /* partial results have both */
    if (place == SIZE_MAX)
        return;
    for (unsigned i = 0; i < request->quantile_count; i++)
        if (request->places[i] == place)
            return;
    request->quantiles[request->quantile_count] = op->quantile;
    request->places[request->quantile_count++] = (unsigned)place;
}

const char *operation_word(size_t i)
{
    if (i < operation_table_count)
        return operation_table[i].name;
    i -= operation_table_count;
    return i < GROUPS ? operation_groups[i].name : NULL;
}

const struct operation_group *operation_group_find(const char *name, size_t length)
{
    for (size_t i = 0; i < GROUPS; i++)
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

const struct digest_value *operation_digest(const struct operation *op, const struct result *result)
{
    return (const void *)((const char *)result + op->member);
}

enum element_type operation_shown_type(const struct operation *op, enum element_type type,
                                       const struct scale *scale)
{
    return op->kind == OPERATION_ELEMENT && !scale->given ? number_shown_type(type) : ELEMENT_F64;
}

struct field operation_field(unsigned in, const struct operation *op, const struct result *result,
                             enum element_type type, const struct scale *scale)
{
    const struct integer *full = operation_exact_integer(op, result);
    struct field field = field_of(in, op->name, FIELD_INDEX);

    if (full)
        return field_value(in, op->name, full, 0);
    switch (op->kind) {
    case OPERATION_DIGEST:
        field.kind = FIELD_DIGEST;
        field.digest = operation_digest(op, result);
        return field;
    case OPERATION_COUNT:
        field.count = operation_integer(op, result);
        /* Scaled numbers have no count of subnormal ones; an index that there is none of is shown. */
        if (!(op->wants & PARTIAL_WHERE) && field.count == PARTIAL_NO_INDEX)
            field.kind = FIELD_MISSING;
        return field;
    case OPERATION_BINARY64:
    case OPERATION_ELEMENT:
        break;
    }
    return field_number(in, op->name, operation_number(op, result),
                        operation_shown_type(op, type, scale));
}
