/*
 * Every loss that a trace can have, one by one: a spool that has it and no other, and where it is shown: in the
 * summary, the trace's metadata, the last line and the report. A row of CONVERT_LOSSES without a spool here does not
 * compile.
 */
#include "tests/unit.h"

#include <cjson/cJSON.h>
#include <cupti.h>

#include "common/buffer.h"
#include "tests/trace/meaning/make_nvtx_extension.h"
#include "tests/trace/meaning/make_plugin.h"
#include "cli/progress.h"
#include "trace/meaning/passes/passes.h"
#include "analysis/report.h"
#include "common/settings.h"

#define PID 1234
#define NAME UINT64_C(0x7f0000001000)
#define COUNTER 42

static char directory[256];

static void call(struct make_spool *spool, uint32_t correlation, uint64_t start, uint64_t end)
{
    make_api(spool, (struct make_api){.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
                                      .thread = PID,
                                      .start = start,
                                      .end = end,
                                      .correlation = correlation});
}

static void kernel(struct make_spool *spool, struct make_kernel kernel)
{
    make_kernel(spool, kernel);
}

/* What a spool has that lacks nothing: a named kernel and its launch. Open is a chunk of CUPTI's. */
static void make_whole(struct make_spool *spool)
{
    make_spool_init(spool, PID, 130001);
    make_spool_header(spool)->trace_bits = TRACE_DEFAULT;
    make_spool_chunk(spool, SPOOL_RECORDS, PID);
    make_pointer_name(spool, NAME, "kernel");
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, SPOOL_CUPTI, PID);
    call(spool, 5, 1000, 2000);
    kernel(spool, (struct make_kernel){.name = NAME, .correlation = 5, .start = 3000, .end = 4000});
}

static void begin_records(struct make_spool *spool)
{
    make_spool_done(spool, SPOOL_DONE);
    make_spool_chunk(spool, SPOOL_RECORDS, PID);
}

/* --- a spool that lacks something: make_LOSS() --- */

static void make_cupti_dropped(struct make_spool *spool)
{
    make_spool_header(spool)->losses.cupti_dropped = 1;
}

static void make_spool_dropped(struct make_spool *spool)
{
    make_spool_header(spool)->losses.no_space = 1;
}

static void make_zero_time(struct make_spool *spool)
{
    call(spool, 6, 5000, 6000);
    kernel(spool, (struct make_kernel){.name = NAME, .correlation = 6});
}

static void make_in_flight(struct make_spool *spool)
{
    call(spool, 6, 5000, 6000);
    kernel(spool, (struct make_kernel){.name = NAME, .correlation = 6, .in_flight = 1});
}

static void make_unnamed(struct make_spool *spool)
{
    call(spool, 6, 5000, 6000);
    kernel(spool, (struct make_kernel){.name = NAME + 64, .correlation = 6, .start = 7000, .end = 8000});
}

static void make_unmatched_flows(struct make_spool *spool)
{
    kernel(spool, (struct make_kernel){.name = NAME, .correlation = 6, .start = 7000, .end = 8000});
}

static void make_before_launch(struct make_spool *spool)
{
    call(spool, 6, 7000, 8000);
    kernel(spool, (struct make_kernel){.name = NAME, .correlation = 6, .start = 5000, .end = 9000});
}

static void make_undecoded(struct make_spool *spool)
{
    call(spool, 6, 8000, 7000); /* it ends before it starts */
}

static void make_unmatched_ranges(struct make_spool *spool)
{
    begin_records(spool);
    make_nvtx(spool, (struct make_nvtx){.what = SPOOL_NVTX_POP, .time = 5000});
}

/* A stack with its record, and one without. */
static void make_left_out_stacks(struct make_spool *spool)
{
    begin_records(spool);
    make_memory(spool, (struct make_memory){.time = 5000,
                                            .address = 0x10,
                                            .size = 64,
                                            .thread = PID,
                                            .operation = SPOOL_MEMORY_ALLOCATE,
                                            .kind = SPOOL_MEMORY_DEVICE,
                                            .stack = 9});
}

