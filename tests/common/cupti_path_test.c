#include "tests/unit.h"

#include <sys/stat.h>

#include "common/cupti.h"

struct seen {
    int count;
    int stop_at; /* 0: never */
    char paths[32][512];
};

static int see(void *context, const char *path)
{
    struct seen *seen = context;
    snprintf(seen->paths[seen->count++], sizeof(seen->paths[0]), "%s", path);
    return seen->count == seen->stop_at ? 42 : 0;
}

static int index_of(const struct seen *seen, const char *path)
{
    for (int i = 0; i < seen->count; i++)
        if (strcmp(seen->paths[i], path) == 0)
            return i;
    return -1;
}

static char root[256];

static void make_file(const char *folder, const char *name, char *path, size_t space)
{
    char command[1024];
    snprintf(path, space, "%s/%s/%s", root, folder, name);
    snprintf(command, sizeof(command), "mkdir -p '%s/%s' && : >'%s'", root, folder, path);
    assert_int_equal(system(command), 0);
}

UNIT_FIXTURE(begin)
{
    snprintf(root, sizeof(root), "%s", unit_directory());
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("CUDA_HOME");
    unsetenv("CUDA_PATH");
    unsetenv("VIRTUAL_ENV");
    unsetenv("CONDA_PREFIX");
    return 0;
}

UNIT_FIXTURE(end)
{
    unit_remove(root);
    return 0;
}

UNIT_TEST_WITH(the_order_is_preferred_loader_path_toolkits_sonames, begin, end)
{
    char loader[512], home[512], extras[512], list[600];
    make_file("lib", "libcupti.so.12", loader, sizeof(loader));
    make_file("cuda/lib64", "libcupti.so", home, sizeof(home));
    make_file("cuda/extras/CUPTI/lib64", "libcupti.so.13", extras, sizeof(extras));
    snprintf(list, sizeof(list), ":/nowhere:%s/lib:", root);
    setenv("LD_LIBRARY_PATH", list, 1);
    snprintf(list, sizeof(list), "%s/cuda", root);
    setenv("CUDA_HOME", list, 1);

    struct seen seen = {0};
    assert_int_equal(cupti_path_each("/preferred.so", see, &seen), 0);
    assert_string_equal(seen.paths[0], "/preferred.so");
    assert_string_equal(seen.paths[1], loader);
    assert_string_equal(seen.paths[2], home);
    assert_string_equal(seen.paths[3], extras);
    int newest = index_of(&seen, "libcupti.so.13");
    assert_true(newest > 3);
    assert_true(index_of(&seen, "libcupti.so.12") == newest + 1);
    assert_int_equal(index_of(&seen, "libcupti.so"), seen.count - 1);
}

UNIT_TEST_WITH(wheels_of_the_active_environment_come_after_toolkits_the_newest_cuda_first, begin, end)
{
    char home[512], old[512], twelve[512], thirteen[512], conda[512], prefix[600];
    make_file("cuda/lib64", "libcupti.so", home, sizeof(home));
    make_file("venv/lib/python3.8/site-packages/nvidia/cuda_cupti/lib", "libcupti.so.12", old, sizeof(old));
    make_file("venv/lib/python3.8/site-packages/nvidia/cu12/lib", "libcupti.so.12", twelve, sizeof(twelve));
    make_file("venv/lib/python3.8/site-packages/nvidia/cu13/lib", "libcupti.so.13", thirteen, sizeof(thirteen));
    make_file("conda/lib", "libcupti.so.12", conda, sizeof(conda));
    snprintf(prefix, sizeof(prefix), "%s/cuda", root);
    setenv("CUDA_HOME", prefix, 1);
    snprintf(prefix, sizeof(prefix), "%s/venv", root);
    setenv("VIRTUAL_ENV", prefix, 1);
    snprintf(prefix, sizeof(prefix), "%s/conda", root);
    setenv("CONDA_PREFIX", prefix, 1);

    struct seen seen = {0};
    cupti_path_each(NULL, see, &seen);
    int first = index_of(&seen, thirteen);
    assert_true(index_of(&seen, home) >= 0 && first > index_of(&seen, home));
    assert_int_equal(index_of(&seen, twelve), first + 1);
    assert_int_equal(index_of(&seen, old), first + 2);
    assert_int_equal(index_of(&seen, conda), first + 3);
    assert_true(index_of(&seen, "libcupti.so.13") > first + 3);
}

UNIT_TEST_WITH(the_search_ends_with_the_first_that_is_taken, begin, end)
{
    struct seen seen = {.stop_at = 1};
    assert_int_equal(cupti_path_each("mine", see, &seen), 42);
    assert_int_equal(seen.count, 1);
}

UNIT_TEST_WITH(an_empty_preference_is_none, begin, end)
{
    struct seen seen = {0};
    cupti_path_each("", see, &seen);
    assert_int_equal(index_of(&seen, ""), -1);
    struct seen same = {0};
    cupti_path_each(NULL, see, &same);
    assert_int_equal(same.count, seen.count);
}

UNIT_MAIN(NULL, NULL)
