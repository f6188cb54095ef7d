/*
 * Reads the kernel's records (perf_event_open(2)) from the rings, merged in order of time. A record is read in place;
 * if it wraps around the end of its ring, it is copied first. All events write pid, tid and time at the same places, so
 * these are found without knowing which event wrote a record.
 *
 * The recorder's thread waits for the rings, passes each record to the file of its process, and lets the processes tick
 * and write at intervals.
 */
#include "perf/recorder.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/machine.h"
#include "common/settings.h"
#include "common/threads.h"
#include "perf/cpu_process.h"

/* Every record but a sample ends with pid, tid, time and the event's id. */
#define TRAILER_BYTES 24

bool perf_rings_wait(struct perf_rings *rings, int most)
{
    for (size_t i = 0; i < rings->rings.count; i++)
        rings->polled[i] = (struct pollfd){.fd = rings->rings.items[i].fd, .events = POLLIN};
    return poll(rings->polled, (nfds_t)rings->rings.count, most) > 0;
}

/* --- decoding of a record --- */

/* The bytes of a record that are not decoded yet. */
struct cursor {
    const uint8_t *at, *end;
};

static uint64_t take_word(struct cursor *cursor)
{
    uint64_t word = 0;
    if (cursor->end - cursor->at < (ptrdiff_t)sizeof(word)) {
        cursor->at = cursor->end;
        return 0;
    }
    memcpy(&word, cursor->at, sizeof(word));
    cursor->at += sizeof(word);
    return word;
}

static void take_pair(struct cursor *cursor, uint32_t *first, uint32_t *second)
{
    uint64_t word = take_word(cursor);
    *first = (uint32_t)word;
    *second = (uint32_t)(word >> 32);
}

static const uint8_t *take_bytes(struct cursor *cursor, uint64_t size)
{
    const uint8_t *bytes = cursor->at;
    if ((uint64_t)(cursor->end - cursor->at) < size) {
        cursor->at = cursor->end;
        return NULL;
    }
    cursor->at += size;
    return bytes;
}

/* Reads the addresses of the kernel's walk. Numbers at the top of the address space are marks; leading ones are
 * skipped. */
static void take_calls(struct cursor *cursor, struct perf_record *record)
{
    uint64_t count = take_word(cursor);
    const uint8_t *bytes = count < UINT16_MAX ? take_bytes(cursor, count * sizeof(uint64_t)) : NULL;
    record->place.calls = (const void *)bytes;
    record->place.call_count = bytes ? (size_t)count : 0;
    while (record->place.call_count > 0 && record->place.calls[0] >= PERF_CONTEXT_MAX) {
        record->place.calls++;
        record->place.call_count--;
    }
}

static uint64_t word_at(const uint8_t *data, uint32_t size, uint32_t offset, size_t length)
{
    uint64_t word = 0;
    if (data && offset <= size && size - offset >= length)
        memcpy(&word, data + offset, length);
    return word;
}

static void take_stack(struct cursor *cursor, struct perf_record *record)
{
    uint64_t registers[PERF_REGISTER_COUNT] = {0};
    uint64_t mode = take_word(cursor);
    for (size_t i = 0; i < PERF_REGISTER_COUNT && PERF_REGISTERS != 0 && mode != PERF_SAMPLE_REGS_ABI_NONE; i++)
        registers[i] = take_word(cursor);
    uint64_t space = take_word(cursor);
    const uint8_t *stack = take_bytes(cursor, space);
    uint64_t size = space > 0 ? take_word(cursor) : 0;
    record->place.known = mode == PERF_SAMPLE_REGS_ABI_64 && PERF_REGISTERS != 0;
    if (!record->place.known)
        return;
    record->place.extra = registers[PERF_REGISTER_EXTRA];
    record->place.bp = registers[PERF_REGISTER_BP];
    record->place.sp = registers[PERF_REGISTER_SP];
    record->place.ip = registers[PERF_REGISTER_IP];
    record->place.stack = stack;
    record->place.size = stack && size <= space ? (size_t)size : 0;
}

