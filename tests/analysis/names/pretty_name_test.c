#include "tests/unit.h"

#include <stdio.h>

#include "analysis/names/pretty_name.h"
#include "common/buffer.h"

/* Tests run at the top of the project. Two lines for each kernel: its name, and how it is read among all others. */
#define NAMES "tests/data/report/kernel-names.txt"

static const char *pretty(const char *name, size_t length, uint64_t reveal)
{
    static char text[70000];
    struct buffer out;
    buffer_init_memory(&out);
    pretty_name_write(&out, name, length, reveal, NULL);
    assert_int_equal(out.failure, 0);
    assert_true(out.length < sizeof(text));
    snprintf(text, sizeof(text), "%.*s", (int)out.length, out.length ? out.data : "");
    buffer_release(&out);
    return text;
}

static void assert_pretty(const char *name, const char *expected)
{
    assert_string_equal(pretty(name, strlen(name), 0), expected);
}

UNIT_TEST(namespaces_of_libraries_go_and_those_of_programs_stay)
{
    assert_pretty("void at::native::foo<float>(float*)", "foo<float>");
    assert_pretty("void at::native::(anonymous namespace)::foo<c10::Half>(c10::Half*)", "foo<half>");
    assert_pretty("void thrust::THRUST_300001_SM_900_NS::foo<int>(int*)", "foo<int>");
    assert_pretty("void mine::deeper::foo<mine::type>(float*)", "mine::deeper::foo<mine::type>");
    assert_pretty("(anonymous namespace)::foo(int)", "foo");
    assert_pretty("<unnamed>::foo(int)", "foo");
}

UNIT_TEST(numbers_are_written_plainly)
{
    assert_pretty("void f<4u, 3ul, -1, (int)7, (bool)1, (my::kind)2>(int)", "f<4, 3, -1, 7, true, 2>");
    assert_pretty("void f<unsigned int, 3>(int)", "f<unsigned int, 3>");
}

UNIT_TEST(lambdas_of_programs_keep_their_number)
{
    assert_pretty("void run<main::{lambda(int)#2}>(main::{lambda(int)#2})", "run<main::{lambda#2}>");
}

UNIT_TEST(operators_and_comparisons_are_understood)
{
    assert_pretty("A::operator()(int) const", "A::operator()");
    assert_pretty("void f<&A::operator<>(int)", "f<&A::operator<>");
    assert_pretty("void f<(3>(2)), int>(int)", "f<(3>(2)), int>");
}

UNIT_TEST(other_names_stay_as_they_are)
{
    static const char *const names[] = {
        "",
        "triton_poi_fused_add_0",
        "loop_add_fusion",
        "nvjet_tst_128x64_64x10_2x1_v_bz_TNT",
        "_Z3add",
        "a name with blanks",
        "Memset (Device)",
        "Memcpy HtoD (Pinned -> Device)",
        "f<int",
        "void f<int>(int",
        "f(]",
        "((((",
        "<<<<",
        ">",
        "operator",
        "::::",
        "()",
        "f<>",
        "ampere_sgemm_128x64_tn",
        "(anonymous namespace)",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_pretty(names[i], names[i]);
}

UNIT_TEST(bytes_that_are_not_utf_8_are_replaced)
{
    assert_pretty("kernel\xff", "kernel\xef\xbf\xbd");
    assert_pretty("void k\xc3\xa4\xff<int>(int)", "k\xc3\xa4\xef\xbf\xbd<int>");
}

UNIT_TEST(names_that_nest_too_deep_or_are_too_long_stay_whole)
{
    static char name[66000] = "void f";
    memset(name + 6, '<', 300);
    memset(name + 306, '>', 300);
    strcpy(name + 606, "(int)");
    assert_pretty(name, name);
    memset(name + 6, 'x', 65900);
    strcpy(name + 65906, "(int)");
    assert_pretty(name, name);
}

UNIT_TEST(a_pretty_name_is_its_own_pretty_name)
{
    static char line[8192], once[8192];
    FILE *file = fopen(NAMES, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        size_t length = strcspn(line, "\n");
        for (size_t cut = length; cut > 0; cut -= cut > 97 ? 97 : cut) { /* and its beginnings, whatever they are */
            strcpy(once, pretty(line, cut, 0));
            assert_string_equal(pretty(once, strlen(once), 0), once);
            pretty(line, cut, 5);
            pretty(line, cut, PRETTY_PLAIN);
        }
    }
    fclose(file);
}

UNIT_MAIN(NULL, NULL)
