/*
 * Walks the Python frames of the calling thread and turns each place (code object and instruction) into a number, with
 * a cache for each thread. A fault while memory is read leaves by siglongjmp(), and then there are no frames.
 *
 * perf/python_process walks the frames of other processes. It shares layouts, strings and lines with this walk
 * (common/python_layout.h), but not the walk itself: it copies each frame by a system call, trusts nothing that it
 * reads while the process runs, and skips what has not changed since its last reading. Here a frame costs a few
 * nanoseconds of plain loads from memory that cannot change, at every launch, and a signal handler may end the walk.
 */
#include "agent/python/frames.h"

#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/dispatch/registry.h"
#include "common/map.h"
#include "common/threads.h"

/* --- contents of a code object, which a frame of this thread must hold, in a proved layout --- */

/* Not checked by the thread sanitizer, which would report memory that the end of the interpreter frees meanwhile. */
#define PYTHON_MEMORY __attribute__((no_sanitize("thread"))) static inline

PYTHON_MEMORY uint64_t python_word(uint64_t object, uint64_t offset)
{
    return *(const uint64_t *)(uintptr_t)(object + offset);
}

PYTHON_MEMORY uint32_t python_half(uint64_t object, uint64_t offset)
{
    return *(const uint32_t *)(uintptr_t)(object + offset);
}

PYTHON_MEMORY unsigned char python_byte(uint64_t object, uint64_t offset)
{
    return *(const unsigned char *)(uintptr_t)(object + offset);
}

/* Writes the text at OFFSET of a code object, the name of its function or of its file, as UTF-8, cut to SPACE bytes.
 * Returns the number of bytes, 0 if there is no text. */
static size_t code_text(const struct interpreter *python, uint64_t code, uint64_t offset, char *out, size_t space)
{
    uint64_t object = python_word(code, offset);
    if (python_word(object, PYTHON_TYPE) != python->text)
        return 0;
    struct python_text text = python_text_of(python_half(object, PYTHON_TEXT_STATE));
    uint64_t characters = object + (text.is_ascii ? python->layout.text.ascii : python->layout.text.compact);
    if (text.width == 0)
        return 0;
    return python_text_utf8(out, space, (const void *)(uintptr_t)characters, python_word(object, PYTHON_SIZE),
                            text.width);
}

/* Odd numbers without a pattern: sums of products with them differ when the factors do, and all products can be
 * computed in parallel. */
static const uint64_t factors[] = {
    UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xbf58476d1ce4e5b9), UINT64_C(0x94d049bb133111eb),
    UINT64_C(0xd6e8feb86659fd93), UINT64_C(0xa0761d6478bd642f), UINT64_C(0xe7037ed1a0b428db),
    UINT64_C(0x8ebc6af09c88c6e3), UINT64_C(0x589965cc75374cc3), UINT64_C(0x1d8e4e27c47d124f),
    UINT64_C(0xeb44accab455d165), UINT64_C(0xc2b2ae3d27d4eb4f), UINT64_C(0x165667b19e3779f9),
};

/* Returns a hash of a string's address, its length and, if they are cheap to read because it is ASCII, its last
 * characters. */
static uint64_t print_string(const struct interpreter *python, uint64_t object, const uint64_t *by)
{
    uint64_t length = python_word(object, PYTHON_SIZE), last = 0;
    uint32_t state = python_half(object, PYTHON_TEXT_STATE);
    if ((state >> 5 & 3) == 3 && length >= sizeof(last))
        memcpy(&last, (const char *)(uintptr_t)(object + python->layout.text.ascii + length - sizeof(last)),
               sizeof(last));
    return object * by[0] + length * by[1] + last * by[2];
}

/* Returns a fingerprint of a code object, because code may be freed and other code may take its address. It is certain
 * from 3.12 on, where code is numbered. Before, two code objects with equal fingerprints have line tables of equal
 * length and beginning, equal first lines, and names with equal ends, all at the same addresses. */
