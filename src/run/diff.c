#include "config.h"

#include "run/diff.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/name.h"
#include "cpu/compare.h"
#include "cpu/digest.h"
#include "source/inputs.h"
#include "sys/clock.h"
#include "sys/group.h"
#include "sys/grow.h"
#include "sys/mapping.h"
#include "sys/mutex.h"
#include "sys/search.h"
#include "sys/team.h"

MUTEX_ROLE(diff_role);
MUTEX_ROLE(diff_order_role);

/* A pair that comes in order, on one side at least. The first such side leads: a worker that has
   read a piece of it has a ticket, and the other side is read in the order of these. */
struct diff_order {
    struct mutex mutex;
    pthread_cond_t changed;
    bool reading GUARDED_BY(diff_order_role); /* a worker reads the leading side */
    bool ended GUARDED_BY(diff_order_role);   /* there is nothing more, or an input failed */
    uint64_t tickets GUARDED_BY(diff_order_role), served GUARDED_BY(diff_order_role);
    uint64_t news GUARDED_BY(diff_order_role);            /* times that waiting workers were told */
    uint64_t got[DIFF_SIDES] GUARDED_BY(diff_order_role); /* elements */
};

MUTEX_ROLE_OF(diff_order, struct diff_order, mutex);

/* A pair at hand, one of whose arrays is in C order and the other in Fortran order. In the order of
   side A it has `rows` of `row` elements each. Tiles of `high` rows and `wide` elements of each are
   claimed; those of side B are put into the order of side A. A side that is not at hand is first read
   into memory, by the worker that then compares all tiles. */
struct diff_turn {
    uint64_t rows, row;
    uint64_t high, wide;
    uint64_t tiles;
    _Atomic uint64_t next; /* the next tile that nobody has claimed */
    unsigned dimensions;   /* of a row, the last of which changes fastest */
    uint64_t sizes[CONTAINER_DIMENSIONS_MAX];
};

struct diff_pair {
    struct diff_item *item;
    struct {
        struct source *source; /* the file's, or `own` */
        struct source *own;    /* of an array that is not at hand; NULL for none */
        size_t array;          /* number of the array in the source */
        bool at_hand;
        bool prompt; /* it is read as it comes, and may stall at any element */
        size_t size; /* bytes of an element */
    } sides[DIFF_SIDES];
    struct cpu_compare_setup setup;
    size_t size;              /* bytes of an element of the side where they are larger */
    struct diff_order *order; /* NULL where both sides are at hand */
    struct diff_turn *turn;   /* NULL where both have their dimensions in one order */

    _Atomic bool differs;          /* bytes do: from now on sums are taken */
    _Atomic bool failed;           /* one of its arrays could not be read: its source knows why */
    struct difference *difference; /* the findings; NULL for none. Under diff_role */
};

/* Equal elements of which no sums have been taken. */
struct diff_range {
    size_t pair; /* by its number */
    uint64_t index;
    uint64_t count;
};

struct diff_ranges {
    struct diff_range *list;
    size_t count, room;
};

struct diff_worker {
    struct diff *diff;
    unsigned number;
    struct cpu_compare *compare;
    unsigned char *buffers[DIFF_SIDES];
    unsigned char *tile; /* of the size of a buffer; NULL before there is need for it */
    unsigned char *whole[DIFF_SIDES]; /* elements of a side of its pair, all of them; NULL: none */

    size_t pair; /* whose elements `compare` has; SIZE_MAX for none */
    bool found;  /* it has anything to hand in */
    struct diff_ranges unseen;
};

/* An error of a file, or of a pair of arrays. */
struct diff_error {
    char *name;        /* as messages show it, of malloc */
    const char *array; /* the name of the array that it is about; NULL: of none */
    struct error error;
    size_t before; /* 1 + the number of the one before in its chain; 0: none */
};

/* Errors are found in so many chains. */
#define DIFF_ERROR_CHAINS ((size_t)1 << 12)

/* An array that the other side lacks by its name, and may have by another. */
struct diff_lone {
    struct diff_item *item;
    const struct diff_side *side; /* of the item: the one that has it */
    bool found;                   /* it has a digest; set by the worker that took it */
    struct digest digest;         /* 0 before */
};

struct diff {
    const struct diff_request *request;
    unsigned worker_count;
    size_t buffer_bytes, claim_bytes;
    bool always_look; /* sums are taken of all: NaNs are errors, or all results are wanted */

    struct source **files[DIFF_SIDES]; /* the files of each side */
    int file_counts[DIFF_SIDES];
    _Atomic uint64_t unpacked; /* see struct source_options */

    struct diff_item *items;
    size_t item_count;

    /* Pairs that are compared: first those in order, and then those at hand, which are as if one
       lay behind the other: begins[i] is the bytes before that number `ordered + i` of them. */
    struct diff_pair *pairs;
    size_t pair_count, ordered;
    uint64_t *begins;
    uint64_t other_bytes; /* of side A of pairs that have a turn, or a comparer, which are not among
                             these */
    _Atomic uint64_t next;       /* byte of these that nobody has claimed */
    _Atomic size_t next_ordered; /* pair in order that nobody has begun with */
    _Atomic size_t next_whole;   /* pair that nobody has looked at, to read a side into memory */
    struct diff_ranges unseen;   /* the second time */
    _Atomic size_t next_unseen;  /* the next of the unseen ranges to look at */
    _Atomic bool stop;           /* a worker failed, or all is known */
    _Atomic bool failed;

    struct diff_lone *lone; /* NULL before arrays are looked for by their digests */
    size_t lone_count;
    _Atomic size_t next_lone; /* the next of them that nobody has taken */

    struct diff_error *errors; /* the session's thread's */
    size_t error_count, error_room;
    size_t chains[DIFF_ERROR_CHAINS]; /* 1 + the number of the last error of each; 0: none */
    _Atomic bool no_memory;           /* there was none for something */

    struct diff_worker *workers;
    struct mutex mutex;
    struct team own_team; /* of the workers, if the options have none */
    struct team *team;
    bool (*work)(struct diff_worker *w); /* the task of all workers; false on failure */
    _Atomic bool decided;                /* with verdict_only: something differs */

    uint64_t begun_at, ended_at;
};

MUTEX_ROLE_OF(diff, struct diff, mutex);

/* Notes that there is no memory. Returns false. Any worker may call it. */
static inline bool note_no_memory(struct diff *d)
{
    atomic_store(&d->no_memory, true);
    return false;
}

static inline const struct source_info *file_info(const struct diff *d, int side, int file)
{
    return source_info(d->files[side][file]);
}

/*
 * Errors and warnings.
 */

/* Room for what name_item writes. */
#define DIFF_ITEM_NAME_MAX (2 * NAME_INPUT_MAX + NAME_ARRAY_MAX + 64)

/* Writes which item it is, and how many more, for messages. */
static void name_item(char name[DIFF_ITEM_NAME_MAX], const struct diff *d,
                      const struct diff_item *item, size_t more)
{
    char a[NAME_INPUT_MAX], b[NAME_INPUT_MAX], shown[NAME_ARRAY_MAX];
    int used;

    (void)name_input(a, d->request->sides[DIFF_A].name);
    (void)name_input(b, d->request->sides[DIFF_B].name);
    used = sprintf(name, "%s and %s", a, b);
    if (item->name)
        used += sprintf(name + used, ": array %s", name_array(shown, item->name));
    if (more > 0)
        sprintf(name + used, " and %zu more", more);
}

/* Notes an error of what is called so, and of an array unless that is NULL, once. Returns 1 + its number; 0
   without memory. */
static size_t add_error(struct diff *d, const char *name, const char *array, struct error error)
{
    size_t *const chain = &d->chains[name_hash(name, error.text) % DIFF_ERROR_CHAINS];
    struct diff_error *added;

    for (size_t i = *chain; i > 0; i = d->errors[i - 1].before)
        if (strcmp(d->errors[i - 1].name, name) == 0 &&
            strcmp(d->errors[i - 1].error.text, error.text) == 0)
            return i;
    if (!GROW(d->errors, d->error_room, d->error_count + 1))
        return note_no_memory(d);
    added = &d->errors[d->error_count];
    added->name = strdup(name);
    added->array = array;
    added->error = error;
    added->before = *chain;
    if (!added->name)
        return note_no_memory(d);
    return *chain = ++d->error_count;
}

/* Notes an error of an item, as add_error does, which makes it DIFF_FAILED. Returns false. */
static bool fail_item(struct diff *d, struct diff_item *item, const char *name, const char *array,
                      struct error error)
{
    const size_t number = add_error(d, name, array, error);

    item->kind = DIFF_FAILED;
    item->error = item->error ? item->error : number;
    return false;
}

/* Notes why it cannot be told how an item compares, which makes it DIFF_FAILED. Returns false. */
static bool item_error(struct diff *d, struct diff_item *item, struct error error)
{
    char name[DIFF_ITEM_NAME_MAX];

    name_item(name, d, item, 0);
    return fail_item(d, item, name, item->name, error);
}

/* Notes what is wrong with the array that an item has on one side, which makes it DIFF_FAILED. Returns
   false. */
static bool side_error(struct diff *d, struct diff_item *item, int side, struct error error)
{
    char name[NAME_BOTH_MAX], shown[NAME_ARRAY_MAX];

    sprintf(name, "%s: array %s", source_info(item->sides[side].source)->name,
            name_array(shown, item->sides[side].array->name));
    return fail_item(d, item, name, item->sides[side].array->name, error);
}

/* Warns about `count` items, of which this is the first. */
static void item_warning(const struct diff *d, const struct diff_item *item, size_t count,
                         const char *text)
{
    const struct error why = container_why(item->sides[DIFF_A].array);
    char name[DIFF_ITEM_NAME_MAX];

    name_item(name, d, item, count - 1);
    log_warn(d->request->options->input.log, name, why.advice, "%s: %s", text, why.text);
}

/*
 * Which arrays of the two sides are compared with each other, and what their headers tell of them.
 */

/* An array of a side, by name. */
struct named {
    const char *name; /* NULL: the file is one array */
    char *key;        /* the name that it is matched by, of malloc; NULL: `name` */
    struct source *source;
    size_t array;
    bool matched;
};

struct names {
    struct named *list;
    size_t count;
};

/* Lists the arrays of a side, in their order. Each that is missing is an error. False
   without memory. */
