/* Loading plugins: those that work and those that do not; forks and the end. */

#include <sys/wait.h>

#include "agent/dispatch/registry.h"
#include "agent/main/plugins.h"
#include "agent/spool/writer.h"
#include "common/clock.h"
#include "tests/agent/main/made_plugin.h"
#include "tests/agent/spool_reading.h"

static char *spool, directory[256];

UNIT_FIXTURE(prepare)
{
    spool = new_directory();
    snprintf(directory, sizeof(directory), "%s", unit_directory());
    return chunks_open(spool, 0);
}

UNIT_FIXTURE(tidy)
{
    unit_remove(directory);
    unit_remove(spool);
    free(spool);
    return 0;
}

/* Loads LINES; gives what was printed. */
static const char *load(const char *lines)
{
    unit_stderr_begin();
    plugins_load(lines);
    return unit_stderr_end();
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

static void assert_last_line(const char *expected)
{
    const struct spool_plugin_line *line = last(SPOOL_RECORD_PLUGIN_LINE);
    assert_non_null(line);
    assert_text(line->text, line->length, expected);
}

/* What is said on stderr is in the trace as well. */
static void assert_refused(const char *said, const char *path, const char *why)
{
    char expected[1024];
    snprintf(expected, sizeof(expected), "gputrace: warning: plugin '%s' is left out: ", path);
    assert_contains(said, expected);
    assert_contains(said, why);
    const struct spool_note *note = last(SPOOL_RECORD_NOTE);
    assert_int_equal(note->head.flags, SPOOL_NOTE_WARNED); /* not again by the tool */
    assert_memory_equal(note->text, said + strlen("gputrace: warning: "), note->length);
}

static const char works[] =
    PLUGIN_HEAD "static const struct gputrace_host *us;\n"
                "static void say(const char *text) { gputrace_line(us, 0, text); }\n"
                "static void marked(void *data, const struct gputrace_nvtx *what) {\n"
                "    char text[100];\n"
                "    snprintf(text, sizeof(text), \"%s heard %.*s\", (char *)data, (int)what->message.length, "
                "what->message.bytes);\n"
                "    say(text);\n"
                "}\n"
                "static void ended(void *data, const struct gputrace_process_end *what) { (void)data, (void)what; "
                "say(\"ended\"); }\n"
                "static int start(const struct gputrace_host *host) {\n"
                "    char text[100];\n"
                "    us = host;\n"
                "    const char *key = gputrace_setting(host, \"key\"), *flag = gputrace_setting(host, \"flag\");\n"
                "    snprintf(text, sizeof(text), \"key %s flag '%s' %s\", key ? key : \"none\", flag ? flag : "
                "\"none\", gputrace_setting(host, \"fl\") ? "
                "\"?\" : \"-\");\n"
                "    say(text);\n"
                "    return gputrace_nvtx_mark_register(host, marked, \"first\") && gputrace_nvtx_mark_register(host, "
                "marked, \"second\") &&\n"
                "           gputrace_process_end_register(host, ended, NULL) ? 0 : -1;\n"
                "}\n"
                "GPUTRACE_PLUGIN(\"works\", start);\n";

static void mark(const char *message)
{
    registry_nvtx_mark_publish(&(struct gputrace_nvtx_mark){.message = {message, (uint32_t)strlen(message)}});
}

UNIT_TEST(a_plugin_is_started_with_its_settings)
{
    char line[1024];
    snprintf(line, sizeof(line), "%s,key=a=b,flag,other", make_library(directory, "works", works));
    assert_string_equal(load(line), "");
    const struct spool_plugin *plugin = last(SPOOL_RECORD_PLUGIN);
    assert_int_equal(plugin->plugin, REGISTRY_FIRST_PLUGIN);
    assert_text(plugin->text, plugin->length, "works");
    assert_last_line("key a=b flag '' -");
    assert_int_equal(count(SPOOL_RECORD_PLUGIN), 1);
}

UNIT_TEST(its_callbacks_are_called_in_order)
{
    mark("this");
    struct reading reading = read_spool(spool, getpid());
    unsigned lines = count_records(&reading, SPOOL_RECORD_PLUGIN_LINE);
    const struct spool_plugin_line *first = find_record(&reading, SPOOL_RECORD_PLUGIN_LINE, lines - 2);
    assert_text(first->text, first->length, "first heard this");
    assert_int_equal(first->plugin, REGISTRY_FIRST_PLUGIN);
    assert_int_equal(first->stack, 0);
    assert_last_line("second heard this");
}

UNIT_TEST(the_time_it_takes_is_reported_once_it_has_changed)
{
    plugins_record_times();
    const struct spool_plugin_time *time = last(SPOOL_RECORD_PLUGIN_TIME);
    assert_non_null(time);
    assert_int_equal(time->plugin, REGISTRY_FIRST_PLUGIN);
    assert_int_equal(time->calls, 2);
    assert_true(time->ns > 0);
    mark("more");
    plugins_record_times(); /* less than a second later */
    assert_int_equal(count(SPOOL_RECORD_PLUGIN_TIME), 1);
}

UNIT_TEST(a_file_that_is_not_there_is_reported)
{
    assert_refused(load("/nowhere/at/all.so"), "/nowhere/at/all.so", "No such file or directory");
}

UNIT_TEST(a_file_that_is_no_library_is_reported)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/text.so", directory);
    unit_write_file(path, "no library");
    assert_refused(load(path), path, "file too short");
}

