#include "agent/cupti/names_due.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

static struct {
    uint32_t said;  /* how often; the word that is waited on */
    uint32_t heard; /* the service thread's own */
    uint32_t waits; /* 1: it does */
} due;

static long futex(int operation, uint32_t value, const struct timespec *limit)
{
    return syscall(SYS_futex, &due.said, operation | FUTEX_PRIVATE_FLAG, value, limit, NULL, 0);
}

void names_due(void)
{
    __atomic_add_fetch(&due.said, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&due.waits, __ATOMIC_SEQ_CST))
        futex(FUTEX_WAKE, 1, NULL);
}

bool names_due_wait(uint64_t ns)
{
    struct timespec limit = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    __atomic_store_n(&due.waits, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&due.said, __ATOMIC_SEQ_CST) == due.heard)
        futex(FUTEX_WAIT, due.heard, &limit);
    __atomic_store_n(&due.waits, 0, __ATOMIC_SEQ_CST);
    uint32_t said = __atomic_load_n(&due.said, __ATOMIC_ACQUIRE);
    bool heard = said != due.heard;
    due.heard = said;
    return heard;
}

void names_due_leave(void)
{
    due.said = due.heard = due.waits = 0;
}
