/*
 * Makes one call stack of the native frames and the Python frames of the calling thread, without frames of gputrace,
 * CUPTI and the interpreter, and numbers each different stack. A known stack costs a lookup.
 */
#include "agent/spool/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/dispatch/registry.h"
#include "agent/python/frames.h"
#include "agent/spool/unwind.h"
#include "agent/spool/writer.h"
#include "common/array.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/map.h"
#include "common/memory.h"

#define PYTHON_NAME_MAX 1024u /* maximum bytes of a function's name */

static_assert(STACK_WORDS_MAX >= PYTHON_FRAMES_MAX, "all functions of Python fit");
static_assert(UNWIND_FRAMES_MAX >= 2 * STACK_FRAMES_MAX, "there is space for the frames of the tracing too");

/* OWNER_PYTHON: the interpreter and its executable; OWNER_LIBC: the library that starts programs and threads. */
enum owner { OWNER_PROGRAM, OWNER_GPUTRACE, OWNER_CUPTI, OWNER_PYTHON, OWNER_LIBC };

/* A mapping of code in /proc/self/maps: its addresses and its owner. */
struct code {
    uint64_t start, end;
    enum owner owner;
};

static struct {
    pthread_mutex_t lock;
    uint32_t last;           /* number of the last stack */
    struct map known;        /* hash of a stack's addresses -> number */
    struct map seen;         /* hash of a whole unwound stack -> number; valid until a library is loaded or unloaded */
    struct map written;      /* hash of a line of maps that is in the spool -> 1 */
    ARRAY(struct code) code; /* the process's code mappings when they were last read, by address */
    uint64_t changes;        /* counter of loaded and unloaded libraries at that time */
    struct map nowhere;      /* addresses that were in no mapping -> 0 */
    uint32_t generation;     /* number of forks before this process; invalidates numbers remembered from a parent */
} stacks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- records; false if there was no space --- */

static bool record_python_frame(const struct python_frame *frame)
{
    /* The record's text is the function's name, a NUL, and the file. */
    char function[PYTHON_NAME_MAX + 1];
    uint32_t length = frame->function.length < PYTHON_NAME_MAX ? frame->function.length : PYTHON_NAME_MAX;
    memcpy(function, frame->function.bytes, length);
    function[length] = '\0';
    const struct spool_python_frame record = {.number = frame->number, .line = frame->line};
    return record_write_texts(SPOOL_RECORD_PYTHON_FRAME, 0, clock_now(), &record.head, sizeof(record),
                              offsetof(struct spool_python_frame, text), text_of_bytes(function, length + 1),
                              frame->file);
}

/* --- code mappings; under the lock --- */

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static enum owner owner_of(uint64_t start, uint64_t end, const char *path)
{
    uint64_t here = (uint64_t)(uintptr_t)&stacks_record;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : "";
    if (here >= start && here < end)
        return OWNER_GPUTRACE;
    /* "python" or "python3.12" is the executable, if the interpreter is in a library. */
    bool is_python = starts_with(name, "python") && name[6 + strspn(name + 6, "0123456789.")] == '\0';
    if (python_has_image(start, end) || is_python)
        return OWNER_PYTHON;
    if (starts_with(name, "libcupti"))
        return OWNER_CUPTI;
    return starts_with(name, "libc.so") || starts_with(name, "libpthread") ? OWNER_LIBC : OWNER_PROGRAM;
}

static void note_line(const char *line, size_t length)
{
    uint64_t start, end;
    char executable;
    int path = 0;
    int fields = sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %*s %*s %*s %n", &start, &end, &executable, &path);
    struct code *code = fields == 3 && executable == 'x' ? array_push(&stacks.code) : NULL;
    if (!code)
        return;
    *code = (struct code){start, end, owner_of(start, end, line + path)};
    bool is_new = false;
    uint64_t hash = hash_bytes(line, length);
    if (map_put(&stacks.written, hash, &is_new) && is_new &&
        !record_write_text(SPOOL_RECORD_MAPPING, mapping, clock_now(), text_of_bytes(line, length), .head.flags = 0))
        map_remove(&stacks.written, hash);
}

