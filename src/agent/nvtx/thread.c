#include "agent/nvtx/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/thread_key.h"
#include "agent/dispatch/fork_watch.h"

__thread struct nvtx_thread nvtx_this_thread;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct thread_key at_thread_end;

static void thread_ended(void *thread)
{
    struct nvtx_thread *mine = thread;
    free(mine->more);
    free(mine->text);
    mine->more = NULL;
    mine->more_count = 0;
    mine->text = NULL;
}

static void make_key(void)
{
    thread_key_make(&at_thread_end, thread_ended);
}

static void free_at_end(struct nvtx_thread *mine)
{
    pthread_once(&once, make_key);
    thread_key_set(&at_thread_end, mine);
}

int *nvtx_thread_more(uint32_t domain)
{
    struct nvtx_thread *mine = &nvtx_this_thread;
    uint32_t index = domain - NVTX_THREAD_DOMAINS;
    if (index < mine->more_count)
        return &mine->more[index];
    if (fork_unannounced())
        return NULL;
    uint32_t count = index + NVTX_THREAD_DOMAINS;
    int *more = realloc(mine->more, count * sizeof(*more));
    if (!more)
        return NULL;
    memset(more + mine->more_count, 0, (count - mine->more_count) * sizeof(*more));
    mine->more = more;
    mine->more_count = count;
    free_at_end(mine);
    return &more[index];
}

char *nvtx_thread_text(void)
{
    struct nvtx_thread *mine = &nvtx_this_thread;
    if (!mine->text && !fork_unannounced())
        mine->text = malloc(NVTX_THREAD_TEXT);
    if (mine->text && !fork_unannounced())
        free_at_end(mine);
    return mine->text;
}