/* Reads a sample, in which the data of a trace point come after the kernel's walk and before a copied stack. Returns
 * false if the event that wrote it is unknown. */
static bool read_sample(const struct perf_rings *rings, struct cursor cursor, struct perf_record *record)
{
    const uint64_t *source = map_get(&rings->kinds, take_word(&cursor));
    const uint8_t *raw = NULL;
    uint32_t raw_size = 0;
    if (!source)
        return false;
    bool has_raw = *source - 1 == PERF_SOURCE_SCHED_SWITCH || *source - 1 == PERF_SOURCE_WAKING;
    take_pair(&cursor, &record->pid, &record->tid);
    take_word(&cursor);
    record->place.state = PERF_STATE_UNKNOWN;
    if (*source - 1 != PERF_SOURCE_WAKING && !rings->able.stack_copy)
        take_calls(&cursor, record);
    if (has_raw && cursor.end - cursor.at >= 4) {
        memcpy(&raw_size, cursor.at, sizeof(raw_size));
        cursor.at += sizeof(raw_size);
        raw = take_bytes(&cursor, raw_size);
    }
    if (*source - 1 == PERF_SOURCE_WAKING) {
        record->kind = PERF_KIND_WAKE;
        record->wake.system_tid = (uint32_t)word_at(raw, raw_size, rings->woken_offset, 4);
        /* Flags of hard, soft and non-maskable interrupts. */
        record->wake.interrupted = (word_at(raw, raw_size, rings->flags_offset, 1) & 0x58) != 0;
        return true;
    }
    record->kind = *source - 1 == PERF_SOURCE_MAIN ? PERF_KIND_SAMPLE : PERF_KIND_LEAVE;
    if (raw) {
        record->place.state = word_at(raw, raw_size, rings->state_offset, 8);
        record->place.system_tid = (uint32_t)word_at(raw, raw_size, rings->system_tid_offset, 4);
    }
    if (rings->able.stack_copy)
        take_stack(&cursor, record);
    return true;
}

static const char *take_text(const struct cursor *cursor)
{
    return memchr(cursor->at, '\0', (size_t)(cursor->end - cursor->at)) ? (const char *)cursor->at : "";
}

static void read_map(struct cursor *cursor, struct perf_record *record)
{
    record->kind = PERF_KIND_MAP;
    record->map.start = take_word(cursor);
    record->map.length = take_word(cursor);
    record->map.offset = take_word(cursor);
    take_pair(cursor, &record->map.major, &record->map.minor);
    record->map.inode = take_word(cursor);
    take_word(cursor); /* the inode's generation */
    take_word(cursor); /* permissions and flags */
    record->map.path = take_text(cursor);
}

