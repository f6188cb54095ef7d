
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/main/crash_handler.h"
#include "tests/agent/main/dying.h"
#include "tests/unit.h"

static volatile char *volatile nowhere = (volatile char *)0x18;

static void fault(void)
{
    *nowhere = 1;
}

UNIT_TEST_WITH(a_fault_is_reported_with_its_address_and_ends_the_process, dying_begin, dying_end)
{
    assert_signal(dies(NULL, fault), SIGSEGV);
    const struct spool_crash *crash = crash_recorded();
    assert_non_null(crash);
    assert_int_equal(crash->signal, SIGSEGV);
    assert_int_equal(crash->code, SEGV_MAPERR);
    assert_int_equal(crash->address, 0x18);
    assert_int_equal(crash->thread, dying_child());
    assert_int_equal(crash->sender, 0);
}

UNIT_TEST_WITH(an_abort_is_reported_with_its_sender, dying_begin, dying_end)
{
    assert_signal(dies(NULL, abort), SIGABRT);
    const struct spool_crash *crash = crash_recorded();
    assert_non_null(crash);
    assert_int_equal(crash->signal, SIGABRT);
    assert_int_equal(crash->sender, dying_child());
    assert_int_equal(crash->address, 0);
}

static void send_each(void)
{
    raise(SIGSYS);
}

UNIT_TEST_WITH(a_signal_that_was_sent_ends_it_too, dying_begin, dying_end)
{
    assert_signal(dies(NULL, send_each), SIGSYS);
    assert_int_equal(crash_recorded()->signal, SIGSYS);
}

static void *fault_in_thread(void *unused)
{
    (void)unused;
    fault();
    return NULL;
}

static void fault_on_another_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fault_in_thread, NULL);
    pthread_join(thread, NULL);
}

UNIT_TEST_WITH(the_thread_is_the_one_that_faulted, dying_begin, dying_end)
{
    assert_signal(dies(NULL, fault_on_another_thread), SIGSEGV);
    assert_int_not_equal(crash_recorded()->thread, dying_child());
}

static pthread_barrier_t together;

/* Each at an address of its own: to write one byte from several threads would be a race of this test. */
static void *fault_together(void *number)
{
    pthread_barrier_wait(&together);
    nowhere[64 * (uintptr_t)number] = 1;
    return NULL;
}

static void fault_on_four_threads(void)
{
    pthread_t threads[4];
    pthread_barrier_init(&together, NULL, 4);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, fault_together, (void *)(uintptr_t)i);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

UNIT_TEST_WITH(threads_that_die_together_tell_one_death, dying_begin, dying_end)
{
    assert_signal(dies(NULL, fault_on_four_threads), SIGSEGV);
    assert_non_null(crash_recorded());
}

static void exit_with_5(int number)
{
    (void)number;
    _exit(5);
}

static void handle(void)
{
    signal(SIGSEGV, exit_with_5);
}

UNIT_TEST_WITH(a_handler_that_the_program_has_stays, dying_begin, dying_end)
{
    int status = dies(handle, fault);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 5);
    assert_null(crash_recorded());
}

static void ignore(void)
{
    signal(SIGTRAP, SIG_IGN);
}

static void trap_and_exit(void)
{
    raise(SIGTRAP);
    _exit(6);
}

UNIT_TEST_WITH(what_the_program_ignores_stays_ignored, dying_begin, dying_end)
{
    int status = dies(ignore, trap_and_exit);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 6);
    assert_null(crash_recorded());
}

/* As a library does that took our handler for one without information. */
static struct sigaction ours;

static void pass_on_without_information(int number)
{
    ((void (*)(int))(void (*)(void))ours.sa_sigaction)(number);
}

static void fault_with_a_handler_in_front(void)
{
    sigaction(SIGSEGV, NULL, &ours);
    signal(SIGSEGV, pass_on_without_information);
    fault();
}

UNIT_TEST_WITH(called_with_garbage_it_still_ends_the_process, dying_begin, dying_end)
{
    assert_signal(dies(NULL, fault_with_a_handler_in_front), SIGSEGV);
    assert_int_equal(crash_recorded()->signal, SIGSEGV);
}

static void fork_and_fault(void)
{
    pid_t grandchild = fork();
    if (grandchild == 0) {
        crash_handler_atfork_child();
        fault();
    }
    int status;
    waitpid(grandchild, &status, 0);
    _exit(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

UNIT_TEST_WITH(a_forked_child_dies_likewise_and_tells_nothing, dying_begin, dying_end)
{
    int status = dies(NULL, fork_and_fault);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), SIGSEGV);
    assert_null(crash_recorded());
}

/* vfork's child has this process's memory and another pid. */
static void vfork_and_abort(void)
{
    pid_t grandchild = vfork();
    if (grandchild == 0) {
        syscall(SYS_tgkill, getpid(), getpid(), SIGABRT);
        _exit(0);
    }
    int status;
    waitpid(grandchild, &status, 0);
    _exit(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

UNIT_TEST_WITH(a_child_of_vfork_dies_likewise_and_tells_nothing, dying_begin, dying_end)
{
    int status = dies(NULL, vfork_and_abort);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), SIGABRT);
    assert_null(crash_recorded());
}

static void write_beyond_the_end_of_another_file(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/other", dying_directory());
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    volatile char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unlink(path);
    map[0] = 1;
}

UNIT_TEST_WITH(a_bus_error_that_is_the_programs_ends_it_and_is_reported, dying_begin, dying_end)
{
    assert_signal(dies(NULL, write_beyond_the_end_of_another_file), SIGBUS);
    assert_int_equal(crash_recorded()->signal, SIGBUS);
    assert_int_equal(crash_recorded()->code, BUS_ADRERR);
}

UNIT_MAIN(NULL, NULL)
