/*
 * A program that writes into its spool while it is read: what was checked may be other bytes a moment later. Whatever
 * comes of it, the reader lives, and the trace is JSON.
 */
#include "tests/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "launch/drain.h"
#include "tests/trace/meaning/make_nvtx_extension.h"
#include "tests/trace/meaning/make_plugin.h"
#include "tests/trace/meaning/trace_reading.h"
#include "trace/spool/agent_records.h"
#include "trace/spool/cupti.h"

enum {
    PID = 600,
    LAUNCH = 211,
    NAME = 0x7000,
    ROUNDS = 300,
    HEAD_WORDS = 24,
    TOGGLES = 2000,
    SCRIBBLERS = 2,
    CONVERSIONS = 400,
    DRAINS = 300
};

static const char *directory;
static char path[512];
static pid_t scribblers[SCRIBBLERS];

/* --- a spool with records of all sorts --- */

static void put_extensions(struct make_spool *spool, uint32_t i)
{
    static const struct make_entry entries[] = {{"step", PAYLOAD_TYPE_INT16, 0, 0, 0},
                                                {"text", PAYLOAD_TYPE_CSTRING, 0, 0, 8}};
    const struct {
        uint64_t step, pointer;
    } values = {i, 0x5000};
    if (i % 16 == 0)
        MAKE_SCHEMA(spool, i / 16, STATIC, sizeof(values), entries);
    make_payload(spool, i + 1, 0, make_schema_id(0), 0x9000, &values, sizeof(values));
    make_pointed(spool, i + 1, SPOOL_NVTX_PIECE_POINTED, 0x5000, "a text of some length", 21);
}

static void put_plugins(struct make_spool *spool, uint32_t i)
{
    static const uint64_t addresses[] = {0x10, 0x20, 0x30};
    uint64_t at = 1000 * i;
    make_plugin_event(spool, (struct make_plugin_event){.time = at,
                                                        .end = at + 50,
                                                        .plugin = 1,
                                                        .thread = PID,
                                                        .what = (uint16_t)(i % 3),
                                                        .name = "made",
                                                        .detail = "by a plugin"});
    make_plugin_line(spool, at, 1, i % 8, "a line");
    make_stack(spool, i % 8, addresses, 3);
    make_phase_start(spool, (struct make_phase){.time = at, .phase = i + 1, .thread = PID, .function = "load"});
    make_phase_end(spool, (struct make_phase){.time = at + 100, .phase = i + 1, .thread = PID});
}

static void put_own(struct make_spool *spool, uint32_t i)
{
    uint64_t at = 1000 * i;
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_PUSH, .time = at, .text = "range", .payload = i + 1});
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_START, .time = at, .range = i + 1, .text = "started"});
    make_nvtx_plain(spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = at + 900});
    make_nvtx_plain(spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = at + 10, .text = "mark"});
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_END, .time = at + 950, .range = i + 1});
    make_memory(spool, (struct make_memory){.time = at, .address = 4096 * i, .size = 100, .context = 1, .thread = PID});
    make_pool_level(spool, (struct make_pool_level){.time = at, .pool = 1, .reserved = 100, .used = i});
    make_own_sync(spool, (struct make_own_sync){.start = at, .end = at + 5, .event = i, .kind = i % 5, .stream = 7});
    make_event_record(spool, i, i + 1, 7);
    make_thread_name(spool, PID + i % 8, "a thread", 1);
    make_launch_name(spool, i + 1, "_Z6kernelPf");
    make_device_range(spool, (struct make_device_range){.time = at, .range = i, .correlation = i + 1, .text = "range"});
    make_nvtx_string(spool, 1, i, "a string");
    make_note(spool, "a note");
}

static void put_cupti(struct make_spool *spool, uint32_t i)
{
    uint64_t at = 1000 * i;
    make_api(spool,
             (struct make_api){.cbid = LAUNCH, .thread = PID, .correlation = i + 1, .start = at, .end = at + 500});
    make_kernel(spool, (struct make_kernel){.name = NAME, .start = at + 600, .end = at + 900, .correlation = i + 1});
    make_copy(spool, (struct make_copy){.start = at + 900, .end = at + 910, .bytes = 10, .correlation = i + 1});
    make_cuda_event(spool, (struct make_cuda_event){.correlation = i + 1, .context = 1, .stream = 7, .event = i});
    make_overhead(spool, at, at + 5, PID);
}

static void make_everything(void)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 130001);
    make_spool_chunk(&spool, SPOOL_RECORDS, PID);
    make_pointer_name(&spool, NAME, "_Z6kernelPf");
    make_plugin(&spool, 1, "plugin");
    make_capture(&spool, 0, 1, "begin");
    make_stream(&spool, 0x77, 1, 7);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        put_own(&spool, i);
        put_plugins(&spool, i);
        put_extensions(&spool, i);
    }
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_CUPTI, PID);
    make_device(&spool, 0, NAME);
    make_context(&spool, 1, 0);
    for (uint32_t i = 0; i < ROUNDS; i++)
        put_cupti(&spool, i);
    make_spool_done(&spool, SPOOL_IN_USE);
    make_spool_save_as(&spool, path);
    make_spool_release(&spool);
}

