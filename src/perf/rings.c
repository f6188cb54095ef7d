/*
 * Opens the wanted perf events, as far as this user is allowed to have them.
 *
 * An event is opened on each processor, because each ring belongs to one processor. Threads and children inherit it.
 * The main event also writes records of mappings, names and switches; if no samples are wanted, it is a dummy event.
 *
 * If kernel.perf_event_paranoid is 2, a user without privileges may only sample code outside of the kernel. Then no
 * sample comes from a system call, and switches have no stacks, since they happen in the kernel.
 */
#include "perf/rings.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

/* Bytes that are copied of a stack: enough for two thirds of PyTorch's stacks and nearly all of other programs. */
#define STACK_BYTES 8192u

/* Limits of one ring, which is a power of two pages, and of all rings. A user without privileges may lock 512 KiB for
 * each processor. */
#define RING_BYTES_MOST ((uint64_t)2 << 20)
#define RING_BYTES_LEAST ((uint64_t)32 << 10)
#define RINGS_BYTES_MOST ((uint64_t)64 << 20)
/* The kernel wakes our thread when a ring holds this much or is half full. Wake-ups are a large part of the cost of
 * samples. */
#define WAKE_BYTES ((uint64_t)256 << 10)
/* Rings are also read at this interval, or before samples at 2 kHz can fill a ring that is smaller than wished. */
#define WAIT_MS 100
#define BYTES_PER_MS (2 * STACK_BYTES)

#define EVENTS "/sys/kernel/tracing/events/sched/"

struct opening {
    struct perf_rings *rings;
    pid_t pid;
    const struct perf_wanted *wanted;
    struct perf_event_attr main, leave, waking;
    enum perf_source leave_source;
    bool leaves, wakes;
    uint64_t ring_bytes;
};

static int open_event(const struct perf_event_attr *attributes, pid_t pid, int processor)
{
    return (int)syscall(SYS_perf_event_open, attributes, pid, processor, -1, PERF_FLAG_FD_CLOEXEC);
}

/* --- attributes --- */

static uint64_t wished_ring_bytes(void)
{
    uint64_t bytes = RING_BYTES_MOST, processors = (uint64_t)sysconf(_SC_NPROCESSORS_CONF);
    while (bytes > RING_BYTES_LEAST && bytes * processors > RINGS_BYTES_MOST)
        bytes /= 2;
    return bytes;
}

static struct perf_event_attr common_attributes(uint32_t type, uint64_t config)
{
    return (struct perf_event_attr){
        .type = type,
        .size = sizeof(struct perf_event_attr),
        .config = config,
        .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
        .disabled = 1,
        .inherit = 1,
        .enable_on_exec = 1,
        .exclude_hv = 1,
        .exclude_callchain_kernel = 1,
        .sample_id_all = 1,
        .watermark = 1,
        .wakeup_watermark = wished_ring_bytes() / 2 < WAKE_BYTES ? (uint32_t)(wished_ring_bytes() / 2) : WAKE_BYTES,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
    };
}

static void add_stack(struct perf_event_attr *attributes, bool copied)
{
    if (!copied) {
        attributes->sample_type |= PERF_SAMPLE_CALLCHAIN;
        return;
    }
    attributes->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attributes->sample_regs_user = PERF_REGISTERS;
    attributes->sample_stack_user = STACK_BYTES;
}

static struct perf_event_attr main_attributes(const struct perf_wanted *wanted, const struct perf_able *able)
{
    uint64_t config = wanted->hertz ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_DUMMY;
    struct perf_event_attr attributes = common_attributes(PERF_TYPE_SOFTWARE, config);
    attributes.exclude_kernel = !able->kernel;
    attributes.mmap = attributes.mmap2 = attributes.comm = attributes.comm_exec = attributes.task = 1;
    attributes.context_switch = wanted->switches;
    if (wanted->hertz) {
        attributes.sample_period = NS_PER_S / wanted->hertz;
        add_stack(&attributes, able->stack_copy);
    }
    return attributes;
}

/* --- trace points, where the kernel shows them --- */

