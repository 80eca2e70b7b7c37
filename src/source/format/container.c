#include "config.h"

#include "source/format/container.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "sys/align.h"
#include "sys/grow.h"
#include "sys/mapping.h"

const char *container_find_missing(const struct container_array *a, enum element_type type,
                                   const struct missing_values *values, struct missing *m)
{
    const char *lacking;

    *m = a && a->missing_values ? *a->missing_values : (struct missing){.count = 0};
    lacking = missing_add_values(m, type, values);
    return a ? NULL : lacking;
}

bool container_wants(struct container_pattern *patterns, unsigned count, const char *name,
                     bool useful)
{
    bool all = true, included = false, excluded = false;

    for (unsigned i = 0; i < count; i++) {
        struct container_pattern *p = &patterns[i];

        all = all && p->exclude;
        if (fnmatch(p->pattern, name, 0) != 0)
            continue;
        p->matched = true;
        p->useful = p->useful || useful;
        included = included || !p->exclude;
        excluded = excluded || p->exclude;
    }
    return (all || included) && !excluded;
}

bool container_chunk_path(const struct container_array *a, uint64_t number, char path[PATH_MAX])
{
    const struct container_tiles *tiles = a->tiles;
    const struct container_files *files = tiles->files;
    size_t used =
        (size_t)snprintf(path, PATH_MAX, "%s", files->paths ? files->paths[number] : files->prefix);
    uint64_t places[CONTAINER_DIMENSIONS_MAX] = {0};
    const unsigned named = a->dimensions - files->within;

    if (files->paths)
        return used < PATH_MAX;
    for (unsigned i = a->dimensions; i-- > 0;) {
        const uint64_t across = (a->sizes[i] + tiles->sizes[i] - 1) / tiles->sizes[i];

        places[i] = number % across * tiles->sizes[i] / files->sizes[i];
        number /= across;
    }
    for (unsigned i = 0; i < named && used < PATH_MAX; i++) {
        const char separator[2] = {files->separator, '\0'};
        const char *const before = separator + (i == 0 && !files->lettered);

        used += (size_t)snprintf(path + used, PATH_MAX - used, "%s%" PRIu64, before, places[i]);
    }
    if (named == 0 && !files->lettered && used < PATH_MAX)
        used += (size_t)snprintf(path + used, PATH_MAX - used, "0");
    return used < PATH_MAX;
}

bool container_fail(struct container_input *in, struct error error)
{
    in->error = error;
    return false;
}

bool container_no_memory(struct container_input *in)
{
    return container_fail(in, error_of(ERROR_MEMORY, "out of memory"));
}

/* A table of so many bytes has whole huge pages: to get as much page by page takes four times as
   long. */
#define TABLE_HUGE ((size_t)1 << 20)

void container_expect(struct container *c, size_t count)
{
    const size_t size = count * sizeof *c->arrays;

    if (c->capacity > 0 || size < TABLE_HUGE) {
        (void)GROW(c->arrays, c->capacity, count);
        return;
    }
    c->arrays = mapping_alloc(align_up(size, mapping_huge_page()));
    c->capacity = c->arrays ? count : 0;
}

/* Bytes of a header that are read at first. */
#define TEXT_FIRST ((uint64_t)64 << 10)

bool container_need(struct container *c, struct container_input *in, uint64_t size, uint64_t most)
{
    while (size > c->text_size || !c->text) {
        const size_t have = c->text_size;
        uint64_t want = have > 0 ? 2 * (uint64_t)have : TEXT_FIRST;

        want = want < size && !in->endless ? size : want;
        want = want < most ? want : most;
        if (!GROW(c->text, c->text_room, (size_t)want + 1))
            return container_no_memory(in);
        if (!in->read(in, c->text + have, (size_t)want - have, c->text_offset + have))
            return false;
        c->text_size = (size_t)want;
    }
    return true;
}

struct container_array *container_add(struct container *c, const char *name)
{
    struct container_array *a;