/* --- the program that scribbles --- */

static struct {
    uint16_t volatile *heads[64 * ROUNDS]; /* of all records */
    size_t count;
} found;

static void find_heads(uint8_t *map)
{
    struct spool_chunk *own = (struct spool_chunk *)(void *)(map + SPOOL_HEADER_BYTES);
    struct spool_chunk *cupti = (struct spool_chunk *)(void *)((uint8_t *)own + own->bytes);
    uint16_t sizes[SPOOL_CUPTI_KINDS];
    struct agent_walk walk;
    struct cupti_walk records;
    agent_walk_begin(&walk, &(struct spool_part){.data = (uint8_t *)(own + 1), .size = own->used});
    while (agent_walk_next(&walk))
        found.heads[found.count++] = (uint16_t *)(uintptr_t)walk.record;
    cupti_record_sizes(sizes, (struct spool_header *)(void *)map);
    cupti_walk_begin(&records, &(struct spool_part){.size = cupti->used}, (uint8_t *)(cupti + 1), sizes);
    while (cupti_walk_next(&records))
        found.heads[found.count++] = (uint16_t *)(uintptr_t)records.record;
}

/* Puts wrong values in place of a record's type, size or one of its first fields, and the right one back. */
static void scribble(void)
{
    unsigned seed = (unsigned)getpid();
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (fd < 0 || fstat(fd, &status) != 0)
        _exit(1);
    find_heads(mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    for (;;) {
        uint16_t volatile *word =
            &found.heads[(unsigned)rand_r(&seed) % found.count][(unsigned)rand_r(&seed) % HEAD_WORDS];
        uint16_t right = *word, wrong = (uint16_t)rand_r(&seed);
        for (int i = 0; i < TOGGLES; i++) {
            *word = wrong;
            *word = right;
        }
    }
}

UNIT_FIXTURE(set_up)
{
    *state = (void *)(directory = unit_directory());
    snprintf(path, sizeof(path), "%s/%u-0.spool", directory, PID);
    make_everything();
    for (int i = 0; i < SCRIBBLERS; i++) {
        scribblers[i] = fork();
        if (scribblers[i] == 0)
            scribble();
        assert_true(scribblers[i] > 0);
    }
    return 0;
}

UNIT_FIXTURE(tear_down)
{
    for (int i = 0; i < SCRIBBLERS; i++) {
        kill(scribblers[i], SIGKILL);
        waitpid(scribblers[i], NULL, 0);
    }
    unit_remove(*state);
    return 0;
}

/* --- those who read --- */

static void check_json(const char *name)
{
    FILE *file = fopen(name, "re");
    char *text = NULL;
    size_t space = 0;
    assert_non_null(file);
    assert_true(getdelim(&text, &space, '\0', file) > 0);
    cJSON *json = cJSON_ParseWithOpts(text, NULL, 1);
    assert_non_null(json);
    cJSON_Delete(json);
    free(text);
    fclose(file);
}

UNIT_TEST_WITH(a_spool_that_changes_while_it_is_converted_does_no_harm, set_up, tear_down)
{
    char output[600];
    snprintf(output, sizeof(output), "%s/trace.json", directory);
    for (unsigned i = 0; i < CONVERSIONS; i++) {
        struct convert_summary summary;
        struct convert_options options = {.spool_directory = directory, .output = output, .workers = 1 + i % 3};
        unit_stderr_begin();
        int result = convert_spool(&options, &summary);
        unit_stderr_end();
        assert_int_equal(result, 0);
        convert_plugins_release(&summary.plugins);
        check_json(output);
    }
}

UNIT_TEST_WITH(a_spool_that_changes_while_it_is_drained_does_no_harm, set_up, tear_down)
{
    static const bool go_on;
    char name[64], packed[600];
    struct drain_tools tools = {.stop = &go_on, .live = calloc(1, sizeof(*tools.live))};
    snprintf(name, sizeof(name), "%u-0.spool", PID);
    snprintf(packed, sizeof(packed), "%s/%u-0.packed", directory, PID);
    tools.directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    tools.data = aligned_alloc(SPOOL_ALIGN, SPOOL_SEGMENT_BYTES);
    assert_int_equal(packer_init(&tools.packer), 0);
    for (int i = 0; i < DRAINS; i++) {
        struct spool_drain drain;
        assert_int_equal(spool_drain_init(&drain, name), 0);
        for (int round = 0; round < 3; round++)
            spool_drain_round(&drain, &tools);
        live_process_release(&drain.process, tools.live);
        spool_drain_release(&drain);
        unlink(packed);
    }
    packer_release(&tools.packer);
    close(tools.directory);
    free(tools.data);
    free(tools.live);
}

UNIT_MAIN(NULL, NULL)
