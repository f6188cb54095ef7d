/*
 * gen [-r ROUNDS] [-d DEVICE_RANGES] [-t THREADS] DIRECTORY [LAUNCHES [NAMES [RANGES]]]: a spool of a launch-bound
 * loop in so many NVTX ranges, of any size, for measuring how fast spools become traces. A launch is two records, the
 * call and the kernel, and so is a range. ROUNDS (0) are of the library's own records, nine each, on so many THREADS
 * (8) at once: ranges of both sorts, a mark, an allocation and its release, a CUDA event's record and a wait for it.
 * DEVICE_RANGES (0) are six records each: start and end, when the library was at work for them, and CUPTI's two events.
 * gen -p PROCESSES DIRECTORY: spools of so many processes, one after another, each of one NVTX range.
 * gen -c DIRECTORY TRACE [THREADS]: converts a spool and prints the time and memory it took.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/buffer.h"
#include "tests/trace/meaning/make_plugin.h"
#include "tests/trace/meaning/make_spool.h"
#include "trace/meaning/passes/passes.h"

enum {
    PID = 4242,
    FIRST_PID = 1000,
    PER_CHUNK = 4000,
    RANGES_PER_CHUNK = 512,
    ROUNDS_PER_CHUNK = 128,
    ADDRESSES = 1000,
    DEVICE_RANGES_PER_CHUNK = 1000
};

/* What is asked for. */
struct wanted {
    unsigned launches, names, ranges, rounds, threads, device_ranges, processes;
};

/* A spool that is written chunk by chunk. */
struct growing {
    struct make_spool spool; /* the header and one chunk */
    int fd;
    uint64_t bytes; /* written after the header */
    int failed;
};

static void write_chunk(struct growing *growing)
{
    struct make_spool *spool = &growing->spool;
    make_spool_done(spool, SPOOL_DONE);
    size_t size = spool->size - SPOOL_HEADER_BYTES;
    growing->failed |=
        buffer_drain_fd(BUFFER_FD(growing->fd), (const char *)spool->data + SPOOL_HEADER_BYTES, size) != 0;
    growing->bytes += size;
    spool->size = SPOOL_HEADER_BYTES;
}

static void make_names(struct growing *growing, unsigned names)
{
    make_spool_chunk(&growing->spool, SPOOL_RECORDS, PID);
    make_thread_name(&growing->spool, PID, "gen", 0);
    for (unsigned i = 0; i < names; i++) {
        char symbol[64];
        snprintf(symbol, sizeof(symbol), "_Z%dkernel_%03uPfS_i", 10, i % 1000);
        make_pointer_name(&growing->spool, 0x7f0000001000 + 64 * (uint64_t)i, symbol);
    }
    write_chunk(growing);
}

static void make_launches(struct growing *growing, unsigned first, unsigned count, unsigned names)
{
    make_spool_chunk(&growing->spool, SPOOL_CUPTI, PID);
    for (unsigned i = first; i < first + count; i++) {
        uint64_t time = 1000 + 4000 * (uint64_t)i;
        make_api(&growing->spool,
                 (struct make_api){
                     .cbid = 211, .thread = PID, .correlation = i + 1, .start = time, .end = time + 3100 + i % 89});
        make_kernel(&growing->spool, (struct make_kernel){.name = 0x7f0000001000 + 64 * (uint64_t)(i % names),
                                                          .start = time + 5000 + i % 31,
                                                          .end = time + 7500 + i % 57,
                                                          .correlation = i + 1});
    }
    write_chunk(growing);
}

static void make_ranges(struct growing *growing, unsigned launches, unsigned ranges, unsigned first, unsigned count)
{
    make_spool_chunk(&growing->spool, SPOOL_RECORDS, PID);
    for (unsigned i = first; i < first + count; i++) {
        uint64_t from = (uint64_t)launches * i / ranges, to = (uint64_t)launches * (i + 1) / ranges;
        uint64_t start = 4000 * from + 950,
                 end = to > from ? 4000 * to + 900 : start; /* none is around a launch twice */
        make_nvtx(&growing->spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = start, .text = "step"});
        make_nvtx(&growing->spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = end});
    }
    write_chunk(growing);
}

static void make_round(struct make_spool *spool, const struct wanted *wanted, unsigned round)
{
    uint32_t thread = PID + 1 + round % wanted->threads;
    uint32_t correlation = wanted->launches + 1 + 2 * round;
    uint64_t time = 1000 * (uint64_t)round, step = 100 * (uint64_t)wanted->threads;
    struct make_memory memory = {.time = time + 2 * step,
                                 .address = 0x7f0000000000 + 512 * (uint64_t)(round % ADDRESSES),
                                 .size = 4096,
                                 .device = 0,
                                 .context = 1,
                                 .thread = thread,
                                 .operation = SPOOL_MEMORY_ALLOCATE,
                                 .kind = SPOOL_MEMORY_DEVICE};
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = time, .text = "round"});
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_START, .time = time + step, .range = round, .text = "both"});
    make_memory(spool, memory);
    make_event_record(spool, 0xe000 + thread, correlation, thread - PID);
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = time + 3 * step, .text = "recorded"});
    make_own_sync(spool, (struct make_own_sync){.kind = 1, /* for the event */
                                                .start = time + 4 * step,
                                                .end = time + 5 * step,
                                                .event = 0xe000 + thread,
                                                .stream = thread - PID,
                                                .correlation = correlation + 1});
    memory.operation = SPOOL_MEMORY_RELEASE;
    memory.time = time + 6 * step;
    make_memory(spool, memory);
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_END, .time = time + 7 * step, .range = round});
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = time + 8 * step});
}

