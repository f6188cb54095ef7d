/*
 * Makes records of perf events and writes the file of each process (struct cpu_file, in the format of a spool). Events
 * come in order of time. Some are missing if a ring was full: threads and processes without an event of their start are
 * added when their first event comes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/spool_records.h"
#include "perf/cpu_process.h"

#define STACKS_MOST (UINT32_C(1) << 18) /* of a process; later stacks are not recorded */

/* --- stacks --- */

static size_t find_calls(struct cpu_processes *processes, const struct cpu_process *process,
                         const struct perf_record *record, uint64_t calls[CALLS_MOST])
{
    size_t count = record->place.call_count < CALLS_MOST ? record->place.call_count : CALLS_MOST;
    if (record->place.known) {
        struct unwind_state state = {.ip = record->place.ip,
                                     .sp = record->place.sp,
                                     .bp = record->place.bp,
                                     .extra = record->place.extra,
                                     .stack = record->place.stack,
                                     .size = record->place.size};
        return unwind(processes->unwinder, &process->code, &state, calls, CALLS_MOST);
    }
    if (count > 0)
        memcpy(calls, record->place.calls, count * sizeof(*calls));
    return count;
}

/* Replaces the innermost evaluation loop and its callers in CALLS with the thread's functions of Python. Native
 * functions that these call stay. Returns the number of calls. */
static size_t put_python(const struct cpu_process *process, uint32_t tid, uint64_t from, uint64_t to, uint64_t *calls,
                         size_t count)
{
    const uint64_t *words;
    size_t more = process->python ? python_process_at(process->python, tid, from, to, &words) : 0, kept = 0;
    if (more == 0)
        return count;
    while (kept < count && !python_process_is_loop(process->python, calls[kept]))
        kept++;
    if (more > CALLS_MOST - kept)
        more = CALLS_MOST - kept;
    if (more > 0)
        memcpy(calls + kept, words, more * sizeof(*calls));
    return kept + more;
}

static void add_line(struct cpu_process *process, uint64_t word, uint64_t time)
{
    struct python_line *line = process->python ? python_process_line(process->python, word) : NULL;
    if (!line || line->written)
        return;
    line->written = true;
    char text[PYTHON_LINE_BYTES];
    struct spool_python_frame frame = {.head = {.type = SPOOL_RECORD_PYTHON_FRAME, .time = time},
                                       .number = word & PYTHON_NUMBER_MASK,
                                       .line = line->line};
    frame.length = (uint32_t)python_process_text(process->python, line, text);
    cpu_file_add(&process->file, &frame.head, sizeof(frame), text, frame.length, sizeof(frame.text));
}

uint32_t cpu_process_stack(struct cpu_processes *processes, struct cpu_process *process, uint32_t tid, uint64_t from,
                           uint64_t to, uint64_t *calls, size_t count)
{
    uint64_t time = cpu_real_time(processes, from);
    bool is_new = false;
    if (count == 0)
        return 0;
    count = put_python(process, tid, from, to, calls, count);
    uint64_t hash = hash_bytes(calls, count * sizeof(*calls));
    uint64_t *number =
        process->stack_count < STACKS_MOST ? map_put(&process->stacks, hash, &is_new) : map_get(&process->stacks, hash);
    if (!number)
        return 0;
    if (!is_new)
        return (uint32_t)*number;
    *number = ++process->stack_count;
    for (size_t i = 0; i < count; i++)
        add_line(process, calls[i], time);
    struct spool_stack stack = {.head = {.type = SPOOL_RECORD_STACK, .time = time},
                                .stack = process->stack_count,
                                .length = (uint32_t)(count * sizeof(*calls))};
    cpu_file_add(&process->file, &stack.head, sizeof(stack), calls, stack.length, sizeof(stack.text));
    return stack.stack;
}

/* --- records --- */

