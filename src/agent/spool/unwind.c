/*
 * Unwinds the calling thread with the compiler's unwinder, on a stack of ours if little is left of the thread's own.
 * Unwound stacks are remembered, so that an unchanged stack is not unwound again.
 */
#include "agent/spool/unwind.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unwind.h>

#include "common/machine.h"
#include "common/threads.h"

/* The size of the table of remembered stacks. The innermost frame's address and the key choose a set. The key
 * distinguishes Python stacks with equal C frames. */
#define SETS 64
#define WAYS 4

struct remembered {
    const void *frame; /* NULL: the entry is empty */
    uint64_t key;
    uint32_t number, count;
    struct {
        uint64_t offset; /* place of the return address, relative to `frame` */
        uint64_t at;
    } returns[];
};

/* The stacks that one thread remembers. */
struct memory {
    struct {
        struct remembered *ways[WAYS];
        unsigned next; /* index of the entry to replace next */
    } sets[SETS];
};

static __thread struct memory *mine;

/* The two stacks of a thread: its own, and another for unwinding. */
static __thread struct {
    uintptr_t low, high; /* bounds of its own stack, without the lowest SPACE_BYTES; 0: not determined yet */
    char *other;
    bool in_use; /* the other stack is in use: a signal handler may have interrupted the code that runs there */
} stacks_of_thread;

#define SPACE_BYTES ((size_t)64 << 10)  /* much more than unwinding needs */
#define OTHER_BYTES ((size_t)256 << 10) /* signal handlers run there, too */

/* The compiler's unwinder, loaded as glibc's backtrace() does and not linked, so that programs that do not need it can
 * be traced where it is missing. */
static struct {
    pthread_once_t once;
    _Unwind_Reason_Code (*backtrace)(_Unwind_Trace_Fn trace, void *data);
    _Unwind_Ptr (*address)(struct _Unwind_Context *context);
    _Unwind_Word (*frame)(struct _Unwind_Context *context);
    _Unwind_Word (*general)(struct _Unwind_Context *context, int number);
} unwinder = {.once = PTHREAD_ONCE_INIT};

static struct thread_key at_thread_end;

static void forget(void *unused)
{
    struct memory *of_thread = mine;
    (void)unused;
    mine = NULL;
    if (stacks_of_thread.other)
        munmap(stacks_of_thread.other, OTHER_BYTES);
    stacks_of_thread.other = NULL;
    if (!of_thread)
        return;
    for (unsigned i = 0; i < SETS; i++)
        for (unsigned k = 0; k < WAYS; k++)
            free(of_thread->sets[i].ways[k]);
    free(of_thread);
}

static void load(void)
{
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    *(void **)&unwinder.address = dlsym(library, "_Unwind_GetIP");
    *(void **)&unwinder.frame = dlsym(library, "_Unwind_GetCFA");
    *(void **)&unwinder.general = dlsym(library, "_Unwind_GetGR");
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
    if (address == 0 || unwound->count == UNWIND_FRAMES_MAX) /* nothing may be below main() or a thread's start */
        return _URC_END_OF_STACK;
    uint64_t end = unwinder.frame(context); /* of the frame that returns to ADDRESS */
    uint64_t place = end - sizeof(address);
#if defined(__aarch64__)
    /* The return address lies above the caller's frame pointer (x29), if that is saved in this frame. */
    bool saved = unwound->pointer >= unwound->end && unwound->pointer + 2 * sizeof(address) <= end;
    place = saved ? unwound->pointer + sizeof(address) : 0;
    unwound->pointer = unwinder.general(context, 29);
    unwound->end = end;
#endif
    unwound->at[unwound->count] = address;
    unwound->place[unwound->count] = place;
    unwound->count++;
    return _URC_NO_REASON;
}

void unwind(struct unwound *unwound)
{
    unwound->count = 0;
    unwound->pointer = unwound->end = 0;
    unwind_prepare();
    if (unwinder.backtrace && unwinder.address && unwinder.frame && unwinder.general)
        unwinder.backtrace(note_frame, unwound);
}

/* --- small stacks --- */

#if MACHINE != EM_NONE && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* Calls RUN(CONTEXT) on the stack that ends at TOP. */
void unwind_call_on(void (*run)(void *context), void *context, char *top);
#if defined(__aarch64__)
__asm__(".pushsection .text\n.hidden unwind_call_on\n.globl unwind_call_on\n.type unwind_call_on, %function\n"
        "unwind_call_on: .cfi_startproc\n"
        "stp x29, x30, [sp, -16]!; .cfi_def_cfa_offset 16; .cfi_offset x29, -16; .cfi_offset x30, -8\n"
        "mov x29, sp; .cfi_def_cfa_register x29\n"
        "mov sp, x2; mov x3, x0; mov x0, x1; blr x3\n"
        "mov sp, x29; .cfi_def_cfa_register sp\n"
        "ldp x29, x30, [sp], 16; .cfi_def_cfa_offset 0; .cfi_restore x29; .cfi_restore x30\n"
        "ret; .cfi_endproc\n"
        ".size unwind_call_on, . - unwind_call_on\n.popsection\n");
