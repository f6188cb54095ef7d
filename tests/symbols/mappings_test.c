#include "tests/unit.h"

#include "symbols/symbols.h"

static struct mappings mappings;
static struct names names;

UNIT_FIXTURE(begin)
{
    mappings = (struct mappings){0};
    names = (struct names){0};
    return 0;
}

UNIT_FIXTURE(end)
{
    array_release(&mappings.items);
    names_release(&names);
    return 0;
}

static void read_text(const char *text)
{
    assert_int_equal(mappings_read(&mappings, &names, text, strlen(text)), 0);
}

UNIT_TEST_WITH(a_line_is_read, begin, end)
{
    read_text("7f5a01000000-7f5a01028000 r-xp 00028000 08:01 1234567                    /lib/x86_64/libc 6.so\n");
    assert_int_equal(mappings.items.count, 1);
    const struct mapping *mapping = &mappings.items.items[0];
    assert_int_equal(mapping->start, 0x7f5a01000000);
    assert_int_equal(mapping->end, 0x7f5a01028000);
    assert_int_equal(mapping->offset, 0x28000);
    assert_int_equal(mapping->inode, 1234567);
    assert_string_equal(mapping->path, "/lib/x86_64/libc 6.so");
}

UNIT_TEST_WITH(lines_without_a_file_are_read, begin, end)
{
    read_text("7000-8000 rw-p 00000000 00:00 0 \n"
              "8000-9000 rw-p 00000000 00:00 0\n"
              "7ffc5f9e6000-7ffc5f9e8000 r-xp 00000000 00:00 0                          [vdso]\n"
              "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]");
    assert_int_equal(mappings.items.count, 4);
    assert_string_equal(mappings.items.items[0].path, "");
    assert_string_equal(mappings.items.items[1].path, "");
    assert_string_equal(mappings.items.items[2].path, "[vdso]");
    assert_string_equal(mappings.items.items[3].path, "[vsyscall]");
}

UNIT_TEST_WITH(an_address_belongs_to_the_mapping_around_it, begin, end)
{
    read_text("1000-2000 r-xp 00000000 08:01 1 /a\n"
              "2000-3000 r-xp 00000000 08:01 2 /b\n");
    assert_null(mappings_find(&mappings, 0xfff));
    assert_string_equal(mappings_find(&mappings, 0x1000)->path, "/a");
    assert_string_equal(mappings_find(&mappings, 0x1fff)->path, "/a");
    assert_string_equal(mappings_find(&mappings, 0x2000)->path, "/b");
    assert_null(mappings_find(&mappings, 0x3000));
}

UNIT_TEST_WITH(what_was_read_last_counts, begin, end)
{
    read_text("1000-2000 r-xp 00000000 08:01 1 /unloaded\n"
              "1000-1800 r-xp 00000000 08:01 2 /loaded in its place\n");
    assert_string_equal(mappings_find(&mappings, 0x1700)->path, "/loaded in its place");
    assert_string_equal(mappings_find(&mappings, 0x1900)->path, "/unloaded");
}

UNIT_TEST_WITH(what_is_no_line_is_passed_over, begin, end)
{
    static const char *const lines[] = {
        "",
        " ",
        "nonsense",
        "1000",
        "1000-",
        "1000-2000",
        "1000-2000 r-xp",
        "1000-2000 r-xp 00000000",
        "1000-2000 r-xp 00000000 08:01",
        "1000-2000 r-xp 00000000 08:01 ",
        "1000-2000 r-xp 00000000 0801 1 /a",
        "1000 2000 r-xp 00000000 08:01 1 /a",
        "-2000 r-xp 00000000 08:01 1 /a",
        "2000-1000 r-xp 00000000 08:01 1 /a",
        "1000-1000 r-xp 00000000 08:01 1 /a",
        "10000000000000000-20000000000000000 r-xp 00000000 08:01 1 /a",
        "1000-2000 r-xp fffffffffffffff0 08:01 1 /a",
        "1000-2000 r-xp 00000000 08:01 99999999999999999999 /a",
        "1000-2000 r-xp 00000000 08:01 inode /a",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        read_text(lines[i]);
        read_text("\n");
        if (mappings.items.count != 0)
            fail_msg("'%s' was read", lines[i]);
    }
    read_text("nonsense\n1000-2000 r-xp 00000000 08:01 1 /a\nnonsense");
    assert_int_equal(mappings.items.count, 1);
}

UNIT_TEST_WITH(random_bytes_do_no_harm, begin, end)
{
    static const char line[] = "7f5a01000000-7f5a01028000 r-xp 00028000 08:01 1234567 /lib/libc.so\n";
    unsigned seed = 7;
    for (int round = 0; round < 20000; round++) {
        char text[sizeof(line)];
        memcpy(text, line, sizeof(line));
        for (int change = 0; change <= round % 3; change++) {
            seed = seed * 1664525 + 1013904223;
            text[(seed >> 8) % (sizeof(line) - 1)] = (char)(seed >> 24);
        }
        assert_int_equal(mappings_read(&mappings, &names, text, sizeof(line) - 1), 0);
    }
    for (size_t i = 0; i < mappings.items.count; i++)
        assert_true(mappings.items.items[i].start < mappings.items.items[i].end);
}

UNIT_MAIN(NULL, NULL)