static void take_sample(struct cpu_processes *processes, struct cpu_process *process, struct cpu_thread *thread,
                        const struct perf_record *record)
{
    if (!cpu_is_recorded(processes, record->time, record->time))
        return;
    uint64_t calls[CALLS_MOST];
    size_t count = find_calls(processes, process, record, calls);
    cpu_process_describe(processes, process);
    cpu_thread_add_name(process, thread, cpu_real_time(processes, record->time));
    struct spool_cpu_sample sample = {
        .head = {.type = SPOOL_RECORD_CPU_SAMPLE, .time = cpu_real_time(processes, record->time)},
        .thread = thread->tid,
        .stack = cpu_process_stack(processes, process, record->tid, record->time, record->time, calls, count)};
    cpu_file_add(&process->file, &sample.head, sizeof(sample), NULL, 0, 0);
    processes->samples++;
}

static void take_leave(struct cpu_processes *processes, struct cpu_process *process, struct cpu_thread *thread,
                       const struct perf_record *record)
{
    if (!cpu_is_recorded(processes, record->time, record->time))
        return;
    cpu_process_describe(processes, process);
    thread->call_count = find_calls(processes, process, record, thread->calls);
    uint64_t state = record->place.state; /* the kernel's bits: none is R, 2 is D, others are S */
    thread->state = state == PERF_STATE_UNKNOWN ? 0
                    : state & 2                 ? SPOOL_THREAD_DISK_WAIT
                    : (state & 0xff) == 0       ? SPOOL_THREAD_RUNNABLE
                                                : SPOOL_THREAD_SLEEPING;
    thread->left = true;
    if (record->place.system_tid == 0 || record->place.system_tid == thread->system_tid)
        return;
    map_set(&processes->system, record->place.system_tid, thread->tid);
    thread->system_tid = record->place.system_tid;
}

static void take_out(struct cpu_thread *thread, const struct perf_record *record)
{
    if (!thread->left) {
        thread->call_count = 0;
        thread->state = 0;
    }
    if (thread->state == 0)
        thread->state = record->preempted ? SPOOL_THREAD_RUNNABLE : SPOOL_THREAD_SLEEPING;
    thread->left = false;
    thread->waker = 0;
    thread->out = record->time;
}

static void take_wake(const struct cpu_processes *processes, const struct perf_record *record)
{
    const uint64_t *tid = record->wake.interrupted ? NULL : map_get(&processes->system, record->wake.system_tid);
    struct cpu_thread *woken = tid ? cpu_thread_find(processes, (uint32_t)*tid) : NULL;
    if (woken && woken->out != 0 && woken->waker == 0)
        woken->waker = record->tid;
}

static void look_for_python(struct cpu_processes *processes, struct cpu_process *process, const char *path,
                            const struct code_range *range)
{
    struct python_reader reader;
    if (!process->ours || process->python)
        return;
    if (python_reader_find(&reader, process->pid, path, range))
        cpu_process_set_python(processes, process, python_process_new(&reader, process->pid));
    else if (errno == EPERM || errno == ENOSYS)
        cpu_process_refuse_python(processes, process, errno);
}

static void take_map(struct cpu_processes *processes, struct cpu_process *process, const struct perf_record *record)
{
    bool named = record->map.path[0] == '/' || strcmp(record->map.path, "[vdso]") == 0;
    bool is_file = named && strncmp(record->map.path, "//", 2) != 0; /* "//anon" is no file */
    struct code_range range = {.start = record->map.start,
                               .end = record->map.start + record->map.length,
                               .offset = record->map.offset,
                               .inode = record->map.inode,
                               .file = is_file ? unwinder_file(processes->unwinder, record->map.path, record->map.inode)
                                               : UNWIND_NO_FILE};
    code_map_add(&process->code, &range);
    if (is_file)
        look_for_python(processes, process, record->map.path, &range);
    if (process->described)
        cpu_process_add_mapping(processes, process, &range);
}

static int forget_out(void *context, uint64_t tid, uint64_t *value)
{
    struct cpu_thread *thread = (struct cpu_thread *)(uintptr_t)*value; /* NOLINT: a pointer that was put there */
    (void)context;
    (void)tid;
    thread->out = 0;
    thread->left = false;
    return 0;
}

