#include "agent/dispatch/registry.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "tests/unit.h"

enum { PLUGIN = REGISTRY_FIRST_PLUGIN, OTHER_PLUGIN };

static char heard[256];

static void hear(void *letter, const struct gputrace_event_record *record)
{
    (void)record;
    size_t length = strlen(heard);
    heard[length] = *(const char *)letter;
    heard[length + 1] = '\0';
}

static void publish(void)
{
    registry_event_record_publish(&(struct gputrace_event_record){.flags = 7});
}

static uint64_t add(unsigned client, gputrace_event_record_fn *call, void *data)
{
    return registry_add(client, REGISTRY_event_record, (gputrace_any_fn *)call, data);
}

UNIT_FIXTURE(start)
{
    heard[0] = '\0';
    return 0;
}

UNIT_FIXTURE(clear)
{
    registry_watch(NULL);
    for (unsigned client = REGISTRY_LIBRARY; client < EPOCH_CLIENTS; client++)
        registry_clear(client, REGISTRY_KIND_COUNT);
    return 0;
}

/* --- the shortcut of NVTX: first, as the other tests have clients --- */

static void publish_briefly(enum spool_nvtx_what what, uint32_t domain, uint32_t string, struct gputrace_text message)
{
    (void)what, (void)domain, (void)string, (void)message;
}