static void read_code(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return;
    stacks.code.count = 0;
    char *line = NULL;
    size_t space = 0;
    for (ssize_t length; (length = getline(&line, &space, maps)) > 0;) {
        if (line[length - 1] == '\n')
            line[--length] = '\0';
        note_line(line, (size_t)length);
    }
    free(line);
    fclose(maps);
}

/* Returns the mapping that contains the call before the return address ADDRESS, or NULL if there is none. */
static const struct code *code_of(uint64_t address)
{
    size_t from = 0, to = stacks.code.count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (stacks.code.items[middle].end < address)
            from = middle + 1;
        else
            to = middle;
    }
    const struct code *code = from < stacks.code.count ? &stacks.code.items[from] : NULL;
    return code && code->start < address ? code : NULL;
}

/* Reads the code mappings again if libraries were loaded or unloaded, or if an unknown address is in no mapping,
 * because code was created since. */
static void know_code(const struct unwound *frames, uint64_t changes)
{
    bool known = changes == stacks.changes;
    if (!known) {
        map_release(&stacks.nowhere);
        map_release(&stacks.seen);
    }
    for (unsigned i = 0; i < frames->count && known; i++)
        known = code_of(frames->at[i]) || map_get(&stacks.nowhere, frames->at[i]);
    if (known)
        return;
    stacks.changes = changes;
    read_code();
    for (unsigned i = 0; i < frames->count; i++)
        if (!code_of(frames->at[i]))
            map_put(&stacks.nowhere, frames->at[i], NULL);
}

/* --- choice of frames; under the lock --- */

/* Returns the index of the first frame from FROM on that is OWNER's (IS true) or not OWNER's (IS false). */
static unsigned find(const struct unwound *frames, unsigned from, enum owner owner, bool is)
{
    for (; from < frames->count; from++) {
        const struct code *code = code_of(frames->at[from]);
        if ((code && code->owner == owner) == is)
            break;
    }
    return from;
}

/*
 * Returns the index of the program's first frame. In a callback the frames are, from the innermost:
 *      gputrace (we), the callback's own, gputrace (the registry), CUPTI if the event was CUDA's, the program
 * and otherwise: gputrace (we), the program.
 */
static unsigned first_of_program(const struct unwound *frames, bool in_client)
{
    unsigned ours = find(frames, 0, OWNER_GPUTRACE, true); /* a replacement of backtrace() may come before our frames */
    unsigned first = find(frames, ours, OWNER_GPUTRACE, false);
    unsigned registry = in_client ? find(frames, first, OWNER_GPUTRACE, true) : frames->count;
    if (registry < frames->count) /* otherwise the callback jumped here, and both parts of gputrace are one */
        first = find(frames, registry, OWNER_GPUTRACE, false);
    return find(frames, first, OWNER_CUPTI, false);
}

static uint32_t number_of(const uint64_t *addresses, uint32_t count)
{
    /* The hash has 64 bits: among a million stacks, two have the same hash with a chance of 1 to 30 million. */
    uint64_t hash = hash_bytes(addresses, count * sizeof(*addresses));
    bool is_new = false;
    uint64_t *number = map_put(&stacks.known, hash, &is_new);
    if (!number)
        return 0;
    if (!is_new)
        return (uint32_t)*number;
    *number = stacks.last + 1;
    struct gputrace_text words = {(const char *)addresses, count * (uint32_t)sizeof(*addresses)};
    if (record_write_text(SPOOL_RECORD_STACK, stack, clock_now(), words, .stack = stacks.last + 1))
        return ++stacks.last;
    map_remove(&stacks.known, hash);
    return 0;
}

