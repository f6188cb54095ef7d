#include "tests/unit.h"

#include "analysis/host/host_sites.h"

static const char *name_of(const char *function)
{
    static char text[HOST_FUNCTION];
    return host_function_name(function, text);
}

UNIT_TEST(names_lose_what_libraries_put_around_them)
{
    assert_string_equal(name_of("read"), "read");
    assert_string_equal(name_of("__GI___libc_read"), "read");
    assert_string_equal(name_of("___pthread_mutex_lock"), "pthread_mutex_lock");
    assert_string_equal(name_of("pthread_cond_wait@@GLIBC_2.3.2"), "pthread_cond_wait");
    assert_string_equal(name_of("__new_sem_wait_slow64.constprop.0"), "sem_wait_slow");
    assert_string_equal(name_of("__memmove_avx_unaligned_erms"), "memmove");
    assert_string_equal(name_of("pread64"), "pread");
    assert_string_equal(name_of("__read_nocancel"), "read");
    assert_string_equal(name_of("llvm::PassManager::run(llvm::Module&)"), "llvm::PassManager::run");
    assert_string_equal(name_of("_"), "");
}

UNIT_TEST(long_names_are_cut)
{
    char longest[3 * HOST_FUNCTION];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(strlen(name_of(longest)), HOST_FUNCTION - 1);
    assert_null(host_pattern_find(longest));
}

static void is_kind(const char *function, enum host_kind kind)
{
    const struct host_pattern *pattern = host_pattern_find(function);
    assert_non_null(pattern);
    assert_int_equal(pattern->kind, kind);
}

UNIT_TEST(functions_say_what_a_thread_does)
{
    is_kind("__libc_pread64", HOST_IO);
    is_kind("fsync", HOST_IO);
    is_kind("clock_nanosleep", HOST_SLEEP);
    is_kind("pthread_mutex_timedlock", HOST_LOCK);
    is_kind("__pthread_rwlock_rdlock", HOST_LOCK);
    is_kind("__futex_abstimed_wait_common64", HOST_WAIT);
    is_kind("epoll_wait", HOST_WAIT);
    is_kind("__GI___wait4", HOST_WAIT);
    is_kind("gomp_team_barrier_wait_end", HOST_WAIT);
    is_kind("take_gil", HOST_GIL);
    is_kind("gc_collect_main.lto_priv.0", HOST_GARBAGE);
    is_kind("_int_malloc", HOST_MEMORY);
    is_kind("nvrtcCompileProgram", HOST_COMPILE);
}

UNIT_TEST(names_that_only_begin_like_these_say_nothing)
{
    assert_null(host_pattern_find("read_image"));
    assert_null(host_pattern_find("waiting"));
    assert_null(host_pattern_find("pthread_mutex_unlock"));
    assert_null(host_pattern_find("open_files"));
    assert_null(host_pattern_find(""));
}

UNIT_TEST(libraries_of_the_system_and_of_the_program)
{
    assert_true(host_module_is_system("/usr/lib/x86_64-linux-gnu/libc.so.6"));
    assert_true(host_module_is_system("/usr/bin/python3.11"));
    assert_true(host_module_is_system("libcuda.so.1"));
    assert_true(host_module_is_system("[vdso]"));
    assert_false(host_module_is_system("/home/me/libcache.so"));
    assert_false(host_module_is_system("/home/me/libc++/train"));
}

UNIT_MAIN(NULL, NULL)
