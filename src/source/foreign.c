#include "config.h"

#include "source/foreign.h"

#include "source/foreign_bytes.h"
#include "source/foreign_tables.h"

/* Text comes last: several formats begin with some. */
static const struct foreign_table *const tables[] = {
    &foreign_archives, &foreign_data, &foreign_science, &foreign_media, &foreign_texts,
};

static const size_t table_count = sizeof tables / sizeof *tables;

static bool matches(const struct foreign *row, const struct foreign_input *in)
{
    return in->size >= row->least &&
           (!row->magic || begins(in, row->offset, row->magic, row->length)) &&
           (!row->also || row->also(in));
}

const struct foreign *foreign_recognise(const struct foreign_input *in)
{
    for (size_t i = 0; i < table_count; i++)
        for (size_t k = 0; k < tables[i]->count; k++)
            if (matches(&tables[i]->rows[k], in))
                return &tables[i]->rows[k];
    return NULL;
}
