#include "tests/unit.h"

#include "common/text.h"
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

/* _Z1kI1PIJ…EEEvPi: a kernel whose type has COUNT arguments, structs with names of 100 bytes; the last is LAST. */
static char *symbol_of_many(unsigned count, char last)
{
    char *made = malloc(count * 103 + 64), *end = made + sprintf(made, "_Z1kI1PIJ");
    for (unsigned i = 0; i < count; i++)
        end += sprintf(end, "100t%098u%c", i, i + 1 == count ? last : 't');
    sprintf(end, "EEEvPi");
    return made;
}

UNIT_TEST(test_long_symbols_are_demangled_and_then_cut)
{
    struct names names = {0};
    char *whole = symbol_of_many(100, 't'), *long_one = symbol_of_many(400, 't'), *other = symbol_of_many(400, 'u');
    uint32_t first = names_put_symbol(&names, whole, strlen(whole));
    assert_int_equal(names_get(&names, first)->length, strlen("void k<P<") + 100 * 102 - 2 + strlen("> >(int*)"));
    assert_int_equal(names.cut, 0);
    uint32_t second = names_put_symbol(&names, long_one, strlen(long_one));
    uint32_t third = names_put_symbol(&names, other, strlen(other));
    assert_int_not_equal(second, third);
    assert_int_equal(names_get(&names, second)->length, TEXT_MAX);
    assert_memory_equal(names_get(&names, second)->text, "void k<P<t0000", 14);
    assert_memory_equal(names_get(&names, second)->text, names_get(&names, third)->text, TEXT_MAX - 64);
    assert_int_equal(names_put_symbol(&names, long_one, strlen(long_one)), second);
    assert_int_equal(names.cut, 2);
    names_release(&names);
    free(whole);
    free(long_one);
    free(other);
}

/* Each level of P<T, T> doubles the name: this one has 2^40 bytes. */
UNIT_TEST(test_a_short_symbol_may_stand_for_a_name_without_end)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char text[1024] = "_Z1kI1PI", *end = text + strlen(text);
    struct names names = {0};
    for (int i = 0; i < 34; i++)
        end += sprintf(end, "S0_I");
    end += sprintf(end, "icE");
    for (int i = 1; i <= 34; i++)
        end += sprintf(end, "S%c_E", digits[i]);
    sprintf(end, "EvPi");
    const struct name *name = names_get(&names, names_put_symbol(&names, text, strlen(text)));
    assert_int_equal(name->length, TEXT_MAX);
    assert_memory_equal(name->text, "void k<P<P<P<", 13);
    assert_int_equal(name->text[TEXT_MAX - 1], ']');
    names_release(&names);
}

/* What is no name of C++, however long, is taken as it is, up to its length. */
UNIT_TEST(test_long_names_that_are_not_mangled_are_cut)
{
    struct names names = {0};
    char *text = malloc(2 * TEXT_MAX);
    memset(text, 'P', 2 * TEXT_MAX);
    assert_int_equal(names_get(&names, names_put_symbol(&names, text, TEXT_MAX))->text[TEXT_MAX - 1], 'P');
    memcpy(text, "_Z1f", 4);
    text[2 * TEXT_MAX - 1] = 'i';
    const struct name *name = names_get(&names, names_put_symbol(&names, text, 2 * TEXT_MAX));
    assert_int_equal(name->length, TEXT_MAX);
    assert_memory_equal(name->text, "_Z1fPPP", 7);
    names_release(&names);
    free(text);
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
