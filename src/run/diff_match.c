#include "config.h"

#include "run/diff_match.h"

#include <stdlib.h>
#include <string.h>

#include "source/inputs.h"

/* Room for what name_item writes. */
#define DIFF_ITEM_NAME_MAX (2 * SOURCE_NAME_MAX + CONTAINER_NAME_SHOWN + 64)

/* An array of a side, by name. */
struct named {
    const char *name; /* NULL: the file is one array */
    int file;
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
    char shown[CONTAINER_NAME_SHOWN];
    size_t count = 0;

    for (int i = 0; i < d->file_counts[side]; i++)
        count += inputs_arrays(diff_file_info(d, side, i));
    names->list = malloc((count + 1) * sizeof *names->list);
    names->count = 0;
    if (!names->list)
        return diff_no_memory(d);
    for (int i = 0; i < d->file_counts[side]; i++) {
        const struct source_info *info = diff_file_info(d, side, i);

        if (!info->container)
            names->list[names->count++] = (struct named){NULL, i, 0, false};
        for (size_t k = 0; info->container && k < info->pick_count; k++) {
            const struct container_array *a = info->picks[k].array;

            if (a->missing) {
                struct error error = {.kind = ERROR_NONE};

                (void)error_set(&error, ERROR_DATA, "array %s: %s",
                                container_show_name(shown, a->name), a->unreadable);
                diff_add_error(d, info->name, &error);
            } else {
                names->list[names->count++] = (struct named){a->name, i, k, false};
            }
        }
    }
    return true;
}

