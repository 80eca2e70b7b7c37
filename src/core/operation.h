/*
 * Operations: the results that --op names. Each is a row of the table in operation.c.
 *
 * An operation that follows from a partial result is a row, and a member of struct result that
 * partial_finish sets. An operation that accumulates something else also is a bit of enum
 * partial_want, a field of struct partial that partial_merge adds, and an accumulator in each
 * engine (cpu_kernel_row, and choose_kernel in cuda/reduce.cuh). Quantiles are computed by pass
 * plans (pass_plan.h); those that a request names become operations in a set of its own.
 */
#ifndef GPUREDUCE_OPERATION_H
#define GPUREDUCE_OPERATION_H

#include <stddef.h>

#include "core/partial.h"
#include "core/pass_plan.h"
#include "core/scale.h"
#include "core/writer.h"

enum operation_kind {
    OPERATION_BINARY64, /* a binary64 number */
    OPERATION_ELEMENT,  /* a number of the element type */
    OPERATION_COUNT,    /* a count or an index, which may be PARTIAL_NO_INDEX */
    OPERATION_DIGEST    /* a digest, which is a text */
};

struct operation {
    const char *name;
    enum operation_kind kind;
    unsigned wants;           /* partial_want bits that it needs */
    size_t member;            /* offset in struct result */
    size_t integer;           /* offset of the integer with all digits in struct result; 0: none */
    struct quantile quantile; /* of a quantile */
};

/* The operations that always exist; the median is the last. */
extern const struct operation operation_table[];
extern const size_t operation_table_count;

/* The quantiles that a request names, besides the median. All zeros at first. It must not be
   moved while its operations are used. */
#define OPERATION_NAME_MAX 32
struct operation_set {
    unsigned count;
    struct operation quantiles[RESULT_QUANTILES_MAX - 1];
    char names[RESULT_QUANTILES_MAX - 1][OPERATION_NAME_MAX + 1];
};

/* The most operations that a request can name. */
#define OPERATIONS_MAX 64

/* The number of operations: those of the table and those of the set. */
size_t operation_count(const struct operation_set *set);

/* Operation number i: those of the table come first. */
const struct operation *operation_at(const struct operation_set *set, size_t i);

/* The number of an operation among those of its request. */
size_t operation_number_of(const struct operation *op);

/* The operation whose name is the first `length` characters of `name`; NULL if there is none. A
   quantile is added to the set, if that has room for it. */
const struct operation *operation_find(struct operation_set *set, const char *name, size_t length);

/* Makes a quantile an operation of the set, which has room for it, with a name that no operation has:
   `length` characters, from 1 to OPERATION_NAME_MAX. */
const struct operation *operation_add_quantile(struct operation_set *set, const char *name,
                                               size_t length, struct quantile quantile);

/* Whether the first `length` characters of `name` are a quantile for which the set has no room. */
bool operation_beyond(struct operation_set *set, const char *name, size_t length);

/* A name for several operations. `list` has their names, separated by commas. Its quantiles are not
   required (struct pass_request). */
struct operation_group {
    const char *name;
    const char *list;
};

/* The names of operations and then of groups, from number 0 on; NULL after the last. */
const char *operation_word(size_t i);

/* The group whose name is the first `length` characters of `name`; NULL if there is none. */
const struct operation_group *operation_group_find(const char *name, size_t length);

/* The bit of a quantile by its index in result.quantiles; 0 of other operations. */
uint32_t operation_quantile(const struct operation *op);

/* Adds the needs of an operation to those of a reduction: partial_want bits, or a quantile. */
void operation_ask(const struct operation *op, unsigned *wants, struct pass_request *request);

/* The value of an operation of kind OPERATION_BINARY64 or OPERATION_ELEMENT in a result. */
double operation_number(const struct operation *op, const struct result *result);

/* The value with all digits, if it is an integer; NULL if it is a count, or not an integer. */
const struct integer *operation_exact_integer(const struct operation *op,
                                              const struct result *result);

/* The value of an operation of kind OPERATION_COUNT in a result. */
uint64_t operation_integer(const struct operation *op, const struct result *result);

/* The value of an operation of kind OPERATION_DIGEST in a result. */
const struct digest_value *operation_digest(const struct operation *op,
                                            const struct result *result);

/* The type whose decimals show the numbers of an operation of elements of a type and a scale. */
enum element_type operation_shown_type(const struct operation *op, enum element_type type,
                                       const struct scale *scale);

/* The value in a result of elements of a type and a scale as a field, which refers to the result. */
struct field operation_field(unsigned in, const struct operation *op, const struct result *result,
                             enum element_type type, const struct scale *scale);

#endif
