#include "tests/unit.h"

#include "trace/names.h"

static const char *symbol(struct names *names, const char *mangled)
{
    uint32_t number = names_put_symbol(names, mangled, strlen(mangled));
    assert_int_not_equal(number, NAMES_NO_MEMORY);
    return names_get(names, number)->text;
}

UNIT_TEST(test_symbols_are_demangled_as_kineto_shows_them)
{
    struct names names = {0};
    assert_string_equal(symbol(&names, "_Z6vecAddPKfS0_Pfi"), "vecAdd(float const*, float const*, float*, int)");
    assert_string_equal(symbol(&names, "_Z1fILi4EZ1gvEUlfE_St5arrayIPcLm2EEEvT0_T1_"),
                        "void f<4, g()::{lambda(float)#1}, std::array<char*, 2ul> >(g()::{lambda(float)#1}, "
                        "std::array<char*, 2ul>)");
    assert_string_equal(symbol(&names, "ampere_sgemm_32x32_sliced1x4_tn"), "ampere_sgemm_32x32_sliced1x4_tn");
    assert_string_equal(symbol(&names, "_Zbroken"), "_Zbroken");
    assert_string_equal(symbol(&names, ""), "");
    names_release(&names);
}

UNIT_TEST(test_a_name_is_kept_once_and_ready_for_json)
{
    struct names names = {0};
    uint32_t first = names_put(&names, "a\"\xff", 3);
    assert_int_equal(names_put(&names, "a\"\xff", 3), first);
    assert_int_not_equal(names_put(&names, "a", 1), first);
    const struct name *name = names_get(&names, first);
    assert_int_equal(name->length, 3);
    assert_int_equal(name->json_length, 6);
    assert_memory_equal(name->json, "a\\\"\xef\xbf\xbd", 6);
    names_release(&names);
}

UNIT_TEST(test_a_pointer_means_what_it_meant_at_the_time)
{
    struct pointer_names pointers = {0};
    assert_int_equal(pointer_names_put(&pointers, 0x10, 200, 2), 0);
    assert_int_equal(pointer_names_put(&pointers, 0x10, 100, 1), 0); /* recorded later, known earlier */
    assert_int_equal(pointer_names_put(&pointers, 0x10, 300, 3), 0);
    assert_int_equal(pointer_names_find(&pointers, 0x10, 0), 1); /* names are recorded after their first use */
    assert_int_equal(pointer_names_find(&pointers, 0x10, 150), 1);
    assert_int_equal(pointer_names_find(&pointers, 0x10, 200), 2);
    assert_int_equal(pointer_names_find(&pointers, 0x10, 299), 2);
    assert_int_equal(pointer_names_find(&pointers, 0x10, UINT64_MAX), 3);
    assert_int_equal(pointer_names_find(&pointers, 0x20, 150), NAMES_NO_MEMORY);
    pointer_names_release(&pointers);
}

UNIT_MAIN(NULL, NULL)
