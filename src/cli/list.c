#include "config.h"

#include "cli/list.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/columns.h"
#include "cli/report.h"
#include "cli/report_parts.h"
#include "cli/rows.h"
#include "source/inputs.h"
#include "sys/json.h"
#include "sys/message.h"

/* An array as it is listed. */
struct item {
    const char *name; /* NULL where the input is one array */
    const char *type; /* as the container spells it, where it is not read */
    const char *format;
    bool readable, big_endian;
    struct source_shape shape;
    uint64_t elements, bytes, offset; /* SOURCE_UNKNOWN: not known; of the offset: none */
    char error[CONTAINER_WHY_MAX]; /* why it cannot be read, where it holds numbers; may be empty */
};

/* Bytes of an item without the room that its error does not need. */
static size_t item_size(const struct item *item)
{
    return offsetof(struct item, error) + strlen(item->error) + 1;
}

static void print_member(const char *key, uint64_t value)
{
    if (value == SOURCE_UNKNOWN)
        printf(", \"%s\": null", key);
    else
        printf(", \"%s\": %" PRIu64, key, value);
}

static void print_json(const char *path, const struct item *item)
{
    fputs("{\"file\": ", stdout);
    json_string(stdout, path);
    fputs(", \"array\": ", stdout);
    if (item->name)
        json_string(stdout, item->name);
    else
        fputs("null", stdout);
    printf(", \"format\": \"%s\", \"dtype\": ", item->format);
    json_string(stdout, item->type);
    printf(", \"readable\": %s, \"endian\": \"%s\"", item->readable ? "true" : "false",
           item->big_endian ? "big" : "little");
    report_json_shape(stdout, &item->shape);
    print_member("skip", item->offset);
    print_member("elements", item->elements);
    print_member("bytes", item->bytes);
    if (item->error[0]) {
        fputs(", \"error\": ", stdout);
        json_string(stdout, item->error);
    }
    puts("}");
}

/* The columns of a line. */
static const char *const headings[] = {"file",     "array", "dtype", "shape",
                                       "elements", "bytes", "offset"};
#define HEADINGS (sizeof headings / sizeof *headings)

/* The list as it is printed: a table on a terminal; otherwise, that is NULL, lines of TSV. */
struct list {
    const struct options *options;
    struct columns *table;
    struct rows *rows; /* those that are to be sorted */
};

static void print_heading(const struct list *list)
{
    for (size_t i = 0; i < HEADINGS; i++) {
        if (list->table)
            columns_add(list->table, headings[i]);
        else
            printf("%s%c", headings[i], i + 1 < HEADINGS ? '\t' : '\n');
    }
}

static void print_line(const struct list *list, const char *path, const struct item *item)
{
    char shape[REPORT_SHAPE_MAX] = REPORT_MISSING, quoted[MESSAGE_QUOTE_MAX];
    char elements[24] = REPORT_MISSING, bytes[24] = REPORT_MISSING, offset[24] = REPORT_MISSING;
    const char *const rest[] = {item->type, shape, elements, bytes, offset};

    if (item->offset != SOURCE_UNKNOWN)
        (void)number_write(offset, item->offset);
    if (item->bytes != SOURCE_UNKNOWN)
        (void)number_write(bytes, item->bytes);
    if (item->elements != SOURCE_UNKNOWN) {
        (void)number_write(elements, item->elements);
        (void)report_shape(shape, &item->shape, item->elements);
    }
    if (list->table) {
        columns_add(list->table, message_quote(quoted, path));
        columns_add(list->table, item->name ? message_quote(quoted, item->name) : "");
        columns_add(list->table, message_quote(quoted, item->type));
        columns_add(list->table, shape);
        columns_add(list->table, elements);
        columns_add(list->table, bytes);
        columns_add(list->table, offset);
        return;
    }
    report_tsv_name(path);
    putchar('\t');
    report_tsv_field(item->name ? item->name : "");
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) { /* printf takes longer */
        putchar('\t');
        report_tsv_field(rest[i]);
    }
    putchar('\n');
}

static void print_item(const struct list *list, const char *path, const struct item *item)
{
    if (list->options->output == OUTPUT_JSON)
        print_json(path, item);
    else
        print_line(list, path, item);
}

