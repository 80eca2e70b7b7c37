#include "config.h"

#include "source/inputs.h"

/* Sets the current array: that of number in->arrays of its input, if there is one. */
static bool set_array(struct inputs *in)
{
    const bool there = in->arrays < inputs_arrays(in->info);

    in->pick = in->info->container && there ? &in->info->picks[in->arrays] : NULL;
    in->array = in->pick ? in->pick->array : NULL;
    in->first = in->arrays == 0;
    return there;
}

/* Goes to the next input. False where there is none. */
static bool next_input(struct inputs *in)
{
    inputs_close(in);
    if (in->next == in->count)
        return false;
    in->path = in->paths[in->next++];
    in->pick = NULL;
    in->array = NULL;
    in->arrays = 0;
    in->first = true;
    in->error.kind = ERROR_NONE;
    in->source = source_open(in->path, in->options, in->workers, &in->error);
    in->failed = in->failed || !in->source;
    in->info = in->source ? source_info(in->source) : NULL;
    return true;
}

bool inputs_next(struct inputs *in)
{
    if (in->source) {
        in->arrays++;
        if (set_array(in))
            return true;
    }
    while (next_input(in))
        if (!in->source || set_array(in))
            return true;
    return false;
}

struct source *inputs_take(struct inputs *in)
{
    struct source *source = in->source;

    in->source = NULL;
    return source;
}

void inputs_close(struct inputs *in)
{
    if (in->source)
        source_close(in->source);
    in->source = NULL;
}
