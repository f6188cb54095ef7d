/*
 * Records call stacks of launches, copies, waits and graph nodes, each in a record that ties the stack to the call's
 * correlation id.
 */

#include <pthread.h>
#include <stdlib.h>

#include "agent/dispatch/registry.h"
#include "agent/spool/stacks.h"
#include "agent/spool/writer.h"
#include "common/clock.h"
#include "common/map.h"
#include "common/settings.h"
#include "common/threads.h"

/*
 * Launches are many: among those of one kernel and grid, the first gets a stack, and from then on one of `every` on
 * average. The distance to the next stack is random, because programs launch in loops: every 16th of 12 launches in
 * turn would always be one of the same three.
 *
 * Each thread remembers its launches in a small table. A kernel whose entry was replaced by another counts as new.
 *
 * Each graph node has the stack of the call that captured or added it. Replayed operations have that stack, so a graph
 * launch needs no work for its nodes.
 */

#define SETS 256
#define WAYS 2
#define KINDS 6 /* number of kinds subscribed to */

struct launched {
    uint64_t key;  /* hash of the kernel and grid, or of another operation */
    uint64_t left; /* launches until the next one with a stack */
};

/* The launches of one thread, and when each next gets a stack. */
struct sampler {
    struct launched sets[SETS][WAYS];
    uint64_t lot;
};

static __thread struct sampler *mine;

static struct {
    uint64_t whole;  /* enum stacks_bits: calls that get whole stacks */
    uint64_t python; /* enum stacks_bits: calls that get stacks of Python functions alone; accessed atomically */
    bool nodes;
    uint64_t every;
    uint64_t registrations[KINDS]; /* set while recording is on; 0: not registered */
} stacks;

static struct thread_key at_thread_end;

static void forget(void *unused)
{
    (void)unused;
    free(mine);
    mine = NULL;
}

/* Returns a uniform number from 1 to 2 * every - 1, `every` on average. */
static uint64_t draw_distance(struct sampler *sampler)
{
    sampler->lot = sampler->lot * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return 1 + (sampler->lot >> 33) % (2 * stacks.every - 1);
}

/* Whether this launch, of an operation with the hash KEY, gets a stack. */
static bool is_due(uint64_t key)
{
    if (stacks.every > 1 && !mine && thread_key_set(&at_thread_end, forget))
        mine = calloc(1, sizeof(*mine));
    struct sampler *sampler = stacks.every > 1 ? mine : NULL;
    if (!sampler)
        return true;
    struct launched *ways = sampler->sets[key % SETS];
    for (unsigned i = 0; i < WAYS; i++)
        if (ways[i].key == key) {
            if (--ways[i].left > 0)
                return false;
            ways[i].left = draw_distance(sampler);
            return true;
        }
    for (unsigned i = WAYS - 1; i > 0; i--)
        ways[i] = ways[i - 1];
    ways[0] = (struct launched){key, draw_distance(sampler)};
    return true;
}

/* A thread's first record brings the thread's name to the spool. PyTorch's backward threads have no stacks but are
 * recognised by their names, so a thread writes one record even if it has no stack. */
static __thread bool has_written;

static void write_stack(uint64_t start, uint32_t correlation, uint32_t stack)
{
    if (stack == 0 && has_written)
        return;
    has_written = true;
    record_write(SPOOL_RECORD_CALL_STACK, call_stack, start, .correlation = correlation, .stack = stack);
}

uint32_t call_stack_record(enum stacks_bits what)
{
    if (stacks.whole & what)
        return stacks_record(0);
    return __atomic_load_n(&stacks.python, __ATOMIC_RELAXED) & what ? stacks_record_python() : 0;
}

static void record_stack(uint64_t start, uint32_t correlation, enum stacks_bits what)
{
    write_stack(start, correlation, correlation ? call_stack_record(what) : 0);
}

/* --- nodes of graphs --- */

/* This thread's last call that created a node, and the call's stack, which is taken once. */
static __thread struct {
    uint32_t generation, correlation, stack;
} node_call;

static bool is_node_call(uint32_t correlation)
{
    return correlation != 0 && node_call.correlation == correlation && node_call.generation == fork_generation();
}

/* Records the stack of a new node. Python's lines suffice: a Python thread captures many nodes by many ways through C,
 * but from few lines of Python. */
static void made_node(void *data, const struct gputrace_graph_node *node)
{
    (void)data;
    if (!node->made)
        return;
    if (!is_node_call(node->correlation)) {
        uint32_t stack = stacks_record_python();
        node_call.stack = stack == 0 && (stacks.whole & STACKS_LAUNCH) ? stacks_record(0) : stack;
        node_call.correlation = node->correlation;
        node_call.generation = fork_generation();
    }
    if (node_call.stack != 0)
        record_write(SPOOL_RECORD_GRAPH_NODE_STACK, graph_node_stack, clock_now(), .node = node->node,
                     .stack = node_call.stack);
}

