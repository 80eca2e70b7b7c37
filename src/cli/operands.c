#include "config.h"

#include "cli/operands.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/message.h"
#include "cli/output.h"
#include "sys/escape.h"
#include "sys/grow.h"
#include "sys/json.h"
#include "sys/plural.h"

static const char data_end[] = ".safetensors", index_end[] = ".safetensors.index.json",
                  gguf_end[] = ".gguf";

/* The longest index that is read. Those of models with ten thousand arrays have about a megabyte.
 */
#define INDEX_MAX ((size_t)100 << 20)

/* A list of names, each on the heap. */
struct list {
    char **names;
    size_t count, room;
    bool failed; /* there was no memory */
};

/* Adds a name, which then belongs to the list; NULL stands for one for which there was no memory.
 */
static void add(struct list *list, char *name)
{
    if (!name || !GROW(list->names, list->room, list->count + 1)) {
        list->failed = true;
        free(name);
        return;
    }
    list->names[list->count++] = name;
}

static void clear(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->names[i]);
    free(list->names);
    *list = (struct list){.failed = list->failed};
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name);

    return length > strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

/* "directory/name"; without a directory the name alone. */
static char *join(const char *directory, size_t length, const char *name)
{
    char *path = malloc(length + strlen(name) + 2);

    if (path)
        sprintf(path, "%.*s%s%s", (int)length, directory,
                length > 0 && directory[length - 1] != '/' ? "/" : "", name);
    return path;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts names, and leaves each of them once. */
static void sort(struct list *list)
{
    size_t kept = 0;

    if (list->count > 0)
        qsort(list->names, list->count, sizeof *list->names, compare);
    for (size_t i = 0; i < list->count; i++) {
        if (kept > 0 && strcmp(list->names[kept - 1], list->names[i]) == 0)
            free(list->names[i]);
        else
            list->names[kept++] = list->names[i];
    }
    list->count = kept;
}

/* Prints an error of a path: what errno says. */
static void fail(const char *path)
{
    const char *why = message_errno();
    char quoted[ESCAPE_QUOTE_MAX];

    message_error(EXIT_FAILED, "%s: %s", escape_quote(quoted, path), why);
}

/* The names in a directory that end so. False on failure. */
static bool read_directory(const char *path, const char *end, struct list *names)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    bool good;

    if (!directory) {
        fail(path);
        return false;
    }
    while ((errno = 0, entry = readdir(directory)))
        if (ends_with(entry->d_name, end))
            add(names, strdup(entry->d_name));
    good = errno == 0; /* at the end as well readdir returns NULL */
    if (!good)
        fail(path);
    closedir(directory);
    sort(names);
    return good;
}

/* Reads so many bytes, or up to the end of the file. Returns the number of bytes, or -1. */
static ssize_t read_bytes(int fd, char *text, size_t size)
{
    size_t done = 0;
    ssize_t n = 1;

    while (done < size && (n = read(fd, text + done, size - done)) > 0)
        done += (size_t)n;
    return n < 0 ? -1 : (ssize_t)done;
}

