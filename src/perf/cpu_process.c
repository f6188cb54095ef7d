/*
 * Finds and describes processes and threads by /proc, opens a file for each process, reads its Python functions at
 * every tick, and writes its remaining records at its end.
 */
#include "perf/cpu_process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/settings.h"
#include "common/spool_records.h"

#define FLUSH_AFTER (500 * NS_PER_MS)
/* Interval of reading Python stacks, ns. It grows up to TICK_MOST so that reading takes 1/TICK_PART of the time. */
#define TICK NS_PER_MS
#define TICK_MOST (20 * NS_PER_MS)
#define TICK_PART 5

/* --- facts of a process --- */

static size_t read_proc(uint32_t pid, const char *name, char *text, size_t space)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, space - 1);
    if (fd >= 0)
        close(fd);
    size_t length = got > 0 ? (size_t)got : 0;
    text[length] = '\0';
    return length;
}

/* Reads what identifies the process, as agent/spool/process.c does, so that events of both files share the process's
 * rows. */
static void identify(struct cpu_process *process)
{
    enum { FIELD_STARTED = 22 };
    char line[1024], path[64];
    struct stat status;
    read_proc(process->pid, "stat", line, sizeof(line));
    const char *at = strrchr(line, ')');
    for (int field = 2; at && field < FIELD_STARTED; field++)
        at = strchr(at + 1, ' ');
    process->process_started = at ? strtoull(at + 1, NULL, 10) : 0;
    snprintf(path, sizeof(path), "/proc/%u/ns/pid", process->pid);
    process->pid_namespace = stat(path, &status) == 0 ? status.st_ino : 0;
}

void cpu_process_add_mapping(struct cpu_processes *processes, struct cpu_process *process,
                             const struct code_range *range)
{
    struct spool_mapping mapping = {.head = {.type = SPOOL_RECORD_MAPPING}};
    char line[PATH_MAX + 128];
    if (range->file == UNWIND_NO_FILE)
        return;
    int length =
        snprintf(line, sizeof(line), "%" PRIx64 "-%" PRIx64 " r-xp %08" PRIx64 " 00:00 %" PRIu64 "    %s", range->start,
                 range->end, range->offset, range->inode, unwinder_path(processes->unwinder, range->file));
    if (length <= 0 || (size_t)length >= sizeof(line))
        return;
    mapping.length = (uint32_t)length;
    cpu_file_add(&process->file, &mapping.head, sizeof(mapping), line, mapping.length, sizeof(mapping.text));
}

void cpu_process_describe(struct cpu_processes *processes, struct cpu_process *process)
{
    if (process->described)
        return;
    process->described = true;
    struct spool_header *header = &process->file.header;
    header->pid = process->pid;
    header->parent_pid = process->parent;
    header->started_monotonic = process->started;
    header->started = cpu_real_time(processes, process->started);
    header->process_started = process->process_started;
    header->pid_namespace = process->pid_namespace;
    snprintf(header->program, sizeof(header->program), "%s", process->name);
    size_t length = read_proc(process->pid, "cmdline", header->command, sizeof(header->command));
    while (length > 0 && header->command[length - 1] == '\0')
        length--;
    for (size_t i = 0; i < length; i++)
        if (header->command[i] == '\0')
            header->command[i] = ' ';
    for (size_t i = 0; i < process->code.items.count; i++)
        cpu_process_add_mapping(processes, process, &process->code.items.items[i]);
}

struct cpu_process *cpu_process_find(const struct cpu_processes *processes, uint32_t pid)
{
    const uint64_t *known = map_get(&processes->processes, pid);
    return known ? (struct cpu_process *)(uintptr_t)*known : NULL; /* NOLINT: a pointer that was put there */
}

#define ENVIRONMENT_BYTES ((size_t)256 << 10)

/* Finds a variable in an environment: strings "NAME=value" that end with a NUL each, then an empty string. */
static const char *variable_of(void *environment, const char *variable)
{
    size_t length = strlen(variable);
    for (const char *at = environment; *at; at += strlen(at) + 1)
        if (strncmp(at, variable, length) == 0 && at[length] == '=')
            return at + length + 1;
    return NULL;
}

/* Whether the rank of the process, by the environment that it began with, is recorded. A process that has ended has no
 * environment any more: then its parent decides. */
