/*
 * gen_spool DIRECTORY [LAUNCHES [NAMES [RANGES]]]: a spool of a launch-bound loop in so many NVTX ranges, for measuring
 * how fast spools become traces.
 * gen_spool -c DIRECTORY TRACE: converts a spool and prints the time it took.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "tests/tool/convert/make_spool.h"
#include "tool/convert/convert.h"

enum { PID = 4242, PER_CHUNK = 4096 };

static void make_names(struct make_spool *spool, unsigned names)
{
    make_spool_chunk(spool, SPOOL_RECORDS, PID);
    make_thread_name(spool, PID, "gen_spool", 0);
    for (unsigned i = 0; i < names; i++) {
        char symbol[64];
        snprintf(symbol, sizeof(symbol), "_Z%dkernel_%03uPfS_i", 10, i % 1000);
        make_pointer_name(spool, 0x7f0000001000 + 64 * (uint64_t)i, symbol);
    }
    make_spool_done(spool, SPOOL_DONE);
}

static void make_launches(struct make_spool *spool, unsigned first, unsigned count, unsigned names)
{
    make_spool_chunk(spool, SPOOL_CUPTI, PID);
    for (unsigned i = first; i < first + count; i++) {
        uint64_t time = 1000 + 4000 * (uint64_t)i;
        make_api(spool, (struct make_api){
                            .cbid = 211, .thread = PID, .correlation = i + 1, .start = time, .end = time + 3100});
        make_kernel(spool, (struct make_kernel){.name = 0x7f0000001000 + 64 * (uint64_t)(i % names),
                                                .start = time + 5000,
                                                .end = time + 7500,
                                                .correlation = i + 1});
    }
    make_spool_done(spool, SPOOL_DONE);
}

static void make_ranges(struct make_spool *spool, unsigned launches, unsigned ranges)
{
    make_spool_chunk(spool, SPOOL_RECORDS, PID);
    for (unsigned i = 0; i < ranges; i++) {
        uint64_t first = (uint64_t)launches * i / ranges, next = (uint64_t)launches * (i + 1) / ranges;
        make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = 950 + 4000 * first, .text = "step"});
        make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = 900 + 4000 * next});
    }
    make_spool_done(spool, SPOOL_DONE);
}

static int generate(const char *directory, unsigned launches, unsigned names, unsigned ranges)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 130001);
    make_names(&spool, names);
    make_ranges(&spool, launches, ranges);
    for (unsigned i = 0; i < launches; i += PER_CHUNK)
        make_launches(&spool, i, launches - i < PER_CHUNK ? launches - i : PER_CHUNK, names);
    make_spool_chunk(&spool, SPOOL_CUPTI, PID);
    make_device(&spool, 0, 0);
    make_context(&spool, 1, 0);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_save(&spool, directory);
    make_spool_release(&spool);
    return 0;
}

static int convert(const char *directory, const char *trace)
{
    struct convert_options options = {.spool_directory = directory, .output = trace};
    struct convert_summary summary;
    struct rusage usage;
    uint64_t before = clock_monotonic();
    if (convert_spool(&options, &summary) != 0)
        return 1;
    convert_plugins_release(&summary.plugins);
    double seconds = (double)(clock_monotonic() - before) / 1e9;
    getrusage(RUSAGE_SELF, &usage);
    printf("%llu events, %llu kernels, %llu bytes in %.3f s, %.0f ns a kernel, peak memory %ld KiB\n",
           (unsigned long long)summary.events, (unsigned long long)summary.kernels, (unsigned long long)summary.bytes,
           seconds, summary.kernels ? seconds * 1e9 / (double)summary.kernels : 0, usage.ru_maxrss);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "-c") == 0)
        return convert(argv[2], argv[3]);
    if (argc < 2 || argc > 5 || argv[1][0] == '-') {
        fprintf(stderr, "usage: %s DIRECTORY [LAUNCHES [NAMES [RANGES]]]\n       %s -c DIRECTORY TRACE\n", argv[0],
                argv[0]);
        return 2;
    }
    unsigned launches = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000000;
    unsigned names = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 100;
    unsigned ranges = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
    return generate(argv[1], launches, names ? names : 1, ranges);
}