UNIT_TEST(a_library_that_lacks_a_function_is_reported)
{
    const char *path = make_library(
        directory, "lacks",
        PLUGIN_HEAD "void nobody_has_this(void);\n"
                    "static int start(const struct gputrace_host *host) { (void)host; nobody_has_this(); return 0; }\n"
                    "GPUTRACE_PLUGIN(\"lacks\", start);\n");
    assert_refused(load(path), path, "undefined symbol: nobody_has_this");
}

UNIT_TEST(a_library_that_is_no_plugin_is_reported)
{
    const char *path = make_library(directory, "none", "int other(void);\nint other(void) { return 1; }\n");
    assert_refused(load(path), path, "it has no 'gputrace_plugin'");
}

UNIT_TEST(another_version_is_refused_with_both_and_the_way_out)
{
    /* Nothing but the version may be read of it: the rest is not there. */
    const char *path = make_library(directory, "newer", "unsigned gputrace_plugin = 7;\n");
    const char *said = load(path);
    assert_refused(said, path, "built for version 7 of gputrace's callbacks");
    assert_contains(said, "this gputrace (" GPUTRACE_VERSION ") has version 2");
    assert_contains(said, "build it anew with the callbacks.h of this gputrace");
}

UNIT_TEST(a_plugin_that_is_not_whole_is_refused)
{
    const char *path = make_library(
        directory, "cut",
        PLUGIN_HEAD "struct gputrace_plugin gputrace_plugin = {GPUTRACE_CALLBACKS_VERSION, 8, \"cut\", 0};\n");
    assert_refused(load(path), path, "'gputrace_plugin' is not whole");
}

UNIT_TEST(a_start_that_fails_leaves_no_callback)
{
    const char *path =
        make_library(directory, "fails",
                     PLUGIN_HEAD "static const struct gputrace_host *us;\n"
                                 "static void marked(void *data, const struct gputrace_nvtx *what)\n"
                                 "{ (void)data, (void)what; gputrace_line(us, 0, \"fails was called\"); }\n"
                                 "static int start(const struct gputrace_host *host) {\n"
                                 "    us = host;\n"
                                 "    gputrace_nvtx_mark_register(host, marked, NULL);\n"
                                 "    gputrace_line(host, 0, \"this is why\");\n"
                                 "    return 5;\n"
                                 "}\n"
                                 "GPUTRACE_PLUGIN(\"fails\", start);\n");
    assert_refused(load(path), path, "its start failed with 5");
    assert_last_line("this is why");
    mark("after");
    assert_last_line("second heard after");
}

UNIT_TEST(a_plugin_that_is_named_twice_is_loaded_once)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/works.so", directory);
    assert_refused(load(path), path, "it is named twice");
}

/* What a plugin does while it is loaded is not the program's doing: nobody hears of it. */
static unsigned heard;

static void hears(void *data, const struct gputrace_nvtx *what)
{
    (void)data, (void)what;
    heard++;
}

static void mark_of_start(void)
{
    mark("of start");
}

static uint64_t window_start, window_end;

static void sees_window(void *data, const struct gputrace_plugin_window *window)
{
    (void)data;
    window_start = window->start;
    window_end = window->end;
}

