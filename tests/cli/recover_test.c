#include "tests/unit.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "tests/trace/meaning/make_spool.h"
#include "cli/options.h"
#include "cli/session.h"
#include "launch/run_directory.h"

#define EXIT_USAGE 2
#define GONE 2000000000 /* no process has this number */

static char parent[256], output[300];
static struct run_directory left; /* by a launcher that has ended */
static const char *said;

UNIT_FIXTURE(begin)
{
    snprintf(parent, sizeof(parent), "%s", unit_directory());
    snprintf(output, sizeof(output), "%s/trace.json", parent);
    return 0;
}

UNIT_FIXTURE(end)
{
    unit_remove(parent);
    return 0;
}

/* A directory as a run leaves it whose launcher was killed, which wanted its trace at TRACE (NULL: it did not say). */
static void leave(const char *trace)
{
    char *const command[] = {(char[]){"./app"}, (char[]){"-x"}, NULL};
    struct settings settings = {0};
    struct session session = {.command = command, .output = trace, .settings = &settings};
    struct make_spool spool;
    assert_int_equal(run_directory_make(&left, parent), 0);
    if (trace)
        assert_int_equal(session_write(left.path, &session), 0);
    make_spool_init(&spool, GONE, 130001);
    make_spool_header(&spool)->state = SPOOL_OPEN;
    make_spool_chunk(&spool, SPOOL_RECORDS, GONE);
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 1000, .text = "here"});
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_save(&spool, left.path);
    make_spool_release(&spool);
    run_directory_release(&left);
}

/* What `gputrace recover WORD...` gives; what it said on stderr is in `said`. */
static int recover(char *first, char *second, char *third)
{
    char *words[] = {(char[]){"recover"}, first, second, third, NULL};
    int count = 1;
    while (words[count])
        count++;
    unit_stderr_begin();
    int status = command_recover.run(count, words);
    said = unit_stderr_end();
    return status;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

UNIT_TEST_WITH(the_trace_comes_where_the_run_wanted_it_and_the_spool_goes, begin, end)
{
    leave(output);
    assert_int_equal(recover(left.path, NULL, NULL), EXIT_SUCCESS);
    assert_contains(said, output);
    assert_true(exists(output));
    assert_false(exists(left.path));
}

UNIT_TEST_WITH(an_output_that_is_given_comes_first, begin, end)
{
    char other[300];
    snprintf(other, sizeof(other), "-o%s/other.json", parent);
    leave(output);
    assert_int_equal(recover(other, left.path, NULL), EXIT_SUCCESS);
    assert_true(exists(other + 2));
    assert_false(exists(output));
}

UNIT_TEST_WITH(the_spool_can_be_kept, begin, end)
{
    leave(output);
    assert_int_equal(recover((char[]){"--keep"}, left.path, NULL), EXIT_SUCCESS);
    assert_contains(said, "the spool stays in");
    assert_true(exists(left.path));
    assert_int_equal(recover(left.path, NULL, NULL), EXIT_SUCCESS);
    assert_false(exists(left.path));
}

UNIT_TEST_WITH(without_a_note_the_output_must_be_given, begin, end)
{
    leave(NULL);
    assert_int_equal(recover(left.path, NULL, NULL), EXIT_FAILURE);
    assert_contains(said, "give one with -o FILE");
    assert_contains(said, "the records stay in");
    assert_true(exists(left.path));
}

UNIT_TEST_WITH(files_that_others_could_have_written_are_ignored, begin, end)
{
    leave(output);
    assert_int_equal(chmod(left.path, 0777), 0);
    assert_int_equal(recover(left.path, NULL, NULL), EXIT_FAILURE);
    assert_contains(said, "others can write to");
    assert_false(exists(output));
}

UNIT_TEST_WITH(an_output_that_cannot_be_written_keeps_the_spool, begin, end)
{
    char nowhere[300];
    snprintf(nowhere, sizeof(nowhere), "-o%s/no/such/trace.json", parent);
    leave(output);
    assert_int_equal(recover(nowhere, left.path, NULL), EXIT_FAILURE);
    assert_contains(said, "the records stay in");
    assert_true(exists(left.path));
}

UNIT_TEST_WITH(an_output_name_can_be_too_long, begin, end)
{
    char name[PATH_MAX + 8];
    memset(name, 'x', sizeof(name));
    memcpy(name, "-o/", 3);
    name[sizeof(name) - 1] = '\0';
    leave(output);
    assert_int_equal(recover(name, left.path, NULL), EXIT_FAILURE);
    assert_contains(said, "too long");
}

UNIT_TEST_WITH(a_directory_in_use_is_read_and_stays, begin, end)
{
    struct run_directory held;
    struct make_spool spool;
    char other[300];
    snprintf(other, sizeof(other), "-o%s/now.json", parent);
    assert_int_equal(run_directory_make(&held, parent), 0);
    make_spool_init(&spool, GONE, 130001);
    make_spool_chunk(&spool, SPOOL_RECORDS, GONE);
    make_nvtx(&spool, (struct make_nvtx){.what = SPOOL_NVTX_MARK, .time = 1000, .text = "here"});
    make_spool_done(&spool, SPOOL_DONE);
    make_spool_save(&spool, held.path);
    make_spool_release(&spool);
    assert_int_equal(recover(other, held.path, NULL), EXIT_SUCCESS);
    assert_contains(said, "is in use by another gputrace");
    assert_true(exists(other + 2) && exists(held.path));
    run_directory_remove(&held);
}

UNIT_TEST_WITH(a_directory_that_is_not_a_spool_is_an_error, begin, end)
{
    char missing[300];
    snprintf(missing, sizeof(missing), "%s/missing", parent);
    assert_int_equal(recover(missing, NULL, NULL), EXIT_FAILURE);
    assert_contains(said, "No such file or directory");
    assert_int_equal(recover(parent, NULL, NULL), EXIT_FAILURE);
    assert_contains(said, "has no records of gputrace");
}

UNIT_TEST_WITH(command_lines_that_make_no_sense_are_refused, begin, end)
{
    assert_int_equal(recover((char[]){"one"}, (char[]){"two"}, NULL), EXIT_USAGE);
    assert_contains(said, "'two' is one too many");
    assert_int_equal(recover((char[]){"--keep"}, NULL, NULL), EXIT_USAGE);
    assert_contains(said, "need a directory");
    assert_int_equal(recover((char[]){"-ofile"}, NULL, NULL), EXIT_USAGE);
    assert_int_equal(recover((char[]){"--kep"}, NULL, NULL), EXIT_USAGE);
}

/* To standard output, which is a file here. */
static void list_into(char *text, size_t size)
{
    char option[300], path[300];
    snprintf(option, sizeof(option), "--spool-dir=%s", parent);
    snprintf(path, sizeof(path), "%s/list", parent);
    fflush(stdout);
    int kept = dup(STDOUT_FILENO), file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO);
    int status = recover(option, NULL, NULL);
    dup2(kept, STDOUT_FILENO);
    ssize_t length = pread(file, text, size - 1, 0);
    text[length > 0 ? length : 0] = '\0';
    close(kept);
    close(file);
    assert_int_equal(status, EXIT_SUCCESS);
}

UNIT_TEST_WITH(without_a_directory_those_there_are_are_listed, begin, end)
{
    char list[8192];
    list_into(list, sizeof(list));
    assert_string_equal(list, "");
    assert_contains(said, "no records of earlier runs");
    leave(output);
    list_into(list, sizeof(list));
    assert_contains(list, left.path);
    assert_contains(list, "./app -x");
    assert_null(strstr(list, "still written"));
}

UNIT_MAIN(NULL, NULL)
