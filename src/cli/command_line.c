#include "config.h"

#include "cli/command_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/failure.h"
#include "cli/message.h"
#include "cli/process.h"
#include "cli/rows.h"
#include "core/nearest.h"
#include "core/number.h"
#include "sys/escape.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define MEMBER(name) offsetof(struct options, name)

/*
 * The values of options that take more than a table to read. The target of each is the whole of
 * struct options. Parsers read `text`, the value of `x`, and set what it means; they return false,
 * and have said why, if it is not one. Words are in the order of their enums; aliases are words of
 * others, and ours.
 */

/* Reads the count that the first `length` characters of a text are. */
static bool read_count(const char *text, size_t length, uint64_t *count)
{
    char digits[32];

    snprintf(digits, sizeof digits, "%.*s", length < sizeof digits ? (int)length : 0, text);
    return number_parse_count(digits, count);
}

/* Says that there is no room for the quantile that `list` begins with. Returns false. */
static bool quantiles_full(const char *list)
{
    _Static_assert(RESULT_QUANTILES_MAX == 32, "as the message says, beside the median");
    return arguments_wrong("too many quantiles at %s: at most 31 besides the median", list);
}

/* Names that other programs give to operations. */
static const char *const operation_aliases[] = {
    "avg",      "mean",    "average", "mean",    "sd",     "std",    "size",      "count",
    "len",      "count",   "n",       "count",   "norm",   "l2",     "ptp",       "range",
    "total",    "sum",     "maxabs",  "absmax",  "minabs", "absmin", "quartiles", "summary",
    "describe", "summary", "stats",   "summary", NULL,
};

/* Prints that there is no such operation, and which may be meant: p99,9 is two. */
static bool unknown_operation(const struct argument *x, const char *name, const char *before,
                              size_t before_length)
{
    char near[NEAREST_MAX], format[64 + NEAREST_MAX];
    struct quantile quantile;

    if (*name && name[strspn(name, "0123456789")] == 0 && before && before_length < 20 &&
        quantile_parse(before, before_length, &quantile) && !memchr(before, '.', before_length))
        snprintf(near, sizeof near, "%.*s.%.20s", (int)before_length, before, name);
    else if (!nearest_quantile(name, near))
        return arguments_unknown_word(x, name);
    snprintf(format, sizeof format, "unknown %s %%s; did you mean '%s'?", x->what, near);
    return arguments_wrong(format, name);
}

/* Adds one, or says that it is a quantile too many where it is NULL; `list`, which begins with it,
   is for the message. */
static bool add_operation(const struct operation *op, const char *list, struct options *options)
{
    if (!op)
        return quantiles_full(list);
    if (options->operation_count == OPTIONS_OPERATIONS_MAX)
        return arguments_wrong("too many operations at %s", list);
    options->operations[options->operation_count++] = op;
    return true;
}

/* Adds the operations that `list` names, separated by commas; of a group, if it is that of one.
   NOLINTNEXTLINE(misc-no-recursion): groups name no groups */
static bool add_operations(const struct argument *x, const char *list, bool of_group,
                           struct options *options)
{
    const char *before = NULL;
    size_t before_length = 0;

    for (;;) {
        size_t length = strcspn(list, ",");
        const struct operation *op = operation_find(&options->named, list, length);
        const struct operation_group *group = operation_group_find(list, length);

        if (operation_beyond(&options->named, list, length))
            return quantiles_full(list);
        if (!op && !group) {
            char name[ESCAPE_QUOTE_MAX];
            snprintf(name, sizeof name, "%.*s", length < 100 ? (int)length : 100, list);
            return unknown_operation(x, name, before, before_length);
        }
        if (group && !add_operations(x, group->list, true, options))
            return false;
        if (op && !add_operation(op, list, options))
            return false;
        if (op && !of_group)
            options->session.passes.required |= operation_quantile(op);
        if (!list[length])
            return true;
        before = list;
        before_length = length;
        list += length + 1;
    }
}

static bool parse_operations(const struct argument *x, const char *list, void *target)
{
    return add_operations(x, list, false, target);
}

static const char *const histogram_words[] = {"exponent", NULL};
static const char *const endian_words[] = {"little", "big", NULL};
static const char *const device_words[] = {
    [DEVICE_AUTO] = "auto", [DEVICE_CPU] = "cpu", [DEVICE_GPU] = "gpu", NULL};
static const char *const number_words[] = {
    [NUMBER_DECIMAL] = "decimal", [NUMBER_HEX] = "hex", NULL};