/* --- calls --- */

/* Records a stack for a launch of an operation with the hash KEY. A call that created a node has its stack already. */
static void launched(uint64_t start, uint32_t correlation, uint64_t key)
{
    if (is_node_call(correlation))
        write_stack(start, correlation, node_call.stack);
    else if (is_due(key))
        record_stack(start, correlation, STACKS_LAUNCH);
}

static void launched_kernel(void *data, const struct gputrace_kernel_launch *launch)
{
    (void)data;
    const uint64_t what[] = {launch->kernel, (uint64_t)launch->grid[0] << 32 | launch->grid[1], launch->grid[2]};
    launched(launch->call.start, launch->call.correlation, hash_bytes(what, sizeof(what)));
}

static void launched_graph(void *data, const struct gputrace_graph_launch *launch)
{
    (void)data;
    const uint64_t what[] = {(uint64_t)(uintptr_t)launch->exec, 0, UINT64_MAX};
    if (is_due(hash_bytes(what, sizeof(what))))
        record_stack(launch->call.start, launch->call.correlation, STACKS_LAUNCH);
}

static void launched_set(void *data, const struct gputrace_memset *set)
{
    (void)data;
    const uint64_t what[] = {(uint64_t)(uintptr_t)set->call.function, set->bytes, UINT64_MAX};
    launched(set->call.start, set->call.correlation, hash_bytes(what, sizeof(what)));
}

/* Records the stack of a copy: of a wait if the function takes no stream, because the thread then waits, else of a
 * launch. */
static void copied(void *data, const struct gputrace_memcpy *copy)
{
    (void)data;
    uint64_t wanted = stacks.whole | __atomic_load_n(&stacks.python, __ATOMIC_RELAXED);
    bool waited = !copy->stream_given && (wanted & STACKS_SYNC);
    const uint64_t what[] = {(uint64_t)(uintptr_t)copy->call.function, copy->bytes, UINT64_MAX};
    if (copy->index > 0)
        return;
    if (waited)
        record_stack(copy->call.start, copy->call.correlation, STACKS_SYNC);
    else if (wanted & STACKS_LAUNCH)
        launched(copy->call.start, copy->call.correlation, hash_bytes(what, sizeof(what)));
}

/* Takes the stack before the thread waits, so that the time for the stack is part of the wait. */
static void opened_call(void *data, const struct gputrace_open_call *call)
{
    (void)data;
    if (!call->returned && call->what != SPOOL_CALL_OF_NOTHING)
        record_stack(call->start, call->correlation, STACKS_SYNC);
}

void call_stacks_init(uint64_t bits, uint64_t every, bool nodes)
{
    stacks.whole = bits & STACKS_ALL;
    stacks.nodes = nodes;
    stacks.every = every ? every : STACKS_EVERY_DEFAULT;
}

void call_stacks_add_python(void)
{
    __atomic_store_n(&stacks.python, STACKS_ALL & ~stacks.whole, __ATOMIC_RELAXED);
}

void call_stacks_switch(bool on)
{
    static const struct {
        enum registry_kind kind;
        uint64_t bits;
        gputrace_any_fn *call;
    } kinds[KINDS] = {
        {REGISTRY_kernel_launch, STACKS_LAUNCH, (gputrace_any_fn *)launched_kernel},
        {REGISTRY_graph_launch, STACKS_LAUNCH, (gputrace_any_fn *)launched_graph},
        {REGISTRY_memset, STACKS_LAUNCH, (gputrace_any_fn *)launched_set},
        {REGISTRY_memcpy, STACKS_LAUNCH | STACKS_SYNC, (gputrace_any_fn *)copied},
        {REGISTRY_open_call, STACKS_SYNC, (gputrace_any_fn *)opened_call},
        {REGISTRY_graph_node, STACKS_LAUNCH, (gputrace_any_fn *)made_node},
    };
    uint64_t bits = stacks.whole | __atomic_load_n(&stacks.python, __ATOMIC_RELAXED);
    for (size_t i = 0; i < KINDS; i++) {
        uint64_t *registration = &stacks.registrations[i];
        bool wanted = on && (bits & kinds[i].bits) && (stacks.nodes || kinds[i].kind != REGISTRY_graph_node);
        if (wanted && *registration == 0)
            *registration = registry_add(REGISTRY_LIBRARY, kinds[i].kind, kinds[i].call, NULL);
        else if (!wanted && *registration != 0 && registry_remove(REGISTRY_LIBRARY, *registration) == 0)
            *registration = 0;
    }
}
