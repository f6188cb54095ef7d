/* The line about a long writing, on a terminal of the test's own. */
#include "tests/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
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

/* The time since a writing began, and when the thread that shows it wakes up: the first time when `wakes` says, then
 * when the writing has ended. */
static uint64_t passed;
static bool is_long;
static sem_t wakes, waits;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = (time_t)(1000 + __atomic_load_n(&passed, __ATOMIC_RELAXED))};
    return 0;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock, const struct timespec *until)
{
    if (is_long && until->tv_sec == 1001 && until->tv_nsec == 0) {
        sem_wait(&wakes);
        return ETIMEDOUT;
    }
    sem_post(&waits);
    return pthread_cond_wait(condition, lock);
}

/* What the terminal got of a writing: of one that is long (HOW_LONG) after a second, when DONE of TOTAL is done. */
static const char *shown(int standard_error, bool seen, bool how_long, uint64_t done, uint64_t total)
{
    struct progress progress;
    sem_init(&wakes, 0, 0);
    sem_init(&waits, 0, 0);
    is_long = how_long;
    __atomic_store_n(&passed, 0, __ATOMIC_RELAXED);
    dup2(standard_error, STDERR_FILENO);
    progress_begin(&progress, "writing '%s'", "a.json");
    __atomic_store_n(&progress.made.done, done, __ATOMIC_RELAXED);
    __atomic_store_n(&progress.made.total, total, __ATOMIC_RELAXED);
    __atomic_store_n(&passed, 1, __ATOMIC_RELAXED);
    sem_post(&wakes);
    if (seen)
        sem_wait(&waits);
    progress_end(&progress);
    dup2(before, STDERR_FILENO);
    return all_shown();
}

UNIT_TEST(progress_is_shown_after_a_second)
{
    const char *text = shown(others, true, true, 45, 100);
    assert_contains(text, "\r\x1b[Kgputrace: writing 'a.json': 45 %, 1 s");
    assert_string_equal(text + strlen(text) - strlen("\r\x1b[K"), "\r\x1b[K"); /* and nothing stays */
    assert_contains(shown(others, true, true, 0, 0), "gputrace: writing 'a.json', 1 s");
}

UNIT_TEST(short_work_shows_no_progress)
{
    assert_string_equal(shown(others, true, false, 45, 100), "");
}

UNIT_TEST(without_a_terminal_nothing_is_shown)
{
    int pipes[2];
    char text[64];
    assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
    assert_string_equal(shown(pipes[1], false, true, 45, 100), "");
    assert_int_equal(read(pipes[0], text, sizeof(text)), -1);
    close(pipes[0]);
    close(pipes[1]);
}

UNIT_MAIN(begin, end)
