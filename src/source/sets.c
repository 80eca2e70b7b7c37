#include "config.h"

#include "source/sets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/name.h"
#include "sys/grow.h"
#include "sys/json.h"
#include "sys/plural.h"
#include "sys/whole.h"

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

/* "directory/name"; without a directory the name alone. */
static char *join(const char *directory, size_t length, const char *name)
{
    char *path;

    return asprintf(&path, "%.*s%s%s", (int)length, directory,
                    length > 0 && directory[length - 1] != '/' ? "/" : "", name) < 0
               ? NULL
               : path;
}

/* Sets *error to what errno says. Returns false. */
static bool fail(struct error *error)
{
    return errno == ENOMEM ? error_memory(error)
                           : error_set(error, ERROR_READ, "%s", strerror(errno));
}

/* Finds the names in a directory that end so, and sorts them. */
static bool read_directory(const char *path, const char *end, struct list *names,
                           struct error *error)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;
    bool good;

    if (!directory)
        return fail(error);
    while ((errno = 0, entry = readdir(directory)))
        if (name_ends(entry->d_name, strlen(entry->d_name), end))
            add(names, strdup(entry->d_name));
    good = errno == 0 || fail(error); /* at the end as well readdir returns NULL */
    closedir(directory);
    if (names->count > 0)
        qsort(names->names, names->count, sizeof *names->names, name_compare);
    return good;
}

/* The text of a file, to be freed. NULL on failure. */
static char *read_text(const char *path, struct error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat status;
    char *text = NULL;
    size_t size = 0;
    int wrong = -1;

    if (fd < 0 || fstat(fd, &status) != 0) {
        (void)fail(error);
    } else if ((uint64_t)status.st_size > INDEX_MAX) {
        (void)error_set(error, ERROR_DATA,
                        "the index has more than 100 MiB, which is not supported");
    } else {
        text = malloc((size_t)status.st_size + 1);
        if (text)
            size = pread_whole(fd, text, (size_t)status.st_size, 0, 1, &wrong);
        if (wrong)
            (void)fail(error);
    }
    if (fd >= 0)
        close(fd);
    if (wrong) {
        free(text);
        return NULL;
    }
    text[size] = '\0';
    if (strlen(text) < size)
        text[0] = '\0'; /* no JSON */
    return text;
}

static void free_index(struct source_index *index)
{
    free(index->places);
    free(index->text);
    free(index->path);
    free(index->name);
    free(index);
}

/* Adds a place. False without memory. */
static bool add_place(struct source_index *index, char *file, const char *array)
{
    if (!GROW(index->places, index->room, index->count + 1))
        return false;
    index->places[index->count++] = (struct source_place){.path = file, .array = array};
    return true;
}

static int compare_places(const void *a, const void *b)
{
    const struct source_place *x = a, *y = b;
    const int order = strcmp(x->path, y->path);

    return order ? order : strcmp(x->array, y->array);
}

/* Reads the places of an index: the object "weight_map", whose names and values are decoded where
   they stand in the text. */
static bool read_places(struct source_index *index, struct error *error)
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
            char *file = json_read_string_here(&json);

            if (!file)
                break;
            plain = *file && strlen(file) <= NAME_MAX && !strchr(file, '/') &&
                    name_ends(file, strlen(file), data_end);
            room = add_place(index, file, array);
        }
    }
    if (!room)
        return error_memory(error);
    if (!plain)
        return error_set(error, ERROR_DATA,
                         "byte %td: it names a file that is not a *%s in its directory",
                         json.at - text, data_end);
    if (!json_read_end(&json))
        return error_set(error, ERROR_DATA, "byte %td: the index is malformed", json.at - text);
    if (!found)
        return error_set(error, ERROR_DATA, "the index has no weight_map");
    return index->count > 0 ||
           error_set(error, ERROR_DATA, "the weight_map of the index names no arrays");
}

/* Puts the places in order, each once, and makes paths of the names of files, each of which is
   added to the list, and belongs to it. */
