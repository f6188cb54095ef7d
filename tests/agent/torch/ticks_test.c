#include "tests/unit.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/torch/operators.h"
#include "common/clock.h"

/* The kernel's clock and the counter are read one after the other. */
#define APART (2 * NS_PER_US)

/* Reads for so long, ns, until the time is worked out; returns whether it was. All times are the clock's. */
static bool read_for(uint64_t ns)
{
    struct ticks ticks = {0};
    bool worked_out = false;
    uint64_t begun = clock_monotonic(), last = 0;
    while (clock_monotonic() - begun < ns) {
        uint64_t before = clock_now(), time = ticks_now(&ticks), after = clock_now();
        assert_true(time + APART >= before);
        assert_true(time <= after + APART);
        assert_true(time >= last);
        last = time;
        worked_out |= ticks.valid != 0;
    }
    return worked_out;
}

/* The kernel's own time comes from the counter. */
static bool kernel_counts(void)
{
    char source[64] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (file && !fgets(source, sizeof(source), file))
        source[0] = '\0';
    if (file)
        fclose(file);
    return strcmp(source, "tsc\n") == 0 || strcmp(source, "kvm-clock\n") == 0 ||
           strcmp(source, "arch_sys_counter\n") == 0;
}

UNIT_TEST(times_are_those_of_the_clock_before_it_can_be_used)
{
    assert_false(read_for(20 * NS_PER_MS));
}

UNIT_TEST(times_are_worked_out_where_the_kernel_uses_the_counter)
{
    ticks_init();
    assert_int_equal(read_for(NS_PER_S), kernel_counts());
}

static void *read_in_thread(void *worked_out)
{
    *(bool *)worked_out = read_for(NS_PER_S / 2);
    return NULL;
}

UNIT_TEST(threads_share_the_rate)
{
    pthread_t threads[4];
    bool worked_out[4];
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_in_thread, &worked_out[i]), 0);
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(worked_out[i], kernel_counts());
    }
}

UNIT_TEST(a_forked_child_goes_on)
{
    pid_t child = fork();
    if (child == 0) {
        operators_atfork_child();
        _exit(read_for(NS_PER_S / 2) == kernel_counts() ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A thread that was interrupted has no time of the counter's for a while; its times go on all the same. */
UNIT_TEST(times_go_on_after_a_pause)
{
    struct ticks ticks = {0};
    uint64_t last = ticks_now(&ticks);
    for (int i = 0; i < 50; i++) {
        usleep(3000);
        uint64_t before = clock_now(), time = ticks_now(&ticks);
        assert_true(time >= last && time + APART >= before);
        last = time;
    }
}

UNIT_MAIN(NULL, NULL)
