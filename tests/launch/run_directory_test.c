#include "tests/unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/run_directory.h"
#include "common/spool.h"

static char parent[256];

UNIT_FIXTURE(begin)
{
    snprintf(parent, sizeof(parent), "%s", unit_directory());
    return 0;
}

UNIT_FIXTURE(end)
{
    unit_remove(parent);
    return 0;
}

static void make_file(const struct run_directory *directory, const char *name)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", directory->path, name);
    unit_write_file(path, "x");
}

UNIT_TEST_WITH(a_directory_is_private_and_absolute, begin, end)
{
    struct run_directory directory;
    struct stat status;
    assert_int_equal(run_directory_make(&directory, parent), 0);
    assert_int_equal(directory.path[0], '/');
    assert_int_equal(stat(directory.path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    run_directory_remove(&directory);
    assert_int_not_equal(stat(directory.path, &status), 0);
}

UNIT_TEST_WITH(what_was_put_in_its_place_is_left_alone, begin, end)
{
    struct run_directory directory, other;
    char moved[300], kept[PATH_MAX + 64];
    assert_int_equal(run_directory_make(&directory, parent), 0);
    assert_int_equal(run_directory_make(&other, parent), 0);
    make_file(&directory, "12-0.spool");
    make_file(&other, "13-0.spool");
    snprintf(moved, sizeof(moved), "%s/moved", parent);
    snprintf(kept, sizeof(kept), "%s/13-0.spool", other.path);
    assert_int_equal(rename(directory.path, moved), 0);
    assert_int_equal(symlink(other.path, directory.path), 0);
    unit_stderr_begin();
    run_directory_remove(&directory);
    assert_contains(unit_stderr_end(), "stays: Not a directory");
    assert_int_equal(access(kept, F_OK), 0);
    snprintf(kept, sizeof(kept), "%s/12-0.spool", moved);
    assert_int_not_equal(access(kept, F_OK), 0);
    run_directory_remove(&other);
}

UNIT_TEST_WITH(a_parent_that_everybody_can_rearrange_is_reported, begin, end)
{
    struct run_directory directory;
    assert_int_equal(chmod(parent, 0777), 0);
    unit_stderr_begin();
    assert_int_equal(run_directory_make(&directory, parent), 0);
    assert_contains(unit_stderr_end(), "everybody can replace what is in");
    run_directory_remove(&directory);
    assert_int_equal(chmod(parent, 01777), 0);
    unit_stderr_begin();
    assert_int_equal(run_directory_make(&directory, parent), 0);
    assert_string_equal(unit_stderr_end(), "");
    run_directory_remove(&directory);
}

UNIT_TEST_WITH(what_is_ours_is_removed_and_nothing_else, begin, end)
{
    struct run_directory directory;
    char kept[PATH_MAX + 64];
    assert_int_equal(run_directory_make(&directory, parent), 0);
    make_file(&directory, "session.json");
    make_file(&directory, "12-0.spool");
    make_file(&directory, "somebody's.txt");
    unit_stderr_begin();
    run_directory_remove(&directory);
    assert_contains(unit_stderr_end(), "stays: Directory not empty");
    snprintf(kept, sizeof(kept), "%s/somebody's.txt", directory.path);
    assert_int_equal(access(kept, F_OK), 0);
    snprintf(kept, sizeof(kept), "%s/12-0.spool", directory.path);
    assert_int_not_equal(access(kept, F_OK), 0);
}

struct found {
    unsigned count;
    char last[PATH_MAX];
    uint64_t bytes;
};

static void count(void *context, const char *path, uint64_t bytes)
{
    struct found *found = context;
    found->count++;
    found->bytes = bytes;
    snprintf(found->last, sizeof(found->last), "%s", path);
}

UNIT_TEST_WITH(leftovers_are_distinguished_from_what_is_in_use, begin, end)
{
    struct run_directory held, left;
    struct found found = {0};
    assert_int_equal(run_directory_make(&held, parent), 0);
    assert_int_equal(run_directory_make(&left, parent), 0);
    make_file(&left, "12-0.spool");
    run_directory_release(&left);
    char other[512];
    snprintf(other, sizeof(other), "%s/gputrace-something-else", parent);
    assert_int_equal(mkdir(other, 0700), 0);
    run_directory_leftovers(parent, count, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.last, left.path);
    assert_true(found.bytes > 0);
    run_directory_remove(&held);
}

/* As another launcher sees it between its making and its lock. */
UNIT_TEST_WITH(an_empty_directory_is_left_over_once_it_is_old, begin, end)
{
    struct run_directory young;
    struct found found = {0};
    assert_int_equal(run_directory_make(&young, parent), 0);
    run_directory_release(&young);
    run_directory_leftovers(parent, count, &found);
    assert_int_equal(found.count, 0);
    struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, young.path, long_ago, 0), 0);
    run_directory_leftovers(parent, count, &found);
    assert_int_equal(found.count, 1);
}

