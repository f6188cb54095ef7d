/*
 * From perf events to records: see cpu_process.h. Records come in order of time. Some may be missing, where a ring was
 * full: threads and processes that were not announced are taken as they come.
 */
#include "perf/cpu_process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/spool_records.h"

#define FRAMES_MOST 128
#define STACKS_MOST (UINT32_C(1) << 18) /* of a process; later ones are not known */
#define FLUSH_AFTER (500 * NS_PER_MS)

static uint64_t real_time(const struct cpu_processes *processes, uint64_t time)
{
    return time + (uint64_t)processes->clock_offset;
}

static bool is_recorded(const struct cpu_processes *processes, uint64_t from, uint64_t to)
{
    return real_time(processes, to) >= processes->from &&
           (processes->to == 0 || real_time(processes, from) <= processes->to);
}

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

/* By which its rows are those of the spool that the process itself writes (agent/spool/process.c). */
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

static void add_mapping(struct cpu_processes *processes, struct cpu_process *process, const struct code_range *range)
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

/* Before the first record: most processes of a shell script have none. */
static void describe(struct cpu_processes *processes, struct cpu_process *process)
{
    if (process->described)
        return;
    process->described = true;
    struct spool_header *header = &process->file.header;
    header->pid = process->pid;
    header->parent_pid = process->parent;
    header->started_monotonic = process->started;
    header->started = real_time(processes, process->started);
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
        add_mapping(processes, process, &process->code.items.items[i]);
}

static void set_name(char *name, const char *text)
{
    snprintf(name, NAME_BYTES, "%s", text);
}

static struct cpu_process *find_process(const struct cpu_processes *processes, uint32_t pid)
{
    const uint64_t *known = map_get(&processes->processes, pid);
    return known ? (struct cpu_process *)(uintptr_t)*known : NULL; /* NOLINT: a pointer that was put there */
}

static void start_file(struct cpu_processes *processes, struct cpu_process *process, uint64_t time)
{
    process->started = time;
    process->described = false;
    process->stack_count = 0;
    cpu_file_init(&process->file, processes->directory);
}

/* One that is not known gets what its parent has. NULL: no memory, or it is not a process. */
static struct cpu_process *get_process(struct cpu_processes *processes, uint32_t pid, uint32_t parent, uint64_t time)
{
    struct cpu_process *process = find_process(processes, pid);
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
    process->ours = processes->first == 0 || pid == processes->first;
    const struct cpu_process *from = find_process(processes, parent);
    if (from)
        code_map_copy(&process->code, &from->code);
    identify(process);
    start_file(processes, process, time);
    return process;
}

static void end_process(struct cpu_processes *processes, struct cpu_process *process)
{
    map_remove(&processes->processes, process->pid);
    cpu_file_close(&process->file, process->lost);
    code_map_release(&process->code);
    map_release(&process->stacks);
    free(process);
}

/* --- threads --- */

static struct cpu_thread *find_thread(const struct cpu_processes *processes, uint32_t tid)
{
    const uint64_t *known = map_get(&processes->threads, tid);
    return known ? (struct cpu_thread *)(uintptr_t)*known : NULL; /* NOLINT: a pointer that was put there */
}