static bool has_chosen_rank(const struct cpu_processes *processes, const struct cpu_process *process)
{
    const struct cpu_process *parent = cpu_process_find(processes, process->parent);
    char *environment = calloc(1, ENVIRONMENT_BYTES + 1);
    if (!environment || read_proc(process->pid, "environ", environment, ENVIRONMENT_BYTES) == 0) {
        free(environment);
        return parent && parent->ours;
    }
    struct job_rank rank;
    rank_read_from(&rank, variable_of, environment);
    free(environment);
    return rank_list_has(processes->ranks, rank.rank);
}

void cpu_process_start_file(struct cpu_processes *processes, struct cpu_process *process, uint64_t time)
{
    process->ours = (processes->first == 0 || process->pid == processes->first) &&
                    (!processes->ranks || has_chosen_rank(processes, process));
    process->started = time;
    process->described = false;
    process->stack_count = 0;
    cpu_file_init(&process->file, processes->directory);
}

void cpu_process_set_python(struct cpu_processes *processes, struct cpu_process *process, struct python_process *python)
{
    processes->tick = processes->tick ? processes->tick : TICK;
    processes->pythons += python != NULL;
    processes->pythons -= process->python != NULL;
    python_process_free(process->python);
    process->python = python;
}

struct cpu_process *cpu_process_get(struct cpu_processes *processes, uint32_t pid, uint32_t parent, uint64_t time)
{
    struct cpu_process *process = cpu_process_find(processes, pid);
    if (process || pid == 0 || pid == UINT32_MAX)
        return process;
    process = calloc(1, sizeof(*process));
    uint64_t *place = process ? map_put(&processes->processes, pid, NULL) : NULL;
    if (!place) {
        free(process);
        return NULL;
    }
    *place = (uintptr_t)process;
    process->pid = pid;
    process->parent = parent;
    const struct cpu_process *from = cpu_process_find(processes, parent);
    if (from)
        code_map_copy(&process->code, &from->code);
    identify(process);
    cpu_process_start_file(processes, process, time);
    if (from && from->python && process->ours)
        cpu_process_set_python(processes, process, python_process_new(&from->python->reader, pid));
    return process;
}

void cpu_process_refuse_python(struct cpu_processes *processes, const struct cpu_process *process, int failure)
{
    if (!processes->python_refused)
        warning("--cpu: the functions of Python are not known: the memory of process %u cannot be read (%s)",
                process->pid, strerror(failure));
    processes->python_refused = true;
}

static void end_process(struct cpu_processes *processes, struct cpu_process *process)
{
    cpu_process_set_python(processes, process, NULL);
    cpu_file_close(&process->file, process->lost);
    code_map_release(&process->code);
    map_release(&process->stacks);
    free(process);
}

void cpu_process_end(struct cpu_processes *processes, struct cpu_process *process)
{
    map_remove(&processes->processes, process->pid);
    end_process(processes, process);
}

/* --- threads --- */

struct cpu_thread *cpu_thread_find(const struct cpu_processes *processes, uint32_t tid)
{
    const uint64_t *known = map_get(&processes->threads, tid);
    return known ? (struct cpu_thread *)(uintptr_t)*known : NULL; /* NOLINT: a pointer that was put there */
}

struct cpu_thread *cpu_thread_get(struct cpu_processes *processes, struct cpu_process *process, uint32_t tid)
{
    struct cpu_thread *thread = cpu_thread_find(processes, tid);
    if (thread || tid == 0 || tid == UINT32_MAX)
        return thread;
    thread = calloc(1, sizeof(*thread));
    uint64_t *place = thread ? map_put(&processes->threads, tid, NULL) : NULL;
    if (!place) {
        free(thread);
        return NULL;
    }
    *place = (uintptr_t)thread;
    *thread = (struct cpu_thread){.tid = tid, .pid = process->pid};
    memcpy(thread->name, process->name, sizeof(thread->name));
    process->threads++;
    return thread;
}

void cpu_thread_drop(struct cpu_processes *processes, struct cpu_thread *thread)
{
    if (thread->system_tid != 0)
        map_remove(&processes->system, thread->system_tid);
    map_remove(&processes->threads, thread->tid);
    free(thread);
}

