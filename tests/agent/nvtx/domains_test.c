/*
 * Domains that are on and off, and names that several threads make at once.
 */

#include <pthread.h>

#include "agent/dispatch/registry.h"
#include "agent/nvtx/domains.h"
#include "tests/agent/nvtx/module.h"
#include "tests/unit.h"

static unsigned events, names, left_out;

static void hear_event(void *data, const struct gputrace_nvtx *event)
{
    (void)data, (void)event;
    __atomic_add_fetch(&events, 1, __ATOMIC_RELAXED);
}

static void hear_name(void *data, const struct gputrace_nvtx_name *name)
{
    (void)data;
    __atomic_add_fetch(name->named == NVTX_NAMED_LEFT_OUT ? &left_out : &names, 1, __ATOMIC_RELAXED);
}

UNIT_FIXTURE(listen)
{
    return registry_nvtx_push_register(hear_event, NULL) | registry_nvtx_pop_register(hear_event, NULL) |
           registry_nvtx_start_register(hear_event, NULL) | registry_nvtx_end_register(hear_event, NULL) |
           registry_nvtx_mark_register(hear_event, NULL) | registry_nvtx_name_register(hear_name, NULL);
}

/* As a module of the program finds it: its table filled anew. */
static void attach(const char *only, const char *without)
{
    nvtx_domains_select(only, without);
    memset(module_functions, 0, sizeof(module_functions));
    assert_int_equal(nvtx_attach(module_export_table), 1);
    events = names = left_out = 0;
}

static bool is_on(const char *name)
{
    return !nvtx_domain_of(text_of(name))->off;
}

/* Domains stay what they were when they were made, so each list has names of its own. */
UNIT_TEST(lists_say_which_domains_are_on)
{
    attach(NULL, NULL);
    assert_true(is_on("a1") && !nvtx_default_domain.off);
    attach("a2,b2", NULL);
    assert_true(is_on("a2") && is_on("b2") && !is_on("c2") && !is_on("a2,b2") && !is_on("a") && !is_on(""));
    assert_true(nvtx_default_domain.off);
    attach("default,a3", NULL);
    assert_true(is_on("a3") && !nvtx_default_domain.off);
    attach(NULL, "a4");
    assert_true(!is_on("a4") && is_on("b4") && !nvtx_default_domain.off);
    attach("a5,b5,default", "b5,default");
    assert_true(is_on("a5") && !is_on("b5") && !is_on("c5") && nvtx_default_domain.off);
    attach("a6\\,b6,c6\\\\", NULL);
    assert_true(is_on("a6,b6") && is_on("c6\\") && !is_on("a6") && !is_on("b6"));
    attach("a7,", NULL);
    assert_true(is_on("a7") && !is_on("b7"));
}

UNIT_TEST(of_a_domain_that_is_off_nothing_is_reported_but_that_it_is_there)
{
    attach("on", NULL);
    nvtxDomainHandle_t off = CORE2(DomainCreateA)("off");
    assert_non_null(off);
    assert_int_equal(CORE2(DomainRangePushEx)(off, NULL), NVTX_NO_PUSH_POP_TRACKING);
    assert_int_equal(CORE2(DomainRangePop)(off), NVTX_NO_PUSH_POP_TRACKING);
    nvtxRangeId_t range = CORE2(DomainRangeStartEx)(off, NULL);
    CORE2(DomainRangeEnd)(off, range);
    CORE(RangeEnd)(range);
    CORE2(DomainMarkEx)(off, NULL);
    CORE2(DomainNameCategoryA)(off, 1, "category");
    CORE2(DomainRegisterStringA)(off, "string");
    nvtxResourceAttributes_t attributes = {.version = NVTX_VERSION, .size = sizeof(attributes)};
    CORE2(DomainResourceDestroy)(CORE2(DomainResourceCreate)(off, &attributes));
    void *lock = FAKE(SYNC, DomainSyncUserCreate)(off, NULL);
    FAKE(SYNC, DomainSyncUserAcquireStart)(lock);
    FAKE(SYNC, DomainSyncUserDestroy)(lock);
    assert_true(events == 0 && names == 0);
    assert_int_equal(left_out, 1);
    CORE2(DomainCreateA)("off");
    assert_int_equal(left_out, 1);
    assert_int_equal(CORE2(DomainRangePushEx)(NULL, NULL), NVTX_NO_PUSH_POP_TRACKING);
    nvtxDomainHandle_t on = CORE2(DomainCreateA)("on");
    range = CORE2(DomainRangeStartEx)(on, NULL);
    CORE(RangeEnd)(range); /* the only function of the default domain's that others need */
    assert_true(events == 2 && names == 1);
    CORE(NameOsThreadA)(1, "threads are of no domain");
    assert_int_equal(names, 2);
}

