/*
 * nvtx_cpp: NVTX by its header for C++, nvtx3.hpp. Needs no GPU and no CUDA driver.
 *
 * A correct trace holds: scoped ranges that end with their scope, also when an exception leaves it; ranges that an
 * object owns, handed on to another thread; functions by their own name; marks; with domain, category, colour, payload
 * and registered message as their types say.
 */
#include <nvtx3/nvtx3.hpp>

#include <stdexcept>
#include <thread>
#include <utility>

#include "statement.h"

namespace
{

struct solver {
    static constexpr char const *name{"solver"};
};

struct iteration {
    static constexpr char const *message{"iteration"};
};

struct numerics {
    static constexpr char const *name{"numerics"};
    static constexpr uint32_t id{3};
};

void did(const char *what, const char *totals, const char *words)
{
    state("nvtx %s %s", what, words);
    state_count(totals, 1);
}

void did_push(const char *words)
{
    did("push", "pushes", words);
}

void function_by_its_name()
{
    NVTX3_FUNC_RANGE();
    did_push("\"function_by_its_name\"");
}

void function_in_a_domain()
{
    NVTX3_FUNC_RANGE_IN(solver);
    did_push("\"function_in_a_domain\" domain \"solver\"");
}

void function_on_condition(bool wanted)
{
    NVTX3_FUNC_RANGE_IF(wanted);
    if (wanted)
        did_push("\"function_on_condition\"");
}

void scopes()
{
    nvtx3::scoped_range outer{"outer"};
    did_push("\"outer\"");
    {
        nvtx3::scoped_range_in<solver> inner{"inner", nvtx3::payload{int64_t{-7}}, nvtx3::rgb{16, 32, 48}};
        did_push("\"inner\" domain \"solver\" color \"#102030\" payload -7");
    }
    nvtx3::scoped_range_in<solver> registered{nvtx3::registered_string_in<solver>::get<iteration>(),
                                              nvtx3::named_category_in<solver>::get<numerics>(), nvtx3::payload{2.5}};
    did_push("\"iteration\" domain \"solver\" category \"numerics\" payload 2.5");
}

void scope_that_fails()
{
    nvtx3::scoped_range range{"left by an exception"};
    did_push("\"left by an exception\"");
    throw std::runtime_error("as planned");
}

void owned_ranges()
{
    nvtx3::unique_range_in<solver> owned{"owned"};
    did("start", "starts", "\"owned\" domain \"solver\"");
    std::thread([range = std::move(owned)]() mutable { nvtx3::unique_range_in<solver> last{std::move(range)}; }).join();
    nvtx3::range_handle handle = nvtx3::start_range_in<solver>("by its handle");
    did("start", "starts", "\"by its handle\" domain \"solver\"");
    nvtx3::end_range_in<solver>(handle);
}

void marks()
{
    nvtx3::mark("mark");
    did("mark", "marks", "\"mark\"");
    nvtx3::mark_in<solver>(L"Marke \u00e4", nvtx3::argb{128, 255, 0, 0});
    did("mark", "marks", "\"Marke ä\" domain \"solver\" color \"#80ff0000\"");
}

} // namespace

int main()
{
    function_by_its_name();
    function_in_a_domain();
    function_on_condition(true);
    function_on_condition(false);
    scopes();
    try {
        scope_that_fails();
    } catch (const std::runtime_error &) {
        nvtx3::scoped_range after{"after it"}; // beside it, not within
        did_push("\"after it\"");
    }
    owned_ranges();
    marks();
    puts("NVTX for C++");
    state_print();
    return 0;
}
