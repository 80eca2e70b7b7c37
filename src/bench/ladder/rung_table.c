#include "config.h"

#include "bench/ladder/rung_table.h"

#include <stdio.h>
#include <string.h>

#include "core/partial.h"

/* The types that the textbook kernels sum, and all types. */
#define TEXTBOOK_TYPES (RUNG_TYPE(ELEMENT_F32) | RUNG_TYPE(ELEMENT_F64))
#define ALL_TYPES (RUNG_TYPE(ELEMENT_FLOATS) - 1)

#define RUNG(function, ...) {.launcher = rung_##function, __VA_ARGS__},
const struct rung rung_table[] = {
#include "bench/ladder/rungs.def"
};
#undef RUNG

const size_t rung_table_count = sizeof rung_table / sizeof *rung_table;

const unsigned rung_table_blocks[RUNG_BLOCKS] = {128, 256, 512, 1024};

const char *rung_table_label(char label[RUNG_LABEL_MAX], const struct rung *rung, unsigned threads)
{
    if (rung->order == ORDER_ROWS)
        snprintf(label, RUNG_LABEL_MAX, "%s-%u", rung->name, threads);
    else
        snprintf(label, RUNG_LABEL_MAX, "%s", rung->name);
    return label;
}

const struct rung *rung_table_find(const char *name)
{
    for (size_t i = 0; i < rung_table_count; i++)
        if (strcmp(name, rung_table[i].name) == 0)
            return &rung_table[i];
    return NULL;
}

bool rung_table_listed(const char *list, const struct rung *rung, unsigned threads)
{
    char label[RUNG_LABEL_MAX];

    rung_table_label(label, rung, threads);
    while (list && *list) {
        size_t length = strcspn(list, ",");

        if ((length == strlen(label) && strncmp(list, label, length) == 0) ||
            (length == strlen(rung->name) && strncmp(list, rung->name, length) == 0))
            return true;
        list += length + (list[length] == ',');
    }
    return list == NULL;
}

const char *rung_table_unknown(const char *list, size_t *length)
{
    for (;; list += *length + 1) {
        char word[RUNG_LABEL_MAX];
        bool known = false;

        *length = strcspn(list, ",");
        snprintf(word, sizeof word, "%.*s",
                 *length < RUNG_LABEL_MAX ? (int)*length : RUNG_LABEL_MAX, list);
        for (size_t i = 0; i < rung_table_count && !known; i++)
            for (size_t j = 0; j < RUNG_BLOCKS && !known; j++)
                known = rung_table_listed(word, &rung_table[i], rung_table_blocks[j]);
        if (!known)
            return list;
        if (!list[*length])
            return NULL;
    }
}

const char *rung_table_unavailable(const struct rung *rung, enum element_type type, uint64_t count)
{
    if (!(rung->types & RUNG_TYPE(type)))
        return "not for this type";
    if (rung->order == ORDER_BINNED && !rung_cub_is_reproducible())
        return "needs CUB 3.1";
    if (rung->order == ORDER_BINNED && count > INT32_MAX)
        return "at most 2^31 - 1 elements";
    return NULL;
}
