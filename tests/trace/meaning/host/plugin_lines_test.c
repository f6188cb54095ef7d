/*
 * What plugins say at the end, in the metadata and in the summary: lines, the time they took, stacks.
 */
#include "tests/unit.h"

#include "tests/trace/meaning/make_plugin.h"
#include "tests/trace/meaning/trace_reading.h"

enum { PID = 500, THREAD = 501, OTHER = 502, PLUGIN = 2 };

static void begin(struct make_spool *spool)
{
    make_spool_init(spool, PID, 130001);
    make_spool_chunk(spool, SPOOL_RECORDS, THREAD);
    make_plugin(spool, PLUGIN, "leaks");
}

static struct trace end_named(struct make_spool *spool, const struct frame_namer *namer)
{
    make_spool_done(spool, SPOOL_DONE);
    return trace_of_named(spool, namer);
}

static struct trace end(struct make_spool *spool)
{
    return end_named(spool, NULL);
}

static const cJSON *plugins_of(const struct trace *trace)
{
    return cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(trace->json, "gputrace"), "plugins");
}

static const char *text_in(const cJSON *object, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

UNIT_TEST(test_lines_and_time_reach_metadata_and_summary)
{
    struct make_spool spool;
    begin(&spool);
    make_plugin(&spool, 1, "app");
    make_plugin_time(&spool, 9000, PLUGIN, 20, 777);
    make_plugin_line(&spool, 8000, PLUGIN, 0, "second \xff");
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_chunk(&spool, SPOOL_RECORDS, OTHER);
    make_plugin_time(&spool, 5000, PLUGIN, 10, 333);
    make_plugin_line(&spool, 7000, PLUGIN, 0, "first");
    make_plugin_line(&spool, 7000, 1, 0, "mine");
    struct trace trace = end(&spool);
    const struct convert_plugins *plugins = &trace.summary.plugins;
    assert_int_equal(plugins->count, 2);
    assert_string_equal(plugins->items[0].name, "app");
    assert_string_equal(plugins->items[1].name, "leaks");
    assert_true(plugins->items[1].calls == 20 && plugins->items[1].ns == 777 && plugins->items[1].pid == PID);
    assert_int_equal(plugins->items[1].line_count, 2);
    assert_string_equal(plugins->items[1].lines[0].text, "first");
    assert_int_equal(plugins->items[1].lines[1].length, 8);
    assert_int_equal(plugins->items[1].lines[1].frame_count, 0);
    const cJSON *listed = cJSON_GetArrayItem(plugins_of(&trace), 1);
    assert_string_equal(text_in(listed, "name"), "leaks");
    assert_int_equal(event_number(listed, "time_ns"), 777);
    assert_int_equal(event_number(listed, "calls"), 20);
    const cJSON *line = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(listed, "lines"), 1);
    assert_string_equal(text_in(line, "text"), "second \xef\xbf\xbd");
    assert_null(cJSON_GetObjectItemCaseSensitive(line, "stack"));
    assert_int_equal(trace.summary.events, 0);
    trace_release(&trace);
}

UNIT_TEST(test_a_trace_without_plugins_says_so)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 130001);
    make_spool_chunk(&spool, SPOOL_RECORDS, THREAD);
    struct trace trace = end(&spool);
    assert_true(cJSON_IsArray(plugins_of(&trace)));
    assert_int_equal(cJSON_GetArraySize(plugins_of(&trace)), 0);
    assert_null(trace.summary.plugins.items);
    trace_release(&trace);
}

struct naming {
    const struct mapping_text *maps;
    int calls, fails;
    char text[256];
};

static int name_frames(void *data, const struct mapping_text *maps, const uint64_t *addresses, size_t count,
                       struct stack_frame *frames)
{
    struct naming *naming = data;
    naming->calls++;
    assert_true(!naming->maps || naming->maps == maps);
    naming->maps = maps;
    assert_int_equal(strlen(maps->text), maps->length);
    assert_int_equal(maps->pid, PID);
    snprintf(naming->text, sizeof(naming->text), "%s", maps->text);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(frames[i].address, addresses[i]);
        assert_null(frames[i].function);
    }
    frames[0].function = "make<float>()";
    frames[0].file = "/src/make.cu";
    frames[0].line = 12;
    frames[0].module = "/bin/app";
    frames[0].offset = 0x234;
    return naming->fails ? -1 : 0;
}