UNIT_TEST_WITH(writers_that_live_are_counted, begin, end)
{
    struct run_directory directory;
    char name[64];
    assert_int_equal(run_directory_make(&directory, parent), 0);
    assert_int_equal(run_directory_writers(&directory), 0);
    snprintf(name, sizeof(name), "%d-0.spool", getpid());
    make_file(&directory, name);
    make_file(&directory, "1-note.txt");
    make_file(&directory, "1-0.unrecorded");
    assert_int_equal(run_directory_writers(&directory), 0); /* the number is used again, or by another image */
    /* One that means nothing here, in another namespace of pids. */
    make_file(&directory, "2147483600-0.spool");
    char path[PATH_MAX + 70];
    snprintf(path, sizeof(path), "%s/2147483600-0.spool", directory.path);
    int fd = open(path, O_RDWR);
    assert_int_equal(spool_lock_take(fd), 0);
    assert_int_equal(run_directory_writers(&directory), 1);
    void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(map, MAP_FAILED);
    close(fd);
    assert_int_equal(run_directory_writers(&directory), 1);
    munmap(map, 4096);
    assert_int_equal(run_directory_writers(&directory), 0);
    run_directory_remove(&directory);
}

/* The kernel may release the lock of a process some time after its end. */
UNIT_TEST_WITH(a_lock_of_a_process_that_has_ended_does_not_count, begin, end)
{
    struct run_directory directory;
    assert_int_equal(run_directory_make(&directory, parent), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct stat status;
    assert_int_equal(stat("/proc/self/ns/pid", &status), 0);
    make_file(&directory, "1-0.spool");
    char path[PATH_MAX + 70];
    snprintf(path, sizeof(path), "%s/1-0.spool", directory.path);
    int fd = open(path, O_RDWR);
    assert_int_equal(spool_lock_take(fd), 0);
    struct spool_header header = {.pid = (uint32_t)getpid(), .pid_namespace = status.st_ino};
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    assert_int_equal(run_directory_writers(&directory), 1);
    header.pid = (uint32_t)child;
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    assert_int_equal(run_directory_writers(&directory), 0);
    header.pid_namespace++; /* the number means nothing here */
    assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
    assert_int_equal(run_directory_writers(&directory), 1);
    close(fd);
    run_directory_remove(&directory);
}

/* As the launcher sees it when the program ends while a child begins. */
UNIT_TEST_WITH(a_writer_counts_between_the_making_of_its_file_and_the_lock, begin, end)
{
    struct run_directory directory;
    char path[PATH_MAX + 70];
    assert_int_equal(run_directory_make(&directory, parent), 0);
    snprintf(path, sizeof(path), "%s/12-0.spool", directory.path);
    unit_write_file(path, "");
    assert_int_equal(run_directory_writers(&directory), 1);
    struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    assert_int_equal(run_directory_writers(&directory), 0); /* it died there */
    unit_write_file(path, "x");
    assert_int_equal(run_directory_writers(&directory), 0);
    run_directory_remove(&directory);
}

UNIT_TEST(a_parent_that_is_not_there_is_reported)
{
    struct run_directory directory;
    unit_stderr_begin();
    int result = run_directory_make(&directory, "/no/such/place");
    assert_contains(unit_stderr_end(), "cannot make a spool directory in '/no/such/place'");
    assert_int_equal(result, -1);
    assert_string_equal(directory.path, "");
}

UNIT_TEST(the_parent_is_given_or_tmpdir_or_tmp)
{
    const char *before = getenv("TMPDIR");
    char *kept = before ? strdup(before) : NULL;
    setenv("TMPDIR", "/var/tmp", 1);
    assert_string_equal(run_directory_parent("/x"), "/x");
    assert_string_equal(run_directory_parent(NULL), "/var/tmp");
    setenv("TMPDIR", "", 1);
    assert_string_equal(run_directory_parent(NULL), "/tmp");
    if (kept)
        setenv("TMPDIR", kept, 1);
    else
        unsetenv("TMPDIR");
    free(kept);
}

UNIT_MAIN(NULL, NULL)
