/*
 * Text that the program reads: the command line, numbers, and the record of the machine's limits
 * with the JSON it is in; and numbers and strings that it writes, read back.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command_line.h"
#include "cli/message.h"
#include "core/element_round.h"
#include "core/number.h"
#include "profile/machine_limits.h"
#include "sys/buffer.h"
#include "sys/json.h"

#define WORDS_MAX 64

/* A copy that ends in NUL, to be freed: a sanitizer sees a step beyond it. */
static char *copy_text(const unsigned char *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/*
 * The command line: words that NULs separate.
 */

static void check_parsed(const struct options *o)
{
    const struct source_options *input = &o->session.input;

    fuzz_check(fuzz_messages.errors == 0, "taken, and an error: %s", fuzz_messages.text);
    /* With --check, operations and files stand in its file; a histogram may be alone, and partial
       results that are merged into one have none. */
    fuzz_check(o->operation_count <= OPTIONS_OPERATIONS_MAX &&
                   (o->check ? o->operation_count == 0
                             : o->operation_count > 0 || pass_request_any(&o->session.passes) ||
                                   (o->command == COMMAND_MERGE && o->output == OUTPUT_PARTIAL)),
               "%zu operations", o->operation_count);
    fuzz_check(o->session.threads <= OPTIONS_THREADS_MAX, "%u threads", o->session.threads);
    fuzz_check(o->session.chunk_size <= (size_t)1 << 30, "chunks of %zu bytes",
               o->session.chunk_size);
    fuzz_check(input->skip <= INT64_MAX, "%" PRIu64 " bytes to skip", input->skip);
    fuzz_check(input->length <= INT64_MAX || input->length == SOURCE_UNKNOWN,
               "%" PRIu64 " elements", input->length);
    fuzz_check(input->window_log == 0 || (input->window_log >= 10 && input->window_log <= 31),
               "windows of 2^%d bytes", input->window_log);
    fuzz_check((unsigned)input->type < ELEMENT_TYPES && input->format < SOURCE_FORMATS &&
                   o->session.nan <= NAN_ERROR,
               "a choice that there is not");
    fuzz_check(o->session.device_count >= 1 && o->session.device_count <= ENGINE_DEVICES_MAX,
               "%u devices", o->session.device_count);
    for (unsigned i = 0; i < o->session.device_count; i++)
        fuzz_check(o->session.devices[i] >= 0 && o->session.devices[i] < 1024, "device %d",
                   o->session.devices[i]);
    fuzz_check((o->file_count == 0) == (o->check != NULL), "%d files", o->file_count);
    for (int i = 0; i < o->file_count; i++)
        fuzz_check(o->files[i], "file %d is missing", i);
    fuzz_check((o->session.wants & ~(unsigned)PARTIAL_ALL) == 0, "wants %x", o->session.wants);
}

static void command_line(const unsigned char *data, size_t size)
{
    static char program[] = "gpureduce";
    char *text = copy_text(data, size), *word = text;
    char *argv[WORDS_MAX + 2] = {program};
    struct options options;
    int argc = 1;

    while (argc <= WORDS_MAX && word <= text + size) {
        argv[argc++] = word;
        word += strlen(word) + 1;
    }
    fuzz_messages_clear();
    switch (command_line_parse(argc, argv, &options)) {
    case ARGUMENTS_RUN:
        check_parsed(&options);
        break;
    case ARGUMENTS_DONE:
        fuzz_check(fuzz_messages.errors == 0, "help, and an error: %s", fuzz_messages.text);
        break;
    case ARGUMENTS_WRONG:
        fuzz_check(fuzz_messages.errors == 1 && fuzz_messages.status == EXIT_USAGE,
                   "refused with %u errors, status %d: %s", fuzz_messages.errors,
                   fuzz_messages.status, fuzz_messages.text);
        break;
    }
    free(text);
}

/*
 * Numbers, worked out a second time. Beyond 2^63 they count as UINT64_MAX.
 */

static bool expected_size(const char *text, bool suffix, uint64_t *value)
{
    static const char letters[] = "KMGT";
    uint64_t v = 0, factor = 1;
    const char *p = text, *letter;

    /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.ArraySubscript): texts end with a 0 */
    for (; isdigit((unsigned char)*p); p++)
        v = v > INT64_MAX / 10 ? UINT64_MAX : v * 10 + (unsigned)(*p - '0');
    if (p == text)
        return false;
    letter = *p ? strchr(letters, *p == 'k' ? 'K' : *p) : NULL;
    if (*p && !suffix)
        return false;
    if (strcmp(p, "B") == 0 || *p == '\0') {
        factor = 1;
    } else if (!letter) {
        return false;
    } else {
        bool binary = p[1] == '\0' || strcmp(p + 1, "iB") == 0;

        if ((!binary && strcmp(p + 1, "B") != 0) || (binary && *p == 'k'))
            return false;
        for (const char *l = letters; l <= letter; l++)
            factor *= binary ? 1024 : 1000;
    }
    if (__builtin_mul_overflow(v, factor, &v) || v > INT64_MAX)
        return false;
    *value = v;
    return true;
}