static bool list_names(struct diff *d, int side, struct names *names)
{
    char shown[NAME_ARRAY_MAX];
    size_t count = 0;

    for (int i = 0; i < d->file_counts[side]; i++)
        count += inputs_arrays(file_info(d, side, i));
    names->list = malloc((count + 1) * sizeof *names->list);
    names->count = 0;
    if (!names->list)
        return note_no_memory(d);
    for (int i = 0; i < d->file_counts[side]; i++) {
        const struct source_info *info = file_info(d, side, i);

        if (!info->container)
            names->list[names->count++] = (struct named){.source = d->files[side][i]};
        for (size_t k = 0; info->container && k < info->pick_count; k++) {
            const struct container_array *a = info->picks[k].array;

            if (a->missing) {
                add_error(d, info->name, a->name,
                          error_of(ERROR_DATA, "array %s: %s", name_array(shown, a->name),
                                   a->unreadable));
            } else {
                struct named *named = &names->list[names->count++];

                *named = (struct named){.name = a->name, .source = d->files[side][i], .array = k};
                if (d->request->rename && !(named->key = rename_apply(d->request->rename, a->name)))
                    return note_no_memory(d);
            }
        }
    }
    return true;
}

/* The name that an array is matched by. */
static const char *key_of(const struct named *named)
{
    return named->key ? named->key : named->name;
}

static int compare_names(const void *a, const void *b)
{
    const struct named *const *x = a, *const *y = b;

    return strcmp(key_of(*x), key_of(*y));
}

/* The names of a set in order, to be freed. NULL without memory, or where a name occurs twice. */
static struct named **sort_names(struct diff *d, const struct names *names)
{
    struct named **sorted = malloc((names->count + 1) * sizeof *sorted);
    char shown[NAME_ARRAY_MAX], other[NAME_ARRAY_MAX], key[NAME_ARRAY_MAX];

    if (!sorted) {
        (void)note_no_memory(d);
        return NULL;
    }
    for (size_t i = 0; i < names->count; i++)
        sorted[i] = &names->list[i];
    if (names->count > 0)
        qsort(sorted, names->count, sizeof *sorted, compare_names);
    for (size_t i = 1; i < names->count; i++) {
        const struct named *before = sorted[i - 1], *named = sorted[i];

        if (compare_names(&before, &named) != 0)
            continue;
        (void)name_array(shown, named->name);
        if (strcmp(named->name, before->name) != 0)
            source_error(named->source, ERROR_REQUEST,
                         "arrays %s and %s would both be matched as %s",
                         name_array(other, before->name), shown, name_array(key, key_of(named)));
        else
            source_error(named->source, ERROR_REQUEST, "array %s is in another file, too: %s",
                         shown, source_info(before->source)->name);
        free(sorted);
        return NULL;
    }
    return sorted;
}

/* Sets what a side has of an item. */
static void set_side(struct diff_item *item, int side, const struct named *named)
{
    const struct source_info *info = source_info(named->source);
    const struct container_array *array = info->container ? info->picks[named->array].array : NULL;
    struct diff_side *const s = &item->sides[side];

    s->source = named->source;
    s->array = array;
    s->number = named->array;
    s->elements = array ? info->picks[named->array].elements : source_elements(info);
    s->type = array ? array->type : info->type;
    s->swap = array ? array->big_endian != element_host_is_big() : info->swap;
    s->is_bytes = array && array->unreadable;
    s->type_name = s->is_bytes ? array->type_name : element_name(s->type);
    if (!s->is_bytes)
        s->scale = array ? container_scale(array) : info->scale;
    if (!item->name)
        item->name = named->name;
    else if (side == DIFF_B && named->name && strcmp(item->name, named->name) != 0)
        item->other_name = named->name;
}

/* Whether a shape has elements, and more than one dimension that counts, so that an order of these
   does. */
static bool has_order(const struct array_shape *shape)
{
    unsigned count = 0;

    for (unsigned i = 0; i < shape->dimensions; i++) {
        if (shape->sizes[i] == 0)
            return false;
        count += shape->sizes[i] > 1;
    }
    return count > 1;
}

static bool is_at_hand(const struct diff_item *item, int side)
{
    return source_is_at_hand(item->sides[side].source, item->sides[side].number);
}

/* Whether one side has its dimensions in Fortran order, and the other in C order. */
static bool are_turned(const struct diff_item *item)
{
    struct array_shape a, b;

    diff_shape(item, DIFF_A, &a);
    diff_shape(item, DIFF_B, &b);
    return a.known && b.known && diff_same_shape(&a, &b) && a.fortran_order != b.fortran_order &&
           has_order(&a);
}

/* Whether arrays in two orders can be compared: all of their elements are to be, since the first ones
   are others in the other order, and those that are not at hand fit in memory, with those of the other
   workers. */
static bool can_turn(const struct diff *d, const struct diff_item *item)
{
    struct array_shape shape;
    uint64_t all = 1, bytes = 0;
    bool stream = true;

    diff_shape(item, DIFF_A, &shape);
    for (unsigned i = 0; i < shape.dimensions; i++)
        all *= shape.sizes[i];
    for (int side = 0; side < DIFF_SIDES; side++) {
        const size_t size = element_size(item->sides[side].type);

        if (item->sides[side].elements < all)
            return false;
        stream = stream && !source_info(item->sides[side].source)->repeatable;
        if (is_at_hand(item, side))
            continue;
        if (item->sides[side].elements > source_memory() / size)
            return false;
        bytes += item->sides[side].elements * size;
    }
    return !item->sides[DIFF_A].is_bytes && !stream && bytes <= source_memory() / d->worker_count;
}

/* Compares the stored bytes of arrays in chunks that cannot be read. Returns whether they are the
   same. */
static bool compare_pieces(struct diff_item *item)
{
    const struct container_array *a = item->sides[DIFF_A].array, *b = item->sides[DIFF_B].array;
    bool same = false;

    if (!a->pieces || !b->pieces ||
        !source_same_pieces(item->sides[DIFF_A].source, a, item->sides[DIFF_B].source, b, &same))
        return false;
    item->compared = same;
    return same;
}

/* Whether an array of numbers cannot be read, so that it is unknown how it compares with one that can:
   its type is unknown, or no difference. */
static bool is_unknown(const struct diff *d, const struct diff_item *item, int side)
{
    const char *type = item->sides[side].type_name, *other = item->sides[DIFF_B - side].type_name;

    return item->sides[side].is_bytes && !item->sides[side].array->not_numeric &&
           (!*type || (!item->sides[DIFF_B - side].is_bytes &&
                       (d->request->ignore_dtype || d->request->cast || strcmp(type, other) == 0)));
}

/* Compares what headers say of a pair. Returns whether its values are to be compared. */
static bool compare_headers(struct diff *d, struct diff_item *item)
{
    const uint64_t a_elements = item->sides[DIFF_A].elements;
    const uint64_t b_elements = item->sides[DIFF_B].elements;
    struct array_shape a, b;

    item->kind = DIFF_SAME;
    if (strcmp(item->sides[DIFF_A].type_name, item->sides[DIFF_B].type_name) != 0 ||
        item->sides[DIFF_A].is_bytes != item->sides[DIFF_B].is_bytes) {
        for (int side = 0; side < DIFF_SIDES; side++) {
            if (is_unknown(d, item, side))
                return side_error(d, item, side, container_why(item->sides[side].array));
        }
        if (item->sides[DIFF_A].is_bytes || item->sides[DIFF_B].is_bytes) {
            item->kind = DIFF_TYPE;
            return false;
        }
        item->kind = d->request->ignore_dtype || d->request->cast ? DIFF_SAME : DIFF_TYPE;
    }
    if (item->sides[DIFF_A].is_bytes &&
        (a_elements == SOURCE_UNKNOWN || b_elements == SOURCE_UNKNOWN)) {
        if (compare_pieces(item))
            return false;
        if (!item->sides[DIFF_A].array->not_numeric)
            item_error(d, item, container_why(item->sides[DIFF_A].array));
        return false;
    }
    diff_shape(item, DIFF_A, &a);
    diff_shape(item, DIFF_B, &b);
    if (a.known && b.known && !diff_same_shape(&a, &b)) {
        item->kind = item->kind == DIFF_SAME ? DIFF_SHAPE : item->kind;
    } else if (are_turned(item) && !can_turn(d, item)) {
        return item_error(
            d, item,
            error_of(ERROR_REQUEST,
                     "one is in Fortran order, the other in C order; these cannot be "
                     "compared if both are pipes, if their type is not read, if only the "
                     "first elements are asked for, or if the one that is compressed or in "
                     "chunks needs too much memory"));
    }
    if (a_elements != SOURCE_UNKNOWN && b_elements != SOURCE_UNKNOWN && a_elements != b_elements) {
        item->kind = item->kind == DIFF_SAME ? DIFF_SHAPE : item->kind;
        return false;
    }
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct container_array *array = item->sides[side].array;

        if (array && !source_fits_consecutive(array, DIFF_SIDES * d->worker_count))
            return item_error(
                d, item,
                error_of(ERROR_REQUEST, "reading its chunks in order needs too much memory"));
    }
    return !(d->request->verdict_only && item->kind != DIFF_SAME);
}

/* Whether a side comes from a pipe, or the like. */
static bool is_pipe(const struct diff_pair *pair, int side)
{
    return !pair->sides[side].at_hand && !source_info(pair->sides[side].source)->repeatable;
}

static void set_pair(const struct diff *d, struct diff_pair *pair, struct diff_item *item)
{
    pair->item = item;
    for (int side = 0; side < DIFF_SIDES; side++) {
        pair->sides[side].source = item->sides[side].source;
        pair->sides[side].array = item->sides[side].number;
        pair->sides[side].at_hand = is_at_hand(item, side);
        pair->sides[side].size = element_size(item->sides[side].type);
        pair->setup.swap[side] = item->sides[side].swap;
        pair->setup.missing[side] = item->sides[side].missing;
    }
    pair->setup.terms = (struct difference_terms){
        .skip_nan = d->request->options->nan == NAN_SKIP,
        .tolerance = *diff_tolerance(d->request, item),
        .scales = {item->sides[DIFF_A].scale, item->sides[DIFF_B].scale},
    };
    cpu_compare_set_types(&pair->setup, item->sides[DIFF_A].type, item->sides[DIFF_B].type,
                          d->request->cast && !item->sides[DIFF_A].is_bytes);
    pair->size = pair->sides[DIFF_A].size > pair->sides[DIFF_B].size ? pair->sides[DIFF_A].size
                                                                     : pair->sides[DIFF_B].size;
    pair->differs = item->kind != DIFF_SAME; /* there will be results, whatever the values are */
    for (int side = 0; side < DIFF_SIDES; side++)
        pair->sides[side].prompt =
            is_pipe(pair, side) && (d->request->verdict_only || is_pipe(pair, DIFF_B - side));
    if (item->sides[DIFF_A].is_bytes)
        pair->setup.terms.tolerance = (struct difference_tolerance){false, false, false, 0, 0, 0};
    pair->setup.verdict_only = d->request->verdict_only;
}