/* In a child: once closed it stays so. */
UNIT_TEST_WITH(the_shortcut_is_open_until_a_client_registers, start, clear)
{
    pid_t child = fork();
    if (child == 0) {
        bool right = true;
        registry_atfork_child();
        right &= registry_shortcut() == NULL;
        registry_open_shortcut(publish_briefly);
        right &= registry_event_record_register(hear, "b") == 0 && registry_shortcut() == publish_briefly;
        uint64_t registration = add(PLUGIN, hear, "c");
        right &= registry_shortcut() == NULL;
        right &= registry_remove(PLUGIN, registration) == 0;
        registry_open_shortcut(publish_briefly); /* one of its callbacks may be running */
        right &= registry_shortcut() == NULL;
        _exit(right ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

/* --- the library's only callbacks --- */

static unsigned direct_heard;

static void count_direct(void *data, const struct gputrace_event_record *record)
{
    (void)data, (void)record;
    direct_heard++;
}

static bool is_direct(enum registry_kind kind)
{
    return registry_only[kind] != NULL;
}

static unsigned count_one(void)
{
    unsigned before = direct_heard;
    publish();
    return direct_heard - before;
}

/* Returns whether all is right. */
static bool use_the_only_callback(void)
{
    bool right = add(REGISTRY_LIBRARY, count_direct, NULL) && is_direct(REGISTRY_event_record) && count_one() == 1;
    right &= !is_direct(REGISTRY_event_wait);
    epoch_reader()->in_client = true;
    right &= count_one() == 0;
    epoch_reader()->in_client = false;
    uint64_t second = add(REGISTRY_LIBRARY, count_direct, NULL);
    right &= !is_direct(REGISTRY_event_record) && count_one() == 2;
    right &= registry_remove(REGISTRY_LIBRARY, second) == 0 && is_direct(REGISTRY_event_record) && count_one() == 1;
    uint64_t client = registry_add(PLUGIN, REGISTRY_event_wait, (gputrace_any_fn *)(void (*)(void))hear, "c");
    right &= !is_direct(REGISTRY_event_record) && count_one() == 1;
    right &= registry_remove(PLUGIN, client) == 0 && !is_direct(REGISTRY_event_record) && count_one() == 1;
    second = add(REGISTRY_LIBRARY, count_direct, NULL);
    return right && registry_remove(REGISTRY_LIBRARY, second) == 0 && !is_direct(REGISTRY_event_record);
}

/* In a child: once a client has registered there are none. */
UNIT_TEST_WITH(an_only_callback_is_called_without_a_dispatch_until_a_client_registers, start, clear)
{
    pid_t child = fork();
    if (child == 0) {
        registry_atfork_child();
        _exit(use_the_only_callback() ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

UNIT_TEST_WITH(what_needs_data_is_dispatched, start, clear)
{
    assert_true(add(REGISTRY_LIBRARY, hear, "a"));
    assert_false(is_direct(REGISTRY_event_record));
    publish();
    assert_string_equal(heard, "a");
}

/* --- callbacks --- */

UNIT_TEST_WITH(nobody_is_reported_while_nobody_asked, start, clear)
{
    assert_false(registry_event_record_wanted());
    publish();
    assert_string_equal(heard, "");
}

UNIT_TEST_WITH(callbacks_run_in_the_order_they_came, start, clear)
{
    assert_true(add(PLUGIN, hear, "a"));
    assert_int_equal(registry_event_record_register(hear, "b"), 0);
    assert_true(add(PLUGIN, hear, "a")); /* the same twice is two */
    publish();
    assert_string_equal(heard, "aba");
    assert_true(registry_event_record_wanted());
    assert_false(registry_event_wait_wanted());
}

UNIT_TEST_WITH(one_of_two_that_are_the_same_is_removed, start, clear)
{
    uint64_t first = add(PLUGIN, hear, "a");
    add(PLUGIN, hear, "b");
    uint64_t third = add(PLUGIN, hear, "a");
    assert_true(first != third);
    assert_int_equal(registry_remove(PLUGIN, first), 0);
    publish();
    assert_string_equal(heard, "ba");
    assert_int_equal(registry_remove(PLUGIN, first), -1);
    assert_int_equal(registry_remove(PLUGIN, 0), -1);
    assert_int_equal(registry_remove(OTHER_PLUGIN, third), -1);
    assert_int_equal(registry_remove(PLUGIN, third), 0);
}

UNIT_TEST_WITH(clearing_takes_a_clients_own_and_nobody_elses, start, clear)
{
    add(PLUGIN, hear, "a");
    add(OTHER_PLUGIN, hear, "b");
    registry_event_record_register(hear, "c");
    add(PLUGIN, hear, "d");
    registry_clear(PLUGIN, REGISTRY_event_wait);
    publish();
    registry_clear(PLUGIN, REGISTRY_event_record);
    publish();
    registry_clear(OTHER_PLUGIN, REGISTRY_KIND_COUNT);
    publish();
    assert_string_equal(heard, "abcd"
                               "bc"
                               "c");
}

UNIT_TEST_WITH(what_cannot_be_registered_is_reported, start, clear)
{
    assert_int_equal(registry_add(PLUGIN, REGISTRY_KIND_COUNT, (gputrace_any_fn *)hear, NULL), 0);
    assert_int_equal(registry_add(PLUGIN, REGISTRY_event_record, NULL, NULL), 0);
    registry_clear(PLUGIN, REGISTRY_KIND_COUNT + 1);
}

/* --- from inside callbacks --- */

static uint64_t to_be_removed;

static void remove_another(void *letter, const struct gputrace_event_record *record)
{
    hear(letter, record);
    registry_remove(PLUGIN, to_be_removed);
}

static void add_another(void *letter, const struct gputrace_event_record *record)
{
    hear(letter, record);
    add(PLUGIN, hear, "+");
}

UNIT_TEST_WITH(a_callback_may_remove_itself_and_others, start, clear)
{
    uint64_t self = add(PLUGIN, remove_another, "a");
    to_be_removed = add(PLUGIN, hear, "b");
    add(PLUGIN, hear, "c");
    publish(); /* b is not called even this time: its data may be gone */
    to_be_removed = self;
    publish();
    publish();
    assert_string_equal(heard, "ac"
                               "ac"
                               "c");
}

UNIT_TEST_WITH(what_a_callback_adds_is_called_from_the_next_time_on, start, clear)
{
    add(PLUGIN, add_another, "a");
    publish();
    publish();
    assert_string_equal(heard, "a"
                               "a+");
}

static void publish_within(void *letter, const struct gputrace_event_record *record)
{
    hear(letter, record);
    publish();
}

UNIT_TEST_WITH(what_a_client_does_in_a_callback_is_reported_to_nobody, start, clear)
{
    registry_event_record_register(hear, "r"); /* the recorder, say */
    add(PLUGIN, publish_within, "p");
    publish();
    assert_string_equal(heard, "rp");
}

static struct gputrace_plugin_window window;
static unsigned windows;

static void see_window(void *data, const struct gputrace_plugin_window *what)
{
    (void)data;
    window = *what;
    windows++;
}

static void take_a_millisecond(void *data, const struct gputrace_event_record *record)
{
    (void)data, (void)record;
    usleep(1000);
}

UNIT_TEST_WITH(the_time_in_a_clients_callbacks_is_kept, start, clear)
{
    uint64_t calls, ns, more;
    windows = 0;
    registry_plugin_window_register(see_window, NULL);
    registry_event_record_register(take_a_millisecond, NULL); /* the library's own time is not a plugin's */
    publish();
    assert_int_equal(windows, 0);
    add(PLUGIN, take_a_millisecond, NULL);
    epoch_client_time(PLUGIN, &calls, &ns);
    uint64_t calls_before = calls, before = clock_now();
    publish();
    epoch_client_time(PLUGIN, &calls, &more);
    assert_int_equal(calls, calls_before + 1);
    assert_in_range(more - ns, 1000000, clock_now() - before - 1000000);
    assert_int_equal(windows, 1);
    assert_in_range(window.start, before + 1000000, window.end - 1000000);
    assert_in_range(window.end, window.start, clock_now());
}

/* --- what is wanted --- */

static uint64_t wanted;
static unsigned changes;

static void see_wanted(uint64_t now)
{
    wanted = now;
    changes++;
}

UNIT_TEST_WITH(a_kind_is_wanted_from_the_first_registration_to_the_last, start, clear)
{
    registry_watch(see_wanted);
    assert_true(wanted == 0);
    uint64_t first = add(PLUGIN, hear, "a");
    assert_true(wanted == REGISTRY_BIT(event_record));
    registry_memset_register(NULL, NULL);
    assert_true(wanted == REGISTRY_BIT(event_record));
    registry_add(PLUGIN, REGISTRY_memset, (gputrace_any_fn *)hear, NULL);
    assert_true(wanted == (REGISTRY_BIT(event_record) | REGISTRY_BIT(memset)));
    uint64_t second = add(OTHER_PLUGIN, hear, "b");
    registry_remove(PLUGIN, first);
    assert_true(wanted & REGISTRY_BIT(event_record));
    registry_remove(OTHER_PLUGIN, second);
    assert_true(wanted == REGISTRY_BIT(memset));
    unsigned before = changes;
    registry_remove(OTHER_PLUGIN, second);
    assert_int_equal(changes, before);
}

/* --- threads --- */

enum { PUBLISHERS = 4, CHANGERS = 2, ROUNDS = 20000, CHANGES = 2000 };

static uint64_t counted;
static bool stop;

static void count(void *data, const struct gputrace_event_record *record)
{
    uint64_t *alive = data;
    if (alive)
        assert_int_equal(__atomic_load_n(alive, __ATOMIC_RELAXED), 42);
    __atomic_add_fetch(&counted, record->flags == 7, __ATOMIC_RELAXED);
}

static void *publish_many(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < ROUNDS; i++)
        publish();
    return NULL;
}

static void *publish_until_stopped(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        publish();
    return NULL;
}

/* Its data lives exactly as long as the callback may be running. */
static void *add_and_remove(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < CHANGES; i++) {
        uint64_t *alive = malloc(sizeof(*alive));
        *alive = 42;
        uint64_t registration = add(PLUGIN, count, alive);
        assert_true(registration);
        assert_int_equal(registry_remove(PLUGIN, registration), 0);
        registry_synchronize();
        *alive = 0;
        free(alive);
    }
    return NULL;
}

UNIT_TEST_WITH(registering_and_removing_while_others_publish_is_safe, start, clear)
{
    pthread_t publishers[PUBLISHERS], changers[CHANGERS];
    counted = 0;
    add(PLUGIN, count, NULL);
    for (unsigned i = 0; i < PUBLISHERS; i++)
        pthread_create(&publishers[i], NULL, publish_many, NULL);
    for (unsigned i = 0; i < CHANGERS; i++)
        pthread_create(&changers[i], NULL, add_and_remove, NULL);
    for (unsigned i = 0; i < PUBLISHERS; i++)
        pthread_join(publishers[i], NULL);
    for (unsigned i = 0; i < CHANGERS; i++)
        pthread_join(changers[i], NULL);
    assert_true(counted >= PUBLISHERS * ROUNDS); /* the lasting one missed nothing */
    counted = 0;
    publish();
    assert_int_equal(counted, 1);
}

UNIT_TEST_WITH(what_was_removed_is_freed, start, clear)
{
    pthread_t publisher;
    __atomic_store_n(&stop, false, __ATOMIC_RELAXED);
    pthread_create(&publisher, NULL, publish_until_stopped, NULL);
    struct mallinfo2 before = mallinfo2();
    for (unsigned i = 0; i < 20000; i++)
        registry_remove(PLUGIN, add(PLUGIN, count, NULL));
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(publisher, NULL);
    registry_remove(PLUGIN, add(PLUGIN, count, NULL));
    struct mallinfo2 after = mallinfo2();
    assert_true(after.uordblks < before.uordblks + 100000); /* 20,000 of them would be millions */
}

static pthread_barrier_t inside, go_on;

static void wait_inside(void *data, const struct gputrace_event_record *record)
{
    (void)data, (void)record;
    pthread_barrier_wait(&inside);
    pthread_barrier_wait(&go_on);
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
}

static void *publish_one(void *unused)
{
    (void)unused;
    publish();
    return NULL;
}

static void *let_go_on(void *unused)
{
    (void)unused;
    usleep(2000);
    pthread_barrier_wait(&go_on);
    return NULL;
}

UNIT_TEST_WITH(synchronizing_waits_for_callbacks_of_other_threads, start, clear)
{
    pthread_t publisher, helper;
    pthread_barrier_init(&inside, NULL, 2);
    pthread_barrier_init(&go_on, NULL, 2);
    __atomic_store_n(&stop, false, __ATOMIC_RELAXED);
    uint64_t registration = add(PLUGIN, wait_inside, NULL);
    pthread_create(&publisher, NULL, publish_one, NULL);
    pthread_barrier_wait(&inside);
    registry_remove(PLUGIN, registration);
    assert_false(__atomic_load_n(&stop, __ATOMIC_ACQUIRE));
    pthread_create(&helper, NULL, let_go_on, NULL);
    registry_synchronize();
    assert_true(__atomic_load_n(&stop, __ATOMIC_ACQUIRE));
    pthread_join(publisher, NULL);
    pthread_join(helper, NULL);
}

/* --- fork --- */

UNIT_TEST_WITH(a_forked_child_goes_on_without_the_other_threads, start, clear)
{
    pthread_t publisher;
    pthread_barrier_init(&inside, NULL, 2);
    pthread_barrier_init(&go_on, NULL, 2);
    uint64_t registration = add(PLUGIN, wait_inside, NULL);
    pthread_create(&publisher, NULL, publish_one, NULL);
    pthread_barrier_wait(&inside);
    pid_t child = fork();
    if (child == 0) {
        registry_atfork_child();
        bool removed = registry_remove(PLUGIN, registration) == 0;
        registry_synchronize(); /* must not wait for a thread that is not here */
        add(PLUGIN, hear, "c");
        publish();
        _exit(removed && strcmp(heard, "c") == 0 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    pthread_barrier_wait(&go_on);
    pthread_join(publisher, NULL);
    assert_int_equal(status, 0);
}

UNIT_MAIN(NULL, NULL)