#else
__asm__(".pushsection .text\n.hidden unwind_call_on\n.globl unwind_call_on\n.type unwind_call_on, @function\n"
        "unwind_call_on: .cfi_startproc\n"
        "push %rbp; .cfi_def_cfa_offset 16; .cfi_offset %rbp, -16\n"
        "mov %rsp, %rbp; .cfi_def_cfa_register %rbp\n"
        "mov %rdx, %rsp; mov %rdi, %rax; mov %rsi, %rdi; call *%rax\n"
        "mov %rbp, %rsp; pop %rbp; .cfi_def_cfa %rsp, 8\n"
        "ret; .cfi_endproc\n"
        ".size unwind_call_on, . - unwind_call_on\n.popsection\n");
#endif

static void find_own_stack(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    stacks_of_thread.high = (uintptr_t)low + size;
    stacks_of_thread.low = size > SPACE_BYTES ? (uintptr_t)low + SPACE_BYTES : stacks_of_thread.high;
}

/* Returns the end of the other stack, or NULL if there is enough space here or no other stack can be allocated. */
static char *top_of_other(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (stacks_of_thread.in_use)
        return NULL;
    if (stacks_of_thread.high == 0)
        find_own_stack();
    if (stacks_of_thread.high == 0 || (here >= stacks_of_thread.low && here < stacks_of_thread.high))
        return NULL;
    if (!stacks_of_thread.other && !thread_key_set(&at_thread_end, forget))
        return NULL;
    if (!stacks_of_thread.other) {
        char *other = mmap(NULL, OTHER_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
        if (other == MAP_FAILED)
            return NULL;
        stacks_of_thread.other = other;
    }
    return stacks_of_thread.other + OTHER_BYTES;
}

void unwind_with_space(void (*run)(void *context), void *context)
{
    char *top = top_of_other();
    if (!top) {
        run(context);
        return;
    }
    stacks_of_thread.in_use = true;
    unwind_call_on(run, context, top);
    stacks_of_thread.in_use = false;
}

#else

void unwind_with_space(void (*run)(void *context), void *context)
{
    run(context);
}

#endif

/* --- remembered stacks --- */

/* Returns the word of the stack at PLACE. Sanitizers would report this read of other functions' frames. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static uint64_t word_at(uint64_t place)
{
    return *(const volatile uint64_t *)(uintptr_t)place;
}

static unsigned set_of(const void *frame, uint64_t key)
{
    uint64_t place = ((uint64_t)(uintptr_t)frame >> 4) + key;
    return (unsigned)((place ^ place >> 4 ^ place >> 8) % SETS);
}

uint32_t unwind_recall(const void *frame, uint64_t key)
{
    if (!mine)
        return 0;
    struct remembered *const *ways = mine->sets[set_of(frame, key)].ways;
    for (unsigned i = 0; i < WAYS; i++) {
        const struct remembered *stack = ways[i];
        if (!stack || stack->frame != frame || stack->key != key)
            continue;
        uint32_t same = 0;
        while (same < stack->count &&
               word_at((uint64_t)(uintptr_t)frame + stack->returns[same].offset) == stack->returns[same].at)
            same++;
        if (same == stack->count)
            return stack->number;
    }
    return 0;
}

#if MACHINE != EM_NONE

void unwind_remember(const void *frame, uint64_t key, const struct unwound *unwound, uint32_t number)
{
    unsigned first = 0; /* index of the frame whose return address is at the place of the FRAME function's */
    while (first < unwound->count && unwound->place[first] != (uint64_t)(uintptr_t)frame + sizeof(uint64_t))
        first++;
    unsigned plain = first; /* end of the frames that lie further and further out, with the expected return addresses */
    while (plain < unwound->count && (plain == first || unwound->place[plain] > unwound->place[plain - 1]) &&
           machine_code_address(MACHINE, word_at(unwound->place[plain])) == unwound->at[plain])
        plain++;
    if (plain < unwound->count || first == unwound->count)
        return;
    if (!mine && thread_key_set(&at_thread_end, forget))
        mine = calloc(1, sizeof(*mine));
    struct remembered *stack =
        mine ? malloc(sizeof(*stack) + (unwound->count - first) * sizeof(*stack->returns)) : NULL;
    if (!stack)
        return;
    *stack = (struct remembered){.frame = frame, .key = key, .number = number, .count = unwound->count - first};
    for (uint32_t i = 0; i < stack->count; i++) {
        stack->returns[i].offset = unwound->place[first + i] - (uint64_t)(uintptr_t)frame;
        stack->returns[i].at = word_at(unwound->place[first + i]);
    }
    unsigned set = set_of(frame, key), way = mine->sets[set].next++ % WAYS;
    free(mine->sets[set].ways[way]);
    mine->sets[set].ways[way] = stack;
}

#else

void unwind_remember(const void *frame, uint64_t key, const struct unwound *unwound, uint32_t number)
{
    (void)frame, (void)key, (void)unwound, (void)number;
}

#endif
