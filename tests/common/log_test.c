#include "tests/unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/log.h"

static const char *printed_at(enum log_level level)
{
    log_set_level(level);
    unit_stderr_begin();
    assert_int_equal(error("no '%s'", "file"), -1);
    warning("few %d", 1);
    notice("done");
    verbose("step");
    log_set_level(LOG_NORMAL);
    return unit_stderr_end();
}

UNIT_TEST(each_level_prints_its_own)
{
    assert_string_equal(printed_at(LOG_QUIET), "gputrace: no 'file'\n");
    assert_string_equal(printed_at(LOG_NORMAL), "gputrace: no 'file'\ngputrace: warning: few 1\ngputrace: done\n");
    assert_string_equal(printed_at(LOG_VERBOSE),
                        "gputrace: no 'file'\ngputrace: warning: few 1\ngputrace: done\ngputrace: step\n");
}

UNIT_TEST(errno_stays)
{
    unit_stderr_begin();
    errno = ENOENT;
    error("cannot: %m");
    int after = errno;
    const char *text = unit_stderr_end();
    assert_int_equal(after, ENOENT);
    assert_string_equal(text, "gputrace: cannot: No such file or directory\n");
}

UNIT_TEST(what_a_terminal_would_obey_is_escaped)
{
    unit_stderr_begin();
    error("no '%s'", "a\x1b[2J\nb\xc2\x9b\xe2\x80\xae\xff\\ü");
    assert_string_equal(unit_stderr_end(), "gputrace: no 'a\\x1b[2J\\nb\\x9b\\u202e\xef\xbf\xbd\\ü'\n");
}

UNIT_TEST(a_long_message_is_one_line_cut)
{
    char *large = malloc(5000);
    memset(large, 'x', 4999);
    large[4999] = '\0';
    unit_stderr_begin();
    error("%s", large);
    const char *text = unit_stderr_end();
    assert_true(strlen(text) < 2100);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    free(large);
}

UNIT_TEST(messages_are_for_the_file_that_was_named_alone)
{
    char name[LOG_FILE_NAME_BYTES];
    unit_stderr_begin();
    log_name_file(name);
    log_only_to(name);
    int kept = dup(STDERR_FILENO); /* so that the next file is not named the same */
    error("here");
    assert_string_equal(unit_stderr_end(), "gputrace: here\n");
    unit_stderr_begin(); /* another file under the same descriptor */
    error("not here");
    const char *text = unit_stderr_end();
    log_only_to(NULL);
    close(kept);
    assert_string_equal(text, "");
}

/* Prints a warning into WHERE, in a process of its own whose files may not grow. */
static int status_after_warning(int where)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(where, STDERR_FILENO);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
        errno = ENOENT;
        bool printed = warning("nobody reads this");
        sigset_t pending;
        sigpending(&pending);
        bool clean = !sigismember(&pending, SIGPIPE) && !sigismember(&pending, SIGXFSZ) && errno == ENOENT;
        _exit(clean ? printed : 9);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

UNIT_TEST(where_nobody_reads_a_line_ends_nobody)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(status_after_warning(ends[1]), 0);
    close(ends[1]);
}

UNIT_TEST(where_a_file_may_not_grow_a_line_ends_nobody)
{
    FILE *file = tmpfile();
    assert_int_equal(status_after_warning(fileno(file)), 0);
    fclose(file);
}

UNIT_MAIN(NULL, NULL)
