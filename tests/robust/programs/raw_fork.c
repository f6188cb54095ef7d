/* Children that are made without a pthread_atfork handler: `raw_fork HOW CHILDREN [LIBRARY]`, while four threads
 * record.
 *
 *     _Fork    the C library's, which runs no handlers
 *     clone    the system call, with nothing shared
 *     fork     announced, for comparison
 *
 * Each child uses NVTX as much as it can be used, and ends by exit() with a status of its own. With LIBRARY, which is
 * loaded into a namespace of its own, children use NVTX there: its C library is not the one that forks.
 */
#include "gpu.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define THREADS 4
#define RANGES 1000

static volatile int done;
static unsigned (*work_there)(unsigned);

static void work(unsigned number)
{
    char name[32];
    snprintf(name, sizeof(name), "domain %u", number);
    nvtxDomainHandle_t domain = nvtxDomainCreateA(name);
    nvtxStringHandle_t string = nvtxDomainRegisterStringA(domain, name);
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = string;
    nvtxDomainMarkEx(domain, &event);
    nvtxRangeEnd(nvtxRangeStartA("started"));
    if (work_there)
        work_there(RANGES);
    else
        nvtx_work(RANGES, 200);
}

static void *record(void *number)
{
    for (unsigned i = 0; i < 50 && !done; i++) { /* on a busy machine, too */
        work((unsigned)(size_t)number * 1000000 + i % 1000);
        usleep(1000);
    }
    return NULL;
}

static pid_t divide(const char *how)
{
    if (strcmp(how, "_Fork") == 0)
        return _Fork();
    if (strcmp(how, "clone") == 0)
        return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
    return fork();
}

static void load(const char *library)
{
    void *loaded = dlmopen(LM_ID_NEWLM, library, RTLD_NOW);
    work_there = loaded ? (unsigned (*)(unsigned))dlsym(loaded, "namespace_work") : NULL;
    if (!work_there) {
        fprintf(stderr, "%s\n", dlerror());
        exit(7);
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int sum = 0;
    if (argc > 3)
        load(argv[3]);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, record, (void *)(i + 1));
    usleep(20000);
    for (int i = 0; i < atoi(argv[2]); i++) {
        work((unsigned)i);
        pid_t child = divide(argv[1]);
        if (child == 0) {
            work((unsigned)i);
            exit(i % 100);
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
            return 6;
        sum += WEXITSTATUS(status);
    }
    done = 1;
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", sum);
    return 0;
}
