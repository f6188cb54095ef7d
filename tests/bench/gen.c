/*
 * gen DIRECTORY [LAUNCHES [NAMES [RANGES]]]: a spool of a launch-bound loop in so many NVTX ranges, of any size, for
 * measuring how fast spools become traces. A launch is two records, the call and the kernel, and so is a range.
 * gen -c DIRECTORY TRACE [THREADS]: converts a spool and prints the time it took.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/sink.h"
#include "tests/tool/convert/make_spool.h"
#include "tool/convert/convert.h"

enum { PID = 4242, PER_CHUNK = 4000, RANGES_PER_CHUNK = 512 };

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
    growing->failed |= sink_drain_fd(SINK_FD(growing->fd), (const char *)spool->data + SPOOL_HEADER_BYTES, size) != 0;
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

static void make_all(struct growing *growing, unsigned launches, unsigned names, unsigned ranges)
{
    make_names(growing, names);
    for (unsigned i = 0; i < ranges; i += RANGES_PER_CHUNK)
        make_ranges(growing, launches, ranges, i, ranges - i < RANGES_PER_CHUNK ? ranges - i : RANGES_PER_CHUNK);
    make_spool_chunk(&growing->spool, SPOOL_CUPTI, PID);
    make_device(&growing->spool, 0, 0);
    make_context(&growing->spool, 1, 0);
    write_chunk(growing);
    for (unsigned i = 0; i < launches; i += PER_CHUNK)
        make_launches(growing, i, launches - i < PER_CHUNK ? launches - i : PER_CHUNK, names);
}

static int generate(const char *directory, unsigned launches, unsigned names, unsigned ranges)
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
    make_all(&growing, launches, names, ranges);
    struct spool_header *header = make_spool_header(&growing.spool);
    header->formatted = SPOOL_HEADER_BYTES + growing.bytes;
    ssize_t written = pwrite(growing.fd, growing.spool.data, SPOOL_HEADER_BYTES, 0);
    make_spool_release(&growing.spool);
    if (close(growing.fd) == 0 && written == SPOOL_HEADER_BYTES && !growing.failed)
        return 0;
    fprintf(stderr, "%s: cannot be written\n", path);
    return 1;
}

static int convert(const char *directory, const char *trace, unsigned workers)
{
    struct convert_options options = {.spool_directory = directory, .output = trace, .workers = workers};
    struct convert_summary summary;
    struct rusage usage;
    uint64_t before = clock_monotonic();
    if (convert_spool(&options, &summary) != 0)
        return 1;
    convert_plugins_release(&summary.plugins);
    double seconds = (double)(clock_monotonic() - before) / 1e9;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    printf("%llu events, %llu kernels, %llu bytes in %.3f s, %.3f s of processors, peak memory %ld KiB\n",
           (unsigned long long)summary.events, (unsigned long long)summary.kernels, (unsigned long long)summary.bytes,
           seconds, cpu, usage.ru_maxrss);
    return 0;
}

int main(int argc, char **argv)
{
    if ((argc == 4 || argc == 5) && strcmp(argv[1], "-c") == 0)
        return convert(argv[2], argv[3], argc == 5 ? (unsigned)strtoul(argv[4], NULL, 10) : 0);
    if (argc < 2 || argc > 5 || argv[1][0] == '-') {
        fprintf(stderr, "usage: %s DIRECTORY [LAUNCHES [NAMES [RANGES]]]\n       %s -c DIRECTORY TRACE [THREADS]\n",
                argv[0], argv[0]);
        return 2;
    }
    unsigned launches = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000000;
    unsigned names = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 100;
    unsigned ranges = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
    return generate(argv[1], launches, names ? names : 1, ranges);
}
