#include "tests/unit.h"

#include <sys/stat.h>

#include <limits.h>

#include "cli/trace_files.h"
#include "common/settings.h"

static const struct output_facts facts = {.pid = 4711, .program = "app"};

static const char *expanded(const char *pattern)
{
    static char name[PATH_MAX];
    assert_int_equal(output_name_expand(pattern, &facts, name, sizeof(name)), 0);
    return name;
}

UNIT_TEST(patterns_are_replaced)
{
    char host[256], expected[512];
    assert_int_equal(gethostname(host, sizeof(host)), 0);
    snprintf(expected, sizeof(expected), "%s-app.4711.json", host);
    setenv("OUTPUT_NAME_TEST", "7", 1);
    assert_string_equal(expanded("trace.json"), "trace.json");
    assert_string_equal(expanded("%h-%n.%p.json"), expected);
    assert_string_equal(expanded("r%q{OUTPUT_NAME_TEST}%%"), "r7%");
}

static const char *expanded_of(const char *pattern, int64_t rank, int64_t world_size)
{
    static char name[PATH_MAX];
    struct job_rank job = {.rank = rank, .world_size = world_size, .local = 1, .node = -1};
    struct output_facts of_rank = {.pid = 4711, .program = "app", .rank = &job};
    assert_int_equal(output_name_expand(pattern, &of_rank, name, sizeof(name)), 0);
    return name;
}

UNIT_TEST(ranks_of_a_job_write_names_of_their_own)
{
    assert_string_equal(expanded_of("trace.json", 3, 8), "trace.3.json");
    assert_string_equal(expanded_of("a.b/trace.pftrace.gz", 3, 8), "a.b/trace.3.pftrace.gz");
    assert_string_equal(expanded_of("trace", 0, -1), "trace.0");
    assert_string_equal(expanded_of("run-1.5", 0, 2), "run-1.5.0");
    assert_string_equal(expanded_of("%n.json", 3, 8), "app.3.json");
    assert_string_equal(expanded_of("%%r.json", 3, 8), "%r.3.json");
    assert_string_equal(expanded_of("%l.json", 3, 8), "1.3.json");
}

UNIT_TEST(names_that_differ_already_stay)
{
    char host[256], expected[512];
    assert_int_equal(gethostname(host, sizeof(host)), 0);
    snprintf(expected, sizeof(expected), "%s.1.json", host);
    setenv("OUTPUT_NAME_TEST", "7", 1);
    assert_string_equal(expanded_of("r%r-%l-of-%w.json", 3, 8), "r3-1-of-8.json");
    assert_string_equal(expanded_of("trace.%p.json", 3, 8), "trace.4711.json");
    assert_string_equal(expanded_of("trace.%q{OUTPUT_NAME_TEST}.json", 3, 8), "trace.7.json");
    assert_string_equal(expanded_of("%h.%l.json", 3, 8), expected);
    assert_string_equal(expanded_of("trace.json", 0, 1), "trace.json");
    assert_string_equal(expanded_of("trace.json", -1, -1), "trace.json");
    assert_string_equal(expanded_of("folder/", 3, 8), "folder/");
    assert_string_equal(expanded_of("-", 3, 8), "-");
}

static const char *refused(const char *pattern, size_t space)
{
    char name[64];
    unit_stderr_begin();
    int result = output_name_expand(pattern, &facts, name, space);
    const char *text = unit_stderr_end();
    assert_int_equal(result, -1);
    return text;
}

UNIT_TEST(wrong_patterns_are_reported)
{
    unsetenv("OUTPUT_NAME_TEST");
    assert_contains(refused("a%x", 64), "use %p, %h, %n, %r, %l, %w");
    assert_contains(refused("a%", 64), "use %p, %h, %n, %r, %l, %w");
    assert_contains(refused("%q", 64), "needs the name of a variable");
    assert_contains(refused("%q{", 64), "needs the name of a variable");
    assert_contains(refused("%q{}", 64), "needs the name of a variable");
    assert_contains(refused("%q{OUTPUT_NAME_TEST}", 64), "no such variable");
    assert_contains(refused("%r", 64), "this process has no rank: start gputrace itself by mpirun");
    assert_contains(refused("%w", 64), "this process has no rank");
    assert_contains(refused("", 64), "needs the name of a file");
    assert_contains(refused("12345678", 8), "too long");
}