static void allocate_from(struct make_spool *spool, uint32_t stack, const uint64_t *frames, size_t count)
{
    make_stack(spool, stack, frames, count);
    make_memory(spool, (struct make_memory){.time = 5000 + stack,
                                            .address = 0x10 * stack,
                                            .size = 64,
                                            .thread = PID,
                                            .operation = SPOOL_MEMORY_ALLOCATE,
                                            .kind = SPOOL_MEMORY_DEVICE,
                                            .stack = stack});
}

/* The functions of nine stacks have such names that they take all the space, so the next is cut. */
static void make_cut_stacks(struct make_spool *spool)
{
    enum { STACKS = 9, FRAMES = 64, LENGTH = 15000 };
    static char function[LENGTH + 1];
    uint64_t frames[FRAMES];
    begin_records(spool);
    memset(function, 'f', LENGTH);
    for (uint32_t stack = 1; stack <= STACKS; stack++) {
        for (uint32_t i = 0; i < FRAMES; i++) {
            uint32_t number = stack * FRAMES + i;
            frames[i] = (uint64_t)SPOOL_STACK_PYTHON << 48 | number;
            make_python_frame(spool, number, number, function, "long.py");
        }
        allocate_from(spool, stack, frames, FRAMES);
    }
    allocate_from(spool, STACKS + 1, frames + 1, 3);
}

static void make_untimed_ranges(struct make_spool *spool)
{
    begin_records(spool);
    make_device_range(spool, (struct make_device_range){.time = 5000, .range = 1, .correlation = 77, .text = "range"});
    make_device_range(spool, (struct make_device_range){.time = 6000, .range = 1, .correlation = 78, .ended = 1});
}

/* A sample of a counter, in a batch that has times nowhere. */
static void make_unplaced(struct make_spool *spool)
{
    static const int16_t value = 7;
    begin_records(spool);
    MAKE_EXTENSION(spool, NVTX_COUNTER, spool_nvtx_counter, 0, 0, "counter", 7, .id = COUNTER,
                   .schema = PAYLOAD_TYPE_INT16, .number = 1, .name_length = 7);
    MAKE_EXTENSION(spool, NVTX_SAMPLE, spool_nvtx_sample, SPOOL_NVTX_SAMPLE_BATCH, 9000, &value, sizeof(value),
                   .counter = COUNTER, .stride = sizeof(value));
}

static void make_cut_texts(struct make_spool *spool)
{
    make_spool_header(spool)->losses.cut_texts = 1;
}

/* Sixteen levels of P<T, T>, each twice as long as the one within. */
static void make_cut_names(struct make_spool *spool)
{
    begin_records(spool);
    make_pointer_name(
        spool, 0x10,
        "_Z1kI1PIS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IS0_IicES1_ES2_ES3_ES4_ES5_ES6_ES7_"
        "ES8_ES9_ESA_ESB_ESC_ESD_ESE_ESF_EEvPi");
}

static void make_unannounced(struct make_spool *spool)
{
    make_spool_header(spool)->unannounced = 1;
}

static void make_unrecorded(struct make_spool *spool)
{
    char path[300];
    (void)spool;
    snprintf(path, sizeof(path), "%s/99-0.unrecorded", directory);
    assert_int_equal(symlink("no space", path), 0);
}

static void make_cuda_unrecorded(struct make_spool *spool)
{
    make_spool_header(spool)->cuda_unrecorded = 1;
}

static void make_cpu_lost(struct make_spool *spool)
{
    make_spool_header(spool)->cpu_lost = 1;
}

static const struct loss {
    const char *name, *words;
    size_t offset; /* in struct convert_losses */
    void (*make)(struct make_spool *spool);
} losses[] = {
#define LOSS(field, one, several) {#field, one, offsetof(struct convert_losses, field), make_##field},
    CONVERT_LOSSES(LOSS)
#undef LOSS
};
#define LOSSES (sizeof(losses) / sizeof(losses[0]))