/* The state of merging native frames and Python frames. */
struct merging {
    const struct unwound *frames;
    const struct python_stack *python;
    uint64_t *words;
    unsigned count, most;
    unsigned next;  /* next index into the Python stack */
    unsigned kept;  /* number of words up to the outermost Python function */
    bool is_called; /* more than the start of a program or thread calls the outermost Python function */
};

static void put_word(struct merging *merging, uint64_t word)
{
    if (merging->count < merging->most)
        merging->words[merging->count++] = word;
}

/* Puts the Python frames that native frame I runs. */
static void put_functions(struct merging *merging, unsigned i, bool one_to_one)
{
    const struct python_stack *python = merging->python;
    uint64_t end = i + 1 < merging->frames->count ? merging->frames->place[i + 1] : 0;
    bool is_placed = python->places[0] != 0, is_loop = python_is_loop(merging->frames->at[i]);
    while (merging->next < python->count) {
        uint64_t place = python->places[merging->next];
        if (is_placed ? place == 0 || place >= end : !is_loop)
            return;
        put_word(merging, python->words[merging->next++]);
        if (!is_placed && one_to_one)
            return;
    }
}

/* Merges native frames from FIRST on with Python frames, which replace those of the evaluation loop. Leaves out the
 * interpreter's own frames and what only starts the interpreter. Returns the number of words. */
static unsigned merge(const struct unwound *frames, unsigned first, const struct python_stack *python, uint64_t *words,
                      unsigned most)
{
    struct merging merging = {.frames = frames, .python = python, .words = words, .most = most};
    unsigned loops = 0;
    for (unsigned i = first; i < frames->count; i++)
        loops += python_is_loop(frames->at[i]);
    /* Used if Python frames have no places on the stack: then each native frame of the evaluation loop runs one
     * function. */
    bool one_to_one = loops == python->count || frames->count == UNWIND_FRAMES_MAX;
    for (unsigned i = first; i < frames->count; i++) {
        unsigned before = merging.next;
        const struct code *code = code_of(frames->at[i]);
        put_functions(&merging, i, one_to_one);
        if (merging.next > before) {
            merging.kept = merging.count;
            merging.is_called = false;
        } else if (!code || code->owner != OWNER_PYTHON) {
            merging.is_called |= !code || code->owner != OWNER_LIBC;
            put_word(&merging, frames->at[i]);
        }
    }
    if (!merging.is_called)
        merging.count = merging.kept;
    while (merging.next < python->count)
        put_word(&merging, python->words[merging.next++]);
    return merging.count;
}

static uint32_t keep(const struct unwound *frames, const struct python_stack *python, uint32_t skip, bool in_client)
{
    uint64_t words[STACK_WORDS_MAX];
    unsigned first = first_of_program(frames, in_client);
    if (skip >= frames->count - first && python->count == 0)
        return 0;
    first = skip < frames->count - first ? first + skip : frames->count;
    unsigned count = frames->count - first < STACK_FRAMES_MAX ? frames->count - first : STACK_FRAMES_MAX;
    if (python->count > 0)
        count = merge(frames, first, python, words, STACK_WORDS_MAX);
    else
        memcpy(words, frames->at + first, count * sizeof(*words));
    if ((words[0] & PYTHON_WORD) != PYTHON_WORD)
        words[0]--; /* turns the innermost return address into the address of its call */
    return number_of(words, count);
}

static uint64_t hash_of_python(const struct python_stack *python)
{
    return python->count > 0 ? hash_bytes(python->words, python->count * sizeof(*python->words)) : 0;
}

