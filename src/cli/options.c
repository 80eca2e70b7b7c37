#include "config.h"

#include "cli/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/argument_parser.h"
#include "cli/arguments.h"
#include "core/number.h"
#include "sys/message.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/*
 * Arguments that take more than a table to read. Their target is the whole of struct options.
 */

static const char *operation_word(size_t i)
{
    if (i < operation_count)
        return operations[i].name;
    i -= operation_count;
    return i < operation_group_count ? operation_groups[i].name : NULL;
}

/* Adds one; `list`, which begins with it, is for the message. */
static bool add_operation(const struct arguments *a, const struct operation *op, const char *list,
                          struct options *options)
{
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

        if (!add_operation(a, operation_find(list, length), list, options))
            return false;
        if (!list[length])
            return true;
        list += length + 1;
    }
}

static bool add_operations(const struct arguments *a, const struct argument *x, const char *list,
                           struct options *options)
{
    for (;;) {
        size_t length = strcspn(list, ",");
        const struct operation *op = operation_find(list, length);
        const struct operation_group *group = operation_group_find(list, length);

        if (!op && !group) {
            char name[MESSAGE_QUOTE_MAX];
            snprintf(name, sizeof name, "%.*s", length < 100 ? (int)length : 100, list);
            return arguments_unknown_word(a, x, name);
        }
        if (group && !add_group(a, group->list, options))
            return false;
        if (op && !add_operation(a, op, list, options))
            return false;
        if (op)
            options->session.survey.required |= operation_quantile(op);
        if (!list[length])
            return true;
        list += length + 1;
    }
}

static bool parse_operations(const struct arguments *a, const struct argument *x, const char *text,
                             void *target)
{
    return add_operations(a, x, text, target);
}

static const char *histogram_word(size_t i)
{
    return i == 0 ? "exponent" : NULL;
}

