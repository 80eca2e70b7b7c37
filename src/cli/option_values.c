#include "config.h"

#include "cli/option_values.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments.h"
#include "cli/options.h"
#include "core/nearest.h"
#include "core/number.h"
#include "sys/escape.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

const char *option_operation_word(size_t i)
{
    if (i < operation_table_count)
        return operation_table[i].name;
    i -= operation_table_count;
    return i < operation_group_count ? operation_groups[i].name : NULL;
}

bool option_quantiles_full(const struct arguments *a, const char *list)
{
    _Static_assert(RESULT_QUANTILES_MAX == 32, "as the message says, beside the median");
    return arguments_wrong(a, "too many quantiles at %s: at most 31 besides the median", list);
}

/* Names that other programs give to operations. */
const char *const option_operation_aliases[] = {
    "avg",      "mean",    "average", "mean",    "sd",     "std",    "size",      "count",
    "len",      "count",   "n",       "count",   "norm",   "l2",     "ptp",       "range",
    "total",    "sum",     "maxabs",  "absmax",  "minabs", "absmin", "quartiles", "summary",
    "describe", "summary", "stats",   "summary", NULL,
};

/* Prints that there is no such operation, and which may be meant: p99,9 is two. */
static bool unknown_operation(const struct arguments *a, const struct argument *x, const char *name,
                              const char *before, size_t before_length)
{
    char near[NEAREST_MAX], format[64 + NEAREST_MAX];
    struct quantile quantile;

    if (*name && name[strspn(name, "0123456789")] == 0 && before && before_length < 20 &&
        quantile_parse(before, before_length, &quantile) && !memchr(before, '.', before_length))
        snprintf(near, sizeof near, "%.*s.%.20s", (int)before_length, before, name);
    else if (!nearest_quantile(name, near))
        return arguments_unknown_word(a, x, name);
    snprintf(format, sizeof format, "unknown %s %%s; did you mean '%s'?", x->what, near);
    return arguments_wrong(a, format, name);
}

/* Adds one, or says that it is a quantile too many where it is NULL; `list`, which begins with it,
   is for the message. */
static bool add_operation(const struct arguments *a, const struct operation *op, const char *list,
                          struct options *options)
{
    if (!op)
        return option_quantiles_full(a, list);
    if (options->operation_count == OPTIONS_OPERATIONS_MAX)
        return arguments_wrong(a, "too many operations at %s", list);
    options->operations[options->operation_count++] = op;
    return true;
}

/* Adds those of a group. */
static bool add_group(const struct arguments *a, const char *list, struct options *options)
{
    for (;;) {
        size_t length = strcspn(list, ",");

        if (!add_operation(a, operation_find(&options->named, list, length), list, options))
            return false;
        if (!list[length])
            return true;
        list += length + 1;
    }
}

bool option_add_operations(const struct arguments *a, const struct argument *x, const char *list,
                           struct options *options)
{
    const char *before = NULL;
    size_t before_length = 0;

    for (;;) {
        size_t length = strcspn(list, ",");
        const struct operation *op = operation_find(&options->named, list, length);
        const struct operation_group *group = operation_group_find(list, length);

        if (operation_beyond(&options->named, list, length))
            return option_quantiles_full(a, list);
        if (!op && !group) {
            char name[ESCAPE_QUOTE_MAX];
            snprintf(name, sizeof name, "%.*s", length < 100 ? (int)length : 100, list);
            return unknown_operation(a, x, name, before, before_length);
        }
        if (group && !add_group(a, group->list, options))
            return false;
        if (op && !add_operation(a, op, list, options))
            return false;
        if (op)
            options->session.passes.required |= operation_quantile(op);
        if (!list[length])
            return true;
        before = list;
        before_length = length;
        list += length + 1;
    }
}

bool option_parse_operations(const struct arguments *a, const struct argument *x, const char *text,
                             void *target)
{
    return option_add_operations(a, x, text, target);
}

const char *const option_histogram_words[] = {"exponent", NULL};
const char *const option_endian_words[] = {"little", "big", NULL};
const char *const option_device_words[] = {
    [DEVICE_AUTO] = "auto", [DEVICE_CPU] = "cpu", [DEVICE_GPU] = "gpu", NULL};
const char *const option_number_words[] = {
    [NUMBER_DECIMAL] = "decimal", [NUMBER_HEX] = "hex", NULL};