static const char *ending_refused(const char *pattern)
{
    unit_stderr_begin();
    int result = output_name_check(pattern);
    const char *text = unit_stderr_end();
    assert_int_equal(result, -1);
    return text;
}

UNIT_TEST(the_ending_of_something_else_is_refused)
{
    static const char *const right[] = {"trace.json", "t.json.gz", "t.pftrace",  "t.pftrace.gz", "trace",
                                        "trace.gz",   "run-1.5",   "run-1.5.gz", "a.b/trace",    ".hidden",
                                        "trace.%p",   "x.txt%p",   "t-%h.json",  "x.%n.pftrace", "%q{A.B}",
                                        "trace.",     "../t",      "./t.json",   "t.20260801",   "t.json.%p.gz"};
    setenv("A.B", "value.txt", 1);
    for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++)
        assert_int_equal(output_name_check(right[i]), 0);
    assert_contains(
        ending_refused("x.nsys-rep"),
        "'-o x.nsys-rep': '.nsys-rep' is not a trace format: use .json, .json.gz, .pftrace, .pftrace.gz, .sqlite or");
    assert_contains(ending_refused("dir/x.txt"), "'.txt' is not");
    assert_contains(ending_refused("x.txt.gz"), "'.txt.gz' is not");
    assert_contains(ending_refused("x.json.zip"), "'.zip' is not");
    assert_contains(ending_refused("x.JSON"), "'.JSON' is not");
    assert_contains(ending_refused("%p.csv"), "'.csv' is not");
}

static char folder[256], path[512], old[600];

UNIT_FIXTURE(begin)
{
    snprintf(folder, sizeof(folder), "%s", unit_directory());
    snprintf(path, sizeof(path), "%s/trace.json", folder);
    snprintf(old, sizeof(old), "%s.old", path);
    return 0;
}

UNIT_FIXTURE(end)
{
    unit_remove(folder);
    return 0;
}

static const char *content(const char *file)
{
    static char text[64];
    FILE *in = fopen(file, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof(text) - 1, in)] = '\0';
    fclose(in);
    return text;
}

#define A_TRACE "{\"gputrace\": {}, \"traceEvents\": [%s]}"

static void write_trace(const char *file, const char *what)
{
    char text[64];
    snprintf(text, sizeof(text), A_TRACE, what);
    unit_write_file(file, text);
}

static void assert_trace(const char *file, const char *what)
{
    char text[64];
    snprintf(text, sizeof(text), A_TRACE, what);
    assert_string_equal(content(file), text);
}

static struct output_place place;

/* What a run does before the program starts. */
static int start(void)
{
    place = (struct output_place){0};
    snprintf(place.name, sizeof(place.name), "%s", path);
    return output_place_check(&place);
}

/* What it does at the end, with a trace of WHAT. */
static void finish(struct output_place *of, const char *what)
{
    char fresh[600];
    snprintf(fresh, sizeof(fresh), "%s.tmp", path);
    write_trace(fresh, what);
    assert_int_equal(output_place_take(of, fresh), 0);
    assert_int_not_equal(access(fresh, F_OK), 0);
}

UNIT_TEST_WITH(an_earlier_trace_is_kept_as_old, begin, end)
{
    write_trace(path, "2");
    write_trace(old, "1");
    assert_int_equal(start(), 0);
    finish(&place, "3");
    assert_trace(path, "3");
    assert_trace(old, "2");
    assert_true(place.moved);
}

UNIT_TEST_WITH(nothing_there_leaves_nothing_old, begin, end)
{
    assert_int_equal(start(), 0);
    finish(&place, "1");
    assert_trace(path, "1");
    assert_int_not_equal(access(old, F_OK), 0);
    assert_false(place.moved || place.numbered);
}