/* Finds what the numbers of an item's arrays mean. Returns whether its values are to be compared. */
static bool find_meaning(struct diff *d, struct diff_item *item)
{
    const struct missing_values *values = &d->request->options->missing;
    const bool one_scale = scale_same(&item->sides[DIFF_A].scale, &item->sides[DIFF_B].scale);
    const bool by_ulps = diff_tolerance(d->request, item)->by_ulps && !d->request->cast;
    const enum element_type a_type = item->sides[DIFF_A].type, b_type = item->sides[DIFF_B].type;
    enum element_type common;

    for (int side = 0; side < DIFF_SIDES && !item->sides[side].is_bytes; side++) {
        const enum element_type type = item->sides[side].type;
        struct missing m;
        const char *const lacking =
            container_find_missing(item->sides[side].array, type, values, &m);

        if (lacking)
            return item_error(d, item,
                              error_of(ERROR_REQUEST,
                                       "the missing value %s is not a value of type %s", lacking,
                                       item->sides[side].type_name));
        if (m.count == 0)
            continue;
        item->sides[side].missing = malloc(sizeof m);
        if (!item->sides[side].missing)
            return note_no_memory(d);
        *item->sides[side].missing = m;
    }
    if (d->request->cast && !one_scale && element_is_integer(b_type) && element_size(b_type) == 8)
        return item_error(
            d, item,
            error_advised((struct advice){.kind = ADVICE_STORED},
                          "casts to %s of numbers with another scale or offset are not "
                          "supported",
                          item->sides[DIFF_B].type_name));
    if (by_ulps && !difference_common_type(a_type, b_type, &common))
        return item_error(
            d, item,
            error_of(ERROR_REQUEST,
                     "a tolerance in ulps needs a type that has all numbers of %s and %s",
                     item->sides[DIFF_A].type_name, item->sides[DIFF_B].type_name));
    if (by_ulps && !one_scale)
        return item_error(
            d, item,
            error_advised((struct advice){.kind = ADVICE_STORED},
                          "a tolerance in ulps needs two arrays of one scale and offset"));
    return true;
}

/* Adds the item of an array of side A, or the pair of both. */
static void add(struct diff *d, const struct named *a, struct named *b)
{
    struct diff_item *item = &d->items[d->item_count++];

    if (a)
        set_side(item, DIFF_A, a);
    if (b)
        set_side(item, DIFF_B, b);
    if (!a || !b) {
        item->kind = a ? DIFF_ONLY_A : DIFF_ONLY_B;
        return;
    }
    b->matched = true;
    if (compare_headers(d, item) && find_meaning(d, item))
        set_pair(d, &d->pairs[d->pair_count++], item);
}

static bool match_names(struct diff *d, const struct names *a, const struct names *b)
{
    struct named **a_sorted = sort_names(d, a);
    struct named **b_sorted = a_sorted ? sort_names(d, b) : NULL;

    for (size_t i = 0; b_sorted && i < a->count; i++) {
        const struct named *key = &a->list[i];
        struct named **found =
            b->count > 0 ? bsearch(&key, b_sorted, b->count, sizeof *b_sorted, compare_names)
                         : NULL;

        add(d, key, found ? *found : NULL);
    }
    for (size_t i = 0; b_sorted && i < b->count; i++)
        if (!b->list[i].matched)
            add(d, NULL, &b->list[i]);
    free(a_sorted);
    free(b_sorted);
    return b_sorted;
}

/* Whether a side is a file that is one array. */
static bool is_single(const struct diff *d, int side)
{
    return d->file_counts[side] == 1 && !file_info(d, side, 0)->container;
}

/* Sets the items, and the pairs whose values are to be compared, of two sides that are open. False
   on failure. */
static bool match(struct diff *d)
{
    struct names names[DIFF_SIDES] = {{NULL, 0}, {NULL, 0}};
    bool good = list_names(d, DIFF_A, &names[DIFF_A]) && list_names(d, DIFF_B, &names[DIFF_B]);

    if (good) {
        const size_t most = names[DIFF_A].count + names[DIFF_B].count + 1;

        d->items = calloc(most, sizeof *d->items);
        d->pairs = calloc(most, sizeof *d->pairs);
        d->item_count = d->pair_count = 0;
        good = (d->items && d->pairs) || note_no_memory(d);
    }
    if (good && (is_single(d, DIFF_A) || is_single(d, DIFF_B))) {
        const int set = is_single(d, DIFF_A) ? DIFF_B : DIFF_A;

        if (names[set].count == 1) {
            add(d, &names[DIFF_A].list[0], &names[DIFF_B].list[0]);
        } else {
            good = false;
            if (names[set].count == 0)
                source_error(d->files[set][0], ERROR_REQUEST,
                             "it holds no array, but the other file is one");
            else
                source_refuse(d->files[set][0], (struct advice){.kind = ADVICE_ARRAY},
                              "it holds %zu arrays, but the other file is one", names[set].count);
        }
    } else if (good) {
        good = match_names(d, &names[DIFF_A], &names[DIFF_B]);
    }
    for (int side = 0; side < DIFF_SIDES; side++) {
        for (size_t i = 0; i < names[side].count; i++)
            free(names[side].list[i].key);
        free(names[side].list);
    }
    return good;
}

/* Elements of a row that a tile has at most. */
#define TILE_WIDE ((uint64_t)512)

/* Claims shrink towards the end, so that all workers end together; not below this. Bytes. */
#define CLAIM_MIN ((uint64_t)64 << 10)

/* Cached data that have to be copied are copied in pieces of so many bytes, both sides together in
   the level-2 cache of a core. */
#define COPIED_BYTES ((size_t)256 << 10)

/* Ranges that follow one another are joined up to this. Bytes. */
#define RANGE_BYTES ((uint64_t)4 << 20)

static bool stopped(const struct diff *d)
{
    return atomic_load_explicit(&d->stop, memory_order_relaxed);
}

/* Ends the work of all: an input failed, unless all that is asked for was known by then. Returns
   false. */
static bool give_up(struct diff *d)
{
    if (!atomic_load(&d->decided))
        atomic_store(&d->failed, true);
    atomic_store(&d->stop, true);
    return false;
}

static bool no_memory(struct diff *d)
{
    (void)note_no_memory(d);
    return give_up(d);
}

static bool add_range(struct diff_ranges *ranges, const struct diff_range *range)
{
    if (!GROW(ranges->list, ranges->room, ranges->count + 1))
        return false;
    ranges->list[ranges->count++] = *range;
    return true;
}

/* Notes equal elements of which no sums have been taken. */
static bool note_unseen(struct diff_worker *w, uint64_t index, uint64_t count)
{
    struct diff_ranges *unseen = &w->unseen;

    if (unseen->count > 0) {
        struct diff_range *last = &unseen->list[unseen->count - 1];

        if (last->pair == w->pair && last->index + last->count == index &&
            (last->count + count) * w->diff->pairs[w->pair].size <= RANGE_BYTES) {
            last->count += count;
            return true;
        }
    }
    return add_range(unseen, &(struct diff_range){w->pair, index, count}) || no_memory(w->diff);
}

/*
 * Findings of a worker.
 */

static bool add_found(struct diff *d, struct diff_pair *p, const struct difference *found)
{
    bool good = true;

    diff_lock(d);
    if (!p->difference) {
        p->difference = malloc(sizeof *p->difference);
        if (p->difference)
            *p->difference = *found;
        good = p->difference != NULL;
    } else {
        difference_merge(p->difference, &p->setup.terms, found);
    }
    diff_unlock(d);
    return good || no_memory(d);
}

/* Hands in what the worker has found of the pair that it is at. */
static bool hand_in(struct diff_worker *w)
{
    struct difference found;

    if (w->pair == SIZE_MAX || !w->found)
        return true;
    w->found = false;
    cpu_compare_finish(w->compare, &found);
    return add_found(w->diff, &w->diff->pairs[w->pair], &found);
}

/* Leaves the sources of the worker's pair that pair number `next` is not in; SIZE_MAX for none. */
static void leave(const struct diff_worker *w, size_t next)
{
    const struct diff_pair *pairs = w->diff->pairs;

    for (int side = 0; side < DIFF_SIDES && w->pair != SIZE_MAX; side++) {
        struct source *source = pairs[w->pair].sides[side].source;

        if (pairs[w->pair].sides[side].at_hand &&
            (next == SIZE_MAX || pairs[next].sides[side].source != source))
            source_leave(source, w->number);
    }
}

/* Goes on with a pair. */
static bool turn_to(struct diff_worker *w, size_t pair)
{
    if (w->pair == pair)
        return true;
    if (!hand_in(w))
        return false;
    leave(w, pair);
    w->pair = pair;
    return cpu_compare_begin(w->compare, &w->diff->pairs[pair].setup) || no_memory(w->diff);
}

/*
 * Elements of both sides.
 */

/* A call of cpu_compare_take, or, without elements of side B, of cpu_compare_look, in the form that
   mapping_guard takes. */
struct take_call {
    struct cpu_compare *compare;
    const void *data[DIFF_SIDES];
    size_t count;
    uint64_t index;
    bool look;
    size_t passed;
};

static void call_take(void *argument)
{
    struct take_call *c = argument;

    if (c->data[DIFF_B])
        c->passed = cpu_compare_take(c->compare, c->data[DIFF_A], c->data[DIFF_B], c->count,
                                     c->index, c->look);
    else
        cpu_compare_look(c->compare, c->data[DIFF_A], c->count, c->index);
}

/* A call that copies elements one after the other to places that lie `stride` bytes apart. */
struct spread_call {
    unsigned char *to;
    const unsigned char *from;
    size_t size, count, stride;
};

static void call_spread(void *argument)
{
    const struct spread_call *c = argument;

    for (size_t i = 0; i < c->count; i++)
        element_store(c->size, c->to + i * c->stride, element_bits(c->size, c->from + i * c->size));
}

/* Makes the side fail whose bytes vanished while they were compared. */
static bool lost(const struct diff_worker *w, const struct chunk *a, const struct chunk *b)
{
    const struct diff_pair *p = &w->diff->pairs[w->pair];
    /* All to one place, of a buffer that is not used if both are mapped. */
    struct spread_call call = {.to = w->buffers[DIFF_A],
                               .from = a->data,
                               .size = p->sides[DIFF_A].size,
                               .count = a->count};

    if (a->mapped && (!b->mapped || !mapping_guard(call_spread, &call)))
        source_lost(p->sides[DIFF_A].source, a);
    else
        source_lost(p->sides[DIFF_B].source, b);
    return give_up(w->diff);
}

/* Ends the work of all: something differs, and that suffices. */
static void decide(struct diff *d)
{
    atomic_store(&d->stop, true);
    atomic_store(&d->decided, true);
    team_wake(d->team);
}

/* Compares chunks of both sides: as many elements of `a`, from the one numbered `from` on, as `b`
   has. */
