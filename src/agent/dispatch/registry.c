/*
 * Keeps the lists of subscribers, replaces them while threads walk over them, and runs clients' callbacks. Each thread
 * counts its rounds (epochs), odd within a dispatch. A replaced list is freed only when no thread is in a dispatch;
 * dispatching never waits.
 *
 * Children that no fork handler announces (`_Fork()`, `clone()`) are noticed by a page that the kernel clears in every
 * child. Such a child records nothing and is counted.
 */
#include "agent/dispatch/registry.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/memory.h"
#include "common/threads.h"

/* --- forks --- */

/* In .bss, because its whole pages are anonymous memory, the only memory that MADV_WIPEONFORK works on. */
__attribute__((aligned(FORK_PAGE_BYTES))) union fork_page fork_page;

static struct {
    uint32_t generation; /* the last generation; equal to the page's, except in children that were not announced */
    bool is_cleared;     /* the kernel clears the page in children */
    pid_t process;
    uint64_t *counter; /* NULL: nothing is counted */
} watch;

void fork_watch_begin(void)
{
    uint32_t none = 0;
    if (__atomic_load_n(&watch.generation, __ATOMIC_ACQUIRE) != 0)
        return;
    watch.process = getpid();
    watch.is_cleared = page_bytes() <= FORK_PAGE_BYTES && (uintptr_t)&fork_page % page_bytes() == 0 &&
                       madvise(&fork_page, sizeof(fork_page), MADV_WIPEONFORK) == 0;
    __atomic_compare_exchange_n(&fork_page.generation, &none, 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    none = 0;
    __atomic_compare_exchange_n(&watch.generation, &none, 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void fork_watch_announced(void)
{
    watch.process = getpid();
    watch.counter = NULL;
    thread_id_known = 0; /* the child's one thread has another id than the thread that forked */
    __atomic_store_n(&fork_page.generation, ++watch.generation, __ATOMIC_RELEASE);
}

void fork_watch_count(uint64_t *counter)
{
    watch.counter = counter;
}

bool fork_unannounced(void)
{
    if (fork_generation() == 0)
        return __atomic_load_n(&watch.generation, __ATOMIC_ACQUIRE) != 0;
    return !watch.is_cleared && getpid() != watch.process;
}

bool fork_turned_away(void)
{
    if (!fork_unannounced())
        return false;
    if (watch.counter)
        __atomic_add_fetch(watch.counter, 1, __ATOMIC_RELAXED);
    return true;
}

/* --- the thread's number --- */

__thread uint32_t thread_id_known;

uint32_t thread_id_ask(void)
{
    return thread_id_known = (uint32_t)gettid();
}

/* --- epochs --- */

static struct epoch_reader *readers; /* a new reader becomes the head; readers are never removed */
__thread struct epoch_reader *epoch_reader_known;

static struct thread_key at_thread_end;
static pthread_once_t barrier_once = PTHREAD_ONCE_INIT;
static bool barrier_works;

static void register_barrier(void)
{
    barrier_works = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

static bool make_stores_visible(void)
{
    pthread_once(&barrier_once, register_barrier);
    return barrier_works && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void epoch_prepare(void)
{
    if (thread_is_alone())
        pthread_once(&barrier_once, register_barrier);
}

static void thread_ended(void *unused)
{
    struct epoch_reader *mine = epoch_reader_known;
    (void)unused;
    epoch_reader_known = NULL;
    if (mine)
        __atomic_store_n(&mine->taken, 0, __ATOMIC_RELEASE);
}

static struct epoch_reader *first(void)
{
    return __atomic_load_n(&readers, __ATOMIC_ACQUIRE);
}

struct epoch_reader *epoch_reader_make(void)
{
    if (fork_turned_away())
        return NULL;
    struct epoch_reader *mine = first();
    for (uint32_t nobody = 0; mine; mine = mine->next, nobody = 0) /* reuses the reader of a thread that ended */
        if (__atomic_compare_exchange_n(&mine->taken, &nobody, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            break;
    if (!mine && (mine = calloc(1, sizeof(*mine)))) {
        mine->taken = 1;
        mine->next = first();
        while (!__atomic_compare_exchange_n(&readers, &mine->next, mine, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            continue;
    }
    if (mine)
        thread_key_set(&at_thread_end, thread_ended);
    return epoch_reader_known = mine;
}

void registry_synchronize(void)
{
    if (fork_unannounced())
        return;
    make_stores_visible();
    for (const struct epoch_reader *reader = first(); reader; reader = reader->next) {
        uint32_t rounds = __atomic_load_n(&reader->rounds, __ATOMIC_ACQUIRE);
        while (reader != epoch_reader_known && rounds % 2 != 0 && /* the thread is in a dispatch */
               __atomic_load_n(&reader->rounds, __ATOMIC_ACQUIRE) == rounds)
            sched_yield();
    }
}

void epoch_client_time(unsigned client, uint64_t *calls, uint64_t *ns)
{
    *calls = *ns = 0;
    for (const struct epoch_reader *reader = first(); reader; reader = reader->next) {
        *calls += __atomic_load_n(&reader->spent[client].calls, __ATOMIC_RELAXED);
        *ns += __atomic_load_n(&reader->spent[client].ns, __ATOMIC_RELAXED);
    }
}

/* Shorter windows are not published: a callback that calls CUDA takes longer. */
#define WINDOW_LEAST_NS 64u

/* How many replaced lists may wait before free_retired() tries to free them, which can take ten milliseconds. */
#define RETIRED_MOST 64u

struct subscribers *registry_lists[REGISTRY_KIND_COUNT];
gputrace_any_fn *registry_only[REGISTRY_KIND_COUNT];
registry_shortcut_fn *registry_shortcut_open;
bool registry_clients_came;

static struct {
    pthread_mutex_t lock; /* guards everything but the walks over lists */
    uint64_t last;        /* number of the last registration */
    void (*changed)(uint64_t wanted);
    /* Replaced and not yet freed, because a thread may be walking them. */
    struct subscribers *retired_lists;
    struct subscriber *retired_subscribers;
    unsigned retired_count; /* number of retired lists */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- registering; all under the lock --- */

/* Frees replaced lists and removed subscribers, unless a thread is in a dispatch or that cannot be determined. */
static void free_retired(void)
{
    if ((!registry.retired_lists && !registry.retired_subscribers) || !make_stores_visible())
        return;
    for (const struct epoch_reader *reader = first(); reader; reader = reader->next)
        if (__atomic_load_n(&reader->rounds, __ATOMIC_ACQUIRE) % 2 != 0)
            return;
    registry.retired_count = 0;
    while (registry.retired_lists) {
        struct subscribers *list = registry.retired_lists;
        registry.retired_lists = list->retired;
        free(list);
    }
    while (registry.retired_subscribers) {
        struct subscriber *subscriber = registry.retired_subscribers;
        registry.retired_subscribers = subscriber->retired;
        free(subscriber);
    }
}

static void replace(unsigned kind, struct subscribers *list)
{
    struct subscribers *old = registry_lists[kind];
    const struct subscriber *first = list && list->count == 1 ? list->each[0] : NULL;
    bool alone = first && !first->data && !first->removed && !registry_had_clients();
    __atomic_store_n(&registry_only[kind], alone ? first->call : NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&registry_lists[kind], list, __ATOMIC_RELEASE);
    if (old) {
        old->retired = registry.retired_lists;
        registry.retired_lists = old;
        registry.retired_count++;
    }
}

static void publish_wanted(void)
{
    uint64_t wanted = 0;
    for (unsigned kind = 0; kind < REGISTRY_KIND_COUNT; kind++)
        wanted |= (uint64_t)(registry_lists[kind] != NULL) << kind;
    if (registry.changed)
        registry.changed(wanted);
}

/* Returns a new list of COUNT, of which the first KEPT come from the kind's list, or NULL if there is no memory. */
static struct subscribers *list_of(unsigned kind, unsigned count, unsigned kept)
{
    struct subscribers *list = malloc(sizeof(*list) + count * sizeof(struct subscriber *));
    if (list && kept)
        memcpy(list->each, registry_lists[kind]->each, kept * sizeof(list->each[0]));
    if (list)
        list->count = count;
    return list;
}

void registry_open_shortcut(registry_shortcut_fn *shortcut)
{
    pthread_mutex_lock(&registry.lock);
    if (!registry_had_clients())
        __atomic_store_n(&registry_shortcut_open, shortcut, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&registry.lock);
}

uint64_t registry_add(unsigned client, unsigned kind, gputrace_any_fn *call, void *data)
{
    struct subscriber *subscriber = NULL;
    if (kind < REGISTRY_KIND_COUNT && call && !fork_unannounced())
        subscriber = malloc(sizeof(*subscriber));
    if (!subscriber)
        return 0;
    pthread_mutex_lock(&registry.lock);
    /* Closes the shortcuts before the client can be called, because they would bypass the client. */
    if (client != REGISTRY_LIBRARY) {
        __atomic_store_n(&registry_clients_came, true, __ATOMIC_RELAXED);
        for (unsigned i = 0; i < REGISTRY_KIND_COUNT; i++)
            __atomic_store_n(&registry_only[i], NULL, __ATOMIC_RELEASE);
        __atomic_store_n(&registry_shortcut_open, NULL, __ATOMIC_RELEASE);
    }
    uint64_t registration = registry.last + 1;
    *subscriber = (struct subscriber){.call = call, .data = data, .registration = registration, .client = client};
    unsigned count = registry_lists[kind] ? registry_lists[kind]->count : 0;
    struct subscribers *list = list_of(kind, count + 1, count);
    if (list) {
        list->each[count] = subscriber;
        replace(kind, list);
        registry.last++;
        publish_wanted();
    }
    if (registry.retired_count > RETIRED_MOST)
        free_retired();
    pthread_mutex_unlock(&registry.lock);
    if (!list)
        free(subscriber);
    return list ? registration : 0;
}

/* Replaces the list by one without the subscriber at INDEX. Without memory the subscriber stays in the list, marked as
 * removed. */
static void cut_out(unsigned kind, unsigned index)
{
    struct subscribers *old = registry_lists[kind];
    struct subscriber *subscriber = old->each[index];
    __atomic_store_n(&subscriber->removed, true, __ATOMIC_RELEASE);
    struct subscribers *list = old->count > 1 ? list_of(kind, old->count - 1, index) : NULL;
    if (old->count > 1 && !list)
        return;
    if (list)
        memcpy(list->each + index, old->each + index + 1, (old->count - 1 - index) * sizeof(list->each[0]));
    replace(kind, list);
    subscriber->retired = registry.retired_subscribers;
    registry.retired_subscribers = subscriber;
}

/* Removes CLIENT's subscribers with the number REGISTRATION, or all of them if it is 0. Returns how many. */
static unsigned remove_from(unsigned kind, unsigned client, uint64_t registration)
{
    unsigned removed = 0;
    for (unsigned i = registry_lists[kind] ? registry_lists[kind]->count : 0; i-- > 0;) {
        const struct subscriber *subscriber = registry_lists[kind]->each[i];
        bool matches = registration == 0 || subscriber->registration == registration;
        if (matches && subscriber->client == client && !subscriber->removed) {
            cut_out(kind, i);
            removed++;
        }
    }
    return removed;
}

static unsigned remove_all(unsigned first, unsigned end, unsigned client, uint64_t registration)
{
    unsigned removed = 0;
    if (fork_unannounced())
        return 0;
    pthread_mutex_lock(&registry.lock);
    for (unsigned kind = first; kind < end; kind++)
        removed += remove_from(kind, client, registration);
    if (removed)
        publish_wanted();
    free_retired();
    pthread_mutex_unlock(&registry.lock);
    return removed;
}

int registry_remove(unsigned client, uint64_t registration)
{
    return registration && remove_all(0, REGISTRY_KIND_COUNT, client, registration) ? 0 : -1;
}

void registry_clear(unsigned client, unsigned kind)
{
    if (kind < REGISTRY_KIND_COUNT)
        remove_all(kind, kind + 1, client, 0);
    else if (kind == REGISTRY_KIND_COUNT)
        remove_all(0, REGISTRY_KIND_COUNT, client, 0);
}

void registry_watch(void (*changed)(uint64_t wanted))
{
    pthread_mutex_lock(&registry.lock);
    registry.changed = changed;
    publish_wanted();
    pthread_mutex_unlock(&registry.lock);
}

void registry_atfork_child(void)
{
    pthread_mutex_init(&registry.lock, NULL);
    registry.changed = NULL;
    registry_shortcut_open = NULL;
    for (struct epoch_reader *reader = first(); reader; reader = reader->next) {
        if (reader == epoch_reader_known)
            continue;
        reader->taken = reader->depth = 0;
        reader->in_client = false;
        reader->rounds += reader->rounds % 2;
    }
}

/* --- dispatching --- */

void dispatch_client_returned(struct dispatch *dispatch)
{
    uint64_t now = clock_now();
    struct epoch_reader *reader = dispatch->reader;
    uint64_t *calls = &reader->spent[dispatch->client].calls, *ns = &reader->spent[dispatch->client].ns;
    reader->in_client = false;
    __atomic_store_n(calls, *calls + 1, __ATOMIC_RELAXED);
    __atomic_store_n(ns, *ns + (now > dispatch->since ? now - dispatch->since : 0), __ATOMIC_RELAXED);
    dispatch->since = now;
    dispatch->client = REGISTRY_LIBRARY;
}

bool dispatch_client_follows(struct dispatch *dispatch, unsigned client)
{
    if (fork_unannounced())
        return false;
    dispatch->since = clock_now();
    if (!dispatch->began)
        dispatch->began = dispatch->since;
    dispatch->client = client;
    dispatch->reader->in_client = true;
    return true;
}

void dispatch_publish_window(const struct dispatch *dispatch)
{
    if (dispatch->since - dispatch->began >= WINDOW_LEAST_NS)
        registry_plugin_window_publish(&(struct gputrace_plugin_window){dispatch->began, dispatch->since});
}

/* --- calls of our own on a thread of the program --- */

bool tracing_suppress(struct tracing_suppressed *suppressed)
{
    struct epoch_reader *reader = epoch_reader();
    if (!reader)
        return false;
    *suppressed = (struct tracing_suppressed){.reader = reader, .within = reader->in_client, .began = clock_now()};
    reader->in_client = true;
    return true;
}

void tracing_resume(const struct tracing_suppressed *suppressed)
{
    if (suppressed->within)
        return;
    suppressed->reader->in_client = false;
    registry_plugin_window_publish(&(struct gputrace_plugin_window){suppressed->began, clock_now()});
}

bool tracing_is_suppressed(void)
{
    const struct epoch_reader *reader = epoch_reader();
    return reader && reader->in_client;
}
