/* Takes all keys for data of threads that there are, and finds its own in them afterwards. */
#include "gpu.h"

#include <pthread.h>

static pthread_key_t keys[2000];
static unsigned count;
static int wrong;

static void *use(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < count; i++)
        pthread_setspecific(keys[i], &keys[i]);
    nvtx_work(1000, 100);
    for (unsigned i = 0; i < count; i++)
        wrong += pthread_getspecific(keys[i]) != &keys[i];
    return NULL;
}

int main(void)
{
    pthread_t thread;
    while (count < 2000 && pthread_key_create(&keys[count], NULL) == 0)
        count++;
    use(NULL);
    pthread_create(&thread, NULL, use, NULL);
    pthread_join(thread, NULL);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
