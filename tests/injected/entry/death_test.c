#include "injected/entry/death.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "injected/record/chunks.h"
#include "injected/record/last_words.h"
#include "injected/record/spool_file.h"
#include "tests/injected/spool_reading.h"
#include "tests/unit.h"
#include "wire/settings.h"

/* A child that is watched, and dies by WAY; gives how. Its spool stays in `directory`. */
static char *directory;
static pid_t child;

static int begin(void **state)
{
    (void)state;
    directory = new_directory();
    return 0;
}

static int end(void **state)
{
    (void)state;
    remove_directory(directory);
    return 0;
}

static void forget_handlers(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        signal(numbers[i], SIG_DFL); /* cmocka's, and a sanitizer's */
}

static int dies(void (*prepare)(void), void (*way)(void))
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
        death_watch();
        way();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static const struct spool_death *death_told(void)
{
    struct reading reading = read_spool(directory, child);
    assert_true(count_records(&reading, SPOOL_RECORD_DEATH) <= 1);
    return find_record(&reading, SPOOL_RECORD_DEATH, 0);
}

static void assert_signal(int status, int number)
{
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
}

static volatile char *volatile nowhere = (volatile char *)0x18;

static void fault(void)
{
    *nowhere = 1;
}

static void a_fault_is_told_with_its_address_and_ends_the_process(void **state)
{
    (void)state;
    assert_signal(dies(NULL, fault), SIGSEGV);
    const struct spool_death *death = death_told();
    assert_non_null(death);
    assert_int_equal(death->signal, SIGSEGV);
    assert_int_equal(death->code, SEGV_MAPERR);
    assert_int_equal(death->address, 0x18);
    assert_int_equal(death->thread, child);
    assert_int_equal(death->sender, 0);
}

static void an_abort_is_told_with_its_sender(void **state)
{
    (void)state;
    assert_signal(dies(NULL, abort), SIGABRT);
    const struct spool_death *death = death_told();
    assert_non_null(death);
    assert_int_equal(death->signal, SIGABRT);
    assert_int_equal(death->sender, child);
    assert_int_equal(death->address, 0);
}

static void send_each(void)
{
    raise(SIGSYS);
}

static void a_signal_that_was_sent_ends_it_too(void **state)
{
    (void)state;
    assert_signal(dies(NULL, send_each), SIGSYS);
    assert_int_equal(death_told()->signal, SIGSYS);
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

static void the_thread_is_the_one_that_faulted(void **state)
{
    (void)state;
    assert_signal(dies(NULL, fault_on_another_thread), SIGSEGV);
    assert_int_not_equal(death_told()->thread, child);
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

static void threads_that_die_together_tell_one_death(void **state)
{
    (void)state;
    assert_signal(dies(NULL, fault_on_four_threads), SIGSEGV);
    assert_non_null(death_told());
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

static void a_handler_that_the_program_has_stays(void **state)
{
    (void)state;
    int status = dies(handle, fault);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 5);
    assert_null(death_told());
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

static void what_the_program_ignores_stays_ignored(void **state)
{
    (void)state;
    int status = dies(ignore, trap_and_exit);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 6);
    assert_null(death_told());
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

static void called_with_garbage_it_still_ends_the_process(void **state)
{
    (void)state;
    assert_signal(dies(NULL, fault_with_a_handler_in_front), SIGSEGV);
    assert_int_equal(death_told()->signal, SIGSEGV);
}

static void fork_and_fault(void)
{
    pid_t grandchild = fork();
    if (grandchild == 0) {
        death_leave();
        fault();
    }
    int status;
    waitpid(grandchild, &status, 0);
    _exit(WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void a_forked_child_dies_likewise_and_tells_nothing(void **state)
{
    (void)state;
    int status = dies(NULL, fork_and_fault);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), SIGSEGV);
    assert_null(death_told());
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

static void a_child_of_vfork_dies_likewise_and_tells_nothing(void **state)
{
    (void)state;
    int status = dies(NULL, vfork_and_abort);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), SIGABRT);
    assert_null(death_told());
}

static void shorten_spool(off_t size)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%d-0.spool", directory, getpid());
    if (truncate(path, size) != 0)
        _exit(10);
}

/* So that nobody makes the file longer again. */
static void let_nothing_grow(void)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, RLIM_INFINITY});
    usleep(50000); /* what is growing now */
}

