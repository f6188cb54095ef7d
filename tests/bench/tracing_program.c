/*
 * Runs the loops of tracing_loops.h in a process that is traced or not, and prints what they took, one fact a line.
 *
 *     tracing_program [-s ROUNDS] [-t TOGGLES] [-l LOOP]...
 *
 *     main NS             from the moment that TRACING_STARTED names (CLOCK_MONOTONIC, ns) to main()
 *     first_call NS       from there to the end of the first CUDA call
 *     LOOP steady NS      a block's nanoseconds per operation; ROUNDS (15) of each loop
 *     LOOP off NS         the same while the tracer does not record,
 *     LOOP on NS          and while it records, TOGGLES (0) times each in turn, PASSES of each loop. The Nth `off` of a
 *                         loop and its Nth `on` are neighbours.
 *     rss BYTES, pss BYTES      memory at the end
 *     kernels N           launched while being recorded, if this process is traced at all
 *     held BYTES          under tracing_floor.so: of buffers in that memory,
 *     recorded BYTES      and of records that it had
 *
 * `steady` comes first: a process that is traced from the start to the end, as users' are. Switching is for exactness:
 * neighbours in one process differ by what recording costs and by little else.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <gputrace/gputrace.h>

#include "tracing_loops.h"

enum { PASSES = 3, LOOPS_MAX = 32 };

/* gputrace switches CUPTI off in its thread, at the end of its interval of 200 ms. */
#define SETTLE_NS 300000000

static struct {
    int rounds, toggles;
    int chosen[LOOPS_MAX];
    int chosen_count;
    uint64_t kernels;
} run = {.rounds = 15};

/* Who traces this process, if anyone does. */
static struct {
    void (*floor_switch)(int on); /* NULL: not the floor */
    uint64_t (*floor_held)(void), (*floor_bytes)(void);
    int gputrace;
} tracer;

static void symbol_find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof(symbol));
}

static void tracer_find(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
    tracer.gputrace = getenv("GPUTRACE_LIBRARY") != NULL;
    if (!library)
        return;
    symbol_find(library, "tracing_floor_switch", &tracer.floor_switch);
    symbol_find(library, "tracing_floor_held", &tracer.floor_held);
    symbol_find(library, "tracing_floor_bytes", &tracer.floor_bytes);
}

static void tracer_switch(int on)
{
    if (tracer.floor_switch)
        tracer.floor_switch(on);
    else if (on)
        gputrace_start();
    else {
        gputrace_stop();
        nanosleep(&(struct timespec){.tv_nsec = SETTLE_NS}, NULL);
    }
}

static int64_t monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* One block of each loop. PHASE is NULL for blocks that only warm up. */
static int run_all(const char *phase, int recorded)
{
    for (int i = 0; i < run.chosen_count; i++) {
        int loop = run.chosen[i];
        double ns = tracing_loops_run(loop);
        if (ns < 0)
            return -1;
        if (recorded)
            run.kernels += (uint64_t)tracing_loops_kernels(loop);
        if (phase)
            printf("%s %s %.2f\n", tracing_loops_name(loop), phase, ns);
    }
    return 0;
}

static int run_steady(void)
{
    int failed = run_all(NULL, 1);
    for (int i = 0; i < run.rounds && !failed; i++)
        failed = run_all("steady", 1);
    return failed;
}

static int run_switched(int on)
{
    tracer_switch(on);
    int failed = run_all(NULL, on);
    for (int pass = 0; pass < PASSES && !failed; pass++)
        failed = run_all(on ? "on" : "off", on);
    return failed;
}

/* Off and on, on and off: what changes slowly adds to neither. */
static int run_toggled(void)
{
    int failed = 0;
    for (int i = 0; i < run.toggles && !failed; i++)
        failed = run_switched(i % 2) || run_switched(!(i % 2));
    return failed;
}

static void print_memory(void)
{
    char line[256];
    unsigned long long kib;
    FILE *file = fopen("/proc/self/smaps_rollup", "re");
    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "Rss: %llu", &kib) == 1)
            printf("rss %llu\n", kib * 1024);
        if (sscanf(line, "Pss: %llu", &kib) == 1)
            printf("pss %llu\n", kib * 1024);
    }
    fclose(file);
}

static int loop_find(const char *name)
{
    for (int i = 0; i < tracing_loops_count(); i++)
        if (strcmp(tracing_loops_name(i), name) == 0)
            return i;
    fprintf(stderr, "tracing_program: there is no loop '%s'\n", name);
    return -1;
}

static int choose(int loop)
{
    if (loop < 0 || run.chosen_count == LOOPS_MAX)
        return -1;
    run.chosen[run.chosen_count++] = loop;
    return 0;
}

static int read_options(int argc, char **argv)
{
    int option, failed = 0;
    while ((option = getopt(argc, argv, "s:t:l:")) != -1) {
        if (option == 's')
            run.rounds = atoi(optarg);
        else if (option == 't')
            run.toggles = atoi(optarg);
        else if (option == 'l')
            failed |= choose(loop_find(optarg));
        else
            failed = -1;
    }
    for (int i = 0, all = run.chosen_count == 0; all && i < tracing_loops_count(); i++)
        failed |= choose(i);
    return failed;
}

static int needs_cuda(void)
{
    int needed = 0;
    for (int i = 0; i < run.chosen_count; i++)
        needed |= tracing_loops_needs_cuda(run.chosen[i]);
    return needed;
}

static int start_cuda(int64_t main_began)
{
    if (tracing_loops_start())
        return -1;
    printf("first_call %lld\n", (long long)(monotonic() - main_began));
    return tracing_loops_prepare();
}

int main(int argc, char **argv)
{
    int64_t began = monotonic();
    const char *started = getenv("TRACING_STARTED");
    if (read_options(argc, argv))
        return 2;
    if (started)
        printf("main %lld\n", (long long)began - atoll(started));
    if (needs_cuda() && start_cuda(began))
        return 1;
    tracer_find();
    if (run_steady())
        return 1;
    if ((tracer.gputrace || tracer.floor_switch) && run_toggled())
        return 1;
    print_memory();
    if (tracer.gputrace || tracer.floor_switch)
        printf("kernels %llu\n", (unsigned long long)run.kernels);
    if (tracer.floor_held)
        printf("held %llu\n", (unsigned long long)tracer.floor_held());
    if (tracer.floor_bytes)
        printf("recorded %llu\n", (unsigned long long)tracer.floor_bytes());
    return 0;
}
