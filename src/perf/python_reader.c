/*
 * Reads interpreter, thread states, frames and code objects with process_vm_readv(2) at the offsets of
 * common/python_layout.h. Each read is checked, since the process changes its memory meanwhile.
 */
#include "perf/python_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "common/map.h"
#include "common/memory.h"
#include "common/python_layout.h"
#include "symbols/elf_file.h"

#define OLDEST PYTHON_VERSION(3, 11) /* before, frames are Python objects, and thread states lack the kernel's tid */

/* More than is read of a thread state, of a frame, and of a code object without its bytecode. */
#define OBJECT_BYTES 512
#define RUNTIME_WORDS 128 /* at the start of _PyRuntime, where newer versions have a table of offsets */

#define TEXT_CHARACTERS 4096u /* of a name; longer names are cut */
#define LINE_TABLE_BYTES ((uint64_t)1 << 20)
#define INTERPRETERS_MOST 16

struct object {
    uint8_t bytes[OBJECT_BYTES];
};

static bool copy(const struct python_reader *reader, void *to, uint64_t from, size_t size)
{
    struct iovec ours = {to, size}, theirs = {(void *)(uintptr_t)from, size}; /* NOLINT: an address in the process */
    return process_vm_readv((pid_t)reader->pid, &ours, 1, &theirs, 1, 0) == (ssize_t)size;
}

static bool copy_word(const struct python_reader *reader, uint64_t *word, uint64_t from)
{
    return copy(reader, word, from, sizeof(*word));
}

static uint64_t word_in(const struct object *object, uint64_t offset)
{
    return LOAD(uint64_t, object->bytes + offset);
}

static uint32_t half_in(const struct object *object, uint64_t offset)
{
    return LOAD(uint32_t, object->bytes + offset);
}

/* --- the interpreter --- */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Sets how many bytes are read of frames and thread states. Returns whether these and code objects fit into a struct
 * object. */
static bool measure(struct python_reader *reader)
{
    const struct python_layout *layout = &reader->layout;
    uint64_t tid = layout->state.thread + sizeof(uint64_t);
    reader->frame_bytes = larger(larger(layout->frame.previous, layout->frame.code),
                                 larger(layout->frame.instruction, layout->frame.owner)) +
                          sizeof(uint64_t);
    reader->state_bytes = larger(tid, larger(layout->state.c_frame, layout->state.frame)) + sizeof(uint64_t);
    return reader->frame_bytes <= OBJECT_BYTES && reader->state_bytes <= OBJECT_BYTES &&
           layout->code.bytecode <= OBJECT_BYTES && layout->code.bytecode >= PYTHON_TRACEABLE;
}

bool python_reader_find(struct python_reader *reader, uint32_t pid, const char *path, const struct code_range *range)
{
    enum { RUNTIME, VERSION, LOOP, CODE, TEXT, EXPORTS };
    struct exported exports[EXPORTS] = {[RUNTIME] = {.name = "_PyRuntime"},
                                        [VERSION] = {.name = "Py_Version"}, /* since 3.11 */
                                        [LOOP] = {.name = "_PyEval_EvalFrameDefault"},
                                        [CODE] = {.name = "PyCode_Type"},
                                        [TEXT] = {.name = "PyUnicode_Type"}};
    uint64_t version, runtime[RUNTIME_WORDS];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    errno = 0;
    *reader = (struct python_reader){.pid = pid};
    if (strncmp(name, "python", 6) != 0 && strncmp(name, "libpython3", 10) != 0)
        return false;
    if (!exports_find(path, range->offset, range->start, exports, EXPORTS))
        return false;
    for (size_t i = 0; i < EXPORTS; i++)
        if (exports[i].address == 0)
            return false;
    reader->runtime = exports[RUNTIME].address;
    reader->loop = exports[LOOP].address;
    reader->loop_end = reader->loop + exports[LOOP].size;
    reader->code_type = exports[CODE].address;
    reader->text_type = exports[TEXT].address;
    if (!copy_word(reader, &version, exports[VERSION].address) ||
        !copy(reader, runtime, reader->runtime, sizeof(runtime)))
        return false;
    bool is_released = (version & 0xf0) >= 0xc0; /* alphas and betas have layouts of their own */
    return is_released && version >> 16 >= OLDEST &&
           python_layout(&reader->layout, (unsigned)(version >> 16), runtime) && measure(reader);
}

