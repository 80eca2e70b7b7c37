/*
 * json.h: the reader takes what RFC 8259 allows, and nothing else.
 */
/* Tags: emulator */
#include "config.h"

#include "sys/json.h"

#include <stdint.h>
#include <string.h>

#include "lib/tap.h"
#include "sys/buffer.h"

static bool valid(const char *text)
{
    struct json_reader r;

    json_read(&r, text);
    json_read_skip(&r);
    return json_read_end(&r);
}

static void test_grammar(void)
{
    static const char *const good[] = {
        "0",
        "-0",
        "10.25",
        "1e5",
        "1E+05",
        "-1.5e-7",
        "true",
        "false",
        "null",
        " \t\r\n1 ",
        "\"\"",
        "\"a b\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\\u00e9\\uFFFD\"",
        "\"\\ud83d\\uDE00\"",
        "\"a\\u0000b\"",
        "\"caf\303\251\"",
        "\"\177\"",
        "[]",
        "[ ]",
        "[1]",
        "[1, [2, []], {}]",
        "{}",
        "{\"a\": 1}",
        "{\"a\":{\"b\":[true,null]},\"a\":2}",
        ("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
         "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"),
    };
    static const char *const bad[] = {
        "",
        " ",
        "1 2",
        "+1",
        "01",
        "-",
        ".5",
        "5.",
        "1e",
        "1e+",
        "0x10",
        "1e999",
        "inf",
        "nan",
        "NaN",
        "nul",
        "nullx",
        "True",
        "\"",
        "\"a",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\ud800\"",
        "\"\\udfff\"",
        "\"\\ud83d \\ude00\"",
        "\"\\ud83d\\n\"",
        "\"\\ud83d\\u0041\"",
        "\"\\ud83d\\ud83d\"",
        "\"\\ud83d\\ude0\"",
        "\"\\ude00\\ud83d\"",
        "\"\n\"",
        "\"\001\"",
        "\"\377\"",
        "\"\303\"",
        "'a'",
        "[",
        "]",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[1}",
        "{",
        "}",
        "{]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{1:1}",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "[1]]",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
        "[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]"
        "]]",
    };
    struct tap_family family = {0};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        tap_case(&family, valid(good[i]), "refused: %s", good[i]);
    tap_family_end(&family, "what is JSON is read");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        tap_case(&family, !valid(bad[i]), "taken: %s", bad[i]);
    tap_family_end(&family, "what is none is refused");
}

/* A million brackets must not use up the stack. */
static void test_depth(void)
{
    static char text[1000001];

    memset(text, '[', sizeof text - 1);
    tap_ok(!valid(text), "no depth of brackets is followed for long");
    for (size_t i = 0; i + 5 < sizeof text; i += 5)
        memcpy(text + i, "{\"\":", 5);
    tap_ok(!valid(text), "nor one of braces");
}

static void test_values(void)
{
    struct json_reader r;
    char text[8];
    double x = 0;

    json_read(&r, "[-12.5e1, \"\\u00e9\\u20ac\\t!\", null, 7]");
    tap_ok(json_read_begin(&r, '[') && json_read_more(&r, ']') && json_read_number(&r, &x) &&
               x == -125,
           "a number");
    tap_ok(json_read_more(&r, ']') && json_read_string(&r, text, sizeof text) &&
               strcmp(text, "\303\251\342\202\254\t!") == 0,
           "a string that just fits");
    tap_ok(json_read_more(&r, ']') && json_read_null(&r), "null");
    tap_ok(json_read_more(&r, ']') && !json_read_null(&r) && json_read_number(&r, &x) && x == 7,
           "a number where null might be");
    tap_ok(!json_read_more(&r, ']') && json_read_end(&r), "and that was all");

    json_read(&r, "[\"\\ud83d\\ude00\", \"\\uD800\\uDC00\", \"\\udbff\\udfff\"]");
    tap_ok(json_read_begin(&r, '[') && json_read_more(&r, ']') &&
               json_read_string(&r, text, sizeof text) && strcmp(text, "\360\237\230\200") == 0,
           "a pair of surrogates is one character");
    tap_ok(json_read_more(&r, ']') && json_read_string(&r, text, sizeof text) &&
               strcmp(text, "\360\220\200\200") == 0,
           "the first pair");
    tap_ok(json_read_more(&r, ']') && json_read_string(&r, text, sizeof text) &&
               strcmp(text, "\364\217\277\277") == 0,
           "the last pair");

    json_read(&r, "\"a\\u0000b\"");
    tap_ok(!json_read_string(&r, text, sizeof text), "a string with a NUL is an error");
    json_read(&r, "\"12345678\"");
    memset(text, 'x', sizeof text);
    tap_ok(!json_read_string(&r, text, sizeof text) && !json_read_end(&r),
           "a string without room is an error");
    tap_ok(text[0] == '\0', "it leaves an empty one");
    json_read(&r, "{7: 1}");
    memset(text, 'x', sizeof text);
    tap_ok(json_read_begin(&r, '{') && json_read_more(&r, '}') &&
               !json_read_key(&r, text, sizeof text) && text[0] == '\0',
           "so does a name that is none");
    json_read(&r, "{\"12345678\": 7}");
    tap_ok(json_read_begin(&r, '{') && json_read_more(&r, '}') &&
               json_read_key(&r, text, sizeof text) && strlen(text) == sizeof text - 1 &&
               json_read_number(&r, &x) && x == 7 && !json_read_more(&r, '}') && json_read_end(&r),
           "a name without room is cut off");
    json_read(&r, "{\"key\" 1}");
    tap_ok(json_read_begin(&r, '{') && json_read_more(&r, '}') &&
               !json_read_key(&r, text, sizeof text) && text[0] == '\0',
           "so does one without its colon");
    json_read(&r, "{\"key\": 1}");
    tap_ok(json_read_begin(&r, '{') && json_read_more(&r, '}') &&
               json_read_key(&r, text, sizeof text) && strcmp(text, "key") == 0 &&
               !json_read_string(&r, text, sizeof text) && !json_read_number(&r, &x) &&
               !json_read_more(&r, '}') && !json_read_end(&r),
           "an error latches");
    json_read(&r, "[1]");
    tap_ok(!json_read_begin(&r, '{'), "an array is no object");
    json_read(&r, "[1");
    tap_ok(json_read_begin(&r, '[') && json_read_more(&r, ']') && json_read_number(&r, &x) &&
               !json_read_end(&r),
           "the end is not inside an array");
}

