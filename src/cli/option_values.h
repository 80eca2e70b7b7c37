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

/* The words that an option takes, by place; NULL after the last. */
const char *option_operation_word(size_t i);
const char *option_dtype_word(size_t i);
const char *option_dtype_near(size_t i);

/* Words that options take, in the order of their enums, up to a NULL. */
extern const char *const option_histogram_words[];
extern const char *const option_endian_words[];
extern const char *const option_device_words[];
extern const char *const option_number_words[];
extern const char *const option_fail_on_words[];
extern const char *const option_shard_words[];

/* Words of others, and ours: see struct argument. */
extern const char *const option_operation_aliases[];
extern const char *const option_dtype_aliases[];
extern const char *const option_format_aliases[];
extern const char *const option_nan_aliases[];
extern const char *const option_device_aliases[];
extern const char *const option_endian_aliases[];

/* Each reads `text`, the value of `x`, and sets what it means. They return false, and have said
   why, if it is not one. The last of --json and --tsv counts; --partial goes with neither. */
argument_parser option_parse_operations, option_parse_histogram, option_parse_dtype,
    option_parse_endian, option_parse_missing, option_parse_pattern, option_parse_device,
    option_parse_record, option_parse_output, option_parse_fail_on, option_parse_map,
    option_parse_tolerance, option_parse_chunk_size, option_parse_long, option_parse_threads,
    option_parse_sort, option_parse_where, option_parse_axis, option_parse_shard,
    option_parse_shape;

/* Whether the options go with --axis, where it is given. If not, an error says why. */
bool axis_goes_with(struct options *options, const struct arguments *arguments);

/* Says that there is no room for the quantile that `list` begins with. Returns false. */
bool option_quantiles_full(const struct arguments *a, const char *list);

/* Adds the operations that `list` names, separated by commas; `a` and `x` are for the message. */
bool option_add_operations(const struct arguments *a, const struct argument *x, const char *list,
                           struct options *options);

/* The names that --sort and --where accept, by place. */
const char *option_row_word(size_t i);
const char *option_condition_word(size_t i);

/* Adds what --sort and --where need to what is asked of each input; totals go without. */
void rows_ask(struct options *options);

/* Whether --sort and --where go with the other options. A message says which do not. */
bool rows_go_with(const struct arguments *a, struct options *options);

/* Leaves quantiles out where they may be, if partial results are asked for. False, after a message,
   where there are others. */
bool partial_check(const struct arguments *a, struct options *options);

/* Whether the options go with each other, and with the number of files. A message says which do
   not. */
bool partial_goes_with(const struct arguments *a, const struct options *options);

/* Leaves only those files that the shard has a part of, and notes which part. The files are on the
   heap. False on failure, which is printed. */
bool partial_choose_shard(struct options *options);

#endif
