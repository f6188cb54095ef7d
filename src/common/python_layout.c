/*
 * A row of offsets for each version of CPython, and for 3.13 and later the places in _PyRuntime's table that replace
 * them.
 */
#include "common/python_layout.h"

#include <stddef.h>
#include <string.h>

/* What 3.8 to 3.10 have in common, and what from 3.11 on all have. */
#define OLD_CODE .first_line = 40, .file = 104, .name = 112, .line_table = 120, .bytecode = 48, .size = 176
#define NEW_CODE .file = 112, .name = 128, .line_table = 136
#define OLD_TEXT .text = {.ascii = 48, .compact = 72}
#define NEW_TEXT .text = {.ascii = 40, .compact = 56}

static const struct python_layout layouts[] = {
    {.version = PYTHON_VERSION(3, 8),
     .frames = PYTHON_FRAME_OBJECTS,
     .lines = PYTHON_LNOTAB,
     .state = {.thread = 176, .frame = 24},
     .frame = {.previous = 24, .code = 32, .instruction = 104},
     .code = {OLD_CODE},
     OLD_TEXT},
    {.version = PYTHON_VERSION(3, 9),
     .frames = PYTHON_FRAME_OBJECTS,
     .lines = PYTHON_LNOTAB,
     .state = {.thread = 176, .frame = 24},
     .frame = {.previous = 24, .code = 32, .instruction = 104},
     .code = {OLD_CODE},
     OLD_TEXT},
    {.version = PYTHON_VERSION(3, 10),
     .frames = PYTHON_FRAME_OBJECTS,
     .lines = PYTHON_LINETABLE,
     .state = {.thread = 176, .frame = 24, .c_frame = 48},
     .c_frame = {.previous = 8},
     .frame = {.previous = 24, .code = 32, .instruction = 96},
     .code = {OLD_CODE},
     OLD_TEXT},
    {.version = PYTHON_VERSION(3, 11),
     .frames = PYTHON_C_FRAMES,
     .lines = PYTHON_LOCATIONS,
     .runtime = {.interpreters = 40},
     .interpreter = {.next = 0, .threads = 16},
     .state = {.thread = 152, .c_frame = 56, .frame = 8},
     .c_frame = {.previous = 16},
     .frame = {.previous = 48, .code = 32, .instruction = 56, .owner = 69, .is_entry = 68},
     .code = {NEW_CODE, .first_line = 72, .bytecode = 184, .size = 184},
     OLD_TEXT},
    {.version = PYTHON_VERSION(3, 12),
     .frames = PYTHON_SHIM_FRAMES,
     .lines = PYTHON_LOCATIONS,
     .runtime = {.interpreters = 40},
     .interpreter = {.next = 0, .threads = 72},
     .state = {.thread = 136, .c_frame = 56, .frame = 0},
     .c_frame = {.previous = 8},
     .frame = {.previous = 8, .code = 0, .instruction = 56, .owner = 70},
     .code = {NEW_CODE, .first_line = 68, .version = 92, .bytecode = 192, .size = 192},
     NEW_TEXT},
    /* The rest of these two is in _PyRuntime. */
    {.version = PYTHON_VERSION(3, 13),
     .frames = PYTHON_SHIM_FRAMES,
     .lines = PYTHON_LOCATIONS,
     .code = {.version = 92},
     NEW_TEXT},
    {.version = PYTHON_VERSION(3, 14),
     .frames = PYTHON_SHIM_FRAMES,
     .lines = PYTHON_LOCATIONS,
     .code = {.version = 92},
     NEW_TEXT},
};

/* Where struct _Py_DebugOffsets has what, in words: first the same in all versions. */
enum { INTERPRETERS = 5, NEXT_INTERPRETER = 8, THREADS = 9 };
struct places {
    unsigned version; /* PYTHON_VERSION() */
    unsigned frame, thread;
    unsigned previous, code, instruction, owner;
    unsigned file, name, line_table, first_line, bytecode;
    unsigned bytes, text_state, ascii;
};

static const struct places places[] = {
    {.version = PYTHON_VERSION(3, 13),
     .frame = 23,
     .thread = 24,
     .previous = 29,
     .code = 30,
     .instruction = 31,
     .owner = 33,
     .file = 35,
     .name = 37,
     .line_table = 38,
     .first_line = 39,
     .bytecode = 43,
     .bytes = 66,
     .text_state = 68,
     .ascii = 70},
    {.version = PYTHON_VERSION(3, 14),
     .frame = 26,
     .thread = 27,
     .previous = 32,
     .code = 33,
     .instruction = 34,
     .owner = 36,
     .file = 40,
     .name = 42,
     .line_table = 43,
     .first_line = 44,
     .bytecode = 48,
     .bytes = 76,
     .text_state = 78,
     .ascii = 80},
};

#define STATE_BYTES 256 /* a thread's state has more */

static bool read_runtime(struct python_layout *layout, const struct places *at, const uint64_t *runtime)
{
    if (memcmp(runtime, "xdebugpy", 8) != 0 || runtime[1] >> 16 != layout->version || runtime[2] != 0)
        return false;
    layout->runtime.interpreters = runtime[INTERPRETERS];
    layout->interpreter.next = runtime[NEXT_INTERPRETER];
    layout->interpreter.threads = runtime[THREADS];
    layout->state.frame = runtime[at->frame];
    layout->state.thread = runtime[at->thread];
    layout->frame.previous = runtime[at->previous];
    layout->frame.code = runtime[at->code];
    layout->frame.instruction = runtime[at->instruction];
    layout->frame.owner = runtime[at->owner];
    layout->code.file = runtime[at->file];
    layout->code.name = runtime[at->name];
    layout->code.line_table = runtime[at->line_table];
    layout->code.first_line = runtime[at->first_line];
    layout->code.bytecode = layout->code.size = runtime[at->bytecode];
    layout->text.ascii = runtime[at->ascii];
    layout->text.compact = layout->text.ascii + 2 * sizeof(uint64_t);
    return layout->state.thread < STATE_BYTES && runtime[at->bytes] == PYTHON_BYTES &&
           runtime[at->text_state] == PYTHON_TEXT_STATE;
}

bool python_layout(struct python_layout *layout, unsigned version, const uint64_t *runtime)
{
    size_t i = 0;
    while (i < sizeof(layouts) / sizeof(*layouts) && layouts[i].version != version)
        i++;
    if (i == sizeof(layouts) / sizeof(*layouts))
        return false;
    *layout = layouts[i];
    for (i = 0; i < sizeof(places) / sizeof(*places); i++)
        if (places[i].version == version)
            return read_runtime(layout, &places[i], runtime);
    return true;
}