static void make_stacks(struct make_spool *spool)
{
    static const uint64_t addresses[] = {0x401234, 0x7f0000001000};
    begin(spool);
    make_mapping(spool, "00401000-00402000 r-xp 00000000 08:01 5 /bin/app");
    make_mapping(spool, "7f0000000000-7f0000002000 r-xp 00000000 08:01 6 /lib/libc.so.6");
    make_plugin_line(spool, 1000, PLUGIN, 3, "64 bytes, allocated here:");
    make_plugin_line(spool, 2000, PLUGIN, 4, "whose stack was lost");
    make_plugin_line(spool, 3000, PLUGIN, 3, "again:");
    make_stack(spool, 3, addresses, 2);
}

UNIT_TEST(test_stacks_are_named_and_written_out)
{
    struct make_spool spool;
    struct naming naming = {0};
    struct frame_namer namer = {.name = name_frames, .data = &naming};
    make_stacks(&spool);
    struct trace trace = end_named(&spool, &namer);
    assert_int_equal(naming.calls, 2);
    assert_string_equal(naming.text, "00401000-00402000 r-xp 00000000 08:01 5 /bin/app\n"
                                     "7f0000000000-7f0000002000 r-xp 00000000 08:01 6 /lib/libc.so.6\n");
    const struct convert_line *lines = trace.summary.plugins.items[0].lines;
    assert_int_equal(lines[0].frame_count, 2);
    assert_int_equal(lines[1].frame_count, 0);
    assert_string_equal(lines[0].frames[0].function, "make<float>()");
    assert_true(lines[0].frames[1].address == 0x7f0000001000 && !lines[0].frames[1].function);
    const cJSON *listed = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(plugins_of(&trace), 0), "lines");
    const cJSON *stack = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(listed, 0), "stack");
    const cJSON *frame = cJSON_GetArrayItem(stack, 0), *bare = cJSON_GetArrayItem(stack, 1);
    assert_string_equal(text_in(frame, "address"), "0x401234");
    assert_string_equal(text_in(frame, "function"), "make<float>()");
    assert_string_equal(text_in(frame, "file"), "/src/make.cu");
    assert_int_equal(event_number(frame, "line"), 12);
    assert_string_equal(text_in(frame, "module"), "/bin/app");
    assert_string_equal(text_in(frame, "offset"), "0x234");
    assert_string_equal(text_in(bare, "address"), "0x7f0000001000");
    assert_int_equal(cJSON_GetArraySize(bare), 1);
    trace_release(&trace);
}

UNIT_TEST(test_without_a_namer_stacks_are_addresses)
{
    struct make_spool spool;
    make_stacks(&spool);
    struct trace trace = end(&spool);
    const struct convert_line *line = &trace.summary.plugins.items[0].lines[0];
    assert_int_equal(line->frame_count, 2);
    assert_true(line->frames[0].address == 0x401234 && !line->frames[0].function);
    trace_release(&trace);
}

UNIT_TEST(test_a_namer_that_fails_ends_the_conversion)
{
    struct make_spool spool;
    struct naming naming = {.fails = 1};
    struct frame_namer namer = {.name = name_frames, .data = &naming};
    const char *directory = unit_directory();
    char output[512];
    struct convert_summary summary;
    make_stacks(&spool);
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_save(&spool, directory);
    make_spool_release(&spool);
    snprintf(output, sizeof(output), "%s/trace.json", directory);
    struct convert_options options = {.spool_directory = directory, .output = output, .namer = &namer};
    assert_int_equal(convert_spool(&options, &summary), -1);
    assert_int_equal(access(output, F_OK), -1);
    assert_null(summary.plugins.items);
    unit_remove(directory);
}

UNIT_MAIN(NULL, NULL)