static void numbers(const unsigned char *data, size_t size)
{
    char *text = copy_text(data, size);
    uint64_t got = 1, expected = 2;

    fuzz_check(number_parse_size(text, &got) == expected_size(text, true, &expected) &&
                   (got == expected || !expected_size(text, true, &expected)),
               "the size %s is %" PRIu64 ", expected %" PRIu64, text, got, expected);
    fuzz_check(number_parse_count(text, &got) == expected_size(text, false, &expected) &&
                   (got == expected || !expected_size(text, false, &expected)),
               "the count %s is %" PRIu64 ", expected %" PRIu64, text, got, expected);
    free(text);
}

/* The value of the type that is nearest to a decimal. */
static double read_back(const char *text, enum element_type type)
{
    return type == ELEMENT_F32 ? (double)strtof(text, NULL)
                               : element_round(type, strtod(text, NULL));
}

/* Output of number_format reads back, and nothing shorter does. */
static void format(struct fuzz_input *in)
{
    enum element_type type = (enum element_type)fuzz_below(in, ELEMENT_FLOATS);
    unsigned char bytes[8] = {0};
    char text[NUMBER_MAX], shorter[64];
    int digits = 0;
    double x;

    memcpy(bytes, in->data, in->size < 8 ? in->size : 8);
    x = element_load(type, bytes);
    memset(text, 'x', sizeof text);
    number_format(text, x, type);
    fuzz_check(memchr(text, '\0', sizeof text), "a number does not end");
    if (!isfinite(x) || x == 0)
        return;
    fuzz_check(read_back(text, type) == x, "%a as %s is %s", x, element_name(type), text);
    for (const char *c = text; *c && *c != 'e'; c++)
        digits += isdigit((unsigned char)*c) && (digits > 0 || *c != '0');
    if (strchr(text, 'e') && digits > 1) {
        snprintf(shorter, sizeof shorter, "%.*e", digits - 2, x);
        fuzz_check(read_back(shorter, type) != x, "%a as %s is %s, though %s would do", x,
                   element_name(type), text, shorter);
    }
}

/*
 * Recorded limits.
 */

static void record(const unsigned char *data, size_t size)
{
    char *text = copy_text(data, size), reason[MACHINE_REASON_MAX] = "";
    static struct machine m;

    if (machine_parse(&m, text, reason)) {
        fuzz_check(m.count <= MACHINE_LIMITS_MAX && m.cpu[0], "%zu limits", m.count);
        for (size_t i = 0; i < m.count; i++) {
            fuzz_check(memchr(m.limits[i].name, '\0', sizeof m.limits[i].name) &&
                           m.limits[i].name[0],
                       "the name of a limit");
            fuzz_check(m.limits[i].rate > 0 && isfinite(m.limits[i].rate) &&
                           machine_best(&m, m.limits[i].name) >= m.limits[i].rate &&
                           machine_rate(&m, m.limits[i].name, 3) > 0,
                       "the rate of %s", m.limits[i].name);
        }
    } else {
        fuzz_check(reason[0], "a record is refused without a reason");
    }
    free(text);
}

/* A string that is written as JSON and read again is what it was, where it is UTF-8; the quoted
   form of it as a name is fit to print. */
static void string(const unsigned char *data, size_t size)
{
    char *text = copy_text(data, size), *read = malloc(6 * size + 1);
    struct buffer written = {0};
    char quoted[ESCAPE_QUOTE_MAX];
    size_t valid = 0, step;
    struct json_reader r;

    buffer_char(&written, '"');
    buffer_escape(&written, text, ESCAPE_JSON);
    buffer_bytes(&written, "\"", 2);
    if (written.failed || !read)
        abort();
    json_read(&r, written.data);
    fuzz_check(json_read_string(&r, read, 6 * size + 1) && json_read_end(&r),
               "a string does not read back: %s", written.data);
    while (text[valid] && (step = escape_utf8_length((const unsigned char *)text + valid)) > 0)
        valid += step;
    fuzz_check(strncmp(read, text, valid) == 0 && (text[valid] || !read[valid]),
               "a string reads back as another: %s", written.data);

    memset(quoted, 'x', sizeof quoted);
    escape_quote(quoted, text);
    fuzz_check(memchr(quoted, '\0', sizeof quoted), "a quoted name does not end");
    for (const unsigned char *p = (const unsigned char *)quoted; *p; p += step) {
        step = escape_utf8_length(p);
        fuzz_check(*p >= 0x20 && *p != 0x7f && (*p != 0xc2 || p[1] >= 0xa0),
                   "a quoted name has a control character");
        fuzz_check(step > 0, "a quoted name is no UTF-8");
    }
    free(read);
    buffer_free(&written);
    free(text);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    /* For --help. */
    if (!freopen("/dev/null", "w", stdout))
        abort();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};

    switch (fuzz_below(&in, 5)) {
    case 0:
        command_line(in.data, in.size);
        break;
    case 1:
        numbers(in.data, in.size);
        break;
    case 2:
        format(&in);
        break;
    case 3:
        record(in.data, in.size);
        break;
    default:
        string(in.data, in.size);
    }
    return 0;
}