static void write_beyond_the_end_of_the_spool(void)
{
    struct spool_chunk *chunk = chunk_take(SPOOL_CUPTI);
    volatile char *data = chunk_data(chunk);
    uint64_t room = chunk_room(chunk);
    shorten_spool(SPOOL_HEADER_BYTES);
    for (uint64_t i = 0; i < room; i++)
        data[i] = 2;
    bool there = data[0] == 2 && data[room - 1] == 2;
    _exit(there && spool_file_header()->losses.no_room >= 1 ? 6 : 7);
}

static void a_spool_that_was_made_shorter_ends_nothing_and_is_counted(void **state)
{
    (void)state;
    assert_int_equal(dies(let_nothing_grow, write_beyond_the_end_of_the_spool),
                     6 << 8); /* the status of an exit with 6 */
}

static void write_into_the_header_that_is_gone(void)
{
    shorten_spool(0);
    spool_file_header()->clock_count = 5;
    _exit(spool_file_header()->clock_count == 5 ? 6 : 7);
}

static void nor_does_a_header_that_is_gone(void **state)
{
    (void)state;
    assert_int_equal(dies(NULL, write_into_the_header_that_is_gone), 6 << 8); /* the status of an exit with 6 */
}

static void lose_the_header(void)
{
    shorten_spool(0);
    spool_file_header()->clock_count = 5;
}

static void lose_the_header_and_that_of_a_forked_child(void)
{
    lose_the_header();
    pid_t grandchild = fork();
    if (grandchild == 0) {
        death_leave();
        chunks_leave();
        if (chunks_open(directory, TRACE_DEFAULT) != 0)
            _exit(9);
        death_watch_spool();
        lose_the_header();
        lose_the_header();
        _exit(6);
    }
    int status;
    waitpid(grandchild, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 8);
}

static void each_process_says_once_that_a_part_of_its_spool_is_gone(void **state)
{
    (void)state;
    static const char words[] = "a part of the spool cannot be written any more";
    unit_stderr_begin();
    int status = dies(NULL, lose_the_header_and_that_of_a_forked_child);
    const char *first = strstr(unit_stderr_end(), words);
    const char *second = first ? strstr(first + 1, words) : NULL;
    assert_int_equal(status, 6 << 8); /* the status of an exit with 6 */
    assert_non_null(second);
    assert_null(strstr(second + 1, words));
}

static void write_beyond_the_end_of_another_file(void)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/other", directory);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    volatile char *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unlink(path);
    map[0] = 1;
}

static void a_bus_error_that_is_the_programs_ends_it_and_is_told(void **state)
{
    (void)state;
    assert_signal(dies(NULL, write_beyond_the_end_of_another_file), SIGBUS);
    assert_int_equal(death_told()->signal, SIGBUS);
    assert_int_equal(death_told()->code, BUS_ADRERR);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_fault_is_told_with_its_address_and_ends_the_process),
        TEST(an_abort_is_told_with_its_sender),
        TEST(a_signal_that_was_sent_ends_it_too),
        TEST(the_thread_is_the_one_that_faulted),
        TEST(threads_that_die_together_tell_one_death),
        TEST(a_handler_that_the_program_has_stays),
        TEST(what_the_program_ignores_stays_ignored),
        TEST(called_with_garbage_it_still_ends_the_process),
        TEST(a_forked_child_dies_likewise_and_tells_nothing),
        TEST(a_child_of_vfork_dies_likewise_and_tells_nothing),
        TEST(a_spool_that_was_made_shorter_ends_nothing_and_is_counted),
        TEST(nor_does_a_header_that_is_gone),
        TEST(each_process_says_once_that_a_part_of_its_spool_is_gone),
        TEST(a_bus_error_that_is_the_programs_ends_it_and_is_told),
    };
    return cmocka_run_group_tests_name("entry/death", tests, NULL, NULL);
}
