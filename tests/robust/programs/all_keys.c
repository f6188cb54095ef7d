/* Takes all keys for data of threads that there are, and finds its own in them afterwards: `all_keys [LIBRARY]`. With
 * LIBRARY, which is loaded into a namespace of its own, it uses NVTX there, beside a C library that has keys of its
 * own.
 */
#include "gpu.h"

#include <dlfcn.h>
#include <pthread.h>

static pthread_key_t keys[2000];
static unsigned count;
static int wrong;
static unsigned (*work_there)(unsigned);

static void *use(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < count; i++)
        pthread_setspecific(keys[i], &keys[i]);
    if (work_there)
        work_there(1000);
    else
        nvtx_work(1000, 100);
    for (unsigned i = 0; i < count; i++)
        wrong += pthread_getspecific(keys[i]) != &keys[i];
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc > 1) {
        void *library = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
        work_there = library ? (unsigned (*)(unsigned))dlsym(library, "namespace_work") : NULL;
        if (!work_there)
            return 7;
    }
    while (count < 2000 && pthread_key_create(&keys[count], NULL) == 0)
        count++;
    use(NULL);
    pthread_create(&thread, NULL, use, NULL);
    pthread_join(thread, NULL);
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
