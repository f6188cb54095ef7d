/*
 * Keeps each path once, and splits the paths into names after the last event.
 */
#include "analysis/engine/captured.h"

#include "common/array.h"
#include "common/map.h"

#include <stdbool.h>
#include <string.h>

/* The text between two names, and the text for outer names that are left out: trace/meaning/gpu/captures.c. */
#define SEPARATOR " / "
#define LEFT_OUT "…"

void captured_release(struct captured *captured)
{
    dense_map_release(&captured->ids);
    array_release(&captured->paths);
    array_release(&captured->names);
}

uint32_t captured_add(struct captured *captured, uint32_t text)
{
    uint64_t key = text;
    struct captured_path *path = dense_map_item(&captured->ids, &key, &captured->paths);
    if (!path)
        return CAPTURED_NO_MEMORY;
    path->text = text;
    return (uint32_t)(path - captured->paths.items) + 1;
}

/* Whether PATH has NAME already, as ranges of one name may nest. */
static bool is_known(const struct captured *captured, const struct captured_path *path, uint32_t name)
{
    for (uint32_t i = 0; i < path->count; i++)
        if (captured->names.items[path->first + i] == name)
            return true;
    return false;
}

static int add_name(struct captured *captured, struct captured_path *path, struct interner *strings, const char *text,
                    size_t length)
{
    if (length == 0 || (length == strlen(LEFT_OUT) && memcmp(text, LEFT_OUT, length) == 0))
        return 0;
    uint32_t name = intern(strings, text, length);
    if (name == INTERN_NO_MEMORY)
        return -1;
    if (is_known(captured, path, name))
        return 0;
    path->count++;
    return ADD(array_push, &captured->names, name) ? 0 : -1;
}

static int split(struct captured *captured, struct captured_path *path, struct interner *strings)
{
    const char *at = interned(strings, path->text), *next;
    path->first = (uint32_t)captured->names.count;
    path->count = 0;
    for (; (next = strstr(at, SEPARATOR)); at = next + strlen(SEPARATOR))
        if (add_name(captured, path, strings, at, (size_t)(next - at)) < 0)
            return -1;
    return add_name(captured, path, strings, at, strlen(at));
}

int captured_split(struct captured *captured, struct interner *strings)
{
    for (size_t i = 0; i < captured->paths.count; i++)
        if (split(captured, &captured->paths.items[i], strings) < 0)
            return -1;
    return 0;
}
