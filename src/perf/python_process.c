/*
 * Reads interpreter, thread states, frames and code objects with process_vm_readv(2) at the offsets of
 * common/python_layout.h. Each read is checked, since the process changes its memory meanwhile.
 *
 * Keeps, for one process, the code objects and lines seen so far, the stacks made of them, and for each thread the
 * latest stacks with their times. All have bounded space.
 */
#include "perf/python_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "common/memory.h"
#include "common/spool_records.h"
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

/* A thread that the interpreter knows. */
struct python_state {
    uint32_t tid;
    uint64_t frame; /* address of the innermost frame; 0: none */
};

static size_t read_states(const struct python_reader *reader, uint64_t at, struct python_state *states, size_t most)
{
    const struct python_layout *layout = &reader->layout;
    size_t count = 0;
    while (at != 0 && count < most) {
        struct object state;
        if (!copy(reader, &state, at, reader->state_bytes))
            break;
        uint64_t tid = word_in(&state, layout->state.thread + sizeof(uint64_t)), frame = 0;
        if (layout->state.c_frame == 0) {
            frame = word_in(&state, layout->state.frame);
        } else {
            uint64_t c_frame = word_in(&state, layout->state.c_frame);
            if (c_frame != 0 && !copy_word(reader, &frame, c_frame + layout->state.frame))
                frame = 0;
        }
        states[count++] = (struct python_state){.tid = (uint32_t)tid, .frame = frame};
        at = word_in(&state, PYTHON_NEXT_STATE);
    }
    return count;
}

/* Reads at most MOST threads into STATES. Returns their number, or -1 with errno set if the process cannot be read. */
static int read_threads(const struct python_reader *reader, struct python_state *states, size_t most)
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

/* Reads the calls from FRAME outwards. CALLS holds the calls of the last read: once two calls in a row are unchanged,
 * the outer calls are copied from there, since a function's callers do not change. */
static void read_calls(const struct python_reader *reader, uint64_t frame, struct python_calls *calls)
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

/* Copies the code object at ADDRESS. Returns false if there is none or memory is short. Release CODE in either case. */
static bool copy_code(const struct python_reader *reader, uint64_t address, struct python_code *code)
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

static void release_code(struct python_code *code)
{
    free(code->function);
    free(code->file);
    free(code->line_table);
}

