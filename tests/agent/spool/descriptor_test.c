
#include <errno.h>
#include <pthread.h>

#include "agent/spool/spool_place.h"
#include "tests/agent/spool_reading.h"

static struct descriptor descriptor;
static char *directory;
static char path[512];

UNIT_FIXTURE(begin)
{
    directory = new_directory();
    snprintf(path, sizeof(path), "%s/file", directory);
    return descriptor_create(&descriptor, path);
}

UNIT_FIXTURE(end)
{
    descriptor_close(&descriptor);
    remove_directory(directory);
    return 0;
}

UNIT_TEST_WITH(it_stands_above_the_numbers_of_the_program, begin, end)
{
    assert_true(descriptor.fd >= 512);
    int next = dup(STDERR_FILENO);
    assert_true(next < 100);
    close(next);
    assert_int_equal(fcntl(descriptor.fd, F_GETFD), FD_CLOEXEC);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void *make_another(void *other)
{
    char name[600];
    snprintf(name, sizeof(name), "%s/other", directory);
    assert_int_equal(descriptor_create(other, name), 0);
    return NULL;
}

/* The table that threads share does not grow, for which the kernel would wait. */
UNIT_TEST_WITH(with_threads_it_stands_below_64, begin, end)
{
    struct descriptor other;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, make_another, &other), 0);
    pthread_join(thread, NULL);
    assert_in_range(other.fd, 40, 63);
    descriptor_close(&other);
}

UNIT_TEST_WITH(a_file_that_is_there_is_not_taken, begin, end)
{
    struct descriptor other;
    assert_int_equal(descriptor_create(&other, path), -1);
    assert_int_equal(errno, EEXIST);
}

UNIT_TEST_WITH(closed_it_is_opened_again, begin, end)
{
    close(descriptor.fd);
    assert_false(descriptor_is_ours(&descriptor));
    assert_true(descriptor_use(&descriptor) >= 0);
    assert_true(descriptor_is_ours(&descriptor));
}

UNIT_TEST_WITH(a_number_that_is_another_files_is_left_to_it, begin, end)
{
    char name[600];
    snprintf(name, sizeof(name), "%s/other", directory);
    int other = open(name, O_RDWR | O_CREAT, 0600), number = descriptor.fd;
    assert_int_equal(dup2(other, number), number);
    assert_false(descriptor_is_ours(&descriptor));
    int fd = descriptor_use(&descriptor);
    assert_true(fd >= 0 && fd != number);
    assert_int_equal(fcntl(number, F_GETFD), 0); /* still open */
    descriptor.fd = number;
    descriptor_close(&descriptor);
    assert_int_equal(fcntl(number, F_GETFD), 0);
    close(number);
    close(other);
    close(fd);
}

UNIT_TEST_WITH(another_file_of_the_name_is_not_ours, begin, end)
{
    close(descriptor.fd);
    unlink(path);
    int other = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(other, "x", 1), 1); /* while it is there, no other file gets the number of the first */
    struct stat status;
    assert_int_equal(fstat(other, &status), 0);
    if (status.st_ino != descriptor.inode)
        assert_int_equal(descriptor_use(&descriptor), -1);
    close(other);
}

/* A thread with a table of its own. Returns NULL, or what is wrong. */
static void *with_own_table(void *there)
{
    struct descriptor *own = there;
    if (descriptor_own_table() != 0)
        return (void *)"no table";
    if (fcntl(0, F_GETFD) >= 0 || fcntl(own->fd, F_GETFD) >= 0)
        return (void *)"what was open in the program is open here";
    return descriptor_use(own) >= 0 && descriptor_is_ours(own) ? NULL : (void *)"the file cannot be opened";
}

UNIT_TEST_WITH(a_table_of_a_threads_own_is_empty_and_holds_nothing, begin, end)
{
    int ends[2];
    char byte;
    void *failure = NULL;
    pthread_t thread;
    struct descriptor own = descriptor;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pthread_create(&thread, NULL, with_own_table, &own), 0);
    pthread_join(thread, &failure);
    if (failure)
        fail_msg("%s", (const char *)failure);
    assert_true(descriptor_is_ours(&descriptor)); /* the program's table is as it was */
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0); /* nobody else holds its other end */
    close(ends[0]);
}

UNIT_TEST(devices_are_found_as_long_as_one_is_open)
{
    static const char full[] = "/dev/full";
    assert_false(descriptor_any_device(full));
    int first = open(full, O_RDONLY), second = open(full, O_RDONLY);
    assert_true(first >= 0 && second >= 0);
    assert_true(descriptor_any_device(full));
    assert_true(descriptor_any_device("/dev/fu"));
    assert_false(descriptor_any_device("/dev/full-and-more"));
    close(first);
    assert_true(descriptor_any_device(full));
    close(second);
    assert_false(descriptor_any_device(full));
}

UNIT_MAIN(NULL, NULL)