static void sort_places(struct source_index *index, struct list *files)
{
    const char *path = index->path, *slash = strrchr(path, '/'), *file = NULL, *array = NULL;
    char *joined = NULL;
    const size_t length = slash ? (size_t)(slash - path) + 1 : 0, all = index->count;
    struct source_place *places = index->places;

    if (all > 0)
        qsort(places, all, sizeof *places, compare_places);
    index->count = 0;
    for (size_t i = 0; i < all; i++) {
        const bool again = file && strcmp(file, places[i].path) == 0;

        if (again && strcmp(array, places[i].array) == 0)
            continue;
        file = places[i].path;
        array = places[i].array;
        if (!again) {
            joined = join(path, length, file);
            add(files, joined);
        }
        places[index->count++] = (struct source_place){joined, array};
    }
}

/* Adds the files that an index names to the list, and the index to the set, also one that cannot be
   read, which the error is about. It takes the path, which is on the heap. */
static bool add_index(struct source_set *set, struct list *files, char *path, struct error *error,
                      const char **about)
{
    struct source_index *index = calloc(1, sizeof *index);
    char quoted[ESCAPE_QUOTE_MAX];

    if (!index || !path) {
        free(index);
        free(path);
        return error_memory(error);
    }
    *about = index->path = path;
    index->format = SOURCE_SAFETENSORS;
    index->next = set->index;
    set->index = index;
    index->name = strdup(escape_quote(quoted, path));
    if (!index->name)
        return error_memory(error);
    index->text = read_text(path, error);
    if (!index->text || !read_places(index, error))
        return false;
    sort_places(index, files);
    return true;
}

/* Whether a file of that name is in the list. */
static bool is_listed(const struct list *files, const char *name)
{
    for (size_t i = 0; i < files->count; i++) {
        const char *slash = strrchr(files->names[i], '/');

        if (slash && strcmp(slash + 1, name) == 0)
            return true;
    }
    return false;
}

/* Warns of files that an index beside them does not name: of `names`, those that are not listed. */
static void warn_unnamed(const struct source_set *set, const struct list *names,
                         const struct list *files, const char *path, const char *index)
{
    size_t unnamed = 0, first = 0;
    char where[ESCAPE_QUOTE_MAX], what[ESCAPE_QUOTE_MAX], which[ESCAPE_QUOTE_MAX];

    for (size_t i = 0; i < names->count; i++) {
        if (!is_listed(files, names->names[i]) && unnamed++ == 0)
            first = i;
    }
    if (unnamed > 0)
        log_warn(set->log, escape_quote(where, path), NO_ADVICE,
                 "skipped %zu file%s that %s does not name: %s%s", unnamed, plural(unnamed),
                 escape_quote(what, index), escape_quote(which, names->names[first]),
                 unnamed > 1 ? " and others" : "");
}

/* The next part of a model that gguf-split has divided, as NAME-00001-of-00003.gguf, or the first of
   the last, if it is not among `names`, which are in order; NULL if it is, or `name` is no part. The
   caller frees it. *length: bytes of NAME. */
static char *missing_part(const struct list *names, const char *name, size_t *length)
{
    static const char shape[] = "-ddddd-of-ddddd.gguf";
    const size_t size = strlen(name);
    unsigned long number, count;
    const char *end;
    char *next;

    *length = size < sizeof shape ? size : size - (sizeof shape - 1);
    end = name + *length;
    for (size_t i = 0; i < sizeof shape; i++)
        if (shape[i] == 'd' ? end[i] < '0' || end[i] > '9' : end[i] != shape[i])
            return NULL;
    number = strtoul(end + 1, NULL, 10);
    count = strtoul(end + 10, NULL, 10);
    if (number == 0 || number > count)
        return NULL;
    next = malloc(size + 1);
    if (!next)
        return NULL;
    snprintf(next, size + 1, "%.*s-%05lu-of-%05lu.gguf", (int)*length, name, number % count + 1,
             count);
    if (!bsearch(&next, names->names, names->count, sizeof *names->names, name_compare))
        return next;
    free(next);
    return NULL;
}

/* Whether all parts of models are among the names in a directory, which are in order. */
static bool has_all_parts(const struct list *names, struct error *error)
{
    char which[ESCAPE_QUOTE_MAX];
    size_t length;

    for (size_t i = 0; i < names->count; i++) {
        char *missing = missing_part(names, names->names[i], &length);

        if (!missing)
            continue;
        (void)error_set(error, ERROR_READ, "part %s of a model is missing",
                        escape_quote(which, missing));
        free(missing);
        return false;
    }
    return true;
}

