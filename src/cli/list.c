#include "config.h"

#include "cli/commands.h"

#include "cli/failure.h"
#include "cli/report.h"
#include "cli/rows.h"
#include "source/facts.h"
#include "source/inputs.h"
#include "sys/group.h"

/* An array as it is listed, or a file that cannot be. */
struct item {
    const char *name;   /* NULL where the input is one array */
    const char *format; /* NULL of a file of which nothing is known but the error */
    bool readable;
    struct array_facts facts;
    enum element_type missing_type; /* that of `missing` */
    struct missing missing;
    struct scale scale;
    char error[FAILURE_TEXT_MAX]; /* why it cannot be read, where it holds numbers; may be empty */
};

/* The list as it is printed. */
struct list {
    const struct options *options;
    struct buffer out;
    struct writer writer;
    struct rows rows; /* those that are to be sorted */
};

#define J IN_OBJECT

/* Adds the columns of what stored numbers mean. */
static void write_meaning(struct writer *w, const struct item *item)
{
    struct buffer missing = {0}, scale = {0};

    if (item->missing.count > 0)
        meaning_show_missing(&missing, &item->missing, item->missing_type);
    if (item->scale.given)
        meaning_show_scale(&scale, &item->scale);
    buffer_char(&missing, '\0');
    buffer_char(&scale, '\0');
    w->out->failed = w->out->failed || missing.failed || scale.failed;
    WRITER_FIELDS(w,
                  missing.size > 1 ? field_text(IN_ARRAY, "missing", missing.data)
                                   : field_of(IN_ARRAY, "missing", FIELD_MISSING),
                  scale.size > 1 ? field_text(IN_ARRAY, "scale", scale.data)
                                 : field_of(IN_ARRAY, "scale", FIELD_MISSING),
                  field_count(IN_ARRAY, "missing_chunks", item->facts.missing_chunks));
    buffer_free(&missing);
    buffer_free(&scale);
}

static void write_item(struct writer *w, const char *path, const struct item *item)
{
    const struct array_facts *facts = &item->facts;
    const struct array_shape *shape = &facts->shape;

    if (!item->format) {
        WRITER_ROW(w, field_file(J, path), field_text(J, "error", item->error));
        return;
    }
    writer_begin(w);
    WRITER_FIELDS(w, field_file(IN_CELLS | J, path), field_text(IN_CELLS | J, "array", item->name),
                  field_text(J, "format", item->format),
                  facts->type ? field_text(IN_CELLS | J, "dtype", facts->type)
                              : field_of(IN_CELLS | J, "dtype", FIELD_MISSING),
                  field_truth(J, "readable", item->readable),
                  field_text(J, "endian",
                             facts->order_open   ? NULL
                             : facts->big_endian ? "big"
                                                 : "little"),
                  shape->known
                      ? field_list(IN_CELLS, "shape", shape->sizes, shape->dimensions)
                      : field_list(IN_CELLS, "shape",
                                   facts->elements == SOURCE_UNKNOWN ? NULL : &facts->elements, 1));
    report_shape(w, shape);
    meaning_add_missing(w, "missing_values", &item->missing, item->missing_type);
    meaning_add_scale(w, &item->scale);
    if (facts->chunks != SOURCE_UNKNOWN)
        WRITER_FIELDS(w, field_count(J, "chunks", facts->chunks),
                      field_count(J, "missing_chunks", facts->missing_chunks));
    WRITER_FIELDS(w, field_count(J, "skip", facts->skip),
                  field_count(IN_CELLS | J, "elements", facts->elements),
                  field_count(IN_CELLS | J, "bytes", facts->bytes),
                  field_count(IN_CELLS, "offset", facts->offset),
                  field_text(item->error[0] ? J : 0, "error", item->error));
    if (w->shows & IN_ARRAY)
        write_meaning(w, item);
    writer_end(w);
}