static bool compare_chunks(struct diff_worker *w, const struct chunk *a, size_t from,
                           const struct chunk *b)
{
    struct diff *d = w->diff;
    struct diff_pair *p = &d->pairs[w->pair];
    struct take_call call = {
        .compare = w->compare,
        .data = {(const unsigned char *)a->data + from * p->sides[DIFF_A].size, b->data},
        .count = b->count,
        .index = b->index,
        .look =
            d->always_look || (p->order && !d->request->verdict_only) ||
            (!d->request->verdict_only && atomic_load_explicit(&p->differs, memory_order_relaxed)),
    };

    if (!mapping_call(a->mapped || b->mapped, call_take, &call))
        return lost(w, a, b);
    if (call.look || call.passed < call.count) {
        w->found = true;
        if (!atomic_load_explicit(&p->differs, memory_order_relaxed))
            atomic_store(&p->differs, true);
    }
    if (d->request->verdict_only) {
        if (cpu_compare_differs(w->compare))
            decide(d);
        return true;
    }
    return call.passed == 0 || note_unseen(w, b->index, call.passed);
}

/* Gets elements of a side: those at `data`, or, where that is NULL, from the source. False on
   failure: then the pair has failed, or give_up has been called. */
static bool get(struct diff_worker *w, int side, const unsigned char *data, struct chunk *chunk)
{
    const struct diff *d = w->diff;
    struct diff_pair *p = &d->pairs[w->pair];
    const struct chunk_request request = {.worker = w->number,
                                          .buffer = w->buffers[side],
                                          .size = d->buffer_bytes < COPIED_BYTES ? d->buffer_bytes
                                                                                 : COPIED_BYTES,
                                          .in_place = d->claim_bytes,
                                          .borrow = true};
    enum source_status status = SOURCE_CHUNK;

    chunk->array = p->sides[side].array;
    chunk->data = data;
    chunk->mapped = false;
    if (!data)
        status = source_at(p->sides[side].source, &request, chunk);
    if (status == SOURCE_CHUNK)
        return true;
    if (status == SOURCE_FAILED && !p->sides[side].own)
        return give_up(w->diff);
    atomic_store(&p->failed, true); /* the array is damaged, and other pairs go on */
    return false;
}

/* Hands them back. */
static void put(struct diff_worker *w, int side, const unsigned char *data,
                const struct chunk *chunk)
{
    if (!data)
        source_release(w->diff->pairs[w->pair].sides[side].source, w->number, chunk);
}

/* Reads a range of a side at hand and leaves it at that: the pair has failed, and this side may be
   damaged, too. The message is then the same however many workers there are. */
static void skim(struct diff_worker *w, int side, uint64_t index, uint64_t end)
{
    while (index < end && w->diff->pairs[w->pair].sides[side].at_hand && !stopped(w->diff)) {
        struct chunk chunk = {.index = index, .count = (size_t)(end - index)};

        if (!get(w, side, NULL, &chunk))
            return;
        put(w, side, NULL, &chunk);
        index += chunk.count;
    }
}

/* Compares a range of the pair that the worker is at. A side whose data[side] is NULL is at hand;
   otherwise the elements of the range are there. */
static bool compare_range(struct diff_worker *w, const unsigned char *const data[DIFF_SIDES],
                          uint64_t index, uint64_t count)
{
    const struct diff_pair *p = &w->diff->pairs[w->pair];
    bool good = true;

    for (uint64_t i = 0; good && i < count && !stopped(w->diff);) {
        const unsigned char *const a_data =
            data[DIFF_A] ? data[DIFF_A] + i * p->sides[DIFF_A].size : NULL;
        struct chunk a = {.index = index + i, .count = (size_t)(count - i)};

        good = get(w, DIFF_A, a_data, &a);
        if (!good)
            break;
        for (size_t j = 0; good && j < a.count;) {
            const unsigned char *const b_data =
                data[DIFF_B] ? data[DIFF_B] + (i + j) * p->sides[DIFF_B].size : NULL;
            struct chunk b = {.index = a.index + j, .count = a.count - j};

            good = get(w, DIFF_B, b_data, &b);
            if (!good)
                break;
            good = compare_chunks(w, &a, j, &b);
            put(w, DIFF_B, b_data, &b);
            j += b.count;
        }
        put(w, DIFF_A, a_data, &a);
        i += a.count;
    }
    for (int side = 0; !good && side < DIFF_SIDES; side++)
        skim(w, side, index, index + count);
    return good || atomic_load(&p->failed);
}

/*
 * Pairs at hand.
 */

/* The index behind a range, moved on so that no two workers decode one piece: that of the side whose
   pieces are larger. */
static uint64_t whole_pieces(const struct diff_pair *p, uint64_t end)
{
    uint64_t largest = 0, moved = end;

    for (int side = 0; side < DIFF_SIDES; side++) {
        uint64_t piece_begin, piece_end;

        source_piece(p->sides[side].source, end - 1, &piece_begin, &piece_end);
        if (piece_end - piece_begin > largest) {
            largest = piece_end - piece_begin;
            moved = piece_end;
        }
    }
    return moved;
}

/* Claims the next range. False when there is none. */
static bool claim(struct diff *d, struct diff_range *range)
{
    const size_t count = d->pair_count - d->ordered;
    uint64_t next = atomic_load_explicit(&d->next, memory_order_relaxed);
    uint64_t bytes;

    do {
        uint64_t left, here;
        size_t place, size;

        if (stopped(d) || next >= d->begins[count])
            return false;
        place = search_begins(d->begins, count, next);
        range->pair = d->ordered + place;
        size = d->pairs[range->pair].size;
        left = d->begins[count] - next;
        here = d->begins[place + 1] - next;
        bytes = left / 2 / d->worker_count;
        bytes = bytes < CLAIM_MIN ? CLAIM_MIN : bytes;
        bytes = bytes < d->claim_bytes ? bytes : d->claim_bytes;
        bytes = bytes / size * size;
        bytes = bytes ? bytes : size;
        bytes = bytes < here ? bytes : here;
        range->index = (next - d->begins[place]) / size;
        bytes = (whole_pieces(&d->pairs[range->pair], range->index + bytes / size) - range->index) *
                size;
        bytes = bytes < here ? bytes : here;
        range->count = bytes / size;
    } while (!atomic_compare_exchange_weak(&d->next, &next, next + bytes));
    return true;
}

/*
 * Pairs whose dimensions are in two orders.
 */

static bool are_at_hand(const struct diff_pair *p)
{
    return p->sides[DIFF_A].at_hand && p->sides[DIFF_B].at_hand;
}

/* Sets what is claimed of a pair whose elements are at most so many in a tile. False without memory. */
static bool set_turn(struct diff_pair *p, size_t most)
{
    struct diff_turn *t = calloc(1, sizeof *t);
    struct array_shape shape;

    if (!t)
        return false;
    diff_shape(p->item, DIFF_A, &shape);
    t->row = 1;
    for (unsigned i = 0; i < shape.dimensions; i++) {
        const uint64_t size = shape.sizes[shape.fortran_order ? shape.dimensions - 1 - i : i];

        if (i == 0)
            t->rows = size;
        else
            t->row *= t->sizes[t->dimensions++] = size;
    }
    t->wide = t->row < TILE_WIDE ? t->row : TILE_WIDE;
    t->wide = t->wide < most ? t->wide : most;
    t->high = t->rows < most / t->wide ? t->rows : most / t->wide;
    t->tiles = ((t->rows - 1) / t->high + 1) * ((t->row - 1) / t->wide + 1);
    p->turn = t;
    return true;
}

/* The place of an element of a row, in the other order of its dimensions. */
static uint64_t turn_place(const struct diff_turn *t, uint64_t place)
{
    uint64_t turned = 0;

    for (unsigned i = t->dimensions; i-- > 0; place /= t->sizes[i])
        turned = turned * t->sizes[i] + place % t->sizes[i];
    return turned;
}

/* The elements of a side that the worker has in memory, from one on; NULL if it has none. */
static const unsigned char *whole_at(const struct diff_worker *w, int side, uint64_t index)
{
    return w->whole[side] ? w->whole[side] + index * w->diff->pairs[w->pair].sides[side].size
                          : NULL;
}

/* Reads elements of side B that follow one another into a column of the worker's tile. */
static bool read_column(struct diff_worker *w, uint64_t index, size_t count, unsigned char *to,
                        size_t stride)
{
    const struct diff_pair *p = &w->diff->pairs[w->pair];
    struct chunk chunk;

    for (size_t i = 0; i < count; i += chunk.count) {
        struct spread_call call = {.size = p->sides[DIFF_B].size, .stride = stride};
        const unsigned char *whole = whole_at(w, DIFF_B, index + i);

        chunk = (struct chunk){.index = index + i, .count = count - i};
        if (!get(w, DIFF_B, whole, &chunk))
            return false;
        call.to = to + i * stride;
        call.from = chunk.data;
        call.count = chunk.count;
        if (!mapping_call(chunk.mapped, call_spread, &call)) {
            source_lost(p->sides[DIFF_B].source, &chunk);
            return give_up(w->diff);
        }
        put(w, DIFF_B, whole, &chunk);
    }
    return true;
}

/* Compares a tile of the pair that the worker is at. */
static bool compare_tile(struct diff_worker *w, uint64_t number)
{
    const struct diff_pair *p = &w->diff->pairs[w->pair];
    const struct diff_turn *t = p->turn;
    const uint64_t across = (t->row - 1) / t->wide + 1;
    const uint64_t row = number / across * t->high, place = number % across * t->wide;
    const size_t high = (size_t)(t->rows - row < t->high ? t->rows - row : t->high);
    const size_t wide = (size_t)(t->row - place < t->wide ? t->row - place : t->wide);
    const size_t size = p->sides[DIFF_B].size;
    bool good = true;

    for (size_t i = 0; good && i < wide; i++)
        good = read_column(w, turn_place(t, place + i) * t->rows + row, high, w->tile + i * size,
                           wide * size);
    for (size_t i = 0; good && i < high; i++) {
        const uint64_t first = (row + i) * t->row + place;
        const unsigned char *const data[DIFF_SIDES] = {whole_at(w, DIFF_A, first),
                                                       w->tile + i * wide * size};

        good = compare_range(w, data, first, wide);
    }
    return good || atomic_load(&p->failed);
}

static bool compare_tiles(struct diff_worker *w, size_t pair)
{
    struct diff *d = w->diff;
    struct diff_turn *t = d->pairs[pair].turn;
    bool good = true;
    uint64_t number;

    w->tile = w->tile ? w->tile : mapping_alloc(d->buffer_bytes);
    if (!w->tile)
        return no_memory(d);
    while (good && !stopped(d) && !atomic_load(&d->pairs[pair].failed) &&
           (number = atomic_fetch_add(&t->next, 1)) < t->tiles)
        good = turn_to(w, pair) && compare_tile(w, number);
    for (int side = 0; atomic_load(&d->pairs[pair].failed) && side < DIFF_SIDES; side++)
        skim(w, side, 0, t->rows * t->row);
    return good;
}

/*
 * Pairs in order.
 */