/* The text of a file, to be freed. NULL on failure. */
static char *read_text(const char *path)
{
    char quoted[ESCAPE_QUOTE_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    char *text = NULL;
    ssize_t size = -1;

    if (fd < 0 || fstat(fd, &status) != 0) {
        fail(path);
    } else if ((uint64_t)status.st_size > INDEX_MAX) {
        message_error(EXIT_FAILED, "%s: the index has more than 100 MiB, which is not supported",
                      escape_quote(quoted, path));
    } else {
        text = malloc((size_t)status.st_size + 1);
        size = text ? read_bytes(fd, text, (size_t)status.st_size) : -1;
        if (size < 0)
            fail(path);
    }
    if (fd >= 0)
        close(fd);
    if (size < 0) {
        free(text);
        return NULL;
    }
    text[size] = '\0';
    if (strlen(text) < (size_t)size)
        text[0] = '\0'; /* no JSON */
    return text;
}

/* An index, and what its names are in. */
struct index {
    struct source_index base;
    struct source_place *places; /* as base.places; paths are on the heap, one for each file */
    size_t room;
    char *text, *name;
};

static void free_index(struct index *index)
{
    for (size_t i = 0; i < index->base.count; i++)
        if (i == 0 || index->places[i].path != index->places[i - 1].path)
            free((char *)(uintptr_t)index->places[i].path);
    free(index->places);
    free(index->text);
    free(index->name);
    free(index);
}

/* Adds a place. False without memory. */
static bool add_place(struct index *index, const char *file, const char *array)
{
    if (!GROW(index->places, index->room, index->base.count + 1))
        return false;
    index->base.places = index->places;
    index->places[index->base.count++] = (struct source_place){.path = file, .array = array};
    return true;
}

static int compare_places(const void *a, const void *b)
{
    const struct source_place *x = a, *y = b;
    const int order = strcmp(x->path, y->path);

    return order ? order : strcmp(x->array, y->array);
}

/* Reads the places of an index: the object "weight_map", whose names and values are decoded where
   they stand in the text. False on failure. */
static bool read_places(struct index *index)
{
    char *const text = index->text;
    bool found = false, plain = true, room = true;
    struct json_reader json;

    json_read(&json, text);
    json_read_begin(&json, '{');
    while (plain && room && json_read_more(&json, '}')) {
        char key[16];

        json_read_key(&json, key, sizeof key);
        if (strcmp(key, "weight_map") != 0) {
            json_read_skip(&json);
            continue;
        }
        found = true;
        json_read_begin(&json, '{');
        while (plain && room && json_read_more(&json, '}')) {
            const char *array = json_read_key_here(&json);
            const char *file = json_read_string_here(&json);

            if (!file)
                break;
            plain = *file && strlen(file) <= NAME_MAX && !strchr(file, '/') &&
                    ends_with(file, data_end);
            room = add_place(index, file, array);
        }
    }
    if (!room)
        message_error(EXIT_FAILED, "out of memory");
    else if (!plain)
        message_error(EXIT_FAILED,
                      "%s: byte %td: it names a file that is not a *%s in its directory",
                      index->name, json.at - text, data_end);
    else if (!json_read_end(&json))
        message_error(EXIT_FAILED, "%s: byte %td: the index is malformed", index->name,
                      json.at - text);
    else if (!found)
        message_error(EXIT_FAILED, "%s: the index has no weight_map", index->name);
    else if (index->base.count == 0)
        message_error(EXIT_FAILED, "%s: the weight_map of the index names no arrays", index->name);
    return room && plain && json_read_end(&json) && found && index->base.count > 0;
}

/* Puts the places in order, each once, and makes paths of the names of files, each of which is
   added to the list. */
static void sort_places(struct index *index, const char *path, struct list *files)
{
    const char *slash = strrchr(path, '/'), *file = NULL;
    const size_t length = slash ? (size_t)(slash - path) + 1 : 0, all = index->base.count;
    struct source_place *places = index->places;

    if (all > 0)
        qsort(places, all, sizeof *places, compare_places);
    index->base.count = 0;
    for (size_t i = 0; i < all; i++) {
        struct source_place *last = index->base.count > 0 ? &places[index->base.count - 1] : NULL;
        char *joined;

        if (file && strcmp(file, places[i].path) == 0) {
            if (strcmp(last->array, places[i].array) != 0)
                places[index->base.count++] = (struct source_place){last->path, places[i].array};
            continue;
        }
        file = places[i].path;
        joined = join(path, length, file);
        if (!joined) {
            files->failed = true;
            return;
        }
        places[index->base.count++] = (struct source_place){joined, places[i].array};
        add(files, strdup(joined));
    }
}

/* Adds the files that an index names, and keeps the index. False on failure. */
static bool add_index(struct options *options, struct list *files, const char *path)
{
    struct index *index = calloc(1, sizeof *index);
    char quoted[ESCAPE_QUOTE_MAX];

    if (index)
        index->name = strdup(escape_quote(quoted, path));
    if (!index || !index->name) {
        free(index);
        files->failed = true;
        return false;
    }
    index->base.name = index->name;
    index->text = read_text(path);
    if (!index->text || !read_places(index)) {
        index->base.count = 0; /* its paths are none yet */
        free_index(index);
        options->left_out++;
        return false;
    }
    sort_places(index, path, files);
    index->base.next = options->session.input.index;
    options->session.input.index = &index->base;
    return true;
}

/* Whether a file of that name is in the list, from number `from` on. */
static bool is_listed(const struct list *files, size_t from, const char *name)
{
    for (size_t i = from; i < files->count; i++) {
        const char *slash = strrchr(files->names[i], '/');

        if (slash && strcmp(slash + 1, name) == 0)
            return true;
    }
    return false;
}

/* Warns of files that an index beside them does not name: of `names`, those that are none of the
   last files in the list, from number `from` on. */
static void warn_unnamed(const struct list *names, const struct list *files, size_t from,
                         const char *path, const char *index)
{
    size_t unnamed = 0, first = 0;
    char where[ESCAPE_QUOTE_MAX], what[ESCAPE_QUOTE_MAX], which[ESCAPE_QUOTE_MAX];

    for (size_t i = 0; i < names->count; i++) {
        if (!is_listed(files, from, names->names[i]) && unnamed++ == 0)
            first = i;
    }
    if (unnamed > 0)
        message_warning("%s: skipped %zu file%s that %s does not name: %s%s",
                        escape_quote(where, path), unnamed, plural(unnamed),
                        escape_quote(what, index), escape_quote(which, names->names[first]),
                        unnamed > 1 ? " and others" : "");
}

static int compare_text(const void *key, const void *name)
{
    return strcmp(key, *(const char *const *)name);
}

/* Whether this is "-00001-of-00003.gguf" or its like, and the numbers in it. */
static bool is_part(const char *end, unsigned long *number, unsigned long *count)
{
    static const char shape[] = "-ddddd-of-ddddd.gguf";

    for (size_t i = 0; i < sizeof shape; i++)
        if (shape[i] == 'd' ? end[i] < '0' || end[i] > '9' : end[i] != shape[i])
            return false;
    *number = strtoul(end + 1, NULL, 10);
    *count = strtoul(end + 10, NULL, 10);
    return true;
}

/* The next part of a model that gguf-split has divided, as NAME-00001-of-00003.gguf, or the first of
   the last, if it is not among `names`, which are in order; NULL if it is, or `name` is no part. The
   caller frees it. *length: bytes of NAME. */
static char *missing_part(const struct list *names, const char *name, size_t *length)
{
    static const char shape[] = "-00001-of-00003.gguf";
    const size_t size = strlen(name);
    unsigned long number = 0, count = 0;
    char *next;

    *length = size < sizeof shape ? size : size - (sizeof shape - 1);
    if (!is_part(name + *length, &number, &count) || number == 0 || number > count)
        return NULL;
    next = malloc(size + 1);
    if (!next)
        return NULL;
    snprintf(next, size + 1, "%.*s-%05lu-of-%05lu.gguf", (int)*length, name, number % count + 1,
             count);
    if (!bsearch(next, names->names, names->count, sizeof *names->names, compare_text))
        return next;
    free(next);
    return NULL;
}

/* Whether all parts of models are among the names in a directory, which are in order. Prints what is
   missing. */
static bool has_all_parts(const char *path, const struct list *names)
{
    char where[ESCAPE_QUOTE_MAX], which[ESCAPE_QUOTE_MAX];
    size_t length;

    for (size_t i = 0; i < names->count; i++) {
        char *missing = missing_part(names, names->names[i], &length);

        if (!missing)
            continue;
        message_error(EXIT_FAILED, "%s: part %s of a model is missing", escape_quote(where, path),
                      escape_quote(which, missing));
        free(missing);
        return false;
    }
    return true;
}

/* Warns of models of which some parts are among the files, and others are not, once of each. */
static void warn_parts(const struct list *files)
{
    struct list sorted = {.names = malloc((files->count + 1) * sizeof *sorted.names)};
    char where[ESCAPE_QUOTE_MAX], which[ESCAPE_QUOTE_MAX], all[ESCAPE_QUOTE_MAX];
    const char *warned = NULL;
    size_t length, warned_length = 0;

    for (; sorted.names && sorted.count < files->count; sorted.count++)
        sorted.names[sorted.count] = files->names[sorted.count];
    if (sorted.count > 0)
        qsort(sorted.names, sorted.count, sizeof *sorted.names, compare);
    for (size_t i = 0; i < sorted.count; i++) {
        const char *name = sorted.names[i], *slash = strrchr(name, '/');
        char *missing = missing_part(&sorted, name, &length);
        char *directory = missing ? strndup(name, slash ? (size_t)(slash - name) : 0) : NULL;

        if (directory &&
            !(warned && length == warned_length && strncmp(warned, name, length) == 0)) {
            message_warning("%s: only part of a model: %s is not named; name the directory %s",
                            escape_quote(where, name), escape_quote(which, missing),
                            escape_quote(all, *directory ? directory
                                              : slash    ? "/"
                                                         : "."));
            warned = name;
            warned_length = length;
        }
        free(missing);
        free(directory);
    }
    free(sorted.names);
}

/* Adds the files of a directory; the directory itself where there are none. */
static void add_directory(struct options *options, struct list *files, const char *path)
{
    struct list indices = {0}, names = {0};
    char quoted[ESCAPE_QUOTE_MAX];

    if (!read_directory(path, index_end, &indices) || !read_directory(path, data_end, &names) ||
        (indices.count + names.count == 0 &&
         (!read_directory(path, gguf_end, &names) || !has_all_parts(path, &names)))) {
        options->left_out++;
    } else if (indices.count > 1) {
        message_error(EXIT_FAILED, "%s: holds %zu indices of safetensors; name one of them",
                      escape_quote(quoted, path), indices.count);
        options->left_out++;
    } else if (indices.count == 1 && !indices.failed) {
        char *index = join(path, strlen(path), indices.names[0]);

        const size_t before = files->count;

        if (index && add_index(options, files, index))
            warn_unnamed(&names, files, before, path, indices.names[0]);
        files->failed = files->failed || !index;
        free(index);
    } else if (names.count == 0) {
        add(files, strdup(path));
    } else {
        for (size_t i = 0; i < names.count; i++)
            add(files, join(path, strlen(path), names.names[i]));
    }
    files->failed = files->failed || indices.failed || names.failed;
    clear(&indices);
    clear(&names);
}

/* Whether the file that an option is to write, if it is, is none of the operands. */
static bool is_no_operand(const struct options *options, const char *option, const char *path)
{
    char quoted[ESCAPE_QUOTE_MAX];

    for (int i = 0; i < options->file_count && path; i++) {
        if (!output_is_input(path, options->files[i]))
            continue;
        message_error(EXIT_FAILED, "%s: is the input, which %s would overwrite",
                      escape_quote(quoted, path), option);
        return false;
    }
    return true;
}

static bool spares_operands(const struct options *options)
{
    return is_no_operand(options, "--output", options->axis_output) &&
           is_no_operand(options, "--plot", options->plot);
}

bool operands_expand(struct options *options)
{
    const enum source_format format = options->session.input.format;
    const bool set = format == SOURCE_AUTO || format == SOURCE_SAFETENSORS || format == SOURCE_GGUF;
    struct list files = {0};

    options->expanded = false;
    if (!spares_operands(options))
        return false;
    if ((options->command == COMMAND_CHECK && options->file_count == 0) ||
        options->command == COMMAND_MERGE || options->command == COMMAND_DIFF)
        return true;
    for (int i = 0; i < options->file_count; i++) {
        const char *path = options->files[i];
        struct stat status;

        if (set && ends_with(path, index_end))
            (void)add_index(options, &files, path);
        else if (set && strcmp(path, "-") != 0 && stat(path, &status) == 0 &&
                 S_ISDIR(status.st_mode))
            add_directory(options, &files, path);
        else
            add(&files, strdup(path));
    }
    if (set && !files.failed)
        warn_parts(&files);
    options->expanded = true;
    options->files = files.names;
    options->file_count = (int)files.count;
    if (files.failed || files.count > INT_MAX) {
        operands_free(options);
        message_error(EXIT_FAILED, "out of memory");
        return false;
    }
    if (spares_operands(options))
        return true;
    operands_free(options);
    return false;
}

void operands_free(struct options *options)
{
    if (!options->expanded)
        return;
    for (int i = 0; i < options->file_count; i++)
        free(options->files[i]);
    free(options->files);
    free(options->parts);
    while (options->session.input.index) {
        struct index *index = (struct index *)(uintptr_t)options->session.input.index;

        options->session.input.index = index->base.next;
        free_index(index);
    }
    options->parts = NULL;
    options->expanded = false;
}