    if (!GROW(c->arrays, c->capacity, c->count + 1))
        return NULL;
    a = &c->arrays[c->count++];
    *a = (struct container_array){.name = name};
    return a;
}

bool container_set_shape(struct container *c, struct container_array *a, const uint64_t *sizes,
                         unsigned dimensions)
{
    a->dimensions = dimensions;
    a->sizes = container_keep(c, sizes, dimensions * sizeof *sizes);
    return a->sizes;
}

bool container_set_tiles(struct container *c, struct container_array *a,
                         const struct container_tiles *tiles)
{
    a->tiles = container_keep(c, tiles, sizeof *tiles);
    return a->tiles;
}

void container_name_type(struct container_array *a, const char *name)
{
    const size_t length = strnlen(name, sizeof a->type_name - 1);

    memcpy(a->type_name, name, length);
    a->type_name[length] = '\0';
}

void container_refuse_type(struct container_array *a, const char *descr)
{
    const struct element_foreign *foreign = element_find_foreign(descr);

    a->unreadable = foreign ? foreign->what : "neither a float nor an integer";
    a->not_numeric = foreign && foreign->not_numeric;
}

bool container_refuse(struct container_array *a, const char *why)
{
    a->unreadable = why;
    a->typed = true;
    return why;
}

/* Memory for many copies, bytes. */
#define NOTE_BYTES ((size_t)16 << 10)

struct container_note {
    struct container_note *next;
    size_t used, room;
    _Alignas(8) char bytes[];
};

const void *container_keep(struct container *c, const void *bytes, size_t size)
{
    const size_t need = align_up(size, 8), room = need > NOTE_BYTES ? need : NOTE_BYTES;
    struct container_note *note = c->notes;

    if (!note || note->room - note->used < need) {
        note = malloc(sizeof *note + room);
        if (!note)
            return NULL;
        *note = (struct container_note){.next = c->notes, .room = room};
        c->notes = note;
    }
    note->used += need;
    return memcpy(note->bytes + note->used - need, bytes, size);
}

const char *container_note(struct container *c, const char *format, ...)
{
    va_list arguments;
    const char *kept = NULL;
    char *text;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) >= 0) {
        kept = container_keep(c, text, strlen(text) + 1);
        free(text);
    }
    va_end(arguments);
    return kept;
}

struct error container_why(const struct container_array *a)
{
    struct error why =
        a->typed || !a->type_name[0]
            ? error_of(ERROR_DATA, "%s", a->unreadable)
            : error_of(ERROR_DATA, "type %s is not supported: %s", a->type_name, a->unreadable);

    why.advice.kind = a->advice;
    return why;
}

bool container_product(const struct container_array *a, uint64_t *product)
{
    *product = 1;
    for (unsigned i = 0; i < a->dimensions; i++)
        if (__builtin_mul_overflow(*product, a->sizes[i], product))
            return false;
    return true;
}

uint64_t container_elements_before(const struct container_array *a, uint64_t offset, size_t size,
                                   uint64_t elements)
{
    uint64_t bytes = offset > a->offset ? offset - a->offset : 0, before = 0, here;

    if (a->record_elements > 0) {
        before = bytes / a->record_stride;
        if (__builtin_mul_overflow(before, a->record_elements, &before))
            return elements;
        bytes %= a->record_stride;
    }
    here = bytes / size + (bytes % size > 0);
    here = a->record_elements > 0 && here > a->record_elements ? a->record_elements : here;
    return __builtin_add_overflow(before, here, &before) || before > elements ? elements : before;
}

static int compare_names(const void *a, const void *b)
{
    const struct container_array *x = *(const struct container_array *const *)a;
    const struct container_array *y = *(const struct container_array *const *)b;
    int order = strcmp(x->name, y->name);

    return order ? order : x < y ? -1 : x > y;
}

/* How many places of the table below are looked at for a name, as a mean, before it is given up:
   names may have been made for equal hashes. */
#define PLACES_MAX 8