/* Reads what comes next of a side to `to`, `most` elements at most. Returns how many, 0 at the end; and on
   failure: then the pair has failed, or give_up has been called. */
static size_t read_next(const struct diff_worker *w, struct diff_pair *p, int side,
                        unsigned char *to, size_t most)
{
    const struct chunk_request request = {.buffer = to,
                                          .size = most * p->sides[side].size,
                                          .borrow = true,
                                          .prompt = p->sides[side].prompt};
    enum source_status status;
    struct chunk chunk;

    status = source_next(p->sides[side].source, &request, &chunk);
    if (status == SOURCE_CHUNK) {
        if (chunk.data != to)
            memcpy(to, chunk.data, chunk.count * p->sides[side].size);
        source_release(p->sides[side].source, 0, &chunk);
        return chunk.count;
    }
    if (status == SOURCE_FAILED && !p->sides[side].own)
        (void)give_up(w->diff);
    else if (status == SOURCE_FAILED) /* other pairs go on, and this one: both may be damaged */
        atomic_store(&p->failed, true);
    return 0;
}

/* Reads on until there are `most` elements at `to`, `got` of which are there, or the end is reached:
   frames and members end anywhere. Or, if `prompt`, until there are any more. Returns how many there
   are. */
static size_t fill_next(const struct diff_worker *w, struct diff_pair *p, int side,
                        unsigned char *to, size_t got, size_t most, bool prompt)
{
    size_t more = 1;

    while (got < most && more > 0) {
        more = read_next(w, p, side, to + got * p->sides[side].size, most - got);
        got += more;
        if (prompt)
            break;
    }
    return got;
}

/* Reads a side of a pair, which is not at hand, into memory. False without memory, or on failure. */
static bool read_whole(struct diff_worker *w, struct diff_pair *p, int side)
{
    const uint64_t count = p->item->sides[side].elements;

    w->whole[side] = malloc((size_t)count * p->sides[side].size + 1);
    if (!w->whole[side])
        return no_memory(w->diff);
    if (fill_next(w, p, side, w->whole[side], 0, (size_t)count, false) < count ||
        read_next(w, p, side, w->buffers[side], 1) > 0) /* its source knows why */
        atomic_store(&p->failed, true);
    return !stopped(w->diff);
}

/* Compares pairs in two orders, a side of which is not at hand, until there are no more. */
static bool compare_wholes(struct diff_worker *w)
{
    struct diff *d = w->diff;
    bool good = true;
    size_t k;

    while (good && !stopped(d) && (k = atomic_fetch_add(&d->next_whole, 1)) < d->pair_count) {
        struct diff_pair *p = &d->pairs[k];

        if (!p->turn || are_at_hand(p))
            continue;
        for (int side = 0; side < DIFF_SIDES; side++)
            good = good && (p->sides[side].at_hand || read_whole(w, p, side));
        good = good && compare_tiles(w, k);
        for (int side = 0; side < DIFF_SIDES; side++) {
            free(w->whole[side]);
            w->whole[side] = NULL;
        }
    }
    return good;
}

/* Helps who reads a side, or waits for news of the pair if there is nothing to do. Drops the mutex
   meanwhile. */
REQUIRES(diff_order_role)
static void help_locked(const struct diff_worker *w, const struct diff_pair *p)
{
    struct diff_order *o = p->order;
    const uint64_t news = o->news;
    bool helped = false;

    diff_order_unlock(o);
    /* Half of the workers begin to look at the other side. */
    for (unsigned i = 0; i < DIFF_SIDES && !helped; i++) {
        const unsigned side = (w->number + i) % DIFF_SIDES;

        helped = !p->sides[side].at_hand && source_help(p->sides[side].source);
    }
    diff_order_lock(o);
    if (!helped && o->news == news)
        diff_order_wait_for(o, &o->changed);
}

/* Tells those that wait. */
REQUIRES(diff_order_role)
static void tell_locked(struct diff_order *o)
{
    o->news++;
    pthread_cond_broadcast(&o->changed);
}

/* Takes a turn at the leading side. False when it has ended. */
static bool take_ticket(const struct diff_worker *w, struct diff_pair *p, uint64_t *ticket)
{
    struct diff_order *o = p->order;
    const struct diff *d = w->diff;
    bool taken;

    diff_order_lock(o);
    while (o->reading && !o->ended && !stopped(d))
        help_locked(w, p);
    taken = !o->ended && !stopped(d);
    if (taken) {
        o->reading = true;
        *ticket = o->tickets++;
    }
    diff_order_unlock(o);
    return taken;
}

/* Notes what has been read of the leading side, whose turn ends. Returns the index of the first
   element. With `wait`, waits for the turn at the other side. */
static uint64_t note_lead(const struct diff_worker *w, struct diff_pair *p, int lead, size_t count,
                          uint64_t ticket, bool wait)
{
    struct diff_order *o = p->order;
    uint64_t index;

    diff_order_lock(o);
    index = o->got[lead];
    o->got[lead] += count;
    o->ended = count == 0;
    o->reading = false;
    tell_locked(o);
    while (wait && o->served != ticket)
        help_locked(w, p);
    diff_order_unlock(o);
    return index;
}

static void note_follow(struct diff_order *o, int side, uint64_t count)
{
    diff_order_lock(o);
    o->got[side] += count;
    o->served++;
    tell_locked(o);
    diff_order_unlock(o);
}

/* Ends the work of all, if a verdict is all that is asked for: one side of the pair has ended before
   the other, unless that is since it could not be read. */
static void decide_by_length(struct diff *d, const struct diff_pair *p)
{
    if (d->request->verdict_only && !stopped(d) && !atomic_load(&p->failed))
        decide(d);
}

/* Reads the other side to its end, after the leading one has ended. Returns how many elements that
   were. */
static uint64_t read_rest(struct diff_worker *w, struct diff_pair *p, int side, size_t most)
{
    uint64_t all = 0;
    size_t count;

    while (!stopped(w->diff) && (count = read_next(w, p, side, w->buffers[side], most)) > 0) {
        all += count;
        decide_by_length(w->diff, p);
    }
    return all;
}

/* Elements that a worker has read of the leading side, and of the other one. */
struct diff_step {
    size_t count;   /* of the leading side, from `index` on */
    size_t follows; /* of the other side */
    size_t done;    /* of these that have been compared */
    uint64_t index;
};

/* Compares what has not been compared yet of a step. */
static bool compare_step(struct diff_worker *w, size_t number, struct diff_step *step)
{
    const struct diff_pair *p = &w->diff->pairs[number];
    const size_t done = step->done, count = step->follows - done;
    const unsigned char *data[DIFF_SIDES];

    for (int side = 0; side < DIFF_SIDES; side++)
        data[side] = p->sides[side].at_hand ? NULL : w->buffers[side] + done * p->sides[side].size;
    step->done = step->follows;
    return stopped(w->diff) || count == 0 ||
           (turn_to(w, number) && compare_range(w, data, step->index + done, count));
}

/* Reads as many elements of the other side, which comes in order, too. If a verdict suffices, all
   that is there is compared before the worker waits for more. */
static bool follow(struct diff_worker *w, size_t number, int lead, struct diff_step *step)
{
    struct diff *d = w->diff;
    struct diff_pair *p = &d->pairs[number];
    const bool prompt = d->request->verdict_only && p->sides[DIFF_B - lead].prompt;
    size_t before;
    bool good = true;

    do {
        before = step->follows;
        step->follows =
            fill_next(w, p, DIFF_B - lead, w->buffers[DIFF_B - lead], before, step->count, prompt);
        if (prompt && step->follows < step->count)
            good = compare_step(w, number, step);
    } while (good && prompt && !stopped(d) && step->follows > before &&
             step->follows < step->count);
    return good;
}

/* Takes part in a pair in order until it has ended. Several workers may, at once. */
static bool compare_in_order(struct diff_worker *w, size_t number)
{
    struct diff *d = w->diff;
    struct diff_pair *p = &d->pairs[number];
    struct diff_order *o = p->order;
    const int lead = p->sides[DIFF_A].at_hand ? DIFF_B : DIFF_A, other = DIFF_B - lead;
    const size_t most = d->buffer_bytes / p->size;
    const bool both = !p->sides[other].at_hand;
    uint64_t ticket;

    while (take_ticket(w, p, &ticket)) {
        struct diff_step step = {
            .count = fill_next(w, p, lead, w->buffers[lead], 0, most, p->sides[lead].prompt)};
        uint64_t left = 0; /* elements that the other side, which is at hand, still has */
        bool good = true;

        step.index = note_lead(w, p, lead, step.count, ticket, both);
        if (both) {
            good = step.count == 0 || follow(w, number, lead, &step);
            note_follow(o, other, step.count > 0 ? step.follows : read_rest(w, p, other, most));
        } else {
            left = p->item->sides[other].elements;
            left = left > step.index ? left - step.index : 0;
            step.follows = left < step.count ? (size_t)left : step.count;
        }
        if (step.follows < step.count || (step.count == 0 && left > 0))
            decide_by_length(d, p);
        if (!good || !compare_step(w, number, &step))
            return false;
    }
    return true;
}

/*
 * Pairs in memory of a device.
 */

/* Whether a comparer finds what differs: of the only pair. */
static bool has_comparer(const struct diff *d)
{
    return d->request->comparer && d->pair_count > 0;
}

/* Makes the comparison fail. Returns false. */
static bool fail_device(struct diff *d, struct error error)
{
    source_fail(d->pairs[0].sides[DIFF_A].source, error);
    return give_up(d);
}

/* Compares the pieces that differ until there are no more. Those that follow one another are compared
   together. */
static bool compare_found(struct diff_worker *w)
{
    struct diff *d = w->diff;
    const size_t length = CUDA_PIECE_BYTES / d->pairs[0].size;
    struct cuda_pieces pieces = {.data = {w->buffers[DIFF_A], w->buffers[DIFF_B]}};
    struct error error = {.kind = ERROR_NONE};
    size_t count = 1;
    bool good = true;

    atomic_store(&d->pairs[0].differs, true); /* sums are taken of all that comes here */
    while (good && count > 0 && !stopped(d)) {
        if (!cuda_array_next_pieces(d->request->comparer, &pieces, &count, &error))
            return fail_device(d, error);
        for (size_t i = 0, n; good && i < count; i += n) {
            struct chunk chunks[DIFF_SIDES];

            for (n = 1; i + n < count && pieces.numbers[i + n] == pieces.numbers[i] + n;)
                n++;
            for (int side = 0; side < DIFF_SIDES; side++)
                chunks[side] = (struct chunk){.index = pieces.numbers[i] * length,
                                              .count = n * length,
                                              .data = w->buffers[side] + i * CUDA_PIECE_BYTES};
            good = turn_to(w, 0) && compare_chunks(w, &chunks[DIFF_A], 0, &chunks[DIFF_B]);
        }
    }
    return good;
}