static uint64_t code_print(const struct interpreter *python, uint64_t code)
{
    const struct python_layout *layout = &python->layout;
    uint64_t name = python_word(code, layout->code.name), file = python_word(code, layout->code.file);
    uint64_t first_line = python_half(code, layout->code.first_line);
    uint32_t version = layout->code.version ? python_half(code, layout->code.version) : 0;
    uint64_t print = (first_line << 32 | version) * factors[11];
    if (version) {
        print += name * factors[0] + file * factors[3];
    } else {
        /* Hashes the code's contents, with the name's own hash, which Python computes when the code is created. */
        uint64_t table = python_word(code, layout->code.line_table);
        uint64_t length = python_word(table, PYTHON_SIZE), first = 0, last = 0;
        if (length >= sizeof(first)) {
            first = python_word(table, PYTHON_BYTES);
            memcpy(&last, (const char *)(uintptr_t)(table + PYTHON_BYTES + length - sizeof(last)), sizeof(last));
        }
        print += print_string(python, name, factors) + print_string(python, file, factors + 3) + table * factors[6] +
                 length * factors[7] + first * factors[8] + last * factors[9] +
                 python_word(name, PYTHON_TEXT_HASH) * factors[10];
    }
    return print ^ print >> 32;
}

/* Returns the line of an instruction, as in a frame, or 0 if it has none. */
static uint32_t code_line(const struct interpreter *python, uint64_t code, uint64_t instruction)
{
    const struct python_layout *layout = &python->layout;
    uint64_t bytes = python_word(code, layout->code.line_table);
    struct line_table table = {
        .kind = layout->lines,
        .bytes = (const unsigned char *)(uintptr_t)(bytes + PYTHON_BYTES),
        .length = python_word(bytes, PYTHON_SIZE),
        .first = (int)python_half(code, layout->code.first_line),
    };
    /* The offset of the instruction in the bytecode; negative before the first instruction. */
    int64_t offset = layout->frames == PYTHON_FRAME_OBJECTS
                         ? (int32_t)instruction * (layout->lines == PYTHON_LNOTAB ? 1 : 2)
                         : (int64_t)(instruction - (code + layout->code.bytecode));
    return line_at(&table, offset);
}

/* --- the interpreter --- */

enum state {
    STATE_NONE,   /* no interpreter was found */
    STATE_FOUND,  /* an interpreter was found, but no frames were read yet */
    STATE_PROVED, /* the first frames fitted the layout */
    STATE_REFUSED,
};

#define SETS 1024                       /* number of sets of places that a thread remembers */
#define WAYS 2                          /* number of places in each set */
#define NUMBERS_MAX (UINT32_C(1) << 20) /* maximum of numbered frames; further frames have no names */
#define PLACES_MAX (UINT32_C(1) << 18)  /* maximum of places of all threads, after which all are forgotten */
#define FUNCTION_BYTES 1024
#define FILE_BYTES 4096

/* A place in a function. PRINT is a fingerprint of CODE, and WORD is the place's word in a stack. */
struct place {
    uint64_t code, instruction, print, word;
};

/* The places that one thread has seen, with their numbers. */
struct memory {
    uint32_t generation; /* fork generation: a forked child must not use its parent's numbers */
    uint32_t thread;     /* gettid() of the thread */
    struct place sets[SETS][WAYS];
};

static __thread struct memory *mine;

static struct {
    enum state state; /* also read without the lock, and written last */
    struct interpreter interpreter;
    uint64_t changes; /* 1 + counter of loaded and unloaded libraries at the last search; 0: no search yet */
    bool (*record)(const struct python_frame *frame);
    void (*refused)(const char *version);

    pthread_mutex_t lock; /* guards the members below */
    struct map places;    /* hash of a place -> number */
    struct map numbers;   /* hash of a frame's names and line -> number */
    char function[FUNCTION_BYTES], file[FILE_BYTES];
} python = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct thread_key at_thread_end;

/* Not checked by the thread sanitizer: the C library frees a thread's variables when another thread finds that it has
 * ended, which the sanitizer cannot see and reports as a race. */
__attribute__((no_sanitize("thread"))) static void forget(void *unused)
{
    (void)unused;
    free(mine);
    mine = NULL;
}

void python_begin(bool (*record)(const struct python_frame *frame), void (*refused)(const char *version))
{
    python.refused = refused;
    __atomic_store_n(&python.record, record, __ATOMIC_RELEASE);
}