/* Returns the number of a stack. Most stacks were unwound before, and need no look at their frames. */
static uint32_t number_for(const struct unwound *frames, const struct python_stack *python, uint64_t changes,
                           uint32_t skip, bool in_client)
{
    const uint64_t parts[] = {hash_bytes(frames->at, frames->count * sizeof(*frames->at)), hash_of_python(python),
                              2 * (uint64_t)skip + in_client};
    uint64_t hash = hash_bytes(parts, sizeof(parts));
    const uint64_t *seen = changes == stacks.changes ? map_get(&stacks.seen, hash) : NULL;
    if (seen)
        return (uint32_t)*seen;
    know_code(frames, changes);
    uint32_t number = keep(frames, python, skip, in_client);
    uint64_t *place = number ? map_put(&stacks.seen, hash, NULL) : NULL;
    if (place)
        *place = number;
    return number;
}

/* --- recording a stack --- */

static void note_refused(const char *version)
{
    char words[160];
    snprintf(words, sizeof(words), "stacks have no functions of Python: the frames of version %s cannot be read",
             *version ? version : "(unknown)");
    verbose("%s", words);
    record_write_text(SPOOL_RECORD_NOTE, note, clock_now(), text_of(words), .head.flags = SPOOL_NOTE_VERBOSE);
}

static void begin_python(void)
{
    python_begin(record_python_frame, note_refused);
}

static pthread_once_t python_begun = PTHREAD_ONCE_INIT;

void stacks_prepare(void)
{
    unwind_prepare();
    pthread_once(&python_begun, begin_python);
}

bool stacks_find_python(void)
{
    pthread_once(&python_begun, begin_python);
    return python_is_found() || python_find(library_changes());
}

/* The arguments and the result of stacks_record(). */
struct wanted {
    const void *here; /* the frame of stacks_record() */
    uint32_t skip, number;
};

static void record_here(void *context)
{
    struct wanted *wanted = context;
    const void *here = wanted->here;
    uint32_t skip = wanted->skip;
    struct unwound frames;
    struct python_stack python = {.count = 0};
    const struct epoch_reader *reader = epoch_reader();
    bool in_client = reader && reader->in_client;
    stacks_prepare();
    /* Preparing, looking for Python and unwinding take the loader's lock, so they come before our lock: a program may
     * be inside the loader when it calls CUDA. */
    uint64_t changes = library_changes();
    if (python_find(changes))
        python_frames(&python);
    uint32_t generation = __atomic_load_n(&stacks.generation, __ATOMIC_RELAXED);
    /* What the number of a stack depends on, besides its addresses. */
    const uint64_t parts[] = {changes, generation, skip, in_client, hash_of_python(&python)};
    uint64_t key = hash_bytes(parts, sizeof(parts));
    uint32_t number = unwind_recall(here, key);
    if (number == 0) {
        unwind(&frames);
        pthread_mutex_lock(&stacks.lock);
        number = number_for(&frames, &python, changes, skip, in_client);
        pthread_mutex_unlock(&stacks.lock);
        if (number != 0)
            unwind_remember(here, key, &frames, number);
    }
    wanted->number = number;
}

uint32_t stacks_record(uint32_t skip)
{
    int saved = errno;
    struct wanted wanted = {.here = __builtin_frame_address(0), .skip = skip};
    if (!fork_unannounced())
        unwind_with_space(record_here, &wanted);
    errno = saved;
    return wanted.number;
}

uint32_t stacks_record_python(void)
{
    int saved = errno;
    struct python_stack python = {.count = 0};
    if (fork_unannounced())
        return 0;
    if (stacks_find_python())
        python_frames(&python);
    uint32_t number = 0;
    if (python.count > 0) {
        pthread_mutex_lock(&stacks.lock);
        number = number_of(python.words, python.count);
        pthread_mutex_unlock(&stacks.lock);
    }
    errno = saved;
    return number;
}

void stacks_atfork_child(void)
{
    /* The fork may have interrupted a change, so old memory is left and not freed. */
    uint32_t generation = stacks.generation + 1;
    memset(&stacks, 0, sizeof(stacks));
    stacks.generation = generation;
    pthread_mutex_init(&stacks.lock, NULL);
    python_atfork_child();
}
