/*
 * Notices children that no fork handler announces (`_Fork()`, `clone()`): a page is marked so that the kernel clears
 * it in every child. Such a child records nothing and is counted. The number of the calling thread is kept here too.
 */
#include "agent/dispatch/fork_watch.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/memory.h"

/* The page lies in .bss, whose whole pages are anonymous memory, which madvise() can have cleared in children. */
__attribute__((aligned(FORK_PAGE_BYTES))) union fork_page fork_page;

static struct {
    uint32_t generation; /* the last one; the page has it too but for children that were not announced */
    bool is_cleared;     /* the page, by the kernel */
    pid_t process;
    uint64_t *counter; /* NULL: nothing is counted */
} watch;

static bool clear_in_children(void)
{
    bool fits = page_bytes() <= FORK_PAGE_BYTES && (uintptr_t)&fork_page % page_bytes() == 0;
    return fits && madvise(&fork_page, sizeof(fork_page), MADV_WIPEONFORK) == 0;
}

void fork_watch_begin(void)
{
    uint32_t none = 0;
    if (__atomic_load_n(&watch.generation, __ATOMIC_ACQUIRE) != 0)
        return;
    watch.process = getpid();
    watch.is_cleared = clear_in_children();
    __atomic_compare_exchange_n(&fork_page.generation, &none, 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    none = 0;
    __atomic_compare_exchange_n(&watch.generation, &none, 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

void fork_watch_announced(void)
{
    watch.process = getpid();
    watch.counter = NULL;
    thread_id_known = 0; /* the child's one thread has another number than the thread that forked */
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