/* Returns false if the record is not used. */
static bool read_other(const struct perf_event_header *head, struct cursor cursor, struct perf_record *record)
{
    switch (head->type) {
    case PERF_RECORD_SWITCH:
        record->kind = head->misc & PERF_RECORD_MISC_SWITCH_OUT ? PERF_KIND_OUT : PERF_KIND_IN;
        record->preempted = (head->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
        return true;
    case PERF_RECORD_MMAP2:
        if (head->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
            return false;
        take_pair(&cursor, &record->pid, &record->tid);
        read_map(&cursor, record);
        return true;
    case PERF_RECORD_COMM:
        take_pair(&cursor, &record->pid, &record->tid);
        record->kind = PERF_KIND_NAME;
        record->name.exec = (head->misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
        record->name.text = take_text(&cursor);
        return true;
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
        record->kind = head->type == PERF_RECORD_FORK ? PERF_KIND_FORK : PERF_KIND_EXIT;
        take_pair(&cursor, &record->pid, &record->parent.pid);
        take_pair(&cursor, &record->tid, &record->parent.tid);
        return true;
    case PERF_RECORD_LOST:
        take_word(&cursor);
        record->kind = PERF_KIND_LOST;
        record->lost = take_word(&cursor);
        return true;
    default: return false;
    }
}

/* --- the rings --- */

static const struct perf_event_header *head_at(const struct perf_ring *ring)
{
    return (const void *)(ring->data + ring->tail % ring->size);
}

/* Checks the next record and reads its time. */
static void look(struct perf_ring *ring)
{
    ring->any = ring->head - ring->tail >= sizeof(struct perf_event_header);
    if (!ring->any)
        return;
    const struct perf_event_header *head = head_at(ring);
    bool is_sample = head->type == PERF_RECORD_SAMPLE;
    if (head->size < sizeof(*head) + TRAILER_BYTES || head->size % 8 != 0 || head->size > ring->head - ring->tail) {
        ring->tail = ring->head; /* the kernel writes no such record: all that is written is skipped */
        ring->any = false;
        return;
    }
    uint64_t at = ring->tail + (is_sample ? sizeof(*head) + 16 : head->size - 16u);
    memcpy(&ring->time, ring->data + at % ring->size, sizeof(ring->time)); /* words are aligned */
}

/* Returns the SIZE bytes of the next record, copied to `space` if they wrap around the end of the ring. */
static const uint8_t *gather(const struct perf_rings *rings, const struct perf_ring *ring, size_t size)
{
    uint64_t at = ring->tail % ring->size;
    if (ring->size - at >= size)
        return ring->data + at;
    size_t first = (size_t)(ring->size - at);
    memcpy(rings->space, ring->data + at, first);
    memcpy((uint8_t *)rings->space + first, ring->data, size - first);
    return (const uint8_t *)rings->space;
}

static void pass_on(const struct perf_rings *rings, struct perf_ring *ring,
                    void (*each)(void *context, const struct perf_record *record), void *context)
{
    struct perf_event_header head = *head_at(ring);
    const uint8_t *bytes = gather(rings, ring, head.size);
    struct perf_record record = {.time = ring->time};
    struct cursor cursor = {bytes + sizeof(head), bytes + head.size};
    bool known;
    if (head.type == PERF_RECORD_SAMPLE) {
        known = read_sample(rings, cursor, &record);
    } else {
        struct cursor trailer = {cursor.end - TRAILER_BYTES, cursor.end};
        take_pair(&trailer, &record.pid, &record.tid);
        cursor.end -= TRAILER_BYTES;
        known = read_other(&head, cursor, &record);
    }
    if (known && !(ring->stacks && record.kind == PERF_KIND_LOST))
        each(context, &record);
    ring->tail += head.size;
    struct perf_event_mmap_page *page = ring->page;
    __atomic_store_n(&page->data_tail, ring->tail, __ATOMIC_RELEASE); /* the kernel may use that space again */
    look(ring);
}

void perf_rings_read(struct perf_rings *rings, uint64_t time,
                     void (*each)(void *context, const struct perf_record *record), void *context)
{
    for (size_t i = 0; i < rings->rings.count; i++) {
        struct perf_ring *ring = &rings->rings.items[i];
        const struct perf_event_mmap_page *page = ring->page;
        ring->head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
        look(ring);
    }
    for (;;) {
        struct perf_ring *first = NULL;
        for (size_t i = 0; i < rings->rings.count; i++) {
            struct perf_ring *ring = &rings->rings.items[i];
            if (ring->any && (!first || ring->time < first->time))
                first = ring;
        }
        if (!first || first->time >= time)
            return;
        pass_on(rings, first, each, context);
    }
}

/* --- the recorder's thread --- */

/* The kernel may write a record so long after the record's time. */
#define SETTLED (2 * NS_PER_MS)

struct cpu_recorder {
    pthread_t thread;
    bool stop;
    struct perf_rings rings;
    struct cpu_processes processes;
    int64_t ahead; /* ns that our time namespace adds to the host's CLOCK_MONOTONIC */
    uint64_t processor;
};

static uint64_t host_time(const struct cpu_recorder *recorder)
{
    return clock_monotonic() - (uint64_t)recorder->ahead;
}

static void take(void *context, const struct perf_record *record)
{
    struct cpu_recorder *recorder = context;
    cpu_processes_tick(&recorder->processes, host_time(recorder)); /* ticks must not wait for many records */
    cpu_processes_take(&recorder->processes, record);
}

/* Waits until a ring fills or its longest time between two reads is over. Ticks meanwhile. */
static void wait_for_records(struct cpu_recorder *recorder)
{
    const struct cpu_processes *processes = &recorder->processes;
    int most = recorder->rings.wait_ms;
    uint64_t until = host_time(recorder) + (uint64_t)most * NS_PER_MS, now;
    do {
        bool ticks = processes->pythons > 0 && processes->tick < (uint64_t)most * NS_PER_MS;
        if (perf_rings_wait(&recorder->rings, ticks ? (int)(processes->tick / NS_PER_MS) : most))
            return;
        now = host_time(recorder);
        cpu_processes_tick(&recorder->processes, now);
    } while (now < until && !__atomic_load_n(&recorder->stop, __ATOMIC_ACQUIRE));
}

static void *run(void *context)
{
    struct cpu_recorder *recorder = context;
    prctl(PR_SET_NAME, "gputrace-cpu", 0, 0, 0);
    while (!__atomic_load_n(&recorder->stop, __ATOMIC_ACQUIRE)) {
        perf_rings_read(&recorder->rings, host_time(recorder) - SETTLED, take, recorder);
        cpu_processes_flush(&recorder->processes);
        wait_for_records(recorder);
    }
    perf_rings_read(&recorder->rings, UINT64_MAX, take, recorder);
    cpu_processes_finish(&recorder->processes, host_time(recorder));
    recorder->processor = clock_read(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static void release(struct cpu_recorder *recorder)
{
    perf_rings_release(&recorder->rings);
    unwinder_free(recorder->processes.unwinder);
    if (recorder->processes.directory >= 0)
        close(recorder->processes.directory);
    free(recorder);
}

static int prepare(struct cpu_recorder *recorder, const struct cpu_recording *recording)
{
    struct cpu_processes *processes = &recorder->processes;
    recorder->ahead = time_namespace_offset();
    processes->clock_offset = (int64_t)(clock_now() - host_time(recorder));
    processes->from = recording->from;
    processes->to = recording->to;
    processes->first = recording->first_alone ? (uint32_t)recording->pid : 0;
    processes->ranks = recording->ranks;
    processes->directory = open(recording->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    processes->unwinder = unwinder_new(clock_now(), MACHINE);
    return processes->directory >= 0 && processes->unwinder ? 0 : -1;
}

struct cpu_recorder *cpu_recorder_start(const struct cpu_recording *recording, struct perf_able *able, char *reason)
{
    struct cpu_recorder *recorder = calloc(1, sizeof(*recorder));
    snprintf(reason, PERF_REASON_BYTES, "out of memory");
    if (!recorder)
        return NULL;
    if (prepare(recorder, recording) == 0 &&
        perf_rings_open(&recorder->rings, recording->pid, &recording->wanted, reason) == 0) {
        *able = recorder->rings.able;
        if (threads_start(&recorder->thread, 1, run, recorder) == 1)
            return recorder;
        snprintf(reason, PERF_REASON_BYTES, "no thread can be started");
    }
    release(recorder);
    return NULL;
}

struct cpu_figures cpu_recorder_stop(struct cpu_recorder *recorder)
{
    __atomic_store_n(&recorder->stop, true, __ATOMIC_RELEASE);
    pthread_join(recorder->thread, NULL);
    struct cpu_figures figures = {
        .samples = recorder->processes.samples, .states = recorder->processes.states, .processor = recorder->processor};
    release(recorder);
    return figures;
}
