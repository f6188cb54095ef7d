#include "tests/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "common/memory.h"

static const char *folder;
static char library[512], below[512], link_to[512], where[PATH_MAX];

UNIT_FIXTURE(begin)
{
    folder = unit_directory();
    snprintf(below, sizeof(below), "%s/lib", folder);
    snprintf(library, sizeof(library), "%s/lib/a.so", folder);
    snprintf(link_to, sizeof(link_to), "%s/link.so", folder);
    if (mkdir(below, 0755) != 0 || chmod(below, 0755) != 0)
        return -1;
    int fd = open(library, O_CREAT | O_EXCL | O_WRONLY, 0644);
    return fd < 0 || close(fd) != 0 || chmod(library, 0644) != 0 ? -1 : 0;
}

UNIT_FIXTURE(end)
{
    unit_remove(folder);
    return 0;
}

UNIT_TEST_WITH(what_only_its_owner_writes_is_safe, begin, end)
{
    assert_false(world_writable(library, where));
    assert_int_equal(chmod(library, 0664), 0); /* a group is chosen, not everybody */
    assert_false(world_writable(library, where));
}

UNIT_TEST_WITH(a_file_for_everybody_is_not, begin, end)
{
    assert_int_equal(chmod(library, 0646), 0);
    assert_true(world_writable(library, where));
    assert_string_equal(strrchr(where, '/'), "/a.so");
}

UNIT_TEST_WITH(nor_is_one_in_a_directory_for_everybody, begin, end)
{
    assert_int_equal(chmod(below, 0777), 0);
    assert_true(world_writable(library, where));
    assert_string_equal(strrchr(where, '/'), "/lib");
}

UNIT_TEST_WITH(nor_below_one, begin, end)
{
    assert_int_equal(chmod(folder, 0777), 0);
    assert_true(world_writable(library, where));
    assert_string_equal(where, folder);
}

UNIT_TEST_WITH(a_sticky_directory_is_safe_for_what_is_ours, begin, end)
{
    assert_int_equal(chmod(below, 01777), 0);
    assert_false(world_writable(library, where));
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(library, 12345, 12345), 0);
    assert_true(world_writable(library, where)); /* its owner may remove it, and put another there */
}

UNIT_TEST_WITH(a_link_counts_as_well_as_where_it_leads, begin, end)
{
    char open_folder[560], link_in_it[600];
    assert_int_equal(symlink(library, link_to), 0);
    assert_false(world_writable(link_to, where));
    snprintf(open_folder, sizeof(open_folder), "%s/open", folder);
    snprintf(link_in_it, sizeof(link_in_it), "%s/a.so", open_folder);
    assert_true(mkdir(open_folder, 0777) == 0 && chmod(open_folder, 0777) == 0);
    assert_int_equal(symlink(library, link_in_it), 0);
    assert_true(world_writable(link_in_it, where));
    assert_int_equal(chmod(library, 0666), 0);
    assert_true(world_writable(link_to, where));
}

UNIT_TEST_WITH(what_is_not_there_is_no_danger, begin, end)
{
    assert_false(world_writable("/none/of/this", where));
    assert_false(world_writable("", where));
    assert_false(world_writable("none-here", where));
    assert_false(world_writable("/", where));
}

UNIT_MAIN(NULL, NULL)
