#include "config.h"

#include "source/container/container.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/message.h"

bool container_wrong(struct container_input *in, uint64_t offset, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(in->error, sizeof in->error, format, arguments);
    va_end(arguments);
    in->error_offset = offset;
    return false;
}

bool container_no_memory(struct container_input *in)
{
    return container_wrong(in, 0, "out of memory");
}

struct container_array *container_add(struct container *c, const char *name)
{
    struct container_array *a;

    if (c->count == c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 64;

        a = realloc(c->arrays, capacity * sizeof *a);
        if (!a)
            return NULL;
        c->arrays = a;
        c->capacity = capacity;
    }
    a = &c->arrays[c->count++];
    *a = (struct container_array){.name = name};
    return a;
}

void container_name_type(struct container_array *a, const char *name)
{
    snprintf(a->type_name, sizeof a->type_name, "%s", name);
}

const char *container_show_name(char shown[CONTAINER_NAME_SHOWN], const char *name)
{
    char quoted[MESSAGE_QUOTE_MAX];
    const char *text = message_quote(quoted, name);
    size_t length = strlen(text), most = CONTAINER_NAME_SHOWN - 4;

    if (length < CONTAINER_NAME_SHOWN) {
        memcpy(shown, text, length + 1);
        return shown;
    }
    while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80) /* within a character */
        most--;
    memcpy(shown, text, most);
    memcpy(shown + most, "...", 4);
    return shown;
}

bool container_product(const struct container_array *a, uint64_t *product)
{
    *product = 1;
    for (unsigned i = 0; i < a->dimensions; i++)
        if (__builtin_mul_overflow(*product, a->sizes[i], product))
            return false;
    return true;
}

static int compare_names(const void *a, const void *b)
{
    const struct container_array *x = *(const struct container_array *const *)a;
    const struct container_array *y = *(const struct container_array *const *)b;
    int order = strcmp(x->name, y->name);

    return order ? order : x < y ? -1 : x > y;
}

/* Sees to it that names tell the arrays apart. */
static bool names_differ(const struct container *c, struct container_input *in)
{
    const struct container_array **sorted = malloc((c->count + 1) * sizeof *sorted);
    char shown[CONTAINER_NAME_SHOWN];
    bool good = true;

    if (!sorted)
        return container_no_memory(in);
    for (size_t i = 0; i < c->count; i++)
        sorted[i] = &c->arrays[i];
    qsort(sorted, c->count, sizeof(const struct container_array *), compare_names);
    for (size_t i = 1; i < c->count && good; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            good = container_wrong(in, c->text_offset + (uint64_t)(sorted[i]->name - c->text),
                                   "two arrays are called %s",
                                   container_show_name(shown, sorted[i]->name));
    free(sorted);
    return good;
}

struct container *container_open(const struct container_format *format, struct container_input *in)
{
    struct container *c = calloc(1, sizeof *c);

    in->error[0] = '\0';
    in->error_offset = 0;
    if (!c) {
        (void)container_no_memory(in);
        return NULL;
    }
    c->format = format;
    if (format->read(c, in) && names_differ(c, in))
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
    free(c->sizes);
    free(c->tiles);
    free(c);
}

int container_compare_offsets(const void *a, const void *b)
{
    const struct container_array *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}
