/*
 * A row of offsets for each version of CPython, and for 3.13 and later the places in _PyRuntime's table that replace
 * them. Decodes CPython's strings, and its three formats of line tables: that of 3.8 and 3.9, that of 3.10, and that of
 * 3.11 and later.
 */
#include "common/python_layout.h"

#include <string.h>

#include "common/text.h"

/* Offsets that 3.8 to 3.10 share, and offsets that all versions from 3.11 on share. */
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
    /* The other offsets of these two versions are in _PyRuntime. */
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

/* Places in struct _Py_DebugOffsets, in words. Those of this enum are equal in all versions. */
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

#define STATE_BYTES 256 /* a thread state is larger */

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

/* --- strings --- */

/* The form is in bits 2 to 6 of the state, or in bits 16 to 20 if the low 16 bits tell whether the string is
 * interned. */
struct python_text python_text_of(uint32_t state)
{
    unsigned bits = (state & 0xfffc) == 0 ? state >> 16 : state >> 2;
    unsigned width = bits & 7;
    bool is_compact = bits >> 3 & 1, is_usual = is_compact && (width == 1 || width == 2 || width == 4);
    return (struct python_text){.width = is_usual ? width : 0, .is_ascii = bits >> 4 & 1};
}

static size_t from_latin1(char *out, size_t space, const unsigned char *characters, uint64_t count)
{
    size_t used = 0;
    for (uint64_t i = 0; i < count; i++) {
        size_t size = characters[i] < 0x80 ? 1 : 2;
        if (size > space - used)
            break;
        if (size == 2)
            out[used++] = (char)(0xc0 | characters[i] >> 6);
        out[used++] = (char)(size == 2 ? 0x80 | (characters[i] & 0x3f) : characters[i]);
    }
    return used;
}

size_t python_text_utf8(char *out, size_t space, const void *characters, uint64_t count, unsigned width)
{
    return width == 1 ? from_latin1(out, space, characters, count)
                      : utf8_from_units(out, space, characters, count, width);
}

/* --- lines --- */

#define NO_LINE 0

static uint32_t line_of(int64_t line)
{
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : NO_LINE;
}

/* The table has pairs of bytes: a number of bytes of code, and a number of lines (signed), by which to go on. */
static uint32_t from_lnotab(const struct line_table *table, int64_t offset)
{
    int64_t line = table->first, at = 0;
    for (size_t i = 0; i + 1 < table->length; i += 2) {
        at += table->bytes[i];
        if (at > offset)
            break;
        line += (signed char)table->bytes[i + 1];
    }
    return line_of(line);
}

/* The table has pairs of bytes: a number of bytes of code, and by how many lines (signed) they lie further on, or that
 * they have no line. */
static uint32_t from_linetable(const struct line_table *table, int64_t offset)
{
    int64_t line = table->first, end = 0;
    for (size_t i = 0; i + 1 < table->length; i += 2) {
        int delta = (signed char)table->bytes[i + 1];
        bool none = delta == -128;
        line += none ? 0 : delta;
        end += table->bytes[i];
        if (offset < end)
            return none ? NO_LINE : line_of(line);
    }
    return NO_LINE;
}

/* Reads a signed number: six bits in each byte, the lowest first; the seventh bit tells that more follow. The lowest
 * bit of all is the sign. */
static int64_t read_signed(const struct line_table *table, size_t at)
{
    uint64_t value = 0;
    for (unsigned shift = 0; at < table->length && shift < 36; at++, shift += 6) {
        value |= (uint64_t)(table->bytes[at] & 63) << shift;
        if (!(table->bytes[at] & 64))
            break;
    }
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Bits 3 to 6 of an entry's first byte tell how its lines are stored. Its lowest three bits are the number of code
 * units - 1. */
enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG_FORM = 14, WITHOUT_LINE = 15, CODE_UNIT = 2 };

/* The table has entries, each of which begins with a byte whose highest bit is set. */
static uint32_t from_locations(const struct line_table *table, int64_t offset)
{
    int64_t line = table->first, end = 0;
    for (size_t i = 0; i < table->length;) {
        unsigned first = table->bytes[i], form = first >> 3 & 15;
        if (form >= ONE_LINE_0 && form <= ONE_LINE_2)
            line += form - ONE_LINE_0;
        else if (form == NO_COLUMNS || form == LONG_FORM)
            line += read_signed(table, i + 1);
        end += ((first & 7) + 1) * CODE_UNIT;
        if (offset < end)
            return form == WITHOUT_LINE ? NO_LINE : line_of(line);
        do
            i++;
        while (i < table->length && !(table->bytes[i] & 0x80));
    }
    return NO_LINE;
}

uint32_t line_at(const struct line_table *table, int64_t offset)
{
    if (offset < 0)
        return line_of(table->first);
    switch (table->kind) {
    case PYTHON_LNOTAB: return from_lnotab(table, offset);
    case PYTHON_LINETABLE: return from_linetable(table, offset);
    case PYTHON_LOCATIONS: return from_locations(table, offset);
    }
    return NO_LINE;
}
