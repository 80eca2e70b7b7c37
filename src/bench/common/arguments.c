#include "config.h"

#include "bench/common/arguments.h"

#include "bench/common/distribution.h"
#include "cli/arguments.h"
#include "core/element.h"

const char *arguments_dtype_word(size_t i)
{
    return i < ELEMENT_TYPES ? element_name((enum element_type)i) : NULL;
}

const char *arguments_float_word(size_t i)
{
    return i < ELEMENT_FLOATS ? element_name((enum element_type)i) : NULL;
}

const char *arguments_distribution_word(size_t i)
{
    return i < DISTRIBUTIONS ? distribution_name((enum distribution)i) : NULL;
}

bool arguments_parse_float(const struct argument *x, const char *text, void *target)
{
    enum element_type type = ELEMENT_F32;

    if (!arguments_parse_dtype(x, text, &type))
        return false;
    if (!element_is_float(type))
        return arguments_unknown_word(x, text);
    *(enum element_type *)target = type;
    return true;
}

bool arguments_parse_dtype(const struct argument *x, const char *text, void *target)
{
    enum element_type type;
    enum element_order order;

    if (!element_parse(text, &type, &order))
        return arguments_unknown_word(x, text);
    if (order == ELEMENT_ORDER_BIG)
        return arguments_wrong("dtype %s is big-endian; data here are little-endian", text);
    *(enum element_type *)target = type;
    return true;
}

bool arguments_parse_distribution(const struct argument *x, const char *text, void *target)
{
    return distribution_parse(text, target) || arguments_unknown_word(x, text);
}

bool arguments_parse_json(const struct argument *x, const char *text, void *target)
{
    (void)x;
    *(struct argument_json *)target = (struct argument_json){text == NULL, text};
    return true;
}
