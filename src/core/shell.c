#include "config.h"

#include "core/shell.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sys/escape.h"

void shell_word(char *word, size_t size, const char *name, size_t length, const char *escaped,
                const char *otherwise)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "._/+,@%:=-";
    char text[SHELL_WORD_MAX];
    size_t used = 0, seen = 1;
    bool quoted = false;

    if (length < sizeof text)
        memcpy(text, name, length);
    else
        length = 0;
    text[length] = '\0';
    for (const char *c = text; *c && seen > 0; c += seen) {
        seen = escape_seen_length(c);
        quoted = quoted || !strchr(plain, *c);
    }
    if (length == 0 || strlen(text) < length || seen == 0) {
        snprintf(word, size, "%s", otherwise);
        return;
    }
    if (quoted)
        word[used++] = '\'';
    for (const char *c = text; *c; c++) {
        if (used + 8 > size) {
            snprintf(word, size, "%s", otherwise);
            return;
        }
        if (strchr(escaped, *c))
            word[used++] = '\\';
        if (*c == '\'')
            used += (size_t)sprintf(word + used, "'\\'");
        word[used++] = *c;
    }
    if (quoted)
        word[used++] = '\'';
    word[used] = '\0';
}

void shell_operand(char word[SHELL_WORD_MAX], const char *path)
{
    const char *colon = strchr(path, ':'), *slash = strchr(path, '/');
    char name[SHELL_WORD_MAX];

    /* A dash begins an option; and what stands before a colon is a host to tar(1). */
    snprintf(name, sizeof name, "%s%s",
             *path == '-' || (colon && (!slash || slash > colon)) ? "./" : "", path);
    shell_word(word, SHELL_WORD_MAX, name, strlen(path) < sizeof name - 3 ? strlen(name) : 0, "",
               "FILE");
}

/* Programs that decompress: the ends of their files' names, how they are called for a file without
   that end, into a pipe, and for a file of another name, which comes after `between`. */
static const struct {
    const char *end, *to_file, *to_pipe, *to_other, *between;
} programs[COMPRESSIONS] = {
    [COMPRESSION_NONE] = {"", "", "", "", ""},
    [COMPRESSION_ZSTD] = {".zst", "zstd -d", "zstd -dc", "zstd -d", " -o "},
    [COMPRESSION_GZIP] = {".gz", "gzip -dk", "gzip -dc", "gzip -dc", " > "},
    [COMPRESSION_ZLIB] = {".zz", "pigz -dk", "pigz -dc", "pigz -dc", " > "},
};

const char *shell_decompression_to_pipe(enum compression compressed)
{
    return programs[compressed].to_pipe;
}

void shell_decompression(char command[SHELL_DECOMPRESSION_MAX], char word[SHELL_WORD_MAX],
                         const char *path, enum compression compressed)
{
    const size_t length = strlen(path), end = strlen(programs[compressed].end);
    const bool named = length > end && length < SHELL_WORD_MAX &&
                       strcmp(path + length - end, programs[compressed].end) == 0;
    char operand[SHELL_WORD_MAX], name[SHELL_WORD_MAX];

    snprintf(name, sizeof name, "%.*s%s", (int)(named ? length - end : length), path,
             named ? "" : ".out");
    shell_operand(operand, path);
    shell_operand(word, name);
    if (*path == '\0' || strcmp(operand, "FILE") == 0 || strcmp(word, "FILE") == 0) {
        snprintf(word, SHELL_WORD_MAX, "FILE");
        snprintf(command, 32, "%s FILE%s", programs[compressed].to_file, programs[compressed].end);
    } else {
        snprintf(command, SHELL_DECOMPRESSION_MAX, "%s %s%s%s",
                 named ? programs[compressed].to_file : programs[compressed].to_other, operand,
                 named ? "" : programs[compressed].between, named ? "" : word);
    }
}
