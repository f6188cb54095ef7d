/*
 * Functions of Python in call stacks: their names in the metadata and in the summary.
 */
#include "tests/unit.h"

#include "tests/trace/meaning/make_plugin.h"
#include "tests/trace/meaning/trace_reading.h"

enum { PID = 500, THREAD = 501, PLUGIN = 2 };

#define PYTHON(number) (SPOOL_STACK_PYTHON << 48 | (number))

static const uint64_t words[] = {0x401234, PYTHON(7), PYTHON(8), 0x402000, PYTHON(9), PYTHON(0), PYTHON(7)};
enum { WORDS = sizeof(words) / sizeof(*words) };

static struct trace made(const struct frame_namer *namer)
{
    struct make_spool spool;
    make_spool_init(&spool, PID, 130001);
    make_spool_chunk(&spool, SPOOL_RECORDS, THREAD);
    make_plugin(&spool, PLUGIN, "leaks");
    make_plugin_line(&spool, 1000, PLUGIN, 3, "here:");
    make_stack(&spool, 3, words, WORDS);
    make_python_frame(&spool, 7, 12, "Model.forward",
                      "/home/me/model.py"); /* after what refers to it, as from threads */
    make_python_frame(&spool, 8, 0, "caf\xc3\xa9", "");
    make_python_frame(&spool, 7, 13, "again", "/other.py");
    make_spool_done(&spool, SPOOL_DONE);
    return trace_of_named(&spool, namer);
}

static const cJSON *member(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static const cJSON *frame_in(const struct trace *trace, int number)
{
    const cJSON *plugin = cJSON_GetArrayItem(member(member(trace->json, "gputrace"), "plugins"), 0);
    const cJSON *line = cJSON_GetArrayItem(member(plugin, "lines"), 0);
    const cJSON *frame = cJSON_GetArrayItem(member(line, "stack"), number);
    assert_non_null(frame);
    return frame;
}

static void assert_text(const cJSON *object, const char *key, const char *expected)
{
    const char *text = cJSON_GetStringValue(member(object, key));
    assert_true(expected ? text && strcmp(text, expected) == 0 : !text);
}

UNIT_TEST(functions_of_python_have_their_names_in_the_metadata)
{
    struct trace trace = made(NULL);
    const cJSON *frame = frame_in(&trace, 1);
    assert_text(frame, "function", "Model.forward");
    assert_text(frame, "file", "/home/me/model.py");
    assert_int_equal(event_number(frame, "line"), 12);
    assert_text(frame, "module", "python");
    assert_text(frame, "address", NULL);
    assert_text(frame, "offset", NULL);
    assert_text(frame_in(&trace, 2), "function", "caf\xc3\xa9");
    assert_text(frame_in(&trace, 2), "file", NULL);
    assert_null(member(frame_in(&trace, 2), "line"));
    assert_text(frame_in(&trace, 6), "function", "Model.forward");
    trace_release(&trace);
}

UNIT_TEST(native_frames_beside_them_keep_their_addresses)
{
    struct trace trace = made(NULL);
    assert_text(frame_in(&trace, 0), "address", "0x401234");
    assert_text(frame_in(&trace, 3), "address", "0x402000");
    assert_text(frame_in(&trace, 0), "module", NULL);
    trace_release(&trace);
}

/* Their record was lost, or they had no space for one. */
UNIT_TEST(functions_without_a_record_are_of_python_and_nothing_more)
{
    struct trace trace = made(NULL);
    for (int i = 4; i <= 5; i++) {
        assert_text(frame_in(&trace, i), "module", "python");
        assert_int_equal(cJSON_GetArraySize(frame_in(&trace, i)), 1);
    }
    trace_release(&trace);
}

/* It knows nothing of Python, and what it says of such a word is not taken. */
static int name_all(void *data, const struct mapping_text *maps, const uint64_t *addresses, size_t count,
                    struct stack_frame *frames)
{
    (void)data, (void)maps, (void)addresses;
    for (size_t i = 0; i < count; i++)
        frames[i].function = "native";
    return 0;
}

UNIT_TEST(a_namer_names_the_others)
{
    struct frame_namer namer = {.name = name_all};
    struct trace trace = made(&namer);
    assert_text(frame_in(&trace, 0), "function", "native");
    assert_text(frame_in(&trace, 1), "function", "Model.forward");
    assert_text(frame_in(&trace, 4), "function", NULL);
    trace_release(&trace);
}

UNIT_TEST(the_summary_has_them_after_the_spool_is_closed)
{
    struct trace trace = made(NULL);
    const struct convert_line *line = &trace.summary.plugins.items[0].lines[0];
    assert_int_equal(line->frame_count, WORDS);
    assert_string_equal(line->frames[1].function, "Model.forward");
    assert_string_equal(line->frames[6].file, "/home/me/model.py");
    assert_string_equal(line->frames[4].module, "python");
    trace_release(&trace);
}

/* Of a spool that nobody's agent wrote: texts are copied for each frame, but not without end. */
UNIT_TEST(stacks_of_endless_names_are_named_as_far_as_there_is_space)
{
    enum { COUNT = 20000 };
    static uint64_t many[COUNT];
    static char function[400];
    struct make_spool spool;
    memset(function, 'f', sizeof(function) - 1);
    for (unsigned i = 0; i < COUNT; i++)
        many[i] = PYTHON(1);
    make_spool_init(&spool, PID, 130001);
    make_spool_chunk(&spool, SPOOL_RECORDS, THREAD);
    make_plugin(&spool, PLUGIN, "leaks");
    make_plugin_line(&spool, 1000, PLUGIN, 3, "here:");
    make_python_frame(&spool, 1, 1, function, "/f.py");
    make_stack(&spool, 3, many, COUNT);
    make_spool_done(&spool, SPOOL_DONE);
    struct trace trace = trace_of_named(&spool, NULL);
    assert_text(frame_in(&trace, 0), "file", "/f.py");
    assert_text(frame_in(&trace, COUNT - 1), "file", NULL);
    assert_text(frame_in(&trace, COUNT - 1), "module", "python");
    trace_release(&trace);
}

UNIT_MAIN(NULL, NULL)