void source_set_check(const struct source_set *set)
{
    struct list sorted = {.names = malloc((set->count + 1) * sizeof *sorted.names)};
    char where[ESCAPE_QUOTE_MAX], which[ESCAPE_QUOTE_MAX], all[ESCAPE_QUOTE_MAX];
    const char *warned = NULL;
    size_t length, warned_length = 0;

    for (; sorted.names && sorted.count < set->count; sorted.count++)
        sorted.names[sorted.count] = set->paths[sorted.count];
    if (sorted.count > 0)
        qsort(sorted.names, sorted.count, sizeof *sorted.names, name_compare);
    for (size_t i = 0; i < sorted.count; i++) {
        const char *name = sorted.names[i], *slash = strrchr(name, '/');
        char *missing = missing_part(&sorted, name, &length);
        char *directory = missing ? strndup(name, slash ? (size_t)(slash - name) : 0) : NULL;

        if (directory &&
            !(warned && length == warned_length && strncmp(warned, name, length) == 0)) {
            log_warn(set->log, escape_quote(where, name), NO_ADVICE,
                     "only part of a model: %s is not named; name the directory %s",
                     escape_quote(which, missing),
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

/* Adds the files of these names in a directory to the list, and their format to the set. False without
   memory. */
static bool add_names(struct source_set *set, struct list *files, const char *path,
                      const struct list *names, enum source_format format)
{
    struct source_index *index = calloc(1, sizeof *index);
    bool good = index;

    if (!index)
        return false;
    index->format = format;
    index->next = set->index;
    set->index = index;
    for (size_t i = 0; good && i < names->count; i++) {
        char *joined = join(path, strlen(path), names->names[i]);

        add(files, joined);
        good = !files->failed && add_place(index, joined, NULL);
    }
    return good;
}

/* Adds the files of a directory to the list; the directory itself where there are none. */
static bool add_directory(struct source_set *set, struct list *files, const char *path,
                          struct error *error, const char **about)
{
    struct list indices = {0}, names = {0};
    bool good = read_directory(path, index_end, &indices, error) &&
                read_directory(path, data_end, &names, error);
    const bool gguf = good && indices.count + names.count == 0;

    if (gguf)
        good = read_directory(path, gguf_end, &names, error) && has_all_parts(&names, error);
    if (good && indices.count > 1)
        good = error_set(error, ERROR_REQUEST, "holds %zu indices of safetensors; name one of them",
                         indices.count);
    files->failed = files->failed || indices.failed || names.failed;
    if (good && indices.count == 1) {
        good = add_index(set, files, join(path, strlen(path), indices.names[0]), error, about);
        if (good)
            warn_unnamed(set, &names, files, path, indices.names[0]);
    } else if (good && names.count == 0) {
        add(files, strdup(path));
    } else if (good) {
        good = add_names(set, files, path, &names, gguf ? SOURCE_GGUF : SOURCE_SAFETENSORS) ||
               error_memory(error);
    }
    clear(&indices);
    clear(&names);
    return good;
}

bool source_set_add(struct source_set *set, const char *path, enum source_format format,
                    struct error *error, const char **about)
{
    const bool model =
        format == SOURCE_AUTO || format == SOURCE_SAFETENSORS || format == SOURCE_GGUF;
    const struct source_index *const before = set->index;
    struct list files = {0};
    struct stat status;
    bool good = true;

    error->kind = ERROR_NONE;
    *about = path;
    if (model && name_ends(path, strlen(path), index_end))
        good = add_index(set, &files, strdup(path), error, about);
    else if (model && strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        good = add_directory(set, &files, path, error, about);
    else
        add(&files, strdup(path));
    if (good && (files.failed || !GROW(set->paths, set->room, set->count + files.count)))
        good = error_memory(error);
    for (size_t i = 0; good && i < files.count; i++)
        set->paths[set->count++] = files.names[i];
    if (good)
        files.count = 0;
    else if (set->index != before)
        set->index->count = 0; /* its paths are freed, or none yet */
    clear(&files);
    return good;
}

void source_set_free(struct source_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->paths[i]);
    free(set->paths);
    while (set->index) {
        struct source_index *index = set->index;

        set->index = index->next;
        free_index(index);
    }
    *set = (struct source_set){.log = set->log};
}
