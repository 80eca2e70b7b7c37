#include "config.h"

#include "cli/command_line.h"

#include <string.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/failure.h"
#include "cli/message.h"
#include "cli/option_values.h"
#include "cli/process.h"
#include "core/number.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define MEMBER(name) offsetof(struct options, name)

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
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_operations,
     .what = "operation",
     .word = option_operation_word,
     .other = "a quantile such as q0.25 or p99.9",
     .aliases = option_operation_aliases,
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
     .aliases = option_nan_aliases,
     .completion = COMPLETE_WORD,
     .help = "what NaNs do: propagate (default), skip, error"},
    {.name = "histogram",
     .value = "BINS",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_histogram,
     .words = option_histogram_words,
     .completion = COMPLETE_WORD,
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
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_fail_on,
     .what = "condition",
     .words = option_fail_on_words,
     .completion = COMPLETE_LIST,
     .modes = M_ALL & ~(M_AXIS | M_DIFF | M_LIST),
     .help = "exit with 1 on nan, inf, missing, empty input"},
    {.name = "dtype",
     .group = "Input",
     .common = true,
     .letter = 't',
     .value = "TYPE",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_dtype,
     .what = "dtype",
     .word = option_dtype_word,
     .near = option_dtype_near,
     .aliases = option_dtype_aliases,
     .other = "a name of NumPy's or safetensors', such as float32, >i4 or BF16",
     .completion = COMPLETE_WORD,
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL),
     .help = "type of raw elements (default f32)"},
    {.name = "endian",
     .common = true,
     .value = "ORDER",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_endian,
     .what = "byte order",
     .words = option_endian_words,
     .aliases = option_endian_aliases,
     .completion = COMPLETE_WORD,
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL),
     .help = "byte order: little (default) or big",
     .joined = "little (default) or big; one field"},
    {.name = "record",
     .value = "RECORD",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_record,
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
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_pattern,
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL | M_CHECK),
     .help = "reduce only arrays whose names match GLOB",
     .joined = "only arrays that match; that do not"},
    {.name = "exclude",
     .value = "GLOB",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_pattern,
     .least = true,
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL | M_CHECK),
     .help = "leave out arrays whose names match GLOB"},
    {.name = "skip-unsupported",
     .kind = ARGUMENT_SET,
     .target = MEMBER(session.input.skip_unsupported),
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL | M_CHECK),
     .help = "leave out arrays that cannot be read"},
    {.name = "missing",
     .value = "VALUE",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_missing,
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
     .what = "format",
     .words = source_format_words,
     .aliases = option_format_aliases,
     .completion = COMPLETE_WORD,
     .modes = M_ALL & ~(M_MERGE | M_MERGE_PARTIAL),
     .help = "format of the input (default auto)"},
    {.name = "long",
     .value = "N",
     .optional = true,
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_long,
     .help = "accept zstd windows of up to 2^N bytes (default 27)",
     .joined = "zstd windows up to 2^N; no checksums"},
    {.name = "no-check",
     .kind = ARGUMENT_SET,
     .target = MEMBER(session.input.no_check),
     .help = "do not verify the checksums of zstd frames"},
    {.name = "axis",
     .group = "Axis",
     .value = "N,...",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_axis,
     .modes = M_AXIS | M_ALONE,
     .mode = M_AXIS,
     .help = "reduce along axis N, or neighbours; -1 is last"},
    {.name = "shape",
     .value = "A,B,...",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_shape,
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
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_tolerance,
     .modes = M_DIFF,
     .help = "with --diff, accept ulp:N, abs:X or rel:X"},
    {.name = "map",
     .value = "S",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_map,
     .modes = M_DIFF,
     .help = "with --diff, s/REGEX/NAME/ before names match"},
    {.name = "cast",
     .kind = ARGUMENT_SET,
     .target = MEMBER(cast),
     .modes = M_DIFF,
     .help = "with --diff: is B what rounding A gives?",
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
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_where,
     .what = "result",
     .word = option_condition_word,
     .aliases = option_operation_aliases,
     .other = "a quantile such as q0.25 or p99.9",
     .modes = M_REDUCE | M_LIST | M_MERGE | M_DIFF,
     .help = "only rows for which CONDITION holds: nan>0",
     .joined = "only rows with, say, nan>0; sorted"},
    {.name = "sort",
     .value = "NAME",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_sort,
     .what = "result",
     .word = option_row_word,
     .aliases = option_operation_aliases,
     .other = "a quantile such as q0.25 or p99.9",
     .completion = COMPLETE_WORD,
     .modes = M_REDUCE | M_LIST | M_MERGE | M_DIFF,
     .help = "sort rows by a result or name; -NAME descends"},
    {.name = "json",
     .common = true,
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_output,
     .least = OUTPUT_JSON,
     .modes = M_ALL & ~(M_CHECK),
     .help = "print one JSON object per file or array",
     .joined = "one JSON object per file or array; a table"},
    {.name = "tsv",
     .common = true,
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_output,
     .least = OUTPUT_TSV,
     .modes = M_ALL & ~(M_CHECK),
     .help = "print a table with tabs between the values"},
    {.name = "number",
     .value = "FORM",
     .kind = ARGUMENT_WORD,
     .target = MEMBER(number),
     .what = "form of numbers",
     .words = option_number_words,
     .completion = COMPLETE_WORD,
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
     .help = "show progress (default: on a terminal, without -q)",
     .joined = "show it, or not (default: terminal)"},
    {.name = "no-progress",
     .kind = ARGUMENT_CHOICE,
     .target = MEMBER(asked),
     .least = PROGRESS_HIDDEN,
     .help = "do not show progress"},
    {.name = "partial",
     .group = "Partial",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_output,
     .least = OUTPUT_PARTIAL,
     .modes = M_PARTIAL | M_MERGE_PARTIAL,
     .mode = M_PARTIAL,
     .help = "print partial results, which --merge reads"},
    {.name = "shard",
     .value = "I/N",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_shard,
     .words = option_shard_words,
     .completion = COMPLETE_WORD,
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
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_device,
     .what = "device",
     .words = option_device_words,
     .aliases = option_device_aliases,
     .other = "gpu:LIST",
     .completion = COMPLETE_WORD,
     .help = "device: auto (default), cpu, gpu or gpu:LIST"},
    {.name = "threads",
     .common = true,
     .letter = 'j',
     .value = "N",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_threads,
     .help = "CPU threads (default: one per core)",
     .joined = "CPU threads; bytes of a chunk"},
    {.name = "chunk-size",
     .value = "SIZE",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_chunk_size,
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

/* Whether an option goes with the mode. A message says why not. */
static bool goes_with(const struct argument *x, enum mode mode)
{
    char format[128], name[64];
    const bool other_output = mode == M_MERGE && x->modes & M_MERGE_PARTIAL;

    if (x->modes == 0 || x->modes & mode)
        return true;
    snprintf(name, sizeof name, "--%s", x->name);
    if (other_output)
        snprintf(format, sizeof format, "option %%s needs --partial");
    else if (mode == M_REDUCE)
        snprintf(format, sizeof format, "option %%s needs %s", mode_option(x->modes));
    else if (mode == M_PARTIAL || mode == M_MERGE_PARTIAL)
        snprintf(format, sizeof format, "option %%s does not go with %s",
                 mode == M_PARTIAL || x->modes & M_MERGE ? "--partial" : "--merge");
    else
        snprintf(format, sizeof format, "option %%s does not go with %s", mode_option(mode));
    return arguments_wrong(&arguments, format, name);
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
    for (size_t i = 0; i < COUNT(table); i++) {
        if (!(given >> i & 1))
            continue;
        if (options->ranks && table[i].modes & M_ALONE) {
            char name[64];

            snprintf(name, sizeof name, "--%s", table[i].name);
            return arguments_wrong(&arguments, "option %s is for gpureduce", name);
        }
        if (!goes_with(&table[i], mode))
            return false;
    }
    return true;
}

/* Whether there are two files to compare, by a CPU. */
static bool diff_possible(const struct options *options, const struct operands *operands)
{
    if (options->session.device == DEVICE_GPU)
        return arguments_wrong(&arguments, "option %s does not go with --diff", "--device=gpu");
    if (operands->count < 2)
        return arguments_wrong(&arguments, "option %s needs two files", "--diff");
    if (operands->count > 2)
        return arguments_wrong(&arguments, "--diff compares two files; remove %s",
                               operands->words[2]);
    if (strcmp(operands->words[0], "-") == 0 && strcmp(operands->words[1], "-") == 0)
        return arguments_wrong(&arguments, "%s, standard input, can be only one of the two files",
                               "-");
    return true;
}

/* Whether a digest goes with the other options: several arrays as one have none that follows from
   theirs. */
static bool digest_goes_with(const struct options *options)
{
    return !options->total || !(options->session.wants & PARTIAL_DIGEST) ||
           arguments_wrong(&arguments, "option %s does not go with --op=digest", "--total");
}

/* Whether the options about the histogram go with each other, and with the number of files. */
static bool histogram_goes_with(const struct options *options)
{
    const bool asked = options->session.passes.histogram.kind != HISTOGRAM_NONE;

    if (options->plot && !asked)
        return arguments_wrong(&arguments, "option %s needs --histogram", "--plot");
    if (options->plot && options->file_count > 1)
        return arguments_wrong(&arguments, "option %s is for one file", "--plot");
    if (asked && options->output == OUTPUT_TSV && options->operation_count > 0)
        return arguments_wrong(
            &arguments,
            "--histogram with --tsv prints no other results; leave out %s, or use --json", "--op");
    return true;
}

enum command_line_action command_line_parse(int argc, char **argv, struct options *options)
{
    static char standard_input[] = "-";
    static char *default_files[] = {standard_input, NULL};
    struct operands operands;

    *options = (struct options){
        .session = {.input = {.log = &failure_log,
                              .length = SOURCE_UNKNOWN,
                              .order = ELEMENT_ORDER_UNSAID},
                    .device_count = 1},
        .ranks = of_ranks,
    };
    process_settings(&options->session);
    switch (arguments_parse(&arguments, argc, argv, options, &operands)) {
    case ARGUMENTS_RUN:
        break;
    case ARGUMENTS_DONE:
        return COMMAND_LINE_DONE;
    case ARGUMENTS_WRONG:
        return COMMAND_LINE_WRONG;
    }
    if (!choose_command(options, operands.given) || !rows_go_with(&arguments, options) ||
        (options->command == COMMAND_DIFF && !diff_possible(options, &operands)))
        return COMMAND_LINE_WRONG;
    options->session.input.plausibility = !options->quiet;
    if (options->command == COMMAND_CHECK) {
        options->files = operands.words;
        options->file_count = operands.count;
        options->session.input.wanted = &options->wanted;
        return COMMAND_LINE_RUN;
    }
    if (options->operation_count == 0 && options->session.passes.histogram.kind == HISTOGRAM_NONE &&
        !(options->command == COMMAND_MERGE && options->output == OUTPUT_PARTIAL))
        (void)option_add_operations(&arguments, &table[0], "sum,min,max,mean", options);
    for (size_t i = 0; i < options->operation_count; i++)
        operation_ask(options->operations[i], &options->session.wants, &options->session.passes);
    rows_ask(options);
    if (!digest_goes_with(options) || !partial_check(&arguments, options))
        return COMMAND_LINE_WRONG;
    options->progress = options->asked == PROGRESS_UNSAID ? !options->quiet && isatty(STDERR_FILENO)
                                                          : options->asked == PROGRESS_SHOWN;
    options->session.input.wanted = &options->wanted;
    options->session.keep_partials =
        options->total || options->output == OUTPUT_PARTIAL || options->ranks;
    options->files = operands.count > 0 ? operands.words : default_files;
    options->file_count = operands.count > 0 ? operands.count : 1;
    if (!histogram_goes_with(options) || !partial_goes_with(&arguments, options) ||
        !axis_goes_with(options, &arguments))
        return COMMAND_LINE_WRONG;

    for (int i = 0; i < options->file_count; i++) {
        if (strcmp(options->files[i], "-") == 0 && isatty(STDIN_FILENO)) {
            message_error(EXIT_USAGE, "standard input is a terminal: name a file, or pipe one in "
                                      "(try 'gpureduce --help')");
            return COMMAND_LINE_WRONG;
        }
    }
    return COMMAND_LINE_RUN;
}
