/*
 * Unwinds the saved stack of a thread that crashed, by the call frame information of the files that were mapped, with
 * libdwfl.
 */
#include <elfutils/libdwfl.h>
#include <string.h>

#include "common/log.h"
#include "symbols/symbols.h"

enum { STACK_POINTER = 7, INSTRUCTION_POINTER = 16, REGISTERS = 17 }; /* x86-64 in DWARF */

struct unwinding {
    const struct stack_snapshot *snapshot;
    uint64_t registers[REGISTERS];
    uint64_t *addresses;
    size_t count, most;
};

/* --- the thread, as libdwfl asks for it --- */

static pid_t next_thread(Dwfl *dwfl, void *data, void **thread)
{
    (void)dwfl;
    if (*thread)
        return 0;
    *thread = data;
    return 1;
}

static bool read_word(const struct stack_snapshot *snapshot, uint64_t address, uint64_t *word)
{
    if (address < snapshot->stack || snapshot->length < sizeof(*word) ||
        address - snapshot->stack > snapshot->length - sizeof(*word))
        return false;
    memcpy(word, snapshot->bytes + (address - snapshot->stack), sizeof(*word));
    return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *data)
{
    const struct unwinding *unwinding = data;
    (void)dwfl;
    return read_word(unwinding->snapshot, address, result);
}

static bool set_registers(Dwfl_Thread *thread, void *data)
{
    const struct unwinding *unwinding = data;
    return dwfl_thread_state_registers(thread, 0, REGISTERS, unwinding->registers);
}

static int take_frame(Dwfl_Frame *frame, void *data)
{
    struct unwinding *unwinding = data;
    Dwarf_Addr address;
    bool is_where_it_was;
    if (!dwfl_frame_pc(frame, &address, &is_where_it_was) || address == 0 || unwinding->count == unwinding->most)
        return DWARF_CB_ABORT;
    unwinding->addresses[unwinding->count++] = address;
    return DWARF_CB_OK;
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
    .next_thread = next_thread, .memory_read = read_memory, .set_initial_registers = set_registers};

/* --- the files, where they were mapped --- */

static const Dwfl_Callbacks callbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
};

/* A mapping whose start the file's own addresses do not fit to has no call frame information. */
static void report_file(Dwfl *dwfl, struct symbols *symbols, const struct mapping *mapping)
{
    uint64_t address;
    struct object *object = symbols_object(symbols, mapping);
    if (object && object_address(object, mapping->offset, &address))
        dwfl_report_elf(dwfl, mapping->path, mapping->path, -1, mapping->start - address, true);
}

static void report_files(Dwfl *dwfl, struct symbols *symbols, const struct mappings *mappings)
{
    dwfl_report_begin(dwfl);
    for (size_t i = 0; i < mappings->items.count; i++) {
        const struct mapping *mapping = &mappings->items.items[i];
        bool known = false;
        for (size_t k = 0; k < i && !known; k++) /* paths are names: equal ones are one */
            known = mappings->items.items[k].path == mapping->path;
        if (!known)
            report_file(dwfl, symbols, mapping);
    }
    dwfl_report_end(dwfl, NULL, NULL);
}

/* A call of no function leaves its return address on the stack. */
static void leave_nowhere(struct unwinding *unwinding, const struct mappings *mappings)
{
    uint64_t *registers = unwinding->registers, from;
    if (mappings_find(mappings, registers[INSTRUCTION_POINTER]) ||
        !read_word(unwinding->snapshot, registers[STACK_POINTER], &from))
        return;
    if (unwinding->count < unwinding->most)
        unwinding->addresses[unwinding->count++] = registers[INSTRUCTION_POINTER];
    registers[INSTRUCTION_POINTER] = from;
    registers[STACK_POINTER] += sizeof(from);
}

size_t unwind_snapshot(struct symbols *symbols, const struct mappings *mappings, const struct stack_snapshot *snapshot,
                       uint64_t *addresses, size_t most)
{
    struct unwinding unwinding = {.snapshot = snapshot, .addresses = addresses, .most = most};
    memcpy(unwinding.registers, snapshot->registers, sizeof(unwinding.registers));
    leave_nowhere(&unwinding, mappings);
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (dwfl) {
        report_files(dwfl, symbols, mappings);
        if (dwfl_attach_state(dwfl, NULL, 1, &thread_callbacks, &unwinding))
            dwfl_getthread_frames(dwfl, 1, take_frame, &unwinding);
        dwfl_end(dwfl);
    }
    if (unwinding.count == 0 && most > 0)
        addresses[unwinding.count++] = snapshot->registers[INSTRUCTION_POINTER];
    return unwinding.count;
}