static const char *const fail_on_words[] = {"nan", "inf", "empty", "missing",
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
static bool parse_histogram(const struct argument *x, const char *text, void *target)
{
    struct histogram_request *h = &((struct options *)target)->session.passes.histogram;
    const size_t length = strcspn(text, ",");
    uint64_t count;

    (void)x;
    *h = (struct histogram_request){.kind = HISTOGRAM_EXPONENTS};
    if (strcmp(text, histogram_words[0]) == 0)
        return true;
    h->kind = HISTOGRAM_BINS;
    if (!read_count(text, length, &count))
        return arguments_wrong("bad histogram %s: must be BINS, BINS,LO,HI or exponent", text);
    if (count < 1 || count > HISTOGRAM_BINS_MAX)
        return arguments_wrong("--histogram %s: the number of bins must be from 1 to 65536", text);
    _Static_assert(HISTOGRAM_BINS_MAX == 65536, "as the message says");
    h->bins = (uint32_t)count;
    if (text[length] && !parse_range(text + length + 1, h))
        return arguments_wrong("--histogram %s: the range must be LO,HI, two finite numbers such "
                               "as -1,0.5, with LO less than HI",
                               text);
    return true;
}

static const char *dtype_word(size_t i)
{
    return i < ELEMENT_TYPES ? element_name((enum element_type)i) : NULL;
}

static bool parse_dtype(const struct argument *x, const char *text, void *target)
{
    struct options *options = target;
    enum element_order order;

    if (options->session.input.record.bytes > 0)
        return arguments_wrong("option %s does not go with --record", "--dtype");
    if (!element_parse(text, &options->session.input.type, &order)) {
        const struct element_foreign *foreign = element_find_foreign(text);
        char format[200];

        if (!foreign)
            return arguments_unknown_word(x, text);
        snprintf(format, sizeof format, "dtype %%s is %s%s%s%s", foreign->what,
                 foreign->read_as ? ": give -t " : "", foreign->read_as ? foreign->read_as : "",
                 foreign->read_as && *text == '>' ? " --endian=big" : "");
        return arguments_wrong(format, text);
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
    uint64_t count = 1, size;
    char name[32];
    enum element_type type;
    enum element_order order = ELEMENT_ORDER_UNSAID;

    if (digits >= length || length - digits >= sizeof name ||
        (digits > 0 && !read_count(text, digits, &count)) || count == 0 || count > INT32_MAX)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(length - digits), text + digits);
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
static bool parse_record(const struct argument *x, const char *text, void *target)
{
    struct source_options *input = &((struct options *)target)->session.input;
    const char *const colon = strrchr(text, ':');
    uint64_t field, number = 0, bytes = 0;
    bool good = colon && number_parse_count(colon + 1, &field);

    (void)x;
    if (input->type_given)
        return arguments_wrong("option %s does not go with --record", "--dtype");
    for (const char *at = text; good && at <= colon; number++) {
        const size_t length = strcspn(at, ",:");

        good = add_field(at, length, number == field, input, &bytes);
        at += length + 1;
    }
    if (!good || field >= number)
        return arguments_wrong(
            "bad record %s: must be TYPE,TYPE,...:FIELD, with NumPy's types (f4, "
            "<i8, 3f4; V2: 2 bytes) and the number of one of numbers, from 0",
            text);
    input->record.bytes = bytes;
    return true;
}

/* Any of the names of types. */
static const char *dtype_near(size_t i)
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

static const char *const dtype_aliases[] = {
    "fp16", "f16",    "half", "f16",  "fp32", "f32",   "real", "f32",    "fp64",
    "f64",  "bfloat", "bf16", "char", "i8",   "short", "i16",  "long",   "i64",
    "int",  "i32",    "uint", "u32",  "byte", "u8",    "fp8",  "f8e4m3", NULL,
};

static const char *const format_aliases[] = {
    "bin",  "raw", "binary", "raw",   "h5",  "hdf5", "nc",   "hdf5", "netcdf", "hdf5", "netcdf4",
    "hdf5", "zst", "zstd",   "numpy", "npy", "gz",   "gzip", "bgzf", "gzip",   NULL,
};

/* Adds a pattern for names to those before. */
static bool parse_pattern(const struct argument *x, const char *text, void *target)
{
    struct source_wanted *wanted = &((struct options *)target)->wanted;
    const bool exclude = x->least;

    if (wanted->count == SOURCE_PATTERNS_MAX)
        return arguments_wrong("too many patterns for names at %s", text);
    wanted->patterns[wanted->count++] =
        (struct container_pattern){.pattern = text, .exclude = exclude};
    wanted->included += !exclude;
    return true;
}

/* Adds a missing value to those before. */
static bool parse_missing(const struct argument *x, const char *text, void *target)
{
    struct missing_values *missing = &((struct options *)target)->session.missing;

    (void)x;
    if (!missing_text_is_valid(text))
        return arguments_wrong("--missing takes a number or nan, not %s", text);
    if (missing->count == MISSING_VALUES_MAX)
        return arguments_wrong("--missing may be given 4 times; remove %s", text);
    missing->texts[missing->count++] = text;
    return true;
}

static const char *const nan_aliases[] = {"ignore", "skip", "omit", "skip", "fail", "error", NULL};

static const char *const device_aliases[] = {"cuda", "gpu", "nvidia", "gpu", "host", "cpu", NULL};

static const char *const endian_aliases[] = {"le",  "little", "<",   "little", "be",
                                             "big", ">",      "big", NULL};

/* The numbers of GPUs behind gpu: in `text`, separated by commas. */
static bool parse_gpus(const char *text, struct session_options *session)
{
    const char *list = text + strlen("gpu:");

    session->device_count = 0;
    for (;;) {
        const size_t length = strcspn(list, ",");
        uint64_t number;

        if (!read_count(list, length, &number) || number >= 1024)
            return arguments_wrong("bad list of GPUs %s", text);
        if (session->device_count == ENGINE_DEVICES_MAX)
            return arguments_wrong("too many GPUs in %s", text);
        for (unsigned i = 0; i < session->device_count; i++)
            if (session->devices[i] == (int)number)
                return arguments_wrong("a GPU is named twice in %s", text);
        session->devices[session->device_count++] = (int)number;
        if (!list[length])
            return true;
        list += length + 1;
    }
}

/* auto, cpu, gpu or gpu:0,2 */
static bool parse_device(const struct argument *x, const char *text, void *target)
{
    struct session_options *session = &((struct options *)target)->session;
    size_t place;

    session->devices[0] = 0;
    session->device_count = 1;
    if (strncmp(text, "gpu:", 4) == 0) {
        session->device = DEVICE_GPU;
        return parse_gpus(text, session);
    }
    if (!arguments_find_word(x, text, &place))
        return false;
    session->device = (enum device_choice)place;
    return true;
}

/* The last of --json and --tsv counts; --partial goes with neither. */
static bool parse_output(const struct argument *x, const char *text, void *target)
{
    struct options *options = target;
    const enum options_output output = (enum options_output)x->least;
    const bool json = options->output == OUTPUT_JSON || output == OUTPUT_JSON;

    (void)text;
    if (options->output != OUTPUT_TEXT &&
        (options->output == OUTPUT_PARTIAL) != (output == OUTPUT_PARTIAL))
        return arguments_wrong("option %s does not go with --partial", json ? "--json" : "--tsv");
    options->output = output;
    return true;
}

static bool parse_fail_on(const struct argument *x, const char *list, void *target)
{
    struct options *options = target;

    for (;;) {
        char name[ESCAPE_QUOTE_MAX];
        size_t length = strcspn(list, ","), place;

        snprintf(name, sizeof name, "%.*s", length < 100 ? (int)length : 100, list);
        if (!arguments_find_word(x, name, &place))
            return false;
        options->fail_on |= 1U << place;
        if (!list[length])
            return true;
        list += length + 1;
    }
}

static bool parse_map(const struct argument *x, const char *text, void *target)
{
    char why[RENAME_WHY_MAX], format[RENAME_WHY_MAX + 32];

    (void)x;
    if (rename_add(&((struct options *)target)->rename, text, why))
        return true;
    snprintf(format, sizeof format, "bad --map %%s: %s", why);
    return arguments_wrong(format, text);
}

static bool parse_tolerance(const struct argument *x, const char *text, void *target)
{
    char bad[DIFFERENCE_LIMIT_MAX], format[160], *end;
    bool full;

    (void)x;
    if (difference_add_tolerances(&((struct options *)target)->tolerances, text, strlen(text), bad,
                                  &full))
        return true;
    if (full)
        return arguments_wrong("too many tolerances for names, or too long a name, at %s", text);
    if (!(strtod(bad, &end) >= 0 && end != bad && !*end))
        return arguments_wrong(
            "bad tolerance %s: must be ulp:N, abs:X or rel:X, with nonnegative numbers", bad);
    snprintf(format, sizeof format,
             "bad tolerance %%s: must be ulp:N, abs:X or rel:X; did you mean 'abs:%.30s' or "
             "'rel:%.30s'?",
             bad, bad);
    return arguments_wrong(format, bad);
}

static bool parse_chunk_size(const struct argument *x, const char *text, void *target)
{
    uint64_t size;

    if (!number_parse_size(text, &size))
        return arguments_bad_number(x, "size", text);
    if (size < 1 || size > (uint64_t)1 << 30)
        return arguments_wrong("--chunk-size %s must be from 1 to 1GiB", text);
    ((struct options *)target)->session.chunk_size = (size_t)size;
    return true;
}

/* Without an argument it means what it means to zstd: the default. */
static bool parse_long(const struct argument *x, const char *text, void *target)
{
    uint64_t log = SOURCE_WINDOW_LOG_DEFAULT;

    (void)x;
    if (text && (!number_parse_count(text, &log) || log < SOURCE_WINDOW_LOG_MIN ||
                 log > SOURCE_WINDOW_LOG_MAX))
        return arguments_wrong("--long %s must be from 10 to 31", text);
    ((struct options *)target)->session.input.window_log = (int)log;
    return true;
}

static bool parse_threads(const struct argument *x, const char *text, void *target)
{
    uint64_t threads;

    (void)x;
    if (!number_parse_count(text, &threads) || threads < 1 || threads > OPTIONS_THREADS_MAX)
        return arguments_wrong("--threads %s must be from 1 to 4096", text);
    _Static_assert(OPTIONS_THREADS_MAX == 4096, "as the message says");
    ((struct options *)target)->session.threads = (unsigned)threads;
    return true;
}

/*
 * Along an axis.
 */

static bool parse_axis(const struct argument *x, const char *text, void *target)
{
    struct axis_request *axis = &((struct options *)target)->axis;
    const char *at = text;

    (void)x;
    for (unsigned i = 0;; i++) {
        const bool negative = *at == '-';
        const size_t length = strcspn(at, ",");
        uint64_t number;
        int64_t found;

        if (!read_count(at + negative, length - negative, &number))
            return arguments_wrong("bad axis %s: must be an integer, or several", text);
        found = negative ? -(int64_t)number : (int64_t)number;
        if (i == 0)
            axis->axis = found;
        else if (negative != (axis->axis < 0) || (uint64_t)found != (uint64_t)axis->axis + i)
            return arguments_wrong("the axes %s are not neighbours in ascending order", text);
        axis->more = i;
        if (!at[length])
            return true;
        at += length + 1;
    }
}

static bool parse_shape(const struct argument *x, const char *text, void *target)
{
    struct array_shape *shape = &((struct options *)target)->axis.shape;
    const char *at = text;
    bool open = false;

    (void)x;
    *shape = (struct array_shape){.known = true};
    for (;;) {
        const size_t length = strcspn(at, ",");
        uint64_t number = AXIS_SIZE_OPEN;

        if (length == 2 && memcmp(at, "-1", 2) == 0 && !open)
            open = true;
        else if (!read_count(at, length, &number))
            return arguments_wrong(
                "bad shape %s: must be sizes separated by commas, of which one may be -1", text);
        if (shape->dimensions == ARRAY_DIMENSIONS_MAX)
            return arguments_wrong("the shape %s has more than 64 dimensions", text);
        _Static_assert(ARRAY_DIMENSIONS_MAX == 64, "as the message says");
        shape->sizes[shape->dimensions++] = number;
        if (!at[length])
            return true;
        at += length + 1;
    }
}

static const char *const shard_words[] = {"auto", NULL};

/*
 * --shard=auto: from the variables of those who start many processes.
 */

/* The number in a variable. False where there is none. */
static bool get_number(const char *name, uint64_t *number)
{
    const char *text = getenv(name);

    return text && number_parse_count(text, number);
}

/* The number in a variable. False, after an error, where there is none. */
static bool need_number(const char *name, uint64_t *number)
{
    return get_number(name, number) ||
           arguments_wrong(getenv(name) ? "--shard=auto: %s is not a number from 0 on"
                                        : "--shard=auto: %s is not set",
                           name);
}

/* Makes each of the shards so far `of` shards, and takes the one with this number, from 0 on. False
   where there is no such number. */
static bool divide(struct shard *shard, uint64_t number, uint64_t of)
{
    if (of == 0 || number >= of || of > SHARDS_MAX / shard->of)
        return false;
    shard->number = (shard->number - 1) * of + number + 1;
    shard->of *= of;
    return true;
}

/* Takes the place of task number `id` in a Slurm array of `count` tasks, whose numbers may begin anywhere
   and go up in steps. */
static bool divide_by_array(struct shard *shard, uint64_t id, uint64_t count)
{
    uint64_t least, most, step;

    if (!get_number("SLURM_ARRAY_TASK_MIN", &least))
        least = 0;
    if (!get_number("SLURM_ARRAY_TASK_MAX", &most))
        most = least + count - 1;
    if (count == 0 || most < least || id < least)
        return false;
    step = count > 1 ? (most - least) / (count - 1) : 1;
    /* The numbers of --array=1,2,7 are not evenly spaced. */
    if (step == 0 || least + (count - 1) * step != most || (id - least) % step != 0)
        return false;
    return divide(shard, (id - least) / step, count);
}

/* Takes the shard from the environment. */
static bool find_shard(struct shard *shard)
{
    static const char *const launchers[][2] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"PMI_RANK", "PMI_SIZE"},
        {"SLURM_PROCID", "SLURM_NTASKS"},
    };
    const bool array = getenv("SLURM_ARRAY_TASK_ID");
    uint64_t number, of;

    *shard = (struct shard){1, 1};
    if (array && (!need_number("SLURM_ARRAY_TASK_ID", &number) ||
                  !need_number("SLURM_ARRAY_TASK_COUNT", &of)))
        return false;
    if (array && !divide_by_array(shard, number, of))
        return arguments_wrong(
            "--shard=%s: the task numbers of the Slurm array are not evenly spaced", "auto");
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (!getenv(launchers[i][0]))
            continue;
        if (!need_number(launchers[i][0], &number) || !need_number(launchers[i][1], &of))
            return false;
        if (number >= of)
            return arguments_wrong("--shard=auto: %s is not below the number of processes",
                                   launchers[i][0]);
        return divide(shard, number, of) ||
               arguments_wrong("--shard=auto: %s makes more than 1048576 shards", launchers[i][1]);
    }
    if (!array)
        return arguments_wrong(
            "--shard=%s: none of the variables of Open MPI, PMI and Slurm is set", "auto");
    return true;
}

