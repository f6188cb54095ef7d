/*
 * The stack of a thread that crashed, from its registers and the memory that its stack pointer pointed to.
 */
#include <string.h>

#include "common/log.h"
#include "symbols/symbols.h"
#include "symbols/unwind.h"

enum { REGISTER_BX = 3, REGISTER_BP = 6, REGISTER_IP = 16 }; /* of x86-64, by their numbers in DWARF */

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

size_t unwind_snapshot(uint64_t since, const struct mappings *mappings, const struct stack_snapshot *snapshot,
                       uint64_t *addresses, size_t most)
{
    struct unwind_state state = {
        .ip = snapshot->registers[REGISTER_IP],
        .sp = snapshot->stack,
        .bp = snapshot->registers[REGISTER_BP],
        .bx = snapshot->registers[REGISTER_BX],
        .stack = (const uint8_t *)snapshot->bytes,
        .size = snapshot->length,
    };
    struct code_map code = {0};
    struct unwinder *unwinder = unwinder_new(since);
    size_t count = 0;
    if (!unwinder || map_code(&code, unwinder, mappings) != 0) {
        error_no_memory("the stack of a crash");
    } else if (most > 0) {
        uint64_t nowhere = state.ip;
        /* The program called an address without code, which left the return address on the stack. */
        if (!code_map_find(&code, nowhere) && state.size >= sizeof(state.ip)) {
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
