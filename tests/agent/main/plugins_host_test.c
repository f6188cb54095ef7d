/* What a host does for the program: registering, writing. */
#include "agent/dispatch/registry.h"
#include "agent/main/plugins.h"
#include "agent/spool/writer.h"
#include "tests/agent/main/made_plugin.h"

static char *spool;

UNIT_FIXTURE(prepare)
{
    spool = new_directory();
    return chunks_open(spool, 0);
}

UNIT_FIXTURE(tidy)
{
    unit_remove(spool);
    free(spool);
    return 0;
}

static const void *last(enum spool_record_type type)
{
    return last_record(spool, type);
}

static unsigned count(enum spool_record_type type)
{
    struct reading reading = read_spool(spool, getpid());
    return count_records(&reading, type);
}

static void mark(const char *message)
{
    registry_nvtx_mark_publish(&(struct gputrace_nvtx_mark){.message = {message, (uint32_t)strlen(message)}});
}

static unsigned heard;

static void hears(void *data, const struct gputrace_nvtx *what)
{
    (void)data, (void)what;
    heard++;
}

UNIT_TEST(the_program_has_a_host_of_its_own)
{
    const struct gputrace_host *host = plugins_program_host(GPUTRACE_CALLBACKS_VERSION);
    assert_non_null(host);
    assert_int_equal(host->version, GPUTRACE_CALLBACKS_VERSION);
    assert_int_equal(host->size, sizeof(*host));
    const struct spool_plugin *plugin = last(SPOOL_RECORD_PLUGIN);
    assert_int_equal(plugin->plugin, REGISTRY_PROGRAM);
    assert_text(plugin->text, plugin->length, "program");
    unsigned clients = count(SPOOL_RECORD_PLUGIN);
    assert_ptr_equal(plugins_program_host(GPUTRACE_CALLBACKS_VERSION), host);
    assert_int_equal(count(SPOOL_RECORD_PLUGIN), clients);
    assert_null(gputrace_setting(host, "key"));
}

UNIT_TEST(a_program_of_another_version_has_none_and_is_reported_once)
{
    unit_stderr_begin();
    assert_null(plugins_program_host(3));
    assert_contains(unit_stderr_end(), "the program's own callbacks are not called: built for version 3");
    unit_stderr_begin();
    assert_null(plugins_program_host(3));
    assert_string_equal(unit_stderr_end(), "");
}

UNIT_TEST(a_client_removes_its_own_callbacks_alone)
{
    const struct gputrace_host *host = plugins_program_host(GPUTRACE_CALLBACKS_VERSION);
    assert_int_equal(registry_nvtx_mark_register(hears, NULL), 0);
    gputrace_registration registration = gputrace_nvtx_mark_register(host, hears, NULL);
    assert_true(registration > 0);
    heard = 0;
    mark("both");
    assert_int_equal(heard, 2);
    assert_int_equal(gputrace_remove(host, registration - 1), -1); /* the library's */
    assert_int_equal(gputrace_remove(host, registration), 0);
    assert_int_equal(gputrace_remove(host, registration), -1);
    mark("one");
    assert_int_equal(heard, 3);
    assert_true(gputrace_nvtx_mark_register(host, hears, NULL) > 0);
    gputrace_clear(host, GPUTRACE_EVERY_KIND);
    mark("one again");
    assert_int_equal(heard, 4);
    assert_int_equal(host->add(host, GPUTRACE_KIND_COUNT, (gputrace_any_fn *)hears, NULL), 0); /* nothing of ours */
}

UNIT_TEST(slices_instants_and_counters_are_written)
{
    const struct gputrace_host *host = plugins_program_host(GPUTRACE_CALLBACKS_VERSION);
    gputrace_slice(host, "a slice", 10, 30, "with detail");
    const struct spool_plugin_event *event = last(SPOOL_RECORD_PLUGIN_EVENT);
    assert_int_equal(event->head.flags, SPOOL_PLUGIN_SLICE);
    assert_int_equal(event->head.time, 10);
    assert_int_equal(event->end, 30);
    assert_int_equal(event->plugin, REGISTRY_PROGRAM);
    assert_int_equal(event->thread, gettid());
    assert_int_equal(event->name_length, 7);
    assert_text(event->text, event->length, "a slicewith detail");
    gputrace_slice(host, "backwards", 30, 10, NULL);
    event = last(SPOOL_RECORD_PLUGIN_EVENT);
    assert_int_equal(event->end, 30);
    gputrace_instant(host, "now", 40, NULL);
    event = last(SPOOL_RECORD_PLUGIN_EVENT);
    assert_int_equal(event->head.flags, SPOOL_PLUGIN_INSTANT);
    assert_int_equal(event->head.time, 40);
    assert_text(event->text, event->length, "now");
    gputrace_counter(host, "level", 50, 2.5);
    event = last(SPOOL_RECORD_PLUGIN_EVENT);
    assert_int_equal(event->head.flags, SPOOL_PLUGIN_COUNTER);
    assert_true(event->value == 2.5);
    assert_text(event->text, event->length, "level");
}

