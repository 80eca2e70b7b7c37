#include "config.h"

#include "source/arrays.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "source/format/containers.h"
#include "sys/grow.h"
#include "sys/plural.h"

/* Reasons for which arrays are skipped that have a warning of their own; the rest share one, the last. */
#define REASONS_MAX 8

const struct container_format *arrays_asked(const struct source_options *options)
{
    const unsigned containers = SOURCE_FORMATS - CONTAINER_FORMAT_COUNT;

    return options->format < containers ? NULL : container_formats[options->format - containers];
}

const struct container_format *arrays_recognise(const struct source_options *options,
                                                const unsigned char *head, size_t size)
{
    if (options->format == SOURCE_NPY)
        return container_npy.recognise(head, size) ? &container_npy : NULL;
    if (options->format == SOURCE_AUTO || options->format == SOURCE_ZSTD ||
        options->format == SOURCE_GZIP || options->format == SOURCE_ZLIB)
        return container_recognise(head, size);
    return arrays_asked(options);
}

/* A container's read: of the file that the source is. */
static bool read_input(struct container_input *in, void *buffer, size_t size, uint64_t offset)
{
    struct source *s = in->context;
    size_t done;
    const int error =
        in->lenient ? source_try_pread(s, s->fd, buffer, size, s->start + offset, &done) : -1;

    in->unread = error > 0;
    if (error > 0)
        return container_wrong(in, offset, "read error: %s", strerror(error));
    return error == 0 || source_pread_all(s, buffer, size, s->start + offset);
}

static bool is_wanted(struct source_wanted *wanted, const char *name, bool useful)
{
    if (!wanted)
        return true;
    if (!container_wants(wanted->patterns, wanted->count, name, useful))
        return false;
    wanted->chosen = true;
    return true;
}

/* Keeps the names of some arrays, for who has asked for others. */
static void note_name(struct source_wanted *wanted, const char *name)
{
    for (size_t i = 0; i < SOURCE_NAMES_KEPT && i < wanted->there; i++)
        if (wanted->names[i] && strcmp(wanted->names[i], name) == 0)
            return;
    if (wanted->there < SOURCE_NAMES_KEPT)
        wanted->names[wanted->there] = strdup(name);
    wanted->there++;
}

/* Arrays about which there is one warning: why they are skipped, or what is ignored of them. */
struct warned {
    const struct container_array *first;
    size_t count;
};

/* The reason of the warning. */
static const char *reason_of(const struct container_array *a)
{
    return a->unreadable ? a->unreadable : a->warning;
}

static void note_warned(struct warned r[REASONS_MAX + 1], const struct container_array *a)
{
    size_t i = 0;

    while (i < REASONS_MAX && r[i].first &&
           (strcmp(r[i].first->type_name, a->type_name) != 0 ||
            strcmp(reason_of(r[i].first), reason_of(a)) != 0))
        i++;
    if (!r[i].first)
        r[i].first = a;
    r[i].count++;
}

static void warn_all(const struct source *s, const struct warned r[REASONS_MAX + 1],
                     const char *skipped)
{
    const size_t others = r[REASONS_MAX].count;
    char shown[NAME_ARRAY_MAX], more[48];

    for (size_t i = 0; i < REASONS_MAX && r[i].first; i++) {
        const struct container_array *a = r[i].first;
        const size_t count = r[i].count;
        const struct error why =
            a->unreadable ? container_why(a) : error_advised(NO_ADVICE, "%s", a->warning);

        more[0] = '\0';
        if (count > 1)
            snprintf(more, sizeof more, " and %zu more", count - 1);
        log_warn(s->options.log, s->name, why.advice, "%sarray %s%s: %s", skipped,
                 name_array(shown, a->name), more, why.text);
    }
    if (others > 0)
        log_warn(s->options.log, s->name, NO_ADVICE, "%s%zu more array%s for other reasons",
                 skipped, others, plural(others));
}

/* Finds the elements of an array that are to be reduced. False if it has none in the part that is
   asked for. */
static bool find_part(const struct container_array *a, const struct source_options *options,
                      struct source_pick *pick)
{
    const struct source_part *part = &options->part;
    uint64_t of = options->length < a->elements ? options->length : a->elements;
    const bool begins = a->offset >= part->begin && a->offset < part->end;
    uint64_t end;

