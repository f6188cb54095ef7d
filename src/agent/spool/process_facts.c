#include "agent/spool/process_facts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/time_namespace.h"
#include "common/rank.h"

/* Less is not told from the time between two looks at the clocks. */
#define STEP_MIN_NS ((int64_t)NS_PER_MS)

static size_t read_file(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    size_t length = got > 0 ? (size_t)got : 0;
    out[length] = '\0';
    return length;
}

static void read_line_of(const char *path, char *out, size_t size)
{
    size_t length = read_file(path, out, size);
    while (length > 0 && (out[length - 1] == '\n' || out[length - 1] == '\0'))
        length--;
    for (size_t i = 0; i < length; i++) /* arguments are separated by NUL */
        if (out[i] == '\0')
            out[i] = ' ';
    out[length] = '\0';
}

enum { STAT_THREADS = 20, STAT_STARTED = 22, STAT_EXIT_CODE = 52 };

/* A number of /proc/self/stat, whose second field is a name in brackets that may hold anything. */
static uint64_t read_stat(int wanted)
{
    char line[1024];
    read_file("/proc/self/stat", line, sizeof(line));
    const char *at = strrchr(line, ')');
    for (int field = 2; at && field < wanted; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

unsigned process_facts_threads(void)
{
    return (unsigned)read_stat(STAT_THREADS);
}

int process_facts_first_status(void)
{
    return (int)read_stat(STAT_EXIT_CODE);
}

static uint64_t pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

static void look_at_clocks(uint64_t *monotonic, int64_t *offset)
{
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 3; i++) { /* a thread may lose the processor between two looks */
        uint64_t before = clock_monotonic(), now = clock_now(), after = clock_monotonic();
        if (after - before >= shortest)
            continue;
        shortest = after - before;
        *monotonic = before + shortest / 2;
        *offset = (int64_t)(now - *monotonic);
    }
}

void process_facts_fill(struct spool_header *header, uint64_t trace_bits)
{
    memcpy(header->magic, SPOOL_MAGIC, sizeof(header->magic));
    header->version = SPOOL_VERSION;
    header->header_bytes = SPOOL_HEADER_BYTES;
    header->pid = (uint32_t)getpid();
    header->parent_pid = (uint32_t)getppid();
    header->state = SPOOL_OPEN;
    int64_t offset = 0;
    look_at_clocks(&header->started_monotonic, &offset);
    header->started = header->started_monotonic + (uint64_t)offset;
    header->clock_looked = header->started_monotonic;
    header->trace_bits = trace_bits;
    read_line_of("/proc/self/comm", header->program, sizeof(header->program));
    read_line_of("/proc/self/cmdline", header->command, sizeof(header->command));
    header->process_started = read_stat(STAT_STARTED);
    header->pid_namespace = pid_namespace();
    header->monotonic_ahead = time_namespace_offset();
    struct rank rank;
    rank_read(&rank);
    header->rank = (uint32_t)(rank.rank + 1);
    header->local_rank = (uint32_t)(rank.local + 1);
}

void process_facts_watch_clock(struct spool_header *header)
{
    uint64_t monotonic = 0;
    int64_t offset = 0;
    look_at_clocks(&monotonic, &offset);
    uint32_t count = header->clock_count;
    int64_t known =
        count > 0 ? header->clocks[count - 1].offset : (int64_t)(header->started - header->started_monotonic);
    uint64_t before = header->clock_looked;
    header->clock_looked = monotonic;
    if (llabs(offset - known) < STEP_MIN_NS || count >= SPOOL_CLOCKS)
        return;
    header->clocks[count] = (struct spool_clock){.before = before, .monotonic = monotonic, .offset = offset};
    __atomic_store_n(&header->clock_count, count + 1, __ATOMIC_RELEASE);
}
