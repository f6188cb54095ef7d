#include "tests/unit.h"

#include <math.h>

#include "analysis/job/job_clocks.h"
#include "common/buffer.h"

#define SECOND INT64_C(1000000000)
#define EPOCH INT64_C(1790000000000000000)
#define MICROSECOND 1e3
#define MILLISECOND 1e6

enum { HOSTS_MOST = 64, RANKS_MOST = 512, PER_HOST = 8 };

/* A job whose truth is known. */
static struct job {
    uint32_t hosts;
    double seconds;
    double offset[HOSTS_MOST], drift[HOSTS_MOST], bend[HOSTS_MOST]; /* ns, ns for each ns; and ns at half of the time */
    double set[HOSTS_MOST];                                         /* ns by which it is set at half of the time */
    double late[RANKS_MOST];                                        /* ns by which a rank is late each time */
    struct job_clocks clocks;
    uint64_t seed;
} job;

static double uniform(void)
{
    job.seed = job.seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(job.seed >> 11) / 9007199254740992.0;
}

static double between(double from, double to)
{
    return from + (to - from) * uniform();
}

/* What the clock of HOST shows at this true time since the start, ns. */
static int64_t shown(uint32_t host, double time)
{
    double part = time / (job.seconds * 1e9);
    double bent = job.bend[host] * 4 * part * (1 - part) + (part > 0.5 ? job.set[host] : 0);
    return EPOCH + llround(time + job.offset[host] + job.drift[host] * time + bent);
}

static void begin(uint32_t hosts, uint64_t seed)
{
    job = (struct job){.hosts = hosts, .seconds = 60, .seed = seed};
    for (uint32_t host = 0; host < hosts; host++) {
        job.offset[host] = between(-50 * MILLISECOND, 50 * MILLISECOND);
        job.drift[host] = between(-50e-6, 50e-6);
    }
    assert_int_equal(job_clocks_init(&job.clocks, hosts), 0);
}

static void member(uint32_t rank, unsigned roles, double enter, double leave)
{
    uint32_t host = rank / PER_HOST;
    struct job_clock_member part = {
        .host = host, .roles = roles, .enter = shown(host, enter), .leave = shown(host, leave)};
    assert_int_equal(job_clocks_member(&job.clocks, &part), 0);
}

/* From 10 us to 5 ms, small ones more often. */
static double transfer(void)
{
    return 10 * MICROSECOND * exp(between(0, log(500)));
}

/* A collective operation of COUNT ranks from FIRST on, each STEP after the other, from about TIME on. Ranks are late by
 * up to LATE; they do not end at the very same time. Returns when all have left. */
static double collective(const char *name, uint32_t first, uint32_t count, uint32_t step, double time, double late)
{
    double enter[RANKS_MOST], last = 0, takes = transfer();
    for (uint32_t i = 0; i < count; i++) {
        enter[i] = time + between(0, late) + job.late[first + i * step];
        last = fmax(last, enter[i]);
    }
    job_clocks_begin(&job.clocks);
    for (uint32_t i = 0; i < count; i++) {
        double leave = last + takes + between(0, fmin(takes / 10, 10 * MICROSECOND));
        member(first + i * step, job_clock_roles(name, i == 0), enter[i], leave);
    }
    assert_int_equal(job_clocks_end(&job.clocks), 0);
    return last + takes + 10 * MICROSECOND;
}

static void send_receive(uint32_t from, uint32_t to, double time, double late)
{
    double send = time + between(0, late) + job.late[from], receive = time + between(0, late) + job.late[to];
    double takes = transfer();
    job_clocks_begin(&job.clocks);
    member(from, job_clock_roles("send", false), send, send + between(5 * MICROSECOND, takes));
    member(to, job_clock_roles("recv", false), receive, fmax(send, receive) + takes);
    assert_int_equal(job_clocks_end(&job.clocks), 0);
}

/* Steps of 100 ms: gradients of all ranks in buckets, of which the first wait for late ranks. */
static void data_parallel_steps(void)
{
    uint32_t ranks = job.hosts * PER_HOST;
    for (double step = 0; step < job.seconds * 1e9; step += 100 * MILLISECOND) {
        double time = step;
        for (int bucket = 0; bucket < 6; bucket++)
            time = collective("allreduce", 0, ranks, 1, time, bucket == 0 ? 8 * MILLISECOND : 0.3 * MILLISECOND);
    }
}