/* --- where it is shown --- */

/* Its trace, trace.json in the directory. Gives the metadata of it; the caller deletes it. */
static cJSON *convert(struct make_spool *spool, struct convert_summary *summary)
{
    static char text[1 << 24];
    char path[300];
    snprintf(path, sizeof(path), "%s/trace.json", directory);
    const struct convert_options options = {.spool_directory = directory, .output = path};
    make_spool_done(spool, SPOOL_DONE);
    make_spool_save(spool, directory);
    make_spool_release(spool);
    unit_stderr_begin();
    int failed = convert_spool(&options, summary);
    unit_stderr_end();
    assert_int_equal(failed, 0);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    cJSON *trace = cJSON_Parse(text), *own = cJSON_DetachItemFromObject(trace, "gputrace");
    assert_non_null(own);
    cJSON_Delete(trace);
    return own;
}

static uint64_t count_of(const struct convert_losses *all, const struct loss *loss)
{
    return *(const uint64_t *)(const void *)((const char *)all + loss->offset);
}

static void assert_report(const char *words)
{
    char path[300];
    const char *name = path;
    struct report_options options = {.sections = 1u << REPORT_OVERVIEW};
    struct buffer out;
    snprintf(path, sizeof(path), "%s/trace.json", directory);
    buffer_init_memory(&out);
    assert_int_equal(report_files(&options, &name, 1, &out), 0);
    buffer_char(&out, '\0');
    assert_int_equal(buffer_finish(&out), 0);
    assert_contains(out.data, words);
    buffer_release(&out);
}

static void assert_last_line(const struct convert_summary *summary, const char *words)
{
    unit_stderr_begin();
    summary_print("trace.json", summary, NULL);
    const char *said = unit_stderr_end();
    if (words)
        assert_contains(said, words);
    else
        assert_null(strstr(said, "incomplete: "));
}

static void check(const struct loss *loss)
{
    char words[128];
    struct make_spool spool;
    struct convert_summary summary;
    snprintf(directory, sizeof(directory), "%s", unit_directory());
    make_whole(&spool);
    loss->make(&spool);
    cJSON *own = convert(&spool, &summary);
    const cJSON *counted = cJSON_GetObjectItem(own, "losses");
    for (size_t i = 0; i < LOSSES; i++) {
        uint64_t expected = &losses[i] == loss;
        if (count_of(&summary.losses, &losses[i]) != expected ||
            cJSON_GetNumberValue(cJSON_GetObjectItem(counted, losses[i].name)) != (double)expected)
            fail_msg("the spool of %s has %llu of %s", loss->name,
                     (unsigned long long)count_of(&summary.losses, &losses[i]), losses[i].name);
    }
    assert_true(summary_is_incomplete(&summary));
    snprintf(words, sizeof(words), "; incomplete: 1 %s", loss->words);
    assert_last_line(&summary, words);
    snprintf(words, sizeof(words), "Lost or doubtful: %s", loss->name);
    for (char *at = words; *at; at++)
        *at = *at == '_' ? ' ' : *at;
    assert_report(words);
    cJSON_Delete(own);
    unit_remove(directory);
}

UNIT_TEST(every_loss_has_its_name_everywhere)
{
    for (size_t i = 0; i < LOSSES; i++)
        check(&losses[i]);
}

UNIT_TEST(a_whole_trace_has_none)
{
    struct make_spool spool;
    snprintf(directory, sizeof(directory), "%s", unit_directory());
    make_whole(&spool);
    struct convert_summary summary;
    cJSON_Delete(convert(&spool, &summary));
    assert_false(summary_is_incomplete(&summary));
    assert_last_line(&summary, NULL);
    assert_report("Lost or doubtful");
    assert_report("nothing");
    unit_remove(directory);
}

UNIT_MAIN(NULL, NULL)
