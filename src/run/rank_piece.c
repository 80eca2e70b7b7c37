#include "config.h"

#include "run/rank_piece.h"

#include <stdio.h>
#include <string.h>

void rank_piece_clear(struct rank_piece *p)
{
    memset(p, 0, sizeof *p);
    partial_clear(&p->partial);
}

bool rank_piece_set(struct rank_piece *p, const struct reduction *reduction)
{
    const char *array = reduction->array ? reduction->array : "";

    rank_piece_clear(p);
    if (strlen(array) >= sizeof p->array)
        return false;
    p->known = true;
    p->big_endian = reduction->big_endian;
    p->compressed = reduction->compressed;
    p->unreadable = reduction->type_name;
    if (p->unreadable)
        memcpy(p->type_name, reduction->type_name, strlen(reduction->type_name) + 1);
    p->error = reduction->error.kind;
    p->advice = reduction->error.advice.kind;
    if (p->error != ERROR_NONE)
        snprintf(p->error_text, sizeof p->error_text, "%.*s", (int)sizeof p->error_text - 1,
                 reduction->error.text);
    p->type = reduction->type;
    p->missing = reduction->missing;
    memcpy(p->array, array, strlen(array) + 1);
    snprintf(p->format, sizeof p->format, "%s", reduction->format);
    p->shape = reduction->shape;
    p->scale = reduction->scale;
    p->data_offset = reduction->data_offset;
    p->elements = reduction->elements;
    p->of = reduction->of;
    p->bytes = reduction->bytes;
    p->input_bytes = reduction->input_bytes;
    p->seconds = reduction->seconds;
    p->partial = reduction->partial;
    return true;
}

void rank_piece_merge(struct rank_piece *p, const struct rank_piece *other)
{
    if (!other->known)
        return;
    if (!p->known) {
        *p = *other;
        return;
    }
    if (p->error == ERROR_NONE && other->error != ERROR_NONE) {
        p->error = other->error;
        p->advice = other->advice;
        memcpy(p->error_text, other->error_text, sizeof p->error_text);
    }
    if (p->error == ERROR_NONE &&
        (p->type != other->type || !missing_same(&p->missing, &other->missing) ||
         !scale_same(&p->scale, &other->scale))) {
        p->error = ERROR_CHANGED;
        p->advice = ADVICE_NONE;
        snprintf(p->error_text, sizeof p->error_text,
                 "its type, missing values or scale differ between ranks");
    }
    p->elements += other->elements;
    p->bytes += other->bytes;
    p->input_bytes += other->input_bytes;
    if (other->seconds > p->seconds)
        p->seconds = other->seconds;
    partial_merge(&p->partial, &other->partial);
}

void rank_piece_finish(const struct rank_piece *p, const struct session_options *options,
                       struct reduction *reduction)
{
    memset(reduction, 0, sizeof *reduction);
    reduction->array = p->array[0] ? p->array : NULL;
    reduction->type_name = p->unreadable ? p->type_name : NULL;
    if (p->error != ERROR_NONE) {
        (void)error_set(&reduction->error, p->error, "%s", p->error_text);
        reduction->error.advice.kind = p->advice;
    }
    reduction->partial = p->partial;
    reduction->type = p->type;
    reduction->missing = p->missing;
    reduction->big_endian = p->big_endian;
    reduction->data_offset = p->data_offset;
    reduction->shape = p->shape;
    reduction->scale = p->scale;
    reduction->format = p->format;
    reduction->compressed = p->compressed;
    reduction->elements = p->elements;
    reduction->of = p->of;
    reduction->bytes = p->bytes;
    reduction->input_bytes = p->input_bytes;
    reduction->seconds = p->seconds;
    reduction_round(&reduction->result, &p->partial, p->type, NULL, &p->scale,
                    options->nan == NAN_SKIP, options->ddof);
}
