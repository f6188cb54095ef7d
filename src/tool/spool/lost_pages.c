#include "tool/spool/lost_pages.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "base/page.h"

/* A signal handler has no other way to what it needs. */
static struct {
    struct lost_pages *first;
    struct sigaction before;
    uintptr_t page;
} watched;

static struct lost_pages *find(uintptr_t address)
{
    struct lost_pages *lost = watched.first;
    while (lost && (address < lost->start || address >= lost->end))
        lost = lost->next;
    return lost;
}

static bool put_zeros(uintptr_t address)
{
    void *page = (void *)(address / watched.page * watched.page);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    return mmap(page, watched.page, PROT_READ, flags, -1, 0) != MAP_FAILED;
}

/* What is not ours comes again, and finds the handler of before. */
static void on_bus_error(int signal, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    struct lost_pages *lost = find(address);
    (void)context;
    if (lost && put_zeros(address))
        __atomic_fetch_add(&lost->count, 1, __ATOMIC_RELAXED); /* several threads may be reading */
    else
        sigaction(signal, &watched.before, NULL);
}

void lost_pages_watch(struct lost_pages *lost, const void *map, size_t size)
{
    if (!watched.first) {
        struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
        sigemptyset(&action.sa_mask);
        watched.page = page_bytes();
        sigaction(SIGBUS, &action, &watched.before);
    }
    *lost = (struct lost_pages){.start = (uintptr_t)map, .end = (uintptr_t)map + size, .next = watched.first};
    watched.first = lost;
}

void lost_pages_leave(struct lost_pages *lost)
{
    struct lost_pages **at = &watched.first;
    while (*at && *at != lost)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = lost->next;
    if (!watched.first)
        sigaction(SIGBUS, &watched.before, NULL);
}
