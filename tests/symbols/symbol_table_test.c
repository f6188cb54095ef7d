#include "tests/unit.h"

#include <elfutils/libdwfl.h>

#include "symbols/symbols.h"

/* In order of address, as symbol_table_read() leaves them. */
static struct symbol symbols[] = {
    {.address = 0x100, .size = 0x10, .name = "first"},  {.address = 0x120, .size = 0x100, .name = "around"},
    {.address = 0x140, .size = 0x10, .name = "within"}, {.address = 0x300, .size = 0x10, .name = "__write"},
    {.address = 0x300, .size = 0x10, .name = "write"},  {.address = 0x400, .size = 0, .name = "of no size"},
    {.address = 0x500, .size = 0x10, .name = "last"},
};
static const struct symbol_table table = {.items = {.items = symbols, .count = 7, .capacity = 7}};

#define assert_found(address, name) assert_string_equal(symbol_table_find(&table, (address)), (name))

UNIT_TEST(an_address_belongs_to_the_function_around_it)
{
    assert_found(0x100, "first");
    assert_found(0x10f, "first");
    assert_found(0x500, "last");
    assert_found(0x50f, "last");
}

UNIT_TEST(what_lies_between_functions_has_no_name)
{
    assert_null(symbol_table_find(&table, 0));
    assert_null(symbol_table_find(&table, 0xff));
    assert_null(symbol_table_find(&table, 0x110));
    assert_null(symbol_table_find(&table, 0x220));
    assert_null(symbol_table_find(&table, 0x510));
    assert_null(symbol_table_find(&table, UINT64_MAX));
}

UNIT_TEST(the_innermost_function_counts)
{
    assert_found(0x13f, "around");
    assert_found(0x140, "within");
    assert_found(0x150, "around");
    assert_found(0x21f, "around");
}

UNIT_TEST(of_several_names_the_last_counts)
{
    assert_found(0x308, "write");
}

UNIT_TEST(a_function_of_no_size_reaches_to_the_next)
{
    assert_found(0x4ff, "of no size");
}

UNIT_TEST(an_empty_table_has_no_names)
{
    const struct symbol_table empty = {0};
    assert_null(symbol_table_find(&empty, 0x100));
}

/* --- a file's own table --- */

__attribute__((noinline, noclone)) static int a_private_function(int number)
{
    __asm__ volatile("" : "+r"(number));
    return number;
}
int public_function(int number) __attribute__((visibility("default")));
__attribute__((noinline, noclone)) int public_function(int number)
{
    __asm__ volatile("" : "+r"(number));
    return number;
}
int private_alias(int number) __attribute__((alias("public_function"), visibility("hidden")));
int __public_function(int number) __attribute__((alias("public_function"), visibility("default")));

UNIT_TEST(a_file_s_functions_are_found)
{
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo};
    struct symbol_table own = {0};
    Dwfl *dwfl = dwfl_begin(&callbacks);
    assert_non_null(dwfl);
    assert_int_equal(dwfl_linux_proc_report(dwfl, getpid()), 0);
    assert_int_equal(dwfl_report_end(dwfl, NULL, NULL), 0);
    uint64_t address = (uintptr_t)a_private_function;
    Dwfl_Module *module = dwfl_addrmodule(dwfl, address);
    assert_non_null(module);
    assert_int_equal(symbol_table_read(&own, module), 0);
    for (size_t i = 1; i < own.items.count; i++)
        assert_true(own.items.items[i - 1].address <= own.items.items[i].address);
    assert_string_equal(symbol_table_find(&own, address), "a_private_function");
    assert_string_equal(symbol_table_find(&own, (uintptr_t)public_function), "public_function");
    array_release(&own.items);
    dwfl_end(dwfl);
}

UNIT_MAIN(NULL, NULL)
