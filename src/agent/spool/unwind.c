#include "agent/spool/recorder.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unwind.h>

#include "common/threads.h"

/* Of stacks that are remembered, by where their innermost frame lies and by their key: functions of Python that call
 * each other are one stack of C, at one place. */
#define SETS 64
#define WAYS 4

struct remembered {
    const void *frame; /* NULL: nothing */
    uint64_t key;
    uint32_t number, count;
    struct {
        uint64_t offset; /* from the frame */
        uint64_t at;
    } returns[];
};

/* Of one thread. */
struct memory {
    struct {
        struct remembered *ways[WAYS];
        unsigned next; /* to be forgotten */
    } sets[SETS];
};

static __thread struct memory *mine;

/* The unwinder is the compiler's. It is loaded as glibc's backtrace() does, and not linked, so that programs that have
 * no need of it can be traced where it is missing. */
static struct {
    pthread_once_t once;
    struct thread_key at_thread_end;
    _Unwind_Reason_Code (*backtrace)(_Unwind_Trace_Fn trace, void *data);
    _Unwind_Ptr (*address)(struct _Unwind_Context *context);
    _Unwind_Word (*frame)(struct _Unwind_Context *context);
} unwinder = {.once = PTHREAD_ONCE_INIT};

static void forget(void *unused)
{
    struct memory *of_thread = mine;
    (void)unused;
    mine = NULL;
    if (!of_thread)
        return;
    for (unsigned i = 0; i < SETS; i++)
        for (unsigned k = 0; k < WAYS; k++)
            free(of_thread->sets[i].ways[k]);
    free(of_thread);
}

static void load(void)
{
    thread_key_make(&unwinder.at_thread_end, forget);
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    *(void **)&unwinder.address = dlsym(library, "_Unwind_GetIP");
    *(void **)&unwinder.frame = dlsym(library, "_Unwind_GetCFA");
    *(void **)&unwinder.backtrace = dlsym(library, "_Unwind_Backtrace");
}

void unwind_prepare(void)
{
    pthread_once(&unwinder.once, load);
}

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *data)
{
    struct unwound *unwound = data;
    uint64_t address = unwinder.address(context);
    if (address == 0 || unwound->count == UNWIND_FRAMES_MAX) /* below main() and a thread's beginning may lie nothing */
        return _URC_END_OF_STACK;
    unwound->at[unwound->count] = address;
    unwound->place[unwound->count] = unwinder.frame(context) - sizeof(address); /* on x86-64 */
    unwound->count++;
    return _URC_NO_REASON;
}

void unwind(struct unwound *unwound)
{
    unwound->count = 0;
    unwind_prepare();
    if (unwinder.backtrace && unwinder.address && unwinder.frame)
        unwinder.backtrace(note_frame, unwound);
}

/* --- what was unwound before --- */

/* Reads what lies on the stack, of frames that are not its own: sanitizers think little of that. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static bool holds(uint64_t place, uint64_t value)
{
    return *(const volatile uint64_t *)(uintptr_t)place == value;
}

static unsigned set_of(const void *frame, uint64_t key)
{
    uint64_t place = ((uint64_t)(uintptr_t)frame >> 4) + key;
    return (unsigned)((place ^ place >> 4 ^ place >> 8) % SETS);
}

static bool is_same(const struct remembered *stack, const void *frame)
{
    for (uint32_t i = 0; i < stack->count; i++)
        if (!holds((uint64_t)(uintptr_t)frame + stack->returns[i].offset, stack->returns[i].at))
            return false;
    return true;
}

uint32_t unwind_recall(const void *frame, uint64_t key)
{
    if (!mine)
        return 0;
    struct remembered *const *ways = mine->sets[set_of(frame, key)].ways;
    for (unsigned i = 0; i < WAYS; i++)
        if (ways[i] && ways[i]->frame == frame && ways[i]->key == key && is_same(ways[i], frame))
            return ways[i]->number;
    return 0;
}

#ifdef __x86_64__

static struct memory *memory_of_thread(void)
{
    if (!mine && unwinder.at_thread_end.made) {
        mine = calloc(1, sizeof(*mine));
        if (mine)
            thread_key_set(&unwinder.at_thread_end);
    }
    return mine;
}

/* The first frame whose return address lies where that of the function with FRAME does. */
static unsigned first_from(const struct unwound *unwound, const void *frame)
{
    unsigned first = 0;
    while (first < unwound->count && unwound->place[first] != (uint64_t)(uintptr_t)frame + sizeof(uint64_t))
        first++;
    return first;
}

/* Whether from FIRST on all lie further and further out on one stack, where they are said to be. */
static bool is_plain(const struct unwound *unwound, unsigned first)
{
    for (unsigned i = first; i < unwound->count; i++)
        if (!(i == first || unwound->place[i] > unwound->place[i - 1]) || !holds(unwound->place[i], unwound->at[i]))
            return false;
    return first < unwound->count;
}

void unwind_remember(const void *frame, uint64_t key, const struct unwound *unwound, uint32_t number)
{
    unsigned first = first_from(unwound, frame);
    struct memory *memory = is_plain(unwound, first) ? memory_of_thread() : NULL;
    struct remembered *stack =
        memory ? malloc(sizeof(*stack) + (unwound->count - first) * sizeof(*stack->returns)) : NULL;
    if (!stack)
        return;
    *stack = (struct remembered){.frame = frame, .key = key, .number = number, .count = unwound->count - first};
    for (uint32_t i = 0; i < stack->count; i++) {
        stack->returns[i].offset = unwound->place[first + i] - (uint64_t)(uintptr_t)frame;
        stack->returns[i].at = unwound->at[first + i];
    }
    unsigned set = set_of(frame, key), way = memory->sets[set].next++ % WAYS;
    free(memory->sets[set].ways[way]);
    memory->sets[set].ways[way] = stack;
}

#else

void unwind_remember(const void *frame, uint64_t key, const struct unwound *unwound, uint32_t number)
{
    (void)frame, (void)key, (void)unwound, (void)number;
}

#endif