/* Returns whether CALL has reached its function's own instructions, and sets *LINE to its line, or to 0 if it has none. */
static bool find_line(const struct python_reader *reader, const struct python_code *code,
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

/* --- one process over time --- */

#define PYTHON_WORD (SPOOL_STACK_PYTHON << 48)

#define THREADS_MOST 256             /* then a new thread replaces the one not seen for longest */
#define CODES_MOST ((size_t)1 << 17) /* new code beyond these is left out of stacks */
#define PLACES_MOST ((size_t)1 << 20)
#define WORDS_MOST ((size_t)4 << 20) /* of all stacks, 32 MiB; new stacks beyond these are dropped */
#define NEAR_TICKS 2                 /* a tick counts for times up to so many intervals away */

struct python_process *python_process_new(const struct python_reader *reader, uint32_t pid)
{
    struct python_process *process = calloc(1, sizeof(*process));
    if (!process)
        return NULL;
    process->reader = *reader;
    process->reader.pid = pid;
    return process;
}

void python_process_free(struct python_process *process)
{
    if (!process)
        return;
    for (size_t i = 0; i < process->codes.count; i++)
        release_code(&process->codes.items[i]);
    for (size_t i = 0; i < process->threads.count; i++)
        free(process->threads.items[i]);
    struct map *const maps[] = {&process->code_at, &process->number_of_place, &process->number_of_line,
                                &process->stack_of, &process->thread_of};
    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
        map_release(maps[i]);
    array_release(&process->codes);
    array_release(&process->lines);
    array_release(&process->stacks);
    array_release(&process->words);
    array_release(&process->threads);
    free(process);
}

/* --- code and lines of a process --- */

/* Returns the index of CALL's code, which is read if it is new; SIZE_MAX if it cannot be read or kept. Other code may
 * have taken the address of known code, unless the call stays. */
static size_t find_code(struct python_process *process, const struct python_call *call)
{
    const uint64_t *known = map_get(&process->code_at, call->code);
    struct object object;
    if (known && *known &&
        (call->stays || read_code(&process->reader, call->code, &object) == process->codes.items[*known - 1].print))
        return (size_t)*known - 1;
    struct python_code code;
    if (process->codes.count == CODES_MOST)
        return SIZE_MAX;
    bool is_code = copy_code(&process->reader, call->code, &code);
    struct python_code *kept = is_code ? array_push(&process->codes) : NULL;
    uint64_t *at = kept ? map_put(&process->code_at, call->code, NULL) : NULL;
    if (!kept)
        release_code(&code);
    else
        *kept = code;
    if (!at)
        return SIZE_MAX;
    *at = process->codes.count;
    return process->codes.count - 1;
}

/* Returns the number of a line, which is added if it is new, or 0 if memory is short. */
static uint64_t number_of_line(struct python_process *process, size_t code, uint32_t line)
{
    const uint64_t parts[] = {code, line};
    bool is_new;
    uint64_t *number = map_put(&process->number_of_line, hash_bytes(parts, sizeof(parts)), &is_new);
    struct python_line *added = number && is_new ? array_push(&process->lines) : NULL;
    if (added) {
        *added = (struct python_line){.code = code, .line = line};
        *number = process->lines.count;
    }
    return number ? *number : 0;
}

/* Returns the word for CALL; 0 if stacks leave its function out or the function has not begun. */
static uint64_t word_of(struct python_process *process, const struct python_call *call)
{
    size_t code = find_code(process, call);
    const uint64_t parts[] = {code, call->instruction};
    bool is_new, has_space = code != SIZE_MAX && map_count(&process->number_of_place) < PLACES_MOST;
    uint64_t *place = has_space ? map_put(&process->number_of_place, hash_bytes(parts, sizeof(parts)), &is_new) : NULL;
    if (!place)
        return 0;
    if (is_new) {
        const struct python_code *known = &process->codes.items[code];
        uint32_t line;
        bool shown = find_line(&process->reader, known, call, &line);
        /* Of Python's import machinery only the outermost function is shown, as a sign of an import. */
        if (strncmp(known->file, "<frozen importlib", strlen("<frozen importlib")) == 0)
            shown = shown && strcmp(known->function, "_find_and_load") == 0;
        *place = shown ? number_of_line(process, code, line) : 0;
    }
    return *place ? PYTHON_WORD | *place : 0;
}

struct python_line *python_process_line(const struct python_process *process, uint64_t word)
{
    uint64_t number = word & PYTHON_NUMBER_MASK;
    bool is_line = (word & ~PYTHON_NUMBER_MASK) == PYTHON_WORD && number > 0 && number <= process->lines.count;
    return is_line ? &process->lines.items[number - 1] : NULL;
}

size_t python_process_text(const struct python_process *process, const struct python_line *line,
                           char text[PYTHON_LINE_BYTES])
{
    const struct python_code *code = &process->codes.items[line->code];
    size_t function = strnlen(code->function, PYTHON_LINE_BYTES / 2 - 1);
    size_t file = strnlen(code->file, PYTHON_LINE_BYTES / 2);
    memcpy(text, code->function, function);
    text[function] = '\0';
    memcpy(text + function + 1, code->file, file);
    return function + 1 + file;
}

/* --- stacks of a process --- */

/* Returns the index + 1 of a stack, which is added if it is new; 0 if it is empty or there is no space. */
static size_t find_stack(struct python_process *process, const uint64_t *words, size_t count)
{
    bool is_new;
    if (count == 0 || process->words.count + count > WORDS_MOST)
        return 0;
    uint64_t *index = map_put(&process->stack_of, hash_bytes(words, count * sizeof(*words)), &is_new);
    if (!index)
        return 0;
    if (!is_new)
        return (size_t)*index;
    struct python_words *stack = array_push(&process->stacks);
    if (!stack)
        return 0;
    *stack = (struct python_words){.first = process->words.count};
    for (uint64_t *word; stack->count < count && (word = array_push(&process->words)); stack->count++)
        *word = words[stack->count];
    *index = process->stacks.count;
    return process->stacks.count;
}

static size_t read_stack(struct python_process *process, struct python_calls *calls, uint64_t frame)
{
    uint64_t words[PYTHON_CALLS_MOST];
    size_t count = 0;
    read_calls(&process->reader, frame, calls);
    for (size_t i = 0; i < calls->count; i++) {
        uint64_t word = word_of(process, &calls->items[i]);
        if (word != 0)
            words[count++] = word;
    }
    return find_stack(process, words, count);
}

/* --- threads of a process --- */

static struct python_seen *seen_at(struct python_thread *thread, size_t i)
{
    return &thread->seen[i % PYTHON_SEEN_MOST];
}

static uint64_t last_seen(struct python_thread *thread)
{
    return thread->count > 0 ? seen_at(thread, thread->count - 1)->to : 0;
}

/* Returns the index of a place for a new thread, or SIZE_MAX if memory is short. */
static size_t make_place(struct python_process *process)
{
    size_t oldest = 0, count = process->threads.count;
    if (count < THREADS_MOST) {
        struct python_thread *made = calloc(1, sizeof(*made)), **place = made ? array_push(&process->threads) : NULL;
        if (place)
            *place = made;
        else
            free(made);
        return place ? count : SIZE_MAX;
    }
    for (size_t i = 1; i < count; i++)
        if (last_seen(process->threads.items[i]) < last_seen(process->threads.items[oldest]))
            oldest = i;
    map_remove(&process->thread_of, process->threads.items[oldest]->tid);
    memset(process->threads.items[oldest], 0, sizeof(struct python_thread));
    return oldest;
}

static struct python_thread *get_thread(struct python_process *process, uint32_t tid)
{
    const uint64_t *known = map_get(&process->thread_of, tid);
    if (known)
        return process->threads.items[*known];
    size_t place = make_place(process);
    uint64_t *index = place != SIZE_MAX ? map_put(&process->thread_of, tid, NULL) : NULL;
    if (!index)
        return NULL;
    *index = place;
    process->threads.items[place]->tid = tid;
    return process->threads.items[place];
}

int python_process_tick(struct python_process *process, uint64_t now, uint64_t every)
{
    struct python_state states[THREADS_MOST];
    if (process->ended)
        return 0;
    process->near = NEAR_TICKS * every;
    int count = read_threads(&process->reader, states, THREADS_MOST);
    if (count < 0) {
        process->ended = errno != EFAULT; /* the interpreter may not have started yet */
        return process->ended ? -1 : 0;
    }
    for (int i = 0; i < count; i++) {
        struct python_thread *thread = get_thread(process, states[i].tid);
        if (!thread)
            continue;
        size_t stack = read_stack(process, &thread->calls, states[i].frame);
        struct python_seen *last = thread->count > 0 ? seen_at(thread, thread->count - 1) : NULL;
        if (last && last->stack == stack && now - last->to <= process->near)
            last->to = now;
        else
            *seen_at(thread, thread->count++) = (struct python_seen){now, now, stack};
    }
    return 0;
}

/* Returns the ns between the time FROM to TO and the ticks that found SEEN; 0 if they overlap. */
static uint64_t distance(const struct python_seen *seen, uint64_t from, uint64_t to)
{
    if (to < seen->from)
        return seen->from - to;
    return from > seen->to ? from - seen->to : 0;
}

size_t python_process_at(const struct python_process *process, uint32_t tid, uint64_t from, uint64_t to,
                         const uint64_t **words)
{
    const uint64_t *index = map_get(&process->thread_of, tid);
    struct python_thread *thread = index ? process->threads.items[*index] : NULL;
    const struct python_seen *nearest = NULL;
    size_t known = thread && thread->count < PYTHON_SEEN_MOST ? thread->count : PYTHON_SEEN_MOST;
    for (size_t i = 1; thread && i <= known; i++) {
        const struct python_seen *seen = seen_at(thread, thread->count - i);
        if (!nearest || distance(seen, from, to) < distance(nearest, from, to))
            nearest = seen;
        if (seen->to < from) /* earlier stacks are farther away */
            break;
    }
    if (!nearest || nearest->stack == 0 || distance(nearest, from, to) > process->near)
        return 0;
    const struct python_words *stack = &process->stacks.items[nearest->stack - 1];
    *words = process->words.items + stack->first;
    return stack->count;
}