/* Tensor parallel within a host, data parallel between the hosts of a stage (even and odd hosts apart), a pipeline
 * between neighbouring hosts. */
static void mixed_steps(void)
{
    for (double step = 0; step < job.seconds * 1e9; step += 100 * MILLISECOND) {
        for (uint32_t host = 0; host < job.hosts; host++)
            collective("allgather", host * PER_HOST, PER_HOST, 1, step, MILLISECOND);
        for (uint32_t host = 0; host + 1 < job.hosts; host++) {
            send_receive(host * PER_HOST, (host + 1) * PER_HOST, step + 20 * MILLISECOND, 2 * MILLISECOND);
            send_receive((host + 1) * PER_HOST, host * PER_HOST, step + 40 * MILLISECOND, 2 * MILLISECOND);
        }
        for (uint32_t local = 0; local < 2 * PER_HOST; local++)
            collective("reduce_scatter", local, job.hosts / 2, 2 * PER_HOST, step + 60 * MILLISECOND, 4 * MILLISECOND);
    }
}

/* Whether each clock was found so well, and the truth lies within its uncertainty, during the whole run. */
static void check_found(double most_ns)
{
    assert_int_equal(job_clocks_solve(&job.clocks), 0);
    assert_int_equal(job.clocks.items.items[0].state, JOB_CLOCK_REFERENCE);
    for (uint32_t host = 1; host < job.hosts; host++) {
        const struct job_clock *clock = &job.clocks.items.items[host];
        assert_int_equal(clock->state, JOB_CLOCK_KNOWN);
        assert_int_equal(clock->origin, clock->first);
        assert_true(llabs(clock->origin - shown(host, 0)) < SECOND);
        for (double time = 0; time <= job.seconds * 1e9; time += job.seconds * 1e9 / 16) {
            int64_t shows = shown(host, time);
            double wrong = fabs((double)(job_clock_correct(clock, shows) - shown(0, time)));
            if (wrong > most_ns || wrong > job_clock_uncertainty(clock, shows))
                fail_msg("host %u is wrong by %.1f us at %.1f s, uncertainty %.1f us", host, wrong / MICROSECOND,
                         time * 1e-9, job_clock_uncertainty(clock, shows) / MICROSECOND);
        }
    }
}

static double worst_uncertainty(void)
{
    double worst = 0;
    for (uint32_t host = 1; host < job.hosts; host++)
        worst = fmax(worst, job.clocks.items.items[host].uncertainty_ns);
    return worst;
}

UNIT_TEST(clocks_of_data_parallel_hosts_are_found_to_20_us)
{
    static const uint32_t hosts[] = {2, 8, 64};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        begin(hosts[i], 1 + i);
        data_parallel_steps();
        check_found(20 * MICROSECOND);
        assert_true(worst_uncertainty() < 100 * MICROSECOND);
        job_clocks_release(&job.clocks);
    }
}

UNIT_TEST(clocks_of_hosts_joined_by_parts_of_the_job_are_found_to_20_us)
{
    static const uint32_t hosts[] = {2, 8, 64};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        begin(hosts[i], 11 + i);
        mixed_steps();
        check_found(20 * MICROSECOND);
        job_clocks_release(&job.clocks);
    }
}

UNIT_TEST(a_pipeline_of_sends_and_receives_joins_its_hosts)
{
    begin(8, 21);
    for (double time = 0; time < job.seconds * 1e9; time += 10 * MILLISECOND)
        for (uint32_t host = 0; host + 1 < job.hosts; host++) {
            send_receive(host * PER_HOST, (host + 1) * PER_HOST, time, MILLISECOND);
            send_receive((host + 1) * PER_HOST, host * PER_HOST, time + 5 * MILLISECOND, MILLISECOND);
        }
    check_found(20 * MICROSECOND);
    assert_int_equal(job.clocks.items.items[7].steps, 7);
    assert_int_equal(job.clocks.items.items[7].through, 6);
    job_clocks_release(&job.clocks);
}