/* I/N */
static bool read_shard(const char *text, struct shard *shard)
{
    const size_t length = strcspn(text, "/");

    return text[length] && read_count(text, length, &shard->number) &&
           number_parse_count(text + length + 1, &shard->of) && shard->number >= 1 &&
           shard->number <= shard->of && shard->of <= SHARDS_MAX;
}

static bool parse_shard(const struct argument *x, const char *text, void *target)
{
    struct shard *shard = &((struct options *)target)->shard;

    (void)x;
    _Static_assert(SHARDS_MAX == 1048576, "as the message says");
    if (strcmp(text, shard_words[0]) == 0)
        return find_shard(shard);
    return read_shard(text, shard) ||
           arguments_wrong("bad shard %s: must be I/N, where I is from 1 to N and N at most "
                           "1048576, or auto",
                           text);
}

/*
 * Rows: --sort and --where.
 */

static const char *const fields[] = {
    [ROW_NAME - 1] = "name",
    [ROW_DTYPE - 1] = "dtype",
    [ROW_ELEMENTS - 1] = "elements",
    [ROW_BYTES - 1] = "bytes",
};
#define FIELDS (sizeof fields / sizeof *fields)

static bool is_compared(const struct operation *op)
{
    return op->kind != OPERATION_DIGEST;
}