/* --- threads --- */

static uint64_t innermost(const struct python_reader *reader, const struct object *state)
{
    const struct python_layout *layout = &reader->layout;
    uint64_t frame = 0;
    if (layout->state.c_frame == 0)
        return word_in(state, layout->state.frame);
    uint64_t c_frame = word_in(state, layout->state.c_frame);
    return c_frame != 0 && copy_word(reader, &frame, c_frame + layout->state.frame) ? frame : 0;
}

static size_t read_states(const struct python_reader *reader, uint64_t at, struct python_state *states, size_t most)
{
    const struct python_layout *layout = &reader->layout;
    size_t count = 0;
    while (at != 0 && count < most) {
        struct object state;
        if (!copy(reader, &state, at, reader->state_bytes))
            break;
        uint64_t tid = word_in(&state, layout->state.thread + sizeof(uint64_t));
        states[count++] = (struct python_state){.tid = (uint32_t)tid, .frame = innermost(reader, &state)};
        at = word_in(&state, PYTHON_NEXT_STATE);
    }
    return count;
}

int python_reader_threads(const struct python_reader *reader, struct python_state *states, size_t most)
{
    const struct python_layout *layout = &reader->layout;
    uint64_t interpreter, first;
    size_t count = 0;
    if (!copy_word(reader, &interpreter, reader->runtime + layout->runtime.interpreters))
        return -1;
    for (unsigned i = 0; interpreter != 0 && i < INTERPRETERS_MOST; i++) {
        if (!copy_word(reader, &first, interpreter + layout->interpreter.threads))
            break;
        count += read_states(reader, first, states + count, most - count);
        if (!copy_word(reader, &interpreter, interpreter + layout->interpreter.next))
            break;
    }
    return (int)count;
}

/* Reads FRAME into CALL, and its caller's frame into *PREVIOUS (0 if there is none). Returns whether FRAME is of a
 * function of Python, not of a C call. */
static bool read_call(const struct python_reader *reader, uint64_t frame, struct python_call *call, uint64_t *previous)
{
    const struct python_layout *layout = &reader->layout;
    struct object object;
    *previous = 0;
    if (!copy(reader, &object, frame, reader->frame_bytes))
        return false;
    unsigned owner = object.bytes[layout->frame.owner];
    *previous = word_in(&object, layout->frame.previous);
    *call = (struct python_call){.frame = frame,
                                 .code = word_in(&object, layout->frame.code) & ~UINT64_C(3), /* 3.14 has tags there */
                                 .instruction = word_in(&object, layout->frame.instruction),
                                 .is_generator = owner == PYTHON_OWNED_BY_GENERATOR};
    return owner < PYTHON_OWNED_BY_C;
}

#define SAME_ENOUGH 2 /* unchanged calls in a row after which all outer calls are taken as unchanged */

void python_reader_calls(const struct python_reader *reader, uint64_t frame, struct python_calls *calls)
{
    const struct python_calls before = *calls;
    size_t known = 0; /* place in BEFORE from which on a frame is searched */
    unsigned same = 0;
    calls->count = 0;
    /* At most every second frame belongs to a C call. */
    for (unsigned i = 0; frame != 0 && calls->count < PYTHON_CALLS_MOST && i < 2 * PYTHON_CALLS_MOST; i++) {
        struct python_call *call = &calls->items[calls->count];
        if (!read_call(reader, frame, call, &frame))
            continue;
        calls->count++;
        size_t place = known;
        while (place < before.count && before.items[place].frame != call->frame)
            place++;
        if (place == before.count)
            continue;
        call->stays = before.items[place].code == call->code;
        bool unchanged = call->stays && before.items[place].instruction == call->instruction;
        same = unchanged ? same + 1 : 0;
        for (known = place + 1; same == SAME_ENOUGH && known < before.count && calls->count < PYTHON_CALLS_MOST;
             known++) {
            calls->items[calls->count] = before.items[known];
            calls->items[calls->count++].stays = true;
        }
        if (same == SAME_ENOUGH)
            return;
    }
}

