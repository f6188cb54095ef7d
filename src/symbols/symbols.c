/*
 * Parses the lines of /proc/PID/maps, opens the file of each mapping once (object.c), and names the frames of stacks by
 * these files. The tool passes it as the frame_namer to the reader of spools.
 */
#include "symbols/symbols.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/machine.h"
#include "symbols/unwind.h"

/* --- what was mapped --- */

/* The part of a line that is not parsed yet. */
struct cursor {
    const char *at, *end;
};

static bool read_char(struct cursor *cursor, char wanted)
{
    if (cursor->at == cursor->end || *cursor->at != wanted)
        return false;
    cursor->at++;
    return true;
}

/* Reads a number of at most 64 bits in BASE, 10 or 16. Returns false if there is none. */
static bool read_number(struct cursor *cursor, unsigned base, uint64_t *number)
{
    const char *first = cursor->at;
    for (*number = 0; cursor->at < cursor->end; cursor->at++) {
        unsigned char c = (unsigned char)*cursor->at;
        if (!(base == 16 ? isxdigit(c) : isdigit(c)))
            break;
        if (*number > (UINT64_MAX - 15) / base)
            return false;
        *number = *number * base + (unsigned)(isdigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return cursor->at > first;
}

/* Skips permissions such as "r-xp". */
static bool skip_permissions(struct cursor *cursor)
{
    if (cursor->end - cursor->at < 4)
        return false;
    cursor->at += 4;
    return true;
}

/* Adds the mapping of "7f5a01000000-7f5a01028000 r-xp 00028000 08:01 1234    /lib/libc.so.6", a line of a maps file. */
static int read_line(struct mappings *mappings, struct names *names, struct cursor cursor)
{
    struct mapping read = {0};
    uint64_t major, minor;
    bool is_line = read_number(&cursor, 16, &read.start) && read_char(&cursor, '-') &&
                   read_number(&cursor, 16, &read.end) && read_char(&cursor, ' ') && skip_permissions(&cursor) &&
                   read_char(&cursor, ' ') && read_number(&cursor, 16, &read.offset) && read_char(&cursor, ' ') &&
                   read_number(&cursor, 16, &major) && read_char(&cursor, ':') && read_number(&cursor, 16, &minor) &&
                   read_char(&cursor, ' ') && read_number(&cursor, 10, &read.inode);
    if (!is_line || read.start >= read.end || read.offset > UINT64_MAX - (read.end - read.start))
        return 0;
    while (read_char(&cursor, ' '))
        continue;
    uint32_t path = names_put(names, cursor.at, (size_t)(cursor.end - cursor.at));
    if (path == NAMES_NO_MEMORY)
        return -1;
    read.path = names_get(names, path)->text;
    return ADD(array_push, &mappings->items, read) ? 0 : error_no_memory("what was mapped");
}

int mappings_read(struct mappings *mappings, struct names *names, const char *text, size_t length)
{
    const char *end = text + length;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *line_end = newline ? newline : end;
        if (read_line(mappings, names, (struct cursor){text, line_end}) < 0)
            return -1;
        text = newline ? newline + 1 : end;
    }
    return 0;
}

const struct mapping *mappings_find(const struct mappings *mappings, uint64_t address)
{
    for (size_t i = mappings->items.count; i-- > 0;) {
        const struct mapping *mapping = &mappings->items.items[i];
        if (address >= mapping->start && address < mapping->end)
            return mapping;
    }
    return NULL;
}

/* --- names of stacks --- */

struct symbols {
    uint64_t since;
    struct names names;
    struct interner files; /* paths with inodes; their numbers are indices of objects */
    ARRAY(struct object) objects;
    /* The mappings of the process whose stack was named last. */
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
    /* libdw would ask the servers named there for debugging information: the tool would wait for them, and they would
     * learn which programs run here. */
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
    array_release(&symbols->mappings.items);
    names_release(&symbols->names);
    free(symbols);
}

static int use_mappings(struct symbols *symbols, const struct mapping_text *maps)
{
    uint64_t hash = hash_bytes(maps->text, maps->length);
    if (symbols->mappings_known && symbols->pid == maps->pid && symbols->mappings_hash == hash)
        return 0;
    array_release(&symbols->mappings.items);
    symbols->mappings_known = true;
    symbols->pid = maps->pid;
    symbols->mappings_hash = hash;
    return mappings_read(&symbols->mappings, &symbols->names, maps->text, maps->length);
}

/* Returns the file of a mapping, which is opened if it is new, or NULL after error(). */
static struct object *find_object(struct symbols *symbols, const struct mapping *mapping)
{
    /* `names` holds each path once, so the address of its text identifies it. */
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

static int name_stack(void *data, const struct mapping_text *maps, const uint64_t *addresses, size_t count,
                      struct stack_frame *frames)
{
    struct symbols *symbols = data;
    if (use_mappings(symbols, maps) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        /* A return address may belong to the next line or function, so the byte before it is named. */
        uint64_t code = i > 0 && addresses[i] > 0 ? addresses[i] - 1 : addresses[i];
        const struct mapping *mapping = mappings_find(&symbols->mappings, code);
        if (!mapping || !*mapping->path)
            continue;
        frames[i].module = mapping->path;
        frames[i].offset = frames[i].address - mapping->start + mapping->offset;
        struct object *object = find_object(symbols, mapping);
        uint64_t place = code - mapping->start + mapping->offset;
        if (!object || object_name(object, &symbols->names, place, &frames[i]) < 0)
            return -1;
    }
    return 0;
}

/* --- the stack of a thread that crashed, from its registers and the memory that its stack pointer pointed to --- */

/* Places of registers in struct spool_crash_stack. */
enum { REGISTER_BX = 3, REGISTER_BP = 6, REGISTER_X29 = 13, REGISTER_X30 = 14, REGISTER_IP = 16 };

static int map_code(struct code_map *code, struct unwinder *unwinder, const struct mappings *mappings)
{
    for (size_t i = 0; i < mappings->items.count; i++) {
        const struct mapping *mapping = &mappings->items.items[i];
        const struct code_range range = {
            .start = mapping->start,
            .end = mapping->end,
            .offset = mapping->offset,
            .inode = mapping->inode,
            .file = unwinder_file(unwinder, mapping->path, mapping->inode),
        };
        if (code_map_add(code, &range) != 0)
            return -1;
    }
    return 0;
}

/* Implements frame_namer's unwind(). A file that was replaced after `since` is not used (object_open()). */
static size_t unwind_crash(void *data, const struct mapping_text *maps, const struct stack_snapshot *snapshot,
                           uint64_t *addresses, size_t most)
{
    bool aarch64 = snapshot->machine == EM_AARCH64;
    struct unwind_state state = {
        .ip = snapshot->registers[REGISTER_IP],
        .sp = snapshot->stack,
        .bp = snapshot->registers[aarch64 ? REGISTER_X29 : REGISTER_BP],
        .extra = snapshot->registers[aarch64 ? REGISTER_X30 : REGISTER_BX],
        .stack = (const uint8_t *)snapshot->bytes,
        .size = snapshot->length,
    };
    struct symbols *symbols = data;
    struct code_map code = {0};
    size_t count = 0;
    if (use_mappings(symbols, maps) < 0)
        return 0;
    struct unwinder *unwinder = unwinder_new(symbols->since, aarch64 ? EM_AARCH64 : EM_X86_64);
    if (!unwinder || map_code(&code, unwinder, &symbols->mappings) != 0) {
        error_no_memory("the stack of a crash");
    } else if (most > 0) {
        uint64_t nowhere = state.ip;
        bool has_code = code_map_find(&code, nowhere) != NULL;
        /* If the program called an address without code, the return address is on top of the stack, or in x30. */
        if (!has_code && aarch64) {
            state.ip = machine_code_address(EM_AARCH64, state.extra);
            addresses[count++] = nowhere;
        } else if (!has_code && state.size >= sizeof(state.ip)) {
            memcpy(&state.ip, state.stack, sizeof(state.ip));
            state.sp += sizeof(state.ip);
            state.stack += sizeof(state.ip);
            state.size -= sizeof(state.ip);
            addresses[count++] = nowhere;
        }
        count += unwind(unwinder, &code, &state, addresses + count, most - count);
    }
    code_map_release(&code);
    unwinder_free(unwinder);
    return count;
}

struct frame_namer symbols_namer(struct symbols *symbols)
{
    return (struct frame_namer){.name = name_stack, .unwind = unwind_crash, .data = symbols};
}
