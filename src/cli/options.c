#include "config.h"

#ifdef HAVE_CONFIG_H
#    include <config.h>
#endif

#include "cli/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/number.h"
#include "sys/message.h"

#ifndef PACKAGE_VERSION
#    define PACKAGE_VERSION "unknown"
#endif

/* Options without a short form. */
enum {
    OPTION_ENDIAN = 256,
    OPTION_FORMAT,
    OPTION_SKIP,
    OPTION_LENGTH,
    OPTION_LONG,
    OPTION_NAN,
    OPTION_CHUNK_SIZE,
    OPTION_JSON,
    OPTION_PROGRESS,
    OPTION_NO_PROGRESS,
    OPTION_HELP,
    OPTION_VERSION
};

static const struct option long_options[] = {
    {"op", required_argument, NULL, 'o'},
    {"dtype", required_argument, NULL, 't'},
    {"endian", required_argument, NULL, OPTION_ENDIAN},
    {"format", required_argument, NULL, OPTION_FORMAT},
    {"skip", required_argument, NULL, OPTION_SKIP},
    {"length", required_argument, NULL, OPTION_LENGTH},
    {"long", optional_argument, NULL, OPTION_LONG},
    {"nan", required_argument, NULL, OPTION_NAN},
    {"device", required_argument, NULL, 'D'},
    {"threads", required_argument, NULL, 'j'},
    {"chunk-size", required_argument, NULL, OPTION_CHUNK_SIZE},
    {"json", no_argument, NULL, OPTION_JSON},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"progress", no_argument, NULL, OPTION_PROGRESS},
    {"no-progress", no_argument, NULL, OPTION_NO_PROGRESS},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "Usage: gpureduce [OPTION]... [FILE]...\n"
    "Reduce large binary files of floats to their exact sum, min, max and mean.\n"
    "\n"
    "With no FILE, or when FILE is -, read standard input. Raw numbers, .npy files\n"
    "and either of them compressed by zstd are told apart by their content.\n"
    "\n"
    "  -o, --op=LIST         what to compute, separated by commas: sum, min, max,\n"
    "                        mean, count, argmin, argmax, nan, inf; default\n"
    "                        sum,min,max,mean; repeated, it adds to the list\n"
    "  -t, --dtype=TYPE      type of raw elements: f32 (default), f64, f16, bf16, or\n"
    "                        as NumPy spells it (<f4, >f8, float32)\n"
    "      --endian=ORDER    byte order of raw elements: little (default) or big\n"
    "      --format=FMT      auto (default), raw, npy or zstd\n"
    "      --skip=SIZE       leave out SIZE bytes at the start of raw input\n"
    "      --length=N        reduce only the first N elements\n"
    "      --long[=N]        take zstd frames that need a window of up to 2^N bytes;\n"
    "                        without this option, and without N, 27: 128 MiB\n"
    "      --nan=POLICY      propagate (default), skip, or error\n"
    "  -D, --device=DEVICE   auto (default), cpu, gpu, or gpu:LIST such as gpu:0,2\n"
    "  -j, --threads=N       CPU threads that reduce, or that feed the GPU\n"
    "      --chunk-size=SIZE bytes a thread handles at a time\n"
    "      --json            print one JSON object a file, a line each\n"
    "  -q, --quiet           print values alone, one a line, and no statistics\n"
    "  -v, --verbose         print what each stage and engine did, on standard error\n"
    "      --progress, --no-progress\n"
    "                        show progress on standard error; default: on a terminal\n"
    "      --help            print this help and exit\n"
    "      --version         print the version and exit\n"
    "\n"
    "SIZE is in bytes, or has a suffix: kB, MB, GB, TB (powers of 1000), or KiB, MiB,\n"
    "GiB, TiB, K, M, G, T (powers of 1024). A .npy header speaks for itself: --dtype,\n"
    "--endian and --skip are for raw input.\n"
    "\n"
    "Exit status: 0 all well; 1 input, output or device failure; 2 wrong usage; 3 a\n"
    "GPU was required and there is none to use.\n"
    "\n"
    "Example: gpureduce file.bin --op sum\n";

/* Says what is wrong with `value`, which the format quotes by %s. */
static bool wrong(const char *format, const char *value)
{
    char text[2 * MESSAGE_QUOTE_MAX], quoted[MESSAGE_QUOTE_MAX], word[MESSAGE_QUOTE_MAX + 2];

    message_quote(quoted, value);
    /* One that had to be quoted already is. */
    snprintf(word, sizeof word, strcmp(quoted, value) == 0 ? "'%s'" : "%s", quoted);
    snprintf(text, sizeof text, format, word);
    message_error(EXIT_USAGE, "%s (try 'gpureduce --help')", text);
    return false;
}

