#include "agent/spool/recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "agent/dispatch/fork_watch.h"
#include "agent/dispatch/registry.h"
#include "common/array.h"
#include "common/clock.h"
#include "common/map.h"

#define SETS 16 /* of stacks that are remembered, by where their innermost frame lies */
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
    pthread_key_t at_thread_end;
    bool keyed;
    _Unwind_Reason_Code (*backtrace)(_Unwind_Trace_Fn trace, void *data);
    _Unwind_Ptr (*address)(struct _Unwind_Context *context);
    _Unwind_Word (*frame)(struct _Unwind_Context *context);
} unwinder = {.once = PTHREAD_ONCE_INIT};

static void forget(void *memory)
{
    struct memory *of_thread = memory;
    mine = NULL;
    for (unsigned i = 0; i < SETS; i++)
        for (unsigned k = 0; k < WAYS; k++)
            free(of_thread->sets[i].ways[k]);
    free(of_thread);
}

static void load(void)
{
    unwinder.keyed = pthread_key_create(&unwinder.at_thread_end, forget) == 0;
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    *(void **)&unwinder.address = dlsym(library, "_Unwind_GetIP");
    *(void **)&unwinder.frame = dlsym(library, "_Unwind_GetCFA");
    *(void **)&unwinder.backtrace = dlsym(library, "_Unwind_Backtrace");
}

void stacks_prepare(void)
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
    stacks_prepare();
    if (unwinder.backtrace && unwinder.address && unwinder.frame)
        unwinder.backtrace(note_frame, unwound);
}

/* --- what was unwound before --- */

/* Reads what lies on the stack, of frames that are not its own: sanitizers think little of that. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static bool holds(uint64_t place, uint64_t value)
{
    return *(const volatile uint64_t *)(uintptr_t)place == value;
}

static unsigned set_of(const void *frame)
{
    uint64_t place = (uint64_t)(uintptr_t)frame >> 4;
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
    struct remembered *const *ways = mine->sets[set_of(frame)].ways;
    for (unsigned i = 0; i < WAYS; i++)
        if (ways[i] && ways[i]->frame == frame && ways[i]->key == key && is_same(ways[i], frame))
            return ways[i]->number;
    return 0;
}

#ifdef __x86_64__

static struct memory *memory_of_thread(void)
{
    if (!mine && unwinder.keyed) {
        mine = calloc(1, sizeof(*mine));
        if (mine)
            pthread_setspecific(unwinder.at_thread_end, mine);
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
    unsigned set = set_of(frame), way = memory->sets[set].next++ % WAYS;
    free(memory->sets[set].ways[way]);
    memory->sets[set].ways[way] = stack;
}

#else

void unwind_remember(const void *frame, uint64_t key, const struct unwound *unwound, uint32_t number)
{
    (void)frame, (void)key, (void)unwound, (void)number;
}

#endif

/* --- stacks --- */

static_assert(UNWIND_FRAMES_MAX >= 2 * STACK_FRAMES_MAX, "there is space for the frames of the tracing too");

enum owner { OWNER_PROGRAM, OWNER_GPUTRACE, OWNER_CUPTI };

/* A line of /proc/self/maps with code. */
struct code {
    uint64_t start, end;
    enum owner owner;
};

static struct {
    pthread_mutex_t lock;
    uint32_t last;           /* number of a stack */
    struct map known;        /* hash of a stack's addresses -> number */
    struct map seen;         /* hash of all that unwinding gave -> number; while nothing is loaded and unloaded */
    struct map written;      /* hash of a line of maps that was written -> 1 */
    ARRAY(struct code) code; /* of the process when it was last read, by address */
    uint64_t changes;        /* of what is loaded, when it was last read */
    struct map nowhere;      /* addresses that were in none of it -> 0 */
    uint32_t generation;     /* counts the forks: numbers of another one are not ours */
} stacks = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- records; false: there was no space --- */

static bool record_stack(uint32_t number, const uint64_t *addresses, uint32_t count)
{
    struct gputrace_text words = {(const char *)addresses, count * (uint32_t)sizeof(*addresses)};
    return record_write_text(SPOOL_RECORD_STACK, stack, clock_now(), words, .stack = number);
}

static bool record_mapping(const char *line, size_t length)
{
    return record_write_text(SPOOL_RECORD_MAPPING, mapping, clock_now(), text_of_bytes(line, length), .head.flags = 0);
}

/* --- what lies where; under the lock --- */

static enum owner owner_of(uint64_t start, uint64_t end, const char *path)
{
    uint64_t here = (uint64_t)(uintptr_t)&stacks_take;
    const char *slash = strrchr(path, '/');
    if (here >= start && here < end)
        return OWNER_GPUTRACE;
    return slash && strncmp(slash + 1, "libcupti", strlen("libcupti")) == 0 ? OWNER_CUPTI : OWNER_PROGRAM;
}