    if (a->unreadable && options->array)
        of = a->elements; /* its bytes */
    else if (a->unreadable && !options->headers_only)
        of = 0; /* its type means nothing */
    *pick = (struct source_pick){.array = a, .elements = of, .of = of};
    if (part->end == 0 || container_array_whole(a) || a->unreadable)
        return part->end == 0 || begins;
    pick->first = container_elements_before(a, part->begin, element_size(a->type), of);
    end = container_elements_before(a, part->end, element_size(a->type), of);
    pick->elements = end - pick->first;
    return begins || pick->elements > 0;
}

/* Adds an array to those that are picked. */
static void add_pick(struct source *s, const struct source_pick *pick)
{
    const struct container_array *a = pick->array;

    s->picks[s->info.pick_count] = *pick;
    s->picks[s->info.pick_count++].number = s->info.pick_total;
    s->info.compressed = s->info.compressed || container_array_compressed(a);
    s->info.type = a->type;
    if (!a->unreadable)
        s->info.pick_bytes += pick->elements * element_size(a->type);
}

/* Makes an array that cannot be read one of the bytes that are stored of it, if it is known which.
 */
static uint64_t make_bytes(struct container_array *a)
{
    uint64_t shape = 0;

    a->record_elements *= element_size(a->type);
    a->type = ELEMENT_U8;
    a->big_endian = false;
    if (a->offset == 0 || (a->length == 0 && container_product(a, &shape) && shape > 0))
        return SOURCE_UNKNOWN;
    a->elements = a->length;
    return a->elements;
}

/* Whether an array that is wanted is picked. */
static bool is_picked(const struct container_array *a, const struct source_options *options)
{
    if (!a->unreadable || options->headers_only)
        return true;
    if (a->not_numeric)
        return options->as_bytes && a->type_name[0];
    return a->missing || !options->skip_unsupported;
}

/* Picks the arrays. False without memory. */
static bool pick(struct source *s)
{
    struct container *c = s->container;
    struct warned skipped[REASONS_MAX + 1] = {{NULL, 0}}, ignored[REASONS_MAX + 1] = {{NULL, 0}};

    s->picks = malloc((c->count + 1) * sizeof *s->picks);
    if (!s->picks)
        return source_no_memory(s);
    s->info.pick_count = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct container_array *a = &c->arrays[i];
        const bool picked = is_picked(a, &s->options);
        struct source_pick part;

        if (s->options.wanted && s->options.wanted->included > 0)
            note_name(s->options.wanted, a->name);
        if (!is_wanted(s->options.wanted, a->name, picked))
            continue;
        if (!picked) {
            note_warned(skipped, a);
            continue;
        }
        if (!a->unreadable && a->warning && a->warning[0])
            note_warned(ignored, a);
        if (a->unreadable && s->options.as_bytes) {
            const uint64_t bytes = make_bytes(a);

            add_pick(s, &(struct source_pick){.array = a, .elements = bytes, .of = bytes});
        } else if (find_part(a, &s->options, &part)) {
            add_pick(s, &part);
        }
        s->info.pick_total++;
    }
    if (s->options.part.begin > 0 || s->options.reopened) /* of all who read parts, one warns */
        return true;
    warn_all(s, skipped, "skipped ");
    warn_all(s, ignored, "ignored attributes of ");
    return true;
}

/* Warns of options that ask for something else than a container's header states. */
static void warn_overridden(const struct source *s)
{
    const bool big_endian = s->options.order == ELEMENT_ORDER_BIG;
    bool type = false, open = false, order = false;
    struct advice advice = {.kind = ADVICE_OVERRIDDEN};

    for (size_t k = 0; k < s->info.pick_count; k++) {
        const struct container_array *a = s->picks[k].array;

        if (a->unreadable)
            continue;
        open |= a->type_open;
        type |= a->type != s->options.type;
        order |= a->big_endian != big_endian && element_size(a->type) > 1;
    }
    type &= s->options.type_given && !open; /* where it is open, --dtype is for that alone */
    order &= s->options.order != ELEMENT_ORDER_UNSAID;
    advice.overridden = (type ? OVERRIDDEN_TYPE : 0) | (order ? OVERRIDDEN_ORDER : 0) |
                        (s->options.skip > 0 ? OVERRIDDEN_SKIP : 0);
    if (advice.overridden && !s->options.reopened)
        log_warn(s->options.log, s->name, advice, "the %s header overrides what was asked for",
                 s->container->format->name);
}