static bool parse_operations(const char *list, struct options *options)
{
    for (;;) {
        size_t length = strcspn(list, ",");
        const struct operation *op = operation_find(list, length);

        if (!op) {
            char name[MESSAGE_QUOTE_MAX];
            snprintf(name, sizeof name, "%.*s", length < 100 ? (int)length : 100, list);
            return wrong("unknown operation %s", name);
        }
        if (options->operation_count == OPTIONS_OPERATIONS_MAX)
            return wrong("too many operations at %s", list);
        options->operations[options->operation_count++] = op;
        if (!list[length])
            return true;
        list += length + 1;
    }
}

static bool parse_dtype(const char *text, struct options *options)
{
    enum element_order order;

    if (!element_parse(text, &options->session.input.type, &order))
        return wrong("unknown dtype %s", text);
    if (order != ELEMENT_ORDER_UNSAID)
        options->session.input.order = order;
    return true;
}

/* The place of a word in a table that ends in NULL; -1, and said so, when it is not there. */
static int parse_word(const char *text, const char *const words[], const char *error)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    wrong(error, text);
    return -1;
}

static bool parse_endian(const char *text, struct options *options)
{
    static const char *const words[] = {"little", "big", NULL};
    int value = parse_word(text, words, "unknown byte order %s");

    if (value < 0)
        return false;
    options->session.input.order = value ? ELEMENT_ORDER_BIG : ELEMENT_ORDER_LITTLE;
    return true;
}

static bool parse_format(const char *text, struct options *options)
{
    static const char *const words[] = {[SOURCE_AUTO] = "auto",
                                        [SOURCE_RAW] = "raw",
                                        [SOURCE_NPY] = "npy",
                                        [SOURCE_ZSTD] = "zstd",
                                        [SOURCE_ZSTD + 1] = NULL};
    int value = parse_word(text, words, "unknown format %s");

    if (value < 0)
        return false;
    options->session.input.format = (enum source_format)value;
    return true;
}

static bool parse_nan(const char *text, struct options *options)
{
    static const char *const words[] = {[NAN_PROPAGATE] = "propagate",
                                        [NAN_SKIP] = "skip",
                                        [NAN_ERROR] = "error",
                                        [NAN_ERROR + 1] = NULL};
    int value = parse_word(text, words, "unknown NaN policy %s");

    if (value < 0)
        return false;
    options->session.nan = (enum nan_policy)value;
    return true;
}

/* auto, cpu, gpu or gpu:0,2 */
static bool parse_device(const char *text, struct options *options)
{
    static const char *const words[] = {[DEVICE_AUTO] = "auto",
                                        [DEVICE_CPU] = "cpu",
                                        [DEVICE_GPU] = "gpu",
                                        [DEVICE_GPU + 1] = NULL};
    const char *list = text + 4;

    options->session.devices[0] = 0;
    options->session.device_count = 1;
    if (strncmp(text, "gpu:", 4) != 0) {
        int value = parse_word(text, words, "unknown device %s");
        if (value < 0)
            return false;
        options->session.device = (enum device_choice)value;
        return true;
    }
    options->session.device = DEVICE_GPU;
    options->session.device_count = 0;
    for (;;) {
        char *end;
        long number = strtol(list, &end, 10);

        if (*list < '0' || *list > '9' || (*end && *end != ',') || number >= 1024)
            return wrong("bad list of GPUs %s", text);
        if (options->session.device_count == ENGINE_DEVICES_MAX)
            return wrong("too many GPUs in %s", text);
        for (unsigned i = 0; i < options->session.device_count; i++)
            if (options->session.devices[i] == number)
                return wrong("a GPU is named twice in %s", text);
        options->session.devices[options->session.device_count++] = (int)number;
        if (!*end)
            return true;
        list = end + 1;
    }
}

static bool parse_size(const char *text, const char *error, uint64_t *size)
{
    return number_parse_size(text, size) || wrong(error, text);
}

static bool parse_chunk_size(const char *text, struct options *options)
{
    uint64_t size;

    if (!parse_size(text, "bad size %s for --chunk-size", &size))
        return false;
    if (size < 1 || size > (uint64_t)1 << 30)
        return wrong("--chunk-size %s is not from 1 to 1GiB", text);
    options->session.chunk_size = (size_t)size;
    return true;
}