/* NULL: no memory, or it is not a thread. */
static struct cpu_thread *get_thread(struct cpu_processes *processes, struct cpu_process *process, uint32_t tid)
{
    struct cpu_thread *thread = find_thread(processes, tid);
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

static void drop_thread(struct cpu_processes *processes, struct cpu_thread *thread)
{
    if (thread->system_tid != 0)
        map_remove(&processes->system, thread->system_tid);
    map_remove(&processes->threads, thread->tid);
    free(thread);
}

static void add_name(struct cpu_process *process, struct cpu_thread *thread, uint64_t time)
{
    struct spool_thread_name name = {.head = {.type = SPOOL_RECORD_THREAD_NAME, .time = time}, .thread = thread->tid};
    if (thread->named || !*thread->name)
        return;
    thread->named = true;
    name.length = (uint32_t)strlen(thread->name);
    cpu_file_add(&process->file, &name.head, sizeof(name), thread->name, name.length, sizeof(name.text));
}

/* --- stacks --- */

static size_t find_calls(struct cpu_processes *processes, const struct cpu_process *process,
                         const struct perf_record *record, uint64_t calls[FRAMES_MOST])
{
    size_t count = record->place.call_count < FRAMES_MOST ? record->place.call_count : FRAMES_MOST;
    if (record->place.known) {
        struct unwind_state state = {.ip = record->place.ip,
                                     .sp = record->place.sp,
                                     .bp = record->place.bp,
                                     .bx = record->place.bx,
                                     .stack = record->place.stack,
                                     .size = record->place.size};
        return unwind(processes->unwinder, &process->code, &state, calls, FRAMES_MOST);
    }
    if (count > 0)
        memcpy(calls, record->place.calls, count * sizeof(*calls));
    return count;
}

/* The number of the stack, which is put into the file when it is new; 0: it is not known. */
static uint32_t take_stack(struct cpu_processes *processes, struct cpu_process *process,
                           const struct perf_record *record)
{
    uint64_t calls[FRAMES_MOST];
    size_t count = find_calls(processes, process, record, calls);
    bool is_new = false;
    if (count == 0)
        return 0;
    uint64_t hash = hash_bytes(calls, count * sizeof(*calls));
    uint64_t *number =
        process->stack_count < STACKS_MOST ? map_put(&process->stacks, hash, &is_new) : map_get(&process->stacks, hash);
    if (!number)
        return 0;
    if (!is_new)
        return (uint32_t)*number;
    *number = ++process->stack_count;
    struct spool_stack stack = {.head = {.type = SPOOL_RECORD_STACK, .time = real_time(processes, record->time)},
                                .stack = process->stack_count,
                                .length = (uint32_t)(count * sizeof(*calls))};
    cpu_file_add(&process->file, &stack.head, sizeof(stack), calls, stack.length, sizeof(stack.text));
    return stack.stack;
}

/* --- records --- */

static void take_sample(struct cpu_processes *processes, struct cpu_process *process, struct cpu_thread *thread,
                        const struct perf_record *record)
{
    if (!is_recorded(processes, record->time, record->time))
        return;
    describe(processes, process);
    add_name(process, thread, real_time(processes, record->time));
    struct spool_cpu_sample sample = {
        .head = {.type = SPOOL_RECORD_CPU_SAMPLE, .time = real_time(processes, record->time)},
        .thread = thread->tid,
        .stack = take_stack(processes, process, record)};
    cpu_file_add(&process->file, &sample.head, sizeof(sample), NULL, 0, 0);
    processes->samples++;
}

/* As the kernel's letters: R, D, and S or anything else. */
static uint16_t state_of(uint64_t system)
{
    if (system & 2)
        return SPOOL_THREAD_DISK_WAIT;
    return (system & 0xff) == 0 ? SPOOL_THREAD_RUNNABLE : SPOOL_THREAD_SLEEPING;
}

static void take_leave(struct cpu_processes *processes, struct cpu_process *process, struct cpu_thread *thread,
                       const struct perf_record *record)
{
    if (!is_recorded(processes, record->time, record->time))
        return;
    describe(processes, process);
    thread->stack = take_stack(processes, process, record);
    thread->state = record->place.state == PERF_STATE_UNKNOWN ? 0 : state_of(record->place.state);
    thread->left = true;
    if (record->place.system_tid == 0 || record->place.system_tid == thread->system_tid)
        return;
    uint64_t *known = map_put(&processes->system, record->place.system_tid, NULL);
    if (known)
        *known = thread->tid;
    thread->system_tid = record->place.system_tid;
}

static void take_out(struct cpu_thread *thread, const struct perf_record *record)
{
    if (!thread->left)
        thread->stack = thread->state = 0;
    if (thread->state == 0)
        thread->state = record->preempted ? SPOOL_THREAD_RUNNABLE : SPOOL_THREAD_SLEEPING;
    thread->left = false;
    thread->waker = 0;
    thread->out = record->time;
}

/* The thread is back, or has ended, or the run has. */
static void take_in(struct cpu_processes *processes, struct cpu_process *process, struct cpu_thread *thread,
                    uint64_t time)
{
    uint64_t out = thread->out;
    thread->out = 0;
    if (out == 0 || time < out || !is_recorded(processes, out, time))
        return;
    describe(processes, process);
    add_name(process, thread, real_time(processes, out));
    struct spool_thread_state state = {
        .head = {.type = SPOOL_RECORD_THREAD_STATE, .flags = thread->state, .time = real_time(processes, out)},
        .end = real_time(processes, time),
        .thread = thread->tid,
        .stack = thread->stack,
        .waker = thread->waker};
    cpu_file_add(&process->file, &state.head, sizeof(state), NULL, 0, 0);
    processes->states++;
}

static void take_wake(const struct cpu_processes *processes, const struct perf_record *record)
{
    const uint64_t *tid = record->wake.interrupted ? NULL : map_get(&processes->system, record->wake.system_tid);
    struct cpu_thread *woken = tid ? find_thread(processes, (uint32_t)*tid) : NULL;
    if (woken && woken->out != 0 && woken->waker == 0)
        woken->waker = record->tid;
}

static void take_map(struct cpu_processes *processes, struct cpu_process *process, const struct perf_record *record)
{
    bool named = record->map.path[0] == '/' || strcmp(record->map.path, "[vdso]") == 0;
    bool is_file = named && strncmp(record->map.path, "//", 2) != 0; /* "//anon" */
    struct code_range range = {.start = record->map.start,
                               .end = record->map.start + record->map.length,
                               .offset = record->map.offset,
                               .inode = record->map.inode,
                               .file = is_file ? unwinder_file(processes->unwinder, record->map.path, record->map.inode)
                                               : UNWIND_NO_FILE};
    code_map_add(&process->code, &range);
    if (process->described)
        add_mapping(processes, process, &range);
}

/* Another program: another file, and nothing is mapped yet. */
static void take_exec(struct cpu_processes *processes, struct cpu_process *process, uint64_t time)
{
    cpu_file_close(&process->file, process->lost);
    process->lost = 0;
    code_map_release(&process->code);
    map_release(&process->stacks);
    process->stacks = (struct map){0};
    start_file(processes, process, time);
}

static void take_name(struct cpu_processes *processes, struct cpu_process *process, struct cpu_thread *thread,
                      const struct perf_record *record)
{
    if (record->name.exec)
        take_exec(processes, process, record->time);
    if (record->tid == record->pid)
        set_name(process->name, record->name.text);
    thread->named = thread->named && !record->name.exec && strcmp(thread->name, record->name.text) == 0;
    set_name(thread->name, record->name.text);
}

static void take_fork(struct cpu_processes *processes, const struct perf_record *record)
{
    struct cpu_process *process = find_process(processes, record->pid);
    if (process && record->pid != record->parent.pid && record->pid == record->tid)
        end_process(processes, process); /* of an earlier process with this number; its end was lost */
    process = get_process(processes, record->pid, record->parent.pid, record->time);
    const struct cpu_thread *by = find_thread(processes, record->parent.tid);
    struct cpu_thread *old = find_thread(processes, record->tid);
    if (old)
        drop_thread(processes, old);
    if (process && by && record->pid == record->tid)
        memcpy(process->name, by->name, sizeof(process->name));
    struct cpu_thread *thread = process ? get_thread(processes, process, record->tid) : NULL;
    if (thread && by)
        memcpy(thread->name, by->name, sizeof(thread->name));
}

static void take_exit(struct cpu_processes *processes, const struct perf_record *record)
{
    struct cpu_process *process = find_process(processes, record->pid);
    struct cpu_thread *thread = find_thread(processes, record->tid);
    if (process && thread && process->ours)
        take_in(processes, process, thread, record->time);
    if (thread)
        drop_thread(processes, thread);
    if (process && thread && --process->threads == 0)
        end_process(processes, process);
}

void cpu_processes_take(struct cpu_processes *processes, const struct perf_record *record)
{
    if (record->kind == PERF_KIND_FORK || record->kind == PERF_KIND_EXIT || record->kind == PERF_KIND_WAKE) {
        if (record->kind == PERF_KIND_FORK)
            take_fork(processes, record);
        else if (record->kind == PERF_KIND_EXIT)
            take_exit(processes, record);
        else
            take_wake(processes, record);
        return;
    }
    struct cpu_process *process = get_process(processes, record->pid, 0, record->time);
    struct cpu_thread *thread = process ? get_thread(processes, process, record->tid) : NULL;
    if (!thread)
        return;
    switch (record->kind) {
    case PERF_KIND_MAP: take_map(processes, process, record); return;
    case PERF_KIND_NAME: take_name(processes, process, thread, record); return;
    case PERF_KIND_LOST: process->lost += record->lost; return;
    default: break;
    }
    if (!process->ours)
        return;
    switch (record->kind) {
    case PERF_KIND_SAMPLE: take_sample(processes, process, thread, record); return;
    case PERF_KIND_LEAVE: take_leave(processes, process, thread, record); return;
    case PERF_KIND_OUT: take_out(thread, record); return;
    case PERF_KIND_IN: take_in(processes, process, thread, record->time); return;
    default: return;
    }
}

/* --- from time to time, and at the end --- */

struct flushing {
    bool all;
    uint64_t now;
};

static int flush(void *context, uint64_t pid, uint64_t *value)
{
    const struct flushing *flushing = context;
    struct cpu_process *process = (struct cpu_process *)(uintptr_t)*value; /* NOLINT: a pointer that was put there */
    (void)pid;
    if (process->file.wanting != 0 && (flushing->all || flushing->now - process->file.wanting >= FLUSH_AFTER))
        cpu_file_flush(&process->file);
    return 0;
}

void cpu_processes_flush(struct cpu_processes *processes, bool all)
{
    struct flushing flushing = {.all = all, .now = clock_monotonic()};
    map_each(&processes->processes, flush, &flushing);
}

struct finishing {
    struct cpu_processes *processes;
    uint64_t time;
};

static int finish_thread(void *context, uint64_t tid, uint64_t *value)
{
    const struct finishing *finishing = context;
    struct cpu_thread *thread = (struct cpu_thread *)(uintptr_t)*value; /* NOLINT: a pointer that was put there */
    struct cpu_process *process = find_process(finishing->processes, thread->pid);
    (void)tid;
    if (process && process->ours)
        take_in(finishing->processes, process, thread, finishing->time);
    free(thread);
    return 0;
}

static int finish_process(void *context, uint64_t pid, uint64_t *value)
{
    struct cpu_process *process = (struct cpu_process *)(uintptr_t)*value; /* NOLINT: a pointer that was put there */
    (void)context;
    (void)pid;
    cpu_file_close(&process->file, process->lost);
    code_map_release(&process->code);
    map_release(&process->stacks);
    free(process);
    return 0;
}

void cpu_processes_finish(struct cpu_processes *processes, uint64_t time)
{
    struct finishing finishing = {processes, time};
    map_each(&processes->threads, finish_thread, &finishing);
    map_each(&processes->processes, finish_process, NULL);
    map_release(&processes->threads);
    map_release(&processes->processes);
    map_release(&processes->system);
}
