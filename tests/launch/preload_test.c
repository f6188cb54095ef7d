#include "tests/unit.h"

#include <limits.h>
#include <sys/stat.h>

#include "launch/program.h"

static char folder[256], library[300], path[PATH_MAX];

UNIT_FIXTURE(begin)
{
    snprintf(folder, sizeof(folder), "%s", unit_directory());
    snprintf(library, sizeof(library), "%s/libgputrace.so.0", folder);
    return 0;
}

UNIT_FIXTURE(end)
{
    unit_remove(folder);
    unsetenv("LD_PRELOAD");
    return 0;
}

UNIT_TEST_WITH(the_library_for_mpi_lies_beside_the_agent, begin, end)
{
    char file[300];
    unit_stderr_begin();
    int result = preload_find_mpi(library, path, sizeof(path));
    assert_contains(unit_stderr_end(), "--mpi: cannot find 'libgputrace-mpi.so.0' beside");
    assert_int_equal(result, -1);
    snprintf(file, sizeof(file), "%s/libgputrace-mpi.so.0", folder);
    unit_write_file(file, "");
    assert_int_equal(preload_find_mpi(library, path, sizeof(path)), 0);
    assert_string_equal(path, file);
}

UNIT_TEST_WITH(a_path_that_cannot_be_in_a_list_is_refused, begin, end)
{
    char file[600];
    snprintf(file, sizeof(file), "%s/a b", folder);
    assert_int_equal(mkdir(file, 0700), 0);
    snprintf(library, sizeof(library), "%s/a b/libgputrace.so.0", folder);
    snprintf(file, sizeof(file), "%s/a b/libgputrace-mpi.so.0", folder);
    unit_write_file(file, "");
    unit_stderr_begin();
    int result = preload_find_mpi(library, path, sizeof(path));
    assert_contains(unit_stderr_end(), "its path has a blank or a colon");
    assert_int_equal(result, -1);
}

static void assert_added(const char *before, const char *after)
{
    assert_int_equal(setenv("LD_PRELOAD", before, 1), 0);
    assert_int_equal(preload_add("/c.so"), 0);
    assert_string_equal(getenv("LD_PRELOAD"), after);
}

UNIT_TEST_WITH(what_was_preloaded_comes_after_it_except_sanitizers, begin, end)
{
    assert_added("/a.so b.so", "/c.so:/a.so b.so");
    assert_added("/a.so /libasan.so.8", "/c.so:/a.so /libasan.so.8");
    assert_added("/libasan.so.8", "/libasan.so.8:/c.so");
    assert_added(" /libasan.so.8 /libclang_rt.tsan-x86_64.so: a.so",
                 " /libasan.so.8 /libclang_rt.tsan-x86_64.so:/c.so:a.so");
    assert_added(":", "/c.so");
    unsetenv("LD_PRELOAD");
    assert_int_equal(preload_add("/c.so"), 0);
    assert_string_equal(getenv("LD_PRELOAD"), "/c.so");
}

UNIT_TEST_WITH(the_library_for_torch_may_be_missing, begin, end)
{
    char file[300];
    unit_stderr_begin();
    preload_find_torch(library, path, sizeof(path));
    assert_contains(unit_stderr_end(), "are recorded in processes that use CUDA or NVTX alone: '");
    assert_string_equal(path, "");
    snprintf(file, sizeof(file), "%s/libgputrace-torch.so.0", folder);
    unit_write_file(file, "");
    preload_find_torch(library, path, sizeof(path));
    assert_string_equal(path, file);
}

UNIT_MAIN(NULL, NULL)