UNIT_TEST(what_is_too_long_is_cut_and_counted)
{
    static char text[20000];
    const struct gputrace_host *host = plugins_program_host(GPUTRACE_CALLBACKS_VERSION);
    memset(text, 'x', sizeof(text) - 1);
    gputrace_instant(host, text, 1, text);
    const struct spool_plugin_event *event = last(SPOOL_RECORD_PLUGIN_EVENT);
    assert_int_equal(event->name_length, 16384);
    assert_int_equal(event->length, 2 * 16384);
    struct reading reading = read_spool(spool, getpid());
    assert_int_equal(header_of(&reading)->losses.cut_texts, 2);
}

UNIT_TEST(settings_are_found_by_their_whole_names)
{
    const struct gputrace_host *host = host_make(REGISTRY_FIRST_PLUGIN, "plugin", "key=value,flag,,empty=,key=again");
    assert_string_equal(gputrace_setting(host, "key"), "value");
    assert_string_equal(gputrace_setting(host, "flag"), "");
    assert_string_equal(gputrace_setting(host, "empty"), "");
    assert_null(gputrace_setting(host, "ke"));
    assert_null(gputrace_setting(host, "key="));
    assert_null(gputrace_setting(host, "value"));
    assert_null(gputrace_setting(host, ""));
}

UNIT_TEST(lines_have_the_number_of_their_stack)
{
    gputrace_line(plugins_program_host(GPUTRACE_CALLBACKS_VERSION), 7, "a line");
    const struct spool_plugin_line *line = last(SPOOL_RECORD_PLUGIN_LINE);
    assert_int_equal(line->plugin, REGISTRY_PROGRAM);
    assert_int_equal(line->stack, 7);
    assert_text(line->text, line->length, "a line");
}

static void fails(void *data, const struct gputrace_memory_allocation_failure *failure)
{
    *(struct gputrace_memory_allocation_failure *)data = *failure;
}

UNIT_TEST(a_failed_allocation_is_published)
{
    const struct gputrace_host *host = plugins_program_host(GPUTRACE_CALLBACKS_VERSION);
    struct gputrace_memory_allocation_failure published = {.bytes = 0};
    gputrace_registration registration = gputrace_memory_allocation_failure_register(host, fails, &published);
    gputrace_allocation_failed(host, &(struct gputrace_memory_allocation_failure){.bytes = 123});
    assert_int_equal(published.bytes, 123);
    struct gputrace_host older = *host;
    older.size = offsetof(struct gputrace_host, allocation_failed);
    gputrace_allocation_failed(&older, &(struct gputrace_memory_allocation_failure){.bytes = 124});
    gputrace_allocation_failed(NULL, &(struct gputrace_memory_allocation_failure){.bytes = 125});
    assert_int_equal(published.bytes, 123);
    assert_int_equal(gputrace_remove(host, registration), 0);
}

UNIT_TEST(an_allocation_failure_of_another_edition_is_published)
{
    const struct gputrace_host *host = plugins_program_host(GPUTRACE_CALLBACKS_VERSION);
    struct gputrace_memory_allocation_failure published = {.bytes = 0};
    struct {
        struct gputrace_memory_allocation_failure known;
        uint64_t later;
    } longer = {.known = {.call.size = sizeof(longer), .bytes = 5, .kind = GPUTRACE_MEMORY_DEVICE}, .later = 1};
    struct gputrace_memory_allocation_failure shorter = longer.known;
    shorter.call.size = offsetof(struct gputrace_memory_allocation_failure, kind);
    gputrace_registration registration = gputrace_memory_allocation_failure_register(host, fails, &published);
    host->allocation_failed(host, &longer.known);
    assert_int_equal(published.bytes, 5);
    assert_int_equal(published.kind, GPUTRACE_MEMORY_DEVICE);
    assert_int_equal(published.call.size, sizeof(published));
    host->allocation_failed(host, &shorter);
    assert_int_equal(published.bytes, 5);
    assert_int_equal(published.kind, GPUTRACE_MEMORY_UNKNOWN);
    assert_int_equal(gputrace_remove(host, registration), 0);
}

UNIT_MAIN(prepare, tidy)