static const char *row_word(size_t i)
{
    if (i < FIELDS)
        return fields[i];
    i -= FIELDS;
    for (size_t k = 0; k < operation_table_count; k++)
        if (is_compared(&operation_table[k]) && i-- == 0)
            return operation_table[k].name;
    for (size_t k = 0; k < DIFFERENCE_VALUES; k++)
        if (k != DIFFERENCE_NAN && k != DIFFERENCE_MISSING &&
            i-- == 0) /* operations have these names, too */
            return difference_value_names[k];
    return NULL;
}

static const char *condition_word(size_t i)
{
    _Static_assert(ROW_NAME == 1 && ROW_DTYPE == 2, "which are not compared with numbers");
    return row_word(i + 2);
}

/* Reads what rows are compared by, the first `length` characters of `name`. */
static bool parse_key(const struct argument *x, const char *name, size_t length,
                      struct operation_set *named, struct row_key *key)
{
    char shown[ESCAPE_QUOTE_MAX];

    *key = (struct row_key){0};
    for (size_t i = 0; i < FIELDS; i++)
        if (strlen(fields[i]) == length && memcmp(fields[i], name, length) == 0)
            key->field = (enum row_field)(i + 1);
    if (key->field != ROW_UNASKED)
        return true;
    key->field = ROW_OPERATION;
    while (key->result < DIFFERENCE_VALUES &&
           (strlen(difference_value_names[key->result]) != length ||
            memcmp(difference_value_names[key->result], name, length) != 0))
        key->result++;
    key->op = operation_find(named, name, length);
    snprintf(shown, sizeof shown, "%.*s", length < 100 ? (int)length : 100, name);
    if (operation_beyond(named, name, length))
        return quantiles_full(shown);
    if (key->op && !is_compared(key->op))
        key->op = NULL;
    return key->op || key->result < DIFFERENCE_VALUES || arguments_unknown_word(x, shown);
}

static bool parse_sort(const struct argument *x, const char *text, void *target)
{
    struct rows_request *rows = &((struct options *)target)->rows;

    rows->descending = *text == '-';
    text += rows->descending;
    return parse_key(x, text, strlen(text), &((struct options *)target)->named, &rows->sort);
}

/* Reads one of the signs at `text`. Returns what is behind it, NULL where there is none. */
static const char *parse_relation(const char *text, enum row_relation *relation)
{
    static const struct {
        const char *sign;
        enum row_relation relation;
    } signs[] = {
        {"<=", ROW_AT_MOST}, {">=", ROW_AT_LEAST}, {"==", ROW_EQUAL}, {"!=", ROW_UNEQUAL},
        {"<", ROW_LESS},     {">", ROW_GREATER},   {"=", ROW_EQUAL},
    };

    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        const size_t length = strlen(signs[i].sign);

        if (strncmp(text, signs[i].sign, length) != 0)
            continue;
        *relation = signs[i].relation;
        return text + length;
    }
    return NULL;
}

/* NAME<NUMBER, or with another sign; there may be spaces around it. */
static bool parse_where(const struct argument *x, const char *text, void *target)
{
    struct rows_request *rows = &((struct options *)target)->rows;
    struct row_condition *c = &rows->conditions[rows->count];
    const size_t length = strcspn(text, " <>=!");
    const char *at = text + length;
    double number;

    if (rows->count == ROWS_CONDITIONS_MAX)
        return arguments_wrong("too many --where at %s", text);
    at = parse_relation(at + strspn(at, " "), &c->relation);
    c->number = at ? at + strspn(at, " ") : "";
    if (!number_parse(c->number, ELEMENT_F64, &number))
        return arguments_wrong("bad condition %s: must be a name, one of < <= = == != > >=, and a "
                               "number",
                               text);
    if (number != number)
        return arguments_wrong("bad condition %s: nan is equal to no number; nan>0 finds NaNs",
                               text);
    if (!parse_key(x, text, length, &((struct options *)target)->named, &c->key))
        return false;
    if (c->key.field == ROW_NAME || c->key.field == ROW_DTYPE)
        return arguments_wrong(
            "bad condition %s: names are not compared with numbers; --array chooses by name", text);
    rows->count++;
    return true;
}

/*
 * The options, and which go with which.
 */

/* The modes that options go with: a command, of which two have another output with --partial. */
enum mode {
    M_REDUCE = 1,
    M_PARTIAL = 2, /* to reduce, with --partial */
    M_AXIS = 4,
    M_DIFF = 8,
    M_MERGE = 16,
    M_MERGE_PARTIAL = 32,
    M_LIST = 64,
    M_CHECK = 128,
    M_ALL = 255,
    M_ALONE = 256 /* not among ranks */
};

