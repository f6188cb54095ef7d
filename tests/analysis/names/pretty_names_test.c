#include "tests/unit.h"

#include <stdio.h>

#include "analysis/names/pretty_names.h"

/* Tests run at the top of the project. Two lines for each kernel: its name, and how it is read among all others. */
#define NAMES "tests/data/report/kernel-names.txt"

static struct pretty_names names;
static struct interner strings;

UNIT_FIXTURE(begin)
{
    names = (struct pretty_names){0};
    strings = (struct interner){0};
    return 0;
}

UNIT_FIXTURE(end)
{
    pretty_names_release(&names);
    interner_release(&strings);
    return 0;
}

static uint32_t add(const char *name)
{
    uint32_t number = intern(&strings, name, strlen(name));
    assert_int_equal(pretty_names_add(&names, number), 0);
    return number;
}

static const char *shown(uint32_t name)
{
    return interned(&strings, pretty_names_shown(&names, name));
}

/* A list of names as it is, and what is shown of them. */
static void assert_shown(const char *const pairs[][2], size_t count)
{
    uint32_t numbers[16];
    assert_true(count <= 16);
    for (size_t i = 0; i < count; i++)
        numbers[i] = add(pairs[i][0]);
    assert_int_equal(pretty_names_make(&names, &strings), 0);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(shown(numbers[i]), pairs[i][1]);
}
#define ASSERT_SHOWN(pairs) assert_shown(pairs, sizeof(pairs) / sizeof(*(pairs)))

UNIT_TEST_WITH(a_kernel_alone_is_short, begin, end)
{
    static const char *const pairs[][2] = {
        {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, "
         "float>, unsigned int, float, 4, 4> >(int)",
         "reduce<Mean<float>>"},
        {"void mine::scale<float, (int)4>(float*)", "mine::scale<float, 4>"},
    };
    ASSERT_SHOWN(pairs);
}

UNIT_TEST_WITH(arguments_that_differ_are_written_again_and_others_are_not, begin, end)
{
    static const char *const pairs[][2] = {
        {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, "
         "float>, unsigned int, float, 4, 4> >(int)",
         "reduce<512, Mean<float>>"},
        {"void at::native::reduce_kernel<128, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, "
         "float>, unsigned int, float, 4, 4> >(int)",
         "reduce<128, Mean<float>>"},
        {"void at::native::(anonymous namespace)::f<float, false>(int)", "f<float>"},
        {"void at::native::f<float, true>(int)", "f<float, true>"},
    };
    ASSERT_SHOWN(pairs);
}

UNIT_TEST_WITH(overloads_have_their_full_names, begin, end)
{
    static const char *const pairs[][2] = {
        {"scale(float*)", "scale(float*)"},   {"scale(double*)", "scale(double*)"},
        {"other(double*)", "other(double*)"}, {"other", "other"},
        {"alone(double*)", "alone"},
    };
    ASSERT_SHOWN(pairs);
}

UNIT_TEST_WITH(the_order_of_kernels_changes_nothing, begin, end)
{
    static const char *const list[] = {"k(int)", "k(float)", "k", "k(\xff)", "k(\xfe)", "k (2)"};
    char first[6][32];
    for (int order = 0; order < 2; order++) {
        uint32_t numbers[6];
        for (size_t i = 0; i < 6; i++)
            numbers[order ? 5 - i : i] = add(list[order ? 5 - i : i]);
        assert_int_equal(pretty_names_make(&names, &strings), 0);
        for (size_t i = 0; i < 6; i++) {
            if (order == 0)
                snprintf(first[i], sizeof(first[i]), "%s", shown(numbers[i]));
            else
                assert_string_equal(first[i], shown(numbers[i]));
            for (size_t k = 0; k < i; k++)
                assert_string_not_equal(shown(numbers[i]), shown(numbers[k]));
        }
        end(NULL);
        begin(NULL);
    }
}

UNIT_TEST_WITH(what_is_not_a_kernel_keeps_its_name, begin, end)
{
    uint32_t other = intern(&strings, "void f<int>(int)", strlen("void f<int>(int)"));
    add("void g<int>(int)");
    assert_int_equal(pretty_names_make(&names, &strings), 0);
    assert_int_equal(pretty_names_shown(&names, other), other);
    assert_int_equal(pretty_names_shown(&names, 1000), 1000);
}