/* Prints an item if it is to be printed, or keeps it to be sorted. */
static void list_item(struct list *list, const char *path, const struct item *item)
{
    const struct rows_request *request = &list->options->rows;
    const struct row row = {.path = path,
                            .name = item->name,
                            .dtype = item->facts.type,
                            .elements = item->facts.elements,
                            .bytes = item->facts.bytes};
    const bool sorted = request->sort.field != ROW_UNASKED;
    const size_t before = list->out.size;

    if (item->format && !rows_hold(request, &row))
        return;
    list->writer.print = sorted ? NULL : writer_flush;
    write_item(&list->writer, path, item);
    if (sorted)
        rows_take(&list->rows, request, &row, &list->out, before);
}

/* Finds the missing values of an array, or, with `a` NULL, of an input that is one. A type that lacks
   one that the user names is no error here. */
static void find_missing(const struct list *list, struct item *item, enum element_type type,
                         const struct container_array *a)
{
    item->missing_type = type;
    (void)container_find_missing(a, type, &list->options->session.missing, &item->missing);
}

/* An array of a container. */
static void list_array(struct list *list, const struct inputs *inputs)
{
    const struct container_array *a = inputs->array;
    struct error why;
    struct item item;

    item.name = a->name;
    item.format = inputs->info->format;
    item.readable = !a->unreadable;
    item.error[0] = '\0';
    item.scale = container_scale(a);
    item.missing.count = 0;
    array_facts_find(&item.facts, inputs->info, a, inputs->pick->of);
    if (!a->unreadable)
        find_missing(list, &item, a->type, a);
    if (a->unreadable)
        why = container_why(a);
    if (a->unreadable && !a->not_numeric)
        (void)failure_text(item.error, &why, inputs->path);
    if (a->missing)
        failure_print(inputs->path, a->name, &why);
    list_item(list, inputs->path, &item);
}

/* A file that is one array. */
static void list_one(struct list *list, const char *path, const struct source_info *info)
{
    struct item item = {.format = info->format, .readable = true};

    array_facts_find(&item.facts, info, NULL, 0);
    find_missing(list, &item, info->type, NULL);
    list_item(list, path, &item);
}

/* A file that cannot be opened, or is damaged. In JSON an object stands for it. */
static void list_failed(struct list *list, const char *path, const struct error *error)
{
    struct item item = {.format = NULL};

    failure_print(path, NULL, error);
    if (list->options->output != OUTPUT_JSON)
        return;
    (void)failure_text(item.error, error, path);
    list_item(list, path, &item);
}

void list_files(struct options *options)
{
    const bool json = options->output == OUTPUT_JSON;
    const bool aligned = options->output == OUTPUT_TEXT && writer_is_aligned(options->ranks);
    struct source_options input = options->session.input;
    struct inputs inputs = {
        .paths = options->files, .count = options->file_count, .options = &input, .workers = 1};
    const struct item blank = {.facts.type = "", .format = ""};
    struct list list = {.options = options,
                        .writer = {.form = json      ? WRITER_JSON
                                           : aligned ? WRITER_TABLE
                                                     : WRITER_TSV,
                                   .shows = json               ? IN_OBJECT
                                            : options->verbose ? IN_CELLS | IN_ARRAY
                                                               : IN_CELLS,
                                   .left = 4,
                                   .print = writer_flush,
                                   .columns = options->verbose ? 10 : 7}};

    list.writer.out = &list.out;
    if (!writer_open(&list.writer))
        return;
    input.threads = options->session.threads ? options->session.threads : cores_available();
    input.headers_only = true;
    input.arrays_in_order = true;
    input.plausibility = false;
    if (!json && !options->quiet) {
        list.writer.heading = true;
        write_item(&list.writer, "", &blank);
        list.writer.heading = false;
    }
    while (inputs_next(&inputs)) {
        if (!inputs.source)
            list_failed(&list, inputs.path, &inputs.error);
        else if (inputs.array)
            list_array(&list, &inputs);
        else
            list_one(&list, inputs.path, inputs.info);
    }
    rows_put(&list.rows, &list.out);
    writer_flush(&list.writer);
    writer_close(&list.writer);
    buffer_free(&list.out);
    report_end(options);
}