static const struct argument table[] = {
    {.name = "op",
     .group = "Results",
     .common = true,
     .letter = 'o',
     .value = "LIST",
     .parse = parse_operations,
     .what = "operation",
     .word = operation_word,
     .other = "a quantile such as q0.25 or p99.9",
     .aliases = operation_aliases,
     .completion = COMPLETE_LIST,
     .modes = M_ALL & ~(M_DIFF | M_CHECK),
     .help = "results to print (default sum,min,max,mean)"},
    {.name = "ddof",
     .value = "N",
     .kind = ARGUMENT_COUNT,
     .target = MEMBER(session.ddof),
     .what = "degrees of freedom",
     .modes = M_ALL & ~(M_DIFF),
     .help = "divide var and std by the count less N"},
    {.name = "nan",
     .common = true,
     .value = "POLICY",
     .kind = ARGUMENT_WORD,
     .target = MEMBER(session.nan),
     .what = "NaN policy",
     .words = nan_policy_words,
     .aliases = nan_aliases,
     .help = "what NaNs do: propagate (default), skip, error"},
    {.name = "histogram",
     .value = "BINS",
     .parse = parse_histogram,
     .words = histogram_words,
     .modes = M_REDUCE | M_LIST,
     .help = "count in BINS[,LO,HI] bins, or by exponent"},
    {.name = "plot",
     .value = "FILE",
     .kind = ARGUMENT_TEXT,
     .target = MEMBER(plot),
     .completion = COMPLETE_FILE,
     .modes = M_REDUCE | M_LIST,
     .help = "draw the histogram into FILE (.svg or .png)"},
    {.name = "total",
     .kind = ARGUMENT_SET,
     .target = MEMBER(total),
     .modes = M_ALL & ~(M_AXIS | M_DIFF | M_CHECK),
     .help = "print one result for all files together, too"},
    {.name = "fail-on",
     .value = "LIST",
     .parse = parse_fail_on,
     .what = "condition",
     .words = fail_on_words,
     .completion = COMPLETE_LIST,
     .modes = M_ALL & ~(M_AXIS | M_DIFF | M_LIST),
     .help = "exit with 1 on nan, inf, missing, empty input"},
    {.name = "dtype",
     .group = "Input",
     .common = true,
     .letter = 't',
     .value = "TYPE",
     .parse = parse_dtype,
     .word = dtype_word,
     .near = dtype_near,
     .aliases = dtype_aliases,
     .other = "a name of NumPy's or safetensors', such as float32, >i4 or BF16",
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL),
     .help = "type of raw elements (default f32)"},
    {.name = "endian",
     .common = true,
     .value = "ORDER",
     .kind = ARGUMENT_WORD,
     .target = MEMBER(session.input.order),
     .least = ELEMENT_ORDER_LITTLE,
     .what = "byte order",
     .words = endian_words,
     .aliases = endian_aliases,
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL),
     .help = "byte order: little (default) or big",
     .joined = "little (default) or big; one field"},
    {.name = "record",
     .value = "RECORD",
     .parse = parse_record,
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL),
     .help = "only field I, from 0, of packed records: f4,i8,f4:1"},
    {.name = "skip",
     .common = true,
     .value = "SIZE",
     .kind = ARGUMENT_SIZE,
     .target = MEMBER(session.input.skip),
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL),
     .help = "skip SIZE bytes at the start of raw input",
     .joined = "skip SIZE bytes; reduce only N elements"},
    {.name = "length",
     .value = "N",
     .kind = ARGUMENT_COUNT,
     .target = MEMBER(session.input.length),
     .what = "number of elements",
     .modes = M_ALL & ~(M_AXIS | M_MERGE | M_MERGE_PARTIAL),
     .help = "reduce only the first N elements"},
    {.name = "array",
     .common = true,
     .value = "GLOB",
     .parse = parse_pattern,
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL | M_CHECK),
     .help = "reduce only arrays whose names match GLOB",
     .joined = "only arrays that match; that do not"},
    {.name = "exclude",
     .value = "GLOB",
     .parse = parse_pattern,
     .least = true,
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL | M_CHECK),
     .help = "leave out arrays whose names match GLOB"},
    {.name = "skip-unsupported",
     .kind = ARGUMENT_SET,
     .target = MEMBER(session.input.skip_unsupported),
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL),
     .help = "leave out arrays that cannot be read"},
    {.name = "missing",
     .value = "VALUE",
     .parse = parse_missing,
     .modes = M_REDUCE | M_PARTIAL | M_AXIS | M_LIST | M_DIFF | M_CHECK,
     .help = "elements equal to VALUE, or nan, are no data",
     .joined = "VALUE is no data; ignore attributes"},
    {.name = "stored",
     .kind = ARGUMENT_SET,
     .target = MEMBER(session.input.stored),
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL),
     .help = "numbers as stored, without netCDF attributes"},
    {.name = "format",
     .value = "FMT",
     .kind = ARGUMENT_WORD,
     .target = MEMBER(session.input.format),
     .words = source_format_words,
     .aliases = format_aliases,
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL),
     .help = "format of the input (default auto)"},
    {.name = "long",
     .value = "N",
     .optional = true,
     .parse = parse_long,
     .help = "accept zstd windows of up to 2^N bytes (default 27)",
     .joined = "zstd windows up to 2^N; no checksums"},
    {.name = "no-check",
     .kind = ARGUMENT_SET,
     .target = MEMBER(session.input.no_check),
     .help = "do not verify the checksums of zstd frames"},
    {.name = "axis",
     .group = "Axis",
     .value = "N,...",
     .parse = parse_axis,
     .modes = M_AXIS | M_ALONE,
     .mode = M_AXIS,
     .help = "reduce along axis N, or neighbours; -1 is last"},
    {.name = "shape",
     .value = "A,B,...",
     .parse = parse_shape,
     .modes = M_AXIS,
     .help = "dimensions of raw input for --axis, in C order"},
    {.name = "output",
     .value = "FILE",
     .kind = ARGUMENT_TEXT,
     .target = MEMBER(axis_output),
     .completion = COMPLETE_FILE,
     .modes = M_AXIS,
     .help = "write the results of --axis into FILE, a .npy"},
    {.name = "diff",
     .group = "Compare",
     .kind = ARGUMENT_MODE,
     .modes = M_DIFF | M_ALONE,
     .mode = M_DIFF,
     .help = "compare two files, array by array",
     .joined = "compare two files; ulp:N, abs:X or rel:X"},
    {.name = "tolerance",
     .value = "LIST",
     .parse = parse_tolerance,
     .modes = M_DIFF,
     .help = "with --diff, tolerate small differences"},
    {.name = "map",
     .value = "S",
     .parse = parse_map,
     .modes = M_DIFF,
     .help = "with --diff, s/REGEX/NAME/ before names match"},
    {.name = "cast",
     .kind = ARGUMENT_SET,
     .target = MEMBER(cast),
     .modes = M_DIFF,
     .help = "with --diff, is B what rounding A gives?",
     .joined = "is B what rounding A gives? of any types"},
    {.name = "ignore-dtype",
     .kind = ARGUMENT_SET,
     .target = MEMBER(ignore_dtype),
     .modes = M_DIFF,
     .help = "with --diff, only values count, not types"},
    {.name = "check",
     .value = "FILE",
     .kind = ARGUMENT_TEXT,
     .target = MEMBER(check),
     .completion = COMPLETE_FILE,
     .modes = M_CHECK | M_ALONE,
     .mode = M_CHECK,
     .help = "compare with what --json or --tsv wrote"},
    {.name = "list",
     .group = "Output",
     .common = true,
     .kind = ARGUMENT_MODE,
     .modes = M_LIST,
     .mode = M_LIST,
     .help = "list the arrays of files, without reducing"},
    {.name = "where",
     .value = "CONDITION",
     .parse = parse_where,
     .what = "result",
     .word = condition_word,
     .aliases = operation_aliases,
     .other = "a quantile such as q0.25 or p99.9",
     .completion = COMPLETE_NOTHING,
     .modes = M_REDUCE | M_LIST | M_MERGE | M_DIFF,
     .help = "only rows for which CONDITION holds: nan>0",
     .joined = "only rows with, say, nan>0; sorted"},
    {.name = "sort",
     .value = "NAME",
     .parse = parse_sort,
     .what = "result",
     .word = row_word,
     .aliases = operation_aliases,
     .other = "a quantile such as q0.25 or p99.9",
     .modes = M_REDUCE | M_LIST | M_MERGE | M_DIFF,
     .help = "sort rows by a result or name; -NAME descends"},
    {.name = "json",
     .common = true,
     .parse = parse_output,
     .least = OUTPUT_JSON,
     .modes = M_ALL & ~(M_CHECK),
     .help = "print one JSON object per file or array",
     .joined = "one JSON object per file or array; a table"},
    {.name = "tsv",
     .common = true,
     .parse = parse_output,
     .least = OUTPUT_TSV,
     .modes = M_ALL & ~(M_CHECK),
     .help = "print a table with tabs between the values"},
    {.name = "number",
     .value = "FORM",
     .kind = ARGUMENT_WORD,
     .target = MEMBER(number),
     .what = "form of numbers",
     .words = number_words,
     .help = "print numbers in decimal (default) or hex"},
    {.name = "quiet",
     .common = true,
     .letter = 'q',
     .kind = ARGUMENT_SET,
     .target = MEMBER(quiet),
     .help = "print only the values, one per line",
     .joined = "only the values; what each stage did"},
    {.name = "verbose",
     .letter = 'v',
     .kind = ARGUMENT_SET,
     .target = MEMBER(verbose),
     .help = "print what each stage did, and the bottleneck"},
    {.name = "progress",
     .kind = ARGUMENT_CHOICE,
     .target = MEMBER(asked),
     .least = PROGRESS_SHOWN,
     .help = "show progress (default on a terminal, without -q)",
     .joined = "show it, or not (default: terminal)"},
    {.name = "no-progress",
     .kind = ARGUMENT_CHOICE,
     .target = MEMBER(asked),
     .least = PROGRESS_HIDDEN,
     .help = "do not show progress"},
    {.name = "partial",
     .group = "Partial",
     .parse = parse_output,
     .least = OUTPUT_PARTIAL,
     .modes = M_PARTIAL | M_MERGE_PARTIAL,
     .mode = M_PARTIAL,
     .help = "print partial results, which --merge reads"},
    {.name = "shard",
     .value = "I/N",
     .parse = parse_shard,
     .words = shard_words,
     .modes = M_PARTIAL | M_ALONE,
     .help = "with --partial, reduce only part I of N, or auto",
     .joined = "reduce part I of N, or auto; as NAME"},
    {.name = "label",
     .value = "NAME",
     .kind = ARGUMENT_TEXT,
     .target = MEMBER(label),
     .modes = M_PARTIAL | M_MERGE_PARTIAL,
     .help = "with --partial, name the input NAME"},
    {.name = "merge",
     .kind = ARGUMENT_MODE,
     .modes = M_MERGE | M_MERGE_PARTIAL,
     .mode = M_MERGE,
     .help = "read partial results and print their results",
     .joined = "read partial results; some may be missing"},
    {.name = "allow-gaps",
     .kind = ARGUMENT_SET,
     .target = MEMBER(allow_gaps),
     .modes = M_MERGE | M_MERGE_PARTIAL,
     .help = "with --merge, accept elements in no partial result"},
    {.name = "device",
     .group = "Devices",
     .common = true,
     .letter = 'D',
     .value = "DEVICE",
     .parse = parse_device,
     .words = device_words,
     .aliases = device_aliases,
     .other = "gpu:LIST",
     .help = "device: auto (default), cpu, gpu or gpu:LIST"},
    {.name = "threads",
     .common = true,
     .letter = 'j',
     .value = "N",
     .parse = parse_threads,
     .help = "CPU threads (default one per core)",
     .joined = "CPU threads; bytes of a chunk"},
    {.name = "chunk-size",
     .value = "SIZE",
     .parse = parse_chunk_size,
     .help = "bytes that a thread handles at a time"},
};