const char *const option_fail_on_words[] = {"nan", "inf", "empty", "missing",
                                            NULL}; /* in the order of bits */

/* LO,HI */
static bool parse_range(const char *text, struct histogram_request *h)
{
    char low[ESCAPE_QUOTE_MAX];
    const char *comma = strchr(text, ',');

    if (!comma || (size_t)(comma - text) >= sizeof low)
        return false;
    snprintf(low, sizeof low, "%.*s", (int)(comma - text), text);
    h->range_given = true;
    return number_parse(low, ELEMENT_F64, &h->low) &&
           number_parse(comma + 1, ELEMENT_F64, &h->high) && isfinite(h->low) &&
           isfinite(h->high) && h->low < h->high;
}

/* BINS, BINS,LO,HI or exponent */
bool option_parse_histogram(const struct arguments *a, const struct argument *x, const char *text,
                            void *target)
{
    struct histogram_request *h = &((struct options *)target)->session.passes.histogram;
    size_t length = strcspn(text, ",");
    char bins[32];
    uint64_t count;

    (void)x;
    *h = (struct histogram_request){.kind = HISTOGRAM_EXPONENTS};
    if (strcmp(text, option_histogram_words[0]) == 0)
        return true;
    h->kind = HISTOGRAM_BINS;
    snprintf(bins, sizeof bins, "%.*s", length < sizeof bins ? (int)length : 0, text);
    if (!number_parse_count(bins, &count))
        return arguments_wrong(a, "bad histogram %s: must be BINS, BINS,LO,HI or exponent", text);
    if (count < 1 || count > HISTOGRAM_BINS_MAX)
        return arguments_wrong(a, "--histogram %s: the number of bins must be from 1 to 65536",
                               text);
    _Static_assert(HISTOGRAM_BINS_MAX == 65536, "as the message says");
    h->bins = (uint32_t)count;
    if (text[length] && !parse_range(text + length + 1, h))
        return arguments_wrong(a, "--histogram %s: the range must be LO,HI with LO less than HI",
                               text);
    return true;
}

const char *option_dtype_word(size_t i)
{
    return i < ELEMENT_TYPES ? element_name((enum element_type)i) : NULL;
}

bool option_parse_dtype(const struct arguments *a, const struct argument *x, const char *text,
                        void *target)
{
    struct options *options = target;
    enum element_order order;

    if (options->session.input.record.bytes > 0)
        return arguments_wrong(a, "option %s does not go with --record", "--dtype");
    if (!element_parse(text, &options->session.input.type, &order)) {
        const struct element_foreign *foreign = element_find_foreign(text);
        char format[200];

        if (!foreign)
            return arguments_unknown_word(a, x, text);
        snprintf(format, sizeof format, "dtype %%s is %s%s%s", foreign->what,
                 foreign->read_as ? ": give -t " : "", foreign->read_as ? foreign->read_as : "");
        return arguments_wrong(a, format, text);
    }
    options->session.input.type_given = true;
    if (order != ELEMENT_ORDER_UNSAID)
        options->session.input.order = order;
    return true;
}

/* Adds a field, COUNT TYPE as in NumPy, to a record: *next bytes so far. It is the one that is asked for
   if `wanted`. False where it is no field. */
static bool add_field(const char *text, size_t length, bool wanted, struct source_options *input,
                      uint64_t *next)
{
    const size_t digits = strspn(text, "0123456789");
    char name[32], number[16] = "1";
    uint64_t count, size;
    enum element_type type;
    enum element_order order = ELEMENT_ORDER_UNSAID;

    if (digits >= sizeof number || digits >= length || length - digits >= sizeof name)
        return false;
    if (digits > 0)
        snprintf(number, sizeof number, "%.*s", (int)digits, text);
    snprintf(name, sizeof name, "%.*s", (int)(length - digits), text + digits);
    if (!number_parse_count(number, &count) || count == 0 || count > INT32_MAX)
        return false;
    if (element_parse_numpy(name, &type, &order))
        size = element_size(type);
    else if (wanted || (*name != 'V' && *name != 'S') || !number_parse_count(name + 1, &size) ||
             size == 0 || size > INT32_MAX)
        return false;
    if (wanted) {
        input->record = (struct source_record){.offset = *next, .elements = count, .order = order};
        input->type = type;
    }
    *next += count * size;
    return *next <= INT32_MAX;
}

