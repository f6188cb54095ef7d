/*
 * Values by key: the input is a recipe (scene.h) that changes a trace, after two bytes that say what is made of it. Any
 * key that the analysis knows may have any value, or none, and yet the report of it, its page, part, comparison, merged
 * trace and conversions must be what they claim to be.
 */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tool/files.h"
#include "tests/fuzz/tool/scene.h"

#include "analysis/diff/diff.h"
#include "analysis/job/flight_files.h"
#include "analysis/job/job_report.h"
#include "analysis/report.h"
#include "analysis/stack_files.h"
#include "common/buffer.h"
#include "trace/meaning/sources.h"
#include "trace/merge/merge.h"

static struct report_options options_of(unsigned choice)
{
    return (struct report_options){
        .format = (enum report_format)(choice % (REPORT_HTML + 1)),
        .names = (enum report_names)((choice >> 3) & 3),
        .by_grid = (choice & 32) != 0,
        .by_shape = (choice & 32) != 0,
        .width = choice & 64 ? 100 : 0,
        .columns = choice & 128 ? "all" : NULL,
        .workers = 1,
    };
}

static void report_one(const struct report_options *options, const char *path)
{
    scene_report(options, &path, 1);
}

/* The other trace of the job, and its part. */
static const char *partner_path(const struct report_options *options, bool part)
{
    static char trace_path[4096], part_path[4096];
    if (!*trace_path) {
        cJSON *trace = scene_new();
        scene_move_ranks(trace, 2);
        snprintf(trace_path, sizeof(trace_path), "%s", scene_write(trace, "partner.json"));
        snprintf(part_path, sizeof(part_path), "%s", fuzz_path("partner.gpr"));
        FUZZ_HOLDS(job_report_map(options, trace_path, part_path) == 0);
        cJSON_Delete(trace);
    }
    return part ? part_path : trace_path;
}

static void report_parts(const struct report_options *options, const char *path)
{
    const char *paths[] = {fuzz_path("trace.gpr"), partner_path(options, true)};
    unlink(paths[0]);
    if (job_report_map(options, path, paths[0]) != 0)
        return;
    scene_report(options, paths, 1);
    scene_report(options, paths, 2);
}

static void compare(const struct report_options *options, const char *path)
{
    const char *before[] = {path}, *after[] = {partner_path(options, false)};
    struct diff_options diff = {.report = *options, .all = true, .any = true};
    struct buffer out;
    diff.format = (enum diff_format)(options->format % (DIFF_HTML + 1));
    for (unsigned reversed = 0; reversed < 2; reversed++) {
        diff.paths[BEFORE] = reversed ? after : before;
        diff.paths[AFTER] = reversed ? before : after;
        diff.counts[BEFORE] = diff.counts[AFTER] = 1;
        buffer_init(&out, scene_touch, NULL);
        diff_files(&diff, &out);
        buffer_finish(&out);
        buffer_release(&out);
    }
}

static void merge(const struct report_options *options, const char *path)
{
    const struct merge_input inputs[] = {{path, "trace.json"}, {partner_path(options, false), "partner.json"}};
    const struct merge_options merging = {
        .inputs = inputs, .count = 2, .output = fuzz_path("merged.json"), .workers = 1};
    struct merge_summary summary;
    struct merge *merge = merge_new(&merging);
    FUZZ_HOLDS(merge != NULL);
    if (merge_scan(merge) == 0 && merge_write(merge, &summary) == 0) {
        FUZZ_HOLDS(fuzz_is_json(merging.output));
        report_one(options, merging.output);
    }
    merge_free(merge);
}

/* To Perfetto's format and back. */
static void convert(const struct report_options *options, const char *path)
{
    const char *perfetto = fuzz_path("made.pftrace"), *back = fuzz_path("made.json");
    struct convert_summary summary;
    if (convert_file(path, perfetto, &summary) != 0)
        return;
    report_one(options, perfetto);
    FUZZ_HOLDS(convert_file(perfetto, back, &summary) == 0);
    FUZZ_HOLDS(fuzz_is_json(back));
    report_one(options, back);
}

static void convert_further(const struct report_options *options, const char *path)
{
    struct convert_summary summary;
    struct stack_files_summary stacks;
    struct flight_files_summary flight;
    const struct filter_options part = {.process = {.given = true, .number = 583}};
    (void)options;
    convert_file(path, fuzz_path("made.sqlite"), &summary);
    stack_files_convert(path, fuzz_path("made.folded"), &stacks);
    if (stack_files_convert(path, fuzz_path("made.speedscope.json"), &stacks) == 0)
        FUZZ_HOLDS(fuzz_is_json(fuzz_path("made.speedscope.json")));
    flight_files_convert(path, fuzz_directory(), true, &flight);
    if (report_write_part(&part, path, fuzz_path("cut.json"), NULL, &summary) == 0)
        FUZZ_HOLDS(fuzz_is_json(fuzz_path("cut.json")));
}

static void report_job(const struct report_options *options, const char *path)
{
    const char *paths[] = {path, partner_path(options, false)};
    scene_report(options, paths, 2);
}

static void (*const uses[])(const struct report_options *options, const char *path) = {
    report_one, report_parts, compare, merge, convert, convert_further, report_job,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct report_options options = options_of(data[0]);
    cJSON *trace = scene_new();
    scene_change(trace, data + 2, size - 2);
    const char *path = scene_write(trace, "trace.json");
    cJSON_Delete(trace);
    report_one(&options, path);
    uses[data[1] % (sizeof(uses) / sizeof(*uses))](&options, path);
    return 0;
}
