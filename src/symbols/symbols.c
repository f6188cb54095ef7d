#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/log.h"
#include "common/map.h"
#include "trace/names.h"
#include "symbols/mappings.h"
#include "symbols/object.h"

struct symbols {
    uint64_t since;
    struct names names;
    struct interner files; /* of paths and inodes; their numbers are those of objects */
    ARRAY(struct object) objects;
    /* The process whose stacks came last. */
    struct mappings mappings;
    uint32_t pid;
    uint64_t mappings_hash; /* of their text */
    bool mappings_known;
};

struct symbols *symbols_new(uint64_t since)
{
    struct symbols *symbols = calloc(1, sizeof(*symbols));
    if (!symbols) {
        error_no_memory("symbols");
        return NULL;
    }
    symbols->since = since;
    /* libdw would ask the servers named there for debugging information: a run would end when they answer, and they
     * would be told which programs are run here. */
    unsetenv("DEBUGINFOD_URLS");
    return symbols;
}

void symbols_free(struct symbols *symbols)
{
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->objects.count; i++)
        object_close(&symbols->objects.items[i]);
    array_release(&symbols->objects);
    interner_release(&symbols->files);
    mappings_release(&symbols->mappings);
    names_release(&symbols->names);
    free(symbols);
}

static int use_mappings(struct symbols *symbols, const struct mapping_text *maps)
{
    uint64_t hash = hash_bytes(maps->text, maps->length);
    if (symbols->mappings_known && symbols->pid == maps->pid && symbols->mappings_hash == hash)
        return 0;
    mappings_release(&symbols->mappings);
    symbols->mappings_known = true;
    symbols->pid = maps->pid;
    symbols->mappings_hash = hash;
    return mappings_read(&symbols->mappings, &symbols->names, maps->text, maps->length);
}

/* The file of a mapping, opened when it is new. NULL after error(). */
static struct object *find_object(struct symbols *symbols, const struct mapping *mapping)
{
    /* A path of `names` is at one place for all mappings of it. */
    const uint64_t key[] = {(uintptr_t)mapping->path, mapping->inode};
    uint32_t number = intern(&symbols->files, (const char *)key, sizeof(key));
    if (number != INTERN_NO_MEMORY && number < symbols->objects.count)
        return &symbols->objects.items[number];
    struct object *object = number != INTERN_NO_MEMORY ? array_push(&symbols->objects) : NULL;
    if (!object)
        error_no_memory("symbols");
    else
        object_open(object, mapping->path, mapping->inode, symbols->since);
    return object;
}

/* CODE is the address of the instruction that is meant, FRAME's address or one before it. */
static int name_frame(struct symbols *symbols, uint64_t code, struct stack_frame *frame)
{
    const struct mapping *mapping = mappings_find(&symbols->mappings, code);
    if (!mapping || !*mapping->path)
        return 0;
    frame->module = mapping->path;
    frame->offset = frame->address - mapping->start + mapping->offset;
    struct object *object = find_object(symbols, mapping);
    return object ? object_name(object, &symbols->names, code - mapping->start + mapping->offset, frame) : -1;
}

static int name_stack(void *data, const struct mapping_text *maps, const uint64_t *addresses, size_t count,
                      struct stack_frame *frames)
{
    struct symbols *symbols = data;
    if (use_mappings(symbols, maps) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        /* A return address may be the first of the next line, or of the next function. */
        uint64_t code = i > 0 && addresses[i] > 0 ? addresses[i] - 1 : addresses[i];
        if (name_frame(symbols, code, &frames[i]) < 0)
            return -1;
    }
    return 0;
}

struct frame_namer symbols_namer(struct symbols *symbols)
{
    return (struct frame_namer){.name = name_stack, .data = symbols};
}