/* Names that other programs give to options, or words that users write as options. */
static const char *const aliases[] = {
    "operation", "op",     "type",   "dtype",   "offset",     "skip",   "seek",
    "skip",      "count",  "length", "gpu",     "device=gpu", "cpu",    "device=cpu",
    "sum",       "op=sum", "mean",   "op=mean", "min",        "op=min", "max",
    "op=max",    "std",    "op=std", NULL,
};

static struct arguments arguments = {
    .program = "gpureduce",
    .usage = "[OPTION]... [FILE]..., for example: --op sum file.bin",
    .summary = "Print exact statistics of large files of numbers: raw, NumPy, safetensors, HDF5,\n"
               "netCDF and others, in zstd or not. Without FILE, or with -, read standard input.",
    .table = table,
    .count = COUNT(table),
    .aliases = aliases,
    .operands = -1,
    .details = "LIST: sum, mean, min, max, argmin, argmax, count, nan, inf, missing, zeros,\n"
               "  negatives, subnormals, var, std, sumsq, rms, l1, l2, absmax, absmin, range,\n"
               "  median, quantiles such as q0.25 and p99.9, digest, or summary, an overview\n"
               "TYPE: f32, f64, f16, bf16, f8e4m3, f8e5m2, i8 to i64, u8 to u64 (bits), bool, or\n"
               "  a name of NumPy or safetensors: <f4, uint8, BF16; i8 has 1 byte, <i8 has 8\n"
               "FMT: auto, raw, npy, safetensors, npz, gguf, hdf5, netcdf, fits, nifti, fortran,\n"
               "  pytorch, zarr, zstd, gzip, zlib, raw+zstd; SIZE: bytes, kB to TB, KiB to TiB\n"
               "Exit status: 0 success; 1 failure, or a difference or condition found; 2 wrong\n"
               "  usage (with --diff, any failure); 3 no GPU, but --device=gpu",
};