/* Without an argument it means what it means to zstd: the default. */
static bool parse_long(const char *text, struct options *options)
{
    uint64_t log = SOURCE_WINDOW_LOG_DEFAULT;

    if (text && (!number_parse_count(text, &log) || log < SOURCE_WINDOW_LOG_MIN ||
                 log > SOURCE_WINDOW_LOG_MAX))
        return wrong("--long %s is not from 10 to 31", text);
    options->session.input.window_log = (int)log;
    return true;
}

static bool parse_threads(const char *text, struct options *options)
{
    uint64_t threads;

    if (!number_parse_count(text, &threads) || threads < 1 || threads > OPTIONS_THREADS_MAX)
        return wrong("bad number of threads %s", text);
    options->session.threads = (unsigned)threads;
    return true;
}

/* Takes one option; argv_word is what the user wrote. */
static bool take(int option, const char *argument, const char *argv_word, struct options *options)
{
    switch (option) {
    case 'o':
        return parse_operations(argument, options);
    case 't':
        return parse_dtype(argument, options);
    case 'D':
        return parse_device(argument, options);
    case 'j':
        return parse_threads(argument, options);
    case 'q':
        options->quiet = true;
        return true;
    case 'v':
        options->verbose = true;
        return true;
    case OPTION_ENDIAN:
        return parse_endian(argument, options);
    case OPTION_FORMAT:
        return parse_format(argument, options);
    case OPTION_SKIP:
        return parse_size(argument, "bad size %s for --skip", &options->session.input.skip);
    case OPTION_LENGTH:
        return number_parse_count(argument, &options->session.input.length) ||
               wrong("bad number of elements %s for --length", argument);
    case OPTION_LONG:
        return parse_long(argument, options);
    case OPTION_NAN:
        return parse_nan(argument, options);
    case OPTION_CHUNK_SIZE:
        return parse_chunk_size(argument, options);
    case OPTION_JSON:
        options->json = true;
        return true;
    case OPTION_PROGRESS:
        options->progress = true;
        return true;
    case OPTION_NO_PROGRESS:
        options->progress = false;
        return true;
    case ':':
        return wrong("option %s needs an argument", argv_word);
    default:
        return false;
    }
}

/* Why getopt_long refused the word it just looked at. */
static bool refuse(const char *word)
{
    if (optopt == 0)
        return wrong("unknown or ambiguous option %s", word);
    if (optopt >= 256 || strncmp(word, "--", 2) == 0)
        return wrong("option %s takes no argument", word);
    return wrong("unknown option %s", (char[]){'-', (char)optopt, '\0'});
}

enum options_action options_parse(int argc, char **argv, struct options *options)
{
    static char standard_input[] = "-";
    static char *default_files[] = {standard_input, NULL};
    int option;

    *options = (struct options){
        .session = {.input = {.length = SOURCE_UNKNOWN, .order = ELEMENT_ORDER_UNSAID},
                    .device_count = 1},
        .progress = isatty(STDERR_FILENO),
    };
    opterr = 0;
    for (;;) {
        int before = optind;
        const char *word = argv[before < argc ? before : argc - 1];

        option = getopt_long(argc, argv, ":o:t:D:j:qv", long_options, NULL);
        if (option == -1)
            break;
        if (option == OPTION_HELP) {
            fputs(help, stdout);
            return OPTIONS_DONE;
        }
        if (option == OPTION_VERSION) {
            puts("gpureduce " PACKAGE_VERSION);
            return OPTIONS_DONE;
        }
        /* getopt_long moves operands out of the way first: the word it took stands before optind.
         */
        if (option == '?' || option == ':') {
            const char *taken = argv[optind - 1];
            if (taken[0] == '-' && taken[1] != '\0')
                word = taken;
        }
        if (option == '?') {
            refuse(word);
            return OPTIONS_WRONG;
        }
        if (!take(option, optarg, word, options))
            return OPTIONS_WRONG;
    }
    if (options->operation_count == 0 && !parse_operations("sum,min,max,mean", options))
        return OPTIONS_WRONG;
    for (size_t i = 0; i < options->operation_count; i++)
        options->session.wants |= options->operations[i]->wants;
    options->files = optind < argc ? argv + optind : default_files;
    options->file_count = optind < argc ? argc - optind : 1;

    for (int i = 0; i < options->file_count; i++) {
        if (strcmp(options->files[i], "-") == 0 && isatty(STDIN_FILENO)) {
            message_error(EXIT_USAGE, "standard input is a terminal: name a file, or send one in "
                                      "(try 'gpureduce --help')");
            return OPTIONS_WRONG;
        }
    }
    return OPTIONS_RUN;
}
