#include "tests/unit.h"

#include "analysis/engine/names.h"

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
    const char *const names[] = {
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
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        assert_string_equal(shortened(names[i]), names[i]);
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