static bool of_ranks;

void command_line_of_ranks(const char *name)
{
    arguments.program = name;
    of_ranks = true;
}

_Static_assert(COUNT(table) <= 64, "a bit for each option");

/* The commands that are asked for by an option; where there are several, the first counts, and does
   not go with the others. */
static const struct {
    enum command command;
    enum mode mode;
    const char *option;
} modes[] = {
    {COMMAND_DIFF, M_DIFF, "--diff"}, {COMMAND_CHECK, M_CHECK, "--check"},
    {COMMAND_AXIS, M_AXIS, "--axis"}, {COMMAND_MERGE, M_MERGE, "--merge"},
    {COMMAND_LIST, M_LIST, "--list"}, {COMMAND_REDUCE, M_PARTIAL, "--partial"},
    {COMMAND_REDUCE, M_REDUCE, NULL},
};

/* The option that asks for one of these modes. */
static const char *mode_option(unsigned of)
{
    size_t i = 0;

    while (!(modes[i].mode & of))
        i++;
    return modes[i].option;
}

/* Whether an option goes with the mode, and with ranks if this is one. A message says why not. */
static bool goes_with(const struct argument *x, enum mode mode, bool ranks)
{
    char format[128], name[64];
    const bool other_output = mode == M_MERGE && x->modes & M_MERGE_PARTIAL;

    ranks = ranks && x->modes & M_ALONE;
    if ((x->modes == 0 || x->modes & mode) && !ranks)
        return true;
    snprintf(name, sizeof name, "--%s", x->name);
    if (ranks)
        snprintf(format, sizeof format, "option %%s is for gpureduce");
    else if (other_output)
        snprintf(format, sizeof format, "option %%s needs --partial");
    else if (mode == M_REDUCE)
        snprintf(format, sizeof format, "option %%s needs %s", mode_option(x->modes));
    else if (mode == M_PARTIAL || mode == M_MERGE_PARTIAL)
        snprintf(format, sizeof format, "option %%s does not go with %s",
                 mode == M_PARTIAL || x->modes & M_MERGE ? "--partial" : "--merge");
    else
        snprintf(format, sizeof format, "option %%s does not go with %s", mode_option(mode));
    return arguments_wrong(format, name);
}

/* Chooses the command. False, after a message, where options do not go with it. */
static bool choose_command(struct options *options, uint64_t given)
{
    unsigned asked = 0;
    enum mode mode;
    size_t chosen = 0;

    for (size_t i = 0; i < COUNT(table); i++)
        asked |= given >> i & 1 ? table[i].mode : 0;
    while (modes[chosen].option && !(asked & modes[chosen].mode))
        chosen++;
    options->command = modes[chosen].command;
    mode =
        modes[chosen].mode == M_MERGE && asked & M_PARTIAL ? M_MERGE_PARTIAL : modes[chosen].mode;
    for (size_t i = 0; i < COUNT(table); i++)
        if (given >> i & 1 && !goes_with(&table[i], mode, options->ranks))
            return false;
    return true;
}

/* Whether there are two files to compare, by a CPU. */
static bool diff_possible(const struct options *options, const struct operands *operands)
{
    if (options->session.device == DEVICE_GPU)
        return arguments_wrong("option %s does not go with --diff", "--device=gpu");
    if (operands->count < 2)
        return arguments_wrong("option %s needs two files", "--diff");
    if (operands->count > 2)
        return arguments_wrong("--diff compares two files; remove %s", operands->words[2]);
    if (strcmp(operands->words[0], "-") == 0 && strcmp(operands->words[1], "-") == 0)
        return arguments_wrong("%s, standard input, can be only one of the two files", "-");
    return true;
}

/* Adds what --sort and --where need to what is asked of each input; totals go without. */
static void rows_ask(struct options *options)
{
    struct session_options *session = &options->session;
    const struct operation *all[ROWS_OPERATIONS_MAX];
    const unsigned count = rows_operations(&options->rows, all);

    options->total_quantiles = session->passes;
    for (unsigned i = 0; i < count; i++) {
        operation_ask(all[i], &session->wants, &session->passes);
        session->passes.required |= operation_quantile(all[i]);
    }
}

/* Has a name stand for a result of comparisons with --diff, and otherwise for that of an operation.
   False, after a message, if the command has no such result. */
static bool choose_result(const struct options *options, struct row_key *key)
{
    const bool diff = options->command == COMMAND_DIFF;

    if (key->field == ROW_OPERATION && !diff && !key->op)
        return arguments_wrong("%s needs --diff", difference_value_names[key->result]);
    if (!diff || (key->field != ROW_BYTES && key->field != ROW_OPERATION))
        return true;
    if (key->field == ROW_BYTES || key->result == DIFFERENCE_VALUES)
        return arguments_wrong("--diff has no results such as %s; use name, dtype, elements, "
                               "different, max_abs, max_rel, max_ulp, rmsd, cosine, nan or missing",
                               key->op ? key->op->name : fields[ROW_BYTES - 1]);
    if (key->result >= DIFFERENCE_NEAREST && !options->cast)
        return arguments_wrong("%s needs --cast", difference_value_names[key->result]);
    key->field = ROW_DIFFERENCE;
    key->op = NULL;
    return true;
}

