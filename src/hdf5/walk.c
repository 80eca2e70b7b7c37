#include "config.h"

#include "hdf5/walk.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

/* A place in the file, as the library names it. */
struct address {
    unsigned char bytes[HDF5_ADDRESS_BYTES];
};

static int compare_addresses(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct address));
}

/* Whether an object has been seen before; notes it. */
static bool is_seen(struct hdf5_walk *w, const hdf5_object_info *info)
{
    struct address *address = malloc(sizeof *address);
    void **found;

    if (address)
        memcpy(address->bytes, &info->HDF5_ADDRESS, sizeof address->bytes);
    found = address ? tsearch(address, &w->seen, compare_addresses) : NULL;
    if (!found) {
        w->failed = true;
        return true;
    }
    if (*found == address)
        return false;
    free(address);
    return true;
}

/* Makes room for `size` bytes in all. False without memory. */
static bool make_room(struct hdf5_walk *w, void *bytes, size_t *capacity, size_t size)
{
    void **const old = bytes;
    void *grown;

    if (size <= *capacity)
        return true;
    grown = realloc(*old, 2 * size);
    if (!grown) {
        w->failed = true;
        return false;
    }
    *old = grown;
    *capacity = 2 * size;
    return true;
}

/* A link of a group. */
static herr_t note_link(hid_t group, const char *name, const hdf5_link_info *info, void *context)
{
    struct hdf5_walk *w = context;
    struct hdf5_level *level = &w->levels[w->depth];
    const size_t size = strlen(name) + 1;

    (void)group;
    if (info->type != H5L_TYPE_HARD)
        return 0;
    if (!make_room(w, &level->links, &level->capacity, level->size + size))
        return -1;
    memcpy(level->links + level->size, name, size);
    level->size += size;
    return 0;
}

/* Goes down into a group that has been opened, whose name is the first `path` bytes of w->path.
   False where the library fails. */
static bool enter(struct hdf5_walk *w, hid_t group, size_t path)
{
    struct hdf5_level *level;

    if (!make_room(w, &w->levels, &w->levels_capacity, (w->depth + 1) * sizeof *w->levels))
        return false;
    level = &w->levels[w->depth];
    *level = (struct hdf5_level){.group = group, .path = path};
    if (group < 0 || HDF5_ITERATE(group, H5_INDEX_NAME, H5_ITER_INC, NULL, note_link, w) < 0) {
        free(level->links);
        return false;
    }
    w->depth++;
    return true;
}

static void visit_link(struct hdf5_walk *w, const char *name)
{
    const struct hdf5_level *level = &w->levels[w->depth - 1];
    const size_t length = strlen(name), slash = level->path > 0, path = level->path + slash;
    const hid_t group = level->group;
    hdf5_object_info info;

    if (!make_room(w, &w->path, &w->path_capacity, path + length + 1))
        return;
    if (slash)
        w->path[level->path] = '/';
    memcpy(w->path + path, name, length + 1);
    if (HDF5_INFO_BY_NAME(group, name, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
        w->damaged(w->context, "unknown");
        return;
    }
    if (info.type == H5O_TYPE_GROUP && !is_seen(w, &info)) { /* damaged, it may hold itself */
        if (!enter(w, HDF5_OPEN(group, info.HDF5_ADDRESS), path + length))
            w->damaged(w->context, "group");
    }
    if (info.type == H5O_TYPE_DATASET && (info.rc <= 1 || !is_seen(w, &info))) {
        const hid_t dataset = HDF5_OPEN(group, info.HDF5_ADDRESS);

        w->dataset(w->context, dataset);
        if (dataset >= 0)
            H5Oclose(dataset);
    }
}

bool hdf5_walk(struct hdf5_walk *w, hid_t root)
{
    hdf5_object_info info;
    uint64_t offset, size;

    w->seen = NULL;
    if (HDF5_INFO(root, &info, H5O_INFO_BASIC) < 0 || is_seen(w, &info) || !enter(w, root, 0))
        return false;
    while (w->depth > 0 && !w->failed && !hdf5_unread(&offset, &size)) {
        struct hdf5_level *level = &w->levels[w->depth - 1];
        const char *name = level->links + level->next;

        if (level->next < level->size) {
            level->next += strlen(name) + 1;
            visit_link(w, name);
            continue;
        }
        if (w->depth > 1)
            H5Oclose(level->group);
        free(level->links);
        w->depth--;
    }
    return true;
}
