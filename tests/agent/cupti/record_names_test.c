#include "agent/cupti/kernel_names.h"

#include "agent/dispatch/registry.h"
#include "tests/unit.h"

static struct {
    char text[64];
    const void *pointer;
    uint64_t since;
    unsigned count;
} published;

static void hear(void *data, const struct gputrace_pointer_name *name)
{
    (void)data;
    snprintf(published.text, sizeof(published.text), "%.*s", (int)name->text.length, name->text.bytes);
    published.pointer = name->pointer;
    published.since = name->since;
    published.count++;
}

UNIT_FIXTURE(subscribe)
{
    return registry_pointer_name_register(hear, NULL);
}

/* Nothing is known of BUFFER's pointer: each test has one of its own. */
static void begin(char *buffer, const char *text)
{
    memset(&published, 0, sizeof(published));
    strcpy(buffer, text);
}

static void unload(void)
{
    kernel_names_unloading();
    kernel_names_unloaded();
}

UNIT_TEST(a_name_is_reported_once)
{
    static char name[16];
    begin(name, "scale");
    kernel_names_publish(name, 1);
    kernel_names_publish(name, 2);
    kernel_names_publish(NULL, 3);
    assert_int_equal(published.count, 1);
    assert_string_equal(published.text, "scale");
    assert_ptr_equal(published.pointer, name);
}

UNIT_TEST(a_pointer_that_means_another_name_after_an_unloading_is_reported_as_of_then)
{
    static char name[16];
    begin(name, "module_0");
    kernel_names_publish(name, 10);
    unload();
    strcpy(name, "library_0");
    kernel_names_publish(name, 11);
    assert_int_equal(published.count, 2);
    assert_string_equal(published.text, "library_0");
    assert_int_equal(published.since, kernel_names_since());
    kernel_names_publish(name, 12);
    assert_int_equal(published.count, 2);
}

UNIT_TEST(a_record_of_before_the_unloading_is_not_looked_at_again)
{
    static char name[16];
    begin(name, "module_0");
    kernel_names_publish(name, 10);
    unload();
    strcpy(name, "garbage");
    kernel_names_publish(name, 10);
    kernel_names_publish(name, 9);
    kernel_names_publish(name, 0);
    assert_int_equal(published.count, 1);
}

UNIT_TEST(a_name_that_stayed_is_not_reported_again)
{
    static char name[16];
    begin(name, "scale");
    kernel_names_publish(name, 20);
    unload();
    kernel_names_publish(name, 21);
    assert_int_equal(published.count, 1);
}

UNIT_TEST(correlations_begin_again)
{
    static char name[16];
    begin(name, "early");
    for (uint32_t correlation = 1; correlation < 15; correlation++)
        kernel_names_publish(name, correlation * UINT32_C(0x11111111));
    kernel_names_publish(name, UINT32_MAX - 1);
    unload();
    strcpy(name, "late");
    kernel_names_publish(name, 3);
    assert_int_equal(published.count, 2);
    assert_string_equal(published.text, "late");
}

UNIT_MAIN(subscribe, NULL)