static void take_name(struct cpu_processes *processes, struct cpu_process *process, struct cpu_thread *thread,
                      const struct perf_record *record)
{
    /* When the process becomes another program, a new file begins and all mappings are dropped. */
    if (record->name.exec) {
        cpu_file_close(&process->file, process->lost);
        process->lost = 0;
        cpu_process_set_python(processes, process, NULL);
        code_map_release(&process->code);
        map_release(&process->stacks);
        process->stacks = (struct map){0};
        cpu_process_start_file(processes, process, record->time);
    }
    if (record->tid == record->pid)
        snprintf(process->name, sizeof(process->name), "%s", record->name.text);
    thread->named = thread->named && !record->name.exec && strcmp(thread->name, record->name.text) == 0;
    snprintf(thread->name, sizeof(thread->name), "%s", record->name.text);
}

static void take_fork(struct cpu_processes *processes, const struct perf_record *record)
{
    struct cpu_process *process = cpu_process_find(processes, record->pid);
    if (process && record->pid != record->parent.pid && record->pid == record->tid)
        cpu_process_end(processes, process); /* an earlier process with this pid, whose end was lost */
    process = cpu_process_get(processes, record->pid, record->parent.pid, record->time);
    const struct cpu_thread *by = cpu_thread_find(processes, record->parent.tid);
    struct cpu_thread *old = cpu_thread_find(processes, record->tid);
    if (old)
        cpu_thread_drop(processes, old);
    if (process && by && record->pid == record->tid)
        memcpy(process->name, by->name, sizeof(process->name));
    struct cpu_thread *thread = process ? cpu_thread_get(processes, process, record->tid) : NULL;
    if (thread && by)
        memcpy(thread->name, by->name, sizeof(thread->name));
}

static void take_exit(struct cpu_processes *processes, const struct perf_record *record)
{
    struct cpu_process *process = cpu_process_find(processes, record->pid);
    struct cpu_thread *thread = cpu_thread_find(processes, record->tid);
    if (process && thread && process->ours)
        cpu_thread_came_in(processes, process, thread, record->time);
    if (thread)
        cpu_thread_drop(processes, thread);
    if (process && thread && --process->threads == 0)
        cpu_process_end(processes, process);
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
    struct cpu_process *process = cpu_process_get(processes, record->pid, 0, record->time);
    struct cpu_thread *thread = process ? cpu_thread_get(processes, process, record->tid) : NULL;
    if (!thread)
        return;
    switch (record->kind) {
    case PERF_KIND_MAP: take_map(processes, process, record); return;
    case PERF_KIND_NAME: take_name(processes, process, thread, record); return;
    case PERF_KIND_LOST: /* threads may have come back and left again unnoticed */
        process->lost += record->lost;
        map_each(&processes->threads, forget_out, NULL);
        return;
    default: break;
    }
    if (!process->ours)
        return;
    switch (record->kind) {
    case PERF_KIND_SAMPLE: take_sample(processes, process, thread, record); return;
    case PERF_KIND_LEAVE: take_leave(processes, process, thread, record); return;
    case PERF_KIND_OUT: take_out(thread, record); return;
    case PERF_KIND_IN: cpu_thread_came_in(processes, process, thread, record->time); return;
    default: return;
    }
}

/* --- the file of a process --- */

/* The size of a chunk with its header. It divides a segment's size, so no chunk crosses a segment's end. */
#define CHUNK_BYTES ((size_t)64 << 10)
#define HEADER_BYTES spool_aligned(sizeof(struct spool_header))

void cpu_file_init(struct cpu_file *file, int directory)
{
    *file = (struct cpu_file){.directory = directory};
    buffer_init_memory(&file->records);
    struct spool_header *header = &file->header;
    memcpy(header->magic, SPOOL_MAGIC, sizeof(header->magic));
    header->version = SPOOL_VERSION;
    header->header_bytes = (uint32_t)HEADER_BYTES;
    header->formatted = HEADER_BYTES;
    header->state = SPOOL_OPEN;
    header->by_launcher = 1;
}

