#include "injected/registry/registry.h"

#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

static char heard[64];

static void hear(void *letter, const struct memory_event *event)
{
    (void)event;
    size_t length = strlen(heard);
    heard[length] = *(const char *)letter;
    heard[length + 1] = '\0';
}

static void nobody_is_told_while_nobody_asked(void **state)
{
    (void)state;
    assert_false(registry_memory_wanted());
    registry_memory_publish(&(struct memory_event){0});
    assert_string_equal(heard, "");
}

static void subscribers_hear_in_the_order_they_came(void **state)
{
    (void)state;
    assert_int_equal(registry_memory_register(hear, "a"), 0);
    assert_int_equal(registry_memory_register(hear, "b"), 0);
    assert_int_equal(registry_memory_register(hear, "a"), 0); /* the same twice is two subscribers */
    registry_memory_publish(&(struct memory_event){0});
    assert_string_equal(heard, "aba");
    assert_true(registry_memory_wanted());
    assert_false(registry_stream_wanted());
}

static unsigned counted;

static void count(void *data, const struct stream_event *event)
{
    (void)data;
    __atomic_add_fetch(&counted, event->stream, __ATOMIC_RELAXED);
}

static void *publish_many(void *unused)
{
    (void)unused;
    for (unsigned i = 0; i < 100000; i++)
        registry_stream_publish(&(struct stream_event){.stream = 1});
    return NULL;
}

static void registering_while_others_publish_is_safe(void **state)
{
    (void)state;
    pthread_t threads[4];
    registry_stream_register(count, NULL);
    for (unsigned i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, publish_many, NULL);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(registry_stream_register(count, NULL), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_true(counted >= 400000);
    counted = 0;
    registry_stream_publish(&(struct stream_event){.stream = 1});
    assert_int_equal(counted, 101);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_told_while_nobody_asked),
        cmocka_unit_test(subscribers_hear_in_the_order_they_came),
        cmocka_unit_test(registering_while_others_publish_is_safe),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