static bool read_text(const char *path, char *text, size_t space)
{
    FILE *file = fopen(path, "re");
    size_t length = file ? fread(text, 1, space - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
    return length > 0;
}

/* Finds the offset of FIELD in the data of a trace point, in the text of its format file. Returns false if FIELD is
 * missing. */
static bool find_field(const char *format, const char *field, uint32_t *offset)
{
    const char *at = strstr(format, field);
    at = at ? strstr(at, "offset:") : NULL;
    *offset = at ? (uint32_t)strtoul(at + strlen("offset:"), NULL, 10) : 0;
    return at != NULL;
}

static bool read_formats(struct perf_rings *rings)
{
    char text[4096];
    return read_text(EVENTS "sched_switch/format", text, sizeof(text)) &&
           find_field(text, " prev_state;", &rings->state_offset) &&
           find_field(text, " prev_pid;", &rings->system_tid_offset) &&
           read_text(EVENTS "sched_waking/format", text, sizeof(text)) &&
           find_field(text, " pid;", &rings->woken_offset) && find_field(text, " common_flags;", &rings->flags_offset);
}

static bool trace_point(const char *path, struct perf_event_attr *attributes)
{
    char text[32];
    if (!read_text(path, text, sizeof(text)))
        return false;
    *attributes = common_attributes(PERF_TYPE_TRACEPOINT, strtoull(text, NULL, 10));
    attributes->sample_period = 1;
    attributes->sample_type |= PERF_SAMPLE_RAW;
    return true;
}

static bool can_open(const struct opening *opening, const struct perf_event_attr *attributes)
{
    int fd = open_event(attributes, opening->pid, 0);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Chooses the event for stacks of switches: a trace point, which also has the thread's state, or else the software
 * event. */
static void choose_switches(struct opening *opening)
{
    struct perf_able *able = &opening->rings->able;
    if (read_formats(opening->rings) && trace_point(EVENTS "sched_switch/id", &opening->leave) &&
        trace_point(EVENTS "sched_waking/id", &opening->waking)) {
        add_stack(&opening->leave, able->stack_copy);
        opening->leave_source = PERF_SOURCE_SCHED_SWITCH;
        opening->wakes = can_open(opening, &opening->waking);
        opening->leaves = opening->wakes && can_open(opening, &opening->leave);
    }
    able->states = opening->leaves;
    if (!opening->leaves) {
        opening->wakes = false;
        opening->leave = common_attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
        opening->leave.sample_period = 1;
        add_stack(&opening->leave, able->stack_copy);
        opening->leave_source = PERF_SOURCE_SWITCHES;
        opening->leaves = able->kernel && can_open(opening, &opening->leave);
    }
    able->leave_stack = opening->leaves;
}

/* --- what this user is allowed to have --- */

static void say_why(int failure, char *reason)
{
    char level[16] = "";
    if ((failure == EACCES || failure == EPERM) &&
        read_text("/proc/sys/kernel/perf_event_paranoid", level, sizeof(level)) && atoi(level) > 2)
        snprintf(reason, PERF_REASON_BYTES, "kernel.perf_event_paranoid is %d, and must be 2 or less", atoi(level));
    else if (failure == EACCES || failure == EPERM)
        snprintf(reason, PERF_REASON_BYTES,
                 "perf_event_open() is refused (%s), as a container's filter of system calls (seccomp) does",
                 strerror(failure));
    else
        snprintf(reason, PERF_REASON_BYTES, "perf_event_open() failed: %s", strerror(failure));
}

/* Tries on the first processor which form of the main event is allowed. Returns 0, or -1 with errno set. */
static int choose_main(struct opening *opening)
{
    struct perf_able *able = &opening->rings->able;
    for (int refused = 0; refused < 4; refused++) {
        *able = (struct perf_able){.kernel = !(refused & 1), .stack_copy = PERF_REGISTERS != 0 && !(refused & 2)};
        opening->main = main_attributes(opening->wanted, able);
        if (can_open(opening, &opening->main))
            return 0;
    }
    return -1;
}

/* --- one processor --- */

static int add_source(struct perf_rings *rings, int fd, enum perf_source source)
{
    uint64_t id = 0;
    uint64_t *known = ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 ? map_put(&rings->kinds, id, NULL) : NULL;
    if (known)
        *known = (uint64_t)source + 1;
    return known ? 0 : -1;
}

/* Maps a ring, with less space than wished if the limit of locked memory is low. Returns 0, or -1 with errno set. */
static int map_ring(struct opening *opening, struct perf_ring *ring)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (; opening->ring_bytes >= RING_BYTES_LEAST; opening->ring_bytes /= 2) {
        ring->size = opening->ring_bytes;
        ring->page = mmap(NULL, page + ring->size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
        if (ring->page != MAP_FAILED) {
            ring->data = (uint8_t *)ring->page + page;
            return 0;
        }
        ring->page = NULL;
        if (errno != EPERM && errno != ENOMEM)
            return -1;
    }
    return -1;
}

static int open_ring(struct opening *opening, int fd, enum perf_source source, bool stacks)
{
    struct perf_ring *ring = array_push(&opening->rings->rings);
    if (!ring) {
        close(fd);
        return -1;
    }
    ring->fd = fd;
    ring->stacks = stacks;
    return map_ring(opening, ring) != 0 ? -1 : add_source(opening->rings, fd, source);
}

static int open_waking(struct opening *opening, int processor, int ring)
{
    int fd = open_event(&opening->waking, opening->pid, processor);
    int *kept = fd < 0 ? NULL : array_push(&opening->rings->others);
    if (kept)
        *kept = fd;
    else if (fd >= 0)
        close(fd);
    return kept && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring) == 0 ? add_source(opening->rings, fd, PERF_SOURCE_WAKING)
                                                                   : -1;
}

/* Opens the events of a processor. Stacks of switches have rings of their own: if a thread switches so often that they
 * fill, only stacks are lost. Returns 0, also if the processor does not exist, or -1 with errno set. */
static int open_processor(struct opening *opening, int processor)
{
    int fd = open_event(&opening->main, opening->pid, processor);
    if (fd < 0)
        return errno == ENODEV ? 0 : -1;
    if (open_ring(opening, fd, PERF_SOURCE_MAIN, false) != 0)
        return -1;
    if (opening->wakes && open_waking(opening, processor, fd) != 0)
        return -1;
    if (!opening->leaves)
        return 0;
    fd = open_event(&opening->leave, opening->pid, processor);
    return fd < 0 ? -1 : open_ring(opening, fd, opening->leave_source, true);
}

int perf_rings_open(struct perf_rings *rings, pid_t pid, const struct perf_wanted *wanted, char *reason)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    struct opening opening = {.rings = rings, .pid = pid, .wanted = wanted, .ring_bytes = wished_ring_bytes()};
    struct rlimit limit;
    *rings = (struct perf_rings){0};
    /* Three descriptors for each processor can exceed the usual limit. The program, already started, keeps its own
     * limit. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    int result = choose_main(&opening);
    if (result == 0 && wanted->switches)
        choose_switches(&opening);
    for (int i = 0; i < processors && result == 0; i++)
        result = open_processor(&opening, i);
    if (result != 0)
        say_why(errno, reason);
    else if (rings->rings.count == 0)
        result = -1, snprintf(reason, PERF_REASON_BYTES, "no processor has such events");
    uint64_t wait = opening.ring_bytes / BYTES_PER_MS;
    rings->wait_ms = wait < WAIT_MS ? (int)wait : WAIT_MS;
    rings->space = malloc(UINT16_MAX + 1);
    rings->polled = calloc(rings->rings.count + 1, sizeof(*rings->polled));
    if (result == 0 && (!rings->space || !rings->polled))
        result = -1, snprintf(reason, PERF_REASON_BYTES, "out of memory");
    return result;
}

void perf_rings_release(struct perf_rings *rings)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < rings->others.count; i++)
        close(rings->others.items[i]);
    for (size_t i = 0; i < rings->rings.count; i++) {
        if (rings->rings.items[i].page)
            munmap(rings->rings.items[i].page, page + rings->rings.items[i].size);
        close(rings->rings.items[i].fd);
    }
    array_release(&rings->rings);
    array_release(&rings->others);
    map_release(&rings->kinds);
    free(rings->space);
    free(rings->polled);
    *rings = (struct perf_rings){0};
}