/* Prints an item if it is to be printed, or keeps it to be sorted. */
static void list_item(const struct list *list, const char *path, const struct item *item)
{
    const struct rows_request *request = &list->options->rows;
    const struct row row = {.path = path,
                            .name = item->name,
                            .dtype = item->type,
                            .elements = item->elements,
                            .bytes = item->bytes};

    if (!rows_hold(request, &row))
        return;
    if (request->sort.field == ROW_UNASKED)
        print_item(list, path, item);
    else
        rows_keep(list->rows, &row, item, item_size(item));
}

/* Prints what was kept. */
static void print_kept(const struct list *list)
{
    rows_sort(list->rows, &list->options->rows);
    for (size_t i = 0; i < list->rows->count; i++) {
        const struct row *row = rows_get(list->rows, i);
        const struct item *kept = rows_get_own(list->rows, i);
        struct item item;

        memcpy(&item, kept, item_size(kept));
        item.name = row->name;
        item.type = row->dtype;
        print_item(list, row->path, &item);
    }
    rows_free(list->rows);
}

/* An array of a container. */
static void list_array(const struct list *list, const struct inputs *inputs)
{
    const struct container_array *a = inputs->array;
    char shown[CONTAINER_NAME_SHOWN];
    struct item item;

    item.name = a->name;
    item.type = !a->unreadable    ? element_name(a->type)
                : a->type_name[0] ? a->type_name
                                  : REPORT_MISSING;
    item.format = inputs->info->format;
    item.readable = !a->unreadable;
    item.error[0] = '\0';
    if (a->unreadable && !a->not_numeric)
        (void)container_why(item.error, a);
    item.big_endian = a->big_endian;
    if (a->missing)
        message_error(EXIT_FAILED, "%s: array %s: %s", inputs->info->name,
                      container_show_name(shown, a->name), a->unreadable);
    item.elements = !a->unreadable    ? inputs->pick->of
                    : a->type_name[0] ? a->elements
                                      : SOURCE_UNKNOWN;
    /* At offset 0 there is a header: where a dataset of HDF5 lies that is not reduced, nobody has
       asked. */
    item.bytes = !a->unreadable   ? item.elements * element_size(a->type)
                 : a->offset == 0 ? SOURCE_UNKNOWN
                                  : a->length;
    item.offset = a->tiles || a->offset == 0 ? SOURCE_UNKNOWN : a->offset;
    item.shape.known = item.elements != SOURCE_UNKNOWN;
    item.shape.fortran_order = a->fortran_order;
    item.shape.dimensions = a->dimensions;
    for (unsigned i = 0; i < a->dimensions; i++)
        item.shape.sizes[i] = a->sizes[i];
    list_item(list, inputs->path, &item);
}

/* A file that is one array. */
static void list_one(const struct list *list, const char *path, const struct source_info *info)
{
    struct item item = {.type = element_name(info->type),
                        .format = info->format,
                        .readable = true,
                        .big_endian = info->swap != element_host_is_big(),
                        .shape = info->shape,
                        .elements = info->elements,
                        .bytes = SOURCE_UNKNOWN,
                        .offset = info->data_offset};

    if (item.elements != SOURCE_UNKNOWN)
        item.bytes = item.elements * info->element_size;
    list_item(list, path, &item);
}

void list_files(struct options *options)
{
    const bool text = options->output != OUTPUT_JSON;
    const bool aligned = options->output == OUTPUT_TEXT && isatty(STDOUT_FILENO) && !options->ranks;
    struct source_options input = options->session.input;
    struct columns table = {.count = HEADINGS, .left = 4};
    struct rows rows = {0};
    const struct list list = {options, aligned ? &table : NULL, &rows};
    struct inputs inputs = {
        .paths = options->files, .count = options->file_count, .options = &input, .workers = 1};

    input.headers_only = true;
    input.arrays_in_order = true;
    input.plausibility = false;
    if (text && !options->quiet)
        print_heading(&list);
    while (inputs_next(&inputs)) {
        if (inputs.array)
            list_array(&list, &inputs);
        else
            list_one(&list, inputs.path, inputs.info);
    }
    print_kept(&list);
    if (aligned)
        columns_print(&table);
    report_end(options);
}