/* A host that is always late looks like one whose clock is ahead: only the ends of operations tell. */
UNIT_TEST(a_host_that_is_always_late_is_found_and_its_uncertainty_says_so)
{
    begin(4, 31);
    for (uint32_t local = 0; local < PER_HOST; local++)
        job.late[2 * PER_HOST + local] = 15 * MILLISECOND;
    data_parallel_steps();
    check_found(20 * MICROSECOND);
    assert_true(job.clocks.items.items[2].uncertainty_ns > 10 * MILLISECOND);
    job_clocks_release(&job.clocks);
}

/* A rank that comes last has the other's data and leaves at once; the other one waits for the network. If it is mostly
 * the same rank, most operations end earlier on its host. */
UNIT_TEST(ends_that_are_a_networks_delay_apart_do_not_mislead)
{
    enum { DELAY = 10000000, LATE = 15000000 };
    begin(2, 32);
    for (int i = 0; i < 600; i++) {
        double time = i * 100 * MILLISECOND, a = time + (i % 3 == 0 ? LATE : 0), b = time + (i % 3 == 0 ? 0 : LATE);
        double noise = between(10 * MICROSECOND, 50 * MICROSECOND);
        job_clocks_begin(&job.clocks);
        member(0, JOB_CLOCK_SENDS | JOB_CLOCK_RECEIVES, a, fmax(a, b + DELAY) + noise);
        member(PER_HOST, JOB_CLOCK_SENDS | JOB_CLOCK_RECEIVES, b, fmax(b, a + DELAY) + noise);
        assert_int_equal(job_clocks_end(&job.clocks), 0);
    }
    check_found(100 * MICROSECOND);
    assert_true(worst_uncertainty() >= DELAY && worst_uncertainty() < 3 * DELAY);
    job_clocks_release(&job.clocks);
}

UNIT_TEST(the_order_of_operations_does_not_matter)
{
    struct job_clock clock[2];
    for (int back = 0; back < 2; back++) {
        begin(2, 41);
        job.seconds = 20;
        for (int i = 0; i < 200; i++) {
            int at = back ? 199 - i : i;
            job.seed = (uint64_t)at * 7919 + 3;
            collective("allreduce", 0, 16, 1, at * 100 * MILLISECOND, MILLISECOND);
        }
        check_found(20 * MICROSECOND);
        clock[back] = job.clocks.items.items[1];
        job_clocks_release(&job.clocks);
    }
    assert_int_equal(clock[0].operations, 200);
    assert_true(llabs(job_clock_correct(&clock[0], EPOCH) - job_clock_correct(&clock[1], EPOCH)) <= 1000);
}

/* --- evidence that is missing or wrong --- */

UNIT_TEST(hosts_without_a_common_operation_are_not_shifted)
{
    begin(3, 51);
    for (double time = 0; time < 10e9; time += 100 * MILLISECOND) {
        collective("allreduce", 0, 2 * PER_HOST, 1, time, MILLISECOND);
        collective("allreduce", 2 * PER_HOST, PER_HOST, 1, time, MILLISECOND);
    }
    assert_int_equal(job_clocks_solve(&job.clocks), 0);
    assert_int_equal(job.clocks.items.items[1].state, JOB_CLOCK_KNOWN);
    assert_int_equal(job.clocks.items.items[2].state, JOB_CLOCK_NO_EVIDENCE);
    assert_int_equal(job_clock_correct(&job.clocks.items.items[2], EPOCH), EPOCH);
    job_clocks_release(&job.clocks);
}

UNIT_TEST(operations_that_wait_in_one_direction_only_say_too_little)
{
    begin(2, 52);
    for (double time = 0; time < 10e9; time += 100 * MILLISECOND)
        collective("broadcast", 0, 2 * PER_HOST, 1, time, MILLISECOND);
    assert_int_equal(job_clocks_solve(&job.clocks), 0);
    assert_int_equal(job.clocks.items.items[1].state, JOB_CLOCK_NO_EVIDENCE);
    job_clocks_release(&job.clocks);

    begin(2, 52); /* with the other direction, too, they are enough */
    job.seconds = 10;
    for (double time = 0; time < 10e9; time += 10 * MILLISECOND) {
        collective("broadcast", 0, 2 * PER_HOST, 1, time, 0.1 * MILLISECOND);
        collective("reduce", 0, 2 * PER_HOST, 1, time + 5 * MILLISECOND, 0.1 * MILLISECOND);
    }
    assert_int_equal(job_clocks_solve(&job.clocks), 0);
    assert_int_equal(job.clocks.items.items[1].state, JOB_CLOCK_KNOWN);
    job_clocks_release(&job.clocks);
}

