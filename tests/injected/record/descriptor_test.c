#include "injected/record/descriptor.h"

#include <errno.h>

#include "tests/injected/spool_reading.h"

static struct descriptor descriptor;
static char *directory;
static char path[512];

static int begin(void **state)
{
    (void)state;
    directory = new_directory();
    snprintf(path, sizeof(path), "%s/file", directory);
    return descriptor_create(&descriptor, path);
}

static int end(void **state)
{
    (void)state;
    descriptor_close(&descriptor);
    remove_directory(directory);
    return 0;
}

static void it_stands_above_the_numbers_of_the_program(void **state)
{
    (void)state;
    assert_true(descriptor.fd >= 512);
    int next = dup(STDERR_FILENO);
    assert_true(next < 100);
    close(next);
    assert_int_equal(fcntl(descriptor.fd, F_GETFD), FD_CLOEXEC);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void a_file_that_is_there_is_not_taken(void **state)
{
    (void)state;
    struct descriptor other;
    assert_int_equal(descriptor_create(&other, path), -1);
    assert_int_equal(errno, EEXIST);
}

static void closed_it_is_opened_again(void **state)
{
    (void)state;
    close(descriptor.fd);
    assert_false(descriptor_is_ours(&descriptor));
    assert_true(descriptor_use(&descriptor) >= 0);
    assert_true(descriptor_is_ours(&descriptor));
}

static void a_number_that_is_another_files_is_left_to_it(void **state)
{
    (void)state;
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

static void another_file_of_the_name_is_not_ours(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_stands_above_the_numbers_of_the_program, begin, end),
        cmocka_unit_test_setup_teardown(a_file_that_is_there_is_not_taken, begin, end),
        cmocka_unit_test_setup_teardown(closed_it_is_opened_again, begin, end),
        cmocka_unit_test_setup_teardown(a_number_that_is_another_files_is_left_to_it, begin, end),
        cmocka_unit_test_setup_teardown(another_file_of_the_name_is_not_ours, begin, end),
    };
    return cmocka_run_group_tests_name("record/descriptor", tests, NULL, NULL);
}
