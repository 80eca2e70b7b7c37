/*
 * Operations: what can be asked for with --op. A row of the table in operation.c each.
 *
 * An operation that can be worked out from a finished reduction is a row, and a member of struct
 * result that partial_finish sets. One that needs more to be accumulated is also a bit of enum
 * partial_want, a field of struct partial that partial_merge adds up, and an accumulator in each
 * engine: a row of the kernels that have it (cpu_kernel_row, and choose_kernel in
 * cuda/reduce.cuh). Quantiles are found as passes are planned (pass_plan.h); there are as
 * many as names for them: those of a request become operations in a set of its own.
 */
#ifndef GPUREDUCE_OPERATION_H
#define GPUREDUCE_OPERATION_H

#include <stddef.h>

#include "core/partial.h"
#include "core/pass_plan.h"
#include "core/quantile.h"

enum operation_kind {
    OPERATION_BINARY64, /* a binary64 number */
    OPERATION_ELEMENT,  /* a number of the element type */
    OPERATION_COUNT     /* an integer; PARTIAL_NO_INDEX where there is none */
};

struct operation {
    const char *name;
    enum operation_kind kind;
    unsigned wants;           /* partial_want bits the reduction needs for it */
    size_t member;            /* where in struct result it is */
    size_t integer;           /* where it is in full, if it is an integer; 0 if it never is */
    struct quantile quantile; /* of quantiles */
};

/* The operations that always exist; the median is the last. */
extern const struct operation operation_table[];
extern const size_t operation_table_count;

/* The quantiles that a request names, besides the median. Begins with zeros. It must stay where it
   is while anybody uses its operations. */
#define OPERATION_NAME_MAX 32
struct operation_set {
    unsigned count;
    struct operation quantiles[RESULT_QUANTILES_MAX - 1];
    char names[RESULT_QUANTILES_MAX - 1][OPERATION_NAME_MAX + 1];
};

/* Operations of a request at most; how many there are; and number `i` of them: those of the table,
   and then those of the set. */
#define OPERATIONS_MAX 64
size_t operation_count(const struct operation_set *set);
const struct operation *operation_at(const struct operation_set *set, size_t i);

/* The number of an operation among those of its request. */
size_t operation_number_of(const struct operation *op);

/* The operation called by the first `length` characters of `name`, or NULL. A quantile that is not
   in the set is added to it, as long as there are no more than RESULT_QUANTILES_MAX. */
const struct operation *operation_find(struct operation_set *set, const char *name, size_t length);

/* Whether these characters are a quantile, but the set has no room for it. */
bool operation_beyond(struct operation_set *set, const char *name, size_t length);

/* Several operations that are asked for by one name: `list` has theirs, separated by commas. Its
   quantiles are left out where they cannot be had. */
struct operation_group {
    const char *name;
    const char *list;
};

extern const struct operation_group operation_groups[];
extern const size_t operation_group_count;

/* The group called by the first `length` characters of `name`, or NULL. */
const struct operation_group *operation_group_find(const char *name, size_t length);

/* The bit of a quantile: that of its place in struct result. 0 of other operations. */
uint32_t operation_quantile(const struct operation *op);

/* Adds what the operation needs to what is asked of a reduction. */
void operation_ask(const struct operation *op, unsigned *wants, struct pass_request *request);

/* The value of an operation of kind OPERATION_BINARY64 or OPERATION_ELEMENT in a result. */
double operation_number(const struct operation *op, const struct result *result);

/* The full value of a result that is an integer; NULL if it is a count, or not an integer. */
const struct integer *operation_exact_integer(const struct operation *op,
                                              const struct result *result);

/* The value of an operation of kind OPERATION_COUNT in a result. */
uint64_t operation_integer(const struct operation *op, const struct result *result);

#endif