static int compare_place(const void *name, const void *place)
{
    return strcmp(name, ((const struct source_place *)place)->array);
}

/* Adds arrays that an index places in the file, and that it lacks, and warns of those that it has
   beside them: `count` places, in the order of names. False without memory. */
static bool compare_with_places(struct source *s, const struct source_index *index,
                                const struct source_place *places, size_t count)
{
    struct container *c = s->container;
    bool *found = calloc(count, sizeof *found);
    char shown[NAME_ARRAY_MAX];
    const char *why =
        container_note(c, "missing, though %.200s places it in this file", index->name);
    const char *first = NULL;
    size_t others = 0;
    bool good = found && why;

    for (size_t i = 0; good && i < c->count; i++) {
        const char *name = c->arrays[i].name;
        const struct source_place *place =
            bsearch(name, places, count, sizeof *places, compare_place);

        if (place)
            found[place - places] = true;
        else if (others++ == 0 || strcmp(name, first) < 0)
            first = name;
    }
    if (others > 0 && !s->options.reopened)
        log_warn(s->options.log, s->name, NO_ADVICE,
                 "array %s: %s does not place it in this file%s", name_array(shown, first),
                 index->name, others > 1 ? ", nor others" : "");
    for (size_t i = 0; good && i < count; i++) {
        struct container_array *a = found[i] ? NULL : container_add(c, places[i].array);

        good = a || found[i];
        if (a)
            a->missing = container_refuse(a, why);
    }
    free(found);
    return good;
}

size_t arrays_find_path(const struct source_index *index, const char *path)
{
    size_t i = 0;

    while (i < index->count && strcmp(index->places[i].path, path) != 0)
        i++;
    return i;
}

/* Compares the container with what an index says of it. False without memory. */
static bool compare_with_index(struct source *s)
{
    for (const struct source_index *index = s->options.index; index; index = index->next) {
        const size_t begin = arrays_find_path(index, s->path);
        size_t end = begin;

        while (end < index->count && strcmp(index->places[end].path, s->path) == 0)
            end++;
        if (end > begin && index->places[begin].array &&
            !compare_with_places(s, index, index->places + begin, end - begin))
            return source_no_memory(s);
    }
    return true;
}

bool arrays_take_record(struct source *s, const char *article)
{
    if (s->options.record.bytes > 0)
        source_error(s, ERROR_REQUEST,
                     "%s says what its elements are: only raw files are read as records", article);
    return s->options.record.bytes == 0;
}

/* Lays out the container that has been read; NULL where it could not be. */
static bool lay_out(struct source *s, const struct container_format *format,
                    const struct container_input *in)
{
    static const char *const suffixes[COMPRESSIONS] = COMPRESSION_NAMES("");

    if (!s->container) {
        char place[32] = "";

        if (in->error.offset != ERROR_NO_OFFSET)
            snprintf(place, sizeof place, "byte %" PRIu64 ": ", in->error.offset);
        if (in->error.kind != ERROR_NONE)
            source_error_at(s, in->error.kind, in->error.offset, "%s: %s%s", format->article, place,
                            in->error.text);
        return false;
    }
    s->info.format =
        container_note(s->container, "%s%s", format->name, suffixes[s->info.compression]);
    if (!s->info.format)
        return source_no_memory(s);
    if (!arrays_take_record(s, format->article) || !compare_with_index(s))
        return false;
    if (!pick(s))
        return false;
    s->damages.kept = true;
    if (s->container->warning && !s->options.reopened && s->options.part.begin == 0)
        log_warn(s->options.log, s->name, NO_ADVICE, "%s", s->container->warning);
    warn_overridden(s);
    s->info.container = s->container;
    s->info.picks = s->picks;
    s->header = true;
    return true;
}

bool arrays_layout(struct source *s, const struct container_format *format)
{
    struct container_input in = {.read = read_input,
                                 .context = s,
                                 .size = s->info.input_bytes,
                                 .type = s->options.type,
                                 .stored = s->options.stored,
                                 .headers_only = s->options.headers_only,
                                 .file = s->fd,
                                 .begin = s->start,
                                 .header = s->pair_size > 0 ? s->pair : NULL,
                                 .header_size = s->pair_size};

    if (s->options.wanted) {
        in.patterns = s->options.wanted->patterns;
        in.pattern_count = s->options.wanted->count;
    }
    s->container = container_open(format, &in);
    /* Bytes read to find the arrays do not count, and compressed ones are read again. */
    atomic_store(&s->input_read, 0);
    s->info.parallel = true;
    return lay_out(s, format, &in);
}

