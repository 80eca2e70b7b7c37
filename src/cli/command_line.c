#include "config.h"

#include "cli/command_line.h"

#include <string.h>
#include <unistd.h>

#include "cli/argument_parser.h"
#include "cli/arguments.h"
#include "cli/axis.h"
#include "cli/option_values.h"
#include "cli/partial_options.h"
#include "core/number.h"
#include "sys/message.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define MEMBER(name) offsetof(struct options, name)

static const struct argument table[] = {
    {.name = "op",
     .letter = 'o',
     .value = "LIST",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_operations,
     .what = "operation",
     .word = option_operation_word,
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
     .parse = option_parse_histogram,
     .word = option_histogram_word,
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
     .parse = option_parse_dtype,
     .what = "dtype",
     .word = option_dtype_word,
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
     .parse = option_parse_endian,
     .what = "byte order",
     .word = option_endian_word,
     .completion = COMPLETE_WORD,
     .help = "byte order of raw elements: little (default) or big"},
    {.name = "format",
     .value = "FMT",
     .kind = ARGUMENT_WORD,
     .target = MEMBER(session.input.format),
     .what = "format",
     .word = option_format_word,
     .completion = COMPLETE_WORD,
     .help = "what the input is: auto (default), raw, npy, zstd, safetensors, npz, gguf, hdf5, or "
             "raw+zstd, "
             "which is "
             "raw numbers compressed by zstd whatever they look like"},
    {.name = "array",
     .value = "GLOB",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_array,
     .help =
         "of files of several arrays, reduce only those whose names match GLOB; repeated, those "
         "that match any"},
    {.name = "list",
     .kind = ARGUMENT_SET,
     .target = MEMBER(list),
     .help = "reduce nothing: print which arrays there are, from the headers alone"},
    {.name = "where",
     .value = "CONDITION",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_where,
     .what = "result",
     .word = option_condition_word,
     .other = "a quantile such as q0.25 or p99.9",
     .help =
         "print only files and arrays of which CONDITION holds: the name of a result, elements or "
         "bytes, then < <= = != > or >=, then a number, such as nan>0; repeated, those of "
         "which all hold"},
    {.name = "sort",
     .value = "NAME",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_sort,
     .what = "result",
     .word = option_row_word,
     .other = "a quantile such as q0.25 or p99.9",
     .completion = COMPLETE_WORD,
     .help =
         "print files and arrays in the order of this result, or of their name, dtype, elements "
         "or bytes; -NAME: the greatest first"},
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
     .parse = option_parse_long,
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
     .word = option_nan_word,
     .completion = COMPLETE_WORD,
     .help = "what a NaN does: propagate (default), skip, or error"},
    {.name = "device",
     .letter = 'D',
     .value = "DEVICE",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_device,
     .what = "device",
     .word = option_device_word,
     .other = "gpu:LIST",
     .completion = COMPLETE_WORD,
     .help = "what does the work: auto (default), cpu, gpu, or gpu:LIST such as gpu:0,2"},
    {.name = "threads",
     .letter = 'j',
     .value = "N",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_threads,
     .help = "CPU threads that reduce, or that feed the GPU"},
    {.name = "chunk-size",
     .value = "SIZE",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_chunk_size,
     .help = "bytes a thread handles at a time"},
    {.name = "json",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_json,
     .help = "print one JSON object per line, one per file or array"},
    {.name = "tsv",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_tsv,
     .help = "print a heading, and a line per file or array with tabs between the values"},
    {.name = "number",
     .value = "FORM",
     .kind = ARGUMENT_WORD,
     .target = MEMBER(number),
     .what = "form of numbers",
     .word = option_number_word,
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
    {.name = "diff",
     .kind = ARGUMENT_SET,
     .target = MEMBER(diff),
     .help = "compare two files, array by array, and print what differs; exit with status 0 if "
             "nothing does, 1 if anything does, 2 if something is wrong"},
    {.name = "tolerance",
     .value = "LIST",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_tolerance,
     .help = "with --diff, elements that are this close do not count as different: any of ulp:N, "
             "abs:X and rel:X, separated by commas"},
    {.name = "fail-on",
     .value = "LIST",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_fail_on,
     .what = "condition",
     .word = option_fail_on_word,
     .completion = COMPLETE_LIST,
     .help = "exit with status 1 if a file holds any of these, separated by commas: nan, inf, "
             "empty (no elements)"},
    {.name = "axis",
     .value = "N",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_axis,
     .help =
         "reduce along axis N, as NumPy counts them: a line for each result; negative N count from "
         "the last one"},
    {.name = "shape",
     .value = "A,B,...",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_shape,
     .help = "the sizes of raw input for --axis, the last one changing fastest; one may be -1"},
    {.name = "output",
     .value = "FILE",
     .kind = ARGUMENT_TEXT,
     .target = MEMBER(axis_output),
     .completion = COMPLETE_FILE,
     .help = "write the results of --axis into FILE, a .npy; of several operations, a field each"},
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
     .parse = option_ask_progress,
     .help = "show progress on standard error; default: on a terminal, without -q"},
    {.name = "no-progress",
     .kind = ARGUMENT_PARSED,
     .parse = option_refuse_progress,
     .help = "show no progress"},
    {.name = "partial",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_partial,
     .help = "print partial results, to be merged: one line of JSON per file or array; with "
             "--total one for all"},
    {.name = "merge",
     .kind = ARGUMENT_SET,
     .target = MEMBER(merge),
     .help = "read partial results from the files, and print what they come to"},
    {.name = "allow-gaps",
     .kind = ARGUMENT_SET,
     .target = MEMBER(allow_gaps),
     .help = "with --merge, also where elements are missing"},
    {.name = "label",
     .value = "NAME",
     .kind = ARGUMENT_TEXT,
     .target = MEMBER(label),
     .help = "with --partial, call the input NAME, not by its file"},
    {.name = "shard",
     .value = "I/N",
     .kind = ARGUMENT_PARSED,
     .parse = option_parse_shard,
     .word = option_shard_word,
     .completion = COMPLETE_WORD,
     .help = "with --partial, reduce only part I of N, from 1 on; auto takes them from Open MPI, "
             "PMI or Slurm"},
};