UNIT_TEST(the_default_domain_that_is_off_is_reported_at_its_first_use)
{
    attach("on", NULL);
    assert_int_equal(left_out, 0);
    assert_int_equal(CORE(RangePushA)("x"), NVTX_NO_PUSH_POP_TRACKING);
    assert_int_equal(left_out, 1);
    assert_int_equal(CORE(RangePushEx)(NULL), NVTX_NO_PUSH_POP_TRACKING);
    CORE(MarkA)("x");
    CORE(MarkW)(L"x");
    assert_int_equal(CORE(RangeStartA)("x"), 0);
    assert_true(left_out == 1 && events == 0 && names == 0);
    assert_null(FUNCTION(CORE, RangePop));
}

UNIT_TEST(the_default_domain_that_is_excluded_costs_the_program_nothing)
{
    attach(NULL, "default");
    assert_null(FUNCTION(CORE, RangePushA));
    assert_null(FUNCTION(CORE, RangePop));
    assert_null(FUNCTION(CORE, MarkA));
}

enum { THREADS = 8, STRINGS = 64, ROUNDS = 20 };

static pthread_barrier_t begin;
static nvtxDomainHandle_t made[THREADS][STRINGS];
static nvtxStringHandle_t registered[THREADS][STRINGS];

static void *make_all(void *number)
{
    unsigned thread = (unsigned)(uintptr_t)number;
    pthread_barrier_wait(&begin);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < STRINGS; i++) {
            char text[32];
            snprintf(text, sizeof(text), "shared %u", i);
            made[thread][i] = CORE2(DomainCreateA)(text);
            registered[thread][i] = CORE2(DomainRegisterStringA)(made[thread][i % 3], text);
            CORE2(DomainNameCategoryA)(made[thread][i], thread, text);
            nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                                .size = sizeof(attributes),
                                                .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                                .message.registered = registered[thread][i]};
            CORE2(DomainRangePushEx)(made[thread][i], &attributes);
            CORE2(DomainRangePop)(made[thread][i]);
            CORE2(DomainDestroy)(made[thread][i]);
        }
    return NULL;
}

UNIT_TEST(threads_that_make_the_same_names_get_the_same_handles)
{
    pthread_t threads[THREADS];
    attach(NULL, NULL);
    pthread_barrier_init(&begin, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_all, (void *)i), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&begin);
    for (unsigned i = 0; i < STRINGS; i++)
        for (unsigned thread = 1; thread < THREADS; thread++) {
            assert_ptr_equal(made[thread][i], made[0][i]);
            assert_ptr_equal(registered[thread][i], registered[0][i]);
            assert_ptr_not_equal(registered[0][i], i ? registered[0][i - 1] : NULL);
        }
    assert_int_equal(events, 2 * THREADS * ROUNDS * STRINGS);
    assert_int_equal(names, STRINGS + STRINGS + THREADS * STRINGS); /* domains, strings, categories: once each */
}

UNIT_TEST(a_category_is_reported_again_when_it_gets_another_name)
{
    attach(NULL, NULL);
    CORE(NameCategoryA)(5, "five");
    CORE(NameCategoryA)(5, "five");
    assert_int_equal(names, 1);
    CORE(NameCategoryW)(5, L"fünf");
    assert_int_equal(names, 2);
    names = 0;
    nvtx_domains_republish();
    assert_true(names > 1);
}

UNIT_MAIN(listen, NULL)