/*
 * Containers that come in order.
 */

/* The most first bytes that are kept to be given again after it is known what arrays there are. */
#define KEPT_MAX ((uint64_t)256 << 20)

/* Bytes that have been read to find out what arrays there are. */
struct kept {
    struct source *source;
    struct reader *reader;
    unsigned char *bytes;
    size_t size, room;
    bool ended; /* the input has no more than these */
};

/* Reads the first `end` bytes. False on failure, and where the input ends first. */
static bool fill_kept(struct kept *k, struct container_input *in, size_t end)
{
    ptrdiff_t got;

    if (end <= k->size)
        return true;
    if (!GROW(k->bytes, k->room, end))
        return source_no_memory(k->source);
    got = reader_fill(k->reader, k->bytes + k->size, end - k->size);
    if (got < 0)
        return false;
    k->size += (size_t)got;
    k->ended = k->size < end;
    if (k->ended) {
        in->size = k->size;
        in->endless = false;
    }
    return !k->ended;
}

/* A container's read: of bytes that are kept, or come next. If the input ends before them, it fails
   and the source does not. */
static bool read_kept(struct container_input *in, void *buffer, size_t size, uint64_t offset)
{
    struct kept *k = in->context;

    if (offset > KEPT_MAX || size > KEPT_MAX - offset) {
        in->scattered = true;
        return false;
    }
    if (!fill_kept(k, in, (size_t)offset + size))
        return false;
    if (size > 0)
        memcpy(buffer, k->bytes + offset, size);
    return true;
}

bool arrays_layout_in_order(struct source *s, const struct container_format *format,
                            struct reader **reader)
{
    struct kept k = {.source = s, .reader = *reader};
    struct container_input in = {.read = read_kept,
                                 .context = &k,
                                 .size = (uint64_t)1 << 62,
                                 .endless = true,
                                 .type = s->options.type,
                                 .stored = s->options.stored,
                                 .headers_only = s->options.headers_only,
                                 .file = -1};
    bool good = true, again = !s->options.headers_only;

    s->container = container_open(format, &in);
    if (!s->container && k.ended && in.error.kind == ERROR_NONE) /* all of it has been read */
        s->container = container_open(format, &in);
    if (in.scattered && !(s->container && s->options.headers_only)) {
        container_close(s->container);
        s->container = NULL;
        again = true;
    } else {
        s->info.parallel = s->options.headers_only;
        good = lay_out(s, format, &in);
    }
    k.reader->kept = k.bytes;
    k.reader->kept_size = k.size;
    if (good && again)
        return true;
    k.reader->close(k.reader);
    *reader = NULL;
    return good;
}

bool source_find_missing(struct source *s, const struct missing_values *values, struct missing *m)
{
    const struct container_array *const a = s->array == &s->field ? NULL : s->array;
    enum element_type type = s->info.type;
    const char *const lacking = s->ops->find_missing ? s->ops->find_missing(s, values, m, &type)
                                                     : container_find_missing(a, type, values, m);

    if (lacking)
        source_refuse(s, NO_ADVICE, "the missing value %s is not a value of type %s", lacking,
                      element_name(type));
    return !lacking;
}

bool arrays_layout_one(struct source *s)
{
    const struct container_array *a = s->options.array;
    struct source_pick part;
    const uint64_t length = a->tiles ? 0 : a->deflated ? a->compressed : container_array_extent(a);

    if (length > s->info.input_bytes || a->offset > s->info.input_bytes - length)
        return source_became_shorter(s, s->start + a->offset + length);
    s->stated = a->elements;
    s->info.format = "raw";
    s->array = a;
    s->info.compressed = container_array_compressed(a);
    s->info.scattered = a->tiles && !s->options.consecutive;
    s->data_offset = a->deflated ? a->before : a->offset;
    s->info.data_offset = container_array_begin(a);
    s->info.type = a->type;
    s->info.swap = a->big_endian != element_host_is_big();
    s->info.element_size = element_size(a->type);
    (void)find_part(a, &s->options, &part);
    s->info.first = part.first;
    s->info.elements = part.first + part.elements;
    s->info.of = part.of;
    container_shape(a, &s->info.shape);
    s->info.scale = container_scale(a);
    s->info.parallel = true;
    s->header = true;
    return true;
}