/* One operation in 200 is matched with another one: the rank of the second host entered a step later. */
UNIT_TEST(operations_that_were_matched_wrongly_are_left_out_and_counted)
{
    begin(2, 61);
    for (int i = 0; i < 6000; i++) {
        double time = i * 10 * MILLISECOND;
        if (i % 1000 != 500) {
            collective("allreduce", 0, 2 * PER_HOST, 1, time, MILLISECOND);
            continue;
        }
        job_clocks_begin(&job.clocks);
        member(0, JOB_CLOCK_SENDS | JOB_CLOCK_RECEIVES, time, time + MILLISECOND);
        member(PER_HOST, JOB_CLOCK_SENDS | JOB_CLOCK_RECEIVES, time + 100 * MILLISECOND, time + 101 * MILLISECOND);
        assert_int_equal(job_clocks_end(&job.clocks), 0);
    }
    check_found(20 * MICROSECOND);
    assert_in_range(job.clocks.items.items[1].outliers, 1, 6);
    assert_true(worst_uncertainty() < 200 * MICROSECOND);
    job_clocks_release(&job.clocks);
}

UNIT_TEST(hosts_whose_operations_contradict_each_other_are_not_shifted)
{
    begin(2, 62);
    for (int i = 0; i < 600; i++) {
        double time = i * 100 * MILLISECOND, shift = between(-40 * MILLISECOND, 40 * MILLISECOND);
        job_clocks_begin(&job.clocks);
        member(0, JOB_CLOCK_SENDS | JOB_CLOCK_RECEIVES, time, time + MILLISECOND);
        member(PER_HOST, JOB_CLOCK_SENDS | JOB_CLOCK_RECEIVES, time + shift, time + shift + MILLISECOND);
        assert_int_equal(job_clocks_end(&job.clocks), 0);
    }
    assert_int_equal(job_clocks_solve(&job.clocks), 0);
    assert_int_equal(job.clocks.items.items[1].state, JOB_CLOCK_CONTRADICTING);
    assert_int_equal(job_clock_correct(&job.clocks.items.items[1], EPOCH), EPOCH);
    assert_true(job.clocks.items.items[1].outliers > 0);
    job_clocks_release(&job.clocks);
}

/* A clock that a daemon slews during the run: no straight line is right, and the uncertainty covers it. */
UNIT_TEST(the_uncertainty_covers_a_clock_that_does_not_drift_evenly)
{
    static const double bends[] = {30 * MICROSECOND, -50 * MICROSECOND, -100 * MICROSECOND, 400 * MICROSECOND};
    for (size_t i = 0; i < sizeof(bends) / sizeof(*bends); i++) {
        begin(2, 63);
        job.bend[1] = bends[i];
        data_parallel_steps();
        check_found(fabs(bends[i]));
        assert_true(worst_uncertainty() < 3 * fabs(bends[i]));
        job_clocks_release(&job.clocks);
    }
}

UNIT_TEST(a_clock_that_was_set_during_the_run_is_uncertain_or_not_shifted)
{
    static const struct {
        double ns;
        enum job_clock_state state;
    } cases[] = {{50 * MICROSECOND, JOB_CLOCK_KNOWN},
                 {-500 * MICROSECOND, JOB_CLOCK_KNOWN},
                 {10 * MILLISECOND, JOB_CLOCK_CONTRADICTING},
                 {-1e9, JOB_CLOCK_CONTRADICTING}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        begin(2, 66 + i);
        job.set[1] = cases[i].ns;
        data_parallel_steps();
        if (cases[i].state == JOB_CLOCK_KNOWN)
            check_found(fabs(cases[i].ns));
        else
            assert_int_equal(job_clocks_solve(&job.clocks), 0);
        assert_int_equal(job.clocks.items.items[1].state, cases[i].state);
        job_clocks_release(&job.clocks);
    }
}