static void publish_mapping(const char *line, size_t length)
{
    bool is_new = false;
    uint64_t hash = hash_bytes(line, length);
    if (map_put(&stacks.written, hash, &is_new) && is_new && !record_mapping(line, length))
        map_remove(&stacks.written, hash);
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
    publish_mapping(line, length);
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

/* The code that a return address comes back to: the call lies before it. NULL: not known. */
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

static bool is_owned_by(uint64_t address, enum owner owner)
{
    const struct code *code = code_of(address);
    return code && code->owner == owner;
}

static bool is_known(uint64_t address)
{
    return code_of(address) || map_get(&stacks.nowhere, address);
}

/* Reads what is where when libraries came or went, and for an address that is in none: code that was made since. */
static void know_code(const struct unwound *frames, uint64_t changes)
{
    bool known = changes == stacks.changes;
    if (!known) {
        map_release(&stacks.nowhere);
        map_release(&stacks.seen);
    }
    for (unsigned i = 0; i < frames->count && known; i++)
        known = is_known(frames->at[i]);
    if (known)
        return;
    stacks.changes = changes;
    read_code();
    for (unsigned i = 0; i < frames->count; i++)
        if (!code_of(frames->at[i]))
            map_put(&stacks.nowhere, frames->at[i], NULL);
}

/* --- which frames; under the lock --- */

/* The first frame from FROM on that is, or is not, OWNER's. */
static unsigned find(const struct unwound *frames, unsigned from, enum owner owner, bool is)
{
    while (from < frames->count && is_owned_by(frames->at[from], owner) != is)
        from++;
    return from;
}

/*
 * The first frame of the program. Seen from here, inwards out, in a callback:
 *     gputrace (we), the callback's own, gputrace (the registry), CUPTI when it was CUDA, the program
 * and otherwise: gputrace (we), the program.
 */
static unsigned first_of_program(const struct unwound *frames, bool in_client)
{
    unsigned ours = find(frames, 0, OWNER_GPUTRACE, true); /* a replacement of backtrace() may come before us */
    unsigned first = find(frames, ours, OWNER_GPUTRACE, false);
    unsigned registry = in_client ? find(frames, first, OWNER_GPUTRACE, true) : frames->count;
    if (registry < frames->count) /* else the callback jumped to us, and so both of gputrace's parts are one */
        first = find(frames, registry, OWNER_GPUTRACE, false);
    return find(frames, first, OWNER_CUPTI, false);
}

static uint32_t number_of(const uint64_t *addresses, uint32_t count)
{
    /* 64 bits of a good hash: two stacks of a million share one with a chance of 1 to 30 million. */
    uint64_t hash = hash_bytes(addresses, count * sizeof(*addresses));
    bool is_new = false;
    uint64_t *number = map_put(&stacks.known, hash, &is_new);
    if (!number)
        return 0;
    if (!is_new)
        return (uint32_t)*number;
    *number = stacks.last + 1;
    if (record_stack(stacks.last + 1, addresses, count))
        return ++stacks.last;
    map_remove(&stacks.known, hash);
    return 0;
}

static uint32_t keep(const struct unwound *frames, uint32_t skip, bool in_client)
{
    uint64_t addresses[STACK_FRAMES_MAX];
    unsigned first = first_of_program(frames, in_client);
    if (skip >= frames->count - first)
        return 0;
    first += skip;
    unsigned count = frames->count - first < STACK_FRAMES_MAX ? frames->count - first : STACK_FRAMES_MAX;
    memcpy(addresses, frames->at + first, count * sizeof(*addresses));
    addresses[0]--; /* the first becomes the address of a call */
    return number_of(addresses, count);
}

/* What was unwound before needs no look at its frames: that is the way of most. */
static uint32_t number_for(const struct unwound *frames, uint64_t changes, uint32_t skip, bool in_client)
{
    uint64_t hash = hash_bytes(frames->at, frames->count * sizeof(*frames->at)) + 2 * (uint64_t)skip + in_client;
    const uint64_t *seen = changes == stacks.changes ? map_get(&stacks.seen, hash) : NULL;
    if (seen)
        return (uint32_t)*seen;
    know_code(frames, changes);
    uint32_t number = keep(frames, skip, in_client);
    uint64_t *place = number ? map_put(&stacks.seen, hash, NULL) : NULL;
    if (place)
        *place = number;
    return number;
}

/* --- */

static int count_changes(struct dl_phdr_info *info, size_t size, void *changes)
{
    (void)size;
    *(uint64_t *)changes = info->dlpi_adds + info->dlpi_subs;
    return 1; /* every library would return the same */
}

/* What the number of a stack depends on, besides its addresses. */
static uint64_t key_of(uint64_t changes, uint32_t skip, bool in_client)
{
    uint32_t generation = __atomic_load_n(&stacks.generation, __ATOMIC_RELAXED);
    return hash_bytes((const uint64_t[]){changes, generation, skip, in_client}, 4 * sizeof(uint64_t));
}

uint32_t stacks_take(uint32_t skip)
{
    int saved = errno;
    struct unwound frames;
    uint64_t changes = 0;
    if (fork_unannounced())
        return 0;
    const struct epoch_reader *reader = epoch_reader();
    bool in_client = reader && reader->in_client;
    const void *here = __builtin_frame_address(0);
    /* This and unwinding take the loader's lock, so they come before ours: a program may be inside the loader when it
     * calls CUDA. */
    dl_iterate_phdr(count_changes, &changes);
    uint64_t key = key_of(changes, skip, in_client);
    uint32_t number = unwind_recall(here, key);
    if (number == 0) {
        unwind(&frames);
        pthread_mutex_lock(&stacks.lock);
        number = number_for(&frames, changes, skip, in_client);
        pthread_mutex_unlock(&stacks.lock);
        if (number != 0)
            unwind_remember(here, key, &frames, number);
    }
    errno = saved;
    return number;
}

void stacks_atfork_child(void)
{
    /* The fork may have come in the midst of a change: what there was is left, not freed. */
    uint32_t generation = stacks.generation + 1;
    memset(&stacks, 0, sizeof(stacks));
    stacks.generation = generation;
    pthread_mutex_init(&stacks.lock, NULL);
}