/* TYPE,TYPE,...:FIELD */
bool option_parse_record(const struct arguments *a, const struct argument *x, const char *text,
                         void *target)
{
    struct source_options *input = &((struct options *)target)->session.input;
    const char *const colon = strrchr(text, ':');
    uint64_t field, number = 0, bytes = 0;
    bool good = colon && number_parse_count(colon + 1, &field);

    (void)x;
    if (input->type_given)
        return arguments_wrong(a, "option %s does not go with --record", "--dtype");
    for (const char *at = text; good && at <= colon; number++) {
        const size_t length = strcspn(at, ",:");

        good = add_field(at, length, number == field, input, &bytes);
        at += length + 1;
    }
    if (!good || field >= number)
        return arguments_wrong(
            a,
            "bad record %s: must be TYPE,TYPE,...:FIELD, with NumPy's types (f4, "
            "<i8, 3f4; V2: 2 bytes) and the number of one of numbers, from 0",
            text);
    input->record.bytes = bytes;
    return true;
}

/* Any of the names of types. */
const char *option_dtype_near(size_t i)
{
    for (int type = 0; type < ELEMENT_TYPES; type++) {
        const struct element_names *names = &element_names[type];

        if (i-- == 0)
            return names->name;
        for (size_t k = 0; names->numpy[k]; k++)
            if (i-- == 0)
                return names->numpy[k];
    }
    return NULL;
}

const char *const option_dtype_aliases[] = {
    "fp16", "f16",    "half", "f16",  "fp32", "f32",   "real", "f32",    "fp64",
    "f64",  "bfloat", "bf16", "char", "i8",   "short", "i16",  "long",   "i64",
    "int",  "i32",    "uint", "u32",  "byte", "u8",    "fp8",  "f8e4m3", NULL,
};

bool option_parse_endian(const struct arguments *a, const struct argument *x, const char *text,
                         void *target)
{
    struct options *options = target;
    size_t place;

    if (!arguments_find_word(a, x, text, &place))
        return false;
    options->session.input.order = place == 0 ? ELEMENT_ORDER_LITTLE : ELEMENT_ORDER_BIG;
    return true;
}

const char *const option_format_aliases[] = {
    "bin",  "raw", "binary", "raw",   "h5",  "hdf5", "nc",   "hdf5", "netcdf", "hdf5", "netcdf4",
    "hdf5", "zst", "zstd",   "numpy", "npy", "gz",   "gzip", "bgzf", "gzip",   NULL,
};

/* Adds a pattern for names to those before. */
bool option_parse_pattern(const struct arguments *a, const struct argument *x, const char *text,
                          void *target)
{
    struct source_wanted *wanted = &((struct options *)target)->wanted;
    const bool exclude = x->least;

    if (wanted->count == SOURCE_PATTERNS_MAX)
        return arguments_wrong(a, "too many patterns for names at %s", text);
    wanted->patterns[wanted->count++] =
        (struct container_pattern){.pattern = text, .exclude = exclude};
    wanted->included += !exclude;
    return true;
}

/* Adds a missing value to those before. */
bool option_parse_missing(const struct arguments *a, const struct argument *x, const char *text,
                          void *target)
{
    struct missing_values *missing = &((struct options *)target)->session.missing;

    (void)x;
    if (!missing_text_is_valid(text))
        return arguments_wrong(a, "--missing takes a number or nan, not %s", text);
    if (missing->count == MISSING_VALUES_MAX)
        return arguments_wrong(a, "--missing may be given 4 times; remove %s", text);
    missing->texts[missing->count++] = text;
    return true;
}

const char *const option_nan_aliases[] = {"ignore", "skip", "omit", "skip", "fail", "error", NULL};

const char *const option_device_aliases[] = {"cuda", "gpu", "nvidia", "gpu", "host", "cpu", NULL};

const char *const option_endian_aliases[] = {"le",  "little", "<",   "little", "be",
                                             "big", ">",      "big", NULL};