UNIT_TEST(one_operation_is_known_at_its_time_and_less_so_away_from_it)
{
    begin(2, 64);
    job.seconds = 0.001;
    collective("allreduce", 0, 2 * PER_HOST, 1, 0, 50 * MICROSECOND);
    assert_int_equal(job_clocks_solve(&job.clocks), 0);
    const struct job_clock *clock = &job.clocks.items.items[1];
    assert_int_equal(clock->state, JOB_CLOCK_KNOWN);
    double minute = job_clock_uncertainty(clock, clock->last + 60 * SECOND);
    assert_true(minute > 30 * MILLISECOND && minute < 200 * MILLISECOND);
    for (double time = 0; time < 60e9; time += 10e9) {
        int64_t shows = EPOCH + llround(time + job.offset[1] + job.drift[1] * time);
        double truth = (double)EPOCH + time + job.offset[0] + job.drift[0] * time;
        assert_true(fabs((double)job_clock_correct(clock, shows) - truth) <=
                    job_clock_uncertainty(clock, shows) + 1000);
    }
    job_clocks_release(&job.clocks);
}

UNIT_TEST(parts_that_say_nothing_are_ignored)
{
    begin(2, 65);
    job_clocks_begin(&job.clocks);
    member(0, 0, 0, 10);
    member(PER_HOST, JOB_CLOCK_SENDS, 10, 5);
    member(7 * PER_HOST, JOB_CLOCK_SENDS, 0, 5); /* a host that there is not */
    assert_int_equal(job_clocks_end(&job.clocks), 0);
    assert_int_equal(job.clocks.operations, 0);
    assert_int_equal(job_clocks_solve(&job.clocks), 0);
    assert_int_equal(job.clocks.items.items[1].state, JOB_CLOCK_NO_EVIDENCE);
    job_clocks_release(&job.clocks);
}

/* --- sizes --- */

UNIT_TEST(memory_is_bounded_where_every_host_talks_to_every_other)
{
    enum { HOSTS = 600 };
    struct job_clocks *clocks = &job.clocks;
    assert_int_equal(job_clocks_init(clocks, HOSTS), 0);
    for (int64_t round = 0; round < 6; round++)
        for (uint32_t a = 0; a < HOSTS; a++)
            for (uint32_t b = a + 1; b < HOSTS; b++) {
                int64_t time = EPOCH + 10 * SECOND * round + a * 1000 + b;
                job_clocks_begin(clocks);
                for (uint32_t i = 0; i < 2; i++) {
                    struct job_clock_member part = {
                        .host = i ? b : a, .roles = 3, .enter = time, .leave = time + 10000};
                    assert_int_equal(job_clocks_member(clocks, &part), 0);
                }
                assert_int_equal(job_clocks_end(clocks), 0);
            }
    size_t bytes = 0;
    for (size_t i = 0; i < clocks->pairs.count; i++)
        bytes += clocks->pairs.items[i].buckets.capacity * sizeof(struct clock_bucket) + sizeof(struct clock_pair);
    assert_true(bytes < 2 * JOB_CLOCK_BYTES);
    assert_true(clocks->left_out > 0);
    assert_int_equal(job_clocks_solve(clocks), 0);
    for (uint32_t host = 1; host < HOSTS; host++) {
        const struct job_clock *clock = &clocks->items.items[host];
        assert_int_equal(clock->state, JOB_CLOCK_KNOWN);
        assert_true(llabs(job_clock_correct(clock, EPOCH + 30 * SECOND) - EPOCH - 30 * SECOND) < 10000);
    }
    job_clocks_release(clocks);
}

UNIT_TEST(a_job_of_one_host_has_nothing_to_find)
{
    begin(1, 71);
    data_parallel_steps();
    assert_int_equal(job.clocks.operations, 0);
    assert_int_equal(job_clocks_solve(&job.clocks), 0);
    assert_int_equal(job.clocks.items.items[0].state, JOB_CLOCK_REFERENCE);
    assert_int_equal(job_clock_correct(&job.clocks.items.items[0], EPOCH), EPOCH);
    job_clocks_release(&job.clocks);
}

/* --- words --- */