void cpu_thread_add_name(struct cpu_process *process, struct cpu_thread *thread, uint64_t time)
{
    struct spool_thread_name name = {.head = {.type = SPOOL_RECORD_THREAD_NAME, .time = time}, .thread = thread->tid};
    if (thread->named || !*thread->name)
        return;
    thread->named = true;
    name.length = (uint32_t)strlen(thread->name);
    cpu_file_add(&process->file, &name.head, sizeof(name), thread->name, name.length, sizeof(name.text));
}

void cpu_thread_came_in(struct cpu_processes *processes, struct cpu_process *process, struct cpu_thread *thread,
                        uint64_t time)
{
    uint64_t out = thread->out;
    thread->out = 0;
    if (out == 0 || time < out || !cpu_is_recorded(processes, out, time))
        return;
    cpu_process_describe(processes, process);
    cpu_thread_add_name(process, thread, cpu_real_time(processes, out));
    struct spool_thread_state state = {
        .head = {.type = SPOOL_RECORD_THREAD_STATE, .flags = thread->state, .time = cpu_real_time(processes, out)},
        .end = cpu_real_time(processes, time),
        .thread = thread->tid,
        .stack = cpu_process_stack(processes, process, thread->tid, out, time, thread->calls, thread->call_count),
        .waker = thread->waker};
    cpu_file_add(&process->file, &state.head, sizeof(state), NULL, 0, 0);
    processes->states++;
}

/* --- ticks, flushes and the end --- */

static int tick(void *context, uint64_t pid, uint64_t *value)
{
    struct cpu_processes *processes = context;
    struct cpu_process *process = (struct cpu_process *)(uintptr_t)*value; /* NOLINT: a pointer that was put there */
    (void)pid;
    if (process->python && python_process_tick(process->python, processes->ticked, processes->tick) != 0 &&
        errno != ESRCH)
        cpu_process_refuse_python(processes, process, errno);
    return 0;
}

void cpu_processes_tick(struct cpu_processes *processes, uint64_t now)
{
    if (processes->pythons == 0 || now - processes->ticked < processes->tick ||
        !cpu_is_recorded(processes, now, now + TICK))
        return;
    uint64_t began = clock_monotonic();
    processes->ticked = now;
    map_each(&processes->processes, tick, processes);
    uint64_t least = TICK_PART * (clock_monotonic() - began);
    processes->tick = least < TICK ? TICK : least > TICK_MOST ? TICK_MOST : least;
}

static int flush(void *context, uint64_t pid, uint64_t *value)
{
    const uint64_t *now = context;
    struct cpu_process *process = (struct cpu_process *)(uintptr_t)*value; /* NOLINT: a pointer that was put there */
    (void)pid;
    if (process->file.wanting != 0 && *now - process->file.wanting >= FLUSH_AFTER)
        cpu_file_flush(&process->file);
    return 0;
}

void cpu_processes_flush(struct cpu_processes *processes)
{
    uint64_t now = clock_monotonic();
    map_each(&processes->processes, flush, &now);
}

struct finishing {
    struct cpu_processes *processes;
    uint64_t time;
};

static int finish_thread(void *context, uint64_t tid, uint64_t *value)
{
    const struct finishing *finishing = context;
    struct cpu_thread *thread = (struct cpu_thread *)(uintptr_t)*value; /* NOLINT: a pointer that was put there */
    struct cpu_process *process = cpu_process_find(finishing->processes, thread->pid);
    (void)tid;
    if (process && process->ours)
        cpu_thread_came_in(finishing->processes, process, thread, finishing->time);
    free(thread);
    return 0;
}

static int finish_process(void *context, uint64_t pid, uint64_t *value)
{
    struct cpu_process *process = (struct cpu_process *)(uintptr_t)*value; /* NOLINT: a pointer that was put there */
    (void)pid;
    end_process(context, process);
    return 0;
}

void cpu_processes_finish(struct cpu_processes *processes, uint64_t time)
{
    struct finishing finishing = {processes, time};
    map_each(&processes->threads, finish_thread, &finishing);
    map_each(&processes->processes, finish_process, processes);
    map_release(&processes->threads);
    map_release(&processes->processes);
    map_release(&processes->system);
}
