#include "config.h"

#include "hdf5/walk.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "sys/grow.h"

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

/* Letters before the names of links: objects of this file by their addresses, or by paths; others. */
enum { LINK_HARD = 'h', LINK_SOFT = 's', LINK_OTHER = 'o' };

/* A link of a group. */
static herr_t note_link(hid_t group, const char *name, const hdf5_link_info *info, void *context)
{
    struct hdf5_walk *w = context;
    struct hdf5_level *level = &w->levels[w->depth];
    const char letter = (char)(info->type == H5L_TYPE_HARD   ? LINK_HARD
                               : info->type == H5L_TYPE_SOFT ? LINK_SOFT
                                                             : LINK_OTHER);

    (void)group;
    buffer_bytes(&level->links, &letter, 1);
    buffer_bytes(&level->links, name, strlen(name) + 1);
    w->failed = w->failed || level->links.failed;
    return w->failed ? -1 : 0;
}

/* Goes down into a group that has been opened, whose name is the first `path` bytes of w->path.
   False where the library fails. */
static bool enter(struct hdf5_walk *w, hid_t group, size_t path)
{
    struct hdf5_level *level;

    if (!GROW(w->levels, w->room, w->depth + 1)) {
        w->failed = true;
        return false;
    }
    level = &w->levels[w->depth];
    *level = (struct hdf5_level){.group = group, .path = path};
    if (group < 0 || HDF5_ITERATE(group, H5_INDEX_NAME, H5_ITER_INC, NULL, note_link, w) < 0) {
        buffer_free(&level->links);
        return false;
    }
    w->depth++;
    return true;
}

/* The library calls this before it follows a link to another file: it must not. */
static herr_t refuse_file(const char *parent, const char *group, const char *file,
                          const char *object, unsigned *flags, hid_t access, void *user)
{
    (void)parent, (void)group, (void)file, (void)object, (void)flags, (void)access, (void)user;
    return -1;
}

/* Whether a soft link leads to an object of this file, which has a hard link, too. */
static bool is_alive(hid_t group, const char *name)
{
    const hid_t access = H5Pcreate(H5P_LINK_ACCESS);
    const bool alive = access >= 0 && H5Pset_elink_cb(access, refuse_file, NULL) >= 0 &&
                       H5Oexists_by_name(group, name, access) > 0;

    if (access >= 0)
        H5Pclose(access);
    return alive;
}

/* Visits a link, whose name comes after its letter. */
static void visit_link(struct hdf5_walk *w, const char *link)
{
    const char *name = link + 1;
    const struct hdf5_level *level = &w->levels[w->depth - 1];
    const hid_t group = level->group;
    hdf5_object_info info;

    w->path.size = level->path;
    buffer_text(&w->path, level->path > 0 ? "/" : "");
    buffer_bytes(&w->path, name, strlen(name) + 1);
    w->failed = w->failed || w->path.failed;
    if (w->failed)
        return;
    if (*link == LINK_OTHER)
        w->link(w->context, "a link to another file, which is not followed");
    if (*link == LINK_SOFT && !is_alive(group, name))
        w->link(w->context, "a link to nothing in this file");
    if (*link != LINK_HARD)
        return;
    if (HDF5_INFO_BY_NAME(group, name, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
        w->damaged(w->context, "unknown");
        return;
    }
    if (info.type == H5O_TYPE_GROUP && !is_seen(w, &info)) { /* damaged, it may hold itself */
        if (!enter(w, HDF5_OPEN(group, info.HDF5_ADDRESS), w->path.size - 1))
            w->damaged(w->context, "group");
    }
    if (info.type == H5O_TYPE_DATASET && (info.rc <= 1 || !is_seen(w, &info))) {
        const hid_t dataset = HDF5_OPEN(group, info.HDF5_ADDRESS);

        w->dataset(w->context, dataset);
        if (dataset >= 0)
            H5Oclose(dataset);
    }
    if (info.type == H5O_TYPE_NAMED_DATATYPE) { /* or a dataset whose shape is damaged */
        const hid_t type = HDF5_OPEN(group, info.HDF5_ADDRESS);

        if (type < 0)
            w->damaged(w->context, "datatype");
        else
            H5Oclose(type);
    }
}

bool hdf5_walk(struct hdf5_walk *w, hid_t root)
{
    hdf5_object_info info;

    w->seen = NULL;
    if (HDF5_INFO(root, &info, H5O_INFO_BASIC) < 0 || is_seen(w, &info) || !enter(w, root, 0))
        return false;
    while (w->depth > 0 && !w->failed && !hdf5_unread()) {
        struct hdf5_level *level = &w->levels[w->depth - 1];
        const char *link = level->links.data + level->next;

        if (level->next < level->links.size) {
            level->next += strlen(link) + 1;
            visit_link(w, link);
            continue;
        }
        if (w->depth > 1)
            H5Oclose(level->group);
        buffer_free(&level->links);
        w->depth--;
    }
    return true;
}