/* --- code --- */

/* Reads the code object at ADDRESS without its bytecode. Returns its print, or 0 if there is none. */
static uint64_t read_code(const struct python_reader *reader, uint64_t address, struct object *object)
{
    const struct python_layout *layout = &reader->layout;
    if (!copy(reader, object, address, layout->code.bytecode) || word_in(object, PYTHON_TYPE) != reader->code_type)
        return 0;
    const uint64_t parts[] = {word_in(object, layout->code.name), word_in(object, layout->code.file),
                              word_in(object, layout->code.line_table), half_in(object, layout->code.first_line),
                              layout->code.version ? half_in(object, layout->code.version) : 0};
    return hash_bytes(parts, sizeof(parts)) | 1;
}

uint64_t python_reader_print(const struct python_reader *reader, uint64_t address)
{
    struct object object;
    return read_code(reader, address, &object);
}

/* Returns a copy of the string at ADDRESS, "" if it cannot be read, or NULL if memory is short. */
static char *read_text(const struct python_reader *reader, uint64_t address)
{
    enum { HEAD = PYTHON_TEXT_STATE + sizeof(uint32_t), WIDEST = 4 };
    uint8_t characters[TEXT_CHARACTERS * WIDEST];
    char text[TEXT_CHARACTERS];
    struct object head;
    size_t length = 0;
    if (copy(reader, &head, address, HEAD) && word_in(&head, PYTHON_TYPE) == reader->text_type) {
        struct python_text kind = python_text_of(half_in(&head, PYTHON_TEXT_STATE));
        uint64_t count = word_in(&head, PYTHON_SIZE);
        uint64_t from = address + (kind.is_ascii ? reader->layout.text.ascii : reader->layout.text.compact);
        if (count > TEXT_CHARACTERS)
            count = TEXT_CHARACTERS;
        if (kind.width != 0 && copy(reader, characters, from, count * kind.width))
            length = python_text_utf8(text, sizeof(text), characters, count, kind.width);
    }
    return strndup(text, length);
}

bool python_reader_code(const struct python_reader *reader, uint64_t address, struct python_code *code)
{
    const struct python_layout *layout = &reader->layout;
    struct object object;
    *code = (struct python_code){.address = address, .print = read_code(reader, address, &object)};
    if (code->print == 0)
        return false;
    code->first_line = half_in(&object, layout->code.first_line);
    code->traceable = (int32_t)half_in(&object, layout->code.bytecode - PYTHON_TRACEABLE);
    code->function = read_text(reader, word_in(&object, layout->code.name));
    code->file = read_text(reader, word_in(&object, layout->code.file));
    uint64_t size, table = word_in(&object, layout->code.line_table);
    if (copy_word(reader, &size, table + PYTHON_SIZE) && size > 0 && size <= LINE_TABLE_BYTES)
        code->line_table = malloc(size);
    if (code->line_table && copy(reader, code->line_table, table + PYTHON_BYTES, size))
        code->line_table_bytes = size;
    return code->function && code->file;
}

void python_code_release(struct python_code *code)
{
    free(code->function);
    free(code->file);
    free(code->line_table);
}

bool python_call_line(const struct python_reader *reader, const struct python_code *code,
                      const struct python_call *call, uint32_t *line)
{
    struct line_table table = {.kind = reader->layout.lines,
                               .bytes = code->line_table,
                               .length = code->line_table_bytes,
                               .first = (int)code->first_line};
    int64_t offset = (int64_t)(call->instruction - (code->address + reader->layout.code.bytecode));
    *line = line_at(&table, offset);
    return call->is_generator || offset >= 2 * (int64_t)code->traceable;
}