/* Round after round is another thread's, and each thread has chunks of its own. */
static void make_rounds(struct growing *growing, const struct wanted *wanted)
{
    unsigned most = ROUNDS_PER_CHUNK * wanted->threads;
    for (unsigned first = 0; first < wanted->rounds; first += most) {
        unsigned end = wanted->rounds - first < most ? wanted->rounds : first + most;
        for (unsigned thread = 0; thread < wanted->threads && first + thread < end; thread++) {
            make_spool_chunk(&growing->spool, SPOOL_RECORDS, PID + 1 + thread);
            for (unsigned round = first + thread; round < end; round += wanted->threads)
                make_round(&growing->spool, wanted, round);
            write_chunk(growing);
        }
    }
}

/* When the GPU comes to one of their starts and ends, which are spread over all launches. */
static uint64_t moment_of(const struct wanted *wanted, uint64_t number)
{
    return 8600 + 4000 * (uint64_t)(wanted->launches + 1) * number / (2 * (uint64_t)wanted->device_ranges);
}

static void make_ends(struct growing *growing, const struct wanted *wanted, unsigned first, unsigned end)
{
    make_spool_chunk(&growing->spool, SPOOL_RECORDS, PID + 1 + first / DEVICE_RANGES_PER_CHUNK % wanted->threads);
    for (unsigned i = 2 * first; i < 2 * end; i++) {
        uint64_t time = moment_of(wanted, i) - 7600;
        make_device_range(&growing->spool,
                          (struct make_device_range){.ended = i % 2,
                                                     .time = time,
                                                     .range = i / 2 + 1,
                                                     .correlation = wanted->launches + 2 * wanted->rounds + 1 + i,
                                                     .text = i % 2 ? NULL : "on the device"});
        make_plugin_window(&growing->spool, time, time + 5);
    }
    write_chunk(growing);
}

static void make_device_ranges(struct growing *growing, const struct wanted *wanted)
{
    for (unsigned first = 0, end; first < wanted->device_ranges; first = end) {
        unsigned left = wanted->device_ranges - first;
        end = first + (left < DEVICE_RANGES_PER_CHUNK ? left : DEVICE_RANGES_PER_CHUNK);
        make_ends(growing, wanted, first, end);
        make_spool_chunk(&growing->spool, SPOOL_CUPTI, PID);
        for (unsigned i = 2 * first; i < 2 * end; i++)
            make_cuda_event(&growing->spool,
                            (struct make_cuda_event){.correlation = wanted->launches + 2 * wanted->rounds + 1 + i,
                                                     .context = 1,
                                                     .stream = 7,
                                                     .event = 1,
                                                     .time = moment_of(wanted, i)});
        write_chunk(growing);
    }
}

static void make_all(struct growing *growing, const struct wanted *wanted)
{
    unsigned launches = wanted->launches, names = wanted->names, ranges = wanted->ranges;
    make_names(growing, names);
    make_rounds(growing, wanted);
    for (unsigned i = 0; i < ranges; i += RANGES_PER_CHUNK)
        make_ranges(growing, launches, ranges, i, ranges - i < RANGES_PER_CHUNK ? ranges - i : RANGES_PER_CHUNK);
    make_spool_chunk(&growing->spool, SPOOL_CUPTI, PID);
    make_device(&growing->spool, 0, 0);
    make_context(&growing->spool, 1, 0);
    write_chunk(growing);
    make_device_ranges(growing, wanted);
    for (unsigned i = 0; i < launches; i += PER_CHUNK)
        make_launches(growing, i, launches - i < PER_CHUNK ? launches - i : PER_CHUNK, names);
}

static int generate(const char *directory, const struct wanted *wanted)
{
    struct growing growing = {0};
    char path[4096];
    snprintf(path, sizeof(path), "%s/%u-0.spool", directory, PID);
    growing.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (growing.fd < 0 || lseek(growing.fd, SPOOL_HEADER_BYTES, SEEK_SET) < 0) {
        perror(path);
        return 1;
    }
    make_spool_init(&growing.spool, PID, 130001);
    make_all(&growing, wanted);
    struct spool_header *header = make_spool_header(&growing.spool);
    header->formatted = SPOOL_HEADER_BYTES + growing.bytes;
    ssize_t written = pwrite(growing.fd, growing.spool.data, SPOOL_HEADER_BYTES, 0);
    make_spool_release(&growing.spool);
    if (close(growing.fd) == 0 && written == SPOOL_HEADER_BYTES && !growing.failed)
        return 0;
    fprintf(stderr, "%s: cannot be written\n", path);
    return 1;
}