/* Numbers as they are written, which may be more than a double holds. */
static void test_number_text(void)
{
    struct json_reader r;
    char text[24] = "";

    json_read(&r, "[ 18446744073709551615 , -1.50e+700, 123]");
    tap_ok(json_read_begin(&r, '[') && json_read_more(&r, ']') &&
               json_read_number_text(&r, text, sizeof text) &&
               strcmp(text, "18446744073709551615") == 0,
           "the text of a large count");
    tap_ok(json_read_more(&r, ']') && json_read_number_text(&r, text, sizeof text) &&
               strcmp(text, "-1.50e+700") == 0,
           "the text of a number beyond double's range");
    tap_ok(json_read_more(&r, ']') && !json_read_number_text(&r, text, 3) && text[0] == '\0' &&
               !json_read_more(&r, ']'),
           "a text without room for its end is an error");
    json_read(&r, "0x1p3");
    tap_ok(json_read_number_text(&r, text, sizeof text) && !json_read_end(&r),
           "hexadecimal is no number");
}

/* The reader reads all that the writer writes. */
static void test_round_trip(void)
{
    static const char odd[] = "\"\\/\n\001\177 caf\303\251 \360\235\204\236";
    struct buffer text = {0};
    struct json_reader r;
    char back[64];

    buffer_char(&text, '"');
    buffer_escape(&text, odd, ESCAPE_JSON);
    buffer_bytes(&text, "\"", 2);
    if (text.failed)
        return;
    json_read(&r, text.data);
    tap_ok(json_read_string(&r, back, sizeof back) && json_read_end(&r) && strcmp(back, odd) == 0,
           "what is written reads back");
    json_read(&r, text.data);
    tap_ok(strcmp(json_read_string_here(&r), odd) == 0 && json_read_end(&r), "and where it stands");
    buffer_free(&text);
}

/* Strings that are decoded where they stand, and what is none. */
static void test_here(void)
{
    char text[] =
        "{\"plain\":1,\"\":2, \"\\u0061b\\ncd\" : \"x\",\"caf\303\251\":\"\\ud83d\\ude00\"}";
    char wrong[] = "[\"a\tb\"]", none[] = "{\"a\" 1}";
    const char *names[4] = {NULL}, *values[2] = {NULL};
    struct json_reader r;
    bool good = true;

    json_read(&r, text);
    json_read_begin(&r, '{');
    for (int i = 0; i < 4; i++) {
        good = good && json_read_more(&r, '}');
        names[i] = json_read_key_here(&r);
        if (i < 2)
            json_read_skip(&r);
        else
            values[i - 2] = json_read_string_here(&r);
    }
    good = good && !json_read_more(&r, '}') && json_read_end(&r);
    tap_ok(good && strcmp(names[0], "plain") == 0 && strcmp(names[1], "") == 0 &&
               strcmp(names[2], "ab\ncd") == 0 && strcmp(names[3], "caf\303\251") == 0 &&
               strcmp(values[0], "x") == 0 && strcmp(values[1], "\360\237\230\200") == 0,
           "strings where they stand");
    json_read(&r, wrong);
    json_read_begin(&r, '[');
    tap_ok(!json_read_string_here(&r) && r.at == wrong + 3 && !json_read_end(&r),
           "a control character in one");
    json_read(&r, none);
    json_read_begin(&r, '{');
    tap_ok(!json_read_key_here(&r) && !json_read_end(&r), "a name without a colon");
}

static void test_integer(void)
{
    static const char *const bad[] = {
        "-1", "1.0", "1e3", "01", "18446744073709551616", "", "x", ".5", "99999999999999999999"};
    struct json_reader r;
    uint64_t a = 1, b = 1, c = 1;

    json_read(&r, "[0, 18446744073709551615,7 ]");
    json_read_begin(&r, '[');
    json_read_more(&r, ']');
    json_read_integer(&r, &a);
    json_read_more(&r, ']');
    json_read_integer(&r, &b);
    json_read_more(&r, ']');
    json_read_integer(&r, &c);
    json_read_more(&r, ']');
    tap_ok(json_read_end(&r) && a == 0 && b == UINT64_MAX && c == 7, "integers");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_read(&r, bad[i]);
        tap_ok(!json_read_integer(&r, &a) && r.at == bad[i], "no integer: %s", bad[i]);
    }
}

int main(void)
{
    test_grammar();
    test_depth();
    test_values();
    test_number_text();
    test_round_trip();
    test_here();
    test_integer();
    return tap_done();
}
