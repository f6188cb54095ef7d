/* The line about a long writing, on a terminal of the test's own. */
#include "tests/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include "cli/progress.h"

static int terminal, others, before; /* both ends, and what standard error was */

UNIT_FIXTURE(begin)
{
    terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
        return -1;
    others = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    before = dup(STDERR_FILENO);
    return others < 0 || before < 0 ? -1 : 0;
}

UNIT_FIXTURE(end)
{
    close(terminal);
    close(others);
    return close(before);
}

/* What the terminal has got: its other end hands it over some time after it was written, so a mark is waited for. */
static const char *all_shown(void)
{
    static const char mark = '#';
    static char text[4096];
    size_t length = 0;
    assert_int_equal(write(others, &mark, 1), 1);
    while (length == 0 || text[length - 1] != mark) {
        ssize_t got = read(terminal, text + length, sizeof(text) - 1 - length);
        assert_true(got > 0);
        length += (size_t)got;
    }
    text[length - 1] = '\0';
    return text;
}

/* What the terminal got while something took so many ms: two thirds of them with DONE of TOTAL. */
static const char *shown(int standard_error, long ms, uint64_t done, uint64_t total)
{
    struct progress progress;
    struct timespec third = {.tv_sec = ms / 3 / 1000, .tv_nsec = ms / 3 % 1000 * 1000000};
    dup2(standard_error, STDERR_FILENO);
    progress_begin(&progress, "writing '%s'", "a.json");
    nanosleep(&third, NULL);
    __atomic_store_n(&progress.made.done, done, __ATOMIC_RELAXED);
    __atomic_store_n(&progress.made.total, total, __ATOMIC_RELAXED);
    nanosleep(&third, NULL);
    nanosleep(&third, NULL);
    progress_end(&progress);
    dup2(before, STDERR_FILENO);
    return all_shown();
}

UNIT_TEST(progress_is_shown_after_a_second)
{
    const char *text = shown(others, 1800, 45, 100);
    assert_contains(text, "\r\x1b[Kgputrace: writing 'a.json': 45 %, 1 s");
    assert_string_equal(text + strlen(text) - strlen("\r\x1b[K"), "\r\x1b[K"); /* and nothing stays */
    assert_contains(shown(others, 1800, 0, 0), "gputrace: writing 'a.json', 1 s");
}

UNIT_TEST(short_work_shows_no_progress)
{
    assert_string_equal(shown(others, 60, 45, 100), "");
}

UNIT_TEST(without_a_terminal_nothing_is_shown)
{
    int pipes[2];
    char text[64];
    assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
    assert_string_equal(shown(pipes[1], 1500, 45, 100), "");
    assert_int_equal(read(pipes[0], text, sizeof(text)), -1);
    close(pipes[0]);
    close(pipes[1]);
}

UNIT_MAIN(begin, end)
