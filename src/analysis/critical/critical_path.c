#include "analysis/critical/critical_path.h"

const struct critical_kind_words critical_kind_words[CRITICAL_KIND_COUNT] = {
#define KIND(constant, word, text) {word, text},
    CRITICAL_KINDS(KIND)
#undef KIND
};

void critical_path_release(struct critical_path *path)
{
    file_vector_release(&path->parts);
    file_vector_release(&path->outside);
    for (size_t i = 0; i < path->rows.count; i++)
        series_release(&path->rows.items[i].slack);
    array_release(&path->rows);
    dense_map_release(&path->keys);
}

struct critical_row *critical_path_row(struct critical_path *path, enum critical_kind kind, uint32_t name)
{
    const struct critical_key key = {kind, name};
    return dense_map_item(&path->keys, &key, &path->rows);
}

int critical_path_add(struct critical_path *path, const struct critical_part *part)
{
    struct critical_part *added = file_vector_push(&path->parts);
    if (!added)
        return -1;
    *added = *part;
    if (path->parts.count % CRITICAL_EVICTED_AFTER == 0)
        file_vector_evict(&path->parts);
    return 0;
}

#define evict_at(array, index)                 \
    if ((index) % CRITICAL_EVICTED_AFTER == 0) \
    file_vector_evict(array)

int critical_path_each(const struct critical_path *path, int (*each)(void *context, const struct critical_part *part),
                       void *context)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < path->parts.count; i++) {
        evict_at(&path->parts, i);
        if (path->parts.items[i].kind != CRITICAL_OUTSIDE)
            status = each(context, &path->parts.items[i]);
    }
    for (size_t i = 0; status == 0 && i < path->outside.count; i++) {
        evict_at(&path->outside, i);
        status = each(context, &path->outside.items[i]);
    }
    return status;
}
