/*
 * Keeps, for one process, the code objects and lines seen so far, the stacks made of them, and for each thread the
 * latest stacks with their times. All have bounded space.
 */
#include "perf/python_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/spool_records.h"

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
        python_code_release(&process->codes.items[i]);
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

/* --- code --- */

/* Returns the index of CALL's code, which is read if it is new; SIZE_MAX if it cannot be read or kept. Other code may
 * have taken the address of known code, unless the call stays. */
static size_t find_code(struct python_process *process, const struct python_call *call)
{
    const uint64_t *known = map_get(&process->code_at, call->code);
    if (known && *known &&
        (call->stays || python_reader_print(&process->reader, call->code) == process->codes.items[*known - 1].print))
        return (size_t)*known - 1;
    struct python_code code;
    if (process->codes.count == CODES_MOST)
        return SIZE_MAX;
    bool is_code = python_reader_code(&process->reader, call->code, &code);
    struct python_code *kept = is_code ? array_push(&process->codes) : NULL;
    uint64_t *at = kept ? map_put(&process->code_at, call->code, NULL) : NULL;
    if (!kept)
        python_code_release(&code);
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
        bool shown = python_call_line(&process->reader, known, call, &line);
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

/* --- stacks --- */

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
    python_reader_calls(&process->reader, frame, calls);
    for (size_t i = 0; i < calls->count; i++) {
        uint64_t word = word_of(process, &calls->items[i]);
        if (word != 0)
            words[count++] = word;
    }
    return find_stack(process, words, count);
}

/* --- threads --- */

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
    int count = python_reader_threads(&process->reader, states, THREADS_MOST);
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
