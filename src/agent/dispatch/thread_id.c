#include "agent/dispatch/thread_id.h"

#include <unistd.h>

__thread uint32_t thread_id_known;

uint32_t thread_id_ask(void)
{
    return thread_id_known = (uint32_t)gettid();
}

void thread_id_leave(void)
{
    thread_id_known = 0;
}