/* Whether workers have anything to do: there are pieces that differ. False on failure, too. */
static bool has_found(struct diff *d)
{
    struct error error = {.kind = ERROR_NONE};
    bool any = false;

    return cuda_array_has_pieces(d->request->comparer, &any, &error) ? any : fail_device(d, error);
}

/* Adds the pieces that do not differ: the first side without those of it that do. */
static bool add_equal(struct diff *d)
{
    struct error error = {.kind = ERROR_NONE};
    struct partial all, differing;
    struct difference equal;

    partial_clear(&all);
    partial_clear(&differing);
    if (!cuda_array_sums(d->request->comparer, &all, &differing, &error))
        return fail_device(d, error);
    difference_clear(&equal);
    equal.nan_both = all.nan - differing.nan;
    equal.missing_both = all.missing - differing.missing;
    equal.first_nan = all.first_nan;
    equal.infinities = partial_infinities(&all) - partial_infinities(&differing);
    equal.infinite = equal.infinities > 0;
    exact_subtract(&all.sum, &differing.sum);
    exact_wide_subtract(&all.squares, &differing.squares);
    equal.sums[DIFF_A] = equal.sums[DIFF_B] = all.sum;
    equal.squares[DIFF_A] = equal.squares[DIFF_B] = equal.products = all.squares;
    return add_found(d, &d->pairs[0], &equal);
}

/*
 * Workers.
 */

/* Makes the worker ready. False without memory, or, with nothing printed, where the work goes on
   without it. */
static bool begin_worker(struct diff_worker *w)
{
    w->pair = SIZE_MAX;
    w->found = false;
    if (!w->compare)
        w->compare = cpu_compare_open(w->diff->request->options->kernels);
    for (int side = 0; side < DIFF_SIDES; side++)
        if (!w->buffers[side])
            w->buffers[side] = mapping_alloc(w->diff->buffer_bytes);
    if (w->compare && w->buffers[DIFF_A] && w->buffers[DIFF_B])
        return true;
    return w->number == 0 && no_memory(w->diff); /* one at least is needed */
}

/* Compares until there is nothing left. */
static bool work_first(struct diff_worker *w)
{
    struct diff *d = w->diff;
    const unsigned char *const at_hand[DIFF_SIDES] = {NULL, NULL};
    struct diff_range range;
    bool good = true;
    size_t k;

    /* Each takes a pair of its own in order as long as there are any: what decodes them is one
       thread. */
    while (good && (k = atomic_fetch_add(&d->next_ordered, 1)) < d->ordered)
        good = compare_in_order(w, k);
    good = good && compare_wholes(w);
    for (k = d->ordered; good && k < d->pair_count; k++)
        if (d->pairs[k].turn && are_at_hand(&d->pairs[k]))
            good = compare_tiles(w, k);
    while (good && claim(d, &range))
        good = turn_to(w, range.pair) && compare_range(w, at_hand, range.index, range.count);
    if (good && has_comparer(d))
        good = compare_found(w);
    /* And then helps with those that are under way. */
    for (k = 0; good && k < d->ordered; k++)
        good = compare_in_order(w, k);
    return good;
}

/* Takes the sums of equal elements: those of one side. */
static bool look_at_range(struct diff_worker *w, const struct diff_range *range)
{
    struct diff *d = w->diff;
    struct source *source = d->pairs[range->pair].sides[DIFF_A].source;
    struct chunk chunk;

    if (!turn_to(w, range->pair))
        return false;
    w->found = true;
    for (uint64_t i = 0; i < range->count && !stopped(d); i += chunk.count) {
        struct take_call call = {.compare = w->compare, .index = range->index + i};

        chunk = (struct chunk){.index = call.index, .count = (size_t)(range->count - i)};
        if (!get(w, DIFF_A, NULL, &chunk))
            return atomic_load(&d->pairs[range->pair].failed);
        call.data[DIFF_A] = chunk.data;
        call.count = chunk.count;
        if (!mapping_call(chunk.mapped, call_take, &call)) {
            source_lost(source, &chunk);
            return give_up(d);
        }
        put(w, DIFF_A, NULL, &chunk);
    }
    return true;
}

/* Takes the sums of the elements in d->unseen. */
static bool work_again(struct diff_worker *w)
{
    struct diff *d = w->diff;
    bool good = true;
    size_t k;

    while (good && !stopped(d) && (k = atomic_fetch_add(&d->next_unseen, 1)) < d->unseen.count)
        good = look_at_range(w, &d->unseen.list[k]);
    return good;
}

/*
 * Arrays that have other names.
 */

/* A call of cpu_digest_take. */
struct digest_call {
    struct cpu_digest *digest;
    const struct chunk *chunk;
    unsigned char *copy; /* room for elements in this machine's byte order; NULL: they are */
    size_t size;         /* bytes of an element */
    size_t most;         /* elements that the copy has room for */
};

static void call_digest(void *argument)
{
    const struct digest_call *c = argument;
    const struct chunk *chunk = c->chunk;

    if (chunk->same) {
        if (c->copy)
            element_swap(c->copy, chunk->data, 1, c->size);
        cpu_digest_take_same(c->digest, c->copy ? c->copy : chunk->data, chunk);
        return;
    }
    for (size_t i = 0; i < chunk->count; i += c->most) {
        const size_t n = chunk->count - i < c->most ? chunk->count - i : c->most;
        const unsigned char *from = (const unsigned char *)chunk->data + i * c->size;

        if (c->copy)
            element_swap(c->copy, from, n, c->size);
        cpu_digest_take(c->digest, c->copy ? c->copy : from, n, chunk->index + i, chunk);
    }
}

/* Adds all elements of an array to a digest, in whatever order they are decoded. Returns whether that
   succeeded; an array that is damaged has none. */
static bool digest_elements(const struct diff_worker *w, const struct diff_lone *lone,
                            struct cpu_digest *digest)
{
    const struct diff *d = w->diff;
    const struct diff_side *const side = lone->side;
    const struct chunk_request request = {.buffer = w->buffers[DIFF_A],
                                          .size = d->buffer_bytes,
                                          .in_place = d->claim_bytes,
                                          .borrow = true};
    struct source_options input = *d->request->sides[side - lone->item->sides].input;
    struct chunk chunk;
    struct digest_call call = {.digest = digest, .chunk = &chunk};
    struct source *source;
    struct error error;
    bool good = true;

    input.true_indices = true;
    source = source_open_array(side->source, side->array, &input, 1, &error);
    if (!source)
        return false;
    call.size = element_size(side->type);
    call.copy = side->swap ? w->buffers[DIFF_B] : NULL;
    call.most = d->buffer_bytes / call.size;
    while (good && !stopped(d) && source_next(source, &request, &chunk) == SOURCE_CHUNK) {
        good = mapping_call(chunk.mapped, call_digest, &call);
        source_release(source, 0, &chunk);
    }
    good = good && !stopped(d) && source_finish(source) == SOURCE_COMPLETE;
    source_close(source);
    return good;
}

/* Finds digests of arrays until there are no more. */
static bool work_digest(struct diff_worker *w)
{
    struct diff *d = w->diff;
    const struct cpu_kernels *kernels = cpu_kernels_choose(d->request->options->kernels);
    size_t k;

    while (!stopped(d) && (k = atomic_fetch_add(&d->next_lone, 1)) < d->lone_count) {
        struct diff_lone *lone = &d->lone[k];
        const struct container_array *array = lone->side->array;
        const struct engine_columns columns = {array->dimensions, array->sizes};
        struct cpu_digest *digest =
            cpu_digest_open(NULL, kernels, lone->side->type,
                            array->fortran_order && array->dimensions > 1 ? &columns : NULL, true);

        if (!digest)
            return no_memory(d);
        lone->found = digest_elements(w, lone, digest);
        lone->digest = cpu_digest_find(digest);
        cpu_digest_close(digest);
    }
    return true;
}

/* Compares types, numbers of elements, scales and digests: 0 if they are equal. */
static int compare_likeness(const struct diff_lone *a, const struct diff_lone *b)
{
    const struct scale *x = &a->side->scale, *y = &b->side->scale;

    if (a->side->type != b->side->type)
        return a->side->type < b->side->type ? -1 : 1;
    if (a->side->elements != b->side->elements)
        return a->side->elements < b->side->elements ? -1 : 1;
    if (x->given != y->given)
        return x->given ? 1 : -1;
    if (x->factor != y->factor)
        return x->factor < y->factor ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return memcmp(&a->digest, &b->digest, sizeof a->digest);
}

static int compare_lone(const void *a, const void *b)
{
    const struct diff_lone *x = a, *y = b;
    const int order = compare_likeness(x, y);

    return order ? order : (x->item > y->item) - (x->item < y->item);
}

/* Finds a group of arrays that are alike, from number `from` of the sorted ones on. Sets where those
   of side B begin, which are after those of side A. Returns where the group ends. */
static size_t find_group(const struct diff *d, size_t from, size_t *b)
{
    size_t end = from;

    *b = from;
    while (end < d->lone_count && compare_likeness(&d->lone[from], &d->lone[end]) == 0)
        *b += d->lone[end++].item->kind == DIFF_ONLY_A;
    return end;
}

/* Lists the arrays that may be renamed: those that can be read, and of which the other side has some
   that are alike. Returns whether there are any; false without memory, too. */
static bool list_lone(struct diff *d)
{
    size_t count = 0, b, end;

    d->lone = malloc((d->item_count + 1) * sizeof *d->lone);
    if (!d->lone)
        return no_memory(d);
    for (size_t i = 0; i < d->item_count; i++) {
        struct diff_item *item = &d->items[i];
        const int side = item->kind == DIFF_ONLY_B ? DIFF_B : DIFF_A;

        if ((item->kind == DIFF_ONLY_A || item->kind == DIFF_ONLY_B) &&
            !item->sides[side].is_bytes && item->sides[side].elements > 0)
            d->lone[d->lone_count++] = (struct diff_lone){.item = item, .side = &item->sides[side]};
    }
    qsort(d->lone, d->lone_count, sizeof *d->lone, compare_lone);
    for (size_t from = 0; from < d->lone_count; from = end) {
        end = find_group(d, from, &b);
        for (size_t i = from; i < end && from < b && b < end; i++)
            d->lone[count++] = d->lone[i];
    }
    d->lone_count = count;
    return count > 0;
}

