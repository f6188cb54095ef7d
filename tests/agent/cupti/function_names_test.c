#include "agent/cupti/cupti_library.h"
#include "agent/cupti/kernel_names.h"

#include <sys/wait.h>
#include <unistd.h>

#include "agent/dispatch/registry.h"
#include "tests/unit.h"

static struct {
    unsigned count;
    const void *function;
    char text[64];
} published;

static void hear(void *data, const struct gputrace_function_name *name)
{
    (void)data;
    published.count++;
    published.function = name->function;
    snprintf(published.text, sizeof(published.text), "%.*s", (int)name->text.length, name->text.bytes);
}

static CUresult of_function(const char **name, CUfunction function)
{
    *name = "a function";
    return function == (CUfunction)0xbad ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

static CUresult of_kernel(const char **name, CUkernel kernel)
{
    *name = "a kernel";
    return kernel == (CUkernel)0xbad ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

static const struct driver named = {.cuFuncGetName = of_function, .cuKernelGetName = of_kernel};

static uint64_t registration;

UNIT_FIXTURE(start)
{
    driver_replace(&named);
    registration = registry_add(REGISTRY_LIBRARY, REGISTRY_function_name, (gputrace_any_fn *)hear, NULL);
    return registration == 0;
}

UNIT_FIXTURE(clear)
{
    function_names_forget();
    memset(&published, 0, sizeof(published));
    return 0;
}

UNIT_TEST_WITH(a_name_is_reported_once, NULL, clear)
{
    for (unsigned i = 0; i < 3; i++)
        function_name_publish((void *)0x10, "_Z5firstv");
    assert_int_equal(published.count, 1);
    assert_ptr_equal(published.function, (void *)0x10);
    assert_string_equal(published.text, "_Z5firstv");
}

UNIT_TEST_WITH(a_handle_that_is_used_again_is_reported_again, NULL, clear)
{
    function_name_publish((void *)0x10, "one");
    function_name_publish((void *)0x10, "other");
    assert_int_equal(published.count, 2);
    assert_string_equal(published.text, "other");
    function_name_publish((void *)0x10, "one");
    assert_int_equal(published.count, 3);
}

UNIT_TEST_WITH(nothing_is_reported_nothing, NULL, clear)
{
    function_name_publish(NULL, "name");
    function_name_publish((void *)0x10, NULL);
    assert_null(function_name_ask(NULL));
    assert_null(kernel_name_ask(NULL));
    assert_int_equal(published.count, 0);
}

UNIT_TEST_WITH(the_driver_is_asked_by_what_the_handle_is, NULL, clear)
{
    assert_string_equal(function_name_ask((CUfunction)0x20), "a function");
    assert_string_equal(kernel_name_ask((CUkernel)0x30), "a kernel");
    assert_null(function_name_ask((CUfunction)0xbad));
    assert_null(kernel_name_ask((CUkernel)0xbad));
    assert_int_equal(published.count, 0);
}

UNIT_TEST_WITH(without_the_driver_none_is_asked, NULL, clear)
{
    driver_replace(NULL);
    assert_null(function_name_ask((CUfunction)0x20));
    assert_null(kernel_name_ask((CUkernel)0x30));
    driver_replace(&named);
}

UNIT_TEST_WITH(a_child_tells_into_its_own_spool, NULL, clear)
{
    function_name_publish((void *)0x10, "name");
    pid_t child = fork();
    if (child == 0) {
        kernel_names_atfork_child();
        function_name_publish((void *)0x10, "name");
        _exit(published.count == 2 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

UNIT_TEST_WITH(who_wants_none_is_reported_none, NULL, clear)
{
    assert_int_equal(registry_remove(REGISTRY_LIBRARY, registration), 0);
    function_name_publish((void *)0x10, "name");
    assert_int_equal(published.count, 0);
    assert_null(function_name_ask((CUfunction)0x20));
    registration = registry_add(REGISTRY_LIBRARY, REGISTRY_function_name, (gputrace_any_fn *)hear, NULL);
    function_name_publish((void *)0x10, "name");
    assert_int_equal(published.count, 1);
}

UNIT_MAIN(start, NULL)