static int compare_names(const void *a, const void *b)
{
    const struct named *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* The names of a set in order, to be freed. NULL without memory, or where a name occurs twice. */
static struct named **sort_names(struct diff *d, int side, const struct names *names)
{
    struct named **sorted = malloc((names->count + 1) * sizeof *sorted);
    char shown[CONTAINER_NAME_SHOWN];

    if (!sorted) {
        (void)diff_no_memory(d);
        return NULL;
    }
    for (size_t i = 0; i < names->count; i++)
        sorted[i] = &names->list[i];
    if (names->count > 0)
        qsort(sorted, names->count, sizeof *sorted, compare_names);
    for (size_t i = 1; i < names->count; i++) {
        if (compare_names(&sorted[i - 1], &sorted[i]) != 0)
            continue;
        source_error(d->files[side][sorted[i]->file], ERROR_REQUEST,
                     "array %s is in another file, too: %s",
                     container_show_name(shown, sorted[i]->name),
                     diff_file_info(d, side, sorted[i - 1]->file)->name);
        free(sorted);
        return NULL;
    }
    return sorted;
}

/* Sets what a side has of an item. */
static void set_side(const struct diff *d, struct diff_item *item, int side,
                     const struct named *named)
{
    const struct source_info *info = diff_file_info(d, side, named->file);

    item->sides[side].info = info;
    item->sides[side].elements = info->elements;
    if (info->container) {
        item->sides[side].array = info->picks[named->array].array;
        item->sides[side].elements = info->picks[named->array].elements;
    } else if (!source_is_at_hand(d->files[side][named->file], 0) && !info->shape.known) {
        item->sides[side].elements = SOURCE_UNKNOWN; /* it says at most how many are asked for */
    }
    if (!item->name)
        item->name = named->name;
}

/* Whether a shape has more than one dimension that counts, so that an order of these does. */
static bool has_order(const struct source_shape *shape)
{
    unsigned count = 0;

    for (unsigned i = 0; i < shape->dimensions; i++)
        count += shape->sizes[i] > 1;
    return count > 1;
}

/* The source of the file that a side of an item is in. */
static struct source *file_of(const struct diff *d, const struct diff_item *item, int side)
{
    int i = 0;

    while (diff_file_info(d, side, i) != item->sides[side].info)
        i++;
    return d->files[side][i];
}

/* Compares the stored bytes of arrays in chunks that cannot be read. Returns whether they are the
   same. */
static bool compare_pieces(const struct diff *d, struct diff_item *item)
{
    const struct container_array *a = item->sides[DIFF_A].array, *b = item->sides[DIFF_B].array;
    bool same = false;

    if (!a->pieces || !b->pieces ||
        !source_same_pieces(file_of(d, item, DIFF_A), a, file_of(d, item, DIFF_B), b, &same))
        return false;
    item->compared = same;
    return same;
}

/* Compares what headers say of a pair. Returns whether its values are to be compared. */
static bool compare_headers(struct diff *d, struct diff_item *item)
{
    const uint64_t a_elements = item->sides[DIFF_A].elements;
    const uint64_t b_elements = item->sides[DIFF_B].elements;
    struct source_shape a, b;
    struct error error = {.kind = ERROR_NONE};

    item->kind = DIFF_SAME;
    if (strcmp(diff_type(item, DIFF_A), diff_type(item, DIFF_B)) != 0 ||
        diff_is_bytes(item, DIFF_A) != diff_is_bytes(item, DIFF_B)) {
        item->kind = DIFF_TYPE;
        return false;
    }
    if (diff_is_bytes(item, DIFF_A) &&
        (a_elements == SOURCE_UNKNOWN || b_elements == SOURCE_UNKNOWN)) {
        if (compare_pieces(d, item))
            return false;
        if (!item->sides[DIFF_A].array->not_numeric) {
            error = container_why(item->sides[DIFF_A].array);
            diff_item_error(d, item, &error);
        }
        return false;
    }
    diff_shape(item, DIFF_A, &a);
    diff_shape(item, DIFF_B, &b);
    if (a.known && b.known && !diff_same_shape(&a, &b)) {
        item->kind = DIFF_SHAPE;
    } else if (a.known && b.known && a.fortran_order != b.fortran_order && has_order(&a)) {
        (void)error_set(&error, ERROR_REQUEST,
                        "one is in Fortran order, the other in C order; these cannot be compared");
        diff_item_error(d, item, &error);
        return false;
    }
    if (a_elements != SOURCE_UNKNOWN && b_elements != SOURCE_UNKNOWN && a_elements != b_elements) {
        item->kind = DIFF_SHAPE;
        return false;
    }
    for (int side = 0; side < DIFF_SIDES; side++) {
        const struct container_array *array = item->sides[side].array;

        if (array && !source_fits_consecutive(array, DIFF_SIDES * d->worker_count)) {
            (void)error_set(&error, ERROR_REQUEST,
                            "reading its chunks in order needs too much memory");
            diff_item_error(d, item, &error);
            return false;
        }
    }
    return !(d->request->verdict_only && item->kind == DIFF_SHAPE);
}

/* Sets up a pair that is to be compared. */
static void set_pair(struct diff *d, const struct named *a, const struct named *b,
                     struct diff_pair *pair, struct diff_item *item)
{
    const struct named *named[DIFF_SIDES] = {a, b};

    pair->item = item;
    for (int side = 0; side < DIFF_SIDES; side++) {
        struct source *source = d->files[side][named[side]->file];

        pair->sides[side].source = source;
        pair->sides[side].array = named[side]->array;
        pair->sides[side].at_hand = source_is_at_hand(source, named[side]->array);
    }
    pair->setup.terms = (struct difference_terms){
        .type = diff_element(item, DIFF_A, &pair->setup.swap_a),
        .skip_nan = d->request->options->nan == NAN_SKIP,
        .tolerance = d->request->tolerance,
    };
    (void)diff_element(item, DIFF_B, &pair->setup.swap_b);
    if (diff_is_bytes(item, DIFF_A))
        pair->setup.terms.tolerance = (struct difference_tolerance){false, false, false, 0, 0, 0};
    pair->setup.verdict_only = d->request->verdict_only;
    pair->size = element_size(pair->setup.terms.type);
}

/* Adds the item of an array of side A, or the pair of both. */
static void add(struct diff *d, const struct named *a, struct named *b)
{
    struct diff_item *item = &d->items[d->item_count++];

    if (a)
        set_side(d, item, DIFF_A, a);
    if (b)
        set_side(d, item, DIFF_B, b);
    if (!a || !b) {
        item->kind = a ? DIFF_ONLY_A : DIFF_ONLY_B;
        return;
    }
    b->matched = true;
    if (compare_headers(d, item))
        set_pair(d, a, b, &d->pairs[d->pair_count++], item);
}

/* Matches two sets. False on failure. */
static bool match_names(struct diff *d, const struct names *a, const struct names *b)
{
    struct named **a_sorted = sort_names(d, DIFF_A, a);
    struct named **b_sorted = a_sorted ? sort_names(d, DIFF_B, b) : NULL;

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
    return d->file_counts[side] == 1 && !diff_file_info(d, side, 0)->container;
}

bool diff_match(struct diff *d)
{
    struct names names[DIFF_SIDES] = {{NULL, 0}, {NULL, 0}};
    bool good = list_names(d, DIFF_A, &names[DIFF_A]) && list_names(d, DIFF_B, &names[DIFF_B]);

    if (good) {
        const size_t most = names[DIFF_A].count + names[DIFF_B].count + 1;

        d->items = calloc(most, sizeof *d->items);
        d->pairs = calloc(most, sizeof *d->pairs);
        good = (d->items && d->pairs) || diff_no_memory(d);
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
    free(names[DIFF_A].list);
    free(names[DIFF_B].list);
    return good;
}

/* Writes which item it is, and how many more, for messages. */
static void name_item(char name[DIFF_ITEM_NAME_MAX], const struct diff *d,
                      const struct diff_item *item, size_t more)
{
    char a[SOURCE_NAME_MAX], b[SOURCE_NAME_MAX], shown[CONTAINER_NAME_SHOWN];
    int used;

    (void)source_name(a, d->request->sides[DIFF_A].name);
    (void)source_name(b, d->request->sides[DIFF_B].name);
    used = sprintf(name, "%s and %s", a, b);
    if (item->name)
        used += sprintf(name + used, ": array %s", container_show_name(shown, item->name));
    if (more > 0)
        sprintf(name + used, " and %zu more", more);
}

void diff_add_error(struct diff *d, const char *name, const struct error *error)
{
    struct diff_error *added;

    if (d->error_count == d->error_room) {
        const size_t room = 2 * d->error_room + 4;
        struct diff_error *list = realloc(d->errors, room * sizeof *list);

        if (!list) {
            (void)diff_no_memory(d);
            return;
        }
        d->errors = list;
        d->error_room = room;
    }
    added = &d->errors[d->error_count];
    added->name = strdup(name);
    added->error = *error;
    if (added->name)
        d->error_count++;
    else
        (void)diff_no_memory(d);
}

void diff_item_error(struct diff *d, struct diff_item *item, const struct error *error)
{
    char name[DIFF_ITEM_NAME_MAX];

    item->kind = DIFF_FAILED;
    name_item(name, d, item, 0);
    diff_add_error(d, name, error);
}

void diff_item_warning(const struct diff *d, const struct diff_item *item, size_t count,
                       const char *text)
{
    const struct error why = container_why(item->sides[DIFF_A].array);
    char name[DIFF_ITEM_NAME_MAX];

    name_item(name, d, item, count - 1);
    log_warn(d->request->options->input.log, name, &why.advice, "%s: %s", text, why.text);
}
