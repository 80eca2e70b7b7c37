/*
 * The values of gpureduce's options that take more than a table to read. The target of each is the
 * whole of struct options.
 */
#ifndef GPUREDUCE_OPTION_VALUES_H
#define GPUREDUCE_OPTION_VALUES_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/arguments.h"

struct options;

/* The words that an option takes, by place; NULL behind the last. */
const char *option_operation_word(size_t i);
const char *option_histogram_word(size_t i);
const char *option_dtype_word(size_t i);
const char *option_dtype_near(size_t i);
const char *option_endian_word(size_t i);
const char *option_format_word(size_t i);
const char *option_nan_word(size_t i);
const char *option_device_word(size_t i);
const char *option_number_word(size_t i);
const char *option_fail_on_word(size_t i);

/* Words of others, and ours: see struct argument. */
extern const char *const option_operation_aliases[];
extern const char *const option_dtype_aliases[];
extern const char *const option_format_aliases[];
extern const char *const option_nan_aliases[];
extern const char *const option_device_aliases[];
extern const char *const option_endian_aliases[];

/* Each reads `text`, the value of `x`, and sets what it means. They return false, and have said
   why, if it is not one. */
bool option_parse_operations(const struct arguments *a, const struct argument *x, const char *text,
                             void *target);
bool option_parse_histogram(const struct arguments *a, const struct argument *x, const char *text,
                            void *target);
bool option_parse_dtype(const struct arguments *a, const struct argument *x, const char *text,
                        void *target);
bool option_parse_endian(const struct arguments *a, const struct argument *x, const char *text,
                         void *target);
bool option_parse_array(const struct arguments *a, const struct argument *x, const char *text,
                        void *target);
bool option_parse_exclude(const struct arguments *a, const struct argument *x, const char *text,
                          void *target);
bool option_parse_device(const struct arguments *a, const struct argument *x, const char *text,
                         void *target);
bool option_parse_json(const struct arguments *a, const struct argument *x, const char *text,
                       void *target);
bool option_parse_tsv(const struct arguments *a, const struct argument *x, const char *text,
                      void *target);
bool option_parse_partial(const struct arguments *a, const struct argument *x, const char *text,
                          void *target);
bool option_parse_fail_on(const struct arguments *a, const struct argument *x, const char *text,
                          void *target);
bool option_parse_tolerance(const struct arguments *a, const struct argument *x, const char *text,
                            void *target);
bool option_parse_chunk_size(const struct arguments *a, const struct argument *x, const char *text,
                             void *target);
bool option_parse_long(const struct arguments *a, const struct argument *x, const char *text,
                       void *target);
bool option_parse_threads(const struct arguments *a, const struct argument *x, const char *text,
                          void *target);
bool option_ask_progress(const struct arguments *a, const struct argument *x, const char *text,
                         void *target);
bool option_refuse_progress(const struct arguments *a, const struct argument *x, const char *text,
                            void *target);

/* Says that there is no room for the quantile that `list` begins with. Returns false. */
bool option_quantiles_full(const struct arguments *a, const char *list);

/* Adds the operations that `list` names, separated by commas; `a` and `x` are for the message. */
bool option_add_operations(const struct arguments *a, const struct argument *x, const char *list,
                           struct options *options);

/* The names that --sort and --where accept, by place. */
const char *option_row_word(size_t i);
const char *option_condition_word(size_t i);
bool option_parse_sort(const struct arguments *a, const struct argument *x, const char *text,
                       void *target);
bool option_parse_where(const struct arguments *a, const struct argument *x, const char *text,
                        void *target);

/* Adds what --sort and --where need to what is asked of each input; totals go without. */
void rows_ask(struct options *options);

/* Whether --sort and --where go with the other options. A message says which do not. */
bool rows_go_with(const struct arguments *a, const struct options *options);

bool option_parse_axis(const struct arguments *a, const struct argument *x, const char *text,
                       void *target);
bool option_parse_shape(const struct arguments *a, const struct argument *x, const char *text,
                        void *target);

#endif
