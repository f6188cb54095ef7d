#include "tests/unit.h"

#include <limits.h>
#include <sys/stat.h>

#include "launch/launch.h"
#include "launch/program.h"

static char folder[256], path[PATH_MAX];

static void make_program(const char *name, mode_t mode)
{
    char file[512];
    snprintf(file, sizeof(file), "%s/%s", folder, name);
    unit_write_file(file, "#!/bin/sh\n");
    assert_int_equal(chmod(file, mode), 0);
}

UNIT_FIXTURE(begin)
{
    char list[1024];
    snprintf(folder, sizeof(folder), "%s", unit_directory());
    snprintf(list, sizeof(list), "/nowhere:%s", folder);
    setenv("PATH_KEPT", getenv("PATH"), 1);
    setenv("PATH", list, 1);
    return 0;
}

UNIT_FIXTURE(end)
{
    setenv("PATH", getenv("PATH_KEPT"), 1);
    unit_remove(folder);
    return 0;
}

static void expect_refused(const char *name, int status, const char *why)
{
    unit_stderr_begin();
    int result = program_find(name, path, sizeof(path));
    const char *text = unit_stderr_end();
    assert_int_equal(result, status);
    assert_contains(text, why);
}

UNIT_TEST_WITH(a_name_is_looked_for_in_path, begin, end)
{
    char expected[512];
    make_program("app", 0755);
    snprintf(expected, sizeof(expected), "%s/app", folder);
    assert_int_equal(program_find("app", path, sizeof(path)), 0);
    assert_string_equal(path, expected);
    assert_int_equal(program_find(expected, path, sizeof(path)), 0);
    assert_string_equal(path, expected);
}

UNIT_TEST_WITH(what_cannot_be_run_is_distinguished_from_what_is_not_there, begin, end)
{
    char file[512];
    make_program("text", 0644);
    snprintf(file, sizeof(file), "%s/text", folder);
    expect_refused("nothing-of-that-name", EXIT_NOT_FOUND, "cannot find 'nothing-of-that-name'");
    expect_refused("./nothing", EXIT_NOT_FOUND, "cannot find './nothing'");
    expect_refused("/etc/passwd/x", EXIT_NOT_FOUND, "cannot find");
    expect_refused("", EXIT_NOT_FOUND, "cannot find ''");
    expect_refused("/tmp", EXIT_NOT_RUN, "Is a directory");
    expect_refused(file, EXIT_NOT_RUN, "not executable (chmod +x");
    expect_refused("text", EXIT_NOT_RUN, "not executable");
}

UNIT_TEST_WITH(a_program_here_but_not_in_path_is_hinted_at, begin, end)
{
    char before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof(before)));
    make_program("here", 0755);
    assert_int_equal(chdir(folder), 0);
    setenv("PATH", "/nowhere", 1);
    expect_refused("here", EXIT_NOT_FOUND, "use './here'");
    assert_int_equal(chdir(before), 0);
}

UNIT_TEST(a_name_is_the_last_part_of_a_path)
{
    assert_string_equal(program_name("/a/b/app"), "app");
    assert_string_equal(program_name("app"), "app");
    assert_string_equal(program_name("./a/"), "./a/");
}

#define STARTS_RANKS(...) job_program_starts_ranks((char *const[]){__VA_ARGS__, NULL})

UNIT_TEST(what_starts_ranks_is_known_by_its_name)
{
    assert_true(STARTS_RANKS("torchrun", "--nproc-per-node", "2", "train.py"));
    assert_true(STARTS_RANKS("/usr/bin/mpirun", "-n", "2", "./app"));
    assert_true(STARTS_RANKS("srun", "./app"));
    assert_true(STARTS_RANKS("python3", "-m", "torch.distributed.run", "train.py"));
    assert_true(STARTS_RANKS("python", "-u", "-X", "dev", "-m", "torch.distributed.launch", "train.py"));
    assert_true(STARTS_RANKS("/opt/bin/python3.12", "/opt/bin/torchrun", "train.py"));
}

UNIT_TEST(other_programs_do_not_start_ranks)
{
    assert_false(STARTS_RANKS("./app"));
    assert_false(STARTS_RANKS("./app", "mpirun"));
    assert_false(STARTS_RANKS("python"));
    assert_false(STARTS_RANKS("python", "-m"));
    assert_false(STARTS_RANKS("python", "train.py", "-m", "torch.distributed.run"));
    assert_false(STARTS_RANKS("python", "-m", "train", "torchrun"));
    assert_false(STARTS_RANKS("torchrun.py"));
}

UNIT_MAIN(NULL, NULL)