/* --- readers --- */

#define READERS 64 /* maximum of threads that read at a time; others get no frames */

/* The threads that are reading. A signal handler looks for its thread here: thread-local variables may need memory,
 * which a handler cannot allocate. */
static struct reader {
    uint32_t thread;   /* 0: free */
    bool locked;       /* the thread holds python.lock */
    bool may_escape;   /* a fault now is in the interpreter's memory */
    sigjmp_buf escape; /* jump target for a fault */
} readers[READERS];

/* Returns a reader for this thread, or NULL if there are too many. */
static struct reader *reader_begin(uint32_t thread)
{
    for (unsigned i = 0; i < READERS; i++) {
        struct reader *reader = &readers[(thread + i) % READERS];
        uint32_t nobody = 0;
        if (!__atomic_compare_exchange_n(&reader->thread, &nobody, thread, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        reader->locked = reader->may_escape = false;
        return reader;
    }
    return NULL;
}

static void let_escape(struct reader *reader, bool may)
{
    reader->may_escape = may;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

bool python_may_escape(uint32_t thread)
{
    for (unsigned i = 0; i < READERS; i++)
        if (__atomic_load_n(&readers[i].thread, __ATOMIC_RELAXED) == thread)
            return readers[i].may_escape;
    return false;
}

void python_escape(uint32_t thread)
{
    for (unsigned i = 0; i < READERS; i++)
        if (__atomic_load_n(&readers[i].thread, __ATOMIC_RELAXED) == thread)
            siglongjmp(readers[i].escape, 1);
}

/* --- the interpreter --- */

static enum state state(void)
{
    return __atomic_load_n(&python.state, __ATOMIC_ACQUIRE);
}

/* Sets the state, and reports a refusal. The caller holds the lock. */
static void set_state(enum state state)
{
    __atomic_store_n(&python.state, state, __ATOMIC_RELEASE);
    if (state == STATE_REFUSED)
        python.refused(python.interpreter.version);
}

bool python_is_found(void)
{
    return state() == STATE_FOUND || state() == STATE_PROVED;
}

bool python_find(uint64_t changes)
{
    if (state() != STATE_NONE)
        return python_is_found();
    if (__atomic_load_n(&python.changes, __ATOMIC_RELAXED) == changes + 1)
        return false;
    struct interpreter found;
    enum interpreter_found how = interpreter_find(&found); /* without the lock: the loader has one */
    pthread_mutex_lock(&python.lock);
    if (state() == STATE_NONE && how != INTERPRETER_NONE) {
        python.interpreter = found;
        set_state(how == INTERPRETER_FOUND ? STATE_FOUND : STATE_REFUSED);
    }
    __atomic_store_n(&python.changes, changes + 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&python.lock);
    return python_is_found();
}

/* Whether frames may be read now. Proves the layout by the first frames. */
static bool prove(const char *thread)
{
    if (state() != STATE_FOUND)
        return state() == STATE_PROVED;
    enum interpreter_proof proof = interpreter_prove(&python.interpreter, thread);
    pthread_mutex_lock(&python.lock);
    if (state() == STATE_FOUND && proof != PROOF_NO_FRAMES)
        set_state(proof == PROOF_GOOD ? STATE_PROVED : STATE_REFUSED);
    pthread_mutex_unlock(&python.lock);
    return state() == STATE_PROVED;
}

bool python_is_loop(uint64_t address)
{
    return address > python.interpreter.loop && address <= python.interpreter.loop_end;
}

bool python_has_image(uint64_t start, uint64_t end)
{
    uint64_t loop = python.interpreter.loop;
    return python_is_found() && python.interpreter.owns_image && start <= loop && loop < end;
}

/* --- places --- */

/* Records a function and line. Returns its number, or 0 if it could not be recorded. The caller holds the lock. */
static uint64_t record_frame(uint64_t hash, size_t function, size_t file, uint32_t line)
{
    bool is_new = false;
    uint64_t *number = map_put(&python.numbers, hash, &is_new);
    if (!number)
        return 0;
    if (!is_new)
        return *number;
    *number = map_count(&python.numbers);
    const struct python_frame frame = {
        .number = *number,
        .line = line,
        .function = text_of_bytes(python.function, function),
        .file = text_of_bytes(python.file, file),
    };
    if (frame.number <= NUMBERS_MAX && python.record(&frame))
        return frame.number;
    map_remove(&python.numbers, hash);
    return 0;
}

/* Returns the number of a place, which is recorded if it is new, or 0 if it could not be recorded. The caller holds the
 * lock. */
static uint64_t number_of(struct reader *reader, const struct place *place)
{
    const struct interpreter *interpreter = &python.interpreter;
    let_escape(reader, true);
    uint64_t name_at = interpreter->layout.code.name, file_at = interpreter->layout.code.file;
    size_t function = code_text(interpreter, place->code, name_at, python.function, sizeof(python.function));
    size_t file = code_text(interpreter, place->code, file_at, python.file, sizeof(python.file));
    uint32_t line = code_line(interpreter, place->code, place->instruction);
    let_escape(reader, false);
    uint64_t parts[] = {hash_bytes(python.function, function), hash_bytes(python.file, file), line};
    return record_frame(hash_bytes(parts, sizeof(parts)), function, file, line);
}

/* Returns the number of a place that this thread does not remember but another thread may, or 0. */
static uint64_t shared_number_of(struct reader *reader, const struct place *place)
{
    uint64_t hash = hash_bytes(place, offsetof(struct place, word));
    let_escape(reader, false);
    pthread_mutex_lock(&python.lock);
    reader->locked = true;
    const uint64_t *known = map_get(&python.places, hash);
    uint64_t number = known ? *known : number_of(reader, place);
    if (!known && number != 0) {
        if (map_count(&python.places) >= PLACES_MAX)
            map_release(&python.places);
        map_set(&python.places, hash, number);
    }
    reader->locked = false;
    pthread_mutex_unlock(&python.lock);
    let_escape(reader, true);
    return number;
}

static struct memory *memory_of_thread(void)
{
    if (!mine && thread_key_set(&at_thread_end, forget))
        mine = calloc(1, sizeof(*mine));
    if (mine && mine->generation != fork_generation()) {
        memset(mine, 0, sizeof(*mine));
        mine->generation = fork_generation();
    }
    if (mine && mine->thread == 0)
        mine->thread = (uint32_t)gettid();
    return mine;
}

static uint64_t word_of(struct reader *reader, struct memory *memory, uint64_t code, uint64_t instruction)
{
    struct place place = {code, instruction, code_print(&python.interpreter, code), PYTHON_WORD};
    uint64_t hash = (code ^ instruction << 7) * UINT64_C(0x9e3779b97f4a7c15);
    static_assert(SETS == 1 << (64 - 54), "ten bits choose a set");
    struct place *set = memory ? memory->sets[hash >> 54] : NULL;
    for (unsigned i = 0; set && i < WAYS; i++)
        if (set[i].code == code && set[i].instruction == instruction && set[i].print == place.print)
            return set[i].word;
    uint64_t number = shared_number_of(reader, &place);
    place.word |= number;
    if (set && number != 0) {
        set[1] = set[0];
        set[0] = place;
    }
    return place.word;
}

/* --- frames --- */

struct walk {
    const struct python_layout *layout;
    struct python_stack *stack;
    struct memory *memory;
    struct reader *reader;
    uint64_t c_frame;
    unsigned placed; /* number of frames whose place is known */
};

/* Frames of functions have a code object. Other objects in its place are not read. */
#define IS_CODE(object) ((object) != 0 && python_word((object), PYTHON_TYPE) == python.interpreter.code)

static void put_frame(struct walk *walk, uint64_t code, uint64_t instruction)
{
    walk->stack->words[walk->stack->count] =
        IS_CODE(code) ? word_of(walk->reader, walk->memory, code, instruction) : PYTHON_WORD;
    walk->stack->places[walk->stack->count++] = 0;
}

/* Sets the place of all frames since the last C call to PLACE. */
static void put_place(struct walk *walk, uint64_t place)
{
    while (walk->placed < walk->stack->count)
        walk->stack->places[walk->placed++] = place;
}

/* Walks the frames of CPython up to 3.10. In 3.10 each frame has a C frame, the last of which is not on the stack. */
static void walk_objects(struct walk *walk, uint64_t frame)
{
    const struct python_layout *layout = walk->layout;
    while (frame != 0 && walk->stack->count < PYTHON_FRAMES_MAX) {
        put_frame(walk, python_word(frame, layout->frame.code), python_half(frame, layout->frame.instruction));
        put_place(walk, walk->c_frame);
        if (walk->c_frame != 0)
            walk->c_frame = python_word(walk->c_frame, layout->c_frame.previous);
        frame = python_word(frame, layout->frame.previous);
    }
}

/* Walks the frames of CPython from 3.11 on. */
static void walk_frames(struct walk *walk, uint64_t frame)
{
    const struct python_layout *layout = walk->layout;
    for (; frame != 0; frame = python_word(frame, layout->frame.previous)) {
        unsigned owner = python_byte(frame, layout->frame.owner);
        if (owner >= PYTHON_OWNED_BY_C) {
            put_place(walk, frame);
            continue;
        }
        if (walk->stack->count == PYTHON_FRAMES_MAX)
            break;
        uint64_t code = python_word(frame, layout->frame.code) & ~UINT64_C(3); /* 3.14 stores marks in the low bits */
        uint64_t instruction = python_word(frame, layout->frame.instruction);
        uint64_t bytecode = code + layout->code.bytecode;
        bool begun = !IS_CODE(code) || owner == PYTHON_OWNED_BY_GENERATOR ||
                     (int64_t)(instruction - bytecode) >=
                         2 * (int64_t)(int32_t)python_half(bytecode, -(uint64_t)PYTHON_TRACEABLE);
        if (begun)
            put_frame(walk, code, instruction);
        if (layout->frame.is_entry && python_byte(frame, layout->frame.is_entry)) {
            put_place(walk, walk->c_frame);
            walk->c_frame = python_word(walk->c_frame, layout->c_frame.previous);
        }
    }
}

/* Reads the frames. They are discarded if the interpreter has ended meanwhile. Returns the number of frames. */
static unsigned try_read(struct reader *reader, struct python_stack *stack)
{
    let_escape(reader, true);
    const char *thread = interpreter_thread(&python.interpreter);
    let_escape(reader, false);
    if (!thread || !prove(thread))
        return 0;
    const struct python_layout *layout = &python.interpreter.layout;
    uint64_t at = (uint64_t)(uintptr_t)thread;
    struct walk walk = {.layout = layout, .stack = stack, .reader = reader};
    let_escape(reader, true);
    walk.memory = memory_of_thread();
    if (layout->state.c_frame != 0)
        walk.c_frame = python_word(at, layout->state.c_frame);
    if (layout->frames == PYTHON_FRAME_OBJECTS)
        walk_objects(&walk, python_word(at, layout->state.frame));
    else
        walk_frames(&walk, python_word(walk.c_frame ? walk.c_frame : at, layout->state.frame));
    bool same = interpreter_thread(&python.interpreter) == thread;
    let_escape(reader, false);
    return same ? stack->count : 0;
}

unsigned python_frames(struct python_stack *stack)
{
    stack->count = 0;
    if (!python_is_found())
        return 0;
    const struct memory *memory = memory_of_thread();
    struct reader *const reader = reader_begin(memory ? memory->thread : (uint32_t)gettid());
    if (!reader)
        return 0;
    stack->count = sigsetjmp(reader->escape, 0) == 0 ? try_read(reader, stack) : 0;
    if (reader->locked) /* a fault came while the thread held the lock */
        pthread_mutex_unlock(&python.lock);
    __atomic_store_n(&reader->thread, 0, __ATOMIC_RELEASE);
    return stack->count;
}

void python_atfork_child(void)
{
    /* The fork may have interrupted a change, so old memory is left and not freed. */
    memset(readers, 0, sizeof(readers));
    memset(&python.places, 0, sizeof(python.places));
    memset(&python.numbers, 0, sizeof(python.numbers));
    pthread_mutex_init(&python.lock, NULL);
}