static struct arguments arguments = {
    .program = "gpureduce",
    .usage = "[OPTION]... [FILE]...",
    .summary = "Reduce large binary files of numbers to their exact sum, min, max and mean.\n"
               "\n"
               "With no FILE, or when FILE is -, read standard input. Raw numbers, .npy files,\n"
               "either of them compressed by zstd, and safetensors, .npz, GGUF and HDF5 files,\n"
               "each array of which has a result, are told apart by their content.",
    .table = table,
    .count = COUNT(table),
    .operands = -1,
    .details = "SIZE is in bytes, or has a suffix: kB, MB, GB, TB (powers of 1000), or KiB, MiB,\n"
               "GiB, TiB, K, M, G, T (powers of 1024). --dtype, --endian and --skip apply to raw\n"
               "input only; a .npy header states them.\n"
               "\n"
               "Exit status: 0 success; 1 input, output or device failure, or what --check or\n"
               "--fail-on look for; 2 wrong usage; 3 a GPU was required and there is none to\n"
               "use. With --diff 0 is the same, 1 different, 2 trouble.\n"
               "\n"
               "Example: gpureduce file.bin --op sum",
};

static bool of_ranks;

void command_line_of_ranks(const char *name)
{
    arguments.program = name;
    of_ranks = true;
}

/* Whether the other options go with --check, which takes files and operations from its record. */
static bool check_goes_with(struct options *options, const struct operands *operands)
{
    const char *other = options->operation_count > 0             ? "--op"
                        : options->plot                          ? "--plot"
                        : survey_asked(&options->session.survey) ? "--histogram"
                        : options->output == OUTPUT_JSON         ? "--json"
                        : options->output == OUTPUT_TSV          ? "--tsv"
                        : options->output == OUTPUT_PARTIAL      ? "--partial"
                        : options->merge                         ? "--merge"
                        : options->total                         ? "--total"
                        : options->wanted.count > 0              ? "--array"
                        : options->list                          ? "--list"
                        : options->axis.asked                    ? "--axis"
                        : options->axis.shape.known              ? "--shape"
                        : options->axis_output                   ? "--output"
                        : options->shard.of > 0                  ? "--shard"
                        : options->label                         ? "--label"
                        : options->allow_gaps                    ? "--allow-gaps"
                                                                 : NULL;

    if (other)
        return arguments_wrong(&arguments, "option %s does not go with --check", other);
    if (operands->count > 0)
        return arguments_wrong(&arguments, "with --check, files stand in its file: unexpected %s",
                               operands->words[0]);
    options->files = operands->words;
    return true;
}