UNIT_TEST(who_waits_for_whom_is_known_by_the_name)
{
    enum { BOTH = JOB_CLOCK_SENDS | JOB_CLOCK_RECEIVES };
    static const struct {
        const char *name;
        unsigned root, others;
    } cases[] = {
        {"allreduce", BOTH, BOTH},
        {"_allgather_base", BOTH, BOTH},
        {"_reduce_scatter_base", BOTH, BOTH},
        {"allreduce_coalesced", BOTH, BOTH},
        {"all_to_all", BOTH, BOTH},
        {"ncclAllReduce", BOTH, BOTH},
        {"ncclReduceScatter", BOTH, BOTH},
        {"MPI_Barrier", BOTH, BOTH},
        {"MPI_Bcast", JOB_CLOCK_SENDS, JOB_CLOCK_RECEIVES},
        {"broadcast", JOB_CLOCK_SENDS, JOB_CLOCK_RECEIVES},
        {"_reduce_oop", JOB_CLOCK_RECEIVES, JOB_CLOCK_SENDS},
        {"gather", JOB_CLOCK_RECEIVES, JOB_CLOCK_SENDS},
        {"scatter", JOB_CLOCK_SENDS, JOB_CLOCK_RECEIVES},
        {"ncclSend", JOB_CLOCK_SENDS, JOB_CLOCK_SENDS},
        {"recv", JOB_CLOCK_RECEIVES, JOB_CLOCK_RECEIVES},
        {"MPI_Isend", JOB_CLOCK_SENDS, JOB_CLOCK_SENDS},
        {"MPI_Irecv", 0, 0},
        {"MPI_Iallreduce", 0, 0},
        {"all_to_allv", 0, 0},
        {"MPI_Allgatherv", 0, 0},
        {"sendrecv", 0, 0},
        {"", 0, 0},
        {"something", 0, 0},
        {"a_name_of_very_many_letters_that_is_of_no_operation_at_all", 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_int_equal(job_clock_roles(cases[i].name, true), cases[i].root);
        assert_int_equal(job_clock_roles(cases[i].name, false), cases[i].others);
    }
}

static void check_text(struct job_clock clock, const char *expected)
{
    struct buffer text;
    buffer_init_memory(&text);
    job_clock_describe(&text, &clock, "node7", "node0");
    buffer_char(&text, '\0');
    assert_string_equal(text.data, expected);
    buffer_release(&text);
}

UNIT_TEST(what_was_done_to_a_clock_is_said)
{
    check_text((struct job_clock){.state = JOB_CLOCK_REFERENCE},
               "clock of node7: the times of all hosts are given by it");
    check_text((struct job_clock){.state = JOB_CLOCK_NO_EVIDENCE},
               "clock of node7: not corrected, because no operation joins it to node0");
    check_text((struct job_clock){.state = JOB_CLOCK_CONTRADICTING, .bounds = 200, .outliers = 90},
               "clock of node7: not corrected, because the operations with other hosts contradict each other (90 of "
               "200 bounds)");
    check_text((struct job_clock){.state = JOB_CLOCK_KNOWN,
                                  .offset_ns = 12345678,
                                  .drift_ppm = 3.25,
                                  .uncertainty_ns = 14200,
                                  .steps = 1,
                                  .operations = 5123},
               "clock of node7: 12.346 ms ahead of that of node0, drift +3.250 ppm; corrected, ± 14.2 us (5,123 "
               "operations)");
    check_text((struct job_clock){.state = JOB_CLOCK_KNOWN,
                                  .offset_ns = -2500000000,
                                  .drift_ppm = -0.5,
                                  .uncertainty_ns = 900,
                                  .steps = 3,
                                  .operations = 1,
                                  .bounds = 512,
                                  .outliers = 4},
               "clock of node7: 2.500 s behind that of node0, drift -0.500 ppm; corrected, ± 0.9 us (1 operation, "
               "joined through 2 hosts, 4 of 512 bounds contradict and were left out)");
}

static void check_system(int64_t synchronised, int64_t error_us, const char *expected)
{
    struct buffer text;
    buffer_init_memory(&text);
    job_clock_describe_system(&text, synchronised, error_us);
    buffer_char(&text, '\0');
    assert_string_equal(text.data, expected);
    buffer_release(&text);
}

UNIT_TEST(what_the_system_says_of_a_clock_is_said)
{
    check_system(1, 2100, "its system says that it is synchronised, wrong by at most 2.100 ms");
    check_system(0, 16000000, "its system says that it is not synchronised");
    check_system(1, INT64_MIN, "its system says that it is synchronised");
    check_system(INT64_MIN, INT64_MIN, "");
}

UNIT_MAIN(NULL, NULL)