/* As small on the disk as it can be: there is a hole between header and records. */
static int generate_process(const char *directory, unsigned number)
{
    struct make_spool spool;
    char path[4096];
    uint64_t time = 1000000 * (uint64_t)number;
    make_spool_begin(&spool, FIRST_PID + number, FIRST_PID + number);
    make_spool_header(&spool)->started += time;
    make_spool_header(&spool)->state = SPOOL_FINISHED;
    make_spool_header(&spool)->finished = MAKE_SPOOL_START + time + 3000;
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = time + 1000, .text = "range"});
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = time + 2000});
    make_spool_done(&spool, SPOOL_IN_USE);
    snprintf(path, sizeof(path), "%s/%u-0.spool", directory, FIRST_PID + number);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t rest = spool.size - SPOOL_HEADER_BYTES;
    bool written = fd >= 0 &&
                   pwrite(fd, spool.data, sizeof(struct spool_header), 0) == (ssize_t)sizeof(struct spool_header) &&
                   pwrite(fd, spool.data + SPOOL_HEADER_BYTES, rest, SPOOL_HEADER_BYTES) == (ssize_t)rest;
    make_spool_release(&spool);
    if (!written)
        perror(path);
    if (fd >= 0)
        close(fd);
    return written ? 0 : 1;
}

static int generate_processes(const char *directory, unsigned count)
{
    int failed = 0;
    for (unsigned i = 0; i < count && !failed; i++)
        failed = generate_process(directory, i);
    return failed;
}

/* --- */

/* Samples anonymous memory every ms: the kernel's peak counts mapped files, too. */
struct watch {
    pthread_t thread;
    atomic_bool over;
    unsigned long anonymous; /* pages, at the most */
};

static void *watch(void *context)
{
    struct watch *watch = context;
    const struct timespec pause = {.tv_nsec = 1000000};
    while (!atomic_load(&watch->over)) {
        unsigned long resident, shared;
        FILE *file = fopen("/proc/self/statm", "r");
        if (file && fscanf(file, "%*u %lu %lu", &resident, &shared) == 2 && resident - shared > watch->anonymous)
            watch->anonymous = resident - shared;
        if (file)
            fclose(file);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static int convert(const char *directory, const char *trace, unsigned workers)
{
    struct convert_options options = {.spool_directory = directory, .output = trace, .workers = workers};
    struct convert_summary summary;
    struct rusage usage;
    struct watch watched = {0};
    if (pthread_create(&watched.thread, NULL, watch, &watched) != 0)
        return 1;
    uint64_t before = clock_monotonic();
    int result = convert_spool(&options, &summary);
    double seconds = (double)(clock_monotonic() - before) / 1e9;
    atomic_store(&watched.over, true);
    pthread_join(watched.thread, NULL);
    if (result != 0)
        return 1;
    convert_plugins_release(&summary.plugins);
    getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    printf("%llu events, %llu kernels, %llu bytes in %.3f s, %.3f s of processors, peak memory %ld KiB, without files "
           "%lu KiB\n",
           (unsigned long long)summary.events, (unsigned long long)summary.kernels, (unsigned long long)summary.bytes,
           seconds, cpu, usage.ru_maxrss, watched.anonymous * (unsigned long)sysconf(_SC_PAGESIZE) / 1024);
    return 0;
}

static unsigned number(const char *text)
{
    return (unsigned)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
    struct wanted wanted = {.launches = 1000000, .names = 100, .threads = 8};
    unsigned *const numbers[] = {&wanted.launches, &wanted.names, &wanted.ranges};
    bool conversion = false, wrong = false;
    for (int option; (option = getopt(argc, argv, "cd:p:r:t:")) != -1;) {
        conversion |= option == 'c';
        wrong |= option == '?';
        if (option == 'r')
            wanted.rounds = number(optarg);
        else if (option == 'd')
            wanted.device_ranges = number(optarg);
        else if (option == 'p')
            wanted.processes = number(optarg);
        else if (option == 't')
            wanted.threads = number(optarg);
    }
    int count = argc - optind;
    if (wrong || (conversion ? count < 2 || count > 3 : count < 1 || count > 4)) {
        fprintf(stderr,
                "usage: %s [-r ROUNDS] [-d DEVICE_RANGES] [-t THREADS] DIRECTORY [LAUNCHES [NAMES [RANGES]]]\n"
                "       %s -p PROCESSES DIRECTORY\n"
                "       %s -c DIRECTORY TRACE [THREADS]\n",
                argv[0], argv[0], argv[0]);
        return 2;
    }
    if (conversion)
        return convert(argv[optind], argv[optind + 1], count == 3 ? number(argv[optind + 2]) : 0);
    for (int i = 1; i < count; i++)
        *numbers[i - 1] = number(argv[optind + i]);
    wanted.names += wanted.names == 0;
    wanted.threads += wanted.threads == 0;
    return wanted.processes > 0 ? generate_processes(argv[optind], wanted.processes) : generate(argv[optind], &wanted);
}
