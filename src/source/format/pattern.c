#include "config.h"

#include "source/format/pattern.h"

#include <fnmatch.h>

bool container_wants(struct container_pattern *patterns, unsigned count, const char *name,
                     bool useful)
{
    bool all = true, included = false, excluded = false;

    for (unsigned i = 0; i < count; i++) {
        struct container_pattern *p = &patterns[i];

        all = all && p->exclude;
        if (fnmatch(p->pattern, name, 0) != 0)
            continue;
        p->matched = true;
        p->useful = p->useful || useful;
        included = included || !p->exclude;
        excluded = excluded || p->exclude;
    }
    return (all || included) && !excluded;
}
