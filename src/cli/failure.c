#include "config.h"

#include "cli/failure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/message.h"
#include "core/name.h"
#include "core/shell.h"

/* Room for a list of options, or for a type. */
#define WORDS_MAX 160

/* A type as -t takes it. */
static const char *say_type(char said[WORDS_MAX], const struct advice *a)
{
    if (a->order == ELEMENT_ORDER_BIG && element_size(a->type) > 1)
        snprintf(said, WORDS_MAX, "'>%s'", element_names[a->type].numpy[0]);
    else
        snprintf(said, WORDS_MAX, "%s", element_name(a->type));
    return said;
}

static const char *say_order(const struct advice *a)
{
    return a->order == ELEMENT_ORDER_LITTLE ? " --endian=little"
           : a->order == ELEMENT_ORDER_BIG  ? " --endian=big"
                                            : "";
}

/* The options that a header overrides. */
static const char *say_overridden(char said[WORDS_MAX], const struct advice *a)
{
    static const char *const options[] = {"--dtype", "--endian", "--skip"};
    char skip[32];
    const char *values[] = {element_name(a->type), a->order == ELEMENT_ORDER_BIG ? "big" : "little",
                            skip};
    int used = 0;

    snprintf(skip, sizeof skip, "%" PRIu64, a->skip);
    for (unsigned i = 0; i < 3; i++)
        if (a->overridden >> i & 1)
            used += snprintf(said + used, WORDS_MAX - (size_t)used, "%s%s%s%s%s",
                             used > 0 ? ", " : "", options[i], a->says ? " (it says " : "",
                             a->says ? values[i] : "", a->says ? ")" : "");
    return said;
}

/* Values of --format for raw numbers inside compressions. */
static const char *const raws[COMPRESSIONS] = COMPRESSION_NAMES("raw");

/* Other ways to read the input of a command. */
static const char *say_raw(char said[WORDS_MAX], const struct advice *a)
{
    const char *raw = raws[a->compressed];

    *said = '\0';
    if (a->raw)
        snprintf(said, WORDS_MAX, " (--format=%s reads it as raw numbers%s)", raw,
                 a->arrays ? ", --format=npz the NumPy arrays in it, --format=zarr the Zarr store"
                           : "");
    return said;
}

/* Advice that is the same whatever it is about. */
static const char *const words[] = {
    [ADVICE_CPU] = "; use --device=cpu",
    [ADVICE_CPU_TELLS] = "; -D cpu, or a file in place of the pipe, tells which",
    [ADVICE_ARRAY] = "; choose one with --array",
    [ADVICE_NO_ARRAY] = ", which --array does not apply to",
    [ADVICE_NO_SHARD] = "; leave out --shard",
    [ADVICE_SHAPE] = "; give --shape",
    [ADVICE_SIZES] = "; give all sizes in --shape",
    [ADVICE_WRONG_SHAPE] = " (--shape)",
    [ADVICE_SHAPE_UNUSED] = "; ignoring --shape",
    [ADVICE_SKIP] = " (--skip)",
    [ADVICE_WINDOW] = "; use --long=N for windows of up to 2^N bytes (N up to 31)",
    [ADVICE_BINS] = "; give the number of bins, as in --histogram=100",
    [ADVICE_RANGE] = "; give the range of the histogram, as in --histogram=100,-1,1",
    [ADVICE_OTHER_TYPE] = "; try another -t",
    [ADVICE_TYPE_OF_BYTES] = " (if it is bfloat16 or a float8, -t says so)",
    [ADVICE_STORED] = "; --stored ignores attributes",
    [ADVICE_RAW_EMPTY] = " (--format=raw reads it as no elements)",
    [ADVICE_LOAD] = NULL,
};

/* Writes the advice: what follows the text of an error. */
static void advise(char *out, size_t size, const struct advice *a, const char *path)
{
    const char *raw = raws[a->compressed];
    const bool named = path && strcmp(path, "-") != 0;
    char said[WORDS_MAX], rest[WORDS_MAX], word[SHELL_WORD_MAX] = "";
    char command[SHELL_DECOMPRESSION_MAX];

    if (named && (a->kind == ADVICE_RAW_PART || a->kind == ADVICE_FORTRAN))
        shell_operand(word, path);
    if (a->kind == ADVICE_OVERRIDDEN) {
        snprintf(out, size, ": %s", say_overridden(said, a));
    } else if (a->kind == ADVICE_BETTER_TYPE) {
        if (!a->typed)
            snprintf(out, size, "; try%s", say_order(a));
        else if (element_is_float(a->type))
            snprintf(out, size, "; try -t %s%s", element_name(a->type), say_order(a));
        else
            snprintf(out, size, "; try -t %s", say_type(said, a));
    } else if (a->kind == ADVICE_OPEN_TYPE) {
        snprintf(out, size, ": if they are %s, type -t %s", element_names[a->type].numpy[0],
                 element_name(a->type));
    } else if (a->kind == ADVICE_RAW_TYPE) {
        snprintf(out, size, "; --format=raw --dtype=%s%s --skip=%" PRIu64 " reads these",
                 element_name(a->type), say_order(a), a->skip);
    } else if (a->kind == ADVICE_RAW) {
        snprintf(out, size, " (--format=%s reads it as raw numbers)", raw);
    } else if (a->kind == ADVICE_RAW_PART) {
        snprintf(out, size,
                 "; try: gpureduce --format=%s -t %s --skip=%" PRIu64 " --length=%" PRIu64
                 "%s%s (--format=%s reads it as raw numbers)",
                 raw, say_type(said, a), a->skip, a->length, named ? " " : "", word, raw);
    } else if (a->kind == ADVICE_FORTRAN) {
        snprintf(out, size, "; try: gpureduce --format=fortran -t %s%s%s%s", say_type(said, a),
                 named ? " " : "", word, say_raw(rest, a));
    } else if (a->kind == ADVICE_PIPE) {
        snprintf(out, size, " | gpureduce%s", say_raw(rest, a));
    } else if (a->kind == ADVICE_DECOMPRESSED) {
        shell_decompression(command, word, named ? path : "", a->compressed);
        snprintf(out, size, " && gpureduce %s%s", word, say_raw(rest, a));
    } else if (a->kind == ADVICE_LOAD) {
        snprintf(out, size, " && gpureduce out.npy%s", say_raw(rest, a));
    } else {
        snprintf(out, size, "%s", words[a->kind] ? words[a->kind] : "");
    }
}

const char *failure_text(char text[FAILURE_TEXT_MAX], const struct error *error, const char *path)
{
    const int used = snprintf(text, ERROR_TEXT_MAX, "%s", error->text);

    advise(text + used, FAILURE_TEXT_MAX - (size_t)used, &error->advice, path);
    return text;
}

void failure_print_as(const char *name, const char *path, const struct error *error)
{
    char text[FAILURE_TEXT_MAX];

    message_error(error->kind == ERROR_NO_GPU ? EXIT_NO_GPU : EXIT_FAILED, "%s%s%s", name,
                  *name ? ": " : "", failure_text(text, error, path));
}

void failure_print(const char *path, const char *array, const struct error *error)
{
    char name[NAME_BOTH_MAX] = "";

    failure_print_as(path ? name_both(name, path, array) : name, path, error);
}

static void warn(void *context, const char *name, const struct error *warning)
{
    char text[FAILURE_TEXT_MAX];

    (void)context;
    message_warning("%s: %s", name, failure_text(text, warning, NULL));
}

const struct log failure_log = {.warn = warn};