/* Whether the other options, and the files, go with --diff. */
static bool diff_goes_with(const struct options *options, const struct operands *operands)
{
    const char *other = options->operation_count > 0             ? "--op"
                        : options->session.ddof > 0              ? "--ddof"
                        : options->plot                          ? "--plot"
                        : survey_asked(&options->session.survey) ? "--histogram"
                        : options->check                         ? "--check"
                        : options->total                         ? "--total"
                        : options->list                          ? "--list"
                        : options->fail_on                       ? "--fail-on"
                        : options->session.device == DEVICE_GPU  ? "--device=gpu"
                        : options->output == OUTPUT_PARTIAL      ? "--partial"
                        : options->merge                         ? "--merge"
                                                                 : NULL;

    if (other)
        return arguments_wrong(&arguments, "option %s does not go with --diff", other);
    if (operands->count < 2)
        return arguments_wrong(&arguments, "option %s needs two files", "--diff");
    if (operands->count > 2)
        return arguments_wrong(&arguments, "with --diff there are two files: unexpected %s",
                               operands->words[2]);
    if (strcmp(operands->words[0], "-") == 0 && strcmp(operands->words[1], "-") == 0)
        return arguments_wrong(&arguments, "%s, standard input, can be one of the two files only",
                               "-");
    return true;
}

static bool has_tolerance(const struct options *options)
{
    const struct difference_tolerance *t = &options->tolerance;

    return t->by_ulps || t->by_absolute || t->by_relative;
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

enum command_line_action command_line_parse(int argc, char **argv, struct options *options)
{
    static char standard_input[] = "-";
    static char *default_files[] = {standard_input, NULL};
    struct operands operands;

    *options = (struct options){
        .session = {.input = {.length = SOURCE_UNKNOWN, .order = ELEMENT_ORDER_UNSAID},
                    .device_count = 1},
        .ranks = of_ranks,
    };
    switch (arguments_parse(&arguments, argc, argv, options, &operands)) {
    case ARGUMENTS_RUN:
        break;
    case ARGUMENTS_DONE:
        return COMMAND_LINE_DONE;
    case ARGUMENTS_WRONG:
        return COMMAND_LINE_WRONG;
    }
    if (!rows_go_with(&arguments, options) ||
        (options->diff && !diff_goes_with(options, &operands)))
        return COMMAND_LINE_WRONG;
    /* What it looks for is not looked at. */
    if (options->list && options->fail_on && !options->axis.asked) {
        (void)arguments_wrong(&arguments, "option %s does not go with --list", "--fail-on");
        return COMMAND_LINE_WRONG;
    }
    if (!options->diff && has_tolerance(options)) {
        (void)arguments_wrong(&arguments, "option %s goes with --diff only", "--tolerance");
        return COMMAND_LINE_WRONG;
    }
    if (options->check && !options->ranks)
        return check_goes_with(options, &operands) ? COMMAND_LINE_RUN : COMMAND_LINE_WRONG;
    if (options->operation_count == 0 && options->session.survey.histogram.kind == HISTOGRAM_NONE &&
        !(options->merge && options->output == OUTPUT_PARTIAL))
        (void)option_add_operations(&arguments, &table[0], "sum,min,max,mean", options);
    for (size_t i = 0; i < options->operation_count; i++)
        operation_ask(options->operations[i], &options->session.wants, &options->session.survey);
    rows_ask(options);
    if (!partial_settle(&arguments, options))
        return COMMAND_LINE_WRONG;
    options->progress = options->asked == PROGRESS_UNSAID ? !options->quiet && isatty(STDERR_FILENO)
                                                          : options->asked == PROGRESS_SHOWN;
    options->session.input.wanted = &options->wanted;
    options->session.keep_partials =
        options->total || options->output == OUTPUT_PARTIAL || options->ranks;
    options->session.input.doubt = isatty(STDERR_FILENO) && !options->quiet;
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