/* Whether no two arrays have the same name, as far as that can be told by a table, which takes a
   fifth of the time that sorting names does. */
bool container_names_differ(const struct container *c)
{
    struct place {
        uint32_t hash, number; /* of an array, from 1 on; 0 where there is none */
    } * places;
    uint64_t left = PLACES_MAX * (uint64_t)c->count + PLACES_MAX;
    size_t room = 16;
    bool good = true;

    if (c->count > UINT32_MAX / 4)
        return false;
    while (room < c->count + c->count / 2)
        room *= 2;
    places = calloc(room, sizeof *places);
    if (!places)
        return false;
    for (size_t i = 0; i < c->count && good; i++) {
        const char *name = c->arrays[i].name;
        const uint64_t h = name_hash(name, NULL);
        size_t at = (size_t)h & (room - 1);

        for (; places[at].number && good; at = (at + 1) & (room - 1)) {
            left--;
            good = left > 0 && (places[at].hash != (uint32_t)(h >> 32) ||
                                strcmp(c->arrays[places[at].number - 1].name, name) != 0);
        }
        places[at] = (struct place){(uint32_t)(h >> 32), (uint32_t)i + 1};
    }
    free(places);
    return good;
}

/* Sees to it that names tell the arrays apart: numbers those that are equal, or refuses them. */
static bool tell_apart(struct container *c, struct container_input *in, bool number)
{
    struct container_array **sorted;
    char shown[NAME_ARRAY_MAX];
    const char **names;
    bool good;

    if (container_names_differ(c))
        return true;
    sorted = malloc((c->count + 1) * sizeof *sorted);
    names = malloc((c->count + 1) * sizeof *names);
    good = (sorted && names) || container_no_memory(in);
    for (size_t i = 0; good && i < c->count; i++)
        sorted[i] = &c->arrays[i];
    if (good)
        qsort(sorted, c->count, sizeof(struct container_array *), compare_names);
    for (size_t i = 0; good && i < c->count; i++)
        names[i] = sorted[i]->name;
    for (size_t i = 1, last = 1; good && i < c->count; i++) {
        if (strcmp(names[i], names[i - 1]) != 0) {
            last = 1;
            continue;
        }
        if (!number) {
            good = container_wrong(
                in, c->text ? c->text_offset + (uint64_t)(names[i] - c->text) : sorted[i]->offset,
                "two arrays are called %s", name_array(shown, names[i]));
            continue;
        }
        do
            sorted[i]->name = container_note(c, "%s#%zu", names[i], ++last);
        while (sorted[i]->name &&
               bsearch(&sorted[i]->name, names, c->count, sizeof *names, name_compare));
        good = sorted[i]->name || container_no_memory(in);
    }
    free(names);
    free(sorted);
    return good;
}

bool container_number_names(struct container *c, struct container_input *in)
{
    return tell_apart(c, in, true);
}

struct container *container_open(const struct container_format *format, struct container_input *in)
{
    struct container *c = calloc(1, sizeof *c);

    in->error = (struct error){.kind = ERROR_NONE};
    if (!c) {
        (void)container_no_memory(in);
        return NULL;
    }
    c->format = format;
    if (format->read(c, in) && tell_apart(c, in, false))
        return c;
    container_close(c);
    return NULL;
}

void container_close(struct container *c)
{
    if (!c)
        return;
    free(c->arrays);
    free(c->text);
    while (c->notes) {
        struct container_note *next = c->notes->next;

        free(c->notes);
        c->notes = next;
    }
    free(c);
}

static int compare_offsets(const void *a, const void *b)
{
    const struct container_array *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->before != y->before)
        return x->before < y->before ? -1 : 1;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

void container_sort(struct container *c)
{
    size_t i = 1;

    while (i < c->count && compare_offsets(&c->arrays[i - 1], &c->arrays[i]) <= 0)
        i++;
    if (i < c->count)
        qsort(c->arrays, c->count, sizeof *c->arrays, compare_offsets);
}