/* Makes one item of two whose digests are the same, in their order. */
static void join_renamed(struct diff *d)
{
    size_t count = 0, b, end;

    for (size_t i = 0; i < d->lone_count; i++)
        if (d->lone[i].found)
            d->lone[count++] = d->lone[i];
    d->lone_count = count;
    qsort(d->lone, d->lone_count, sizeof *d->lone, compare_lone);
    for (size_t from = 0; from < d->lone_count; from = end) {
        end = find_group(d, from, &b);
        for (size_t i = from, k = b; i < b && k < end; i++, k++) {
            struct diff_item *one = d->lone[i].item, *other = d->lone[k].item;

            one->kind = DIFF_RENAMED;
            one->other_name = other->name;
            one->sides[DIFF_B] = other->sides[DIFF_B];
            other->kind = DIFF_SAME; /* it is left out below */
            other->name = NULL;
        }
    }
    /* Only items of side B move, which are those of no pair. */
    count = 0;
    for (size_t i = 0; i < d->item_count; i++)
        if (d->items[i].sides[DIFF_A].source || d->items[i].kind == DIFF_ONLY_B)
            d->items[count++] = d->items[i];
    d->item_count = count;
}

/* Bytes of the elements of one side that a worker claims at a time, and of a buffer. */
#define CLAIM_BYTES ((size_t)8 << 20)
#define BUFFER_BYTES ((size_t)1 << 20)

/* Inputs that have less than this, both together, are compared by one worker. */
#define BYTES_OF_WORKER ((uint64_t)1 << 20)

/*
 * Opening.
 */

/* How the files of a side are read. */
static struct source_options options_of(struct diff *d, int side)
{
    struct source_options input = *d->request->sides[side].input;

    if (!input.unpacked)
        input.unpacked = &d->unpacked;
    input.in_order = true;
    input.undecoded = false;
    input.as_bytes = true;
    input.cancellable = true;
    return input;
}

/* Opens the files of a side, and reads nothing of them. False on failure. */
static bool connect_side(struct diff *d, int side)
{
    const struct source_options input = options_of(d, side);
    const int count = d->request->sides[side].count;
    char name[NAME_INPUT_MAX];
    struct error error;

    d->files[side] = calloc((size_t)count + 1, sizeof(struct source *));
    if (!d->files[side])
        return note_no_memory(d);
    for (int i = 0; i < count; i++) {
        const char *path = d->request->sides[side].paths[i];
        struct source *source = source_connect(path, &input, &error);

        if (source)
            d->files[side][d->file_counts[side]++] = source;
        else
            add_error(d, name_input(name, path), NULL, error);
    }
    return d->file_counts[side] == count;
}

/* Finds out what the files of a side hold; of pipes, if `repeatable` is not set, or else of the
   others. False on failure: a source has failed. */
static bool open_side(struct diff *d, int side, bool repeatable)
{
    const struct source_options input = options_of(d, side);
    bool good = true;

    for (int i = 0; i < d->file_counts[side]; i++) {
        struct source *source = d->files[side][i];

        if (source_info(source)->repeatable == repeatable)
            good = source_open_connected(source, &input, d->worker_count) && good;
    }
    return good;
}

/* Opens both sides. All files are opened before any is read, and those that tell at once what they
   hold before pipes: what feeds a pipe may wait until the other one is open, too, and a side that
   cannot be read is not to be told after a long wait. False on failure. */
static bool open_sides(struct diff *d)
{
    return connect_side(d, DIFF_A) && connect_side(d, DIFF_B) && open_side(d, DIFF_A, true) &&
           open_side(d, DIFF_B, true) && open_side(d, DIFF_A, false) && open_side(d, DIFF_B, false);
}

/* Opens what does not lie in a file as it is, and is not the file itself: compressed members, and
   arrays in tiles, which all workers decode. False on failure. */
static bool open_own(struct diff *d, struct diff_pair *p, int side)
{
    struct diff_item *item = p->item;
    struct source_options input = *d->request->sides[side].input;
    struct error error;

    if (p->sides[side].at_hand || !item->sides[side].array)
        return true;
    input.consecutive = DIFF_SIDES * d->worker_count;
    p->sides[side].own =
        source_open_array(p->sides[side].source, item->sides[side].array, &input,
                          item->sides[side].array->tiles ? d->worker_count : 1, &error);
    if (!p->sides[side].own)
        return side_error(d, item, side, error);
    p->sides[side].source = p->sides[side].own;
    p->sides[side].array = 0;
    /* Those of a pair in two orders would be decoded for every column of its tiles. */
    p->sides[side].at_hand = source_is_at_hand(p->sides[side].own, 0) && !are_turned(item);
    p->differs = p->differs || p->sides[side].at_hand; /* it is not decoded a second time */
    return true;
}

/* Opens these of all pairs. False on failure. */
static bool open_owns(struct diff *d)
{
    bool good = true;

    for (size_t i = 0; good && i < d->pair_count; i++)
        good = open_own(d, &d->pairs[i], DIFF_A) && open_own(d, &d->pairs[i], DIFF_B);
    return good;
}

/* Puts pairs in order before those at hand, and sees what there is to claim of the latter. False
   without memory. */
static bool arrange(struct diff *d)
{
    struct diff_pair *arranged = calloc(d->pair_count + 1, sizeof *arranged);
    size_t count = 0;

    d->begins = malloc((d->pair_count + 1) * sizeof *d->begins);
    if (!arranged || !d->begins) {
        free(arranged);
        return note_no_memory(d);
    }
    for (int in_order = 1; in_order >= 0; in_order--) {
        for (size_t i = 0; i < d->pair_count; i++)
            if ((!are_at_hand(&d->pairs[i]) && !are_turned(d->pairs[i].item)) == in_order)
                arranged[count++] = d->pairs[i];
        d->ordered = in_order ? count : d->ordered;
    }
    free(d->pairs);
    d->pairs = arranged;
    d->begins[0] = 0;
    for (size_t i = d->ordered; i < d->pair_count; i++) {
        struct diff_pair *p = &d->pairs[i];

        if (!are_turned(p->item))
            continue;
        if (!set_turn(p, d->buffer_bytes / p->size))
            return note_no_memory(d);
        p->differs = true; /* ranges of a row are not noted, to be looked at later */
        d->other_bytes += p->item->sides[DIFF_A].elements * p->size;
    }
    if (has_comparer(d))
        d->other_bytes = d->pairs[0].item->sides[DIFF_A].elements * d->pairs[0].size;
    for (size_t i = d->ordered; i < d->pair_count; i++)
        d->begins[i - d->ordered + 1] =
            d->begins[i - d->ordered] +
            (d->pairs[i].turn || has_comparer(d)
                 ? 0
                 : d->pairs[i].item->sides[DIFF_A].elements * d->pairs[i].size);
    for (size_t i = 0; i < d->ordered; i++) {
        struct diff_pair *p = &d->pairs[i];

        p->order = calloc(1, sizeof *p->order);
        if (!p->order)
            return note_no_memory(d);
        mutex_init(&p->order->mutex);
        pthread_cond_init(&p->order->changed, NULL);
    }
    return true;
}

struct diff *diff_new(const struct diff_request *request)
{
    const struct session_options *options = request->options;
    struct diff *d = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    d->request = request;
    d->begun_at = clock_now();
    d->worker_count = session_workers(options, options->cores ? options->cores : cores_available());
    d->buffer_bytes = options->chunk_size ? options->chunk_size : BUFFER_BYTES;
    d->buffer_bytes = (d->buffer_bytes + 63) / 64 * 64;
    d->claim_bytes = options->chunk_size ? options->chunk_size : CLAIM_BYTES;
    d->always_look = options->nan == NAN_ERROR || request->all_results;
    mutex_init(&d->mutex);
    return d;
}

static void close_pair(struct diff_pair *p)
{
    for (int side = 0; side < DIFF_SIDES; side++)
        if (p->sides[side].own)
            source_close(p->sides[side].own);
    if (p->order) {
        pthread_cond_destroy(&p->order->changed);
        mutex_destroy(&p->order->mutex);
    }
    free(p->order);
    free(p->turn);
    free(p->difference);
}

void diff_close(struct diff *d)
{
    for (size_t i = 0; i < d->pair_count; i++)
        close_pair(&d->pairs[i]);
    for (int side = 0; side < DIFF_SIDES; side++) {
        for (int i = 0; i < d->file_counts[side]; i++)
            source_close(d->files[side][i]);
        free(d->files[side]);
    }
    for (size_t i = 0; i < d->item_count; i++)
        for (int side = 0; side < DIFF_SIDES; side++)
            free(d->items[i].sides[side].missing);
    for (size_t i = 0; i < d->error_count; i++)
        free(d->errors[i].name);
    free(d->errors);
    mutex_destroy(&d->mutex);
    free(d->unseen.list);
    free(d->begins);
    free(d->lone);
    free(d->pairs);
    free(d->items);
    free(d);
}

/*
 * Running.
 */

static void run_task(void *diff, unsigned number)
{
    const struct diff *d = diff;
    struct diff_worker *w = &d->workers[number];

    if (begin_worker(w) && d->work(w))
        (void)hand_in(w);
    leave(w, SIZE_MAX);
}

static uint64_t bytes_read(const struct diff *d)
{
    uint64_t bytes = 0;

    for (int side = 0; side < DIFF_SIDES; side++)
        for (int i = 0; i < d->file_counts[side]; i++)
            bytes += source_stats(d->files[side][i]).input_read;
    for (size_t i = 0; i < d->pair_count; i++)
        for (int side = 0; side < DIFF_SIDES; side++)
            if (d->pairs[i].sides[side].own)
                bytes += source_stats(d->pairs[i].sides[side].own).input_read;
    return bytes;
}

/* Bytes of all inputs; SOURCE_UNKNOWN where one is a pipe. */
static uint64_t bytes_in_all(const struct diff *d)
{
    uint64_t bytes = 0;

    for (int side = 0; side < DIFF_SIDES; side++) {
        for (int i = 0; i < d->file_counts[side]; i++) {
            if (file_info(d, side, i)->input_bytes == SOURCE_UNKNOWN)
                return SOURCE_UNKNOWN;
            bytes += file_info(d, side, i)->input_bytes;
        }
    }
    return bytes;
}

/* Ends the waiting of workers for what pipes bring. */
static void cancel(const struct diff *d)
{
    for (int side = 0; side < DIFF_SIDES; side++)
        for (int i = 0; i < d->file_counts[side]; i++)
            source_cancel(d->files[side][i]);
}

/* Has `count` workers do their work. One does it here if it is little, and without threads. */
static void run_workers(struct diff *d, unsigned count, bool (*work)(struct diff_worker *w))
{
    const struct progress_observer *progress = d->request->options->progress;
    const struct team_job job = {.work = run_task, .context = d};

    d->work = work;
    if ((count == 1 && bytes_in_all(d) <= 2 * BYTES_OF_WORKER) ||
        team_start(d->team, 0, count, &job) == 0) {
        run_task(d, 0);
        return;
    }
    while (!team_wait(d->team, progress ? PROGRESS_TICK : 0)) {
        if (progress && progress->update(progress->context, bytes_read(d))) {
            (void)give_up(d);
            cancel(d);
        }
        if (atomic_load(&d->decided))
            cancel(d);
    }
}