UNIT_TEST(what_start_does_is_not_reported)
{
    char line[1024];
    void (*function)(void) = mark_of_start;
    const char *path =
        make_library(directory, "busy",
                     PLUGIN_HEAD "static int start(const struct gputrace_host *host) {\n"
                                 "    void (*call)(void);\n"
                                 "    uintptr_t address = strtoul(gputrace_setting(host, \"call\"), NULL, 16);\n"
                                 "    memcpy(&call, &address, sizeof(call));\n"
                                 "    call();\n"
                                 "    return 0;\n"
                                 "}\n"
                                 "GPUTRACE_PLUGIN(\"busy\", start);\n");
    snprintf(line, sizeof(line), "%s,call=%lx", path, (unsigned long)(uintptr_t)function);
    assert_int_equal(registry_nvtx_mark_register(hears, NULL), 0);
    assert_int_equal(registry_plugin_window_register(sees_window, NULL), 0);
    uint64_t before = clock_now();
    assert_string_equal(load(line), "");
    assert_int_equal(heard, 0);
    assert_true(window_start >= before && window_end > window_start && window_end <= clock_now());
    mark_of_start();
    assert_int_equal(heard, 1);
}

/* In the child of a fork: returns 0 when all is as it should be, else the number of the line that is not. */
#define EXPECT(condition)    \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

static uint32_t parent_reported;

static void sees_fork(void *data, const struct gputrace_process_fork *what)
{
    (void)data;
    parent_reported = what->parent;
}

static int be_the_child(uint32_t parent)
{
    chunks_atfork_child();
    plugins_atfork_child();
    registry_atfork_child();
    EXPECT(chunks_open(spool, 0) == 0);
    registry_process_fork_register(sees_fork, NULL);
    plugins_after_fork(parent);
    EXPECT(parent_reported == parent);
    struct reading reading = read_spool(spool, getpid());
    EXPECT(count_records(&reading, SPOOL_RECORD_PLUGIN) >= 2);
    const struct spool_plugin *first = find_record(&reading, SPOOL_RECORD_PLUGIN, 0);
    EXPECT(first->plugin == REGISTRY_PROGRAM);
    mark("child");
    plugins_process_end();
    const struct spool_plugin_time *time = NULL;
    for (unsigned i = 0; i < count_records(&reading, SPOOL_RECORD_PLUGIN_TIME); i++) {
        time = find_record(&reading, SPOOL_RECORD_PLUGIN_TIME, i);
        if (time->plugin == REGISTRY_FIRST_PLUGIN)
            break;
    }
    EXPECT(time && time->plugin == REGISTRY_FIRST_PLUGIN);
    EXPECT(time->calls == 3); /* two of the mark, one of the end: nothing of the parent's */
    return 0;
}

UNIT_TEST(a_forked_child_tells_its_plugins_anew)
{
    uint32_t parent = (uint32_t)getpid();
    assert_non_null(plugins_program_host(GPUTRACE_CALLBACKS_VERSION));
    pid_t child = fork();
    if (child == 0)
        _exit(be_the_child(parent) ? 1 : 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

UNIT_TEST(more_than_there_is_space_for_are_refused)
{
    char lines[8192] = "", path[512], command[1400];
    size_t used = 0;
    enum { BEFORE = 3, MOST = 14 }; /* works, fails, busy */
    for (unsigned i = 0; i < MOST - BEFORE + 1; i++) {
        snprintf(path, sizeof(path), "%s/copy%u.so", directory, i);
        snprintf(command, sizeof(command), "cp '%s/works.so' '%s'", directory, path);
        assert_int_equal(system(command), 0);
        used += (size_t)snprintf(lines + used, sizeof(lines) - used, "%s\n", path);
    }
    const char *said = load(lines);
    assert_refused(said, path, "at most 14 plugins can be used");
    const struct spool_plugin *plugin = last(SPOOL_RECORD_PLUGIN);
    assert_int_equal(plugin->plugin, EPOCH_CLIENTS - 1);
}

UNIT_TEST(the_end_is_reported_once)
{
    unsigned lines = count(SPOOL_RECORD_PLUGIN_LINE), times = count(SPOOL_RECORD_PLUGIN_TIME);
    plugins_process_end();
    assert_last_line("ended");
    unsigned written = count(SPOOL_RECORD_PLUGIN_LINE);
    assert_true(written > lines);
    assert_true(count(SPOOL_RECORD_PLUGIN_TIME) > times);
    plugins_process_end();
    assert_int_equal(count(SPOOL_RECORD_PLUGIN_LINE), written);
}

UNIT_MAIN(prepare, tidy)