/* Creates the file and returns its descriptor, or -1. Names are numbered, since a pid has a file for each program that
 * it ran. */
static int make(struct cpu_file *file)
{
    int fd = -1;
    for (unsigned image = 0; fd < 0 && image < 100000; image++) {
        snprintf(file->name, sizeof(file->name), "%u-%u" SPOOL_CPU_SUFFIX, file->header.pid, image);
        fd = openat(file->directory, file->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd < 0)
        file->name[0] = '\0';
    return fd;
}

/* Writes the chunk alone. The caller writes the header after it, since readers skip chunks that the header does not
 * count. */
static bool append(struct cpu_file *file, int fd, const char *records, size_t size)
{
    struct spool_header *header = &file->header;
    struct spool_chunk chunk = {.magic = SPOOL_CHUNK_MAGIC,
                                .type = SPOOL_RECORDS,
                                .state = SPOOL_DONE,
                                .bytes = spool_aligned(sizeof(chunk) + size),
                                .used = size,
                                .sequence = file->sequence + 1,
                                .segment = SPOOL_NO_SEGMENT};
    uint64_t at = header->formatted;
    static const uint8_t zeros[SPOOL_ALIGN];
    size_t rest = (size_t)(chunk.bytes - sizeof(chunk) - size);
    if (!file_write_at(fd, &chunk, sizeof(chunk), at) || !file_write_at(fd, records, size, at + sizeof(chunk)) ||
        (rest > 0 && !file_write_at(fd, zeros, rest, at + sizeof(chunk) + size)))
        return false;
    file->sequence++;
    header->formatted += chunk.bytes;
    return true;
}

void cpu_file_flush(struct cpu_file *file)
{
    size_t size = file->records.length;
    if (file->wanting == 0 || file->failed)
        return;
    int fd = *file->name ? openat(file->directory, file->name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW) : make(file);
    bool whole = fd >= 0 && (size == 0 || append(file, fd, file->records.data, size)) &&
                 file_write_at(fd, &file->header, sizeof(file->header), 0);
    if (!whole) {
        warning("what the processors did for process %u cannot be recorded any more: %s", file->header.pid,
                strerror(errno));
        file->failed = true;
    }
    if (fd >= 0)
        close(fd);
    file->records.length = 0;
    file->wanting = 0;
}

void cpu_file_add(struct cpu_file *file, struct spool_record *record, size_t size, const void *text, uint32_t length,
                  size_t space)
{
    static const uint8_t zeros[8];
    uint32_t bytes = (uint32_t)size;
    if (text && length > space)
        bytes += (uint32_t)(length - space + 7) & ~UINT32_C(7);
    if (file->failed) {
        file->dropped++;
        return;
    }
    if (file->records.length + bytes > CHUNK_BYTES - sizeof(struct spool_chunk))
        cpu_file_flush(file);
    if (file->wanting == 0)
        file->wanting = clock_monotonic();
    record->bytes = bytes;
    size_t kept = text ? size - space : size;
    buffer_bytes(&file->records, record, kept);
    if (text)
        buffer_bytes(&file->records, text, length);
    for (size_t rest = bytes - kept - (text ? length : 0); rest > 0;) {
        size_t part = rest < sizeof(zeros) ? rest : sizeof(zeros);
        buffer_bytes(&file->records, zeros, part);
        rest -= part;
    }
}

void cpu_file_close(struct cpu_file *file, uint64_t lost)
{
    file->header.state = SPOOL_FINISHED;
    file->header.cpu_lost = lost + file->dropped;
    if (*file->name || file->wanting != 0) {
        file->wanting = file->wanting ? file->wanting : 1;
        file->failed = file->failed && !*file->name;
        cpu_file_flush(file);
    }
    buffer_release(&file->records);
}