UNIT_TEST_WITH(traces_of_runs_at_the_same_time_get_numbers, begin, end)
{
    char first[600], second[600];
    write_trace(path, "0");
    assert_int_equal(start(), 0);
    struct output_place others[2] = {place, place};
    finish(&place, "1");
    finish(&others[0], "2");
    finish(&others[1], "3");
    snprintf(first, sizeof(first), "%s/trace.1.json", folder);
    snprintf(second, sizeof(second), "%s/trace.2.json", folder);
    assert_trace(old, "0");
    assert_trace(path, "1");
    assert_trace(first, "2");
    assert_trace(second, "3");
    assert_string_equal(others[1].name, second);
    assert_true(others[0].numbered && others[1].numbered && !others[1].moved);
}

UNIT_TEST_WITH(a_file_that_is_not_a_trace_is_refused, begin, end)
{
    static const char *const kept[] = {"{\"lr\": 0.1}", "SQLite format 3", "words", "\x1f\x8b"};
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        unit_write_file(path, kept[i]);
        unit_stderr_begin();
        int result = start();
        assert_contains(unit_stderr_end(), "is there already and is not a trace");
        assert_int_equal(result, -1);
        place.force = true;
        assert_int_equal(output_place_check(&place), 0);
    }
    write_trace(path, "1");
    unit_write_file(old, "words");
    unit_stderr_begin();
    assert_int_equal(start(), -1);
    assert_contains(unit_stderr_end(), "trace.json.old' is there already and is not a trace");
}

static const char *not_writable(const char *name)
{
    unit_stderr_begin();
    int result = output_name_writable(name);
    const char *text = unit_stderr_end();
    assert_int_equal(result, -1);
    return text;
}

UNIT_TEST_WITH(only_a_regular_file_in_a_folder_can_be_written, begin, end)
{
    char deeper[600];
    assert_int_equal(output_name_writable(path), 0);
    unit_write_file(path, "");
    assert_int_equal(output_name_writable(path), 0);
    assert_int_equal(output_name_writable("trace.json"), 0);
    snprintf(deeper, sizeof(deeper), "%s/no/trace.json", folder);
    assert_contains(not_writable(deeper), "No such file or directory");
    assert_contains(not_writable(folder), "a regular file is needed");
    assert_contains(not_writable("/dev/null"), "a regular file is needed");
    snprintf(deeper, sizeof(deeper), "%s/", folder);
    assert_contains(not_writable(deeper), "a regular file is needed");
    snprintf(deeper, sizeof(deeper), "%s/link", folder);
    assert_int_equal(symlink(path, deeper), 0);
    assert_contains(not_writable(deeper), "it is a symbolic link");
    unlink(deeper);
    assert_contains(not_writable("-"), "'-' is not a file name");
}

UNIT_TEST_WITH(a_name_that_is_too_long_is_refused, begin, end)
{
    char name[600];
    int length = snprintf(name, sizeof(name), "%s/", folder);
    memset(name + length, 'x', NAME_MAX + 1);
    name[length + NAME_MAX] = '\0'; /* the longest one, though the temporary name is another */
    assert_int_equal(output_name_writable(name), 0);
    name[length + NAME_MAX] = 'x';
    name[length + NAME_MAX + 1] = '\0';
    assert_contains(not_writable(name), "File name too long");
}

UNIT_TEST_WITH(a_folder_under_the_old_name_is_refused, begin, end)
{
    unit_write_file(path, "");
    assert_int_equal(start(), 0);
    assert_int_equal(mkdir(old, 0700), 0);
    unit_stderr_begin();
    int result = start();
    const char *text = unit_stderr_end();
    assert_int_equal(result, -1);
    assert_contains(text, "that is a directory");
    unlink(path);
    assert_int_equal(start(), 0);
    rmdir(old);
}

UNIT_MAIN(NULL, NULL)
