/*
 * calls: a plugin that counts what the program does, by kind and by the function that was called.
 *
 *     gputrace run --plugin=calls ./program                        lines of the last message of `run`, and of the trace
 *     gputrace run --plugin=calls,file=calls.txt ./program         a file instead; %p in its name is the pid
 *
 * A line for each kind and function: how often it was done, then how often it failed, if it did, or was not ready,
 * which is what a query answers while the GPU is at work:
 *
 *     event_query cuEventQuery 3 not ready 12
 *     kernel_launch cuLaunchKernel 300
 *     memory_allocation cuMemAlloc_v2 12
 *     memory_allocation_failure cuMemAlloc_v2 0 failed 1
 *
 * One function of the driver stands for each operation, for all functions of the runtime that call it. A kind that is
 * not about a function has "-" for it.
 */
#include <gputrace/callbacks.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define NOT_READY 600 /* CUDA_ERROR_NOT_READY */

/* Counts of one function. Rows are put in their place under the lock, and never go: who reads or counts takes none. */
struct row {
    struct row *next; /* in order of functions */
    const char *function;
    unsigned long done, not_ready, failed;
};

static struct {
    const struct gputrace_host *host;
    pthread_mutex_t lock;
    struct row *rows[GPUTRACE_KIND_COUNT];
} calls = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const kinds[] = {
#define GPUTRACE_KIND(name) #name,
    GPUTRACE_KINDS(GPUTRACE_KIND)
#undef GPUTRACE_KIND
};

/* --- counting --- */

static struct row *follow(struct row *const *link)
{
    return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

/* The row of FUNCTION, or NULL; PLACE is where it is, or is to be put. */
static struct row *find(unsigned kind, const char *function, struct row ***place)
{
    int order = -1;
    struct row *row;
    *place = &calls.rows[kind];
    while ((row = follow(*place)) && (order = strcmp(row->function, function)) < 0)
        *place = &row->next;
    return order == 0 ? row : NULL;
}

static struct row *add(unsigned kind, const char *function)
{
    struct row **place;
    pthread_mutex_lock(&calls.lock);
    struct row *row = find(kind, function, &place); /* another thread may have been quicker */
    if (!row && (row = calloc(1, sizeof(*row)))) {
        row->function = function;
        row->next = *place;
        __atomic_store_n(place, row, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&calls.lock);
    return row;
}

static void count(unsigned kind, const struct gputrace_call *call)
{
    const char *function = call->function ? call->function : "-";
    struct row **place, *row = find(kind, function, &place);
    if (!row && !(row = add(kind, function)))
        return;
    unsigned long *counter = call->result == 0           ? &row->done
                             : call->result == NOT_READY ? &row->not_ready
                                                         : &row->failed;
    __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

/* A callback for each kind: all begin with the call that they are about. */
#define GPUTRACE_KIND(name)                                                  \
    static void count_##name(void *data, const struct gputrace_##name *what) \
    {                                                                        \
        (void)data;                                                          \
        count(GPUTRACE_KIND_##name, &what->call);                            \
    }
GPUTRACE_KINDS(GPUTRACE_KIND)
#undef GPUTRACE_KIND

/* --- the result --- */

static void tell_row(FILE *file, unsigned kind, const struct row *row)
{
    char line[512], not_ready[40] = "", failed[40] = "";
    if (row->not_ready)
        snprintf(not_ready, sizeof(not_ready), " not ready %lu", row->not_ready);
    if (row->failed)
        snprintf(failed, sizeof(failed), " failed %lu", row->failed);
    snprintf(line, sizeof(line), "%s %s %lu%s%s", kinds[kind], row->function, row->done, not_ready, failed);
    if (file)
        fprintf(file, "%s\n", line);
    else
        gputrace_line(calls.host, 0, line);
}

/* The setting's file, new, with %p replaced; NULL: lines are printed instead. */
static FILE *open_file(void)
{
    char path[4096], words[4400];
    const char *name = gputrace_setting(calls.host, "file");
    if (!name)
        return NULL;
    const char *pid = strstr(name, "%p");
    if (pid)
        snprintf(path, sizeof(path), "%.*s%d%s", (int)(pid - name), name, (int)getpid(), pid + 2);
    else
        snprintf(path, sizeof(path), "%s", name);
    FILE *file = fopen(path, "we");
    if (!file) {
        snprintf(words, sizeof(words), "cannot write '%s': %s", path, strerror(errno));
        gputrace_line(calls.host, 0, words);
    }
    return file;
}

static void tell(void *data, const struct gputrace_process_end *what)
{
    (void)data, (void)what;
    FILE *file = open_file();
    for (unsigned kind = 0; kind < GPUTRACE_KIND_COUNT; kind++)
        for (const struct row *row = follow(&calls.rows[kind]); row; row = follow(&row->next))
            tell_row(file, kind, row);
    if (file)
        fclose(file);
}

/* --- being a plugin --- */

/* A forked child counts for itself. It has one thread; the rows of the parent's counts are left. */
static void forget(void *data, const struct gputrace_process_fork *what)
{
    (void)data, (void)what;
    pthread_mutex_init(&calls.lock, NULL);
    memset(calls.rows, 0, sizeof(calls.rows));
}

static int start(const struct gputrace_host *host)
{
    calls.host = host;
    int done = gputrace_process_fork_register(host, forget, NULL) != 0;
#define GPUTRACE_KIND(name) done = gputrace_##name##_register(host, count_##name, NULL) != 0 && done;
    GPUTRACE_KINDS(GPUTRACE_KIND)
#undef GPUTRACE_KIND
    done = gputrace_process_end_register(host, tell, NULL) != 0 && done; /* last: when all is counted */
    if (!done)
        gputrace_line(host, 0, "out of memory: calls are not counted");
    return done ? 0 : -1;
}

GPUTRACE_PLUGIN("calls", start);
GPUTRACE_PLUGIN_SETTINGS("file");
