
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "agent/main/crash_handler.h"
#include "agent/spool/writer.h"
#include "common/settings.h"
#include "tests/agent/main/dying.h"
#include "tests/agent/spool_reading.h"
#include "tests/unit.h"

static char *directory;
static pid_t child;

int dying_begin(void **state)
{
    (void)state;
    directory = new_directory();
    return 0;
}

int dying_end(void **state)
{
    (void)state;
    remove_directory(directory);
    return 0;
}

const char *dying_directory(void)
{
    return directory;
}

pid_t dying_child(void)
{
    return child;
}

static void forget_handlers(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        signal(numbers[i], SIG_DFL); /* cmocka's, and a sanitizer's */
}

int dies(void (*prepare)(void), void (*way)(void))
{
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        forget_handlers();
        if (chunks_open(directory, TRACE_DEFAULT) != 0)
            _exit(9);
        if (prepare)
            prepare();
        crash_handler_install();
        way();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

const struct spool_crash *crash_recorded(void)
{
    struct reading reading = read_spool(directory, child);
    assert_true(count_records(&reading, SPOOL_RECORD_CRASH) <= 1);
    return find_record(&reading, SPOOL_RECORD_CRASH, 0);
}

void assert_signal(int status, int number)
{
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
}