/* LO,HI */
static bool parse_range(const char *text, struct histogram_request *h)
{
    char low[MESSAGE_QUOTE_MAX];
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
static bool parse_histogram(const struct arguments *a, const struct argument *x, const char *text,
                            void *target)
{
    struct histogram_request *h = &((struct options *)target)->session.survey.histogram;
    size_t length = strcspn(text, ",");
    char bins[32];
    uint64_t count;

    (void)x;
    *h = (struct histogram_request){.kind = HISTOGRAM_EXPONENTS};
    if (strcmp(text, histogram_word(0)) == 0)
        return true;
    h->kind = HISTOGRAM_BINS;
    snprintf(bins, sizeof bins, "%.*s", length < sizeof bins ? (int)length : 0, text);
    if (!number_parse_count(bins, &count))
        return arguments_wrong(a, "bad histogram %s: must be BINS, BINS,LO,HI or exponent", text);
    if (count < 1 || count > HISTOGRAM_BINS_MAX)
        return arguments_wrong(a, "--histogram %s: there may be 1 to 65536 bins", text);
    _Static_assert(HISTOGRAM_BINS_MAX == 65536, "as the message says");
    h->bins = (uint32_t)count;
    if (text[length] && !parse_range(text + length + 1, h))
        return arguments_wrong(
            a, "--histogram %s: the range must be LO,HI, two numbers of which LO is less", text);
    return true;
}

static const char *dtype_word(size_t i)
{
    return i < ELEMENT_TYPES ? element_name((enum element_type)i) : NULL;
}

static bool parse_dtype(const struct arguments *a, const struct argument *x, const char *text,
                        void *target)
{
    struct options *options = target;
    enum element_order order;

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

static const char *endian_word(size_t i)
{
    static const char *const words[] = {"little", "big"};

    return i < COUNT(words) ? words[i] : NULL;
}

static bool parse_endian(const struct arguments *a, const struct argument *x, const char *text,
                         void *target)
{
    struct options *options = target;
    size_t place;

    if (!arguments_find_word(a, x, text, &place))
        return false;
    options->session.input.order = place == 0 ? ELEMENT_ORDER_LITTLE : ELEMENT_ORDER_BIG;
    return true;
}

static const char *format_word(size_t i)
{
    static const char *const words[] = {
        [SOURCE_AUTO] = "auto",         [SOURCE_RAW] = "raw",
        [SOURCE_NPY] = "npy",           [SOURCE_ZSTD] = "zstd",
        [SOURCE_RAW_ZSTD] = "raw+zstd", [SOURCE_SAFETENSORS] = "safetensors",
        [SOURCE_NPZ] = "npz",           [SOURCE_GGUF] = "gguf",
    };

    return i < COUNT(words) ? words[i] : NULL;
}

/* A pattern, which adds to those before. */
static bool parse_array(const struct arguments *a, const struct argument *x, const char *text,
                        void *target)
{
    struct options *options = target;

    (void)x;
    if (options->wanted.count == SOURCE_PATTERNS_MAX)
        return arguments_wrong(a, "too many --array at %s", text);
    options->wanted.patterns[options->wanted.count++].pattern = text;
    return true;
}

static const char *nan_word(size_t i)
{
    static const char *const words[] = {
        [NAN_PROPAGATE] = "propagate",
        [NAN_SKIP] = "skip",
        [NAN_ERROR] = "error",
    };

    return i < COUNT(words) ? words[i] : NULL;
}

static const char *device_word(size_t i)
{
    static const char *const words[] = {
        [DEVICE_AUTO] = "auto",
        [DEVICE_CPU] = "cpu",
        [DEVICE_GPU] = "gpu",
    };

    return i < COUNT(words) ? words[i] : NULL;
}

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
static bool parse_device(const struct arguments *a, const struct argument *x, const char *text,
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

static bool parse_json(const struct arguments *a, const struct argument *x, const char *text,
                       void *target)
{
    (void)a, (void)x, (void)text;
    ((struct options *)target)->output = OUTPUT_JSON;
    return true;
}

static bool parse_tsv(const struct arguments *a, const struct argument *x, const char *text,
                      void *target)
{
    (void)a, (void)x, (void)text;
    ((struct options *)target)->output = OUTPUT_TSV;
    return true;
}

static const char *number_word(size_t i)
{
    static const char *const words[] = {
        [NUMBER_DECIMAL] = "decimal",
        [NUMBER_HEX] = "hex",
    };

    return i < COUNT(words) ? words[i] : NULL;
}

/* In the order of the bits of enum options_fail_on. */
static const char *fail_on_word(size_t i)
{
    static const char *const words[] = {"nan", "inf", "empty"};

    return i < COUNT(words) ? words[i] : NULL;
}

static bool parse_fail_on(const struct arguments *a, const struct argument *x, const char *list,
                          void *target)
{
    struct options *options = target;

    for (;;) {
        char name[MESSAGE_QUOTE_MAX];
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

static bool parse_chunk_size(const struct arguments *a, const struct argument *x, const char *text,
                             void *target)
{
    uint64_t size;

    (void)x;
    if (!number_parse_size(text, &size))
        return arguments_wrong(a, "bad size %s for --chunk-size", text);
    if (size < 1 || size > (uint64_t)1 << 30)
        return arguments_wrong(a, "--chunk-size %s must be from 1 to 1GiB", text);
    ((struct options *)target)->session.chunk_size = (size_t)size;
    return true;
}

/* Without an argument it means what it means to zstd: the default. */
static bool parse_long(const struct arguments *a, const struct argument *x, const char *text,
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

static bool parse_threads(const struct arguments *a, const struct argument *x, const char *text,
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

static bool ask_progress(const struct arguments *a, const struct argument *x, const char *text,
                         void *target)
{
    (void)a;
    (void)x;
    (void)text;
    ((struct options *)target)->asked = PROGRESS_SHOWN;
    return true;
}

static bool refuse_progress(const struct arguments *a, const struct argument *x, const char *text,
                            void *target)
{
    (void)a;
    (void)x;
    (void)text;
    ((struct options *)target)->asked = PROGRESS_HIDDEN;
    return true;
}

/*
 * The table.
 */

#define MEMBER(name) offsetof(struct options, name)

static const struct argument table[] = {
    {.name = "op",
     .letter = 'o',
     .value = "LIST",
     .kind = ARGUMENT_PARSED,
     .parse = parse_operations,
     .what = "operation",
     .word = operation_word,
     .other = "a quantile such as q0.25 or p99.9",
     .completion = COMPLETE_LIST,
     .help =
         "what to compute, separated by commas: sum, min, max, mean, count, argmin, argmax, "
         "nan, inf, var, std, sumsq, rms, l1, l2, absmax, absmin, range, zeros, negatives, "
         "subnormals, median, or quantiles such as q0.25 and p99.9; or summary, which is several "
         "of these; default sum,min,max,mean; repeated, it adds to the list"},
    {.name = "ddof",
     .value = "N",
     .kind = ARGUMENT_COUNT,
     .target = MEMBER(session.ddof),
     .what = "degrees of freedom",
     .help = "var and std divide by the count less N; default 0"},
    {.name = "histogram",
     .value = "BINS[,LO,HI]",
     .kind = ARGUMENT_PARSED,
     .parse = parse_histogram,
     .word = histogram_word,
     .completion = COMPLETE_WORD,
     .help =
         "count the elements in so many bins from LO to HI, or from the minimum to the maximum; "
         "or, with the word exponent, by their binary exponents"},
    {.name = "plot",
     .value = "FILE",
     .kind = ARGUMENT_TEXT,
     .target = MEMBER(plot),
     .completion = COMPLETE_FILE,
     .help = "draw the histogram into FILE, which ends in .svg or .png; needs gnuplot"},
    {.name = "dtype",
     .letter = 't',
     .value = "TYPE",
     .kind = ARGUMENT_PARSED,
     .parse = parse_dtype,
     .what = "dtype",
     .word = dtype_word,
     .other = "a name of NumPy's or safetensors', such as float32, >i4 or BF16",
     .completion = COMPLETE_WORD,
     .help =
         "type of raw elements: f32 (default), f64, f16, bf16, f8e4m3, f8e5m2, i8, i16, i32, i64, "
         "u8, u16, u32, u64 or bool, by bits; or as NumPy or safetensors spell it (<f4, >i8, "
         "uint8, "
         "BF16); also of a .npy whose header says V2 or V1"},
    {.name = "endian",
     .value = "ORDER",
     .kind = ARGUMENT_PARSED,
     .parse = parse_endian,
     .what = "byte order",
     .word = endian_word,
     .completion = COMPLETE_WORD,
     .help = "byte order of raw elements: little (default) or big"},
    {.name = "format",
     .value = "FMT",
     .kind = ARGUMENT_WORD,
     .target = MEMBER(session.input.format),
     .what = "format",
     .word = format_word,
     .completion = COMPLETE_WORD,
     .help =
         "what the input is: auto (default), raw, npy, zstd, safetensors, npz, gguf, or raw+zstd, "
         "which is "
         "raw numbers compressed by zstd whatever they look like"},
    {.name = "array",
     .value = "GLOB",
     .kind = ARGUMENT_PARSED,
     .parse = parse_array,
     .help =
         "of files of several arrays, reduce only those whose names match GLOB; repeated, those "
         "that match any"},
    {.name = "list",
     .kind = ARGUMENT_SET,
     .target = MEMBER(list),
     .help = "reduce nothing: print which arrays there are, from the headers alone"},
    {.name = "skip",
     .value = "SIZE",
     .kind = ARGUMENT_SIZE,
     .target = MEMBER(session.input.skip),
     .help = "skip SIZE bytes at the start of raw input"},
    {.name = "length",
     .value = "N",
     .kind = ARGUMENT_COUNT,
     .target = MEMBER(session.input.length),
     .what = "number of elements",
     .help = "reduce only the first N elements"},
    {.name = "long",
     .value = "N",
     .optional = true,
     .kind = ARGUMENT_PARSED,
     .parse = parse_long,
     .help = "accept zstd frames with windows of up to 2^N bytes; default 27 (128 MiB)"},
    {.name = "no-check",
     .kind = ARGUMENT_SET,
     .target = MEMBER(session.input.no_check),
     .help = "do not verify the checksums of zstd frames"},
    {.name = "nan",
     .value = "POLICY",
     .kind = ARGUMENT_WORD,
     .target = MEMBER(session.nan),
     .what = "NaN policy",
     .word = nan_word,
     .completion = COMPLETE_WORD,
     .help = "what a NaN does: propagate (default), skip, or error"},
    {.name = "device",
     .letter = 'D',
     .value = "DEVICE",
     .kind = ARGUMENT_PARSED,
     .parse = parse_device,
     .what = "device",
     .word = device_word,
     .other = "gpu:LIST",
     .completion = COMPLETE_WORD,
     .help = "what does the work: auto (default), cpu, gpu, or gpu:LIST such as gpu:0,2"},
    {.name = "threads",
     .letter = 'j',
     .value = "N",
     .kind = ARGUMENT_PARSED,
     .parse = parse_threads,
     .help = "CPU threads that reduce, or that feed the GPU"},
    {.name = "chunk-size",
     .value = "SIZE",
     .kind = ARGUMENT_PARSED,
     .parse = parse_chunk_size,
     .help = "bytes a thread handles at a time"},
    {.name = "json",
     .kind = ARGUMENT_PARSED,
     .parse = parse_json,
     .help = "print one JSON object per line, one per file or array"},
    {.name = "tsv",
     .kind = ARGUMENT_PARSED,
     .parse = parse_tsv,
     .help = "print a heading, and a line per file or array with tabs between the values"},
    {.name = "number",
     .value = "FORM",
     .kind = ARGUMENT_WORD,
     .target = MEMBER(number),
     .what = "form of numbers",
     .word = number_word,
     .completion = COMPLETE_WORD,
     .help = "how numbers are printed: decimal (default), or hex, as C's %a"},
    {.name = "total",
     .kind = ARGUMENT_SET,
     .target = MEMBER(total),
     .help = "behind the files, print the results of all of them, and of their arrays, as one"},
    {.name = "check",
     .value = "FILE",
     .kind = ARGUMENT_TEXT,
     .target = MEMBER(check),
     .completion = COMPLETE_FILE,
     .help = "compare with the results in FILE, which --json or --tsv printed before"},
    {.name = "fail-on",
     .value = "LIST",
     .kind = ARGUMENT_PARSED,
     .parse = parse_fail_on,
     .what = "condition",
     .word = fail_on_word,
     .completion = COMPLETE_LIST,
     .help = "exit with status 1 if a file holds any of these, separated by commas: nan, inf, "
             "empty (no elements)"},
    {.name = "quiet",
     .letter = 'q',
     .kind = ARGUMENT_SET,
     .target = MEMBER(quiet),
     .help = "print only the values, one per line, and no statistics"},
    {.name = "verbose",
     .letter = 'v',
     .kind = ARGUMENT_SET,
     .target = MEMBER(verbose),
     .help = "print what each stage and engine did, on standard error"},
    {.name = "progress",
     .kind = ARGUMENT_PARSED,
     .parse = ask_progress,
     .help = "show progress on standard error; default: on a terminal, without -q"},
    {.name = "no-progress",
     .kind = ARGUMENT_PARSED,
     .parse = refuse_progress,
     .help = "show no progress"},
};

static const struct arguments arguments = {
    .program = "gpureduce",
    .usage = "[OPTION]... [FILE]...",
    .summary = "Reduce large binary files of floats to their exact sum, min, max and mean.\n"
               "\n"
               "With no FILE, or when FILE is -, read standard input. Raw numbers, .npy files,\n"
               "either of them compressed by zstd, and safetensors, .npz and GGUF files, each\n"
               "array of which has a result, are told apart by their content.",
    .table = table,
    .count = COUNT(table),
    .operands = -1,
    .details = "SIZE is in bytes, or has a suffix: kB, MB, GB, TB (powers of 1000), or KiB, MiB,\n"
               "GiB, TiB, K, M, G, T (powers of 1024). --dtype, --endian and --skip apply to raw\n"
               "input only; a .npy header states them.\n"
               "\n"
               "Exit status: 0 success; 1 input, output or device failure, or what --check or\n"
               "--fail-on look for; 2 wrong usage; 3 a GPU was required and there is none to\n"
               "use.\n"
               "\n"
               "Example: gpureduce file.bin --op sum",
};

/* Whether the other options go with --check, which takes files and operations from its record. */
static bool check_goes_with(struct options *options, const struct operands *operands)
{
    const char *other = options->operation_count > 0             ? "--op"
                        : options->plot                          ? "--plot"
                        : survey_asked(&options->session.survey) ? "--histogram"
                        : options->output == OUTPUT_JSON         ? "--json"
                        : options->output == OUTPUT_TSV          ? "--tsv"
                        : options->total                         ? "--total"
                        : options->wanted.count > 0              ? "--array"
                        : options->list                          ? "--list"
                                                                 : NULL;

    if (other)
        return arguments_wrong(&arguments, "option %s does not go with --check", other);
    if (operands->count > 0)
        return arguments_wrong(&arguments, "with --check, files stand in its file: unexpected %s",
                               operands->words[0]);
    options->files = operands->words;
    return true;
}

bool options_settle_device(struct options *options)
{
    if (options->session.device == DEVICE_GPU)
        survey_leave_out(&options->session.survey);
    if (!survey_asked(&options->session.survey))
        return true;
    if (options->session.device == DEVICE_GPU)
        return arguments_wrong(&arguments,
                               "quantiles and histograms are computed on the CPU: "
                               "leave out --device=%s",
                               "gpu");
    options->session.device = DEVICE_CPU;
    return true;
}

/* Whether the options about the histogram go with each other, and with the number of files. */
static bool histogram_goes_with(const struct options *options)
{
    const bool asked = options->session.survey.histogram.kind != HISTOGRAM_NONE;

    if (options->plot && !asked)
        return arguments_wrong(&arguments, "option %s goes with --histogram only", "--plot");
    if (options->plot && options->file_count > 1)
        return arguments_wrong(&arguments, "option %s is for one file", "--plot");
    if (asked && options->output == OUTPUT_TSV && options->operation_count > 0)
        return arguments_wrong(&arguments,
                               "with --histogram and --tsv there are no other results: "
                               "leave out %s, or use --json",
                               "--op");
    return true;
}

enum options_action options_parse(int argc, char **argv, struct options *options)
{
    static char standard_input[] = "-";
    static char *default_files[] = {standard_input, NULL};
    struct operands operands;

    *options = (struct options){
        .session = {.input = {.length = SOURCE_UNKNOWN, .order = ELEMENT_ORDER_UNSAID},
                    .device_count = 1},
    };
    switch (arguments_parse(&arguments, argc, argv, options, &operands)) {
    case ARGUMENTS_RUN:
        break;
    case ARGUMENTS_DONE:
        return OPTIONS_DONE;
    case ARGUMENTS_WRONG:
        return OPTIONS_WRONG;
    }
    if (options->check)
        return check_goes_with(options, &operands) ? OPTIONS_RUN : OPTIONS_WRONG;
    if (options->operation_count == 0 && options->session.survey.histogram.kind == HISTOGRAM_NONE)
        (void)add_operations(&arguments, &table[0], "sum,min,max,mean", options);
    for (size_t i = 0; i < options->operation_count; i++)
        operation_ask(options->operations[i], &options->session.wants, &options->session.survey);
    if (!options_settle_device(options))
        return OPTIONS_WRONG;
    options->progress = options->asked == PROGRESS_UNSAID ? !options->quiet && isatty(STDERR_FILENO)
                                                          : options->asked == PROGRESS_SHOWN;
    options->session.input.wanted = &options->wanted;
    options->session.keep_partials = options->total;
    options->session.input.doubt = isatty(STDERR_FILENO) && !options->quiet;
    options->files = operands.count > 0 ? operands.words : default_files;
    options->file_count = operands.count > 0 ? operands.count : 1;
    if (!histogram_goes_with(options))
        return OPTIONS_WRONG;

    for (int i = 0; i < options->file_count; i++) {
        if (strcmp(options->files[i], "-") == 0 && isatty(STDIN_FILENO)) {
            message_error(EXIT_USAGE, "standard input is a terminal: name a file, or pipe one in "
                                      "(try 'gpureduce --help')");
            return OPTIONS_WRONG;
        }
    }
    return OPTIONS_RUN;
}