/* Whether --sort and --where go with the other options. */
static bool rows_go_with(struct options *options)
{
    const char *name = options->rows.count > 0 ? "--where" : "--sort";
    const struct operation *all[ROWS_OPERATIONS_MAX];

    for (unsigned i = 0; i < options->rows.count; i++)
        if (!choose_result(options, &options->rows.conditions[i].key))
            return false;
    if (!choose_result(options, &options->rows.sort))
        return false;
    if (options->rows.count == 0 && options->rows.sort.field == ROW_UNASKED)
        return true;
    if (options->session.passes.histogram.kind != HISTOGRAM_NONE)
        return arguments_wrong("option %s does not go with --histogram", name);
    if (options->command == COMMAND_LIST && rows_operations(&options->rows, all) > 0)
        return arguments_wrong(
            "--list has no results such as %s; use name, dtype, elements or bytes", all[0]->name);
    return true;
}

/* Leaves quantiles out where they may be, if partial results are asked for. False, after a message,
   where there are others. */
static bool partial_check(struct options *options)
{
    struct pass_request *request = &options->session.passes;

    if (options->command != COMMAND_MERGE && options->output != OUTPUT_PARTIAL && !options->ranks)
        return true;
    pass_request_drop_optional(request);
    pass_request_drop_optional(&options->total_quantiles);
    if (options->ranks &&
        (request->histogram.kind != HISTOGRAM_NONE || request->quantile_count > 0))
        return arguments_wrong("ranks cannot merge quantiles and histograms; use %s for them",
                               "gpureduce");
    if (request->quantile_count > 0)
        return arguments_wrong("partial results cannot hold quantiles; leave them out of %s",
                               options->total_quantiles.quantile_count > 0 ? "--op"
                               : options->rows.sort.op                     ? "--sort and --where"
                                                                           : "--where");
    return true;
}

/* Whether options go with each other, and with the number of files. */
static bool go_together(const struct options *options)
{
    const bool digest = options->session.wants & PARTIAL_DIGEST, several = options->file_count > 1;
    const bool histogram = options->session.passes.histogram.kind != HISTOGRAM_NONE;
    const char *const output = options->axis_output;
    const struct {
        bool wrong;
        const char *format, *option;
    } checks[] = {
        /* Several arrays as one have no digest that follows from theirs. */
        {options->total && digest, "option %s does not go with --op=digest", "--total"},
        {options->plot && !histogram, "option %s needs --histogram", "--plot"},
        {options->plot && several, "option %s is for one file", "--plot"},
        {histogram && options->output == OUTPUT_TSV && options->operation_count > 0,
         "--histogram with --tsv prints no other results; leave out %s, or use --json", "--op"},
        {options->shard.of > 0 && options->total, "option %s needs all shards; give it to --merge",
         "--total"},
        {options->label && !options->total && (options->command == COMMAND_MERGE || several),
         "option %s needs one input, or --total", "--label"},
        {options->command == COMMAND_AXIS && digest, "%s cannot be computed along an axis",
         "digest"},
        {output && options->output != OUTPUT_TEXT, "option %s does not go with --output",
         options->output == OUTPUT_JSON ? "--json" : "--tsv"},
        {output && options->number != NUMBER_DECIMAL, "option %s does not go with --output",
         "--number=hex"},
        {output && several, "option %s is for one file", "--output"},
        {output && strcmp(output, "-") == 0, "%s names no file; use --output=/dev/stdout",
         "--output=-"},
    };

    for (size_t i = 0; i < COUNT(checks); i++)
        if (checks[i].wrong)
            return arguments_wrong(checks[i].format, checks[i].option);
    return true;
}

/* Whether the operations can be computed along an axis, where one is given. Leaves quantiles of
   --op=summary out: they may take memory for all elements. */
static bool axis_goes_with(struct options *options)
{
    size_t kept = 0;

    if (options->command != COMMAND_AXIS)
        return true;
    for (size_t i = 0; i < options->operation_count; i++) {
        const struct operation *op = options->operations[i];

        if (options->axis.more > 0 && (op->wants & PARTIAL_WHERE))
            return arguments_wrong("%s is computed along one axis", op->name);
        if (!(operation_quantile(op) & ~options->session.passes.required))
            options->operations[kept++] = op;
    }
    options->operation_count = kept;
    pass_request_drop_optional(&options->session.passes);
    return true;
}

enum arguments_action command_line_parse(int argc, char **argv, struct options *options)
{
    static char standard_input[] = "-";
    static char *default_files[] = {standard_input, NULL};
    enum arguments_action action;
    struct operands operands;

    *options = (struct options){
        .session = {.input = {.log = &failure_log,
                              .length = SOURCE_UNKNOWN,
                              .order = ELEMENT_ORDER_UNSAID},
                    .device_count = 1},
        .ranks = of_ranks,
    };
    process_settings(&options->session);
    action = arguments_parse(&arguments, argc, argv, options, &operands);
    if (action != ARGUMENTS_RUN)
        return action;
    if (!choose_command(options, operands.given) || !rows_go_with(options) ||
        (options->command == COMMAND_DIFF && !diff_possible(options, &operands)))
        return ARGUMENTS_WRONG;
    options->session.input.plausibility = !options->quiet;
    if (options->command == COMMAND_CHECK) {
        options->files = operands.words;
        options->file_count = operands.count;
        options->session.input.wanted = &options->wanted;
        return ARGUMENTS_RUN;
    }
    if (options->operation_count == 0 && options->session.passes.histogram.kind == HISTOGRAM_NONE &&
        !(options->command == COMMAND_MERGE && options->output == OUTPUT_PARTIAL))
        (void)parse_operations(&table[0], "sum,min,max,mean", options);
    for (size_t i = 0; i < options->operation_count; i++)
        operation_ask(options->operations[i], &options->session.wants, &options->session.passes);
    rows_ask(options);
    if (!partial_check(options))
        return ARGUMENTS_WRONG;
    options->progress = options->asked == PROGRESS_UNSAID ? !options->quiet && message_erasable()
                                                          : options->asked == PROGRESS_SHOWN;
    options->session.input.wanted = &options->wanted;
    options->session.keep_partials =
        options->total || options->output == OUTPUT_PARTIAL || options->ranks;
    options->files = operands.count > 0 ? operands.words : default_files;
    options->file_count = operands.count > 0 ? operands.count : 1;
    if (!go_together(options) || !axis_goes_with(options))
        return ARGUMENTS_WRONG;

    for (int i = 0; i < options->file_count; i++) {
        if (strcmp(options->files[i], "-") == 0 && isatty(STDIN_FILENO)) {
            message_error(EXIT_USAGE, "standard input is a terminal: name a file, or pipe one in "
                                      "(try 'gpureduce --help')");
            return ARGUMENTS_WRONG;
        }
    }
    return ARGUMENTS_RUN;
}