UNIT_TEST_WITH(names_of_real_kernels_read_as_expected_and_no_two_are_alike, begin, end)
{
    enum { LINE = 8192, MOST = 400 };
    static char line[LINE], expected[MOST][LINE / 8];
    static uint32_t numbers[MOST];
    size_t count = 0;
    FILE *file = fopen(NAMES, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        assert_true(count < MOST);
        line[strcspn(line, "\n")] = '\0';
        numbers[count] = add(line);
        assert_non_null(fgets(expected[count], sizeof(expected[count]), file));
        expected[count][strcspn(expected[count], "\n")] = '\0';
        count++;
    }
    fclose(file);
    assert_true(count >= 150);
    assert_int_equal(pretty_names_make(&names, &strings), 0);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(shown(numbers[i]), expected[i]);
        for (size_t k = 0; k < i; k++)
            assert_true(numbers[i] == numbers[k] || strcmp(expected[i], expected[k]) != 0);
    }
}

static const char *shortened(const char *name)
{
    static char out[1024];
    size_t length = name_shorten(name, strlen(name), out);
    assert_int_equal(length, strlen(out));
    assert_true(length <= strlen(name));
    return out;
}

UNIT_TEST(parameters_and_return_type_go)
{
    assert_string_equal(shortened("add(int, float*)"), "add");
    assert_string_equal(shortened("void add<float>(int, float*)"), "add");
    assert_string_equal(shortened("unsigned int ns::f<1>(int)"), "ns::f");
    assert_string_equal(shortened("std::vector<int> ns::f<1>(int)"), "ns::f");
    assert_string_equal(shortened("A::f(int) const"), "A::f");
    assert_string_equal(shortened("f(int) [clone .constprop.0]"), "f");
    assert_string_equal(shortened("f[abi:cxx11](int)"), "f");
}

UNIT_TEST(nested_template_arguments_go)
{
    assert_string_equal(shortened("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
                                  "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>)"),
                        "at::native::vectorized_elementwise_kernel");
    assert_string_equal(shortened("void A<B<C<1> >::D>::f<(E)2>(A<int>)"), "A::f");
    assert_string_equal(shortened("void f<(3>(2)), g<(1<2)> >(int)"), "f");
    assert_string_equal(shortened("void f<&A::operator> >(int)"), "f");
    assert_string_equal(shortened("void f<decltype (a->b)>(int)"), "f");
}

UNIT_TEST(the_anonymous_namespace_stays)
{
    assert_string_equal(
        shortened(
            "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
            "namespace)::TensorListMetadata<1>, float>(at::native::(anonymous namespace)::TensorListMetadata<1>)"),
        "at::native::(anonymous namespace)::multi_tensor_apply_kernel");
    assert_string_equal(shortened("(anonymous namespace)::k(int)"), "(anonymous namespace)::k");
}

UNIT_TEST(operators_keep_their_symbols)
{
    assert_string_equal(shortened("A::operator()(int) const"), "A::operator()");
    assert_string_equal(shortened("bool A::operator<(A const&)"), "A::operator<");
    assert_string_equal(shortened("bool operator< <int>(A const&)"), "operator<");
    assert_string_equal(shortened("A& operator<<<int>(A const&)"), "operator<<");
    assert_string_equal(shortened("A::operator->()"), "A::operator->");
    assert_string_equal(shortened("A::operator[](int)"), "A::operator[]");
    assert_string_equal(shortened("A::operator unsigned int() const"), "A::operator unsigned int");
    assert_string_equal(shortened("operator new(unsigned long)"), "operator new");
    assert_string_equal(shortened("void my_operator<int>(int)"), "my_operator");
}

UNIT_TEST(lambdas_keep_their_place)
{
    assert_string_equal(shortened("void run<main::{lambda(int)#1}>(main::{lambda(int)#1})"), "run");
    assert_string_equal(shortened("main::{lambda(int)#1}::operator()(int) const"), "main::{lambda#1}::operator()");
    assert_string_equal(shortened("f(A<int>)::{lambda(float, B<int>)#2}::operator()(float, B<int>) const"),
                        "f::{lambda#2}::operator()");
    assert_string_equal(shortened("A::f(int) const::{lambda()#1}::operator()() const"), "A::f::{lambda#1}::operator()");
}

UNIT_TEST(other_names_stay_whole)
{
    const char *const others[] = {
        "",
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_execute_kernel__5x_cublas",
        "triton_poi_fused_add_0",
        "_Z3addiPf",
        "a name with blanks",
        "void f<int",
        "void f<int>(int",
        "f(]",
        "f({)}",
        "(((((",
        "<<<<",
        ">",
        ")",
        "()",
        "operator",
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_string_equal(shortened(others[i]), others[i]);
}

UNIT_TEST(names_that_nest_too_deep_stay_whole)
{
    char name[1000] = "void f";
    memset(name + 6, '<', 300);
    memset(name + 306, '>', 300);
    strcpy(name + 606, "(int)");
    assert_string_equal(shortened(name), name);
}

UNIT_MAIN(NULL, NULL)