/* The numbers of GPUs behind gpu: in `text`, separated by commas. */
static bool parse_gpus(const struct arguments *a, const char *text, struct session_options *session)
{
    const char *list = text + strlen("gpu:");

    session->device_count = 0;
    for (;;) {
        char *end;
        long number = strtol(list, &end, 10);

        if (*list < '0' || *list > '9' || (*end && *end != ',') || number >= 1024)
            return arguments_wrong(a, "bad list of GPUs %s", text);
        if (session->device_count == ENGINE_DEVICES_MAX)
            return arguments_wrong(a, "too many GPUs in %s", text);
        for (unsigned i = 0; i < session->device_count; i++)
            if (session->devices[i] == number)
                return arguments_wrong(a, "a GPU is named twice in %s", text);
        session->devices[session->device_count++] = (int)number;
        if (!*end)
            return true;
        list = end + 1;
    }
}

/* auto, cpu, gpu or gpu:0,2 */
bool option_parse_device(const struct arguments *a, const struct argument *x, const char *text,
                         void *target)
{
    struct session_options *session = &((struct options *)target)->session;
    size_t place;

    session->devices[0] = 0;
    session->device_count = 1;
    if (strncmp(text, "gpu:", 4) == 0) {
        session->device = DEVICE_GPU;
        return parse_gpus(a, text, session);
    }
    if (!arguments_find_word(a, x, text, &place))
        return false;
    session->device = (enum device_choice)place;
    return true;
}

bool option_parse_output(const struct arguments *a, const struct argument *x, const char *text,
                         void *target)
{
    struct options *options = target;
    const enum options_output output = (enum options_output)x->least;
    const bool json = options->output == OUTPUT_JSON || output == OUTPUT_JSON;

    (void)text;
    if (options->output != OUTPUT_TEXT &&
        (options->output == OUTPUT_PARTIAL) != (output == OUTPUT_PARTIAL))
        return arguments_wrong(a, "option %s does not go with --partial",
                               json ? "--json" : "--tsv");
    options->output = output;
    return true;
}

bool option_parse_fail_on(const struct arguments *a, const struct argument *x, const char *list,
                          void *target)
{
    struct options *options = target;

    for (;;) {
        char name[ESCAPE_QUOTE_MAX];
        size_t length = strcspn(list, ","), place;

        snprintf(name, sizeof name, "%.*s", length < 100 ? (int)length : 100, list);
        if (!arguments_find_word(a, x, name, &place))
            return false;
        options->fail_on |= 1U << place;
        if (!list[length])
            return true;
        list += length + 1;
    }
}

bool option_parse_map(const struct arguments *a, const struct argument *x, const char *text,
                      void *target)
{
    char why[RENAME_WHY_MAX], format[RENAME_WHY_MAX + 32];

    (void)x;
    if (rename_add(&((struct options *)target)->rename, text, why))
        return true;
    snprintf(format, sizeof format, "bad --map %%s: %s", why);
    return arguments_wrong(a, format, text);
}

bool option_parse_tolerance(const struct arguments *a, const struct argument *x, const char *text,
                            void *target)
{
    char bad[DIFFERENCE_LIMIT_MAX], format[160], *end;
    bool full;

    (void)x;
    if (difference_add_tolerances(&((struct options *)target)->tolerances, text, strlen(text), bad,
                                  &full))
        return true;
    if (full)
        return arguments_wrong(a, "too many tolerances for names, or too long a name, at %s", text);
    if (!(strtod(bad, &end) >= 0 && end != bad && !*end))
        return arguments_wrong(
            a, "bad tolerance %s: must be ulp:N, abs:X or rel:X, with nonnegative numbers", bad);
    snprintf(format, sizeof format,
             "bad tolerance %%s: must be ulp:N, abs:X or rel:X; did you mean 'abs:%.30s' or "
             "'rel:%.30s'?",
             bad, bad);
    return arguments_wrong(a, format, bad);
}

bool option_parse_chunk_size(const struct arguments *a, const struct argument *x, const char *text,
                             void *target)
{
    uint64_t size;

    if (!number_parse_size(text, &size))
        return arguments_bad_number(a, x, "size", text);
    if (size < 1 || size > (uint64_t)1 << 30)
        return arguments_wrong(a, "--chunk-size %s must be from 1 to 1GiB", text);
    ((struct options *)target)->session.chunk_size = (size_t)size;
    return true;
}

/* Without an argument it means what it means to zstd: the default. */
bool option_parse_long(const struct arguments *a, const struct argument *x, const char *text,
                       void *target)
{
    uint64_t log = SOURCE_WINDOW_LOG_DEFAULT;

    (void)x;
    if (text && (!number_parse_count(text, &log) || log < SOURCE_WINDOW_LOG_MIN ||
                 log > SOURCE_WINDOW_LOG_MAX))
        return arguments_wrong(a, "--long %s must be from 10 to 31", text);
    ((struct options *)target)->session.input.window_log = (int)log;
    return true;
}