/* Gathers what has been passed without a look, as far as it is wanted now. False without memory. */
static bool gather_unseen(struct diff *d)
{
    for (unsigned i = 0; i < d->worker_count; i++) {
        const struct diff_ranges *ranges = &d->workers[i].unseen;

        for (size_t k = 0; k < ranges->count; k++) {
            const struct diff_pair *p = &d->pairs[ranges->list[k].pair];

            if (p->difference && !add_range(&d->unseen, &ranges->list[k]))
                return note_no_memory(d);
        }
    }
    return true;
}

/* Sees whether a NaN is an error. */
static void check_nan(struct diff *d, const struct diff_pair *p, const struct difference *found)
{
    char place[ARRAY_PLACE_MAX];
    struct array_shape shape;

    if (d->request->options->nan != NAN_ERROR || found->nan_one + found->nan_both == 0)
        return;
    diff_place_shape(p->item, &shape);
    item_error(d, p->item,
               error_of(ERROR_NAN, "element %s is a NaN in at least one of them%s",
                        array_show_place(place, &shape, found->first_nan),
                        d->request->cast ? ", or is cast to one" : ""));
}

/* Adds why arrays of a pair could not be read. */
static void add_damages(struct diff *d, const struct diff_pair *p)
{
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct source *own = p->sides[side].own;
        const struct error *damage =
            p->sides[side].at_hand ? source_damage(p->sides[side].source, p->sides[side].array)
                                   : NULL;

        if (damage)
            side_error(d, p->item, side, *damage);
        else if (own && source_why(own)->kind != ERROR_NONE)
            fail_item(d, p->item, source_info(own)->name,
                      p->item->sides[side].array ? p->item->sides[side].array->name : NULL,
                      *source_why(own));
    }
}

/* Sets what has come of a pair. */
UNCHECKED static void finish_pair(struct diff *d, struct diff_pair *p)
{
    struct diff_item *item = p->item;
    struct difference none;
    const struct difference *found = p->difference;

    if (atomic_load(&p->failed)) {
        item->kind = DIFF_FAILED;
        add_damages(d, p);
        return;
    }
    for (int side = 0; p->order && side < DIFF_SIDES; side++)
        if (!p->sides[side].at_hand)
            item->sides[side].elements = p->order->got[side];
    if (!found) {
        difference_clear(&none);
        found = &none;
    }
    if (item->sides[DIFF_A].elements != item->sides[DIFF_B].elements && !atomic_load(&d->stop)) {
        item->kind = item->kind == DIFF_SAME ? DIFF_SHAPE : item->kind;
        return;
    }
    check_nan(d, p, found);
    if (item->kind == DIFF_FAILED)
        return;
    item->compared = true;
    difference_finish(found, &p->setup.terms, item->sides[DIFF_A].elements, &item->result);
    if (item->kind == DIFF_SAME && found->different > 0)
        item->kind = item->sides[DIFF_A].is_bytes ? DIFF_BYTES : DIFF_VALUES;
}

/* Sees whether all inputs were as they should be. */
static bool finish_sources(struct diff *d)
{
    bool good = true;

    for (int side = 0; side < DIFF_SIDES; side++)
        for (int i = 0; i < d->file_counts[side]; i++)
            good = source_finish(d->files[side][i]) == SOURCE_COMPLETE && good;
    for (size_t i = 0; i < d->pair_count; i++)
        for (int side = 0; side < DIFF_SIDES; side++)
            if (d->pairs[i].sides[side].own &&
                source_finish(d->pairs[i].sides[side].own) != SOURCE_COMPLETE)
                atomic_store(&d->pairs[i].failed, true);
    return good;
}

/* How many workers the pairs can keep busy: one for each BYTES_OF_WORKER of what they share. A side
   that is read in order is shared if workers can help with it; otherwise it is read by one of them.
   Comparing a pair in order takes one more. */
static unsigned workers_for(const struct diff *d)
{
    uint64_t bytes = 2 * (d->begins[d->pair_count - d->ordered] + d->other_bytes), count;

    for (size_t i = 0; i < d->ordered; i++) {
        bytes += BYTES_OF_WORKER;
        for (int side = 0; side < DIFF_SIDES; side++) {
            const struct source_info *info = source_info(d->pairs[i].sides[side].source);
            const uint64_t shared = info->helped ? info->input_bytes : 0;

            bytes += shared > BYTES_OF_WORKER ? shared : BYTES_OF_WORKER;
        }
    }
    count = bytes / BYTES_OF_WORKER;
    count = count > 0 ? count : 1;
    return count < d->worker_count ? (unsigned)count : d->worker_count;
}

/* Whether it is known without reading that something differs, and that suffices. */
static bool is_decided(const struct diff *d)
{
    for (size_t i = 0; d->request->verdict_only && i < d->item_count; i++)
        if (d->items[i].kind != DIFF_SAME && d->items[i].kind != DIFF_FAILED)
            return true;
    return false;
}

static bool compare_pairs(struct diff *d)
{
    const struct progress_observer *progress = d->request->options->progress;

    if (progress)
        progress->begin(progress->context, file_info(d, DIFF_A, 0)->name, bytes_in_all(d));
    if (!has_comparer(d) || has_found(d))
        run_workers(d, workers_for(d), work_first);
    if (!atomic_load(&d->stop) && !d->request->verdict_only) {
        if (has_comparer(d) && (d->always_look || atomic_load(&d->pairs[0].differs)))
            (void)add_equal(d);
        if (!gather_unseen(d))
            atomic_store(&d->failed, true);
        else if (d->unseen.count > 0)
            run_workers(d, workers_for(d), work_again);
    }
    if (!atomic_load(&d->stop) && list_lone(d)) {
        run_workers(d, d->worker_count, work_digest);
        if (!atomic_load(&d->stop))
            join_renamed(d);
    }
    if (progress)
        progress->end(progress->context);
    return !atomic_load(&d->failed) && (d->request->verdict_only || finish_sources(d));
}

/* Warns of arrays that cannot be read, and do not differ. */
static void warn_unread(const struct diff *d)
{
    const struct diff_item *same = NULL, *skipped = NULL;
    size_t same_count = 0, skipped_count = 0;

    for (size_t i = 0; i < d->item_count; i++) {
        const struct diff_item *item = &d->items[i];

        if (item->kind != DIFF_SAME || !item->sides[DIFF_A].is_bytes)
            continue;
        if (!item->compared) {
            skipped = skipped ? skipped : item;
            skipped_count++;
        } else if (!item->sides[DIFF_A].array->not_numeric) {
            same = same ? same : item;
            same_count++;
        }
    }
    if (same)
        item_warning(d, same, same_count, "both hold the same bytes, but they cannot be read");
    if (skipped)
        item_warning(d, skipped, skipped_count, "not compared");
}

/* Compares what is open and arranged. */
static bool run(struct diff *d)
{
    bool good = true;

    if (is_decided(d)) {
        d->ended_at = clock_now();
        return true;
    }
    d->workers = calloc(d->worker_count, sizeof *d->workers);
    d->team = team_choose(&d->own_team, d->request->options->team, d->worker_count);
    if (!d->workers || !d->team) {
        team_close(&d->own_team);
        free(d->workers);
        return note_no_memory(d);
    }
    for (unsigned i = 0; i < d->worker_count; i++) {
        d->workers[i].diff = d;
        d->workers[i].number = i;
    }
    good = compare_pairs(d);
    team_close(&d->own_team);
    for (unsigned i = 0; i < d->worker_count; i++) {
        struct diff_worker *w = &d->workers[i];

        if (w->compare)
            cpu_compare_close(w->compare);
        free(w->buffers[DIFF_A]);
        free(w->buffers[DIFF_B]);
        free(w->tile);
        free(w->unseen.list);
    }
    free(d->workers);
    for (size_t i = 0; good && !atomic_load(&d->decided) && i < d->pair_count; i++)
        finish_pair(d, &d->pairs[i]);
    if (!d->request->verdict_only)
        warn_unread(d);
    d->ended_at = clock_now();
    return good;
}

/* Adds the error of a source, of an array unless that is NULL, if it has failed. */
static void collect(struct diff *d, const struct source *source,
                    const struct container_array *array)
{
    const struct error *why = source_why(source);

    if (why->kind != ERROR_NONE)
        add_error(d, source_info(source)->name, array ? array->name : NULL, *why);
}

bool diff_run(struct diff *d)
{
    const bool good = open_sides(d) && match(d) && open_owns(d) && arrange(d) && run(d);

    for (int side = 0; side < DIFF_SIDES; side++) {
        for (int i = 0; i < d->file_counts[side]; i++)
            collect(d, d->files[side][i], NULL);
        for (size_t i = 0; i < d->pair_count; i++)
            if (d->pairs[i].sides[side].own)
                collect(d, d->pairs[i].sides[side].own, d->pairs[i].item->sides[side].array);
    }
    return good;
}

const struct error *diff_error(const struct diff *d, size_t number, const char **name,
                               const char **array)
{
    static const struct error no_memory = {.kind = ERROR_MEMORY, .text = "out of memory"};

    *name = number < d->error_count ? d->errors[number].name : "";
    *array = number < d->error_count ? d->errors[number].array : NULL;
    if (number < d->error_count)
        return &d->errors[number].error;
    return number == d->error_count && atomic_load(&d->no_memory) ? &no_memory : NULL;
}

/*
 * The outcome.
 */

size_t diff_count(const struct diff *d)
{
    return d->item_count;
}

const struct diff_item *diff_get(const struct diff *d, size_t k)
{
    return &d->items[k];
}

const char *diff_unmatched(const struct diff *d, unsigned *next)
{
    const struct difference_tolerances *t = d->request->tolerances;

    while (*next < t->count) {
        const unsigned number = (*next)++;
        size_t k = 0;

        while (k < d->item_count && !diff_tolerance_matches(d->request, number, &d->items[k]))
            k++;
        if (k == d->item_count)
            return t->some[number].pattern;
    }
    return NULL;
}

struct diff_summary diff_summary(const struct diff *d)
{
    struct diff_summary s = {.seconds =
                                 (double)clock_between(d->begun_at, d->ended_at) / CLOCK_SECOND};

    for (size_t i = 0; i < d->item_count; i++) {
        const struct diff_item *item = &d->items[i];

        s.failed = s.failed || item->kind == DIFF_FAILED;
        s.different += item->kind != DIFF_SAME && item->kind != DIFF_FAILED;
        if (item->compared) {
            const uint64_t elements = diff_elements(item, DIFF_A);

            s.elements += elements == SOURCE_UNKNOWN ? 0 : elements; /* of an unknown type */
            if (item->sides[DIFF_A].elements == SOURCE_UNKNOWN) /* of bytes in several places */
                continue;
            s.bytes += item->sides[DIFF_A].elements * (element_size(item->sides[DIFF_A].type) +
                                                       element_size(item->sides[DIFF_B].type));
        }
    }
    s.differs = s.different > 0 || atomic_load(&d->decided);
    return s;
}