bool option_parse_threads(const struct arguments *a, const struct argument *x, const char *text,
                          void *target)
{
    uint64_t threads;

    (void)x;
    if (!number_parse_count(text, &threads) || threads < 1 || threads > OPTIONS_THREADS_MAX)
        return arguments_wrong(a, "--threads %s must be from 1 to 4096", text);
    _Static_assert(OPTIONS_THREADS_MAX == 4096, "as the message says");
    ((struct options *)target)->session.threads = (unsigned)threads;
    return true;
}

/*
 * Along an axis.
 */

bool option_parse_axis(const struct arguments *a, const struct argument *x, const char *text,
                       void *target)
{
    struct axis_request *axis = &((struct options *)target)->axis;
    const char *at = text;

    (void)x;
    for (unsigned i = 0;; i++) {
        const bool negative = *at == '-';
        const size_t length = strcspn(at, ",");
        char digits[32] = "";
        uint64_t number;
        int64_t found;

        if (length - negative < sizeof digits)
            memcpy(digits, at + negative, length - negative);
        if (!number_parse_count(digits, &number))
            return arguments_wrong(a, "bad axis %s: must be an integer, or several", text);
        found = negative ? -(int64_t)number : (int64_t)number;
        if (i == 0)
            axis->axis = found;
        else if (negative != (axis->axis < 0) || (uint64_t)found != (uint64_t)axis->axis + i)
            return arguments_wrong(a, "the axes %s are not neighbours in ascending order", text);
        axis->more = i;
        if (!at[length])
            return true;
        at += length + 1;
    }
}

bool option_parse_shape(const struct arguments *a, const struct argument *x, const char *text,
                        void *target)
{
    struct array_shape *shape = &((struct options *)target)->axis.shape;
    const char *at = text;
    bool open = false;

    (void)x;
    *shape = (struct array_shape){.known = true};
    for (;;) {
        const size_t length = strcspn(at, ",");
        char size[32] = "";
        uint64_t number = AXIS_SIZE_OPEN;

        if (length < sizeof size)
            memcpy(size, at, length);
        if (strcmp(size, "-1") == 0 && !open)
            open = true;
        else if (!number_parse_count(size, &number))
            return arguments_wrong(
                a, "bad shape %s: must be sizes separated by commas, of which one may be -1", text);
        if (shape->dimensions == ARRAY_DIMENSIONS_MAX)
            return arguments_wrong(a, "the shape %s has more than 64 dimensions", text);
        _Static_assert(ARRAY_DIMENSIONS_MAX == 64, "as the message says");
        shape->sizes[shape->dimensions++] = number;
        if (!at[length])
            return true;
        at += length + 1;
    }
}

bool axis_goes_with(struct options *options, const struct arguments *a)
{
    if (options->command != COMMAND_AXIS)
        return true;
    if (options->session.wants & PARTIAL_DIGEST)
        return arguments_wrong(a, "%s cannot be computed along an axis", "digest");
    for (size_t i = 0; i < options->operation_count && options->axis.more > 0; i++)
        if (options->operations[i]->wants & PARTIAL_WHERE)
            return arguments_wrong(a, "%s is computed along one axis",
                                   options->operations[i]->name);
    if (options->axis_output && options->output != OUTPUT_TEXT)
        return arguments_wrong(a, "option %s does not go with --output",
                               options->output == OUTPUT_JSON ? "--json" : "--tsv");
    if (options->axis_output && options->file_count > 1)
        return arguments_wrong(a, "option %s is for one file", "--output");
    if (options->axis_output && strcmp(options->axis_output, "-") == 0)
        return arguments_wrong(a, "%s names no file; use --output=/dev/stdout", "--output=-");
    /* --op=summary leaves its quantiles out: they may take memory for all elements. */
    for (size_t i = 0, kept = 0, count = options->operation_count; i < count; i++) {
        const uint32_t quantile = operation_quantile(options->operations[i]);

        if (!(quantile & ~options->session.passes.required))
            options->operations[kept++] = options->operations[i];
        options->operation_count = kept;
    }
    pass_request_drop_optional(&options->session.passes);
    return true;
}
